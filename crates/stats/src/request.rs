//! Requests for frames, and the times of their stages.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::{FilterWork, Layer, MAX_OTHERS, Span, Stack, Stage, StageTimes};
use box_filter::{Settings, VariantId};
use video::color::Correction;

/// A variant and the version number of its edited kernels; `None` for the version in use.
pub type KernelsId = (VariantId, Option<u64>);

/// The measurements that are made of a frame after its filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measurements {
    /// True if the frame's luminance is measured, for the scopes and the heat map.
    pub readings: bool,
    /// True if the frame's contrast is stretched by auto-levels.
    pub levels: bool,
}

/// A request for a frame: its filter, colour correction and measurements. It is fixed when the frame is submitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// The variant that filters the frame; [`VariantId::OFF`] for no filter.
    pub variant: VariantId,
    /// The version number of the variant's edited kernels; `None` for the version in use.
    pub version: Option<u64>,
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The other filters of a stack.
    pub stack: Stack,
    /// The colour correction; `None` if colours are not corrected.
    pub correction: Option<Correction>,
    /// The measurements after the filter.
    pub measurements: Measurements,
}

impl Request {
    /// Creates a request that filters with the version of the kernels in use, without colour correction and measurements.
    pub fn new(variant: VariantId, settings: impl Into<Settings>) -> Self {
        let settings = settings.into();
        Self {
            variant,
            version: None,
            settings,
            stack: Stack::default(),
            correction: None,
            measurements: Measurements::default(),
        }
    }

    /// Returns true if this request and `other` produce the same picture of a frame. Measurements for the scopes are not
    /// compared, because they do not change the picture.
    pub fn makes_same_picture(&self, other: &Self) -> bool {
        self.kernels() == other.kernels()
            && (self.settings == other.settings || self.variant == VariantId::OFF)
            && self.stack == other.stack
            && self.correction == other.correction
            && self.measurements.levels == other.measurements.levels
    }

    /// Returns the variant and the version number of its kernels.
    pub fn kernels(&self) -> KernelsId {
        (self.variant, self.version)
    }

    /// Returns the filters that run on an OpenCL device, in their order, each with its index among the layers of the stack, or `None`
    /// for the chosen one. None is returned for [`VariantId::OFF`].
    pub fn filters(&self) -> impl Iterator<Item = (Option<usize>, KernelsId, Settings)> + '_ {
        let below = self.stack.below().count();
        let layer = |(index, layer): (usize, Layer)| (Some(index), (layer.variant, None), layer.settings);
        let chosen = (self.variant != VariantId::OFF).then_some((None, self.kernels(), self.settings));
        let above = self.stack.above().enumerate().map(move |(index, layer)| (below + index, layer));
        self.stack.below().enumerate().map(layer).chain(chosen).chain(above.map(layer))
    }

    /// Returns the kernels that read the movie's picture: those of the lowest filter, or of [`VariantId::OFF`] without a filter.
    pub fn first_kernels(&self) -> KernelsId {
        self.filters().next().map_or((VariantId::OFF, None), |(_, kernels, _)| kernels)
    }

    /// Returns the number of frames that the filters read together: this one and those before it.
    pub fn frames(&self) -> usize {
        1 + self.filters().map(|(_, (variant, _), _)| variant.frames() - 1).sum::<usize>()
    }

    /// Returns true if the frame is to be measured, for the scopes or for auto-levels.
    pub fn measures(&self) -> bool {
        self.measurements != Measurements::default()
    }
}

/// Writes the filters in short, the lowest one first, as in "flat r=7" or "sobel/plain gain = 1.5 + flat r=7".
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |(_, (variant, _), settings): (_, KernelsId, Settings)| {
            format!("{variant} {}", variant.settings_text(settings)).trim_end().to_owned()
        };
        let all: Vec<String> = self.filters().map(text).collect();
        if all.is_empty() { f.write_str(VariantId::OFF.name) } else { f.write_str(&all.join(" + ")) }
    }
}

/// The times and spans of a frame's stages.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    /// The time of each stage in milliseconds, on the device or the host; NaN if unknown.
    pub times: StageTimes,
    /// True if the filter's time is wall time, because no device time is available.
    pub filter_by_wall: bool,
    /// The bytes and operations of the filter's kernels, and their times; `None` for filters without kernels.
    pub work: Option<Arc<FilterWork>>,
    /// The time of each layer of the stack in milliseconds, without copies.
    pub layer_ms: [f64; MAX_OTHERS],
    /// The time in milliseconds that the decoder's thread took to pack the planes; `None` if it did not pack them for this
    /// frame.
    pub pack_ms: Option<f64>,
    /// The intervals in which the stages ran.
    pub spans: Vec<Span>,
}

impl Stages {
    /// Adds the calling thread's work for a stage, from `began` until now, to the times and spans.
    pub fn record(&mut self, stage: Stage, began: Instant) {
        self.add_spans([Span::since(stage, began)]);
    }

    /// Adds intervals in which threads worked for this frame, and adds their durations to the times of its stages.
    pub fn add_spans(&mut self, spans: impl IntoIterator<Item = Span>) {
        for span in spans {
            self.times[span.stage as usize] += span.ms();
            self.spans.push(span);
        }
    }

    /// Adds the times and intervals of stages that were recorded separately for the same frame.
    pub fn add(&mut self, other: Stages) {
        for (time, ms) in self.times.iter_mut().zip(other.times) {
            *time += ms;
        }
        self.filter_by_wall |= other.filter_by_wall;
        self.work = other.work.or(self.work.take());
        self.layer_ms.iter_mut().zip(other.layer_ms).for_each(|(sum, ms)| *sum += ms);
        self.pack_ms = other.pack_ms.or(self.pack_ms);
        self.spans.extend(other.spans);
    }

    /// Adds the times of the second side's stages to those of the first side, summed up as the stage [`Stage::Wipe`].
    pub fn add_second_side(&mut self, second: &mut Stages) {
        self.times[Stage::Wipe as usize] += second.times.iter().sum::<f64>();
        self.spans.extend(second.spans.drain(..).map(|span| Span { stage: Stage::Wipe, ..span }));
    }

    /// Returns the filter's time in milliseconds; NaN if unknown.
    pub fn filter_ms(&self) -> f64 {
        self.times[Stage::Filter as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lane;

    #[test]
    fn the_second_side_is_a_stage_of_its_own() {
        let now = Instant::now();
        let ran = |stage, ms| {
            let mut ran = Stages::default();
            ran.times[stage as usize] = ms;
            ran.spans.push(Span { stage, lane: Lane::Device, from: now, to: now });
            ran
        };
        let (mut first, mut second) = (ran(Stage::Filter, 3.0), ran(Stage::Convert, 7.0));
        second.add(ran(Stage::Filter, 5.0));
        first.add_second_side(&mut second);
        let expected = |stage| match stage {
            Stage::Filter => 3.0,
            Stage::Wipe => 12.0,
            _ => 0.0,
        };
        assert_eq!(first.times, Stage::ALL.map(expected));
        let spans: Vec<Stage> = first.spans.iter().map(|span| span.stage).collect();
        assert_eq!(spans, [Stage::Filter, Stage::Wipe, Stage::Wipe]);
    }
}
