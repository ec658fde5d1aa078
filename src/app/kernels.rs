//! Watches a folder of kernels. In: the folder; what the system tells of it, and what is found by looking ([`disk`]). Out:
//! [`Sources`] whenever its kernel files have become others and the editor is done with them.
//!
//! Editors save in several ways: they write into the file, in one piece or several, or write another one and give it the name.
//! Whatever closes or renames a file ends a save; what only writes waits longer for that. What the system does not tell of, such
//! as another folder in the place of this one, is found twice a second, and read when it is at rest.

mod disk;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use base::error::{Error, Result};
use base::jobs::{Job, Said, Teller, Waker};
use disk::{Disk, Places};
use opencl::program;
use opencl::sources::{self, Sources, is_kernel_file};

/// After so long without news a save is over: one that has closed its file or given it its name; one that has done something
/// else, after which the file may be missing; and one that still writes, or was found by looking.
const CLOSED: Duration = Duration::from_millis(2);
const GONE: Duration = Duration::from_millis(20);
const WRITTEN: Duration = Duration::from_millis(300);
/// How often the disk is looked at, and whether all this is to end.
const LOOK: Duration = Duration::from_millis(500);
const FAILED: &str = "Changes of kernels are not noticed.";

/// What the watcher tells.
pub(crate) enum News {
    /// The folder's kernels; `asked`: the user wants them built, whether or not they are others.
    Read {
        /// Their texts.
        sources: Sources,
        /// By hand.
        asked: bool,
        /// All that is built so far was built from them.
        is_built: bool,
    },
    /// The folder cannot be read (any more).
    Unreadable(Error),
    /// Why the system does not tell of changes, so that they are noticed later; `None`: it does (again).
    Slow(Option<Error>),
}

enum Message {
    Changed(notify::Result<Event>),
    Rebuild,
}

/// A folder that is watched.
pub(crate) struct Watching {
    job: Job<(), News>,
    messages: Sender<Message>,
}

impl Watching {
    /// Begins; what is there now is told first.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn begin(folder: PathBuf, waker: &Waker) -> Result<Self> {
        Self::begin_with(folder, waker, system_watcher)
    }

    fn begin_with(folder: PathBuf, waker: &Waker, watcher: MakeWatcher) -> Result<Self> {
        let (messages, received) = channel();
        let system = System { watcher, messages: messages.clone(), running: None, places: Places::default() };
        let job = Job::spawn("kernels", FAILED, waker, move |teller| {
            sources::read_named();
            let known = sources::current();
            Folder {
                path: folder,
                teller,
                system,
                disk: Disk::default(),
                known,
                is_gone: false,
                is_slow: None,
            }
            .watch(&received)
        })?;
        Ok(Self { job, messages })
    }

    /// Has it read now.
    pub(crate) fn rebuild(&self) {
        // A thread that has ended has said why.
        let _ = self.messages.send(Message::Rebuild);
    }

    /// The next news, if there are some.
    pub(crate) fn poll(&self) -> Option<News> {
        match self.job.poll()? {
            Said::Progress(news) => Some(news),
            Said::Done(done) => done.err().map(News::Unreadable),
        }
    }
}

/// Makes what sends messages of changes in folders.
type MakeWatcher = fn(Sender<Message>, &Places) -> notify::Result<RecommendedWatcher>;

fn system_watcher(messages: Sender<Message>, places: &Places) -> notify::Result<RecommendedWatcher> {
    let send = move |event| drop(messages.send(Message::Changed(event)));
    let mut watcher = notify::recommended_watcher(send)?;
    for folder in places.folders.keys() {
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Err(e) if matches!(e.kind, notify::ErrorKind::MaxFilesWatch) => return Err(e),
            // One that is gone again or may not be listed is looked at all the same.
            _ => {}
        }
    }
    Ok(watcher)
}

/// What the system tells of changes, at once.
struct System {
    watcher: MakeWatcher,
    messages: Sender<Message>,
    running: Option<RecommendedWatcher>,
    places: Places,
}

impl System {
    /// Has it tell of changes in these places from here on.
    fn watch(&mut self, places: Places) -> notify::Result<()> {
        if self.running.is_some() && places == self.places {
            return Ok(());
        }
        // Before the next one: there may be no room for both.
        (self.running, self.places) = (None, places);
        self.running = Some((self.watcher)(self.messages.clone(), &self.places)?);
        Ok(())
    }

