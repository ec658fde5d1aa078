//! What tuning found, from one start to the next. In: the cache file. Out: the rung and parameters that were the fastest
//! for a case on a device.
//!
//! The file is `$XDG_CACHE_HOME/clreel/tuning.json`, or `~/.cache/clreel/tuning.json`. An entry holds for one device,
//! driver version, ladder, class of cases, rung, and text of the kernel: when one of them changes, it is not used any more.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{Config, Tunable};
use base::error::{Error, Result};
use base::load::{self, Unread};
use base::save;
use opencl::cl::DeviceInfo;
use opencl::{folders, program, timer};

/// Cases of a ladder that behave alike: what is found for one of them holds for all.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The ladder's name; `None` is the one that had entries before others did.
    pub ladder: Option<&'static str>,
    /// What says in an entry which of the ladder's cases are meant.
    pub fields: Map<String, Value>,
}

impl Class {
    /// Cases of a ladder, by the word that it has for them.
    pub fn of(ladder: &'static str, word: &str) -> Self {
        Self { ladder: Some(ladder), fields: Map::from_iter([("class".to_owned(), word.into())]) }
    }
}

/// The best parameters of a rung.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The device's name.
    device: String,
    /// Its driver's version.
    driver: String,
    /// As in [`Class`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ladder: Option<String>,
    /// The rung's name.
    variant: String,
    /// Names and values of its parameters.
    params: Vec<(String, u32)>,
    /// Hash of the kernel's text.
    source: String,
    /// The median of its runs beside the best of the other rungs, in milliseconds.
    ms: f64,
    /// Which cases it holds for: as in [`Class`].
    #[serde(flatten)]
    class: Map<String, Value>,
}

impl Entry {
    /// An entry for a configuration that took `ms`.
    ///
    /// # Errors
    /// When the kernel's text cannot be read.
    pub fn new<C: Tunable>(
        device: &DeviceInfo,
        class: &Class,
        rung: &str,
        config: &Config<C>,
        ms: f64,
    ) -> Result<Self> {
        let params = config.code().params().iter().map(|p| (p.name.to_owned(), config.get(p.name)));
        Ok(Self {
            device: device.name.clone(),
            driver: device.driver.clone(),
            ladder: class.ladder.map(str::to_owned),
            variant: rung.to_owned(),
            params: params.collect(),
            source: program::fingerprint(config.code().file())?,
            ms,
            class: class.fields.clone(),
        })
    }

    /// Whether both come from searches for the same: their times are comparable then, if they are of one search.
    pub fn same_search(&self, other: &Self) -> bool {
        self.device == other.device
            && self.driver == other.driver
            && self.ladder == other.ladder
            && self.class == other.class
    }

    /// Whether it was found for such cases on this device.
    fn is_for(&self, device: &DeviceInfo, class: &Class) -> bool {
        self.device == device.name
            && self.driver == device.driver
            && self.ladder.as_deref() == class.ladder
            && self.class == class.fields
    }

    /// The configuration, if it is still what was tuned.
    fn config<C: Tunable>(&self, device: &DeviceInfo, code: &'static C) -> Option<Config<C>> {
        let params = code.params();
        let names = |name: &&'static str| self.params.iter().any(|(n, _)| n == name);
        let known = params.iter().map(|p| p.name).filter(|n| names(n)).count();
        if known != params.len()
            || known != self.params.len()
            || !timer::is_possible_ms(self.ms)
            || program::fingerprint(code.file()).ok()? != self.source
        {
            return None;
        }
        let config = Config::of(code, device.kind);
        // Anyone can write into the file: only what a search can have tried is let through.
        let default = config.clone().fitted(device);
        let tried = |name: &str, value: u32| {
            let param = params.iter().find(|p| p.name == name);
            param.is_some_and(|p| p.values.contains(&value)) || default.get(name) == value
        };
        if !self.params.iter().all(|(name, value)| tried(name, *value)) {
            return None;
        }
        let config = self.params.iter().fold(config, |config, (name, value)| config.with(name, *value));
        config.is_allowed(device).then_some(config)
    }
}

/// The cache file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    schema: u32,
    entries: Vec<Entry>,
}

