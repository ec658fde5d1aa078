//! Events that other threads send to the window's event loop.

use egui_winit::accesskit_winit;

/// An event that another thread sends to the window's event loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wake {
    /// Wakes the event loop, because another thread may have a result.
    Ready,
    /// Quits, because a signal requests the end of the process.
    Quit,
    /// A request of a screen reader for the overlay's accessibility tree, or for an action.
    Access(accesskit_winit::WindowEvent),
}

impl From<accesskit_winit::Event> for Wake {
    fn from(event: accesskit_winit::Event) -> Self {
        Self::Access(event.window_event)
    }
}
