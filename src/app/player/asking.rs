//! Whether devices share textures with the window. In: what is known of them from earlier starts. Out: an answer for each;
//! a child process gives those that are missing, on a thread that waits for it, while the movie plays.
//!
//! Sharing with a device is tried in this process only after a child has come through the same.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::Player;
use crate::gpu::cl::Device;
use crate::gpu::probe::{self, Known, Tested};
use crate::gpu::sharing::Sharing;

/// What is asked, and what is kept of the answers.
#[derive(Default)]
pub(super) struct Asking {
    known: Option<Known>,
    /// Devices by their places, as long as answers are missing.
    answers: Option<Receiver<(usize, Tested)>>,
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

impl Player<'_> {
    /// Looks up what is known of the devices, and has a child asked about the others. With `--no-sharing` nothing is
    /// asked.
    pub(super) fn ask_about_sharing(&mut self) {
        if self.args.no_sharing {
            let sharing = Sharing::copy("--no-sharing was given");
            for learnt in &mut self.devices.learnt {
                learnt.tested = Some(Tested { sharing: sharing.clone(), survived: false });
            }
            return;
        }
        let known = Known::with(&self.gl_window.opengl());
        for (device, learnt) in self.devices.all.iter().zip(&mut self.devices.learnt) {
            learnt.tested = known.get(&device.info).map(|sharing| Tested { sharing, survived: true });
        }
        self.devices.asking.known = Some(known);
        let unknown = self.devices.learnt.iter().enumerate().filter(|(_, learnt)| learnt.tested.is_none());
        let unknown: Vec<usize> = unknown.map(|(at, _)| at).collect();
        if unknown.is_empty() {
            return;
        }
        let (sender, answers) = channel();
        let (devices, interface) = (self.devices.all.clone(), self.gl_window.interface());
        let waker = self.waker.clone();
        self.devices.asking.answers = Some(answers);
        // Not joined: it ends with the process, and its child with it.
        let _ = std::thread::Builder::new().name("ask-sharing".into()).spawn(move || {
            probe::ask_about(&devices, unknown, interface, &mut |at, tested| {
                // The window may be gone.
                let _ = sender.send((at, tested));
                waker();
            });
            drop(sender);
            waker();
        });
    }

    /// Takes the answers that are there.
    pub(super) fn take_answers(&mut self) {
        let Some(answers) = self.devices.asking.answers.take() else { return };
        loop {
            match answers.try_recv() {
                Ok((at, tested)) => {
                    if tested.survived
                        && let Some(device) = self.devices.all.get(at)
                    {
                        self.devices.asking.remember(device, &tested.sharing);
                    }
                    if let Some(learnt) = self.devices.learnt.get_mut(at) {
                        learnt.tested = Some(tested);
                    }
                    self.repaint_after(std::time::Duration::ZERO);
                }
                Err(TryRecvError::Empty) => {
                    self.devices.asking.answers = Some(answers);
                    return;
                }
                Err(TryRecvError::Disconnected) => {
                    for learnt in &mut self.devices.learnt {
                        learnt.tested.get_or_insert_with(|| Tested {
                            sharing: Sharing::copy("the test of sharing gave no answer"),
                            survived: false,
                        });
                    }
                    return;
                }
            }
        }
    }

    /// Whether sharing may be tried with this device, or why not; `None` while that is not known.
    pub(super) fn may_share(&self, device: &Device) -> Option<Result<(), String>> {
        let at = self.devices.all.iter().position(|d| d.info.index == device.info.index);
        let Some(learnt) = at.and_then(|at| self.devices.learnt.get(at)) else {
            return Some(Err("its driver does not list it any more".to_owned()));
        };
        let tested = learnt.tested.as_ref()?;
        Some(if tested.survived { Ok(()) } else { Err(tested.sharing.reason().to_owned()) })
    }
}
