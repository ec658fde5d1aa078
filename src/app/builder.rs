//! The background thread that looks for OpenCL devices and builds the programs, the wanted ones first.
//!
//! In: a context to build for, conversions that are missing, which variant is wanted. Out: [`Built`] messages in a
//! channel. The movie plays unfiltered meanwhile; compiling takes about a tenth of a second a kernel on a CPU device.
//!
//! Contexts are made on the threads of their devices. Each is started with a number, which its messages carry: what is still built for a device that was left is told from what is built for its successor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::conversions::Conversions;
use super::part::Part;
use crate::color::Layout;
use crate::engine::{Check, Scopes, TrialCase};
use crate::error::{Error, Result};
use crate::gpu::binaries;
use crate::gpu::cl::{ClContext, Device, is_device_failure, list_devices};
use crate::gpu::event::Waker;
use crate::gpu::memory::Storage;
use crate::gpu::watch;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::opencl::BuiltVariant;
use crate::ladders::box_filter::pictures::noise as bytes;
use crate::ladders::box_filter::planar::PlanarFilter;
use crate::ladders::box_filter::trial::{Case, Launch, Trials, Tried};

/// What the builder tells the window.
pub(crate) enum Built {
    /// These devices are there.
    Devices(Vec<Device>),
    /// Something for the context with this number.
    For(u64, Box<Part>),
}

enum Request {
    Start(Start),
    Convert(Layout, Storage),
    Try(TrialCase),
    Check(Check),
    Again(VariantId),
    Scopes((u32, u32)),
    /// Wakes the thread, so that it sees that it is to end.
    End,
}

/// Starts the builder for a context, from any thread.
pub(crate) struct Starter(Sender<Request>);

impl Starter {
    /// Builds for this context from now on, and nothing more for the one before.
    pub(crate) fn start(self, start: Start) {
        // The window may be gone.
        let _ = self.0.send(Request::Start(start));
    }
}

/// A context, and what to build for it.
#[derive(Clone)]
pub(crate) struct Start {
    /// What its messages carry.
    pub number: u64,
    /// The context.
    pub cl: ClContext,
    /// Whether it shares textures.
    pub to_texture: bool,
    /// Which variants.
    pub variants: Vec<VariantId>,
    /// Whether the colour correction too.
    pub corrector: bool,
}

/// The window's end of the builder.
pub(crate) struct Builder {
    /// `None` when the thread is to end.
    requests: Option<Sender<Request>>,
    messages: Receiver<Built>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// A thread before this one may still be in its call.
    left_behind: bool,
}

struct Shared {
    wanted: Mutex<VariantId>,
    stop: AtomicBool,
    /// A driver is at work on the thread.
    busy: AtomicBool,
    /// Since when.
    since: Mutex<Instant>,
    /// The number of the context that it is at work for; 0 where there is none yet.
    at: AtomicU64,
}

/// After so long the thread's work is given to another one where a device is changed.
const STALLED: Duration = Duration::from_secs(2);

