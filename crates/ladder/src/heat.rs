//! Arranges the trials of a search (the configurations that tuning has measured) as a heat map: the times of a variant over the
//! values of two of its parameters, those with the most values. The other parameters have the values of the best configuration.

use crate::tune::{Trial, best, best_of, grid_params};
use compute::config::{Config, Param, Tunable};

/// A heat map: the trials of one variant, arranged by the values of two parameters.
#[derive(Debug)]
pub struct HeatMap<'a, C: 'static> {
    /// The parameter that changes from column to column; `None` if the variant has no parameters.
    pub column_param: Option<&'static Param>,
    /// The values of the column parameter; a single 1 if there is no such parameter.
    pub columns: Vec<u32>,
    /// The parameter that changes from row to row; `None` if the variant has fewer than two parameters.
    pub row_param: Option<&'static Param>,
    /// The values of the row parameter; a single 1 if there is no such parameter.
    pub rows: Vec<u32>,
    /// The trials in the cells of the map, row by row; `None` in a cell whose configuration was not tried.
    pub cells: Vec<Option<&'a Trial<C>>>,
    /// The best trial, or the first one if none has a time. The other parameters of all cells have the values of this trial.
    pub center: &'a Trial<C>,
}

impl<'a, C: Tunable> HeatMap<'a, C> {
    /// Creates the heat map of the trials that belong to `variant`; `None` if there are none.
    pub fn new(trials: &'a [Trial<C>], variant: &str) -> Option<Self> {
        let own = || trials.iter().filter(|t| t.variant == variant);
        let first = own().next()?;
        // After the search, this is the trial whose configuration goes into the cache.
        let center = best_of(own()).map_or(first, |(best, _)| best);
        let mut axes = grid_params(center.config.code()).into_iter();
        let (column_param, row_param) = (axes.next(), axes.next());
        let values = |param: Option<&'static Param>| {
            let Some(param) = param else { return vec![1] };
            let mut values = param.values.to_vec();
            values.push(center.config.get(param.name));
            values.sort_unstable();
            values.dedup();
            values
        };
        let (columns, rows) = (values(column_param), values(row_param));
        let set = |config: Config<C>, param: Option<&Param>, value: u32| match param {
            Some(param) => config.with(param.name, value),
            None => config,
        };
        let mut cells = Vec::with_capacity(columns.len() * rows.len());
        for &row in &rows {
            for &column in &columns {
                let config = set(set(center.config.clone(), column_param, column), row_param, row);
                cells.push(own().find(|t| t.config == config));
            }
        }
        Some(Self { column_param, columns, row_param, rows, cells, center })
    }

    /// Returns the trial in this column and row; `None` if the configuration of that cell was not tried.
    pub fn cell(&self, column: usize, row: usize) -> Option<&'a Trial<C>> {
        self.cells.get(row * self.columns.len() + column).copied().flatten()
    }
}

/// Returns the ids of the variants that have trials, in the order of their first trials, and the id of the fastest variant
/// (`None` if no trial has a time).
pub fn variants<C>(trials: &[Trial<C>]) -> (Vec<&'static str>, Option<&'static str>) {
    let mut variants: Vec<&'static str> = Vec::new();
    for trial in trials {
        if !variants.contains(&trial.variant) {
            variants.push(trial.variant);
        }
    }
    (variants, best(trials).map(|(t, _)| t.variant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{FIRST_CODE, FakeCode, config};
    use crate::tune::Status;

    fn trial(a: u32, b: u32, status: Status) -> Trial<FakeCode> {
        Trial {
            variant: "one",
            config: config(&FIRST_CODE, a, b),
            compile_ms: None,
            status,
            median_ms: None,
            is_kept: false,
            noise: None,
        }
    }

    fn with_c(trial: Trial<FakeCode>) -> Trial<FakeCode> {
        Trial { config: trial.config.clone().with("C", 2), ..trial }
    }

    /// Returns the time at the value `b` of the column parameter `B` and the value `a` of the row parameter `A`.
    fn at(map: &HeatMap<FakeCode>, b: u32, a: u32) -> Option<f64> {
        let position = |values: &[u32], value: u32| values.iter().position(|v| *v == value).unwrap();
        map.cell(position(&map.columns, b), position(&map.rows, a)).and_then(Trial::ms)
    }

    #[test]
    fn cells_have_their_values_and_other_parameters_are_fixed() {
        let trials = [
            trial(1, 8, Status::Scored(2.0)),
            trial(2, 8, Status::Failed("no".into())),
            trial(1, 32, Status::Scored(1.0)),
            trial(2, 32, Status::Scored(1.5)),
            with_c(trial(1, 16, Status::Scored(1.1))),
        ];
        let map = HeatMap::new(&trials, "one").unwrap();
        assert_eq!((map.column_param.map(|p| p.name), map.row_param.map(|p| p.name)), (Some("B"), Some("A")));
        assert_eq!((&map.columns[..], &map.rows[..]), (&[8, 16, 32, 64][..], &[1, 2, 4][..]));
        assert_eq!((at(&map, 8, 1), at(&map, 32, 1), at(&map, 32, 2)), (Some(2.0), Some(1.0), Some(1.5)));
        assert_eq!((at(&map, 8, 2), at(&map, 64, 1)), (None, None));
        assert_eq!(at(&map, 16, 1), None, "tried with another value of C");
        assert_eq!(map.cells.iter().flatten().count(), 4);
        assert_eq!(variants(&trials), (vec!["one"], Some("one")));
        assert!(HeatMap::new(&trials, "two").is_none());
        // A value outside the candidates gets a column.
        let other = [trial(1, 48, Status::Scored(2.0))];
        let map = HeatMap::new(&other, "one").unwrap();
        assert_eq!((map.columns, map.cells.iter().flatten().count()), (vec![8, 16, 32, 48, 64], 1));
    }

    #[test]
    fn a_finalist_is_preferred_to_a_lucky_run() {
        let lucky = trial(1, 8, Status::Scored(1.0));
        let finalist = Trial { median_ms: Some(1.4), ..trial(2, 16, Status::Scored(1.2)) };
        let trials = [lucky, finalist];
        assert_eq!(best(&trials).map(|(t, ms)| (t.config.get("B"), ms)), Some((16, 1.4)));
        assert_eq!(best(&trials[..1]).map(|(t, ms)| (t.config.get("B"), ms)), Some((8, 1.0)));
        assert_eq!(HeatMap::new(&trials, "one").unwrap().center.config.get("B"), 16);
    }
}
