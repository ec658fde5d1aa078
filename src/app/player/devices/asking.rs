//! Whether devices share textures with the window. In: what is known of them from earlier starts. Out: an answer for each;
//! a child process gives those that are missing, on a thread that waits for it, while the movie plays.
//!
//! Sharing with a device is tried in this process only after a child has come through the same.

use super::Devices;
use crate::app::player::With;
use crate::gpu::cl::Device;
use crate::gpu::probe::{self, Known, Tested};
use crate::gpu::sharing::Sharing;
use crate::jobs::{Job, Said, Teller};

/// What is asked, and what is kept of the answers.
#[derive(Default)]
pub(super) struct Asking {
    known: Option<Known>,
    /// Devices by their places, as long as answers are missing.
    answers: Option<Job<(), (usize, Tested)>>,
}

impl Asking {
    /// Sharing with this device is about to be tried in this process.
    pub(crate) fn begin(&self, device: &Device) {
        if let Some(known) = &self.known {
            known.begin(&device.info);
        }
    }

    /// It has come through.
    pub(crate) fn remember(&self, device: &Device, sharing: &Sharing) {
        if let Some(known) = &self.known {
            known.remember(&device.info, sharing);
        }
    }
}

impl Devices {
    /// Looks up what is known of the devices, and has a child asked about the others. With `--no-sharing` nothing is
    /// asked.
    pub(super) fn ask_about_sharing(&mut self, with: &mut With) {
        if with.args.no_sharing {
            let sharing = Sharing::copy("--no-sharing was given");
            for learnt in &mut self.learnt {
                learnt.tested = Some(Tested { sharing: sharing.clone(), survived: false });
            }
            return;
        }
        let known = Known::with(&with.gl_window.opengl());
        for (device, learnt) in self.all.iter().zip(&mut self.learnt) {
            learnt.tested = known.get(&device.info).map(|sharing| Tested { sharing, survived: true });
        }
        self.asking.known = Some(known);
        let unknown = self.learnt.iter().enumerate().filter(|(_, learnt)| learnt.tested.is_none());
        let unknown: Vec<usize> = unknown.map(|(at, _)| at).collect();
        if unknown.is_empty() {
            return;
        }
        let (devices, interface) = (self.all.clone(), with.gl_window.interface());
        // Not waited for: it ends with the process, and its child with it.
        let ask = move |teller: &Teller<(), _>| {
            probe::ask_about(&devices, unknown, interface, &mut |at, tested| {
                let _ = teller.tell((at, tested));
            });
            Ok(())
        };
        match Job::spawn("ask-sharing", "Devices could not be asked whether they share.", with.waker, ask) {
            Ok(job) => self.asking.answers = Some(job),
            Err(error) => self.no_answers(&error.why),
        }
    }

    /// Takes the answers that are there.
    pub(super) fn take_answers(&mut self, with: &mut With) {
        let Some(answers) = self.asking.answers.take() else { return };
        loop {
            match answers.poll() {
                Some(Said::Progress((at, tested))) => {
                    if tested.survived
                        && let Some(device) = self.all.get(at)
                    {
                        self.asking.remember(device, &tested.sharing);
                    }
                    if let Some(learnt) = self.learnt.get_mut(at) {
                        learnt.tested = Some(tested);
                    }
                    with.repaints.soon();
                }
                None => {
                    self.asking.answers = Some(answers);
                    return;
                }
                Some(Said::Done(_)) => return self.no_answers("the test of sharing gave no answer"),
            }
        }
    }

    /// No more answers come: devices that are not known share nothing.
    fn no_answers(&mut self, why: &str) {
        for learnt in &mut self.learnt {
            let none = || Tested { sharing: Sharing::copy(why), survived: false };
            learnt.tested.get_or_insert_with(none);
        }
    }

    /// Whether sharing may be tried with this device, or why not; `None` while that is not known.
    pub(super) fn may_share(&self, device: &Device) -> Option<Result<(), String>> {
        let at = self.all.iter().position(|d| d.info.index == device.info.index);
        let Some(learnt) = at.and_then(|at| self.learnt.get(at)) else {
            return Some(Err("its driver does not list it any more".to_owned()));
        };
        let tested = learnt.tested.as_ref()?;
        Some(if tested.survived { Ok(()) } else { Err(tested.sharing.reason().to_owned()) })
    }
}
