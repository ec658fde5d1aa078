//! The engine and the device's thread. In: work for the engine. Out: what came of it, and the frames that are done.
//!
//! The device's thread makes all of the device's calls, and the engine goes there for each of them. While the window draws a
//! picture it stays there and finishes frames, so that drawing and the device's calls take place side by side, and a frame is
//! one message there and one back. Else a turn of the loop waits a moment for it. Where a call stalls the loop goes on without:
//! the picture stands, the overlay is drawn, and another device gets another engine. What was lent is then left to the thread
//! that has it, for ever if need be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::bell::{Bell, Heard};
use super::left::{AllLeft, Left};
use super::submit::{Along, Asked, Came};
use super::wipe::Pair;
use super::{Flight, FrameLoop, Ready};
use crate::{Difference, Engine, Finished, Pipeline, Progress, Rest, Side, Slot, Ticket};
use base::error::{Error, Result};
use base::jobs::Waker;
use box_filter::VariantId;
use opencl::device_thread::DeviceThread;
use opengl::names;

/// How long a turn waits for the engine: calls that do not stall take a small part of that.
const MOMENT: Duration = Duration::from_millis(20);
/// How long the end of the window waits for a device that has nothing to do.
const END: Duration = Duration::from_millis(300);

/// How long the engine stays on the device's thread where nobody asks for it.
const STAY: Duration = Duration::from_millis(100);
/// A driver without callbacks is asked as often as this.
pub(super) const ASK: Duration = Duration::from_millis(5);

/// What came of what the engine was lent for.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Done {
    /// It was asked for a frame, and for its other side where that goes with it.
    Asked(Box<(Asked, Came)>, Option<Box<Along>>),
    /// These two pictures were compared, with the map in this slot: how they differ, and what that took, in milliseconds.
    Compared(Box<(Pair, Slot)>, Result<(Difference, f64)>),
    /// Nothing that is to be told.
    Nothing,
}

/// An engine that comes back, what came of what it was lent for, and the frames that are done.
pub(super) type Back = (Box<Engine>, Done, Vec<Finished>);

/// An engine on the device's thread.
pub(super) struct Away {
    back: Receiver<Back>,
    /// Nobody waits any more: the loop has to be woken.
    wake: Arc<AtomicBool>,
    since: Instant,
    /// Since when it is waited for.
    wanted: Option<Instant>,
}

impl Away {
    /// The engine, if it has come back.
    pub(super) fn came(&self) -> Option<Back> {
        self.back.try_recv().ok()
    }
}

/// For how long the engine is lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The work is done.
    Done,
    /// The frames that it has are done as well, or somebody wants it.
    Wanted,
}

/// What is done with a device's side when the engine is back.
pub(super) type WithPipeline = Box<dyn FnOnce(&mut Pipeline) + Send>;

/// The engine, and whoever makes the device's calls.
pub(super) struct Lent {
    /// `None` while it is on the device's thread.
    engine: Option<Box<Engine>>,
    away: Option<Away>,
    /// What the engine calls.
    bell: Arc<Bell>,
    /// When the engine was asked last for frames that are done.
    asked_at: Instant,
    /// Makes the device's calls.
    thread: Option<DeviceThread>,
    /// The window's thread has to make them: the driver wants OpenGL's context.
    calls_here: bool,
    /// For the engine, when it is back: frames to be cancelled, and what the device's side is to be told.
    cancels: Vec<Ticket>,
    later: Vec<WithPipeline>,
    /// What the device has of slots that it could not use.
    rests: Vec<Rest>,
    /// Devices that were given up.
    left: AllLeft,
    /// The parameters of `auto`, as they were when the engine was here, and for which pictures and radius they are wanted.
    auto: Option<String>,
    auto_for: Option<((u32, u32), u32)>,
    /// Why nothing is measured, as it was when the engine was here.
    not_measured: Option<Error>,
    waker: Waker,
}

