//! The benchmark of a ladder on one device. For each case, every variant is checked and its time is predicted; variants that
//! would take too long are not timed. Then variants and peak kernels run in turn on the same input. Every element of a
//! variant's output is compared with the reference after three of its timed runs: the first, the last, and one between them. A
//! variant whose output differs is dropped. The caller requests one step after the other, and may stop after each.

use super::Outcome;
use super::outcome::{VariantResult, fail};
use super::rows::{CaseRun, Row, Turn, folder_letter};
use super::runner::{CaseBuffers, Ladder, LadderRunner, PreparedVariant, describe_case};
use crate::clock_speed::ClockSpeed;
use crate::measure::{self, Alternation};
use base::device::Reading;
use base::error::Result;
use base::timing::Series;
use base::verify::{Accuracy, Checked};
use compute::BackEnd;
use compute::sample::{Sample, last_commands_ms, named};
use compute::variant::{Variant, Work};
use opencl::clock_speed::ClockReader;
use opencl::watch;

/// The options of a benchmark apart from its cases and variants.
#[derive(Debug, Clone, Copy)]
pub struct BenchOptions {
    /// The number of timed rounds; each round runs all variants and peak kernels once.
    pub rounds: u32,
    /// True if the benchmark ends at the first variant that fails or whose output differs.
    pub fail_fast: bool,
    /// True if the user selected the variants by name. Otherwise variants whose runs take minutes are not timed.
    pub selected_by_name: bool,
    /// True if the number of registers of each kernel is requested. The kernels are compiled once more to determine it.
    pub registers: bool,
    /// True if each variant is checked at many small cases before it is timed. If false, the output is compared with the
    /// reference only at the first small case and after some timed runs.
    pub checks: bool,
}

/// A benchmark of a ladder's variants on one device; [`case`](Self::case) begins it for one case.
pub struct Benchmark<'b, 'a, L: Ladder> {
    /// The runner that builds, checks and runs the variants on the device.
    pub runner: &'b LadderRunner<'a, L>,
    /// The runner that builds the same variants from a second folder of kernels; `None` unless two folders are compared. The
    /// kernels of both folders are timed in turn ([`CaseRun::ratio_of_folders`]).
    pub second: Option<&'b LadderRunner<'a, L>>,
    /// The variants of the ladder that the benchmark checks and times.
    pub variants: &'b [&'static Variant<L::Code, L::Host>],
    /// The number of rounds and other options.
    pub options: BenchOptions,
}

