//! Changed kernels of a [`Ladder`] in the process that tries them. In: a request: kernels and the case that they are to be
//! timed at. Out: an answer: how they differ from the reference, if they do, or why they cannot run.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{Config, Tunable};
use super::contest::{Ladder, check_one};
use super::rung::Work;
use super::trial::Child;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use opencl::cl::ClContext;
use opencl::identity::{Identity, by_identity, identity_of};
use opencl::trial::{START, Talk, serve};

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    device: Identity,
    /// The rung whose kernels these are, and their parameters; `None` for the limit.
    kernels: Option<(String, Vec<(String, u32)>)>,
    case: Value,
}

impl Request {
    /// To try a rung's kernels as they are to be timed at `case`; without any those of the limit.
    pub(crate) fn of<L: Ladder>(
        ladder: &L,
        cl: &ClContext,
        case: &L::Case,
        kernels: Option<(&str, &Config<L::Code>)>,
    ) -> Self {
        let params = |config: &Config<L::Code>| {
            config.code().params().iter().map(|p| (p.name.to_owned(), config.get(p.name))).collect()
        };
        Self {
            device: identity_of(&cl.device),
            kernels: kernels.map(|(id, config)| (id.to_owned(), params(config))),
            case: ladder.json(case),
        }
    }
}

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// It ended well, and how it differs, if it does.
    Ran(Option<MismatchReport>),
    Failed(Error),
}

/// Asks the child about the kernels of `name`: how they differ from the reference, if they do.
///
/// # Errors
/// When they cannot run, end the process or do not end.
pub(super) fn ask(child: &mut Child, name: &str, request: Request) -> Result<Option<MismatchReport>> {
    let answer = child.ask(name, &request, &|| Ok(Cow::Borrowed(&[])))?;
    if !matches!(answer, Answer::Ran(None)) {
        child.end();
    }
    match answer {
        Answer::Ran(report) => Ok(report),
        Answer::Failed(error) => Err(error),
    }
}

/// Answers requests until nobody asks any more, then ends the process. `frame` is the number of the shared memory.
pub fn answer<L: Ladder>(ladder: &L, frame: u32) -> ! {
    let mut known: Option<(Identity, ClContext)> = None;
    serve(frame, |request: Request, talk| {
        talk.step(START);
        let cl = match &known {
            Some((identity, cl)) if *identity == request.device => Ok(cl.clone()),
            _ => by_identity(&request.device)
                .ok_or_else(|| {
                    Error::new("Kernels could not be tried.", "Their device is not listed there.", "")
                })
                .and_then(|device| ClContext::new(&device)),
        };
        let ran = cl.and_then(|cl| {
            known = Some((request.device.clone(), cl.clone()));
            try_kernels(ladder, &cl, &request, talk)
        });
        ran.map_or_else(Answer::Failed, Answer::Ran)
    })
}

/// Builds, checks at the small cases, and runs once as it is to be timed.
fn try_kernels<L: Ladder>(
    ladder: &L,
    cl: &ClContext,
    request: &Request,
    talk: &mut Talk,
) -> Result<Option<MismatchReport>> {
    let unknown = || Error::new("Kernels could not be tried.", "They belong to nothing that is known.", "");
    let case = ladder.case(&request.case).ok_or_else(unknown)?;
    let built = match &request.kernels {
        None => ladder.compile_limit(cl)?,
        Some((id, params)) => {
            let rung = ladder.rungs().iter().find(|rung| rung.id == *id).ok_or_else(unknown)?;
            let Work::Kernels(code) = rung.work else { return Err(unknown()) };
            let config = Config::of(code, cl.device.info.kind);
            let config = params.iter().fold(config, |config, (name, value)| config.with(name, *value));
            ladder.compile(cl, &config)?
        }
    };
    for small in ladder.small_for(&case) {
        for input in L::INPUTS {
            talk.step("small");
            let report = check_one(ladder, Some(cl), &built, &small, input)?;
            // The limit computes nothing, so only where it writes can be wrong.
            if report.as_ref().is_some_and(|report| request.kernels.is_some() || report.wrote_elsewhere()) {
                // Without canaries round it, what it writes would be another's memory.
                return Ok(report);
            }
        }
    }
    talk.step(START);
    let mut room = ladder.room(Some(cl), &case, 0)?;
    ladder.load(&mut room, L::INPUTS[0])?;
    talk.step("whole");
    ladder.run(&built, &mut room)?;
    Ok(None)
}
