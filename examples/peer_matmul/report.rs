//! Reports of variants and libraries, by elapsed time: a table in Markdown, and a chart as
//! `clreel bench --chart` draws it.

use base::timing::believed;
use compute::BackEnd;
use ladder::chart::svg;
use ladder::measure::Measurement;
use ladder::rows::{CaseRun, Entry, Row, Throughput};

/// Returns the entry of a library; `on_device` is true if it runs on the device whose peak is measured.
pub fn library(name: &'static str, on_device: bool) -> Entry {
    Entry {
        id: name,
        name: name.to_owned(),
        title: name,
        back_end: if on_device { BackEnd::OpenCl } else { BackEnd::Native },
        peak: on_device.then_some(0),
        extra: Some("library".into()),
    }
}

/// Compares all with the fastest library, if one has a time.
pub fn compare_with_best(run: &mut CaseRun) {
    let libraries = run.timed().filter(|(row, _)| row.entry.extra.is_some());
    let best = libraries.min_by(|(_, a), (_, b)| f64::total_cmp(&a.time.p50, &b.time.p50));
    if let Some(id) = best.map(|(row, _)| row.entry.id) {
        run.case.base = id;
    }
}

/// Returns the table of a case: each with its times in ms, GFLOP/s, its share of the peak and of the speed of the variant
/// or library that all are compared with. Those that run elsewhere than on the device have no share of its peak.
pub fn table(run: &CaseRun) -> String {
    let peak = run.case.peaks.first().map_or("", |peak| peak.name);
    let base = run.base();
    let mut lines = vec![
        format!(
            "| {} | median, ms | least, ms | GFLOP/s | speed, {peak} = 1 | speed, {} = 1 |",
            run.case.title,
            base.map_or("–", |(row, _)| row.entry.id)
        ),
        "|---|---:|---:|---:|---:|---:|".to_owned(),
    ];
    let mut line = |name: &str, time: &Measurement, parts: [Option<&Measurement>; 2]| {
        let Throughput::Work { operations, .. } = run.case.throughput else { return };
        let number = |value: f64| believed(value, &[time.precision()]);
        let part = |of: Option<&Measurement>| match of {
            Some(of) => believed(of.time.p50 / time.time.p50, &[of.precision(), time.precision()]),
            None => "–".to_owned(),
        };
        let [of_limit, of_base] = parts.map(part);
        lines.push(format!(
            "| {name} | {} | {} | {} | {of_limit} | {of_base} |",
            number(time.time.p50),
            number(time.time.min),
            number(operations / time.time.p50 / 1e6),
        ));
    };
    for (peak, time) in run.timed_peaks() {
        line(&format!("({})", peak.name), time, [None; 2]);
    }
    for (row, time) in run.timed() {
        line(&name(row), time, [run.peak_of(row), base.map(|(_, base)| base)]);
    }
    lines.join("\n")
}

fn name(row: &Row) -> String {
    let what = row.auto_choice.as_ref().map(|chosen| format!(": {}", chosen.config)).unwrap_or_default();
    match row.entry.extra {
        Some(_) => row.entry.name.clone(),
        None => format!("`{}`{what}", row.entry.name),
    }
}

