//! Tests of the ladder's panel (the scoreboard), and of the comparison in its title.

use super::*;
use box_filter::{Group, named};

/// Returns the device of PoCL, with a long name.
pub(super) fn pocl() -> base::device::DeviceInfo {
    base::device::DeviceInfo {
        name: "pthread-skylake-avx512-Intel(R) Xeon(R) Processor @ 2.30GHz".into(),
        platform: "Portable Computing Language".into(),
        driver: "3.1+debian".into(),
        ..base::device::DeviceInfo::made_up()
    }
}

/// Returns the texts whose middle is at most `distance` points above or below that of `at`, from left to right, if they are
/// between `left` and `right` points right of its left edge.
fn beside(fixture: &Fixture, at: Rect, distance: f32, left: f32, right: f32) -> Vec<String> {
    let is_beside = |rect: &Rect| {
        (rect.center().y - at.center().y).abs() < distance
            && rect.left() > at.left() + left
            && rect.right() < at.left() + right
    };
    let mut texts: Vec<_> = fixture.texts.iter().filter(|(_, rect)| is_beside(rect)).collect();
    texts.sort_by(|a, b| a.1.left().total_cmp(&b.1.left()));
    texts.into_iter().map(|(text, _)| text.clone()).collect()
}

/// Returns the texts in the row of a variant, from left to right.
fn row(fixture: &Fixture, id: VariantId) -> Vec<String> {
    beside(fixture, fixture.find(id.name).unwrap(), 6.0, -40.0, f32::INFINITY)
}

#[test]
fn the_scoreboard_has_each_variants_last_time_and_marks_old_ones() {
    let mut fixture = Fixture::new(SIZES[0]);
    assert_eq!(row(&fixture, named("naive")), ["1", "naive", "845 ms"]);
    assert_eq!(row(&fixture, named("flat")), ["3", "flat", "8.45 ms"]);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "not measured"]);
    assert_eq!(row(&fixture, VariantId::OFF), ["0", "off"]);
    // A change of the variant keeps the times of the others.
    fixture.present(named("fused"), 7, 0.37, 10);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "0.37 ms"]);
    assert_eq!(row(&fixture, named("naive")), ["1", "naive", "845 ms"]);
    // Another radius makes all times old, until they are measured there.
    fixture.set(|f| f.settings = 3.into());
    assert_eq!(row(&fixture, named("naive")), ["1", "naive", "at r = 7", "845 ms"]);
    assert_eq!(row(&fixture, named("separable")), ["2", "separable", "not measured"]);
    fixture.present(named("fused"), 3, 0.36, 10);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "0.36 ms"]);
    // Another size does so, too.
    fixture.push_like(1, |_, sample| {
        (sample.setting.size, sample.setting.variant) = ((640, 360), named("flat"));
    });
    fixture.pass(vec![]);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "at 1280 \u{d7} 720", "0.36 ms"]);
    // A variant that cannot run is marked.
    fixture.variants[1].status = unavailable();
    fixture.set(|f| f.variants[2].status = VariantStatus::Building);
    assert_eq!(row(&fixture, named("naive")), ["1", "naive", "not available"]);
    assert_eq!(row(&fixture, named("separable")), ["2", "separable", "compiling"]);
}

#[test]
fn a_cell_without_a_time_has_a_mark_whose_word_is_in_its_hover_text_and_value() {
    // With times below the names, and without.
    for (size, panel) in
        [(SIZES[0], Some(Panel::Kernels)), (SIZES[0], Some(Panel::Scopes)), (vec2(700.0, 320.0), None)]
    {
        let mut fixture = Fixture::new(size);
        panel.into_iter().for_each(|panel| fixture.open(panel));
        fixture.variants[1].status = unavailable();
        fixture.variants[2].status = VariantStatus::Building;
        let mut kernels = kernels::edited();
        for version in &mut kernels.versions {
            version.results.iter_mut().for_each(|result| result.runs = version.number == 3);
        }
        fixture.set(|f| f.kernels = kernels);
        for (name, mark, word) in [
            ("naive", "\u{d7}", "not available"),
            ("separable", "\u{2026}", "compiling"),
            ("flat", "\u{2260}", "not timed: output differs"),
        ] {
            let node =
                fixture.harness.query_all_by_label(name).find_map(|node| Some((node.value()?, node.rect())));
            let (value, cell) = node.unwrap();
            assert_eq!(value, word, "{name} at {size}");
            let is_mark = |(text, at): &&(String, Rect)| text == mark && cell.contains(at.center());
            assert!(fixture.texts.iter().any(|text| is_mark(&text)), "{name} at {size}: {:?}", fixture.texts);
            fixture.hover(cell.center());
            fixture.assert_shows(&[&format!("{mark} {word}")]);
        }
    }
}

