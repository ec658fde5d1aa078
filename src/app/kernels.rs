//! Watches a folder of kernels by notifications of the system and by polling ([`Disk`]), and reads its [`Sources`] whenever an
//! editor has saved a change.
//!
//! Editors save in several ways: they write into the file, in one piece or several, or write another file and rename it. A
//! close or rename ends a save; after a write the watcher waits longer for a close. Changes without a notification, such as
//! another folder that replaces this one, are found by polling twice a second, and read once the folder no longer changes.

pub(crate) mod history;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use base::error::{Error, Result};
use base::jobs::{Job, JobMessage, Reporter, Waker};
use opencl::sources::{self, Sources, is_kernel_file};
use parking_lot::Mutex;

/// The waiting time for further notifications after a file was closed or renamed, before the folder is read.
const WAIT_AFTER_CLOSE: Duration = Duration::from_millis(2);
/// The waiting time for further notifications after other events, when the file may be missing.
const WAIT_AFTER_OTHERS: Duration = Duration::from_millis(20);
/// The waiting time for further notifications after a write, or after polling has found a change.
const WAIT_AFTER_WRITE: Duration = Duration::from_millis(300);
/// The time between two polls of the folder.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The first sentence of the error when the folder cannot be watched.
const WATCH_FAILED: &str = "Changes of kernels are not noticed.";

/// The kernel sources from which new contexts compile: the version of the edited kernels that was saved or chosen last. Before
/// the first version, these are the files in the folder that the environment names, or else the built-in files. Clones share
/// the sources. The window's thread must not wait for a disk, so the first of the other threads that needs the sources reads
/// the folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentSources(Arc<Mutex<Option<Sources>>>);

impl CurrentSources {
    /// Returns the sources. The first call reads the folder; as long as the folder cannot be read, each call attempts it again.
    pub(crate) fn get(&self) -> Sources {
        let mut current = self.0.lock();
        if let Some(sources) = &*current {
            return sources.clone();
        }
        let sources = Sources::from_environment();
        if !sources.is_unreadable() {
            *current = Some(sources.clone());
        }
        sources
    }

    /// Returns the sources if they were already read or set; `None` otherwise, or while another thread reads them. Never waits.
    pub(crate) fn loaded(&self) -> Option<Sources> {
        self.0.try_lock()?.clone()
    }

    /// Sets the sources from which contexts compile that are created from now on.
    pub(crate) fn set(&self, sources: Sources) {
        *self.0.lock() = Some(sources);
    }
}

/// A message to the window from the thread that watches a folder of kernels.
pub(crate) enum FolderMessage {
    /// The kernels of the folder, which were read.
    Read {
        sources: Sources,
        /// True if the user has requested that the kernels are built even if they have not changed.
        asked: bool,
        /// True if all programs that exist were built from these sources.
        is_built: bool,
    },
    /// The error for which the kernels in the folder could not be read.
    Unreadable(Error),
    /// The reason why the system does not notify of changes, so that they are noticed later, by polling; `None` once the system
    /// notifies again.
    Slow(Option<Error>),
}

/// A message to the thread that watches a folder of kernels.
pub(crate) enum Message {
    Changed(notify::Result<Event>),
    Rebuild,
}

/// The window's handle of the thread that watches a folder of kernels.
pub(crate) struct FolderWatcher {
    job: Job<(), FolderMessage>,
    messages: Sender<Message>,
}

impl FolderWatcher {
    /// Starts a thread that watches the folder through the notifications of the watcher that `watcher` creates, and that reads
    /// the folder at once. If the environment names the folder, `current` has the sources from which programs have been built; `None`
    /// for folders that are opened later, from which nothing has been built.
    pub(crate) fn start(
        folder: PathBuf,
        current: Option<&CurrentSources>,
        waker: &Waker,
        watcher: MakeWatcher,
    ) -> Self {
        let current = current.cloned();
        let (messages, received) = channel();
        let sender = messages.clone();
        let job = Job::spawn("kernels", WATCH_FAILED, waker, move |reporter| {
            let named = sources::named_folder().zip(current).map(|(_, current)| current.get());
            let known = named.filter(|sources| !sources.is_unreadable());
            let (path, places, disk) = (folder, Places::default(), Disk::default());
            let (notifications, is_gone, is_slow) = (None, false, None);
            Folder { path, reporter, watcher, sender, notifications, places, disk, known, is_gone, is_slow }
                .watch(&received)
        });
        Self { job, messages }
    }

