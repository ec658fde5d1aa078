//! Checks a variant before it is timed: compares its output with the reference for each kind of input, at small and odd cases.
//! Before each run the output is filled with values that differ from the expected ones, so that missing writes are detected.
//! Inputs and output lie between canaries (bytes with known contents), so that writes outside the output are detected.

use super::definition::{CaseInfo, Expected, Ladder, Output};
use base::error::Result;
use base::verify::{self, Checked, MismatchReport};
use opencl::cl::ClContext;
use opencl::parts::require_sub_buffers;

/// A callback that is called before the checks give the device more work. An error that it returns stops the checks.
pub type ContinueCheck<'a> = &'a mut dyn FnMut() -> Result<()>;

/// The list of checks that a variant passed, or the report on the first output that differs from the reference.
pub type CheckResult = Result<Vec<Checked>, Box<MismatchReport>>;

/// The longest predicted time of a run that is made only to check a variant, in milliseconds. Small cases that are predicted to
/// take longer are not checked.
const MAX_RUN_MS: f64 = 1000.0;

/// A checker of one compiled variant, on a device, or on the host if there is no device.
pub struct VariantChecker<'a, L: Ladder> {
    /// The ladder that the variant belongs to.
    pub ladder: &'a L,
    /// The device; `None` if there is none.
    pub cl: Option<&'a ClContext>,
    /// The variant.
    pub built: &'a L::Built,
    /// The kernels' parameters whose values differ from the default ones, as text for mismatch reports; empty if there are
    /// none.
    pub config_note: &'a str,
    /// The [time budget](super::definition::LadderInfo::check_budget_ms) of a case, in milliseconds; `None` for all checks,
    /// however long they take.
    pub budget_ms: Option<f64>,
}

impl<'a, L: Ladder> VariantChecker<'a, L> {
    /// Creates a checker of a variant with the default values of its parameters, and with the ladder's time budget.
    pub fn new(ladder: &'a L, cl: Option<&'a ClContext>, built: &'a L::Built) -> Self {
        Self { ladder, cl, built, config_note: "", budget_ms: ladder.info().check_budget_ms }
    }

    /// Checks the variant before it is timed at the case `timed`: compares its output with the reference at the [small
    /// cases](Ladder::small). If there is a time budget, small cases that are predicted to take too long are left out, and so are
    /// the remaining inputs of a case that exceeds the budget.
    ///
    /// # Errors
    /// Returns an error if the variant cannot run, or the error of `check_continue`.
    pub fn check(&self, timed: &L::Case, check_continue: ContinueCheck) -> Result<CheckResult> {
        let mut checked = Vec::new();
        // Operations and time in milliseconds of a run of the case with the most operations so far. The time of a smaller run
        // is mostly overhead, which does not grow with the operations.
        let mut last: Option<(f64, f64)> = None;
        for case in self.ladder.small(self.built, timed) {
            let info = self.ladder.describe(&case);
            let operations = info.operations.max(1.0);
            let budget_ms = self.budget_ms.unwrap_or(f64::INFINITY);
            let predicted = last.map_or(0.0, |(before, ms)| ms * operations / before);
            if budget_ms.is_finite() && predicted > info.max_check_run_ms.unwrap_or(MAX_RUN_MS) {
                continue;
            }
            let (mut buffers, mut spent, mut least) = (self.allocate(&case)?, 0.0, f64::INFINITY);
            let mut inputs = Vec::new();
            for &input in self.ladder.info().inputs.iter().take(info.input_count.unwrap_or(usize::MAX)) {
                if !inputs.is_empty() && spent + spent / inputs.len() as f64 > budget_ms {
                    break;
                }
                check_continue()?;
                let (mut report, mut ms) = self.compare(&mut buffers, (&info, input), check_continue)?;
                // Drivers compile kernels at their first launch. The time of that launch must not shorten the checks.
                if report.is_none() && inputs.is_empty() && 2.0 * ms > budget_ms {
                    let second = self.compare(&mut buffers, (&info, input), check_continue)?;
                    (report, ms) = (second.0, second.1.min(ms));
                }
                if let Some(report) = report {
                    return Ok(Err(Box::new(report)));
                }
                (spent, least) = (spent + ms, ms.min(least));
                inputs.push(input.to_owned());
            }
            if last.is_none_or(|(most, _)| operations >= most) {
                last = Some((operations, least));
            }
            let way = (!self.config_note.is_empty()).then(|| self.config_note.to_owned());
            let mut one = Checked { inputs, ..info.check_label() };
            one.ways.extend(way);
            one.add_to(&mut checked);
        }
        // Checks that differ only in their layout can be merged only when all sizes are known.
        let mut merged = Vec::new();
        checked.into_iter().for_each(|one| one.add_to(&mut merged));
        Ok(Ok(merged))
    }

