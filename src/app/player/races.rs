//! The button for Oclgrind. In: a variant, the version of the kernels that was saved last. Out: `clreel check-kernels` in a process
//! of its own, and what it has found, for the overlay.
//!
//! The folder of kernels may be another one while Oclgrind runs; so it gets a copy of what there was when it was asked.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Player;
use base::error::{Error, Result};
use base::jobs::{Job, Said, Teller, Waker};
use base::leftovers::Passing;
use box_filter::VariantId;
use opencl::process::{end_with_thread, lower_priority};
use opencl::sources::Sources;
use overlay::{Checked, Races};

const FAILED: &str = "The kernels could not be checked for races.";
/// Kernels that never end do not do so under Oclgrind either. It gets what time the movie leaves: on a busy machine little.
const LIMIT: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(50);
/// The most that is read of what it says, in bytes; it tells a few faults of each kernel.
const MOST: u64 = 256 << 10;

/// The check, under way or over.
#[derive(Default)]
pub(super) struct RaceCheck {
    job: Option<Job<Vec<String>, u64>>,
    of: Option<Checked>,
    shown: Races,
}

impl RaceCheck {
    /// What the overlay shows of it.
    pub(super) fn shown(&self) -> &Races {
        &self.shown
    }

    /// Takes what it has said; whether there was something.
    pub(super) fn look(&mut self) -> bool {
        let Some((said, of)) = self.job.as_ref().and_then(Job::poll).zip(self.of) else { return false };
        self.shown = match said {
            Said::Progress(seconds) => Races::Checking(of, seconds),
            Said::Done(done) => {
                self.job = None;
                done.map_or_else(Races::Failed, |lines| Races::Found(of, lines))
            }
        };
        true
    }

    /// Ends it, or begins it for a variant's kernels as they are in `sources`.
    fn toggle(&mut self, of: Checked, sources: Option<Sources>, waker: &Waker) -> Result<()> {
        if self.job.take().is_some() {
            self.shown = Races::Unknown;
            return Ok(());
        }
        let work =
            move |teller: &Teller<Vec<String>, u64>| check(of.variant, &sources.unwrap_or_default(), teller);
        self.job = Some(Job::spawn("races", FAILED, waker, work)?);
        (self.of, self.shown) = (Some(of), Races::Checking(of, 0));
        Ok(())
    }
}

/// Ends the process with the thread that waits for it.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kernels in a folder that goes with this.
struct Copied {
    folder: PathBuf,
    _passing: Passing,
}

impl Copied {
    fn new(sources: &Sources) -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("clreel-races-{}", std::process::id()));
        let passing = Passing::new(&folder);
        // One that was left behind by a process with the same number.
        let _ = std::fs::remove_dir_all(&folder);
        sources.write(&folder).map(|()| Self { folder, _passing: passing })
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn check(variant: VariantId, sources: &Sources, teller: &Teller<Vec<String>, u64>) -> Result<Vec<String>> {
    lower_priority();
    let failed = |e: std::io::Error| Error::new(FAILED, format!("{e}."), "Try `clreel check-kernels`.");
    let copy = Copied::new(sources).map_err(failed)?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["check-kernels", "--variant", variant.as_str()]).arg("--kernels").arg(&copy.folder);
    // Oclgrind is a driver that takes long to load, on a busy machine longer.
    command.env("CLREEL_DRIVER_TIMEOUT", LIMIT.as_secs().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The window may end meanwhile.
    end_with_thread(&mut command);
    let began = Instant::now();
    let mut child = Ending(command.spawn().map_err(failed)?);
    let mut told = 0;
    // What it says fits into the pipes.
    while child.0.try_wait().map_err(failed)?.is_none() {
        let elapsed = began.elapsed();
        if elapsed > LIMIT {
            let why = format!("'{variant}' did not end within {} s under Oclgrind.", LIMIT.as_secs());
            return Err(Error::new(
                FAILED,
                why,
                "Oclgrind takes long; a kernel that never ends takes longer.",
            ));
        }
        if teller.is_cancelled() {
            return Ok(Vec::new());
        }
        if elapsed.as_secs() > told {
            told = elapsed.as_secs();
            teller.tell(told);
        }
        std::thread::sleep(LOOK);
    }
    let read = |from: Option<&mut dyn std::io::Read>| {
        let mut bytes = Vec::new();
        // What cannot be read was not said.
        let _ = from.map(|from| from.take(MOST).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let out = read(child.0.stdout.as_mut().map(|out| out as &mut dyn std::io::Read));
    let said = read(child.0.stderr.as_mut().map(|said| said as &mut dyn std::io::Read));
    if out.is_empty() && !said.is_empty() {
        return Err(Error::new(FAILED, said.trim().trim_start_matches("clreel: "), ""));
    }
    // Of two codes one may have been checked, and the other not.
    Ok(out.lines().chain(said.lines()).map(str::to_owned).collect())
}

impl Player<'_> {
    /// The button.
    pub(super) fn check_races(&mut self) {
        let (version, sources) = self.kernels.saved().unzip();
        let of = Checked { variant: self.frames.chosen().0, version };
        if let Err(error) = self.races.toggle(of, sources, &self.waker) {
            self.notify(error, false);
        }
    }
}
