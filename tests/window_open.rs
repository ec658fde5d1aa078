//! Opening files and using the mouse in the window on a virtual display: a typed path, dropped files, the seek bar, and
//! panels that are moved.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::*;

/// Presses the mouse at the first position, moves it to the others, releases it.
fn drag(session: &Session, places: &[(i32, i32)]) {
    for (n, place) in places.iter().enumerate() {
        session.move_to(*place);
        if n == 0 {
            session.display.xdotool(&["mousedown", "1"]);
            std::thread::sleep(Duration::from_millis(150));
        }
    }
    session.display.xdotool(&["mouseup", "1"]);
    std::thread::sleep(Duration::from_millis(300));
}

fn three_movies(folder: &Folder) -> [PathBuf; 3] {
    let movie = Movie { stamps_ms: steady(4), ..Movie::default() };
    ["first.mkv", "the second.mkv", "third.mkv"].map(|name| folder.movie(name, &movie))
}

#[test]
fn a_movie_is_opened_by_its_path() {
    let (display, folder) = (Display::start(&[]), Folder::new("open-path"));
    let first = folder.movie("first.mkv", &Movie { stamps_ms: steady(4), ..Movie::default() });
    // Every letter of it is also a key of the player.
    let second = folder.movie("q ifs0.mkv", &Movie { stamps_ms: steady(3), ..Movie::default() });
    let address = |path: &Path| format!("file://{}", path.to_str().unwrap().replace(' ', "%20"));
    let (here, there) = (address(&first), address(&second));
    let mut session = Session::start(&display, unfiltered(&display).arg(&here));
    session.wait_for_title("first.mkv - off");
    session.press_until_title("space", "paused");
    let (first, second) = (first.to_str().unwrap(), second.to_str().unwrap());
    for (key, path) in [("o", second), ("ctrl+o", first), ("o", &there), ("o", &here)] {
        session.type_path(key, path);
        display.key("Return");
        let name = Path::new(path).file_name().unwrap().to_str().unwrap().replace("%20", " ");
        session.wait_for_title(&format!("{name} - off, paused"));
    }

    // Esc closes the field, and keys control the player again.
    session.type_path("o", "qqq");
    display.key("Escape");
    session.wait_for_end_of(PATH_FIELD);
    session.press_until_title("5", "first.mkv - running-sum, r=7, paused");

    // A file that cannot be opened gives a message, and the movie continues.
    session.type_path("o", "/nowhere/q.mkv");
    display.key("Return");
    session.wait_for_end_of(PATH_FIELD);
    session.wait_for_text("/nowhere/q.mkv");
    session.press_until_title("0", "first.mkv - off, paused");
    // Tab completes a path, and the next movie clears the error.
    let here = Path::new(first).parent().unwrap().to_str().unwrap();
    session.type_path("o", &format!("{here}/no"));
    display.key("Tab");
    session.wait_for_text("No matching file");
    display.key("Return");
    session.wait_for_end_of(PATH_FIELD);
    session.wait_for_text("/no'");
    // Typing replaces the selected text.
    session.type_path("o", &format!("{here}/q"));
    display.key("Tab");
    session.wait_for_text(second);
    display.key("Return");
    session.wait_for_title("q ifs0.mkv - off, paused");
    session.wait_for_end_of("Cannot open");
    let stderr = session.quit();
    assert!(stderr.contains("/nowhere/q.mkv") && stderr.contains("/no'"), "{stderr}");
}

