//! A device on its way to the frames: its context is made and its sharing tested on the thread that is to make its calls, and
//! one that does not answer is told, and given up in the end. In: a device. Out: a [`Pending`], or what goes on instead.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::Devices;
use super::{Pending, at_first};
use crate::app::builder::Start;
use crate::app::player::With;
use base::error::{Error, Result};
use box_filter::VariantId;
use engine::Pipeline;
use engine::sharing::{self, Ask, OnGl, Sharing};
use ladder::BackEnd;
use opencl::cl::{ClContext, Device};
use opencl::device_thread::DeviceThread;
use opencl::watch;

/// After so long it is said that a device does not answer.
const SOON_SAID: Duration = Duration::from_millis(1500);

/// A device's side, the thread that makes its calls, and whether the window's thread has to make them, until the frames have
/// it.
pub(super) struct Held(pub(super) Option<(Pipeline, DeviceThread, bool)>);

impl Held {
    pub(super) fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.0.as_mut().map(|(pipeline, ..)| pipeline)
    }

    pub(super) fn has(&self, variant: VariantId) -> bool {
        self.0.as_ref().is_some_and(|(pipeline, ..)| pipeline.has(variant))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((pipeline, thread, _)) = self.0.take() {
            thread.run("it is left", move || drop(pipeline));
        }
    }
}

/// A device whose context is being made, on the thread that is to make all of its calls.
pub(super) struct Opening {
    pub(super) device: Device,
    why: Why,
    /// It was to share.
    shares: bool,
    thread: DeviceThread,
    /// What it wants of OpenGL.
    asks: Receiver<Ask>,
    opened: Receiver<Result<(ClContext, Sharing, Pipeline)>>,
    since: Instant,
    /// For how long the process had been stopped by then.
    stopped: Duration,
}

impl Opening {
    /// How long it has been under way while the process ran.
    fn elapsed(&self, with: &With) -> Duration {
        self.since.elapsed().saturating_sub(with.frames.stopped_for().saturating_sub(self.stopped))
    }
}

/// Why a device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    First,
    Chosen,
    /// Another one has failed.
    Recovery,
}

impl Devices {
    /// Goes on without a device that cannot be used.
    pub(super) fn not_opened(&mut self, device: Device, why: Why, error: Error, with: &mut With) {
        match why {
            Why::First => self.recover(device, error.what, error.why, with),
            Why::Chosen => self.stay(&device, error, with),
            Why::Recovery => {
                self.note_failure(&device, Some(&error));
                self.try_next(with);
            }
        }
    }

    /// Has another device made ready because one has failed.
    pub(super) fn open_instead(&mut self, device: &Device, share: bool, with: &mut With) -> Result<()> {
        self.open_device(device, share, Why::Recovery, with)
    }

    /// Has a context made on `device`, on a thread of its own. `share` is whether it may share textures.
    pub(super) fn open_device(
        &mut self,
        device: &Device,
        share: bool,
        why: Why,
        with: &mut With,
    ) -> Result<()> {
        let allowed = match self.may_share(device) {
            _ if !share => Err("it failed while it shared textures".to_owned()),
            Some(allowed) => allowed,
            None => Err("it is not known yet whether the driver survives sharing".to_owned()),
        };
        let properties = allowed.map(|()| with.gl_window.opencl_properties());
        let shares = properties.is_ok();
        // Whatever becomes of this process, the next one asks in a child before it comes here.
        let begin = shares.then(|| self.asking.begin(device));
        let thread = DeviceThread::start(&device.info.name)?;
        let (gl, asks) = OnGl::asking(with.waker.clone());
        let (sender, opened) = channel();
        let (of, waker) = (device.clone(), with.waker.clone());
        thread.run("a context is made", move || {
            if let Some(begin) = begin {
                begin();
            }
            let made = sharing::open_on(&of, &gl, properties).map(|(cl, sharing)| {
                let pipeline = Pipeline::new(cl.clone(), &sharing);
                (cl, sharing, pipeline)
            });
            // Where nobody wants it any more it goes here.
            let _ = sender.send(made);
            waker();
        });
        let (device, since, stopped) = (device.clone(), Instant::now(), with.frames.stopped_for());
        self.opening = Some(Opening { device, why, shares, thread, asks, opened, since, stopped });
        Ok(())
    }

    /// Does what the device that is being opened wants of OpenGL, and takes it when it is ready.
    pub(super) fn look_after_opening(&mut self, with: &mut With) {
        self.build_elsewhere(with);
        let Some(opening) = &self.opening else { return };
        for ask in opening.asks.try_iter() {
            ask(&with.gl_window.gl);
        }
        let opened = match opening.opened.try_recv() {
            Ok(opened) => opened,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {
                let what = format!("The OpenCL device '{}' cannot be used.", opening.device.info.name);
                Err(Error::new(what, "Its thread came to an unexpected end.", ""))
            }
        };
        let Some(opening) = self.opening.take() else { return };
        match opened {
            Ok(opened) => self.opened(opening, opened, with),
            Err(error) => self.not_opened(opening.device, opening.why, error, with),
        }
    }

