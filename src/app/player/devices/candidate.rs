//! The candidate: the device that is to replace the device in use. It is requested, then opened, then prepared. Opening creates
//! its context, and attempts to share textures with OpenGL, on the thread that is to make all OpenCL calls for the device.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::*;
use crate::app::builder::Start;
use crate::probe::SharingCache;
use base::device::DeviceInfo;
use engine::Pipeline;
use engine::sharing::{self, GlAccess, GlRequest};
use opencl::cl::ClContext;
use opencl::device_thread::DeviceThread;

/// The device that is to replace the device in use, and the stage of the change.
#[derive(Default)]
pub(crate) enum Candidate {
    /// No change to another device is in progress.
    #[default]
    None,
    /// The first device is to be used, but it is not known yet which one that is.
    First,
    /// A device was requested. Opening it may take long, so the window is drawn with a message first.
    Requested {
        device: Device,
        /// True once the window was drawn with the message about the request.
        is_drawn: bool,
    },
    /// The context of the device is being created.
    Opening(DeviceOpening),
    /// The context is open, and programs for it are being built.
    Prepared(Box<PreparedDevice>),
}

impl Candidate {
    /// Returns the device that is to replace the device in use; `None` if none is to replace it, or it is not known yet which
    /// one.
    pub(crate) fn device(&self) -> Option<&Device> {
        match self {
            Self::None | Self::First => None,
            Self::Requested { device, .. } => Some(device),
            Self::Opening(opening) => Some(&opening.device),
            Self::Prepared(prepared) => Some(&prepared.device),
        }
    }

    /// Returns the device whose context is being created; `None` if there is none.
    pub(crate) fn opening(&self) -> Option<&DeviceOpening> {
        if let Self::Opening(opening) = self { Some(opening) } else { None }
    }

    /// Records that the window was drawn with the message about the request, so that the requested device can be opened.
    pub(crate) fn was_drawn(&mut self) {
        if let Self::Requested { is_drawn, .. } = self {
            *is_drawn = true;
        }
    }
}

/// The pipeline of an opened device, and the thread that makes the device's OpenCL calls; `None` once the frame loop has taken
/// both. The boolean is true if the window's thread makes the calls.
pub(crate) struct HeldPipeline(pub(super) Option<(Pipeline, DeviceThread, bool)>);

impl Drop for HeldPipeline {
    fn drop(&mut self) {
        if let Some((pipeline, thread, _)) = self.0.take() {
            thread.run("the device is released", move || drop(pipeline));
        }
    }
}

/// A device whose context is open and for which programs are being built.
pub(crate) struct PreparedDevice {
    pub device: Device,
    pub start: Start,
    pub sharing: Sharing,
    pub held: HeldPipeline,
    pub statuses: Statuses,
}

/// The result of opening a device: its context, how the context shares textures, and its pipeline.
type OpenedContext = (ClContext, Sharing, Pipeline);

/// A device whose context is being created.
pub(crate) struct DeviceOpening {
    pub(super) device: Device,
    /// True if the context is to share textures.
    shares: bool,
    thread: DeviceThread,
    /// Requests for OpenGL calls, which the device's thread sends to the window's thread.
    gl_calls: Receiver<GlRequest>,
    opened: Receiver<Result<OpenedContext>>,
    since: Instant,
    /// The total time for which the process had been suspended when opening began; used to leave out later suspensions from
    /// [`Self::elapsed`].
    stopped: Duration,
}

