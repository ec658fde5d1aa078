//! Results of tuning the box filter: from the [cache](ladder::cache), the variant and parameters for a
//! device, a size and a radius.
//!
//! An entry holds for a class of sizes and a range of radii.

use serde::Serialize;
use serde_json::{Map, json};

use crate::{Code, Config, MAX_RADIUS, VariantId, Work};
use ladder::cache::{Cache, Class};
use opencl::cl::DeviceInfo;

/// Where one range of radii ends, and the radius that it is tuned at.
pub const RADII: [(u32, u32); 4] = [(3, 2), (15, 7), (63, 31), (MAX_RADIUS, MAX_RADIUS)];

/// What [`VariantId::Auto`] is where nothing was tuned.
pub(crate) const UNTUNED: VariantId = VariantId::Fused;

/// The number of the range that a radius is in.
pub fn radius_class(radius: u32) -> usize {
    RADII.iter().position(|(last, _)| radius <= *last).unwrap_or(RADII.len() - 1)
}

/// The first and the last radius of the range that a radius is in.
pub fn range(radius: u32) -> (u32, u32) {
    let class = radius_class(radius);
    let first = if class == 0 { 0 } else { RADII[class - 1].0 + 1 };
    (first, RADII[class].0)
}

/// Pictures that behave alike: how many pixels they have at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeClass {
    /// Up to half a million pixels.
    Small,
    /// Up to three million pixels: 720p, 1080p.
    Medium,
    /// More: 4K.
    Large,
}

impl SizeClass {
    /// All of them.
    pub(crate) const ALL: [SizeClass; 3] = [SizeClass::Small, SizeClass::Medium, SizeClass::Large];

    /// The class of a picture of so many pixels.
    pub fn of(width: u32, height: u32) -> Self {
        match u64::from(width) * u64::from(height) {
            0..=500_000 => Self::Small,
            500_001..=3_000_000 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// Pictures and radii that behave alike, as the cache has them: by the largest radius.
pub(super) fn class(size: SizeClass, radius: u32) -> Class {
    let fields = [("size", json!(size)), ("radius", range(radius).1.into())];
    let fields = Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value)));
    // Its entries were there before those of other ladders, and never had its name.
    Class { ladder: None, fields }
}

/// One answer of the cache.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which pictures it holds for.
    pub size: SizeClass,
    /// Which range of radii, by [`radius_class`].
    pub radius_class: usize,
    /// The variant.
    pub variant: VariantId,
    /// Its parameters.
    pub config: Config,
}

/// The fastest variant for each class of sizes and radii that was tuned on this device.
pub fn choices(cache: &Cache, device: &DeviceInfo) -> Vec<Choice> {
    let mut choices = Vec::new();
    for size in SizeClass::ALL {
        for (radius_class, (last, _)) in RADII.into_iter().enumerate() {
            let fastest = cache.fastest(device, &class(size, last), |name| {
                let id: VariantId = name.parse().ok()?;
                let Work::Kernels(kernels) = &id.rung().work else { return None };
                Some((id, kernels.code(device.kind)))
            });
            if let Some((variant, config)) = fastest {
                choices.push(Choice { size, radius_class, variant, config });
            }
        }
    }
    choices
}

/// The variants that `auto` may be made of on a device: what it is without a search, and what searches have found, whether or not
/// their kernels are as they were then.
pub fn parts_of_auto(cache: &Cache, device: &DeviceInfo) -> Vec<VariantId> {
    let mut parts = vec![UNTUNED];
    for size in SizeClass::ALL {
        for (last, _) in RADII {
            let _none = cache.fastest::<(), Code>(device, &class(size, last), |name| {
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
        let class = class(SizeClass::of(1280, 720), radius);
        let config = Config::of(code, DeviceKind::Cpu);
        Entry::new(&DeviceInfo::made_up(), &class, id.as_str(), &config, ms).unwrap()
    }

    fn found(cache: &Cache) -> Vec<(SizeClass, usize, VariantId)> {
        let choices = choices(cache, &DeviceInfo::made_up());
        choices.into_iter().map(|c| (c.size, c.radius_class, c.variant)).collect()
    }

    #[test]
    fn the_fastest_is_chosen_for_its_own_radii_only() {
        let mut cache = Cache::default();
        cache.put(vec![entry(VariantId::Fused, 7, 2.0), entry(VariantId::Flat, 7, 1.0)]);
        cache.put(vec![entry(VariantId::Flat, 31, 5.0)]);
        let medium = SizeClass::Medium;
        assert_eq!(found(&cache), [(medium, 1, VariantId::Flat), (medium, 2, VariantId::Flat)]);
        cache.put(vec![entry(VariantId::Fused, 4, 3.0), entry(VariantId::Vectorized, 4, 4.0)]);
        assert_eq!(found(&cache)[0], (medium, 1, VariantId::Fused), "a new search replaces the old one");
    }

    #[test]
    fn auto_may_be_made_of_what_was_found_whatever_became_of_it() {
        let (mut cache, device) = (Cache::default(), DeviceInfo::made_up());
        assert_eq!(parts_of_auto(&cache, &device), [UNTUNED]);
        // As if its kernels had been edited since.
        let mut edited = serde_json::to_value(entry(VariantId::Flat, 7, 1.0)).unwrap();
        edited["source"] = json!("another text");
        cache.put(vec![serde_json::from_value(edited).unwrap()]);
        cache.put(vec![entry(VariantId::Auto, 31, 1.0)]);
        assert_eq!(found(&cache), []);
        assert_eq!(parts_of_auto(&cache, &device), [UNTUNED, VariantId::Flat]);
    }

    #[test]
    fn what_has_no_kernels_of_its_own_is_nothing_that_was_tuned() {
        let mut cache = Cache::default();
        cache.put(vec![entry(VariantId::RunningSum, 7, 1.0)]);
        assert_eq!(found(&cache).len(), 1);
        cache.put(vec![entry(VariantId::Auto, 7, 1.0)]);
        assert_eq!(found(&cache), []);
    }

    /// Entries as they have been since the first of them: schema 1, without the name of a ladder.
    #[test]
    fn what_older_versions_have_kept_is_read() {
        let now = serde_json::to_value(entry(VariantId::Flat, 7, 1.5)).unwrap();
        let before = json!({
            "device": "Device", "driver": "1", "size": "medium", "radius": 15, "variant": "flat",
            "params": [["GROUP_X", 64], ["GROUP_Y", 1]], "source": now["source"], "ms": 1.5,
        });
        assert_eq!(now, before);
        let cache: Cache = serde_json::from_value(json!({ "schema": 1, "entries": [before] })).unwrap();
        assert_eq!(found(&cache), [(SizeClass::Medium, 1, VariantId::Flat)]);
        // Another ladder's entry is none of its own, whatever else it says.
        let mut other = before.clone();
        other["ladder"] = json!("made");
        let cache: Cache = serde_json::from_value(json!({ "schema": 1, "entries": [other] })).unwrap();
        assert_eq!(found(&cache), []);
    }

    #[test]
    fn classes_cover_all_radii_and_hold_their_own_sample() {
        for (class, (last, sample)) in RADII.into_iter().enumerate() {
            assert_eq!((radius_class(last), radius_class(sample)), (class, class));
        }
        assert_eq!((radius_class(0), radius_class(4), radius_class(MAX_RADIUS)), (0, 1, 3));
        assert_eq!((range(0), range(7), range(MAX_RADIUS)), ((0, 3), (4, 15), (64, MAX_RADIUS)));
    }
}
