//! The device in use, and the status of each variant on one device: ready, being built, or unavailable.

use super::*;
use base::device::{DeviceInfo, DeviceKind};

/// The device in use, and the statuses of its variants. If no device is in use, the properties of the last one remain.
pub(crate) struct RunningDevice {
    /// The device in use, with the number of its context.
    pub(super) in_use: Option<(Device, u64)>,
    /// The properties of the device in use or, if there is none, of the last one; `None` before the first device.
    pub info: Option<DeviceInfo>,
    /// The clock of the device in use or, if there is none, of the last one.
    pub clock: Clock,
    pub statuses: Statuses,
    pub sharing: Sharing,
    /// True once the variants with which the device in use failed were reported.
    pub(super) has_reported: bool,
}

impl RunningDevice {
    /// Returns the device in use; `None` if there is none.
    pub(crate) fn device(&self) -> Option<&Device> {
        self.in_use.as_ref().map(|(device, _)| device)
    }

    /// Returns the kind of the device in use or, if there is none, of the last one; a CPU before the first one.
    pub(crate) fn kind(&self) -> DeviceKind {
        self.info.as_ref().map_or(DeviceKind::Cpu, |info| info.kind)
    }

    /// Returns the number of the context of the device in use; `None` if no device is in use.
    pub(crate) fn number(&self) -> Option<u64> {
        self.in_use.as_ref().map(|(_, number)| *number)
    }

    /// Reports the variants for which the device in use has failed, once no variant is being built any more. Reports them only
    /// once.
    pub(super) fn report_failed_trials(&mut self, cx: &mut PlayerContext) {
        let Some((device, _)) = self.in_use.as_ref().filter(|_| !self.has_reported) else { return };
        if !self.statuses.building().is_empty() {
            return;
        }
        self.has_reported = true;
        let failures = self.statuses.rows.iter().filter_map(|(id, status)| match status {
            VariantStatus::Unavailable(error) if is_device_failure(error) => Some((format!("'{id}'"), error)),
            _ => None,
        });
        let (names, errors): (Vec<_>, Vec<_>) = failures.unzip();
        let Some(first) = errors.first() else { return };
        let what = format!("{} could not be tried on '{}'.", names.join(", "), device.info.name);
        cx.notify(Error::new(what, first.why.clone(), "Select a variant to try it again."), false);
    }
}

/// The status of each variant on one device, in the order of the overlay's buttons.
///
/// An unavailable variant whose edited kernels are being validated has the status "being built", since these kernels may run.
pub(crate) struct Statuses {
    rows: Vec<(VariantId, VariantStatus)>,
    /// The number of the newest version of the edited kernels, and the variants that are still being validated in it.
    pub validating: (u64, Vec<VariantId>),
}

impl Statuses {
    /// Returns the statuses before any program is built. If `sources` are already known to contain the user's own kernel, it is
    /// among the variants.
    pub(super) fn new(frames: &FrameLoop, sources: &CurrentSources) -> Self {
        let status = |id: VariantId| match id.back_end() {
            BackEnd::Nothing | BackEnd::Native => VariantStatus::Ready,
            BackEnd::Glsl => match &frames.glsl {
                Err(Some(error)) => VariantStatus::Unavailable(error.clone()),
                _ => VariantStatus::Ready,
            },
            BackEnd::OpenCl => VariantStatus::Building,
        };
        let own = sources.loaded().filter(|sources| sources.has(OWN_FILE)).map(|_| VariantId::own());
        let rows = VariantId::all().chain(own).map(|id| (id, status(id))).collect();
        Self { rows, validating: (0, Vec::new()) }
    }

