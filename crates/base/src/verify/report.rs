//! What a check says: how an output differs, and what was compared. In: differences. Out: sentences, and JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::numbers::thousands;

/// One element that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Where it is, as in "red at (3, 4)".
    pub position: String,
    /// What the variant wrote.
    #[serde(with = "any_float")]
    pub got: f64,
    /// What the reference says.
    #[serde(with = "any_float")]
    pub want: f64,
}

/// How an output differs from the reference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MismatchReport {
    /// Which input it was, of which size, and how it was launched; empty where there is only one.
    pub case: String,
    /// What is counted: bytes, floats.
    pub elements: String,
    /// Elements of the output that differ.
    pub count: usize,
    /// Elements of the output.
    pub total: usize,
    /// The largest difference of an element.
    #[serde(with = "any_float")]
    pub max_abs_diff: f64,
    /// The first difference; `None` when only canaries changed.
    pub first: Option<Difference>,
    /// Elements of the output that nobody wrote: they held their poison after two runs, each with another. 0 after a single run,
    /// which does not tell them from those that were written and equal it.
    pub untouched: usize,
    /// Canary bytes that changed: the output was left on one side or the other.
    pub overrun: usize,
    /// Bytes of the source that changed: it is only to be read.
    pub source: usize,
}

/// A float between processes as its bits: JSON has no word for what is infinite or no number.
mod any_float {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(number.to_bits())
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

impl MismatchReport {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.overrun == 0 && self.source == 0
    }

    /// Whether something was written that is not the output: nobody knows what that does to another process.
    pub fn wrote_elsewhere(&self) -> bool {
        self.overrun > 0 || self.source > 0
    }

    /// Adds an element that differs.
    pub fn note(&mut self, got: f64, want: f64, untouched: bool, position: impl FnOnce() -> String) {
        self.count += 1;
        self.untouched += usize::from(untouched);
        // What is no number differs by more than any number.
        let difference = (got - want).abs();
        self.max_abs_diff =
            self.max_abs_diff.max(if difference.is_nan() { f64::INFINITY } else { difference });
        self.first.get_or_insert_with(|| Difference { position: position(), got, want });
    }
}

impl fmt::Display for MismatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let elements = if self.elements.is_empty() { "bytes" } else { &self.elements };
        if let Some(Difference { position, got, want }) = &self.first {
            parts.push(format!(
                "{} of {} {elements} differ by up to {}, first {position}: got {got}, want {want}",
                thousands(self.count as f64),
                thousands(self.total as f64),
                self.max_abs_diff
            ));
        }
        for (count, what, of) in [
            (self.untouched, "were never written", elements),
            (self.overrun, "outside the output were overwritten", "bytes"),
            (self.source, "of the source were overwritten", "bytes"),
        ] {
            if count > 0 {
                parts.push(format!("{} {of} {what}", thousands(count as f64)));
            }
        }
        if !self.case.is_empty() {
            write!(f, "{}: ", self.case)?;
        }
        f.write_str(&parts.join("; "))
    }
}

/// What a check compared, all of it: every picture at every size, launched in each way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Sizes of the pictures, as in `1280x720`.
    pub sizes: Vec<String>,
    /// The kinds of input.
    #[serde(rename = "pictures")]
    pub inputs: Vec<String>,
    /// How each was launched: whole, or in bands of rows.
    pub bands: Vec<String>,
    /// The radii, where that is not the one that is timed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radii: Vec<u32>,
    /// What was read or written, where that is not what is timed: layouts of planes, an image, other parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<String>,
    /// Whether it is an output that was timed.
    pub timed: bool,
}

impl Checked {
    /// Adds it to a list: to what differs from it only in the sizes, in the radii or in the ways, if that is there.
    pub fn add_to(self, list: &mut Vec<Checked>) {
        let fits = |known: &&mut Checked| {
            let differ = [known.sizes != self.sizes, known.radii != self.radii, known.ways != self.ways];
            (&known.inputs, &known.bands, known.timed) == (&self.inputs, &self.bands, self.timed)
                && known.radii.is_empty() == self.radii.is_empty()
                && known.ways.is_empty() == self.ways.is_empty()
                && differ.iter().filter(|differs| **differs).count() <= 1
        };
        let Some(known) = list.iter_mut().find(fits) else { return list.push(self) };
        fn join<T: PartialEq>(to: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !to.contains(&one) {
                    to.push(one);
                }
            }
        }
        join(&mut known.sizes, self.sizes);
        join(&mut known.radii, self.radii);
        join(&mut known.ways, self.ways);
    }
}

/// As in `noise, white at 5x3, 67x33, whole, bands of …`.
impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed = if self.timed { "what was timed: " } else { "" };
        let inputs = match self.inputs.as_slice() {
            [first, others @ ..] if others.len() > 2 => {
                format!("{first} and {} others", others.len())
            }
            all => all.join(", "),
        };
        write!(f, "{timed}{inputs} at {}", self.sizes.join(", "))?;
        if self.bands.len() > 1 || self.bands.iter().any(|bands| bands != "whole") {
            write!(f, ", {}", self.bands.join(" and "))?;
        }
        if !self.radii.is_empty() {
            let radii: Vec<String> = self.radii.iter().map(u32::to_string).collect();
            write!(f, ", r = {}", radii.join(", "))?;
        }
        if !self.ways.is_empty() {
            write!(f, " ({})", self.ways.join(", "))?;
        }
        Ok(())
    }
}
