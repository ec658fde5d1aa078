//! Tuning results in the [cache](compute::cache): for the box filter the fastest variant and its parameters for a device, a group
//! of picture sizes ([`SizeClass`]) and a range of radii; for the filter of a folder the fastest variant and the parameters of each
//! one, for a device and a group of picture sizes.

use serde_json::{Map, json};

pub use crate::classes::{RADIUS_RANGES, SizeClass, radius_class, radius_range};
use crate::{Code, Config, Filter, VariantId};
use base::device::{DeviceInfo, DeviceKind};
use compute::cache::{Cache, Class};
use opencl::sources::Sources;

/// Returns the variants of a filter to tune, the likely fastest first.
pub fn variants(filter: &'static Filter) -> Vec<VariantId> {
    let of_box = filter.is_box().then(VariantId::built_in).into_iter().flatten();
    let all = filter.variants().chain(of_box).rev();
    all.filter(|id| id.codes().iter().any(|code| code.is_tuned)).collect()
}

/// Returns true if a variant of the filter has values to try on this kind of device.
pub fn has_values(filter: &'static Filter, kind: DeviceKind) -> bool {
    let codes = variants(filter).into_iter().filter_map(|id| id.code(kind));
    codes.flat_map(|code| code.params).any(|param| !param.values.is_empty())
}

/// Returns the key in the cache for a group of picture sizes and the range of radii that contains `radius`. The key names the
/// range by its last radius.
pub fn cache_class(size: SizeClass, radius: u32) -> Class {
    let fields = [("size", json!(size)), ("radius", radius_range(radius).1.into())];
    let fields = Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value)));
    // These entries are older than those of other ladders, and do not name their ladder.
    Class { ladder: None, fields }
}

/// Returns the key in the cache for a folder's filter and a group of picture sizes. All values of the filter's parameters share a
/// result, which is checked at the ends of their ranges.
pub fn folder_class(filter: &Filter, size: SizeClass) -> Class {
    let fields = [("filter", json!(filter.name)), ("size", json!(size))];
    let fields = Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value)));
    Class { ladder: Some("filter"), fields }
}

/// A tuning result: the fastest variant for a group of picture sizes and a range of radii.
#[derive(Debug, Clone)]
pub struct TunedVariant {
    /// The group of picture sizes.
    pub size: SizeClass,
    /// The range of radii, as the index that [`radius_class`] returns.
    pub radius_class: usize,
    /// The fastest variant for these sizes and radii.
    pub variant: VariantId,
    /// The parameters with which that variant is the fastest.
    pub config: Config,
}

/// Returns the key in the cache for a filter, a group of picture sizes and, of the box filter, the range of radii that contains
/// `radius`.
pub fn class_of(filter: &Filter, size: SizeClass, radius: u32) -> Class {
    if filter.is_box() { cache_class(size, radius) } else { folder_class(filter, size) }
}

/// Returns the tuning results with which `id` runs on this device with the kernels of `sources`: for `auto` the
/// [fastest variants](tuned_variants), for a folder's variant its parameters for each group of picture sizes, for all others none.
pub(crate) fn results_for(id: VariantId, device: &DeviceInfo, sources: &Sources) -> Vec<TunedVariant> {
    let cache = Cache::load();
    if id.is_auto() {
        return tuned_variants(id.filter(), &cache, device, sources);
    }
    let (Some(filter), mut choices) = (id.opened(), Vec::new()) else { return Vec::new() };
    for size in SizeClass::ALL {
        let class = folder_class(filter, size);
        let code = id.code(device.kind);
        let config = code.and_then(|code| cache.config_of(device, sources, &class, (id.name, code)));
        let Some(config) = config else { continue };
        let of_radii =
            |radius_class| TunedVariant { size, radius_class, variant: id, config: config.clone() };
        choices.extend((0..RADIUS_RANGES.len()).map(of_radii));
    }
    choices
}

/// Returns the fastest variant of a filter for each group of picture sizes and range of radii that was tuned on this device with
/// the kernels of `sources`.
pub fn tuned_variants(
    filter: &'static Filter,
    cache: &Cache,
    device: &DeviceInfo,
    sources: &Sources,
) -> Vec<TunedVariant> {
    let mut choices = Vec::new();
    for size in SizeClass::ALL {
        for (radius_class, (last, _)) in RADIUS_RANGES.into_iter().enumerate() {
            let fastest = cache.fastest(device, sources, &class_of(filter, size, last), |name| {
                let id = filter.with_kernels(name)?;
                Some((id, id.code(device.kind)?))
            });
            if let Some((variant, config)) = fastest {
                choices.push(TunedVariant { size, radius_class, variant, config });
            }
        }
    }
    choices
}