    /// Returns each variant with its status.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (VariantId, &VariantStatus)> {
        self.rows.iter().map(|(id, status)| match status {
            VariantStatus::Unavailable(_) if self.is_validating(*id) => (*id, &VariantStatus::Building),
            status => (*id, status),
        })
    }

    /// Returns the status of a variant; `None` if the variant is not offered.
    pub(crate) fn get(&self, id: VariantId) -> Option<&VariantStatus> {
        self.rows().find(|(of, _)| *of == id).map(|(_, status)| status)
    }

    /// Sets the status of a variant; does nothing if the variant is not offered.
    pub(crate) fn set(&mut self, id: VariantId, status: VariantStatus) {
        if let Some(row) = self.rows.iter_mut().find(|(of, _)| *of == id) {
            row.1 = status;
        }
    }

    /// Returns true if the kernels of a variant are being validated in the newest version.
    pub(super) fn is_validating(&self, id: VariantId) -> bool {
        self.validating.1.contains(&id)
    }

    /// Processes the result of validating a variant's kernels in this version; `refused` is the error if they must not run.
    /// Returns true if the variant is now unavailable, because no earlier version of its kernels runs and no newer version is
    /// being validated.
    pub(super) fn take_verdict(&mut self, version: u64, id: VariantId, refused: Option<&Error>) -> bool {
        let is_last = self.validating.0 == version && self.is_validating(id);
        if is_last {
            self.validating.1.retain(|validating| *validating != id);
        }
        let Some((_, status)) = self.rows.iter_mut().find(|(of, _)| *of == id) else { return false };
        let Some(error) = refused else {
            *status = VariantStatus::Ready;
            return false;
        };
        // The user's own kernels have no earlier version that could continue.
        let is_first = (id.is_own() || id.opened().is_some()) && *status == VariantStatus::Building;
        let has_none = is_first || matches!(status, VariantStatus::Unavailable(_));
        if has_none {
            *status = VariantStatus::Unavailable(error.clone());
        }
        has_none && (is_first || is_last)
    }

    /// Adds the user's own kernel to the variants if `has_own` is true and it is not among them; removes it if `has_own` is
    /// false.
    pub(super) fn update_own_row(&mut self, has_own: bool) {
        self.rows.retain(|(id, _)| has_own || !id.is_own());
        if has_own && self.rows.iter().all(|(id, _)| !id.is_own()) {
            self.rows.push((VariantId::own(), VariantStatus::Building));
        }
    }

    /// Offers the variants of the selected filter instead of those of another one.
    pub(super) fn list_selected(&mut self) {
        let known = std::mem::take(&mut self.rows);
        let status = |id: VariantId| {
            let known = known.iter().find(|(of, _)| *of == id).map(|(_, status)| status.clone());
            known.unwrap_or(if id.back_end() == BackEnd::OpenCl {
                VariantStatus::Building
            } else {
                VariantStatus::Ready
            })
        };
        self.rows = VariantId::all().map(|id| (id, status(id))).collect();
    }

    /// Marks all variants that are being built as unavailable because of this error, including those whose edited kernels are
    /// being validated.
    pub(super) fn fail_building(&mut self, error: &Error) {
        for id in self.rebuild() {
            self.set(id, VariantStatus::Unavailable(error.clone()));
        }
    }

    /// Returns the variants that use OpenCL.
    pub(super) fn with_opencl(&self) -> Vec<VariantId> {
        self.rows.iter().map(|(id, _)| *id).filter(|id| id.back_end() == BackEnd::OpenCl).collect()
    }

    fn building(&self) -> Vec<VariantId> {
        self.rows().filter(|(_, status)| **status == VariantStatus::Building).map(|(id, _)| id).collect()
    }

    /// Returns the variants that a restarted builder must build: those that are being built, and those whose edited kernels
    /// were being validated. Forgets these validations.
    pub(super) fn rebuild(&mut self) -> Vec<VariantId> {
        let building = self.building();
        self.validating.1.clear();
        building.iter().for_each(|id| self.set(*id, VariantStatus::Building));
        building
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    fn error(what: &str) -> Error {
        Error::new(what, "", "")
    }

    fn cannot(what: &str) -> VariantStatus {
        VariantStatus::Unavailable(error(what))
    }

    /// Returns two variants with these statuses while kernels of both are being validated in this version.
    fn validating(version: u64, statuses: [VariantStatus; 2]) -> Statuses {
        let ids = ["flat", "fused"].map(named);
        Statuses { rows: ids.into_iter().zip(statuses).collect(), validating: (version, ids.to_vec()) }
    }

    /// Returns two variants that could not be built from earlier kernels, while the first version of the edited kernels is being
    /// validated.
    fn begun() -> Statuses {
        validating(1, [cannot("no folder"), cannot("no folder")])
    }

    fn status(statuses: &Statuses) -> [&VariantStatus; 2] {
        [statuses.get(named("flat")).unwrap(), statuses.get(named("fused")).unwrap()]
    }

    #[test]
    fn what_is_validated_can_be_chosen_until_it_is_refused() {
        let mut all = begun();
        assert_eq!(status(&all), [&VariantStatus::Building; 2]);
        assert!(!all.take_verdict(1, named("flat"), None), "it runs");
        assert!(all.take_verdict(1, named("fused"), Some(&error("syntax"))), "nothing of it runs");
        assert_eq!(status(&all), [&VariantStatus::Ready, &cannot("syntax")]);
        assert!(!all.take_verdict(1, named("fused"), Some(&error("syntax"))), "it is told once");
    }

    #[test]
    fn what_ran_before_goes_on() {
        let mut all = validating(2, [VariantStatus::Ready, VariantStatus::Building]);
        assert_eq!(status(&all), [&VariantStatus::Ready, &VariantStatus::Building]);
        assert!(!all.take_verdict(2, named("flat"), Some(&error("syntax"))));
        assert_eq!(status(&all), [&VariantStatus::Ready, &VariantStatus::Building]);
        // This result is about the sources of the previous version, on which the builder was still working.
        assert!(all.is_validating(named("fused")) && !all.is_validating(named("flat")));
        all.set(named("fused"), cannot("no folder"));
        assert_eq!(status(&all), [&VariantStatus::Ready, &VariantStatus::Building]);
        assert!(all.take_verdict(2, named("fused"), Some(&error("syntax"))));
        assert_eq!(status(&all), [&VariantStatus::Ready, &cannot("syntax")]);
    }

    #[test]
    fn a_newer_version_takes_the_place_of_the_one_before() {
        let mut all = begun();
        all.validating = (2, vec![named("flat")]);
        assert_eq!(status(&all), [&VariantStatus::Building, &cannot("no folder")]);
        // The result of an older version arrives late.
        assert!(!all.take_verdict(1, named("flat"), Some(&error("syntax"))));
        assert_eq!(status(&all)[0], &VariantStatus::Building);
        all.validating = (3, vec![]);
        assert_eq!(status(&all)[0], &cannot("syntax"));
        // The same with kernels that pass validation.
        let mut all = begun();
        all.validating = (2, vec![named("flat")]);
        assert!(!all.take_verdict(1, named("flat"), None));
        assert!(!all.take_verdict(2, named("flat"), Some(&error("syntax"))));
        assert_eq!(status(&all)[0], &VariantStatus::Ready);
        // A restarted builder builds the kernels that were being validated.
        all.validating = (3, vec![named("fused")]);
        assert_eq!(all.rebuild(), [named("fused")]);
        assert!(
            !all.take_verdict(3, named("fused"), Some(&error("syntax")))
                && !all.is_validating(named("fused"))
        );
        assert_eq!(status(&all)[1], &VariantStatus::Building);
    }
}
