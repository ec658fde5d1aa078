//! Versions on the disk: exact versions are stored, versions of earlier starts are listed, and the texts of any version are
//! compared with the files, written to them, or saved as the user's own kernel. Jobs access the disk, since a disk may not
//! respond.

use std::time::{Instant, SystemTime};

use super::*;
use crate::app::kernels::history::{History, texts_to_restore, write_texts};
use base::date;
use overlay::VersionDiff;

/// The maximum time for which closing the window is delayed until the versions are stored.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// The template for the user's own kernel. Its first lines describe the arguments and the expected output.
const OWN_TEMPLATE: &str = include_str!("../../kernels/own.cl");

/// The stored versions of the watched folder, and the jobs that read and write them.
#[derive(Default)]
pub(super) struct Storage {
    /// The watched folder of kernels.
    folder: PathBuf,
    /// The stored versions of the folder; `None` if the user wants nothing saved.
    history: Option<History>,
    loading: Option<Job<(Vec<StoredVersion>, Option<Error>)>>,
    /// The error about ignored files of the history; `None` if none is ignored.
    ignored: Option<Error>,
    /// The job that stores a version on the disk, and the number of that version.
    storing: Option<(Job<()>, u64)>,
    /// The number of the newest version at the time when storing failed. Storing is retried once there is a newer version.
    failed_at: Option<u64>,
    /// The job that writes the texts of a version to the files in the folder. Its result: the texts that were in the folder
    /// before (`None` if no existing file was replaced), and the names of the files.
    writing: Option<Job<(Option<Sources>, Vec<String>)>>,
    /// The words before the names of the written files in the message, such as "Restored version 2".
    written: String,
}

/// Formats a time as local time, such as "2026-11-27 14:03".
pub(super) fn local_time(time: SystemTime) -> String {
    match date::local(time) {
        Ok([year, month, day, hour, minute, _]) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
        }
        Err(seconds) => format!("{seconds} s"),
    }
}

impl Storage {
    /// Starts to read the stored versions of a folder of kernels. If `history` is `None`, nothing is read or stored.
    pub(super) fn open(folder: &Path, history: Option<History>, waker: &Waker) -> Self {
        let load = |history: History| {
            let read = move |_: &_| Ok(history.load());
            Job::spawn("history", "Earlier versions of the kernels could not be read.", waker, read)
        };
        let loading = history.clone().map(load);
        Self { folder: folder.to_owned(), history, loading, ..Self::default() }
    }

    /// Processes the results of the jobs, and stores the next version. Returns true if the contents of the kernels panel have
    /// changed.
    pub(super) fn update(&mut self, versions: &mut Versions, cx: &mut PlayerContext) -> bool {
        let mut is_new = self.take_earlier(versions, Duration::ZERO);
        if let Some(written) = Job::take_result(&mut self.writing, Duration::ZERO) {
            is_new = true;
            if let Some((before, files)) = cx.or_tell(written) {
                if let Some(before) = before {
                    versions.keep_replaced(before);
                }
                versions.shown.diff = None;
                cx.overlay.show_message(match files.as_slice() {
                    [] => "The files have these texts already".to_owned(),
                    files => format!("{}: {} written to the folder", self.written, files.join(", ")),
                });
            }
        }
        is_new | self.store_next(versions, Duration::ZERO, &cx.waker)
    }

    /// Waits for at most `time` until the stored versions were read, and adds them to `versions`. Returns true if this call has
    /// added them.
    pub(super) fn take_earlier(&mut self, versions: &mut Versions, time: Duration) -> bool {
        let Some(loaded) = Job::take_result(&mut self.loading, time) else { return false };
        let (earlier, error) = loaded.unwrap_or_else(|error| (Vec::new(), Some(error)));
        (versions.earlier, versions.shown.history_error) = (earlier, error.clone());
        self.ignored = error;
        true
    }

