//! Detection of a window that nobody can see because it is minimised or withdrawn. While the window is hidden, the movie is
//! paused, and nothing is filtered or drawn.

use winit::raw_window_handle::HasWindowHandle as _;

use super::*;
use crate::app::display;

/// The time between two checks of whether the window is hidden. Each check queries the X server.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Checks at intervals if the window is hidden.
#[derive(Debug, Default)]
pub(super) struct Visibility {
    /// The time of the next check; `None` if the next check is due at once.
    pub check_at: Option<Instant>,
    pub is_hidden: bool,
    /// True if the movie was playing when the window was hidden.
    was_playing: bool,
}

impl Visibility {
    /// Checks whether the window is hidden. If it has become hidden, pauses the movie and the background measurements; if it is
    /// shown again, resumes the movie. If it is hidden, returns the time of the next check, until which the caller must do
    /// nothing; otherwise returns `None`. Always returns `None` for scripts, which count frames or play as fast as possible,
    /// since their frames are filtered even if the window is hidden; and on Wayland, where compositors request no pictures of
    /// hidden windows, so that the movie stands still anyway.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) -> Option<Instant> {
        if cx.args.frames.is_some() || cx.args.unpaced {
            return None;
        }
        let now = Instant::now();
        let check_at = match self.check_at {
            Some(at) if at > now => at,
            _ => {
                let window = &cx.gl_window.window;
                let unmapped =
                    window.window_handle().is_ok_and(|handle| display::is_unmapped(handle.as_raw()));
                let is_hidden = unmapped || window.is_minimized() == Some(true);
                if std::mem::replace(&mut self.is_hidden, is_hidden) != is_hidden {
                    if is_hidden {
                        cx.lane.hold();
                        self.was_playing = !cx.frames.schedule.is_paused();
                    }
                    if self.was_playing && cx.frames.schedule.is_paused() != is_hidden {
                        cx.frames.schedule.toggle_pause();
                    }
                    cx.repaints.redraw_soon();
                }
                *self.check_at.insert(now + CHECK_INTERVAL)
            }
        };
        self.is_hidden.then_some(check_at)
    }
}
