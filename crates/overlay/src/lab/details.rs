//! The details of the variant that is selected in the Lab: its idea, its parameters, its source and its machine code.

use base::device::{DeviceKind, MachineCode};
use base::error::Result;
use ladder::results::RowReport;
use ladders::VariantSummary;

use crate::job::JobState;
use crate::panel::{LabKernel, Pane, choice_button, paragraph, resizable};
use crate::prelude::*;
use crate::{Source, code};

/// The height in points of the source and the machine code, unless the user has changed it.
const CODE_HEIGHT: f32 = 220.0;
/// The hover text of the button that shows machine code.
const MACHINE_CODE_HOVER: &str = "Show the machine code of these kernels, compiled with these parameters";

/// The source and the machine code of the selected variant's kernels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabCode {
    /// The kernels to which `source` and `machine_code` belong; `None` before a variant with kernels was selected.
    pub kernel: Option<LabKernel>,
    /// The source of the kernels; `None` until it is read.
    pub source: Option<Source>,
    /// The machine code; `None` until the driver has returned it.
    pub machine_code: Option<Result<MachineCode>>,
}

/// Returns the kernels of a variant with the parameters with which `row` was measured, or with the default parameters for this
/// kind of device if `row` is `None` or has no kernels.
pub(super) fn kernel(
    variant: &VariantSummary,
    kind: DeviceKind,
    row: Option<&RowReport>,
) -> Option<LabKernel> {
    let of_row = |row: &RowReport| {
        let file = row.kernel.as_ref()?.file.clone();
        Some(LabKernel { file, parameters: row.parameters.clone().unwrap_or_default() })
    };
    let [cpu, gpu] = &variant.kernels;
    let declared = if kind == DeviceKind::Cpu { cpu } else { gpu };
    let declared =
        || declared.clone().map(|(file, parameters)| LabKernel { file: file.to_owned(), parameters });
    row.and_then(of_row).or_else(declared)
}

/// Lays out the details of a variant; `row` is its result if it was measured.
pub(super) fn show(ui: &mut Ui, variant: &VariantSummary, row: Option<&RowReport>, pane: &mut Pane) {
    let (lab, switches) = (pane.pass.view.lab, &mut *pane.switches);
    let code = &lab.code;
    // Nothing is compiled during a measurement.
    let is_measuring = matches!(lab.state, JobState::Running(_) | JobState::Ending(_));
    paragraph(ui, &format!("{}: {}", variant.title, variant.idea), theme::STRONG);
    if let Some(chosen) = row.and_then(|row| row.chosen.as_ref()) {
        paragraph(ui, &format!("Here: {chosen}"), theme::TEXT);
    }
    let Some(kernel) = &pane.selection.kernel else { return };
    let what = if row.is_some_and(|row| row.kernel.is_some()) { "Parameters" } else { "Default parameters" };
    let parameters = if kernel.parameters.is_empty() { theme::UNKNOWN } else { &kernel.parameters };
    ui.horizontal_wrapped(|ui| {
        paragraph(ui, &format!("{what}: {parameters}"), theme::TEXT);
        let button = choice_button("Machine code", switches.machine_code);
        if ui.add(button).explain(MACHINE_CODE_HOVER).clicked() {
            switches.machine_code ^= true;
        }
    });
    // Until it is read, the code is that of the variant before.
    let Some(source) = code.source.as_ref().filter(|_| code.kernel.as_ref() == Some(kernel)) else { return };
    resizable(ui, "lab-source", CODE_HEIGHT, |ui| _ = code::show(ui, source));
    if !switches.machine_code {
        return;
    }
    match &code.machine_code {
        // The text in place of machine code during a measurement.
        None if is_measuring => {
            drop(paragraph(ui, "It is compiled once the measurement has ended.", theme::WEAK))
        }
        None => drop(paragraph(ui, "Querying the driver\u{2026}", theme::WEAK)),
        Some(Err(error)) => drop(paragraph(ui, &format!("{} {}", error.what, error.why), theme::ERROR)),
        Some(Ok(code)) => {
            let facts = [&code.name].into_iter().chain(&code.facts);
            facts.for_each(|fact| drop(paragraph(ui, fact, theme::TEXT)));
            let name = "lab-machine-code";
            resizable(ui, name, CODE_HEIGHT, |ui| code::show_plain_text(ui, name, &code.text));
        }
    }
}
