//! What the builder is asked for and what comes of it. In: [`Built`] messages. Out: pipelines that have more variants and
//! conversions, and what the overlay says of them.

use super::Devices;
use crate::app::builder::{Asm, Built, Judge, Judged, JudgedConversions, Made, Part, Start};
use crate::app::player::With;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use box_filter::VariantId;
use engine::Pipeline;
use engine::frame_loop::VariantStatus;
use engine::sharing::Sharing;
use opencl::cl::is_device_failure;
use opencl::machine_code::MachineCode;
use overlay::{Subject, Verdict};

/// What was found of changed kernels.
pub(crate) enum Opinion {
    /// What a version's kernels of a variant, or of the conversion, do.
    Of(u64, Subject, Verdict),
    /// What the device runs for a version of a variant.
    Runs(u64, VariantId, Result<MachineCode>),
    /// What the variant that runs makes at this radius and size, of noise.
    Ran(VariantId, Option<MismatchReport>),
    /// A variant, or the conversion, cannot be built, or must not run.
    CannotRun(Subject, Error),
}

/// Notes what is to be said of a variant.
pub(super) fn set(all: &mut [(VariantId, VariantStatus)], id: VariantId, status: VariantStatus) {
    if let Some(entry) = all.iter_mut().find(|(v, _)| *v == id) {
        entry.1 = status;
    }
}

/// The variants that the device failed with when they were tried.
pub(super) fn failed_trials(all: &[(VariantId, VariantStatus)]) -> impl Iterator<Item = (VariantId, &Error)> {
    all.iter().filter_map(|(id, status)| match status {
        VariantStatus::Unavailable(error) if is_device_failure(error) => Some((*id, error)),
        _ => None,
    })
}

/// What a part says of a variant; `None` of what serves them all.
fn status(part: &Part) -> Option<(VariantId, VariantStatus)> {
    match part {
        Part::Variant(variant) => Some((variant.id(), VariantStatus::Ready)),
        Part::Planar(filter) => Some((filter.id(), VariantStatus::Ready)),
        Part::NoVariant(id, error) => Some((*id, VariantStatus::Unavailable(error.clone()))),
        Part::Changed(_) | Part::Tried(..) => None,
        Part::Judged(judged) => judged.made.as_ref().map(|_| (judged.case.variant, VariantStatus::Ready)),
        Part::JudgedConversions(_) | Part::Conversion(_) | Part::NoConversion(..) => None,
        Part::MachineCode(..) => None,
        Part::Corrector(_) | Part::NoCorrector(_) | Part::Scopes(_) | Part::Comparer(_) => None,
    }
}

/// Why what has converted or corrected pictures, or would have, does so no more.
fn distrust(part: &Part) -> Option<&Error> {
    match part {
        Part::NoConversion(_, _, error) | Part::NoCorrector(error) => Some(error),
        Part::Conversion(built) => built.3.as_ref(),
        _ => None,
    }
}

/// Gives a pipeline what was built for it.
fn add(pipeline: &mut Pipeline, part: Part) {
    match part {
        Part::Variant(variant) => pipeline.add(variant),
        Part::Planar(filter) => pipeline.add_planar(filter),
        Part::NoVariant(..) => {}
        Part::Changed(variant) => pipeline.must_try(variant),
        Part::Tried(case, result) => pipeline.tried(case, result.map(drop)),
        Part::Judged(Judged { case, made: Some(made), is_changed, .. }) => {
            match made {
                Made::Variant(variant) => pipeline.add(variant),
                Made::Planar(filter) => pipeline.add_planar(filter),
            }
            pipeline.was_judged(case, is_changed);
        }
        Part::JudgedConversions(JudgedConversions { verdict, made, .. }) if !made.is_empty() => {
            pipeline.conversions_judged(made, !matches!(verdict, Verdict::Exact));
        }
        // What was there goes on.
        Part::Judged(_) | Part::JudgedConversions(_) | Part::MachineCode(..) => {}
        Part::Conversion(built) => {
            let (program, layout, storage, said) = *built;
            pipeline.add_conversion(program, &layout, storage, said.is_some());
        }
        Part::NoConversion(layout, storage, _) => pipeline.conversion_failed(&layout, storage),
        Part::Corrector(corrector) => pipeline.set_corrector(*corrector),
        Part::NoCorrector(_) => pipeline.correction_failed(),
        Part::Scopes(scopes) => pipeline.set_scopes(*scopes),
        Part::Comparer(comparer) => pipeline.set_comparer(*comparer),
    }
}

