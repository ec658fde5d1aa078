//! The pictures of the frames before a frame, which filters of several frames read.

use testkit::movie::{Folder, Movie, index_in, steady};
use video::{Canvas, Decoder, Frame, OpenOptions, References, Seek, read_frame_at};

use crate::{looping, once, open, seek, take, wait_for};

/// The number of earlier pictures that the tests ask for.
const COUNT: usize = 3;

/// Checks that a frame has the pictures of the frames before it, down to that with the index `first`; returns its own index.
fn check(frame: &Frame, first: usize, what: &str) -> usize {
    let index = index_in(&frame.picture);
    let earlier: Vec<usize> = frame.earlier.pictures.iter().map(|picture| index_in(picture)).collect();
    let wanted: Vec<usize> = (first..index).rev().take(COUNT).collect();
    assert_eq!(earlier, wanted, "before frame {index}, {what}");
    assert!(frame.earlier.reaches(COUNT), "frame {index}, {what}");
    index
}

/// Opens a movie, and returns its first frame with the decoder.
fn open_with_earlier(path: &std::path::Path, options: OpenOptions) -> (Decoder, Frame) {
    let decoder = open(path, options);
    decoder.set_earlier(COUNT);
    let first = seek(&decoder, Seek::Exact(0.0));
    (decoder, first)
}

#[test]
fn frames_have_the_pictures_before_them_after_seeks_and_at_the_beginning() {
    let folder = Folder::new("earlier-seek");
    for name in ["s.mp4", "s.mkv", "s.ts"] {
        for b_frames in [0, 2] {
            let movie = Movie { b_frames, gop: 12, stamps_ms: steady(45), ..Movie::default() };
            let path = folder.movie(name, &movie);
            let what = format!("{name}, {b_frames} B");
            let (decoder, first) = open_with_earlier(&path, once());
            assert_eq!(check(&first, 0, &what), 0);
            let played = take(&decoder, usize::MAX);
            assert!(played.iter().map(|frame| check(frame, 0, &what)).eq(1..45), "{what}");
            for index in [7, 0, 44, 12, 13, 11, 14, 36, 2, 1, 25, 24, 23] {
                let at_s = index as f64 * 0.04 + 1e-3;
                assert_eq!(check(&seek(&decoder, Seek::Exact(at_s)), 0, &what), index);
                take(&decoder, 2).iter().for_each(|frame| assert!(check(frame, 0, &what) > index));
                let (frame, _) = read_frame_at(&path, at_s, COUNT, References::Refused).expect("a frame");
                assert_eq!(check(&frame, 0, &what), index);
                // Steps back are cached.
                let mut at = seek(&decoder, Seek::Exact(at_s));
                for before in (0..index).rev().take(6) {
                    at = seek(&decoder, Seek::Before(at.movie_s));
                    assert_eq!(check(&at, 0, &what), before, "a step back, {what}");
                }
                check(&seek(&decoder, Seek::Keyframe(at_s)), 0, &what);
            }
        }
    }
}

#[test]
fn pictures_that_are_far_apart_are_found() {
    let folder = Folder::new("earlier-vfr");
    let stamps_ms = vec![0, 50, 80, 120, 4000, 4010, 4700, 9000, 9040, 9080];
    for (gop, b_frames) in [(1, 0), (3, 0), (20, 2)] {
        let movie = Movie { stamps_ms: stamps_ms.clone(), gop, b_frames, ..Movie::default() };
        let path = folder.movie("vfr.mkv", &movie);
        for (index, at_ms) in stamps_ms.iter().enumerate() {
            let at_s = *at_ms as f64 / 1e3 + 0.0005;
            let (frame, _) = read_frame_at(&path, at_s, COUNT, References::Refused).expect("a frame");
            assert_eq!(check(&frame, 0, &format!("gop {gop}, {b_frames} B")), index);
        }
    }
}

#[test]
fn loops_begin_anew_and_repeated_sections_have_the_pictures_before_them() {
    let folder = Folder::new("earlier-loop");
    let movie = Movie { b_frames: 2, gop: 12, stamps_ms: steady(30), ..Movie::default() };
    let path = folder.movie("s.mkv", &movie);
    let (decoder, first) = open_with_earlier(&path, looping());
    check(&first, 0, "at first");
    let indices: Vec<usize> = take(&decoder, 75).iter().map(|frame| check(frame, 0, "in a loop")).collect();
    assert!(indices.iter().copied().eq((1..76).map(|at| at % 30)), "{indices:?}");
    decoder.set_repeat_section(Some((13.0 * 0.04, 17.0 * 0.04 - 0.001)));
    let mut last = check(&seek(&decoder, Seek::Exact(0.521)), 0, "in a section");
    for frame in take(&decoder, 12) {
        let index = check(&frame, 0, "in a section");
        assert_eq!(index, if last == 16 { 13 } else { last + 1 });
        last = index;
    }
    // Pictures in memory are the whole movie.
    let (decoder, first) = open_with_earlier(&path, OpenOptions { preload: Some(5), ..looping() });
    check(&first, 0, "preloaded");
    let indices: Vec<usize> = take(&decoder, 9).iter().map(|frame| check(frame, 0, "preloaded")).collect();
    assert_eq!(indices, [1, 2, 3, 4, 0, 1, 2, 3, 4]);
}

#[test]
fn a_filter_that_is_chosen_late_gets_all_pictures_by_a_seek() {
    let folder = Folder::new("earlier-late");
    let movie = Movie { gop: 12, stamps_ms: steady(40), ..Movie::default() };
    let decoder = open(&folder.movie("s.mkv", &movie), once());
    let frame = take(&decoder, 20).pop().expect("20 frames");
    assert!(frame.earlier.pictures.is_empty() && !frame.earlier.reaches(1));
    decoder.set_earlier(COUNT);
    assert_eq!(check(&seek(&decoder, Seek::Exact(frame.movie_s)), 0, "chosen late"), 19);
    decoder.set_earlier(0);
    let frame = seek(&decoder, Seek::Exact(frame.movie_s));
    assert!(frame.earlier.pictures.is_empty());
}

#[test]
fn painted_pictures_have_those_before_them() {
    let paint = |number: u64, canvas: &mut Canvas| {
        canvas.planes[0].fill(testkit::movie::luma_of(number as usize));
    };
    let decoder = Decoder::from_painter(Canvas::new(16, 16), 25, Box::new(|| ()), paint).expect("a thread");
    decoder.set_earlier(COUNT);
    for number in [0, 20, 7, 2] {
        let frame = seek(&decoder, Seek::Exact(f64::from(number) * 0.04));
        assert_eq!(check(&frame, 0, "painted"), number as usize);
        let next = wait_for(|| decoder.queue().take_next());
        assert_eq!(check(&next, 0, "painted"), number as usize + 1);
    }
}
