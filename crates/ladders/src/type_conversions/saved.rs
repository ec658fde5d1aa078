//! The saved results of a conformance test as JSON, and the comparison of two saved results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compare::Failure;
use super::state::{State, Times};
use super::types::{Case, Form, Type, Widths};
use super::values::{Depth, Values};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::load;

/// The maximum size of a file that is read, in bytes: enough for some devices with a thousand cases each.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The outcome of a case whose `convert_` function the driver lacks, as it is written in JSON.
pub const MISSING_IN_DRIVER: &str = "missing_in_driver";

/// The saved results of a conformance test. The field names are JSON keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    /// The version of the file format, 1.
    pub schema: u32,
    /// The kind of results, "conformance".
    pub kind: String,
    /// The name and version of the program that ran the test.
    pub program: String,
    /// The thoroughness of the test, "quick" or "full".
    pub depth: String,
    /// The seed of the random numbers.
    pub seed: u32,
    /// True if every case was tested completely.
    pub complete: bool,
    /// The results of each device.
    pub devices: Vec<DeviceResult>,
}

/// The result of one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeviceResult {
    /// The device's name.
    pub name: String,
    /// The platform's name.
    pub platform: String,
    /// The OpenCL version.
    pub version: String,
    /// The driver's version.
    pub driver: String,
    /// The conditions of the test.
    pub conditions: Conditions,
    /// The time spent in each stage of the test.
    #[serde(default)]
    pub seconds: Times,
    /// The names of the cases whose `convert_` functions the driver lacks.
    #[serde(default)]
    pub missing_in_driver: Vec<String>,
    /// The results of all cases.
    pub cases: Vec<CaseResult>,
}

/// The conditions on which results depend, in addition to device and driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The names of the types whose subnormal numbers the device may replace by zeros.
    pub flushes: Vec<String>,
    /// True if the kernels differ from the built-in ones.
    pub changed_kernels: bool,
}

/// The result of one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseResult {
    /// The name of the case, such as `uchar_sat_rtp_float`.
    pub case: String,
    /// The outcome: "ok", "wrong", "failed", "unsupported", [`MISSING_IN_DRIVER`], "partial" or "missing" (not tested yet).
    pub outcome: String,
    /// The number of values that were converted and compared in every form.
    pub values: u64,
    /// The number of values that a complete test converts.
    #[serde(rename = "of")]
    pub total: u64,
    /// True if the test converts all numbers of the source type.
    pub exhaustive: bool,
    /// The forms of the conversion that were tested: "implicit" for an assignment, or for example "width 4" for a `convert_`
    /// function of vectors.
    pub forms: Vec<String>,
    /// The first wrong result; `None` if there is none.
    pub failure: Option<Failure>,
    /// The reason why the case failed or is unsupported, as a sentence; `None` for other outcomes.
    pub reason: Option<String>,
    /// The command that repeats the test of the case; `None` unless the case is wrong or failed.
    pub repeat: Option<String>,
}

impl CaseResult {
    /// Creates the result of a case that has not been tested.
    pub fn new(case: Case, widths: Widths, depth: Depth, seed: u32) -> Self {
        let values = Values::new(case.from, depth, seed);
        Self {
            case: case.to_string(),
            outcome: "missing".to_owned(),
            values: 0,
            total: values.count,
            exhaustive: values.is_exhaustive,
            forms: case.forms(widths).iter().map(Form::to_string).collect(),
            failure: None,
            reason: None,
            repeat: None,
        }
    }

    /// Returns true if this version of clreel has the case, and tests it with the same number of values: `counts` has the
    /// number of values for each source type.
    pub fn matches_counts(&self, counts: &BTreeMap<Type, u64>) -> bool {
        let count = Case::named(&self.case).and_then(|case| counts.get(&case.from));
        count.is_some_and(|count| self.total == *count && self.values <= *count)
    }

    /// Returns true if the test of the case is finished and need not be continued.
    pub fn is_settled(&self) -> bool {
        !["missing", "partial"].contains(&self.outcome.as_str())
    }
}

impl DeviceResult {
    /// Creates the saved result of a device with these cases.
    pub fn new(info: &DeviceInfo, conditions: Conditions, cases: Vec<CaseResult>) -> Self {
        let DeviceInfo { name, platform, version, driver, .. } = info.clone();
        let (seconds, missing_in_driver) = (Times::default(), Vec::new());
        Self { name, platform, version, driver, conditions, seconds, missing_in_driver, cases }
    }

    /// Updates the result of a case with its new state. Returns the updated result, or `None` if the device has no such case.
    pub fn note(&mut self, case: Case, state: State) -> Option<&mut CaseResult> {
        let name = case.to_string();
        let known = self.cases.iter_mut().find(|known| known.case == name)?;
        if matches!(state, State::MissingInDriver(_)) && !self.missing_in_driver.contains(&name) {
            self.missing_in_driver.push(name);
        }
        let (outcome, values, why) = match state {
            State::Partial(values) => ("partial", values, None),
            State::Ok(values) => ("ok", values, None),
            State::Wrong(values, failure) => {
                known.failure = Some(*failure);
                ("wrong", values, None)
            }
            State::Unsupported(why) => ("unsupported", known.values, Some(why)),
            State::MissingInDriver(why) => (MISSING_IN_DRIVER, known.values, Some(why)),
            State::Failed(why) => ("failed", known.values, Some(why)),
        };
        (known.outcome, known.values) = (outcome.to_owned(), values);
        known.reason = why.or(known.reason.take());
        Some(known)
    }

