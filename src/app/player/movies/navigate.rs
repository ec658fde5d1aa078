//! Navigation in the movie: seeking, single steps, speed, and the section that is repeated.

use crate::app::player::PlayerContext;
use engine::frame_loop::FrameLoop;
use video::Seek;

/// The slowest and the fastest speed at which the movie can be played, as multiples of its own speed.
const SPEEDS: (f64, f64) = (0.25, 4.0);

/// If a chapter has played for longer than this many seconds, the key for the previous chapter seeks to the beginning of the
/// current one, as in mpv.
const RESTART_S: f64 = 5.0;

/// The seeks in progress, and the section that is repeated. While a key is held, positions are requested faster than they can
/// be shown.
#[derive(Debug, Default)]
pub(crate) struct Navigation {
    /// The target of the last seek in seconds, from which relative seeks start; `None` once its frame is on the screen and no
    /// seek key is held.
    pub(crate) target_s: Option<f64>,
    /// The seek that starts once the frame of the previous seek is on the screen; `None` if there is none.
    next_seek: Option<Seek>,
    /// True while a seek key is held, so that only key frames are shown.
    is_coarse: bool,
    /// The beginning and the end of the repeated section in seconds; each is `None` while it is not marked.
    pub(crate) part: (Option<f64>, Option<f64>),
}

impl Navigation {
    /// Returns the position in seconds from which relative seeks start: the target of a seek in progress, else the position of
    /// the picture on the screen.
    pub(crate) fn position_s(&self, cx: &PlayerContext) -> f64 {
        self.target_s.unwrap_or_else(|| cx.frames.presenter.screen.position_s())
    }

    /// Seeks to a time within the movie, in seconds. If `exact` is false, because a key is held, shows the nearest key frame;
    /// [`Navigation::refine`] then shows the exact frame when the key is released.
    pub(super) fn seek_to(&mut self, to_s: f64, exact: bool, cx: &mut PlayerContext) {
        (self.target_s, self.is_coarse) = (Some(to_s), !exact);
        self.next_seek = Some(if exact { Seek::Exact(to_s) } else { Seek::Keyframe(to_s) });
        if exact || cx.frames.schedule.has_started {
            self.seek_now(cx);
        }
    }

    /// Seeks to the exact frame of the last target, after the seek key was released. Does nothing if key frames were not shown.
    pub(crate) fn refine(&mut self, cx: &mut PlayerContext) {
        if let Some(to_s) = self.target_s.filter(|_| self.is_coarse) {
            self.seek_to(to_s, true, cx);
        }
    }

    /// Marks the frame on the screen as the beginning of the repeated section; a second call marks the end, and a third call
    /// removes both marks.
    pub(crate) fn mark_part(&mut self, frames: &FrameLoop) {
        let here = frames.presenter.screen.position_s();
        self.part = match self.part {
            (None, _) => (Some(here), None),
            (Some(a), None) if a != here => (Some(a.min(here)), Some(a.max(here))),
            _ => (None, None),
        };
        frames.intake.decoder.set_repeat_section(self.part.0.zip(self.part.1));
    }

    /// Starts the pending seek once the frame of the previous seek is on the screen. Clears the target of the last seek once
    /// its frame is on the screen, unless a seek key is held.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) {
        if !cx.frames.schedule.has_started {
            return;
        }
        if self.next_seek.is_some() {
            self.seek_now(cx);
        } else if !self.is_coarse {
            // While key frames are shown, the next seek starts from the last target, since the shown key frame may lie far
            // before that.
            self.target_s = None;
        }
    }

    /// Starts the pending seek; does nothing if there is none.
    fn seek_now(&mut self, cx: &mut PlayerContext) {
        if let Some(to) = self.next_seek.take() {
            cx.frames.seek(to);
            cx.repaints.redraw_soon();
        }
    }
}

/// Pauses the movie, and shows the frame after the one on the screen, or the frame before it if `back` is true.
pub(crate) fn step(back: bool, frames: &mut FrameLoop) {
    if !back {
        frames.schedule.step();
    } else {
        if !frames.schedule.is_paused() {
            frames.schedule.toggle_pause();
        }
        frames.seek(Seek::Before(frames.presenter.screen.position_s()));
    }
}

/// Multiplies the movie's speed by `factor`; `None` restores the movie's own speed.
pub(crate) fn change_speed(factor: Option<f64>, frames: &mut FrameLoop) {
    let speed =
        factor.map_or(1.0, |factor| (frames.schedule.clock.speed() * factor).clamp(SPEEDS.0, SPEEDS.1));
    frames.schedule.clock.set_speed(speed);
}

/// Switches repeating of the whole movie on or off.
pub(crate) fn toggle_loop(frames: &FrameLoop) {
    let decoder = &frames.intake.decoder;
    decoder.set_looping(!decoder.is_looping());
}

/// Returns the index of the chapter `step` chapters after the one at the position `here` (before it if `step` is negative);
/// `None` if that is after the last chapter. `starts` are the beginnings of the chapters; all times are in seconds. A chapter
/// that begins while a picture is shown, for `frame_s` seconds, counts as begun, since a seek to that chapter shows that
/// picture.
pub(super) fn chapter(starts: &[f64], here: f64, frame_s: f64, step: isize) -> Option<usize> {
    // Before the first chapter there is none.
    let begun = starts.iter().filter(|start| **start < here + frame_s.max(1e-3)).count() as isize;
    let entered = usize::try_from(begun - 1).ok().and_then(|present| starts.get(present));
    let is_late = entered.is_some_and(|start| here - start > RESTART_S);
    let to = begun - 1 + step + isize::from(step < 0 && is_late);
    usize::try_from(to.max(0)).ok().filter(|to| *to < starts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_follow_each_other() {
        let starts = [0.0, 10.01, 30.0];
        let to = |here, step| chapter(&starts, here, 0.04, step);
        assert_eq!([to(0.0, 1), to(9.9, 1), to(12.0, 1), to(31.0, 1)], [Some(1), Some(1), Some(2), None]);
        // The picture that a seek to 10.01 s shows begins before it.
        assert_eq!([to(10.0, 1), to(10.0, -1), to(12.0, -1)], [Some(2), Some(0), Some(0)]);
        assert_eq!([to(20.0, -1), to(0.5, -1), to(29.0, -1)], [Some(1), Some(0), Some(1)]);
        assert_eq!(chapter(&[], 1.0, 0.04, 1), None);
        assert_eq!(chapter(&[5.0], 1.0, 0.04, 1), Some(0), "what comes before the first one");
        assert_eq!(chapter(&[5.0], 1.0, 0.04, -1), Some(0));
    }
}
