//! The state of playback: paused, on time, late, dropping frames and so on.

use std::fmt;

use super::Recorder;

/// The length of the time over which dropped and late frames are counted, in seconds.
const RECENT_S: f64 = 1.0;

/// The state of playback. `Display` writes the words that the window shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayState {
    /// The first movie is not open yet.
    Opening,
    /// The movie is paused.
    Paused,
    /// The movie has only one picture.
    Still,
    /// The first picture with the chosen filter is not on the screen yet.
    Waiting,
    /// The movie cannot be read any further.
    Stopped,
    /// Every frame was shown, and none will follow.
    Ended,
    /// The first picture after a seek is not on the screen yet.
    Seeking,
    /// The next frame is overdue because the decoder has not delivered it.
    Stalled,
    /// Frames are presented as fast as they are filtered.
    Unpaced,
    /// Decoding takes longer than the movie's own time, and frames are dropped before they are decoded.
    CatchingUp,
    /// Frames were dropped during the last second because their successors were due. The value is their number.
    Dropping(u64),
    /// Frames were presented too late during the last second, but none was dropped. The value is their number.
    Late(u64),
    /// Every frame of the last second was presented in time.
    InTime,
}

/// The conditions that determine the [`PlayState`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Playing {
    /// True if the first movie is not open yet.
    pub opening: bool,
    /// True if the user has paused the movie.
    pub paused: bool,
    /// True if the movie has only one picture.
    pub still: bool,
    /// True if the first picture with the chosen filter is not on the screen yet.
    pub waiting: bool,
    /// True if the movie cannot be read any further, and every frame that was read has been shown.
    pub stopped: bool,
    /// True if every frame was shown for its whole duration, and none will follow.
    pub ended: bool,
    /// True if the first picture after a seek has been awaited for some time.
    pub seeking: bool,
    /// True if the next frame is long overdue because the decoder has not delivered it.
    pub stalled: bool,
    /// True if frames are presented as fast as they are filtered.
    pub unpaced: bool,
    /// True if decoding takes longer than the movie's own time.
    pub catching_up: bool,
}

impl PlayState {
    /// Determines the state of playback from these conditions and from the frames of the last second.
    pub fn of(playing: Playing, recorder: &Recorder) -> Self {
        let history = recorder.history();
        let last = history.back().map_or(0.0, |f| f.presented_at);
        let recent = || history.iter().rev().take_while(|f| last - f.presented_at < RECENT_S);
        let dropped: u64 = recent().map(|f| u64::from(f.dropped_before)).sum();
        let late = recent().filter(|f| f.late).count() as u64;
        let states = [
            (playing.opening, Self::Opening),
            (playing.paused, Self::Paused),
            (playing.waiting, Self::Waiting),
            (playing.still, Self::Still),
            (playing.stopped, Self::Stopped),
            (playing.ended, Self::Ended),
            (playing.seeking, Self::Seeking),
            (playing.stalled, Self::Stalled),
            (playing.unpaced, Self::Unpaced),
            (playing.catching_up, Self::CatchingUp),
            (dropped > 0, Self::Dropping(dropped)),
            (late > 0, Self::Late(late)),
        ];
        states.into_iter().find(|(is_so, _)| *is_so).map_or(Self::InTime, |(_, state)| state)
    }

    /// Returns true if frames are presented continuously, so that a frame rate is meaningful.
    pub fn plays(self) -> bool {
        let is_running = matches!(self, Self::Dropping(_) | Self::Late(_) | Self::InTime);
        is_running || matches!(self, Self::Waiting | Self::Unpaced | Self::CatchingUp)
    }

    /// Returns true if the movie does not play because the user has requested that.
    pub fn is_requested(self) -> bool {
        matches!(self, Self::Paused | Self::Waiting | Self::Ended | Self::Seeking)
    }

    /// Returns true if playback works as it should, so that the user need not do anything.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Opening | Self::Still | Self::Unpaced | Self::InTime)
    }
}

impl fmt::Display for PlayState {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let frames = |n: u64| if n == 1 { "frame" } else { "frames" };
        match *self {
            Self::Opening => f.write_str("Opening the movie"),
            Self::Paused => f.write_str("Paused"),
            Self::Still => f.write_str("Still picture"),
            Self::Waiting => f.write_str("Waiting for the filter"),
            Self::Stopped => f.write_str("Stopped: the file could not be read"),
            Self::Ended => f.write_str("Ended"),
            Self::Seeking => f.write_str("Seeking"),
            Self::Stalled => f.write_str("Waiting for the next frame"),
            Self::Unpaced => f.write_str("Playing as fast as it can"),
            Self::CatchingUp => f.write_str("Decoding too slow, skipping"),
            Self::Dropping(n) => write!(f, "Too slow, {n} {} dropped", frames(n)),
            Self::Late(n) => write!(f, "{n} {} late", frames(n)),
            Self::InTime => f.write_str("Playing in time"),
        }
    }
}
