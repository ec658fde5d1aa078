//! Movies from disk: formats, time stamps, loops, seeking, and damaged files.

use std::path::Path;

use base::error::Error;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie::{Folder, Movie, index_in, make_pipe, steady, wav, with_display_matrix};
use video::color::RgbaConverter;
use video::color::planes::{layout_of, pack};
use video::{Decoder, Frame, OpenOptions, Orientation, References, Seek, read_frame_at, read_frames_rgba};

use crate::{MS, indices, looping, once, open, take, try_open};

fn stamps_ms(frames: &[Frame]) -> Vec<i64> {
    frames.iter().map(|frame| (frame.pts_ns + MS / 2).div_euclid(MS)).collect()
}

fn fails(path: &Path) -> Error {
    match try_open(path, looping()) {
        Ok(_) => panic!("{} plays", path.display()),
        Err(error) => {
            assert!(!error.what.is_empty() && !error.why.is_empty(), "{error}");
            assert!(read_frame_at(path, 0.0, 0, References::Refused).is_err());
            assert!(read_frames_rgba(path, 1, None, References::Refused).is_err());
            error
        }
    }
}

#[test]
fn plays_common_formats() {
    let folder = Folder::new("formats");
    for (name, codec, format, size) in [
        ("mpeg4.mp4", Id::MPEG4, Pixel::YUV420P, (64, 48)),
        ("mpeg4.mkv", Id::MPEG4, Pixel::YUV420P, (64, 48)),
        ("odd.mkv", Id::MPEG4, Pixel::YUV420P, (175, 99)),
        ("mpeg4.avi", Id::MPEG4, Pixel::YUV420P, (64, 48)),
        ("mjpeg.avi", Id::MJPEG, Pixel::YUVJ420P, (33, 17)),
        ("ffv1.mkv", Id::FFV1, Pixel::YUV420P, (13, 7)),
        ("ffv1.nut", Id::FFV1, Pixel::YUV444P, (1, 1)),
        ("raw.nut", Id::RAWVIDEO, Pixel::YUV422P, (31, 9)),
        ("a:b %03d.mkv", Id::MPEG4, Pixel::YUV420P, (64, 48)),
    ] {
        let movie = Movie { codec, format, size, ..Movie::default() };
        let path = folder.movie(name, &movie);
        let decoder = open(&path, once());
        assert_eq!((decoder.info().width, decoder.info().height), size, "{name}");
        let is_right = decoder.info().fps.is_some_and(|fps| (fps - 25.0).abs() < 0.01);
        assert!(is_right, "{name}: {:?}", decoder.info());
        let frames = take(&decoder, 100);
        assert_eq!(stamps_ms(&frames), steady(20), "{name}");
        assert_eq!(indices(&frames), (0..20).collect::<Vec<_>>(), "{name}");
        assert!(frames.iter().enumerate().all(|(i, frame)| frame.number == i as u64), "{name}");
        assert!(frames.iter().all(|frame| (frame.duration_ns - 40 * MS).abs() <= MS), "{name}");
        assert_eq!(decoder.warning(), None, "{name}");
    }
}

#[test]
fn frames_with_b_frames_come_in_display_order() {
    let folder = Folder::new("b-frames");
    let movie = Movie { b_frames: 2, ..Movie::default() };
    for name in ["b.mp4", "b.mkv", "b.avi"] {
        let decoder = open(&folder.movie(name, &movie), once());
        let frames = take(&decoder, 100);
        assert_eq!(indices(&frames), (0..20).collect::<Vec<_>>(), "{name}");
        assert_eq!(stamps_ms(&frames), steady(20), "{name}");
    }
}

#[test]
fn stamps_may_start_anywhere() {
    let folder = Folder::new("offset");
    for name in ["late.mkv", "late.ts", "late.nut"] {
        let movie = Movie { offset_ms: 36_000_000, ..Movie::default() };
        let path = folder.movie(name, &movie);
        let decoder = open(&path, once());
        let frames = take(&decoder, 100);
        assert_eq!(stamps_ms(&frames), steady(20), "{name}");
        assert_eq!(frames[3].movie_s, frames[3].pts_ns as f64 / 1e9, "{name}");
        let (frame, warning) = read_frame_at(&path, 0.5, 0, References::Refused).expect("a frame");
        assert_eq!((index_in(&frame.picture), warning), (12, None), "{name}");
    }
}

