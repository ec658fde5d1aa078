//! The window: winit's events ([`window`]), its contents ([`player`]), keys ([`input`]), the list of movies ([`playlist`]), the
//! job that builds OpenCL programs ([`builder`]), the thread that watches a folder of kernels ([`kernels`]), and the queue of
//! background measurements ([`lane`]), such as the comparison of two versions of kernels ([`comparison`]).

pub(crate) mod builder;
mod comparison;
mod completion;
pub(crate) mod display;
mod fonts;
pub(crate) mod input;
pub(crate) mod kernels;
mod lane;
pub(crate) mod player;
pub(crate) mod playlist;
mod saved_run;
pub(crate) mod settings;
mod size;
pub(crate) mod window;

use egui_winit::accesskit_winit;

pub(crate) use window::run;

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

/// Creates an empty folder for the files of the test with this name. It is removed when the returned value is dropped.
#[cfg(test)]
fn test_folder(name: &str) -> opencl::folders::Folder {
    let path = std::env::temp_dir().join(format!("clreel-{name}-{}", std::process::id()));
    // An earlier process with the same number may have left the folder behind.
    let _ = std::fs::remove_dir_all(&path);
    opencl::folders::Folder::create(&path).unwrap()
}
