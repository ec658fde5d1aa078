//! The filters that do without OpenCL, in the real window on a virtual display: keys choose them, and what they show is
//! what `snapshot` writes and what the reference says, with OpenCL and without. No time is asserted.

#[path = "common/window.rs"]
mod common;
#[path = "common/movie.rs"]
mod movie;

use std::process::Stdio;

use clreel::ladder::box_filter::reference::reference;
use common::{Display, Session, clip, clreel, finish, json, png, snapshot};
use movie::Folder;

/// Key and name of each.
const PEERS: [(&str, &str); 1] = [("7", "native")];

/// Chooses each peer by its key, changes the radius in a pause, goes on and pauses again, and compares what is on the
/// screen then.
fn play(name: &str, with_opencl: bool) {
    for (key, id) in PEERS {
        let (display, folder) = (Display::start(&[]), Folder::new(&format!("{name}-{id}")));
        let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
        let mut command = clreel(Some(&display));
        if !with_opencl {
            command.env("OCL_ICD_VENDORS", folder.file("none"));
        }
        command.args(["--variant", "off", "--stats"]).arg(&stats).arg("--save-frame").arg(&shot);
        let mut session = Session::start(&display, &mut command);
        session.wait_for_title("- off");
        session.press_until_title(key, &format!("{id}, r=7"));
        session.press_until_title("equal", &format!("{id}, r=8"));
        session.press_until_title("space", &format!("{id}, r=8, paused"));
        session.press_until_title("0", "- off, paused");
        // The picture on the screen is filtered anew while paused.
        session.press_until_title(key, &format!("{id}, r=8, paused"));
        if with_opencl {
            // To a kernel and back: the frame's memory changes hands.
            session.press_until_title("5", "running-sum, r=8, paused");
            session.press_until_title(key, &format!("{id}, r=8, paused"));
        }
        session.press_until_title("minus", &format!("{id}, r=7, paused"));
        // A seek drops what is on its way, and the filter goes on at the new place.
        session.display.key("Home");
        session.press_until_title("space", &format!("{id}, r=7 - clreel"));
        session.press_until_title("space", "paused");
        session.press_until_title("minus", &format!("{id}, r=6, paused"));
        let (code, stderr) = session.quit();
        assert_eq!(code, Some(0), "{stderr}");

        let stats = json(&stats);
        let frames = stats["frames"].as_array().unwrap();
        let filtered: Vec<_> = frames.iter().filter(|f| f["variant"] == id).collect();
        assert!(filtered.iter().any(|f| f["radius"] == 7) && filtered.iter().any(|f| f["radius"] == 8));
        assert!(filtered.iter().all(|f| f["filter"].as_f64().unwrap() > 0.0), "each has its time");
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        let (width, height, unfiltered) = snapshot(&folder, &clip(), at, "off", "0");
        let shown = png(&shot);
        assert!(shown.2 == reference(&unfiltered, width, height, 6), "{id}: window and reference differ");
        assert!(shown == snapshot(&folder, &clip(), at, id, "6"), "{id}: window and snapshot differ");
    }
}

#[test]
fn keys_choose_them_beside_opencl() {
    play("peers", true);
}

#[test]
fn keys_choose_them_without_opencl() {
    play("peers-alone", false);
}

/// Scripts name the variant at the start, and all frames that they count are filtered with it.
#[test]
fn the_command_line_chooses_them_without_opencl() {
    for (_, id) in PEERS {
        let (display, folder) = (Display::start(&[]), Folder::new(&format!("peer-{id}")));
        let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
        let mut command = clreel(Some(&display));
        command.env("OCL_ICD_VENDORS", folder.file("none")).args(["--frames", "20", "--variant", id]);
        command.args(["--radius", "128", "--stats"]).arg(&stats).arg("--save-frame").arg(&shot);
        let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
        assert_eq!(code, Some(0), "{stderr}");
        let stats = json(&stats);
        let frames = stats["frames"].as_array().unwrap();
        assert_eq!(frames.len(), 20);
        assert!(frames.iter().all(|f| f["variant"] == id && f["radius"] == 128));
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        assert!(png(&shot) == snapshot(&folder, &clip(), at, id, "128"), "{id}: window and snapshot differ");
    }
}
