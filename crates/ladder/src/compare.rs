//! Compares saved results of benchmarks. Each row that both results have gets a verdict (faster, slower, no difference shown),
//! or the reason why there is none. A row that only the earlier result has is listed, too.
//!
//! The two results come from different runs, and the load of the machine during a run says nothing about a row. Therefore the
//! interval of a ratio is widened by as much as the time of the peak kernel, which does the same work in both runs, has changed
//! between them ([`Ratio::widened_by`]). For times on the CPU, it is also widened by as much as other processes can explain
//! ([`load_factor`]).

mod places;

use super::results::{DeviceReport, Report};
use base::timing::noise::MAX_OTHERS;
use base::timing::ratio::{MIN_SAMPLES, NoInterval, of_medians};
use base::timing::{Precision, Ratio, Series, Verdict, believed};
use places::{Place, find, is_first, places};

/// The largest difference of the mean clock speeds of two results, relative to the faster one, at which their times are
/// comparable.
const MAX_CLOCK_CHANGE: f64 = 0.05;

/// The comparison of a row (a variant or a peak kernel at a case) in an earlier and a later result.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The device's name in the later result, or in the earlier one if the later result does not have the row; empty without a
    /// device.
    pub device: String,
    /// The title of the case.
    pub case: String,
    /// The row's name; the name of a peak kernel is in parentheses.
    pub row: String,
    /// The earlier and the later times in milliseconds; `None` for a result in which the row has no valid times.
    pub times: [Option<Times>; 2],
    /// The verdict on the later times, or the reason why there is none.
    pub result: Result<Compared, NoVerdict>,
    /// True if the output was right in the earlier result and differs from the reference in the later one.
    pub broke: bool,
    /// The hashes of the earlier and the later filter of a folder if they differ: the folders are different ones of one name, or their
    /// texts are. `None` if they are equal, unknown or built in.
    pub filters: Option<[String; 2]>,
}

/// The times of a row in one of the two saved results that are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// The times in milliseconds.
    pub series: Series,
    /// True if the times are noisy.
    pub is_noisy: bool,
}

impl Times {
    /// Returns the median of the times as text, with the digits that its confidence interval allows, and a mark if it is noisy.
    pub fn median(&self) -> String {
        // The load of other processes is included in `is_noisy`.
        let others = self.is_noisy.then_some(1.0);
        believed(self.series.p50, &[Precision::of(&self.series, others)])
    }
}

/// The verdict on a row that both results have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// The earlier time divided by the later one, with the confidence interval on which the verdict is based.
    pub ratio: Ratio,
    /// The verdict on the later result: faster, slower, or no difference shown.
    pub verdict: Verdict,
    /// True if the two results have different kernels; `None` if that is unknown.
    pub changed_kernel: Option<bool>,
}

/// The reason why a row has no verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct NoVerdict {
    /// The kind of the reason.
    pub kind: NoVerdictKind,
    /// The reason, worded as part of a sentence.
    pub reason: String,
}

/// The kinds of reasons for which a row has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoVerdictKind {
    /// The later result does not have the row.
    Gone,
    /// The rows are of equal work, but were measured on different devices or machines.
    OtherDevice,
    /// The rows are of different work (ladder, input or case), their times were measured by different clocks or at different
    /// clock speeds, or a row has no valid times or too few.
    NotComparable,
    /// The times follow a pattern with so long a period that no confidence interval can be computed.
    LongPeriod,
}

impl NoVerdictKind {
    /// Returns the words for the kind in tables, CSV and JSON.
    pub fn as_str(self) -> &'static str {
        ["gone", "other device", "not comparable", "no verdict"][self as usize]
    }
}

/// Formats the kind and the reason, as in "other device: 'D' and 'E'".
impl std::fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.reason)
    }
}

impl Comparison {
    /// Returns the earlier and the later median time as text; `None` for a result in which the row has no valid times.
    pub fn medians(&self) -> [Option<String>; 2] {
        self.times.map(|times| times.map(|times| times.median()))
    }

    /// Returns true if the earlier result has times of the row, and the later one has none.
    pub fn is_missing(&self) -> bool {
        matches!(self.times, [Some(_), None])
    }
}

