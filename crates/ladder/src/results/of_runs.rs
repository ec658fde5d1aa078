//! Creates reports from measured cases.

use super::{ClockReport, LaunchReport, RatioReport, RowReport, RunReport, Samples, WorkReport};
use crate::Outcome;
use crate::clock_speed::ClockSpeed;
use crate::measure::Measurement;
use crate::rows::{CaseRun, Row, Throughput};
use crate::why::{DevicePeaks, Evidence};
use base::timing::noise::Noisy;
use base::verify::Checked;

impl RunReport {
    /// Creates the report of a case, with the times of each run if `has_samples` is true. `peaks` are the measured peaks of the
    /// device, if any, and `why` returns the sentences that explain a row's time.
    pub fn of(
        run: &CaseRun,
        peaks: Option<DevicePeaks>,
        why: impl Fn(&Row) -> Option<Vec<String>>,
        has_samples: bool,
    ) -> Self {
        let all = run.case.peaks.iter().zip(&run.peaks).enumerate();
        // The first peak kernel is always timed, another one only if a variant is compared with it.
        let timed =
            all.filter(|(index, (_, outcome))| *index == 0 || !matches!(outcome, Outcome::Skipped(_)));
        let row = |row: &Row| RowReport { why: why(row), ..RowReport::of(run, row, peaks, has_samples) };
        Self {
            title: run.case.title.clone(),
            case: run.case.json.clone(),
            class: None,
            peaks: timed
                .map(|(_, (peak, outcome))| RowReport::of_outcome(peak.name, outcome, has_samples))
                .collect(),
            variants: run.rows.iter().map(row).collect(),
            remark: run.remark.clone(),
            clock: Some(run.clock.json_name().to_owned()),
            clock_reason: run.clock_note(),
            clock_mhz: run.clock_speed.as_ref().ok().map(ClockReport::from),
            clock_mhz_reason: run.clock_speed.as_ref().err().cloned(),
        }
    }
}

impl RowReport {
    /// Creates a row from an outcome, with the times of each run if `has_samples` is true.
    pub fn of_outcome(id: impl Into<String>, outcome: &Outcome, has_samples: bool) -> Self {
        let times = outcome.measured();
        Self {
            outcome: outcome.word().to_owned(),
            reason: outcome.reason(),
            device_ms: times.and_then(|m| m.device),
            dispatch_ms: times.and_then(|m| m.dispatch),
            wall_ms: times.and_then(|m| m.wall),
            noisy: Noisy::from(times.and_then(Measurement::noise)),
            others: times.and_then(|m| m.others),
            samples: times.filter(|_| has_samples).map(Samples::of),
            ..Self::unknown(id)
        }
    }

    /// Creates the report of one row of the measured case `run`.
    fn of(run: &CaseRun, row: &Row, peaks: Option<DevicePeaks>, has_samples: bool) -> Self {
        let Row { entry, outcome, .. } = row;
        let times = outcome.measured();
        let per_ns = |amount: f64| times.map(|m| amount / (m.time.p50 * 1e6)).filter(|rate| rate.is_finite());
        let (gb_s, gflop_s) = match run.case.throughput {
            Throughput::Frames => (None, None),
            Throughput::Work { bytes, operations } => {
                (per_ns(bytes), per_ns(operations).filter(|rate| *rate > 0.0))
            }
        };
        // Only rows that are not variants of the ladder share an id.
        let id = if entry.extra.is_some() { entry.name.as_str() } else { entry.id };
        let base = Self::of_outcome(id, outcome, has_samples);
        Self {
            kind: Some(entry.back_end.as_str().to_owned()),
            reason: outcome.reason().or_else(|| run.clock_reason(row)),
            implementation: entry.extra.clone(),
            kernel: row.kernel.clone(),
            parameters: row.parameters.clone(),
            folder: row.folder,
            configuration: row.configuration.clone(),
            compared: run.ratio_of_folders(row).map(|ratio| RatioReport {
                ratio: ratio.estimate,
                low: ratio.low,
                high: ratio.high,
                verdict: ratio.verdict().to_string(),
            }),
            chosen: row.auto_choice.as_ref().map(|chosen| chosen.config.clone()),
            tuned: row.auto_choice.as_ref().and_then(|chosen| chosen.from_cache),
            max_error: match outcome {
                Outcome::Ok(_) => Some(row.accuracy.map_or(0.0, |accuracy| accuracy.max_error)),
                Outcome::Mismatch(report) => Some(report.max_abs_diff),
                _ => None,
            },
            bound: row.accuracy.map(|accuracy| accuracy.bound),
            gb_s,
            gflop_s,
            work: WorkReport::of(row, peaks),
            checked: match times {
                // The row has the code of a variant, which is checked; its own timed output was compared.
                Some(_) if entry.extra.is_some() => {
                    vec![Checked { sizes: vec![run.case.title.clone()], timed: true, ..Checked::default() }]
                }
                Some(_) => row.checked.clone(),
                None => Vec::new(),
            },
            ..base
        }
    }
}

