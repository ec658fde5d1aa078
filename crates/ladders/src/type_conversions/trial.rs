//! The child process in which conversions run, so that a driver that crashes or hangs costs only that child. A request has
//! cases with the same types and the count of tested numbers of each; the reply has their states after the next part of the
//! numbers, or the error and the case that ended the child.
//!
//! The process itself is [`opencl::sandbox`]. Each child compiles and computes expected results by itself: drivers whose
//! compiler works on one program at a time then compile in parallel.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::device::{Program, TestBuffers};
use super::state::{PART_NUMBERS, State, TestOptions, Times, add_elapsed};
use super::types::{Case, Widths};
use super::values::{Depth, Values};
use base::error::{Error, Result};
use opencl::cl::{ClContext, Device};
use opencl::identity::{Identity, by_identity, identity_of};
use opencl::sandbox::{BUILD, Client, Ending, Limit, ParentConnection, START, serve};
use opencl::sources::Sources;

/// The name under which the hidden subcommand serves these requests.
pub const NAME: &str = "conformance";
/// The predicted time of a step. It results in a timeout of three minutes, because some drivers compile at the first launch,
/// and others wait for a busy device.
const STEP_PREDICTION: Duration = Duration::from_secs(18);
/// The maximum length of a quoted line of a driver's build log, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// A request to the child.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    device: Identity,
    /// The cases, each with the count of its numbers that have been tested.
    cases: Vec<(Case, u64)>,
    widths: Widths,
    depth: Depth,
    seed: u32,
}

/// The child's reply: the states of the cases, and the time that it took.
type Reply = Result<(Vec<(Case, State)>, Times)>;

/// The reason why a child process did not finish a request.
#[derive(Debug)]
pub(super) enum TrialError {
    /// This case failed, crashed or hung. The second value is the error for the user.
    Case(Case, Error),
    /// One of several cases failed while they were compiled together.
    FailedTogether,
    /// All cases fail, because there is no such device, or no child. The value is the error for the user.
    Device(Error),
}

/// The parent's handle of the child process of one thread.
#[derive(Debug)]
pub(super) struct Child {
    device: Identity,
    client: Client,
    /// True if the child has replied to the last request.
    pub has_answered: bool,
    pub times: Times,
}

impl Child {
    /// Creates the handle of a child, which starts at the first request and ends with the thread that created the handle.
    pub(super) fn new(device: &Device) -> Self {
        let (device, client) = (identity_of(device), Client::new(NAME));
        Self { device, client, has_answered: false, times: Times::default() }
    }

    /// Tests the next part of the cases' numbers in the child; returns the new state of each case.
    ///
    /// # Errors
    /// Returns an error if the child ends or times out; the next request starts another one.
    pub(super) fn ask(
        &mut self,
        cases: &[(Case, u64)],
        options: &TestOptions,
    ) -> Result<Vec<(Case, State)>, TrialError> {
        let TestOptions { widths, depth, seed, .. } = *options;
        let request = Request { device: self.device.clone(), cases: cases.to_vec(), widths, depth, seed };
        let limit = |step: &str, _: Option<f64>| {
            // Compiling and generating numbers have the default timeout.
            let is_case = cases.iter().any(|(case, _)| case.to_string() == step);
            Limit::new(options.limit.filter(|_| is_case), STEP_PREDICTION)
        };
        match self.client.ask::<_, Reply>(&request, None, &limit) {
            Ok(Ok(Ok((states, times)))) => {
                self.times.add(times);
                self.has_answered = true;
                Ok(states)
            }
            Ok(Ok(Err(error))) => {
                self.client.end();
                Err(TrialError::Device(error))
            }
            Ok(Err(ending)) => Err(trial_error(cases, &self.client.step, &ending)),
            Err(error) => Err(TrialError::Device(error)),
        }
    }
}

