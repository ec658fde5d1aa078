//! What the builder is asked for and what comes of it. In: [`Built`] messages. Out: pipelines that have more variants and
//! conversions, and what the overlay says of them.

use super::Devices;
use crate::app::builder::{Built, Part, Start};
use crate::app::player::With;
use crate::engine::Pipeline;
use crate::error::Error;
use crate::gpu::cl::is_device_failure;
use crate::gpu::sharing::Sharing;
use crate::ladders::box_filter::VariantId;
use crate::overlay::VariantStatus;

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
        Part::Variant(variant) => Some((variant.kernels().id, VariantStatus::Ready)),
        Part::Planar(_) => Some((VariantId::Planar, VariantStatus::Ready)),
        Part::NoVariant(id, error) => Some((*id, VariantStatus::Unavailable(error.clone()))),
        Part::Changed(_) | Part::Tried(..) => None,
        Part::Conversion(_) | Part::NoConversion(..) => None,
        Part::Corrector(_) | Part::NoCorrector(_) => None,
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
        Part::Tried(case, result) => pipeline.tried(case, result),
        Part::Conversion(built) => {
            let (program, layout, storage, said) = *built;
            pipeline.add_conversion(program, &layout, storage, said.is_some());
        }
        Part::NoConversion(layout, storage, _) => pipeline.conversion_failed(&layout, storage),
        Part::Corrector(corrector) => pipeline.set_corrector(*corrector),
        Part::NoCorrector(_) => pipeline.correction_failed(),
    }
}

impl Devices {
    /// Takes what the builder has finished.
    pub(super) fn built(&mut self, message: Built, with: &mut With) {
        match message {
            Built::Devices(devices) => self.found(devices, with),
            Built::Failed(error) => {
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
                    std::thread::spawn(move || drop(part));
                }
            }
        }
        with.repaints.soon();
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
        match &part {
            Part::NoVariant(id, error) if *id == chosen && is_device_failure(error) => {
                self.failed_in_trial(*id, error, with);
                return;
            }
            // Told when all have been tried.
            Part::NoVariant(_, error) if is_device_failure(error) => {}
            Part::NoVariant(id, error) if *id == chosen => {
                self.without_filter(with);
                let hint = format!("{} The movie is shown unfiltered.", error.hint).trim_start().to_owned();
                with.notify(Error { hint, ..error.clone() }, true);
            }
            Part::NoVariant(_, error) => with.notify(error.clone(), false),
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

    /// Has the builder go on with the device that runs, after it worked for one that cannot be used.
    pub(super) fn build_for_running(&mut self, with: &mut With) {
        let Some(number) = self.running.as_ref().map(|r| r.number) else { return };
        let building = self.status.iter().filter(|(_, status)| *status == VariantStatus::Building);
        let variants = building.map(|(id, _)| *id).collect();
        let to_texture = self.sharing == Sharing::ZeroCopy;
        let Some(starter) = self.builder.starter() else { return };
        with.frames.with_pipeline(move |pipeline| {
            let (cl, corrector) = (pipeline.cl().clone(), !pipeline.corrects());
            starter.start(Start { number, cl, to_texture, variants, corrector });
        });
    }

    /// Has the conversions built that frames were in want of, and those that are in use checked in spare time. While another
    /// device is being made ready the builder works for that one; the frames go on as they are, or, where planar has to have the
    /// conversion, after the change.
    pub(super) fn order_conversions(&mut self, with: &mut With) {
        if self.coming().is_some() {
            return;
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