#[test]
fn loops_continue_the_timeline() {
    let folder = Folder::new("loop");
    let movie = Movie { stamps_ms: vec![0, 40, 120], ..Movie::default() };
    for name in ["loop.mkv", "loop.mp4", "loop.avi"] {
        let decoder = open(&folder.movie(name, &movie), looping());
        let frames = take(&decoder, 10);
        assert!(frames.windows(2).all(|w| w[0].pts_ns < w[1].pts_ns), "{name}: {:?}", stamps_ms(&frames));
        assert_eq!(indices(&frames), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0], "{name}");
        assert!(frames[3].movie_s < 0.001 && frames[3].pts_ns > 120 * MS, "{name}");
        assert_eq!(decoder.warning(), None, "{name}");
    }
}

#[test]
fn a_single_frame_is_held_and_seeks_have_no_effect() {
    let folder = Folder::new("single");
    let path = folder.movie("single.mkv", &Movie { stamps_ms: vec![0], ..Movie::default() });
    for preload in [None, Some(5)] {
        let decoder = open(&path, OpenOptions { preload, ..looping() });
        assert_eq!(take(&decoder, 5).len(), 1);
        assert!(decoder.queue().is_finished());
        decoder.seek(Seek::Exact(3.0));
        assert!(decoder.queue().is_finished() && decoder.generation() == 0);
    }
}

