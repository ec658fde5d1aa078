//! Tests of the recorder: its counters, the frames that a summary covers, and the samples that are dropped.

use super::*;
use base::device::DeviceInfo;

/// Returns the median filter time of the shown frames, and the variant's score, in milliseconds.
fn filter_and_score(recorder: &Recorder, variant: VariantId) -> (Option<f64>, Option<f64>) {
    let summary = recorder.shown.summary(Stage::Filter);
    (summary.map(|summary| summary.p50), recorder.shown.scores.of(variant).map(|score| score.ms))
}

#[test]
fn a_summary_covers_the_current_variant_and_radius_only() {
    let mut recorder = Recorder::new(false);
    assert_eq!(recorder.shown.summary(Stage::Filter), None);
    for n in 0..10 {
        recorder.push(frame(f64::from(n) * 0.04, 40.0, 100.0, named("naive")));
    }
    recorder.push(frame(0.40, 40.0, 1.0, named("flat")));
    let filter = recorder.shown.summary(Stage::Filter).unwrap();
    assert_eq!((filter.n, filter.last, filter.max), (1, FILTER, FILTER), "without the slow frames before");
    for (n, unit) in [4.0, 2.0, 3.0].into_iter().enumerate() {
        recorder.push(frame(0.44 + 0.04 * n as f64, 41.0, unit, named("flat")));
    }
    let filter = recorder.shown.summary(Stage::Filter).unwrap();
    let found = [filter.last, filter.p50, filter.p95, filter.max, filter.mean].map(|ms| ms / FILTER);
    // The first frame has no interval. All rows of a table are of the same frames.
    assert_eq!((filter.n, found), (3, [3.0, 3.0, 4.0, 4.0, 3.0]));
    assert_eq!(recorder.shown.frame_interval().unwrap().n, filter.n);
    let changes: [fn(&mut Setting); 3] =
        [|s| s.settings = 8.into(), |s| s.size = (1280, 719), |s| s.device = 1];
    for (at, change) in [0.6, 0.7, 0.8].into_iter().zip(changes) {
        recorder.push(with(frame(at, 42.0, 1.0, named("flat")), |sample| change(&mut sample.setting)));
        assert_eq!(recorder.shown.summary(Stage::Filter).unwrap().n, 1);
        assert_eq!(recorder.shown.frame_interval(), None, "the switch's interval is nobody's");
        recorder.push(with(frame(at + 0.04, 41.0, 1.0, named("flat")), |sample| change(&mut sample.setting)));
        assert_eq!(recorder.shown.frame_interval().unwrap().max, 41.0);
    }
    assert_eq!(recorder.history()[14].interval_ms, Some(42.0), "the graph shows the gap");
}

#[test]
fn a_picture_filtered_anew_is_measured_but_is_no_frame() {
    let mut recorder = Recorder::new(true);
    assert!(recorder.shown.last().is_none());
    for n in 0..5 {
        recorder.push(frame(f64::from(n) * 0.04, 40.0, 1.0, named("fused")));
    }
    // Before the new picture is presented, nothing is known of it, and the summaries do not cover the previous picture.
    let count = recorder.shown.changes;
    let again = frame(3.0, 2_800.0, 100.0, named("separable"));
    recorder.shown.begin(again.setting);
    assert!(recorder.shown.summary(Stage::Filter).is_none() && recorder.shown.last().is_none());
    assert_ne!(recorder.shown.changes, count);
    recorder.push_refiltered(again);
    assert_eq!(recorder.shown.last().unwrap().setting.variant, named("separable"));
    let filter = recorder.shown.summary(Stage::Filter).unwrap();
    assert_eq!((filter.n, filter.max), (1, 100.0 * FILTER));
    assert!(recorder.shown.frame_interval().is_none() && recorder.shown.idle().is_none(), "not measured");
    assert_eq!((recorder.presented, recorder.frames().len(), recorder.history().len()), (5, 5, 5));
    // OpenGL's times of the last frame arrive late, and do not belong to this picture.
    recorder.set_gl_times(4, [None, Some(1.0), None]);
    assert_eq!(recorder.shown.summarise(|sample| sample.gl[1]), None);
    // The movie goes on with the former filter. The frames from before are not included.
    recorder.mark_discontinuity();
    recorder.push(frame(3.1, 40.0, 2.0, named("fused")));
    assert_eq!(recorder.shown.summary(Stage::Filter).unwrap().max, 2.0 * FILTER);
    // A picture that is shown for long is filtered again, because another filter was chosen meanwhile.
    recorder.push_refiltered(frame(6.0, 0.0, 1.0, named("separable")));
    recorder.push(frame(15.1, 12_000.0, 1.0, named("separable")));
    assert_eq!(recorder.shown.frame_interval(), None);
    recorder.push(frame(19.1, 4_000.0, 1.0, named("separable")));
    assert_eq!(recorder.shown.frame_interval().unwrap().max, 4_000.0);
}

