//! Kernels that nobody has tried, of any ladder, run in a child process first. In: a request. Out: the child's answer, or a
//! sentence that says how the kernels ended it, or that they do not end.
//!
//! Kernels as they are built in need no trial. The process itself is [`opencl::trial`]; what is asked is the ladder's.

use std::borrow::Cow;
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use base::error::{Error, Result};
use base::timing::crowding;
use opencl::cl::is_device_failure;
use opencl::program::{named_with, way_back};
use opencl::trial::{BUILD, Client, Fault, LAUNCH, Limit, START};

/// How long a step of a trial may take at least, unless the user says.
const LEAST: Duration = Duration::from_secs(10);
/// And how many times as long as it was predicted to take.
const TIMES_PREDICTED: f64 = 10.0;
/// What runs no kernel may take so long in any case: a compiler, a driver that is loaded.
const PREPARING: Duration = Duration::from_secs(60);

/// What makes the bytes that a child gets.
pub type Given<'a> = &'a dyn Fn() -> Result<Cow<'a, [u8]>>;

/// A child that answers for a ladder; it is started when it is asked first, and ends with the thread that asks.
#[derive(Debug)]
pub struct Child {
    ladder: &'static str,
    limit: Option<Duration>,
    client: Option<Client>,
    /// The last question ended the child, or it did not answer.
    fault: bool,
    /// Is told when what was to be compiled is.
    compiled: Option<Sender<()>>,
}

impl Child {
    /// `limit` is how long each step of a trial may take; without it 10 s, or ten times as long as was predicted.
    pub fn new(ladder: &'static str, limit: Option<Duration>) -> Self {
        Self { ladder, limit, client: None, fault: false, compiled: None }
    }

    /// Whether the last error was that kernels ended the process that ran them, or did not end. Others would meet in any
    /// process what the error says, and do no harm.
    pub fn is_fault(&self) -> bool {
        self.fault
    }

    /// From here on `compiled` is told when the compiler has come through the kernels there.
    pub fn tell_when_compiled(&mut self, compiled: Option<Sender<()>>) {
        self.compiled = compiled;
    }

    /// Asks about the kernels of `name`; the child finds in the memory that it shares what `frame` makes, and may compile before
    /// that is there.
    ///
    /// # Errors
    /// When the child cannot be started, ends, or does not answer in time; `frame`'s.
    pub fn ask<Q: Serialize, A: DeserializeOwned>(
        &mut self,
        name: &str,
        request: &Q,
        frame: Given<'_>,
    ) -> Result<A> {
        self.fault = false;
        let (limit, compiled) = (self.limit, self.compiled.clone());
        let limit = |step: &str, predicted: Option<f64>| {
            if step == LAUNCH {
                // Nobody may wait for it any more.
                let _ = compiled.as_ref().map(|compiled| compiled.send(()));
            }
            let times = predicted.map_or(0.0, |ms| TIMES_PREDICTED * ms / 1e3);
            let times = Duration::try_from_secs_f64(times.min(1e6)).unwrap_or(LEAST);
            let least = if [START, BUILD].contains(&step) { PREPARING } else { Duration::ZERO };
            let work = limit.unwrap_or(LEAST.max(times)).max(least);
            // On a busy machine others may have the device.
            let asleep = limit.map_or_else(|| work.mul_f64(crowding()), |_| work);
            Limit { work, asleep }
        };
        loop {
            let client = match self.client.take() {
                Some(client) => client,
                None => Client::start(self.ladder).map_err(|fault| sentence(name, &fault))?,
            };
            let client = self.client.insert(client);
            let fresh = client.is_fresh();
            let begun = client.begin(request);
            let given = frame().and_then(|frame| {
                client.write_frame(&frame).map_err(|e| sentence(name, &Fault::NotStarted(e.to_string())))
            });
            if let Err(error) = given {
                // It waits for what does not come.
                self.client = None;
                return Err(error);
            }
            match begun.and_then(|()| client.answer(&limit)) {
                Ok(answer) => return Ok(answer),
                Err(fault) => {
                    self.client = None;
                    // What an earlier kernel has damaged is not this one's fault.
                    if fresh || !matches!(fault, Fault::Ended(_)) {
                        self.fault = true;
                        return Err(sentence(name, &fault));
                    }
                }
            }
        }
    }

    /// Starts the child, unless there is one, and asks it what runs no kernel: whoever asks next need not wait until drivers are
    /// loaded. What goes wrong is told when that is asked.
    pub fn make_ready<Q: Serialize, A: DeserializeOwned>(&mut self, request: &Q) {
        if self.client.is_none()
            && let Ok(mut client) = Client::start(self.ladder)
            && client.make_ready::<Q, A>(request, Limit { work: PREPARING, asleep: PREPARING }).is_ok()
        {
            self.client = Some(client);
        }
    }

    /// What the child has put into the memory that it shares.
    ///
    /// # Errors
    /// When it is not there.
    pub fn read_frame(&self, name: &str, bytes: &mut [u8]) -> Result<()> {
        let gone = || Fault::NotStarted("it is not there any more".to_owned());
        let client = self.client.as_ref().ok_or_else(|| sentence(name, &gone()))?;
        client.read_frame(bytes).map_err(|e| sentence(name, &Fault::NotStarted(e.to_string())))
    }

    /// Ends the child: what it ran may have damaged it. The next question starts another.
    pub fn end(&mut self) {
        // It takes a moment to leave its memory, in which somebody may wait for what it has answered.
        let client = self.client.take();
        let _ = std::thread::Builder::new().name("end".into()).spawn(move || drop(client));
    }

    /// The same after an error that it has told, but where the compiler refused what was asked about: nothing has run then.
    pub fn end_after(&mut self, error: &Error) {
        let is_refused = |client: &Client| client.step() == BUILD && !client.has_run();
        if is_device_failure(error) || !self.client.as_ref().is_some_and(is_refused) {
            self.end();
        }
    }
}

/// A time in seconds, with a tenth where it has one.
fn seconds(time: &Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

/// What a fault means for the user.
fn sentence(name: &str, fault: &Fault) -> Error {
    let why =
        format!("{} has changed kernels: they are tried in a process of their own first.", named_with());
    match fault {
        Fault::Ended(how) => Error::new(
            format!("The kernels of {name} end the program that runs them ({how})."),
            why,
            "Look for reads and writes outside their memory, and for barriers that not every work-item reaches.",
        ),
        Fault::Silent(step, limit) if step == BUILD => Error::new(
            format!("The kernels of {name} were not compiled within {} s.", seconds(limit)),
            why,
            "Look for what keeps the compiler busy, such as macros that grow.",
        ),
        Fault::Silent(step, limit) if step == START => Error::new(
            format!("The kernels of {name} could not be tried."),
            format!("The process of their own was not ready within {} s.", seconds(limit)),
            "Look with `clreel devices`.",
        ),
        Fault::Silent(_, limit) => Error::new(
            format!("The kernels of {name} did not end within {} s.", seconds(limit)),
            why,
            "Look for a loop without an end; --kernel-timeout gives them more time.",
        ),
        Fault::NotStarted(reason) => Error::new(
            format!("The kernels of {name} could not be tried."),
            format!("The process of their own could not be started: {}.", reason.trim_end_matches('.')),
            format!("To use the kernels that are built in, {}.", way_back()),
        ),
    }
}
