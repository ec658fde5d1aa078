//! How large the window is at first. In: what it shows, the screen, the frame that the window manager puts round it. Out: a
//! size that fits with all of that.

use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::window::{Window, WindowAttributes};

use video::MovieInfo;

/// The size that the window was given: that of the first picture as it is shown, but not so small that the overlay does not
/// fit, and not larger than the screen.
pub(crate) struct WindowSize {
    /// Pixels of what it shows, across and down.
    shown: (f64, f64),
    screen: Option<(u32, u32)>,
    given: (u32, u32),
}

impl WindowSize {
    /// That for what is shown in so many pixels across and down, in a frame that takes `frame` of them.
    pub(super) fn new(event_loop: &ActiveEventLoop, shown: (f64, f64), frame: (u32, u32)) -> Self {
        let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
        let screen = monitor.map(|m| m.size()).filter(|s| s.width > 0 && s.height > 0);
        let screen = screen.map(|s| (s.width, s.height));
        Self { shown, screen, given: fitted(shown, screen, frame) }
    }

    /// Width and height of the contents, in pixels.
    pub(super) fn get(&self) -> PhysicalSize<u32> {
        PhysicalSize::new(self.given.0, self.given.1)
    }

    /// What the window is made with.
    pub(super) fn attributes(&self) -> WindowAttributes {
        use winit::platform::{wayland, x11};
        let attributes = Window::default_attributes()
            .with_title("clreel")
            .with_inner_size(self.get())
            .with_min_inner_size(PhysicalSize::new(LEAST.0, LEAST.1));
        let attributes = x11::WindowAttributesExtX11::with_name(attributes, "clreel", "clreel");
        wayland::WindowAttributesExtWayland::with_name(attributes, "clreel", "clreel")
    }

    /// A smaller one, where the frame, which comes only after the window, would reach beyond the screen. A window that has another
    /// size than it was given has it from the user, or from the window manager, and keeps it.
    pub(super) fn with_frame(&mut self, window: &Window) -> Option<PhysicalSize<u32>> {
        let has: (u32, u32) = window.inner_size().into();
        if has != self.given {
            return None;
        }
        let fits = fitted(self.shown, self.screen, frame(window));
        let is_smaller = fits.0 < has.0 || fits.1 < has.1;
        is_smaller.then(|| {
            self.given = fits;
            self.get()
        })
    }
}

/// Pixels across and down that the frame round a window takes, as far as is known.
pub(super) fn frame(window: &Window) -> (u32, u32) {
    let (inner, outer) = (window.inner_size(), window.outer_size());
    (outer.width.saturating_sub(inner.width), outer.height.saturating_sub(inner.height))
}

/// What is shown of a movie that is not known yet.
pub(super) const DEFAULT: (f64, f64) = (960.0, 540.0);
/// The least side of a window, across and down.
const LEAST: (u32, u32) = (320, 180);

/// Width and height of the picture as it is shown, in square pixels: none of the stored ones is left out.
pub(super) fn upright(movie: &MovieInfo) -> (f64, f64) {
    let ((width, height), aspect) = movie.orientation.shown((movie.width, movie.height), movie.pixel_aspect);
    let (width, height) = (f64::from(width), f64::from(height));
    match aspect {
        a if !a.is_finite() || a <= 0.0 || width < 1.0 || height < 1.0 => DEFAULT,
        a if a < 1.0 => (width, height / a),
        a => (width * a, height),
    }
}

fn fitted((width, height): (f64, f64), screen: Option<(u32, u32)>, frame: (u32, u32)) -> (u32, u32) {
    let grow = (DEFAULT.0 / width).min(DEFAULT.1 / height).max(1.0);
    let (width, height) = (width * grow, height * grow);
    // A frame that leaves nothing is none.
    let room =
        |screen: u32, frame, least: u32| f64::from(screen.saturating_sub(frame).max(least.min(screen)));
    let most = screen.map_or((f64::MAX, f64::MAX), |(width, height)| {
        (room(width, frame.0, LEAST.0), room(height, frame.1, LEAST.1))
    });
    let shrink = (most.0 / width).min(most.1 / height).min(1.0);
    let side =
        |side: f64, least: u32, most: f64| (side * shrink).round().max(f64::from(least)).min(most) as u32;
    (side(width, LEAST.0, most.0), side(height, LEAST.1, most.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_pictures_shape_and_stays_on_the_screen() {
        let hd = Some((1920, 1080));
        let fitted = |shown, screen| fitted(shown, screen, (0, 0));
        assert_eq!(fitted((1280.0, 720.0), hd), (1280, 720));
        assert_eq!(fitted((3840.0, 2160.0), hd), (1920, 1080));
        assert_eq!(fitted((3840.0, 2160.0), None), (3840, 2160));
        // Upright, as phones take them.
        assert_eq!(fitted((1080.0, 1920.0), hd), (608, 1080));
        assert_eq!(fitted((64.0, 48.0), hd), (720, 540));
        // A strip has black bars rather than sides that nobody can take hold of, and a small screen is small.
        assert_eq!(fitted((16384.0, 1.0), hd), (1920, 180));
        assert_eq!(fitted((1.0, 16384.0), hd), (320, 1080));
        assert_eq!(fitted((1280.0, 720.0), Some((240, 320))), (240, 180));
    }

    #[test]
    fn its_frame_stays_on_the_screen_too() {
        let hd = Some((1920, 1080));
        // A title of 36 pixels, an edge of 2.
        let frame = (4, 38);
        assert_eq!(fitted((1280.0, 720.0), hd, frame), (1280, 720));
        assert_eq!(fitted((1920.0, 1080.0), hd, frame), (1852, 1042));
        assert_eq!(fitted((1920.0, 1040.0), hd, frame), (1916, 1038));
        assert_eq!(fitted((1080.0, 1920.0), hd, frame), (586, 1042));
        assert_eq!(fitted((16384.0, 1.0), hd, frame), (1916, 180));
        assert_eq!(fitted((1920.0, 1080.0), None, frame), (1920, 1080));
        // One that the screen has no room for.
        assert_eq!(fitted((1920.0, 1080.0), hd, (4000, u32::MAX)), (320, 180));
    }

    #[test]
    fn pixels_and_turns_count() {
        let shown = |size: (u32, u32), pixel_aspect, swapped| {
            let mut movie = video::Decoder::without_frames().info().clone();
            (movie.width, movie.height, movie.pixel_aspect) = (size.0, size.1, pixel_aspect);
            movie.orientation.swapped = swapped;
            let (width, height) = upright(&movie);
            (width.round(), height.round())
        };
        assert_eq!(shown((720, 576), 64.0 / 45.0, false), (1024.0, 576.0));
        assert_eq!(shown((720, 480), 8.0 / 9.0, false), (720.0, 540.0));
        assert_eq!(shown((1920, 1080), 1.0, true), (1080.0, 1920.0));
        assert_eq!(shown((720, 576), 64.0 / 45.0, true), (576.0, 1024.0));
        assert_eq!(shown((0, 0), 1.0, false), DEFAULT);
        assert_eq!(shown((720, 576), f64::NAN, false), DEFAULT);
    }
}
