//! The Lab's ladder in spare time. In: what the window does. Out: leave for the next step, only while the movie stands still: no
//! frame is timed then, and nothing of the movie runs beside what the ladder times.

use super::Player;
use crate::app::lab::{Measuring, Order, Told};
use base::error::Error;
use base::jobs::Said;
use overlay::{Lab, LabState, Wait};

/// What the Lab measures.
pub(super) struct SpareLab {
    measuring: Option<Measuring>,
    /// The step that waits for leave.
    next: Option<String>,
    shown: Lab,
}

impl Default for SpareLab {
    fn default() -> Self {
        Self { measuring: None, next: None, shown: Lab::NONE }
    }
}

impl SpareLab {
    /// What the overlay shows of it.
    pub(crate) fn shown(&self) -> &Lab {
        &self.shown
    }

    /// Whether it has the device for itself.
    pub(crate) fn measures(&self) -> bool {
        matches!(self.shown.state, LabState::Running(_) | LabState::Ending(_))
    }

    /// Ends it.
    pub(crate) fn stop(&mut self) {
        (self.measuring, self.next) = (None, None);
        if self.shown.is_under_way() {
            self.shown.state = LabState::Stopped;
        }
    }

    /// Ends its process.
    pub(crate) fn shut_down(&mut self) {
        self.measuring.iter_mut().for_each(Measuring::shut_down);
    }

    fn fail(&mut self, error: &Error) {
        (self.measuring, self.next) = (None, None);
        self.shown.state = LabState::Failed(format!("{} {}", error.what, error.why).trim().to_owned());
    }

    fn told(&mut self, told: Told) {
        (self.shown.steps, self.next) = (told.steps, told.next);
        if !told.rows.is_empty() {
            (self.shown.limit, self.shown.rows, self.shown.remark) = (told.limit, told.rows, told.remark);
        }
    }

    /// Takes what it has said since; whether there was something.
    fn listen(&mut self) -> bool {
        let mut is_new = false;
        while let Some(said) = self.measuring.as_ref().and_then(Measuring::poll) {
            is_new = true;
            match said {
                Said::Progress(told) => self.told(told),
                Said::Done(Ok(())) => {
                    (self.measuring, self.next) = (None, None);
                    self.shown.state = LabState::Done;
                }
                Said::Done(Err(error)) => self.fail(&error),
            }
        }
        is_new
    }

    /// Lets the next step begin where nothing stands in the way; whether what is shown has changed.
    fn go_on(&mut self, obstacle: Option<Wait>) -> bool {
        let Some(measuring) = &self.measuring else { return false };
        let state = match (obstacle, &self.next) {
            (None, Some(next)) => {
                measuring.let_go_on();
                let state = LabState::Running(next.clone());
                self.next = None;
                state
            }
            (Some(reason), Some(_)) => LabState::Waiting(reason),
            (Some(reason), None) => LabState::Ending(reason),
            (None, None) if matches!(self.shown.state, LabState::Running(_)) => return false,
            (None, None) => LabState::Running("goes on".to_owned()),
        };
        let is_new = state != self.shown.state;
        self.shown.state = state;
        is_new
    }
}

impl Player<'_> {
    /// Takes what was measured, and lets it go on where the moment allows. What is new is drawn first, so that drawing does not
    /// run beside the next step.
    pub(super) fn look_after_lab(&mut self) {
        let is_new = self.lab.listen();
        if is_new || self.lab.go_on(self.lab_waits_for()) {
            self.repaints.soon();
        }
    }

    /// Why nothing is to be measured now, if so.
    fn lab_waits_for(&self) -> Option<Wait> {
        let still = self.frames.is_paused() || self.frames.is_finished() || self.frames.is_still();
        if !still {
            Some(Wait::Plays)
        } else if self.frames.is_slow() || self.frames.busy().is_some() || self.frames.is_awaiting() {
            Some(Wait::Filter)
        } else if self.check.shown().is_under_way() {
            Some(Wait::Check)
        } else {
            None
        }
    }

    /// The button.
    pub(super) fn measure(&mut self, ladder: &str, size: &'static str) {
        self.lab.stop();
        let Some(ladder) = ladders::all().into_iter().find(|one| one.name == ladder) else { return };
        self.lab.shown = Lab { of: Some((ladder.name, size)), ..Lab::NONE };
        self.repaints.soon();
        let Some(device) = self.devices.running() else {
            let why = "There is no OpenCL device that is ready.";
            self.lab.shown.state = LabState::Failed(why.to_owned());
            return;
        };
        let info = &device.info;
        let limits = [self.args.trial.limit(), self.args.device_timeout.limit()];
        let kernels = self.kernels.shown().folder.clone();
        let order = Order { ladder, size, device: (info.index, info.name.clone()), limits, kernels };
        self.lab.shown.device.clone_from(&info.name);
        match Measuring::begin(order, &self.waker) {
            Ok(measuring) => {
                self.lab.measuring = Some(measuring);
                self.lab.shown.state = LabState::Running("the drivers are loaded".to_owned());
            }
            Err(error) => self.lab.fail(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stopped_keeps_what_it_has_measured() {
        let mut lab = SpareLab::default();
        lab.shown.state = LabState::Waiting(Wait::Plays);
        lab.shown.steps = (3, 9);
        lab.stop();
        assert_eq!((&lab.shown.state, lab.shown.steps), (&LabState::Stopped, (3, 9)));
        lab.shown.state = LabState::Done;
        lab.stop();
        assert_eq!(lab.shown.state, LabState::Done);
        assert!(!lab.go_on(None), "nothing is under way");
    }
}
