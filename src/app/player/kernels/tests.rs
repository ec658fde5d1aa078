//! Tests of versions and results of validation, without a window.

use super::shown::updated_source;
use super::*;
use base::timing::{Noise, Ratio};
use box_filter::named;
use engine::TrialCase;
use overlay::{Speed, SpeedState};

pub(super) fn flat_subject() -> Subject {
    Subject::Variant(named("flat"))
}

/// Returns the builder's message with this result of validating kernels of a version.
pub(super) fn verdict_on(version: u64, subject: Subject, validation: Validation) -> News {
    News::Validated(Validated { version, subject, validation, warnings: String::new(), second_side: None })
}

/// Returns kernels in which these files have these texts.
pub(super) fn sources<const N: usize>(texts: [(&str, &str); N]) -> Sources {
    let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
    Sources::from_texts(texts.into()).unwrap()
}

/// Returns kernels in which the file of the variant `flat` has this text.
pub(super) fn flat(text: &str) -> Sources {
    sources([("box_filter/03_flat.cl", text)])
}

/// Returns kernels in which the files of `flat` and `naive` have these texts.
pub(super) fn flat_and_naive(flat: &str, naive: &str) -> Sources {
    sources([("box_filter/03_flat.cl", flat), ("box_filter/01_naive.cl", naive)])
}

pub(super) fn differs() -> Validation {
    Validation::Differs(base::verify::MismatchReport::default())
}

/// Returns kernels in which this file has a text that differs from the built-in one.
fn other(file: &str) -> Sources {
    sources([(file, "mine")])
}

/// Saves `sources` as a new version; returns the variants that must be validated in it.
pub(super) fn save(live: &mut Versions, sources: Sources) -> Vec<VariantId> {
    live.keep(sources, true);
    live.current = live.newest();
    live.changed(DeviceKind::Cpu, &[], None)
}

/// Requests validation of these variants in the current version.
pub(super) fn request(live: &mut Versions, variants: &[VariantId]) {
    let subjects: Vec<_> = variants.iter().copied().map(Subject::Variant).collect();
    live.note_requested(&subjects, DeviceKind::Cpu, &[]);
}

/// Returns the state for a folder that existed before the window was opened. In its newest version, one kernel was edited and
/// is being validated.
fn edited() -> Versions {
    let mut live = Versions::default();
    assert!(save(&mut live, Sources::default()).is_empty());
    assert_eq!(save(&mut live, flat("mine")), [named("flat")]);
    request(&mut live, &[named("flat")]);
    live
}

#[test]
fn what_was_undone_while_it_was_validated_does_not_run() {
    let mut live = edited();
    // The text equals that of the version that runs, but the version that is being validated would replace that.
    assert_eq!(save(&mut live, Sources::default()), [named("flat")]);
    request(&mut live, &[named("flat")]);
    live.process(verdict_on(2, flat_subject(), Validation::Exact));
    assert_eq!(live.running.get(&flat_subject()), Some(&2));
    live.process(verdict_on(3, flat_subject(), Validation::Exact));
    assert!(live.running.get(&flat_subject()) == Some(&3) && !live.is_asked(flat_subject()));
    // Once the validation has ended, nothing is pending.
    assert_eq!(save(&mut live, other("box_filter/01_naive.cl")), [named("naive")]);
}

