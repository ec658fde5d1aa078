//! Tests which devices can share textures with OpenGL, for `clreel devices` and for the window.
//!
//! The test needs an invisible window, and drivers may crash in it. A child process therefore runs the test, as for the drivers
//! ([`opencl::drivers`]), and prints a message after each step, so that a crash loses no results of other devices.
//!
//! [`cases`] runs every case of the test on one device, for `clreel conformance --sharing`.
//!
//! The device that drives OpenGL is queried in a separate step after the test: if a driver has no `clGetGLContextInfoKHR`,
//! ocl-icd jumps through a null pointer.

pub(crate) mod cases;
pub(crate) mod known;

use std::io;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::window::{WindowAttributes, WindowId};

use crate::gl_window::{GlWindow, Interface};
use crate::options::values::name_of;
use crate::window_system::{self, WindowSystem};
use base::device::DeviceInfo;
use base::exit;
use engine::sharing::cases::Outcome;
use engine::sharing::{self, GlAccess};
pub(crate) use known::SharingCache;
use opencl::cl::{Device, list_devices};
use opencl::drivers;
use opencl::identity::{Identity, identity, position};
use opencl::process::exit_now;
use opencl::sandbox::{self, Cause, Sandbox};
use opencl::sources::Sources;
use stats::Sharing;

/// The name of the hidden subcommand that clreel starts as a child process to test which devices share textures with OpenGL.
pub(crate) const SUBCOMMAND: &str = "ask-sharing";

/// The tests that a child process is to run, sent to it as JSON.
#[derive(Serialize, Deserialize)]
enum Work {
    /// Test whether these devices share textures with OpenGL.
    Devices(Vec<Identity>),
    /// Run these cases of the sharing test on one device.
    Cases(cases::CasesOfDevice),
}

impl Work {
    /// Starts a child process that runs these tests. If the child opens a window, it uses this interface to OpenGL and this
    /// window system (`None`: the preferred one).
    fn start(&self, interface: Interface, system: Option<WindowSystem>) -> io::Result<Sandbox> {
        let (mut command, folder) = drivers::sandboxed(SUBCOMMAND)?;
        command.arg(serde_json::to_string(self)?).env("CLREEL_GL", name_of(&interface));
        if let Some(system) = system {
            command.env(window_system::VARIABLE, name_of(&system));
        }
        Sandbox::start(command, folder)
    }
}

/// A message from the child process to its parent, sent after each step of the tests.
#[derive(Serialize, Deserialize)]
enum ChildMessage {
    /// The OpenGL driver of the child's window: interface, renderer and version.
    OpenGl(String),
    /// The tests cannot run, for this reason: no window could be opened, or the device of the cases shares no objects with
    /// OpenGL.
    NotTestable(String),
    /// The result for the next device of the list: the reason why it does not share textures, or `None` if it does.
    Device(Option<String>),
    /// The device that drives OpenGL, according to the driver of that device; `None` if that driver does not know.
    Driving(Option<Identity>),
    /// The device has a context that shares objects with OpenGL; the cases begin.
    Shares,
    /// The next case has this outcome.
    Case(Outcome),
}

/// The device that drives the window's OpenGL, according to the driver of a tested device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DrivingDevice {
    /// The driver lacks the function that queries the device, or crashed in it, and must not be queried again.
    #[serde(rename = "NotAsked")]
    NotQueryable,
    /// The tested device's driver does not know which device drives OpenGL.
    Unknown,
    /// The tested device drives OpenGL.
    Same,
    /// Another device, with this index and name, drives OpenGL.
    Other(usize, String),
}

/// The result of testing whether a device shares textures with OpenGL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharingTest {
    /// The way in which frames get to OpenGL: through shared textures, or copied, with the reason why.
    pub sharing: Sharing,
    /// True if the child process survived the test, so that the window may try to share textures.
    pub survived: bool,
    /// The device that drives OpenGL, as far as it is known.
    pub driving: DrivingDevice,
}

