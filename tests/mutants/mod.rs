//! Mutation testing of the kernels: changes one place of a kernel at a time, and runs `clreel bench` to see if it reports
//! a mismatch. The result is the list of mutants that survive, and a table.
//!
//! Bench must pass with the original kernels and fail with the mutant. If it passes with the mutant, a [`witness`] process
//! searches for a case (size, radius, bands, layout, target, picture) in which the mutant changes a byte, and bench runs
//! once more with that size and radius. `./dev mutants` runs all of them, `tests/kernel_mutants.rs` a few.

pub mod cases;
pub mod equal;
pub mod files;
pub mod operators;
pub mod table;
pub mod tokens;
pub mod trial;
pub mod witness;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use clap::Parser;
use serde::{Deserialize, Serialize};

use files::Mutant;
use trial::{BenchResult, Tools, Verdict, WitnessResult, verdict};

/// `./dev mutants`: makes mutants of the kernels and lists those that `clreel bench` does not notice.
#[derive(Debug, Parser)]
#[command(
    name = "./dev mutants",
    after_help = "Exit code: 0 where bench notices all that some case tells apart, 1 otherwise.\nWhat was found is kept in target/mutants, so that a run that was stopped goes on where it was."
)]
pub struct Args {
    /// One for each kernel file, some fifty
    #[arg(long)]
    pub quick: bool,
    /// Only files whose path contains this, as in march
    #[arg(long, value_name = "PART")]
    pub file: Option<String>,
    /// Only this operator, as in bound
    #[arg(long, value_name = "OPERATOR")]
    pub operator: Option<String>,
    /// Every place of every operator, some thousand mutants, instead of ten for each file
    #[arg(long)]
    pub all: bool,
    /// Only these, by number
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub number: Vec<usize>,
    /// How many are tried at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// List the mutants and try none
    #[arg(long)]
    pub list: bool,
    /// Forget what was found before
    #[arg(long)]
    pub fresh: bool,
    /// Do not try again what an older build of clreel has noticed
    #[arg(long)]
    pub keep_caught: bool,
    /// Write docs/mutants.md when all have been tried
    #[arg(long)]
    pub publish: bool,
}

/// The stored result of a mutant.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    seen: WitnessResult,
    said: Option<BenchResult>,
    /// The build of clreel that gave the result.
    build: String,
    /// The CPU time of the trial in seconds.
    #[serde(default)]
    spent_s: f64,
}

/// A mutant and its result.
pub struct TrialResult {
    /// The mutant.
    pub mutant: Mutant,
    /// The case in which it differs.
    pub seen: WitnessResult,
    /// The result of the trial.
    pub verdict: Verdict,
    /// The CPU time of the trial in seconds.
    pub spent_s: f64,
}

