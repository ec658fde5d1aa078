//! The status of each variant on one device: ready, being built, or unavailable.

use crate::app::kernels::CurrentSources;
use base::error::Error;
use box_filter::{OWN_FILE, VariantId};
use engine::frame_loop::{FrameLoop, VariantStatus};
use ladder::BackEnd;
use opencl::cl::is_device_failure;

/// A variant and its status.
pub(super) type Row = (VariantId, VariantStatus);

/// The status of each variant on one device, in the order of the overlay's buttons.
pub(super) struct Statuses(pub(super) Vec<Row>);

impl Statuses {
    /// Returns the statuses before any OpenCL program is built. If `sources` are known to have the user's own kernel, it has a
    /// row.
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
        let own = sources.loaded().filter(|sources| sources.has(OWN_FILE)).map(|_| VariantId::Own);
        Self(VariantId::ALL.into_iter().chain(own).map(|id| (id, status(id))).collect())
    }

    /// Returns the status of a variant, if it has a row.
    pub(super) fn get(&self, id: VariantId) -> Option<&VariantStatus> {
        self.0.iter().find(|(of, _)| *of == id).map(|(_, status)| status)
    }

    /// Returns the status of a variant, to change it.
    pub(super) fn get_mut(&mut self, id: VariantId) -> Option<&mut VariantStatus> {
        self.0.iter_mut().find(|(of, _)| *of == id).map(|(_, status)| status)
    }

    /// Sets the status of a variant; does nothing if the variant has no row.
    pub(super) fn set(&mut self, id: VariantId, status: VariantStatus) {
        if let Some(row) = self.get_mut(id) {
            *row = status;
        }
    }

    /// Adds the row of the user's own kernel if `has_own` is true and there is none; removes the row if `has_own` is false.
    pub(super) fn update_own_row(&mut self, has_own: bool) {
        let row = self.0.iter().position(|(id, _)| *id == VariantId::Own);
        match (row, has_own) {
            (None, true) => self.0.push((VariantId::Own, VariantStatus::Building)),
            (Some(row), false) => drop(self.0.remove(row)),
            _ => {}
        }
    }

    /// Marks the variants that are being built as unavailable.
    pub(super) fn fail_building(&mut self, error: &Error) {
        for (_, status) in &mut self.0 {
            if *status == VariantStatus::Building {
                *status = VariantStatus::Unavailable(error.clone());
            }
        }
    }

    /// Marks all OpenCL variants as unavailable.
    pub(super) fn fail_opencl(&mut self, error: &Error) {
        for (id, status) in &mut self.0 {
            if id.back_end() == BackEnd::OpenCl {
                *status = VariantStatus::Unavailable(error.clone());
            }
        }
    }

    /// Returns the variants that use OpenCL.
    pub(super) fn with_opencl(&self) -> Vec<VariantId> {
        self.0.iter().map(|(id, _)| *id).filter(|id| id.back_end() == BackEnd::OpenCl).collect()
    }

    /// Returns the variants that are being built.
    pub(super) fn building(&self) -> Vec<VariantId> {
        let building = self.0.iter().filter(|(_, status)| *status == VariantStatus::Building);
        building.map(|(id, _)| *id).collect()
    }

    /// Returns the variants that are unavailable because the device itself failed, with their errors.
    pub(super) fn device_failures(&self) -> impl Iterator<Item = (VariantId, &Error)> {
        self.0.iter().filter_map(|(id, status)| match status {
            VariantStatus::Unavailable(error) if is_device_failure(error) => Some((*id, error)),
            _ => None,
        })
    }
}