#[test]
fn preloaded_frames_repeat() {
    let folder = Folder::new("preload");
    let path = folder.movie("clip.mkv", &Movie::default());
    let options = OpenOptions { preload: Some(3), ..looping() };
    let decoder = open(&path, options.clone());
    // Nothing is read any more: the file may go.
    std::fs::remove_file(&path).expect("removed");
    let frames = take(&decoder, 8);
    assert_eq!(indices(&frames), [0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(stamps_ms(&frames), [0, 40, 80, 120, 160, 200, 240, 280]);

    let path = folder.movie("clip.mkv", &Movie::default());
    let decoder = open(&path, OpenOptions { preload: Some(3), start_s: 0.4, ..once() });
    let frames = take(&decoder, 100);
    assert_eq!(indices(&frames), [10, 11, 12]);
    assert_eq!(stamps_ms(&frames), [400, 440, 480]);
}

#[test]
fn starts_at_the_frame_shown_at_that_time() {
    let folder = Folder::new("start");
    for name in ["start.mp4", "start.mkv", "start.avi", "start.ts", "start.nut"] {
        // AVI stores no display times, so that FFmpeg can only guess those of B-frames after a seek.
        for b_frames in if name.ends_with("avi") { 0..=0 } else { 0..=2 } {
            let path = folder.movie(name, &Movie { b_frames, ..Movie::default() });
            for (start_s, index) in
                [(0.0, 0), (0.01, 0), (0.2, 5), (0.3, 7), (0.43, 10), (0.76, 19), (0.79, 19)]
            {
                let decoder = open(&path, OpenOptions { start_s, ..looping() });
                let frames = take(&decoder, 30);
                let expected: Vec<_> = (index..20).chain((0..20).cycle()).take(30).collect();
                assert_eq!(indices(&frames), expected, "{name} from {start_s}, {b_frames} B");
                assert_eq!(stamps_ms(&frames)[0], index as i64 * 40, "{name} from {start_s}");
                assert!(frames.windows(2).all(|w| w[0].pts_ns < w[1].pts_ns), "{name} from {start_s}");
                let (frame, warning) =
                    read_frame_at(&path, start_s, 0, References::Refused).expect("a frame");
                assert_eq!((index_in(&frame.picture), warning), (index, None), "{name} at {start_s}");
            }
        }
    }
}

#[test]
fn a_start_after_the_end_causes_a_warning() {
    let folder = Folder::new("behind");
    let path = folder.movie("clip.mkv", &Movie::default());
    let decoder = open(&path, OpenOptions { start_s: 99.0, ..once() });
    assert_eq!(indices(&take(&decoder, 100)), (0..20).collect::<Vec<_>>());
    assert!(decoder.warning().is_some_and(|w| w.what.contains("99")));
    let (frame, warning) = read_frame_at(&path, 99.0, 0, References::Refused).expect("the last frame");
    assert_eq!(index_in(&frame.picture), 19);
    assert!(warning.is_some_and(|w| w.what.contains("99")));
}

/// The resolution of a picture file in dots per inch is not its pixel aspect ratio; in a movie the ratio is kept.
#[test]
fn dots_per_inch_are_no_pixel_aspect_ratio() {
    let folder = Folder::new("dots");
    let one = |codec, format| Movie {
        codec,
        format,
        stamps_ms: vec![0],
        // With a shape the encoder writes JFIF's header.
        pixel_aspect: (1, 1),
        ..Movie::default()
    };
    let bytes = |movie: &Movie| std::fs::read(folder.movie("one.mkv", movie)).expect("read");
    // The mark of the start, and JFIF's: its units (1: inch) and dots across and down lie behind the version.
    let all = bytes(&one(Id::MJPEG, Pixel::YUVJ420P));
    let mut jpeg = all[all.windows(3).position(|w| w == [0xff, 0xd8, 0xff]).expect("a JPEG")..].to_vec();
    let at = jpeg.windows(5).position(|w| w == b"JFIF\0").expect("JFIF") + 7;
    jpeg[at..at + 5].copy_from_slice(&[1, 1, 44, 0, 72]);
    // A chunk of the dots in a meter, behind the header of 25 bytes; decoders check no sums of such chunks unless asked to.
    let all = bytes(&one(Id::PNG, Pixel::RGB24));
    let png = &all[all.windows(8).position(|w| w == b"\x89PNG\r\n\x1a\n").expect("a PNG")..];
    let chunk =
        [&9_u32.to_be_bytes()[..], b"pHYs", &11811_u32.to_be_bytes(), &2835_u32.to_be_bytes(), &[1]].concat();
    let crc = !chunk[4..].iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    let png = [&png[..33], &chunk, &crc.to_be_bytes(), &png[33..]].concat();
    for (name, bytes) in
        [("a.jpg", &jpeg), ("jpeg", &jpeg), ("a.png", &png), ("png", &png), ("wrong.jpg", &png)]
    {
        let decoder = open(&folder.with(name, bytes), once());
        assert_eq!((decoder.info().pixel_aspect, decoder.info().width), (1.0, 64), "{name}");
        assert_eq!(take(&decoder, 1)[0].pixel_aspect(), 1.0, "{name}");
    }
    for (name, codec, format) in [
        ("jpeg.mkv", Id::MJPEG, Pixel::YUVJ420P),
        ("jpeg.mov", Id::MJPEG, Pixel::YUVJ420P),
        ("png.mkv", Id::PNG, Pixel::RGB24),
        ("mpeg4.mp4", Id::MPEG4, Pixel::YUV420P),
        ("mpeg4.mkv", Id::MPEG4, Pixel::YUV420P),
    ] {
        let movie = Movie { codec, format, pixel_aspect: (16, 11), ..Movie::default() };
        let decoder = open(&folder.movie(name, &movie), once());
        for aspect in [decoder.info().pixel_aspect, take(&decoder, 1)[0].pixel_aspect()] {
            assert!((aspect - 16.0 / 11.0).abs() < 0.01, "{name}: {aspect}");
        }
    }
}

#[test]
fn implausible_pixel_aspect_ratios_are_ignored() {
    let folder = Folder::new("bound");
    for (ratio, aspect) in
        [((1, 65535), 1.0), ((65535, 1), 1.0), ((1, 11), 1.0), ((8, 1), 8.0), ((1, 8), 0.125)]
    {
        let movie =
            Movie { codec: Id::FFV1, format: Pixel::YUV420P, pixel_aspect: ratio, ..Movie::default() };
        let decoder = open(&folder.movie("ratio.nut", &movie), once());
        assert_eq!(decoder.info().pixel_aspect, aspect, "{ratio:?}");
        let remarks = decoder.info().remarks.join(" ");
        let (is_told, named) = (aspect == 1.0, format!("{}:{}", ratio.0, ratio.1));
        assert_eq!((remarks.contains(&named), remarks.is_empty()), (is_told, !is_told), "{remarks}");
    }
}

/// A codec that this FFmpeg does not support is not reported as damage.
#[test]
fn unsupported_codecs_are_reported() {
    let folder = Folder::new("unsupported");
    // WebP's container: the extended header with the flag for an animation, then its colour and one frame, which is empty.
    let chunk = |name: &[u8], data: &[u8]| [name, &(data.len() as u32).to_le_bytes(), data].concat();
    let picture = b"\x2f\x0f\xc0\x03\0\x07\x10\x11\xfd\x0f";
    let chunks = [
        chunk(b"VP8X", &[2, 0, 0, 0, 15, 0, 0, 15, 0, 0]),
        chunk(b"ANIM", &[0; 6]),
        chunk(b"ANMF", &[[0; 16].as_slice(), &chunk(b"VP8L", picture)].concat()),
    ];
    let body = [b"WEBP".as_slice(), &chunks.concat()].concat();
    for name in ["a.webp", "animation"] {
        let error = fails(&folder.with(name, chunk(b"RIFF", &body)));
        assert!(error.why.contains("This FFmpeg does not decode an animated WebP"), "{error}");
        assert!(!error.to_string().contains("damaged"), "{error}");
    }
    // A codec that nobody knows.
    let mut bytes = std::fs::read(folder.movie("known.mkv", &Movie::default())).expect("read");
    let at = bytes.windows(7).position(|w| w == b"V_MPEG4").expect("the codec's name");
    bytes[at..at + 7].copy_from_slice(b"V_NO\x1b]!");
    let error = fails(&folder.with("unknown.mkv", &bytes));
    assert!(error.why.contains("This FFmpeg does not decode its codec"), "{error}");
    assert!(!error.to_string().contains('\x1b'), "{error:?}");
}

#[test]
fn frames_are_read_as_rgba_at_any_size() {
    let folder = Folder::new("rgba");
    let path = folder.movie("clip.mkv", &Movie::default());
    let all = read_frames_rgba(&path, 100, None, References::Refused).expect("frames");
    assert_eq!((all.width, all.height, all.frames.len(), all.warning), (64, 48, 20, None));
    let scaled = read_frames_rgba(&path, 3, Some((31, 90)), References::Refused).expect("frames");
    assert_eq!((scaled.width, scaled.height, scaled.frames.len()), (31, 90, 3));
    assert!(scaled.frames.iter().all(|frame| frame.len() == 31 * 90 * 4));
}

#[test]
fn files_that_are_no_movies_are_refused() {
    let folder = Folder::new("refused");
    let garbage: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let why = |path: &Path| fails(path).why;
    assert!(why(&folder.file("missing.mp4")).contains("no such file"));
    assert!(why(&folder.file("")).contains("folder"));
    assert!(why(&folder.with("empty.mp4", b"")).contains("empty"));
    assert!(why(&folder.with("sound.wav", wav())).contains("sound"));
    // A pipe does not hang.
    make_pipe(&folder.file("pipe.mp4"));
    assert!(why(&folder.file("pipe.mp4")).contains("pipe"));
    assert!(why(Path::new("/dev/zero")).contains("device"));
    for name in ["garbage", "garbage.mp4", "garbage.mkv", "garbage.avi", "garbage.ts", "garbage.bin"] {
        fails(&folder.with(name, &garbage));
    }
    for name in ["notes.txt", "notes", "notes.mp4", "notes.md", "notes.ans"] {
        fails(&folder.with(name, b"Dear diary,\n\ntoday nothing moved.\n".repeat(50).as_slice()));
    }
}

#[test]
fn names_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("name");
    let path = folder.movie("plain.mkv", &Movie::default());
    let odd = path.with_file_name(std::ffi::OsStr::from_bytes(b"\xff\xfe odd.mkv"));
    if std::fs::rename(&path, &odd).is_ok() {
        assert_eq!(take(&open(&odd, once()), 100).len(), 20);
    }
}

#[test]
fn a_file_that_is_cut_off_plays_what_it_has() {
    let folder = Folder::new("cut");
    for name in ["cut.mkv", "cut.avi", "cut.nut"] {
        let movie =
            Movie { codec: Id::MJPEG, format: Pixel::YUVJ420P, stamps_ms: steady(100), ..Movie::default() };
        let path = folder.movie(name, &movie);
        let whole = std::fs::read(&path).expect("read");
        std::fs::write(&path, &whole[..whole.len() / 2]).expect("cut");
        let decoder = open(&path, once());
        let frames = take(&decoder, 1000);
        assert!((30..70).contains(&frames.len()), "{name}: {} frames", frames.len());
        // Containers whose header does not give the length cannot show that something is missing.
        if name != "cut.nut" {
            let warning = decoder.warning().unwrap_or_else(|| panic!("{name}: no warning"));
            assert!(warning.what.contains("cut off"), "{warning}");
        }
        let frames = read_frames_rgba(&path, 5, None, References::Refused);
        assert!(frames.is_ok_and(|frames| frames.frames.len() == 5), "{name}");
    }
}

/// Containers that state one duration for all their streams, and some that state the duration of each.
const WITH_SOUND: [(&str, Id); 6] = [
    ("sound.mkv", Id::MPEG4),
    ("sound.flv", Id::FLV1),
    ("sound.wmv", Id::WMV2),
    ("sound.nut", Id::MPEG4),
    ("sound.avi", Id::MPEG4),
    ("sound.mov", Id::MPEG4),
];

/// Returns the pictures of a movie and its warning, played once from the beginning and once from the middle.
fn played(path: &Path) -> (usize, Option<Error>) {
    let decoder = open(path, once());
    let count = take(&decoder, 1000).len();
    if count > 1 {
        let from_middle = open(path, OpenOptions { start_s: 0.4, ..once() });
        take(&from_middle, 1000);
        assert_eq!(from_middle.warning(), decoder.warning(), "{}", path.display());
    }
    (count, decoder.warning())
}

#[test]
fn longer_sound_or_subtitles_are_no_damage() {
    let folder = Folder::new("longer");
    for (name, codec) in WITH_SOUND {
        let longer = Movie { codec, sound_ms: Some(9000), ..Movie::default() };
        assert_eq!(played(&folder.movie(name, &longer)), (20, None), "{name}, longer sound");
        let shorter = Movie { codec, sound_ms: Some(300), ..Movie::default() };
        assert_eq!(played(&folder.movie(name, &shorter)), (20, None), "{name}, shorter sound");
        // Of one picture and a song.
        let still = Movie { stamps_ms: vec![0], ..longer.clone() };
        assert_eq!(played(&folder.movie(name, &still)), (1, None), "{name}, one picture");
        let late = Movie { offset_ms: 5000, ..longer };
        assert_eq!(played(&folder.movie(name, &late)), (20, None), "{name}, late");
    }
    let subtitle = Movie { subtitle_ms: Some((6000, 3000)), ..Movie::default() };
    assert_eq!(played(&folder.movie("subtitle.mkv", &subtitle)), (20, None));
    let chapters = Movie { chapters: vec![(0, "One"), (500, "Two")], ..subtitle.clone() };
    assert_eq!(played(&folder.movie("chapters.mkv", &chapters)), (20, None));
    // A slide that is looked at for long, without a word of that beside it in the file.
    for name in ["slides.mkv", "slides.flv"] {
        let codec = if name.ends_with("flv") { Id::FLV1 } else { Id::MPEG4 };
        let slides = Movie { codec, stamps_ms: vec![0, 1000, 2000], last_ms: Some(8000), ..Movie::default() };
        assert_eq!(played(&folder.movie(name, &slides)), (3, None), "{name}");
    }
    // In a loop and after a seek the other streams are read again.
    let longer = Movie { sound_ms: Some(9000), ..Movie::default() };
    let decoder = open(&folder.movie("loop.mkv", &longer), looping());
    assert_eq!(take(&decoder, 50).len(), 50);
    decoder.seek(Seek::Exact(0.5));
    while !take(&decoder, 1)[0].seeked {}
    take(&decoder, 50);
    assert_eq!(decoder.warning(), None);
}

#[test]
fn a_file_with_sound_that_is_cut_off_is_reported() {
    let folder = Folder::new("cut-sound");
    let others = [("sound.mp4", Id::MPEG4), ("sound.ts", Id::MPEG4)];
    for (name, codec) in WITH_SOUND.into_iter().chain(others) {
        // Sound of this kind is not in every container.
        let has_sound = !name.ends_with("ts") && !name.ends_with("mp4");
        for sound_ms in [None, Some(4000), Some(9000)] {
            let movie = Movie { codec, stamps_ms: steady(100), gop: 12, sound_ms, ..Movie::default() };
            if sound_ms.is_some() && !has_sound {
                continue;
            }
            let whole = std::fs::read(folder.movie(name, &movie)).expect("read");
            for percent in [30, 50, 80] {
                // An odd number of bytes: between two packets nobody sees that a transport stream is cut.
                let cut = folder.with(&format!("cut-{name}"), &whole[..(whole.len() * percent / 100) | 1]);
                // Of some the index is missing, without which there is nothing to play.
                let told = try_open(&cut, once()).map(|decoder| {
                    take(&decoder, 1000);
                    decoder.warning()
                });
                let told = told.unwrap_or_else(Some);
                // NUT does not say how long it is.
                assert!(
                    name.ends_with("nut") || told.as_ref().is_some_and(|told| told.what.contains("cut off")),
                    "{name} of {percent} %, sound {sound_ms:?}: {told:?}"
                );
            }
            assert_eq!(played(&folder.with(name, &whole)), (100, None), "{name}, whole, {sound_ms:?}");
        }
    }
}

/// An MP4 without the index at its end cannot be played, and the error explains it.
#[test]
fn an_mp4_without_its_index_is_reported_as_cut_off() {
    let folder = Folder::new("no-index");
    let whole = std::fs::read(folder.movie("whole.mp4", &Movie::default())).expect("read");
    assert!(whole[4..].starts_with(b"ftyp"));
    let kind = &whole[..whole[3].into()];
    let at = whole.windows(4).position(|w| w == b"mdat").expect("pictures") - 4;
    let path = folder.with("cut.mp4", [kind, &whole[at..whole.len() - 10]].concat());
    let error = fails(&path);
    assert!(error.what.contains("cut off") && error.why.contains("bytes"), "{error}");
}

/// The missing part of an incomplete download may be zeros.
#[test]
fn a_file_that_ends_in_zeros_is_reported() {
    let folder = Folder::new("zeros");
    for (name, codec) in [("zeros.mkv", Id::MPEG4), ("zeros.flv", Id::FLV1), ("zeros.mp4", Id::MPEG4)] {
        let movie = Movie { codec, stamps_ms: steady(200), size: (320, 240), ..Movie::default() };
        let path = folder.movie(name, &movie);
        let mut bytes = std::fs::read(&path).expect("read");
        let half = bytes.len() / 2;
        bytes[half..].fill(0);
        std::fs::write(&path, &bytes).expect("written");
        let decoder = open(&path, once());
        take(&decoder, 1000);
        assert!(decoder.warning().is_some_and(|w| w.what.contains("damaged")), "{name}");
    }
}

#[test]
fn damaged_packets_are_skipped() {
    let folder = Folder::new("damaged");
    let movie = Movie { codec: Id::MJPEG, format: Pixel::YUVJ420P, ..Movie::default() };
    let path = folder.movie("damaged.avi", &movie);
    let mut bytes = std::fs::read(&path).expect("read");
    // The start-of-image mark of the fifth picture, and what follows it.
    let starts: Vec<_> = (0..bytes.len() - 3).filter(|&i| bytes[i..i + 3] == [0xff, 0xd8, 0xff]).collect();
    let from = starts[5];
    bytes[from..from + 200].fill(0);
    std::fs::write(&path, &bytes).expect("written");
    let decoder = open(&path, once());
    let frames = take(&decoder, 100);
    assert_eq!(frames.len(), 19);
    assert!(frames.iter().all(|frame| index_in(&frame.picture) != 5));
    assert!(decoder.warning().is_some_and(|w| w.why.contains("could not be decoded")));
}

#[test]
fn random_damage_neither_panics_nor_hangs() {
    let folder = Folder::new("fuzz");
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for name in ["fuzz.mp4", "fuzz.mkv", "fuzz.avi", "fuzz.ts"] {
        let path = folder.movie(name, &Movie::default());
        let whole = std::fs::read(&path).expect("read");
        for _ in 0..50 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random(40) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            bytes.truncate(bytes.len() - random(3) * random(bytes.len() / 3));
            std::fs::write(&path, &bytes).expect("written");
            match try_open(&path, OpenOptions { start_s: random(2) as f64 * 0.4, ..looping() }) {
                Ok(decoder) => {
                    let frames = take(&decoder, 20);
                    assert!(frames.windows(2).all(|w| w[0].pts_ns < w[1].pts_ns), "{name}");
                }
                Err(error) => assert!(!error.why.is_empty(), "{name}: {error}"),
            }
        }
    }
}