impl Lent {
    /// An engine without a device, which calls this bell.
    pub(super) fn new(engine: Engine, bell: Arc<Bell>, waker: Waker) -> Self {
        Self {
            engine: Some(Box::new(engine)),
            away: None,
            bell,
            asked_at: Instant::now(),
            thread: None,
            calls_here: false,
            cancels: Vec::new(),
            later: Vec::new(),
            rests: Vec::new(),
            left: AllLeft::default(),
            auto: None,
            auto_for: None,
            not_measured: None,
            waker,
        }
    }

    /// The engine, while it is here.
    pub(super) fn engine(&self) -> Option<&Engine> {
        self.engine.as_deref()
    }

    /// The same, to change it; no OpenCL call is to be made with it.
    pub(super) fn engine_mut(&mut self) -> Option<&mut Engine> {
        self.engine.as_deref_mut()
    }

    /// Who makes the device's calls from now on: that thread, or the window's.
    pub(super) fn set_thread(&mut self, thread: DeviceThread, here: bool) {
        (self.thread, self.calls_here) = (Some(thread), here);
    }

    /// Has what a device has of a slot let go by its thread.
    pub(super) fn release(&self, rest: Rest) {
        match &self.thread {
            Some(thread) => thread.run("memory is released", move || drop(rest)),
            None => drop(rest),
        }
    }

    /// So much time counts for nothing: the device's thread was stopped, too.
    pub(super) fn leave_out(&mut self, time: Duration) {
        if let Some(away) = &mut self.away {
            away.since = away.since.checked_add(time).unwrap_or(away.since);
        }
    }

    /// Returns true if the window's thread makes the device's calls, and may have to wait for its driver.
    pub(super) fn calls_here(&self) -> bool {
        self.calls_here && self.thread.is_some()
    }

    /// What `auto` filters such pictures with, where that is known.
    pub(super) fn auto(&mut self, size: (u32, u32), radius: u32) -> Option<String> {
        self.auto_for = Some((size, radius));
        self.ask_for_auto();
        self.auto.clone()
    }

    /// Asks the engine for the parameters of `auto`, if somebody wants them and it is here.
    fn ask_for_auto(&mut self) {
        let Some(engine) = &self.engine else { return };
        if let Some((size, radius)) = self.auto_for.take() {
            self.auto = engine.pipeline().and_then(|pipeline| pipeline.chosen(VariantId::Auto, size, radius));
        }
    }

    /// Whether there may be frames that are done: something is over, or a driver without callbacks is to be asked.
    pub(super) fn is_to_be_asked(&self) -> bool {
        self.bell.has_rung() || self.asked_at.elapsed() >= ASK
    }

    /// Why nothing is measured on this device, where that is so.
    pub(super) fn not_measured(&mut self) -> Option<&Error> {
        self.ask_for_scopes();
        self.not_measured.as_ref()
    }

    /// Asks the engine why nothing is measured, if it is here.
    fn ask_for_scopes(&mut self) {
        let Some(engine) = &self.engine else { return };
        let scopes = engine.pipeline().and_then(Pipeline::scopes);
        let why = scopes.and_then(std::result::Result::err);
        if why != self.not_measured.as_ref() {
            self.not_measured = why.cloned();
        }
    }
}

