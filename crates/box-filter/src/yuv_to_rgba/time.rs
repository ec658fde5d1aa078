//! Times of conversions. In: those of the movie's own pictures. Out: the runs of each, all in turns.

use std::cell::RefCell;

use super::Input;
use super::checks::{Checks, Source, correction};
use crate::color_trial::{self, Pattern};
use base::error::{Error, Result};
use ladder::measure::{self, Contender, Timed};
use opencl::cl::ClContext;
use opencl::memory::{Picture, Storage};
use video::color::{Layout, Matrix, RgbaColors};

/// Pictures as most movies have them.
const OPAQUE: RgbaColors = RgbaColors { matrix: Matrix::Bt709, has_alpha: false };

/// One run of a conversion.
pub(super) type TimedRow = (usize, Source, Storage, bool);

/// Times conversions at the whole size, in turns.
pub(super) fn time(
    cl: &ClContext,
    checks: &RefCell<Checks>,
    rows: &[TimedRow],
    input: Option<&Input>,
    (width, height): (u32, u32),
    rounds: u32,
) -> Result<measure::Results> {
    let on_device = |layout: &Layout| -> Result<(Layout, Picture)> {
        let block = color_trial::block(layout, Pattern::Mixed, 1)?;
        Ok((*layout, Picture::block(cl, &cl.queue, &block)?))
    };
    let planes = match input {
        Some(input) => Some((on_device(&input.layout)?, on_device(&input.layout.filtered())?)),
        None => None,
    };
    let picture = |storage| Picture::alloc(cl, storage, width, height);
    let mut pictures = vec![(picture(Storage::Buffer)?, picture(Storage::Buffer)?)];
    if rows.iter().any(|(_, _, to, _)| *to == Storage::Image) {
        pictures.push((picture(Storage::Image)?, picture(Storage::Image)?));
    }
    let rgba = color_trial::pixels((width, height), 1)?;
    pictures.iter().try_for_each(|(from, _)| from.write(&cl.queue, &rgba))?;
    let (planes, pictures) = (planes.as_ref(), &pictures);
    let mut contenders: Vec<Contender> = Vec::new();
    for &(_, source, to, corrected) in rows {
        let run = move || -> Result<measure::Sample> {
            let missing = || Error::new("A conversion could not be timed.", "Its memory is not there.", "");
            let (from, dst) = pictures.get(usize::from(to == Storage::Image)).ok_or_else(missing)?;
            let correction = correction(corrected);
            let mut checks = checks.borrow_mut();
            measure::sample(&cl.queue, |queue| {
                Ok(vec![match source {
                    Source::Planes(_, filtered) => {
                        let (decoded, after) = planes.ok_or_else(missing)?;
                        let (layout, block) = if filtered { after } else { decoded };
                        checks.converter.enqueue_block(queue, layout, block, dst, &correction)?
                    }
                    Source::Rgba => {
                        let size = (width, height);
                        checks.corrector.enqueue(queue, from, dst, size, &correction, OPAQUE)?
                    }
                }])
            })
        };
        contenders.push(Contender { rounds, run: Box::new(run) });
    }
    // The first runs, of which nothing is kept.
    let mut ready: Vec<Result<Timed>> = Vec::new();
    for contender in &mut contenders {
        ready.push((contender.run)().map(|_| Timed::default()));
    }
    let mut results = measure::alternate(rounds, &mut contenders, |_, _| Ok(()))?;
    for (result, ready) in results.iter_mut().zip(ready) {
        if let Err(error) = ready {
            *result = Err(error);
        }
    }
    Ok(results)
}
