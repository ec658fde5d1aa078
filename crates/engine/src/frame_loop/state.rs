//! Queries of the loop's state that concern several of its parts: whether frames follow the picture on the screen, and which
//! frames take long.

use std::time::{Duration, Instant};

use super::FrameLoop;
use stats::{Busy, Playing, Request};

/// The time in seconds after which the user is told that a picture is awaited or is still being filtered.
const BUSY_AFTER_S: f64 = 0.25;
/// The time for which a still picture is shown before the next movie of the playlist.
const STILL_DURATION: Duration = Duration::from_secs(5);
/// The time after which a next frame that is overdue is reported to the user.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);

impl FrameLoop {
    /// Returns true if the next frame has to come from the decoder: no frame is being filtered, is ready, or waits to be taken.
    fn awaits_decoder(&self) -> bool {
        let is_empty = self.filters.flights.count() == 0 && self.presenter.ready.is_empty();
        is_empty && self.intake.returned.is_empty() && self.intake.decoder.queue().frame_count() == 0
    }

    /// Returns true if the picture on the screen stays there: in a pause, at the movie's end, and if the next frame is due much
    /// later, as in a slide show, or has not been decoded.
    pub(super) fn shown_stays(&self) -> bool {
        let stays = |frame: &_| self.schedule.stays(frame, self.awaits_decoder());
        self.schedule.is_paused()
            || self.intake.is_finished()
            || self.presenter.screen.shown().is_some_and(|shown| stays(&shown.origin.frame))
    }

    /// Returns true if every frame was shown and no frame is left to decode or to filter again.
    pub fn is_finished(&self) -> bool {
        self.intake.is_finished()
            && self.awaits_decoder()
            && self.shown_to_refilter(&self.choice.current_request(self.filters.workers.status())).is_none()
    }

    /// Returns the state of playback as far as the loop knows it; the window adds its own conditions.
    pub fn playing(&self) -> Playing {
        let (schedule, decoder) = (&self.schedule, &self.intake.decoder);
        let (paused, is_finished) = (schedule.is_paused(), self.is_finished());
        let frame = self.presenter.screen.shown().map(|shown| &shown.origin.frame);
        let still_ns = STILL_DURATION.as_nanos() as i64;
        let is_past = frame.is_some_and(|frame| {
            let duration_ns = frame.duration_ns.max(if frame.number == 0 { still_ns } else { 0 });
            schedule.is_past(frame, duration_ns)
        });
        let end = frame.and_then(|frame| schedule.end_of(frame));
        let is_late = |since: Instant| since.elapsed().as_secs_f64() > BUSY_AFTER_S;
        let is_overdue = end.is_some_and(|end| Instant::now() > end + STALL_TIMEOUT);
        Playing {
            paused,
            still: frame.is_some_and(|frame| frame.number == 0) && self.intake.is_finished(),
            stopped: is_finished && decoder.has_failed(),
            ended: is_finished && is_past,
            seeking: frame.is_some() && !schedule.is_placed && is_late(schedule.restarted_at),
            stalled: is_overdue && !paused && !self.intake.is_finished() && self.awaits_decoder(),
            catching_up: decoder.queue().is_catching_up(),
            ..Playing::default()
        }
    }

    /// Returns the picture that the user is waiting for. It is the first picture with the chosen filter if that has been
    /// awaited for longer than [`BUSY_AFTER_S`]; otherwise the oldest frame that is being filtered, if its filter has taken
    /// that long. A picture that is held back because its filter will take long is returned at once. In a wipe, variant and
    /// settings are those of the first side.
    pub fn busy(&self) -> Option<Busy> {
        let workers = &self.filters.workers;
        let is_late = |elapsed_s: f64| elapsed_s > BUSY_AFTER_S || workers.is_holding();
        let is_awaited = self.choice.is_awaited(self.presenter.screen.filter());
        let chosen_at = self.choice.chosen_at.filter(|_| is_awaited);
        if let Some(chosen_at) = chosen_at.filter(|at| is_late(at.elapsed().as_secs_f64())) {
            let (variant, settings) = self.choice.filter();
            // The time of the build is shown while it runs, but is no time of the frame.
            let awaits_build = workers.status().awaits_build(variant);
            let began =
                self.choice.unbuilt_at.filter(|_| !awaits_build).map_or(chosen_at, |at| at.max(chosen_at));
            let elapsed_s = began.elapsed().as_secs_f64();
            let is_it = |request: &Request| (request.variant, request.settings) == (variant, settings);
            let flight = self.filters.flights.list.iter().find(|flight| is_it(&flight.first.request));
            let progress = flight.map(|flight| workers.progress(&flight.first));
            return Some(Busy {
                variant,
                settings,
                awaits_build,
                fraction: progress.map_or(0.0, |progress| progress.fraction as f32),
                elapsed_s,
                predicted_s: progress.and_then(|p| Some(elapsed_s - p.elapsed_s() + p.total_s()?)),
            });
        }
        let mut flights = self.filters.flights.list.iter();
        let (flight, pass) =
            flights.find_map(|flight| Some((flight, flight.passes().find(|pass| !pass.is_done())?)))?;
        let progress = workers.progress(pass);
        let (fraction, elapsed_s) = (progress.fraction as f32, progress.elapsed_s());
        let Request { variant, settings, .. } = flight.first.request;
        let predicted_s = progress.total_s();
        is_late(elapsed_s).then_some(Busy {
            variant,
            settings,
            awaits_build: false,
            fraction,
            elapsed_s,
            predicted_s,
        })
    }
}
