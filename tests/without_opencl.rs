//! The filters without OpenCL, and that on planes, in the window on a virtual display: keys select them, and their pictures equal
//! `snapshot` and the reference, with and without OpenCL. No time is asserted.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::*;
use base::verify::poisoned;
use box_filter::pictures::noise;
use box_filter::reference::reference;
use box_filter::shaders::Shaders as _;
use box_filter::{MAX_RADIUS, VariantId, named};
use engine::glsl::{GlslFilter, Offscreen};
use engine::{Bands, Slot, SpeedModel, TextureFilter, Waker};
use opengl::headless::Headless;
use opengl::read_texture::read_texture;

/// Returns key and name of each filter without OpenCL.
fn filters() -> impl Iterator<Item = (String, &'static str)> {
    let filters = VariantId::all().filter(|id| id.back_end().does_without_opencl());
    filters.map(|id| (id.key.to_string(), id.name))
}

/// Selects each filter without OpenCL, and with OpenCL that on planes, by its key, changes the radius in a pause, continues, pauses
/// again, and compares the picture on the screen.
fn select_by_keys(with_opencl: bool) {
    let (display, folder) = (Display::start(&[]), Folder::new("without-opencl"));
    let shot = folder.file("s.png");
    let planar = named("planar");
    for (key, id) in filters().chain(with_opencl.then(|| (planar.key.to_string(), planar.name))) {
        let mut command = clreel(Some(&display));
        if !with_opencl {
            command.env("OCL_ICD_VENDORS", "/nowhere");
        }
        command.args(["--variant", "off", "--save-frame"]).arg(&shot);
        let mut session = Session::with_stats(&display, command);
        session.wait_for_title("- off");
        let mut press = |key: &str, title: &str| session.press_until_title(key, &title.replace("ID", id));
        press(&key, "ID, r=7");
        press("equal", "ID, r=8");
        press("space", "ID, r=8, paused");
        press("0", "- off, paused");
        // The picture on the screen is filtered again during a pause.
        press(&key, "ID, r=8, paused");
        if with_opencl {
            // To a kernel and back: the frame's memory moves between device and host.
            press("5", "running-sum, r=8, paused");
            press(&key, "ID, r=8, paused");
        }
        press("minus", "ID, r=7, paused");
        // A seek drops frames in flight, and the filter continues at the new position.
        display.key("Home");
        press("space", "ID, r=7 - clreel");
        press("space", "paused");
        press("minus", "ID, r=6, paused");
        let stats = session.stats();
        let frames = presented_frames(&stats);
        let filtered: Vec<_> = frames.iter().filter(|f| f["variant"] == id).collect();
        assert!(filtered.iter().any(|f| f["radius"] == 7) && filtered.iter().any(|f| f["radius"] == 8));
        // The device's time, or elapsed time where the device has none: exactly one of them.
        let one = |f: &&Value| match [f["filter"].as_f64(), f["filter_wall"].as_f64()] {
            [Some(ms), None] if id != "native" => ms > 0.0,
            [None, Some(ms)] if id != planar.name => ms > 0.0,
            _ => false,
        };
        assert!(filtered.iter().all(one), "each has its time: {filtered:?}");
        let is_converted = |f: &&Value| id != planar.name || f["convert"].as_f64() > Some(0.0);
        assert!(filtered.iter().all(is_converted), "each has its time of the conversion: {filtered:?}");
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        let (width, height, unfiltered) = snapshot(&folder, &clip(), at, "off", "0");
        let shown = png(&shot);
        let is_right = id == planar.name || shown.2 == reference(&unfiltered, width, height, 6);
        assert!(is_right, "{id}: window and reference differ");
        assert!(shown == snapshot(&folder, &clip(), at, id, "6"), "{id}: window and snapshot differ");
    }
}

#[test]
fn keys_select_host_gl_and_planar_filters_with_opencl() {
    select_by_keys(true);
}

#[test]
fn keys_select_host_and_gl_filters_without_opencl() {
    select_by_keys(false);
}