impl Builder {
    /// Starts the thread, which tells the devices first. Each step of a trial of changed kernels may take
    /// `kernel_timeout`, where the user says so.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn spawn(wanted: VariantId, kernel_timeout: Option<Duration>, waker: Waker) -> Result<Self> {
        Self::spawn_to(true, wanted, kernel_timeout, waker)
    }

    /// Starts another thread in this one's place, which stays in the call that it waits for.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    pub(crate) fn renew(&mut self, kernel_timeout: Option<Duration>, waker: Waker) -> Result<()> {
        let wanted = *self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let stalled = std::mem::replace(self, Self::spawn_to(false, wanted, kernel_timeout, waker)?);
        stalled.shared.stop.store(true, Ordering::SeqCst);
        self.left_behind = true;
        Ok(())
    }

    /// Whether the thread waits for a driver for long.
    pub(crate) fn is_stalled(&self) -> bool {
        let since = *self.shared.since.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.busy.load(Ordering::SeqCst) && since.elapsed() > STALLED
    }

    /// Whether it waits for long, and not for the driver of the context with this number.
    pub(crate) fn is_stalled_before(&self, number: u64) -> bool {
        self.is_stalled() && self.shared.at.load(Ordering::SeqCst) != number
    }

    fn spawn_to(
        list: bool,
        wanted: VariantId,
        kernel_timeout: Option<Duration>,
        waker: Waker,
    ) -> Result<Self> {
        let (sender, messages) = channel();
        let (requests, receiver) = channel();
        let (stop, busy) = (AtomicBool::new(false), AtomicBool::new(true));
        let since = Mutex::new(Instant::now());
        let shared =
            Arc::new(Shared { wanted: Mutex::new(wanted), stop, busy, since, at: AtomicU64::new(0) });
        let worker = Worker {
            shared: shared.clone(),
            sender,
            waker,
            to_texture: false,
            left: Vec::new(),
            corrector: false,
            trials: Trials::new(kernel_timeout),
            conversions: None,
        };
        let thread = std::thread::Builder::new()
            .name("builder".into())
            .spawn(move || worker.run(list, &receiver))
            .map_err(|e| Error::new("The OpenCL programs could not be built.", e.to_string(), ""))?;
        Ok(Self { requests: Some(requests), messages, shared, thread: Some(thread), left_behind: false })
    }

    /// Builds for this context from now on, and nothing more for the one before.
    pub(crate) fn start(&self, start: Start) {
        self.request(Request::Start(start));
    }

    /// The same, to be called where a context may be had.
    pub(crate) fn starter(&self) -> Option<Starter> {
        self.requests.clone().map(Starter)
    }

    /// Builds the conversion of such planes next.
    pub(crate) fn convert(&self, layout: Layout, storage: Storage) {
        self.request(Request::Convert(layout, storage));
    }

    /// Tries a variant in this way next.
    pub(crate) fn try_case(&self, case: TrialCase) {
        self.request(Request::Try(case));
    }

    /// Checks this when there is nothing else to do.
    pub(crate) fn check(&self, check: Check) {
        self.request(Request::Check(check));
    }

    /// Builds next what measures pictures of this size.
    pub(crate) fn scopes(&self, size: (u32, u32)) {
        self.request(Request::Scopes(size));
    }

    /// Builds a variant once more, because what it depends on has changed.
    pub(crate) fn again(&self, variant: VariantId) {
        self.request(Request::Again(variant));
    }

    fn request(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // The thread ends only with this end of the channel.
            let _ = requests.send(request);
        }
    }

    /// Builds this variant next.
    pub(crate) fn want(&self, variant: VariantId) {
        *self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner) = variant;
    }

    /// Asks the thread to end, and returns whether it has, and has left its context: a compiler that runs cannot be
    /// interrupted.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.request(Request::End);
        self.requests = None;
        if self.shared.busy.load(Ordering::SeqCst) || self.left_behind {
            return false;
        }
        let began = Instant::now();
        while !self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            // It may be leaving its context.
            if began.elapsed() > STALLED / 4 {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.thread.take().is_none_or(|thread| thread.join().is_ok())
    }

    /// The next message, if one is there.
    pub(crate) fn poll(&self) -> Option<Built> {
        self.messages.try_recv().ok()
    }
}

/// An error of a variant's trial: what failed of the device need not say on which device, and with which variant.
fn named(id: VariantId, cl: &ClContext, error: Error) -> Error {
    if !is_device_failure(&error) {
        return error;
    }
    let what = format!("'{id}' could not be tried on '{}'.", cl.device.info.name);
    Error { why: format!("{} {}", error.what, error.why), what, hint: String::new(), ..error }
}

/// A picture for what only is to show that it runs.
const TINY: (u32, u32) = (70, 3);

fn noise((width, height): (u32, u32)) -> Vec<u8> {
    bytes(width as usize * height as usize * 4)
}

/// The first trial of changed kernels, on such a picture.
fn tiny(src: &[u8]) -> Case<'_> {
    Case { src, size: TINY, radius: 1, launch: Launch::Bands, longest_ms: None, wants_picture: false }
}

