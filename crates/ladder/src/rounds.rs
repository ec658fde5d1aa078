//! The benchmark of a ladder on one device. For each case every variant is checked, its time is predicted, and variants that would
//! take too long are left out. Then variants and peak kernels run in turn on the same input. Every element
//! of a variant's output is compared after its first timed run, its last one, and one between them: a variant whose output
//! differs is dropped.

use std::cell::RefCell;

use super::outcome::{VariantResult, fail};
use super::rows::{CaseRun, Row, Turn, folder_letter, not_timed};
use super::runner::{CaseBuffers, ComparedRun, Ladder, LadderRunner, PreparedVariant};
use super::{BackEnd, Outcome};
use crate::measure::{self, Sample, TaskResults, TimedTask};
use crate::variant::{Variant, Work};
use base::error::Result;
use base::timing::Series;
use base::verify::{Accuracy, Checked};
use opencl::clock_speed::{ClockReader, Reading};
use opencl::watch;

/// Options of a benchmark besides its cases and variants.
#[derive(Debug, Clone, Copy)]
pub struct BenchOptions {
    /// The number of timed rounds; each round runs all variants and peak kernels once.
    pub rounds: u32,
    /// True if the benchmark ends at the first variant that fails or whose output differs.
    pub fail_fast: bool,
    /// True if the user selected the variants by name. Otherwise variants whose runs take minutes are left out.
    pub selected_by_name: bool,
    /// True if the registers of kernels are wanted, for which they are compiled once more.
    pub registers: bool,
    /// True if each variant is checked at many small cases before it is timed. Otherwise only a first case, and the outputs of timed
    /// runs, are compared with the reference.
    pub checks: bool,
}

/// Receives the progress and the results of a benchmark.
pub trait BenchObserver {
    /// Called before each variant is checked and before each round is timed, with a description of the step.
    fn begin_step(&mut self, what: &str);

    /// Called after each round with the results so far of the case with the index `case`. Variants that have not been timed yet are
    /// [`Outcome::Skipped`] with the reason [`NOT_TIMED`](super::NOT_TIMED).
    fn update_case(&mut self, case: usize, run: CaseRun);

    /// Called before each variant is built and before each round. Returns false to end the case with the rounds so far.
    fn may_continue(&mut self) -> bool {
        true
    }
}

/// The builder of the variants, and that of the same variants from a second folder of kernels, if two folders are compared.
pub type Runners<'r, 'a, L> = (&'r LadderRunner<'a, L>, Option<&'r LadderRunner<'a, L>>);

