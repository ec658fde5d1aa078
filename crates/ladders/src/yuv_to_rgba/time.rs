//! Times of the conversions of the movie's own format.

use super::RunOptions;
use super::checks::{Checks, Source, correction};
use base::error::{Error, Result};
use base::memory::rgba_bytes;
use box_filter::color_kernels::{ConvertCommand, CorrectCommand, KernelCache};
use box_filter::color_test_pictures::{self, Pattern};
use box_filter::pictures::noise;
use compute::sample::{Sample, sample};
use ladder::measure::{Alternation, TaskResults};
use opencl::memory::{Picture, Storage};
use video::color::{Layout, Matrix, RgbaColors};

/// The properties of the pictures on which corrections are timed; most movies have them.
const OPAQUE: RgbaColors = RgbaColors { matrix: Matrix::Bt709, has_alpha: false };

/// A conversion to time: the index of its row, its input, the kind of memory for its output, and true if colours are corrected.
pub(super) type TimedRow = (usize, Source, Storage, bool);

/// Times the conversions in `rows`, in several rounds that run each conversion once.
pub(super) fn time(
    checks: &mut Checks,
    rows: &[TimedRow],
    &RunOptions { input, size, rounds, .. }: &RunOptions,
) -> Result<TaskResults> {
    let cl = &checks.cl.clone();
    let on_device = |layout: &Layout| -> Result<(Layout, Picture)> {
        let block = color_test_pictures::block(layout, Pattern::Mixed, 1)?;
        Ok((*layout, Picture::block(cl, &cl.queue, &block)?))
    };
    let planes = match input {
        Some(input) => Some((on_device(&input.layout)?, on_device(&input.layout.filtered())?)),
        None => None,
    };
    let picture = |storage| Picture::alloc(cl, storage, size.0, size.1);
    let mut pictures = vec![(picture(Storage::Buffer)?, picture(Storage::Buffer)?)];
    if rows.iter().any(|(_, _, to, _)| *to == Storage::Image) {
        pictures.push((picture(Storage::Image)?, picture(Storage::Image)?));
    }
    base::memory::require(rgba_bytes(size))?;
    let rgba = noise(rgba_bytes(size));
    pictures.iter().try_for_each(|(from, _)| from.write(&cl.queue, &rgba))?;
    let mut kernels = KernelCache::default();
    let mut run = |&(_, source, to, corrected): &TimedRow| -> Result<Sample> {
        let missing = || Error::new("A conversion could not be timed.", "Its memory is not there.", "");
        let (from, to) = pictures.get(usize::from(to == Storage::Image)).cloned().ok_or_else(missing)?;
        let correction = correction(corrected);
        sample(&cl.queue, |queue| {
            Ok(vec![match source {
                Source::Planes(_, filtered) => {
                    let (decoded, after) = planes.as_ref().ok_or_else(missing)?;
                    let (layout, planes) = if filtered { after } else { decoded }.clone();
                    let command = ConvertCommand { layout, planes, to, correction };
                    checks.converter.enqueue(queue, &mut kernels, &command)?
                }
                Source::Rgba => {
                    let command = CorrectCommand { from, to, size, correction, colors: OPAQUE };
                    checks.corrector.enqueue(queue, &mut kernels, &command)?
                }
            }])
        })
    };
    // Warm-up runs, whose times are discarded.
    let warm_ups: Vec<Result<Sample>> = rows.iter().map(&mut run).collect();
    let mut turns = Alternation::new(vec![rounds; rows.len()], Vec::new());
    for round in 0..rounds {
        turns.round(round, |at, _| warm_ups[at].clone().and_then(|_| run(&rows[at])));
    }
    turns.finish();
    Ok(turns.results)
}