/// Compares each row of `after` with the same row of `before`. At the end of the list are the rows with times that only
/// `before` has.
pub fn compare(before: &Report, after: &Report) -> Vec<Comparison> {
    let (earlier, later) = (places(before), places(after));
    let mut is_found = vec![false; earlier.len()];
    let mut comparisons = Vec::new();
    for now in &later {
        let is_same = |then: &Place| device_difference(before, after, then.device, now.device).is_none();
        let Some(at) = find(&earlier, now, is_same) else { continue };
        let then = &earlier[at];
        is_found[at] |= then.run.title == now.run.title;
        comparisons.push(Comparison {
            device: now.device.text("name").to_owned(),
            case: now.run.title.clone(),
            row: now.name.clone(),
            times: [then.times(), now.times()],
            result: compare_rows((before, after), then, now),
            broke: now.row.outcome == "mismatch" && then.row.outcome != "mismatch",
            filters: different_filters(then, now),
        });
    }
    let gone = (0..earlier.len()).filter(|at| !is_found[*at] && is_first(&earlier, *at));
    comparisons.extend(gone.map(|at| &earlier[at]).filter_map(|then| {
        Some(Comparison {
            device: then.device.text("name").to_owned(),
            case: then.run.title.clone(),
            row: then.name.clone(),
            times: [Some(then.times()?), None],
            result: Err(NoVerdict {
                kind: NoVerdictKind::Gone,
                reason: "the later result does not have this row".to_owned(),
            }),
            broke: false,
            filters: None,
        })
    }));
    comparisons
}

/// Returns the hashes of the filters of two rows if both are known and differ.
fn different_filters(then: &Place<'_>, now: &Place<'_>) -> Option<[String; 2]> {
    let hash = |place: &Place<'_>| place.row.kernel.as_ref()?.filter.clone();
    let hashes = [hash(then)?, hash(now)?];
    (hashes[0] != hashes[1]).then_some(hashes)
}

/// Returns true if the CPU computes: as the OpenCL device, or without an OpenCL device.
fn on_processor(device: &DeviceReport) -> bool {
    ["cpu", ""].contains(&device.text("type"))
}

/// Returns a text that says how two devices differ; `None` if they are the same device. Another version of the driver does not
/// make it another device, so that drivers can be compared.
fn device_difference(
    before: &Report,
    after: &Report,
    then: &DeviceReport,
    now: &DeviceReport,
) -> Option<String> {
    let differs =
        |what: &str, then: &str, now: &str| (then != now).then(|| format!("{what}'{then}' and '{now}'"));
    let (host, other) = (&before.metadata.host, &after.metadata.host);
    // A GPU counts as the same device in another machine.
    let is_on_processor = on_processor(now);
    let processor =
        || is_on_processor.then(|| differs("processor ", &host.processor, &other.processor)).flatten();
    let count = || {
        let (then, now) = (host.processors, other.processors);
        (is_on_processor && then != now).then(|| format!("{then} and {now} processors"))
    };
    differs("", then.text("name"), now.text("name"))
        .or_else(|| differs("platform ", then.text("platform"), now.text("platform")))
        .or_else(processor)
        .or_else(count)
}

/// Returns the factor by which the times of two runs on the CPU may differ because of other processes. `others` is the share of
/// the machine's CPU time that other processes used in each run, from 0 to 1.
///
/// A share of p leaves 1 − p to the program, so a change of p explains a change of the times. Beyond [`MAX_OTHERS`], where
/// times are noisy, threads also wait for others that were interrupted: the times of the window on two busy cores, with shares
/// of 0.62 to 0.82, differed by factors up to 6 between equal runs.
fn load_factor(others: [f64; 2]) -> f64 {
    let [least, most] = [others[0].min(others[1]), others[0].max(others[1])];
    let noisy = (most - MAX_OTHERS).max(0.0);
    (1.0 - least) / (1.0 - most) / (1.0 - noisy).powi(2)
}

