//! Events that other threads send to the window's event loop.

use egui_winit::accesskit_winit;

/// An event that another thread sends to the window's event loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wake {
    /// Another thread may have a result.
    Ready,
    /// A signal requests the end of the process.
    Quit,
    /// A screen reader asks for the overlay's tree, or for an action.
    Access(accesskit_winit::WindowEvent),
}

impl From<accesskit_winit::Event> for Wake {
    fn from(event: accesskit_winit::Event) -> Self {
        Self::Access(event.window_event)
    }
}
