//! Seeks, steps and repeated sections, also in movies that are hard to seek in.

use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie;
use testkit::movie::{Folder, Movie, index_in, steady};
use video::{Decoder, FieldOrder, OpenOptions, References, Seek, read_frame_at};

use crate::{MS, indices, looping, once, open, seek, take, try_open, wait_for};

fn index_at(decoder: &Decoder, to: Seek) -> usize {
    index_in(&seek(decoder, to).picture)
}

#[test]
fn exact_seeks_show_the_frame_of_that_time() {
    let folder = Folder::new("seek-exact");
    for name in ["s.mp4", "s.mkv", "s.nut", "s.ts"] {
        for (b_frames, offset_ms) in [(0, 0), (2, 0), (2, 36_000_000)] {
            if name == "s.mp4" && offset_ms != 0 {
                continue;
            }
            let movie = Movie { b_frames, offset_ms, gop: 12, stamps_ms: steady(45), ..Movie::default() };
            let decoder = open(&folder.movie(name, &movie), once());
            for index in [7, 0, 44, 12, 11, 13, 30, 29, 1, 43, 24, 23] {
                for within_ms in [0.0, 19.0, 39.0] {
                    let at_s = index as f64 * 0.04 + within_ms / 1e3 + 1e-6;
                    let frame = seek(&decoder, Seek::Exact(at_s));
                    let what = format!("{name} at {at_s}, {b_frames} B, from {offset_ms}");
                    assert_eq!(index_in(&frame.picture), index, "{what}");
                    assert!((frame.movie_s - index as f64 * 0.04).abs() < 0.001, "{what}: {frame:?}");
                }
                // A frame's own time leads to it.
                let frame = seek(&decoder, Seek::Exact(index as f64 * 0.04 + 1e-6));
                assert_eq!(index_at(&decoder, Seek::Exact(frame.movie_s)), index, "{name} {index}");
            }
            assert_eq!(decoder.warning(), None, "{name}");
        }
    }
}

/// Seeks in a stream joined from pieces with time stamps of their own, to the positions at which its frames are played.
#[test]
fn seeks_work_where_time_stamps_jump() {
    let folder = Folder::new("seek-jumps");
    for b_frames in [0, 2] {
        let piece = |first, offset_ms| {
            let stamps_ms = (0..25).map(|i| i * 100).collect();
            let movie = Movie { first, offset_ms, b_frames, gop: 5, stamps_ms, ..Movie::default() };
            std::fs::read(folder.movie("piece.ts", &movie)).expect("read")
        };
        for (first_ms, second_ms) in [(0, 0), (0, 1_000_000), (1_000_000, 0), (500, 20_000), (20_000, 18_000)]
        {
            let path = folder.with("jumps.ts", [piece(0, first_ms), piece(25, second_ms)].concat());
            let decoder = open(&path, once());
            let played = take(&decoder, usize::MAX);
            assert!(played.len() >= 48, "{} frames", played.len());
            let end_s = played.last().expect("frames").movie_s;
            assert!((4.7..5.1).contains(&end_s), "the pieces follow on each other: {end_s}");
            let decoder = open(&path, once());
            for expected in played.iter().rev() {
                let what = format!("at {}, {b_frames} B, {first_ms} and {second_ms}", expected.movie_s);
                let (frame, _) =
                    read_frame_at(&path, expected.movie_s + 1e-3, 0, References::Refused).expect("a frame");
                let index = index_in(&expected.picture);
                assert_eq!((frame.pts_ns, index_in(&frame.picture)), (expected.pts_ns, index), "{what}");
                let sought = seek(&decoder, Seek::Exact(expected.movie_s + 1e-3));
                assert_eq!((sought.movie_s, index_in(&sought.picture)), (expected.movie_s, index), "{what}");
            }
        }
    }
}