/// Without a variant the movie plays unfiltered. Scripts name the variant at the start, and all counted frames are filtered with
/// it. A wipe whose second side is unavailable
/// continues with the first one and shows the reason, as does a map without a device.
#[test]
fn the_command_line_selects_host_and_gl_filters_without_opencl() {
    let (display, folder) = (Display::start(&[]), Folder::new("without-opencl-arguments"));
    let shot = folder.file("s.png");
    let without = |arguments: &[&str]| {
        let mut command = clreel(Some(&display));
        play(command.env("OCL_ICD_VENDORS", "/nowhere").args(arguments).arg("--save-frame").arg(&shot))
    };
    let (stats, stderr) = without(&["--frames", "30"]);
    assert!(stderr.contains("pocl-opencl-icd"), "says what to install: {stderr}");
    assert!(presented_frames(&stats).iter().all(|f| f["variant"] == "off"));
    assert!(stats["device"].is_null());
    for (_, id) in filters() {
        let (stats, _) = without(&["--frames", "4", "--variant", id, "--radius", "12"]);
        let frames = presented_frames(&stats);
        assert_eq!(frames.len(), 4);
        assert!(frames.iter().all(|f| f["variant"] == id && f["radius"] == 12));
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        assert!(png(&shot) == snapshot(&folder, &clip(), at, id, "12"), "{id}: window and snapshot differ");
    }
    for (wipe, beside, why) in
        [("native:5,fused:5", None, "no OpenCL"), ("native:5,off", Some("off"), "could not be compared")]
    {
        let (stats, stderr) = without(&["--frames", "6", "--wipe", wipe, "--difference"]);
        let last = presented_frames(&stats).last().unwrap();
        assert!(last["variant"] == "native" && last["beside"].as_str() == beside, "{last}");
        assert!(last["difference"] == 0.0 && last["compared"] == false, "{last}");
        assert_eq!(last["wipe"].as_f64().unwrap() > 0.0, beside.is_some(), "{last}");
        assert!(stderr.contains(why), "{stderr}");
    }
}

const SIZES: [(u32, u32); 8] = [(1, 1), (1, 37), (41, 1), (2, 2), (13, 7), (63, 65), (127, 3), (129, 130)];

/// Odd sizes, radii up to the largest and beyond the picture, and the largest possible sums.
#[test]
fn shaders_equal_the_reference() {
    for (width, height) in SIZES {
        let offscreen = Offscreen::new(width, height).expect("these tests need OpenGL through EGL");
        for src in [noise(4 * (width * height) as usize), vec![255; (width * height * 4) as usize]] {
            for radius in [0, 1, 7, 31, MAX_RADIUS - 1, MAX_RADIUS] {
                let want = reference(&src, width as usize, height as usize, radius as usize);
                offscreen.load(&src);
                offscreen.poison(&poisoned(&want));
                offscreen.run(radius).unwrap();
                assert!(offscreen.read().unwrap() == want, "{width}×{height} r={radius}");
            }
        }
    }
}

/// As in the window: in place, in bands, and cancelled between bands.
#[test]
fn shaders_in_bands_equal_the_reference() {
    let headless = Headless::new().expect("these tests need OpenGL through EGL");
    let filter = Rc::new(GlslFilter::new(headless.gl.clone()).unwrap());
    let (mut speeds, waker): (_, Waker) = (SpeedModel::default(), Arc::new(|| {}));
    let began = Instant::now();
    let go_on = |bands: &mut Bands, speeds: &mut SpeedModel| {
        while !bands.is_over() {
            bands.start_bands(speeds, &waker).unwrap();
            std::thread::sleep(Duration::from_millis(1));
            bands.poll(speeds, began.elapsed()).unwrap();
        }
    };
    for (size, radius) in [((640, 480), 31), ((333, 67), MAX_RADIUS), ((1, 1), 3), ((640, 480), 0)] {
        let src = noise(4 * (size.0 * size.1) as usize);
        let mut slot = Slot::new(&headless.gl, size.0, size.1).unwrap();
        slot.input().unwrap().copy_from_slice(&src);
        slot.show();
        let texture = slot.texture().unwrap();
        let prepared = || Box::new(TextureFilter::prepare(&filter, texture, size, radius).unwrap());
        let mut bands = Bands::new((named("glsl"), None), prepared(), &speeds);
        go_on(&mut bands, &mut speeds);
        assert!(!bands.is_cancelled() && bands.filter_ms() > 0.0 && bands.fraction() == 1.0, "{size:?}");
        let want = reference(&src, size.0 as usize, size.1 as usize, radius as usize);
        assert!(read_texture(&headless.gl, texture, size).unwrap() == want, "{size:?} r={radius}");
        let mut cancelled = Bands::new((named("glsl"), None), prepared(), &speeds);
        cancelled.cancel();
        go_on(&mut cancelled, &mut speeds);
        assert!(cancelled.is_cancelled() && cancelled.fraction() == 0.0, "{size:?}");
    }
}
