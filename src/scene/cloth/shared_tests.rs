//! Tests of the figures' vertices in OpenGL's own buffers, by the tests' layer over a driver that cannot share.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use super::army::{Detail, LendResult};
use super::camera::Camera;
use super::picture::SIZE;
use super::walker::{ArmySimulation, FrameRequest, Hand, Report};
use super::world::World;
use crate::gl_window::{egl_properties, read_pixels};
use engine::present::Viewport;
use engine::sharing::{self, GlAccess};
use opencl::cl::{ClContext, list_devices};
use opencl::sources::Sources;
use opengl::headless::Headless;
use stats::Sharing;
use testkit::layer;
use video::Orientation;

/// The number of frames that are simulated for each number of figures.
const FRAMES: usize = 12;
const ARMIES: [usize; 2] = [1, 4];

/// A simulation of the figures and the objects that draw it: the cloth scene without the window.
struct Side {
    simulation: ArmySimulation,
    world: World,
    shares: bool,
}

/// Returns true if the buffer is handed over twice in the frame `n`.
fn is_twice(n: usize) -> bool {
    n % 3 == 2
}

/// Returns a context of the first device that shares objects with OpenGL.
fn open(headless: &Headless) -> ClContext {
    let device = list_devices().into_iter().next().unwrap();
    let properties = egl_properties(headless.egl().unwrap());
    let gl = GlAccess::Here(headless.gl.clone());
    let (cl, sharing) = sharing::open(&device, &gl, Ok(properties), Sources::default()).unwrap();
    assert_eq!(sharing, Sharing::ZeroCopy, "{}", sharing.reason());
    cl
}

impl Side {
    fn new(gl: &Arc<glow::Context>, cl: &ClContext, shares: bool) -> Self {
        let mut simulation = ArmySimulation::default();
        let device = Some(Some(cl.clone()));
        simulation.execute(FrameRequest { army: 9, device, ..FrameRequest::default() });
        Self { simulation, world: World::new(gl, Detail::Fine).unwrap(), shares }
    }

    /// Simulates a frame. Returns the report, and true if the lent buffer was given back.
    fn frame(&mut self, army: usize, n: usize, twice: bool) -> (Report, bool) {
        let lent = match if self.shares { self.world.lend(army).unwrap() } else { LendResult::NoArmy } {
            LendResult::Buffer(buffer) => Some(buffer),
            LendResult::NoArmy => None,
            LendResult::Busy => panic!("OpenGL was waited for"),
        };
        let ray = Camera::new(army).ray([0.5, 0.45], 16.0 / 9.0);
        let hand = if n == 5 { Hand::Grab(ray) } else { Hand::Off };
        let order = FrameRequest { army, dt: 1.0 / 30.0, twice, hand, lent, ..FrameRequest::default() };
        let mut report = self.simulation.execute(order);
        assert!(report.error.is_none(), "{:?}", report.error);
        let is_back = report.lent.is_some();
        // `take` takes the buffer and the vertices; the flags of the report remain.
        assert!(self.world.take(&mut report).unwrap(), "OpenGL sees what was written");
        if !self.shares {
            // Into both of its buffers: what it draws is right, whichever of them it draws.
            assert!(self.world.set(army, &report.vertices).unwrap());
        }
        (report, is_back)
    }

    fn picture(&mut self, gl: &glow::Context, army: usize) -> Vec<u8> {
        let at = Viewport { x: 0, y: 0, width: SIZE.0 as i32, height: SIZE.1 as i32 };
        self.world.draw(at, &Camera::new(army), 0.0, None, Orientation::default()).unwrap();
        read_pixels(gl, Some(self.world.depth.framebuffer), SIZE).unwrap()
    }
}

