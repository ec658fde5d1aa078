//! The beginning of a movie whose sound begins before its pictures, and the duration of movies.

use std::io::Write as _;
use std::path::Path;

use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie::{Folder, Movie, index_in, steady};
use testkit::track::Track;
use video::{Frame, OpenOptions, References, Seek, read_frame_at};

use crate::{looping, next, once, open, seek, wait_for};

const RATE: u32 = 48_000;

/// Returns the positions of the frames in milliseconds, and the movie's duration in milliseconds before and after its end was
/// seen.
fn play(path: &Path) -> (Vec<i64>, [Option<i64>; 2]) {
    let decoder = open(path, once());
    let duration_ms = |s: Option<f64>| s.map(|s| (s * 1000.0).round() as i64);
    let stated = duration_ms(decoder.info().duration_s);
    let mut positions = Vec::new();
    while let Some(frame) = next(&decoder) {
        positions.push((frame.movie_s * 1000.0).round() as i64);
        let end_s = frame.movie_s + frame.duration_ns as f64 / 1e9;
        assert!(decoder.duration_s().is_none_or(|duration_s| duration_s + 1e-6 >= end_s), "{end_s}");
    }
    (positions, [stated, duration_ms(decoder.duration_s())])
}

/// Returns the position in milliseconds of the first sample that is not silent, and of the end.
fn heard(path: &Path) -> (i64, i64) {
    let decoder = open(path, once());
    let feed = decoder.sound();
    let segment = wait_for(|| feed.newest_segment());
    let mut reader = feed.open(feed.preferred_track(), RATE).unwrap();
    assert!(reader.seek(&segment, 0));
    let (mut first, mut end) = (None, 0);
    while let Some(samples) = reader.read() {
        let at_ms = |index: usize| samples.movie_ns / 1_000_000 + index as i64 * 1000 / i64::from(RATE);
        let tone = samples.data.iter().position(|sample| sample[0].abs() > 0.1);
        first = first.or(tone.map(at_ms));
        end = at_ms(samples.data.len());
    }
    (first.expect("a tone"), end)
}

fn is_near(a: i64, b: i64) -> bool {
    (a - b).abs() <= 30
}

/// Containers with a codec of pictures and one of sound that they can hold.
const FORMATS: [(&str, Id, Id); 8] = [
    ("a.mkv", Id::MPEG4, Id::MP2),
    ("a.mkv", Id::H264, Id::AAC),
    ("a.mp4", Id::MPEG4, Id::AAC),
    ("a.mov", Id::MPEG4, Id::PCM_S16LE),
    ("a.ts", Id::MPEG4, Id::MP2),
    ("a.ts", Id::MPEG4, Id::AAC),
    ("a.nut", Id::MPEG4, Id::FLAC),
    ("a.flv", Id::FLV1, Id::AAC),
];

fn formats() -> impl Iterator<Item = &'static (&'static str, Id, Id)> {
    FORMATS.iter().filter(|(_, codec, _)| ffmpeg_next::encoder::find(*codec).is_some())
}