    /// Checks the variant at the first small case with the first kind of input only, before its speed is known. Returns a
    /// report if the output differs from the reference, and the time of a run in milliseconds.
    ///
    /// # Errors
    /// Returns an error if the variant cannot run.
    pub(super) fn quick_check(&self, timed: &L::Case) -> Result<(Option<MismatchReport>, f64)> {
        let Some(case) = self.ladder.small(self.built, timed).into_iter().next() else {
            return Ok((None, 0.0));
        };
        let info = self.ladder.describe(&case);
        let input = self.ladder.info().inputs[0];
        self.compare(&mut self.allocate(&case)?, (&info, input), &mut || Ok(()))
    }

    /// Allocates memory for a case. The guards before and after the output and the inputs are larger if the output is larger.
    fn allocate(&self, case: &L::Case) -> Result<L::Buffers> {
        self.ladder.allocate(self.cl, case, verify::guard_bytes(self.ladder.describe(case).output))
    }

    /// Runs the variant with one kind of input and compares its output with the reference. Returns a report if the output
    /// differs from it, and the time of a run in milliseconds.
    fn compare(
        &self,
        buffers: &mut L::Buffers,
        (info, input): (&CaseInfo, &str),
        check_continue: ContinueCheck,
    ) -> Result<(Option<MismatchReport>, f64)> {
        let Self { ladder, built, .. } = self;
        let Expected { bytes: want, elements } = ladder.load(buffers, input)?;
        // Computing the reference takes time of its own.
        check_continue()?;
        let (mut source, mut ms) = (0, f64::INFINITY);
        let report = verify::check(&want, elements.as_ref(), |before| {
            ladder.write(built, buffers, before)?;
            ms = ladder.run(built, buffers)?.wall_ms.min(ms);
            let Output { bytes, changed } = ladder.read(built, buffers)?;
            source = source.max(changed);
            Ok(bytes)
        })?;
        let report = verify::with_source_changes(report, source);
        if let (Some(_), Some(cl)) = (&report, self.cl) {
            // A driver without working sub-buffers would look like a wrong kernel.
            require_sub_buffers(cl)?;
        }
        let way = if self.config_note.is_empty() { String::new() } else { format!("{}, ", self.config_note) };
        let case = || format!("{way}{input}, {}", info.mismatch_label.as_deref().unwrap_or(&info.title));
        Ok((report.map(|report| MismatchReport { case: case(), ..report }), ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Part;
    use crate::fake::{Behaviour, CORRECT, FakeLadder, TIMED_CASE};

    /// Checks a variant; returns the titles of the cases that were checked, and the number of runs.
    fn checked(ladder: &FakeLadder<true>) -> (Vec<String>, usize) {
        let built = ladder.build(Part::Host("good")).unwrap();
        let checker = VariantChecker::new(ladder, None, &built);
        let checked = checker.check(&TIMED_CASE, &mut || Ok(())).unwrap().unwrap();
        let runs = ladder.calls.take().iter().filter(|call| !call.starts_with("build")).count();
        (checked.into_iter().flat_map(|one| one.sizes).collect(), runs)
    }

    #[test]
    fn cases_that_are_predicted_to_take_too_long_are_left_out() {
        // 1000 times as many operations take a millisecond in one case, and two seconds in the other.
        let fast = FakeLadder::new(|_, _, _| Behaviour { runs_ms: &[0.001], ..CORRECT });
        let (cases, runs_of_all) = checked(&fast);
        assert_eq!(cases, ["case 0", "case 5", "case 4", "case 1"]);
        // The time of compiling does not count as the time of a run.
        let compiled =
            FakeLadder::new(|_, _, _| Behaviour { runs_ms: &[0.001], compile_ms: 200.0, ..CORRECT });
        let (cases, runs) = checked(&compiled);
        assert_eq!(cases, ["case 0", "case 5", "case 4", "case 1"]);
        assert_eq!(runs, runs_of_all + 1);
        let slow = FakeLadder::new(|_, _, _| Behaviour { runs_ms: &[2.0], ..CORRECT });
        let (cases, runs) = checked(&slow);
        // Case 4 takes two milliseconds, and the budget allows one.
        assert_eq!(cases, ["case 0", "case 1"]);
        assert_eq!(2 * runs, runs_of_all, "no run of the others was made");
    }
}
