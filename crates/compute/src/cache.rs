//! The cache file of tuning results: the best parameters and the time of each tuned variant on a device, for a group of cases
//! (such as a range of sizes) that share one result.
//!
//! The file is `$XDG_CACHE_HOME/clreel/tuning.json`, or `~/.cache/clreel/tuning.json`. An entry holds for one device, driver
//! version, ladder, group of cases, variant, and kernel source: if one of them changes, the entry is ignored.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Once;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{Config, Tunable};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::load::{self, Unread};
use base::save;
use base::stderr::print_message;
use opencl::sources::Sources;
use opencl::{folders, timer};

/// A group of cases of one ladder that share one tuning result, because the same variant and parameters are the fastest for all
/// of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The name of the ladder that the cases belong to; `None` for the box filter, whose entries are older than this field.
    pub ladder: Option<&'static str>,
    /// The fields that identify this group of cases in an entry of the JSON cache file.
    pub fields: Map<String, Value>,
}

impl Class {
    /// Creates the group of cases of the ladder `ladder` that is identified by the name `word`.
    pub fn new(ladder: &'static str, word: &str) -> Self {
        Self { ladder: Some(ladder), fields: Map::from_iter([("class".to_owned(), word.into())]) }
    }
}

/// The best parameters of one variant for a device and a group of cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The device's name.
    device: String,
    /// The device's driver version.
    driver: String,
    /// The ladder's name, as in [`Class::ladder`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ladder: Option<String>,
    /// The variant's id.
    variant: String,
    /// The names and values of the variant's parameters.
    params: Vec<(String, u32)>,
    /// The hashes of the files on which the result depends, which are the kernel source.
    source: String,
    /// The median run time in milliseconds. The runs took turns with those of the other variants' best configurations.
    ms: f64,
    /// True for the entry that the search has chosen for the variant `auto`. Without such an entry, `auto` uses the fastest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// The fields that identify the group of cases, as in [`Class::fields`].
    #[serde(flatten)]
    class: Map<String, Value>,
}

impl Entry {
    /// Creates an entry for a configuration whose median time is `ms` milliseconds.
    ///
    /// # Errors
    /// Returns an error if the kernel source cannot be read.
    pub fn new<C: Tunable>(
        (device, sources): (&DeviceInfo, &Sources),
        class: &Class,
        (variant, config): (&str, &Config<C>),
        ms: f64,
    ) -> Result<Self> {
        let params = config.code().params().iter().map(|p| (p.name.to_owned(), config.get(p.name)));
        Ok(Self {
            device: device.name.clone(),
            driver: device.driver.clone(),
            ladder: class.ladder.map(str::to_owned),
            variant: variant.to_owned(),
            params: params.collect(),
            source: fingerprint(sources, config.code())?,
            ms,
            kept: false,
            class: class.fields.clone(),
        })
    }

    /// Returns the device, driver, ladder and group of cases. The times of two entries that have the same ones are comparable only if they
    /// come from the same search.
    pub fn search(&self) -> (&str, &str, Option<&str>, &Map<String, Value>) {
        (&self.device, &self.driver, self.ladder.as_deref(), &self.class)
    }

    /// Returns the entry's configuration; `None` if the kernel source or the set of parameters has changed since the search,
    /// the stored time is implausible, or the stored values cannot come from a search on this device.
    fn config<C: Tunable>(
        &self,
        device: &DeviceInfo,
        sources: &Sources,
        code: &'static C,
    ) -> Option<Config<C>> {
        let params = code.params();
        if self.params.len() != params.len()
            || !params.iter().all(|param| self.params.iter().any(|(name, _)| name == param.name))
            || !timer::is_possible_ms(self.ms)
            || fingerprint(sources, code).ok()? != self.source
        {
            return None;
        }
        let config = Config::new(code, device.kind);
        // The file is untrusted: only values that a search can have used are accepted.
        let size = ["size", "class"].iter().find_map(|field| self.class.get(*field)?.as_str());
        let initial = Config::for_class(code, device, size.unwrap_or_default());
        let default = config.clone().fit_to_device(device);
        let tried = |name: &str, value: u32| {
            let param = params.iter().find(|p| p.name == name);
            param.is_some_and(|p| p.values.contains(&value))
                || [&default, &initial].iter().any(|config| config.get(name) == value)
        };
        if !self.params.iter().all(|(name, value)| tried(name, *value)) {
            return None;
        }
        let config = self.params.iter().fold(config, |config, (name, value)| config.with(name, *value));
        config.is_allowed(device).then_some(config)
    }
}

