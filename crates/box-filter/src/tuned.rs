//! Tuning results of the box filter in the [cache](ladder::cache): the fastest variant and its parameters for a device, a
//! class of sizes and a range of radii.

use serde::Serialize;
use serde_json::{Map, json};

use crate::{Code, Config, MAX_RADIUS, VariantId, Work};
use ladder::cache::{Cache, Class};
use opencl::cl::DeviceInfo;
use opencl::memory::Storage;
use opencl::sources::Sources;

/// Ranges of radii with the same tuning result: the last radius of each, and the radius that is measured.
pub const RADIUS_RANGES: [(u32, u32); 4] = [(3, 2), (15, 7), (63, 31), (MAX_RADIUS, MAX_RADIUS)];

/// The variant that [`VariantId::Auto`] uses without a tuning result.
pub(crate) const UNTUNED_VARIANT: VariantId = VariantId::Fused;

/// A configuration of the box filter that tuning has tried, with its time.
pub type Trial = ladder::tune::Trial<Code>;

/// The result of a search for the fastest variant and parameters of the box filter.
pub type Search = ladder::tune::Search<Code>;

/// Returns the variants to tune, the likely fastest first. Variants that read images are left out: no parameter makes them
/// fast.
pub fn variants() -> Vec<VariantId> {
    let is_tunable =
        |id: &VariantId| matches!(&id.info().work, Work::Kernels(k) if k.storage == Storage::Buffer);
    VariantId::ALL.into_iter().rev().filter(is_tunable).collect()
}

/// Returns the index in [`RADIUS_RANGES`] of the range that contains a radius.
pub fn radius_class(radius: u32) -> usize {
    RADIUS_RANGES.iter().position(|(last, _)| radius <= *last).unwrap_or(RADIUS_RANGES.len() - 1)
}

/// Returns the first and the last radius of the range that contains a radius.
pub fn radius_range(radius: u32) -> (u32, u32) {
    let class = radius_class(radius);
    let first = if class == 0 { 0 } else { RADIUS_RANGES[class - 1].0 + 1 };
    (first, RADIUS_RANGES[class].0)
}

/// Classes of picture sizes with similar speed, by the number of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeClass {
    /// Up to half a million pixels.
    Small,
    /// Up to three million pixels: 720p, 1080p.
    Medium,
    /// More than three million pixels: 4K.
    Large,
}

impl SizeClass {
    /// All classes.
    pub(crate) const ALL: [SizeClass; 3] = [SizeClass::Small, SizeClass::Medium, SizeClass::Large];

    /// Returns the name of the class, which the cache has too.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// Returns the class of a picture of this width and height.
    pub fn of(width: u32, height: u32) -> Self {
        match u64::from(width) * u64::from(height) {
            0..=500_000 => Self::Small,
            500_001..=3_000_000 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// Returns the cache's key for a class of sizes and the range of a radius, named by its last radius.
pub(super) fn cache_class(size: SizeClass, radius: u32) -> Class {
    let fields = [("size", json!(size)), ("radius", radius_range(radius).1.into())];
    let fields = Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value)));
    // These entries are older than those of other ladders, and do not name their ladder.
    Class { ladder: None, fields }
}

/// A tuning result: the fastest variant for a class of sizes and a range of radii.
#[derive(Debug, Clone)]
pub struct TunedVariant {
    /// The class of sizes.
    pub size: SizeClass,
    /// The range of radii, by [`radius_class`].
    pub radius_class: usize,
    /// The fastest variant for these sizes and radii.
    pub variant: VariantId,
    /// The parameters with which that variant is the fastest.
    pub config: Config,
}

/// Returns the fastest variant for each class of sizes and range of radii that was tuned on this device with the kernels
/// of `sources`.
pub fn tuned_variants(cache: &Cache, device: &DeviceInfo, sources: &Sources) -> Vec<TunedVariant> {
    let mut choices = Vec::new();
    for size in SizeClass::ALL {
        for (radius_class, (last, _)) in RADIUS_RANGES.into_iter().enumerate() {
            let fastest = cache.fastest(device, sources, &cache_class(size, last), |name| {
                let id: VariantId = name.parse().ok()?;
                let Work::Kernels(kernels) = &id.info().work else { return None };
                Some((id, kernels.code(device.kind)))
            });
            if let Some((variant, config)) = fastest {
                choices.push(TunedVariant { size, radius_class, variant, config });
            }
        }
    }
    choices
}