/// Returns a saved run with a time of `naive` at radius 7, and one of `fused`, which differs from the reference.
fn saved_run() -> ladder::results::Report {
    let times: Vec<f64> = (0..20).map(|n| 900.0 + f64::from(n % 3)).collect();
    let row = |id: &str, outcome: &str| ladder::results::RowReport {
        outcome: outcome.into(),
        device_ms: base::timing::Series::of(&times),
        ..ladder::results::RowReport::unknown(id)
    };
    let run = ladder::results::RunReport {
        case: serde_json::json!({ "width": 1280, "height": 720, "radius": 7 }),
        variants: vec![row("naive", "ok"), row("fused", "mismatch"), row("unknown", "ok")],
        ..ladder::results::RunReport::default()
    };
    let device = ladder::results::DeviceReport { runs: vec![run], ..Default::default() };
    let metadata = base::metadata::Metadata { date: "2026-11-29T10:00:00Z".into(), ..Default::default() };
    ladder::results::Report { devices: vec![device], ..ladder::results::Report::new(metadata, BOX_FILTER) }
}

/// Returns an overlay with a saved run as the second column of the ladder.
pub(super) fn compared(size: Vec2) -> Fixture<'static> {
    let mut fixture = Fixture::new(size);
    fixture.saved_columns = LadderColumn::of_report("run.json", &saved_run()).unwrap();
    fixture.pass(vec![]);
    fixture
}

/// Returns a saved run with a device of this name, whose times are those of [`saved_run`] times a factor, with samples.
fn saved_samples(factor: f64, device: &str) -> ladder::results::Report {
    let mut report = saved_run();
    report.devices[0].properties.insert("name".into(), device.into());
    let saved = &mut report.devices[0].runs[0].variants[0];
    let times = (0..60).map(|n| Some(factor * (900.0 + f64::from(n % 3)))).collect();
    saved.samples = Some(ladder::results::Samples { wall_ms: times, ..Default::default() });
    saved.checked = vec![base::verify::Checked::default()];
    report
}

/// Returns an overlay with a saved run as the second column of the ladder, and a verdict on `naive`.
pub(super) fn judged(size: Vec2) -> Fixture<'static> {
    let mut fixture = Fixture::new(size);
    let [saved, now] = [0.8, 1.0].map(|factor| saved_samples(factor, "Device"));
    fixture.saved_columns = LadderColumn::of_report("run.json", &saved).unwrap();
    let verdicts = fixture.saved_columns[0].compare(&now, (7.into(), (1280, 720)));
    fixture.saved_columns[0].verdicts = verdicts;
    fixture.settle();
    fixture
}