/// Returns the hashes of the files on which tuning results of this code depend.
fn fingerprint<C: Tunable>(sources: &Sources, code: &C) -> Result<String> {
    let hashes: Result<Vec<String>> =
        code.tuned_files().into_iter().map(|file| sources.fingerprint(file)).collect();
    Ok(hashes?.join(" "))
}

/// The contents of the cache file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    schema: u32,
    entries: Vec<Entry>,
}

/// The version of the file format.
const SCHEMA: u32 = 1;

/// Returns the path of the cache file; `None` if there is no home folder.
fn path() -> Option<PathBuf> {
    folders::cache_folder().map(|folder| folder.join("tuning.json"))
}

impl Cache {
    /// Reads the user's cache. A missing or unusable file gives an empty cache. The first time that an unusable file is found,
    /// a warning is printed to stderr.
    pub fn load() -> Self {
        let Some(path) = path() else { return Self::default() };
        let read = load::bytes(&path, load::MAX_LIST_BYTES).and_then(|text| Self::parse(&text));
        read.unwrap_or_else(|why| {
            /// Makes sure that the warning is printed once per process.
            static ONCE: Once = Once::new();
            let hint = match why {
                Unread::Missing => return Self::default(),
                Unread::WrongKind(_) => "Remove it, and `clreel tune` can keep what it finds.",
                Unread::Refused(_) | Unread::Damaged(_) => "`clreel tune` writes it anew.",
            };
            let name = base::text::name(&path);
            ONCE.call_once(|| print_message(format_args!("'{name}' is ignored. {why} {hint}")));
            Self::default()
        })
    }

    /// Parses the contents of the cache file.
    ///
    /// # Errors
    /// Returns an error if the contents are damaged or have another format version.
    pub fn parse(text: &[u8]) -> Result<Self, Unread> {
        let cache: Self = load::json(text)?;
        if cache.schema != SCHEMA {
            return Err(Unread::damaged(format!("its schema is {}, not {SCHEMA}", cache.schema)));
        }
        Ok(cache)
    }

    /// Adds the entries of one search to the cache. They replace all older entries for the same device, driver, ladder and
    /// group of cases.
    pub fn put(&mut self, found: Vec<Entry>) {
        self.entries.retain(|old| !found.iter().any(|new| new.search() == old.search()));
        self.entries.extend(found);
    }

