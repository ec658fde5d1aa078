//! Whether devices share textures with OpenGL, for `clreel devices` and for the window. In: the devices. Out: an answer
//! for each.
//!
//! The test needs a window, which stays invisible, and a driver can crash in it: so a child process does it, as with
//! the drivers ([`opencl::drivers`]). It prints an answer after each step, so that a crash costs no other answer.
//!
//! Which device drives OpenGL is asked in a step of its own, after the test: where a driver has no `clGetGLContextInfoKHR`,
//! ocl-icd jumps through a null pointer.

mod known;

use std::time::Instant;

use serde::{Deserialize, Serialize};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{WindowAttributes, WindowId};

use crate::gl_window::{GlWindow, Interface};
use engine::sharing::{self, Sharing};
pub(crate) use known::Known;
use opencl::cl::{Device, DeviceInfo, list_devices};
use opencl::drivers;
use opencl::identity::{Identity, identity, position};
use opencl::process::exit_now;

/// The hidden subcommand with which this binary tests sharing, and prints the answers.
pub(crate) const ASK: &str = "ask-sharing";

/// What the child says, one after the other.
#[derive(Serialize, Deserialize)]
enum Answer {
    /// The window's OpenGL: interface, renderer and version.
    OpenGl(String),
    /// Why there is no window.
    NoWindow(String),
    /// The device at this position of the list was tested; a reason why it does not share.
    Device(usize, Option<String>),
    /// Its driver was asked which device drives OpenGL, and came through: that device, where the driver knows.
    Driving(usize, Option<Identity>),
}

/// The device that drives the window's OpenGL, as a driver answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DrivingDevice {
    /// The driver has no function to ask, or crashed in it: it must not be asked again.
    NotAsked,
    /// The driver does not know.
    Unknown,
    /// The device that was tested.
    Same,
    /// A device with this index and name.
    Other(usize, String),
}

/// What came of testing a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tested {
    /// Whether it shares, and why not.
    pub sharing: Sharing,
    /// The process that tested it came through: another one may try the same.
    pub survived: bool,
    /// The device that drives OpenGL.
    pub driving: DrivingDevice,
}

impl Tested {
    /// One that nobody has come through, and why.
    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self { sharing: Sharing::copy(reason), survived: false, driving: DrivingDevice::NotAsked }
    }

    /// Returns `sharing` with the reason that this test knows: a driver that neither lists the extension nor has its
    /// functions does not offer it, and a device shares nothing with an OpenGL that another device runs, whatever the call
    /// that failed has returned.
    pub(crate) fn explain(&self, info: &DeviceInfo, sharing: Sharing) -> Sharing {
        let Sharing::Copy { reason } = sharing else { return sharing };
        match &self.driving {
            _ if !self.survived || reason == sharing::NOT_OFFERED => Sharing::Copy { reason },
            DrivingDevice::NotAsked if !sharing::is_listed(info) => Sharing::copy(sharing::NOT_OFFERED),
            DrivingDevice::Other(index, name) if !reason.starts_with(ELSEWHERE) => {
                Sharing::copy(format!("{ELSEWHERE} {index}, '{name}': {reason}"))
            }
            DrivingDevice::Unknown if !reason.ends_with(UNKNOWN_DEVICE) => {
                Sharing::copy(format!("{reason}; {UNKNOWN_DEVICE}"))
            }
            _ => Sharing::Copy { reason },
        }
    }
}

const ELSEWHERE: &str = "OpenGL runs on device";
const UNKNOWN_DEVICE: &str = "which device OpenGL runs on is not known";

/// What came of the test of all devices.
pub(crate) struct Probe {
    /// The OpenGL that was shared with, such as "GLX, llvmpipe, OpenGL 4.5"; empty where there was no window.
    pub opengl: String,
    /// An answer for each device, in their order.
    pub sharing: Vec<Sharing>,
}

/// Tests all `devices`, which must be those of [`list_devices`]. Takes as long as opening a window and listing the
/// devices, and the drivers' time limit more for each device that hangs.
pub(crate) fn ask(devices: &[Device]) -> Probe {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|n| base::environment::get(n).is_some_and(|v| !v.is_empty()));
    if devices.is_empty() || !has_display {
        let reason = "sharing with OpenGL is tested in a window, and there is no display";
        return Probe {
            opengl: String::new(),
            sharing: devices.iter().map(|_| Sharing::copy(reason)).collect(),
        };
    }
    let mut sharing: Vec<_> = devices.iter().map(|_| Sharing::copy("it was not tested")).collect();
    let all: Vec<usize> = (0..devices.len()).collect();
    let interface = Interface::wanted(None);
    let opengl = ask_about(devices, all, interface, &mut |at, tested| sharing[at] = tested.sharing);
    Probe { opengl, sharing }
}