/// The variants that take part in a benchmark.
pub type Variants<L> = [&'static Variant<<L as Ladder>::Code, <L as Ladder>::Host>];

/// Checks and times `variants` for each of `cases`, and passes the results to `observer`; the last call for a case has the complete
/// results. If there are two `runners`, each has another folder of kernels, on the same device: the kernels of
/// both folders are timed in turns, and compared ([`CaseRun::ratio_of_folders`]). The failure of a variant or peak kernel becomes its [`Outcome`]. If a whole case fails, all its rows have that failure
/// as their outcome.
pub fn run<L: Ladder>(
    runners: Runners<'_, '_, L>,
    variants: &Variants<L>,
    cases: &[L::Case],
    options: BenchOptions,
    observer: &mut dyn BenchObserver,
) {
    for (index, case) in cases.iter().enumerate() {
        let runner = runners.0;
        let run = match run_case(runners, variants, (index, case), options, observer) {
            Ok(run) => run,
            Err(error) => {
                let failed = |entry| Row::new(entry, Outcome::Failed(error.clone()));
                let rows = variants.iter().map(|variant| failed(runner.entry(variant))).collect();
                CaseRun { rows, ..CaseRun::new(runner.case(case)) }
            }
        };
        let is_wrong = run.is_wrong();
        observer.update_case(index, run);
        if is_wrong && options.fail_fast {
            break;
        }
    }
}

/// Checks and times the variants for a case, given with its index in the list of cases. Passes intermediate results to `observer`
/// and returns the complete ones.
fn run_case<L: Ladder>(
    (runner, second): Runners<'_, '_, L>,
    variants: &Variants<L>,
    (index, case): (usize, &L::Case),
    options: BenchOptions,
    observer: &mut dyn BenchObserver,
) -> Result<CaseRun> {
    let mut buffers = runner.allocate(case)?;
    let mut run = CaseRun::new(runner.case(case));
    let short = run.case.short.clone();
    let mut ready: Vec<(usize, u32, PreparedVariant<L>)> = Vec::new();
    let of_folders = variants.iter().flat_map(|&variant| match second {
        Some(second) if variant.back_end() == BackEnd::OpenCl => {
            vec![(variant, runner, Some(0)), (variant, second, Some(1))]
        }
        _ => vec![(variant, runner, None)],
    });
    for (variant, runner, folder) in of_folders {
        let mut row = Row { folder, ..Row::new(runner.entry(variant), not_timed()) };
        if let Some(folder) = folder {
            row.entry.name = format!("{} ({})", row.entry.id, folder_letter(folder));
        }
        observer.begin_step(&format!("checking {}, {short}", row.entry.id));
        let prepared = if options.fail_fast && run.is_wrong() {
            Err(Box::new(Outcome::Skipped("Something before it is wrong.".to_owned())))
        } else if !observer.may_continue() {
            Err(Box::new(not_timed()))
        } else {
            prepare_variant(runner, variant, &mut buffers, options)
        };
        match prepared {
            Ok((rounds, checked, prepared)) => {
                (row.auto_choice, row.checked) = (prepared.auto_choice.clone(), checked);
                row.kernel = runner.kernel_file(&prepared);
                row.parameters = prepared.parameters();
                row.work = runner.work(&prepared, case);
                if options.registers {
                    row.registers = runner.registers(&prepared);
                }
                ready.push((run.rows.len(), rounds, prepared));
            }
            Err(outcome) => row.outcome = *outcome,
        }
        run.rows.push(row);
    }
    if options.fail_fast && run.is_wrong() {
        return Ok(run);
    }
    // After the kernels were built, so that a driver that fails then is named with the first of them.
    run.clock = runner.clock().clone();
    // The first peak kernel is always timed, another one only if a variant is compared with it.
    let mut peaks: Vec<Option<L::Built>> = Vec::new();
    for at in 0..run.peaks.len() {
        let is_wanted = at == 0 || ready.iter().any(|(row, ..)| run.rows[*row].entry.peak == Some(at));
        let peak = is_wanted.then(|| warm_peak(runner, at, &mut buffers));
        let (outcome, peak) = match peak {
            Some(Ok(peak)) => (not_timed(), Some(peak)),
            Some(Err(outcome)) => (*outcome, None),
            None => (not_timed(), None),
        };
        run.peaks[at] = outcome;
        peaks.push(peak);
    }
    // A peak kernel runs right before the variants that are compared with it, so that the caches hold the same.
    let mut turns = vec![Turn::Peak(0)];
    for (row, ..) in &ready {
        let peak = run.rows[*row].entry.peak.map(Turn::Peak);
        turns.extend(peak.filter(|peak| !turns.contains(peak)));
        turns.push(Turn::Row(*row));
    }
    let buffers = RefCell::new(buffers);
    let exact: RefCell<Vec<(usize, Accuracy)>> = RefCell::default();
    let launches: RefCell<Vec<LaunchTimes>> = RefCell::new(vec![Vec::new(); run.rows.len()]);
    let random = number_of(&run.case.title);
    let compared = |rounds: u32| ComparedRounds::new(rounds, random);
    let task = |turn: Turn| {
        let (rounds, run) = match turn {
            Turn::Peak(at) => {
                let name = run.case.peaks[at].name.to_owned();
                (options.rounds, name_commands(name, run_peak(runner, peaks.get(at)?.as_ref()?, &buffers)))
            }
            Turn::Row(at) => {
                let (_, rounds, one) = ready.iter().find(|(row, ..)| *row == at)?;
                let name = run.rows[at].entry.name.clone();
                let run = run_variant(runner, one, &buffers, compared(*rounds), (at, &exact));
                (*rounds, name_commands(name, record_launches(run, at, &launches)))
            }
        };
        Some((turn, TimedTask { rounds, run }))
    };
    let (turns, mut tasks): (Vec<Turn>, Vec<TimedTask<Box<Outcome>>>) =
        turns.into_iter().filter_map(task).unzip();
    let mut readings: Vec<Reading> = Vec::new();
    let folder_of = |turn: &Turn| match turn {
        Turn::Row(row) => run.rows[*row].folder,
        Turn::Peak(_) => None,
    };
    let is_pair = |at: &usize| {
        let next = turns.get(at + 1);
        folder_of(&turns[*at]) == Some(0) && next.is_some_and(|next| folder_of(next) == Some(1))
    };
    let pairs: Vec<usize> = (0..turns.len()).filter(is_pair).collect();
    let with = |results: &TaskResults<Box<Outcome>>, readings: &[Reading]| CaseRun {
        clock_speed: runner.clock_speed(readings),
        ..run.with(&turns, results, &exact.borrow())
    };
    let results = measure::alternate_pairs(options.rounds, &mut tasks, &pairs, |round, results| {
        // The reading before the first round belongs to the warm-up, and counts only if it is the only one. The others follow right
        // after the last run of a round, before the device slows down.
        if round == 1 {
            readings.clear();
        }
        readings.extend(runner.clock_reader.iter().filter_map(ClockReader::read));
        if round > 0 {
            observer.update_case(index, with(results, &readings));
        }
        if !observer.may_continue() {
            return Ok(false);
        }
        observer.begin_step(&format!("timing {short}, round {}", round + 1));
        let is_compared = ready.iter().any(|(_, rounds, _)| compared(*rounds).contains(round));
        runner.load_round(round, is_compared, &mut buffers.borrow_mut()).map(|()| true)
    })?;
    let mut run = with(&results, &readings);
    if let Some(cl) = &runner.cl {
        run.require_resolved(cl.clock());
    }
    drop(tasks);
    for (row, times) in run.rows.iter_mut().zip(launches.into_inner()) {
        row.launch_ms = medians(times);
    }
    let remark = runner.remark(&run);
    Ok(CaseRun { remark, ..run })
}

/// Builds and checks a variant. Returns the number of rounds in which the variant is to be timed, the comparisons made, and the
/// built variant.
fn prepare_variant<L: Ladder>(
    runner: &LadderRunner<L>,
    variant: &'static Variant<L::Code, L::Host>,
    buffers: &mut CaseBuffers<L>,
    options: BenchOptions,
) -> VariantResult<(u32, Vec<Checked>, PreparedVariant<L>)> {
    let prepared = runner.prepare(variant, buffers)?;
    let _watchdog = watch::step("a variant is checked", prepared.predicted_ms);
    let rounds = measure::rounds_for(prepared.predicted_ms, options.rounds, options.selected_by_name);
    let rounds = rounds.map_err(|why| Box::new(Outcome::Skipped(why)))?;
    let checked = match variant.work {
        // An extra host variant is the code of a variant that is checked already.
        Work::ExtraHost(..) => Vec::new(),
        _ if !options.checks => Vec::new(),
        _ => runner.check(variant.id, &prepared, buffers)?,
    };
    Ok((rounds, checked, prepared))
}

/// Builds the peak kernel with the index `index` in [`LadderInfo::peaks`](super::runner::LadderInfo::peaks), runs it once as a
/// warm-up, and returns it.
fn warm_peak<L: Ladder>(
    runner: &LadderRunner<L>,
    index: usize,
    buffers: &mut CaseBuffers<L>,
) -> VariantResult<L::Built> {
    let peak = runner.peak(index, buffers)?;
    runner.run(&peak, buffers).map_err(fail)?;
    Ok(peak)
}

/// The function that runs a [`TimedTask`] once.
type Run<'a> = Box<dyn FnMut(Option<u32>) -> VariantResult<Sample> + 'a>;

/// The times of a variant's launches in milliseconds, in each timed round.
type LaunchTimes = Vec<Vec<f64>>;

/// Returns a function that does `run`, and adds the times of its launches to those of the row with the index `row`.
fn record_launches<'a>(mut run: Run<'a>, row: usize, launches: &'a RefCell<Vec<LaunchTimes>>) -> Run<'a> {
    Box::new(move |round| {
        let sample = run(round)?;
        if let (Some(_), Some(times)) = (round, launches.borrow_mut().get_mut(row)) {
            times.push(measure::last_commands_ms());
        }
        Ok(sample)
    })
}

/// Returns a function that does `run`, whose commands have this name in traces.
fn name_commands(name: String, mut run: Run<'_>) -> Run<'_> {
    Box::new(move |round| measure::named(&name, || run(round)))
}

/// Returns the median time of each launch; empty if rounds have different launches, or none have times.
fn medians(rounds: LaunchTimes) -> Vec<f64> {
    let count = rounds.first().map_or(0, Vec::len);
    if rounds.iter().any(|round| round.len() != count) {
        return Vec::new();
    }
    let of_launch = |at: usize| rounds.iter().map(|round| round[at]).collect::<Vec<_>>();
    (0..count).filter_map(|at| Series::of(&of_launch(at)).map(|series| series.p50)).collect()
}

/// The rounds in which the output of a variant is compared: the first one, the last one, and one between them.
#[derive(Debug, Clone, Copy)]
struct ComparedRounds {
    middle: u32,
    last: u32,
}

impl ComparedRounds {
    /// Chooses among the rounds of a variant; `random` decides which one is compared between the first and the last.
    fn new(rounds: u32, random: u32) -> Self {
        let last = rounds.saturating_sub(1);
        let middle = if last > 1 { 1 + random % (last - 1) } else { last };
        Self { middle, last }
    }

    fn contains(self, round: u32) -> bool {
        [0, self.middle, self.last].contains(&round)
    }
}

/// Returns a number that differs from title to title without a pattern, and is the same whenever a benchmark is repeated.
fn number_of(title: &str) -> u32 {
    // The hash function FNV-1a.
    title.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Returns the function that runs a peak kernel once as a timed task.
fn run_peak<'a, L: Ladder>(
    runner: &'a LadderRunner<L>,
    one: &'a L::Built,
    buffers: &'a RefCell<CaseBuffers<L>>,
) -> Run<'a> {
    Box::new(move |_| runner.run(one, &mut buffers.borrow_mut()).map_err(fail))
}

/// Returns the function that runs a variant once as a timed task. In the rounds `compared` it also compares the output with the
/// reference, and keeps the worst accuracy in `exact`, with the row's index.
fn run_variant<'a, L: Ladder>(
    runner: &'a LadderRunner<L>,
    PreparedVariant { built, predicted_ms, .. }: &'a PreparedVariant<L>,
    buffers: &'a RefCell<CaseBuffers<L>>,
    compared: ComparedRounds,
    (row, exact): (usize, &'a RefCell<Vec<(usize, Accuracy)>>),
) -> Run<'a> {
    Box::new(move |round| {
        let _watchdog = watch::step("a variant is timed", *predicted_ms);
        let buffers = &mut buffers.borrow_mut();
        let Some(round) = round.filter(|round| compared.contains(*round)) else {
            return runner.run(built, buffers).map_err(fail);
        };
        // The last round overwrites the memory, so that a variant that writes nothing any more is found, too.
        let keeps_memory = ![0, compared.last].contains(&round);
        let this = ComparedRun { round: Some(round), keeps_memory };
        let (sample, accuracy) = runner.run_compared_in(this, built, buffers)?;
        if let Some(accuracy) = accuracy {
            let mut exact = exact.borrow_mut();
            match exact.iter_mut().find(|(known, _)| *known == row) {
                Some((_, worst)) if worst.max_error >= accuracy.max_error => {}
                Some((_, worst)) => *worst = accuracy,
                None => exact.push((row, accuracy)),
            }
        }
        Ok(sample)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Behaviour, CORRECT, FakeLadder, NO_MEMORY_CASE, TIMED_CASE, device};
    use crate::trial::Child;
    use opencl::sources::Sources;
    use testkit::movie::Folder;

    /// Returns the behaviour of a variant by its name.
    fn by_name(name: &str, _: u32, _: u32) -> Behaviour {
        match name {
            "slow" => Behaviour { runs_ms: &[1e6], ..CORRECT },
            "half a minute" => Behaviour { runs_ms: &[3e4], ..CORRECT },
            "wrong" => Behaviour { wrong: "run", ..CORRECT },
            "unbuilt" => Behaviour { wrong: "build", ..CORRECT },
            "broken" => Behaviour { runs: 2, ..CORRECT },
            "cached" => Behaviour { wrong: "cache", ..CORRECT },
            "once" => Behaviour { wrong: "once", ..CORRECT },
            _ => CORRECT,
        }
    }

    #[derive(Default)]
    struct RecordingObserver {
        steps: usize,
        runs: Vec<(usize, CaseRun)>,
    }

    impl BenchObserver for RecordingObserver {
        fn begin_step(&mut self, _: &str) {
            self.steps += 1;
        }

        fn update_case(&mut self, case: usize, run: CaseRun) {
            self.runs.push((case, run));
        }
    }

    /// Runs a benchmark; returns the observer's records, and the recorded calls of the fake ladder.
    fn run_benchmark(
        names: &[&str],
        cases: &[u32],
        options: BenchOptions,
    ) -> (RecordingObserver, Vec<String>) {
        let ladder = FakeLadder::new(by_name);
        let mut observer = RecordingObserver::default();
        run_ladder(&ladder, None, (names, cases), options, &mut observer);
        (observer, ladder.calls.take())
    }

    /// Runs a benchmark of a ladder, with a reader of the clock in place of the device's if there is one.
    fn run_ladder(
        ladder: &FakeLadder,
        clock: Option<ClockReader>,
        (names, cases): (&[&str], &[u32]),
        options: BenchOptions,
        observer: &mut dyn BenchObserver,
    ) {
        let device = device();
        let mut child = Child::new("made", None);
        let mut runner = LadderRunner::new(ladder, Some(&device), Sources::default(), &mut child);
        if let Some(clock) = clock {
            runner.clock_reader = Ok(clock);
        }
        let variant = |name: &&str| ladder.variants().iter().find(|variant| variant.id == *name).unwrap();
        let variants: Vec<_> = names.iter().map(variant).collect();
        run((&runner, None), &variants, cases, options, observer);
    }

    fn run_three_rounds(names: &[&str], cases: &[u32], fail_fast: bool) -> (RecordingObserver, Vec<String>) {
        run_benchmark(
            names,
            cases,
            BenchOptions { rounds: 3, fail_fast, selected_by_name: false, registers: false, checks: true },
        )
    }

    fn words(run: &CaseRun) -> Vec<&'static str> {
        run.rows.iter().map(|row| row.outcome.word()).collect()
    }

    #[test]
    fn tasks_run_in_turn_and_first_runs_are_compared() {
        let (observer, calls) = run_three_rounds(&["good", "wrong", "slow"], &[TIMED_CASE], false);
        let checked = |name| {
            let steps = ["build", "look", "run", "run", "look", "check"];
            steps.map(|step| format!("{step} {name}")).join(", ")
        };
        let want = [
            &checked("good"),
            &checked("wrong"),
            "build slow, look slow, run slow, build peak, run peak",
            "next 0, run peak, poison good, run good, poison wrong, run wrong",
            "next 1, run peak, run good, next 2, run peak, poison good, run good",
        ];
        assert_eq!(
            calls.join(", "),
            want.join(", "),
            "what is slow is not even checked, and what differs drops out"
        );
        assert_eq!((observer.steps, observer.runs.len()), (3 + 3, 3), "observer after each round");
        let (_, last) = &observer.runs[2];
        assert_eq!(words(last), ["ok", "mismatch", "skipped"]);
        assert_eq!(last.peaks[0].measured().map(|m| m.time.n), Some(3));
        assert!(matches!(last.peaks[1], Outcome::Skipped(_)), "nobody has asked for it");
        let Outcome::Mismatch(report) = &last.rows[1].outcome else { panic!("{:?}", last.rows) };
        assert_eq!(report.case, "case 9, as it is timed in round 1");
        let times = |index: usize| observer.runs[index].1.rows[0].outcome.measured().map(|m| m.time.n);
        assert_eq!([times(0), times(1), times(2)], [Some(1), Some(2), Some(3)]);
        let sizes: Vec<_> =
            last.rows[0].checked.iter().map(|one| (one.timed, one.sizes.join(", "))).collect();
        assert_eq!(sizes, [(true, "case 9".to_owned()), (false, "case 0, case 1".to_owned())]);
    }

    #[test]
    fn variants_that_take_minutes_are_left_out_unless_selected() {
        let run_with = |selected_by_name| {
            let options = BenchOptions {
                rounds: 3,
                fail_fast: false,
                selected_by_name,
                registers: false,
                checks: true,
            };
            let (observer, calls) = run_benchmark(&["good", "half a minute", "slow"], &[TIMED_CASE], options);
            let run = observer.runs.last().unwrap().1.clone();
            (run, calls.contains(&"poison half a minute".to_owned()))
        };
        let (left_out, has_run) = run_with(false);
        assert_eq!((words(&left_out).as_slice(), has_run), (&["ok", "skipped", "skipped"][..], false));
        let reason = |run: &CaseRun, row: usize| run.rows[row].outcome.reason().unwrap();
        assert_eq!(reason(&left_out, 1), "One run would take about 30 s. It is timed if --variant names it.");
        let (named, has_run) = run_with(true);
        assert_eq!((words(&named).as_slice(), has_run), (&["ok", "ok", "skipped"][..], true));
        assert_eq!(reason(&named, 2), "One run would take about 1000 s.", "in no case");
    }

    #[test]
    fn a_failure_affects_its_variant_only() {
        let (observer, _) =
            run_three_rounds(&["unbuilt", "broken", "good"], &[NO_MEMORY_CASE, TIMED_CASE], false);
        let of = |case| &observer.runs.iter().rfind(|(of, _)| *of == case).unwrap().1;
        assert_eq!(words(of(0)), ["failed"; 3], "nothing of a case without memory");
        assert_eq!(words(of(1)), ["failed", "failed", "ok"]);
        let peaks: Vec<_> = of(1).peaks.iter().map(Outcome::word).collect();
        assert_eq!(peaks, ["ok", "skipped"]);
    }

    #[test]
    fn fail_fast_stops_at_the_first_failure() {
        let (early, calls) =
            run_three_rounds(&["good", "unbuilt", "broken"], &[TIMED_CASE, TIMED_CASE], true);
        assert_eq!((early.runs.len(), words(&early.runs[0].1)), (1, vec!["skipped", "failed", "skipped"]));
        assert!(!calls.iter().any(|line| line.starts_with("poison") || line.ends_with("broken")));
        let (late, _) = run_three_rounds(&["good", "wrong"], &[TIMED_CASE, TIMED_CASE], true);
        assert!(late.runs.iter().all(|(case, _)| *case == 0));
        assert_eq!(words(&late.runs.last().unwrap().1), ["ok", "mismatch"]);
        let (on, _) = run_three_rounds(&["good", "wrong"], &[TIMED_CASE, TIMED_CASE], false);
        assert!(on.runs.iter().any(|(case, _)| *case == 1));
    }

    #[test]
    fn variants_that_are_right_in_the_first_round_only_are_found() {
        const ROUNDS: u32 = 9;
        let compared = ComparedRounds::new(ROUNDS, number_of("case 9"));
        assert!((1..ROUNDS - 1).contains(&compared.middle) && compared.last == ROUNDS - 1);
        // Returns the rounds in which the outputs of the variants were wrong.
        let rounds_of_mismatches = |has_one_input| {
            let ladder = FakeLadder { has_one_input, ..FakeLadder::new(by_name) };
            let mut observer = RecordingObserver::default();
            let options = BenchOptions {
                rounds: ROUNDS,
                fail_fast: false,
                selected_by_name: false,
                registers: false,
                checks: true,
            };
            run_ladder(&ladder, None, (&["good", "once", "cached"], &[TIMED_CASE]), options, &mut observer);
            let (_, run) = observer.runs.pop().unwrap();
            let round = |outcome: &Outcome| match outcome {
                Outcome::Ok(_) => None,
                Outcome::Mismatch(report) => {
                    let number = report.case.strip_prefix("case 9, as it is timed in round ").unwrap();
                    Some(number.parse::<u32>().unwrap() - 1)
                }
                other => panic!("{other:?}"),
            };
            run.rows.iter().map(|row| round(&row.outcome)).collect::<Vec<_>>()
        };
        let ComparedRounds { middle, last } = compared;
        assert_eq!(
            rounds_of_mismatches(false),
            [None, Some(last), Some(middle)],
            "the output of the variant before remains until the last round"
        );
        assert_eq!(rounds_of_mismatches(true), [None, Some(middle), None]);
    }

    #[test]
    fn the_round_between_the_first_and_the_last_varies() {
        let middle = |title: &str| ComparedRounds::new(30, number_of(title)).middle;
        let mut all: Vec<u32> = (0..40).map(|size| middle(&format!("{size} numbers"))).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 15 && *all.first().unwrap() >= 1 && *all.last().unwrap() <= 28, "{all:?}");
        for rounds in 0..4 {
            let compared = ComparedRounds::new(rounds, 5);
            assert!((0..rounds).all(|round| compared.contains(round)), "{rounds}: {compared:?}");
        }
    }

    /// Writes the speed of the processors' clock before each round.
    struct Governor<'a> {
        folder: &'a Folder,
        speeds_mhz: &'a [u32],
        round: usize,
        last: Option<CaseRun>,
    }

    impl BenchObserver for Governor<'_> {
        fn begin_step(&mut self, step: &str) {
            if step.starts_with("timing") {
                let khz = self.speeds_mhz[self.round] * 1000;
                self.folder.with(SPEED, khz.to_string().as_bytes());
                self.round += 1;
            }
        }

        fn update_case(&mut self, _: usize, run: CaseRun) {
            self.last = Some(run);
        }
    }

    const SPEED: &str = "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";

    #[test]
    fn a_clock_that_drifts_is_reported() {
        let folder = Folder::new("clock-drift");
        let speed = |speeds_mhz: &[u32]| {
            folder.with(SPEED, b"500000");
            folder.with(&SPEED.replace("scaling_cur", "cpuinfo_max"), b"2500000");
            let clock = ClockReader::of_processors(&folder.file("")).unwrap();
            let options = BenchOptions {
                rounds: speeds_mhz.len() as u32,
                fail_fast: false,
                selected_by_name: false,
                registers: false,
                checks: true,
            };
            let mut governor = Governor { folder: &folder, speeds_mhz, round: 0, last: None };
            run_ladder(
                &FakeLadder::new(by_name),
                Some(clock),
                (&["good"], &[TIMED_CASE]),
                options,
                &mut governor,
            );
            governor.last.unwrap().clock_speed.unwrap()
        };
        // The speed of 500 MHz before the first round is left out, and so is that of the last round, after which none follows.
        let steady = speed(&[2000, 2040, 2000, 2040, 2000, 2040, 2000, 2040, 1]);
        assert_eq!((steady.mean, steady.limit, steady.change()), (2020.0, Some(2500.0), None));
        assert_eq!(steady.notes(), ["clock 2,020 MHz of 2,500"]);
        let drift = speed(&[2000, 2000, 2000, 2000, 2000, 1800, 1760, 1760, 1]);
        assert_eq!(drift.quarters, Some((1760.0, 2000.0)));
        assert_eq!(
            drift.notes()[1],
            "The clock changed by 12 % while this was timed (1,760 to 2,000 MHz): times are noisy."
        );
        let few = speed(&[2000, 1000, 1]);
        assert_eq!((few.mean, few.quarters, few.change()), (1500.0, None, None));
        assert_eq!(speed(&[2000]).mean, 500.0, "the only reading");
    }
}