#[test]
fn a_movie_begins_with_its_sound() {
    let folder = Folder::new("sound-first");
    for &(name, codec, sound) in formats() {
        let track = Track { codec: sound, span_ms: (0, 4000), ..Track::default() };
        let stamps_ms = steady(50).iter().map(|ms| ms + 2000).collect();
        let movie = Movie { codec, stamps_ms, tracks: vec![track], ..Movie::default() };
        let path = folder.movie(name, &movie);
        let (positions, [stated, seen]) = play(&path);
        let told = format!("{name} {sound:?}: {positions:?}, {stated:?}, {seen:?}");
        assert_eq!(positions.len(), 50, "{told}");
        // Some encoders begin with silence, which moves all time stamps in files that have no negative ones.
        assert!(positions[0] == 0 && (2040..2065).contains(&positions[1]), "{told}");
        assert_eq!(positions[49] - positions[1], 48 * 40, "{told}");
        let [stated, seen] = [stated, seen].map(Option::unwrap);
        assert!((3990..4060).contains(&stated) && (3990..4060).contains(&seen), "{told}");
        let (first, end) = heard(&path);
        assert!((0..30).contains(&first) && (3990..4060).contains(&end), "{told}: {first} to {end}");
        // The first picture stands until the second one, by the same clock.
        for (at_ms, index) in [(0, 0), (1000, 0), (positions[1] - 5, 0), (positions[2] + 5, 2), (3990, 49)] {
            let at_s = at_ms as f64 / 1000.0;
            let (frame, warning) = read_frame_at(&path, at_s, 0, References::Refused).unwrap();
            assert_eq!((index_in(&frame.picture), warning), (index, None), "{told}: {at_s}");
        }
        let (frame, warning) = read_frame_at(&path, 99.0, 0, References::Refused).unwrap();
        let why = warning.expect("it ends before").to_string();
        assert!(index_in(&frame.picture) == 49 && why.contains("ends at 4.0"), "{told}: {why}");
        // A seek before the pictures shows the first one.
        let decoder = open(&path, looping());
        let at_s = |index: usize, ms: i64| (positions[index] + ms) as f64 / 1000.0;
        for (to, index) in [
            (Seek::Exact(at_s(25, 20)), 25),
            (Seek::Exact(0.0), 0),
            (Seek::Exact(at_s(25, 20)), 25),
            (Seek::Keyframe(1.0), 0),
            (Seek::Exact(at_s(1, 20)), 1),
            (Seek::Before(at_s(1, 0)), 0),
        ] {
            let frame = seek(&decoder, to);
            let movie_ms = (frame.movie_s * 1000.0).round() as i64;
            let told = format!("{told}: {to:?}: {movie_ms}");
            assert_eq!((movie_ms, index_in(&frame.picture)), (positions[index], index), "{told}");
        }
    }
}

#[test]
fn sound_may_begin_long_before_or_end_long_after_the_pictures() {
    let folder = Folder::new("sound-long");
    for &(name, codec, sound) in formats() {
        for first_ms in [15_000, 0] {
            let track = Track { codec: sound, span_ms: (0, 16_000), ..Track::default() };
            let stamps_ms = steady(25).iter().map(|ms| ms + first_ms).collect();
            let movie = Movie { codec, stamps_ms, tracks: vec![track], ..Movie::default() };
            let (positions, [_, seen]) = play(&folder.movie(name, &movie));
            let told = format!("{name} {sound:?}: {positions:?}, {seen:?}");
            let is_second = |ms| first_ms == 0 || (15_040..15_065).contains(&ms);
            assert!(positions[0] == 0 && is_second(positions[1]), "{told}");
            assert!((15_990..16_060).contains(&seen.unwrap()), "{told}");
        }
    }
}

#[test]
fn a_seek_into_a_picture_that_stands_continues_there() {
    let folder = Folder::new("seek-within");
    for &(name, codec, sound) in formats() {
        let track = Track { codec: sound, span_ms: (0, 12_000), ..Track::default() };
        let stamps_ms = steady(50).iter().map(|ms| ms + 5000).collect();
        let movie = Movie { codec, stamps_ms, tracks: vec![track], ..Movie::default() };
        let path = folder.movie(name, &movie);
        let positions = play(&path).0;
        let decoder = open(&path, OpenOptions { start_s: 3.0, ..looping() });
        let first = next(&decoder).unwrap();
        assert_eq!((index_in(&first.picture), first.movie_s), (0, 3.0), "{name}");
        // Before the second picture, and after the last one while the sound still plays.
        for (to_s, index) in [(2.0, 0), (4.0, 0), (10.0, 49)] {
            let frame = seek(&decoder, Seek::Exact(to_s));
            assert_eq!((index_in(&frame.picture), frame.movie_s), (index, to_s), "{name} {sound:?}");
            let segment = decoder.sound().segment_at(frame.pts_ns).unwrap();
            assert_eq!(frame.pts_ns - segment.base_ns, (to_s * 1e9) as i64, "{name}");
            if index == 0 {
                let second = next(&decoder).unwrap();
                assert_eq!((second.movie_s * 1000.0).round() as i64, positions[1], "{name}");
                assert_eq!(frame.pts_ns + frame.duration_ns, second.pts_ns, "{name}");
            }
        }
    }
}

