//! Whether the movie keeps its time, in words. In: what the window knows about the moment, and the frames presented of late.
//! Out: a [`PlayState`], which says what happened and nothing else.

use std::fmt;

use super::Recorder;

/// Seconds that a state looks back.
const RECENT_S: f64 = 1.0;

/// What the player is doing. `Display` gives the words that the window shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayState {
    /// The first movie is not open yet.
    Opening,
    /// The movie stands still.
    Paused,
    /// There is one picture and no movie.
    Still,
    /// The picture of the chosen filter is awaited.
    Waiting,
    /// The movie cannot be read any further.
    Stopped,
    /// Every frame was shown, and none will follow.
    Ended,
    /// The picture of another place in the movie is awaited.
    Seeking,
    /// The next frame is overdue, and the decoder does not give it.
    Stalled,
    /// Frames are presented as fast as they come.
    Unpaced,
    /// Decoding takes longer than the movie: frames are left out before they are there.
    CatchingUp,
    /// So many frames of the last second were left out because their successors were due.
    Dropping(u64),
    /// So many frames of the last second were presented too late, and none was left out.
    Late(u64),
    /// Every frame of the last second was presented in its time.
    InTime,
}

/// What the window knows about the moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Playing {
    /// The first movie is not open yet.
    pub opening: bool,
    /// The movie stands still because the user wants it to.
    pub paused: bool,
    /// There is one picture and no movie.
    pub still: bool,
    /// The picture of the chosen filter is awaited.
    pub waiting: bool,
    /// The movie cannot be read any further, and what could be read was shown.
    pub stopped: bool,
    /// Every frame was shown for its time, and none will follow.
    pub ended: bool,
    /// The picture of another place in the movie has been awaited for some time.
    pub seeking: bool,
    /// The decoder does not give the next frame, which is long overdue.
    pub stalled: bool,
    /// Frames are presented as fast as they come.
    pub unpaced: bool,
    /// Decoding takes longer than the movie.
    pub catching_up: bool,
}

impl PlayState {
    /// What the player is doing.
    pub fn of(playing: Playing, recorder: &Recorder) -> Self {
        let history = recorder.history();
        let last = history.back().map_or(0.0, |f| f.presented_at);
        let recent = || history.iter().rev().take_while(|f| last - f.presented_at < RECENT_S);
        let dropped: u64 = recent().map(|f| u64::from(f.dropped_before)).sum();
        let late = recent().filter(|f| f.late).count() as u64;
        match playing {
            Playing { opening: true, .. } => Self::Opening,
            Playing { paused: true, .. } => Self::Paused,
            Playing { waiting: true, .. } => Self::Waiting,
            Playing { still: true, .. } => Self::Still,
            Playing { stopped: true, .. } => Self::Stopped,
            Playing { ended: true, .. } => Self::Ended,
            Playing { seeking: true, .. } => Self::Seeking,
            Playing { stalled: true, .. } => Self::Stalled,
            Playing { unpaced: true, .. } => Self::Unpaced,
            Playing { catching_up: true, .. } => Self::CatchingUp,
            _ if dropped > 0 => Self::Dropping(dropped),
            _ if late > 0 => Self::Late(late),
            _ => Self::InTime,
        }
    }

    /// Returns true if frames follow each other, so that there is a rate.
    pub fn plays(self) -> bool {
        match self {
            Self::Waiting | Self::Unpaced | Self::CatchingUp => true,
            Self::Dropping(_) | Self::Late(_) | Self::InTime => true,
            Self::Opening | Self::Paused | Self::Still => false,
            Self::Stopped | Self::Ended | Self::Seeking | Self::Stalled => false,
        }
    }

    /// Returns true if it does something else than playing because the user wants it to.
    pub fn is_asked_for(self) -> bool {
        matches!(self, Self::Paused | Self::Waiting | Self::Ended | Self::Seeking)
    }

    /// Whether everything is as it should be.
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