/// Returns the variants that `auto` of the selected filter may use on a device: the one that it uses without tuning results, and
/// those of all tuning results, also those whose kernels have changed since.
pub fn auto_variants(cache: &Cache, device: &DeviceInfo) -> Vec<VariantId> {
    let auto = VariantId::auto();
    let (filter, mut parts) = (auto.filter(), Vec::from_iter(auto.untuned()));
    for size in SizeClass::ALL {
        for (last, _) in RADIUS_RANGES {
            let class = class_of(filter, size, last);
            let _none = cache.fastest::<(), Code>(device, &Sources::default(), &class, |name| {
                parts.extend(filter.with_kernels(name));
                None
            });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;
    use compute::cache::Entry;

    fn entry(id: VariantId, radius: u32, ms: f64) -> Entry {
        let code = id.code(DeviceKind::Cpu).unwrap();
        let class = cache_class(SizeClass::of(1280, 720), radius);
        let config = Config::new(code, DeviceKind::Cpu);
        let on = (&DeviceInfo::made_up(), &Sources::default());
        Entry::new(on, &class, (id.name, &config), ms).unwrap()
    }

    /// Returns the variant that `auto` uses without a tuning result.
    fn untuned() -> VariantId {
        VariantId::auto().untuned().unwrap()
    }

    fn found(cache: &Cache) -> Vec<(SizeClass, usize, VariantId)> {
        let of_box = VariantId::OFF.filter();
        let choices = tuned_variants(of_box, cache, &DeviceInfo::made_up(), &Sources::default());
        choices.into_iter().map(|c| (c.size, c.radius_class, c.variant)).collect()
    }

    #[test]
    fn the_fastest_is_used_for_its_own_radii_only() {
        let mut cache = Cache::default();
        cache.put(vec![entry(named("fused"), 7, 2.0), entry(named("flat"), 7, 1.0)]);
        cache.put(vec![entry(named("flat"), 31, 5.0)]);
        let medium = SizeClass::Medium;
        assert_eq!(found(&cache), [(medium, 1, named("flat")), (medium, 2, named("flat"))]);
        cache.put(vec![entry(named("fused"), 4, 3.0), entry(named("vectorized"), 4, 4.0)]);
        assert_eq!(found(&cache)[0], (medium, 1, named("fused")), "a new search replaces the old one");
        cache.put(vec![entry(VariantId::auto(), 4, 1.0)]);
        assert_eq!(found(&cache), [(medium, 2, named("flat"))], "entries of auto are ignored");
    }

    #[test]
    fn auto_may_use_variants_whose_kernels_changed() {
        let (mut cache, device) = (Cache::default(), DeviceInfo::made_up());
        assert_eq!(auto_variants(&cache, &device), [untuned()]);
        // As if its kernels had been edited since.
        let mut edited = serde_json::to_value(entry(named("flat"), 7, 1.0)).unwrap();
        edited["source"] = json!("another text");
        cache.put(vec![serde_json::from_value(edited).unwrap()]);
        cache.put(vec![entry(VariantId::auto(), 31, 1.0)]);
        assert_eq!(found(&cache), []);
        assert_eq!(auto_variants(&cache, &device), [untuned(), named("flat")]);
    }

    #[test]
    fn a_result_of_a_folder_is_used_until_its_kernel_or_description_changes() {
        let [filter, other] = ["tuned-one", "tuned-other"].map(|name| Filter::made_up(name, ""));
        let sources = |edited: &str| {
            let text = |file: &str| if file == edited { "edited" } else { "original" }.to_owned();
            let files = ["a.cl", "filter.toml"].map(|file| (format!("tuned-one/{file}"), text(file)));
            Sources::from_texts(files.into()).unwrap()
        };
        let (id, device) = (filter.variants().next().unwrap(), DeviceInfo::made_up());
        let code = id.code(device.kind).unwrap();
        let class = |filter| folder_class(filter, SizeClass::Medium);
        let config = Config::new(code, device.kind);
        let entry = Entry::new((&device, &sources("")), &class(filter), (id.name, &config), 1.0).unwrap();
        let mut cache = Cache::default();
        cache.put(vec![entry]);
        let found = |filter, edited| {
            cache.config_of(&device, &sources(edited), &class(filter), (id.name, code)).is_some()
        };
        assert!(found(filter, ""));
        assert!(!found(filter, "a.cl") && !found(filter, "filter.toml") && !found(other, ""));
    }

    /// Checks that entries of the oldest format are read: schema 1, without the name of a ladder.
    #[test]
    fn entries_of_older_versions_are_read() {
        let now = serde_json::to_value(entry(named("flat"), 7, 1.5)).unwrap();
        let before = json!({
            "device": "Device", "driver": "1", "size": "medium", "radius": 15, "variant": "flat",
            "params": [["GROUP_X", 64], ["GROUP_Y", 1]], "source": now["source"], "ms": 1.5,
        });
        assert_eq!(now, before);
        let cache: Cache = serde_json::from_value(json!({ "schema": 1, "entries": [before] })).unwrap();
        assert_eq!(found(&cache), [(SizeClass::Medium, 1, named("flat"))]);
        // An entry of another ladder is ignored.
        let mut other = before.clone();
        other["ladder"] = json!("made");
        let cache: Cache = serde_json::from_value(json!({ "schema": 1, "entries": [other] })).unwrap();
        assert_eq!(found(&cache), []);
    }
}