    /// Returns how long to wait for more after this; `None` where it is nothing that matters.
    fn patience(&self, event: &Event) -> Option<Duration> {
        let is_kernel = |path: &PathBuf| is_kernel_file(path) || self.places.targets.contains(path);
        let is_ours = |path: &PathBuf| is_kernel(path) || path.extension().is_none();
        if !event.need_rescan() && !event.paths.iter().any(is_ours) {
            return None;
        }
        // Of one that was renamed the last path is the new one.
        let kernel = event.paths.last().filter(|path| is_kernel(path));
        match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => {
                // Some programs empty a file before they write it.
                let is_empty = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
                Some(match kernel {
                    Some(path) if is_empty(path) => WRITTEN,
                    Some(_) => CLOSED,
                    None => GONE,
                })
            }
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
            // It is written next, or closed.
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_)) => Some(WRITTEN),
            _ => Some(GONE),
        }
    }
}

/// A folder, and what is known of it.
struct Folder<'a> {
    path: PathBuf,
    teller: &'a Teller<(), News>,
    system: System,
    disk: Disk,
    known: Option<Sources>,
    /// It could not be read the last time.
    is_gone: bool,
    /// Why the system does not tell of changes, where that was told.
    is_slow: Option<Error>,
}

impl Folder<'_> {
    fn watch(mut self, received: &Receiver<Message>) -> Result<()> {
        if let Some(sources) = self.known.clone() {
            self.teller.tell(News::Read { sources, asked: false, is_built: true });
        }
        // What was written before it was watched.
        let mut due = Some(Instant::now());
        let (mut asked, mut was_found) = (false, false);
        let mut look = Instant::now() + LOOK;
        while !self.teller.is_cancelled() {
            let next = due.map_or(look, |due| due.min(look));
            match received.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Message::Changed(event)) => {
                    // Without an event it is read all the same: something was lost.
                    let patience = event.as_ref().map_or(Some(GONE), |event| self.system.patience(event));
                    let later = patience.map(|patience| Instant::now() + patience);
                    // What was found by looking may be a folder that is being copied, file by file.
                    due = if was_found { due.max(later) } else { later.or(due) };
                }
                Ok(Message::Rebuild) => (due, asked, was_found) = (Some(Instant::now()), true, false),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now = Instant::now();
            if now >= look {
                look = now + LOOK;
                if due.is_none() && self.disk.has_changed() {
                    (due, was_found) = (Some(now), true);
                }
            }
            if due.is_none_or(|due| now < due) {
                continue;
            }
            let is_at_rest = self.look();
            if was_found && !is_at_rest {
                due = Some(Instant::now() + WRITTEN);
                continue;
            }
            self.read(std::mem::take(&mut asked));
            (due, was_found) = (None, false);
        }
        Ok(())
    }

    /// Looks at the disk, and has the system tell of what is changed from here on. Returns true if all is as it was the last time.
    fn look(&mut self) -> bool {
        let disk = Disk::read(&self.path);
        let is_at_rest = disk == self.disk;
        self.disk = disk;
        let is_slow = self.system.watch(self.disk.places()).err().map(|e| slow(&e));
        if is_slow != self.is_slow {
            self.is_slow = is_slow.clone();
            self.teller.tell(News::Slow(is_slow));
        }
        is_at_rest
    }

    /// Reads the texts, and tells them where they are others.
    fn read(&mut self, asked: bool) {
        match Sources::read(&self.path) {
            Ok(sources) => {
                let was_gone = std::mem::take(&mut self.is_gone);
                if asked || was_gone || self.known.as_ref() != Some(&sources) {
                    let is_built = self.known.is_none() && is_copy(&sources);
                    self.known = Some(sources.clone());
                    self.teller.tell(News::Read { sources, asked, is_built });
                }
            }
            Err(error) => {
                if asked || !std::mem::replace(&mut self.is_gone, true) {
                    self.teller.tell(News::Unreadable(match self.known {
                        Some(_) => Error { hint: GOES_ON.to_owned(), ..error },
                        None => error,
                    }));
                }
            }
        }
    }
}

const GOES_ON: &str = "What was built from them goes on. They are read again when the folder is back.";

/// Returns true if these are built in: what a folder is a copy of runs already. Where one was named and is not there, nothing does.
fn is_copy(sources: &Sources) -> bool {
    program::named_folder().is_none() && *sources == Sources::default()
}

fn slow(e: &notify::Error) -> Error {
    let why = match &e.kind {
        // Its own words name a path.
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
