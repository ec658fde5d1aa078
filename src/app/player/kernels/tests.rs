//! Versions as they are saved and told, without a window.

use super::kept::SETTLED;
use super::*;
use base::timing::Noise;

const FLAT: Subject = Subject::Variant(VariantId::Flat);

/// Kernels of which this file is not as it is built in.
fn other(file: &str) -> Sources {
    serde_json::from_value(serde_json::json!({ file: { "Ok": "mine" } })).unwrap()
}

/// Saves kernels; the variants of them that are to be judged.
fn save(live: &mut LiveKernels, sources: Sources) -> Vec<VariantId> {
    live.keep(sources, true);
    live.current = live.number;
    live.changed(VariantId::Fused, DeviceKind::Cpu, &[], false)
}

/// A folder that was there before the window, and a version of one kernel that is being judged.
fn edited() -> LiveKernels {
    let mut live = LiveKernels::default();
    assert!(save(&mut live, Sources::default()).is_empty());
    assert_eq!(save(&mut live, other("box_filter/03_flat.cl")), [VariantId::Flat]);
    live.asks(&[VariantId::Flat], false);
    live
}

#[test]
fn what_was_undone_while_it_was_judged_does_not_run() {
    let mut live = edited();
    // As it was in the version that runs: but the one that is judged would take its place.
    assert_eq!(save(&mut live, Sources::default()), [VariantId::Flat]);
    live.asks(&[VariantId::Flat], false);
    live.note(Opinion::Of(2, FLAT, Verdict::Exact));
    assert_eq!(live.running.get(&FLAT), Some(&2));
    live.note(Opinion::Of(3, FLAT, Verdict::Exact));
    assert!(live.running.get(&FLAT) == Some(&3) && live.asked.is_empty());
    // Once it is told, all is as ever.
    assert_eq!(save(&mut live, other("box_filter/01_naive.cl")), [VariantId::Naive]);
}

#[test]
fn what_was_not_told_is_asked_again() {
    // By the next version, though that changes another kernel.
    let mut live = edited();
    let error = Error::new("It does not build.", "", "");
    live.note(Opinion::Of(2, FLAT, Verdict::Refused(error)));
    assert!(!live.changes_conversion("convert/01_planes.cl", false));
    live.asks(&[VariantId::Flat], true);
    assert!(live.changes_conversion("convert/01_planes.cl", false));
    assert!(save(&mut live, Sources::default()).contains(&VariantId::Flat));
    // By another device.
    let mut live = edited();
    live.waits = None;
    live.is_on(1, 0);
    assert_eq!(live.waits, Some(false));
    let mut live = edited();
    live.note(Opinion::Of(2, FLAT, Verdict::Exact));
    live.waits = None;
    live.is_on(1, 0);
    assert_eq!(live.waits, None, "all is known");
    // By another thread for the same device, which forgets no times.
    let mut live = edited();
    live.waits = None;
    let pictures = Pictures { size: (4, 4), radius: 2, wide: false };
    live.code_of = Some((2, VariantId::Flat, pictures, 0));
    live.is_on(0, 1);
    assert_eq!((live.waits, live.code_of), (Some(false), None));
    live.waits = None;
    live.is_on(0, 1);
    assert_eq!(live.waits, None, "it was asked");
}

#[test]
fn a_named_folder_that_comes_late_is_told_once() {
    let named = || LiveKernels { is_named: true, ..LiveKernels::default() };
    let mut live = named();
    live.keep(Sources::default(), false);
    live.current = live.number;
    let all = live.changed(VariantId::Flat, DeviceKind::Cpu, &[], false);
    assert!(all.first() == Some(&VariantId::Flat) && all.contains(&VariantId::Planar), "{all:?}");
    assert!(live.changes_conversion("convert/01_planes.cl", false));
    assert!(live.came_late() && !live.came_late());
    live.keep(other("box_filter/03_flat.cl"), false);
    assert!(!live.came_late(), "a later version");
    let mut live = named();
    live.keep(Sources::default(), true);
    assert!(!live.came_late(), "it was there");
}

#[test]
fn what_could_not_be_built_at_first_is_said_of_the_first_version() {
    let error = || Error::new("It does not build.", "", "");
    let refused = |first: Sources| {
        let mut live = LiveKernels::default();
        // Told before the folder was read, or after it.
        live.note(Opinion::CannotRun(FLAT, error()));
        live.keep(first, true);
        live.note(Opinion::CannotRun(Subject::Variant(VariantId::Naive), error()));
        live.refresh(VariantId::Flat, 2, None, None);
        (live.shown.versions[0].judged.iter().map(|judged| judged.subject).collect::<Vec<_>>(), live)
    };
    let (subjects, mut live) = refused(other("box_filter/03_flat.cl"));
    assert_eq!((&*subjects, live.shown.running), (&[FLAT][..], None), "'naive' is as it is built in");
    live.note(Opinion::Ran(VariantId::Flat, None));
    live.refresh(VariantId::Flat, 2, None, None);
    assert_eq!(live.shown.running, Some(1), "another device can");
    assert!(refused(Sources::default()).0.is_empty(), "it is the device that cannot");
}