impl Devices {
    /// Takes what the builder has finished.
    pub(super) fn built(&mut self, message: Built, with: &mut With) {
        match message {
            Built::Devices(devices) => self.found(devices, with),
            Built::Failed(error) => {
                self.judging.forget();
                let pending = self.pending.iter_mut().flat_map(|pending| &mut pending.status);
                for (_, status) in self.status.iter_mut().chain(pending) {
                    if *status == VariantStatus::Building {
                        *status = VariantStatus::Unavailable(error.clone());
                    }
                }
                with.notify(error, true);
                if !self.found {
                    self.found(Vec::new(), with);
                }
            }
            Built::For(number, part) => {
                let pending = self.pending.as_ref().is_some_and(|p| p.number == number);
                if pending {
                    self.built_for_pending(*part, with);
                } else if self.running.as_ref().is_some_and(|r| r.number == number) {
                    self.built_for_running(*part, with);
                } else {
                    // Of a device that was left: its objects are released, which may stall.
                    let _ = std::thread::Builder::new().spawn(move || drop(part));
                }
            }
        }
        with.repaints.with_next();
    }

    fn built_for_pending(&mut self, part: Part, with: &mut With) {
        let chosen = with.frames.chosen().0;
        match part {
            Part::NoVariant(id, error) if id == chosen => {
                if let Some(pending) = self.pending.take() {
                    self.stay(&pending.device, error, with);
                }
            }
            part => {
                let Some(pending) = &mut self.pending else { return };
                if let Some((id, status)) = status(&part) {
                    set(&mut pending.status, id, status);
                }
                if let Some(pipeline) = pending.held.pipeline_mut() {
                    add(pipeline, part);
                }
            }
        }
    }

    fn built_for_running(&mut self, part: Part, with: &mut With) {
        let chosen = with.frames.chosen().0;
        let cannot = match &part {
            Part::NoVariant(id, error) => Some((Subject::Variant(*id), error)),
            Part::Tried(case, Err(error)) => Some((Subject::Variant(case.variant), error)),
            Part::NoConversion(.., error) => Some((Subject::Conversion, error)),
            _ => None,
        };
        if let Some((subject, error)) = cannot.filter(|(_, error)| !is_device_failure(error)) {
            self.opinions.push(Opinion::CannotRun(subject, error.clone()));
        }
        match &part {
            // Who chooses it waits for what is judged.
            Part::NoVariant(id, error) if !is_device_failure(error) && self.judging.goes_on(*id, error) => {
                return;
            }
            Part::NoVariant(id, error) if *id == chosen && is_device_failure(error) => {
                self.failed_in_trial(*id, error, with);
                return;
            }
            // Told when all have been tried.
            Part::NoVariant(_, error) if is_device_failure(error) => {}
            Part::NoVariant(id, error) if *id == chosen => self.unfiltered(error, with),
            Part::NoVariant(_, error) => with.notify(error.clone(), false),
            Part::Tried(case, Ok(report)) => {
                self.opinions.push(Opinion::Ran(case.variant, report.clone()));
                if report.is_some() {
                    with.frames.kernels_changed(case.variant, None, true);
                }
            }
            Part::MachineCode(version, variant, code) => {
                self.opinions.push(Opinion::Runs(*version, *variant, code.clone()));
            }
            Part::Judged(judged) => {
                let (version, variant) = (judged.version, judged.case.variant);
                let subject = Subject::Variant(variant);
                self.opinions.push(Opinion::Of(version, subject, judged.verdict.clone()));
                if judged.made.is_some() {
                    let differs = !matches!(judged.verdict, Verdict::Exact);
                    with.frames.kernels_changed(variant, Some(version), differs);
                    if variant == chosen {
                        self.unseen = Some(version);
                    }
                }
                let refused = match &judged.verdict {
                    Verdict::Refused(error) => Some(error),
                    Verdict::Exact | Verdict::Differs(_) => None,
                };
                let cannot = self.judging.came(version, variant, refused);
                // The user's own has none from before that could go on.
                let is_first = variant == VariantId::Own
                    && self.status_of(VariantId::Own) == Some(&VariantStatus::Building);
                if let Some(error) = refused.filter(|_| cannot || is_first) {
                    set(&mut self.status, variant, VariantStatus::Unavailable(error.clone()));
                    if chosen == variant {
                        self.unfiltered(error, with);
                    }
                }
            }
            Part::JudgedConversions(JudgedConversions { version, verdict, made }) => {
                self.opinions.push(Opinion::Of(*version, Subject::Conversion, verdict.clone()));
                if !made.is_empty() {
                    with.frames.convert_again();
                }
            }
            _ => {}
        }
        if let Some(error) = distrust(&part) {
            with.notify(error.clone(), false);
            with.frames.convert_again();
        }
        if let Some((id, status)) = status(&part) {
            if id == chosen && status == VariantStatus::Ready {
                with.frames.wait_for_filter(false);
            }
            set(&mut self.status, id, status);
            self.tell_failed_trials(with);
        }
        with.frames.with_pipeline(move |pipeline| add(pipeline, part));
    }

