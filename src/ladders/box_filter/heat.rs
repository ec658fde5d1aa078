//! A search as a map. In: the trials of a search and a variant. Out: a [`Map`] over the two parameters with the most
//! values, the others fixed at the best.

use crate::ladder::config::Param;
use crate::ladders::box_filter::Config;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::tune::{Trial, axes, best};

/// The trials of a variant, by two parameters.
#[derive(Debug)]
pub struct Map<'a> {
    /// The parameter that changes from column to column; none where the variant has no parameters.
    pub across: Option<&'static Param>,
    /// Its values.
    pub columns: Vec<u32>,
    /// The parameter that changes from row to row; none where the variant has only one.
    pub down: Option<&'static Param>,
    /// Its values; one where there is no such parameter.
    pub rows: Vec<u32>,
    /// Row by row; `None` is what was not tried.
    pub cells: Vec<Option<&'a Trial>>,
    /// The best, or where none is exact yet the first: what the other parameters are fixed at.
    pub around: &'a Trial,
}

impl<'a> Map<'a> {
    /// The map of a variant; `None` where it was not tried.
    pub fn of(trials: &'a [Trial], variant: VariantId) -> Option<Self> {
        let own = || trials.iter().filter(|t| t.variant == variant);
        let first = own().next()?;
        let fastest = own().filter(|t| t.ms().is_some()).min_by(|a, b| {
            let ms = |t: &Trial| t.ms().unwrap_or(f64::INFINITY);
            f64::total_cmp(&ms(a), &ms(b))
        });
        // At the end the one that goes into the cache.
        let around = own().find(|t| t.median_ms.is_some()).or(fastest).unwrap_or(first);
        let mut axes = axes(around.config.code()).into_iter();
        let (across, down) = (axes.next(), axes.next());
        let values = |param: Option<&'static Param>| {
            let Some(param) = param else { return vec![1] };
            let mut values = param.values.to_vec();
            values.push(around.config.get(param.name));
            values.sort_unstable();
            values.dedup();
            values
        };
        let (columns, rows) = (values(across), values(down));
        let set = |config: Config, param: Option<&Param>, value: u32| match param {
            Some(param) => config.with(param.name, value),
            None => config,
        };
        let mut cells = Vec::with_capacity(columns.len() * rows.len());
        for &row in &rows {
            for &column in &columns {
                let config = set(set(around.config.clone(), across, column), down, row);
                cells.push(own().find(|t| t.config == config));
            }
        }
        Some(Self { across, columns, down, rows, cells, around })
    }

    /// The cell in a column and a row.
    pub fn cell(&self, column: usize, row: usize) -> Option<&'a Trial> {
        self.cells.get(row * self.columns.len() + column).copied().flatten()
    }
}

/// The variants that were tried, in the order of their first trials, and which of them has the best one.
pub fn variants(trials: &[Trial]) -> (Vec<VariantId>, Option<VariantId>) {
    let mut ids: Vec<VariantId> = Vec::new();
    for trial in trials {
        if !ids.contains(&trial.variant) {
            ids.push(trial.variant);
        }
    }
    (ids, best(trials).map(|(t, _)| t.variant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::cl::DeviceKind;
    use crate::ladders::box_filter::tune::Status;

    fn trial(values: &[(&str, u32)], status: Status) -> Trial {
        let code = VariantId::RunningSum.kernels().unwrap().code(DeviceKind::Cpu);
        let config = values
            .iter()
            .fold(Config::of(code, DeviceKind::Cpu), |config, (name, value)| config.with(name, *value));
        Trial {
            variant: VariantId::RunningSum,
            config,
            compile_ms: 1.0,
            status,
            median_ms: None,
            noise: None,
        }
    }

    #[test]
    fn cells_stand_by_their_values_and_the_rest_is_the_best_ones() {
        let trials = [
            trial(&[], Status::Scored(2.0)),
            trial(&[("STRIP_X", 32)], Status::Failed("no".into())),
            trial(&[("QUADS", 8)], Status::Scored(1.0)),
            trial(&[("QUADS", 8), ("STRIP_X", 64)], Status::Scored(1.5)),
        ];
        let map = Map::of(&trials, VariantId::RunningSum).unwrap();
        assert_eq!(map.across.map(|p| p.name), Some("STRIP_X"));
        assert_eq!(map.down.map(|p| p.name), Some("STRIP_Y"));
        assert_eq!(map.cells.len(), map.columns.len() * map.rows.len());
        let at = |x: u32, y: u32| {
            let column = map.columns.iter().position(|v| *v == x).unwrap();
            map.cell(column, map.rows.iter().position(|v| *v == y).unwrap()).and_then(Trial::ms)
        };
        assert_eq!((at(4096, 1024), at(64, 1024)), (Some(1.0), Some(1.5)));
        assert_eq!(at(32, 1024), None, "tried with another value of QUADS");
        assert_eq!(map.cells.iter().flatten().count(), 2);
        assert_eq!(variants(&trials), (vec![VariantId::RunningSum], Some(VariantId::RunningSum)));
        assert!(Map::of(&trials, VariantId::Flat).is_none());
    }

    #[test]
    fn at_the_end_the_finalist_counts_and_not_a_lucky_run() {
        let lucky = trial(&[("STRIP_X", 32)], Status::Scored(1.0));
        let finalist = Trial { median_ms: Some(1.4), ..trial(&[("STRIP_X", 64)], Status::Scored(1.2)) };
        let trials = [lucky, finalist];
        assert_eq!(best(&trials).map(|(t, ms)| (t.config.get("STRIP_X"), ms)), Some((64, 1.4)));
        assert_eq!(best(&trials[..1]).map(|(t, ms)| (t.config.get("STRIP_X"), ms)), Some((32, 1.0)));
        let map = Map::of(&trials, VariantId::RunningSum).unwrap();
        assert_eq!(map.around.config.get("STRIP_X"), 64);
    }

    #[test]
    fn a_value_that_is_no_candidate_gets_a_place_of_its_own() {
        let trials = [trial(&[("STRIP_X", 48)], Status::Scored(2.0))];
        let map = Map::of(&trials, VariantId::RunningSum).unwrap();
        assert_eq!(map.columns, [16, 32, 48, 64, 128, 256, 4096]);
        assert_eq!(map.cells.iter().flatten().count(), 1);
    }
}