impl WorkReport {
    /// Creates the report of the reads, writes and operations of a row's kernels; `None` if these are not known.
    fn of(row: &Row, peaks: Option<DevicePeaks>) -> Option<Self> {
        let work = row.work.as_ref()?;
        let peaks = peaks.unwrap_or_default();
        let rates = Evidence::of(row).and_then(|evidence| evidence.rates());
        let kernels = work.launches.iter().enumerate().map(|(index, launch)| {
            let registers = row.registers.iter().find(|kernel| kernel.kernel == launch.kernel);
            LaunchReport {
                kernel: launch.kernel.to_owned(),
                reads: launch.reads,
                writes: launch.writes,
                operations: launch.operations,
                barriers: launch.barriers,
                work_items: launch.work_items,
                group_size: launch.group_size,
                ms: row.launch_ms.get(index).copied(),
                registers: registers.map(|kernel| kernel.registers),
                spilled_bytes: registers.map(|kernel| kernel.spilled_bytes),
            }
        });
        Some(Self {
            unit: work.unit.to_owned(),
            reads_per_unit: work.reads_per_unit(),
            writes_per_unit: work.writes_per_unit(),
            bytes: work.least_bytes,
            moved_bytes: work.bytes(),
            operations: work.operations(),
            gb_s: rates.map(|rates| rates.gb_s),
            gflop_s: rates.map(|rates| rates.gflop_s).filter(|rate| *rate > 0.0),
            copy_share: rates.and_then(|rates| rates.copy_share(&peaks)),
            read_share: rates.and_then(|rates| rates.read_share(&peaks)),
            operation_share: rates.and_then(|rates| rates.operation_share(&peaks)),
            kernels: kernels.collect(),
        })
    }
}

impl From<&ClockSpeed> for ClockReport {
    fn from(speed: &ClockSpeed) -> Self {
        Self {
            mean: speed.mean.round(),
            limit: speed.limit.map(f64::round),
            min_quarter: speed.quarters.map(|(min, _)| min.round()),
            max_quarter: speed.quarters.map(|(_, max)| max.round()),
            changed: speed.change().is_some(),
            throttled: speed.throttled(),
            governor: speed.governor.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_speed_of_a_clock_as_json() {
        let speed = ClockSpeed {
            mean: 1900.4,
            limit: Some(1980.0),
            quarters: Some((1740.3, 1979.6)),
            throttle: vec!["power cap".to_owned(), "temperature".to_owned()],
            governor: None,
        };
        let want = json!({
            "mean": 1900.0, "limit": 1980.0, "min_quarter": 1740.0, "max_quarter": 1980.0, "changed": true,
            "throttled": "power cap, temperature", "governor": null,
        });
        assert_eq!(serde_json::to_value(ClockReport::from(&speed)).unwrap(), want);
        let few = ClockSpeed { limit: None, quarters: None, throttle: Vec::new(), ..speed };
        let want = json!({
            "mean": 1900.0, "limit": null, "min_quarter": null, "max_quarter": null, "changed": false,
            "throttled": null, "governor": null,
        });
        assert_eq!(serde_json::to_value(ClockReport::from(&few)).unwrap(), want);
    }
}