#[test]
fn kernels_that_were_changed_have_times_of_their_own_and_wrong_ones_none() {
    let mut recorder = Recorder::new(false);
    let mut at = 0.0;
    let mut push = |recorder: &mut Recorder, unit, variant| {
        at += 0.04;
        recorder.push(frame(at, 40.0, unit, variant));
    };
    let ms = |recorder: &Recorder, variant| filter_and_score(recorder, variant).1;
    push(&mut recorder, 5.0, named("fused"));
    push(&mut recorder, 4.0, named("flat"));
    recorder.shown.kernels_changed(named("flat"), 1, false);
    assert_eq!(ms(&recorder, named("flat")), None, "of other kernels");
    push(&mut recorder, 2.0, named("flat"));
    assert_eq!(ms(&recorder, named("flat")), Some(2.0 * FILTER), "nothing of before is mixed in");
    recorder.shown.kernels_changed(named("flat"), 1, true);
    push(&mut recorder, 1.0, named("flat"));
    assert_eq!(ms(&recorder, named("flat")), None, "it makes another picture");
    assert_eq!(ms(&recorder, named("fused")), Some(5.0 * FILTER));
    // Neither has a frame of its own, and beside others only what it made.
    assert_eq!(recorder.shown.summary(Stage::Filter), None);
    let wiped = |recorder: &mut Recorder, first, variant| {
        let beside = Some(SecondSetting { variant, settings: 7.into(), compared: false });
        recorder.push(with(frame(9.0, 40.0, 1.0, first), |sample| {
            sample.setting = Setting { beside, beside_version: Some(1), ..sample.setting };
            sample.beside_filter_ms = Some(3.0);
        }));
    };
    wiped(&mut recorder, named("fused"), named("flat"));
    assert!(recorder.shown.beside().is_none() && recorder.shown.summary(Stage::Filter).is_some());
    wiped(&mut recorder, named("flat"), named("fused"));
    assert!(recorder.shown.beside().is_some() && recorder.shown.summary(Stage::Filter).is_none());
    let last = recorder.frames().back().unwrap();
    assert!(last.stages.filter_ms().is_nan() && last.beside_filter_ms == Some(3.0));
    // Other kernels on either side clear the times.
    wiped(&mut recorder, named("fused"), named("separable"));
    wiped(&mut recorder, named("fused"), named("separable"));
    recorder.shown.kernels_changed(named("separable"), 1, false);
    assert!(recorder.shown.beside().is_none(), "of other kernels");
    wiped(&mut recorder, named("fused"), named("separable"));
    assert_eq!(recorder.shown.beside().map(|summary| summary.n), Some(1));
    recorder.shown.kernels_changed(named("naive"), 1, false);
    assert_eq!(recorder.shown.beside().map(|summary| summary.n), Some(1), "those are on neither side");
    recorder.shown.kernels_changed(named("flat"), 1, false);
    push(&mut recorder, 3.0, named("flat"));
    assert_eq!(ms(&recorder, named("flat")), Some(3.0 * FILTER));
    // A frame that is being filtered when another version comes into use has no score, whether that version makes the same
    // picture or not.
    recorder.shown.kernels_changed(named("flat"), 2, false);
    push(&mut recorder, 1.0, named("flat"));
    assert_eq!(ms(&recorder, named("flat")), None);
    recorder.shown.kernels_changed(named("flat"), 2, true);
    recorder.shown.kernels_changed(named("flat"), 3, false);
    for (version, known) in [(2, false), (3, true)] {
        recorder.push(with(frame(9.5, 40.0, 1.0, named("flat")), |sample| sample.setting.version = version));
        assert_eq!(recorder.shown.summary(Stage::Filter).is_some(), known);
        assert_eq!(ms(&recorder, named("flat")).is_some(), known);
    }
}