impl SharingTest {
    /// Creates the result for a device whose test did not run, or crashed the child process, for this reason.
    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self { sharing: Sharing::copy(reason), survived: false, driving: DrivingDevice::NotQueryable }
    }

    /// Returns `sharing` with a better reason than the error of the OpenCL call that failed, if this test has found one: that
    /// the driver neither lists the extension nor has its functions, or that another device drives OpenGL.
    pub(crate) fn explain(&self, info: &DeviceInfo, sharing: Sharing) -> Sharing {
        let Sharing::Copy { reason } = sharing else { return sharing };
        match &self.driving {
            _ if !self.survived || reason == sharing::GL_SHARING_NOT_OFFERED => Sharing::Copy { reason },
            DrivingDevice::NotQueryable if !sharing::lists_gl_sharing(info) => {
                Sharing::copy(sharing::GL_SHARING_NOT_OFFERED)
            }
            DrivingDevice::Other(index, name) if !reason.starts_with(OTHER_DEVICE_DRIVES) => {
                Sharing::copy(format!("{OTHER_DEVICE_DRIVES} {index}, '{name}': {reason}"))
            }
            DrivingDevice::Unknown if !reason.ends_with(UNKNOWN_DEVICE) => {
                Sharing::copy(format!("{reason}; {UNKNOWN_DEVICE}"))
            }
            _ => Sharing::Copy { reason },
        }
    }
}

/// The beginning of the reason why textures are not shared if another device drives OpenGL.
const OTHER_DEVICE_DRIVES: &str = "OpenGL runs on device";
/// The reason why textures are not shared if it is not known which device drives OpenGL.
const UNKNOWN_DEVICE: &str = "which device OpenGL runs on is not known";

/// Tests whether `devices`, which must be those of [`list_devices`], share textures with OpenGL. Returns the OpenGL driver of
/// the window, such as "GLX, llvmpipe, OpenGL 4.5" (empty if no window could be opened), and the way in which frames of each
/// device get to OpenGL. Blocks while a window is opened and the devices are listed, and for the drivers' timeout for each
/// device that hangs.
pub(crate) fn test_all(devices: &[Device]) -> (String, Vec<Sharing>) {
    let has_display = WindowSystem::ALL.into_iter().any(|system| system.display().is_some());
    if devices.is_empty() || !has_display {
        let reason = "sharing with OpenGL is tested in a window, and there is no display";
        return (String::new(), vec![Sharing::copy(reason); devices.len()]);
    }
    let mut sharing = vec![Sharing::copy("it was not tested"); devices.len()];
    let (all, opengl) = ((0..devices.len()).collect(), (Interface::preferred(None), None));
    let opengl = test_devices(devices, all, opengl, &mut |at, tested| sharing[at] = tested.sharing);
    (opengl, sharing)
}

/// Tests whether the devices at the indices `remaining` in `devices`, which must be those of [`list_devices`], can share
/// textures with a window that uses this interface to OpenGL and this window system (`None`: the preferred one). Calls `report`
/// with the index and the result of each tested device. Returns the OpenGL driver of the window. If a device crashes the child
/// process or hangs, another child process continues with the next device.
pub(crate) fn test_devices(
    devices: &[Device],
    mut remaining: Vec<usize>,
    (interface, system): (Interface, Option<WindowSystem>),
    report: &mut dyn FnMut(usize, SharingTest),
) -> String {
    let mut opengl = String::new();
    while !remaining.is_empty() {
        let named: Vec<Identity> = remaining.iter().map(|at| identity(devices, *at)).collect();
        if !drivers::are_tested() {
            // The loader loads its default driver without a check anyway.
            let sharing = Sharing::copy("sharing is not tested where no driver is registered");
            let tested = SharingTest { sharing, survived: true, driving: DrivingDevice::Same };
            remaining.drain(..).for_each(|at| report(at, tested.clone()));
            break;
        }
        let mut child = match Work::Devices(named).start(interface, system) {
            Ok(child) => child,
            Err(e) => {
                let reason = format!("sharing could not be tested: {e}");
                remaining.drain(..).for_each(|at| report(at, SharingTest::unknown(&reason)));
                break;
            }
        };
        let mut results: Vec<SharingTest> = Vec::new();
        let (mut window, mut why) = (false, "the test of sharing had no result".to_owned());
        let ending = loop {
            match child.answer(&mut Instant::now(), drivers::test_limit()) {
                Ok((ChildMessage::OpenGl(name), _)) => (window, opengl) = (true, name),
                Ok((ChildMessage::NotTestable(reason), _)) => {
                    why = format!("no window could be opened to test it: {reason}");
                }
                Ok((ChildMessage::Device(reason), _)) => {
                    let sharing = reason.map_or(Sharing::ZeroCopy, Sharing::copy);
                    let driving = DrivingDevice::NotQueryable;
                    results.push(SharingTest { sharing, survived: true, driving });
                }
                Ok((ChildMessage::Driving(found), _)) => {
                    if let Some((tested, own)) = results.iter_mut().zip(&remaining).next_back() {
                        tested.driving = match found.and_then(|wanted| position(devices, &wanted)) {
                            None => DrivingDevice::Unknown,
                            Some(index) if index == *own => DrivingDevice::Same,
                            Some(index) => DrivingDevice::Other(index, devices[index].info.name.clone()),
                        };
                    }
                }
                // Messages about cases.
                Ok((ChildMessage::Shares | ChildMessage::Case(_), _)) => {}
                Err(ending) => break ending,
            }
        };
        let crashed_in_test =
            results.last().is_none_or(|tested| tested.driving != DrivingDevice::NotQueryable);
        for (at, tested) in remaining.drain(..results.len().min(remaining.len())).zip(results) {
            let sharing = tested.explain(&devices[at].info, tested.sharing.clone());
            report(at, SharingTest { sharing, ..tested });
        }
        match ending.cause {
            Cause::Exit(0) => remaining.drain(..).for_each(|at| report(at, SharingTest::unknown(&why))),
            // The child crashed in the query after a test: the next child continues with the next device.
            _ if !crashed_in_test => {}
            // The first device without a result has failed, or the window has.
            _ => {
                let all = remaining.len();
                let (what, count) = if window { ("driver", all.min(1)) } else { ("window", all) };
                let reason = format!("the {what} {ending} in the test of sharing");
                remaining.drain(..count).for_each(|at| report(at, SharingTest::unknown(&reason)));
            }
        }
    }
    opengl
}

