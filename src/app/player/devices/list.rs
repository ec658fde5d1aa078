//! The machine's devices, each with the result of testing whether it can share textures with the window, and with its last
//! failure.
//!
//! A cache file has the results of sharing tests at earlier starts. A job starts a child process for the missing results while
//! the movie plays. The job's thread and the devices' threads read and write the file. This process shares textures with a
//! device only after a child process has done so without a crash.

use std::sync::Arc;

use super::*;
use crate::probe::{self, DrivingDevice, SharingCache, SharingTest};
use base::device::{DeviceInfo, DeviceKind};
use base::jobs::{JobMessage, Reporter};
use engine::sharing;
use opencl::cards;
use opencl::cl::select_device;
use opencl::drivers::{self, Driver};
use overlay::{DeviceRow, DeviceState};

/// A device, and the results of using it since the window was opened.
pub(super) struct ListedDevice {
    device: Device,
    /// The way in which this process shares textures with the device; `None` until the device was opened here.
    pub sharing: Option<Sharing>,
    /// The result of testing in a child process whether the device shares textures, now or at an earlier start; `None` while it
    /// is unknown.
    tested: Option<SharingTest>,
    /// The last failure of the device; `None` if it has not failed, or has run again since.
    failure: Option<Error>,
}

/// The machine's devices in the order of their indices.
#[derive(Default)]
pub(crate) struct DeviceList {
    devices: Vec<ListedDevice>,
    /// True once the machine's devices are known.
    pub(super) is_complete: bool,
    /// Messages about drivers that provide no device, and about GPUs for which there is no device or more than one.
    pub remarks: Vec<String>,
    known: Option<Arc<SharingCache>>,
    /// The job that tests the sharing of devices without a known result. It reports results with positions in `devices`.
    tests: Option<Job<(), (usize, SharingTest)>>,
    /// The job that finds out which device renders the window.
    driving: Option<Job<Option<usize>>>,
}

impl DeviceList {
    /// Sets the machine's devices. Reads the cached results of sharing tests, and starts a child process that tests the devices
    /// without a result. With `--no-sharing`, no device is tested.
    pub(super) fn fill(&mut self, devices: Vec<Device>, cx: &mut PlayerContext) {
        if !devices.is_empty() {
            drivers::failures().into_iter().for_each(|failure| cx.notify(failure, false));
        }
        let of_cards = cards::remarks(&devices).into_iter().map(|remark| remark.to_string());
        self.remarks = drivers::findings().iter().filter_map(Driver::left_out).chain(of_cards).collect();
        let listed = |device| ListedDevice { device, sharing: None, tested: None, failure: None };
        self.devices = devices.into_iter().map(listed).collect();
        self.is_complete = true;
        if cx.args.no_sharing {
            return self.end_tests("--no-sharing was given");
        }
        let known = Arc::new(SharingCache::open(&cx.gl_window.renderer));
        self.known = Some(known.clone());
        let devices: Vec<_> = self.devices().cloned().collect();
        let opengl = (cx.gl_window.interface(), Some(cx.gl_window.window_system()));
        // No thread joins this thread: it ends with the process, and its child process with it.
        let test = move |reporter: &Reporter<(), _>| {
            let mut unknown = Vec::new();
            for (at, device) in devices.iter().enumerate() {
                match known.get(&device.info) {
                    Some(tested) => drop(reporter.report((at, tested))),
                    None => unknown.push(at),
                }
            }
            probe::test_devices(&devices, unknown, opengl, &mut |at, tested| {
                if let Some(device) = devices.get(at).filter(|_| tested.survived) {
                    known.remember_test(&device.info, &tested);
                }
                let _ = reporter.report((at, tested));
            });
            Ok(())
        };
        let failed = "Devices could not be asked whether they share.";
        self.tests = Some(Job::spawn("ask-sharing", failed, &cx.waker, test));
    }