/// The variant of a row, the runner that builds it, and the index of its folder of kernels (`None` unless two folders are
/// compared).
type RowVariant<'b, 'a, L> =
    (&'static Variant<<L as Ladder>::Code, <L as Ladder>::Host>, &'b LadderRunner<'a, L>, Option<usize>);

/// The benchmark of one case, made in steps. A step checks one variant, or times one round of all variants. The failure of a
/// variant or peak kernel becomes its [`Outcome`]. If the whole case fails, that failure is the outcome of all rows.
pub struct CaseBench<'b, 'a, L: Ladder> {
    runner: &'b LadderRunner<'a, L>,
    options: BenchOptions,
    case: &'b L::Case,
    buffers: Result<CaseBuffers<L>>,
    /// The results of the checks. The results of the timed rounds are in `timing`.
    run: CaseRun,
    /// The variant of each row, including the variants that have not been checked yet.
    variants: Vec<RowVariant<'b, 'a, L>>,
    ready: Vec<Ready<L>>,
    /// The compiled peak kernels, by their index in the case's list; `None` for a peak kernel that is not needed or has failed.
    peaks: Vec<Option<L::Built>>,
    /// The state of the timed rounds; `None` until all variants have been checked.
    timing: Option<Timing>,
}

/// A variant that has passed its checks and will be timed.
struct Ready<L: Ladder> {
    /// The index of the variant's row.
    row: usize,
    compared: ComparedRounds,
    prepared: PreparedVariant<L>,
}

/// The state of the timed rounds.
struct Timing {
    /// The peak kernels and rows in the order in which they run in a round.
    turns: Vec<Turn>,
    alternation: Alternation<Box<Outcome>>,
    /// The index of the next round.
    round: u32,
    readings: Vec<Reading>,
    /// The times of the kernel launches of each row.
    launches: Vec<LaunchTimes>,
}

/// The times of a variant's kernel launches in milliseconds: for each timed round, the list of its launches.
type LaunchTimes = Vec<Vec<f64>>;

impl<'b, 'a, L: Ladder> Benchmark<'b, 'a, L> {
    /// Creates the benchmark of a case; no step has been made yet.
    pub fn case(&self, case: &'b L::Case) -> CaseBench<'b, 'a, L> {
        let Self { runner, second, variants, options } = *self;
        let variants = variants.iter().flat_map(|&variant| match second {
            Some(second) if variant.back_end() == BackEnd::OpenCl => {
                vec![(variant, runner, Some(0)), (variant, second, Some(1))]
            }
            _ => vec![(variant, runner, None)],
        });
        CaseBench {
            runner,
            options,
            case,
            buffers: runner.allocate(case),
            run: CaseRun::new(describe_case(runner.ladder, case)),
            variants: variants.collect(),
            ready: Vec::new(),
            peaks: Vec::new(),
            timing: None,
        }
    }
}

impl<L: Ladder> CaseBench<'_, '_, L> {
    /// Returns a description of the next step, for progress displays; `None` if all steps are done.
    pub fn next_step(&self) -> Option<String> {
        let short = &self.run.case.short;
        match (&self.timing, self.variants.get(self.run.rows.len())) {
            _ if self.buffers.is_err() => None,
            (Some(timing), _) => (timing.round < self.options.rounds)
                .then(|| format!("timing {short}, round {}", timing.round + 1)),
            (None, next) => next.map(|(variant, ..)| format!("checking {}, {short}", variant.id)),
        }
    }

    /// Makes the next step. After a timed round other than the last, returns the results so far; after any other step, `None`.
    /// In these results, variants that have not been timed yet are [`Outcome::Skipped`] with the reason
    /// [`NOT_TIMED`](super::NOT_TIMED).
    pub fn step(&mut self) -> Option<CaseRun> {
        let timed = match &self.timing {
            Some(_) => self.time_round(),
            None => {
                self.check_next();
                Ok(None)
            }
        };
        timed.unwrap_or_else(|error| {
            self.buffers = Err(error);
            None
        })
    }

    /// Returns the complete results. Call it after the last step, or to end the benchmark early.
    pub fn finish(mut self) -> CaseRun {
        if let Err(error) = &self.buffers {
            let failed = |entry| Row::new(entry, Outcome::Failed(error.clone()));
            let mut rows: Vec<Row> = Vec::new();
            for (variant, runner, folder) in &self.variants {
                rows.extend(folder.is_none_or(|at| at == 0).then(|| failed(runner.entry(variant))));
            }
            return CaseRun { rows, ..CaseRun::new(self.run.case) };
        }
        for at in self.run.rows.len()..self.variants.len() {
            self.run.rows.push(self.row(at));
        }
        let Some(mut timing) = self.timing.take() else { return self.run };
        timing.alternation.finish();
        let mut run = self.results(&timing);
        if let Some(cl) = &self.runner.cl {
            run.require_resolved(cl.clock());
        }
        for (row, times) in run.rows.iter_mut().zip(timing.launches) {
            row.launch_ms = medians(times);
        }
        let kind = self.runner.cl.as_ref().map(|cl| cl.device.info.kind);
        let remark = (self.runner.ladder.info().remark)(kind, &run);
        CaseRun { remark, ..run }
    }

    /// Creates the row with the index `at`, without results.
    fn row(&self, at: usize) -> Row {
        let (variant, runner, folder) = self.variants[at];
        let mut row = Row { folder, ..Row::new(runner.entry(variant), Outcome::default()) };
        if let Some(folder) = folder {
            row.entry.name = format!("{} ({})", row.entry.id, folder_letter(folder));
        }
        row
    }

    /// Builds and checks the next variant. After the last variant, builds the peak kernels and begins the timed rounds.
    fn check_next(&mut self) {
        let (at, options) = (self.run.rows.len(), self.options);
        let (variant, runner, _) = self.variants[at];
        let mut row = self.row(at);
        let Ok(buffers) = &mut self.buffers else { return };
        let prepared = if options.fail_fast && self.run.is_wrong() {
            Err(Box::new(Outcome::Skipped("Something before it is wrong.".to_owned())))
        } else {
            prepare_variant(runner, variant, buffers, options)
        };
        match prepared {
            Ok((rounds, checked, prepared)) => {
                row.checked = checked;
                prepared.describe(runner, self.case, options.registers, &mut row);
                let compared = ComparedRounds::new(rounds, number_of(&self.run.case.title));
                self.ready.push(Ready { row: at, compared, prepared });
            }
            Err(outcome) => row.outcome = *outcome,
        }
        self.run.rows.push(row);
        if self.run.rows.len() == self.variants.len() && !(options.fail_fast && self.run.is_wrong()) {
            self.begin_rounds();
        }
    }

    /// Builds the peak kernels and determines the order in which they and the variants run in a round.
    fn begin_rounds(&mut self) {
        let Ok(buffers) = &mut self.buffers else { return };
        // Read after the kernels are built, so that an error of a driver that fails then names the first of them.
        self.run.clock = self.runner.clock().clone();
        let peak_of = |ready: &Ready<L>| self.run.rows[ready.row].entry.peak;
        // A peak kernel runs right before the variants that are compared with it, so that the caches have the same contents.
        // The first one is always timed, another one only if a variant is compared with it.
        let mut turns = vec![Turn::Peak(0)];
        for ready in &self.ready {
            let peak = peak_of(ready).map(Turn::Peak);
            turns.extend(peak.filter(|peak| !turns.contains(peak)));
            turns.push(Turn::Row(ready.row));
        }
        for (at, outcome) in self.run.peaks.iter_mut().enumerate() {
            let warm = || -> VariantResult<L::Built> {
                let peak = self.runner.peak(at, buffers)?;
                self.runner.run(&peak, buffers).map_err(fail)?;
                Ok(peak)
            };
            let warmed = turns.contains(&Turn::Peak(at)).then(warm).transpose();
            self.peaks.push(warmed.unwrap_or_else(|why| {
                *outcome = *why;
                None
            }));
        }
        let is_missing = |at: &usize| self.peaks.get(*at).is_none_or(Option::is_none);
        turns.retain(|turn| !matches!(turn, Turn::Peak(at) if is_missing(at)));
        let rounds = turns.iter().map(|turn| match turn {
            Turn::Peak(_) => self.options.rounds,
            Turn::Row(row) => {
                self.ready.iter().find(|ready| ready.row == *row).map_or(0, |it| it.compared.rounds)
            }
        });
        let folder_of = |turn: Option<&Turn>| match turn {
            Some(Turn::Row(row)) => self.run.rows[*row].folder,
            _ => None,
        };
        let is_pair =
            |at: &usize| [folder_of(turns.get(*at)), folder_of(turns.get(at + 1))] == [Some(0), Some(1)];
        let pairs = (0..turns.len()).filter(is_pair).collect();
        let alternation = Alternation::new(rounds.collect(), pairs);
        // The reading before the first round belongs to the warm-up, and counts only if it is the only one.
        let readings = self.read_clock();
        let launches = vec![Vec::new(); self.run.rows.len()];
        self.timing = Some(Timing { turns, alternation, round: 0, readings, launches });
    }

    fn read_clock(&self) -> Vec<Reading> {
        self.runner.clock_reader.iter().filter_map(ClockReader::read).collect()
    }

    fn results(&self, timing: &Timing) -> CaseRun {
        let clock_speed = ClockSpeed::new(&self.runner.clock_reader, &timing.readings);
        CaseRun { clock_speed, ..self.run.with(&timing.turns, &timing.alternation.results) }
    }

    /// Runs all variants and peak kernels of a round once. Returns the results so far, or `None` after the last round.
    fn time_round(&mut self) -> Result<Option<CaseRun>> {
        let (Some(mut timing), Ok(buffers)) = (self.timing.take(), &mut self.buffers) else {
            return Ok(None);
        };
        let round = timing.round;
        let is_compared = self.ready.iter().any(|ready| ready.compared.contains(round));
        self.runner.load_round(round, is_compared, buffers)?;
        let Timing { turns, alternation, launches, .. } = &mut timing;
        let Self { runner, ready, peaks, run, .. } = self;
        alternation.round(round, |at, round| match turns[at] {
            Turn::Peak(at) => {
                let Some(peak) = &peaks[at] else { return Err(Box::new(Outcome::default())) };
                named(run.case.peaks[at].name, || runner.run(peak, buffers)).map_err(fail)
            }
            Turn::Row(row) => {
                let ready = ready.iter().find(|ready| ready.row == row);
                let Some(ready) = ready else { return Err(Box::new(Outcome::default())) };
                let Row { entry, accuracy: worst, .. } = &mut run.rows[row];
                let (sample, accuracy) = named(&entry.name, || ready.run(runner, round, buffers))?;
                if round.is_some() {
                    launches[row].push(last_commands_ms());
                }
                let is_worse =
                    |accuracy: &Accuracy| worst.is_none_or(|worst| accuracy.max_error > worst.max_error);
                *worst = accuracy.filter(is_worse).or(*worst);
                Ok(sample)
            }
        });
        timing.round += 1;
        let is_last = timing.round >= self.options.rounds;
        if !is_last {
            if round == 0 {
                timing.readings.clear();
            }
            // Right after the last run of the round, before the device slows down.
            timing.readings.extend(self.read_clock());
        }
        let results = (!is_last).then(|| self.results(&timing));
        self.timing = Some(timing);
        Ok(results)
    }
}

impl<L: Ladder> Ready<L> {
    /// Runs the variant once. In the [rounds whose output is compared](ComparedRounds), also compares the output with the
    /// reference. Returns the accuracy if the output was compared and need not be exact.
    fn run(
        &self,
        runner: &LadderRunner<L>,
        round: Option<u32>,
        buffers: &mut CaseBuffers<L>,
    ) -> VariantResult<(Sample, Option<Accuracy>)> {
        let PreparedVariant { built, predicted_ms, .. } = &self.prepared;
        let _watchdog = watch::step("a variant is timed", *predicted_ms);
        let Some(round) = round.filter(|round| self.compared.contains(*round)) else {
            return runner.run(built, buffers).map(|sample| (sample, None)).map_err(fail);
        };
        // The last round overwrites the memory, so that a variant that stops writing is detected, too.
        let keeps_memory = ![0, self.compared.last].contains(&round);
        runner.run_compared((Some(round), keeps_memory), built, buffers)
    }
}

/// Builds and checks a variant. Returns the number of rounds in which the variant will be timed, the comparisons with the
/// reference that it has passed, and the built variant.
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
        // An extra host variant has the code of a variant that is checked already.
        Work::ExtraHost(..) => Vec::new(),
        _ if !options.checks => Vec::new(),
        _ => runner.check(variant.id, &prepared, buffers)?,
    };
    Ok((rounds, checked, prepared))
}

