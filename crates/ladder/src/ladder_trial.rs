//! The trial of a [`Ladder`]'s edited kernels: they run in a child process (the sandbox), so that a crash or a hang ends the
//! child and not clreel. The parent sends a [`compute::trial::Request`] with the kernels and the case at which they are to be
//! timed. The child compares their output with the reference and runs them once.

use serde::{Deserialize, Serialize};

use super::check::VariantChecker;
use super::definition::{Ladder, Part};
use super::growth::predict_if_long;
use super::measure::MAX_SINGLE_RUN;
use super::outcome::predict;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use compute::config::Config;
use compute::trial;
use opencl::cl::ClContext;
use opencl::sandbox::{ParentConnection, START};

/// The kernels to run in the trial (those of one variant, or the peak kernel), and the case.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task<C> {
    /// The variant's id and its parameter values by name; `None` if the ladder's first peak kernel is to run instead of a
    /// variant.
    pub kernels: Option<(String, Vec<(String, u32)>)>,
    /// The case at which the kernels are to be timed.
    pub case: C,
}

/// Runs the trials that the parent requests until it closes the connection, then exits the process. Called in the child
/// process. `frame` is the file descriptor of the memory that parent and child share.
pub fn serve_requests<L: Ladder>(ladder: &L, frame: u32) -> ! {
    trial::serve(frame, |cl, task: &Task<L::Case>, talk| check_kernels(ladder, cl, task, talk))
}

/// Builds the requested kernels, verifies them at the ladder's small cases, and runs them once at the requested case. Returns a
/// report if their output differs from the reference, `None` if it does not.
fn check_kernels<L: Ladder>(
    ladder: &L,
    cl: &ClContext,
    task: &Task<L::Case>,
    talk: &mut ParentConnection,
) -> Result<Option<MismatchReport>> {
    let unknown = || {
        Error::new("The trial of the modified kernels failed.", "Its request names no variant or case.", "")
    };
    ladder.prepare_trial(cl.sources());
    let built = match &task.kernels {
        None => ladder.build(Part::Peak(cl, 0))?,
        Some((id, params)) => {
            let variant = ladder.variants().iter().find(|variant| variant.id == *id).ok_or_else(unknown)?;
            let code = variant.code(cl.device.info.kind).ok_or_else(unknown)?;
            let config = Config::new(code, cl.device.info.kind);
            let config = params.iter().fold(config, |config, (name, value)| config.with(name, *value));
            ladder.build(Part::Kernels(cl, &config))?
        }
    };
    let checker = VariantChecker::new(ladder, Some(cl), &built);
    let result = checker.check(&ladder.case_of(&built, &task.case), &mut || {
        talk.step("small");
        Ok(())
    })?;
    // The peak kernel computes no result, so only writes outside its output count as a fault.
    if let Err(report) = result
        && (task.kernels.is_some() || report.wrote_elsewhere())
    {
        // The kernels are not run at the requested case: no canaries surround the output there, and a write outside it would
        // hit other memory.
        return Ok(Some(*report));
    }
    talk.step(START);
    let case = ladder.case_of(&built, &task.case);
    let mut buffers = ladder.allocate(Some(cl), &case, 0)?;
    ladder.load(&mut buffers, ladder.info().inputs[0])?;
    let mut predicted = 0.0;
    if ladder.info().check_budget_ms.is_some() {
        talk.step("time");
        predicted = match predict_if_long((ladder, &built), Some(cl), &case, &mut Vec::new())? {
            Some(predicted) => predicted,
            None => predict(|| ladder.run(&built, &mut buffers))?,
        };
    }
    // A run that is predicted to take longer is left out, since the parent does not time it either.
    if predicted <= MAX_SINGLE_RUN.as_secs_f64() * 1e3 {
        talk.step("whole");
        talk.report_prediction(predicted);
        ladder.run(&built, &mut buffers)?;
    }
    Ok(None)
}
