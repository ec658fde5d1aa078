//! What was measured of rungs and libraries, for people. In: a [`CaseRun`] by the wall's clock. Out: a table in Markdown, and a
//! chart as `clreel bench --chart` draws it.

use base::timing::believed;
use ladder::BackEnd;
use ladder::chart::svg;
use ladder::measure::Measurement;
use ladder::rows::{CaseRun, Entry, Row, Worth};

/// A library, as it is called; whether it computes on the device whose limit is measured.
pub fn library(name: &'static str, on_device: bool) -> Entry {
    Entry {
        id: name,
        name: name.to_owned(),
        title: name,
        back_end: if on_device { BackEnd::OpenCl } else { BackEnd::Native },
        limit: on_device.then_some(0),
        beside: Some("library".into()),
    }
}

/// Lets all be compared with the fastest of the libraries, where one has a time: it is the best that is known.
pub fn compare_with_best(run: &mut CaseRun) {
    let libraries = run.timed().filter(|(row, _)| row.entry.beside.is_some());
    let best = libraries.min_by(|(_, a), (_, b)| f64::total_cmp(&a.time.p50, &b.time.p50));
    if let Some(id) = best.map(|(row, _)| row.entry.id) {
        run.case.base = id;
    }
}

/// The table of a case: each with its times in ms, GFLOP/s, its part of the limit's speed and of that of what all are compared
/// with. What computes elsewhere than on the device has no part of its limit.
pub fn table(run: &CaseRun) -> String {
    let limit = run.case.limits.first().map_or("", |limit| limit.name);
    let base = run.base();
    let mut lines = vec![
        format!(
            "| {} | median, ms | least, ms | GFLOP/s | speed, {limit} = 1 | speed, {} = 1 |",
            run.case.title,
            base.map_or("–", |(row, _)| row.entry.id)
        ),
        "|---|---:|---:|---:|---:|---:|".to_owned(),
    ];
    let mut line = |name: &str, time: &Measurement, parts: [Option<&Measurement>; 2]| {
        let Worth::Amounts { operations, .. } = run.case.worth else { return };
        let number = |value: f64| believed(value, &[time.noise()]);
        let part = |of: Option<&Measurement>| match of {
            Some(of) => believed(of.time.p50 / time.time.p50, &[of.noise(), time.noise()]),
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
    for (limit, time) in run.timed_limits() {
        line(&format!("({})", limit.name), time, [None; 2]);
    }
    for (row, time) in run.timed() {
        line(&name(row), time, [run.limit_of(row), base.map(|(_, base)| base)]);
    }
    lines.join("\n")
}

fn name(row: &Row) -> String {
    let what = row.chosen.as_ref().map(|chosen| format!(": {}", chosen.what)).unwrap_or_default();
    match row.entry.beside {
        Some(_) => row.entry.name.clone(),
        None => format!("`{}`{what}", row.entry.name),
    }
}

/// The chart of all cases on a device: the text of an SVG file.
pub fn chart(device: &str, runs: &[CaseRun]) -> String {
    let panels: Vec<(&str, &CaseRun)> = runs.iter().map(|run| (device, run)).collect();
    svg("matmul beside other libraries", &panels, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladder::Outcome;
    use ladder::contest::Ladder as _;
    use ladder::measure::Sample;
    use ladder::rows::Chosen;
    use ladders::matmul::Matmul;
    use ladders::matmul::shape::Shape;

    fn took(ms: f64) -> Outcome {
        let sample = |wall_ms| Sample { device_ms: None, dispatch_ms: None, wall_ms };
        let mut samples = vec![sample(ms); 9];
        samples[4] = sample(0.75 * ms);
        Outcome::Ok(Measurement::of(&samples).unwrap())
    }

    /// Rungs and libraries that took so many milliseconds: by 100×1000 and 1000×50 numbers, 10 million operations. Libraries
    /// have an upper case.
    fn run(limit: Option<f64>, rows: &[(&'static str, f64)]) -> CaseRun {
        let mut run = CaseRun::new(Matmul.named(&Shape::of([100, 50, 1000]).unwrap()));
        run.limits = limit.into_iter().map(took).collect();
        run.rows = rows
            .iter()
            .map(|&(id, ms)| match Matmul.rungs().iter().find(|rung| rung.id == id) {
                Some(rung) => Row::new(Entry { limit: Some(0), ..rung.entry() }, took(ms)),
                None => Row::new(library(id, id != "OpenBLAS"), took(ms)),
            })
            .collect();
        compare_with_best(&mut run);
        run
    }

    #[test]
    fn the_table_has_the_parts_of_the_limit_and_of_the_best_library() {
        let mut run = run(
            Some(1.0),
            &[("padded", 20.0), ("panels", 2.5), ("CLBlast", 10.0), ("OpenBLAS", 5.0), ("cuBLAS", 8.0)],
        );
        run.rows[1].chosen = Some(Chosen { what: "DOWN=4".to_owned(), tuned: None });
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
    fn without_a_limit_or_a_library_there_is_no_part_of_them() {
        let text = table(&run(None, &[("padded", 20.0), ("panels", 2.5)]));
        // The slowest stands for what is missing, as in other tables.
        assert!(
            text.lines().next().unwrap().ends_with("speed, multiply-adds alone = 1 | speed, padded = 1 |")
        );
        assert_eq!(text.lines().last(), Some("| `panels` | 2.50 | 1.88 | 4.00 | – | 8.00 |"));
        let text = table(&run(None, &[]));
        assert!(text.contains("| speed, – = 1 |") && text.lines().count() == 2, "{text}");
    }

    #[test]
    fn the_chart_has_a_bar_for_each_and_the_limit_as_a_line() {
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
            "limit: multiply-adds alone 1.00 ms",
            "limit: multiply-adds alone 0.500 ms",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        // A bar of twice the time is longer, and by as much on the logarithmic axis wherever it stands.
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
