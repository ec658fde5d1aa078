//! Requests to the builder, and the processing of its results for pipelines, statuses and messages.

use super::candidate::{Candidate, PreparedDevice};
use super::judging::Judging;
use super::running::RunningDevice;
use super::statuses::Statuses;
use crate::app::builder::{
    Builder, BuilderMessage, BuiltFilter, JudgedConversions, JudgedVariant, Part, Request, Start,
};
use crate::app::player::PlayerContext;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use box_filter::VariantId;
use engine::frame_loop::VariantStatus;
use engine::sharing::Sharing;
use engine::{Measurements, Need, Pipeline, TrialCase};
use opencl::cl::is_device_failure;
use opencl::machine_code::MachineCode;
use overlay::{Subject, Verdict};

/// A result of the builder that concerns edited kernels.
pub(crate) enum Finding {
    /// The verdict on the kernels of a variant or the YUV conversion, in the version of the edited kernels with this number.
    Verdict(u64, Subject, Verdict),
    /// The compiler's warnings about the kernels of a variant in the version with this number, which may run.
    Warnings(u64, VariantId, String),
    /// The verdict on the kernels of a variant in the version of the edited kernels with this number, which were built for the
    /// second side of a wipe between two versions.
    OtherVersion(VariantId, u64, Verdict),
    /// The machine code of a variant, built from the version of the edited kernels with this number.
    MachineCode(u64, VariantId, Result<MachineCode>),
    /// How the output of a running variant differs from the reference on noise, at the radius and size of the frames; `None` if
    /// it does not.
    Output(VariantId, Option<MismatchReport>),
    /// A variant, or the conversion, cannot be built or must not run, and why.
    Unavailable(Subject, Error),
}

/// Returns the variant that a part of the builder concerns, and its new status; `None` for parts without a variant.
fn status(part: &Part) -> Option<(VariantId, VariantStatus)> {
    match part {
        Part::Filter(filter) => Some((filter.id(), VariantStatus::Ready)),
        Part::NoVariant(id, error) => Some((*id, VariantStatus::Unavailable(error.clone()))),
        Part::Changed(_) | Part::Tried(..) => None,
        Part::Judged(judged) if judged.case.version.is_some() => None,
        Part::Judged(judged) => judged.made.as_ref().map(|_| (judged.case.variant, VariantStatus::Ready)),
        Part::JudgedConversions(_) | Part::Conversion(_) | Part::NoConversion(..) => None,
        Part::MachineCode(..) => None,
        Part::Corrector(_) | Part::NoCorrector(_) | Part::Scopes(_) | Part::Comparer(_) => None,
    }
}

/// Returns the error that makes a conversion or the colour correction unusable, if the part has one.
fn fault(part: &Part) -> Option<&Error> {
    match part {
        Part::NoConversion(_, _, error) | Part::NoCorrector(error) => Some(error),
        Part::Conversion(built) => built.3.as_ref(),
        _ => None,
    }
}

/// Adds a built filter to the pipeline of the context that it was built for.
fn add_filter(pipeline: &mut Pipeline, filter: BuiltFilter) {
    match filter {
        BuiltFilter::Variant(variant) => pipeline.variants.add(variant),
        BuiltFilter::Planar(filter) => pipeline.variants.add_planar(filter),
    }
}

