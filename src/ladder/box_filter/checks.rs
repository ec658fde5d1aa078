//! The checks before the times. In: the frames, a radius, and what is to be timed. Out: what a check let through, or the
//! [`Outcome`] that stands in the place of its times.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use super::bench::{Input, NOT_TIMED, NativeFault, NativeRun, noise};
use super::native::{self, Lanes};
use super::planar::run as planes;
use super::planar::{PlanarFilter, planar_reference, planes_of};
use super::{BuiltVariant, Scratch, reference::reference, run, trial};
use crate::convert::Layout;
use crate::error::{Error, Result};
use crate::gpu::cl::ClContext;
use crate::ladder::Outcome;
use crate::ladder::measure::rounds_for;
use crate::ladder::verify::MismatchReport;
use crate::media::memory::require;
use crate::stats::ms_since;

/// What was asked for, or the outcome that stands in its place.
pub(super) type Tried<T> = std::result::Result<T, Box<Outcome>>;

/// Pictures of one size, each with what the reference makes of it.
type Cases = Vec<(Vec<u8>, Vec<u8>)>;

/// Checks at one radius. The pictures of a size are made once, for all variants.
pub(super) struct Checks<'a> {
    input: &'a Input<'a>,
    radius: u32,
    made: HashMap<(u32, u32), Cases>,
}

impl<'a> Checks<'a> {
    pub fn new(input: &'a Input<'a>, radius: u32) -> Self {
        Self { input, radius, made: HashMap::new() }
    }

    /// Checks a variant of which a frame is predicted to take so long.
    pub fn variant(&mut self, cl: &ClContext, variant: &BuiltVariant, predicted_ms: f64) -> Tried<()> {
        let (width, height) = check_size(self.input.width, self.input.height, predicted_ms);
        let radius = self.radius;
        let mut scratch = Scratch::new();
        for (src, want) in self.cases((width, height))? {
            passed(run::check(cl, variant, src, want, width, height, radius, &mut scratch))?;
        }
        Ok(())
    }

    /// Checks a filter that does without OpenCL by `check`, which gets a picture and what is right; returns the
    /// milliseconds that a picture took.
    pub fn peer(
        &mut self,
        mut check: impl FnMut(&[u8], &[u8]) -> Result<Option<MismatchReport>>,
    ) -> Tried<f64> {
        let cases = self.cases((self.input.width, self.input.height))?;
        let began = Instant::now();
        for (src, want) in cases {
            passed(check(src, want))?;
        }
        Ok(ms_since(began) / cases.len().max(1) as f64)
    }

    /// Checks the filter on planes, against its own reference: on planes of 4:2:0 of the first and the middle frame, and
    /// on noise. Returns the noise, and how its planes lie.
    pub fn planes(&self, cl: &ClContext, filter: &PlanarFilter) -> Tried<(Layout, Vec<u8>)> {
        let frames = self.input.frames;
        let planes_of = |frame: &[u8]| planes_of(frame, self.input.width, self.input.height).map_err(fail);
        let (layout, noise) = planes_of(&noise(frames[0].len()))?;
        let mut blocks = vec![noise];
        for frame in [&frames[0], &frames[frames.len() / 2]] {
            blocks.push(planes_of(frame)?.1);
        }
        for block in &blocks {
            let want = planar_reference(&layout, block, self.radius).map_err(fail)?;
            passed(planes::check(cl, filter, &layout, block, &want, self.radius, &[]))?;
        }
        Ok((layout, blocks.swap_remove(0)))
    }

