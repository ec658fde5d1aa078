//! Parsers of the program's own files, for the targets in `fuzz/`.

use std::path::Path;

use crate::app::kernels::history::History;
use crate::app::settings;
use crate::probe::known;

/// Parses a settings file; returns the settings as JSON, `None` if the contents are invalid.
pub fn settings(contents: &[u8]) -> Option<String> {
    settings::parse(contents).ok().and_then(|settings| serde_json::to_string(&settings).ok())
}

/// Parses a cache of sharing tests; returns the entries as JSON.
pub fn sharing_cache(contents: &[u8]) -> Option<String> {
    serde_json::to_string(&known::parse(contents)).ok()
}

/// Parses a stored version of the folder of kernels `/kernels`; returns the names of its changed files, `None` if the contents are
/// invalid.
pub fn kernel_version(contents: &[u8]) -> Option<Vec<String>> {
    let version = History::at(Path::new("/versions"), Path::new("/kernels")).parse(contents).ok()?;
    Some(version.sources.changed_texts().map(|(name, _)| name.to_owned()).collect())
}