impl DeviceOpening {
    /// Starts to open a device on a thread of its own. `share` is false if the context must not share textures.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn start(
        device: &Device,
        share: bool,
        list: &DeviceList,
        cx: &mut PlayerContext,
    ) -> Result<Self, DeviceFailure> {
        let allowed = match list.may_share(device) {
            _ if !share => Err("it failed while it shared textures".to_owned()),
            Some(allowed) => allowed,
            None => Err("it is not known yet whether the driver survives sharing".to_owned()),
        };
        let properties = allowed.map(|()| cx.gl_window.opencl_properties());
        let shares = properties.is_ok();
        // If this process dies here, the next one tests sharing in a child first.
        let mark = shares.then(|| list.update_cache(device, SharingCache::mark_pending));
        let failed = |error| DeviceFailure::new(device, error, shares);
        let thread = DeviceThread::start(&device.info.name).map_err(failed)?;
        let (requests, gl_calls) = channel();
        let gl = GlAccess::There(requests, cx.waker.clone());
        let (sender, opened) = channel();
        let (of, sources, waker) = (device.clone(), cx.sources.clone(), cx.waker.clone());
        thread.run("a context is made", move || {
            if let Some(mark) = mark {
                mark();
            }
            let made = sharing::open(&of, &gl, properties, sources.get()).map(|(cl, sharing)| {
                let pipeline = Pipeline::new(cl.clone(), &sharing);
                (cl, sharing, pipeline)
            });
            // If the candidate was dropped, the result is dropped here, on the device's thread.
            let _ = sender.send(made);
            waker();
        });
        let (device, since, stopped) = (device.clone(), Instant::now(), cx.frames.stops.total);
        Ok(Self { device, shares, thread, gl_calls, opened, since, stopped })
    }

    /// Makes the OpenGL calls that the device's thread has requested. Returns the result of opening the device; `None` while it
    /// is being opened.
    pub(super) fn poll(&self, gl: &std::sync::Arc<glow::Context>) -> Option<Result<OpenedContext>> {
        for call in self.gl_calls.try_iter() {
            call(gl);
        }
        match self.opened.try_recv() {
            Ok(opened) => Some(opened),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let what = format!("The OpenCL device '{}' cannot be used.", self.device.info.name);
                Some(Err(Error::new(what, "Its thread came to an unexpected end.", "")))
            }
        }
    }

    /// Returns the time since opening began, without the time for which the process was suspended.
    pub(super) fn elapsed(&self, cx: &PlayerContext) -> Duration {
        self.since.elapsed().saturating_sub(cx.frames.stops.total.saturating_sub(self.stopped))
    }

    /// Creates the failure of this device with this error.
    pub(super) fn failed(&self, error: Error) -> DeviceFailure {
        DeviceFailure::new(&self.device, error, self.shares)
    }

    /// Converts the opened device to a prepared device, whose context has this number, and determines which programs are to be
    /// built for it. If textures can be shared only on the window's thread, opens another context on that thread.
    pub(super) fn prepare(
        self,
        (mut cl, mut sharing, mut pipeline): OpenedContext,
        number: u64,
        list: &mut DeviceList,
        cx: &PlayerContext,
    ) -> PreparedDevice {
        let Self { device, shares, thread, .. } = self;
        let mut on_window_thread = false;
        // Some drivers share textures only on the thread where OpenGL's context is current. All calls for such a device are made
        // on the window's thread, so that a call that stalls blocks the window.
        if shares
            && sharing != Sharing::ZeroCopy
            && list.tested(&device).is_some_and(|tested| tested.sharing == Sharing::ZeroCopy)
            && let properties = Ok(cx.gl_window.opencl_properties())
            && let gl = GlAccess::Here(cx.gl_window.gl.clone())
            && let Ok((other, shared @ Sharing::ZeroCopy)) =
                sharing::open(&device, &gl, properties, cl.sources().clone())
        {
            let made = Pipeline::new(other.clone(), &shared);
            let unused = (std::mem::replace(&mut cl, other), std::mem::replace(&mut pipeline, made));
            thread.run("the device is released", move || drop(unused));
            (sharing, on_window_thread) = (shared, true);
        }
        if shares {
            if let Some(tested) = list.tested(&device) {
                sharing = tested.explain(&device.info, sharing);
            }
            let shared = sharing.clone();
            let store = move |cache: &SharingCache, info: &DeviceInfo| cache.remember(info, &shared);
            thread.run("the result of sharing textures is stored", list.update_cache(&device, store));
        }
        if let Some(listed) = list.get_mut(device.info.index) {
            listed.sharing = Some(sharing.clone());
        }
        let statuses = Statuses::new(&cx.frames, &cx.sources);
        let to_texture = sharing == Sharing::ZeroCopy;
        let start = Start { number, cl, to_texture, variants: statuses.with_opencl(), corrector: true };
        let held = HeldPipeline(Some((pipeline, thread, on_window_thread)));
        PreparedDevice { device, start, sharing, held, statuses }
    }
}