    /// The grid of threads and vectors in Rust, checked on the first frame; not timed yet.
    pub fn native_grid(&self) -> Result<Vec<NativeRun>> {
        let (Some(src), true) = (self.input.frames.first(), self.input.native) else {
            return Ok(Vec::new());
        };
        let size = (self.input.width as usize, self.input.height as usize);
        let want = reference(src, size.0, size.1, self.radius as usize);
        let all = native::all_threads();
        let mut runs = Vec::new();
        for threads in if all > 1 { vec![1, all] } else { vec![1] } {
            for lanes in [Lanes::Plain, Lanes::Vector] {
                let mut got: Vec<u8> = want.iter().map(|v| !v).collect();
                native::filter(src, &mut got, size, self.radius, threads, lanes)?;
                let fault = match got == want {
                    true => NativeFault::Failed(NOT_TIMED.to_owned()),
                    false => NativeFault::Differs,
                };
                runs.push(NativeRun { threads, lanes, outcome: Err(fault) });
            }
        }
        Ok(runs)
    }

    /// The pictures of a size: of the first and the middle frame, and noise.
    fn cases(&mut self, (width, height): (u32, u32)) -> Tried<&Cases> {
        Ok(match self.made.entry((width, height)) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => {
                place.insert(make_cases(self.input, (width, height), self.radius).map_err(fail)?)
            }
        })
    }
}

fn make_cases(input: &Input, (width, height): (u32, u32), radius: u32) -> Result<Cases> {
    // Three pictures while they grow, three results, the reference's table, and two copies for the comparison.
    require(width as usize * height as usize * 4 * 14)?;
    let corner = |frame: &Vec<u8>| {
        let rows = frame.chunks_exact(input.width as usize * 4).take(height as usize);
        rows.flat_map(|row| &row[..width as usize * 4]).copied().collect()
    };
    let mut pictures: Vec<Vec<u8>> = Vec::new();
    pictures.extend(input.frames.first().map(corner));
    if input.frames.len() > 1 {
        pictures.extend(input.frames.get(input.frames.len() / 2).map(corner));
    }
    pictures.push(noise(width as usize * height as usize * 4));
    let filter = |src: Vec<u8>| {
        let want = reference(&src, width as usize, height as usize, radius as usize);
        (src, want)
    };
    Ok(pictures.into_iter().map(filter).collect())
}

/// The part of a frame that is checked: all of it, unless that would take seconds; then a corner of the same
/// shape, at least 64 pixels wide and high.
fn check_size(width: u32, height: u32, predicted_ms: f64) -> (u32, u32) {
    const AFFORDABLE_MS: f64 = 2000.0;
    let factor = (AFFORDABLE_MS / predicted_ms.max(AFFORDABLE_MS)).sqrt();
    let part = |full: u32| full.min(((f64::from(full) * factor) as u32).max(64));
    (part(width), part(height))
}

fn passed(report: Result<Option<MismatchReport>>) -> Tried<()> {
    match report.map_err(fail)? {
        None => Ok(()),
        Some(report) => Err(Box::new(Outcome::Mismatch(report))),
    }
}

/// What a trial of changed kernels lets through.
pub(super) fn tried(tried: Result<Option<trial::Tried>>) -> Tried<()> {
    match tried.map_err(fail)? {
        Some(tried) if tried.left_out || tried.report.is_some() => Err(not_passed(tried)),
        _ => Ok(()),
    }
}

/// What stands in the place of the times of what a trial did not let through.
pub(super) fn not_passed(tried: trial::Tried) -> Box<Outcome> {
    Box::new(match (tried.report, rounds_for(tried.ms, 1)) {
        (Some(report), _) => Outcome::Mismatch(report),
        (None, Err(why)) => Outcome::Skipped(why),
        (None, Ok(_)) => Outcome::Skipped("It was not timed.".to_owned()),
    })
}

pub(super) fn fail(error: Error) -> Box<Outcome> {
    Box::new(Outcome::Failed(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_variants_are_checked_on_a_part() {
        assert_eq!(check_size(1280, 720, 100.0), (1280, 720));
        assert_eq!(check_size(1280, 720, 8000.0), (640, 360));
        assert_eq!(check_size(1280, 720, 1e9), (64, 64));
        assert_eq!(check_size(5, 720, 8000.0), (5, 360));
    }
}