#[test]
fn a_saved_run_and_another_device_stand_beside_the_times_of_the_device_in_use() {
    let mut fixture = compared(SIZES[0]);
    assert_eq!(row(&fixture, named("naive")), ["1", "naive", "845 ms", "901 ms"]);
    assert_eq!(row(&fixture, named("flat")), ["3", "flat", "8.45 ms", "\u{2013}"]);
    fixture.assert_shows(&["2026-11-29"]);
    // A run of another machine has its name.
    let mut elsewhere = saved_run();
    elsewhere.metadata.host.name = "hall-7".into();
    assert_eq!(LadderColumn::of_report("run.json", &elsewhere).unwrap()[0].title, "hall-7");
    // Times of another radius are not those of this one.
    fixture.set(|f| f.settings = 3.into());
    assert_eq!(row(&fixture, named("naive")).last().unwrap(), "\u{2013}");
    fixture.set(|f| f.settings = 7.into());
    // The device in use has no times yet, the one before keeps its own.
    let second = base::device::DeviceInfo { index: 5, name: "Second".into(), ..pocl() };
    fixture.recorder.shown.device_changed(1, Some(pocl()));
    fixture.push_like(20, |_, sample| (sample.setting.device, sample.setting.variant) = (1, named("flat")));
    fixture.recorder.shown.device_changed(2, Some(second.clone()));
    fixture.device = Some(second);
    fixture.wait(1.0);
    let first = row(&fixture, named("flat"));
    assert_eq!(first[2..], ["8.45 ms", "\u{2013}", "\u{2013}"], "{first:?}");
    fixture.assert_shows(&["Second, 2 cores", "2026-11-29", "Xeon, 2 cores"]);
    // A device keeps its column when it is used again.
    let heads = ["Xeon, 2 cores", "2026-11-29"];
    let places = |fixture: &Fixture| heads.map(|head| fixture.find(head).unwrap().right());
    let before = places(&fixture);
    assert!(before[0] < before[1]);
    fixture.recorder.shown.device_changed(3, Some(pocl()));
    fixture.device = Some(pocl());
    fixture.wait(1.0);
    let after = places(&fixture);
    assert!(after[0] < after[1], "{after:?}");
    assert_eq!(row(&fixture, named("flat"))[2], "8.45 ms");

    // What cannot be compared is refused with a sentence.
    let other = ladder::results::Report { ladder: "matmul".into(), ..saved_run() };
    let error = LadderColumn::of_report("run.json", &other).unwrap_err();
    assert!(error.why.contains("the ladder 'matmul'"), "{error}");
    let empty = ladder::results::Report { devices: Vec::new(), ..saved_run() };
    assert!(LadderColumn::of_report("run.json", &empty).unwrap_err().why.contains("no times"));
}

#[test]
fn a_noisy_saved_time_has_the_same_mark_as_in_the_lab() {
    let why = || base::timing::noise::Noisy(Some("Other processes used 40 % of the machine.".into()));
    for (noisy, others) in [(why(), Some(0.4)), (why(), None), (Default::default(), Some(0.4))] {
        let mut fixture = Fixture::new(SIZES[0]);
        let mut report = saved_run();
        let saved = &mut report.devices[0].runs[0].variants[0];
        (saved.noisy, saved.others) = (noisy, others);
        let in_lab = base::timing::believed(901.0, &[saved.precision()]);
        fixture.saved_columns = LadderColumn::of_report("run.json", &report).unwrap();
        fixture.pass(vec![]);
        assert_eq!(row(&fixture, named("naive")), ["1", "naive", "845 ms", "~901 ms"]);
        assert_eq!(in_lab, "~901");
    }
}

#[test]
fn a_saved_run_has_a_verdict_on_each_row() {
    let with = saved_samples;
    let value = |fixture: &Fixture| {
        fixture.harness.query_all_by_label("naive").find_map(|node| node.value()).unwrap_or_default()
    };
    let at = (7.into(), (1280, 720));
    let mut fixture = Fixture::new(SIZES[0]);
    let columns = LadderColumn::of_report("run.json", &with(1.0, "D")).unwrap();
    for (now, short, sentence) in [
        (with(1.5, "D"), Some("1.50\u{d7} slower"), "now 1.50\u{d7} slower, 1."),
        (with(1.0, "D"), Some("no difference"), "no difference shown"),
        (with(1.5, "E"), None, "other device: 'D' and 'E'"),
    ] {
        let verdicts = columns[0].compare(&now, at);
        fixture.saved_columns = vec![LadderColumn { verdicts, ..columns[0].clone() }];
        fixture.settle();
        let texts = row(&fixture, named("naive"));
        assert_eq!(
            texts
                .iter()
                .find(|text| text.contains("slower") || text.contains("difference"))
                .map(String::as_str),
            short,
            "{texts:?}"
        );
        // Screen readers read it, and the hover text has it in full.
        let value = value(&fixture);
        assert!(value.contains(sentence), "{value}");
        fixture.hover(fixture.button("naive").unwrap().center());
        fixture.assert_contains(&[&format!("Against this run: {sentence}")]);
    }
    // The verdict is of this radius only.
    fixture.set(|f| f.settings = 3.into());
    assert!(!value(&fixture).contains("other device"));
}