    /// Waits for at most `time` for the job that stores a version, and starts to store the next version. Returns true if the
    /// error that the panel shows has changed.
    fn store_next(&mut self, versions: &mut Versions, time: Duration, waker: &Waker) -> bool {
        let before = versions.shown.history_error.clone();
        let done = self.storing.as_ref().and_then(|(job, number)| Some((job.wait(time)?, *number)));
        if let Some((done, number)) = done {
            self.storing = None;
            self.failed_at = done.is_err().then_some(versions.newest());
            if let (Ok(()), Some(kept)) = (&done, versions.version_mut(number)) {
                kept.is_stored = true;
            }
            versions.shown.history_error = done.err().or_else(|| self.ignored.clone());
        }
        if self.storing.is_none()
            && self.failed_at != Some(versions.newest())
            && let Some(history) = self.history.clone()
            // Exact versions, and versions that alone have their texts, are stored if they are not on the disk yet.
            && let Some(kept) = versions.kept.iter().find(|kept| {
                (kept.is_exact() || kept.is_replaced) && !kept.is_stored && !kept.sources.is_built_in()
            })
        {
            let (number, files) = (kept.row.number, kept.row.files.clone());
            let version = StoredVersion::new(kept.sources.clone(), files, kept.is_exact());
            let store = move |_: &_| history.store(&version);
            let job = Job::spawn("history", "A version of the kernels could not be kept.", waker, store);
            self.storing = Some((job, number));
        }
        versions.shown.history_error != before
    }

    /// Starts to write files in the watched folder. `texts` receives the current sources in the folder, and returns the names
    /// and texts of the files to write. If that replaces existing files, their texts are stored first. `written` are the words
    /// before the names of the files in the message.
    fn write(
        &mut self,
        versions: &Versions,
        cx: &PlayerContext,
        written: String,
        texts: impl FnOnce(&Sources) -> Vec<(String, String)> + Send + 'static,
    ) {
        if self.writing.is_some() {
            return;
        }
        self.written = written;
        let (folder, history) = (self.folder.clone(), self.history.clone());
        let exact = versions.kept.iter().filter(|kept| kept.is_exact()).map(|kept| kept.hash);
        let exact: BTreeSet<u64> = exact.collect();
        let work = move |_: &_| {
            let before = Sources::read(&folder)?;
            let texts = texts(&before);
            let mut is_replaced = false;
            for (name, _) in texts.iter().filter(|(name, _)| before.has(name)) {
                // A text that cannot be read cannot be stored.
                before.text(name)?;
                is_replaced = true;
            }
            if let Some(history) = history.filter(|_| is_replaced) {
                let files = before.changed_since(&Sources::default());
                let mut version = StoredVersion::new(before.clone(), files, false);
                version.is_exact = exact.contains(&version.hash);
                history.store(&version).map_err(|error| {
                    let what = "Nothing was written, since the present texts could not be kept.";
                    Error::new(what, error.why, "Save the files elsewhere, then copy the lines by hand.")
                })?;
            }
            write_texts(&folder, &texts)?;
            let files = texts.into_iter().map(|(name, _)| name).collect();
            Ok((is_replaced.then_some(before), files))
        };
        self.writing = Some(Job::spawn("restore", "The files could not be written.", &cx.waker, work));
    }
}

impl Versions {
    /// Returns the sources of a version, and the words that name the version in a sentence; `None` if it is not known.
    fn find(&self, id: VersionId) -> Option<(&Sources, String)> {
        match id {
            VersionId::Session(number) => {
                self.version(number).map(|kept| (&kept.sources, format!("version {number}")))
            }
            VersionId::Earlier(hash) => {
                let version = self.earlier.iter().find(|version| version.hash == hash)?;
                Some((&version.sources, format!("the version of {}", local_time(version.saved))))
            }
        }
    }

    /// Shows the differences between a version and the files in the folder in place of the source text; `None` shows the source
    /// text again.
    pub(super) fn compare_with_files(&mut self, id: Option<VersionId>) {
        let diff = |id| {
            let ((then, name), now) = (self.find(id)?, self.in_folder.as_ref()?);
            let file = |(file, then): (String, String)| {
                let now = now.text(&file).unwrap_or_default();
                (file, now, then)
            };
            let files: Vec<_> = texts_to_restore(then, now).into_iter().map(file).collect();
            Some(VersionDiff::new(id, name, &files))
        };
        self.shown.diff = id.and_then(diff);
    }

    /// Adds a version with the texts `before`, which were in the folder until other texts were written there.
    pub(super) fn keep_replaced(&mut self, before: Sources) {
        if !self.kept.iter().any(|kept| kept.sources == before) {
            // The texts were saved and replaced at once.
            self.keep(before.clone(), false);
        }
        if let Some(kept) = self.kept.iter_mut().rev().find(|kept| kept.sources == before) {
            kept.is_replaced = true;
        }
    }
}

