//! Properties of the device and of the kernels in use, for the panel of stages. While the panel is open, a job measures the
//! peak rates of each device once in a session, another job reads from the compiler how many registers the kernels use, and a
//! third one reads the clock frequency of the device once a second.

use std::collections::HashMap;

use super::*;
use crate::app::lane::{Slot, Task, Worker};
use base::device::{ClockSnapshot, KernelRegisters};
use box_filter::Config;
use compute::config::Tunable;
use ladder::why::DevicePeaks;
use opencl::cl::{ClContext, Device};
use opencl::clock_speed::ClockReader;
use opencl::{machine_code, program};
use overlay::{DeviceFacts, JobState, Panel};

/// The job that measures the device's peak rates, the job that reads how many registers the kernels use, and their results.
#[derive(Default)]
pub(super) struct PeakMeasurement {
    /// The peak rates of each device that was measured in this session, by the index of the device.
    known: HashMap<usize, DevicePeaks>,
    measurement: Slot<(usize, DevicePeaks)>,
    registers: Slot<Vec<KernelRegisters>>,
    /// The kernels whose numbers of registers were read or are being read: index of the device, variant, number of the version,
    /// and configuration. `None` if there are none.
    kernels: Option<(usize, VariantId, u64, Config)>,
    /// The known facts about the device in use and the kernels on the screen, for the panel of stages.
    pub(crate) shown: DeviceFacts,
    pub clock_monitor: ClockMonitor,
}

impl PeakMeasurement {
    /// Takes the results of the jobs, and starts the jobs if the panel of stages is open and results are missing.
    pub(super) fn update(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let measured = self.measurement.poll().result.and_then(|result| cx.or_notify(result));
        self.known.extend(measured);
        let before = self.shown.clone();
        let device = devices.running.device();
        let known = device.and_then(|device| self.known.get(&device.info.index)).copied();
        self.shown.peaks = known;
        // With `--frames` the jobs do not start, since scripts use that option to measure the movie alone.
        let is_open = cx.overlay.is_panel_visible(Panel::Stages) && cx.args.frames.is_none();
        if let Some(device) = device.filter(|_| is_open) {
            if known.is_none() && !self.measurement.is_under_way() {
                let device = device.clone();
                let measure =
                    move |_: &Worker<'_, _>| Ok(Some((device.info.index, ladders::peaks::measure(&device))));
                self.measurement.start((&mut cx.lane, Task::Peaks), "", measure);
            }
            if let Err(error) = self.read_registers(device, cx) {
                cx.notify(error, false);
            }
        }
        if !is_open && matches!(self.measurement.state, JobState::Waiting(_)) {
            self.measurement.stop();
        }
        self.shown.waits = match &self.measurement.state {
            JobState::Waiting(obstacle) => Some(format!("waits: {obstacle}")),
            JobState::Running(_) | JobState::Ending(_) => Some("being measured".to_owned()),
            _ => None,
        };
        if self.shown != before {
            cx.repaints.redraw_soon();
        }
    }

    /// Takes the result of the job that reads from the compiler how many registers each kernel uses. If the kernels that filter
    /// the frames have changed, starts that job again for the new ones. It does not run for a CPU, since drivers report no
    /// registers there.
    fn read_registers(&mut self, device: &Device, cx: &mut PlayerContext) -> Result<()> {
        let shown = &cx.frames.recorder.shown;
        let now = shown.last().filter(|_| device.info.kind != DeviceKind::Cpu).and_then(|sample| {
            let config = sample.stages.work.as_ref()?.config.clone();
            Some((device.info.index, sample.setting.variant, sample.setting.version, config))
        });
        if now != self.kernels {
            self.registers.stop();
            self.shown.registers.clear();
            if let Some((.., config)) = &now {
                let (device, sources, config) = (device.clone(), cx.sources.get(), config.clone());
                let read = move |_: &Worker<'_, _>| {
                    let cl = ClContext::new(&device, sources)?;
                    let compiled = program::binary_and_log(&cl, config.code().file(), &config.options());
                    let registers = compiled.map(|(binary, log)| machine_code::registers(&binary, &log));
                    Ok(Some(registers.unwrap_or_default()))
                };
                self.registers.start((&mut cx.lane, Task::Registers), "", read);
            }
            self.kernels = now;
        }
        if let Some(registers) = self.registers.poll().result {
            self.shown.registers = registers?;
        }
        Ok(())
    }
}

/// The time between two readings of the clock.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// The last reading of a device's clock, or the reason (a sentence) why the clock cannot be read.
type ClockReading = Result<ClockSnapshot, String>;

/// The task that reads the clock of the device in use, and the last reading.
#[derive(Default)]
pub(super) struct ClockMonitor {
    /// The task that reads the clock while the table of stages is open.
    task: Slot<(), ClockReading>,
    /// The index of the device that the task reads; compared in order to notice a change of the device.
    device: Option<usize>,
    reading: Option<ClockReading>,
}

impl ClockMonitor {
    /// Returns the last reading of the clock of `device`; `None` before the first reading. Starts the task if `is_visible` is
    /// true, and ends it otherwise or if the device has changed. Without a device, reads the clocks of the CPUs.
    pub(super) fn sample(
        &mut self,
        device: Option<&Device>,
        is_visible: bool,
        lane: &mut Lane,
    ) -> Option<&ClockReading> {
        let index = device.map(|device| device.info.index);
        if !is_visible || index != self.device {
            self.task.stop();
            (self.reading, self.device) = (None, index);
        }
        if is_visible && !self.task.is_under_way() && self.reading.is_none() {
            let device = device.cloned();
            let read = move |worker: &Worker<'_, (), ClockReading>| {
                match ClockReader::new(device.as_ref()) {
                    Ok(reader) => {
                        while worker.reporter.report(Ok(reader.snapshot())) && !worker.reporter.is_cancelled()
                        {
                            worker.pause(CLOCK_INTERVAL);
                        }
                    }
                    Err(why) => _ = worker.reporter.report(Err(why)),
                }
                Ok(Some(()))
            };
            self.task.start((lane, Task::Clock), "", read);
        }
        let news = self.task.poll();
        let failed = news.result.and_then(Result::err).map(|error| Err(error.to_string()));
        self.reading = news.progress.into_iter().chain(failed).next_back().or_else(|| self.reading.take());
        self.reading.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn reads_only_while_visible() {
        let mut lane = Lane::new(&(Arc::new(|| ()) as Waker));
        let mut monitor = ClockMonitor::default();
        assert_eq!(monitor.sample(None, false, &mut lane), None);
        let began = Instant::now();
        while monitor.sample(None, true, &mut lane).is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "no reading and no reason");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(monitor.sample(None, false, &mut lane), None, "an old reading is not shown");
        assert!(!monitor.task.is_under_way());
    }
}