#[test]
fn a_movie_begins_with_its_pictures() {
    let folder = Folder::new("pictures-first");
    for &(name, codec, sound) in formats() {
        for start_ms in [0, 1500] {
            let track = Track { codec: sound, span_ms: (start_ms, 1000), ..Track::default() };
            let movie = Movie { codec, stamps_ms: steady(100), tracks: vec![track], ..Movie::default() };
            let path = folder.movie(name, &movie);
            let (positions, [stated, seen]) = play(&path);
            let told = format!("{name} {sound:?} at {start_ms}: {positions:?}, {stated:?}, {seen:?}");
            assert!(positions[0] == 0 && is_near(positions[1], 40) && is_near(positions[99], 3960), "{told}");
            // FLV and NUT state the last time stamp.
            assert!(is_near(stated.unwrap(), 4000) || is_near(stated.unwrap(), 3960), "{told}");
            assert!(is_near(seen.unwrap(), 4000), "{told}");
            let (first, _) = heard(&path);
            assert!(is_near(first, start_ms), "{told}: {first}");
        }
    }
}

#[test]
fn a_recording_cut_within_a_group_of_pictures_begins_with_its_sound() {
    let folder = Folder::new("cut-ts");
    let track = Track { span_ms: (0, 8000), ..Track::default() };
    let (codec, gop) = (Id::H264, 50);
    let movie = Movie { codec, gop, stamps_ms: steady(200), tracks: vec![track], ..Movie::default() };
    let bytes = std::fs::read(folder.movie("whole.ts", &movie)).unwrap();
    // Somewhere in a packet of the first quarter.
    let path = folder.with("cut.ts", &bytes[bytes.len() / 8 + 7..]);
    let (positions, [stated, seen]) = play(&path);
    let told = format!("{positions:?}, {stated:?}, {seen:?}");
    assert!(positions[0] == 0 && positions[1] > 300, "{told}");
    let end = positions.last().unwrap() + 40;
    assert!(is_near(stated.unwrap(), end) && is_near(seen.unwrap(), end), "{told}");
    let (first, heard_end) = heard(&path);
    assert!(first.abs() <= 30 && is_near(heard_end, end), "{told}: {first} to {heard_end}");
}

#[test]
fn the_sound_that_plays_counts() {
    let folder = Folder::new("played-sound");
    let track = |language, start_ms| Track { language, span_ms: (start_ms, 2000), ..Track::default() };
    let tracks = vec![track("deu", 1000), track("fra", 0)];
    let stamps_ms = steady(50).iter().map(|ms| ms + 2000).collect();
    let path = folder.movie("a.mkv", &Movie { stamps_ms, tracks, ..Movie::default() });
    assert!(is_near(play(&path).0[1], 1040), "the first track begins a second before the pictures");
}

#[test]
fn an_mp4_with_late_pictures_lasts_until_its_last_picture() {
    let folder = Folder::new("late-pictures");
    let late: Vec<i64> = (0..10).map(|n| if n > 8 { n + 20 } else { n } * 100).collect();
    for name in ["a.mp4", "a.mov", "a.mkv", "a.nut", "a.3gp"] {
        for b_frames in [0, 2] {
            let movie = Movie { stamps_ms: late.clone(), b_frames, last_ms: Some(100), ..Movie::default() };
            let (positions, [stated, seen]) = play(&folder.movie(name, &movie));
            let told = format!("{name}, {b_frames}: {positions:?}, {stated:?}, {seen:?}");
            assert!(is_near(*positions.last().unwrap(), 2900), "{told}");
            assert!((2890..3100).contains(&stated.unwrap()), "{told}");
            assert!((2890..3100).contains(&seen.unwrap()), "{told}");
        }
    }
}