/// Returns the variants that `auto` may use on a device: its default, and all tuning results, also those whose kernels have
/// changed since.
pub fn auto_variants(cache: &Cache, device: &DeviceInfo) -> Vec<VariantId> {
    let mut parts = vec![UNTUNED_VARIANT];
    for size in SizeClass::ALL {
        for (last, _) in RADIUS_RANGES {
            let _none =
                cache.fastest::<(), Code>(device, &Sources::default(), &cache_class(size, last), |name| {
                    parts.extend(name.parse().ok().filter(|id: &VariantId| *id != VariantId::Auto));
                    None
                });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladder::cache::Entry;
    use opencl::cl::DeviceKind;

    fn entry(id: VariantId, radius: u32, ms: f64) -> Entry {
        let code = id.kernels().unwrap().code(DeviceKind::Cpu);
        let class = cache_class(SizeClass::of(1280, 720), radius);
        let config = Config::new(code, DeviceKind::Cpu);
        let on = (&DeviceInfo::made_up(), &Sources::default());
        Entry::new(on, &class, (id.as_str(), &config), ms).unwrap()
    }

    fn found(cache: &Cache) -> Vec<(SizeClass, usize, VariantId)> {
        let choices = tuned_variants(cache, &DeviceInfo::made_up(), &Sources::default());
        choices.into_iter().map(|c| (c.size, c.radius_class, c.variant)).collect()
    }

    #[test]
    fn the_fastest_is_used_for_its_own_radii_only() {
        let mut cache = Cache::default();
        cache.put(vec![entry(VariantId::Fused, 7, 2.0), entry(VariantId::Flat, 7, 1.0)]);
        cache.put(vec![entry(VariantId::Flat, 31, 5.0)]);
        let medium = SizeClass::Medium;
        assert_eq!(found(&cache), [(medium, 1, VariantId::Flat), (medium, 2, VariantId::Flat)]);
        cache.put(vec![entry(VariantId::Fused, 4, 3.0), entry(VariantId::Vectorized, 4, 4.0)]);
        assert_eq!(found(&cache)[0], (medium, 1, VariantId::Fused), "a new search replaces the old one");
    }

    #[test]
    fn auto_may_use_variants_whose_kernels_changed() {
        let (mut cache, device) = (Cache::default(), DeviceInfo::made_up());
        assert_eq!(auto_variants(&cache, &device), [UNTUNED_VARIANT]);
        // As if its kernels had been edited since.
        let mut edited = serde_json::to_value(entry(VariantId::Flat, 7, 1.0)).unwrap();
        edited["source"] = json!("another text");
        cache.put(vec![serde_json::from_value(edited).unwrap()]);
        cache.put(vec![entry(VariantId::Auto, 31, 1.0)]);
        assert_eq!(found(&cache), []);
        assert_eq!(auto_variants(&cache, &device), [UNTUNED_VARIANT, VariantId::Flat]);
    }

    #[test]
    fn entries_of_auto_are_ignored() {
        let mut cache = Cache::default();
        cache.put(vec![entry(VariantId::RunningSum, 7, 1.0)]);
        assert_eq!(found(&cache).len(), 1);
        cache.put(vec![entry(VariantId::Auto, 7, 1.0)]);
        assert_eq!(found(&cache), []);
    }

    /// Checks that entries of the oldest format are read: schema 1, without the name of a ladder.
    #[test]
    fn entries_of_older_versions_are_read() {
        let now = serde_json::to_value(entry(VariantId::Flat, 7, 1.5)).unwrap();
        let before = json!({
            "device": "Device", "driver": "1", "size": "medium", "radius": 15, "variant": "flat",
            "params": [["GROUP_X", 64], ["GROUP_Y", 1]], "source": now["source"], "ms": 1.5,
        });
        assert_eq!(now, before);
        let cache: Cache = serde_json::from_value(json!({ "schema": 1, "entries": [before] })).unwrap();
        assert_eq!(found(&cache), [(SizeClass::Medium, 1, VariantId::Flat)]);
        // An entry of another ladder is ignored.
        let mut other = before.clone();
        other["ladder"] = json!("made");
        let cache: Cache = serde_json::from_value(json!({ "schema": 1, "entries": [other] })).unwrap();
        assert_eq!(found(&cache), []);
    }

    #[test]
    fn classes_cover_all_radii() {
        for (class, (last, sample)) in RADIUS_RANGES.into_iter().enumerate() {
            assert_eq!((radius_class(last), radius_class(sample)), (class, class));
        }
        assert_eq!((radius_class(0), radius_class(4), radius_class(MAX_RADIUS)), (0, 1, 3));
        assert_eq!(
            (radius_range(0), radius_range(7), radius_range(MAX_RADIUS)),
            ((0, 3), (4, 15), (64, MAX_RADIUS))
        );
    }
}