/// Checks seeks in a Matroska file, whose frames have an average duration, and in an MP4, whose frames have their own.
#[test]
fn seeks_work_with_variable_frame_rates() {
    let folder = Folder::new("seek-vfr");
    let stamps_ms = vec![0, 50, 80, 120, 4000, 4010, 4700, 9000, 9040];
    for name in ["vfr.mkv", "vfr.mp4"] {
        for (gop, b_frames) in [(20, 0), (3, 0), (20, 2)] {
            // What a muxer states that knows the average only.
            let rate = (1, 1);
            let movie = Movie { stamps_ms: stamps_ms.clone(), gop, b_frames, rate, ..Movie::default() };
            let path = folder.movie(name, &movie);
            for (index, &at_ms) in stamps_ms.iter().enumerate() {
                // How long the last one lasts, containers see differently.
                let next_ms = stamps_ms.get(index + 1).copied().unwrap_or(at_ms + 1);
                for at_ms in [at_ms, (at_ms + next_ms) / 2, next_ms - 1] {
                    // MP4's stamps are not whole milliseconds.
                    let at_s = at_ms as f64 / 1e3 + 0.0005;
                    let (frame, warning) =
                        read_frame_at(&path, at_s, 0, References::Refused).expect("a frame");
                    let what = format!("{name} at {at_s}, gop {gop}, {b_frames} B");
                    assert_eq!((index_in(&frame.picture), warning), (index, None), "{what}");
                    let decoder = open(&path, OpenOptions { start_s: at_s, ..once() });
                    assert_eq!(indices(&take(&decoder, 1)), [index], "{what}, as a start");
                }
            }
        }
    }
}

#[test]
fn after_a_seek_every_frame_follows_on_one_timeline() {
    let folder = Folder::new("seek-follow");
    let movie = Movie { b_frames: 2, gop: 12, stamps_ms: steady(40), ..Movie::default() };
    let decoder = open(&folder.movie("s.mkv", &movie), looping());
    let mut last = take(&decoder, 3).pop().expect("three frames");
    for from in [30, 5, 17] {
        let first = seek(&decoder, Seek::Exact(from as f64 * 0.04 + 0.001));
        assert!(first.pts_ns > last.pts_ns, "{first:?} after {last:?}");
        let mut frames = vec![first];
        frames.extend(take(&decoder, 45));
        let expected: Vec<_> = (from..40).chain((0..40).cycle()).take(46).collect();
        assert_eq!(indices(&frames), expected, "from {from}");
        assert!(frames[1..].iter().all(|frame| !frame.seeked));
        for pair in frames.windows(2) {
            assert!((pair[1].pts_ns - pair[0].pts_ns - 40 * MS).abs() <= MS, "{pair:?}");
            assert_eq!(pair[1].number, pair[0].number + 1);
        }
        last = frames.pop().expect("frames");
    }
}

#[test]
fn steps_back_show_every_frame() {
    let folder = Folder::new("seek-back");
    let vfr = vec![0, 10, 20, 200, 233, 900, 901, 2000, 2500, 2501, 9000, 30_000, 30_040];
    for (name, b_frames, stamps_ms) in
        [("b.mp4", 2, steady(30)), ("b.mkv", 2, steady(30)), ("b.ts", 2, steady(30)), ("vfr.mkv", 0, vfr)]
    {
        let count = stamps_ms.len();
        let movie = Movie { b_frames, gop: 7, stamps_ms, ..Movie::default() };
        let decoder = open(&folder.movie(name, &movie), once());
        let mut frame = seek(&decoder, Seek::Exact(1e6));
        assert_eq!(index_in(&frame.picture), count - 1, "{name}: behind the end is the last frame");
        for index in (0..count - 1).rev() {
            frame = seek(&decoder, Seek::Before(frame.movie_s));
            assert_eq!(index_in(&frame.picture), index, "{name}");
        }
        frame = seek(&decoder, Seek::Before(frame.movie_s));
        assert_eq!(index_in(&frame.picture), 0, "{name}: there is none before the first");
        // The step forward is the next one in the queue.
        assert_eq!(indices(&take(&decoder, 1)), [1], "{name}");
    }
}

#[test]
fn key_frame_seeks_land_on_key_frames() {
    let folder = Folder::new("seek-key");
    let movie = Movie { gop: 10, stamps_ms: steady(45), ..Movie::default() };
    for name in ["k.mp4", "k.mkv"] {
        let decoder = open(&folder.movie(name, &movie), once());
        for (at, key) in [(0, 0), (9, 0), (10, 10), (25, 20), (44, 40)] {
            assert_eq!(index_at(&decoder, Seek::Keyframe(at as f64 * 0.04 + 0.001)), key, "{name} at {at}");
        }
    }
}

