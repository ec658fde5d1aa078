//! The status of each variant on one device: ready, being built, or unavailable.

use crate::app::kernels::CurrentSources;
use base::error::Error;
use box_filter::{OWN_FILE, VariantId};
use compute::BackEnd;
use engine::frame_loop::{FrameLoop, VariantStatus};
use opencl::cl::is_device_failure;

/// A variant and its status.
pub(super) type Row = (VariantId, VariantStatus);

/// The status of each variant on one device, in the order of the overlay's buttons.
///
/// An unavailable variant whose edited kernels are being validated has the status "being built", since these kernels may run.
pub(super) struct Statuses {
    rows: Vec<Row>,
    /// The number of the newest version of the edited kernels, and the variants that are still being validated in it.
    pub(super) judged: (u64, Vec<VariantId>),
}

impl Statuses {
    /// Returns the statuses before any program is built. If `sources` are already known to contain the user's own kernel, it is
    /// among the variants.
    pub(super) fn new(frames: &FrameLoop, sources: &CurrentSources) -> Self {
        let status = |id: VariantId| match id.back_end() {
            BackEnd::Nothing => VariantStatus::Ready,
            BackEnd::Native => VariantStatus::Ready,
            BackEnd::Glsl => match &frames.glsl {
                Err(Some(error)) => VariantStatus::Unavailable(error.clone()),
                _ => VariantStatus::Ready,
            },
            BackEnd::OpenCl => VariantStatus::Building,
        };
        let own = sources.loaded().filter(|sources| sources.has(OWN_FILE)).map(|_| VariantId::own());
        let rows = VariantId::all().chain(own).map(|id| (id, status(id))).collect();
        Self { rows, judged: (0, Vec::new()) }
    }

    /// Returns each variant with its status.
    pub(super) fn rows(&self) -> impl Iterator<Item = (VariantId, &VariantStatus)> {
        self.rows.iter().map(|(id, status)| match status {
            VariantStatus::Unavailable(_) if self.is_judged(*id) => (*id, &VariantStatus::Building),
            status => (*id, status),
        })
    }

    /// Returns the status of a variant; `None` if the variant is not offered.
    pub(super) fn get(&self, id: VariantId) -> Option<&VariantStatus> {
        self.rows().find(|(of, _)| *of == id).map(|(_, status)| status)
    }

    /// Sets the status of a variant; does nothing if the variant is not offered.
    pub(super) fn set(&mut self, id: VariantId, status: VariantStatus) {
        if let Some(row) = self.rows.iter_mut().find(|(of, _)| *of == id) {
            row.1 = status;
        }
    }

    /// Returns true if the kernels of a variant are being validated in the newest version.
    pub(super) fn is_judged(&self, id: VariantId) -> bool {
        self.judged.1.contains(&id)
    }

    /// Processes the result of validating a variant's kernels in this version; `refused` is the error if they must not run.
    /// Returns true if the variant is now unavailable, because no earlier version of its kernels runs and no newer version is
    /// being validated.
    pub(super) fn take_verdict(&mut self, version: u64, id: VariantId, refused: Option<&Error>) -> bool {
        let is_last = self.judged.0 == version && self.is_judged(id);
        if is_last {
            self.judged.1.retain(|judged| *judged != id);
        }
        let Some((_, status)) = self.rows.iter_mut().find(|(of, _)| *of == id) else { return false };
        let Some(error) = refused else {
            *status = VariantStatus::Ready;
            return false;
        };
        // The user's own kernel has no earlier version that could continue.
        let is_first = id.is_own() && *status == VariantStatus::Building;
        let has_none = is_first || matches!(status, VariantStatus::Unavailable(_));
        if has_none {
            *status = VariantStatus::Unavailable(error.clone());
        }
        has_none && (is_first || is_last)
    }

    /// Adds the user's own kernel to the variants if `has_own` is true and it is not among them; removes it if `has_own` is
    /// false.
    pub(super) fn update_own_row(&mut self, has_own: bool) {
        let row = self.rows.iter().position(|(id, _)| id.is_own());
        match (row, has_own) {
            (None, true) => self.rows.push((VariantId::own(), VariantStatus::Building)),
            (Some(row), false) => drop(self.rows.remove(row)),
            _ => {}
        }
    }

    /// Marks all variants that are being built as unavailable because of this error, including those whose edited kernels are
    /// being validated.
    pub(super) fn fail_building(&mut self, error: &Error) {
        for id in self.rebuild() {
            self.set(id, VariantStatus::Unavailable(error.clone()));
        }
    }

    /// Marks all OpenCL variants as unavailable because of this error.
    pub(super) fn fail_opencl(&mut self, error: &Error) {
        self.judged.1.clear();
        for id in self.with_opencl() {
            self.set(id, VariantStatus::Unavailable(error.clone()));
        }
    }