/// Tests those of `devices`, all of [`list_devices`], that stand at the positions `left`, with a window of this interface,
/// and tells each answer with the device's position. Returns the OpenGL of the window. A device that ends the child or hangs
/// costs no other one's answer: the next child goes on behind it.
pub(crate) fn ask_about(
    devices: &[Device],
    mut left: Vec<usize>,
    interface: Interface,
    tell: &mut dyn FnMut(usize, Tested),
) -> String {
    let mut opengl = String::new();
    while !left.is_empty() {
        let named: Vec<Identity> = left.iter().map(|at| identity(devices, *at)).collect();
        let Ok(list) = serde_json::to_string(&named) else { break };
        let asked = match drivers::start_expendable(ASK, &list, ("CLREEL_GL", interface.name())) {
            Some(Ok(asked)) => asked,
            Some(Err(e)) => {
                let reason = format!("sharing could not be tested: {e}");
                left.drain(..).for_each(|at| tell(at, Tested::unknown(&reason)));
                break;
            }
            None => {
                // It is loaded unasked anyway.
                let sharing = Sharing::copy("sharing is not tested where no driver is registered");
                let tested = Tested { sharing, survived: true, driving: DrivingDevice::Same };
                left.drain(..).for_each(|at| tell(at, tested.clone()));
                break;
            }
        };
        let (printed, failure) = asked.wait(Instant::now());
        let mut answered: Vec<Option<Tested>> = vec![None; left.len()];
        let (mut window, mut why) = (false, "the test of sharing gave no answer".to_owned());
        for answer in drivers::answers_in(&printed) {
            match answer {
                Answer::OpenGl(name) => (window, opengl) = (true, name),
                Answer::NoWindow(reason) => why = format!("no window could be opened to test it: {reason}"),
                Answer::Device(at, reason) => {
                    let sharing = reason.map_or(Sharing::ZeroCopy, Sharing::copy);
                    let tested = Tested { sharing, survived: true, driving: DrivingDevice::NotAsked };
                    answered.iter_mut().skip(at).take(1).for_each(|answer| *answer = Some(tested.clone()));
                }
                Answer::Driving(at, found) => {
                    let index = found.and_then(|wanted| position(devices, &wanted));
                    let driving = match (index, left.get(at)) {
                        (None, _) => DrivingDevice::Unknown,
                        (Some(index), Some(own)) if index == *own => DrivingDevice::Same,
                        (Some(index), _) => DrivingDevice::Other(index, devices[index].info.name.clone()),
                    };
                    if let Some(Some(tested)) = answered.get_mut(at) {
                        tested.driving = driving;
                    }
                }
            }
        }
        let died_in_test = answered.iter().flatten().all(|tested| tested.driving != DrivingDevice::NotAsked);
        let mut answers = answered.into_iter();
        left.retain(|&at| match answers.next().flatten() {
            Some(tested) => {
                let sharing = tested.explain(&devices[at].info, tested.sharing.clone());
                tell(at, Tested { sharing, ..tested });
                false
            }
            None => true,
        });
        match failure {
            // It is known already what failed: the next child goes on behind it.
            Some(_) if !died_in_test => {}
            // What failed is the first one without an answer, or the window.
            Some(failure) => {
                let (what, count) =
                    if window { ("driver", 1.min(left.len())) } else { ("window", left.len()) };
                let reason =
                    format!("the {what} failed in the test of sharing: {}", failure.trim_end_matches('.'));
                left.drain(..count).for_each(|at| tell(at, Tested::unknown(&reason)));
            }
            None => left.drain(..).for_each(|at| tell(at, Tested::unknown(&why))),
        }
    }
    opengl
}

/// The child's part: opens a window that stays invisible, tests each device of the list, prints the answers, ends the
/// process.
pub(crate) fn answer(list: &str) -> ! {
    drivers::be_expendable();
    let mut tester = Tester { list: serde_json::from_str(list).unwrap_or_default() };
    let ran = EventLoop::new().and_then(|event_loop| event_loop.run_app(&mut tester));
    if ran.is_err() {
        drivers::print_answer(&Answer::NoWindow("the display server does not answer".to_owned()));
    }
    exit_now(0)
}

/// Tests everything as soon as there can be a window.
struct Tester {
    list: Vec<Identity>,
}

impl ApplicationHandler for Tester {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let attributes =
            WindowAttributes::default().with_visible(false).with_inner_size(PhysicalSize::new(64, 64));
        match GlWindow::open(event_loop, attributes, false, Interface::wanted(None)) {
            Ok(window) => test(&window, &self.list),
            Err(e) => drivers::print_answer(&Answer::NoWindow(e.why.trim_end_matches('.').to_owned())),
        }
        exit_now(0)
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, _: WindowEvent) {}
}

fn test(window: &GlWindow, list: &[Identity]) {
    drivers::print_answer(&Answer::OpenGl(window.renderer.clone()));
    let devices = list_devices();
    let names: Vec<Identity> = (0..devices.len()).map(|at| identity(&devices, at)).collect();
    for (index, wanted) in list.iter().enumerate() {
        let device = names.iter().position(|name| name == wanted).map(|at| &devices[at]);
        let reason = match device {
            Some(device) => try_device(window, device),
            None => Some("its driver did not list it any more".to_owned()),
        };
        drivers::print_answer(&Answer::Device(index, reason));
        let driving = device.and_then(|device| {
            let twins: Vec<Device> =
                devices.iter().filter(|other| other.platform == device.platform).cloned().collect();
            let driving = sharing::driving_device(&twins, &window.opencl_properties())?;
            devices.iter().position(|other| other.id == driving.id).map(|at| names[at].clone())
        });
        drivers::print_answer(&Answer::Driving(index, driving));
    }
}

/// What a window does with a device and its own OpenGL context before it shows frames.
fn try_device(window: &GlWindow, device: &Device) -> Option<String> {
    match sharing::open(device, &window.gl, Ok(window.opencl_properties())) {
        Ok((_, Sharing::ZeroCopy)) => None,
        Ok((_, Sharing::Copy { reason })) => Some(reason),
        Err(e) => Some(e.why.trim_end_matches('.').to_owned()),
    }
}