/// Runs the tests that `work` (JSON) describes with an invisible window, prints the results and exits. Called in the child
/// process.
pub(crate) fn run_child(work: &str) -> ! {
    if sandbox::enter().is_err() {
        exit_now(exit::FAILED);
    }
    let Ok(work) = serde_json::from_str(work) else { exit_now(exit::FAILED) };
    if let Work::Cases(cases) = &work
        && cases.run_headless()
    {
        exit_now(exit::DONE);
    }
    let system = WindowSystem::preferred(None);
    let ran =
        window_system::event_loop(system).and_then(|event_loop| event_loop.run_app(&mut Tester { work }));
    if ran.is_err() {
        sandbox::send(&ChildMessage::NotTestable("there is no display, or it does not respond".to_owned()));
    }
    exit_now(exit::DONE)
}

/// The application of the child process, which runs the tests when the event loop permits a window.
struct Tester {
    work: Work,
}

impl ApplicationHandler for Tester {
    /// Opens the invisible window, runs the tests in it, and exits.
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let attributes =
            WindowAttributes::default().with_visible(false).with_inner_size(PhysicalSize::new(64, 64));
        match (GlWindow::open(event_loop, attributes, false, Interface::preferred(None)), &self.work) {
            (Ok(window), Work::Devices(list)) => test(&window, list),
            (Ok(window), Work::Cases(cases)) => cases.run_in(&window),
            (Err(e), _) => sandbox::send(&ChildMessage::NotTestable(e.why.trim_end_matches('.').to_owned())),
        }
        exit_now(exit::DONE)
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, _: WindowEvent) {}
}

/// Tests whether each device of `list` shares textures with the OpenGL context of this window, and sends the results to the
/// parent process.
fn test(window: &GlWindow, list: &[Identity]) {
    sandbox::send(&ChildMessage::OpenGl(window.renderer.clone()));
    let (devices, gl) = (list_devices(), GlAccess::Here(window.gl.clone()));
    for wanted in list {
        let device = position(&devices, wanted).map(|at| &devices[at]);
        let open = |device| sharing::open(device, &gl, Ok(window.opencl_properties()), Sources::default());
        let reason = match device.map(open) {
            Some(Ok((_, Sharing::ZeroCopy))) => None,
            Some(Ok((_, Sharing::Copy { reason }))) => Some(reason),
            Some(Err(e)) => Some(e.why.trim_end_matches('.').to_owned()),
            None => Some("its driver no longer lists it".to_owned()),
        };
        sandbox::send(&ChildMessage::Device(reason));
        let driving = device.and_then(|device| {
            let twins: Vec<Device> =
                devices.iter().filter(|other| other.platform == device.platform).cloned().collect();
            let driving = sharing::driving_device(&twins, &window.opencl_properties())?;
            devices.iter().position(|other| other.id == driving.id).map(|at| identity(&devices, at))
        });
        sandbox::send(&ChildMessage::Driving(driving));
    }
}