/// Adds a part (a built program or a validation's result) to the pipeline of the context that the part was made for.
fn add(pipeline: &mut Pipeline, part: Part) {
    match part {
        Part::Filter(filter) => add_filter(pipeline, filter),
        Part::NoVariant(..) => {}
        Part::Changed(variant) => pipeline.trials.require_for(variant),
        Part::Tried(case, result) => pipeline.trials.record(case, result.map(drop)),
        Part::Judged(JudgedVariant { case, made: Some(made), is_changed, .. }) => {
            add_filter(pipeline, made);
            pipeline.trials.record_passed(case, is_changed);
        }
        Part::JudgedConversions(JudgedConversions { verdict, made, .. }) if !made.is_empty() => {
            pipeline.conversions.replace_all(made, !matches!(verdict, Verdict::Exact));
        }
        // The previous programs stay in use.
        Part::Judged(_) | Part::JudgedConversions(_) | Part::MachineCode(..) => {}
        Part::Conversion(built) => {
            let (program, layout, storage, error) = *built;
            pipeline.conversions.add(program, &layout, storage, error.is_some());
        }
        Part::NoConversion(layout, storage, _) => pipeline.conversions.refuse(&layout, storage),
        Part::Corrector(corrector) => pipeline.conversions.set_corrector(*corrector),
        Part::NoCorrector(_) => pipeline.conversions.refuse_corrector(),
        Part::Scopes(scopes) => pipeline.meters.set_scopes(*scopes),
        Part::Comparer(comparer) => pipeline.meters.set_comparer(*comparer),
    }
}

/// The window's side of the builder: the handle of its thread, and the state of requests to it.
pub(in crate::app::player) struct Builds {
    builder: Builder,
    judging: Judging,
    findings: Vec<Finding>,
    /// The newest version of the chosen variant's kernels, until a picture of it is on the screen.
    unseen: Option<u64>,
    restarts: u32,
}

impl Builds {
    /// Creates the state without requests.
    pub(super) fn new(builder: Builder) -> Self {
        Self { builder, judging: Judging::default(), findings: Vec::new(), unseen: None, restarts: 0 }
    }

    /// Returns the builder's next message.
    pub(super) fn poll(&self) -> Option<BuilderMessage> {
        self.builder.poll()
    }

    /// Notifies the builder when a picture of the newest version of the edited kernels is on the screen.
    pub(super) fn report_shown(&mut self, cx: &mut PlayerContext) {
        if let Some(version) = self.unseen.take_if(|_| !cx.frames.presenter.screen.is_outdated()) {
            self.builder.report_shown(version);
        }
    }

    /// Adds a part to the pipeline of the running device, and reports its errors. Returns the variant and the error if the
    /// device has failed with the chosen variant.
    pub(super) fn add_to_running(
        &mut self,
        part: Part,
        running: &mut RunningDevice,
        cx: &mut PlayerContext,
    ) -> Option<(VariantId, Error)> {
        let chosen = cx.frames.choice.filter().0;
        let cannot = match &part {
            Part::NoVariant(id, error) => Some((Subject::Variant(*id), error)),
            Part::Tried(case, Err(error)) if case.version.is_none() => {
                Some((Subject::Variant(case.variant), error))
            }
            Part::NoConversion(.., error) => Some((Subject::Conversion, error)),
            _ => None,
        };
        if let Some((subject, error)) = cannot.filter(|(_, error)| !is_device_failure(error)) {
            self.findings.push(Finding::Unavailable(subject, error.clone()));
        }
        match &part {
            // The verdict on the newer kernels decides.
            Part::NoVariant(id, error)
                if !is_device_failure(error) && self.judging.is_pending(*id, error) =>
            {
                return None;
            }
            Part::NoVariant(id, error) if *id == chosen && is_device_failure(error) => {
                return Some((*id, error.clone()));
            }
            // Reported when all have been tried.
            Part::NoVariant(_, error) if is_device_failure(error) => {}
            Part::NoVariant(id, error) if *id == chosen => show_unfiltered(error, cx),
            Part::NoVariant(_, error) => cx.notify(error.clone(), false),
            Part::Tried(TrialCase { variant, version: Some(version), .. }, Ok(Some(_))) => {
                cx.frames.recorder.shown.version_verified(*variant, *version, true);
            }
            Part::Tried(TrialCase { version: Some(_), .. }, Ok(None)) => {}
            Part::Tried(case, Ok(report)) => {
                self.findings.push(Finding::Output(case.variant, report.clone()));
                if report.is_some() {
                    cx.frames.kernels_changed(case.variant, None, true);
                }
            }
            Part::MachineCode(version, variant, code) => {
                self.findings.push(Finding::MachineCode(*version, *variant, code.clone()));
            }
            Part::Judged(judged) => self.take_verdict(judged, &mut running.statuses, cx),
            Part::JudgedConversions(JudgedConversions { version, verdict, made }) => {
                self.findings.push(Finding::Verdict(*version, Subject::Conversion, verdict.clone()));
                if !made.is_empty() {
                    cx.frames.outdate_pictures();
                }
            }
            _ => {}
        }
        if let Some(error) = fault(&part) {
            cx.notify(error.clone(), false);
            cx.frames.outdate_pictures();
        }
        if let Some((id, status)) = status(&part) {
            if id == chosen && status == VariantStatus::Ready {
                cx.frames.waits_for_filter = false;
            }
            running.statuses.set(id, status);
            running.report_failed_trials(cx);
        }
        cx.frames.filters.workers.with_pipeline(move |pipeline| add(pipeline, part));
        None
    }