#[test]
fn the_desktop_dialog_opens_the_selected_file() {
    let (display, folder) = (Display::start(&[]), Folder::new("open-dialog"));
    let [first, second, third] = three_movies(&folder);
    // Imitates the desktop: a bus without services, and a dialog that is open until there is an answer.
    let [answer, gone] = ["answer", "gone"].map(|name| folder.file(name));
    let (reply, end) = (answer.display(), gone.display());
    let script =
        format!("#!/bin/sh\nuntil [ -e '{reply}' ]; do sleep 0.1; done\ncat '{reply}'\ntouch '{end}'\n");
    let zenity = folder.with("zenity", script);
    std::fs::set_permissions(&zenity, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = vec![zenity.parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let mut command = without_desktop(&display);
    command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    command.env("XDG_DATA_DIRS", "/nowhere").env("PATH", std::env::join_paths(path).unwrap());
    let mut session = Session::start(&display, command.arg(&first).args(["--variant", "off"]));
    session.wait_for_title("first.mkv - off");
    session.press_until_title("space", "paused");

    display.key("o");
    // Keys control the player while the dialog is open.
    session.press_until_title("5", "first.mkv - running-sum, r=7, paused");
    let selected = folder.with("selected", format!("{}|{}\n", second.display(), third.display()));
    std::fs::rename(selected, &answer).unwrap();
    session.wait_for_title("the second.mkv - running-sum, r=7, paused");
    session.press_until_title("greater", "third.mkv - running-sum, r=7, paused");

    // Closed without a selection: nothing happens, and no field opens instead.
    std::fs::write(&answer, "").unwrap();
    std::fs::remove_file(&gone).unwrap();
    display.key("ctrl+o");
    session.wait("the dialog's end", |_| gone.exists());
    session.press_until_title("0", "third.mkv - off, paused");
    assert!(!session.shows(PATH_FIELD));

    // The dialog's program is missing: the field replaces it.
    std::fs::write(&zenity, "no program").unwrap();
    std::fs::set_permissions(&zenity, std::fs::Permissions::from_mode(0o644)).unwrap();
    session.type_path("o", first.to_str().unwrap());
    display.key("Return");
    session.wait_for_title("first.mkv - off, paused");
    session.quit();
}

/// Drops files on a window, like a file manager: XDND, version 5, by the freedesktop.org page of that name.
pub fn drop_files(display: &Display, window: u32, uris: &str) {
    use x11rb::connection::Connection as _;
    use x11rb::protocol::Event;
    use x11rb::protocol::xproto::*;
    use x11rb::wrapper::ConnectionExt as _;

    let (conn, screen) = x11rb::connect(Some(&display.name)).unwrap();
    let root = conn.setup().roots[screen].root;
    let atom = |name: &str| conn.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom;
    let source = conn.generate_id().unwrap();
    let aux = CreateWindowAux::new();
    conn.create_window(0, source, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &aux).unwrap();
    conn.set_selection_owner(source, atom("XdndSelection"), x11rb::CURRENT_TIME).unwrap();
    let send = |kind: &str, data: [u32; 5]| {
        let message = ClientMessageEvent::new(32, window, atom(kind), data);
        conn.send_event(false, window, EventMask::NO_EVENT, message).unwrap();
        conn.flush().unwrap();
    };
    let (status, finished) = (atom("XdndStatus"), atom("XdndFinished"));
    send("XdndEnter", [source, 5 << 24, atom("text/uri-list"), 0, 0]);
    send("XdndPosition", [source, 0, 300 << 16 | 200, 0, atom("XdndActionCopy")]);
    let (began, mut accepted, mut answered, mut dropped) = (Instant::now(), false, false, false);
    loop {
        assert!(began.elapsed() < PATIENCE, "the window does not answer");
        if accepted && answered && !dropped {
            dropped = true;
            send("XdndDrop", [source, 0, 0, 0, 0]);
        }
        match conn.poll_for_event().unwrap() {
            Some(Event::SelectionRequest(r)) => {
                let mode = PropMode::REPLACE;
                conn.change_property8(mode, r.requestor, r.property, r.target, uris.as_bytes()).unwrap();
                let (time, requestor, selection) = (r.time, r.requestor, r.selection);
                let (target, property, response_type) = (r.target, r.property, SELECTION_NOTIFY_EVENT);
                let answer = SelectionNotifyEvent {
                    response_type,
                    sequence: 0,
                    time,
                    requestor,
                    selection,
                    target,
                    property,
                };
                conn.send_event(false, r.requestor, EventMask::NO_EVENT, answer).unwrap();
                conn.flush().unwrap();
                answered = true;
            }
            Some(Event::ClientMessage(m)) if m.type_ == status => {
                assert_eq!(m.data.as_data32()[1] & 1, 1, "the window takes files");
                accepted = true;
            }
            Some(Event::ClientMessage(m)) if m.type_ == finished => return,
            Some(_) => {}
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[test]
fn dropped_files_play_in_turn() {
    let (display, folder) = (Display::start(&[]), Folder::new("open-drop"));
    let [first, second, third] = three_movies(&folder);
    let uri = |path: &Path| format!("file://{}\r\n", path.to_str().unwrap().replace(' ', "%20"));
    let mut session = Session::start(&display, unfiltered(&display).arg(&first));
    session.wait_for_title("first.mkv - off");
    session.press_until_title("space", "paused");
    let window: u32 = session.window.parse().unwrap();
    drop_files(&display, window, &(uri(&second) + &uri(&third)));
    session.wait_for_title("the second.mkv - off, paused");
    session.press_until_title("greater", "third.mkv - off, paused");
    session.press_until_title("greater", "the second.mkv - off, paused");
    // A file that is no movie leaves the list unchanged.
    let notes = folder.with("notes.txt", b"no movie");
    drop_files(&display, window, &uri(&notes));
    session.wait_for_text("notes.txt");
    session.press_until_title("less", "third.mkv - off, paused");
    let stderr = session.quit();
    assert!(stderr.contains("notes.txt"), "{stderr}");
}

#[test]
fn the_seek_bar_seeks_and_the_column_keeps_side_and_width() {
    let (display, folder) = (Display::start(&[]), Folder::new("open-seek"));
    // 100 frames in 4 s, a key frame every 25; large, so that the window has the size of the display.
    let film = Movie { size: (1280, 720), stamps_ms: steady(100), gop: 25, ..Movie::default() };
    let movie = folder.movie("m.mkv", &film);
    let settings = folder.file("settings.json");
    let window = || {
        let mut command = without_desktop(&display);
        command.arg(&movie).args(["--variant", "off"]).env("CLREEL_SETTINGS", &settings);
        command
    };
    let mut session = Session::with_stats(&display, window());
    session.wait_for_title("- off");
    session.press_until_title("space", "paused");
    // The rail lies right of position and length, and left of the radius.
    let here = session.texts().into_iter().find(|t| t.text.ends_with(" / 0:04.0")).expect("the position");
    let (left, right, y) = (here.x + here.width + 18.0, session.find("Radius").x - 29.0, here.center().1);
    let at = |part: f32| (left + part * (right - left)) as i32;
    // The middle of the bar, and then from there to three quarters and back to its first quarter.
    drag(&session, &[(at(0.5), y)]);
    session.wait_for_text("0:02.0 / 0:04.0");
    drag(&session, &[(at(0.5), y), (at(0.63), y), (at(0.75), y), (at(0.25), y - 24)]);
    session.wait_for_text("0:01.0 / 0:04.0");
    // The edge of the column of panels.
    display.key("t");
    let before = session.find("Tuning");
    let edge = before.x as i32 - 26;
    drag(&session, &[(edge, 300), (edge - 60, 300), (edge - 120, 300)]);
    let is_wider = |t: &Text| t.text == "Tuning" && t.x < before.x - 110.0;
    session.wait("a wider column", |s| s.texts().iter().any(is_wider));
    // The triangle left of the title folds the panel of tuning, and that of devices.
    for (title, contents) in [("Tuning", "Tune now"), ("Devices", "Check the type conversions")] {
        if title == "Devices" {
            session.choose("Devices");
        }
        session.wait_for_text(contents);
        let at = session.find(title);
        session.click_at((at.x as i32 - 11, at.center().1));
        session.wait_for_end_of(contents);
    }
    session.choose("Dock to the left");
    session.wait("its new side", |s| s.texts().iter().any(|t| t.text == "Tuning" && t.x < 100.0));
    let tuning = session.find("Tuning").center();
    let stats = session.stats();
    let shown: Vec<f64> = presented_frames(&stats).iter().map(|f| f["pts_s"].as_f64().unwrap()).collect();
    let near = |s: f64| shown.iter().any(|t| (t - s).abs() < 0.1);
    assert!(near(2.0), "the middle: {shown:?}");
    assert!((shown.last().unwrap() - 1.0).abs() < 0.1, "where the button went up: {shown:?}");
    let kept = read_json(&settings);
    for name in ["tuning_folded", "devices_folded", "tuning_open", "devices_open"] {
        assert_eq!(kept[name], true, "{name}: {kept}");
    }
    let width = kept["column_width"].as_f64().unwrap();
    assert!(kept["column_left"] == true && (580.0..612.0).contains(&width), "{kept}");

    // The next start has the same positions.
    let mut session = Session::start(&display, window());
    session.wait_for_title("- off");
    assert_eq!(session.find("Tuning").center().0, tuning.0);
    session.wait_for_text("Devices");
    assert!(!session.shows("Tune now") && !session.shows("0: "));
    session.quit();
}

/// Properties of a movie that clreel ignores are listed over the picture and among its facts, as long as it plays; control
/// characters in its name are escaped.
#[test]
fn ignored_properties_of_a_movie_are_listed() {
    let (display, folder) = (Display::start(&[]), Folder::new("open-remarks"));
    // Long enough to be paused before the next file of the playlist begins.
    let movie = Movie { codec: ffmpeg_next::codec::Id::FFV1, stamps_ms: steady(500), ..Movie::default() };
    let plain = folder.movie("plain.mkv", &movie);
    let hdr = folder.movie("hdr.mkv", &Movie { tags: Some((9, 16)), ..movie });
    let odd = hdr.with_file_name("a\nb\u{1b}[31m\u{202e}.mkv");
    std::fs::rename(hdr, &odd).unwrap();
    let name = "a\\nb\\x1b[31m\\u{202e}.mkv";
    let mut session = Session::start(&display, unfiltered(&display).args([&odd, &plain]));
    session.wait_for_title(&format!("{name} - off"));
    // Room for all rows of the panel, with any number of timed stages.
    session.resize(1280, 720);
    session.press_until_title("space", "paused");
    let remark = "HDR (PQ), shown without tone mapping";
    session.wait_for_text(&format!("{name}' is not shown as it is meant."));
    session.wait_for_text(&format!("{remark}."));
    display.key("d");
    session.wait("a fact", |s| s.texts().iter().any(|t| t.text == remark));
    let is_safe = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}');
    assert!(session.texts().iter().all(|t| is_safe(&t.text)), "{:?}", session.texts());
    session.press_until_title("greater", "plain.mkv - off, paused");
    session.wait_for_end_of("tone mapping");
    let stderr = session.quit();
    assert!(stderr.contains(name) && stderr.contains(remark) && is_safe(&stderr), "{stderr:?}");
}

#[test]
fn an_editor_that_cannot_be_started_or_fails_is_a_message() {
    let (display, folder) = (Display::start(&[]), Folder::new("open-editor"));
    let movie = folder.movie("m.mkv", &Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() });
    let kernels = edited_kernels("open-editor", "box_filter/03_flat.cl", &[]);
    let fails = folder.with("fails", "#!/bin/sh\nexit 3\n");
    std::fs::set_permissions(&fails, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (missing, fails) = ("/nowhere/editor", fails.to_str().unwrap());
    for (visual, why) in [
        (Some(missing), "/nowhere/editor' cannot be started: No such file or directory."),
        (Some(fails), "/fails' failed: exit status: 3."),
        (None, "VISUAL is not set, and xdg-open is not installed."),
    ] {
        let mut command = without_desktop(&display);
        command.arg(&movie).args(["--variant", "flat", "--kernels"]).arg(&kernels);
        // A folder without xdg-open.
        command
            .env_remove("VISUAL")
            .envs(visual.map(|visual| ("VISUAL", visual)))
            .env("PATH", folder.file(""));
        let mut session = Session::start(&display, command);
        session.wait_for_title("flat");
        session.wait_for_frames();
        display.key("E");
        session.wait_for_text("03_flat.cl' could not be opened in an editor.");
        session.wait_for_text(why);
        session.wait_for_text("For the key E set VISUAL to your editor before clreel starts.");
        // Playback goes on.
        session.wait_for_frames();
        session.press_until_title("4", "vectorized");
        let stderr = session.quit();
        assert!(stderr.contains(why), "{stderr}");
    }
}