#[test]
fn dropping_a_decoder_ends_its_thread() {
    let folder = Folder::new("drop");
    let path = folder.movie("clip.mkv", &Movie::default());
    for _ in 0..20 {
        let marker = std::sync::Arc::new(());
        let held = marker.clone();
        let holds = Box::new(move || _ = &held);
        let decoder = Decoder::open(&path, looping(), holds).expect("plays");
        // The queue is full now or soon, and nobody takes from it.
        drop(decoder);
        assert_eq!(std::sync::Arc::strong_count(&marker), 1, "the thread still runs");
    }
}

#[test]
fn a_decoder_far_behind_the_clock_skips() {
    let folder = Folder::new("behind-clock");
    let movie = Movie { stamps_ms: steady(500), ..Movie::default() };
    let decoder = open(&folder.movie("clip.mkv", &movie), once());
    decoder.queue().set_clock(15_000 * MS);
    let frames = take(&decoder, 1000);
    let stamps = stamps_ms(&frames);
    assert!(frames.len() < 480, "{} of 500 frames were decoded", frames.len());
    assert!(stamps.windows(2).all(|w| w[0] < w[1]));
    // From the clock on nothing is left out.
    let after: Vec<_> = stamps.iter().copied().filter(|&t| t >= 15_200).collect();
    assert_eq!(after, (380..500).map(|i| i * 40).collect::<Vec<_>>());
    assert!(!decoder.queue().is_catching_up());
    assert_eq!(decoder.warning(), None);
}