/// Returns the folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the hash of a text (FNV-1a: G. Fowler, L. C. Noll, K.-P. Vo, 1991).
fn hash(text: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// Selects a mutant of each kernel file that is not marked as equal, the same ones at each call.
pub fn quick(mutants: &[Mutant]) -> Vec<Mutant> {
    let mut files: Vec<&str> = mutants.iter().map(|mutant| mutant.file).collect();
    files.dedup();
    // A different operator for each file: the first operators of all files are alike.
    let of = |(number, file): (usize, &&str)| {
        let must_be_caught = |m: &&Mutant| m.file == *file && m.is_selected && m.equal.is_none();
        let all: Vec<&Mutant> = mutants.iter().filter(must_be_caught).collect();
        all[(1 + number % 3) * all.len() / 4].clone()
    };
    files.iter().enumerate().map(of).collect()
}

/// Tries mutants, `jobs` at once, and calls `done` with each result. Results are stored in `tools.work`.
///
/// # Errors
/// Fails if the results cannot be stored.
pub fn try_all(
    tools: &Tools,
    mutants: &[Mutant],
    args: &Args,
    done: &(dyn Fn(usize, &TrialResult) + Sync),
) -> Result<Vec<TrialResult>, String> {
    let failed = |e: std::io::Error| format!("{} cannot be written: {e}.", tools.work.display());
    if args.fresh {
        let _ = fs::remove_dir_all(&tools.work);
    }
    fs::create_dir_all(&tools.work).map_err(failed)?;
    let build = fs::metadata(&tools.clreel)
        .and_then(|meta| Ok(format!("{}-{:?}", meta.len(), meta.modified()?)))
        .map_err(|e| format!("{} is not there: {e}.", tools.clreel.display()))?;
    let controls = Controls { tools, passed: Mutex::default() };
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tried = try_one(&controls, mutant, args, &build);
            if let Ok(mut results) = results.lock() {
                results.push(tried);
                if let Some(tried) = results.last() {
                    done(results.len(), tried);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().map_err(|_| "A trial ended in a panic.".to_owned())?;
    results.sort_by_key(|tried| tried.mutant.number);
    Ok(results)
}

fn try_one(controls: &Controls, mutant: &Mutant, args: &Args, build: &str) -> TrialResult {
    let tools = controls.tools;
    let _ = trial::take_cpu_time();
    let cases = witness::cases_of(mutant);
    let names: Vec<String> = cases.iter().map(ToString::to_string).collect();
    let key = hash(&format!("{}\n{}\n{}", mutant.file, names.join("\n"), mutant.text));
    let path = tools.work.join(format!("{key}.json"));
    let record = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok());
    let record = record.filter(|record| !matches!(record.seen, WitnessResult::Broken(_)));
    // `caught` stays valid for an older build if the user wants that.
    let is_current = |record: &Record| match &record.said {
        None | Some(BenchResult::Broken(_)) => false,
        Some(BenchResult::Caught(_)) if args.keep_caught => true,
        Some(_) => record.build == build,
    };
    let bench = |case: &trial::Case| match controls.check(mutant, case) {
        // Much longer than with the original, whatever else the machine does.
        (BenchResult::Fine, took) => {
            let limit = 4 * took + Duration::from_secs(120);
            tools.bench(Some(mutant), case, &format!("bench-{}", mutant.number), limit)
        }
        (other, _) => BenchResult::Broken(format!("Bench with the kernels as they are, {case}: {other:?}")),
    };
    let found = |seen, said| Record { seen, said, build: build.to_owned(), spent_s: trial::take_cpu_time() };
    let record = match (record, cases.first()) {
        (Some(record), _) if is_current(&record) => record,
        (Some(Record { seen, .. }), Some(plain)) => {
            let case =
                if let WitnessResult::Case(at, _) = seen { cases.get(at).unwrap_or(plain) } else { plain };
            let said = bench(case);
            found(seen, Some(said))
        }
        // Most are reported at the first size and radius: the reason that bench gives then stands for the case.
        (None, Some(plain)) => match bench(plain) {
            said @ BenchResult::Caught(_) => {
                found(WitnessResult::Case(0, plain.bench_arguments()), Some(said))
            }
            BenchResult::Broken(why) => found(WitnessResult::Broken(why), None),
            said @ BenchResult::Fine => {
                let seen = tools.run_witness(Some(mutant));
                let case = if let WitnessResult::Case(at, _) = seen { cases.get(at) } else { None };
                let said = match case {
                    Some(case) if !case.has_same_bench_arguments(plain) => bench(case),
                    _ => said,
                };
                found(seen, Some(said))
            }
        },
        (_, None) => found(WitnessResult::Broken("It has no case.".to_owned()), None),
    };
    if let Ok(text) = serde_json::to_vec_pretty(&record) {
        let _ = fs::write(&path, text);
    }
    let Record { seen, said, spent_s, .. } = record;
    let verdict = verdict(mutant, &seen, &said.unwrap_or(BenchResult::Fine));
    TrialResult { mutant: mutant.clone(), seen, verdict, spent_s }
}

/// Runs of bench with the original kernels, one for each file and set of arguments. The file gets a comment at its end,
/// so that it is treated as modified.
struct Controls<'a> {
    tools: &'a Tools,
    /// The result, and how long it took.
    passed: Mutex<HashMap<String, Arc<Passed>>>,
}

/// Set by the first thread that needs it; other threads wait for it.
type Passed = OnceLock<(BenchResult, Duration)>;

impl Controls<'_> {
    fn check(&self, mutant: &Mutant, case: &trial::Case) -> (BenchResult, Duration) {
        let key = format!("{} {}", mutant.file, Tools::arguments(case).join(" "));
        let Ok(known) = self.passed.lock().map(|mut passed| passed.entry(key.clone()).or_default().clone())
        else {
            return (BenchResult::Broken("A trial ended in a panic.".to_owned()), Duration::ZERO);
        };
        // Another thread may be running it: then this one waits.
        known.get_or_init(|| self.run(mutant, case, &key)).clone()
    }

    fn run(&self, mutant: &Mutant, case: &trial::Case, key: &str) -> (BenchResult, Duration) {
        let began = Instant::now();
        let said = match fs::read_to_string(self.tools.kernels.join(mutant.file)) {
            Ok(text) => {
                let control = Mutant { text: text + "\n// As it is.\n", ..mutant.clone() };
                self.tools.bench(Some(&control), case, &format!("control-{}", hash(key)), trial::LIMIT)
            }
            Err(e) => BenchResult::Broken(format!("{} cannot be read: {e}.", mutant.file)),
        };
        (said, began.elapsed())
    }
}

