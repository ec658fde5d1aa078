//! The result of a conformance test, as it is saved. In: what is known of cases. Out: JSON, and from it again what is known,
//! and what has changed from one result to another.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compare::Failure;
use super::run::State;
use super::trial::Times;
use super::types::{Case, Form, Type, Widths};
use super::values::{Depth, Values};
use base::error::{Error, Result};
use base::load;
use opencl::cl::DeviceInfo;

/// The longest file that is read, in bytes: some devices with a thousand cases each.
const LONGEST: u64 = 64 << 20;

/// A whole result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    /// 1
    pub schema: u32,
    /// "conformance"
    pub kind: String,
    /// The program and its version.
    pub program: String,
    /// "quick" or "full"
    pub depth: String,
    /// What the random numbers came from.
    pub seed: u32,
    /// Whether every case that was asked for has come to its end.
    pub complete: bool,
    /// The devices.
    pub devices: Vec<OfDevice>,
}

/// What is known of one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OfDevice {
    /// Its name.
    pub name: String,
    /// Its platform.
    pub platform: String,
    /// Its version of OpenCL.
    pub version: String,
    /// Its driver's version.
    pub driver: String,
    /// What its results depend on.
    pub conditions: Conditions,
    /// Where the time went.
    #[serde(default)]
    pub seconds: Times,
    /// The cases.
    pub cases: Vec<OfCase>,
}

/// What results depend on beside device and driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Types whose subnormal numbers the device may take for zeros.
    pub flushes: Vec<String>,
    /// Whether the kernels are not those that are built in.
    pub changed_kernels: bool,
}

/// What is known of one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OfCase {
    /// Its name, as in `uchar_sat_rtp_float`.
    pub case: String,
    /// "ok", "wrong", "failed", "unsupported", "partial" or "missing"
    pub outcome: String,
    /// Numbers that were tried in every form.
    pub values: u64,
    /// Numbers that are to be tried.
    pub of: u64,
    /// Whether these are all that the source has.
    pub exhaustive: bool,
    /// The forms that they were tried in.
    pub forms: Vec<String>,
    /// What is wrong.
    pub failure: Option<Failure>,
    /// Why it failed or is unsupported.
    pub reason: Option<String>,
    /// The command that tries it again; only of what is wrong or failed.
    pub repeat: Option<String>,
}

impl OfCase {
    /// One of which nothing is known.
    pub fn new(case: Case, widths: Widths, depth: Depth, seed: u32) -> Self {
        let values = Values::new(case.from, depth, seed);
        Self {
            case: case.to_string(),
            outcome: "missing".to_owned(),
            values: 0,
            of: values.count(),
            exhaustive: values.is_exhaustive(),
            forms: case.forms(widths).iter().map(Form::to_string).collect(),
            failure: None,
            reason: None,
            repeat: None,
        }
    }

    /// Whether it is of a case that there is, and of as many numbers as its source has in `counts`: another version may try
    /// others.
    pub fn is_of(&self, counts: &BTreeMap<Type, u64>) -> bool {
        let count = Case::named(&self.case).and_then(|case| counts.get(&case.from));
        count.is_some_and(|count| self.of == *count && self.values <= *count)
    }

    /// Notes what is known now.
    pub fn note(&mut self, state: State) {
        let (outcome, values) = match &state {
            State::Going(values) => ("partial", *values),
            State::Ok(values) => ("ok", *values),
            State::Wrong(values, _) => ("wrong", *values),
            State::Unsupported(_) => ("unsupported", self.values),
            State::Failed(_) => ("failed", self.values),
        };
        (self.outcome, self.values) = (outcome.to_owned(), values);
        match state {
            State::Wrong(_, failure) => self.failure = Some(*failure),
            State::Unsupported(why) | State::Failed(why) => self.reason = Some(why),
            State::Going(_) | State::Ok(_) => {}
        }
    }

    /// Whether there is nothing more to try.
    pub fn is_settled(&self) -> bool {
        !["missing", "partial"].contains(&self.outcome.as_str())
    }
}

impl OfDevice {
    /// One of which nothing is known.
    pub fn new(info: &DeviceInfo, conditions: Conditions, cases: Vec<OfCase>) -> Self {
        let DeviceInfo { name, platform, version, driver, .. } = info.clone();
        Self { name, platform, version, driver, conditions, seconds: Times::default(), cases }
    }

    /// How many cases have this outcome.
    pub fn count(&self, outcome: &str) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }
}

impl Saved {
    /// The result in a file.
    ///
    /// # Errors
    /// When it cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Self> {
        let what = || format!("The result '{}' cannot be read.", path.display());
        let hint = "Choose a file that `clreel conformance --save` wrote.";
        let bytes = load::bytes(path, LONGEST).map_err(|why| Error::new(what(), why.to_string(), hint))?;
        let saved: Self =
            serde_json::from_slice(&bytes).map_err(|e| Error::new(what(), format!("{e}."), hint))?;
        match saved.schema == 1 && saved.kind == "conformance" {
            true => Ok(saved),
            false => Err(Error::new(what(), "It is no result of this version.", hint)),
        }
    }

    /// The thoroughness that it was made with.
    pub fn depth(&self) -> Depth {
        if self.depth == Depth::Full.name() { Depth::Full } else { Depth::Quick }
    }

    /// The widths of vectors that were tried: the same of all cases.
    pub fn widths(&self) -> Widths {
        let first = self.devices.iter().flat_map(|one| &one.cases).next();
        first.and_then(|case| Widths::named(&case.forms)).unwrap_or(Widths::ALL)
    }
}

/// A case that is not as it was.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The device.
    pub device: String,
    /// The case.
    pub case: String,
    /// What it was: an outcome, or "missing".
    pub before: String,
    /// What it is.
    pub after: String,
    /// What is wrong or failed now.
    pub reason: Option<String>,
    /// It was right, and is wrong or fails.
    pub broke: bool,
}

/// What changed from one result to another: devices by their names, or the only ones of both; cases by theirs.
pub fn changes(before: &Saved, after: &Saved) -> Vec<Change> {
    let mut changes = Vec::new();
    for now in &after.devices {
        let only = before.devices.first().filter(|_| before.devices.len() == 1 && after.devices.len() == 1);
        let Some(then) = before.devices.iter().find(|one| one.name == now.name).or(only) else { continue };
        let known: BTreeMap<&str, &OfCase> = then.cases.iter().map(|one| (one.case.as_str(), one)).collect();
        let mut seen: Vec<&str> = Vec::new();
        for case in &now.cases {
            seen.push(&case.case);
            let was = known.get(case.case.as_str());
            let was = was.map_or("missing", |was| was.outcome.as_str());
            let (failure, is) = (&case.failure, case.outcome.as_str());
            let other_fault = known.get(case.case.as_str()).is_some_and(|was| was.failure != *failure);
            if was != is || is == "wrong" && other_fault {
                changes.push(Change {
                    device: now.name.clone(),
                    case: case.case.clone(),
                    before: was.to_owned(),
                    after: is.to_owned(),
                    reason: failure.as_ref().map(ToString::to_string).or_else(|| case.reason.clone()),
                    broke: ["ok", "partial"].contains(&was) && ["wrong", "failed"].contains(&is),
                });
            }
        }
        for (case, was) in known.iter().filter(|(case, _)| !seen.contains(*case)) {
            changes.push(Change {
                device: now.name.clone(),
                case: (*case).to_owned(),
                before: was.outcome.clone(),
                after: "missing".to_owned(),
                reason: None,
                broke: false,
            });
        }
    }
    changes
}