#[test]
fn a_newer_seek_replaces_older_ones() {
    let folder = Folder::new("seek-newer");
    let movie = Movie { gop: 1000, stamps_ms: steady(1000), ..Movie::default() };
    let decoder = open(&folder.movie("long.mkv", &movie), looping());
    let before = decoder.generation();
    for i in 0..50 {
        decoder.seek(Seek::Exact(39.0 - f64::from(i) * 0.1));
    }
    assert!(decoder.queue().is_seeking());
    let frame = seek(&decoder, Seek::Exact(1.001));
    assert_eq!((index_in(&frame.picture), frame.generation), (25, before + 51));
    assert_eq!(decoder.queue().take_due(frame.pts_ns, 0).1, 0, "a seek drops nothing");
    assert_eq!(indices(&take(&decoder, 2)), [26, 27]);
}

#[test]
fn a_seek_restarts_an_ended_movie() {
    let folder = Folder::new("seek-over");
    for preload in [None, Some(20)] {
        let path = folder.movie("s.mkv", &Movie::default());
        let decoder = open(&path, OpenOptions { preload, ..once() });
        take(&decoder, 20);
        wait_for(|| decoder.queue().is_finished().then_some(()));
        assert_eq!(index_at(&decoder, Seek::Exact(0.601)), 15);
        assert!(!decoder.queue().is_finished());
        assert_eq!(indices(&take(&decoder, 4)), [16, 17, 18, 19]);
        wait_for(|| decoder.queue().is_finished().then_some(()));
        // The last frame alone is no still picture.
        assert_eq!(index_at(&decoder, Seek::Exact(99.0)), 19);
        wait_for(|| decoder.queue().is_finished().then_some(()));
        decoder.set_looping(true);
        let frames: Vec<_> = (0..21).map(|_| wait_for(|| decoder.queue().take_next())).collect();
        assert_eq!(indices(&frames)[18..], [18, 19, 0]);
        decoder.set_looping(false);
        wait_for(|| {
            decoder.queue().take_next().is_none().then(|| decoder.queue().is_finished()).filter(|&f| f)
        });
    }
}

#[test]
fn preloaded_movies_can_seek() {
    let folder = Folder::new("seek-preload");
    let path = folder.movie("s.mkv", &Movie::default());
    let decoder = open(&path, OpenOptions { preload: Some(10), ..looping() });
    assert_eq!(index_at(&decoder, Seek::Exact(0.25)), 6);
    assert_eq!(index_at(&decoder, Seek::Before(0.24)), 5);
    assert_eq!(index_at(&decoder, Seek::Exact(50.0)), 9);
    assert_eq!(indices(&take(&decoder, 2)), [0, 1]);
}

#[test]
fn a_section_is_repeated_exactly_and_changed_live() {
    let folder = Folder::new("seek-ab");
    for preload in [None, Some(40)] {
        let movie = Movie { b_frames: 2, gop: 12, stamps_ms: steady(40), ..Movie::default() };
        let path = folder.movie("s.mkv", &movie);
        let decoder = open(&path, OpenOptions { preload, ..once() });
        // Frames beyond the part wait in the queue by now or soon, and must not be shown.
        wait_for(|| (decoder.queue().frame_count() >= 8).then_some(()));
        decoder.set_repeat_section(Some((0.2, 0.08)));
        let frames = take(&decoder, 11);
        assert_eq!(indices(&frames), [0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4]);
        for pair in frames.windows(2) {
            assert!((pair[1].pts_ns - pair[0].pts_ns - 40 * MS).abs() <= MS, "{pair:?}");
        }
        decoder.set_repeat_section(Some((1.2, 9.0)));
        assert_eq!(index_at(&decoder, Seek::Exact(1.481)), 37);
        assert_eq!(indices(&take(&decoder, 14)), [38, 39, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 30, 31]);
        decoder.set_repeat_section(None);
        let frames = take(&decoder, usize::MAX);
        assert_eq!(indices(&frames).last(), Some(&39));
    }
}

#[test]
fn bottom_up_movies_can_seek() {
    let folder = Folder::new("seek-bottom-up");
    let movie = Movie { codec: Id::RAWVIDEO, format: Pixel::BGR24, size: (10, 6), ..Movie::default() };
    let decoder = open(&folder.movie("raw.avi", &movie), once());
    let mut converter = video::color::RgbaConverter::new();
    for index in [13, 4, 19] {
        let frame = seek(&decoder, Seek::Exact(index as f64 * 0.04 + 0.001));
        let mut rgba = vec![0; 10 * 6 * 4];
        converter.convert(&frame.picture, &mut rgba).expect("converted");
        let luma = movie::luma_of(index);
        assert!(rgba.chunks_exact(4).all(|pixel| pixel == [luma, luma, luma, 255]), "{index}: {rgba:?}");
    }
}

