//! The child process that runs trials: edited kernels are run there before they may be used, so that a crash or a hang does no
//! harm. The child runs the kernels of all ladders and the filters of the window; built-in kernels need no trial. The process
//! itself is [`opencl::sandbox`]. A request has a task in its ladder's format, which the child passes to the closure of
//! [`serve`].

use std::sync::mpsc::Sender;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::verify::MismatchReport;
use opencl::cl::{ClContext, is_device_failure};
use opencl::identity::{Identity, by_identity, identity_of};
use opencl::sandbox::{
    self, BUILD, Cause, Client, Ending, LAUNCH, Limit, PREPARATION, ParentConnection, Payload, START,
};
use opencl::sources::{BUILT_IN_HINT, Sources};
use opencl::watch;

/// The first sentence of the error if a trial cannot be run.
const TRIAL_FAILED: &str = "The trial of the modified kernels failed.";
/// The suggestion to the user if the device may be the reason.
const DEVICES_HINT: &str = "Run `clreel devices` to see whether the device works.";

/// A request to the child process: to run the kernels of `task` on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request<T> {
    device: Identity,
    /// The texts of the kernel files that the child compiles.
    sources: Sources,
    /// The task in the ladder's own format: the kernels to run, and how to run them.
    task: T,
}

impl<T> Request<T> {
    /// Creates a request for the device and the sources of the context `cl`.
    pub fn new(cl: &ClContext, task: T) -> Self {
        Self { device: identity_of(&cl.device), sources: cl.sources().clone(), task }
    }
}

/// The child's reply: a report if the output differs from the reference, `None` if it is equal, or the error because of which
/// the kernels cannot run.
type Reply = Result<Option<MismatchReport>>;

/// Runs in the child process: answers the requests of a [`Child`] with the results of `run` until the parent closes the
/// connection, then exits the process. `frame` is the file descriptor of the memory that parent and child share. The device
/// stays open from one request to the next.
pub fn serve<T: DeserializeOwned>(
    frame: u32,
    mut run: impl FnMut(&ClContext, &T, &mut ParentConnection) -> Result<Option<MismatchReport>>,
) -> ! {
    let mut open: Option<(Identity, ClContext)> = None;
    sandbox::serve(
        frame,
        |Request { device, sources, task }: Request<T>, talk: &mut ParentConnection| -> Reply {
            talk.step(START);
            let cl = match open.take() {
                Some((identity, cl)) if identity == device => cl.with_sources(sources),
                _ => {
                    let gone = || {
                        let why = "Its process does not find the OpenCL device.";
                        Error::new(TRIAL_FAILED, why, DEVICES_HINT)
                    };
                    ClContext::new(&by_identity(&device).ok_or_else(gone)?, sources)?
                }
            };
            let (_, cl) = open.insert((device, cl));
            run(cl, &task, talk)
        },
    )
}

/// The handle of a child process that runs the requests of one ladder. The process is started at the first request, and ends
/// with the thread that created the handle.
#[derive(Debug)]
pub struct Child {
    /// The timeout for each step of a request; `None` if the user set none.
    limit: Option<Duration>,
    client: Client,
    /// True if the last request crashed the child or timed out.
    fault: bool,
    /// The channel to which a message is sent once the kernels of a request are compiled; `None` if nobody waits for it.
    pub compiled: Option<Sender<()>>,
}

impl Child {
    /// Creates the handle of a ladder's child process. `limit` is the timeout for each step of a trial; without it the timeout
    /// is 10 s or ten times the predicted time, whichever is longer.
    pub fn new(ladder: &'static str, limit: Option<Duration>) -> Self {
        Self { limit, client: Client::new(ladder), fault: false, compiled: None }
    }

    /// Returns true if the last error was a crash or a timeout of the child. Any other error would occur in this process as
    /// well, without doing harm.
    pub fn is_fault(&self) -> bool {
        self.fault
    }

    /// Sends a request about the kernels called `name` to the child and waits for the reply. Returns a report if the output
    /// differs from the reference, `None` if it is equal. `payload` returns the bytes that the child reads from the shared
    /// memory; the child may compile before these bytes are complete. `result` receives the bytes that the child has written to
    /// the shared memory. Ends the child if the kernels may have damaged it; the next request starts another one.
    ///
    /// # Errors
    /// Returns an error if the child cannot be started, crashes or times out, the error of `payload`, or that of the reply.
    pub fn ask<T: Serialize>(
        &mut self,
        name: &str,
        request: &Request<T>,
        payload: Payload<'_>,
        result: &mut [u8],
    ) -> Result<Option<MismatchReport>> {
        self.fault = false;
        // The child has timeouts of its own.
        let _host = watch::on_host();
        let Self { limit: asked, compiled, client, .. } = self;
        let limit = |step: &str, predicted: Option<f64>| {
            if step == LAUNCH {
                // The receiver may have been dropped.
                let _ = compiled.as_ref().map(|compiled| compiled.send(()));
            }
            let predicted = Duration::try_from_secs_f64(predicted.unwrap_or_default().min(1e8) / 1e3);
            let limit = Limit::new(*asked, predicted.unwrap_or_default());
            // Steps that run no kernel may take longer: compiling, or loading a driver.
            let prepares = [START, BUILD].contains(&step);
            if prepares { limit.max(Limit::new(None, PREPARATION)) } else { limit }
        };
        let reply: Reply = client.ask(request, Some(payload), &limit)?.map_err(|ending| {
            self.fault = !matches!(ending.cause, Cause::NotStarted(_));
            ending_error(name, &ending, &self.client.step)
        })?;
        if reply.is_ok() && !result.is_empty() {
            let gone = |e| ending_error(name, &Ending::not_started(&e), START);
            self.client.read_payload(result).map_err(gone)?;
        }
        let may_be_damaged = match &reply {
            Ok(report) => report.is_some(),
            // If the compiler rejected the kernels, nothing has run.
            Err(error) => is_device_failure(error) || self.client.step != BUILD || self.client.has_run,
        };
        if may_be_damaged {
            self.client.end();
        }
        reply
    }

    /// Starts the child, unless it is running, with a request that runs no kernel, so that the next request need not wait until
    /// drivers are loaded. If that fails, the next request returns the error.
    pub fn make_ready<T: Serialize>(&mut self, request: &Request<T>) {
        self.client.make_ready::<_, Reply>(request);
    }
}

/// Returns the error for a child that ended in the way `ending`, during `step` of the trial of the kernels called `name`.
fn ending_error(name: &str, ending: &Ending, step: &str) -> Error {
    let why = "Modified kernels run in a child process first, so that a crash or a hang does not end clreel.";
    let hint = match (&ending.cause, step) {
        (Cause::NotStarted(_), _) => BUILT_IN_HINT,
        (_, START) => DEVICES_HINT,
        (Cause::Timeout(_), BUILD) => {
            "Simplify what keeps the compiler busy, such as macros that expand to much code."
        }
        (Cause::Timeout(_), _) => "Look for an infinite loop, or set a longer --kernel-timeout.",
        (_, BUILD) => {
            "The compiler crashed, not the kernels: simplify what changed last, or try another device."
        }
        _ => {
            "Look for reads and writes outside their memory, and for barriers that not every work-item reaches."
        }
    };
    let of = match step {
        BUILD => "The compilation of the kernels",
        START => "The preparation for the kernels",
        _ => "The kernels",
    };
    Error::new(format!("{of} of {name} {ending}."), why, hint)
}