/// Returns the error for `cases` if the child process ended in the step `step`; `ending` says how it ended.
fn trial_error(cases: &[(Case, u64)], step: &str, ending: &Ending) -> TrialError {
    let is_build = step == BUILD;
    let case = match cases {
        [(only, _)] if is_build => Some(*only),
        _ => cases.iter().map(|(case, _)| *case).find(|case| case.to_string() == step),
    };
    let of = if is_build { "The compilation of " } else { "" };
    let apart = "Each conversion runs in another process, so that it costs no other one.";
    let why = match ending.last_line() {
        Some(line) => format!("The last line of the driver: {}. {apart}", quoted(line)),
        None => apart.to_owned(),
    };
    match case {
        Some(case) => TrialError::Case(
            case,
            Error::new(
                format!("{of}{case} {ending}."),
                why,
                "Try it again alone, with more time: --kernel-timeout.",
            ),
        ),
        None if is_build => TrialError::FailedTogether,
        None => TrialError::Device(Error::new(
            format!("The device {ending}."),
            why,
            "Run `clreel devices` to see whether the device works.",
        )),
    }
}

/// Returns a line in quotation marks, shortened to [`MAX_QUOTED_CHARS`].
fn quoted(line: &str) -> String {
    match line.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("'{}…'", &line[..end]),
        None => format!("'{line}'"),
    }
}

/// Returns the name of the `convert_` function that the driver lacks if that is the first error in the build log of a case that
/// was compiled alone; else `None`. Later errors may follow from the first.
fn missing_function(case: Case, log: &str) -> Option<String> {
    // Mesa's linker writes: Unresolved external reference to "_Z15convert_int_rtzc".
    let words = ["undeclared", "implicit declaration", "undefined", "unresolved"];
    let is_missing = |line: &str| words.iter().any(|word| line.to_lowercase().contains(word));
    let error = log
        .lines()
        .find(|line| line.contains("error: ") || is_missing(line))
        .filter(|line| is_missing(line))?;
    let is_its = |name: &&str| {
        let rest = name.strip_prefix("convert_").and_then(|rest| rest.strip_prefix(case.to.name()));
        let width = rest.and_then(|rest| rest.strip_suffix(case.mode().as_str()));
        width.is_some_and(|width| width.chars().all(|digit| digit.is_ascii_digit()))
    };
    let names = error.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names.map(|name| mangled_name(name).unwrap_or(name)).find(is_its).map(str::to_owned)
}

/// Returns the name of a function without its parameters, from its mangled name such as `_Z15convert_int_rtzc`.
fn mangled_name(symbol: &str) -> Option<&str> {
    let rest = symbol.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let length = rest.get(..digits)?.parse().ok()?;
    rest.get(digits..)?.get(..length)
}

/// The objects that a child process keeps from one request to the next.
struct ChildState {
    device: Identity,
    cl: ClContext,
    memory: TestBuffers,
    compiled: Option<Program>,
}

/// Serves requests until the parent closes the connection, then exits the process; runs in the child. `frame` is the file
/// descriptor of the shared memory, which is not used.
pub fn serve_requests(frame: u32) -> ! {
    let mut child: Option<ChildState> = None;
    serve(frame, |request: Request, talk| run_request(&request, &mut child, talk))
}

