//! The filters that do without OpenCL, in the real window on a virtual display: keys choose them, and what they show is
//! what `snapshot` writes and what the reference says, with OpenCL and without. No time is asserted.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::window::{Display, Session, clip, clreel, json, png, snapshot, succeed};
use box_filter::pictures::noise;
use box_filter::reference::reference;
use box_filter::whole::Shaders as _;
use box_filter::{MAX_RADIUS, VariantId};
use engine::glsl::{GlslFilter, Offscreen};
use engine::{Bands, OnTexture, Pace, Slot, Waker};
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use testkit::movie::Folder;

/// Those filters: key and name of each.
fn filters() -> impl Iterator<Item = (String, &'static str)> {
    let filters = VariantId::ALL.into_iter().filter(|id| id.back_end().does_without_opencl());
    filters.map(|id| (id.key().to_string(), id.as_str()))
}

/// Chooses each filter by its key, changes the radius in a pause, goes on and pauses again, and compares what is on the
/// screen then.
fn play(name: &str, with_opencl: bool) {
    for (key, id) in filters() {
        let (display, folder) = (Display::start(&[]), Folder::new(&format!("{name}-{id}")));
        let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
        let mut command = clreel(Some(&display));
        if !with_opencl {
            command.env("OCL_ICD_VENDORS", folder.file("none"));
        }
        command.args(["--variant", "off", "--stats"]).arg(&stats).arg("--save-frame").arg(&shot);
        let mut session = Session::start(&display, &mut command);
        session.wait_for_title("- off");
        session.press_until_title(&key, &format!("{id}, r=7"));
        session.press_until_title("equal", &format!("{id}, r=8"));
        session.press_until_title("space", &format!("{id}, r=8, paused"));
        session.press_until_title("0", "- off, paused");
        // The picture on the screen is filtered anew while paused.
        session.press_until_title(&key, &format!("{id}, r=8, paused"));
        if with_opencl {
            // To a kernel and back: the frame's memory changes hands.
            session.press_until_title("5", "running-sum, r=8, paused");
            session.press_until_title(&key, &format!("{id}, r=8, paused"));
        }
        session.press_until_title("minus", &format!("{id}, r=7, paused"));
        // A seek drops what is on its way, and the filter goes on at the new place.
        session.display.key("Home");
        session.press_until_title("space", &format!("{id}, r=7 - clreel"));
        session.press_until_title("space", "paused");
        session.press_until_title("minus", &format!("{id}, r=6, paused"));
        session.quit();

        let stats = json(&stats);
        let frames = stats["frames"].as_array().unwrap();
        let filtered: Vec<_> = frames.iter().filter(|f| f["variant"] == id).collect();
        assert!(filtered.iter().any(|f| f["radius"] == 7) && filtered.iter().any(|f| f["radius"] == 8));
        // The device's, or where none tells the wall's: one of them, never both.
        let times = |f: &serde_json::Value| [f["filter"].as_f64(), f["filter_wall"].as_f64()];
        let one = |f: &&serde_json::Value| match times(f) {
            [Some(ms), None] if id == "glsl" => ms > 0.0,
            [None, Some(ms)] => ms > 0.0,
            _ => false,
        };
        assert!(filtered.iter().all(one), "each has its time: {filtered:?}");
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        let (width, height, unfiltered) = snapshot(&folder, &clip(), at, "off", "0");
        let shown = png(&shot);
        assert!(shown.2 == reference(&unfiltered, width, height, 6), "{id}: window and reference differ");
        assert!(shown == snapshot(&folder, &clip(), at, id, "6"), "{id}: window and snapshot differ");
    }
}

#[test]
fn keys_choose_them_beside_opencl() {
    play("with-opencl", true);
}

#[test]
fn keys_choose_them_without_opencl() {
    play("without-opencl", false);
}

/// Scripts name the variant at the start, and all frames that they count are filtered with it.
#[test]
fn the_command_line_chooses_them_without_opencl() {
    for (_, id) in filters() {
        let (display, folder) = (Display::start(&[]), Folder::new(&format!("snapshot-{id}")));
        let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
        let mut command = clreel(Some(&display));
        command.env("OCL_ICD_VENDORS", folder.file("none")).args(["--frames", "4", "--variant", id]);
        command.args(["--radius", "12", "--stats"]).arg(&stats).arg("--save-frame").arg(&shot);
        succeed(command);
        let stats = json(&stats);
        let frames = stats["frames"].as_array().unwrap();
        assert_eq!(frames.len(), 4);
        assert!(frames.iter().all(|f| f["variant"] == id && f["radius"] == 12));
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        assert!(png(&shot) == snapshot(&folder, &clip(), at, id, "12"), "{id}: window and snapshot differ");
    }
}