/// Formats a result as a line.
pub fn line(tried: &TrialResult) -> String {
    let Mutant { number, operator, file, line, from, to, .. } = &tried.mutant;
    let end = match &tried.verdict {
        Verdict::Caught(_) => "caught".to_owned(),
        Verdict::Equal(_) => "equal".to_owned(),
        Verdict::Survives => "SURVIVES".to_owned(),
        Verdict::Unseen => "SHOWS IN NO CASE".to_owned(),
        Verdict::Broken(why) => format!("BROKEN: {why}"),
    };
    let shown = match &tried.seen {
        WitnessResult::Case(_, what) if !matches!(tried.verdict, Verdict::Caught(_)) => {
            format!("\n    shows itself in {what}")
        }
        _ if tried.verdict == Verdict::Unseen => format!("\n    {}", tried.mutant.changed),
        _ => String::new(),
    };
    format!("{number:4} {operator}, {file}:{line}: {from} → {to}: {end}{shown}")
}

/// Returns true if mutants were tried, none survives and none is broken.
pub fn is_good(tried: &[TrialResult]) -> bool {
    !tried.is_empty()
        && tried.iter().all(|tried| matches!(tried.verdict, Verdict::Caught(_) | Verdict::Equal(_)))
}

/// Formats the counts of all results as a sentence.
pub fn summary(tried: &[TrialResult]) -> String {
    let count = |wanted: fn(&Verdict) -> bool| tried.iter().filter(|tried| wanted(&tried.verdict)).count();
    format!(
        "{} mutants: {} caught, {} equal, {} survive, {} show in no case, {} broken",
        tried.len(),
        count(|v| matches!(v, Verdict::Caught(_))),
        count(|v| matches!(v, Verdict::Equal(_))),
        count(|v| matches!(v, Verdict::Survives)),
        count(|v| matches!(v, Verdict::Unseen)),
        count(|v| matches!(v, Verdict::Broken(_))),
    )
}

/// Runs the whole tool; returns the exit code.
///
/// # Errors
/// Fails if the list of equal mutants does not match the kernels, or a file cannot be written.
pub fn main(args: &Args, tools: &Tools) -> Result<u8, String> {
    let all = files::mutants(&tools.kernels)?;
    let whole = !args.quick && args.file.is_none() && args.operator.is_none() && args.number.is_empty();
    let chosen = if args.quick { quick(&all) } else { all };
    let wanted = |mutant: &Mutant| {
        args.file.as_ref().is_none_or(|part| mutant.file.contains(part.as_str()))
            && args.operator.as_ref().is_none_or(|operator| mutant.operator == operator)
            && (args.all || !args.number.is_empty() || mutant.is_selected)
            && (args.number.is_empty() || args.number.contains(&mutant.number))
    };
    let all_numbers: HashSet<usize> = chosen.iter().map(|mutant| mutant.number).collect();
    if let Some(number) = args.number.iter().find(|number| !all_numbers.contains(number)) {
        return Err(format!("There is no mutant {number}. --list prints the mutants with their numbers."));
    }
    let chosen: Vec<Mutant> = chosen.into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(
            "There is no such mutant. --list prints the mutants with their operators and files.".to_owned()
        );
    }
    if args.list {
        for Mutant { number, operator, file, line, from, to, .. } in &chosen {
            println!("{number:4} {operator}, {file}:{line}: {from} → {to}");
        }
        return Ok(0);
    }
    let began = Instant::now();
    println!("{} mutants, {} at once; one that is caught is not listed", chosen.len(), args.jobs);
    let done = |count: usize, tried: &TrialResult| {
        if !matches!(tried.verdict, Verdict::Caught(_) | Verdict::Equal(_)) {
            println!("{}", line(tried));
        }
        if count.is_multiple_of(25) {
            println!("{count} of {} tried, {} s", chosen.len(), began.elapsed().as_secs());
        }
    };
    let tried = try_all(tools, &chosen, args, &done)?;
    for tried in tried.iter().filter(|tried| matches!(tried.verdict, Verdict::Equal(_))) {
        let Verdict::Equal(why) = tried.verdict else { continue };
        println!("{}. {why}", line(tried));
    }
    println!("{}; {} s", summary(&tried), began.elapsed().as_secs());
    if args.publish && whole {
        let path = root().join("docs/mutants.md");
        let text = table::markdown(&tried);
        let write = fs::create_dir_all(root().join("docs")).and_then(|()| fs::write(&path, text));
        write.map_err(|e| format!("{} cannot be written: {e}.", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(u8::from(!is_good(&tried)))
}

/// Returns the tools for a binary of clreel; `witness` is the command of [`Tools`].
pub fn tools(clreel: PathBuf, witness: Vec<std::ffi::OsString>, work: PathBuf, compiled: PathBuf) -> Tools {
    // A device that is no CPU gets other kernels. The tests' OpenCL layer makes PoCL's device claim to be one.
    let as_gpu = testkit::layer::environment(&[("FAKE_GPU", "1")]);
    Tools { clreel, witness, as_gpu, kernels: root().join("kernels"), work, compiled }
}
