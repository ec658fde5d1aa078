//! A run of the window as a benchmark result (the button *Save run*): the filter times of the movie's frames, which `clreel
//! compare` can read.

use serde_json::{Value, json};

use base::error::{Error, Result};
use base::timing::Series;
use base::timing::noise::{Noise, Noisy};
use base::verify::Checked;
use box_filter::{Settings, VariantId};
use ladder::results::{DeviceReport, Input, Report, RowReport, RunReport, Samples};
use ladders::box_filter::BoxFilter;
use stats::{ExportContext, FrameSample, Recorder, Setting, settings_json};

/// The greatest number of frames of a variant with which the window is compared while it plays.
const MAX_FRAMES: usize = 1000;

/// Returns the filter times of the movie's frames as a benchmark result. Leaves out frames whose size or device is not that of
/// the last frame, frames of wipes, frames right after a change of the variant, and frames during other work on the device,
/// such as tuning.
///
/// # Errors
/// If no frame with a filter time is left.
pub(super) fn results(recorder: &Recorder, context: &ExportContext) -> Result<Report> {
    let rows = rows(recorder, context);
    if rows.is_empty() {
        return Err(Error::new(
            "The run could not be saved.",
            "No frame of this movie has a time of a filter yet.",
            "Let the movie play with a filter, such as key 3.",
        ));
    }
    Ok(report(&rows, context))
}

/// Returns the times of the last frames with these settings as [`results`] does, with the newest version of each variant only.
pub(super) fn current_results(recorder: &Recorder, context: &ExportContext, settings: Settings) -> Report {
    let mut rows = rows(recorder, context);
    rows.retain(|(of, _)| of.settings == settings);
    let newest =
        rows.iter().map(|(of, frames)| (*of, frames[frames.len().saturating_sub(MAX_FRAMES)..].to_vec()));
    let is_newest = |(of, _): &(Setting, _)| {
        rows.iter().all(|(other, _)| other.variant != of.variant || other.version <= of.version)
    };
    report(&newest.filter(is_newest).collect(), context)
}

/// Returns the frames whose times count, by their setting.
fn rows<'a>(recorder: &'a Recorder, context: &ExportContext) -> Rows<'a> {
    let device = recorder.frames_and_switches().last().map(|(last, _)| last.setting.device);
    let mut rows = Rows::new();
    for (sample, switched) in recorder.frames_and_switches() {
        let setting = sample.setting;
        let counts = !switched
            && setting.size == (context.movie.width, context.movie.height)
            && Some(setting.device) == device
            && setting.beside.is_none()
            && !sample.beside_work
            && setting.variant != VariantId::OFF
            && sample.stages.filter_ms() > 0.0;
        if counts {
            match rows.iter_mut().find(|(of, _)| *of == setting) {
                Some((_, frames)) => frames.push(sample),
                None => rows.push((setting, vec![sample])),
            }
        }
    }
    rows
}

/// The frames that were filtered with each setting (such as variant and radius), in the order in which the settings first
/// occurred.
type Rows<'a> = Vec<(Setting, Vec<&'a FrameSample>)>;