/// Compares a row of the later result with the corresponding row of the earlier one.
///
/// # Errors
/// Returns the reason why there is no verdict.
fn compare_rows(
    (before, after): (&Report, &Report),
    then: &Place<'_>,
    now: &Place<'_>,
) -> Result<Compared, NoVerdict> {
    let not_comparable = |reason: String| NoVerdict { kind: NoVerdictKind::NotComparable, reason };
    require_same_work((before, after), then, now).map_err(not_comparable)?;
    let none =
        |when| not_comparable(format!("no samples in the {when} result; `clreel bench --save` writes them"));
    let first = then.row.samples.as_ref().ok_or_else(|| none("earlier"))?;
    let second = now.row.samples.as_ref().ok_or_else(|| none("later"))?;
    let times = [first.times(), second.times()];
    if times.iter().flatten().any(|ms| *ms <= 0.0) {
        return Err(not_comparable("samples that are no times".to_owned()));
    }
    if let Some(reason) = device_difference(before, after, then.device, now.device) {
        return Err(NoVerdict { kind: NoVerdictKind::OtherDevice, reason });
    }
    if first.clock() != second.clock() {
        return Err(not_comparable(format!("other clock: {} and {}", first.clock(), second.clock())));
    }
    if let [Some(mhz), Some(other)] =
        [then, now].map(|place| place.control_run().clock_mhz.as_ref().map(|clock| clock.mean))
        && (mhz - other).abs() > MAX_CLOCK_CHANGE * mhz.max(other)
    {
        return Err(not_comparable(format!("other clock speed: {mhz:.0} and {other:.0} MHz")));
    }
    let ratio = Ratio::of_runs(&times[0], &times[1]).map_err(|(run, why)| match why {
        NoInterval::TooFew => {
            not_comparable(format!("too few samples: a verdict needs {MIN_SAMPLES} of each"))
        }
        NoInterval::LongPeriod { period, samples } => NoVerdict {
            kind: NoVerdictKind::LongPeriod,
            reason: format!(
                "the {} times repeat every {period} samples; of {samples} samples that is too seldom, 8 periods are needed",
                ["earlier", "later"][run],
            ),
        },
    })?;
    let controls = then.control(first.clock()).zip(now.control(first.clock()));
    let control = controls.and_then(|(then, now)| of_medians(&then, &now));
    let ratio = control.map_or(ratio, |control| ratio.widened_by(control));
    let ratio = match on_processor(now.device) || first.device_ms.is_none() {
        true => ratio.widened_by(load_factor([then.others(), now.others()])),
        false => ratio,
    };
    let changed_kernel = then.row.kernel.as_ref().zip(now.row.kernel.as_ref()).map(|(then, now)| {
        // Results of earlier versions of clreel have no hash of a filter.
        (&then.file, &then.hash) != (&now.file, &now.hash)
    });
    Ok(Compared { ratio, verdict: ratio.verdict(), changed_kernel })
}

/// Returns `Ok` if two rows have the same work and valid results, so that they can be compared.
///
/// # Errors
/// Returns what differs between the rows, or what a row lacks, worded as part of a sentence.
fn require_same_work(
    (before, after): (&Report, &Report),
    then: &Place<'_>,
    now: &Place<'_>,
) -> Result<(), String> {
    if before.ladder != after.ladder {
        return Err(format!("other ladder: {} and {}", before.ladder, after.ladder));
    }
    let (input, other_input) = (before.movie(), after.movie());
    if input != other_input {
        let text = |input: Option<(u32, u32, &std::ffi::OsStr)>| {
            input.map_or_else(
                || "generated data".to_owned(),
                |(w, h, file)| format!("{w}×{h} of {}", file.to_string_lossy()),
            )
        };
        return Err(format!("other input: {} and {}", text(input), text(other_input)));
    }
    if then.run.title != now.run.title {
        return Err(format!("other case: {} and {}", then.run.title, now.run.title));
    }
    for (place, when) in [(then, "earlier"), (now, "later")].into_iter().filter(|(place, _)| !place.is_peak) {
        let why = || place.row.reason.as_deref().and_then(|why| why.lines().next()).unwrap_or_default();
        match place.row.outcome.as_str() {
            "ok" if place.row.checked.is_empty() => return Err(format!("not verified in the {when} result")),
            "ok" => {}
            "mismatch" => return Err(format!("wrong output in the {when} result: {}", why())),
            outcome => return Err(format!("{outcome} in the {when} result: {}", why())),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