#[test]
fn scores_are_medians_that_survive_a_switch() {
    let mut recorder = Recorder::new(false);
    let mut at = 0.0;
    let mut push = |recorder: &mut Recorder, unit, variant, radius: u32| {
        at += 0.04;
        recorder.push(with(frame(at, 40.0, unit, variant), |sample| sample.setting.settings = radius.into()));
    };
    let at_7 =
        |r: &Recorder, variant| r.shown.scores.of(variant).map(|s| (s.ms, s.n, s.is_at(7, (1280, 720))));
    push(&mut recorder, 1.0, VariantId::OFF, 7);
    assert_eq!(at_7(&recorder, VariantId::OFF), None);
    for (n, unit) in [900.0, 100.0, 101.0, 102.0, 103.0].into_iter().enumerate() {
        push(&mut recorder, unit, named("naive"), 7);
        // The first frame, without an interval, counts until there are two others.
        assert_eq!(at_7(&recorder, named("naive")).unwrap().1, [1, 2, 2, 3, 4][n]);
    }
    assert_eq!(at_7(&recorder, named("naive")), Some((101.0 * FILTER, 4, true)));
    assert_eq!(at_7(&recorder, named("fused")), None);
    push(&mut recorder, 1.0, named("fused"), 7);
    assert_eq!(at_7(&recorder, named("fused")), Some((FILTER, 1, true)));
    // The former variant is chosen again: one frame with cold caches gives it no new score.
    push(&mut recorder, 900.0, named("naive"), 7);
    assert_eq!(at_7(&recorder, named("naive")), Some((101.0 * FILTER, 4, true)));
    for unit in [50.0, 51.0, 52.0] {
        push(&mut recorder, unit, named("naive"), 7);
    }
    assert_eq!(at_7(&recorder, named("naive")), Some((51.0 * FILTER, 3, true)));
    // At another radius, the score is of the former radius until there are new measurements.
    push(&mut recorder, 2.0, named("fused"), 8);
    assert_eq!(at_7(&recorder, named("naive")), Some((51.0 * FILTER, 3, true)));
    assert!(recorder.shown.scores.of(named("fused")).unwrap().is_at(8, (1280, 720)));
    assert!(!recorder.shown.scores.of(named("naive")).unwrap().is_at(8, (1280, 720)));
    assert!(!recorder.shown.scores.of(named("naive")).unwrap().is_at(7, (1280, 719)));
    // An unknown time gives no score.
    push(&mut recorder, f64::NAN, named("flat"), 7);
    assert_eq!(recorder.shown.scores.of(named("flat")), None);
    recorder.shown.device_changed(1, None);
    recorder.push(with(frame(9.0, 40.0, 1.0, named("native")), |sample| sample.setting.device = 1));
    assert_eq!(recorder.shown.scores.of(named("naive")), None, "of another device");
    assert!(recorder.shown.scores.of(named("native")).is_some());
}

