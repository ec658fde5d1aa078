//! Stacks of filters: each filters the picture of the one below, on the command line and in the window.

use crate::common::*;
use crate::filters::{filtered_at, filters_of_frames, movie_of_frames, sobel, window_of};

/// Returns the options for a stack of these folders, and a variant of the last one.
fn stack<'a>(folders: &[&'a std::path::Path], variant: &'a str) -> Vec<&'a str> {
    let names = folders.iter().flat_map(|folder| ["--filter", folder.to_str().unwrap()]);
    names.chain(["--variant", variant]).collect()
}

/// Writes the filter of the docs, combined with the negative of the frame, since the frames have no edges.
fn edges_of(folder: &Folder) -> std::path::PathBuf {
    let sum = "(uchar4)(convert_uchar3_sat_rte(";
    sobel(folder, "sobel", &[(sum, &sum.replace("convert", "convert_uchar3(255 - p[1][1]) ^ convert"))])
}

#[test]
fn filters_of_a_stack_read_the_pictures_of_those_below() {
    let folder = Folder::new("stacks");
    let [mean, back] = filters_of_frames(&folder);
    let edges = edges_of(&folder);
    let movie = movie_of_frames(&folder, 40);
    let filtered = |folders: &[&std::path::Path], variant: &str, index: i32| {
        let at = f64::from(index.max(0)) * 0.04 + 0.001;
        filtered_at(&folder, &movie, &stack(folders, variant), at)
    };
    for index in [1, 20] {
        // The frame two frames back has the same edges, in either order.
        let earlier = filtered(&[&edges], "plain", index - 2);
        assert!(earlier != filtered(&[&edges], "off", index - 2), "the filter changes pictures");
        assert!(earlier != filtered(&[&edges], "plain", index), "frames differ");
        assert!(filtered(&[&edges, &back], "plain", index) == earlier, "frame {index}");
        assert!(filtered(&[&back, &edges], "plain", index) == earlier, "frame {index}");
        assert!(filtered(&[&back, &back, &edges], "plain", index) == filtered(&[&edges], "plain", index - 4));
        let mean_of_edges = filtered(&[&edges, &mean], "plain", index);
        assert!(mean_of_edges == filtered(&[&edges, &mean], "sampler", index), "frame {index}");
        let [now, before] = [0, 1].map(|back| filtered(&[&edges], "plain", index - back));
        let sums = now.2.iter().zip(&before.2).zip(&earlier.2);
        let wanted: Vec<u8> =
            sums.map(|((a, b), c)| ((u32::from(*a) + u32::from(*b) + u32::from(*c) + 1) / 3) as u8).collect();
        assert!(mean_of_edges.2 == wanted, "frame {index}");
        assert!(filtered(&[&edges, &mean], "off", index) == now, "frame {index}");
    }
    let mut bench = clreel(None);
    bench.arg("bench").arg(&movie).args(stack(&[&back, &edges], "plain")).args(["--frames", "3", "--json"]);
    let report = finish_json(bench, 0);
    assert_eq!(report["input"]["stack_filters"], "back/plain", "{report}");
}

#[test]
fn the_window_shows_stacks_as_snapshots_do() {
    let (display, folder) = (Display::start(&[]), Folder::new("stacks-window"));
    let [mean, back] = filters_of_frames(&folder);
    let edges = edges_of(&folder);
    let movie = movie_of_frames(&folder, 40);
    let saved = folder.file("saved.png");
    let stacks = [
        stack(&[&back, &edges], "plain"),
        // From buffers to images.
        stack(&[&edges, &mean], "sampler"),
        stack(&[&mean, &edges, &back, &mean], "plain"),
        stack(&[&back, &mean], "off"),
    ];
    for (filter, start) in stacks.iter().zip([
        &["--frames", "1"][..],
        &["--start", "0.9", "--frames", "3"],
        &["--frames", "12"],
        &["--preload", "9", "--frames", "16", "--unpaced"],
    ]) {
        let mut command = clreel(Some(&display));
        command.arg(&movie).args([&filter[..], start].concat()).arg("--save-frame").arg(&saved);
        let (stats, stderr) = play(command);
        let last = presented_frames(&stats).last().unwrap().clone();
        let at = last["pts_s"].as_f64().unwrap();
        assert!(
            png(&saved) == filtered_at(&folder, &movie, filter, at),
            "{filter:?} {start:?} {last} {stderr}"
        );
        assert!(last["stack"].as_f64().is_some_and(|ms| ms > 0.0), "{last}");
        let filters = last["stack_filters"].as_str().unwrap();
        let expected = filter.iter().filter(|arg| arg.starts_with('/')).count();
        let is_off = filter.last() == Some(&"off");
        assert_eq!(filters.split(" + ").count(), expected - usize::from(is_off), "{filters}");
    }
}