impl LiveKernels {
    /// Waits until all versions are stored, for at most [`STORE_TIMEOUT`].
    pub(crate) fn finish_storing(&mut self, waker: &Waker) {
        let Self { storage, versions, .. } = self;
        let end = Instant::now() + STORE_TIMEOUT;
        let left = || end.saturating_duration_since(Instant::now());
        storage.store_next(versions, Duration::ZERO, waker);
        while storage.storing.is_some() && !left().is_zero() {
            storage.store_next(versions, left(), waker);
        }
        // A restored file is written completely or not at all.
        if let Some(writing) = &storage.writing {
            let _ = writing.wait(left());
        }
    }

    /// Shows the lines in which a version differs from the files in the folder; `None` shows the source text again.
    pub(crate) fn show_diff(&mut self, id: Option<VersionId>) {
        self.versions.compare_with_files(id);
    }

    /// Starts to write the texts of a version to the files in the folder, so that this version is restored.
    pub(crate) fn restore(&mut self, id: VersionId, cx: &PlayerContext) {
        let Some((wanted, name)) = self.versions.find(id) else { return };
        let (wanted, written) = (wanted.clone(), format!("Restored {name}"));
        self.storage.write(&self.versions, cx, written, move |before| texts_to_restore(&wanted, before));
    }

    /// Starts to save the chosen variant's kernel file in a version as the user's own kernel.
    pub(crate) fn save_as_own(&mut self, id: VersionId, devices: &Devices, cx: &mut PlayerContext) {
        let kind = devices.running.kind();
        let chosen = cx.chosen();
        if chosen.opened().is_some() {
            return cx.overlay.show_message("own.cl is a variant of the box filter: F lists it".to_owned());
        }
        let file = chosen.files(kind).and_then(<[_]>::first).copied();
        let found = self.versions.find(id).zip(file);
        let text = found.and_then(|((sources, _), file)| sources.text(file).ok());
        match text {
            Some(text) => {
                let written = "Saved as your own kernel".to_owned();
                self.storage
                    .write(&self.versions, cx, written, move |_| vec![(OWN_FILE.to_owned(), own_text(&text))])
            }
            None => cx.overlay.show_message(format!("'{chosen}' has no kernel file in that version.")),
        }
    }

    /// Starts to write a template for the user's own kernel into the folder, unless there is such a kernel; the variant is selected
    /// once it is there. Makes a folder first if none is watched.
    pub(crate) fn make_own(&mut self, cx: &mut PlayerContext) {
        if box_filter::Filter::selected().is_some() {
            return cx.overlay.show_message("own.cl is a variant of the box filter: F lists it".to_owned());
        }
        self.selects_own = true;
        if self.versions.shown.folder.is_none() {
            return self.copy_built_in(Some(OWN_TEMPLATE), cx);
        }
        let texts = |before: &Sources| match before.has(OWN_FILE) {
            true => Vec::new(),
            false => vec![(OWN_FILE.to_owned(), OWN_TEMPLATE.to_owned())],
        };
        self.storage.write(&self.versions, cx, "A first kernel of your own".to_owned(), texts);
    }
}

/// Converts the text of a kernel file to a text for the user's own kernel: puts a comment that describes the arguments before
/// it and, if it has exactly one kernel, renames that to `own`. A text that has a kernel `own` already is returned unchanged.
pub(super) fn own_text(text: &str) -> String {
    let contract = OWN_TEMPLATE.split_once("\n\n").map_or("", |(head, _)| head);
    let names = text.split("__kernel").skip(1).filter_map(|rest| {
        let (before, _) = rest.split_once("void").and_then(|(_, rest)| rest.split_once('('))?;
        Some(before.trim())
    });
    match names.collect::<Vec<_>>().as_slice() {
        names if names.contains(&"own") => text.to_owned(),
        [name] => {
            // A comment or another function before the kernel may have its name.
            let (before, kernel) = text.split_at(text.find("__kernel").unwrap_or_default());
            format!("{contract}\n\n{before}{}", kernel.replacen(&format!("{name}("), "own(", 1))
        }
        _ => format!("{contract}\n\n{text}"),
    }
}
