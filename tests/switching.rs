//! Changes of the OpenCL device while the movie plays: every ordered pair of devices, under the tests' layer, which
//! shares textures on all of them and records misuse; and devices that fail during the change. With one device, the
//! change restarts it. More devices come from installed drivers, or from `OCL_ICD_VENDORS`.

use std::path::Path;
use std::process::Command;

use crate::common::*;

/// Returns the number of devices.
fn device_count() -> usize {
    let list = finish_json(clreel(None).args(["devices", "--json"]).envs(layer::environment(&[])), 0);
    let count = list["devices"].as_array().unwrap().len();
    assert!(count > 0, "no OpenCL device: ./dev test installs one");
    count
}

/// Starts a window on the bundled clip, filtered by `flat`, whose calls the layer records in `log`.
fn start<'a>(display: &'a Display, log: &Path, plan: &[(&str, &str)], command: &mut Command) -> Session<'a> {
    let _ = std::fs::remove_file(log);
    let options = [plan, &[("LOG", log.to_str().unwrap())]].concat();
    command.envs(layer::environment(&options)).arg(clip()).args(["--variant", "flat"]);
    let mut session = Session::with_stats(display, command);
    session.wait_for_title("flat");
    session
}

const SHARED: [(&str, &str); 2] = [("FAKE_GPU", "1"), ("POISON", "1")];

/// Returns the queue of each texture that OpenCL acquired so far.
fn acquiring_queues(log: &Path) -> Vec<String> {
    let calls = layer::calls(log, "clEnqueueAcquireGLObjects");
    let queue = |line: &String| line.split(' ').find(|word| word.starts_with("queue=")).unwrap().to_owned();
    calls.iter().map(queue).collect()
}

/// Returns the queue of the last ten frames, if they have the same one. While a device is prepared, frames of the old
/// one and of the trial alternate.
fn last_queue(log: &Path) -> Option<String> {
    let queues = acquiring_queues(log);
    let last = queues.len().checked_sub(10).map(|first| &queues[first..])?;
    last.iter().all(|queue| *queue == last[0]).then(|| last[0].clone())
}

/// Presses Ctrl+D and waits until another queue has filtered frames.
fn change_device(session: &mut Session, log: &Path) {
    session.wait("frames", |_| last_queue(log).is_some());
    let old = last_queue(log);
    session.display.key("ctrl+d");
    session.wait("frames of the next device", |_| last_queue(log).is_some_and(|now| Some(now) != old));
}

#[test]
fn every_device_can_be_replaced_by_every_other() {
    let (display, folder) = (Display::start(&[]), Folder::new("switching-pairs"));
    let count = device_count();
    for from in 0..count {
        // Ctrl+D as often as leads from `from` to `to`; all the way round for the same device.
        for steps in 1..=count {
            let to = (from + steps) % count;
            println!("{from} to {to}");
            let log = folder.file("log");
            let mut command = clreel(Some(&display));
            let mut session = start(&display, &log, &SHARED, command.args(["--device", &from.to_string()]));
            for _ in 0..steps {
                change_device(&mut session, &log);
            }
            session.wait_for_title("flat");
            session.press_until_title("5", "running-sum");
            let stats = session.stats();
            assert_eq!(stats["device"]["index"], to, "{from} to {to}");
            assert_eq!(stats["sharing"], "zero-copy", "{from} to {to}: {}", stats["sharing_reason"]);
            layer::assert_no_misuse(&log, &format!("{from} to {to}"));
        }
    }
}

/// A frame that is finished right when the device changes keeps no memory of that device for its successor.
#[test]
fn no_device_gets_the_memory_of_its_predecessor() {
    let (display, folder) = (Display::start(&[]), Folder::new("switching-often"));
    let log = folder.file("log");
    let mut command = clreel(Some(&display));
    command.envs(pair::environment()).args(["--device", "0"]);
    let mut session = start(&display, &log, &[], &mut command);
    for _ in 0..12 {
        change_device(&mut session, &log);
    }
    let stderr = session.quit();
    assert!(!stderr.contains("middle of a frame"), "{stderr}");
}

