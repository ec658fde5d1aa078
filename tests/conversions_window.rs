//! Changed kernels of the conversion in the window, which does not show what they make. The layer makes a GPU of PoCL's device,
//! for what only graphics cards are asked for. Needs an OpenCL device, Xvfb and xdotool.

#[path = "common/changed_conversions.rs"]
#[allow(dead_code, reason = "the conversions are named elsewhere")]
mod changed;
#[path = "common/layer.rs"]
mod layer;
#[path = "common/movie.rs"]
mod movie;
#[path = "common/native.rs"]
mod native;
#[path = "common/window.rs"]
mod window;

use std::path::PathBuf;

use changed::{CORRECT, LIMIT, PLANES, SIZE, as_gpu, endless, kernels, mutant, shot, small};
use ffmpeg_next::format::Pixel;
use movie::{Folder, Movie};
use window::{Display, Session, clreel, png, succeed};

/// Counts frames in a window, saves the last one, and returns it with what was said.
fn counted(
    folder: &Folder,
    changed: Option<&Folder>,
    gpu: bool,
    variant: &str,
) -> ((usize, usize, Vec<u8>), String) {
    let (display, saved) = (Display::start(&[]), folder.file("window.png"));
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(folder.file("m.mkv")).args([
        "--frames",
        "2",
        "--variant",
        variant,
    ]);
    command.args(["--radius", "2", "--no-sharing", "--unpaced", "--kernel-timeout", LIMIT]);
    command.arg("--save-frame").arg(&saved);
    if gpu {
        command.envs(as_gpu()).args(["--device", "gpu"]);
    }
    if let Some(changed) = changed {
        command.env("CLREEL_KERNELS", changed.file(""));
    }
    let stderr = succeed(command);
    (png(&saved), stderr)
}

