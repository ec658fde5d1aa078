//! The movies to play, one after the other and round again. In: paths, from the command line or dropped on the
//! window. Out: decoders, opened on a thread of their own because opening reads from the disk.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::gpu::event::Waker;
use crate::media::{Decoder, OpenOptions};

/// Files that are dropped together arrive one by one, this close to each other.
const SAME_DROP: Duration = Duration::from_millis(500);

/// A decoder that is being opened.
struct Opening {
    index: usize,
    result: Receiver<Result<Decoder>>,
}

/// The list, and which of its movies plays.
pub struct Playlist {
    files: Vec<PathBuf>,
    current: usize,
    opening: Option<Opening>,
    /// Files that could not be opened since the last one that could.
    failures: usize,
    last_drop: Option<Instant>,
    options: OpenOptions,
    waker: Waker,
}

impl Playlist {
    /// Opens the first of `files` that can be opened, waiting for it; the others are told on stderr.
    ///
    /// # Errors
    /// The last file's, when none can be opened.
    pub fn open(files: Vec<PathBuf>, options: OpenOptions, waker: Waker) -> Result<(Self, Decoder)> {
        let mut last = Error::new("There is nothing to play.", "", "Name a movie.");
        for (index, path) in files.iter().enumerate() {
            let looping = files.len() == 1;
            match open(path, OpenOptions { looping, ..options.clone() }, &waker) {
                Ok(decoder) => {
                    let options = OpenOptions { start_s: 0.0, ..options };
                    let list = Self {
                        files,
                        current: index,
                        opening: None,
                        failures: 0,
                        last_drop: None,
                        options,
                        waker,
                    };
                    return Ok((list, decoder));
                }
                Err(error) if index + 1 < files.len() => eprintln!("clreel: {error}"),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The movie that plays.
    pub fn current(&self) -> &Path {
        self.files.get(self.current).map_or(Path::new(""), PathBuf::as_path)
    }

    /// Number of movies.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Goes `step` movies on, or back when it is negative, and round at the ends. Opening a movie that is
    /// being opened already is given up.
    pub fn go(&mut self, step: isize) {
        let from = self.opening.as_ref().map_or(self.current, |o| o.index);
        let count = self.files.len() as isize;
        if count > 0 {
            self.begin((from as isize + step).rem_euclid(count) as usize);
        }
    }

    /// Takes a file that was dropped on the window: the first of a drop replaces the list, the others follow it.
    pub fn dropped(&mut self, path: PathBuf) {
        let now = Instant::now();
        let together = self.last_drop.is_some_and(|at| now.duration_since(at) < SAME_DROP);
        self.last_drop = Some(now);
        if together {
            self.files.push(path);
        } else {
            self.files = vec![path];
            self.begin(0);
        }
    }

    /// Whether a movie is being opened.
    pub fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    fn begin(&mut self, index: usize) {
        let Some(path) = self.files.get(index).cloned() else { return };
        let options = OpenOptions { looping: self.files.len() == 1, ..self.options.clone() };
        let (sender, result) = channel();
        let waker = self.waker.clone();
        // Without a thread the channel closes, and `poll` says so.
        let _ = std::thread::Builder::new().name("opener".into()).spawn(move || {
            // Nobody listens any more when another movie was chosen meanwhile.
            let _ = sender.send(open(&path, options, &waker));
            waker();
        });
        self.opening = Some(Opening { index, result });
    }

    /// The decoder that was opened since the last call, or why it could not be; then the next movie is tried,
    /// until all of them have failed.
    pub fn poll(&mut self) -> Option<Result<Decoder>> {
        use std::sync::mpsc::TryRecvError;
        let opening = self.opening.as_ref()?;
        let result = match opening.result.try_recv() {
            Ok(result) => result,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(Error::new("The next movie could not be opened.", "", "")),
        };
        let index = opening.index;
        self.opening = None;
        match &result {
            Ok(_) => (self.current, self.failures) = (index, 0),
            Err(_) => {
                self.failures += 1;
                if self.failures < self.files.len() {
                    self.begin((index + 1) % self.files.len());
                }
            }
        }
        Some(result)
    }
}

fn open(path: &Path, options: OpenOptions, waker: &Waker) -> Result<Decoder> {
    let waker = waker.clone();
    Decoder::open(path, options, Box::new(move || waker()))
}
