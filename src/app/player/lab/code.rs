//! The source text and the machine code of the variant that is selected in the Lab.

use super::LabMeasurement;
use crate::app::lane::{Slot, Task, Worker};
use crate::app::player::PlayerContext;
use crate::app::player::devices::Devices;
use crate::app::player::kernels::LiveKernels;
use base::device::MachineCode;
use base::error::Result;
use opencl::cl::{ClContext, Device};
use opencl::machine_code;
use opencl::program;
use opencl::sources::Sources;
use overlay::{LabCode, LabKernel, Source};

/// The kernels whose code is shown in the Lab, and the task that compiles them.
#[derive(Default)]
pub(super) struct CodeRequest {
    /// The number of the version of the edited kernels, and the index of the device, for which the code was read.
    of: (u64, Option<usize>),
    /// The task that compiles the kernels for their machine code.
    task: Slot<MachineCode>,
}

impl LabMeasurement {
    /// Reads the source of the selected variant again if the variant, the saved kernels or the device have changed. Starts to
    /// compile the machine code once that is to be shown.
    pub(crate) fn update_code(&mut self, devices: &Devices, kernels: &LiveKernels, cx: &mut PlayerContext) {
        if let Some(code) = self.code.task.poll().result {
            self.shown.code.machine_code = Some(code);
            cx.repaints.redraw_soon();
        }
        let (version, sources) = kernels.saved().unwrap_or_default();
        let (device, kernel) = (devices.running.device(), cx.overlay.lab_kernel());
        let of = (version, device.map(|device| device.info.index));
        if self.code.of != of || self.shown.code.kernel.as_ref() != kernel {
            let text =
                kernel.and_then(|kernel| Some((kernel.file.clone(), sources.text(&kernel.file).ok()?)));
            let source = text.map(|(file, text)| Source::new(file, &text, None));
            self.shown.code = LabCode { kernel: kernel.cloned(), source, machine_code: None };
            self.code.of = of;
            self.code.task.stop();
            cx.repaints.redraw_soon();
        }
        let is_wanted = cx.overlay.switches.machine_code && self.shown.code.machine_code.is_none();
        if let (Some(kernel), Some(device)) = (&self.shown.code.kernel, device)
            && is_wanted
            && !self.code.task.is_under_way()
        {
            let (device, kernel) = (device.clone(), kernel.clone());
            let compile = move |_: &Worker<'_, _>| disassemble(&device, sources, &kernel).map(Some);
            if let Err(error) = self.code.task.start((&mut cx.lane, Task::MachineCode), "", compile) {
                self.shown.code.machine_code = Some(Err(error));
            }
        }
    }
}

/// Compiles kernels with their parameters, and returns their machine code.
fn disassemble(device: &Device, sources: Sources, kernel: &LabKernel) -> Result<MachineCode> {
    let cl = ClContext::new(device, sources)?;
    let options: Vec<String> =
        kernel.parameters.split_whitespace().map(|parameter| format!("-D {parameter}")).collect();
    let (binary, log) = program::binary_and_log(&cl, &kernel.file, &options.join(" "))?;
    machine_code::from_binary(&binary, &log)
}