#[test]
fn pictures_that_begin_late_without_sound_begin_at_zero() {
    let folder = Folder::new("empty-edit");
    for name in ["a.mp4", "a.mov", "a.mkv", "a.ts", "a.nut", "a.flv"] {
        let codec = if name == "a.flv" { Id::FLV1 } else { Id::MPEG4 };
        let movie = Movie { codec, offset_ms: 1000, stamps_ms: steady(25), ..Movie::default() };
        let (positions, [stated, seen]) = play(&folder.movie(name, &movie));
        let told = format!("{name}: {positions:?}, {stated:?}, {seen:?}");
        assert!(positions[0] == 0 && is_near(positions[1], 40), "{told}");
        assert!(is_near(seen.unwrap(), 1000), "{told}");
        // NUT states the last time stamp only.
        assert!(is_near(stated.unwrap(), 1000) || is_near(stated.unwrap(), 960), "{told}");
    }
}

#[test]
fn the_last_picture_stands_until_the_sound_ends() {
    let folder = Folder::new("sound-longer");
    for count in [1, 20] {
        let movie = Movie { stamps_ms: steady(count), sound_ms: Some(3000), ..Movie::default() };
        let decoder = open(&folder.movie("movie.mkv", &movie), looping());
        let frames: Vec<Frame> = (0..=count).map(|_| next(&decoder).expect("it is repeated")).collect();
        let (last, again) = (&frames[count - 1], &frames[count]);
        let length_ms = (again.pts_ns - frames[0].pts_ns) / 1_000_000;
        assert_eq!((again.movie_s, last.pts_ns + last.duration_ns), (0.0, again.pts_ns), "{count}");
        assert!((2990..=3010).contains(&length_ms), "{count} pictures: {length_ms}");
    }
}

#[test]
fn a_duration_that_nobody_states_is_known_at_the_end() {
    let folder = Folder::new("no-duration");
    let movie = Movie { stamps_ms: steady(50), ..Movie::default() };
    for (name, codec, format) in
        [("a.m4v", Id::MPEG4, Pixel::YUV420P), ("a.mjpeg", Id::MJPEG, Pixel::YUVJ420P)]
    {
        let path = folder.movie(name, &Movie { codec, format, ..movie.clone() });
        let (positions, [_, seen]) = play(&path);
        assert!(is_near(seen.unwrap(), positions.last().unwrap() + 40), "{name}: {positions:?}, {seen:?}");
    }
}

#[test]
fn a_file_that_grows_is_followed() {
    let folder = Folder::new("growing");
    for name in ["a.ts", "a.mkv"] {
        let track = Track { span_ms: (0, 8000), ..Track::default() };
        let movie = Movie { stamps_ms: steady(200), tracks: vec![track], ..Movie::default() };
        let bytes = std::fs::read(folder.movie(name, &movie)).unwrap();
        let (half, rest) = bytes.split_at(bytes.len() / 2);
        let path = folder.with(&format!("growing-{name}"), half);
        let decoder = open(&path, looping());
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(rest).unwrap();
        let (mut ends, mut last_s) = (0, -1.0);
        while ends < 2 {
            let frame = next(&decoder).unwrap();
            ends += usize::from(frame.movie_s < last_s);
            last_s = frame.movie_s;
            let duration_s = decoder.duration_s().unwrap();
            assert!(duration_s + 1e-6 >= last_s, "{name}: {last_s} of {duration_s}");
        }
        let duration_s = decoder.duration_s().unwrap();
        assert!((duration_s - 8.0).abs() < 0.05, "{name}: {duration_s}");
    }
}