#[test]
fn a_click_in_the_list_changes_the_device() {
    let (display, folder) = (Display::start(&[]), Folder::new("switching-click"));
    let (count, log) = (device_count(), folder.file("log"));
    let mut session = start(&display, &log, &SHARED, clreel(Some(&display)).args(["--device", "0"]));
    session.wait("frames", |_| last_queue(&log).is_some());
    let old = last_queue(&log);
    session.choose("Devices");
    let to = 1 % count;
    let mut row = String::new();
    session.wait("the device in the list", |s| {
        let found = s.texts().into_iter().find(|t| t.text.starts_with(&format!("{to}: ")));
        row = found.map_or_else(String::new, |t| t.text);
        !row.is_empty()
    });
    session.click(&row);
    session.wait("frames of the device", |_| last_queue(&log).is_some_and(|now| Some(now) != old));
    session.wait_for_text("in use");
    session.wait_for_end_of("initializing");
    // The list stays open until its own button closes it.
    session.click("\u{d7}");
    session.wait_for_end_of("0: ");
    assert_eq!(session.stats()["device"]["index"], to);
    layer::assert_no_misuse(&log, "");
}

#[test]
fn a_device_that_fails_during_the_change_leaves_the_old_one_in_use() {
    let (display, folder) = (Display::start(&[]), Folder::new("switching-failures"));
    for (plan, why) in
        [("clBuildProgram:1+:-5", "does not build"), ("clCreateContext:1+:-6", "cannot be used")]
    {
        let (log, while_there) = (folder.file("log"), folder.file("failing"));
        let fails = [("FAIL", plan), ("FAIL_WHILE", while_there.to_str().unwrap())];
        let options = [&SHARED[..], &fails].concat();
        let mut session = start(&display, &log, &options, &mut clreel(Some(&display)));
        // Every variant of the first device is built now: later builds would fail as well.
        for (key, variant) in [("2", "separable"), ("4", "vectorized"), ("5", "running-sum"), ("3", "flat")] {
            session.press_until_title(key, variant);
        }
        session.wait("frames", |_| last_queue(&log).is_some());
        let old = last_queue(&log);
        std::fs::write(&while_there, "").unwrap();
        session.display.key("ctrl+d");
        session.wait("the planned failure", |_| !layer::calls(&log, "planned-failure").is_empty());
        let shown = acquiring_queues(&log).len();
        session.wait("frames of the old device", |_| acquiring_queues(&log).len() > shown + 20);
        assert_eq!(last_queue(&log), old, "{plan}");
        session.press_until_title("5", "running-sum");
        // Without the fault the same change succeeds.
        std::fs::remove_file(&while_there).unwrap();
        change_device(&mut session, &log);
        let (stats, stderr) = session.stats_and_stderr();
        assert!(stderr.contains(why) && stderr.contains("clreel goes on with"), "{plan}: {stderr}");
        assert_eq!(stats["sharing"], "zero-copy", "{plan}: {stderr}");
        layer::assert_no_misuse(&log, plan);
    }
}

/// Returns the row of a stage in the table: the last time, the median, the 95th percentile and the longest.
fn row(session: &Session, stage: &str) -> Option<[String; 4]> {
    let texts = session.texts();
    let is_number = |text: &str| text.trim_start_matches('~').replace(',', "").parse::<f64>().is_ok();
    let is_row = |row: &&[Text]| row[0].text == stage && row[1..].iter().all(|t| is_number(&t.text));
    let found = texts.windows(5).find(is_row)?;
    Some([1, 2, 3, 4].map(|at: usize| found[at].text.clone()))
}

/// Presses Ctrl+D, and waits until that device has filtered the picture on the screen: the last time of one picture is
/// its longest.
fn change_device_in_a_pause(session: &mut Session, to: &str) {
    session.display.key("ctrl+d");
    session.wait("the next device", |s| {
        assert!(!s.shows("clreel goes on with"), "{:?}", s.texts());
        let texts = s.texts();
        // The panel of stages has a line that begins with '0: ', too.
        let mut devices = texts.iter().filter(|text| text.text.starts_with(to));
        devices.any(|of| texts.iter().any(|text| text.text == "in use" && (of.y - text.y).abs() < 8.0))
    });
    session.wait("the time of one picture", |s| {
        row(s, "filter").is_some_and(|[last, .., longest]| last == longest)
    });
    session.wait_for_text("filter alone");
}