    /// Requests that the folder is read now and its kernels are built, even if they have not changed.
    pub(crate) fn rebuild(&self) {
        // If the thread has ended, its result has the reason.
        let _ = self.messages.send(Message::Rebuild);
    }

    /// Returns the watching thread's next message; `None` if no message is waiting.
    pub(crate) fn poll(&self) -> Option<FolderMessage> {
        match self.job.poll()? {
            JobMessage::Progress(news) => Some(news),
            JobMessage::Done(done) => done.err().map(FolderMessage::Unreadable),
        }
    }
}

/// The type of a function that creates a watcher of folders. The watcher sends a message for each change.
pub(crate) type MakeWatcher = fn(Sender<Message>, &Places) -> notify::Result<RecommendedWatcher>;

/// Creates a watcher of these folders that uses the notifications of the operating system.
pub(crate) fn system_watcher(
    messages: Sender<Message>,
    places: &Places,
) -> notify::Result<RecommendedWatcher> {
    let send = move |event| drop(messages.send(Message::Changed(event)));
    let mut watcher = notify::recommended_watcher(send)?;
    for folder in places.keys() {
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Err(e) if matches!(e.kind, notify::ErrorKind::MaxFilesWatch) => return Err(e),
            // Missing or unreadable folders are polled.
            _ => {}
        }
    }
    Ok(watcher)
}

/// The watched folder and its state, used by the watching thread only.
struct Folder<'a> {
    path: PathBuf,
    reporter: &'a Reporter<(), FolderMessage>,
    watcher: MakeWatcher,
    sender: Sender<Message>,
    /// The operating system's notifications of changes in `places`.
    notifications: Option<RecommendedWatcher>,
    places: Places,
    disk: Disk,
    known: Option<Sources>,
    /// True if the last attempt to read the folder failed.
    is_gone: bool,
    /// The last message that the system does not notify of changes; `None` if it does.
    is_slow: Option<Error>,
}

impl Folder<'_> {
    /// Returns for how long to wait for further events after this event, before the folder is read; `None` if the event cannot
    /// change a kernel.
    fn wait_after(event: &Event) -> Option<Duration> {
        let is_ours = |path: &PathBuf| is_kernel_file(path) || path.extension().is_none();
        if !event.need_rescan() && !event.paths.iter().any(is_ours) {
            return None;
        }
        // After a rename the last path is the new one.
        let kernel = event.paths.last().filter(|path| is_kernel_file(path));
        match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => {
                // Some programs empty a file before they write it.
                let is_empty = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
                Some(match kernel {
                    Some(path) if is_empty(path) => WAIT_AFTER_WRITE,
                    Some(_) => WAIT_AFTER_CLOSE,
                    None => WAIT_AFTER_OTHERS,
                })
            }
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
            // A write or a close follows.
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_)) => Some(WAIT_AFTER_WRITE),
            _ => Some(WAIT_AFTER_OTHERS),
        }
    }

    /// Runs the watching thread: reads the folder when it has changed, until the window drops its handle.
    fn watch(mut self, received: &Receiver<Message>) -> Result<()> {
        if let Some(sources) = self.known.clone() {
            self.reporter.report(FolderMessage::Read { sources, asked: false, is_built: true });
        }
        // The folder is read at once, to find changes from before it was watched.
        let mut due = Some(Instant::now());
        let (mut asked, mut was_found) = (false, false);
        let mut look = Instant::now() + POLL_INTERVAL;
        while !self.reporter.is_cancelled() {
            let next = due.map_or(look, |due| due.min(look));
            match received.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Message::Changed(event)) => {
                    // After an error events may be lost.
                    let patience = event.as_ref().map_or(Some(WAIT_AFTER_OTHERS), Self::wait_after);
                    let later = patience.map(|patience| Instant::now() + patience);
                    // A change that was found by polling may be a folder that is being copied, file by file.
                    due = if was_found { due.max(later) } else { later.or(due) };
                }
                Ok(Message::Rebuild) => (due, asked, was_found) = (Some(Instant::now()), true, false),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now = Instant::now();
            if now >= look {
                look = now + POLL_INTERVAL;
                // No file and no folder is opened, since the system would send notifications about that.
                let has_changed = || self.disk.iter().any(|(path, before)| stamp(path) != *before);
                if due.is_none() && has_changed() {
                    (due, was_found) = (Some(now), true);
                }
            }
            if due.is_none_or(|due| now < due) {
                continue;
            }
            let paths = sources::paths(&self.path).into_iter();
            let disk = paths.map(|path| (path.clone(), stamp(&path))).collect();
            let is_at_rest = disk == self.disk;
            self.disk = disk;
            let places = places(&self.disk);
            if self.notifications.is_none() || places != self.places {
                // The watcher is dropped before the next one is created, since the system may allow only one.
                (self.notifications, self.places) = (None, places);
                let watcher = (self.watcher)(self.sender.clone(), &self.places);
                let is_slow = watcher.map(|watcher| self.notifications = Some(watcher)).err();
                let is_slow = is_slow.map(|e| slow_notifications_error(&e));
                if is_slow != self.is_slow {
                    self.is_slow = is_slow.clone();
                    self.reporter.report(FolderMessage::Slow(is_slow));
                }
            }
            if was_found && !is_at_rest {
                due = Some(Instant::now() + WAIT_AFTER_WRITE);
                continue;
            }
            self.read(std::mem::take(&mut asked));
            (due, was_found) = (None, false);
        }
        Ok(())
    }

    /// Reads the kernels of the folder. Sends them to the window if they have changed, if the folder could not be read before,
    /// or if `asked` is true.
    fn read(&mut self, asked: bool) {
        match Sources::read(&self.path) {
            Ok(sources) => {
                let was_gone = std::mem::take(&mut self.is_gone);
                if asked || was_gone || self.known.as_ref() != Some(&sources) {
                    // Programs were built at the start from the built-in kernels if the environment names no folder.
                    let is_built =
                        self.known.is_none() && sources::named_folder().is_none() && sources.is_built_in();
                    self.known = Some(sources.clone());
                    self.reporter.report(FolderMessage::Read { sources, asked, is_built });
                }
            }
            Err(error) => {
                if asked || !std::mem::replace(&mut self.is_gone, true) {
                    self.reporter.report(FolderMessage::Unreadable(match self.known {
                        Some(_) => Error { hint: UNREADABLE_HINT.to_owned(), ..error },
                        None => error,
                    }));
                }
            }
        }
    }
}