#[test]
fn a_movie_without_an_index_is_decoded_from_its_start() {
    let folder = Folder::new("seek-raw");
    let movie = Movie { codec: Id::MJPEG, format: Pixel::YUVJ420P, ..Movie::default() };
    let decoder = open(&folder.movie("s.mjpeg", &movie), once());
    for index in [12, 3, 19, 0] {
        let frame = seek(&decoder, Seek::Exact(index as f64 * 0.04 + 0.001));
        assert_eq!(index_in(&frame.picture), index);
    }
    assert_eq!(index_at(&decoder, Seek::Before(0.48)), 11);
}

#[test]
fn negative_first_stamps_count_from_zero() {
    let folder = Folder::new("seek-negative");
    let movie = Movie { offset_ms: -5000, stamps_ms: steady(40), ..Movie::default() };
    let path = folder.movie("negative.nut", &movie);
    let decoder = open(&path, once());
    let frames = take(&decoder, usize::MAX);
    assert_eq!(indices(&frames), (0..40).collect::<Vec<_>>());
    assert_eq!((frames[0].pts_ns, frames[0].movie_s), (0, 0.0));
    for index in [0, 4, 21, 39] {
        assert_eq!(index_at(&decoder, Seek::Exact(index as f64 * 0.04 + 0.001)), index);
    }
}

#[test]
fn fast_slow_and_variable_rates_keep_their_stamps() {
    let folder = Folder::new("seek-rates");
    for (name, stamps_ms) in [
        ("fast.mkv", (0..120).map(|i| i * 1000 / 120).collect::<Vec<i64>>()),
        ("slow.mkv", (0..10).map(|i| i * 1000).collect()),
        ("vfr.mkv", vec![0, 10, 20, 200, 233, 900, 901, 2000, 2500, 2501]),
    ] {
        let movie = Movie { stamps_ms: stamps_ms.clone(), ..Movie::default() };
        let decoder = open(&folder.movie(name, &movie), once());
        let frames = take(&decoder, usize::MAX);
        let rounded = |ns: i64| (ns + MS / 2) / MS;
        assert!(frames.iter().map(|frame| rounded(frame.pts_ns)).eq(stamps_ms.iter().copied()), "{name}");
        for (frame, pair) in frames.iter().zip(stamps_ms.windows(2)) {
            assert_eq!(rounded(frame.duration_ns), pair[1] - pair[0], "{name} {}", pair[0]);
        }
        for (index, &stamp) in stamps_ms.iter().enumerate().step_by(3).filter(|(index, _)| *index < 50) {
            assert_eq!(index_at(&decoder, Seek::Exact(stamp as f64 / 1e3)), index, "{name} {stamp}");
        }
    }
}

#[test]
fn size_and_format_may_change_in_mid_stream() {
    let folder = Folder::new("seek-change");
    let part = |name: &str, size, format| {
        let movie = Movie { codec: Id::MJPEG, format, size, ..Movie::default() };
        std::fs::read(folder.movie(name, &movie)).expect("read")
    };
    let small = part("small.mjpeg", (64, 48), Pixel::YUVJ420P);
    let large = part("large.mjpeg", (33, 97), Pixel::YUVJ444P);
    let path = folder.with("both.mjpeg", [small, large].concat());
    let decoder = open(&path, once());
    let frames = take(&decoder, usize::MAX);
    assert_eq!(frames.len(), 40);
    let sizes: Vec<_> = frames.iter().map(|frame| (frame.width(), frame.height())).collect();
    assert_eq!(sizes, [[(64, 48); 20], [(33, 97); 20]].concat());
    assert_eq!((frames[0].picture.format(), frames[39].picture.format()), (Pixel::YUVJ420P, Pixel::YUVJ444P));
    assert!(frames.windows(2).all(|pair| pair[0].pts_ns < pair[1].pts_ns));
}

