//! The same on the processor, for pictures that are in the host's memory. In: RGBA pixels. Out: [`Readings`], stretched pixels, and when
//! that was done.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::readings::{BINS, COUNTS, LEVELS, Levels, Readings, STRIPS, case};
use crate::stats::{Span, Stage};
use base::threads::{all_threads, share};
use ladders::reduction::digest::{Digest as _, OfPictures};
use ladders::reduction::host::in_vectors;
use ladders::reduction::{REDUCTION, luminance};

/// What was measured of a picture, and when.
#[derive(Default)]
pub struct OnHost {
    pub(crate) readings: Option<Readings>,
    pub(crate) spans: Vec<Span>,
}

impl OnHost {
    /// Measures a picture, and stretches it where `levels` says so; nothing is done where neither is wanted.
    pub(crate) fn of(size: (u32, u32), rgba: &mut [u8], readings: bool, levels: bool) -> Self {
        if !readings && !levels {
            return Self::default();
        }
        let began = Instant::now();
        let measured = measured(size, rgba);
        let mut spans = vec![Span::since(Stage::Reduce, began)];
        if levels {
            let began = Instant::now();
            let levels = Levels::between(measured.ends());
            share(rgba.chunks_mut(band_bytes(size)), all_threads(), |band| levels.stretch(band));
            spans.push(Span::since(Stage::Levels, began));
        }
        Self { readings: readings.then_some(measured), spans }
    }
}

/// Bytes of the rows that a thread takes at a time: some for each, so that none waits long for the last.
fn band_bytes((width, height): (u32, u32)) -> usize {
    4 * width as usize * (height as usize).div_ceil(4 * all_threads())
}

/// By all cores: the reduction is the ladder's, in vectors.
fn measured(size: (u32, u32), rgba: &[u8]) -> Readings {
    let (OfPictures(ladder), case) = (REDUCTION, case(size));
    let mut numbers = vec![0; ladder.numbers(&case)];
    in_vectors(rgba, &case, &mut numbers, all_threads());
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
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().zip(&counts).for_each(|(all, count)| *all += count);
    });
    Readings::of(size, &numbers, &all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::super::readings::stretch;
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
            let only_read = OnHost::of(size, &mut rgba.clone(), true, false);
            assert!(only_read.readings.as_ref() == Some(&right), "{size:?}");
            let both = OnHost::of(size, &mut rgba, true, true);
            assert!(both.readings == Some(right) && rgba == stretched, "{size:?}");
            assert_eq!([only_read.spans.len(), both.spans.len()], [1, 2]);
            let levels = OnHost::of(size, &mut rgba, false, true);
            assert!(levels.readings.is_none() && levels.spans.len() == 2);
            assert!(OnHost::of(size, &mut rgba, false, false).spans.is_empty());
        }
    }
}
