//! Whether devices share textures with the window. In: what is known of them from earlier starts. Out: an answer for each;
//! a child process gives those that are missing, on a thread that waits for it, while the movie plays. That thread and the
//! devices' own read and write the file.
//!
//! Sharing with a device is tried in this process only after a child has come through the same.

use std::sync::Arc;

use super::Devices;
use crate::app::player::With;
use crate::probe::{self, Known, Tested};
use base::jobs::{Job, Said, Teller};
use engine::sharing::Sharing;
use opencl::cl::{Device, DeviceInfo};
use opencl::watch;

/// What is asked, and what is kept of the answers.
#[derive(Default)]
pub(super) struct Asking {
    known: Option<Arc<Known>>,
    /// Devices by their indices, as long as answers are missing.
    answers: Option<Job<(), (usize, Tested)>>,
}

impl Asking {
    /// What is to be done on a device's thread right before sharing with it is tried in this process.
    pub(super) fn begin(&self, device: &Device) -> impl FnOnce() + Send + use<> {
        self.tell(device, Known::begin)
    }

    /// The same when it has come through.
    pub(super) fn remember(&self, device: &Device, sharing: &Sharing) -> impl FnOnce() + Send + use<> {
        let sharing = sharing.clone();
        self.tell(device, move |known, info| known.remember(info, &sharing))
    }

    fn tell<T: FnOnce(&Known, &DeviceInfo) + Send>(
        &self,
        device: &Device,
        tell: T,
    ) -> impl FnOnce() + Send + use<T> {
        let (known, info) = (self.known.clone(), device.info.clone());
        move || {
            // It is the disk that is waited for here.
            let _host = watch::on_host();
            if let Some(known) = known {
                tell(&known, &info);
            }
        }
    }
}

impl Devices {
    /// Looks up what is known of the devices, and has a child asked about the others. With `--no-sharing` nothing is
    /// asked.
    pub(super) fn ask_about_sharing(&mut self, with: &mut With) {
        if with.args.no_sharing {
            for learnt in &mut self.learnt {
                learnt.tested = Some(Tested::unknown("--no-sharing was given"));
            }
            return;
        }
        let known = Arc::new(Known::with(&with.gl_window.renderer));
        self.asking.known = Some(known.clone());
        let (devices, interface) = (self.all.clone(), with.gl_window.interface());
        // Not waited for: it ends with the process, and its child with it.
        let ask = move |teller: &Teller<(), _>| {
            let mut unknown = Vec::new();
            for (at, device) in devices.iter().enumerate() {
                match known.get(&device.info) {
                    Some(tested) => drop(teller.tell((at, tested))),
                    None => unknown.push(at),
                }
            }
            probe::ask_about(&devices, unknown, interface, &mut |at, tested| {
                if let Some(device) = devices.get(at).filter(|_| tested.survived) {
                    known.remember_test(&device.info, &tested);
                }
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
            learnt.tested.get_or_insert_with(|| Tested::unknown(why));
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
