//! A window that nobody can see, minimised or withdrawn. In: a look at it now and then. Out: the movie waits meanwhile,
//! and nothing is filtered or drawn.

use std::time::{Duration, Instant};

use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::raw_window_handle::HasWindowHandle as _;

use super::Player;
use crate::app::display;

/// Time between two looks: each asks the X server.
const INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// When to look again; at once if it is `None`.
    look_at: Option<Instant>,
    is_hidden: bool,
    /// The movie was playing before.
    goes_on: bool,
}

impl Player<'_> {
    /// Something happened to the window: the next turn looks at it.
    pub(super) fn look_at_window(&mut self) {
        if self.hidden.is_hidden {
            self.hidden.look_at = None;
        }
    }

    /// Whether the window is hidden, so that this turn has nothing to do. Scripts, which count frames or want them as
    /// fast as they come, get them all the same. Wayland's compositors hold hidden windows back by themselves.
    pub(super) fn rests(&mut self, event_loop: &ActiveEventLoop) -> bool {
        let script = self.args.frames.is_some() || self.args.unpaced;
        // A window that was just opened may not be mapped yet.
        if script || self.quit || self.presented == 0 {
            return false;
        }
        let now = Instant::now();
        if self.hidden.look_at.is_none_or(|at| at <= now) {
            self.hidden.look_at = Some(now + INTERVAL);
            self.look();
        }
        if self.hidden.is_hidden {
            event_loop.set_control_flow(ControlFlow::WaitUntil(self.hidden.look_at.unwrap_or(now)));
        }
        self.hidden.is_hidden
    }

    fn look(&mut self) {
        let window = &self.gl_window.window;
        let unmapped = window.window_handle().is_ok_and(|handle| display::is_unmapped(handle.as_raw()));
        let is_hidden = unmapped || window.is_minimized() == Some(true);
        if is_hidden == self.hidden.is_hidden {
            return;
        }
        self.hidden.is_hidden = is_hidden;
        if is_hidden {
            self.tuning.hold();
            self.hidden.goes_on = !self.frames.is_paused();
        }
        if self.hidden.goes_on && self.frames.is_paused() != is_hidden {
            self.frames.toggle_pause();
        }
        self.repaints.soon();
    }
}
