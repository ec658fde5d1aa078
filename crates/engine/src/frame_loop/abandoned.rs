//! Devices that were given up, because they failed, do not respond or were replaced. The engine that uses such a device may never return
//! from the device's thread, so all memory of the device is released on that thread, which may take long.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::handoff::{Handback, Loan, SHUTDOWN_TIMEOUT, WorkResult};
use crate::{DeviceBuffers, Engine, RemovedDevice, ThreadRole};
use opencl::device_thread::DeviceThread;
use opencl::watch;
use opengl::names;
use video::color::Staging;

/// A device that was given up and is not released yet.
struct AbandonedDevice {
    thread: DeviceThread,
    /// The engine, until the device's thread returns it.
    loan: Option<Loan>,
    /// The device's memory objects of slots.
    buffers: Vec<DeviceBuffers>,
    /// Receives true when everything is released, and false if the device could not finish its commands. `None` until the engine has
    /// returned.
    released: Option<Receiver<bool>>,
}

impl AbandonedDevice {
    /// Releases the device on its own thread, and then its pinned memory for uploads, once no other thread uses that memory.
    fn release(&mut self, device: RemovedDevice) {
        let (sender, released) = channel();
        self.released = Some(released);
        self.thread.run("it is left", move || {
            let staging = device.staging().cloned();
            let is_idle = device.release();
            if let Some(staging) = staging {
                release_staging(staging, is_idle);
            }
            // The receiver is gone if the window is.
            let _ = sender.send(is_idle);
        });
    }

    /// Releases the device once its engine has returned. Returns `None` until the release is over, then true, or false if the device could
    /// not finish its commands.
    fn poll(&mut self) -> Option<bool> {
        if let Some((engine, handback)) = self.loan.as_ref().and_then(Loan::try_receive) {
            self.loan = None;
            self.release_returned(*engine, handback);
        }
        self.released.as_ref()?.try_recv().ok()
    }

    /// Releases the device after its thread has returned the engine with these results.
    fn release_returned(&mut self, mut engine: Engine, Handback { result, finished }: Handback) {
        engine.role = ThreadRole::Both;
        let Some(mut device) = engine.remove_device() else { return };
        let mut slots: Vec<_> = finished.into_iter().filter_map(|finished| finished.slot).collect();
        match result {
            WorkResult::Submitted(_, result) => slots.extend(result.err().map(|(slot, _)| slot)),
            WorkResult::Compared(pair, map, _) => slots.extend(pair.into_slots().into_iter().chain([map])),
            WorkResult::Nothing => {}
        }
        self.buffers.extend(slots.iter_mut().map(|slot| slot.take_device_buffers(false)));
        device.add(self.buffers.drain(..));
        self.release(device);
    }
}

/// All devices that were given up and are not released yet.
pub(super) struct AbandonedDevices {
    gl: Arc<glow::Context>,
    devices: Vec<AbandonedDevice>,
    /// A device could not finish its commands. Memory of OpenCL and OpenGL stays allocated for it until the process ends.
    is_lost: bool,
}

impl AbandonedDevices {
    /// Creates an empty list.
    pub(super) fn new(gl: Arc<glow::Context>) -> Self {
        Self { gl, devices: Vec::new(), is_lost: false }
    }

    /// Releases a device that was removed from its engine.
    pub(super) fn release(&mut self, thread: DeviceThread, device: RemovedDevice) {
        let mut abandoned = AbandonedDevice { thread, loan: None, buffers: Vec::new(), released: None };
        abandoned.release(device);
        self.devices.push(abandoned);
    }

    /// Adds a device whose thread still has the engine; the device is released when the engine returns.
    pub(super) fn push(&mut self, thread: DeviceThread, loan: Option<Loan>, buffers: Vec<DeviceBuffers>) {
        self.devices.push(AbandonedDevice { thread, loan, buffers, released: None });
    }

    /// Starts to release each device whose thread has handed the engine back, removes the devices that are released, and deletes OpenGL
    /// objects that were dropped on other threads.
    pub(super) fn reap(&mut self) {
        self.devices.retain_mut(|device| {
            let released = device.poll();
            self.is_lost |= released == Some(false);
            released.is_none()
        });
        names::delete_pending(&self.gl);
    }

    /// Waits up to [`SHUTDOWN_TIMEOUT`] until all devices are released. Returns true if every device that was given up has been
    /// released and had finished its commands.
    pub(super) fn wait(&mut self) -> bool {
        let began = Instant::now();
        while !self.devices.is_empty() && began.elapsed() < SHUTDOWN_TIMEOUT {
            self.reap();
            std::thread::sleep(Duration::from_millis(1));
        }
        self.devices.is_empty() && !self.is_lost
    }
}

/// Releases a device's staging memory, the pinned host memory in which the planes of frames are packed for the upload. Waits until no other
/// thread uses the memory. If `is_idle` is false, the device may still read the memory, so the memory is leaked instead.
fn release_staging(staging: Staging, is_idle: bool) {
    if !is_idle {
        std::mem::forget(staging);
        return;
    }
    staging.close();
    let _host = watch::on_host();
    while !staging.is_unused() {
        std::thread::sleep(Duration::from_millis(5));
    }
}
