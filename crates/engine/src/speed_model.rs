//! The measured speed of filters, which determines how many rows a band of a long filter has, and the measured time of the
//! colour conversion without correction, by which the time of a kernel that does both is split.

use std::collections::HashMap;

use base::device::DeviceKind;
use box_filter::VariantId;
use box_filter::color_kernels::Conversion;
use compute::BackEnd;
use stats::KernelsId;
use video::color::Correction;

/// The time that a colour conversion takes without a correction. Conversion and correction are one kernel, so the correction's
/// time is what remains of the kernel's time.
#[derive(Default)]
pub(super) struct ConversionTime {
    of: Option<Conversion>,
    alone_ms: Option<f64>,
}

impl ConversionTime {
    /// Splits the time `ms` of a kernel that converts and corrects into the times of the conversion and of the correction, all
    /// in milliseconds. Until a frame was converted without a correction, the whole time counts as the conversion's. An unknown
    /// time (NaN) is not learned.
    pub(super) fn split(&mut self, of: Conversion, ms: f64, correction: &Correction) -> (f64, f64) {
        if self.of.replace(of) != Some(of) {
            self.alone_ms = None;
        }
        if !ms.is_finite() {
            // The driver reports no time.
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

/// The maximum factor by which a band may count as slower than the bands before it, so that one disturbed band does not spoil
/// the prediction. A kernel that really became slower is learned within some bands all the same.
const MAX_SLOWDOWN: f64 = 4.0;

/// The measured time for one unit of work of each filter, in nanoseconds. Each finished band updates it.
#[derive(Default)]
pub struct SpeedModel {
    learned: HashMap<(KernelsId, usize), LearnedSpeed>,
    /// The kind of the OpenCL device; `None` without a device.
    kind: Option<DeviceKind>,
}

/// The measured speed of one pass of a variant.
#[derive(Clone, Copy)]
struct LearnedSpeed {
    ns: f64,
    /// True if the speed includes more than the first band. The first band is slower, because it compiles the kernel for its
    /// launch and finds cold caches.
    warm: bool,
}

impl SpeedModel {
    /// Forgets the times that were measured on the OpenCL device; `kind` is the kind of the next device.
    pub(super) fn forget_device(&mut self, kind: DeviceKind) {
        self.learned.retain(|((variant, _), _), _| variant.back_end().does_without_opencl());
        self.kind = Some(kind);
    }

    /// Returns the assumed time for one unit of work of a variant that has not run yet, in nanoseconds: the longest time that was measured
    /// on this kind of device (on a CPU, that of a kernel that reads an image), so that the first band is too short rather than too long.
    fn guess(&self, variant: VariantId) -> f64 {
        match (variant.back_end(), self.kind) {
            (BackEnd::Native, _) => 0.5,
            (BackEnd::Glsl, _) | (_, Some(DeviceKind::Cpu)) => 5.0,
            _ => 0.05,
        }
    }

    /// Returns the predicted time, in milliseconds, for an amount of work of a pass, given in the filter's own unit.
    pub(super) fn predict_ms(&self, (kernels, pass): (KernelsId, usize), work: f64) -> f64 {
        let learned = self.learned.get(&(kernels, pass)).map(|learned| learned.ns);
        learned.unwrap_or_else(|| self.guess(kernels.0)) * work / 1e6
    }

    /// Returns the measured time for one unit of work of a pass, in nanoseconds; `None` if only its first band was measured, or nothing.
    pub(super) fn ns_per_unit(&self, (kernels, pass): (KernelsId, usize)) -> Option<f64> {
        self.learned.get(&(kernels, pass)).filter(|learned| learned.warm).map(|learned| learned.ns)
    }

    /// Updates the speed of a pass with a finished band, which took `seen` nanoseconds for one unit of work. Ignores impossible
    /// times.
    pub(super) fn record(&mut self, (kernels, pass): (KernelsId, usize), seen: f64) {
        if !seen.is_finite() || seen <= 0.0 {
            return;
        }
        match self.learned.get_mut(&(kernels, pass)) {
            // The time of a band during which the process was stopped does not predict the next ones.
            Some(learned) if learned.warm => {
                learned.ns += 0.3 * (seen.min(MAX_SLOWDOWN * learned.ns) - learned.ns)
            }
            Some(cold) => *cold = LearnedSpeed { ns: seen, warm: true },
            None => {
                self.learned.insert((kernels, pass), LearnedSpeed { ns: seen, warm: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;
    use opencl::memory::Storage;
    use video::color::Layout;

    fn naive() -> KernelsId {
        (named("naive"), None)
    }

    #[test]
    fn a_kernels_first_band_teaches_only_until_there_is_a_second_one() {
        let mut speeds = SpeedModel::default();
        speeds.forget_device(DeviceKind::Cpu);
        assert_eq!(speeds.ns_per_unit((naive(), 0)), None);
        speeds.record((naive(), 0), 130.0);
        assert_eq!((speeds.ns_per_unit((naive(), 0)), speeds.predict_ms((naive(), 0), 1e6)), (None, 130.0));
        speeds.record((naive(), 0), 10.0);
        assert_eq!(speeds.ns_per_unit((naive(), 0)), Some(10.0));
        speeds.record((naive(), 0), 20.0);
        assert_eq!(speeds.predict_ms((naive(), 0), 1e6), 13.0);
        let before = speeds.ns_per_unit((naive(), 0));
        speeds.record((naive(), 0), 15_000.0);
        assert!((speeds.predict_ms((naive(), 0), 1e6) - 13.0 * 1.9).abs() < 1e-9, "the process was stopped");
        (0..20).for_each(|_| speeds.record((naive(), 0), 1300.0));
        assert!(speeds.predict_ms((naive(), 0), 1e6) > 1200.0, "it is slow from now on");
        speeds.learned.insert((naive(), 0), LearnedSpeed { ns: before.unwrap(), warm: true });
        speeds.record((naive(), 0), f64::NAN);
        assert_eq!((speeds.ns_per_unit((naive(), 0)), speeds.ns_per_unit((naive(), 1))), (Some(13.0), None));
    }

    #[test]
    fn a_merged_correction_is_what_the_conversion_takes_longer() {
        let mut time = ConversionTime::default();
        let bright = Correction { brightness: 0.5, ..Correction::NEUTRAL };
        let of = |layout| Conversion { layout, storage: Storage::Image };
        let [small, large] = [(4, 2), (8, 4)].map(|(w, h)| of(Layout::planar_420(w, h, false)));
        assert_eq!(time.split(small, 3.0, &bright), (3.0, 0.0));
        for _ in 0..3 {
            assert_eq!(time.split(small, 2.0, &Correction::NEUTRAL), (2.0, 0.0));
        }
        assert_eq!(time.split(small, 3.0, &bright), (2.0, 1.0));
        assert_eq!(time.split(small, 1.5, &bright), (1.5, 0.0));
        // An unknown time stays unknown and is not learned.
        let (convert, correct) = time.split(small, f64::NAN, &Correction::NEUTRAL);
        assert!(convert.is_nan() && correct == 0.0);
        let (convert, correct) = time.split(small, f64::NAN, &bright);
        assert!(convert.is_nan() && correct.is_nan());
        assert_eq!(time.split(small, 3.0, &bright), (2.0, 1.0));
        // The time for a larger picture is not known yet.
        assert_eq!(time.split(large, 9.0, &bright), (9.0, 0.0));
        assert_eq!(time.split(large, 6.0, &Correction::NEUTRAL), (6.0, 0.0));
        // Neither is the time for filtered planes.
        assert_eq!(time.split(of(large.layout.filtered()), 8.0, &bright), (8.0, 0.0));
    }
}
