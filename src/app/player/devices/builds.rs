//! The window's requests to the builder (the thread that compiles programs), and the processing of the builder's results.

use super::*;
use crate::app::builder::{Start, Validated};
use engine::TrialCase;
use engine::frame_loop::SecondFilter;
use overlay::{Subject, Validation};
use stats::Measurements;

/// The window's handle of the builder, results that the window has yet to process, and the state of requests.
pub(crate) struct Builds {
    pub builder: Builder,
    /// The results for the device in use that [`LiveKernels`](super::super::kernels::LiveKernels) has yet to process.
    pub news: Vec<News>,
    /// The number of the newest version of the chosen variant's kernels until a picture made with it is on the screen; `None`
    /// afterwards.
    pub(super) unseen: Option<u64>,
    /// The number of the context for which the version on the second side of a wipe was built; `None` if none was built.
    pub wiped_on: Option<u64>,
    /// The number of times that the builder was restarted for the device in use. Requests from before a restart may stay
    /// unanswered.
    pub restarts: u32,
}

impl Builds {
    /// Notifies the builder once a picture made with the newest version of the edited kernels is on the screen.
    pub(super) fn report_shown(&mut self, cx: &mut PlayerContext) {
        if let Some(version) = self.unseen.take_if(|_| !cx.frames.presenter.screen.is_outdated()) {
            self.builder.report_shown(version);
        }
    }

    /// Adds the programs of a builder's result to the pipeline of the device in use, and shows the result's error, if there is
    /// one. If the device itself failed with the chosen variant, returns the variant and the error.
    pub(super) fn add_to_running(
        &mut self,
        part: Part,
        running: &mut RunningDevice,
        cx: &mut PlayerContext,
    ) -> Option<(VariantId, Error)> {
        let chosen = cx.chosen();
        match &part.news {
            News::Variant(id, Ok(())) => {
                cx.frames.waits_for_filter &= *id != chosen;
                running.statuses.set(*id, VariantStatus::Ready);
                running.report_failed_trials(cx);
            }
            News::Variant(id, Err(error)) => {
                match is_device_failure(error) {
                    true if *id == chosen => return Some((*id, error.clone())),
                    // The error is reported once no variant is being built any more.
                    true => {}
                    // The result of validating the newer kernels decides.
                    false if running.statuses.is_validating(*id) => {}
                    false if *id == chosen => show_unfiltered(error, cx),
                    false => cx.notify(error.clone(), false),
                }
                running.statuses.set(*id, VariantStatus::Unavailable(error.clone()));
                running.report_failed_trials(cx);
            }
            News::Tried(TrialCase { variant, version: Some(version), .. }, Ok(Some(_))) => {
                cx.frames.recorder.shown.scores.leave_out(*variant, *version, true);
            }
            News::Tried(TrialCase { variant, version: None, .. }, Ok(Some(_))) => {
                cx.frames.kernels_changed(*variant, None, true);
            }
            News::Validated(validated) => self.take_verdict(validated, running, cx),
            News::NoConversion(error) | News::Replaced(error) => {
                cx.notify(error.clone(), false);
                cx.frames.outdate_pictures();
            }
            News::Installed | News::Tried(..) | News::MachineCode(..) | News::Member(..) => {}
        }
        cx.frames.filters.workers.with_pipeline(part.install);
        self.news.push(part.news);
        None
    }

    /// Updates the status of a variant, the statistics and the wipe from the result of validating the variant's edited kernels.
    fn take_verdict(&mut self, validated: &Validated, running: &mut RunningDevice, cx: &mut PlayerContext) {
        let (version, may_run) = (validated.version, validated.validation.may_run());
        let Subject::Variant(variant) = validated.subject else {
            if may_run {
                cx.frames.outdate_pictures();
            }
            return;
        };
        let (chosen, differs) = (cx.chosen(), validated.validation != Validation::Exact);
        let refused = validated.validation.refusal();
        if let Some(settings) = validated.second_side {
            if let Some(error) = refused {
                return cx.notify(error.clone(), true);
            }
            cx.frames.recorder.shown.scores.leave_out(variant, version, differs);
            let second = SecondFilter { filter: (variant, settings), version: Some(version) };
            cx.frames.wipe.set_second(Some(second));
            self.wiped_on = running.number();
            return;
        }
        if may_run {
            cx.frames.kernels_changed(variant, Some(version), differs);
            if variant == chosen {
                (self.unseen, cx.frames.waits_for_filter) = (Some(version), false);
            }
        }
        if let (true, Some(error)) = (running.statuses.take_verdict(version, variant, refused), refused)
            && variant == chosen
        {
            show_unfiltered(error, cx);
        }
        running.report_failed_trials(cx);
    }

    /// Starts to build all programs for a context. If the builder's thread is stuck in a driver call for another context, a new
    /// thread replaces it.
    pub(super) fn start(&mut self, start: Start, cx: &mut PlayerContext) {
        if self.builder.is_stalled_for_other(start.number) {
            self.builder.renew(cx.args.trial.timeouts.kernel_timeout, &cx.waker);
        }
        self.builder.prefer(cx.chosen());
        self.builder.request(Request::Start(start));
    }

    /// Restarts the builder for the device in use, after the builder has worked for a device that cannot be used, or if nothing
    /// could be built before. Unanswered requests may be lost, so the pipeline repeats them.
    pub(crate) fn restart(&mut self, running: &mut RunningDevice, cx: &mut PlayerContext) {
        let Some(number) = running.number() else { return };
        self.restarts += 1;
        let variants = running.statuses.rebuild();
        let to_texture = running.sharing == Sharing::ZeroCopy;
        let Some(requests) = self.builder.requests.clone() else { return };
        cx.frames.filters.workers.forget_requests();
        cx.frames.filters.workers.with_pipeline(move |pipeline| {
            let (cl, corrector) = (pipeline.cl.clone(), !pipeline.conversions.can_correct());
            // The window may be gone.
            let _ = requests.send(Request::Start(Start { number, cl, to_texture, variants, corrector }));
        });
    }

    /// Requests from the builder the programs and trials that frames need and that are missing: programs for scopes, comparison
    /// and conversions, and trials of edited kernels. Also requests checks of the conversions in use.
    ///
    /// Does nothing while another device is being prepared, since the builder then works for that device. Frames continue
    /// without the missing programs, or wait for the new device if a filter on planes needs a conversion.
    pub(super) fn request_missing(&self, candidate: &Candidate, cx: &mut PlayerContext) {
        if candidate.device().is_some() {
            return;
        }
        let (measures, compares) =
            (cx.frames.choice.measuring != Measurements::default(), cx.frames.wipe.compares());
        let measured_size = cx.frames.presenter.screen.size().filter(|_| measures);
        for need in cx.frames.filters.workers.take_needs(measured_size, compares) {
            self.builder.request(Request::Need(need));
        }
    }
}

/// Shows the error for which the chosen variant cannot be built, and chooses `off` (no filter).
fn show_unfiltered(error: &Error, cx: &mut PlayerContext) {
    cx.choose_off();
    let hint = format!("{} The movie is shown unfiltered.", error.hint).trim_start().to_owned();
    cx.notify(Error { hint, ..error.clone() }, true);
}