#[test]
fn requests_to_a_stalled_compiler_are_repeated_if_the_device_stays() {
    let (display, folder) = (Display::start(&[]), Folder::new("switching-asked"));
    let (kernels, log, stalled) = (folder.file("kernels"), folder.file("log"), folder.file("stalled"));
    std::fs::create_dir_all(kernels.join("box_filter")).unwrap();
    std::fs::write(&stalled, "").unwrap();
    // A program queued behind the wanted one, and the first program of the new thread.
    let options = [
        ("FAIL", "clBuildProgram:4:stall,clBuildProgram:5:-11"),
        ("FAIL_WHILE", stalled.to_str().unwrap()),
        ("LOG", log.to_str().unwrap()),
    ];
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&options)).args(["--variant", "flat", "--device-timeout", "80000"]);
    let mut session = Session::start(&display, command.arg("--kernels").arg(&kernels));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait("a program that waits", |_| !layer::calls(&log, "planned-hang").is_empty());
    // A verdict on a save, and the kernels that measure pictures.
    session.display.key("e");
    session.wait_for_text("Edit the files in");
    std::fs::write(kernels.join("box_filter/03_flat.cl"), "no kernel").unwrap();
    session.wait_for_text("03_flat.cl: validating");
    session.display.key("e");
    session.display.key("h");
    session.wait_for_text("Compiling the kernels of the scopes.");
    // The restarted device gets a thread of its own, which cannot build: the old one stays.
    session.display.key("ctrl+d");
    session.wait_for_text("clreel goes on with");
    session.wait_for_text("minimum ");
    session.display.key("h");
    session.display.key("e");
    session.wait("a verdict", |s| s.shows("03_flat.cl: flat: ") && s.shows("flat: still running version 1"));
    session.wait_for_title("flat");
    std::fs::remove_file(&stalled).unwrap();
    session.quit();
}

#[test]
fn kernels_saved_during_a_device_change_are_validated_after_it() {
    let (display, folder) = (Display::start(&[]), Folder::new("switching-kernels"));
    let (log, now) = (folder.file("log"), folder.file("now"));
    let kernels = folder.folder("kernels/box_filter").with_file_name("");
    let original = kernel("box_filter/03_flat.cl");
    let save = |text: &str| std::fs::write(kernels.join("box_filter/03_flat.cl"), text).unwrap();
    let options = [("FAIL", "clCreateContext:1+:stall"), ("FAIL_WHILE", now.to_str().unwrap())];
    let mut command = clreel(Some(&display));
    command.envs(pair::environment()).args(["--device", "0", "--kernels"]).arg(&kernels);
    let mut session = start(&display, &log, &options, &mut command);
    session.resize(1280, 720);
    session.wait_for_frames();
    session.display.key("e");
    session.wait_for_text("Edit the files in");
    std::fs::write(&now, "").unwrap();
    session.display.key("ctrl+d");
    session.wait("a context that is being made", |_| !layer::calls(&log, "planned-hang").is_empty());
    save(&format!("{original}// edited\n"));
    session.wait_for_text("03_flat.cl: ");
    let said = |s: &Session| s.texts().into_iter().find(|t| t.text.contains("03_flat.cl: ")).map(|t| t.text);
    assert_eq!(said(&session).unwrap(), "03_flat.cl: waiting for the device");
    std::fs::remove_file(&now).unwrap();
    session.wait_for_text("03_flat.cl: flat exact");
    session.wait_for_title("flat");
    session.wait_for_frames();
    // The version before is used, on the next device too.
    save(&original.replacen("int", "imt", 1));
    session.wait_for_text("still running version 2");
    // The table of stages needs the column alone.
    session.display.key("e");
    session.display.key("d");
    session.wait("times", |s| row(s, "filter").is_some_and(|[last, .., longest]| last != longest));
    session.press_until_title("space", "paused");
    // Only times of the new device are shown.
    change_device_in_a_pause(&mut session, "0: ");
    session.wait_for_title("flat, r=7, paused");
    let (stats, stderr) = session.stats_and_stderr();
    assert!(!stderr.contains("clreel goes on with") && !stderr.contains("middle of a frame"), "{stderr}");
    assert_eq!(stats["device"]["index"], 0, "round again");
}
