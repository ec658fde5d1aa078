//! The window system through which the window is opened: Wayland or X11.
//!
//! A Wayland desktop usually offers both, since Xwayland runs programs of X11. NVIDIA's driver shares textures with OpenCL
//! under GLX only, which needs X11: with that driver, X11 is preferred. Otherwise winit chooses Wayland if there is a
//! compositor.

use winit::error::EventLoopError;
use winit::event_loop::EventLoop;
use winit::platform::wayland::EventLoopBuilderExtWayland as _;
use winit::platform::x11::EventLoopBuilderExtX11 as _;

use base::error::Error;
use opencl::cards;

/// The environment variable that chooses the window system.
pub(crate) const VARIABLE: &str = "CLREEL_WINDOW_SYSTEM";
/// The environment variable that names the driver of OpenGL under X11.
const VENDOR_VARIABLE: &str = "__GLX_VENDOR_LIBRARY_NAME";

/// A window system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WindowSystem {
    /// Without dropped files, and on NVIDIA without shared textures
    Wayland,
    /// On a Wayland desktop through Xwayland
    X11,
}

impl WindowSystem {
    /// Returns the window system's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wayland => "wayland",
            Self::X11 => "x11",
        }
    }

    /// Returns the name of the environment variable that contains the display of this window system.
    fn display_variable(self) -> &'static str {
        match self {
            Self::Wayland => "WAYLAND_DISPLAY",
            Self::X11 => "DISPLAY",
        }
    }

    /// Returns the window system to use: `option`, or else the one that the environment variable [`VARIABLE`] names, or else
    /// the one that suits the desktop and the OpenGL driver. `None` leaves the choice to winit.
    pub(crate) fn preferred(option: Option<Self>) -> Option<Self> {
        let variable = || base::environment::text(VARIABLE);
        let requested =
            option.or_else(|| variable().and_then(|name| clap::ValueEnum::from_str(&name, true).ok()));
        choose(requested, Desktop::detect())
    }
}

/// The properties of a desktop on which the choice of a window system depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Desktop {
    has_wayland: bool,
    has_x11: bool,
    /// True if OpenGL uses NVIDIA's own driver.
    is_nvidia: bool,
}

impl Desktop {
    /// Detects the properties of the desktop on which this process runs.
    fn detect() -> Self {
        let is_set = |system: WindowSystem| {
            base::environment::get(system.display_variable()).is_some_and(|display| !display.is_empty())
        };
        let vendor = base::environment::text(VENDOR_VARIABLE).filter(|vendor| !vendor.is_empty());
        Self {
            has_wayland: is_set(WindowSystem::Wayland),
            has_x11: is_set(WindowSystem::X11),
            is_nvidia: vendor.map_or_else(cards::only_nvidia, |vendor| vendor == "nvidia"),
        }
    }
}

/// Returns the window system to use: `requested`, or else the one that suits the desktop. `None` leaves the choice to winit,
/// which prefers Wayland.
fn choose(requested: Option<WindowSystem>, desktop: Desktop) -> Option<WindowSystem> {
    let Desktop { has_wayland, has_x11, is_nvidia } = desktop;
    requested.or((has_wayland && has_x11 && is_nvidia).then_some(WindowSystem::X11))
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
    let variables: Vec<&str> = match system {
        Some(system) => vec![system.display_variable()],
        None => [WindowSystem::Wayland, WindowSystem::X11].map(WindowSystem::display_variable).into(),
    };
    let values = variables.iter().filter_map(|name| {
        base::environment::text(name).filter(|value| !value.is_empty()).map(|value| format!("{name}={value}"))
    });
    let named: Vec<String> = values.collect();
    let why = match (&named[..], &variables[..]) {
        ([], [name]) => format!("There is no display of this window system: {name} is not set."),
        ([], _) => "There is no display: neither WAYLAND_DISPLAY nor DISPLAY is set.".to_owned(),
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
    use super::WindowSystem::{Wayland, X11};
    use super::*;

    #[test]
    fn nvidia_gets_x11_where_a_wayland_desktop_has_it() {
        for (has_wayland, has_x11, is_nvidia, chosen) in [
            (true, true, true, Some(X11)),
            (true, true, false, None),
            (true, false, true, None),
            (false, true, true, None),
            (false, false, true, None),
        ] {
            let desktop = Desktop { has_wayland, has_x11, is_nvidia };
            assert_eq!(choose(None, desktop), chosen, "{desktop:?}");
            // A request is followed on any desktop.
            for system in [Wayland, X11] {
                assert_eq!(choose(Some(system), desktop), Some(system), "{desktop:?}");
            }
        }
    }
}
