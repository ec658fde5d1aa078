//! The end of a frame's work: it is finished, given up, or has failed; and the end of a device.

use std::sync::Arc;
use std::time::Instant;

use super::lent::{Done, Until};
use super::{Beside, Flight, FrameLoop, Half, Ready, Seen, Side};
use crate::stats::Stage;
use crate::{Finished, Outcome, Slot};
use base::error::Error;
use box_filter::VariantId;
use opengl::texture::Part;
use opengl::timer::GlTimer;

/// How many pixels beyond what is seen OpenGL may look at.
const NEIGHBOURS: u32 = 2;

impl Ready {
    /// Moves what is seen of its pictures into their textures; what that takes is the stages' that bring them to the screen.
    fn fill(&mut self, seen: Seen, timer: Option<&GlTimer>) {
        self.is_filled = true;
        let parts = self.parts(seen);
        let stages = &mut self.flight.stages;
        if let Some(beside) = &mut self.beside {
            let began = Instant::now();
            beside.show(&parts[1]);
            stages.did(Stage::Wipe, began);
        }
        let began = Instant::now();
        if let Some(timer) = timer.filter(|_| self.slot.is_in_output()) {
            self.fetched = timer.time_and_begin(|| self.slot.show_part(&parts[0])).1;
        } else {
            self.slot.show_part(&parts[0]);
        }
        stages.did(Stage::Release, began);
    }

    /// Moves into the textures what is seen of its pictures and is not there yet.
    fn complete(&mut self, seen: Seen) {
        let [first, other] = self.parts(seen);
        self.slot.show_part(&first);
        self.beside.iter_mut().for_each(|beside| beside.show(&other));
    }

    /// What is seen of the picture and of the one beside it.
    fn parts(&self, seen: Seen) -> [Part; 2] {
        let size = self.slot.size();
        let wiped = seen.line.filter(|_| self.beside.is_some());
        let Some(line) = wiped else { return [Part::whole(size), Part::whole(size)] };
        let orientation = self.flight.frame.orientation();
        let ((across, _), _) = orientation.shown(size, 1.0);
        let line = f64::from(line.clamp(0.0, 1.0)) * f64::from(across);
        // OpenGL takes the neighbours of a pixel, too, where the window has another size.
        let left = if line > 0.0 { 0..line.ceil() as u32 + NEIGHBOURS } else { 0..0 };
        let right =
            if line < f64::from(across) { (line as u32).saturating_sub(NEIGHBOURS)..across } else { 0..0 };
        [left, right].map(|columns| {
            let [x, y] = orientation.stored(size, columns);
            Part { x, y }
        })
    }
}

impl FrameLoop {
    pub(super) fn collect(&mut self) {
        self.gl_times.collect(&mut self.recorder);
        if !self.fetch() {
            return;
        }
        self.do_what_waits();
        let some = self.collect_here();
        let has_work = self.lent.engine().is_some_and(|engine| engine.has_device_work());
        if has_work && (some || self.lent.is_to_be_asked()) {
            self.lend("a frame is filtered", Until::Done, |engine| {
                // What the window's side has finished may have made way.
                engine.start_waiting();
                Done::Nothing
            });
            self.collect_here();
        }
        if let Some(error) = self.lent.engine_mut().and_then(|engine| engine.take_failure()) {
            self.device_failed(error);
        }
    }

    /// Collects what needs no device; whether there was any.
    pub(super) fn collect_here(&mut self) -> bool {
        let mut some = false;
        while let Some(engine) = self.lent.engine_mut() {
            engine.start_waiting();
            let Some(finished) = engine.poll() else { break };
            self.finish(finished);
            some = true;
        }
        some
    }

    /// Takes what the engine has done with.
    pub(super) fn finish(&mut self, finished: Finished) {
        let Finished { ticket, outcome, slot, stages, readings } = finished;
        let at = self.flights.iter().position(|flight| flight.ticket == ticket);
        let Some(mut flight) = at.and_then(|at| self.flights.remove(at)) else { return };
        flight.stages.add(stages);
        match (outcome, slot) {
            (Outcome::Done, Some(slot)) if self.is_made_anew(&flight) => self.take_again(flight, slot),
            (Outcome::Done, Some(slot)) => {
                let side = flight.side;
                let half = Half::new(flight, slot, readings);
                match side {
                    Side::Alone => self.show(half, None),
                    Side::First => self.first_is_done(half),
                    Side::Other => self.other_is_done(half),
                }
            }
            (Outcome::Failed(error), slot) if flight.side == Side::Other => {
                self.give_up(flight, slot);
                self.end_wipe(error);
            }
            (Outcome::Failed(error), slot) => {
                // Not the device: that one would be left.
                self.do_without(flight.request.variant, error);
                self.give_up(flight, slot);
            }
            (_, slot) => self.give_up(flight, slot),
        }
    }