#[test]
fn what_was_not_told_is_asked_again() {
    // The next version requests the validation, although it changes another kernel.
    let mut live = edited();
    let error = Error::new("It does not build.", "", "");
    live.process(verdict_on(2, flat_subject(), Validation::Refused(error)));
    assert!(!live.changes_conversion("convert/01_planes.cl", false));
    live.note_requested(&[flat_subject(), Subject::Conversion], DeviceKind::Cpu, &[]);
    assert!(live.changes_conversion("convert/01_planes.cl", false));
    assert!(save(&mut live, Sources::default()).contains(&named("flat")));
    // The validation is requested again for another device.
    let waits = |live: &mut Versions, devices, restarts| {
        live.waits = None;
        live.note_device(devices, restarts);
        live.waits
    };
    assert_eq!(waits(&mut edited(), 1, 0), Some(false));
    let mut live = edited();
    live.process(verdict_on(2, flat_subject(), Validation::Exact));
    assert_eq!(waits(&mut live, 1, 0), None, "all is known");
    // The validation is requested again after a restart of the builder for the same device, whose times are kept.
    let mut live = edited();
    let pictures = PictureInfo { size: (4, 4), radius: 2, wide: false };
    live.code_of = Some((2, named("flat"), pictures, 0));
    assert_eq!((waits(&mut live, 0, 1), live.code_of), (Some(false), None));
    assert_eq!(waits(&mut live, 0, 1), None, "it was asked");
}

#[test]
fn a_named_folder_that_comes_late_is_told_once() {
    let with_folder = || Versions { is_named: true, ..Versions::default() };
    let mut live = with_folder();
    live.keep(Sources::default(), false);
    live.current = live.newest();
    let all = live.changed(DeviceKind::Cpu, &[], None);
    assert!(all.contains(&named("flat")) && all.contains(&named("planar")), "{all:?}");
    assert!(live.changes_conversion("convert/01_planes.cl", false));
    assert!(std::mem::take(&mut live.is_late));
    live.keep(flat("mine"), false);
    assert!(!live.is_late, "a later version");
    let mut live = with_folder();
    live.keep(Sources::default(), true);
    assert!(!live.is_late, "it was there");
}

#[test]
fn what_could_not_be_built_at_first_is_said_of_the_first_version() {
    let error = || Error::new("It does not build.", "", "");
    let refused = |first: Sources| {
        let mut live = Versions::default();
        // The error is reported before the folder is read, or after it.
        live.process(News::Variant(named("flat"), Err(error())));
        live.keep(first, true);
        live.process(News::Variant(named("naive"), Err(error())));
        live.refresh(named("flat"), None);
        (live.shown.versions[0].results.iter().map(|validated| validated.subject).collect::<Vec<_>>(), live)
    };
    let (subjects, mut live) = refused(flat("mine"));
    assert_eq!(subjects, [flat_subject()], "'naive' is as it is built in");
    assert_eq!(live.shown.running, None);
    let case =
        TrialCase { variant: named("flat"), version: None, size: (4, 4), settings: 2.into(), layout: None };
    live.process(News::Tried(case, Ok(None)));
    live.refresh(named("flat"), None);
    assert_eq!(live.shown.running, Some(1), "another device can");
    assert!(refused(Sources::default()).0.is_empty(), "it is the device that cannot");
}

#[test]
fn a_median_of_few_frames_replaces_no_settled_one() {
    let mut live = edited();
    let beside = Some(SecondSetting { variant: named("naive"), settings: 2.into(), compared: false });
    let of = |beside| frames(named("flat"), 2, beside);
    let ms = |live: &mut Versions, beside| {
        live.refresh(named("flat"), Some(frames(named("flat"), 2, beside)));
        live.shown.versions[0].results[0].time.map(|time| (time.ms, time.noise))
    };
    live.process(verdict_on(2, flat_subject(), Validation::Exact));
    assert_eq!(ms(&mut live, None), None, "nothing was measured yet");
    live.time(of(beside), FilterTime { ms: 9.0, n: MIN_MEDIAN_FRAMES, noise: None });
    assert_eq!(ms(&mut live, beside), Some((9.0, None)));
    let noise = Noise::from_percentiles((1.0, 1.0), (1.0, 1.0), 3, None);
    live.time(of(None), FilterTime { ms: 8.25, n: MIN_MEDIAN_FRAMES, noise });
    assert_eq!(ms(&mut live, None), Some((8.25, noise)));
    // A time of few frames, as after a seek, does not replace a time of many frames.
    live.time(of(None), FilterTime { ms: 30.0, n: MIN_TIMED_FRAMES, noise: None });
    assert_eq!(ms(&mut live, None), Some((8.25, noise)));
}

