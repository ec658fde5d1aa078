//! Versions on the disk: exact versions are stored there, earlier ones are listed, and the texts of any version are compared
//! with the files, written to them, or saved as the user's own kernel. Jobs do the work, since a disk may not respond.

use std::time::{Instant, SystemTime};

use super::*;
use crate::app::kernels::history::{History, texts_to_restore, write_texts};
use base::date;
use overlay::VersionDiff;

/// How long the end of the window waits until versions are stored.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// A first text of the user's own kernel, with its contract at the beginning.
const OWN_TEMPLATE: &str = include_str!("../../kernels/own.cl");

/// The history of the watched folder, and the jobs that read and write it.
#[derive(Default)]
pub(super) struct Storage {
    /// The folder of kernels.
    folder: PathBuf,
    /// The history of the folder; `None` if the user wants nothing saved.
    history: Option<History>,
    loading: Option<Job<(Vec<StoredVersion>, Option<Error>)>>,
    /// The error about files of the history that are ignored.
    ignored: Option<Error>,
    /// The job that stores the version with this number.
    storing: Option<(Job<()>, u64)>,
    /// The number of the newest version when a version could not be stored: the next try is with the next version.
    failed_at: Option<u64>,
    writing: Option<Job<Written>>,
}

/// The result of writing texts of a version to the files.
struct Written {
    /// The texts that were in the folder before, if the files replaced some of them.
    before: Option<Sources>,
    files: Vec<String>,
}

/// Returns a local time such as "2026-11-27 14:03".
pub(super) fn local_time(time: SystemTime) -> String {
    match date::local(time) {
        Ok([year, month, day, hour, minute, _]) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
        }
        Err(seconds) => format!("{seconds} s"),
    }
}

impl Storage {
    /// Starts to read the history of a folder of kernels.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn open(folder: &Path, history: Option<History>, waker: &Waker) -> Result<Self> {
        let load = |history: History| {
            let read = move |_: &_| Ok(history.load());
            Job::spawn("history", "Earlier versions of the kernels could not be read.", waker, read)
        };
        let loading = history.clone().map(load).transpose()?;
        Ok(Self { folder: folder.to_owned(), history, loading, ..Self::default() })
    }
}

impl Versions {
    /// Returns the texts of a version.
    fn sources_of(&self, id: VersionId) -> Option<&Sources> {
        match id {
            VersionId::Session(number) => self.version(number).map(|kept| &kept.sources),
            VersionId::Earlier(hash) => {
                self.earlier.iter().find(|(known, _)| *known == hash).map(|(_, version)| &version.sources)
            }
        }
    }

    /// Returns the name of a version in a sentence.
    fn name_of(&self, id: VersionId) -> String {
        match id {
            VersionId::Session(number) => format!("version {number}"),
            VersionId::Earlier(hash) => {
                let found = self.earlier.iter().find(|(known, _)| *known == hash);
                let time = found.map_or_else(String::new, |(_, version)| local_time(version.saved));
                format!("the version of {time}")
            }
        }
    }

    /// Updates the comparison of a version with the files, if one is shown.
    pub(super) fn update_diff(&mut self) {
        self.shown.diff = self.compared.and_then(|id| {
            let (then, now) = (self.sources_of(id)?, self.in_folder.as_ref()?);
            let changed = texts_to_restore(then, now).into_iter();
            let files: Vec<_> = changed
                .map(|(name, then)| {
                    let now = now.text(&name).unwrap_or_default();
                    (name, now, then)
                })
                .collect();
            Some(VersionDiff::new(id, self.name_of(id), &files))
        });
    }

    /// Returns the next version to store: an exact one that is not on the disk, or one whose texts only it has.
    fn to_store(&self) -> Option<(u64, StoredVersion)> {
        let kept = self.kept.iter().find(|kept| {
            (kept.is_exact() || kept.is_replaced) && !kept.is_stored && !kept.sources.is_built_in()
        })?;
        let version = StoredVersion {
            saved: SystemTime::now(),
            is_exact: kept.is_exact(),
            files: kept.files.clone(),
            sources: kept.sources.clone(),
        };
        Some((kept.number, version))
    }