#[test]
fn a_counted_frame_in_the_window_is_right_whatever_the_kernels_are() {
    let folder = Folder::new("conversions-counted");
    let _ = small(&folder);
    for (name, gpu, variant) in [("alpha", true, "fused"), ("weights", false, "planar")] {
        let (right, said) = counted(&folder, None, gpu, variant);
        assert!(!said.contains("wrongly"), "{name}: {said}");
        let changed = kernels(mutant(name), "counted");
        let (got, said) = counted(&folder, Some(&changed), gpu, variant);
        assert!(got == right, "{name}: the picture is wrong");
        let instead = if gpu { "The processor converts them" } else { "Another kernel converts them" };
        for part in ["converts pictures (4:2:0, 8 bits) wrongly", instead] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

#[test]
fn the_window_does_without_an_endless_conversion() {
    let folder = Folder::new("conversions-stuck-window");
    let _ = small(&folder);
    let changed = endless(PLANES, "window");
    let (right, _) = counted(&folder, None, true, "fused");
    let (got, said) = counted(&folder, Some(&changed), true, "fused");
    assert!(got == right, "the picture is wrong");
    assert_eq!(said.matches("The kernels of the conversion did not end within").count(), 1, "{said}");
}

/// Plays a movie, waits for `first` to be told, and corrects its colours by the slider's left end for contrast,
/// until a saved picture `is_it`; returns that one, and what was said.
fn corrected(
    folder: &Folder,
    changed: Option<&Folder>,
    first: &str,
    mut is_it: impl FnMut(&Session, &(usize, usize, Vec<u8>)) -> bool,
) -> ((usize, usize, Vec<u8>), String) {
    let display = Display::start(&[]);
    let movie = small(folder);
    let here = folder.file("here");
    let _ = std::fs::remove_dir_all(&here);
    std::fs::create_dir(&here).unwrap();
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(&movie).current_dir(&here);
    command.args(["--variant", "fused", "--radius", "2", "--no-sharing", "--device", "cpu"]);
    command.args(["--kernel-timeout", LIMIT]);
    if let Some(changed) = changed {
        command.env("CLREEL_KERNELS", changed.file(""));
    }
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("fused, r=2");
    if !first.is_empty() {
        session.wait_for_text(first);
    }
    session.display.key("c");
    let (title, contrast) = (session.find("Colour correction"), session.find("contrast"));
    session.click_at((title.x as i32 + 6, contrast.center().1));
    let mut found = None;
    session.wait("the picture", |session| {
        session.display.key("s");
        let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        // The newest ones may still be written.
        let age = |path: &PathBuf| path.metadata().ok()?.modified().ok()?.elapsed().ok();
        let old = files.filter(|path| age(path).is_some_and(|age| age.as_secs() > 0));
        let newest = old.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
        found = newest.map(|path| png(&path)).filter(|picture| is_it(session, picture));
        found.is_some()
    });
    (found.unwrap(), session.quit())
}

/// At the start odd sizes are corrected to see whether it is right, and later, in spare time, a picture of the movie's.
#[test]
fn the_window_corrects_colours_itself_where_the_device_does_it_wrongly() {
    let folder = Folder::new("conversions-colours");
    let grey = |picture: &(usize, usize, Vec<u8>)| {
        picture.2.iter().all(|byte| *byte == 255 || (60..200).contains(byte))
    };
    let (right, said) = corrected(&folder, None, "", |_, picture| grey(picture));
    assert!(!said.contains("wrongly"), "{said}");
    const WRONGLY: &str = "corrects colours wrongly";
    for (name, first) in [("column", WRONGLY), ("this size", "")] {
        let changed = kernels(mutant(name), "colours");
        let mut told = !first.is_empty();
        let (_, said) = corrected(&folder, Some(&changed), first, |session, picture| {
            told |= session.shows(WRONGLY);
            told && *picture == right
        });
        for part in [WRONGLY, CORRECT, "The processor corrects them instead"] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
    let changed = endless(CORRECT, "window");
    let endless = "The kernels of the correction did not end within";
    let (_, said) = corrected(&folder, Some(&changed), endless, |_, picture| *picture == right);
    assert_eq!(said.matches(endless).count(), 1, "{said}");
}

/// One pixel far down is seen only when the whole picture is checked, which is done when there is time. The picture that
/// stands on the screen is then made anew.
#[test]
fn the_window_tells_of_one_wrong_pixel_and_mends_the_picture() {
    let folder = Folder::new("conversions-pixel");
    let display = Display::start(&[]);
    let changed = kernels(mutant("pixel"), "window");
    let one = Movie { stamps_ms: movie::steady(1), format: Pixel::YUV420P, size: SIZE, ..Movie::default() };
    let still = folder.movie("m.mkv", &one);
    let (right, _) = shot((&folder, &still), None, false, "off");
    let here = folder.file("here");
    std::fs::create_dir(&here).unwrap();
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", changed.file("")).envs(as_gpu()).arg(&still).current_dir(&here);
    command.args(["--variant", "off", "--no-sharing", "--device", "gpu"]);
    let mut session = Session::start(&display, &mut command);
    // A picture that was there before the device was converted without it.
    session.display.key("1");
    session.wait_for_text("wrongly");
    session.display.key("0");
    session.wait("the right picture", |session| {
        session.display.key("s");
        let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        // The newest ones may still be written.
        let age = |path: &PathBuf| path.metadata().ok()?.modified().ok()?.elapsed().ok();
        files.filter(|path| age(path).is_some_and(|age| age.as_secs() > 0)).any(|path| png(&path) == right)
    });
    let said = session.quit();
    assert!(said.contains("converts pictures (4:2:0, 8 bits) wrongly"), "{said}");
    assert!(said.contains("The processor converts them instead"), "{said}");
}

/// The panel's check runs while the movie plays, ends when it is asked to, and with the window.
#[test]
fn the_devices_conversions_are_checked_while_the_movie_plays() {
    let folder = Folder::new("conversions-panel");
    let movie = small(&folder);
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(&movie).args(["--variant", "flat", "--device", "cpu"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("flat");
    session.display.key("k");
    session.wait_for_text("nothing is known yet");
    session.click("Check now");
    // How soon something is known depends on who else uses the machine: it runs at low priority.
    session.wait_for_text("seed 1");
    session.click("Stop");
    session.wait_for_text("Ended at ");
    // Again, and this time the window ends it.
    session.click("Check now");
    session.wait_for_text("It begins: ");
    let said = session.quit();
    assert!(!said.contains("cannot"), "{said}");
}