#[test]
fn only_settled_medians_of_the_same_circumstances_are_compared() {
    let mut live = edited();
    let beside = Some(Beside { variant: VariantId::Naive, radius: 2, compared: false });
    let of = |beside| Circumstances { variant: VariantId::Flat, radius: 2, size: (64, 48), beside };
    let change = |live: &mut LiveKernels, beside| {
        live.refresh(VariantId::Flat, 2, Some((64, 48)), beside);
        let judged = live.shown.versions[0].judged[0].clone();
        assert!(judged.is_after);
        (judged.ms, judged.change_ms)
    };
    live.time(of(None), Median { ms: 8.0, n: SETTLED, noise: None });
    // The first frames beside another filter.
    live.time(of(beside), Median { ms: 12.0, n: SETTLED - 1, noise: None });
    live.note(Opinion::Of(2, FLAT, Verdict::Exact));
    assert_eq!(change(&mut live, None), (None, None), "nothing was measured yet");
    live.time(of(beside), Median { ms: 9.0, n: SETTLED, noise: None });
    assert_eq!(change(&mut live, beside), (Some(9.0), None), "what was before had not settled");
    live.time(of(None), Median { ms: 7.5, n: SETTLED - 1, noise: None });
    assert_eq!(change(&mut live, None), (Some(7.5), None), "this has not");
    live.time(of(None), Median { ms: 8.25, n: SETTLED, noise: None });
    // Neither is better than the noisier of both.
    let noise = Noise::between((1.0, 1.0, 1.0), 3, None);
    live.time(of(None), Median { ms: 8.25, n: SETTLED, noise });
    assert_eq!(change(&mut live, None), (Some(8.25), Some(0.25)));
    assert_eq!(live.shown.versions[0].judged[0].noise, noise);
    // Few frames after a seek.
    live.time(of(None), Median { ms: 30.0, n: ENOUGH, noise: None });
    assert_eq!(change(&mut live, None), (Some(8.25), Some(0.25)));
}

/// A number stays beside its version: in a wipe, too, and behind a version that has none because it makes another picture.
#[test]
fn what_was_measured_of_a_version_stays() {
    let mut live = edited();
    let of = Circumstances { variant: VariantId::Flat, radius: 2, size: (64, 48), beside: None };
    let time = |live: &mut LiveKernels, ms| live.time(of, Median { ms, n: SETTLED, noise: None });
    time(&mut live, 8.0);
    live.note(Opinion::Of(2, FLAT, Verdict::Exact));
    time(&mut live, 8.25);
    save(&mut live, other("box_filter/01_naive.cl"));
    let differs = || Verdict::Differs(base::verify::MismatchReport::default());
    live.note(Opinion::Of(3, FLAT, differs()));
    live.note(Opinion::Of(2, FLAT, Verdict::Exact));
    time(&mut live, 8.5);
    let beside = Some(Beside { variant: VariantId::Naive, radius: 2, compared: false });
    for (beside, radius, known) in [(None, 2, true), (beside, 2, true), (beside, 3, false)] {
        live.refresh(VariantId::Flat, radius, Some((64, 48)), beside);
        let judged = |at: usize| live.shown.versions[at].judged[0].clone();
        let (second, third) = (judged(1), judged(0));
        assert_eq!((second.ms, third.ms), (Some(8.5).filter(|_| known), None));
        assert_eq!(live.shown.versions[2].ms, Some(8.0).filter(|_| known), "as it began");
    }
    // The one before it makes another picture, and the one before that is itself.
    save(&mut live, other("box_filter/02_separable.cl"));
    live.note(Opinion::Of(3, FLAT, differs()));
    live.note(Opinion::Of(4, FLAT, Verdict::Exact));
    time(&mut live, 9.0);
    live.refresh(VariantId::Flat, 2, Some((64, 48)), None);
    assert_eq!(live.shown.versions[0].judged[0].change_ms, Some(0.5));
}

