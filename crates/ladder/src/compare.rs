//! The comparison of saved results: for each row that both have a verdict, or the reason why the rows are not comparable.
//!
//! The results come from different runs. A machine that was slower for a while would make all rows of one run slower, so a row is
//! called faster or slower only if both its times and their ratios to the peak kernel of the same rounds show it: the interval
//! is the smallest one that contains the intervals of both.

use std::collections::BTreeMap;

use super::saved::{Samples, Saved, SavedCase, SavedDevice, SavedRow};
use base::timing::ratio::MIN_SAMPLES;
use base::timing::{Precision, Ratio, Series, Verdict, believed};

/// The largest difference of the mean clock speeds of two results, relative to the faster one, at which times are comparable.
const MAX_CLOCK_CHANGE: f64 = 0.05;

/// The comparison of a row that both results have.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The device's name in the later result; empty without a device.
    pub device: String,
    /// The title of the case in the later result.
    pub case: String,
    /// The row's name; that of a peak kernel is in parentheses.
    pub row: String,
    /// The times and the verdict, or the reason why the rows are not comparable, as a clause.
    pub result: Result<Compared, String>,
    /// True if the output was right in the earlier result and is wrong in the later one.
    pub broke: bool,
}

/// The times of a row in two results, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The earlier and the later times in milliseconds.
    pub times: [Series; 2],
    /// For each result true if its times are noisy.
    pub noisy: [bool; 2],
    /// The earlier time divided by the later one, with the interval of the verdict.
    pub ratio: Ratio,
    /// The verdict on the later result.
    pub verdict: Verdict,
    /// True if the two results have different kernels; `None` if that is unknown.
    pub changed_kernel: Option<bool>,
}

impl Compared {
    /// Returns the medians as text, with the digits that their intervals allow and the mark of noise.
    pub fn medians(&self) -> [String; 2] {
        [0, 1].map(|at| {
            // The load of other processes is in `noisy` only.
            let others = self.noisy[at].then_some(1.0);
            believed(self.times[at].p50, &[Precision::of(&self.times[at], others)])
        })
    }
}

/// A row with the case and the device that it belongs to.
#[derive(Clone, Copy)]
struct Place<'a> {
    device: &'a SavedDevice,
    case: &'a SavedCase,
    row: RowOrPeak<'a>,
}

/// A row of a variant, or the samples of a peak kernel.
#[derive(Clone, Copy)]
enum RowOrPeak<'a> {
    Row(&'a SavedRow),
    Peak(&'a str),
}

impl Place<'_> {
    fn name(&self) -> String {
        match self.row {
            RowOrPeak::Row(row) => row.name(),
            RowOrPeak::Peak(name) => format!("({name})"),
        }
    }

    /// Returns the samples, if the row has any.
    fn samples(&self) -> Option<Samples> {
        match self.row {
            RowOrPeak::Row(row) => row.samples.clone(),
            RowOrPeak::Peak(name) => self.case.peak(name),
        }
    }

    /// Returns the times of the peak kernel, by which changes of the machine are judged; `None` if it was measured by another clock.
    fn control(&self, clock: &str) -> Option<Vec<f64>> {
        self.case.control()?.times_by(clock)
    }

    fn is_noisy(&self) -> bool {
        matches!(self.row, RowOrPeak::Row(row) if row.noisy.is_string())
    }

    fn is_mismatch(&self) -> bool {
        matches!(self.row, RowOrPeak::Row(row) if row.outcome == "mismatch")
    }
}

/// Returns all rows of a saved result.
fn places(saved: &Saved) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for device in saved.devices() {
        for case in &device.runs {
            let place = |row| Place { device, case, row };
            places.extend(case.peaks().map(|(name, _)| place(RowOrPeak::Peak(name))));
            places.extend(case.variants.iter().map(|row| place(RowOrPeak::Row(row))));
        }
    }
    places
}

/// Compares each row of `after` that `before` has, too.
pub fn compare(before: &Saved, after: &Saved) -> Vec<Comparison> {
    let mut earlier: BTreeMap<String, Vec<Place<'_>>> = BTreeMap::new();
    for place in places(before) {
        earlier.entry(place.name()).or_default().push(place);
    }
    let mut comparisons = Vec::new();
    for now in places(after) {
        let name = now.name();
        let same = earlier.get(&name).into_iter().flatten();
        // The same work, or else the row that has most in common, so that the reason names what differs.
        let likeness = |then: &&Place<'_>| {
            let is_device = device_difference(before, after, then.device, now.device).is_none();
            (is_device, then.case.title == now.case.title)
        };
        // The first of several that are equally alike.
        let Some(then) = same.rev().max_by_key(likeness) else { continue };
        comparisons.push(Comparison {
            device: now.device.name.clone(),
            case: now.case.title.clone(),
            row: name,
            result: compare_rows(before, after, then, &now),
            broke: now.is_mismatch() && !then.is_mismatch(),
        });
    }
    comparisons
}

