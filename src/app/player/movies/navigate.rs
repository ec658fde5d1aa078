//! Moving about in the movie: seeking, stepping, speed, and repeating a part. In: what keys and the seek bar
//! ask for. Out: calls to the frame loop and the decoder.

use super::{Movies, With};
use crate::scene::Input;
use engine::frame_loop::FrameLoop;
use video::Seek;

/// The slowest and the fastest speed.
const SPEEDS: (f64, f64) = (0.25, 4.0);

/// So long after a chapter's beginning, in seconds, the way back leads there and not to the one before, as in mpv.
const AGAIN_S: f64 = 5.0;

/// A key that is held asks for places faster than they can be shown.
#[derive(Debug, Default)]
pub(super) struct Navigation {
    /// Where the last seek goes, until its frame is on the screen; the next one counts from there.
    target_s: Option<f64>,
    /// A seek that waits for the one before to be shown.
    waits: Option<Seek>,
    /// Key frames are being shown, until the key is let go.
    coarse: bool,
    /// Where the part to repeat begins, and where it ends once that is said.
    ab: (Option<f64>, Option<f64>),
}

impl Movies {
    /// Where the last seek goes, in seconds, until it is on the screen.
    pub(in crate::app::player) fn target_s(&self) -> Option<f64> {
        self.navigation.target_s
    }

    /// Where the part to repeat begins and ends, in seconds, as far as that is said.
    pub(in crate::app::player) fn part(&self) -> (Option<f64>, Option<f64>) {
        self.navigation.ab
    }

    /// Goes `seconds` on, or back when negative. While a key is held (`exact` is false) key frames are shown;
    /// [`Movies::refine`] shows the exact frame when it is let go.
    pub(in crate::app::player) fn seek_by(&mut self, seconds: f64, exact: bool, with: &mut With) {
        let from = self.navigation.target_s.unwrap_or_else(|| with.frames.position_s());
        self.seek_to(from + seconds, exact, with);
    }

    /// Goes to a time of the movie, in seconds.
    pub(in crate::app::player) fn seek_to(&mut self, to_s: f64, exact: bool, with: &mut With) {
        // A damaged file may state any length, also one that is no number.
        let end = self.scenes.facts().duration_s.unwrap_or(f64::MAX);
        let to_s = to_s.min(end).max(0.0);
        self.navigation.target_s = Some(to_s);
        self.navigation.coarse = !exact;
        self.navigation.waits = Some(if exact { Seek::Exact(to_s) } else { Seek::Keyframe(to_s) });
        if exact || !with.frames.is_on_its_way() {
            self.seek_now(with);
        }
    }

    /// Makes the scene `step` larger where it has sizes; else goes `step` chapters on, or back: back is the beginning of the present one, unless it has just begun.
    pub(in crate::app::player) fn go_to_chapter(&mut self, step: isize, with: &mut With) {
        if self.input(Input::Size(step), with) {
            return;
        }
        let here = self.navigation.target_s.unwrap_or_else(|| with.frames.position_s());
        let frame_s = with.frames.frame_interval_ns().map_or(0.0, |ns| ns as f64 / 1e9);
        let starts: Vec<f64> = self.scenes.facts().chapters.iter().map(|chapter| chapter.start_s).collect();
        let Some(next) = chapter(&starts, here, frame_s, step) else {
            let text =
                if starts.is_empty() { "This movie has no chapters" } else { "This is the last chapter" };
            with.overlay.say(text.to_owned());
            return;
        };
        let facts = self.scenes.facts();
        let title = facts.chapters.get(next).map_or("", |chapter| chapter.title.as_str());
        let colon = if title.is_empty() { "" } else { ": " };
        with.overlay.say(format!("Chapter {} of {}{colon}{title}", next + 1, starts.len()));
        self.seek_to(starts.get(next).copied().unwrap_or(0.0), true, with);
    }

    /// The key was let go: the exact frame of the last place.
    pub(in crate::app::player) fn refine(&mut self, with: &mut With) {
        if let Some(to_s) = self.navigation.target_s.filter(|_| self.navigation.coarse) {
            self.seek_to(to_s, true, with);
        }
    }

    /// One frame on, or back.
    pub(in crate::app::player) fn step(&self, back: bool, frames: &mut FrameLoop) {
        if !back {
            frames.step();
        } else {
            if !frames.is_paused() {
                frames.toggle_pause();
            }
            frames.seek(Seek::Before(frames.position_s()));
        }
    }

    /// Changes the speed by a factor; `None` goes back to the movie's own.
    pub(in crate::app::player) fn change_speed(&self, factor: Option<f64>, frames: &mut FrameLoop) {
        let speed = factor.map_or(1.0, |factor| (frames.speed() * factor).clamp(SPEEDS.0, SPEEDS.1));
        frames.set_speed(speed);
    }

    /// Marks where the part to repeat begins, then where it ends, then forgets both.
    pub(in crate::app::player) fn mark_part(&mut self, frames: &FrameLoop) {
        let here = frames.position_s();
        self.navigation.ab = match self.navigation.ab {
            (None, _) => (Some(here), None),
            (Some(a), None) if a != here => (Some(a.min(here)), Some(a.max(here))),
            _ => (None, None),
        };
        let part = self.navigation.ab.0.zip(self.navigation.ab.1);
        frames.decoder().set_ab(part);
    }

    /// Repeats the movie, or not.
    pub(in crate::app::player) fn toggle_loop(&self, frames: &FrameLoop) {
        let decoder = frames.decoder();
        decoder.set_looping(!decoder.is_looping());
    }

    /// What is repeated, in words for the overlay; empty when playing simply goes on.
    pub(in crate::app::player) fn repeats(&self, frames: &FrameLoop) -> String {
        match self.navigation.ab {
            (Some(a), Some(b)) => format!("repeats {a:.2} to {b:.2} s"),
            (Some(a), None) => format!("repeats from {a:.2} s"),
            (None, _) if self.playlist.count() == 1 && !frames.decoder().is_looping() => "once".to_owned(),
            (None, _) => String::new(),
        }
    }

    /// Called each turn: goes on with the seek that waits, and forgets the target once it is on the screen.
    pub(super) fn navigate(&mut self, with: &mut With) {
        self.look_after_paths(with);
        if with.frames.is_on_its_way() {
            return;
        }
        if self.navigation.waits.is_some() {
            self.seek_now(with);
        } else if !self.navigation.coarse {
            // While key frames are shown the next place counts from the last one asked for: a key frame may lie
            // far before it.
            self.navigation.target_s = None;
        }
    }

    fn seek_now(&mut self, with: &mut With) {
        if let Some(to) = self.navigation.waits.take() {
            with.frames.seek(to);
            with.repaints.soon();
        }
    }
}

/// The chapter that lies `step` beside that of `here`, of those that begin at `starts`; `None` behind the last one. A
/// picture of `frame_s` seconds that a chapter begins within belongs to it: it is what a seek there shows.
fn chapter(starts: &[f64], here: f64, frame_s: f64, step: isize) -> Option<usize> {
    // Before the first one there is none.
    let begun = starts.iter().filter(|start| **start < here + frame_s.max(1e-3)).count() as isize;
    let entered = usize::try_from(begun - 1).ok().and_then(|present| starts.get(present));
    let is_late = entered.is_some_and(|start| here - start > AGAIN_S);
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