/// The part of [`shared_and_copied_vertices_are_the_same_picture`] that runs in a child process with the OpenCL layer.
#[test]
#[ignore = "runs under the layer, in a process of its own"]
fn under_the_layer() {
    // With `--ignored` or `--include-ignored` it also runs in a process without the layer.
    if !layer::is_active() {
        return;
    }
    let headless = Headless::new().unwrap();
    let gl = &headless.gl;
    let cl = open(&headless);
    let [mut shared, mut copied] = [true, false].map(|shares| Side::new(gl, &cl, shares));
    for army in ARMIES {
        let mut seen = Vec::new();
        for n in 0..FRAMES {
            let [(a, _), (b, _)] = [&mut shared, &mut copied].map(|side| side.frame(army, n, is_twice(n)));
            assert!(a.refused.is_none() && b.refused.is_none(), "{:?}", a.refused);
            // The first frame makes the army's memory; then each buffer is tested when it comes first.
            assert_eq!((a.is_written, b.is_written), (n > 0, false), "frame {n}");
            assert_eq!(a.vertices.is_empty(), n > 2, "frame {n}");
            assert_eq!(a.grabbed, b.grabbed, "frame {n}");
            let handovers = if n == 0 { 0 } else { 1 + usize::from(is_twice(n)) };
            assert_eq!((a.times.handovers, b.times.handovers), (handovers, 0), "frame {n}");
            assert_eq!(a.times.ms[0].is_finite() && a.times.ms[6].is_finite(), n > 0, "frame {n}");
            // A request that grabs a shirt has read the vertices already.
            let were_copied = [&a, &b].map(|report| report.times.ms[7].is_finite());
            assert_eq!(were_copied, [n == 0, n != 5], "frame {n}");
            let (a, b) = (shared.picture(gl, army), copied.picture(gl, army));
            let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count();
            assert_eq!(differ, 0, "an army of {army}, frame {n}: other bytes than where vertices are copied");
            assert!(!seen.contains(&a), "an army of {army}, frame {n}: it stands");
            seen.push(a);
        }
    }
    // A buffer that was lent and does not come back is neither drawn nor lent again.
    let LendResult::Buffer(lost) = shared.world.lend(4).unwrap() else { panic!("none was lent") };
    let LendResult::Buffer(other) = shared.world.lend(4).unwrap() else { panic!("none was lent") };
    assert!(!Arc::ptr_eq(&lost, &other));
}

