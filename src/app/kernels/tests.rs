//! Tests of watching a folder of kernels: the ways in which editors save files, and in which the folder may be replaced.

use std::os::unix::fs::symlink;

use super::*;
use crate::app::test_folder;
use opencl::folders::Folder;

const LONG: Duration = Duration::from_secs(60);
const FLAT: &str = "box_filter/03_flat.cl";
const MEAN: &str = "common/mean.clh";

/// A folder of kernels within an otherwise empty folder, and its watcher.
struct Watched {
    root: Folder,
    watching: FolderWatcher,
}

impl Watched {
    fn new(name: &str, watcher: MakeWatcher) -> Self {
        let root = test_folder(&format!("watch-{name}"));
        let kernels = root.0.join("kernels");
        sources::write_built_in(&kernels).unwrap();
        let waker: Waker = Arc::new(|| ());
        let watching = FolderWatcher::start(kernels, Some(&CurrentSources::default()), &waker, watcher);
        Self { root, watching }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.0.join(name)
    }

    fn kernel(&self, name: &str) -> PathBuf {
        self.root.0.join("kernels").join(name)
    }

    fn news(&self) -> FolderMessage {
        let began = Instant::now();
        while began.elapsed() < LONG {
            match self.watching.poll() {
                Some(news) => return news,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        panic!("nothing was noticed")
    }

    /// Waits until the watcher reports that it has read the folder's sources, and returns them.
    fn next(&self) -> Sources {
        loop {
            match self.news() {
                FolderMessage::Read { sources, .. } => return sources,
                FolderMessage::Unreadable(error) => panic!("{error}"),
                FolderMessage::Slow(_) => {}
            }
        }
    }

    /// Waits until this file has this text; ignores other texts before, which are read while the folder is being written.
    fn wait_for(&self, name: &str, text: &str) {
        while self.next().text(name).unwrap() != text {}
    }

    fn save(&self, name: &str, text: &str) {
        std::fs::write(self.kernel(name), text).unwrap();
        self.wait_for(name, text);
    }
}

#[test]
fn every_way_to_save_is_noticed_once_it_is_over() {
    let watched = Watched::new("save", system_watcher);
    assert_eq!(watched.next(), Sources::default());
    let (flat, mean) = (watched.kernel(FLAT), watched.kernel(MEAN));
    std::fs::write(&flat, "one").unwrap();
    assert_eq!(watched.next().text(FLAT).unwrap(), "one");
    // Some editors rename the old file to keep it.
    std::fs::rename(&flat, watched.kernel("box_filter/03_flat.cl~")).unwrap();
    std::fs::write(watched.kernel("box_filter/.03_flat.cl.swp"), "noise").unwrap();
    // Emacs marks the file that it edits by such a link.
    symlink("user@host.123:4", watched.kernel("box_filter/.#03_flat.cl")).unwrap();
    std::fs::write(watched.kernel("box_filter/4913"), "two").unwrap();
    std::fs::rename(watched.kernel("box_filter/4913"), &flat).unwrap();
    let mut text = watched.next();
    if text.text(FLAT).unwrap() != "two" {
        // The file was missing for a moment, which a slow machine may notice.
        text = watched.next();
    }
    assert_eq!(text.text(FLAT).unwrap(), "two");
    // A change of an included file.
    std::fs::write(&mean, "three").unwrap();
    assert_eq!(watched.next().text(MEAN).unwrap(), "three");
    // The file is written in pieces; the first piece alone must not be read.
    {
        use std::io::Write as _;
        let mut file = std::fs::File::create(&mean).unwrap();
        file.write_all(b"fo").unwrap();
        file.sync_all().unwrap();
        file.write_all(b"ur").unwrap();
    }
    assert_eq!(watched.next().text(MEAN).unwrap(), "four");
    // The file is emptied and closed before it is written.
    std::fs::write(&mean, "").unwrap();
    std::thread::sleep(Duration::from_millis(30));
    std::fs::write(&mean, "five").unwrap();
    assert_eq!(watched.next().text(MEAN).unwrap(), "five");
    std::fs::remove_file(&mean).unwrap();
    let now = watched.next();
    assert_eq!(now.changed_since(&Sources::default()), [FLAT]);
    // The folder is read on request although nothing has changed.
    watched.watching.rebuild();
    assert_eq!(watched.next(), now);
}

/// Creates a folder of kernels at `to` in which the kernel file of `flat` has this text.
fn write_folder(to: &Path, flat: &str) {
    sources::write_built_in(to).unwrap();
    std::fs::write(to.join(FLAT), flat).unwrap();
}

/// Replaces the watched folder in several ways, and checks each time that the watcher reports what is saved afterwards.
fn replace_and_save(watched: &Watched) {
    watched.save(FLAT, "first");
    let kernels = watched.path("kernels");
    std::fs::rename(&kernels, watched.path("old")).unwrap();
    write_folder(&kernels, "moved");
    watched.wait_for(FLAT, "moved");
    watched.save(FLAT, "saved in the new one");
    std::fs::remove_dir_all(&kernels).unwrap();
    write_folder(&kernels, "removed");
    watched.wait_for(FLAT, "removed");
    watched.save(MEAN, "saved in the third one");
    // A subfolder of the folder of kernels is replaced.
    std::fs::rename(watched.kernel("common"), watched.path("common")).unwrap();
    std::fs::create_dir(watched.kernel("common")).unwrap();
    watched.save(MEAN, "saved in a new folder of it");
    // The folder becomes a link to another folder, then a link to a third folder.
    std::fs::rename(&kernels, watched.path("third")).unwrap();
    symlink(watched.path("old"), &kernels).unwrap();
    watched.wait_for(FLAT, "first");
    watched.save(FLAT, "saved behind the link");
    symlink("third", watched.path("new")).unwrap();
    std::fs::rename(watched.path("new"), &kernels).unwrap();
    watched.wait_for(FLAT, "removed");
    watched.save(FLAT, "saved behind the other link");
    // Kernel files become links to files with any names; these are written, replaced, and exchanged for links to other files.
    std::fs::create_dir(watched.path("elsewhere")).unwrap();
    let (one, other) = (watched.path("elsewhere/flat.txt"), watched.kernel("other.c"));
    for (name, target) in [(FLAT, &one), (MEAN, &other)] {
        std::fs::write(target, "linked").unwrap();
        std::fs::remove_file(watched.kernel(name)).unwrap();
        symlink(target, watched.kernel(name)).unwrap();
        watched.wait_for(name, "linked");
        std::fs::write(target, "written").unwrap();
        watched.wait_for(name, "written");
        std::fs::write(watched.path("temporary"), "replaced").unwrap();
        std::fs::rename(watched.path("temporary"), target).unwrap();
        watched.wait_for(name, "replaced");
    }
    std::fs::write(watched.path("elsewhere/next"), "another").unwrap();
    symlink("../../elsewhere/next", watched.path("link")).unwrap();
    std::fs::rename(watched.path("link"), watched.kernel(FLAT)).unwrap();
    watched.wait_for(FLAT, "another");
    std::fs::write(watched.path("elsewhere/next"), "behind another link").unwrap();
    watched.wait_for(FLAT, "behind another link");
}

#[test]
fn saves_are_noticed_whatever_takes_the_folders_place() {
    replace_and_save(&Watched::new("replaced", system_watcher));
}

fn no_watcher(_: Sender<Message>, _: &Places) -> notify::Result<RecommendedWatcher> {
    Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch))
}