    /// A picture is done, and goes to the screen when it is due.
    pub(super) fn show(&mut self, half: Half, beside: Option<Box<Beside>>) {
        let Half { flight, slot, readings } = half;
        let again = flight.again;
        // The movie may have gone on meanwhile.
        let is_shown = |shown: &Ready| Arc::ptr_eq(&shown.flight.frame, &flight.frame);
        let is_wanted = !again || self.shown.as_ref().is_some_and(is_shown);
        let is_wanted = is_wanted && flight.generation == self.generation;
        let (is_filled, fetched) = (false, None);
        let ready = Ready { flight, slot, is_filled, fetched, readings, beside };
        if !is_wanted {
            self.give_up_ready(ready);
            return;
        }
        if again { self.ready.push_front(ready) } else { self.ready.push_back(ready) }
    }

    /// Moves pictures that are ready into their textures, unless they are there.
    pub(super) fn fill(&mut self) {
        let (seen, timer) = (self.seen, self.gl_times.timer());
        self.ready.iter_mut().filter(|ready| !ready.is_filled).for_each(|ready| ready.fill(seen, timer));
    }

    /// What is seen from now on of pictures, where two are side by side: that on the screen has it in its textures then.
    pub fn sees(&mut self, seen: Seen) {
        self.seen = seen;
        self.shown.iter_mut().for_each(|shown| shown.complete(seen));
    }

    /// Has all pictures in their textures, with what is not seen of them.
    pub(super) fn fill_whole(&mut self) {
        self.fill();
        self.ready.iter_mut().chain(&mut self.shown).for_each(|ready| ready.complete(Seen::ALL));
    }

    /// Gives a picture up that was ready, with what is beside it.
    pub(super) fn give_up_ready(&mut self, ready: Ready) {
        let Ready { flight, slot, beside, .. } = ready;
        beside.into_iter().flat_map(|beside| beside.into_slots()).for_each(|slot| self.free_beside(slot));
        self.give_up(flight, Some(slot));
    }

    /// Frees the slots of a frame that was ready, or shown.
    pub(super) fn free_ready(&mut self, ready: Ready) {
        let beside = ready.beside.into_iter().flat_map(|beside| beside.into_slots());
        beside.for_each(|slot| self.free_beside(slot));
        self.free(ready.slot);
    }

    /// Frees the slot of a frame that will not be shown as it is. During a pause, or where its time goes on for long, the frame is
    /// taken once more, else it counts as dropped.
    pub(super) fn give_up(&mut self, flight: Flight, slot: Option<Slot>) {
        match flight.side {
            Side::Alone => {}
            Side::First => self.first_is_lost(&flight),
            Side::Other => {
                slot.into_iter().for_each(|slot| self.free_beside(slot));
                self.other_is_lost(&flight.frame);
                return;
            }
        }
        if flight.again || flight.generation != self.generation {
            // It is on the screen already, or of a movie that is not played any more.
        } else if self.clock.is_paused() || self.has_long_time(&flight.frame) {
            self.give_back(flight);
        } else {
            self.dropped += flight.dropped_before + 1;
        }
        slot.into_iter().for_each(|slot| self.free(slot));
    }

    /// Keeps a slot for a next frame; OpenGL has had its last command for what is in it.
    pub(super) fn free(&mut self, mut slot: Slot) {
        slot.retire();
        self.free.push(slot);
    }

    /// Tells an error and does without what failed: the variant, or without one the colour correction.
    pub(super) fn do_without(&mut self, variant: VariantId, error: Error) {
        self.choice.do_without(variant);
        self.errors.push(((variant != VariantId::Off).then_some(variant), error));
    }

    /// The device has failed, or has no memory left: the loop goes on without one, and shows the movie unfiltered
    /// until it gets another.
    pub(super) fn device_failed(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.take_down();
    }

    /// Has the frames give their packed planes back, before the device goes that they are of. What other threads still
    /// have comes back later.
    pub(super) fn give_up_packed(&mut self) {
        let pictures = self.ready.iter().chain(&self.shown).map(|ready| &ready.flight);
        let frames = self.flights.iter().chain(pictures).map(|flight| &flight.frame);
        let frames = frames.chain(self.wipe.frames());
        for frame in frames.chain(self.returned.iter().map(|(frame, _)| frame)) {
            frame.packed.take();
        }
    }
}