/// Lets changed kernels through that end, and stay inside their memory: what they make is there to be looked at.
fn passed(tried: Option<Tried>) -> Result<()> {
    match tried.filter(Tried::overran).and_then(|tried| tried.report) {
        Some(report) => Err(Error::new(
            "Changed kernels write outside the picture.",
            format!("{report}."),
            "Correct the kernels; in this process they could damage anything.",
        )),
        None => Ok(()),
    }
}

/// Tries a variant at the size and radius that frames are to be filtered at.
fn try_case(trials: &mut Trials, cl: &ClContext, case: &TrialCase, to_image: bool) -> Result<()> {
    let (size, radius) = (case.size, case.radius);
    let tried = match &case.layout {
        Some(layout) => {
            let block = bytes(layout.bytes());
            trials.planar(cl, layout, to_image, &Case { size, radius, ..tiny(&block) })
        }
        None => {
            let src = noise(size);
            trials.variant(cl, case.variant, None, to_image, &Case { size, radius, ..tiny(&src) })
        }
    };
    passed(tried?)
}

/// Tries a conversion before it is built.
fn try_conversion(trials: &mut Trials, cl: &ClContext, layout: &Layout, storage: Storage) -> Result<()> {
    let block = bytes(layout.bytes());
    let case = Case { size: (layout.width, layout.height), ..tiny(&block) };
    trials.convert(cl, layout, storage == Storage::Image, &case).map(drop)
}

/// The window is gone.
struct Gone;

struct Worker {
    shared: Arc<Shared>,
    sender: Sender<Built>,
    waker: Waker,
    to_texture: bool,
    left: Vec<VariantId>,
    /// The correction is to be built.
    corrector: bool,
    trials: Trials,
    /// For the context that is built for.
    conversions: Option<Conversions>,
}

impl Worker {
    fn run(mut self, list: bool, requests: &Receiver<Request>) {
        binaries::keep();
        if list && self.send(Built::Devices(list_devices())).is_err() {
            return;
        }
        let mut context: Option<(u64, ClContext)> = None;
        loop {
            let checked = self.conversions.as_ref().is_none_or(Conversions::is_idle);
            let idle = context.is_none() || self.left.is_empty() && !self.corrector && checked;
            let request = if idle {
                self.shared.busy.store(false, Ordering::SeqCst);
                requests.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                requests.try_recv()
            };
            *self.shared.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            let at = context.as_ref().map_or(0, |(number, _)| *number);
            self.shared.at.store(at, Ordering::SeqCst);
            self.shared.busy.store(true, Ordering::SeqCst);
            if self.shared.stop.load(Ordering::SeqCst) {
                self.shared.busy.store(false, Ordering::SeqCst);
                return;
            }
            let name = context.as_ref().map(|(_, cl)| cl.device.info.name.clone());
            let _watched = name.map(|name| watch::on_device(&name, "programs are built"));
            let done = match (request, &context) {
                (Ok(Request::End), _) => Err(Gone),
                (Ok(Request::Start(start)), _) => {
                    self.to_texture = start.to_texture;
                    self.left = start.variants;
                    self.corrector = start.corrector;
                    self.conversions = Some(Conversions::new(&start.cl));
                    context = Some((start.number, start.cl));
                    Ok(())
                }
                (Ok(Request::Convert(layout, storage)), Some((number, cl))) => {
                    let part = match try_conversion(&mut self.trials, cl, &layout, storage) {
                        Ok(()) => self.conversions.as_mut().map(|c| c.conversion(layout, storage)),
                        Err(error) => Some(Part::NoConversion(Box::new(layout), storage, error)),
                    };
                    self.send_some(*number, part)
                }
                (Ok(Request::Check(check)), Some(_)) => {
                    self.conversions.iter_mut().for_each(|c| c.later(check));
                    Ok(())
                }
                (Ok(Request::Try(case)), Some((number, cl))) => {
                    let tried = try_case(&mut self.trials, cl, &case, self.to_texture);
                    self.send(Built::For(*number, Box::new(Part::Tried(case, tried))))
                }
                (Ok(Request::Again(variant)), Some(_)) => {
                    self.trials.forget();
                    if !self.left.contains(&variant) {
                        self.left.push(variant);
                    }
                    Ok(())
                }
                (Ok(Request::Scopes(size)), Some((number, cl))) => {
                    let part = Part::Scopes(Box::new(Scopes::build(cl, size)));
                    self.send(Built::For(*number, Box::new(part)))
                }
                (Err(TryRecvError::Empty), Some((number, cl))) => self.build_next(*number, cl),
                (Err(TryRecvError::Disconnected), _) => Err(Gone),
                (_, None) => Ok(()),
            };
            if done.is_err() {
                self.shared.busy.store(false, Ordering::SeqCst);
                return;
            }
        }
    }

