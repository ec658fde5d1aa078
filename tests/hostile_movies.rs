//! Files that try to open other files, to block or to exhaust memory: only one regular file is opened, the one that was
//! named.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::*;
use base::error::Error;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use inotify::{Event, Inotify, WatchMask};
use testkit::movie::{index_in, make_pipe};
use video::{Cancel, Decoder, OpenOptions, References, read_frame_at, read_frames_rgba};

/// Records the names of the files that any process opens in a folder.
struct OpenRecorder(Inotify);

impl OpenRecorder {
    fn new(folder: &Path) -> Self {
        let inotify = Inotify::init().expect("inotify");
        inotify.watches().add(folder, WatchMask::OPEN).expect("a folder");
        Self(inotify)
    }

    /// Returns the names that were opened since the last call, each once.
    fn take_opened(&mut self) -> Vec<String> {
        let (mut names, mut events) = (BTreeSet::new(), [0_u8; 1 << 16]);
        while let Ok(events) = self.0.read_events(&mut events) {
            let name = |event: Event<&OsStr>| event.name.unwrap_or_default().to_string_lossy().into_owned();
            names.extend(events.map(name));
        }
        names.into_iter().collect()
    }
}

fn open_error(path: &Path) -> Error {
    let frame = read_frame_at(path, 0.0, 0, References::Refused).map(|_| ());
    let frames = read_frames_rgba(path, 1, None, References::Refused).map(|_| ());
    let decoder = Decoder::open(path, OpenOptions::default(), Box::new(|| ())).map(|_| ());
    for result in [frames, decoder] {
        assert_eq!(result, frame, "{}", path.display());
    }
    frame.expect_err("it is refused")
}

fn snapshot(folder: &Folder, path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.arg("snapshot").arg(path).args(["--variant", "off", "--out"]).arg(folder.file("out.png"));
    command.args(arguments).output().expect("clreel runs")
}

fn hls_playlist(segment: &str) -> String {
    format!(
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:0.8,\n{segment}\n#EXT-X-ENDLIST\n"
    )
}

const MASTER: &str = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmaster.m3u8\n";

#[test]
fn playlists_are_refused_by_any_name() {
    let folder = Folder::new("lists");
    folder.movie("real.ts", &Movie::default());
    folder.movie("real.mp4", &Movie::default());
    make_pipe(&folder.file("fifo.ts"));
    let dash = "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
        profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"><Period><AdaptationSet mimeType=\"video/mp4\">\
        <Representation id=\"1\" bandwidth=\"1\"><BaseURL>real.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>\n";
    let sdp = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n";
    let concat = |name: &str| format!("ffconcat version 1.0\nfile {name}\n");
    let mut watch = OpenRecorder::new(folder.file("").as_path());
    for (text, what) in [
        (MASTER.to_owned(), "HLS"),
        (hls_playlist("real.ts"), "HLS"),
        (hls_playlist("fifo.ts"), "HLS"),
        (dash.to_owned(), "DASH"),
        (concat("real.ts"), "ffconcat"),
        (concat("fifo.ts"), "ffconcat"),
        (sdp.to_owned(), "SDP"),
    ] {
        for name in ["master.m3u8", "list.mp4", "list.ts", "list"] {
            let path = folder.with(name, text.as_bytes());
            watch.take_opened();
            let error = open_error(&path);
            assert_eq!(watch.take_opened(), [name], "{what}: nothing else is opened");
            // Some versions of FFmpeg recognise playlists only by the file name extension.
            let unknown = error.why.contains("Invalid data") && what == "HLS" && name != "master.m3u8";
            let told = error.why.contains(what) && error.hint.contains("--allow-references");
            assert!(told || unknown, "{what} as {name}: {error}");
        }
    }
}

/// Guards the other tests, which would pass if nothing were opened at all.
#[test]
fn the_recorder_sees_opened_files() {
    let folder = Folder::new("watch");
    let path = folder.movie("real.ts", &Movie::default());
    let other = folder.with("other", b"x");
    let mut watch = OpenRecorder::new(folder.file("").as_path());
    read_frame_at(&path, 0.5, 0, References::Refused).expect("a frame");
    assert_eq!(watch.take_opened(), ["real.ts"]);
    std::fs::read(other).expect("read");
    assert_eq!(watch.take_opened(), ["other"]);
}

#[test]
fn a_file_name_is_no_glob_or_sequence_pattern() {
    let folder = Folder::new("pattern");
    let picture = |name: &str, index: usize| {
        let stamps_ms = (0..=index as i64).map(|i| i * 40).collect();
        // One picture in the movie's last grey.
        let movie = Movie { codec: Id::PNG, format: Pixel::GRAY8, stamps_ms, ..Movie::default() };
        let all = std::fs::read(folder.movie("all.mkv", &movie)).expect("read");
        let start = all.windows(8).rposition(|w| w == b"\x89PNG\r\n\x1a\n").expect("a PNG");
        folder.with(name, &all[start..])
    };
    for index in 1..4 {
        picture(&format!("pat00{index}.png"), index);
    }
    let shown =
        |path: &Path, references| read_frame_at(path, 0.0, 0, references).map(|(f, _)| index_in(&f.picture));
    let pattern = folder.file("pat%03d.png");
    let error = open_error(&pattern);
    assert!(error.why.contains("no such file"), "{error}");
    picture("pat%03d.png", 7);
    picture("glob*.png", 9);
    let mut watch = OpenRecorder::new(folder.file("").as_path());
    for references in [References::Refused, References::Allowed] {
        assert_eq!(shown(&pattern, references), Ok(7));
        assert_eq!(watch.take_opened(), ["pat%03d.png"]);
        assert_eq!(shown(&folder.file("glob*.png"), references), Ok(9));
        assert_eq!(watch.take_opened(), ["glob*.png"]);
    }
}

