//! Tests of the queue between the decoder's thread and the window's.

use super::*;
use crate::color::Staging;
use crate::color::planes::layout_of;
use ffmpeg_next as ffmpeg;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn frame(pts_ns: i64) -> Frame {
    Frame::still(ffmpeg::frame::Video::new(ffmpeg::format::Pixel::GRAY8, 16, 16), pts_ns, 10)
}

#[test]
fn packed_planes_can_be_released() {
    let grey = || ffmpeg::frame::Video::new(ffmpeg::format::Pixel::GRAY8, 16, 4);
    let packed = |staging: &Staging, pts_ns| {
        let next = Frame { picture: grey(), ..frame(pts_ns) };
        let layout = layout_of(&next.picture).unwrap();
        let packed = staging.pack(&next.picture, &layout, || Ok(Box::new(vec![0; 64]))).unwrap();
        *next.packed.lock() = Some(Arc::new(packed));
        next
    };
    let staging = Staging::default();
    let queue = FrameQueue::new(Box::new(|| ()));
    for pts_ns in [0, 10] {
        assert!(queue.push(packed(&staging, pts_ns)));
    }
    queue.release_packed();
    assert_eq!(queue.frame_count(), 2);
    assert!(queue.take_next().unwrap().packed.lock().is_none());
    // Both blocks are free again.
    let again: Vec<_> = (0..3).map(|_| staging.try_pack(&grey())).collect();
    assert_eq!(again.iter().flatten().count(), 2);
    drop(again);

    // Planes that were packed before a device was closed, and are queued afterwards, return their block at once.
    let (kept, late) = (packed(&staging, 20), packed(&staging, 30));
    assert!(queue.push(kept));
    staging.close();
    assert!(queue.push(late));
    let frames: Vec<_> = std::iter::from_fn(|| queue.take_next()).collect();
    let are_packed: Vec<_> = frames.iter().map(|frame| frame.packed.lock().is_some()).collect();
    assert_eq!(are_packed, [false, true, false]);
    drop(frames);
    assert!(staging.is_unused());
}

fn filled(stamps: &[i64]) -> FrameQueue {
    let queue = FrameQueue::new(Box::new(|| ()));
    for &pts in stamps {
        assert!(queue.push(frame(pts)));
    }
    queue
}

fn due(queue: &FrameQueue, now: i64, lead: i64) -> (Option<i64>, u32) {
    let (frame, dropped) = queue.take_due(now, lead);
    (frame.map(|f| f.pts_ns), dropped)
}

#[test]
fn takes_the_newest_due_frame_or_any_and_ends_after_all_frames() {
    let queue = filled(&[0, 10, 20, 30, 40]);
    assert_eq!(due(&queue, -5, 0), (None, 0));
    assert_eq!(due(&queue, -5, 4), (None, 0));
    assert_eq!(due(&queue, -5, 5), (Some(0), 0));
    assert_eq!(due(&queue, 30, 0), (Some(30), 2));
    assert_eq!(queue.next_pts_ns(), Some(40));
    assert_eq!(due(&queue, 1_000, 0), (Some(40), 0));
    assert_eq!(due(&queue, 1_000, 0), (None, 0));
    // The lead never drops a frame.
    let queue = filled(&[0, 10, 20]);
    assert_eq!((due(&queue, 5, 100), due(&queue, 5, 100)), ((Some(0), 0), (Some(10), 0)));
    let queue = filled(&[100, 200]);
    assert_eq!(queue.take_next().map(|f| f.pts_ns), Some(100));
    queue.set_finished(0, true);
    assert!(!queue.is_finished());
    assert_eq!(queue.take_next().map(|f| f.pts_ns), Some(200));
    assert!(queue.take_next().is_none() && queue.is_finished());
    queue.set_finished(0, false);
    assert!(!queue.is_finished());
}

#[test]
fn a_full_queue_waits_for_room_and_for_close() {
    let queue = Arc::new(filled(&[0, 1, 2, 3, 4, 5, 6, 7]));
    let pusher = {
        let queue = queue.clone();
        std::thread::spawn(move || (queue.push(frame(8)), queue.push(frame(9))))
    };
    assert_eq!(queue.take_next().map(|f| f.pts_ns), Some(0));
    while queue.frame_count() < MAX_FRAMES {
        std::thread::yield_now();
    }
    queue.close();
    assert_eq!(pusher.join().unwrap(), (true, false));
}

#[test]
fn frames_are_late_only_with_a_clock_and_overdue_ones_are_dropped_and_counted() {
    let queue = filled(&[0, 10, 20, 30, 40, 50, 60, 70]);
    assert_eq!(queue.lateness_ns(-100), 0);
    queue.set_clock(35);
    assert_eq!((queue.lateness_ns(10), queue.lateness_ns(900)), (25, 0));
    assert!(queue.push(frame(80)), "0, 10 and 20 make way for it");
    assert_eq!(queue.next_pts_ns(), Some(30));
    assert_eq!(queue.frame_count(), 6);
    assert_eq!(due(&queue, 45, 0), (Some(40), 4));
    assert_eq!(due(&queue, 45, 0), (None, 0));
}

#[test]
fn a_seek_empties_the_queue_and_rejects_older_frames() {
    let queue = filled(&[0, 10, 20]);
    queue.set_clock(15);
    queue.set_finished(0, true);
    queue.start_generation(1);
    assert!(queue.is_seeking() && queue.frame_count() == 0 && !queue.is_finished());
    assert!(!queue.push(frame(30)), "it was decoded before the seek");
    queue.set_finished(0, true);
    assert!(!queue.is_finished());
    // The clock runs on while the seek takes its time: nothing is late, and the first frame is due at once.
    queue.set_clock(1_000_000);
    assert_eq!(queue.lateness_ns(30), 0);
    for pts in [30, 40] {
        assert!(queue.push(Frame { generation: 1, ..frame(pts) }));
    }
    assert_eq!(due(&queue, 1_000_000, 0), (Some(30), 0));
    assert!(!queue.is_seeking());
    assert_eq!(due(&queue, 30, 0), (None, 0));
    queue.start_generation(2);
    assert!(queue.push(Frame { generation: 2, ..frame(50) }));
    assert_eq!(queue.take_next().map(|f| f.pts_ns), Some(50));
}

#[test]
fn a_limit_removes_later_frames() {
    let queue = filled(&[0, 10, 20, 30]);
    queue.set_limit(Some(20));
    assert_eq!((queue.frame_count(), queue.end_ns()), (2, 20));
    assert!(!queue.push(frame(20)) && queue.push(frame(19)));
    queue.set_limit(None);
    assert!(queue.push(frame(40)));
}

#[test]
fn the_queue_holds_few_huge_frames() {
    let mut state = State::default();
    for count in 0..MIN_FRAMES {
        assert!(!state.is_full(), "full at {count} frames");
        state.frames.push_back(frame(count as i64));
        state.bytes += MAX_BYTES;
    }
    assert!(state.is_full());
}

#[test]
fn wakes_for_the_first_frame_and_the_end() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let queue = FrameQueue::new(Box::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    queue.push(frame(0));
    queue.push(frame(1));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    queue.take_next();
    queue.take_next();
    queue.push(frame(2));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    queue.set_finished(0, true);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}
