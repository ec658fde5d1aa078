//! Facts about the device and the kernels on the screen for the panel of stages: the device's peaks, which a job measures
//! once per device and session when the panel is open, and the registers of the kernels, which a job asks the compiler for.

use std::time::Duration;

use super::PlayerContext;
use super::devices::Devices;
use base::error::Result;
use base::jobs::Job;
use box_filter::{Config, VariantId};
use ladder::config::Tunable;
use ladder::why::DevicePeaks;
use opencl::cl::{ClContext, Device, DeviceKind};
use opencl::machine_code::{self, KernelRegisters};
use opencl::process::lower_priority;
use opencl::program;
use overlay::{DeviceFacts, Panel, Wait};

/// The version of the kernels whose registers are wanted: the device's key, the version, and the configuration.
type KernelsKey = (String, VariantId, u64, Config);

/// Measures the peaks of the devices in use, and reads the registers of kernels.
#[derive(Default)]
pub(super) struct PeakMeasurement {
    /// The peaks of each device that was measured in this session, by the device's key.
    known: Vec<(String, DevicePeaks)>,
    job: Option<Job<(String, DevicePeaks)>>,
    registers: Option<Job<Vec<KernelRegisters>>>,
    /// The kernels of `shown.registers`, or of the job that reads them.
    kernels: Option<KernelsKey>,
    shown: DeviceFacts,
}

/// Returns a text that identifies a device and its driver.
fn device_key(device: &Device) -> String {
    let info = &device.info;
    format!("{} {} {} {:?}", info.platform, info.driver, info.name, info.pci_address)
}

impl PeakMeasurement {
    /// Returns what is known about the device in use and the kernels on the screen.
    pub(crate) fn shown(&self) -> &DeviceFacts {
        &self.shown
    }

    /// Returns true while a job uses the device.
    pub(super) fn measures(&self) -> bool {
        self.job.is_some()
    }

    /// Takes the results of the jobs, and starts them if the panel of stages is open. `obstacle` is the reason why the device must not be
    /// used now.
    pub(super) fn update(&mut self, devices: &Devices, obstacle: Option<Wait>, cx: &mut PlayerContext) {
        match Job::take_result(&mut self.job, Duration::ZERO) {
            Some(Ok(measured)) => self.known.push(measured),
            Some(Err(error)) => cx.notify(error, false),
            None => {}
        }
        let before = self.shown.clone();
        let device = devices.running.device();
        let key = device.map(device_key);
        let known = self.known.iter().find(|(of, _)| Some(of) == key.as_ref()).map(|(_, peaks)| *peaks);
        (self.shown.peaks, self.shown.waits) = (known, None);
        // A script that counts frames measures the movie alone.
        let is_open = cx.overlay.is_panel_visible(Panel::Stages) && cx.args.frames.is_none();
        if let (Some(device), Some(key), true) = (device, key, is_open) {
            if known.is_none() {
                self.measure(device, key.clone(), obstacle, cx);
            }
            if let Err(error) = self.read_registers(device, key, cx) {
                cx.notify(error, false);
            }
        }
        if self.shown != before {
            cx.repaints.redraw_soon();
        }
    }

    /// Starts to measure the peaks of a device, unless there is an obstacle.
    fn measure(&mut self, device: &Device, key: String, obstacle: Option<Wait>, cx: &mut PlayerContext) {
        if self.job.is_some() {
            self.shown.waits = Some("being measured".to_owned());
            return;
        }
        if let Some(obstacle) = obstacle {
            self.shown.waits = Some(format!("waits: {obstacle}"));
            return;
        }
        let device = device.clone();
        let measure = move |_: &_| {
            lower_priority();
            Ok((key, ladders::peaks::measure(&device)))
        };
        let what = "The peaks of the device cannot be measured.";
        self.job = cx.or_notify(Job::spawn("peaks", what, &cx.waker.clone(), measure));
    }

    /// Starts to read the registers of the kernels on the screen, if they are others than before. Drivers of processors report none.
    fn read_registers(&mut self, device: &Device, key: String, cx: &PlayerContext) -> Result<()> {
        let shown = &cx.frames.recorder.shown;
        let now = shown.last().filter(|_| device.info.kind != DeviceKind::Cpu).and_then(|sample| {
            let config = sample.work.as_ref()?.config.clone();
            Some((key, sample.variant, sample.versions.first, config))
        });
        if now != self.kernels {
            (self.registers, self.shown.registers) = (None, Vec::new());
            if let Some((.., config)) = &now {
                let (device, sources, config) = (device.clone(), cx.sources.get(), config.clone());
                let read = move |_: &_| {
                    lower_priority();
                    let cl = ClContext::new(&device, sources)?;
                    let compiled = program::binary_and_log(&cl, config.code().file(), &config.options());
                    Ok(compiled
                        .map_or_else(|_| Vec::new(), |(binary, log)| machine_code::registers(&binary, &log)))
                };
                let what = "The registers of the kernels cannot be read.";
                self.registers = Some(Job::spawn("registers", what, &cx.waker, read)?);
            }
            self.kernels = now;
        }
        if let Some(registers) = Job::take_result(&mut self.registers, Duration::ZERO) {
            self.shown.registers = registers?;
        }
        Ok(())
    }
}