#[test]
fn only_regular_files_are_opened() {
    let folder = Folder::new("regular");
    make_pipe(&folder.file("pipe.mp4"));
    let _socket = std::os::unix::net::UnixListener::bind(folder.file("socket.mp4")).expect("a socket");
    std::os::unix::fs::symlink(folder.file("pipe.mp4"), folder.file("link.mp4")).expect("a link");
    let device = Path::new("/dev/zero").to_owned();
    for path in [folder.file("pipe.mp4"), folder.file("socket.mp4"), folder.file("link.mp4"), device] {
        let watch = path.starts_with(folder.file("")).then(|| OpenRecorder::new(folder.file("").as_path()));
        let error = open_error(&path);
        assert!(error.why.contains("pipe, a socket or a device"), "{error}");
        assert!(watch.is_none_or(|mut watch| watch.take_opened().is_empty()), "it is not even opened");
        let allowed = read_frame_at(&path, 0.0, 0, References::Allowed).map(|_| ());
        assert_eq!(allowed, Err(error), "not with the option either");
    }
}

#[test]
fn playlists_play_with_allow_references_and_pipes_do_not_block() {
    let folder = Folder::new("allowed");
    folder.movie("real.ts", &Movie::default());
    make_pipe(&folder.file("fifo.ts"));
    let play = folder.with("play.m3u8", hls_playlist("real.ts").as_bytes());
    let (frame, _) = read_frame_at(&play, 0.2, 0, References::Allowed).expect("a frame");
    assert_eq!(index_in(&frame.picture), 5);
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = snapshot(&folder, &play, &[]);
    assert!(output.status.code() == Some(1) && said(&output).contains("HLS"), "{}", said(&output));
    let output = snapshot(&folder, &play, &["--allow-references"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));

    // A list may name its files by URLs, in which a percent sign is encoded.
    folder.movie("sp ace.ts", &Movie { first: 20, ..Movie::default() });
    folder.movie("100%20.ts", &Movie { first: 30, ..Movie::default() });
    let here = folder.file("").display().to_string();
    for (address, first) in [
        (format!("file://{here}sp%20ace.ts"), 20),
        (format!("file://localhost{here}sp%20ace.ts"), 20),
        (format!("file://{here}100%2520.ts"), 30),
        ("100%20.ts".to_owned(), 30),
    ] {
        let list = folder.with("addresses.m3u8", hls_playlist(&address).as_bytes());
        let (frame, _) = read_frame_at(&list, 0.0, 0, References::Allowed)
            .unwrap_or_else(|error| panic!("{address}: {error}"));
        assert_eq!(index_in(&frame.picture), first, "{address}");
    }

    let pipe = folder.with("pipe.m3u8", hls_playlist("fifo.ts").as_bytes());
    let master = folder.with("master.m3u8", MASTER.as_bytes());
    for (path, why) in [(pipe, "fifo.ts"), (master, "without an end")] {
        let error = read_frame_at(&path, 0.0, 0, References::Allowed).map(|_| ()).expect_err("nothing plays");
        assert!(error.why.contains(why), "{error}");
    }
}

#[test]
fn opening_can_be_cancelled() {
    let folder = Folder::new("cancelled");
    let path = folder.movie("m.mkv", &Movie::default());
    let cancel = Cancel::default();
    let options = OpenOptions { cancel: cancel.clone(), ..OpenOptions::default() };
    cancel.cancel();
    assert!(Decoder::open(&path, options, Box::new(|| ())).is_err());
}

/// Writes a movie as an AVI file whose header states this width and height.
fn large_avi(folder: &Folder, movie: &Movie, side: u32) -> PathBuf {
    let mut avi = std::fs::read(folder.movie("plain.avi", movie)).expect("read");
    // BITMAPINFOHEADER: its own size, then width and height.
    let at = avi.windows(4).position(|w| w == b"strf").expect("a format") + 12;
    for at in [at, at + 4] {
        avi[at..at + 4].copy_from_slice(&side.to_le_bytes());
    }
    folder.with("large.avi", &avi)
}

#[test]
fn a_wrong_size_in_the_container_does_not_matter_if_the_codec_states_its_own() {
    let folder = Folder::new("wrong-size");
    for (codec, format) in [(Id::MJPEG, Pixel::YUVJ420P), (Id::MPEG4, Pixel::YUV420P)] {
        let movie = Movie { codec, format, ..Movie::default() };
        for side in [16_000, 60_000] {
            let path = large_avi(&folder, &movie, side);
            let (frame, _) = read_frame_at(&path, 0.0, 0, References::Refused).expect("a frame");
            assert_eq!((frame.width(), frame.height()), movie.size, "{codec:?} {side}");
        }
    }
}

#[test]
fn oversized_pictures_are_refused_before_allocation() {
    let folder = Folder::new("bounds");
    // FFV1 has no size of its own. The smaller one is too large for a file of some kilobytes only.
    for side in [8_000, 60_000] {
        let error = open_error(&large_avi(&folder, &Movie { codec: Id::FFV1, ..Movie::default() }, side));
        let size = format!("{side}×{side}");
        assert!(error.what.contains("too large") && error.why.contains(&size), "{error}");
    }

    // A PNG of 60000×60000: signature, header, and some of its data.
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    png.extend([60_000_u32.to_be_bytes(), 60_000_u32.to_be_bytes()].concat());
    png.extend([8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
    png.extend(b"IDAT\x78\x9c\x03\0\0\0\0\0\0\0\0\0IEND\xae\x42\x60\x82");
    let error = open_error(&folder.with("large.png", &png));
    assert!(error.why.contains("million pixels"), "{error}");
}
