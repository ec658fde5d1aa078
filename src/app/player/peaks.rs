//! Properties of the device and of the kernels in use, for the panel of stages. As soon as there is time for it, a job measures
//! the peak rates of each device, so that they are known before a slow variant leaves no time; it does so again if other
//! processes were busy meanwhile. While the panel is open, another job reads from the compiler how many registers the kernels
//! use, and a third one reads the clock frequency of the device once a second.

use std::collections::HashMap;

use super::*;
use crate::app::lane::{Slot, Task, Worker};
use base::device::{ClockSnapshot, KernelRegisters};
use base::timing::{CpuTimes, noise};
use box_filter::Config;
use compute::config::Tunable;
use ladder::why::DevicePeaks;
use opencl::cl::{ClContext, Device};
use opencl::clock_speed::ClockReader;
use opencl::{machine_code, program};
use overlay::{DeviceFacts, JobState, Panel};

/// The time after which peaks are measured again if other processes were busy while they were measured.
const REPEAT_AFTER: Duration = Duration::from_secs(10);

/// The peak rates of a device, and a boolean that is true if other processes were busy during the last measurement.
type Measured = (DevicePeaks, bool);

/// The job that measures the device's peak rates, the job that reads how many registers the kernels use, and their results.
#[derive(Default)]
pub(super) struct PeakMeasurement {
    /// The peak rates of each device that was measured in this session, by the index of the device.
    known: HashMap<usize, Measured>,
    measurement: Slot<(usize, Measured)>,
    /// The end of the last measurement.
    measured_at: Option<Instant>,
    registers: Slot<Vec<KernelRegisters>>,
    /// The kernels whose numbers of registers were read or are being read: index of the device, variant, number of the version,
    /// and configuration. `None` if there are none.
    kernels: Option<(usize, VariantId, u64, Config)>,
    /// The known facts about the device in use and the kernels on the screen, for the panel of stages.
    pub(crate) shown: DeviceFacts,
    pub clock_monitor: ClockMonitor,
}

impl PeakMeasurement {
    /// Takes the results of the jobs, and starts those jobs whose results are missing and shown.
    pub(super) fn update(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let measured = self.measurement.poll().result.and_then(|result| cx.or_notify(result));
        if let Some((index, (peaks, is_rough))) = measured {
            let before = self.known.get(&index).map_or_else(DevicePeaks::default, |(before, _)| *before);
            self.known.insert(index, (before.highest(peaks), is_rough));
            self.measured_at = Some(Instant::now());
        }
        let before = self.shown.clone();
        let device = devices.running.device();
        let known = device.and_then(|device| self.known.get(&device.info.index)).copied();
        self.shown.peaks = known.map(|(peaks, _)| peaks);
        self.shown.is_rough = known.is_some_and(|(_, is_rough)| is_rough);
        if self.shown.is_rough {
            cx.repaints.redraw_within(REPEAT_AFTER);
        }
        // With `--frames` the jobs do not start, since scripts use that option to measure the movie alone.
        let is_visible = cx.overlay.saved_state().visible && cx.args.frames.is_none();
        let is_open = cx.overlay.is_panel_visible(Panel::Stages) && is_visible;
        if let Some(device) = device.filter(|_| is_visible && self.is_due(known, cx)) {
            let device = device.clone();
            let measure =
                move |worker: &Worker<'_, _>| Ok(Some((device.info.index, measure(&device, worker))));
            self.measurement.start((&mut cx.lane, Task::Peaks), "", measure);
        }
        if let Some(Err(error)) = device.filter(|_| is_open).map(|device| self.read_registers(device, cx)) {
            cx.notify(error, false);
        }
        if !is_visible && matches!(self.measurement.state, JobState::Waiting(_)) {
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

    /// Returns true if the peaks of the device in use are to be measured now: the picture of the chosen filter is on the screen,
    /// and `known`, what was measured before, is missing or rough while the machine has become quiet.
    fn is_due(&self, known: Option<Measured>, cx: &PlayerContext) -> bool {
        let recorder = &cx.frames.recorder;
        let is_awaited = cx.frames.choice.is_awaited(cx.frames.presenter.screen.filter());
        let is_quiet = recorder.others.is_none_or(|part| part <= noise::MAX_OTHERS);
        let is_again = self.measured_at.is_none_or(|at| at.elapsed() >= REPEAT_AFTER) && is_quiet;
        recorder.shown.last().is_some()
            && !is_awaited
            && !self.measurement.is_under_way()
            && known.is_none_or(|(_, is_rough)| is_rough && is_again)
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

/// Measures the peak rates of a device.
fn measure<T>(device: &Device, worker: &Worker<'_, T>) -> Measured {
    let began = CpuTimes::now();
    let peaks = ladders::peaks::measure(device);
    let others = began.and_then(|began| {
        worker.pause(began.remaining_interval());
        CpuTimes::now()?.others_since(&began)
    });
    (peaks, others.is_some_and(|part| part > noise::MAX_OTHERS))
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