#[test]
fn the_ladder_is_exported_as_a_table_and_as_two_charts_with_the_same_texts() {
    let fixture = Fixture::new(SIZES[0]);
    let saved = LadderColumn::of_report("<run> & \"x\".json", &saved_run()).unwrap();
    let export = |at| LadderExport::new(&fixture.recorder, Some(&pocl()), (&saved, &fixture.kernels), at);
    let ladder = export((named("flat"), 7.into(), (1280, 720))).unwrap();
    let csv = ladder.csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "variant,ms,low_ms,high_ms,factor,frames,radius,width,height,device,edited_version");
    assert!(lines[1].starts_with("naive,845,845,845,1.000,20,7,1280,720,\"pthread"), "{csv}");
    assert!(lines[2].starts_with("flat,8.45,8.45,8.45,100.000,19,7,"), "{csv}");
    assert!(lines[3].starts_with("naive,901,900,902,1.000,") && lines[3].contains("\"\"x\"\""), "{csv}");
    let svg = ladder.svg();
    for text in
        ["Box filter, radius 7, 1280 \u{d7} 720", ">naive<", ">8.45 ms<", ">100\u{d7}<", "&lt;run&gt; &amp; "]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    // ImageMagick ignores style sheets.
    assert!(!svg.contains("style") && !svg.contains("class"), "{svg}");
    let (width, height, rgba) = ladder.picture();
    let dark = |pixel: &[u8]| pixel[..3].iter().all(|channel| *channel < 100);
    let is_bar = |pixel: &[u8]| pixel[..3] == [245, 166, 35];
    assert_eq!(rgba.len(), (4 * width * height) as usize);
    assert!(rgba.chunks_exact(4).filter(|p| dark(p)).count() > 2000, "texts");
    assert!(rgba.chunks_exact(4).filter(|p| is_bar(p)).count() > 10_000, "bars");
    let error = export((named("flat"), 3.into(), (1280, 720))).err().unwrap();
    assert!(error.why.contains("radius 3"), "{error}");
}

#[test]
fn the_story_is_of_times_at_this_radius_and_size_and_of_enough_frames() {
    let mut fixture = Fixture::new(SIZES[0]);
    let comparison = |fixture: &Fixture| {
        let between = fixture.texts.iter().find(|(text, _)| text.contains(" vs. "));
        let times = fixture.texts.iter().find(|(text, _)| text.ends_with("\u{d7} faster"));
        between.zip(times).map(|((a, _), (b, _))| format!("{a}: {b}"))
    };
    assert_eq!(comparison(&fixture).as_deref(), Some("flat vs. naive: 100\u{d7} faster"));
    fixture.present(named("fused"), 7, 0.37, 10);
    assert_eq!(comparison(&fixture).as_deref(), Some("fused vs. naive: 2,300\u{d7} faster"));
    // Other back ends run elsewhere, so the comparison leaves them out.
    fixture.present(named("native"), 7, 0.01, 10);
    assert_eq!(comparison(&fixture).as_deref(), Some("fused vs. naive: 2,300\u{d7} faster"));
    fixture.set(|f| f.settings = 3.into());
    assert_eq!(comparison(&fixture), None, "{:?}", fixture.texts);
    fixture.present(named("flat"), 3, 8.0, 10);
    assert_eq!(comparison(&fixture), None, "one time is no story");
    fixture.present(named("vectorized"), 3, 2.0, 10);
    assert_eq!(comparison(&fixture).as_deref(), Some("vectorized vs. flat: 4\u{d7} faster"));

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.settings = 3.into();
    fixture.push(named("fused"), 3, 0.37, 10);
    fixture.present(named("naive"), 3, 845.0, 1);
    assert_eq!(ends(&fixture, "\u{d7} faster"), None);
    fixture.assert_shows(&["naive: 1 of 2 frames"]);
    // Two frames of a second each are enough, and the title says how many there were.
    fixture.push(named("naive"), 3, 845.0, 1);
    fixture.wait(1.0);
    assert_eq!(ends(&fixture, "\u{d7} faster").as_deref(), Some("~2,300\u{d7} faster"));
    fixture.assert_shows(&["fused vs. naive", "naive: 2 frames"]);
    fixture.push(named("naive"), 3, 845.0, 4);
    fixture.wait(1.0);
    assert_eq!(ends(&fixture, "\u{d7} faster").as_deref(), Some("2,300\u{d7} faster"));
    assert!(!fixture.shows("naive: 5 frames"));
    // A new frame does not remove the sentence before it can change it.
    fixture.present(named("vectorized"), 3, 0.13, 1);
    assert_eq!(ends(&fixture, "\u{d7} faster").as_deref(), Some("2,300\u{d7} faster"));
    fixture.push(named("vectorized"), 3, 0.13, 5);
    fixture.wait(1.0);
    assert_eq!(ends(&fixture, "\u{d7} faster").as_deref(), Some("6,500\u{d7} faster"));
    // A kernel that would change the title with its second frame is named until then.
    fixture.push(named("separable"), 3, 0.1, 1);
    fixture.wait(1.0);
    fixture.assert_shows(&["separable: 1 of 2 frames", "vectorized vs. naive"]);
    fixture.push(named("separable"), 3, 0.1, 5);
    fixture.wait(1.0);
    assert!(!fixture.shows("separable: ") && fixture.shows("separable vs. naive"), "{:?}", fixture.texts);
}

