//! Parsers of the files that clreel itself writes, for the fuzz targets in `fuzz/`.

use std::path::Path;

use crate::app::kernels::history::History;
use crate::app::settings;
use crate::probe::known;

/// Parses a settings file; returns the settings as JSON, or `None` if the contents are invalid.
pub fn settings(contents: &[u8]) -> Option<String> {
    settings::parse(contents).ok().and_then(|settings| serde_json::to_string(&settings).ok())
}

/// Parses the cache file with results of tests of texture sharing; returns the entries as JSON.
pub fn sharing_cache(contents: &[u8]) -> Option<String> {
    serde_json::to_string(&known::parse(contents)).ok()
}

/// Parses the file of a saved version of the edited kernels in the folder `/kernels`; returns the names of the changed kernel
/// files, or `None` if the contents are invalid.
pub fn kernel_version(contents: &[u8]) -> Option<Vec<String>> {
    let version = History::at(Path::new("/versions"), Path::new("/kernels")).parse(contents).ok()?;
    Some(version.sources.changed_texts().map(|(name, _)| name.to_owned()).collect())
}
