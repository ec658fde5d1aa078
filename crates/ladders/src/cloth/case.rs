//! Cases of the cloth ladder (one step, or all steps, for a crowd of characters), and the largest errors that their results may
//! have.

use serde::{Deserialize, Serialize};

use super::layout::Shape;
use super::model::{Figure, PARTICLES, SHIRT_VERTICES};
use super::steps::StepId;
use base::verify::Elements;

/// The maximum number of characters in a crowd.
pub(super) const MAX_ARMY: u32 = 400;

/// A case of the cloth ladder: one step, or the whole chain of steps, for a crowd of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The step; `None` for all five steps in a row.
    pub step: Option<StepId>,
    /// The number of characters in the crowd.
    pub army: u32,
}

impl Case {
    /// Returns all cases for a crowd of `army` characters: the steps in order, then the chain.
    pub(super) fn all(army: u32) -> impl Iterator<Item = Self> {
        let steps = StepId::ALL.into_iter().map(Some).chain([None]);
        steps.map(move |step| Self { step, army })
    }

    /// Returns the name of the case in JSON and in titles.
    pub(super) fn name(self) -> &'static str {
        self.step.map_or("chain", StepId::name)
    }

    /// Returns the title of the case, such as "skin, 25 characters".
    pub(super) fn title(self) -> String {
        let characters = if self.army == 1 { "character" } else { "characters" };
        format!("{}, {} {characters}", self.name(), self.army)
    }

    /// Returns the name of the group of cases that share a tuned configuration. Crowds of fewer than eight characters have
    /// groups of their own, since a few characters leave a device's vectors and work-groups partly empty.
    pub(super) fn class(self) -> &'static str {
        let [class, few] = match self.step {
            Some(StepId::Skin) => ["skin", "skin, few"],
            Some(StepId::Integrate) => ["integrate", "integrate, few"],
            Some(StepId::Distances) => ["distances", "distances, few"],
            Some(StepId::Drive) => ["drive", "drive, few"],
            Some(StepId::Write) => ["write-back", "write-back, few"],
            None => ["chain", "chain, few"],
        };
        if self.army < 8 { few } else { class }
    }

    /// Returns the shape of the output: the number of items of each character, such as vertices, and of numbers in each item.
    pub(super) fn output(self, figure: &Figure) -> Shape {
        let body = figure.body.vertices.len();
        match self.step {
            Some(StepId::Skin) => Shape { items: body + PARTICLES, numbers: 6 },
            Some(StepId::Write) | None => Shape { items: body + SHIRT_VERTICES, numbers: 8 },
            Some(_) => Shape { items: PARTICLES, numbers: 3 },
        }
    }

    /// Returns true if the output consists of vertices for OpenGL.
    pub(super) fn is_vertices(self) -> bool {
        matches!(self.step, Some(StepId::Write) | None)
    }

    /// Returns the largest error that an element of the output may have, in metres for positions. A component of a normal,
    /// which has length 1, may have an error of ten times this number.
    pub(super) fn bound(self) -> f64 {
        match self.step {
            // Errors of the first constraints propagate to all that follow.
            Some(StepId::Distances) => 5e-5,
            Some(_) => 2e-5,
            None => 1e-3,
        }
    }
}

/// The elements of an output, coordinates and components of normals, whose errors must not exceed the [`Case::bound`] of the
/// case.
#[derive(Debug, Clone, Copy)]
pub(super) struct NearElements {
    pub case: Case,
    pub shape: Shape,
}

impl Elements for NearElements {
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