/// Returns the first painted text that ends with `end`; `None` if there is none.
fn ends(fixture: &Fixture, end: &str) -> Option<String> {
    fixture.texts.iter().find(|(text, _)| text.ends_with(end)).map(|(text, _)| text.clone())
}

#[test]
fn a_noisy_number_is_marked_and_a_time_by_the_wall_says_so() {
    let mut fixture = Fixture::new(vec2(1280.0, 900.0));
    fixture.push_noisy(named("fused"), 7, [0.642, 0.367], 61);
    fixture.pass(vec![]);
    // The figures of the headline, its rate, the scoreboard, the graph, the table, and the comparison.
    fixture.assert_shows(&["~0.4"]);
    assert_eq!(ends(&fixture, "00 fps").as_deref(), Some("~3,000 fps"));
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "~0.4 ms"]);
    fixture.assert_shows(&["fused r=7 ~0.4 ms"]);
    assert_eq!(ends(&fixture, "\u{d7} faster").as_deref(), Some("~2,000\u{d7} faster"));
    fixture.open(Panel::Stages);
    assert_eq!(row_of(&fixture, "filter"), ["filter", "0.64", "~0.4", "~0.6", "0.64"]);
    // The frames themselves are presented at equal intervals.
    assert_eq!(row_of(&fixture, "frame"), ["frame", "40.00", "40.00", "40.00", "40.00"]);
    fixture.assert_shows(&["25 fps"]);
    // In the line of statistics, too.
    fixture.set(|f| f.size = SIZES[1]);
    fixture.assert_shows(&["fused r=7 \u{b7} ~0.4 ms \u{b7} 25 fps \u{b7} CPU 60 %"]);
    // Other work at the same time makes each time noisy, and the frame rate, too; times without noise have all their digits
    // again.
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.recorder.others = Some(0.43);
    fixture.present(named("fused"), 7, 0.3674, 20);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "~0.37 ms"]);
    assert_eq!(row(&fixture, named("naive")), ["1", "naive", "845 ms"], "measured before");
    fixture.assert_shows(&["~25 fps", "~0.37"]);
    fixture.recorder.others = Some(0.05);
    fixture.push(VariantId::OFF, 7, 0.0, 1);
    fixture.push(named("fused"), 7, 0.3674, 20);
    fixture.wait(1.0);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "0.37 ms"]);
    assert!(!fixture.shows("~"), "{:?}", fixture.texts);

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.assert_shows(&["filter alone"]);
    fixture.push_like(10, |_, sample| {
        (sample.setting.variant, sample.stages.filter_by_wall) = (named("native"), true);
    });
    fixture.pass(vec![]);
    assert!(fixture.find("filter, wall time").is_some() && fixture.find("filter alone").is_none());
    fixture.assert_shows(&["8.45"]);
}