/// A quarter turn to the right.
const CLOCKWISE: Orientation = Orientation { swapped: true, flip_x: true, flip_y: false };
/// A quarter turn to the left.
const ANTICLOCKWISE: Orientation = Orientation { swapped: true, flip_x: false, flip_y: true };
/// Left and right exchanged.
const MIRRORED: Orientation = Orientation { swapped: false, flip_x: true, flip_y: false };

/// A display matrix in an MP4's track header determines the orientation.
#[test]
fn the_display_matrix_turns_pictures() {
    let folder = Folder::new("orientation");
    let one = 1i32 << 16;
    for (name, matrix, turn) in [
        ("0.mp4", [one, 0, 0, one], Orientation::default()),
        ("90.mp4", [0, one, -one, 0], CLOCKWISE),
        ("180.mp4", [-one, 0, 0, -one], Orientation { flip_x: true, flip_y: true, ..Orientation::default() }),
        ("270.mp4", [0, -one, one, 0], ANTICLOCKWISE),
        ("mirror.mp4", [-one, 0, 0, one], MIRRORED),
        ("mirror-270.mp4", [0, one, one, 0], Orientation { swapped: true, ..Orientation::default() }),
    ] {
        let path = folder.movie(name, &Movie::default());
        let bytes = with_display_matrix(std::fs::read(&path).unwrap(), matrix);
        let path = folder.with(name, &bytes);
        assert_eq!(open(&path, once()).info().orientation, turn, "{name}");
    }
}

