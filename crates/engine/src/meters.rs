//! The kernels that measure frames on a device (scopes) and compare the sides of a wipe (comparer), or the errors because of which they
//! are unavailable.

use super::device_job::DeviceJob;
use super::scopes::{MeasurementPlan, Readings, Scopes};
use super::{Comparer, Request};
use base::error::{Error, Result};
use opencl::cl::{ClContext, failed};
use opencl::memory::{Picture, Storage};

/// The kernels that measure frames (the scopes) and compare them (the comparer); each is `None` until it is built.
#[derive(Default)]
pub struct Meters {
    scopes: Option<Result<Scopes>>,
    comparer: Option<Result<Comparer>>,
}

impl Meters {
    /// Sets the kernels of the scopes that the builder has built, or the error because of which it could not.
    pub fn set_scopes(&mut self, scopes: Result<Scopes>) {
        self.scopes = Some(scopes);
    }

    /// Sets the comparer that the builder has built, or the error because of which it could not.
    pub fn set_comparer(&mut self, comparer: Result<Comparer>) {
        self.comparer = Some(comparer);
    }

    /// Returns `Ok` if frames can be measured for the scopes, or the error because of which they cannot; `None` until the
    /// scopes' kernels are built.
    pub(super) fn scopes(&self) -> Option<Result<(), &Error>> {
        self.scopes.as_ref().map(|scopes| scopes.as_ref().map(|_| ()))
    }

    /// Returns true if the comparer is built or has failed to build.
    pub(super) fn has_comparer(&self) -> bool {
        self.comparer.is_some()
    }

    /// Returns the comparer, and builds it if it is missing.
    ///
    /// # Errors
    /// If the comparer could not be built.
    pub(super) fn comparer(&mut self, cl: &ClContext) -> Result<&mut Comparer> {
        let comparer = match self.comparer.take() {
            Some(Ok(comparer)) => comparer,
            missing => missing.unwrap_or_else(|| Comparer::new(cl))?,
        };
        self.comparer.insert(Ok(comparer)).as_mut().map_err(|error| error.clone())
    }

    /// Prepares the measurements that the request asks for, of a picture of this size in this kind of memory (buffer or image).
    /// Returns `None` if nothing is to be measured. If memory runs out, nothing is measured from then on.
    pub(super) fn prepare(
        &mut self,
        cl: &ClContext,
        request: &Request,
        storage: Storage,
        size: (u32, u32),
    ) -> Option<MeasurementPlan> {
        let Some(Ok(scopes)) = self.scopes.as_mut().filter(|_| request.measures()) else { return None };
        match scopes.prepare(cl, storage, size, request.measurements) {
            Ok(wanted) => Some(wanted),
            Err(error) => {
                self.scopes = Some(Err(error));
                None
            }
        }
    }

    /// Returns true if auto-levels write the final picture `picture`, so that the filter must write into other memory.
    pub(super) fn levels_write(&self, wanted: Option<&MeasurementPlan>, picture: &Picture) -> bool {
        let Some(Ok(scopes)) = &self.scopes else { return false };
        wanted.is_some_and(|wanted| wanted.levels) && scopes.stretches_into(picture)
    }

    /// Enqueues the measurements of a frame.
    ///
    /// # Errors
    /// If the driver refuses a command.
    pub(super) fn enqueue(&self, cl: &ClContext, job: &mut DeviceJob) -> Result<()> {
        if let Some((from, to)) = job.unfiltered.take() {
            let copied = from.enqueue_copy(&cl.queue, &to);
            job.copied.push(copied.map_err(|e| failed("A frame could not be copied on the device.", &e))?);
        }
        if let (Some((wanted, picture, to)), Some(Ok(scopes))) = (job.wanted.take(), &self.scopes) {
            job.measured = Some(scopes.enqueue(cl, wanted, &picture, &to)?);
        }
        Ok(())
    }

    /// Returns the luminance that was measured for the scopes, of a frame whose commands are complete; `None` if it was not
    /// requested.
    pub(super) fn readings(&mut self, job: &mut DeviceJob) -> Option<Readings> {
        let measured = job.measured.take()?;
        self.scopes.as_mut()?.as_mut().ok()?.readings(measured)
    }
}