#[test]
fn a_file_that_grows_is_longer_in_the_next_pass() {
    let folder = Folder::new("seek-grow");
    let whole = std::fs::read(folder.movie("whole.ts", &Movie { stamps_ms: steady(40), ..Movie::default() }));
    let whole = whole.expect("read");
    // Packets of MPEG-TS have 188 bytes.
    let half = whole.len() / 2 / 188 * 188;
    let path = folder.with("grows.ts", &whole[..half]);
    let decoder = open(&path, once());
    let first = take(&decoder, usize::MAX);
    assert!((10..35).contains(&first.len()), "{}", first.len());
    std::fs::write(&path, &whole).expect("grown");
    decoder.set_looping(true);
    let second: Vec<_> = (0..40).map(|_| wait_for(|| decoder.queue().take_next())).collect();
    assert_eq!(indices(&second), (0..40).collect::<Vec<_>>());
    assert!(second[0].pts_ns > first[first.len() - 1].pts_ns);
}

#[test]
fn pictures_marked_as_interlaced_stay_marked() {
    let folder = Folder::new("seek-interlaced");
    for (name, interlaced, top_first, fields) in [
        ("top.mkv", true, true, FieldOrder::TopFirst),
        ("bottom.mkv", true, false, FieldOrder::BottomFirst),
        ("progressive.mkv", false, true, FieldOrder::Progressive),
    ] {
        let path = folder.movie(name, &Movie { interlaced, top_first, ..Movie::default() });
        let decoder = open(&path, once());
        assert_eq!(decoder.info().fields, fields, "{name}");
        let frames = take(&decoder, usize::MAX);
        assert_eq!(frames.len(), 20);
        assert!(frames.iter().all(|frame| frame.fields() == fields), "{name}");
    }
}

/// WebM stores alpha as separate pictures, which most decoders ignore.
#[test]
fn separate_alpha_is_decoded() {
    let folder = Folder::new("seek-alpha");
    let movie = Movie { codec: Id::VP9, format: Pixel::YUVA420P, stamps_ms: steady(4), ..Movie::default() };
    let path = folder.movie("alpha.webm", &movie);
    let decoder = open(&path, once());
    assert_eq!((decoder.info().codec.as_str(), decoder.info().pixel_format.as_str()), ("vp9", "yuva420p"));
    let frames = take(&decoder, usize::MAX);
    assert_eq!(indices(&frames), [0, 1, 2, 3]);
    for frame in &frames {
        let alpha = frame.picture.data(3)[frame.picture.stride(3) * 20 + 30];
        assert!(alpha.abs_diff(128) <= 2, "frame {}: {alpha}", frame.number);
    }
    assert!(decoder.warning().is_none(), "{:?}", decoder.warning());
    let plain = folder.movie("plain.webm", &Movie { format: Pixel::YUV420P, ..movie });
    assert_eq!(open(&plain, once()).info().pixel_format, "yuv420p");
}

#[test]
fn cover_art_alone_is_no_movie() {
    let folder = Folder::new("seek-cover");
    let still = Movie { codec: Id::MJPEG, format: Pixel::YUVJ420P, stamps_ms: vec![0], ..Movie::default() };
    let cover = std::fs::read(folder.movie("cover.mjpeg", &still)).expect("read");
    // A FLAC file: the stream's description (44100 Hz, two channels, 16 bits), then a picture of type 3, the cover.
    let mut flac = b"fLaC\x00\x00\x00\x22\x10\x00\x10\x00".to_vec();
    flac.extend([0, 0, 0, 0, 0, 0, 0x0a, 0xc4, 0x42, 0xf0, 0, 0, 0, 0]);
    flac.extend([0; 16]);
    let mut picture = vec![0, 0, 0, 3, 0, 0, 0, 10];
    picture.extend(b"image/jpeg\x00\x00\x00\x00");
    picture.extend([0, 0, 0, 64, 0, 0, 0, 48, 0, 0, 0, 24, 0, 0, 0, 0]);
    picture.extend((cover.len() as u32).to_be_bytes());
    picture.extend(&cover);
    flac.push(0x86);
    flac.extend(&(picture.len() as u32).to_be_bytes()[1..]);
    flac.extend(&picture);
    let path = folder.with("song.flac", &flac);
    let mut input = ffmpeg_next::format::input(&path).expect("FFmpeg opens it");
    assert_eq!(input.streams().count(), 2, "sound and cover");
    assert_eq!(input.packets().count(), 1, "the cover alone can be read");
    let error = try_open(&path, once()).err().expect("a cover does not play");
    assert!(error.why.contains("sound"), "{error}");
}