/// The recorded state of a path: identity of the file or folder, size in bytes, and time of the last change (seconds,
/// nanoseconds). `None` if nothing exists at the path.
type Stamp = Option<(FileId, u64, (i64, i64))>;
/// The device number and the inode number of a file.
type FileId = (u64, u64);

fn stamp(path: &Path) -> Stamp {
    let of = std::fs::metadata(path).ok()?;
    // `ctime` is used since programs that copy files reset `mtime`.
    Some(((of.dev(), of.ino()), of.size(), (of.ctime(), of.ctime_nsec())))
}

/// The states of all files and folders in a folder of kernels, as last read, by path; paths may contain symbolic links. It is
/// polled for changes, and lists the folders to watch.
///
/// The system notifies of changes in one folder, also after it was renamed, but not of another folder that replaces it, of
/// changes in a link's target, or of files on another machine. Polling detects those, too, by one `stat` for each file and
/// folder.
type Disk = BTreeMap<PathBuf, Stamp>;

/// Returns the folders that must be watched to notice changes of these files. Targets of symbolic links are only polled.
fn places(disk: &Disk) -> Places {
    let real = disk.keys().filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_dir());
    real.filter_map(|folder| stamp(&folder).map(|(id, ..)| (folder, id))).collect()
}

/// The folders with kernel files to watch for changes, by path with links resolved.
type Places = BTreeMap<PathBuf, FileId>;

/// The hint of the error when the watched folder cannot be read any more.
const UNREADABLE_HINT: &str =
    "What was built from them goes on. They are read again when the folder is back.";

/// Returns the error for a folder that is only polled, because the system cannot notify of changes.
fn slow_notifications_error(e: &notify::Error) -> Error {
    let why = match &e.kind {
        // The error's own text names a path.
        notify::ErrorKind::MaxFilesWatch => "the limit of watched files is reached".to_owned(),
        notify::ErrorKind::Io(e) if e.raw_os_error() == Some(libc::EMFILE) => {
            "the limit of those that it tells is reached".to_owned()
        }
        notify::ErrorKind::Io(e) => e.to_string(),
        _ => e.to_string(),
    };
    Error::new(
        "Saved kernels are shown up to a second later.",
        format!(
            "The system does not tell of changes in their folder: {why}. It is looked at twice a second."
        ),
        "`sysctl fs.inotify` shows the limits; programs that watch many files use them up.",
    )
}
