//! What is known about the speed of filters, to cut long launches into bands; of the conversion alone, to
//! tell a merged correction's time.

use std::collections::HashMap;

use box_filter::VariantId;
use ladder::BackEnd;
use opencl::cl::DeviceKind;
use opencl::memory::Storage;
use video::color::Correction;

/// Pixels of a picture, what is written, and whether the planes were filtered before: others take another time.
type Conversion = ((u32, u32), Storage, bool);

/// What the conversion takes alone. Where the correction is merged into its kernel, the rest is the correction's.
#[derive(Default)]
pub(super) struct ConversionTime {
    of: Option<Conversion>,
    alone_ms: Option<f64>,
}

impl ConversionTime {
    /// Times of conversion and correction in a kernel that took `ms`. As long as no frame was converted without a
    /// correction, nobody knows them apart, and all of it is the conversion's. A time that is not known teaches nothing.
    pub(super) fn split(&mut self, of: Conversion, ms: f64, correction: &Correction) -> (f64, f64) {
        if self.of.replace(of) != Some(of) {
            self.alone_ms = None;
        }
        if !ms.is_finite() {
            // The driver does not tell.
            return (ms, if correction.is_neutral() { 0.0 } else { ms });
        }
        if correction.is_neutral() {
            let alone = self.alone_ms.get_or_insert(ms);
            *alone += 0.1 * (ms - *alone);
            return (ms, 0.0);
        }
        let alone = self.alone_ms.map_or(ms, |alone| alone.min(ms));
        (alone, ms - alone)
    }
}

/// A band counts as at most so many times as slow as those before it: kernels that are slower from now on are learned within some
/// bands all the same.
const MOST: f64 = 4.0;

/// Nanoseconds for one unit of a filter's work, learned from each finished band.
#[derive(Default)]
pub struct Pace {
    learned: HashMap<(VariantId, usize), Learned>,
    /// Of the OpenCL device, if there is one.
    kind: Option<DeviceKind>,
}

/// What the bands of a kernel taught.
#[derive(Clone, Copy)]
struct Learned {
    ns: f64,
    /// More than its first band, which is compiled for its launch and finds caches cold, is in it.
    warm: bool,
}

impl Pace {
    /// Forgets what an OpenCL device taught; the next one is of this kind.
    pub(super) fn forget_device(&mut self, kind: DeviceKind) {
        self.learned.retain(|(variant, _), _| variant.back_end().does_without_opencl());
        self.kind = Some(kind);
    }

    /// For what has not run yet: the slowest that was seen of its kind (reading an image on a CPU), so that the first
    /// band is too short rather than too long.
    fn guess(&self, variant: VariantId) -> f64 {
        match (variant.back_end(), self.kind) {
            (BackEnd::Native, _) => 0.5,
            (BackEnd::Glsl, _) | (_, Some(DeviceKind::Cpu)) => 5.0,
            _ => 0.05,
        }
    }

    /// What work of a pass will take, in milliseconds.
    pub(super) fn ms(&self, variant: VariantId, pass: usize, work: f64) -> f64 {
        let learned = self.learned.get(&(variant, pass)).map(|learned| learned.ns);
        learned.unwrap_or_else(|| self.guess(variant)) * work / 1e6
    }

    /// Nanoseconds for one unit of work, where that was measured.
    pub(super) fn known(&self, variant: VariantId, pass: usize) -> Option<f64> {
        self.learned.get(&(variant, pass)).filter(|learned| learned.warm).map(|learned| learned.ns)
    }

    pub(super) fn learn(&mut self, variant: VariantId, pass: usize, work: f64, ms: f64) {
        if work <= 0.0 || !ms.is_finite() || ms <= 0.0 {
            return;
        }
        let seen = ms * 1e6 / work;
        match self.learned.get_mut(&(variant, pass)) {
            // One band that takes a hundred times as long, because the process was stopped, says nothing of the next ones.
            Some(learned) if learned.warm => learned.ns += 0.3 * (seen.min(MOST * learned.ns) - learned.ns),
            Some(cold) => *cold = Learned { ns: seen, warm: true },
            None => {
                self.learned.insert((variant, pass), Learned { ns: seen, warm: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_first_band_teaches_only_until_there_is_a_second_one() {
        let mut pace = Pace::default();
        pace.forget_device(DeviceKind::Cpu);
        assert_eq!(pace.known(VariantId::Naive, 0), None);
        pace.learn(VariantId::Naive, 0, 1e6, 130.0);
        assert_eq!((pace.known(VariantId::Naive, 0), pace.ms(VariantId::Naive, 0, 1e6)), (None, 130.0));
        pace.learn(VariantId::Naive, 0, 1e6, 10.0);
        assert_eq!(pace.known(VariantId::Naive, 0), Some(10.0));
        pace.learn(VariantId::Naive, 0, 1e6, 20.0);
        assert_eq!(pace.ms(VariantId::Naive, 0, 1e6), 13.0);
        let before = pace.known(VariantId::Naive, 0);
        pace.learn(VariantId::Naive, 0, 1e6, 15_000.0);
        assert!((pace.ms(VariantId::Naive, 0, 1e6) - 13.0 * 1.9).abs() < 1e-9, "the process was stopped");
        (0..20).for_each(|_| pace.learn(VariantId::Naive, 0, 1e6, 1300.0));
        assert!(pace.ms(VariantId::Naive, 0, 1e6) > 1200.0, "it is slow from now on");
        pace.learned.insert((VariantId::Naive, 0), Learned { ns: before.unwrap(), warm: true });
        pace.learn(VariantId::Naive, 0, 1e6, f64::NAN);
        assert_eq!((pace.known(VariantId::Naive, 0), pace.known(VariantId::Naive, 1)), (Some(13.0), None));
    }

    #[test]
    fn a_merged_correction_is_what_the_conversion_takes_longer() {
        let mut time = ConversionTime::default();
        let bright = Correction { brightness: 0.5, ..Correction::NEUTRAL };
        let (small, large) = (((4, 2), Storage::Image, false), ((8, 4), Storage::Image, false));
        assert_eq!(time.split(small, 3.0, &bright), (3.0, 0.0));
        for _ in 0..3 {
            assert_eq!(time.split(small, 2.0, &Correction::NEUTRAL), (2.0, 0.0));
        }
        assert_eq!(time.split(small, 3.0, &bright), (2.0, 1.0));
        assert_eq!(time.split(small, 1.5, &bright), (1.5, 0.0));
        // What is not known stays so, and is not learned.
        let (convert, correct) = time.split(small, f64::NAN, &Correction::NEUTRAL);
        assert!(convert.is_nan() && correct == 0.0);
        let (convert, correct) = time.split(small, f64::NAN, &bright);
        assert!(convert.is_nan() && correct.is_nan());
        assert_eq!(time.split(small, 3.0, &bright), (2.0, 1.0));
        // Nobody knows yet what a larger one takes.
        assert_eq!(time.split(large, 9.0, &bright), (9.0, 0.0));
        assert_eq!(time.split(large, 6.0, &Correction::NEUTRAL), (6.0, 0.0));
        // Nor what one of filtered planes takes.
        assert_eq!(time.split((large.0, large.1, true), 8.0, &bright), (8.0, 0.0));
    }
}