impl FrameLoop {
    /// Has the engine do something that may call OpenCL.
    pub(super) fn lend(
        &mut self,
        what: &'static str,
        until: Until,
        work: impl FnOnce(&mut Engine) -> Done + Send + 'static,
    ) {
        let Some(mut engine) = self.lent.engine.take() else { return };
        let Some(thread) = self.lent.thread.as_ref().filter(|_| !self.lent.calls_here) else {
            let done = work(&mut engine);
            let finished = finished(&mut engine);
            self.take((engine, done, finished));
            return;
        };
        for flight in &mut self.flights {
            flight.progress = engine.progress(flight.ticket);
        }
        let (sender, back) = channel();
        let wake = Arc::new(AtomicBool::new(false));
        let (waker, is_to_wake, bell) = (self.lent.waker.clone(), wake.clone(), self.lent.bell.clone());
        self.lent.bell.lend();
        thread.run(what, move || {
            engine.be_on(Side::Device);
            let done = work(&mut engine);
            let mut all = finished(&mut engine);
            if until == Until::Wanted {
                stay(&mut engine, &bell, &mut all);
            }
            engine.be_on(Side::Window);
            bell.give_back();
            if let Err(unwanted) = sender.send((engine, done, all)) {
                // The window is gone, and with it the OpenGL context of what this has.
                std::mem::forget(unwanted);
            }
            if is_to_wake.load(Ordering::SeqCst) {
                waker();
            }
        });
        self.lent.away = Some(Away { back, wake, since: Instant::now(), wanted: None });
        match until {
            Until::Done => self.fetch(),
            Until::Wanted => self.welcome(Duration::ZERO),
        };
    }

    /// Has the engine come back, and waits a moment for it; whether it is here. An engine that does not come is not waited for
    /// again.
    pub fn fetch(&mut self) -> bool {
        let Some(away) = &mut self.lent.away else { return true };
        let waited = away.wanted.get_or_insert_with(Instant::now).elapsed();
        self.lent.bell.want();
        self.welcome(MOMENT.saturating_sub(waited))
    }