/// Returns the median time of each launch over all rounds; empty if rounds have different numbers of launches, or no times are
/// known.
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
    /// The number of rounds of the variant.
    rounds: u32,
    middle: u32,
    last: u32,
}

impl ComparedRounds {
    /// Chooses the rounds whose output is compared, of a variant with `rounds` rounds. The number `random` determines the one
    /// between the first and the last.
    fn new(rounds: u32, random: u32) -> Self {
        let last = rounds.saturating_sub(1);
        let middle = if last > 1 { 1 + random % (last - 1) } else { last };
        Self { rounds, middle, last }
    }

    fn contains(self, round: u32) -> bool {
        [0, self.middle, self.last].contains(&round)
    }
}

/// Returns a hash of a case's title, for choosing the compared rounds. Similar titles have unrelated hashes, and equal titles
/// always have the same one.
fn number_of(title: &str) -> u32 {
    // The hash function FNV-1a.
    title.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Behaviour, CORRECT, FakeLadder, NO_MEMORY_CASE, TIMED_CASE, device};
    use compute::trial::Child;
    use opencl::sources::Sources;
    use testkit::movie::Folder;

    /// Returns the behaviour of the fake variant with this name.
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

    /// A record of a benchmark: the number of its steps, and each update of the results with the index of its case.
    #[derive(Default)]
    struct Record {
        steps: usize,
        runs: Vec<(usize, CaseRun)>,
    }

    /// Runs a benchmark of the named fake variants; returns its record, and the calls that the fake ladder has recorded.
    fn run_benchmark(names: &[&str], cases: &[u32], options: BenchOptions) -> (Record, Vec<String>) {
        let ladder = FakeLadder::new(by_name);
        let record = run_ladder((&ladder, None), (names, cases), options, &mut |_| {});
        (record, ladder.calls.take())
    }

    /// Runs a benchmark of a fake ladder. A reader of the clock's speed, if given, replaces that of the device. `begin_step` is
    /// called before each step.
    fn run_ladder(
        (ladder, clock): (&FakeLadder, Option<ClockReader>),
        (names, cases): (&[&str], &[u32]),
        options: BenchOptions,
        begin_step: &mut dyn FnMut(&str),
    ) -> Record {
        let device = device();
        let mut child = Child::new("made", None);
        let mut runner = LadderRunner::new(ladder, Some(&device), Sources::default(), &mut child);
        if let Some(clock) = clock {
            runner.clock_reader = Ok(clock);
        }
        let variant = |name: &&str| ladder.variants().iter().find(|variant| variant.id == *name).unwrap();
        let variants: Vec<_> = names.iter().map(variant).collect();
        let bench = Benchmark { runner: &runner, second: None, variants: &variants, options };
        let mut record = Record::default();
        for (at, case) in cases.iter().enumerate() {
            let mut one = bench.case(case);
            while let Some(step) = one.next_step() {
                begin_step(&step);
                record.steps += 1;
                record.runs.extend(one.step().map(|run| (at, run)));
            }
            record.runs.push((at, one.finish()));
            if options.fail_fast && record.runs.last().unwrap().1.is_wrong() {
                break;
            }
        }
        record
    }

    /// Three rounds with all checks.
    const OPTIONS: BenchOptions =
        BenchOptions { rounds: 3, fail_fast: false, selected_by_name: false, registers: false, checks: true };

    fn words(run: &CaseRun) -> Vec<&'static str> {
        run.rows.iter().map(|row| row.outcome.word()).collect()
    }

    #[test]
    fn tasks_run_in_turn_and_first_runs_are_compared() {
        let (observer, calls) = run_benchmark(&["good", "wrong", "slow"], &[TIMED_CASE], OPTIONS);
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
            let options = BenchOptions { selected_by_name, ..OPTIONS };
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
            run_benchmark(&["unbuilt", "broken", "good"], &[NO_MEMORY_CASE, TIMED_CASE], OPTIONS);
        let of = |case| &observer.runs.iter().rfind(|(of, _)| *of == case).unwrap().1;
        assert_eq!(words(of(0)), ["failed"; 3], "nothing of a case without memory");
        assert_eq!(words(of(1)), ["failed", "failed", "ok"]);
        let peaks: Vec<_> = of(1).peaks.iter().map(Outcome::word).collect();
        assert_eq!(peaks, ["ok", "skipped"]);
    }

    #[test]
    fn fail_fast_stops_at_the_first_failure() {
        let fail_fast = BenchOptions { fail_fast: true, ..OPTIONS };
        let (early, calls) =
            run_benchmark(&["good", "unbuilt", "broken"], &[TIMED_CASE, TIMED_CASE], fail_fast);
        assert_eq!((early.runs.len(), words(&early.runs[0].1)), (1, vec!["skipped", "failed", "skipped"]));
        assert!(!calls.iter().any(|line| line.starts_with("poison") || line.ends_with("broken")));
        let (late, _) = run_benchmark(&["good", "wrong"], &[TIMED_CASE, TIMED_CASE], fail_fast);
        assert!(late.runs.iter().all(|(case, _)| *case == 0));
        assert_eq!(words(&late.runs.last().unwrap().1), ["ok", "mismatch"]);
        let (on, _) = run_benchmark(&["good", "wrong"], &[TIMED_CASE, TIMED_CASE], OPTIONS);
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
            let options = BenchOptions { rounds: ROUNDS, ..OPTIONS };
            let cases = (&["good", "once", "cached"][..], &[TIMED_CASE][..]);
            let mut observer = run_ladder((&ladder, None), cases, options, &mut |_| {});
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
        let ComparedRounds { middle, last, .. } = compared;
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

    const SPEED: &str = "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";

    #[test]
    fn a_clock_that_drifts_is_reported() {
        let folder = Folder::new("clock-drift");
        let speed = |speeds_mhz: &[u32]| {
            folder.with(SPEED, b"500000");
            folder.with(&SPEED.replace("scaling_cur", "cpuinfo_max"), b"2500000");
            let clock = ClockReader::of_processors(&folder.file("")).unwrap();
            let options = BenchOptions { rounds: speeds_mhz.len() as u32, ..OPTIONS };
            let mut round = 0;
            let mut govern = |step: &str| {
                if step.starts_with("timing") {
                    folder.with(SPEED, (speeds_mhz[round] * 1000).to_string().as_bytes());
                    round += 1;
                }
            };
            let ladder = FakeLadder::new(by_name);
            let cases = (&["good"][..], &[TIMED_CASE][..]);
            let mut record = run_ladder((&ladder, Some(clock)), cases, options, &mut govern);
            record.runs.pop().unwrap().1.clock_speed.unwrap()
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