    /// A context that shares where `wanted`, and where a child has shared though the device's own thread could not: the driver
    /// hands textures over only where OpenGL's context is current. Then all calls are made here, and one that stalls holds the
    /// window up.
    fn share_here(&mut self, device: &Device, wanted: bool, with: &mut With) -> Option<(ClContext, Sharing)> {
        let tested = &self.learnt(device)?.tested;
        let shares = tested.as_ref().is_some_and(|tested| tested.sharing == Sharing::ZeroCopy);
        if !wanted || !shares {
            return None;
        }
        let properties = with.gl_window.opencl_properties();
        let opened = sharing::open(device, &with.gl_window.gl, Ok(properties)).ok()?;
        (opened.1 == Sharing::ZeroCopy).then_some(opened)
    }

    /// Has everything built for a device that has its context.
    fn opened(
        &mut self,
        opening: Opening,
        (cl, sharing, pipeline): (ClContext, Sharing, Pipeline),
        with: &mut With,
    ) {
        let Opening { device, why, shares, thread, .. } = opening;
        let (mut cl, mut sharing, mut pipeline, mut here) = (cl, sharing, pipeline, false);
        if let Some((other, shared)) = self.share_here(&device, shares && sharing != Sharing::ZeroCopy, with)
        {
            let made = Pipeline::new(other.clone(), &shared);
            let unused = (std::mem::replace(&mut cl, other), std::mem::replace(&mut pipeline, made));
            thread.run("it is left", move || drop(unused));
            (sharing, here) = (shared, true);
        }
        if shares {
            if let Some(tested) = self.learnt(&device).and_then(|learnt| learnt.tested.as_ref()) {
                sharing = tested.explain(&device.info, sharing);
            }
            thread.run("what it shares is kept", self.asking.remember(&device, &sharing));
        }
        if let Some(learnt) = self.learnt(&device) {
            learnt.sharing = Some(sharing.clone());
        }
        self.contexts += 1;
        let number = self.contexts;
        let status = at_first(with.frames);
        let variants =
            status.iter().map(|(id, _)| *id).filter(|id| id.back_end() == BackEnd::OpenCl).collect();
        let to_texture = sharing == Sharing::ZeroCopy;
        let start = Start { number, cl, to_texture, variants, corrector: true };
        self.build(start.clone(), with);
        let held = Held(Some((pipeline, thread, here)));
        self.pending = Some(Pending { device: device.clone(), number, start, sharing, held, status });
        self.promote_if_ready(with);
        if why == Why::Recovery {
            self.opened_instead(&device, with);
        }
    }

    /// Has everything built for a context, by another thread where the builder's waits for a driver.
    fn build(&mut self, start: Start, with: &mut With) {
        if self.builder.is_stalled_before(start.number)
            && let Err(error) = self.builder.renew(with.args.trial.limit(), with.waker)
        {
            with.notify(error, false);
        }
        self.builder.want(with.frames.chosen().0);
        self.builder.start(start);
    }

    /// Has another thread build for the device that is made ready where the builder's turns out to wait for the driver of the
    /// one before.
    fn build_elsewhere(&mut self, with: &mut With) {
        let stalled = |pending: &&Pending| self.builder.is_stalled_before(pending.number);
        if let Some(start) = self.pending.as_ref().filter(stalled).map(|pending| pending.start.clone()) {
            self.build(start, with);
        }
    }

    /// Says which device does not answer, as long as it does not, and gives it up in the end. Returns when to look again.
    pub(crate) fn look_after_silence(&mut self, with: &mut With) -> Option<Instant> {
        let silent = watch::silence(SOON_SAID, |name| self.is_waited_for(name));
        let error = silent.as_ref().map(|(device, what, _)| watch::unanswered(device, what, SOON_SAID));
        if error != self.silent {
            if let Some(before) = self.silent.take() {
                with.notices.hide(&before);
            }
            if let Some(error) = error.clone() {
                // Before all others: it is what keeps the picture from changing.
                with.notices.show_first(error);
            }
            self.silent = error;
            with.repaints.soon();
        }
        self.give_up_silent(with);
        watch::look_at(SOON_SAID)
    }

    /// Does without a device whose thread has not come back for too long. What programs take to be built is another matter.
    fn give_up_silent(&mut self, with: &mut With) {
        let opening = self.opening.as_ref().map_or(Duration::ZERO, |opening| opening.elapsed(with));
        let (silent, asked) = (with.frames.silent_for().max(opening), with.args.device_timeout.limit());
        if !watch::is_too_long(silent, asked) {
            return;
        }
        let opening = self.opening.take();
        let (device, what) = match (&opening, &self.running) {
            (Some(opening), _) => (opening.device.clone(), "a context is made"),
            (None, Some(running)) => (running.device.clone(), "a frame is filtered"),
            (None, None) => return,
        };
        let Error { what, why, .. } = watch::unanswered(&device.info.name, what, silent);
        self.recovery.not_again(&device);
        match opening {
            Some(opening) => self.not_opened(device, opening.why, Error::new(what, why, ""), with),
            None => self.recover(device, what, why, with),
        }
    }
}
