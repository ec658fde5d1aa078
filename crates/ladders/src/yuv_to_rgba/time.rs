//! Times of the conversions of the movie's own format.

use std::cell::RefCell;

use super::RunOptions;
use super::checks::{Checks, Source, correction};
use base::error::{Error, Result};
use box_filter::color_kernels::{ConvertCommand, CorrectCommand, KernelCache};
use box_filter::color_test_pictures::{self, Pattern};
use compute::sample::{Sample, sample};
use ladder::measure::{self, TaskSamples, TimedTask};
use opencl::memory::{Picture, Storage};
use video::color::{Layout, Matrix, RgbaColors};

/// The properties of the pictures on which corrections are timed; most movies have them.
const OPAQUE: RgbaColors = RgbaColors { matrix: Matrix::Bt709, has_alpha: false };

/// A conversion to time: the index of its row, its input, the kind of memory for its output, and true if colours are corrected.
pub(super) type TimedRow = (usize, Source, Storage, bool);

/// Times the conversions in `rows`, in several rounds that run each conversion once.
pub(super) fn time(
    checks: &RefCell<Checks>,
    rows: &[TimedRow],
    &RunOptions { input, size, rounds, .. }: &RunOptions,
) -> Result<measure::TaskResults> {
    let cl = &checks.borrow().cl.clone();
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
    let rgba = color_test_pictures::pixels(size, 1)?;
    pictures.iter().try_for_each(|(from, _)| from.write(&cl.queue, &rgba))?;
    let kernels = RefCell::new(KernelCache::default());
    let (planes, pictures, kernels) = (planes.as_ref(), &pictures, &kernels);
    let mut runs: Vec<TimedTask> = Vec::new();
    for &(_, source, to, corrected) in rows {
        let run = move |_: Option<u32>| -> Result<Sample> {
            let missing = || Error::new("A conversion could not be timed.", "Its memory is not there.", "");
            let (from, to) = pictures.get(usize::from(to == Storage::Image)).cloned().ok_or_else(missing)?;
            let correction = correction(corrected);
            let (mut checks, kernels) = (checks.borrow_mut(), &mut *kernels.borrow_mut());
            sample(&cl.queue, |queue| {
                Ok(vec![match source {
                    Source::Planes(_, filtered) => {
                        let (decoded, after) = planes.ok_or_else(missing)?;
                        let (layout, planes) = if filtered { after } else { decoded }.clone();
                        let command = ConvertCommand { layout, planes, to, correction };
                        checks.converter.enqueue(queue, kernels, &command)?
                    }
                    Source::Rgba => {
                        let command = CorrectCommand { from, to, size, correction, colors: OPAQUE };
                        checks.corrector.enqueue(queue, kernels, &command)?
                    }
                }])
            })
        };
        runs.push(TimedTask { rounds, run: Box::new(run) });
    }
    // Warm-up runs, whose times are discarded.
    let mut warm_up: Vec<Result<TaskSamples>> = Vec::new();
    for contender in &mut runs {
        warm_up.push((contender.run)(None).map(|_| TaskSamples::default()));
    }
    let mut results = measure::alternate(rounds, &mut runs, |_, _| Ok(()))?;
    for (result, warm_up) in results.iter_mut().zip(warm_up) {
        if let Err(error) = warm_up {
            *result = Err(error);
        }
    }
    Ok(results)
}
