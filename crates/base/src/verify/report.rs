//! The result of a verification: how an output differs from the reference, and what was compared; as sentences and as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::numbers::thousands;

/// An element of an output that differs from the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The position of the element, as in "red at (3, 4)".
    pub position: String,
    /// The variant's value.
    #[serde(with = "any_float")]
    pub got: f64,
    /// The reference's value.
    #[serde(with = "any_float")]
    pub want: f64,
}

/// The differences between an output and the reference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MismatchReport {
    /// A description of the verified case by its input, size and launch; empty if there is only one case.
    pub case: String,
    /// The plural name of the elements, such as "bytes".
    pub elements: String,
    /// Number of elements that differ.
    pub count: usize,
    /// Number of elements of the output.
    pub total: usize,
    /// The largest difference of an element.
    #[serde(with = "any_float")]
    pub max_abs_diff: f64,
    /// The first difference; `None` if only canaries or source bytes changed.
    pub first: Option<Difference>,
    /// Number of elements that were not written: after each of two runs they have the value from before the run, which differs
    /// between the runs. 0 after a single run, which cannot distinguish such elements.
    pub untouched: usize,
    /// Number of bytes written outside the output: canaries that changed.
    pub overrun: usize,
    /// Number of bytes of the read-only source that changed.
    pub source: usize,
}

/// Serializes a float as its bits, since JSON has no infinity and no NaN.
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
    /// Returns true if there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.overrun == 0 && self.source == 0
    }

    /// Returns true if the variant wrote outside its output, which may corrupt any memory.
    pub fn wrote_elsewhere(&self) -> bool {
        self.overrun > 0 || self.source > 0
    }

    /// Adds an element that differs from the reference.
    pub fn note(&mut self, got: f64, want: f64, position: impl FnOnce() -> String) {
        self.count += 1;
        // A NaN counts as an infinite difference.
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
                "{} of {} {elements} differ by up to {}, first mismatch: {position}: {got}, expected {want}",
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

/// The scope of a verification: all combinations of these inputs, sizes and launches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Sizes of the pictures, as in `1280x720`.
    pub sizes: Vec<String>,
    /// Names of the inputs.
    #[serde(rename = "pictures")]
    pub inputs: Vec<String>,
    /// The kinds of launches: "whole", or in bands of rows.
    pub bands: Vec<String>,
    /// The verified radii; empty if only the timed radius was verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radii: Vec<u32>,
    /// Differences between the verified runs and the timed one, such as other layouts of planes, images or parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<String>,
    /// True if the output of a timed run was compared.
    pub timed: bool,
}

impl Checked {
    /// Adds this scope to `list`: merged into an entry that differs in at most one of `sizes`, `radii` and `ways` if there is
    /// one, else as an entry of its own.
    pub fn add_to(self, list: &mut Vec<Checked>) {
        let fits = |known: &&mut Checked| {
            let differ = [known.sizes != self.sizes, known.radii != self.radii, known.ways != self.ways];
            (&known.inputs, &known.bands, known.timed) == (&self.inputs, &self.bands, self.timed)
                && known.radii.is_empty() == self.radii.is_empty()
                && known.ways.is_empty() == self.ways.is_empty()
                && differ.iter().filter(|differs| **differs).count() <= 1
        };
        let Some(known) = list.iter_mut().find(fits) else { return list.push(self) };
        /// Appends the items of `more` that `to` does not have.
        fn join<T: PartialEq>(to: &mut Vec<T>, more: Vec<T>) {
            for item in more {
                if !to.contains(&item) {
                    to.push(item);
                }
            }
        }
        join(&mut known.sizes, self.sizes);
        join(&mut known.radii, self.radii);
        join(&mut known.ways, self.ways);
    }
}

/// Formats what was compared, as in `noise, white at 5x3, 67x33, whole and bands of …`.
impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed = if self.timed { "timed output: " } else { "" };
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