/// A wipe whose other side cannot be had goes on with the first one, and says why; so does a map that no device can make.
#[test]
fn a_wipe_does_without_what_cannot_be_had() {
    for (wipe, beside, why) in
        [("native:5,fused:5", None, "no OpenCL"), ("native:5,off", Some("off"), "could not be compared")]
    {
        let (display, folder) = (Display::start(&[]), Folder::new("wipe-without"));
        let stats = folder.file("s.json");
        let mut command = clreel(Some(&display));
        command.env("OCL_ICD_VENDORS", folder.file("none")).args(["--frames", "6", "--wipe", wipe]);
        command.arg("--difference").arg("--stats").arg(&stats);
        let stderr = succeed(command);
        let stats = json(&stats);
        let last = stats["frames"].as_array().unwrap().last().unwrap().clone();
        assert!(last["variant"] == "native" && last["beside"].as_str() == beside, "{last}");
        assert!(last["difference"] == 0.0 && last["compared"] == false, "{last}");
        assert_eq!(last["wipe"].as_f64().unwrap() > 0.0, beside.is_some(), "{last}");
        assert!(stderr.contains(why), "{stderr}");
    }
}

const SIZES: [(u32, u32); 8] = [(1, 1), (1, 37), (41, 1), (2, 2), (13, 7), (63, 65), (127, 3), (129, 130)];

/// Odd sizes, radii up to the largest and beyond the picture, and the largest sums that there are.
#[test]
fn shaders_equal_the_reference() {
    for (width, height) in SIZES {
        let offscreen = Offscreen::new(width, height).expect("these tests need OpenGL through EGL");
        for src in [noise(4 * (width * height) as usize), vec![255; (width * height * 4) as usize]] {
            for radius in [0, 1, 7, 31, MAX_RADIUS - 1, MAX_RADIUS] {
                let want = reference(&src, width as usize, height as usize, radius as usize);
                let report = offscreen.check(&src, &want, radius).unwrap();
                assert!(report.is_none(), "{width}×{height} r={radius}: {}", report.unwrap());
            }
        }
    }
}

/// The shaders as the window uses them: in place, in bands, and cancelled in between.
#[test]
fn shaders_in_bands_equal_the_reference() {
    let headless = Headless::new().expect("these tests need OpenGL through EGL");
    let filter = Rc::new(GlslFilter::new(headless.gl.clone()).unwrap());
    let (mut pace, waker): (_, Waker) = (Pace::default(), Arc::new(|| {}));
    let began = Instant::now();
    let go_on = |bands: &mut Bands, pace: &mut Pace| {
        while !bands.is_over() {
            bands.begin(pace, &waker).unwrap();
            std::thread::sleep(Duration::from_millis(1));
            bands.look(pace, began.elapsed()).unwrap();
        }
    };
    for (size, radius) in [((640, 480), 31), ((333, 67), MAX_RADIUS), ((1, 1), 3), ((640, 480), 0)] {
        let src = noise(4 * (size.0 * size.1) as usize);
        let mut slot = Slot::new(&headless.gl, size.0, size.1).unwrap();
        slot.input().unwrap().copy_from_slice(&src);
        slot.show();
        let texture = slot.texture().unwrap();
        let prepared = || Box::new(OnTexture::prepare(&filter, texture, size, radius).unwrap());
        let mut bands = Bands::new(VariantId::Glsl, prepared(), &pace);
        go_on(&mut bands, &mut pace);
        assert!(!bands.is_cancelled() && bands.filter_ms() > 0.0 && bands.fraction() == 1.0, "{size:?}");
        let want = reference(&src, size.0 as usize, size.1 as usize, radius as usize);
        assert!(read_texture(&headless.gl, texture, size).unwrap() == want, "{size:?} r={radius}");
        let mut cancelled = Bands::new(VariantId::Glsl, prepared(), &pace);
        cancelled.cancel();
        go_on(&mut cancelled, &mut pace);
        assert!(cancelled.is_cancelled() && cancelled.fraction() == 0.0, "{size:?}");
    }
}
