//! Watches a folder of kernels. In: the folder; what the system tells of it. Out: [`Sources`] whenever its kernel files have
//! become others and the editor is done with them.
//!
//! Editors save in several ways: they write into the file, in one piece or several, or write another one and give it the name.
//! Whatever closes or renames a file ends a save; what only writes waits longer for that.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::error::{Error, Result};
use crate::gpu::program;
use crate::gpu::sources::{self, Sources, is_kernel_file};
use crate::jobs::{Job, Said, Teller, Waker};

/// After so long without news a save is over: one that has closed its file or given it its name; one that has done something
/// else, after which the file may be missing; and one that still writes.
const CLOSED: Duration = Duration::from_millis(2);
const GONE: Duration = Duration::from_millis(20);
const WRITTEN: Duration = Duration::from_millis(300);
/// How often it is looked whether the folder is there (again), and whether all this is to end.
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
        let (messages, received) = channel();
        let sender = messages.clone();
        let job =
            Job::spawn("kernels", FAILED, waker, move |teller| watch(&folder, &sender, &received, teller))?;
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

/// How long to wait for more after this; `None` where it is nothing that matters.
fn patience(event: &Event) -> Option<Duration> {
    let is_ours = |path: &PathBuf| is_kernel_file(path) || path.extension().is_none();
    if !event.need_rescan() && !event.paths.iter().any(is_ours) {
        return None;
    }
    match event.kind {
        // Of one that was renamed the last path is the new one.
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both))
            if event.paths.last().is_some_and(|path| is_kernel_file(path)) =>
        {
            Some(CLOSED)
        }
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(GONE),
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
        // It is written next, or closed.
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_)) => Some(WRITTEN),
        _ => Some(GONE),
    }
}

fn watch(
    folder: &Path,
    sender: &Sender<Message>,
    received: &std::sync::mpsc::Receiver<Message>,
    teller: &Teller<(), News>,
) -> Result<()> {
    let failed = |why: String| Error::new(FAILED, why, "F5 has them built.");
    let sender = sender.clone();
    let told = move |event| drop(sender.send(Message::Changed(event)));
    let mut watcher: RecommendedWatcher =
        notify::recommended_watcher(told).map_err(|e| failed(format!("{e}.")))?;
    let mut watches = watcher.watch(folder, RecursiveMode::Recursive).is_ok();
    sources::read_named();
    let mut known = sources::current();
    if let Some(sources) = &known {
        teller.tell(News::Read { sources: sources.clone(), asked: false, is_built: true });
    }
    // What a folder is a copy of runs already. Where one was named and is not there, nothing does.
    let is_copy = |sources: &Sources| program::named_folder().is_none() && *sources == Sources::default();
    // What was written before it was watched.
    let mut due = Some(Instant::now());
    let (mut asked, mut is_gone) = (false, false);
    while !teller.is_cancelled() {
        let wait = due.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()).min(LOOK));
        match received.recv_timeout(wait) {
            Ok(Message::Changed(event)) => {
                // Without an event it is read all the same: something was lost.
                let patience = event.as_ref().map_or(Some(GONE), patience);
                due = patience.map_or(due, |patience| Some(Instant::now() + patience));
                continue;
            }
            Ok(Message::Rebuild) => (due, asked) = (Some(Instant::now()), true),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if !folder.is_dir() {
            // Another one may take its place.
            let _ = watcher.unwatch(folder);
            watches = false;
        } else if !watches {
            watches = watcher.watch(folder, RecursiveMode::Recursive).is_ok();
            due = Some(Instant::now());
        }
        if is_gone == watches {
            is_gone = !watches;
            if let Err(error) = Sources::read(folder) {
                teller.tell(News::Unreadable(error));
            }
        }
        if due.is_none_or(|due| Instant::now() < due) {
            continue;
        }
        due = None;
        let Ok(sources) = Sources::read(folder) else { continue };
        if asked || known.as_ref() != Some(&sources) {
            let is_built = known.is_none() && is_copy(&sources);
            known = Some(sources.clone());
            teller.tell(News::Read { sources, asked, is_built });
            asked = false;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// The next texts that it tells.
    fn next(watching: &Watching) -> Sources {
        let began = Instant::now();
        while began.elapsed() < LONG {
            match watching.poll() {
                Some(News::Read { sources, .. }) => return sources,
                Some(News::Unreadable(error)) => panic!("{error}"),
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        panic!("nothing was noticed")
    }

    #[test]
    fn every_way_to_save_is_noticed_once_it_is_over() {
        let root = std::env::temp_dir().join(format!("clreel-watch-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        sources::write_built_in(&root).unwrap();
        let watching = Watching::begin(root.clone(), &(Arc::new(|| ()) as Waker)).unwrap();
        let (flat, mean) = ("box_filter/03_flat.cl", "common/mean.clh");
        assert_eq!(next(&watching), Sources::default());
        std::fs::write(root.join(flat), "one").unwrap();
        assert_eq!(next(&watching).text(flat).unwrap(), "one");
        // By another name, as editors do that keep what was there.
        std::fs::rename(root.join(flat), root.join("box_filter/03_flat.cl~")).unwrap();
        std::fs::write(root.join("box_filter/.03_flat.cl.swp"), "noise").unwrap();
        std::fs::write(root.join("box_filter/4913"), "two").unwrap();
        std::fs::rename(root.join("box_filter/4913"), root.join(flat)).unwrap();
        let mut text = next(&watching);
        if text.text(flat).unwrap() != "two" {
            // It was gone for a moment, which a slow machine may see.
            text = next(&watching);
        }
        assert_eq!(text.text(flat).unwrap(), "two");
        // What is included.
        std::fs::write(root.join(mean), "three").unwrap();
        assert_eq!(next(&watching).text(mean).unwrap(), "three");
        // In pieces: nobody wants the first one alone.
        {
            use std::io::Write as _;
            let mut file = std::fs::File::create(root.join(mean)).unwrap();
            file.write_all(b"fo").unwrap();
            file.sync_all().unwrap();
            file.write_all(b"ur").unwrap();
        }
        assert_eq!(next(&watching).text(mean).unwrap(), "four");
        std::fs::remove_file(root.join(mean)).unwrap();
        let now = next(&watching);
        assert_eq!(now.changed_since(&Sources::default()), [flat]);
        // By hand, though nothing has changed.
        watching.rebuild();
        assert_eq!(next(&watching), now);
        drop(watching);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