/// The size and the radius of the frames in tests of comparisons.
pub(super) const SIZE: (u32, u32) = (64, 48);
pub(super) const RADIUS: u32 = 2;

/// Returns the conditions under which frames of [`SIZE`] were filtered.
pub(super) fn frames(variant: VariantId, radius: u32, beside: Option<SecondSetting>) -> Circumstances {
    Circumstances { variant, settings: radius.into(), size: SIZE, beside }
}

/// Reports that all kernels validated in the current version are exact.
fn pass(live: &mut Versions) {
    live.waits = None;
    live.process(verdict_on(live.current, flat_subject(), Validation::Exact));
}

/// Returns the comparison of a version's speed with the version before it, as the panel shows it.
fn speed(live: &mut Versions, number: u64, radius: u32) -> Option<Speed> {
    live.refresh(named("flat"), Some(frames(named("flat"), radius, None)));
    let version = live.shown.versions.iter().find(|version| version.number == number).unwrap();
    version.results[0].speed.clone()
}

/// Returns the numbers of the two versions that are to be compared next; `None` if none are to be compared.
fn wanted(live: &mut Versions, radius: u32) -> Option<[u64; 2]> {
    let pair = live.wanted_pair(&frames(named("flat"), radius, None));
    live.comparison.want(pair);
    pair.map(|pair| pair.versions)
}

/// Stores a result for the comparison that is wanted now, with a ratio of times between `low` and `high`; returns its verdict.
fn store(live: &mut Versions, [low, high]: [f64; 2]) -> base::timing::Verdict {
    let pair = live.wanted_pair(&frames(named("flat"), RADIUS, None)).unwrap();
    let ratio = Ratio { low, estimate: (low * high).sqrt(), high };
    let verdict = ratio.verdict();
    let state = SpeedState::Compared { verdict, rounds: 200, rows: None };
    live.comparison.store(pair, state);
    verdict
}

#[test]
fn a_version_has_no_verdict_on_its_speed_before_it_is_compared() {
    let mut live = edited();
    assert_eq!(wanted(&mut live, RADIUS), None, "it is not validated yet");
    pass(&mut live);
    // Median times of the movie's frames give no verdict.
    let of = frames(named("flat"), RADIUS, None);
    live.time(of, FilterTime { ms: 4.0, n: 1000, noise: None });
    assert_eq!(wanted(&mut live, RADIUS), Some([1, 2]));
    assert_eq!(
        speed(&mut live, 2, RADIUS),
        Some(Speed { before: 1, state: SpeedState::Comparing { pairs: None, waits: None } })
    );
    let verdict = store(&mut live, [1.27, 1.36]);
    let state = SpeedState::Compared { verdict, rounds: 200, rows: None };
    assert_eq!(speed(&mut live, 2, RADIUS), Some(Speed { before: 1, state }));
    assert!(live.comparison.want(live.wanted_pair(&frames(named("flat"), RADIUS, None))).is_none(), "known");
    // The verdict applies to this radius and device only.
    assert_eq!(speed(&mut live, 2, RADIUS + 1).unwrap().state, SpeedState::Unknown);
    assert_eq!(wanted(&mut live, RADIUS + 1), Some([1, 2]));
    live.note_device(1, 0);
    assert_eq!(speed(&mut live, 2, RADIUS).unwrap().state, SpeedState::Unknown);
}