    /// The chosen variant cannot be built, and why.
    fn unfiltered(&mut self, error: &Error, with: &mut With) {
        self.without_filter(with);
        let hint = format!("{} The movie is shown unfiltered.", error.hint).trim_start().to_owned();
        with.notify(Error { hint, ..error.clone() }, true);
    }

    /// How often the builder began anew with the device that runs: what was asked before may never be told.
    pub(crate) fn begun(&self) -> u32 {
        self.begun
    }

    /// Whether changed kernels can be judged now: a device runs, and none is being made ready.
    pub(crate) fn can_judge(&self) -> bool {
        self.running.is_some() && self.coming().is_none()
    }

    /// These variants of a version of changed kernels are about to be judged: none of them is refused for how it
    /// was before.
    pub(crate) fn begin_judging(&mut self, version: u64, variants: &[VariantId]) {
        self.judging.begin(&mut self.status, version, variants);
    }

    /// Has changed kernels judged.
    pub(crate) fn judge(&self, judge: Judge) {
        self.builder.judge(judge);
    }

    /// Asks for what the device runs.
    pub(crate) fn ask_for_machine_code(&self, asm: Asm) {
        self.builder.machine_code(asm);
    }

    /// What was found of changed kernels since the last call.
    pub(crate) fn take_opinions(&mut self) -> Vec<Opinion> {
        std::mem::take(&mut self.opinions)
    }

    /// Has the builder begin anew with the device that runs: after it worked for one that cannot be used, or
    /// where nothing could be built before. What it was asked for and has not told may be lost with its thread,
    /// and is asked for once more.
    pub(crate) fn build_for_running(&mut self, with: &mut With) {
        let Some(number) = self.running.as_ref().map(|r| r.number) else { return };
        // What was judged is built with the others.
        self.judging.forget();
        self.begun += 1;
        let building = self.status.iter().filter(|(_, status)| *status == VariantStatus::Building);
        let variants = building.map(|(id, _)| *id).collect();
        let to_texture = self.sharing == Sharing::ZeroCopy;
        let Some(starter) = self.builder.starter() else { return };
        with.frames.with_pipeline(move |pipeline| {
            pipeline.ask_again();
            let (cl, corrector) = (pipeline.cl().clone(), !pipeline.corrects());
            starter.start(Start { number, cl, to_texture, variants, corrector });
        });
    }

    /// Has the conversions built that frames were in want of, and those that are in use checked in spare time. While another
    /// device is being made ready the builder works for that one; the frames go on as they are, or, where a filter on planes has to have the
    /// conversion, after the change.
    pub(super) fn order_conversions(&mut self, with: &mut With) {
        if self.coming().is_some() {
            return;
        }
        if let Some(size) = with.frames.lacks_scopes() {
            self.builder.scopes(size);
        }
        if with.frames.lacks_comparer() {
            self.builder.comparer();
        }
        if let Some(pipeline) = with.frames.pipeline_mut() {
            for (layout, storage) in pipeline.missing_conversions() {
                self.builder.convert(layout, storage);
            }
            for case in pipeline.missing_trials() {
                self.builder.try_case(case);
            }
            for check in pipeline.unchecked() {
                self.builder.check(check);
            }
        }
    }
}
