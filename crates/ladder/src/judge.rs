//! What a ladder brings to a search over the parameters of its kernels. In: configurations. Out: whether they are right, and
//! how long they take.

use super::config::{Config, Tunable};
use super::measure::Sample;
use base::error::Result;
use base::verify::{Checked, MismatchReport};
use opencl::cl::DeviceInfo;

/// What came of a configuration.
#[derive(Debug, Clone)]
pub enum Status {
    /// Exact; the time of its least disturbed run, the minimum, in milliseconds.
    Scored(f64),
    /// Too slow to go on with; the predicted time in milliseconds.
    Abandoned(f64),
    /// It differs from the reference.
    Mismatch(MismatchReport),
    /// It could not be built or run.
    Failed(String),
}

/// Told before each piece of work for the device; an error ends the search.
pub type GoOn<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Builds, checks and runs configurations for one case of a ladder on one device.
pub trait Judge {
    /// The kernels of a rung.
    type Code: Tunable;
    /// A configuration that can run.
    type Ready;
    /// What nothing that moves the same bytes can pass.
    type Limit;

    /// The device.
    fn device(&self) -> &DeviceInfo;

    /// Tries changed kernels in a process of their own, where no run should take longer than `longest_ms`: what came of
    /// it where they are not to be run here.
    fn try_apart(
        &mut self,
        rung: &'static str,
        config: &Config<Self::Code>,
        longest_ms: f64,
    ) -> Option<Status>;

    /// Compiles it, and launches it once: some drivers finish compiling at the first launch. What both took, in
    /// milliseconds, goes into `compile_ms`, and nothing else does.
    ///
    /// # Errors
    /// When it does not compile, or the device cannot run it.
    fn build(
        &mut self,
        rung: &'static str,
        config: &Config<Self::Code>,
        compile_ms: &mut Option<f64>,
    ) -> Result<Self::Ready>;

    /// A first look at a small case, before anything is known of its speed: among canaries.
    ///
    /// # Errors
    /// When the device fails.
    fn first_look(&mut self, ready: &Self::Ready) -> Result<Option<MismatchReport>>;

    /// How long a run will take, in milliseconds.
    ///
    /// # Errors
    /// When the device fails.
    fn predict(&mut self, ready: &Self::Ready) -> Result<f64>;

    /// Everything that is checked before a run counts; what was compared comes into `checked`.
    ///
    /// # Errors
    /// When the device fails, or `go_on` ends it.
    fn check(
        &mut self,
        ready: &Self::Ready,
        predicted_ms: f64,
        checked: &mut Vec<Checked>,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>>;

    /// The first run of those that count, of which every byte is compared.
    ///
    /// # Errors
    /// When the device fails.
    fn first_run(&mut self, ready: &Self::Ready) -> Result<std::result::Result<Sample, MismatchReport>>;

    /// One complete run, waited for.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&self, ready: &Self::Ready) -> Result<Sample>;

    /// Makes the limit ready, and runs it once; `None` where there is none.
    ///
    /// # Errors
    /// When the device fails.
    fn limit(&mut self) -> Result<Option<Self::Limit>>;

    /// The same as [`Judge::run`] for the limit.
    ///
    /// # Errors
    /// When the device fails.
    fn run_limit(&self, limit: &Self::Limit) -> Result<Sample>;
}