    /// Returns the variant, with its parameters, that tuning has chosen for a group of cases on a device, or else the fastest
    /// one. `find` receives a variant id from the cache file and returns the caller's own value for that variant, together with
    /// its kernel code. Returns `None` if the group was not tuned, or the variant's entry is no longer valid.
    pub fn fastest<R, C: Tunable>(
        &self,
        device: &DeviceInfo,
        sources: &Sources,
        class: &Class,
        find: impl FnOnce(&str) -> Option<(R, &'static C)>,
    ) -> Option<(R, Config<C>)> {
        let search = (&*device.name, &*device.driver, class.ladder, &class.fields);
        let found = self.entries.iter().filter(|entry| entry.search() == search);
        // If this entry is outdated, the others may not be the fastest any more, so the cases must be tuned again.
        let best = found.min_by(|a, b| b.kept.cmp(&a.kept).then(f64::total_cmp(&a.ms, &b.ms)))?;
        let (variant, code) = find(&best.variant)?;
        Some((variant, best.config(device, sources, code)?))
    }

    /// Returns the parameters that tuning has found for one variant, given by its id and kernel code, in a group of cases on a
    /// device. Returns `None` if the variant was not tuned for the group, or its entry is no longer valid.
    pub fn config_of<C: Tunable>(
        &self,
        device: &DeviceInfo,
        sources: &Sources,
        class: &Class,
        (variant, code): (&str, &'static C),
    ) -> Option<Config<C>> {
        let search = (&*device.name, &*device.driver, class.ladder, &class.fields);
        let mut own = self.entries.iter().filter(|entry| entry.variant == variant);
        own.find(|entry| entry.search() == search)?.config(device, sources, code)
    }

    /// Writes the cache to the user's cache file, through a temporary file; does nothing if the cache is empty.
    ///
    /// # Errors
    /// Returns an error if there is no folder for the file, or it cannot be written.
    pub fn store(&mut self) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let path = writable_path()?;
        self.schema = SCHEMA;
        let text = serde_json::to_vec_pretty(self).map_err(|e| not_kept(format!("{e}.")))?;
        save::atomically(&path, |file| file.write_all(&text))
    }
}

/// Returns an error if tuning results cannot be stored. Call it before a search, so that the search is not in vain.
///
/// # Errors
/// Returns the error that [`Cache::store`] would return.
pub fn require_writable() -> Result<()> {
    save::can_write(&writable_path()?)
}

/// Returns the path of the cache file for writing, after creating its folder and checking that nothing but a regular file has
/// that name.
fn writable_path() -> Result<PathBuf> {
    let path = path().ok_or_else(|| Error {
        hint: "Set one of them.".to_owned(),
        ..not_kept("Neither XDG_CACHE_HOME nor HOME names a folder.")
    })?;
    if let Some(folder) = path.parent() {
        let failed = |e| not_kept(format!("The folder '{}' cannot be made: {e}.", base::text::name(folder)));
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    if let Err(Unread::WrongKind(why)) = load::bytes(&path, load::MAX_LIST_BYTES) {
        return Err(not_kept(format!("'{}' is in its place. {why}", base::text::name(path))));
    }
    Ok(path)
}

/// Returns the error for tuning results that cannot be stored because of `why`.
fn not_kept(why: impl Into<String>) -> Error {
    let hint = "Remove what is in the way, or choose another XDG_CACHE_HOME.";
    Error::new("What tuning finds cannot be kept.", why, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Param;
    use crate::plan::{Code, Pass};
    use base::device::DeviceKind;

    /// The code of the variants `one` and `two`. The paths are those of existing kernel files, because the cache stores a hash
    /// of the text.
    static CODES: [Code<()>; 2] = [made_up("convert/01_planes.cl"), made_up("convert/02_correct.cl")];

    /// Returns invented code for tests, whose parameter A must not be 4 on any device.
    const fn made_up(file: &'static str) -> Code<()> {
        const PASS: Pass<()> = Pass {
            kernel: "",
            args: &[],
            local: |config| [config.get("B") as usize, 1],
            groups: |_, ()| [1, 1],
            work: None,
        };
        const PARAMS: &[Param] = &[
            Param::new("A", 1, 1, &[1, 2, 4]),
            Param::new("B", 8, 8, &[8, 16, 32, 64]),
            Param::new("C", 1, 1, &[1, 2]),
        ];
        Code { allows: |config, _| config.get("A") != 4, ..Code::new(file, &[PASS], PARAMS) }
    }

    const NONE: Option<&str> = None;

    fn class(ladder: Option<&'static str>, word: &str) -> Class {
        Class { ladder, ..Class::new("", word) }
    }

    fn entry(variant: &str, word: &str, ms: f64) -> Entry {
        let config = Config::new(&CODES[usize::from(variant != "one")], DeviceKind::Cpu);
        let class = class(Some("made"), word);
        let on = (&DeviceInfo::made_up(), &Sources::default());
        Entry::new(on, &class, (variant, &config.with("A", 2).with("B", 16)), ms).unwrap()
    }

    fn variant(name: &str) -> Option<(String, &'static Code<()>)> {
        let at = ["one", "two"].iter().position(|id| *id == name)?;
        Some((name.to_owned(), &CODES[at]))
    }

    /// Returns the fastest variant with its parameters, as in `one A=2 B=16 C=1`.
    fn fastest(cache: &Cache, ladder: Option<&'static str>, word: &str) -> Option<String> {
        let found = cache.fastest(&DeviceInfo::made_up(), &Sources::default(), &class(ladder, word), variant);
        found.map(|(variant, config)| format!("{variant} {config}"))
    }

    #[test]
    fn the_fastest_is_chosen_for_its_own_cases_only() {
        let mut cache = Cache::default();
        cache.put(vec![entry("one", "small", 2.0), entry("two", "small", 1.0)]);
        cache.put(vec![entry("one", "large", 5.0)]);
        let found = |cache: &Cache| ["small", "large", "huge"].map(|word| fastest(cache, Some("made"), word));
        let (one, two) = (Some("one A=2 B=16 C=1".to_owned()), Some("two A=2 B=16 C=1".to_owned()));
        assert_eq!(found(&cache), [two.clone(), one.clone(), None]);
        assert_eq!(fastest(&cache, Some("other"), "small"), None, "of another ladder");
        assert_eq!(fastest(&cache, NONE, "small"), None, "of a ladder without a name there");
        cache.put(vec![entry("one", "small", 3.0), entry("two", "small", 4.0)]);
        assert_eq!(found(&cache), [one.clone(), one.clone(), None], "a new search replaces the old one");
        assert_eq!(cache.entries.len(), 3);
        // The fastest entry is outdated, so it is not known which variant is the fastest now.
        let outdated = cache.entries.iter_mut().find(|e| e.variant == "one" && e.ms == 3.0).unwrap();
        outdated.source.push('x');
        assert_eq!(found(&cache), [None, one, None]);
        // A search leaves the entries of other ladders alone.
        let mut cache = Cache::default();
        cache.put(vec![entry("one", "small", 1.0)]);
        for ladder in [None, Some("other")] {
            cache.put(vec![Entry { ladder: ladder.map(str::to_owned), ..entry("two", "small", 0.5) }]);
        }
        assert_eq!(cache.entries.len(), 3);
        assert_eq!(fastest(&cache, Some("made"), "small").as_deref(), Some("one A=2 B=16 C=1"));
        assert_eq!(fastest(&cache, NONE, "small").as_deref(), Some("two A=2 B=16 C=1"));
    }

    #[test]
    fn outdated_entries_are_ignored_and_damaged_files_rejected() {
        let changes: [fn(&mut Entry); 14] = [
            |e| e.params[0].1 = 0,
            // A value that the device does not allow, one that a search does not use, and one beyond all bounds.
            |e| e.params[0].1 = 4,
            |e| e.params[1].1 = 24,
            |e| e.params[1].1 = 1 << 30,
            |e| e.device.push('x'),
            |e| e.driver.push('x'),
            |e| e.source.push('x'),
            |e| e.params.truncate(2),
            |e| e.params[0] = e.params[1].clone(),
            |e| e.variant = "no".into(),
            |e| e.ms = f64::NAN,
            // Implausible times: a nanosecond, and no time at all.
            |e| e.ms = 1e-6,
            |e| e.ms = 0.0,
            |e| e.ladder = None,
        ];
        let used = |entry: Entry| {
            let cache = Cache { schema: SCHEMA, entries: vec![entry] };
            fastest(&cache, Some("made"), "small")
        };
        assert!(used(entry("one", "small", 1.0)).is_some());
        for (n, change) in changes.into_iter().enumerate() {
            let mut bad = entry("one", "small", 1.0);
            change(&mut bad);
            assert_eq!(used(bad), None, "change {n}");
        }
        let cache = Cache { schema: SCHEMA, entries: vec![entry("one", "small", 2.0)] };
        let text = serde_json::to_vec(&cache).unwrap();
        assert_eq!(Cache::parse(&text).unwrap(), cache);
        assert!(Cache::parse(&text[..text.len() / 2]).is_err());
        assert!(Cache::parse(b"").is_err());
        assert!(Cache::parse(br#"{"schema":9,"entries":[]}"#).unwrap_err().to_string().contains('9'));
    }
}