    /// Returns the number of cases with this outcome.
    pub fn count(&self, outcome: &str) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }
}

impl Saved {
    /// Reads the saved result of a conformance test from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not such a result.
    pub fn read(path: &Path) -> Result<Self> {
        let refused = |why: String| {
            let what = format!("The result '{}' cannot be read.", path.display());
            Error::new(what, why, "Choose a file that `clreel conformance --save` wrote.")
        };
        let read = load::bytes(path, MAX_FILE_BYTES).and_then(|bytes| load::json::<Self>(&bytes));
        let saved = read.map_err(|why| refused(why.to_string()))?;
        let is_known = saved.schema == 1 && saved.kind == "conformance";
        is_known.then_some(saved).ok_or_else(|| refused("It is no result of this version.".to_owned()))
    }

    /// Returns the thoroughness with which the test was made.
    pub fn depth(&self) -> Depth {
        if self.depth == Depth::Full.name() { Depth::Full } else { Depth::Quick }
    }

    /// Returns the vector widths that were tested, which are the same for all cases.
    pub fn widths(&self) -> Widths {
        let first = self.devices.iter().flat_map(|one| &one.cases).next();
        first.and_then(|case| Widths::from_forms(&case.forms)).unwrap_or(Widths::ALL)
    }
}

/// A difference between the outcomes of a case in two results.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The device's name.
    pub device: String,
    /// The case's name.
    pub case: String,
    /// The outcome in the earlier result, or "missing".
    pub before: String,
    /// The outcome in the later result, or "missing".
    pub after: String,
    /// The reason for the failure in the later result; `None` if there is none.
    pub reason: Option<String>,
    /// True if the case was right in the earlier result, and is wrong or fails in the later one.
    pub broke: bool,
}

/// Returns the cases whose outcomes differ between two results. Devices are matched by name, unless both results have only one.
pub fn changes(before: &Saved, after: &Saved) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut earlier: BTreeMap<&str, &DeviceResult> = BTreeMap::new();
    for device in &before.devices {
        earlier.entry(&device.name).or_insert(device);
    }
    for now in &after.devices {
        let only = before.devices.first().filter(|_| before.devices.len() == 1 && after.devices.len() == 1);
        let Some(then) = earlier.get(now.name.as_str()).copied().or(only) else { continue };
        let known: BTreeMap<&str, &CaseResult> =
            then.cases.iter().map(|one| (one.case.as_str(), one)).collect();
        let changed = |case: &str, before: &str, after: &str| Change {
            device: now.name.clone(),
            case: case.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
            reason: None,
            broke: ["ok", "partial"].contains(&before)
                && ["wrong", "failed", MISSING_IN_DRIVER].contains(&after),
        };
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for case in &now.cases {
            seen.insert(&case.case);
            let was = known.get(case.case.as_str());
            let other_fault = was.is_some_and(|was| was.failure != case.failure);
            let was = was.map_or("missing", |was| was.outcome.as_str());
            if was != case.outcome || case.outcome == "wrong" && other_fault {
                let reason = case.failure.as_ref().map(ToString::to_string).or_else(|| case.reason.clone());
                changes.push(Change { reason, ..changed(&case.case, was, &case.outcome) });
            }
        }
        let missing = known.iter().filter(|(case, _)| !seen.contains(*case));
        changes.extend(missing.map(|(case, was)| changed(case, &was.outcome, "missing")));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a result with this many correct cases. The last case is wrong, or missing.
    fn result(count: usize, last: Option<&str>) -> Saved {
        let conditions = Conditions { flushes: Vec::new(), changed_kernels: false };
        let case = CaseResult::new(Case::named("uchar_sat_float").unwrap(), Widths::ALL, Depth::Quick, 1);
        let ok = |n| CaseResult { case: format!("case {n}"), outcome: "ok".to_owned(), ..case.clone() };
        let mut cases: Vec<CaseResult> = (0..count).map(ok).collect();
        match (last, cases.last_mut()) {
            (Some(outcome), Some(last)) => last.outcome = outcome.to_owned(),
            _ => drop(cases.pop()),
        }
        Saved {
            schema: 1,
            kind: "conformance".to_owned(),
            program: String::new(),
            depth: String::new(),
            seed: 1,
            complete: true,
            devices: vec![DeviceResult::new(&DeviceInfo::made_up(), conditions, cases)],
        }
    }

    /// Verifies that comparing many cases takes linear time: a file may be 64 MiB long, and half a million cases took minutes
    /// when each was searched in a list.
    #[test]
    fn changes_of_many_cases_are_found_in_linear_time() {
        let count = 200_000;
        let (right, wrong, short) =
            (result(count, Some("ok")), result(count, Some("wrong")), result(count, None));
        assert!(changes(&right, &right).is_empty());
        let found = |after: &Saved| {
            let changes = changes(&right, after);
            changes.iter().map(|c| (c.case.clone(), c.after.clone(), c.broke)).collect::<Vec<_>>()
        };
        assert_eq!(found(&wrong), [(format!("case {}", count - 1), "wrong".to_owned(), true)]);
        assert_eq!(found(&short), [(format!("case {}", count - 1), "missing".to_owned(), false)]);
    }
}