#[test]
fn a_step_is_compared_with_the_one_before_and_a_single_bar_has_no_length() {
    let mut fixture = Fixture::new(SIZES[0]);
    let bars = |fixture: &Fixture| {
        let colors = [theme::FILTER, theme::FILTER_DIM];
        fixture.rects.iter().filter(|(at, fill)| at.height() == 10.0 && colors.contains(fill)).count()
    };
    assert_eq!(bars(&fixture), 2);
    fixture.push(named("separable"), 7, 84.5, 20);
    fixture.push(named("running-sum"), 7, 2.0, 1);
    fixture.push(named("fused"), 7, 0.5, 20);
    fixture.wait(1.0);
    assert_eq!(row(&fixture, named("separable")), ["2", "separable", "10\u{d7}", "84.5 ms"]);
    assert_eq!(row(&fixture, named("flat")), ["3", "flat", "10\u{d7}", "8.45 ms"]);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "0.50 ms"], "a single frame is not compared");
    let value = fixture.harness.query_all_by_label("flat").find_map(|node| node.value());
    assert_eq!(value.as_deref(), Some("8.45 ms, 10\u{d7} as fast as separable"));
    // A step that this device cannot run is skipped.
    fixture.set(|f| f.variants[2].status = unavailable());
    assert_eq!(row(&fixture, named("flat")), ["3", "flat", "100\u{d7}", "8.45 ms"]);

    fixture.recorder = Recorder::new(false);
    let mut sample = FrameSample::made_up(0.0, named("fused"), [0.0; Stage::ALL.len()]);
    sample.stages.times[Stage::Filter as usize] = 0.5;
    fixture.recorder.push(sample);
    fixture.wait(1.0);
    assert_eq!(row(&fixture, named("fused")), ["8", "fused", "~0.50 ms"]);
    assert_eq!(bars(&fixture), 0);
}

/// Returns the numbers in the row of this name in the table of stages.
fn row_of(fixture: &Fixture, name: &str) -> Vec<String> {
    beside(fixture, fixture.find(name).unwrap(), 3.0, -1.0, 450.0)
}

#[test]
fn the_rungs_stand_in_groups_and_the_cells_of_a_small_window_have_times() {
    let fixture = Fixture::new(SIZES[0]);
    let y = |id: VariantId| fixture.find(id.name).unwrap().center().y;
    let groups = Group::ALL.map(|group| group.variants().collect::<Vec<_>>());
    let within = y(named("separable")) - y(named("naive"));
    for pair in groups.concat().windows(2) {
        let way = y(pair[1]) - y(pair[0]);
        let same = groups.iter().any(|g| g.contains(&pair[0]) && g.contains(&pair[1]));
        assert_eq!(same, (way - within).abs() < 0.5, "{pair:?}: {way}, {within}");
        assert!(way >= within - 0.5, "{pair:?}");
    }

    let mut fixture = Fixture::new(SIZES[1]);
    fixture.assert_shows(&["845 ms", "8.45 ms"]);
    fixture.set(|f| f.settings = 3.into());
    fixture.assert_shows(&["845 r=7"]);
}

#[test]
fn the_device_has_a_persons_name_and_the_drivers_words_are_under_the_pointer() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.device = Some(pocl());
    fixture.pass(vec![]);
    let name = pocl().name;
    let short = "Xeon, 2 cores \u{b7} PoCL 3.1";
    let at = fixture.find(short).unwrap_or_else(|| panic!("{:?}", fixture.texts)).center();
    assert!(!fixture.shows(&name));
    fixture.hover(at);
    assert!(fixture.shows(&name) && fixture.shows("3.1+debian"), "{:?}", fixture.texts);
    assert_eq!(fixture.click_at(at), [Action::Toggle(Panel::Devices)]);
}

#[test]
fn text_grows_with_the_window_and_never_shrinks() {
    let zooms = [(640.0, 360.0), (960.0, 540.0), (1280.0, 720.0), (1920.0, 1080.0), (3840.0, 2160.0)];
    assert_eq!(zooms.map(|(w, h)| zoom(w, h)), [1.0, 1.0, 1.0, 1.5, 3.0]);
    // 4K at scale 2; a narrow window; none.
    assert_eq!([zoom(1920.0, 1080.0), zoom(480.0, 2000.0), zoom(f32::NAN, 0.0)], [1.5, 1.0, 1.0]);
}

