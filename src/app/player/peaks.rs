//! Properties of the device and of the kernels in use, for the panel of stages. While the panel is open, a job measures the
//! peak rates of each device once in a session, and another job reads from the compiler how many registers the kernels use.

use super::PlayerContext;
use super::devices::Devices;
use crate::app::lane::{Slot, Task, Worker};
use base::device::{DeviceKind, KernelRegisters};
use base::error::Result;
use box_filter::{Config, VariantId};
use compute::config::Tunable;
use ladder::why::DevicePeaks;
use opencl::cl::{ClContext, Device};
use opencl::machine_code;
use opencl::program;
use overlay::{DeviceFacts, JobState, Panel};

/// The kernels whose registers are wanted: device (see [`device_key`]), variant, number of the version, and configuration.
type KernelsKey = (String, VariantId, u64, Config);

/// The measurement of the device's peak rates, and the reading of the kernels' registers.
#[derive(Default)]
pub(super) struct PeakMeasurement {
    /// The peak rates of each device that was measured in this session, by the text of [`device_key`].
    known: Vec<(String, DevicePeaks)>,
    measurement: Slot<(String, DevicePeaks)>,
    registers: Slot<Vec<KernelRegisters>>,
    /// The kernels whose registers were read or are being read; `None` if there are none.
    kernels: Option<KernelsKey>,
    /// The known facts about the device in use and the kernels on the screen, for the panel of stages.
    pub(crate) shown: DeviceFacts,
}

/// Returns a text that differs for different devices and for different drivers of a device.
fn device_key(device: &Device) -> String {
    let info = &device.info;
    format!("{} {} {} {:?}", info.platform, info.driver, info.name, info.pci_address)
}

impl PeakMeasurement {
    /// Takes the results of the jobs, and starts the jobs if the panel of stages is open and results are missing.
    pub(super) fn update(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let measured = self.measurement.poll().result.and_then(|result| cx.or_notify(result));
        self.known.extend(measured);
        let before = self.shown.clone();
        let device = devices.running.device();
        let key = device.map(device_key);
        let known = self.known.iter().find(|(of, _)| Some(of) == key.as_ref()).map(|(_, peaks)| *peaks);
        self.shown.peaks = known;
        // A script that counts frames measures the movie alone.
        let is_open = cx.overlay.is_panel_visible(Panel::Stages) && cx.args.frames.is_none();
        if let (Some(device), Some(key), true) = (device, key, is_open) {
            if known.is_none() && !self.measurement.is_under_way() {
                self.measure(device, key.clone(), cx);
            }
            if let Err(error) = self.read_registers(device, key, cx) {
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

    /// Starts to measure the peak rates of a device; `key` is the device's text from [`device_key`].
    fn measure(&mut self, device: &Device, key: String, cx: &mut PlayerContext) {
        let device = device.clone();
        let measure = move |_: &Worker<'_, _>| Ok(Some((key, ladders::peaks::measure(&device))));
        let started = self.measurement.start((&mut cx.lane, Task::Peaks), "", measure);
        cx.or_notify(started);
    }

    /// Starts to read the registers of the kernels on the screen if the kernels have changed, and takes the result. On a CPU
    /// nothing is read, since drivers report no registers there.
    fn read_registers(&mut self, device: &Device, key: String, cx: &mut PlayerContext) -> Result<()> {
        let shown = &cx.frames.recorder.shown;
        let now = shown.last().filter(|_| device.info.kind != DeviceKind::Cpu).and_then(|sample| {
            let config = sample.stages.work.as_ref()?.config.clone();
            Some((key, sample.setting.variant, sample.setting.version, config))
        });
        if now != self.kernels {
            self.registers.stop();
            self.shown.registers.clear();
            if let Some((.., config)) = &now {
                let (device, sources, config) = (device.clone(), cx.sources.get(), config.clone());
                let read =
                    move |_: &Worker<'_, _>| {
                        let cl = ClContext::new(&device, sources)?;
                        let compiled = program::binary_and_log(&cl, config.code().file(), &config.options());
                        Ok(Some(compiled.map_or_else(
                            |_| Vec::new(),
                            |(binary, log)| machine_code::registers(&binary, &log),
                        )))
                    };
                self.registers.start((&mut cx.lane, Task::Registers), "", read)?;
            }
            self.kernels = now;
        }
        if let Some(registers) = self.registers.poll().result {
            self.shown.registers = registers?;
        }
        Ok(())
    }
}