#[test]
fn a_stack_is_put_together_ordered_undone_and_made_again_in_the_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("stacks-list"));
    let edges = sobel(&folder, "sobel", &[]);
    let here = folder.folder("here");
    let broken = [("name = \"Sobel\"", "name = \"Broken\""), ("const float3 gx", "const flaot3 gx")];
    sobel(&folder, "here/clreel-filters/broken", &broken);
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let open = || {
        let mut command = window_of(&display, &folder, &movie);
        command.current_dir(&here).env("HOME", &here);
        command.env("CLREEL_SETTINGS", folder.file("settings.json"));
        command
    };
    let mut session = Session::start(&display, open().arg("--filter").arg(&edges));
    session.resize(1280, 720);
    session.wait_for_title("sobel/plain, gain = 1 ");
    session.wait_for_frames();
    session.display.key("F");
    session.wait_for_text("On the stack");
    // The first row is that of the box filter.
    let first = session.texts().iter().find(|t| t.text == "On the stack").map(|t| t.center());
    session.click_at(first.unwrap());
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=7 ");
    session.wait("times of both", |s| times(s) >= 2);

    // The switch of the first, and its key, leave the other one alone.
    session.display.key("0");
    session.wait_for_title("- running-sum r=7 ");
    session.wait_for_text("the selected filter is off");
    assert!(session.texts().iter().any(|t| t.text == "gain"), "the sliders stay");
    session.display.key("1");
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=7 ");

    // The other one is chosen by a click on its name, and keys belong to it.
    let name = |s: &mut Session, of: &str| s.texts().iter().find(|t| t.text == of).map(|t| t.center());
    let at = name(&mut session, "Box filter").unwrap();
    session.click_at(at);
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=7 ");
    session.wait_for_text("r = 7 \u{b7} 64 \u{d7} 48");
    session.display.key("equal");
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=8 ");

    // A row is dragged above the other one.
    let handles: Vec<_> = session.texts().iter().filter(|t| t.text == "=").map(|t| t.center()).collect();
    let [first, second] = handles[..] else { panic!("{handles:?}") };
    drag(&mut session, second, first);
    session.wait_for_title("- running-sum r=8 + sobel/plain gain = 1 ");
    session.click("Undo");
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=8 ");
    let stderr = session.quit();
    assert_eq!(stderr, "");

    // The next window makes it again, in the order and with the values that it had.
    let mut session = Session::start(&display, &mut open());
    session.resize(1280, 720);
    session.wait_for_frames();
    // The panel is open as before.
    session.click("Again: sobel + Box filter");
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=8 ");

    // A filter whose kernel does not build is skipped, and named.
    let below = |of: &'static str| move |t: &&Text| t.text == of;
    let texts = session.texts();
    let (at, _) = texts.iter().enumerate().find(|(_, t)| t.text == "Broken").unwrap();
    session.click_at(texts[at..].iter().find(below("On the stack")).unwrap().center());
    session.wait("the error in the row", |s| s.texts().iter().any(|t| t.text.starts_with("Skipped: ")));
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=8 ");

    // One that is switched off is chosen by a click, and stays off.
    click_switch(&mut session, "Sobel");
    session.wait_for_title("- running-sum, r=8 ");
    let at = name(&mut session, "Sobel").unwrap();
    session.click_at(at);
    session.wait("the sliders of Sobel", |s| s.texts().iter().any(|t| t.text == "gain"));
    session.wait_for_title("- running-sum r=8 ");
    click_switch(&mut session, "Sobel");
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=8 ");
    let at = name(&mut session, "Box filter").unwrap();
    session.click_at(at);
    session.wait("the sliders of the box filter", |s| s.texts().iter().any(|t| t.text == "Radius"));
    session.wait_for_title("- sobel/plain gain = 1 + running-sum r=8 ");

    // The second one is removed, then the chosen one: the next takes its place.
    for title in ["- sobel/plain, gain = 1 ", "- broken/plain gain = 1 "] {
        let texts = session.texts();
        let of_stack = texts.iter().position(|t| t.text == "=").unwrap();
        let crosses: Vec<_> = texts[of_stack..].iter().filter(below("\u{d7}")).collect();
        let at = crosses[usize::from(title.contains("sobel"))].center();
        session.click_at(at);
        if title.contains("sobel") {
            session.wait_for_title(title);
        }
    }
    session.wait("no stack", |s| s.texts().iter().all(|t| t.text != "="));
    let stderr = session.quit();
    assert!(stderr.contains("broken") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_stack_is_made_again_without_a_folder_that_is_gone() {
    let (display, folder) = (Display::start(&[]), Folder::new("stacks-again"));
    let edges = sobel(&folder, "sobel", &[]);
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let open = || {
        let mut command = window_of(&display, &folder, &movie);
        command.env("CLREEL_SETTINGS", folder.file("settings.json"));
        command
    };
    let gone = sobel(&folder, "gone", &[]);
    let mut command = open();
    let mut session =
        Session::start(&display, command.arg("--filter").arg(&gone).arg("--filter").arg(&edges));
    session.wait_for_title("- gone/plain gain = 1 + sobel/plain gain = 1 ");
    session.wait_for_frames();
    session.display.key("F");
    session.wait_for_text("Stack: ");
    session.quit();
    std::fs::remove_dir_all(&gone).unwrap();
    let mut session = Session::start(&display, &mut open());
    session.resize(1280, 720);
    session.wait_for_frames();
    session.click("Again: gone + sobel");
    session.wait_for_text("'gone' was left out of the stack.");
    session.wait_for_title("- sobel/plain, gain = 1 ");
    session.quit();
}

#[test]
fn saved_files_of_a_member_take_over_and_a_fault_leaves_the_version_before() {
    let (display, folder) = (Display::start(&[]), Folder::new("stacks-saved"));
    let (low, edges) = (sobel(&folder, "low", &[]), sobel(&folder, "sobel", &[]));
    let here = folder.folder("here");
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = window_of(&display, &folder, &movie);
    command.current_dir(&here).env("HOME", &here).args(stack(&[&low, &edges], "off"));
    let mut session = Session::start(&display, &mut command);
    session.resize(1280, 720);
    session.wait_for_title("- low/plain gain = 1 ");
    session.wait_for_frames();
    session.display.key("F");
    session.wait_for_text("Stack: ");
    let is_filled_with = |session: &mut Session, value: u8| {
        session.wait("the picture of the member", |session| {
            session.display.key("s");
            let frames = saved_files(&here, "clreel-frame-", ".png");
            let last = frames.iter().max_by_key(|path| path.metadata().unwrap().modified().unwrap());
            last.is_some_and(|frame| {
                png(frame).2.chunks_exact(4).all(|rgba| rgba == [value, value, value, 255])
            })
        });
    };
    let [description, kernel] =
        ["filter.toml", "sobel.cl"].map(|name| std::fs::read_to_string(low.join(name)).unwrap());
    let result = "(uchar4)(convert_uchar3_sat_rte(gain * sqrt(gx * gx + gy * gy)), 255)";
    let filled = |with: &str| kernel.replace(result, with);
    folder.with("low/sobel.cl", filled("(uchar4)(9, 9, 9, 255)"));
    is_filled_with(&mut session, 9);

    // Kernels that do not build, and those that crash, do not take over.
    let before = "The version before the last one runs: ";
    folder.with(
        "low/sobel.cl",
        filled("(uchar4)(8, 8, 8, 255);;").replace("const float3 gx", "const flaot3 gx"),
    );
    session.wait_for_text(before);
    is_filled_with(&mut session, 9);
    folder.with("low/sobel.cl", filled("(uchar4)(9, 9, 9, 255)"));
    session.wait_for_end_of(before);
    let far = "*(volatile __global uchar *)((ulong)1 << 46) = 1; dst[0] = (uchar4)(7)";
    folder.with("low/sobel.cl", kernel.replace(&format!("dst[y * width + x] = {result}"), far));
    session.wait_for_text("crashed in the sandbox");
    is_filled_with(&mut session, 9);

    // A description takes over with its kernels, a wrong one does not.
    folder.with("low/sobel.cl", filled("(uchar4)(7, 7, 7, 255)"));
    is_filled_with(&mut session, 7);
    folder.with("low/filter.toml", description.replace("sentence", "sentense"));
    session.wait_for_text("'sentense' is no key");
    let named = description.replace("\"Sobel\"", "\"Low two\"").replace("default = 1.0", "default = 1.5");
    folder.with("low/filter.toml", named);
    session.wait_for_text("Low two");
    session.wait_for_end_of(before);
    session.wait_for_title("- low/plain gain = 1 ");
    is_filled_with(&mut session, 7);
    let stderr = session.quit();
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// Clicks on the switch before the name of a filter in the stack.
fn click_switch(session: &mut Session, name: &str) {
    let texts = session.texts();
    let handle = texts.iter().position(|t| t.text == "=").unwrap();
    let name = texts[handle..].iter().find(|t| t.text == name).unwrap();
    session.click_at(((name.x - 15.0) as i32, name.center().1));
}

/// Returns the number of times in rows of the stack.
fn times(session: &mut Session) -> usize {
    let is_time = |text: &str| text.strip_suffix(" ms").is_some_and(|ms| ms.parse::<f64>().is_ok());
    session.texts().iter().filter(|t| is_time(&t.text)).count()
}

/// Drags from one place to another.
fn drag(session: &mut Session, from: (i32, i32), to: (i32, i32)) {
    session.move_to(from);
    session.display.xdotool(&["mousedown", "1"]);
    for part in 1..=5 {
        session.move_to((from.0 + (to.0 - from.0) * part / 5, from.1 + (to.1 - from.1) * part / 5));
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    session.display.xdotool(&["mouseup", "1"]);
}
