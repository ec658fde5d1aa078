//! The kernels that measure frames on a device (scopes) and compare the sides of a wipe (comparer), or the errors because of which they
//! are unavailable.

use super::Comparer;
use super::device_job::DeviceJob;
use super::scopes::{MeasurementPlan, Scopes};
use base::error::Result;
use opencl::cl::{ClContext, OrFail as _};
use opencl::memory::Storage;
use stats::{Readings, Request};

/// The kernels that measure frames (the scopes) and compare them (the comparer); each is `None` until it is built.
#[derive(Default)]
pub struct Meters {
    /// The kernels of the scopes that the builder has built, or the error because of which it could not.
    pub scopes: Option<Result<Scopes>>,
    /// The comparer that the builder has built, or the error because of which it could not.
    pub comparer: Option<Result<Comparer>>,
}

impl Meters {
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
        let wanted = scopes.prepare(cl, storage, size, request.measurements);
        wanted.map_err(|error| self.scopes = Some(Err(error))).ok()
    }

    /// Enqueues the measurements of a frame.
    ///
    /// # Errors
    /// If the driver refuses a command.
    pub(super) fn enqueue(&self, cl: &ClContext, job: &mut DeviceJob) -> Result<()> {
        if let Some((from, to)) = job.unfiltered.take() {
            let copied = from.enqueue_copy(&cl.queue, &to);
            job.copied.push(copied.or_fail("A frame could not be copied on the device.")?);
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
