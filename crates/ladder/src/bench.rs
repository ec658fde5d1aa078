//! A ladder on one device, as the [benchmark](super::rounds) needs it. In: cases, and what takes part. Out: what can be run
//! and compared, or the outcome that stands in the place of its times.

use super::Outcome;
use super::rows::{Case, CaseRun, Chosen, Entry};
use crate::measure::Sample;
use base::error::{Error, Result};
use base::verify::{Accuracy, Checked, MismatchReport};

/// A ladder on one device. [`Contest`](super::contest::Contest) is one for all ladders whose
/// kernels compute on plain memory.
pub trait Bench {
    /// What is computed once.
    type Case;
    /// What takes part.
    type Entrant: Copy;
    /// A case with its inputs and outputs in memory.
    type Room;
    /// Something that can be run on a case, or a limit.
    type Ready;

    /// What a case is called.
    fn case(&self, case: &Self::Case) -> Case;

    /// What an entrant is called.
    fn entry(&self, entrant: Self::Entrant) -> Entry;

    /// Memory for a case, with the first input in it.
    ///
    /// # Errors
    /// When there is not enough of it, or the device fails.
    fn room(&mut self, case: &Self::Case) -> Result<Self::Room>;

    /// Makes an entrant ready, checks it as far as it takes to run it whole, and predicts how long that takes.
    ///
    /// # Errors
    /// What stands in the place of its times.
    fn prepare(&mut self, entrant: Self::Entrant, room: &mut Self::Room) -> Tried<Prepared<Self::Ready>>;

    /// Checks what takes so long that it is for what is not left out alone, and adds what it compared.
    ///
    /// # Errors
    /// What stands in the place of its times.
    fn check(&mut self, _prepared: &mut Prepared<Self::Ready>, _room: &mut Self::Room) -> Tried<()> {
        Ok(())
    }

    /// A limit, by its index among those of the case.
    ///
    /// # Errors
    /// What stands in the place of its times.
    fn limit(&mut self, index: usize, room: &mut Self::Room) -> Tried<Self::Ready>;

    /// Brings the input of a round, for all.
    ///
    /// # Errors
    /// When the device fails.
    fn load(&self, _round: u32, _room: &mut Self::Room) -> Result<()> {
        Ok(())
    }

    /// Fills the output with what is nowhere right, and what else no run may rely on.
    ///
    /// # Errors
    /// When the device fails.
    fn poison(&self, ready: &Self::Ready, room: &mut Self::Room) -> Result<()>;

    /// One complete run, waited for.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&self, ready: &Self::Ready, room: &mut Self::Room) -> Result<Sample>;

    /// What the times of a case say, in a sentence or two, where there is a question that they answer.
    fn remark(&self, _run: &CaseRun) -> Option<String> {
        None
    }

    /// Compares the output with what is right for the first round's input, and that with what it was. The report's case is
    /// the input.
    ///
    /// # Errors
    /// When the device fails.
    fn compare(&self, ready: &Self::Ready, room: &mut Self::Room) -> Result<Compared>;
}

/// What a comparison found: how exact the output is, where it need not be right to the last bit, or how it differs.
pub type Compared = std::result::Result<Option<Accuracy>, Box<MismatchReport>>;

/// Something that is to be timed, if it does not take too long.
#[derive(Debug)]
pub struct Prepared<R> {
    /// It.
    pub ready: R,
    /// How long a run takes, in milliseconds.
    pub predicted_ms: f64,
    /// What was chosen for it; only where there was a choice.
    pub chosen: Option<Chosen>,
    /// What was compared.
    pub checked: Vec<Checked>,
}

/// What was asked for, or the outcome that stands in its place.
pub type Tried<T> = std::result::Result<T, Box<Outcome>>;

/// The outcome of what failed.
pub fn fail(error: Error) -> Box<Outcome> {
    Box::new(Outcome::Failed(error))
}

/// The outcome of what differs, if it does, or of a check that failed.
pub fn passed(report: Result<Option<MismatchReport>>) -> Tried<()> {
    report.map_err(fail)?.map_or(Ok(()), |report| Err(Box::new(Outcome::Mismatch(report))))
}

/// What cannot run for want of a device.
pub fn without_device() -> Box<Outcome> {
    Box::new(Outcome::Unsupported("There is no OpenCL device.".to_owned()))
}

/// What was made on a device; and the outcome of what needs it, where it is not there or could not be made.
pub fn or_without<T>(made: Result<Option<T>>) -> (Option<T>, Box<Outcome>) {
    match made {
        Ok(made) => (made, without_device()),
        Err(error) => (None, fail(error)),
    }
}

/// The outcome of a limit that needs what has this outcome. That there is no limit is no fault: what needs the same tells it.
pub fn no_limit(outcome: &Outcome) -> Box<Outcome> {
    Box::new(Outcome::Unsupported(outcome.reason().unwrap_or_default()))
}

/// A first run that takes so long needs no second one to predict the others, in milliseconds.
const COLD_MS: f64 = 300.0;

/// Predicts how long a run takes, in milliseconds, from a second one where the first was short: that also warms up.
///
/// # Errors
/// What `run` returns.
pub fn predict(mut run: impl FnMut() -> Result<Sample>) -> Result<f64> {
    let cold = run()?.wall_ms;
    if cold > COLD_MS { Ok(cold) } else { Ok(run()?.wall_ms) }
}