#[test]
fn another_device_has_no_numbers_before_it_has_measured() {
    let mut recorder = Recorder::new(true);
    let of = |at: f64, unit, device| {
        with(frame(at, 40.0, unit, named("flat")), |sample| sample.setting.device = device)
    };
    let told = |recorder: &Recorder| filter_and_score(recorder, named("flat"));
    for n in 0..5 {
        recorder.push(of(0.04 * f64::from(n), 5.0, 0));
    }
    assert_eq!(told(&recorder), (Some(5.0 * FILTER), Some(5.0 * FILTER)));
    let count = recorder.shown.changes;
    // In a pause no other sample follows.
    recorder.shown.device_changed(1, None);
    assert_eq!(told(&recorder), (None, None));
    assert!(recorder.shown.last().is_none() && recorder.shown.frame_interval().is_none());
    assert_ne!(recorder.shown.changes, count, "the overlay takes that up");
    // A frame that the previous device has filtered is presented, and is not counted for the new device.
    recorder.push(of(0.2, 5.0, 0));
    assert_eq!(told(&recorder), (None, None));
    assert_eq!((recorder.presented, recorder.frames().len()), (6, 6));
    recorder.push_refiltered(of(0.24, 2.0, 1));
    assert_eq!(told(&recorder), (Some(2.0 * FILTER), Some(2.0 * FILTER)));
    // A device that comes back has the times that it had.
    let mut recorder = Recorder::new(true);
    let device = |index| DeviceInfo { index, ..DeviceInfo::made_up() };
    let ms = |recorder: &Recorder| told(recorder).1;
    recorder.shown.device_changed(1, Some(device(0)));
    (0..5).for_each(|n| recorder.push(of(0.04 * f64::from(n), 5.0, 1)));
    recorder.shown.device_changed(2, Some(device(1)));
    assert_eq!(ms(&recorder), None, "nothing was measured on it");
    (5..9).for_each(|n| recorder.push(of(0.04 * f64::from(n), 2.0, 2)));
    assert_eq!(ms(&recorder), Some(2.0 * FILTER));
    // After a failure there may be no device between the two.
    recorder.shown.device_changed(3, None);
    assert_eq!(ms(&recorder), None);
    recorder.shown.device_changed(4, Some(device(0)));
    assert_eq!(ms(&recorder), Some(5.0 * FILTER));
    assert_eq!(recorder.shown.device(2).map(|device| device.index), Some(1));
    // Other kernels make the times of the other device obsolete, too.
    recorder.shown.kernels_changed(named("flat"), 2, false);
    recorder.shown.device_changed(5, Some(device(1)));
    assert_eq!(ms(&recorder), None);
}

#[test]
fn a_state_says_what_happened() {
    let mut recorder = Recorder::new(false);
    let playing = Playing::default();
    let mut at = 0.0;
    let mut state = |late, dropped_before| {
        at += 0.04;
        recorder.push(FrameSample { late, dropped_before, ..frame(at, 40.0, 1.0, named("flat")) });
        PlayState::of(playing, &recorder).to_string()
    };
    assert_eq!(state(false, 0), "Playing in time");
    assert_eq!(state(true, 0), "1 frame late");
    assert_eq!(state(true, 0), "2 frames late");
    assert_eq!(state(true, 3), "Too slow, 3 frames dropped");
    for _ in 0..24 {
        assert_ne!(state(false, 0), "Playing in time");
    }
    assert_eq!(state(false, 0), "Playing in time");
    let waiting = Playing { waiting: true, ..playing };
    let ended = Playing { ended: true, ..playing };
    let states = [
        (playing, "Playing in time"),
        (waiting, "Waiting for the filter"),
        // The movie does not play, whatever the last frames were.
        (Playing { opening: true, paused: true, ..waiting }, "Opening the movie"),
        (Playing { paused: true, ..waiting }, "Paused"),
        (ended, "Ended"),
        (Playing { stopped: true, ..ended }, "Stopped: the file could not be read"),
        (Playing { seeking: true, stalled: true, ..playing }, "Seeking"),
        (Playing { stalled: true, ..playing }, "Waiting for the next frame"),
        (Playing { still: true, ..ended }, "Still picture"),
        (Playing { paused: true, ..ended }, "Paused"),
    ];
    for (n, (playing, said)) in states.into_iter().enumerate() {
        let state = PlayState::of(playing, &recorder);
        assert_eq!((state.to_string().as_str(), state.plays()), (said, n < 2));
    }
}

#[test]
fn a_summary_forgets_after_its_window_and_the_history_after_its_own() {
    let mut recorder = Recorder::new(false);
    recorder.push(frame(0.0, 40.0, 9.0, named("flat")));
    recorder.push(frame(summary::SUMMARY_S + 0.5, 40.0, 1.0, named("flat")));
    assert_eq!(recorder.shown.summary(Stage::Take).unwrap().n, 1);
    assert_eq!(recorder.history().len(), 2);
    recorder.push(frame(recorder::HISTORY_S + 0.25, 40.0, 1.0, named("flat")));
    assert_eq!(recorder.history().len(), 2);
    for n in 0..2 * summary::HISTORY_FRAMES {
        recorder.push(frame(20.0 + n as f64 * 1e-6, 0.001, 1.0, named("flat")));
    }
    assert_eq!(recorder.history().len(), summary::HISTORY_FRAMES);
    assert_eq!(recorder.first_frame(), (3 + summary::HISTORY_FRAMES) as u64);
}