/// A JPEG's Exif data determine its orientation, separately for each picture of a movie of JPEGs.
#[test]
fn pictures_may_turn_in_mid_stream() {
    let folder = Folder::new("orientation-frames");
    let movie = Movie { codec: Id::MJPEG, format: Pixel::YUVJ420P, stamps_ms: vec![0], ..Movie::default() };
    let plain = std::fs::read(folder.movie("one.mjpeg", &movie)).unwrap();
    assert_eq!(plain[..2], [0xff, 0xd8], "a JPEG begins so");
    // Exif 2.3: big endian, one entry, tag 0x112 (orientation), type short, count 1.
    let turned = |orientation: u8| {
        let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
        exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
        let length = (exif.len() as u16 + 2).to_be_bytes();
        [&plain[..2], &[0xff, 0xe1], &length, &exif, &plain[2..]].concat()
    };
    let pictures = [plain.clone(), turned(6), turned(6), turned(8), turned(2), plain.clone()];
    let decoder = open(&folder.with("turns.mjpeg", pictures.concat()), once());
    assert_eq!(decoder.info().orientation, Orientation::default());
    let frames = take(&decoder, pictures.len());
    let turns: Vec<_> = frames.iter().map(Frame::orientation).collect();
    let upright = Orientation::default();
    assert_eq!(turns, [upright, CLOCKWISE, CLOCKWISE, ANTICLOCKWISE, MIRRORED, upright]);
}