#[test]
fn edited_kernels_have_their_version_wherever_a_variant_has_a_time() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.set(|f| f.kernels.edited = vec![(named("flat"), 3)]);
    assert_eq!(row(&fixture, named("flat")), ["3", "flat", "v3", "8.45 ms"]);
    fixture.assert_shows(&["flat v3 vs. naive", "flat, version 3"]);
    fixture.assert_shows(&["Edited: version 3. The idea is that of the built-in kernel."]);
    let value = fixture.harness.query_all_by_label("flat").find_map(|node| node.value());
    assert_eq!(value.as_deref(), Some("version 3, 8.45 ms"));
    // The step after it names it, too.
    fixture.present(named("vectorized"), 7, 2.0, 10);
    let value = fixture.harness.query_all_by_label("vectorized").find_map(|node| node.value());
    assert_eq!(value.as_deref(), Some("2.00 ms, 4.22\u{d7} as fast as flat, version 3"));
    // The longest name has room for its version before the bar.
    fixture.set(|f| f.kernels.edited.push((named("running-sum"), 99)));
    let [name, version] = ["running-sum", "v99"].map(|text| fixture.find(text).unwrap());
    let left = fixture.cover("ladder").rect.left();
    assert!(name.right() < version.left() && version.right() < left + 6.0 + 110.0, "{name} {version}");

    let ladder = LadderExport::new(
        &fixture.recorder,
        None,
        (&[], &fixture.kernels),
        (named("flat"), 7.into(), (1280, 720)),
    )
    .unwrap();
    let csv = ladder.csv();
    assert!(csv.lines().any(|line| line.starts_with("flat,") && line.ends_with(",3")), "{csv}");
    assert!(csv.lines().any(|line| line.starts_with("naive,") && line.ends_with("\",")), "{csv}");
    assert!(ladder.svg().contains(">flat, version 3<"), "{}", ladder.svg());

    // The strip along the bottom, and the line of statistics.
    let mut fixture = Fixture::new(vec2(700.0, 400.0));
    fixture.set(|f| f.kernels.edited = vec![(named("flat"), 3)]);
    fixture.assert_shows(&["flat v3"]);
    fixture.assert_contains(&["flat r=7, version 3"]);
}

#[test]
fn in_a_wipe_the_ladder_marks_both_sides_and_the_one_that_keys_choose() {
    let mut fixture = Fixture::new(SIZES[0]);
    let sides = [named("flat"), named("naive")].map(|id| stats::Request::new(id, 7));
    fixture.set(|f| f.wipe = Some(Wipe { sides, by_wall: [false; 2], difference: None }));
    let value = |fixture: &Fixture, name: &str| {
        fixture.harness.query_all_by_label(name).find_map(|node| node.value()).unwrap()
    };
    assert_eq!(value(&fixture, "flat"), "left side of the wipe, 8.45 ms");
    assert_eq!(value(&fixture, "naive"), "right side of the wipe, 845 ms");
    let is_selected = |fixture: &Fixture, id: VariantId| {
        let name = fixture.find(id.name).unwrap().center();
        fixture.rects.iter().any(|(rect, fill)| *fill == theme::SELECTION_BACKGROUND && rect.contains(name))
    };
    assert!(is_selected(&fixture, named("flat")) && !is_selected(&fixture, named("naive")));
    fixture.overlay.wipe_line.pointer_is_right = true;
    fixture.settle();
    assert!(!is_selected(&fixture, named("flat")) && is_selected(&fixture, named("naive")));
}

#[test]
fn two_kernels_that_are_equally_fast_have_no_factor_of_one() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.set(|f| f.settings = 3.into());
    fixture.push_noisy(named("vectorized"), 3, [0.642, 0.367], 61);
    fixture.push_noisy(named("running-sum"), 3, [0.682, 0.39], 61);
    fixture.wait(1.0);
    fixture.assert_shows(&["as fast"]);
    assert_eq!(ends(&fixture, "\u{d7} faster"), None);
}