/// Serves a request.
fn run_request(request: &Request, kept: &mut Option<ChildState>, talk: &mut ParentConnection) -> Reply {
    let mut times = Times::default();
    talk.step(START);
    let mut began = Instant::now();
    let mut child = match kept.take().filter(|child| child.device == request.device) {
        Some(known) => known,
        None => {
            let unknown = || {
                let why = "The child process does not find the OpenCL device.";
                Error::new("Conversions could not be tested.", why, "")
            };
            let device = by_identity(&request.device).ok_or_else(unknown)?;
            // The next test reuses compiled kernels.
            let cl = ClContext::new(&device, Sources::from_environment())?.with_kept_binaries();
            let memory = TestBuffers::new(&cl);
            ChildState { device: request.device.clone(), cl, memory, compiled: None }
        }
    };
    add_elapsed(&mut began, &mut times.start);
    let cases: Vec<Case> = request.cases.iter().map(|(case, _)| *case).collect();
    // Some of the cases that were compiled together may be finished.
    let known = child.compiled.take().filter(|program| {
        let is_compiled = |case: &Case| program.kernels.iter().any(|(of, _)| of == case);
        program.widths == request.widths && cases.iter().all(is_compiled)
    });
    let program = match known {
        Some(known) => known,
        None => Program::compile(&child.cl, &cases, request.widths)?,
    };
    add_elapsed(&mut began, &mut times.compile);
    let Some(from) = cases.first().map(|case| case.from) else { return Ok((Vec::new(), times)) };
    let values = Values::new(from, request.depth, request.seed);
    let first = request.cases.iter().map(|(_, done)| *done).min().unwrap_or(0).min(values.count);
    let count = (values.count - first).min(PART_NUMBERS as u64) as usize;
    child.memory.load(&values, first, count)?;
    add_elapsed(&mut began, &mut times.numbers);
    let end = first + count as u64;
    let (mut states, mut is_lost) = (Vec::new(), false);
    for &(case, done) in &request.cases {
        let kernel = program.kernels.iter().find(|(of, _)| *of == case).map(|(_, kernel)| kernel);
        let state = match kernel {
            // A case that was not run must not count as right.
            None => State::Failed(format!("There is no kernel for {case}.")),
            Some(Err(error)) => match missing_function(case, &error.why) {
                Some(name) => State::MissingInDriver(format!("The driver has no {name}().")),
                None => State::Failed(error.to_string()),
            },
            // Other cases are behind this one.
            Some(Ok(_)) if done >= end && done < values.count => State::Partial(done),
            Some(Ok(kernel)) => {
                talk.step(&case.to_string());
                match child.memory.check(kernel, (case, request.widths), &mut times) {
                    Ok(Some(failure)) => State::Wrong(end, Box::new(failure)),
                    Ok(None) if end == values.count => State::Ok(end),
                    Ok(None) => State::Partial(end),
                    Err(error) => {
                        is_lost = true;
                        State::Failed(error.to_string())
                    }
                }
            }
        };
        states.push((case, state));
    }
    child.compiled = Some(program);
    // A context in which a command failed may be broken. The next conversions must not fail because of it.
    *kept = (!is_lost).then_some(child);
    Ok((states, times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use opencl::sandbox::Cause;

    #[test]
    fn a_missing_function_is_told_from_other_errors() {
        let undeclared = "input.cl:9:1: error: use of undeclared identifier 'convert_uchar_sat_rte'";
        let implicit = "warning: odd\nx.cl:9: error: implicit declaration of function 'convert_int16_rtz' is invalid in OpenCL\n\
                        x.cl:9: error: passing 'int' to parameter of incompatible type";
        let unresolved = "(file=input,line=0): Unresolved external reference to \"_Z15convert_int_rtzc\".";
        for (case, log, missing) in [
            ("uchar_sat_rte_float", undeclared, Some("convert_uchar_sat_rte")),
            ("int_rtz_float", implicit, Some("convert_int16_rtz")),
            ("int_rtz_char", unresolved, Some("convert_int_rtz")),
            ("int_rtz_char", "Unresolved external reference to \"_Z99convert_int_rtzc\".", None),
            // The function of another case, an error in the text, and an error in the use of the function.
            ("uchar_sat_float", undeclared, None),
            ("char_sat_rte_float", undeclared, None),
            ("int_sat_float", "error: use of undeclared identifier 'nonsense'", None),
            ("int_sat_float", "error: no matching function for call to 'convert_int_sat'", None),
            ("int_sat_float", "", None),
        ] {
            let found = missing_function(Case::named(case).unwrap(), log);
            assert_eq!(found.as_deref(), missing, "{case}: {log}");
        }
    }

    #[test]
    fn a_crash_quotes_the_last_line_of_the_driver() {
        let case = Case::named("int_sat_float").unwrap();
        let reason = |stderr: &str| {
            let ending = Ending { cause: Cause::Exit(1), stderr: stderr.to_owned() };
            match trial_error(&[(case, 0)], BUILD, &ending) {
                TrialError::Case(of, error) if of == case => error.to_string(),
                other => panic!("{other:?}"),
            }
        };
        let told = reason("LLVM ERROR: no such type\nclreel: The OpenCL driver crashed (SIGABRT).\n");
        assert!(told.contains("ended the sandbox with exit code 1.\n  The last line of the driver: 'LLVM ERROR: no such type'."), "{told}");
        assert!(!reason("").contains("The last line"));
        assert!(reason(&"ä".repeat(1000)).contains(&format!("'{}…'", "ä".repeat(MAX_QUOTED_CHARS))));
    }
}
