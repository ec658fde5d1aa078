//! A search as a map. In: the trials of a search and a rung. Out: a [`Map`] over the two parameters with the most values,
//! the others fixed at the best.

use crate::config::{Config, Param, Tunable};
use crate::tune::{Trial, axes, best};

/// The trials of a rung, by two parameters.
#[derive(Debug)]
pub struct Map<'a, C: 'static> {
    /// The parameter that changes from column to column; none where the rung has no parameters.
    pub across: Option<&'static Param>,
    /// Its values.
    pub columns: Vec<u32>,
    /// The parameter that changes from row to row; none where the rung has only one.
    pub down: Option<&'static Param>,
    /// Its values; one where there is no such parameter.
    pub rows: Vec<u32>,
    /// Row by row; `None` is what was not tried.
    pub cells: Vec<Option<&'a Trial<C>>>,
    /// The best, or where none is exact yet the first: what the other parameters are fixed at.
    pub around: &'a Trial<C>,
}

impl<'a, C: Tunable> Map<'a, C> {
    /// The map of a rung; `None` where it was not tried.
    pub fn of(trials: &'a [Trial<C>], rung: &str) -> Option<Self> {
        let own = || trials.iter().filter(|t| t.rung == rung);
        let first = own().next()?;
        let fastest = own().filter(|t| t.ms().is_some()).min_by(|a, b| {
            let ms = |t: &Trial<C>| t.ms().unwrap_or(f64::INFINITY);
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
        let set = |config: Config<C>, param: Option<&Param>, value: u32| match param {
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
    pub fn cell(&self, column: usize, row: usize) -> Option<&'a Trial<C>> {
        self.cells.get(row * self.columns.len() + column).copied().flatten()
    }
}

/// The rungs that were tried, in the order of their first trials, and which of them has the best one.
pub fn rungs<C>(trials: &[Trial<C>]) -> (Vec<&'static str>, Option<&'static str>) {
    let mut rungs: Vec<&'static str> = Vec::new();
    for trial in trials {
        if !rungs.contains(&trial.rung) {
            rungs.push(trial.rung);
        }
    }
    (rungs, best(trials).map(|(t, _)| t.rung))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Status;
    use crate::made::{MADE, Made, config};

    fn trial(a: u32, b: u32, status: Status) -> Trial<Made> {
        Trial {
            rung: "one",
            config: config(&MADE, a, b),
            compile_ms: None,
            status,
            median_ms: None,
            noise: None,
        }
    }

    fn with_c(trial: Trial<Made>) -> Trial<Made> {
        Trial { config: trial.config.clone().with("C", 2), ..trial }
    }

    /// The time at the values of `B`, across, and of `A`, down.
    fn at(map: &Map<Made>, b: u32, a: u32) -> Option<f64> {
        let position = |values: &[u32], value: u32| values.iter().position(|v| *v == value).unwrap();
        map.cell(position(&map.columns, b), position(&map.rows, a)).and_then(Trial::ms)
    }

    #[test]
    fn cells_stand_by_their_values_and_the_rest_is_the_best_ones() {
        let trials = [
            trial(1, 8, Status::Scored(2.0)),
            trial(2, 8, Status::Failed("no".into())),
            trial(1, 32, Status::Scored(1.0)),
            trial(2, 32, Status::Scored(1.5)),
            with_c(trial(1, 16, Status::Scored(1.1))),
        ];
        let map = Map::of(&trials, "one").unwrap();
        assert_eq!((map.across.map(|p| p.name), map.down.map(|p| p.name)), (Some("B"), Some("A")));
        assert_eq!((&map.columns[..], &map.rows[..]), (&[8, 16, 32, 64][..], &[1, 2, 4][..]));
        assert_eq!((at(&map, 8, 1), at(&map, 32, 1), at(&map, 32, 2)), (Some(2.0), Some(1.0), Some(1.5)));
        assert_eq!((at(&map, 8, 2), at(&map, 64, 1)), (None, None));
        assert_eq!(at(&map, 16, 1), None, "tried with another value of C");
        assert_eq!(map.cells.iter().flatten().count(), 4);
        assert_eq!(rungs(&trials), (vec!["one"], Some("one")));
        assert!(Map::of(&trials, "two").is_none());
    }

    #[test]
    fn at_the_end_the_finalist_counts_and_not_a_lucky_run() {
        let lucky = trial(1, 8, Status::Scored(1.0));
        let finalist = Trial { median_ms: Some(1.4), ..trial(2, 16, Status::Scored(1.2)) };
        let trials = [lucky, finalist];
        assert_eq!(best(&trials).map(|(t, ms)| (t.config.get("B"), ms)), Some((16, 1.4)));
        assert_eq!(best(&trials[..1]).map(|(t, ms)| (t.config.get("B"), ms)), Some((8, 1.0)));
        assert_eq!(Map::of(&trials, "one").unwrap().around.config.get("B"), 16);
    }

    #[test]
    fn a_value_that_is_no_candidate_gets_a_place_of_its_own() {
        let trials = [trial(1, 48, Status::Scored(2.0))];
        let map = Map::of(&trials, "one").unwrap();
        assert_eq!(map.columns, [8, 16, 32, 48, 64]);
        assert_eq!(map.cells.iter().flatten().count(), 1);
    }
}