    /// Returns the devices in the order of their indices.
    pub(super) fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().map(|listed| &listed.device)
    }

    pub(super) fn device(&self, index: usize) -> Option<&Device> {
        self.get(index).map(|listed| &listed.device)
    }

    fn get(&self, index: usize) -> Option<&ListedDevice> {
        self.devices.iter().find(|listed| listed.device.info.index == index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut ListedDevice> {
        self.devices.iter_mut().find(|listed| listed.device.info.index == index)
    }

    /// Returns the result of testing whether a device shares textures; `None` while it is unknown.
    pub(super) fn tested(&self, device: &Device) -> Option<&SharingTest> {
        self.get(device.info.index)?.tested.as_ref()
    }

    /// Sets the error for which the device with this index cannot be used; `None` marks it as usable.
    pub(super) fn set_failure(&mut self, index: usize, error: Option<&Error>) {
        if let Some(listed) = self.get_mut(index) {
            listed.failure = error.cloned();
        }
    }

    /// Returns the overlay's row for each device; `None` until the devices are known. `running` is the device in use, and `next`
    /// the device that is being prepared.
    pub(crate) fn rows(&self, running: Option<&Device>, next: Option<&Device>) -> Option<Vec<DeviceRow<'_>>> {
        let is = |of: Option<&Device>, info: &DeviceInfo| of.is_some_and(|of| of.info.index == info.index);
        let rows = self.devices.iter().map(|listed| {
            let info = &listed.device.info;
            let state = match (is(next, info), is(running, info)) {
                (true, _) => DeviceState::Preparing,
                (false, true) => DeviceState::InUse,
                (false, false) => DeviceState::Idle,
            };
            let tested = listed.tested.as_ref().map(|tested| &tested.sharing);
            let sharing = listed.sharing.as_ref().or(tested);
            DeviceRow { info, sharing, state, failure: listed.failure.as_ref() }
        });
        self.is_complete.then(|| rows.collect())
    }

    /// Processes the results of sharing tests that have arrived since the last call.
    pub(super) fn poll_tests(&mut self, cx: &mut PlayerContext) {
        while let Some(message) = self.tests.as_ref().and_then(Job::poll) {
            match message {
                JobMessage::Progress((at, tested)) => {
                    if let Some(listed) = self.devices.get_mut(at) {
                        listed.tested = Some(tested);
                    }
                    cx.repaints.redraw_soon();
                }
                JobMessage::Done(done) => {
                    self.tests = None;
                    let why = done.err().map(|error| error.why);
                    self.end_tests(why.as_deref().unwrap_or("the test of sharing gave no answer"));
                }
            }
        }
    }

    /// Marks all devices without a test result as unable to share textures, for the reason `why`.
    fn end_tests(&mut self, why: &str) {
        for listed in &mut self.devices {
            listed.tested.get_or_insert_with(|| SharingTest::unknown(why));
        }
    }

    /// Returns `Ok` if this process may attempt to share textures with the device, otherwise the reason why it must not; `None`
    /// while the test runs.
    pub(super) fn may_share(&self, device: &Device) -> Option<Result<(), String>> {
        let Some(listed) = self.get(device.info.index) else {
            return Some(Err("its driver does not list it any more".to_owned()));
        };
        let tested = listed.tested.as_ref()?;
        Some(if tested.survived { Ok(()) } else { Err(tested.sharing.reason().to_owned()) })
    }

    /// Returns a function that updates the device's entry in the cache of sharing tests. It is to be called on the device's
    /// thread, since writing a file may take long.
    pub(super) fn update_cache<U: FnOnce(&SharingCache, &DeviceInfo) + Send>(
        &self,
        device: &Device,
        update: U,
    ) -> impl FnOnce() + Send + use<U> {
        let (known, info) = (self.known.clone(), device.info.clone());
        move || {
            // The disk may be slow, which must not count as a driver that hangs.
            let _host = watch::on_host();
            if let Some(known) = known {
                update(&known, &info);
            }
        }
    }

    /// Returns the device with which to start if the command line names none: the GPU that renders the window, else the best
    /// device. Returns `None` while it is unknown which drivers can be queried for that GPU.
    pub(super) fn first_device(&mut self, cx: &mut PlayerContext) -> Option<Result<Device>> {
        let is_card = |listed: &&ListedDevice| listed.device.info.kind == DeviceKind::Gpu;
        if self.devices.iter().filter(is_card).count() > 1 && !cx.args.no_sharing {
            let mut safe = Vec::new();
            for card in self.devices.iter().filter(is_card) {
                if card.tested.as_ref()?.driving != DrivingDevice::NotQueryable {
                    safe.push(card.device.clone());
                }
            }
            if self.driving.is_none() {
                // The drivers are asked in a job, since each call may stall.
                let properties = cx.gl_window.opencl_properties();
                let ask = move |_: &_| {
                    let _watched = watch::on_device("", "it is asked which device drives the window");
                    Ok(sharing::driving_device(&safe, &properties).map(|device| device.info.index))
                };
                self.driving = Some(Job::spawn("driving", "The drivers could not be asked.", &cx.waker, ask));
            }
            if let Ok(Some(driving)) = Job::take_result(&mut self.driving, Duration::ZERO)? {
                return self.device(driving).cloned().map(Ok);
            }
        }
        let all: Vec<Device> = self.devices().cloned().collect();
        Some(select_device(&all, None))
    }
}