/// H.264 may crop columns on the left, and FFmpeg does so only if unaligned rows are allowed.
#[test]
fn columns_cut_off_on_the_left_are_not_shown() {
    let folder = Folder::new("crop");
    // A picture of 64×48 in plain samples (H.264's I_PCM), so that no encoder is needed. Columns rise by their place.
    let luma = |x: usize, y: usize| (16 + 3 * x + y % 3) as u8;
    for (left, right, top, bottom) in [(0, 0, 0, 0), (1, 0, 0, 0), (3, 2, 1, 0), (2, 1, 2, 3)] {
        let path = folder.with("crop.h264", plain_h264(luma, [left, right, top, bottom]));
        let (frame, _) = read_frame_at(&path, 0.0, 0, References::Refused).expect("a frame");
        let (width, height) = (64 - 2 * (left + right), 48 - 2 * (top + bottom));
        assert_eq!((frame.width() as usize, frame.height() as usize), (width, height));
        // The planes, the rows that every way of converting reads, and swscale's.
        let layout = layout_of(&frame.picture).expect("a layout");
        let mut packed = vec![0; layout.bytes()];
        pack(&frame.picture, &layout, &mut packed).expect("packed");
        let plane = layout.planes[0];
        let mut rgba = vec![0; width * height * 4];
        RgbaConverter::new().convert(&frame.picture, &mut rgba).expect("converted");
        let mut scaled = vec![0; width * height * 16];
        let size = (2 * width as u32, 2 * height as u32);
        RgbaConverter::new().convert_scaled(&frame.picture, size, &mut scaled).expect("scaled");
        for y in 0..height {
            for x in 0..width {
                let expected = luma(x + 2 * left, y + 2 * top);
                assert_eq!(packed[plane.offset + plane.stride * y + x], expected, "{x}, {y}");
                // Grey in the limited range.
                let grey = ((f64::from(expected) - 16.0) * 255.0 / 219.0).round() as i32;
                assert!((i32::from(rgba[(y * width + x) * 4]) - grey).abs() <= 1, "{x}, {y}");
                let near = i32::from(scaled[(2 * y * 2 * width + 2 * x) * 4]);
                assert!((near - grey).abs() <= 8, "{x}, {y} scaled: {near} for {grey}");
            }
        }
    }
}

