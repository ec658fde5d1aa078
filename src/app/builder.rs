//! The background thread that starts OpenCL and builds the variants, the wanted one first.
//!
//! In: which device, which variant is wanted. Out: [`Built`] messages in a channel. The movie plays
//! unfiltered meanwhile; compiling takes about a tenth of a second a kernel on a CPU device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Device, list_devices, select_device};
use crate::gpu::convert::Corrector;
use crate::gpu::event::Waker;
use crate::ladder::box_filter::opencl::BuiltVariant;
use crate::ladder::{Storage, VariantId};

/// What the builder tells the window.
pub enum Built {
    /// OpenCL is there.
    Context(ClContext),
    /// There is no OpenCL to work with, and why.
    NoOpenCl(Error),
    /// A variant is ready.
    Variant(BuiltVariant),
    /// Colours can be corrected on the device.
    Corrector(Box<Corrector>),
    /// A variant cannot be built, and why: its build log.
    Failed(VariantId, Error),
}

/// The window's end of the builder.
pub struct Builder {
    messages: Receiver<Built>,
    wanted: Arc<Mutex<VariantId>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Builder {
    /// Starts the thread. `device` is the one to use, or none to take the default.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(device: Option<Device>, wanted: VariantId, waker: Waker) -> Result<Self> {
        let (sender, messages) = channel();
        let wanted = Arc::new(Mutex::new(wanted));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (wanted.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("builder".into())
            .spawn(move || work(device, &shared, &stopped, &sender, &waker))
            .map_err(|e| Error::new("The OpenCL programs could not be built.", e.to_string(), ""))?;
        Ok(Self { messages, wanted, stop, thread })
    }

    /// Builds this variant next.
    pub fn want(&self, variant: VariantId) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = variant;
    }

    /// Asks the thread to end, and returns whether it has: a compiler that runs cannot be interrupted.
    #[must_use]
    pub fn shut_down(&self) -> bool {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.is_finished()
    }

    /// The next message, if one is there.
    pub fn poll(&self) -> Option<Built> {
        self.messages.try_recv().ok()
    }
}

fn work(
    device: Option<Device>,
    wanted: &Mutex<VariantId>,
    stop: &AtomicBool,
    sender: &Sender<Built>,
    waker: &Waker,
) {
    // Sending fails when the window is gone: then there is nothing left to do.
    let send = |message| {
        let sent = sender.send(message).is_ok();
        waker();
        sent
    };
    let opened = device
        .map_or_else(|| select_device(&list_devices(), None), Ok)
        .and_then(|device| ClContext::new(&device));
    let cl = match opened {
        Ok(cl) => cl,
        Err(error) => {
            send(Built::NoOpenCl(error));
            return;
        }
    };
    if !send(Built::Context(cl.clone())) {
        return;
    }
    let mut left: Vec<VariantId> = VariantId::ALL.into_iter().filter(|v| *v != VariantId::Off).collect();
    while !left.is_empty() && !stop.load(Ordering::Relaxed) {
        let first = *wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let at = left.iter().position(|v| *v == first).unwrap_or(0);
        let id = left.remove(at);
        let message = match BuiltVariant::build(&cl, id) {
            Ok(built) => Built::Variant(built),
            Err(error) => Built::Failed(id, error),
        };
        if !send(message) {
            return;
        }
    }
    if stop.load(Ordering::Relaxed) {
        return;
    }
    let mut corrector = Corrector::new(&cl);
    let kinds = [(Storage::Buffer, Storage::Buffer), (Storage::Image, Storage::Image)];
    // Without images the image variants are not there either; what fails otherwise is corrected on the host.
    if kinds.into_iter().all(|(from, to)| {
        to == Storage::Image && !cl.device.info.image_support || corrector.prepare(from, to).is_ok()
    }) {
        send(Built::Corrector(Box::new(corrector)));
    }
}