    /// Takes the engine back, if it comes within that time; whether it is here.
    pub(super) fn welcome(&mut self, wait: Duration) -> bool {
        let Some(away) = &self.lent.away else { return true };
        let answer = match away.back.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {
                away.wake.store(true, Ordering::SeqCst);
                // It may have come right before that.
                away.came()
            }
            answer => answer.ok(),
        };
        let Some(mut back) = answer else { return false };
        self.lent.away = None;
        self.lent.cancels.drain(..).for_each(|ticket| back.0.cancel(ticket));
        self.take(back);
        self.lent.engine.is_some()
    }

    fn take(&mut self, (engine, done, finished): Back) {
        self.lent.engine = Some(engine);
        self.lent.asked_at = Instant::now();
        self.lent.ask_for_auto();
        self.lent.ask_for_scopes();
        match done {
            Done::Asked(asked, along) => self.both_asked(*asked, along.map(|along| *along)),
            Done::Compared(pictures, compared) => self.compared(pictures.0, pictures.1, compared),
            Done::Nothing => {}
        }
        finished.into_iter().for_each(|finished| self.finish(finished));
    }

    /// Does something with the device's side, where the device's calls are made and as soon as that can be.
    pub fn with_pipeline(&mut self, work: impl FnOnce(&mut Pipeline) + Send + 'static) {
        self.lent.later.push(Box::new(work));
        self.do_what_waits();
    }

    /// Whether something is still to be done with it that was handed over before.
    pub fn is_pipeline_awaited(&self) -> bool {
        !self.lent.later.is_empty()
    }

    pub(super) fn do_what_waits(&mut self) {
        if self.lent.engine.is_none() || self.lent.later.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.lent.later);
        self.lend("what was built is taken over", Until::Done, move |engine| {
            for work in waiting {
                if let Some(pipeline) = engine.pipeline_mut() {
                    work(pipeline);
                }
            }
            Done::Nothing
        });
    }

    /// Drops what has not begun of a frame.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        match &mut self.lent.engine {
            Some(engine) => engine.cancel(ticket),
            None => self.lent.cancels.push(ticket),
        }
    }

    /// How far a frame is; while the engine is away, how far it was.
    pub(super) fn progress(&self, flight: &Flight) -> Progress {
        match (&self.lent.engine, &self.lent.away) {
            (Some(engine), _) => engine.progress(flight.ticket),
            (None, Some(away)) if flight.progress.elapsed_s > 0.0 => {
                let elapsed_s = flight.progress.elapsed_s + away.since.elapsed().as_secs_f64();
                Progress { elapsed_s, ..flight.progress }
            }
            _ => flight.progress,
        }
    }

    /// Whether the engine holds a frame that will take long.
    pub(super) fn is_holding(&self) -> bool {
        self.lent.engine.as_ref().is_some_and(|engine| engine.is_holding())
    }

    /// How long the engine has been away.
    pub fn silent_for(&self) -> Duration {
        self.lent.away.as_ref().map_or(Duration::ZERO, |away| away.since.elapsed())
    }

    /// Gives the device up, with the frames that it has. Its thread ends it, which may take long.
    pub(super) fn take_down(&mut self) {
        self.fetch();
        // What the host's memory has of them goes with the device.
        self.fill_whole();
        let Some(thread) = self.lent.thread.take() else { return };
        self.decoder.set_staging(None);
        self.lent.later.clear();
        self.lent.cancels.clear();
        self.give_up_pairs();
        let waiting = self.ready.iter_mut().chain(&mut self.shown).flat_map(Ready::slots_mut);
        let waiting = waiting.chain(&mut self.free).chain(self.wipe.free());
        let mut rests: Vec<Rest> = waiting.map(Slot::take_rest).collect();
        rests.append(&mut self.lent.rests);
        self.free.clear();
        self.wipe.free().clear();
        let (left, lost): (Left, Vec<Ticket>) = match &mut self.lent.engine {
            Some(engine) => {
                engine.be_on(Side::Both);
                let Some(mut parting) = engine.part_with_device() else { return };
                rests.into_iter().for_each(|rest| parting.add(rest));
                let lost = parting.tickets().collect();
                (Left::parted(thread, parting), lost)
            }
            None => {
                let left = Left::with_engine(thread, self.lent.away.take(), rests);
                self.lent.bell = Bell::new(&self.lent.waker);
                let mut engine = Engine::with_opengl(self.gl.clone(), Bell::waker(&self.lent.bell));
                engine.convert_only_checked(self.choice.waits_for_conversions);
                self.lent.engine = Some(Box::new(engine));
                (left, self.flights.iter().map(|flight| flight.ticket).collect())
            }
        };
        for ticket in lost {
            let at = self.flights.iter().position(|flight| flight.ticket == ticket);
            if let Some(flight) = at.and_then(|at| self.flights.remove(at)) {
                self.give_up(flight, None);
            }
        }
        self.give_up_packed();
        self.lent.left.push(left);
    }

    /// Looks after devices that were given up.
    pub(super) fn look_after_left(&mut self) {
        self.lent.left.look();
        names::delete_left(&self.gl);
    }

    /// Ends the loop. Work that is still on the device is left behind with its memory, because a kernel cannot be stopped and
    /// may take minutes; returns whether the device is idle, and no other one was left behind before.
    #[must_use]
    pub fn shut_down(&mut self) -> bool {
        let tickets: Vec<Ticket> = self.flights.iter().map(|flight| flight.ticket).collect();
        tickets.into_iter().for_each(|ticket| self.cancel(ticket));
        self.collect();
        if !self.fetch() && !self.welcome(END)
            || self.lent.engine.as_ref().is_some_and(|engine| engine.is_device_at_work())
        {
            return false;
        }
        self.take_down();
        let began = Instant::now();
        while !self.lent.left.is_empty() && began.elapsed() < END {
            self.look_after_left();
            std::thread::sleep(Duration::from_millis(1));
        }
        self.lent.left.ended_idle()
    }
}

/// The frames that are done.
fn finished(engine: &mut Engine) -> Vec<Finished> {
    std::iter::from_fn(|| engine.poll()).collect()
}

/// Finishes frames on the device's thread while nobody wants the engine.
fn stay(engine: &mut Engine, bell: &Bell, all: &mut Vec<Finished>) {
    let began = Instant::now();
    let mut heard = Heard::Nothing;
    while heard != Heard::Wanted && engine.has_device_work() && began.elapsed() < STAY {
        heard = bell.wait(ASK);
        all.append(&mut finished(engine));
    }
}