    /// Processes the verdict on a variant of the edited kernels: updates the variant's status and the statistics, and stores
    /// the finding.
    fn take_verdict(&mut self, judged: &JudgedVariant, statuses: &mut Statuses, cx: &mut PlayerContext) {
        let (version, variant) = (judged.version, judged.case.variant);
        if judged.case.version.is_some() {
            if judged.made.is_some() {
                let differs = !matches!(judged.verdict, Verdict::Exact);
                cx.frames.recorder.shown.version_verified(variant, version, differs);
            }
            self.findings.push(Finding::OtherVersion(variant, version, judged.verdict.clone()));
            return;
        }
        let chosen = cx.frames.choice.filter().0;
        self.findings.push(Finding::Verdict(version, Subject::Variant(variant), judged.verdict.clone()));
        if judged.made.is_some() && !judged.warnings.is_empty() {
            self.findings.push(Finding::Warnings(version, variant, judged.warnings.clone()));
        }
        if judged.made.is_some() {
            let differs = !matches!(judged.verdict, Verdict::Exact);
            cx.frames.kernels_changed(variant, Some(version), differs);
            if variant == chosen {
                self.unseen = Some(version);
            }
        }
        let refused = match &judged.verdict {
            Verdict::Refused(error) => Some(error),
            Verdict::Exact | Verdict::Differs(_) => None,
        };
        let cannot = self.judging.take(version, variant, refused);
        // The user's own kernel has no earlier version that could continue.
        let is_first =
            variant == VariantId::Own && statuses.get(VariantId::Own) == Some(&VariantStatus::Building);
        if let Some(error) = refused.filter(|_| cannot || is_first) {
            statuses.set(variant, VariantStatus::Unavailable(error.clone()));
            if chosen == variant {
                show_unfiltered(error, cx);
            }
        }
    }

    /// Returns the number of restarts of the builder for the running device; requests from before a restart may never be
    /// answered.
    pub(in crate::app::player) fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Records that validation of these variants of a version of the edited kernels begins: errors of earlier versions do not
    /// make them unavailable meanwhile.
    pub(in crate::app::player) fn begin_judging(
        &mut self,
        running: &mut RunningDevice,
        version: u64,
        variants: &[VariantId],
    ) {
        self.judging.begin(&mut running.statuses.0, version, variants);
    }

    /// Forgets which variants are being validated. For callers that set the variants' statuses themselves from now on.
    pub(super) fn forget_judging(&mut self) {
        self.judging.forget();
    }

    /// Sends a request to the builder.
    pub(in crate::app::player) fn request(&self, request: Request) {
        self.builder.request(request);
    }

    /// Makes a variant the preferred one, which is built before the others.
    pub(super) fn prefer(&self, id: VariantId) {
        self.builder.prefer(id);
    }