    /// Builds one variant, the wanted one first, or the correction after them all, or checks one thing after that.
    fn build_next(&mut self, number: u64, cl: &ClContext) -> std::result::Result<(), Gone> {
        let first = *self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.left.iter().position(|v| *v == first).unwrap_or(0);
        if at < self.left.len() {
            let id = self.left.remove(at);
            if id == VariantId::Planar {
                return self.build_planar(number, cl);
            }
            let to_texture = self.to_texture;
            let tried = self.trials.variant(cl, id, None, to_texture, &tiny(&noise(TINY)));
            if let Ok(Some(_)) = tried {
                self.send(Built::For(number, Box::new(Part::Changed(id))))?;
            }
            let built = tried.and_then(passed).and_then(|()| match to_texture {
                true => BuiltVariant::build_for_textures(cl, id),
                false => BuiltVariant::build(cl, id),
            });
            let part = match built {
                Ok(built) => Part::Variant(built),
                Err(error) => Part::NoVariant(id, named(id, cl, error)),
            };
            return self.send(Built::For(number, Box::new(part)));
        }
        let part = match std::mem::take(&mut self.corrector) {
            true => match self.trials.correct(cl, &tiny(&noise(TINY))) {
                Ok(_) => self.conversions.as_ref().and_then(Conversions::corrector),
                Err(error) => Some(Part::NoCorrector(error)),
            },
            false => self.conversions.as_mut().and_then(Conversions::check_next),
        };
        self.send_some(number, part)
    }

    /// Builds the filter on planes, and the conversion of the commonest ones: the movie need not wait for it then.
    fn build_planar(&mut self, number: u64, cl: &ClContext) -> std::result::Result<(), Gone> {
        let storage = if self.to_texture { Storage::Image } else { Storage::Buffer };
        let common = Layout::planar_420(16, 16, false);
        let block = bytes(common.bytes());
        let case = Case { size: (16, 16), ..tiny(&block) };
        let tried = self.trials.planar(cl, &common, self.to_texture, &case);
        if let Ok(Some(_)) = tried {
            self.send(Built::For(number, Box::new(Part::Changed(VariantId::Planar))))?;
        }
        let tried = tried.and_then(passed);
        if tried.is_ok() {
            // What is wrong with it is told when a movie wants it.
            let part = self.conversions.as_mut().map(|c| c.conversion(common.filtered(), storage));
            self.send_some(number, part.filter(|part| matches!(part, Part::Conversion(_))))?;
        }
        let part = match tried.and_then(|()| PlanarFilter::build(cl)) {
            Ok(filter) => Part::Planar(filter),
            Err(error) => Part::NoVariant(VariantId::Planar, named(VariantId::Planar, cl, error)),
        };
        self.send(Built::For(number, Box::new(part)))
    }

    fn send_some(&self, number: u64, part: Option<Part>) -> std::result::Result<(), Gone> {
        part.map_or(Ok(()), |part| self.send(Built::For(number, Box::new(part))))
    }

    fn send(&self, message: Built) -> std::result::Result<(), Gone> {
        let sent = self.sender.send(message).map_err(|_| Gone);
        (self.waker)();
        sent
    }
}
