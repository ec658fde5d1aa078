//! The button for Oclgrind. In: a variant, the folder of kernels. Out: `clreel check-kernels` in a process of its own, and what it
//! has found, for the overlay.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Player;
use crate::error::{Error, Result};
use crate::gpu::process::lower_priority;
use crate::jobs::{Job, Said, Teller, Waker};
use crate::ladders::box_filter::VariantId;
use crate::overlay::Races;

const FAILED: &str = "The kernels could not be checked for races.";
/// Kernels that never end do not do so under Oclgrind either.
const LIMIT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
/// The most that is read of what it says, in bytes; it tells a few faults of each kernel.
const MOST: u64 = 256 << 10;

/// The check, under way or over.
#[derive(Default)]
pub(super) struct RaceCheck {
    job: Option<Job<Vec<String>, u64>>,
    of: Option<VariantId>,
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

    /// Ends it, or begins it for a variant.
    fn toggle(&mut self, variant: VariantId, folder: Option<String>, waker: &Waker) -> Result<()> {
        if self.job.take().is_some() {
            self.shown = Races::Unknown;
            return Ok(());
        }
        let work = move |teller: &Teller<Vec<String>, u64>| check(variant, folder.as_deref(), teller);
        self.job = Some(Job::spawn("races", FAILED, waker, work)?);
        (self.of, self.shown) = (Some(variant), Races::Checking(variant, 0));
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

fn check(variant: VariantId, folder: Option<&str>, teller: &Teller<Vec<String>, u64>) -> Result<Vec<String>> {
    lower_priority();
    let failed = |e: std::io::Error| Error::new(FAILED, format!("{e}."), "Try `clreel check-kernels`.");
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["check-kernels", "--variant", variant.as_str()]);
    if let Some(folder) = folder {
        command.args(["--kernels", folder]);
    }
    // Oclgrind is a driver that takes long to load, on a busy machine longer.
    command.env("CLREEL_DRIVER_TIMEOUT", LIMIT.as_secs().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
    Ok(out.lines().map(str::to_owned).collect())
}

impl Player<'_> {
    /// The button.
    pub(super) fn check_races(&mut self) {
        let (variant, folder) = (self.frames.chosen().0, self.kernels.shown().folder.clone());
        if let Err(error) = self.races.toggle(variant, folder, &self.waker) {
            self.notify(error, false);
        }
    }
}
