//! What tuning found, from one start to the next. In: the cache file. Out: the variant and parameters for a
//! device, a size and a radius.
//!
//! The file is `$XDG_CACHE_HOME/clreel/tuning.json`, or `~/.cache/clreel/tuning.json`. An entry holds for one
//! device, driver version, class of sizes, range of radii, variant, and text of the kernel: when one of them
//! changes, it is not used any more.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::gpu::cl::DeviceInfo;
use crate::gpu::{folders, program};
use crate::ladders::box_filter::{Config, MAX_RADIUS, VariantId};
use crate::load::{self, Unread};
use crate::save;

/// Where one range of radii ends, and the radius that it is tuned at.
pub const RADII: [(u32, u32); 4] = [(3, 2), (15, 7), (63, 31), (MAX_RADIUS, MAX_RADIUS)];

/// The number of the range that a radius is in.
pub fn radius_class(radius: u32) -> usize {
    RADII.iter().position(|(last, _)| radius <= *last).unwrap_or(RADII.len() - 1)
}

/// Pictures that behave alike: how many pixels they have at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    pub const ALL: [SizeClass; 3] = [SizeClass::Small, SizeClass::Medium, SizeClass::Large];

    /// The class of a picture of so many pixels.
    pub fn of(width: u32, height: u32) -> Self {
        match u64::from(width) * u64::from(height) {
            0..=500_000 => Self::Small,
            500_001..=3_000_000 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// The best parameters of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The device's name.
    pub device: String,
    /// Its driver's version.
    pub driver: String,
    /// Which pictures it holds for.
    pub size: SizeClass,
    /// The largest radius it holds for: one of [`RADII`].
    pub radius: u32,
    /// The variant's name.
    pub variant: String,
    /// Names and values of its parameters.
    pub params: Vec<(String, u32)>,
    /// Hash of the kernel's text.
    pub source: String,
    /// Median device time in milliseconds.
    pub ms: f64,
}

impl Entry {
    /// An entry for a configuration that took `ms`.
    ///
    /// # Errors
    /// When the kernel's text cannot be read.
    pub fn new(
        device: &DeviceInfo,
        size: (u32, u32),
        radius: u32,
        id: VariantId,
        config: &Config,
        ms: f64,
    ) -> Result<Self> {
        let params = config.code().params.iter().map(|p| (p.name.to_owned(), config.get(p.name)));
        Ok(Self {
            device: device.name.clone(),
            driver: device.driver.clone(),
            size: SizeClass::of(size.0, size.1),
            radius: RADII[radius_class(radius)].0,
            variant: id.as_str().to_owned(),
            params: params.collect(),
            source: program::fingerprint(config.code().file)?,
            ms,
        })
    }

    /// Whether both come from searches for the same: their times are comparable then, if they are of one search.
    fn same_search(&self, other: &Self) -> bool {
        let key = |e: &Self| (e.device.clone(), e.driver.clone(), e.radius);
        self.size == other.size && key(self) == key(other)
    }

    /// The variant and the configuration, if they are still what was tuned.
    fn config(&self, device: &DeviceInfo) -> Option<(VariantId, Config)> {
        let id: VariantId = self.variant.parse().ok()?;
        let code = id.kernels()?.code(device.kind);
        let names = |name: &&'static str| self.params.iter().any(|(n, _)| n == name);
        let known = code.params.iter().map(|p| p.name).filter(|n| names(n)).count();
        if self.device != device.name
            || self.driver != device.driver
            || id == VariantId::Auto
            || known != code.params.len()
            || known != self.params.len()
            || !self.ms.is_finite()
            || program::fingerprint(code.file).ok()? != self.source
        {
            return None;
        }
        let config = Config::of(code, device.kind);
        // Anyone can write into the file: only what a search can have tried is let through.
        let default = config.clone().fitted(device);
        let tried = |name: &str, value: u32| {
            let param = code.params.iter().find(|p| p.name == name);
            param.is_some_and(|p| p.values.contains(&value)) || default.get(name) == value
        };
        if !self.params.iter().all(|(name, value)| tried(name, *value)) {
            return None;
        }
        let config = self.params.iter().fold(config, |config, (name, value)| config.with(name, *value));
        config.is_allowed(device).then_some((id, config))
    }
}

/// The cache file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    schema: u32,
    entries: Vec<Entry>,
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

const SCHEMA: u32 = 1;

/// The path of the file; none where there is no home.
pub fn path() -> Option<PathBuf> {
    folders::cache().map(|folder| folder.join("tuning.json"))
}

impl Cache {
    /// The user's cache. One that cannot be used is empty, and the first time a warning says so on stderr.
    pub fn load() -> Self {
        let Some(path) = path() else { return Self::default() };
        let read = load::bytes(&path, load::LIST).and_then(|text| Self::parse(&text));
        read.unwrap_or_else(|why| Self::ignored(&path, &why))
    }

    fn parse(text: &[u8]) -> std::result::Result<Self, Unread> {
        let cache: Self = serde_json::from_slice(text).map_err(Unread::damaged)?;
        if cache.schema != SCHEMA {
            return Err(Unread::damaged(format!("its schema is {}, not {SCHEMA}", cache.schema)));
        }
        Ok(cache)
    }

    fn ignored(path: &Path, why: &Unread) -> Self {
        static ONCE: Once = Once::new();
        let hint = match why {
            Unread::Missing => return Self::default(),
            Unread::Odd(_) => "Remove it, and `clreel tune` can keep what it finds.",
            Unread::Refused(_) | Unread::Damaged(_) => "`clreel tune` writes it anew.",
        };
        ONCE.call_once(|| eprintln!("clreel: '{}' is ignored. {why} {hint}", path.display()));
        Self::default()
    }

    /// Adds what one search has found, in place of what an older one for the same device, size and radii had found.
    pub fn put(&mut self, found: Vec<Entry>) {
        self.entries.retain(|old| !found.iter().any(|new| new.same_search(old)));
        self.entries.extend(found);
    }

    /// The fastest variant for each class of sizes and radii that was tuned on this device.
    pub fn choices(&self, device: &DeviceInfo) -> Vec<Choice> {
        let mut choices = Vec::new();
        for size in SizeClass::ALL {
            for (class, (last, _)) in RADII.into_iter().enumerate() {
                let of_device = |e: &Entry| e.device == device.name && e.driver == device.driver;
                let fits = |e: &&Entry| e.size == size && e.radius == last && of_device(e);
                let best = self.entries.iter().filter(fits).min_by(|a, b| f64::total_cmp(&a.ms, &b.ms));
                // Where the fastest is not what it was, nobody knows which one is: it is to be searched anew.
                if let Some((variant, config)) = best.and_then(|e| e.config(device)) {
                    choices.push(Choice { size, radius_class: class, variant, config });
                }
            }
        }
        choices
    }

    /// Writes the user's cache, by way of a temporary file.
    ///
    /// # Errors
    /// When there is no folder for it, or it cannot be written.
    pub fn store(&mut self) -> Result<()> {
        let path = writable_path()?;
        self.schema = SCHEMA;
        let text = serde_json::to_vec_pretty(self).map_err(|e| not_kept(format!("{e}.")))?;
        save::atomically(&path, |file| file.write_all(&text))
    }
}

/// Whether what a search finds can be kept: ask before the search.
///
/// # Errors
/// As [`Cache::store`].
pub fn require_writable() -> Result<()> {
    save::can_write(&writable_path()?)
}

/// The path to write to; its folder is there then, and nothing but a file has its name.
fn writable_path() -> Result<PathBuf> {
    let path = path().ok_or_else(|| Error {
        hint: "Set one of them.".to_owned(),
        ..not_kept("Neither XDG_CACHE_HOME nor HOME names a folder.")
    })?;
    if let Some(folder) = path.parent() {
        let failed = |e| not_kept(format!("The folder '{}' cannot be made: {e}.", folder.display()));
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    if let Err(Unread::Odd(why)) = load::bytes(&path, load::LIST) {
        return Err(not_kept(format!("'{}' is in its place. {why}", path.display())));
    }
    Ok(path)
}

fn not_kept(why: impl Into<String>) -> Error {
    Error::new(
        "What tuning finds cannot be kept.",
        why,
        "Remove what is in the way, or choose another XDG_CACHE_HOME.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::cl::DeviceKind;

    fn entry(id: VariantId, radius: u32, ms: f64) -> Entry {
        let code = id.kernels().unwrap().code(DeviceKind::Cpu);
        Entry::new(&DeviceInfo::made_up(), (1280, 720), radius, id, &Config::of(code, DeviceKind::Cpu), ms)
            .unwrap()
    }

    #[test]
    fn the_fastest_is_chosen_for_its_own_radii_only() {
        let mut cache = Cache::default();
        cache.put(vec![entry(VariantId::Fused, 7, 2.0), entry(VariantId::Flat, 7, 1.0)]);
        cache.put(vec![entry(VariantId::Flat, 31, 5.0)]);
        let found = |cache: &Cache| {
            let choices = cache.choices(&DeviceInfo::made_up());
            choices.into_iter().map(|c| (c.size, c.radius_class, c.variant)).collect::<Vec<_>>()
        };
        let medium = SizeClass::Medium;
        assert_eq!(found(&cache), [(medium, 1, VariantId::Flat), (medium, 2, VariantId::Flat)]);
        cache.put(vec![entry(VariantId::Fused, 4, 3.0), entry(VariantId::Vectorized, 4, 4.0)]);
        assert_eq!(found(&cache)[0], (medium, 1, VariantId::Fused), "a new search replaces the old one");
        // The fastest has changed since: which one is the fastest now is not known.
        let fastest = cache.entries.iter_mut().find(|e| e.variant == "fused").unwrap();
        fastest.source.push('x');
        assert_eq!(found(&cache), [(medium, 2, VariantId::Flat)]);
    }

    #[test]
    fn what_has_changed_since_is_not_used() {
        let good = entry(VariantId::RunningSum, 7, 1.0);
        let changes: [fn(&mut Entry); 9] = [
            |e| e.params[0].1 = 0,
            |e| e.params[2].1 = 1 << 30,
            |e| e.device.push('x'),
            |e| e.driver.push('x'),
            |e| e.source.push('x'),
            |e| e.params.truncate(2),
            |e| e.params[0].0.push('x'),
            |e| e.variant = "no".into(),
            |e| e.ms = f64::NAN,
        ];
        assert!(good.config(&DeviceInfo::made_up()).is_some());
        for (n, change) in changes.into_iter().enumerate() {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(bad.config(&DeviceInfo::made_up()).is_none(), "change {n}");
        }
    }

    #[test]
    fn damaged_files_are_refused_and_whole_ones_read() {
        let cache = Cache { schema: SCHEMA, entries: vec![entry(VariantId::Fused, 7, 2.0)] };
        let text = serde_json::to_vec(&cache).unwrap();
        assert_eq!(Cache::parse(&text).unwrap(), cache);
        assert!(Cache::parse(&text[..text.len() / 2]).is_err());
        assert!(Cache::parse(b"").is_err());
        assert!(Cache::parse(br#"{"schema":9,"entries":[]}"#).unwrap_err().to_string().contains('9'));
    }

    #[test]
    fn classes_cover_all_radii_and_hold_their_own_sample() {
        for (class, (last, sample)) in RADII.into_iter().enumerate() {
            assert_eq!((radius_class(last), radius_class(sample)), (class, class));
        }
        assert_eq!((radius_class(0), radius_class(4), radius_class(128)), (0, 1, 3));
    }
}