const SCHEMA: u32 = 1;

/// The path of the file; none where there is no home.
fn path() -> Option<PathBuf> {
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
        ONCE.call_once(|| eprintln!("clreel: '{}' is ignored. {why} {hint}", base::text::name(path)));
        Self::default()
    }

    /// Adds what one search has found, in place of what an older one for the same device and cases had found.
    pub fn put(&mut self, found: Vec<Entry>) {
        self.entries.retain(|old| !found.iter().any(|new| new.same_search(old)));
        self.entries.extend(found);
    }

    /// The fastest rung for these cases and its parameters, if they were tuned on this device; `rung` has the name and
    /// the code of those that can be meant by what stands in the file.
    pub fn fastest<R, C: Tunable>(
        &self,
        device: &DeviceInfo,
        class: &Class,
        rung: impl FnOnce(&str) -> Option<(R, &'static C)>,
    ) -> Option<(R, Config<C>)> {
        let found = self.entries.iter().filter(|e| e.is_for(device, class));
        // Where the fastest is not what it was, nobody knows which one is: it is to be searched anew.
        let best = found.min_by(|a, b| f64::total_cmp(&a.ms, &b.ms))?;
        let (rung, code) = rung(&best.variant)?;
        Some((rung, best.config(device, code)?))
    }

    /// Writes the user's cache, by way of a temporary file; nothing where nothing was found.
    ///
    /// # Errors
    /// When there is no folder for it, or it cannot be written.
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
        let failed = |e| not_kept(format!("The folder '{}' cannot be made: {e}.", base::text::name(folder)));
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    if let Err(Unread::Odd(why)) = load::bytes(&path, load::LIST) {
        return Err(not_kept(format!("'{}' is in its place. {why}", base::text::name(path))));
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
    use crate::made::{MADE, Made, OTHER, config};

    const NONE: Option<&str> = None;

    fn class(ladder: Option<&'static str>, word: &str) -> Class {
        Class { ladder, ..Class::of("", word) }
    }

    fn entry(rung: &str, word: &str, ms: f64) -> Entry {
        let code = if rung == "one" { &MADE } else { &OTHER };
        let class = class(Some("made"), word);
        Entry::new(&DeviceInfo::made_up(), &class, rung, &config(code, 2, 16), ms).unwrap()
    }

    fn rung(name: &str) -> Option<(String, &'static Made)> {
        match name {
            "one" => Some((name.to_owned(), &MADE)),
            "two" => Some((name.to_owned(), &OTHER)),
            _ => None,
        }
    }

    /// The fastest, as in `one A=2 B=16 C=1`.
    fn fastest(cache: &Cache, ladder: Option<&'static str>, word: &str) -> Option<String> {
        let found = cache.fastest(&DeviceInfo::made_up(), &class(ladder, word), rung);
        found.map(|(rung, config)| format!("{rung} {config}"))
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
        // The fastest has changed since: which one is the fastest now is not known.
        let fastest = cache.entries.iter_mut().find(|e| e.variant == "one" && e.ms == 3.0).unwrap();
        fastest.source.push('x');
        assert_eq!(found(&cache), [None, one, None]);
    }

    #[test]
    fn a_search_leaves_the_entries_of_other_ladders_alone() {
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
    fn what_has_changed_since_is_not_used() {
        let changes: [fn(&mut Entry); 14] = [
            |e| e.params[0].1 = 0,
            // A value that the device does not allow, one that is not to be tried, and one beyond all bounds.
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
            // A nanosecond, and no time at all.
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
    }

    #[test]
    fn damaged_files_are_refused_and_whole_ones_read() {
        let cache = Cache { schema: SCHEMA, entries: vec![entry("one", "small", 2.0)] };
        let text = serde_json::to_vec(&cache).unwrap();
        assert_eq!(Cache::parse(&text).unwrap(), cache);
        assert!(Cache::parse(&text[..text.len() / 2]).is_err());
        assert!(Cache::parse(b"").is_err());
        assert!(Cache::parse(br#"{"schema":9,"entries":[]}"#).unwrap_err().to_string().contains('9'));
    }
}