/// Runs a test of this file in a process with the OpenCL layer of the tests; returns the path of the layer's log.
fn run_under_layer(test: &str, options: &[(&str, &str)]) -> PathBuf {
    let log = std::env::temp_dir().join(format!("clreel-{test}-{}", std::process::id()));
    let _ = std::fs::remove_file(&log);
    let folder = log.with_extension("folder");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.current_dir(&folder);
    let path = format!("scene::cloth::shared_tests::{test}");
    command.args(["--ignored", "--exact", &path, "--nocapture"]);
    let always = [("POISON", "1"), ("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())];
    let output = command.envs(layer::environment(&[options, &always].concat())).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    std::fs::remove_dir_all(folder).unwrap();
    log
}

#[test]
fn shared_and_copied_vertices_are_the_same_picture() {
    let log = run_under_layer("under_the_layer", &[]);
    // Calls for vertex buffers: the test of sharing hands a texture over, too.
    let vertices = |function: &str| {
        let calls = layer::calls(&log, function);
        calls.into_iter().filter(|call| !call.contains("bytes=9380 ")).count()
    };
    let handed = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"].map(vertices);
    let twice = (1..FRAMES).filter(|n| is_twice(*n)).count();
    assert_eq!(handed, [ARMIES.len() * (FRAMES - 1 + twice); 2]);
    layer::assert_no_misuse(&log, "");
    std::fs::remove_file(log).unwrap();
}

/// The name of the file in the test's folder; the layer counts calls while this file exists.
const COUNTS: &str = "counts";

/// A driver that refuses to hand a buffer over after it has accepted some handovers.
struct Refusal {
    /// True if the buffer is handed over twice in each frame.
    twice: bool,
    /// The index of the frame in which the driver refuses the handover. In frame 0 the buffers are created, and nothing is
    /// lent.
    at: usize,
    /// The numbers of acquisitions and releases that the driver accepts: in the frames before that frame, and in that frame.
    taken: [[usize; 2]; 2],
    /// True if the driver fails to release the buffer to OpenGL.
    keeps: bool,
}

const REFUSALS: [Refusal; 6] = [
    // The second buffer, and one that was handed over before.
    Refusal { twice: false, at: 2, taken: [[1, 1], [0, 0]], keeps: false },
    Refusal { twice: false, at: 4, taken: [[3, 3], [0, 0]], keeps: false },
    // Between skinning and write-back.
    Refusal { twice: true, at: 1, taken: [[0, 0], [1, 1]], keeps: false },
    Refusal { twice: true, at: 3, taken: [[4, 4], [1, 0]], keeps: true },
    // After write-back.
    Refusal { twice: true, at: 2, taken: [[2, 2], [2, 1]], keeps: true },
    Refusal { twice: false, at: 1, taken: [[0, 0], [1, 0]], keeps: true },
];

/// Returns the list of calls that the layer must let fail, as the numbers of the handovers, counted over all cases one after
/// another.
fn plan() -> String {
    let mut calls = [0, 0];
    let one = |refusal: &Refusal| {
        (0..2).for_each(|way| calls[way] += refusal.taken[0][way] + refusal.taken[1][way]);
        let way = usize::from(refusal.keeps);
        calls[way] += 1;
        format!("{}:{}:-59", ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"][way], calls[way])
    };
    REFUSALS.iter().map(one).collect::<Vec<_>>().join(",")
}

/// The part of [`where_the_driver_refuses_a_later_handover_vertices_are_copied_from_then_on`] that runs in a child process with
/// the OpenCL layer.
#[test]
#[ignore = "runs under the layer, in a process of its own"]
fn refused_under_the_layer() {
    if !layer::is_active() {
        return;
    }
    let headless = Headless::new().unwrap();
    let gl = &headless.gl;
    let cl = open(&headless);
    // From here on the layer counts.
    std::fs::write(COUNTS, "").unwrap();
    for (case, refusal) in REFUSALS.iter().enumerate() {
        let [mut shared, mut copied] = [true, false].map(|shares| Side::new(gl, &cl, shares));
        for n in 0..FRAMES {
            let (a, is_back) = shared.frame(1, n, refusal.twice);
            let (b, _) = copied.frame(1, n, refusal.twice);
            let now = n == refusal.at;
            assert_eq!(a.refused.is_some(), now, "case {case}, frame {n}: {:?}", a.refused);
            assert!(a.refused.is_none_or(|why| why.contains("handed over") && why.contains("-59")));
            assert_eq!(a.is_written, n > 0 && n < refusal.at, "case {case}, frame {n}");
            // OpenGL does not get a buffer that OpenCL still has.
            assert_eq!(is_back, n > 0 && !(now && refusal.keeps), "case {case}, frame {n}");
            let handovers = match n {
                _ if now => refusal.taken[1][0],
                _ if a.is_written => 1 + usize::from(refusal.twice),
                _ => 0,
            };
            assert_eq!(a.times.handovers, handovers, "case {case}, frame {n}");
            assert_eq!(a.times.on_host, [false; 5], "case {case}, frame {n}: the device goes on");
            assert_eq!(a.seconds, b.seconds, "case {case}, frame {n}");
            let (a, b) = (shared.picture(gl, 1), copied.picture(gl, 1));
            assert!(a == b, "case {case}, frame {n}: other bytes than where vertices are copied");
        }
    }
    std::fs::remove_file(COUNTS).unwrap();
}

#[test]
fn where_the_driver_refuses_a_later_handover_vertices_are_copied_from_then_on() {
    let plan = plan();
    let options = [("FAIL", plan.as_str()), ("FAIL_WHILE", COUNTS)];
    let log = run_under_layer("refused_under_the_layer", &options);
    assert_eq!(layer::calls(&log, "planned-failure").len(), REFUSALS.len());
    layer::assert_no_misuse(&log, "");
    std::fs::remove_file(log).unwrap();
}
