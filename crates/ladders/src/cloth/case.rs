//! What is measured: a step, or all of them, for an army. In: the command line, JSON. Out: cases, and how exact their results are.

use serde_json::{Value, json};

use super::layout::{Layout, Shape};
use super::model::{Figure, PARTICLES, SHIRT_VERTICES};
use super::steps::StepId;
use base::verify::Elements;

/// The largest army.
pub(super) const MOST: u32 = 400;

/// A step, or the whole chain, for an army.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// `None` is all five.
    pub step: Option<StepId>,
    /// Characters.
    pub army: u32,
}

impl Case {
    /// All that is measured for an army, the chain last.
    pub(super) fn all(army: u32) -> impl Iterator<Item = Self> {
        let steps = StepId::ALL.into_iter().map(Some).chain([None]);
        steps.map(move |step| Self { step, army })
    }

    pub(super) fn name(self) -> &'static str {
        self.step.map_or("chain", StepId::name)
    }

    pub(super) fn title(self) -> String {
        let characters = if self.army == 1 { "character" } else { "characters" };
        format!("{}, {} {characters}", self.name(), self.army)
    }

    pub(super) fn json(self) -> Value {
        json!({ "step": self.name(), "army": self.army })
    }

    pub(super) fn from_json(json: &Value) -> Option<Self> {
        let army = u32::try_from(json["army"].as_u64()?).ok().filter(|army| (1..=MOST).contains(army))?;
        Self::all(army).find(|case| json["step"] == case.name())
    }

    /// Few characters leave a device's vectors and groups empty.
    pub(super) fn class(self) -> &'static str {
        match (self.step, self.army < 8) {
            (Some(StepId::Skin), true) => "skin, few",
            (Some(StepId::Skin), false) => "skin",
            (Some(StepId::Integrate), true) => "integrate, few",
            (Some(StepId::Integrate), false) => "integrate",
            (Some(StepId::Distances), true) => "distances, few",
            (Some(StepId::Distances), false) => "distances",
            (Some(StepId::Drive), true) => "drive, few",
            (Some(StepId::Drive), false) => "drive",
            (Some(StepId::Write), true) => "write-back, few",
            (Some(StepId::Write), false) => "write-back",
            (None, true) => "chain, few",
            (None, false) => "chain",
        }
    }

    /// What a character's output is; vertices lie as they are in every layout.
    pub(super) fn output(self, figure: &Figure) -> Shape {
        let body = figure.body.vertices.len();
        match self.step {
            Some(StepId::Skin) => Shape { items: body + PARTICLES, numbers: 6 },
            Some(StepId::Write) | None => Shape { items: body + SHIRT_VERTICES, numbers: 8 },
            Some(_) => Shape { items: PARTICLES, numbers: 3 },
        }
    }

    /// Whether the output is vertices.
    pub(super) fn is_vertices(self) -> bool {
        matches!(self.step, Some(StepId::Write) | None)
    }

    /// How the output lies where all else lies in that layout.
    pub(super) fn lies(self, layout: Layout) -> Layout {
        // Characters' numbers one after the other, nothing between them: as they are.
        if self.is_vertices() { Layout::Structs } else { layout }
    }

    /// The largest error, in metres, and in tenths for normals.
    pub(super) fn bound(self) -> f64 {
        match self.step {
            Some(StepId::Skin | StepId::Integrate | StepId::Drive) => 2e-5,
            // Errors of the first constraints go through all that follow.
            Some(StepId::Distances) => 5e-5,
            Some(StepId::Write) => 2e-5,
            None => 1e-3,
        }
    }
}

/// Coordinates and normals within a bound.
#[derive(Debug, Clone, Copy)]
pub struct Near {
    pub(super) case: Case,
    pub(super) shape: Shape,
}

impl Elements for Near {
    const NAME: &'static str = "floats";
    const BYTES: usize = 4;

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(f32::from_le_bytes(bytes)))
    }

    fn position(&self, number: usize) -> String {
        let (item, within) = (number / self.shape.numbers, number % self.shape.numbers);
        format!("number {within} of item {item}")
    }

    fn error(&self, number: usize, got: f64, want: f64) -> Option<f64> {
        let is_normal = self.shape.numbers > 3 && (3..6).contains(&(number % self.shape.numbers));
        let off = (got - want).abs();
        off.is_finite().then_some(if is_normal { off / 10.0 } else { off })
    }

    fn bound(&self) -> Option<f64> {
        Some(self.case.bound())
    }
}