    /// Keeps the texts that were in the folder before others were written there.
    pub(super) fn keep_replaced(&mut self, before: Sources) {
        if !self.kept.iter().any(|kept| kept.sources == before) {
            // They were saved and replaced at once.
            self.keep(before.clone(), false);
        }
        if let Some(kept) = self.kept.iter_mut().rev().find(|kept| kept.sources == before) {
            kept.is_replaced = true;
        }
    }
}

impl LiveKernels {
    /// Processes the results of the jobs, and stores the next version. Returns true if anything has changed that the panel
    /// shows.
    pub(super) fn update_storage(&mut self, cx: &mut PlayerContext) -> bool {
        let mut is_new = self.take_earlier(Duration::ZERO);
        let (versions, storage) = (&mut self.versions, &mut self.storage);
        if let Some(written) = Job::take_result(&mut storage.writing, Duration::ZERO) {
            is_new = true;
            if let Some(Written { before, files }) = cx.or_notify(written) {
                if let Some(before) = before {
                    versions.keep_replaced(before);
                }
                versions.compared = None;
                cx.overlay.show_message(match files.as_slice() {
                    [] => "The files have these texts already".to_owned(),
                    files => format!("Written: {}", files.join(", ")),
                });
            }
        }
        is_new | self.store_next(&cx.waker)
    }

    /// Waits for at most `time` for the versions that are on the disk. Returns true if they have been read.
    pub(super) fn take_earlier(&mut self, time: Duration) -> bool {
        let (versions, storage) = (&mut self.versions, &mut self.storage);
        let Some(loaded) = Job::take_result(&mut storage.loading, time) else { return false };
        let (earlier, error) = loaded.unwrap_or_else(|error| (Vec::new(), Some(error)));
        versions.earlier =
            earlier.into_iter().map(|version| (fingerprint(&version.sources), version)).collect();
        versions.shown.history_error = error.clone();
        storage.ignored = error;
        true
    }

    /// Takes the result of the job that stores a version, and starts to store the next one. Returns true if the panel shows a
    /// new error, or one less.
    fn store_next(&mut self, waker: &Waker) -> bool {
        let (versions, storage) = (&mut self.versions, &mut self.storage);
        let mut is_new = false;
        if let Some((done, number)) =
            storage.storing.as_ref().and_then(|(job, number)| Some((job.wait(Duration::ZERO)?, *number)))
        {
            storage.storing = None;
            storage.failed_at = done.is_err().then_some(versions.number);
            if let (Ok(()), Some(kept)) = (&done, versions.version_mut(number)) {
                kept.is_stored = true;
            }
            let error = done.err().or_else(|| storage.ignored.clone());
            is_new = versions.shown.history_error != error;
            versions.shown.history_error = error;
        }
        let may_store = storage.storing.is_none() && storage.failed_at != Some(versions.number);
        if let (true, Some(history)) = (may_store, &storage.history)
            && let Some((number, version)) = versions.to_store()
        {
            let history = history.clone();
            let store = move |_: &_| history.store(&version);
            let job = Job::spawn("history", "A version of the kernels could not be kept.", waker, store);
            match job {
                Ok(job) => storage.storing = Some((job, number)),
                Err(error) => {
                    storage.failed_at = Some(versions.number);
                    versions.shown.history_error = Some(error);
                }
            }
        }
        is_new
    }