/// Returns the chart of all cases on a device as SVG.
pub fn chart(device: &str, runs: &[CaseRun]) -> String {
    let panels: Vec<(&str, &CaseRun)> = runs.iter().map(|run| (device, run)).collect();
    svg("matmul beside other libraries", &panels, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compute::sample::Sample;
    use ladder::Outcome;
    use ladder::rows::AutoChoice;
    use ladder::runner::{Ladder as _, describe_case};
    use ladders::matmul::MATMUL;
    use ladders::matmul::shape::Shape;

    fn took(ms: f64) -> Outcome {
        let sample = |wall_ms| Sample { device_ms: None, dispatch_ms: None, wall_ms };
        let mut samples = vec![sample(ms); 9];
        samples[4] = sample(0.75 * ms);
        Outcome::Ok(Measurement::from_samples(&samples).unwrap())
    }

    /// Variants and libraries with these times in milliseconds: 100×1000 by 1000×50 numbers, 10 million operations. Names of
    /// libraries have an upper-case letter.
    fn run(peak: Option<f64>, rows: &[(&'static str, f64)]) -> CaseRun {
        let mut run = CaseRun::new(describe_case(&MATMUL, &Shape::new([100, 50, 1000]).unwrap()));
        run.peaks = peak.into_iter().map(took).collect();
        run.rows = rows
            .iter()
            .map(|&(id, ms)| match MATMUL.variants().iter().find(|variant| variant.id == id) {
                Some(variant) => Row::new(Entry { peak: Some(0), ..Entry::new(variant, None) }, took(ms)),
                None => Row::new(library(id, id != "OpenBLAS"), took(ms)),
            })
            .collect();
        compare_with_best(&mut run);
        run
    }

    #[test]
    fn the_table_has_the_shares_of_the_peak_and_of_the_best_library() {
        let mut run = run(
            Some(1.0),
            &[("padded", 20.0), ("panels", 2.5), ("CLBlast", 10.0), ("OpenBLAS", 5.0), ("cuBLAS", 8.0)],
        );
        run.rows[1].auto_choice = Some(AutoChoice { config: "DOWN=4".to_owned(), from_cache: None });
        let want = "\
| 100×1000 by 1000×50 | median, ms | least, ms | GFLOP/s | speed, multiply-adds alone = 1 | speed, OpenBLAS = 1 |
|---|---:|---:|---:|---:|---:|
| (multiply-adds alone) | 1.00 | 0.750 | 10.0 | – | – |
| `padded` | 20.0 | 15.0 | 0.500 | 0.0500 | 0.250 |
| `panels`: DOWN=4 | 2.50 | 1.88 | 4.00 | 0.400 | 2.00 |
| CLBlast | 10.0 | 7.50 | 1.00 | 0.100 | 0.500 |
| OpenBLAS | 5.00 | 3.75 | 2.00 | – | 1.00 |
| cuBLAS | 8.00 | 6.00 | 1.25 | 0.125 | 0.625 |";
        assert_eq!(table(&run), want);
    }

    #[test]
    fn without_a_peak_or_a_library_there_are_no_shares() {
        let text = table(&run(None, &[("padded", 20.0), ("panels", 2.5)]));
        // The slowest stands for a missing reference, as in other tables.
        assert!(
            text.lines().next().unwrap().ends_with("speed, multiply-adds alone = 1 | speed, padded = 1 |")
        );
        assert_eq!(text.lines().last(), Some("| `panels` | 2.50 | 1.88 | 4.00 | – | 8.00 |"));
        let text = table(&run(None, &[]));
        assert!(text.contains("| speed, – = 1 |") && text.lines().count() == 2, "{text}");
    }

    #[test]
    fn the_chart_has_a_bar_for_each_and_the_peak_as_a_line() {
        let runs = [
            run(Some(1.0), &[("padded", 20.0), ("CLBlast", 10.0), ("OpenBLAS", 5.0)]),
            run(Some(0.5), &[("padded", 4.0), ("cuBLAS", 2.0)]),
        ];
        let svg = chart("A device", &runs);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("class=\"panel\"").count(), 2, "{svg}");
        for part in [
            "matmul beside other libraries: median of each in ms",
            "A device · 100×1000 by 1000×50",
            ">wall time<",
            "× OpenBLAS<",
            "× cuBLAS<",
            "<title>padded: 20.0 ms, 0.250×</title>",
            "<title>CLBlast: 10.0 ms, 0.500×</title>",
            "<title>OpenBLAS: 5.00 ms, 1.00×</title>",
            "<title>padded: 4.00 ms, 0.500×</title>",
            "peak: multiply-adds alone 1.00 ms",
            "peak: multiply-adds alone 0.500 ms",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        // A bar of twice the time is longer, by the same length anywhere on the logarithmic axis.
        let bars: Vec<f64> = svg
            .split("<rect class=\"bar\"")
            .skip(1)
            .map(|bar| bar.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        let [padded, clblast, openblas, other, cublas] = bars[..] else { panic!("{bars:?}") };
        let twice = padded - clblast;
        assert!(twice > 10.0, "{bars:?}");
        for step in [clblast - openblas, other - cublas] {
            assert!((step - twice).abs() < 0.3, "{bars:?}");
        }
    }
}
