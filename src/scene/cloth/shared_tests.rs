//! The army in OpenGL's own vertex buffers, by the tests' layer over a driver that cannot share.

use std::process::Command;

use super::army::Lent;
use super::camera::Camera;
use super::detail::Detail;
use super::picture::{SIZE, read};
use super::walker::{Hand, Order, Report, Troop};
use super::world::{Look, World};
use crate::gpu::cl::list_devices;
use crate::gpu::headless::Headless;
use crate::gpu::sharing::{self, Sharing};
use crate::layer;
use crate::media::Orientation;
use crate::present::Viewport;

/// Frames of each army.
const FRAMES: usize = 12;
const ARMIES: [usize; 2] = [1, 4];

/// An army and its world: the window without its events.
struct Side {
    troop: Troop,
    world: World,
    shares: bool,
}

/// In which frames the device gets the buffer twice.
fn is_twice(n: usize) -> bool {
    n % 3 == 2
}

impl Side {
    fn frame(&mut self, army: usize, n: usize) -> Report {
        let lent = match if self.shares { self.world.lend(army).unwrap() } else { Lent::Nothing } {
            Lent::Buffer(buffer) => Some(buffer),
            Lent::Nothing => None,
            Lent::NotYet => panic!("OpenGL was waited for"),
        };
        let ray = Camera::new(army).ray([0.5, 0.45], 16.0 / 9.0);
        let hand = if n == 5 { Hand::Grab(ray) } else { Hand::Off };
        let order = Order {
            army,
            dt: 1.0 / 30.0,
            on_host: [false; 5],
            twice: is_twice(n),
            hand,
            device: None,
            lent,
            room: Vec::new(),
        };
        let mut report = self.troop.obey(order);
        assert!(report.error.is_none() && report.refused.is_none(), "{:?}", report.refused);
        // `take` takes the buffer and the vertices; what is left says where they were.
        assert!(self.world.take(&mut report).unwrap(), "OpenGL sees what was written");
        if !self.shares {
            // Into both of its buffers: what it draws is right, whichever of them it draws.
            assert!(self.world.set(army, &report.vertices).unwrap());
        }
        report
    }

    fn picture(&mut self, gl: &glow::Context, army: usize) -> Vec<u8> {
        let at = Viewport { x: 0, y: 0, width: SIZE.0 as i32, height: SIZE.1 as i32 };
        let camera = Camera::new(army);
        let orientation = Orientation::default();
        self.world.draw(at, &Look { camera: &camera, seconds: 0.0, picture: None, orientation }).unwrap();
        read(gl, &self.world).unwrap()
    }
}

/// What the test below runs under the layer.
#[test]
#[ignore = "runs under the layer, in a process of its own"]
fn under_the_layer() {
    let headless = Headless::new().unwrap();
    let gl = &headless.gl;
    let device = list_devices().into_iter().next().unwrap();
    let (cl, sharing) = sharing::open(&device, gl, Ok(headless.opencl_properties())).unwrap();
    assert_eq!(sharing, Sharing::ZeroCopy, "{}", sharing.reason());
    let side = |shares| {
        let mut troop = Troop::default();
        let device = Some(Some(cl.clone()));
        let order = Order {
            army: 9,
            dt: 0.0,
            on_host: [false; 5],
            twice: false,
            hand: Hand::Off,
            device,
            lent: None,
            room: Vec::new(),
        };
        troop.obey(order);
        Side { troop, world: World::new(gl, Detail::Fine).unwrap(), shares }
    };
    let (mut shared, mut copied) = (side(true), side(false));
    for army in ARMIES {
        let mut seen = Vec::new();
        for n in 0..FRAMES {
            let (a, b) = (shared.frame(army, n), copied.frame(army, n));
            // The first frame makes the army's room; then each buffer is tested when it comes first.
            assert_eq!((a.is_written, b.is_written), (n > 0, false), "frame {n}");
            assert_eq!(a.vertices.is_empty(), n > 2, "frame {n}");
            assert_eq!(a.grabbed, b.grabbed, "frame {n}");
            let handovers = if n == 0 { 0 } else { 1 + usize::from(is_twice(n)) };
            assert_eq!((a.times.handovers, b.times.handovers), (handovers, 0), "frame {n}");
            assert_eq!(a.times.ms[0].is_finite() && a.times.ms[6].is_finite(), n > 0, "frame {n}");
            // Who takes hold of a shirt has read them already.
            let were_copied = [&a, &b].map(|report| report.times.ms[7].is_finite());
            assert_eq!(were_copied, [n == 0, n != 5], "frame {n}");
            let (a, b) = (shared.picture(gl, army), copied.picture(gl, army));
            let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count();
            assert_eq!(differ, 0, "an army of {army}, frame {n}: other bytes than where vertices are copied");
            assert!(!seen.contains(&a), "an army of {army}, frame {n}: it stands");
            seen.push(a);
        }
    }
    // One that was lent and does not come back is not drawn, and not lent again.
    let Lent::Buffer(lost) = shared.world.lend(4).unwrap() else { panic!("none was lent") };
    let Lent::Buffer(other) = shared.world.lend(4).unwrap() else { panic!("none was lent") };
    assert!(!std::sync::Arc::ptr_eq(&lost, &other));
    drop(shared.troop);
    shared.world.destroy();
    copied.world.destroy();
}

#[test]
fn shared_and_copied_vertices_are_the_same_picture() {
    let log = std::env::temp_dir().join(format!("clreel-shared-vertices-{}", std::process::id()));
    let _ = std::fs::remove_file(&log);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "scene::cloth::shared_tests::under_the_layer", "--nocapture"]);
    let options = [("POISON", "1"), ("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())];
    let output = command.envs(layer::environment(&options)).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    // Of vertex buffers: the test of sharing hands a texture over, too.
    let vertices = |function: &str| {
        let calls = layer::calls(&log, function);
        calls.into_iter().filter(|call| !call.contains("bytes=9380 ")).count()
    };
    let handed = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"].map(vertices);
    let twice = (1..FRAMES).filter(|n| is_twice(*n)).count();
    assert_eq!(handed, [ARMIES.len() * (FRAMES - 1 + twice); 2]);
    assert!(layer::calls(&log, "misuse").is_empty());
    std::fs::remove_file(log).unwrap();
}