    /// Waits until all versions are stored, for a limited time.
    pub(in crate::app::player) fn finish_storing(&mut self, waker: &Waker) {
        let end = Instant::now() + STORE_TIMEOUT;
        loop {
            self.store_next(waker);
            if self.storage.storing.is_none() || Instant::now() >= end {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // A restored file is written as a whole or not at all.
        if let Some(writing) = &self.storage.writing {
            let _ = writing.wait(end.saturating_duration_since(Instant::now()));
        }
    }

    /// Shows the lines in which a version differs from the files; `None` shows the source again.
    pub(in crate::app::player) fn show_diff(&mut self, id: Option<VersionId>, cx: &mut PlayerContext) {
        self.versions.compared = id;
        self.versions.update_diff();
        cx.repaints.redraw_soon();
    }

    /// Starts to write the texts of a version to the files in the folder.
    pub(in crate::app::player) fn restore(&mut self, id: VersionId, cx: &mut PlayerContext) {
        let Some(wanted) = self.versions.sources_of(id).cloned() else { return };
        self.write_files(cx, move |before| texts_to_restore(&wanted, before));
    }

    /// Starts to write the selected variant's file in a version as the user's own kernel.
    pub(in crate::app::player) fn save_as_own(
        &mut self,
        id: VersionId,
        devices: &Devices,
        cx: &mut PlayerContext,
    ) {
        let kind = devices.running.info().map_or(DeviceKind::Cpu, |info| info.kind);
        let chosen = cx.frames.choice.filter().0;
        let file = chosen.files(kind).and_then(<[_]>::first).copied();
        let text = self.versions.sources_of(id).zip(file).and_then(|(sources, file)| sources.text(file).ok());
        match text {
            Some(text) => self.write_files(cx, move |_| vec![(OWN_FILE.to_owned(), own_text(&text))]),
            None => cx.overlay.show_message(format!("'{chosen}' has no kernel file in that version.")),
        }
    }

    /// Starts to write the user's own kernel from a template, unless there is one.
    pub(in crate::app::player) fn make_own(&mut self, cx: &mut PlayerContext) {
        let texts = |before: &Sources| match before.has(OWN_FILE) {
            true => Vec::new(),
            false => vec![(OWN_FILE.to_owned(), OWN_TEMPLATE.to_owned())],
        };
        self.write_files(cx, texts);
    }

    /// Starts to write files in the watched folder. `texts` receives the texts in the folder, and returns the texts to write.
    /// Edits that these replace are stored first.
    fn write_files(
        &mut self,
        cx: &mut PlayerContext,
        texts: impl FnOnce(&Sources) -> Vec<(String, String)> + Send + 'static,
    ) {
        if self.storage.writing.is_some() {
            return;
        }
        let (folder, history) = (self.storage.folder.clone(), self.storage.history.clone());
        let exact = self.versions.kept.iter().filter(|kept| kept.is_exact()).map(|kept| kept.hash);
        let exact: BTreeSet<u64> = exact.collect();
        let work = move |_: &_| {
            let before = Sources::read(&folder)?;
            let texts = texts(&before);
            let replaced: Vec<&str> =
                texts.iter().map(|(name, _)| name.as_str()).filter(|name| before.has(name)).collect();
            for name in &replaced {
                // A text that cannot be read cannot be kept.
                before.text(name)?;
            }
            let is_replaced = !replaced.is_empty();
            if let Some(history) = history.filter(|_| is_replaced) {
                let version = StoredVersion {
                    saved: SystemTime::now(),
                    is_exact: exact.contains(&fingerprint(&before)),
                    files: before.changed_since(&Sources::default()),
                    sources: before.clone(),
                };
                history.store(&version).map_err(|error| {
                    let what = "Nothing was written, since the present texts could not be kept.";
                    Error::new(what, error.why, "Save the files elsewhere, then copy the lines by hand.")
                })?;
            }
            write_texts(&folder, &texts)?;
            let files = texts.into_iter().map(|(name, _)| name).collect();
            Ok(Written { before: is_replaced.then_some(before), files })
        };
        let job = Job::spawn("restore", "The files could not be written.", &cx.waker, work);
        self.storage.writing = cx.or_notify(job);
    }
}

/// Returns the text of another kernel file as that of the user's own kernel: if it has one kernel, that is renamed, and a text
/// that is of another kernel gets the contract as a comment.
pub(super) fn own_text(text: &str) -> String {
    let contract = OWN_TEMPLATE.split_once("\n\n").map_or("", |(head, _)| head);
    let names: Vec<&str> = kernel_names(text).collect();
    match names.as_slice() {
        names if names.contains(&"own") => text.to_owned(),
        [name] => {
            // A comment or another function before the kernel may have its name.
            let (before, kernel) = text.split_at(text.find("__kernel").unwrap_or_default());
            format!("{contract}\n\n{before}{}", kernel.replacen(&format!("{name}("), "own(", 1))
        }
        _ => format!("{contract}\n\n{text}"),
    }
}

/// Returns the names of the kernels in a text.
fn kernel_names(text: &str) -> impl Iterator<Item = &str> {
    text.split("__kernel").skip(1).filter_map(|rest| {
        let (before, _) = rest.split_once("void").and_then(|(_, rest)| rest.split_once('('))?;
        Some(before.trim())
    })
}