    /// Removes and returns the results about edited kernels that arrived since the last call.
    pub(in crate::app::player) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Starts to build all programs for a context. If the builder's thread is stuck in a call of another device's driver, a new
    /// thread replaces it.
    pub(super) fn start(&mut self, start: Start, cx: &mut PlayerContext) {
        if self.builder.is_stalled_for_other(start.number) {
            let renewed = self.builder.renew(cx.args.trial.timeouts.kernel_timeout, &cx.waker);
            cx.or_notify(renewed);
        }
        self.builder.prefer(cx.frames.choice.filter().0);
        self.builder.request(Request::Start(start));
    }

    /// If the builder's thread is stuck in a call of the previous device's driver, continues the work for the prepared device
    /// on a new thread.
    pub(super) fn avoid_stalled(&mut self, prepared: Option<&PreparedDevice>, cx: &mut PlayerContext) {
        let stalled = |prepared: &&PreparedDevice| self.builder.is_stalled_for_other(prepared.number);
        if let Some(start) = prepared.filter(stalled).map(|prepared| prepared.start.clone()) {
            self.start(start, cx);
        }
    }

    /// Restarts the builder for the running device, after it worked for a device that cannot be used, or if nothing could be
    /// built before. Requests without an answer may be lost, so the pipeline repeats them.
    pub(in crate::app::player) fn restart(&mut self, running: &RunningDevice, cx: &mut PlayerContext) {
        let Some(number) = running.number() else { return };
        // Variants that were being judged are built with the others.
        self.judging.forget();
        self.restarts += 1;
        let variants = running.statuses.building();
        let to_texture = *running.sharing() == Sharing::ZeroCopy;
        let Some(requests) = self.builder.sender() else { return };
        cx.frames.filters.workers.forget_requests();
        cx.frames.filters.workers.with_pipeline(move |pipeline| {
            let (cl, corrector) = (pipeline.cl().clone(), !pipeline.conversions.can_correct());
            // The window may be gone.
            let _ = requests.send(Request::Start(Start { number, cl, to_texture, variants, corrector }));
        });
    }

    /// Requests from the builder what frames needed and did not have: the programs for scopes, comparison and conversions, and
    /// validations of edited kernels. Also requests checks of the conversions in use.
    ///
    /// Does nothing while another device is being prepared, since the builder then works for that device. Frames continue
    /// without the missing programs, or wait for the new device if a filter on planes needs a conversion.
    pub(super) fn request_missing(&self, candidate: &Candidate, cx: &mut PlayerContext) {
        if candidate.device().is_some() {
            return;
        }
        let (measures, compares) =
            (cx.frames.choice.measuring() != Measurements::default(), cx.frames.wipe.compares());
        let measured_size = cx.frames.presenter.screen.size().filter(|_| measures);
        for need in cx.frames.filters.workers.take_needs(measured_size, compares) {
            self.request(match need {
                Need::Scopes(size) => Request::Scopes(size),
                Need::Comparer => Request::Comparer,
                Need::Conversion(layout, storage) => Request::Convert(layout, storage),
                Need::Trial(case) => Request::Try(case),
                Need::Check(check) => Request::Check(check),
            });
        }
    }

    /// Ends the builder. Returns true if its thread has ended and dropped its context, false if the thread may still run.
    #[must_use]
    pub(super) fn shut_down(&mut self) -> bool {
        self.builder.shut_down()
    }
}

impl PreparedDevice {
    /// Adds a part from the builder to the prepared device's pipeline and statuses.
    pub(super) fn add(&mut self, part: Part) {
        if let Some((id, status)) = status(&part) {
            self.statuses.set(id, status);
        }
        if let Some(pipeline) = self.held.pipeline_mut() {
            add(pipeline, part);
        }
    }
}

/// Chooses `off` because the chosen variant cannot be built, and shows the error.
fn show_unfiltered(error: &Error, cx: &mut PlayerContext) {
    cx.choose_off();
    let hint = format!("{} The movie is shown unfiltered.", error.hint).trim_start().to_owned();
    cx.notify(Error { hint, ..error.clone() }, true);
}