    /// Returns the variants that use OpenCL.
    pub(super) fn with_opencl(&self) -> Vec<VariantId> {
        self.rows.iter().map(|(id, _)| *id).filter(|id| id.back_end() == BackEnd::OpenCl).collect()
    }

    pub(super) fn building(&self) -> Vec<VariantId> {
        self.rows().filter(|(_, status)| **status == VariantStatus::Building).map(|(id, _)| id).collect()
    }

    /// Returns the variants that a restarted builder must build: those that are being built, and those whose edited kernels
    /// were being validated. Forgets these validations.
    pub(super) fn rebuild(&mut self) -> Vec<VariantId> {
        let building = self.building();
        self.judged.1.clear();
        building.iter().for_each(|id| self.set(*id, VariantStatus::Building));
        building
    }

    /// Returns the variants that are unavailable because the device itself failed, with their errors.
    pub(super) fn device_failures(&self) -> impl Iterator<Item = (VariantId, &Error)> {
        self.rows.iter().filter_map(|(id, status)| match status {
            VariantStatus::Unavailable(error) if is_device_failure(error) => Some((*id, error)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    fn flat() -> VariantId {
        named("flat")
    }
    fn fused() -> VariantId {
        named("fused")
    }

    fn error(what: &str) -> Error {
        Error::new(what, "", "")
    }

    fn cannot(what: &str) -> VariantStatus {
        VariantStatus::Unavailable(error(what))
    }

    /// Returns two variants with these statuses while kernels of both are being validated in this version.
    fn judged(version: u64, [first, second]: [VariantStatus; 2]) -> Statuses {
        Statuses { rows: vec![(flat(), first), (fused(), second)], judged: (version, vec![flat(), fused()]) }
    }

    /// Returns two variants that could not be built from earlier kernels, while the first version of the edited kernels is being
    /// validated.
    fn begun() -> Statuses {
        judged(1, [cannot("no folder"), cannot("no folder")])
    }

    fn status(statuses: &Statuses) -> [&VariantStatus; 2] {
        [statuses.get(flat()).unwrap(), statuses.get(fused()).unwrap()]
    }

    #[test]
    fn what_is_judged_can_be_chosen_until_it_is_refused() {
        let mut all = begun();
        assert_eq!(status(&all), [&VariantStatus::Building; 2]);
        assert!(!all.take_verdict(1, flat(), None), "it runs");
        assert!(all.take_verdict(1, fused(), Some(&error("syntax"))), "nothing of it runs");
        assert_eq!(status(&all), [&VariantStatus::Ready, &cannot("syntax")]);
        assert!(!all.take_verdict(1, fused(), Some(&error("syntax"))), "it is told once");
    }

    #[test]
    fn what_ran_before_goes_on() {
        let mut all = judged(2, [VariantStatus::Ready, VariantStatus::Building]);
        assert_eq!(status(&all), [&VariantStatus::Ready, &VariantStatus::Building]);
        assert!(!all.take_verdict(2, flat(), Some(&error("syntax"))));
        assert_eq!(status(&all), [&VariantStatus::Ready, &VariantStatus::Building]);
        // This result is about the sources of the previous version, on which the builder was still working.
        assert!(all.is_judged(fused()) && !all.is_judged(flat()));
        all.set(fused(), cannot("no folder"));
        assert_eq!(status(&all), [&VariantStatus::Ready, &VariantStatus::Building]);
        assert!(all.take_verdict(2, fused(), Some(&error("syntax"))));
        assert_eq!(status(&all), [&VariantStatus::Ready, &cannot("syntax")]);
    }

    #[test]
    fn a_newer_version_takes_the_place_of_the_one_before() {
        let mut all = begun();
        all.judged = (2, vec![flat()]);
        assert_eq!(status(&all), [&VariantStatus::Building, &cannot("no folder")]);
        // The result of an older version arrives late.
        assert!(!all.take_verdict(1, flat(), Some(&error("syntax"))));
        assert_eq!(status(&all)[0], &VariantStatus::Building);
        all.judged = (3, vec![]);
        assert_eq!(status(&all)[0], &cannot("syntax"));
        // The same with kernels that pass validation.
        let mut all = begun();
        all.judged = (2, vec![flat()]);
        assert!(!all.take_verdict(1, flat(), None) && !all.take_verdict(2, flat(), Some(&error("syntax"))));
        assert_eq!(status(&all)[0], &VariantStatus::Ready);
        // A restarted builder builds the kernels that were being validated.
        all.judged = (3, vec![fused()]);
        assert_eq!(all.rebuild(), [fused()]);
        assert!(!all.take_verdict(3, fused(), Some(&error("syntax"))) && !all.is_judged(fused()));
        assert_eq!(status(&all)[1], &VariantStatus::Building);
    }
}