#[test]
fn idle_is_what_the_stages_leave_and_a_discontinuity_costs_one_interval() {
    let mut recorder = Recorder::new(false);
    recorder.push(frame(0.0, 145.0, 1.0, named("flat"))); // stages: 1 + 2 + … + 16 = 136 ms
    assert_eq!(recorder.shown.idle().unwrap().last, 9.0);
    recorder.push(frame(0.1, 30.0, 1.0, named("flat")));
    assert_eq!(recorder.shown.idle().unwrap().last, 0.0, "overlapping stages leave nothing, not less");
    // A filter whose time is not shown, because its picture differs, takes that time all the same.
    recorder.shown.kernels_changed(named("flat"), 1, true);
    (0..2).for_each(|n| recorder.push(frame(0.2 + f64::from(n), 145.0, 1.0, named("flat"))));
    assert_eq!(recorder.shown.summary(Stage::Filter), None);
    assert_eq!(recorder.shown.left_out().map(|filter| (filter.n, filter.last)), Some((1, FILTER)));
    assert_eq!(recorder.shown.idle().unwrap().last, 9.0);
    let mut recorder = Recorder::new(true);
    for (at, interval_ms, repaint_ms) in [(0.0, 40.0, 16.0), (9.0, 9000.0, 9000.0), (9.04, 41.0, 17.0)] {
        recorder.push(frame(at, interval_ms, 1.0, named("flat")));
        recorder.overlay_repaint(repaint_ms);
        if at == 0.0 {
            recorder.mark_discontinuity();
        }
    }
    let intervals: Vec<_> = recorder.frames().iter().map(|s| s.interval_ms).collect();
    assert_eq!(intervals, [Some(40.0), None, Some(41.0)]);
    let repaint = recorder.repaint_interval().unwrap();
    assert_eq!((repaint.n, repaint.max), (2, 17.0));
}

#[test]
fn a_very_long_run_forgets_its_beginning_and_says_so() {
    let mut recorder = Recorder::new(true);
    recorder.keep_limit = 5;
    for n in 0..8 {
        recorder.push(frame(f64::from(n), 40.0, 1.0, named("flat")));
    }
    assert_eq!((recorder.frames().len(), recorder.forgotten, recorder.presented), (5, 3, 8));
    assert_eq!(recorder.first_frame(), 3);
    let (_, json) = super::files::both(&recorder);
    assert_eq!(json["rows_forgotten"], 3);
    assert_eq!(json["frames"][0]["frame"], 3);
}

#[test]
fn times_of_opengl_come_later_and_go_to_their_frame() {
    for keep_all in [false, true] {
        let mut recorder = Recorder::new(keep_all);
        recorder.keep_limit = 3;
        for n in 0..5 {
            recorder.push(frame(f64::from(n) * 0.04, 40.0, 1.0, named("flat")));
        }
        // The oldest frame is only in the history, and one frame has not been presented yet.
        for (n, ms) in [(0, 0.5), (3, 3.0), (4, 4.0), (5, 5.0)] {
            recorder.set_gl_times(n, [None, Some(ms), Some(2.0 * ms)]);
        }
        let present: Vec<_> = recorder.history().iter().map(|s| s.gl[1]).collect();
        assert_eq!(present, [Some(0.5), None, None, Some(3.0), Some(4.0)]);
        let of_frames: Vec<_> = recorder.frames().iter().map(|s| s.gl[2]).collect();
        assert_eq!(of_frames[of_frames.len() - 3..], [None, Some(6.0), Some(8.0)]);
        let summary = recorder.shown.summarise(|sample| sample.gl[1]).unwrap();
        assert_eq!((summary.n, summary.last, summary.max), (3, 4.0, 4.0));
        assert_eq!(recorder.shown.summarise(|sample| sample.gl[0]), None);
    }
}