/// Creates the benchmark result from the frames of each setting, with a case for each radius and for other settings.
fn report(rows: &Rows<'_>, c: &ExportContext) -> Report {
    let (width, height) = (c.movie.width, c.movie.height);
    let case_of = |of: &Setting| (settings_json(of.variant, of.settings), of.stack_text());
    let mut cases: Vec<((&str, Value), Option<String>)> = Vec::new();
    for (of, _) in rows {
        let case = case_of(of);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    // Cases of the filters of folders follow those of the box filter.
    cases.sort_by_key(|((_, settings), _)| settings.as_u64().unwrap_or(u64::MAX));
    let case = |case: ((&str, Value), Option<String>)| {
        let is_of_case = |of: &Setting| case_of(of) == case;
        let own: Vec<_> = rows.iter().filter(|(of, _)| is_of_case(of)).collect();
        let settings = own.first().map_or_else(String::new, |(of, _)| match of.variant.opened() {
            None => format!(" · radius {}", of.settings.first()),
            Some(_) => format!(" · {}", of.variant.settings_text(of.settings)),
        });
        let ((key, value), stack) = case;
        let settings = stack.as_ref().map_or(settings, |stack| format!(" · {stack}"));
        let mut case = json!({ "width": width, "height": height, key: value });
        if let Some(stack) = stack {
            case["stack_filters"] = stack.into();
        }
        let variants = own.iter().map(|(of, frames)| {
            let has_versions = own.iter().filter(|(other, _)| other.variant == of.variant).count() > 1;
            RowReport { version: has_versions.then_some(of.version), ..row(of, frames, c) }
        });
        RunReport {
            // Times of frames that play are not comparable to those of `bench`.
            title: format!("{width}×{height}{settings}, in the window"),
            case,
            variants: variants.collect(),
            clock: Some(c.clock.json_name().to_owned()),
            clock_reason: c.clock.note(),
            clock_mhz_reason: Some("It is not recorded while a movie plays.".to_owned()),
            ..RunReport::default()
        }
    };
    let device = DeviceReport {
        runs: cases.into_iter().map(case).collect(),
        ..DeviceReport::new(c.device.as_ref(), (&c.sharing, &c.sharing_reason))
    };
    let frames = rows.iter().map(|(_, frames)| frames.len()).sum();
    Report {
        input: Some(Input {
            file: c.movie.file.clone(),
            width,
            height,
            frames,
            at_s: None,
            stack_filters: None,
        }),
        devices: vec![device],
        ..Report::new(c.metadata.clone(), BoxFilter::INFO.name)
    }
}

/// Creates the row of the benchmark result for the frames that were filtered with one setting.
fn row(of: &Setting, frames: &[&FrameSample], c: &ExportContext) -> RowReport {
    let by_wall = frames.iter().all(|frame| frame.stages.filter_by_wall);
    let times = |is_wall: bool| -> Vec<Option<f64>> {
        let ms = |frame: &&FrameSample| {
            let ms = frame.stages.filter_ms();
            Some(ms).filter(|ms| ms.is_finite() && frame.stages.filter_by_wall == is_wall)
        };
        frames.iter().map(ms).collect()
    };
    let device_ms = (!by_wall).then(|| times(false));
    let samples = Samples { device_ms, dispatch_ms: None, wall_ms: times(true) };
    let series = |times: &[Option<f64>]| Series::of(&times.iter().flatten().copied().collect::<Vec<_>>());
    let (device_ms, wall_ms) = (samples.device_ms.as_deref().and_then(series), series(&samples.wall_ms));
    let known: Vec<f64> = frames.iter().filter_map(|frame| frame.others).collect();
    let others = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let noise = device_ms.or(wall_ms).and_then(|series| Noise::of(&series, others));
    let used = c.kernels.iter().find(|used| (used.variant, used.version) == (of.variant, of.version));
    let is_verified = used.map_or(of.variant.back_end().does_without_opencl(), |used| used.verified);
    let checked = Checked {
        sizes: vec![format!("{}x{}", c.movie.width, c.movie.height)],
        inputs: vec!["the movie".to_owned()],
        ..Checked::default()
    };
    RowReport {
        kind: Some(of.variant.back_end().as_str().to_owned()),
        outcome: "ok".to_owned(),
        kernel: used.map(|used| used.kernel.clone()),
        device_ms,
        wall_ms,
        noisy: Noisy::from(noise),
        others,
        samples: Some(samples),
        checked: is_verified.then_some(checked).into_iter().collect(),
        ..RowReport::unknown(of.variant.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;
    use base::timing::Verdict;
    use box_filter::{Filter, named};
    use ladder::compare::compare;
    use stats::{SecondSetting, Stage};

    /// Creates a recorded frame whose stages each take `ms` milliseconds, presented at the time `at`.
    fn frame(at: f64, ms: f64, variant: VariantId) -> FrameSample {
        FrameSample::made_up(at, variant, [ms; Stage::ALL.len()])
    }

    /// Tests that times of the filter of a folder have a case for each of its settings, and are read again.
    #[test]
    fn a_saved_run_has_the_settings_of_a_filter_of_a_folder() {
        let gain = "parameters.gain = { type = \"float\", range = [0.25, 8.0], default = 1.0 }";
        let filter = Filter::made_up("edges", gain);
        let parameters = &filter.description.parameters;
        let [quiet, loud] = [1.0, 2.5].map(|gain| filter.defaults().with(parameters, 0, gain));
        let mut recorder = Recorder::new(true);
        for n in 0..60u32 {
            let mut sample = frame(f64::from(n) * 0.04, 1.0 + f64::from(n / 20), filter.initial());
            sample.setting.settings = if n < 20 { quiet } else { loud };
            if n >= 40 {
                (sample.setting.variant, sample.setting.settings) = (named("naive"), 7.into());
            }
            recorder.push(sample);
        }
        let mut context = ExportContext::made_up();
        context.kernels[0].variant = filter.initial();
        let report = results(&recorder, &context).unwrap();
        let cases: Vec<_> = report.devices[0].runs.iter().map(|run| (&*run.title, &run.case)).collect();
        let case = |key: &str, value: Value| json!({ "width": 1280, "height": 720, key: value });
        let wanted = [
            ("1280×720 · radius 7, in the window", &case("radius", 7.into())),
            ("1280×720 · gain = 1, in the window", &case("settings", json!({ "gain": 1.0 }))),
            ("1280×720 · gain = 2.5, in the window", &case("settings", json!({ "gain": 2.5 }))),
        ];
        assert_eq!(cases, wanted);
        let column = &overlay::LadderColumn::of_report("run.json", &report).unwrap()[0];
        let at = (loud, (1280, 720));
        let now = current_results(&recorder, &context, loud);
        let said = column.compare(&now, at).sentence(filter.initial(), at).unwrap();
        assert!(said.starts_with("no difference shown"), "{said}");
    }

    /// Tests that a saved run is read as a result of `bench`: two runs with the same times have no difference.
    #[test]
    fn a_saved_run_is_compared_as_a_result_of_bench() {
        let record = |factor: f64, frames: usize| {
            let mut recorder = Recorder::new(true);
            for n in 0..frames {
                let ms = factor * (1.0 + 0.02 * (n % 5) as f64);
                recorder.push(frame(n as f64 * 0.04, ms, named("naive")));
            }
            // Neither a frame without a filter nor one in a wipe is saved.
            recorder.push(frame(9.0, 1.0, VariantId::OFF));
            let beside = Some(SecondSetting { variant: named("flat"), settings: 3.into(), compared: false });
            let mut wiped = frame(9.1, 50.0, named("naive"));
            wiped.setting.beside = beside;
            recorder.push(wiped);
            recorder
        };
        let folder = test_folder("saved-run");
        // The result as `clreel compare` reads it from a file.
        let saved = |recorder: &Recorder, context: &ExportContext| {
            let path = folder.0.join("run.json");
            results(recorder, context).unwrap().save(&path).unwrap();
            Report::read(&path).unwrap()
        };
        let first = saved(&record(1.0, 60), &ExportContext::made_up());
        let verdict = |factor: f64| {
            let rows = compare(&first, &saved(&record(factor, 60), &ExportContext::made_up()));
            assert_eq!(rows.len(), 1, "{rows:?}");
            let compared = (rows[0].row.as_str(), rows[0].case.as_str());
            assert_eq!(compared, ("naive", "1280×720 · radius 7, in the window"));
            rows[0].result.as_ref().unwrap().verdict
        };
        assert!(matches!(verdict(1.0), Verdict::NoDifferenceShown { .. }));
        assert!(matches!(verdict(1.5), Verdict::Slower(ratio) if ratio.low > 1.4 && ratio.high < 1.6));
        // Kernels that were not verified are not compared.
        let mut unverified = ExportContext::made_up();
        unverified.kernels[0].verified = false;
        let rows = compare(&first, &saved(&record(1.0, 60), &unverified));
        assert_eq!(rows[0].result.as_ref().unwrap_err().reason, "not verified in the later result");
        // The window's ladder has the same verdicts while it plays.
        let (at, made_up) = ((7.into(), (1280, 720)), ExportContext::made_up());
        let column = &overlay::LadderColumn::of_report("run.json", &first).unwrap()[0];
        let sentence = |recorder: &Recorder, context: &ExportContext| {
            column.compare(&current_results(recorder, context, 7.into()), at).sentence(named("naive"), at)
        };
        let said = sentence(&record(1.5, 60), &made_up).unwrap();
        assert!(said.starts_with("now 1.5") && said.contains("slower"), "{said}");
        assert!(sentence(&record(1.0, 60), &made_up).unwrap().starts_with("no difference shown"));
        let mut elsewhere = ExportContext::made_up();
        elsewhere.metadata.host.processor = "Other".into();
        assert!(sentence(&record(1.5, 60), &elsewhere).unwrap().starts_with("other device: "));
        assert_eq!(sentence(&record(1.5, 0), &made_up), None);
        // Frames during other work on the device are left out, and so is the next one after it.
        let mut beside_work = record(1.0, 60);
        for n in 0..60 {
            beside_work.set_other_work(n < 30);
            beside_work.push(frame(10.0 + n as f64 * 0.04, 3.0, named("naive")));
        }
        let rows = compare(&first, &saved(&beside_work, &ExportContext::made_up()));
        assert_eq!(rows[0].times.map(|times| times.unwrap().series.n), [60, 60 + 60 - 31]);
        // If there is nothing to save, an error says so.
        let error = results(&record(1.0, 0), &ExportContext::made_up()).unwrap_err();
        assert!(error.why.contains("No frame of this movie has a time"), "{error}");
    }
}
