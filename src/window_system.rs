//! The window system through which the window is opened: Wayland or X11.
//!
//! A Wayland desktop usually offers both, since Xwayland runs programs of X11. NVIDIA's driver shares textures with OpenCL
//! under GLX only, which needs X11: with that driver, X11 is preferred. Otherwise winit chooses Wayland if there is a
//! compositor.

use std::ffi::OsString;

use winit::error::EventLoopError;
use winit::event_loop::EventLoop;
use winit::platform::wayland::EventLoopBuilderExtWayland as _;
use winit::platform::x11::EventLoopBuilderExtX11 as _;

use crate::options::values::from_environment;
use base::error::Error;
use opencl::cards;

/// The environment variable that chooses the window system.
pub(crate) const VARIABLE: &str = "CLREEL_WINDOW_SYSTEM";
/// A window system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WindowSystem {
    /// Without dropped files, and on NVIDIA without shared textures
    Wayland,
    /// On a Wayland desktop through Xwayland
    X11,
}

impl WindowSystem {
    pub(crate) const ALL: [Self; 2] = [Self::Wayland, Self::X11];

    /// Returns the name of the environment variable that contains the display of this window system.
    fn display_variable(self) -> &'static str {
        match self {
            Self::Wayland => "WAYLAND_DISPLAY",
            Self::X11 => "DISPLAY",
        }
    }

    /// Returns the display of this window system, as the environment names it; `None` if there is none.
    pub(crate) fn display(self) -> Option<OsString> {
        base::environment::get(self.display_variable()).filter(|display| !display.is_empty())
    }

    /// Returns the window system to use: `option`, or else the one that the environment variable [`VARIABLE`] names, or else
    /// the one that suits the desktop and the OpenGL driver. `None` leaves the choice to winit.
    pub(crate) fn preferred(option: Option<Self>) -> Option<Self> {
        let vendor = base::environment::text("__GLX_VENDOR_LIBRARY_NAME").filter(|vendor| !vendor.is_empty());
        let is_nvidia = vendor.map_or_else(cards::only_nvidia, |vendor| vendor == "nvidia");
        let has = Self::ALL.map(|system| system.display().is_some());
        choose(option.or_else(|| from_environment(VARIABLE)), has, is_nvidia)
    }
}

/// Returns the window system to use: `requested`, or else the one that suits the desktop. `has` tells which of all window
/// systems the desktop has, `is_nvidia` if OpenGL uses NVIDIA's own driver. `None` leaves the choice to winit, which prefers Wayland.
fn choose(requested: Option<WindowSystem>, has: [bool; 2], is_nvidia: bool) -> Option<WindowSystem> {
    requested.or((has == [true; 2] && is_nvidia).then_some(WindowSystem::X11))
}

/// Creates the event loop of this window system; `None` leaves the choice to winit. A process can do this once.
///
/// # Errors
/// If there is no display of this window system.
pub(crate) fn event_loop<T: 'static>(system: Option<WindowSystem>) -> Result<EventLoop<T>, EventLoopError> {
    let mut builder = EventLoop::<T>::with_user_event();
    match system {
        Some(WindowSystem::Wayland) => _ = builder.with_wayland(),
        Some(WindowSystem::X11) => _ = builder.with_x11(),
        None => {}
    }
    builder.build()
}

/// Returns the error for a missing display of this window system, instead of winit's, which names source files.
pub(crate) fn no_display(system: Option<WindowSystem>) -> Error {
    let systems = system.map_or(WindowSystem::ALL.to_vec(), |system| vec![system]);
    let named = systems.iter().filter_map(|system| {
        Some(format!("{}={}", system.display_variable(), system.display()?.into_string().ok()?))
    });
    let named: Vec<String> = named.collect();
    let why = match (&named[..], system) {
        ([], Some(system)) => {
            format!("There is no display of this window system: {} is not set.", system.display_variable())
        }
        ([], None) => "There is no display: neither WAYLAND_DISPLAY nor DISPLAY is set.".to_owned(),
        _ => format!("No display server answers at {}.", named.join(" or ")),
    };
    let other = match system {
        Some(_) => "Try without --window-system and CLREEL_WINDOW_SYSTEM. Otherwise run",
        None => "Run",
    };
    let more = "clreel in a desktop session, or with xvfb-run; `clreel snapshot` and `clreel bench` need no display.";
    Error::new("No window can be opened.", why, format!("{other} {more}"))
}

#[cfg(test)]
mod tests {
    use super::WindowSystem::X11;
    use super::*;

    #[test]
    fn nvidia_gets_x11_where_a_wayland_desktop_has_it() {
        for (has, is_nvidia, chosen) in [
            ([true, true], true, Some(X11)),
            ([true, true], false, None),
            ([true, false], true, None),
            ([false, true], true, None),
            ([false, false], false, None),
        ] {
            assert_eq!(choose(None, has, is_nvidia), chosen, "{has:?} {is_nvidia}");
            // A request is followed on any desktop.
            for system in WindowSystem::ALL {
                assert_eq!(choose(Some(system), has, is_nvidia), Some(system));
            }
        }
    }
}