/// Returns why two devices are not the same one; `None` if they are. The driver may differ: that is what is compared then.
fn device_difference(before: &Saved, after: &Saved, then: &SavedDevice, now: &SavedDevice) -> Option<String> {
    let differs = |what: &str, then: &str, now: &str| {
        (then != now).then(|| format!("other {what}: '{then}' and '{now}'"))
    };
    let (host, other) = (&before.metadata.host, &after.metadata.host);
    // A graphics card is the same one in another machine; without a device the processor computes.
    let on_processor = ["cpu", ""].contains(&now.kind.as_str());
    let processor =
        || on_processor.then(|| differs("processor", &host.processor, &other.processor)).flatten();
    let count = || {
        let (then, now) = (host.processors, other.processors);
        (on_processor && then != now).then(|| format!("other number of processors: {then} and {now}"))
    };
    differs("device", &then.name, &now.name)
        .or_else(|| differs("platform", &then.platform, &now.platform))
        .or_else(processor)
        .or_else(count)
}

/// Compares a row of two results.
///
/// # Errors
/// Returns the reason why they are not comparable, as a clause.
fn compare_rows(
    before: &Saved,
    after: &Saved,
    then: &Place<'_>,
    now: &Place<'_>,
) -> Result<Compared, String> {
    let ((ladder, input), (other_ladder, other_input)) = (before.work(), after.work());
    if ladder != other_ladder {
        return Err("other ladder or kind of input".to_owned());
    }
    if let Some(why) = device_difference(before, after, then.device, now.device) {
        return Err(why);
    }
    if input != other_input {
        let text = |input: Option<(u32, u32, &std::ffi::OsStr)>| {
            input.map_or_else(
                || "generated data".to_owned(),
                |(w, h, file)| format!("{w}×{h} of {}", file.to_string_lossy()),
            )
        };
        return Err(format!("other input: {} and {}", text(input), text(other_input)));
    }
    if then.case.title != now.case.title {
        return Err(format!("other case: {} and {}", then.case.title, now.case.title));
    }
    for (place, when) in [(then, "earlier"), (now, "later")] {
        if let RowOrPeak::Row(row) = place.row {
            let why = || row.reason.as_deref().and_then(|why| why.lines().next()).unwrap_or_default();
            match row.outcome.as_str() {
                "ok" if row.checked.is_empty() => return Err(format!("not verified in the {when} result")),
                "ok" => {}
                "mismatch" => return Err(format!("wrong output in the {when} result: {}", why())),
                outcome => return Err(format!("{outcome} in the {when} result: {}", why())),
            }
        }
    }
    let [first, second] = [then, now].map(Place::samples);
    let no_samples =
        |when: &str| format!("no samples in the {when} result; `clreel bench --save` writes them");
    let first = first.ok_or_else(|| no_samples("earlier"))?;
    let second = second.ok_or_else(|| no_samples("later"))?;
    if first.clock() != second.clock() {
        return Err(format!("other clock: {} and {}", first.clock(), second.clock()));
    }
    if let [Some(mhz), Some(other)] =
        [then, now].map(|place| place.case.clock_mhz.as_ref().map(|clock| clock.mean))
        && (mhz - other).abs() > MAX_CLOCK_CHANGE * mhz.max(other)
    {
        return Err(format!("other clock speed: {mhz:.0} and {other:.0} MHz"));
    }
    let times = [first.times(), second.times()];
    if times.iter().flatten().any(|ms| *ms <= 0.0) {
        return Err("samples that are no times".to_owned());
    }
    let few = || format!("too few samples: a verdict needs {MIN_SAMPLES} of each");
    let ratio = Ratio::of_runs(&times[0], &times[1]).ok_or_else(few)?;
    let controls = then.control(first.clock()).zip(now.control(second.clock()));
    let control = controls.and_then(|(control, other)| Ratio::of_runs(&control, &other));
    let ratio = control.map_or(ratio, |control| ratio.widened_by(control));
    let [Some(one), Some(other)] = times.map(|times| Series::of(&times)) else { return Err(few()) };
    let kernel = |place: &Place<'_>| match place.row {
        RowOrPeak::Row(row) => row.kernel.clone(),
        RowOrPeak::Peak(_) => None,
    };
    Ok(Compared {
        times: [one, other],
        noisy: [then.is_noisy(), now.is_noisy()],
        ratio,
        verdict: ratio.verdict(),
        changed_kernel: kernel(then).zip(kernel(now)).map(|(then, now)| then != now),
    })
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