#[test]
fn a_newer_save_is_compared_first_and_the_version_before_it_then() {
    let mut live = edited();
    pass(&mut live);
    assert_eq!(wanted(&mut live, RADIUS), Some([1, 2]));
    // A newer version is saved, and then validated.
    live.keep(flat("yours"), false);
    live.use_version(3, false);
    assert_eq!(wanted(&mut live, RADIUS), None);
    live.waits = None;
    request(&mut live, &[named("flat")]);
    assert_eq!(wanted(&mut live, RADIUS), None);
    pass(&mut live);
    assert_eq!(wanted(&mut live, RADIUS), Some([2, 3]));
    let slower = store(&mut live, [0.8, 0.9]);
    assert!(matches!(slower, base::timing::Verdict::Slower(_)));
    // The comparison that the newer save has ended.
    assert_eq!(wanted(&mut live, RADIUS), Some([1, 2]));
    store(&mut live, [1.1, 1.2]);
    assert_eq!(wanted(&mut live, RADIUS), None);
    // A version that is chosen again, or whose text is saved again, keeps its verdict.
    for number in [2, 1, 2] {
        let before = speed(&mut live, 2, RADIUS);
        live.use_version(number, false);
        request(&mut live, &[named("flat")]);
        pass(&mut live);
        assert_eq!(wanted(&mut live, RADIUS), None);
        assert_eq!(speed(&mut live, 2, RADIUS), before);
    }
    // A version whose output differs has no verdict on its speed, and no version is compared with it.
    live.keep(flat("wrong"), false);
    live.use_version(4, false);
    live.waits = None;
    live.process(verdict_on(4, flat_subject(), differs()));
    assert_eq!((wanted(&mut live, RADIUS), speed(&mut live, 4, RADIUS)), (None, None));
    live.keep(flat("right"), false);
    live.use_version(5, false);
    pass(&mut live);
    assert_eq!(wanted(&mut live, RADIUS), Some([2, 5]));
}

/// Checks that the measured time of a version remains, also in a wipe and after a version whose output differs and which has no
/// time.
#[test]
fn what_was_measured_of_a_version_stays() {
    let mut live = edited();
    let of = frames(named("flat"), 2, None);
    let time = |live: &mut Versions, ms| live.time(of, FilterTime { ms, n: MIN_MEDIAN_FRAMES, noise: None });
    time(&mut live, 8.0);
    live.process(verdict_on(2, flat_subject(), Validation::Exact));
    time(&mut live, 8.25);
    save(&mut live, other("box_filter/01_naive.cl"));
    live.process(verdict_on(3, flat_subject(), differs()));
    live.process(verdict_on(2, flat_subject(), Validation::Exact));
    time(&mut live, 8.5);
    let beside = Some(SecondSetting { variant: named("naive"), settings: 2.into(), compared: false });
    for (beside, radius, known) in [(None, 2, true), (beside, 2, true), (beside, 3, false)] {
        live.refresh(named("flat"), Some(frames(named("flat"), radius, beside)));
        let validated = |at: usize| live.shown.versions[at].results[0].clone();
        let (second, third) = (validated(1), validated(0));
        let ms = |time: Option<FilterTime>| time.map(|time| time.ms);
        assert_eq!((ms(second.time), ms(third.time)), (Some(8.5).filter(|_| known), None));
        assert_eq!(ms(live.shown.versions[2].time), Some(8.0).filter(|_| known), "as it began");
    }
    // The previous version computes another picture.
    save(&mut live, other("box_filter/02_separable.cl"));
    live.process(verdict_on(3, flat_subject(), differs()));
    live.process(verdict_on(4, flat_subject(), Validation::Exact));
    time(&mut live, 9.0);
    live.refresh(named("flat"), Some(frames(named("flat"), 2, None)));
    assert_eq!(live.shown.versions[0].results[0].time.map(|time| time.ms), Some(9.0));
}