#[test]
fn saves_are_noticed_where_the_system_tells_of_none_and_that_is_said() {
    let watched = Watched::new("slow", no_watcher);
    let FolderMessage::Slow(Some(error)) = watched.news() else { panic!("nothing is said") };
    assert_eq!(
        error.why,
        "The system does not tell of changes in their folder: the limit of watched files is reached. It is looked at twice a second."
    );
    replace_and_save(&watched);
}

#[test]
fn a_folder_that_is_gone_is_said_to_be_and_is_read_when_it_is_back() {
    let watched = Watched::new("gone", system_watcher);
    watched.save(FLAT, "first");
    let is_gone = || match watched.news() {
        FolderMessage::Unreadable(error) => {
            error.what.ends_with("cannot be read.") && error.hint == UNREADABLE_HINT
        }
        _ => false,
    };
    std::fs::rename(watched.path("kernels"), watched.path("away")).unwrap();
    assert!(is_gone());
    // The folder is read even if it is unchanged, since the previous error is obsolete.
    std::fs::rename(watched.path("away"), watched.path("kernels")).unwrap();
    assert_eq!(watched.next().text(FLAT).unwrap(), "first");
    watched.save(FLAT, "second");
    // The parent folder has another name for a while.
    let parent = watched.root.0.with_extension("renamed");
    std::fs::rename(&watched.root.0, &parent).unwrap();
    assert!(is_gone());
    std::fs::write(parent.join("kernels").join(FLAT), "third").unwrap();
    std::fs::rename(&parent, &watched.root.0).unwrap();
    watched.wait_for(FLAT, "third");
    watched.save(FLAT, "fourth");
}