#[test]
fn what_a_save_has_changed_is_shown_also_where_it_is_included() {
    let mut live = edited();
    let shown = |live: &mut LiveKernels, chosen| {
        live.source(chosen, DeviceKind::Cpu);
        live.shown.source.clone().unwrap().name
    };
    assert_eq!(shown(&mut live, VariantId::Flat), "box_filter/03_flat.cl");
    save(&mut live, Sources::default());
    save(&mut live, other("common/mean.clh"));
    assert_eq!(shown(&mut live, VariantId::Naive), "common/mean.clh");
    assert!(live.shown.source.as_ref().is_some_and(|source| !source.changed.is_empty()), "it is marked");
    // Nothing of it has changed.
    save(&mut live, other("common/mean.clh"));
    assert_eq!(shown(&mut live, VariantId::Naive), "box_filter/01_naive.cl");
    // Its own, and what it includes.
    save(&mut live, serde_json::from_value(serde_json::json!({
        "common/mean.clh": { "Ok": "yours" }, "box_filter/01_naive.cl": { "Ok": "#include \"../common/mean.clh\"" },
    })).unwrap());
    assert_eq!(shown(&mut live, VariantId::Naive), "box_filter/01_naive.cl");
}

fn sources(texts: serde_json::Value) -> Sources {
    serde_json::from_value(texts).unwrap()
}

/// What was said of a version that must not run holds until other texts are there that run, or were found to do.
#[test]
fn a_refusal_is_over_where_its_texts_are() {
    let error = |what: &str| Error::new(what, "", "");
    let refuse = |live: &mut LiveKernels, what| {
        live.note(Opinion::Of(live.current, FLAT, Verdict::Refused(error(what))));
    };
    // Saves kernels and has them judged; what is over then.
    let next = |live: &mut LiveKernels, texts: Sources| {
        let variants = save(live, texts);
        live.asks(&variants, false);
        live.end_refusals(DeviceKind::Cpu, &[]);
        live.refusals.take_over()
    };
    let flat = || other("box_filter/03_flat.cl");
    let mut live = edited();
    refuse(&mut live, "no");
    assert_eq!(live.refusals.take_over(), []);
    // Another kernel is saved: this one is as it was.
    let both = sources(serde_json::json!({
        "box_filter/03_flat.cl": { "Ok": "mine" }, "box_filter/01_naive.cl": { "Ok": "mine" },
    }));
    assert_eq!(next(&mut live, both), []);
    refuse(&mut live, "no");
    assert_eq!(live.refusals.take_over(), [], "the same is said again");
    // Exactly what runs, which is not tried again.
    assert_eq!(next(&mut live, Sources::default()), [error("no")]);
    // Another reason, a version of before that is chosen, and one that runs.
    let mut live = edited();
    refuse(&mut live, "no");
    assert_eq!(
        next(&mut live, sources(serde_json::json!({ "box_filter/03_flat.cl": { "Ok": "yours" } }))),
        []
    );
    refuse(&mut live, "neither");
    assert_eq!(live.refusals.take_over(), [error("no")]);
    live.current = 1;
    live.end_refusals(DeviceKind::Cpu, &[]);
    assert_eq!(live.refusals.take_over(), [error("neither")]);
    let mut live = edited();
    refuse(&mut live, "no");
    next(&mut live, sources(serde_json::json!({ "box_filter/03_flat.cl": { "Ok": "yours" } })));
    live.note(Opinion::Of(3, FLAT, Verdict::Exact));
    assert_eq!(live.refusals.take_over(), [error("no")]);
    // What runs at one radius, and not at another.
    live.note(Opinion::CannotRun(FLAT, error("too slow")));
    assert_eq!(next(&mut live, flat()), [], "it is being tried");
    live.note(Opinion::Of(4, FLAT, Verdict::Exact));
    assert_eq!(live.refusals.take_over(), [error("too slow")]);
    // Of one that was overtaken nothing is said.
    save(&mut live, Sources::default());
    assert!(live.note(Opinion::Of(4, FLAT, Verdict::Refused(error("late")))).is_none());
}

/// What could not be built at first does not run: its texts are tried again when they come back, and only then.
#[test]
fn texts_that_were_refused_at_first_are_refused_again() {
    let error = || Error::new("It does not build.", "", "");
    let (first, second) = (
        other("box_filter/03_flat.cl"),
        sources(serde_json::json!({ "box_filter/03_flat.cl": { "Ok": "yours" } })),
    );
    let mut live = LiveKernels::default();
    save(&mut live, first.clone());
    live.note(Opinion::CannotRun(FLAT, error()));
    for (number, texts) in [(2, second), (3, first)] {
        assert_eq!(save(&mut live, texts), [VariantId::Flat]);
        live.note(Opinion::Of(number, FLAT, Verdict::Refused(error())));
    }
    let both = sources(serde_json::json!({
        "box_filter/03_flat.cl": { "Ok": "mine" }, "box_filter/01_naive.cl": { "Ok": "mine" },
    }));
    assert_eq!(save(&mut live, both), [VariantId::Naive]);
}
