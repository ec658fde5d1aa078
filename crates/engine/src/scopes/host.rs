//! Scopes and auto-levels on the CPU, for RGBA pictures in the host's memory.

use std::time::Instant;

use base::threads::{all_threads, share};
use compute::reduction::host::reduce_vectorized;
use compute::reduction::kernels::BINS;
use compute::reduction::luminance;
use parking_lot::Mutex;
use stats::{COUNTS, LEVELS, Measurements, Readings, STRIPS, Span, Stage, case, stretch};

/// The measurements of a picture that the CPU made, and the intervals in which it made them.
#[derive(Default)]
pub struct HostMeasurements {
    pub(crate) readings: Option<Readings>,
    pub(crate) spans: Vec<Span>,
}

impl HostMeasurements {
    /// Measures the luminance of the RGBA picture and then, for auto-levels, stretches its contrast in place. The result has
    /// the readings only if they are requested. Does nothing if neither is requested.
    pub(crate) fn of(size: (u32, u32), rgba: &mut [u8], measurements: Measurements) -> Self {
        let Measurements { readings, levels } = measurements;
        if !readings && !levels {
            return Self::default();
        }
        let began = Instant::now();
        let measured = measure_luminance(size, rgba);
        let mut spans = vec![Span::since(Stage::Reduce, began)];
        if levels {
            let began = Instant::now();
            let ends = measured.ends();
            share(rgba.chunks_mut(band_bytes(size)), all_threads(), |band| stretch(band, ends));
            spans.push(Span::since(Stage::Levels, began));
        }
        Self { readings: readings.then_some(measured), spans }
    }
}

/// Returns the size in bytes of the rows that a thread processes at a time: a quarter of each thread's share of the picture, so
/// that no thread waits long for the last one.
fn band_bytes((width, height): (u32, u32)) -> usize {
    4 * width as usize * (height as usize).div_ceil(4 * all_threads())
}

/// Measures the luminance of a picture on all CPU cores. The vectorised variant of the reduction computes the sum, the extremes
/// and the block means.
fn measure_luminance(size: (u32, u32), rgba: &[u8]) -> Readings {
    let case = case(size);
    let mut numbers = vec![0; case.numbers()];
    reduce_vectorized(rgba, &case, &mut numbers, all_threads());
    let width = size.0 as usize;
    let all = Mutex::new(vec![0_u32; COUNTS]);
    share(rgba.chunks(band_bytes(size)), all_threads(), |rows| {
        let mut counts = vec![0_u32; COUNTS];
        let (histogram, waveform) = counts.split_at_mut(BINS);
        for row in rows.chunks_exact(4 * width) {
            for (strip, levels) in waveform.chunks_exact_mut(LEVELS).enumerate() {
                let [left, right] = [strip, strip + 1].map(|strip| 4 * (strip * width / STRIPS));
                for pixel in row[left..right].chunks_exact(4) {
                    let luminance = luminance(pixel) as usize;
                    histogram[luminance] += 1;
                    levels[luminance / 2] += 1;
                }
            }
        }
        let mut all = all.lock();
        all.iter_mut().zip(&counts).for_each(|(all, count)| *all += count);
    });
    Readings::of(size, &numbers, &all.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::pictures::noise;

    #[test]
    fn it_measures_as_the_reference_does() {
        for size in [(333, 41), (64, 35), (1, 1), (7, 300), (515, 2)] {
            let mut rgba: Vec<u8> = noise(4 * size.0 as usize * size.1 as usize);
            rgba.iter_mut().for_each(|byte| *byte = 60 + *byte % 100);
            let right = Readings::reference(size, &rgba);
            let mut stretched = rgba.clone();
            stretch(&mut stretched, right.ends());
            let of = |rgba: &mut [u8], readings, levels| {
                HostMeasurements::of(size, rgba, Measurements { readings, levels })
            };
            let only_read = of(&mut rgba.clone(), true, false);
            assert!(only_read.readings.as_ref() == Some(&right), "{size:?}");
            let both = of(&mut rgba, true, true);
            assert!(both.readings == Some(right) && rgba == stretched, "{size:?}");
            assert_eq!([only_read.spans.len(), both.spans.len()], [1, 2]);
            let levels = of(&mut rgba, false, true);
            assert!(levels.readings.is_none() && levels.spans.len() == 2);
            assert!(of(&mut rgba, false, false).spans.is_empty());
        }
    }
}