/// Returns an H.264 stream of one uncompressed picture of 64×48, cropped by this number of pairs of columns and rows.
fn plain_h264(luma: impl Fn(usize, usize) -> u8, [left, right, top, bottom]: [usize; 4]) -> Vec<u8> {
    #[derive(Default)]
    struct Bits(Vec<bool>);
    impl Bits {
        fn put(&mut self, value: u32, count: u32) -> &mut Self {
            self.0.extend((0..count).rev().map(|bit| value >> bit & 1 == 1));
            self
        }
        /// Exp-Golomb codes, unsigned and signed (ITU-T H.264, 9.1).
        fn ue(&mut self, value: u32) -> &mut Self {
            let length = (value + 1).ilog2();
            self.put(0, length).put(value + 1, length + 1)
        }
        fn align(&mut self) -> &mut Self {
            while !self.0.len().is_multiple_of(8) {
                self.0.push(false);
            }
            self
        }
        /// The unit's bytes behind a start code, with a byte 3 wherever they would look like one.
        fn unit(&mut self, header: u8) -> Vec<u8> {
            self.put(1, 1).align();
            let mut unit = vec![0, 0, 0, 1, header];
            let mut zeros = 0;
            for byte in
                self.0.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit)))
            {
                if zeros >= 2 && byte <= 3 {
                    unit.push(3);
                    zeros = 0;
                }
                zeros = if byte == 0 { zeros + 1 } else { 0 };
                unit.push(byte);
            }
            unit
        }
    }
    // Sequence parameters: baseline, level 3, no reordering, 4×3 macroblocks, with or without a cut.
    let mut sequence = Bits::default();
    sequence.put(0x42_001e, 24).ue(0).ue(0).ue(2).ue(1).put(0, 1).ue(3).ue(2).put(0b11, 2);
    let cut = [left, right, top, bottom].map(|pairs| pairs as u32);
    sequence.put(u32::from(cut != [0; 4]), 1);
    if cut != [0; 4] {
        cut.iter().for_each(|pairs| {
            sequence.ue(*pairs);
        });
    }
    sequence.put(0, 1);
    // Picture parameters: CAVLC, one slice group, no weights, the loop filter's control present.
    let mut picture = Bits::default();
    picture.ue(0).ue(0).put(0, 2).ue(0).ue(0).ue(0).put(0, 3).ue(0).ue(0).ue(0).put(0b100, 3);
    // An IDR slice of I, without the loop filter; each macroblock is of the type I_PCM (25).
    let mut slice = Bits::default();
    slice.ue(0).ue(7).ue(0).put(0, 4).ue(0).put(0, 2).ue(0).ue(1);
    for block in 0..12 {
        slice.ue(25).align();
        let (x, y) = (block % 4 * 16, block / 4 * 16);
        (0..256).for_each(|i| {
            slice.put(u32::from(luma(x + i % 16, y + i / 16)), 8);
        });
        (0..128).for_each(|_| {
            slice.put(128, 8);
        });
    }
    [sequence.unit(0x67), picture.unit(0x68), slice.unit(0x65)].concat()
}