#[test]
fn what_a_save_has_changed_is_shown_also_where_it_is_included() {
    let mut live = edited();
    let source =
        |live: &Versions, chosen| updated_source(&mut None, live, chosen, DeviceKind::Cpu).flatten().unwrap();
    let shown = |live: &mut Versions, chosen| source(live, chosen).name;
    assert_eq!(shown(&mut live, named("flat")), "box_filter/03_flat.cl");
    save(&mut live, Sources::default());
    save(&mut live, other("common/mean.clh"));
    assert_eq!(shown(&mut live, named("naive")), "common/mean.clh");
    assert!(!source(&live, named("naive")).changed.is_empty(), "it is marked");
    // Nothing in it has changed.
    save(&mut live, other("common/mean.clh"));
    assert_eq!(shown(&mut live, named("naive")), "box_filter/01_naive.cl");
    // The variant's own file, and the included one.
    let include = ("box_filter/01_naive.cl", "#include \"../common/mean.clh\"");
    save(&mut live, sources([("common/mean.clh", "yours"), include]));
    assert_eq!(shown(&mut live, named("naive")), "box_filter/01_naive.cl");
}

/// Checks that a refusal counts until other sources of the variant run, or sources are chosen that ran before.
#[test]
fn a_refusal_is_over_where_its_texts_are() {
    let error = |what: &str| Error::new(what, "", "");
    let refuse = |live: &mut Versions, what| {
        live.process(verdict_on(live.current, flat_subject(), Validation::Refused(error(what))));
    };
    // Saves kernels and reports the result of their validation; returns the errors that are over then.
    let next = |live: &mut Versions, texts: Sources| {
        let variants = save(live, texts);
        request(live, &variants);
        live.take_obsolete_errors()
    };
    let mut live = edited();
    refuse(&mut live, "no");
    assert_eq!(live.take_obsolete_errors(), []);
    // Another kernel is saved, and the refused kernel is unchanged.
    assert_eq!(next(&mut live, flat_and_naive("mine", "mine")), []);
    refuse(&mut live, "no");
    assert_eq!(live.take_obsolete_errors(), [], "the same is said again");
    // The sources are those that run, so they are not validated again.
    assert_eq!(next(&mut live, Sources::default()), [error("no")]);
    // A refusal becomes obsolete by a refusal for another reason, by the choice of an earlier version, and by a version that
    // runs.
    let mut live = edited();
    refuse(&mut live, "no");
    assert_eq!(next(&mut live, flat("yours")), []);
    refuse(&mut live, "neither");
    assert_eq!(live.take_obsolete_errors(), [error("no")]);
    live.current = 1;
    request(&mut live, &[]);
    assert_eq!(live.take_obsolete_errors(), [error("neither")]);
    let mut live = edited();
    refuse(&mut live, "no");
    next(&mut live, flat("yours"));
    live.process(verdict_on(3, flat_subject(), Validation::Exact));
    assert_eq!(live.take_obsolete_errors(), [error("no")]);
    // A kernel that runs at one radius fails at another.
    live.process(News::Variant(named("flat"), Err(error("too slow"))));
    assert_eq!(next(&mut live, flat("mine")), [], "it is being tried");
    live.process(verdict_on(4, flat_subject(), Validation::Exact));
    assert_eq!(live.take_obsolete_errors(), [error("too slow")]);
    // The result of an older version is not reported.
    save(&mut live, Sources::default());
    assert!(live.process(verdict_on(4, flat_subject(), Validation::Refused(error("late")))).is_none());
}

/// Checks that sources that could not be built at the start are validated again only after they are saved again.
#[test]
fn texts_that_were_refused_at_first_are_refused_again() {
    let error = || Error::new("It does not build.", "", "");
    let (first, second) = (flat("mine"), flat("yours"));
    let mut live = Versions::default();
    save(&mut live, first.clone());
    live.process(News::Variant(named("flat"), Err(error())));
    for (number, texts) in [(2, second), (3, first)] {
        assert_eq!(save(&mut live, texts), [named("flat")]);
        live.process(verdict_on(number, flat_subject(), Validation::Refused(error())));
    }
    assert_eq!(save(&mut live, flat_and_naive("mine", "mine")), [named("naive")]);
}
