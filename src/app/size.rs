//! The initial size of the window, which follows from the size of the picture, the screen, and the window manager's frame.

use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::window::{Window, WindowAttributes};

use video::MovieInfo;

/// The initial size of the window: the size of the first picture, but large enough for the overlay and not larger than the
/// screen.
pub(crate) struct WindowSize {
    /// The width and height in pixels of the picture as displayed.
    shown: (f64, f64),
    screen: Option<(u32, u32)>,
    /// The size of the window's contents in pixels.
    pub(super) given: PhysicalSize<u32>,
}

impl WindowSize {
    /// Calculates the size for a picture of `shown` pixels; `frame` is the number of pixels that the window manager's frame
    /// takes horizontally and vertically.
    pub(super) fn new(event_loop: &ActiveEventLoop, shown: (f64, f64), frame: (u32, u32)) -> Self {
        let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
        let screen = monitor.map(|m| m.size()).filter(|s| s.width > 0 && s.height > 0);
        let screen = screen.map(|s| (s.width, s.height));
        Self { shown, screen, given: fit_to_screen(shown, screen, frame).into() }
    }

    /// Returns winit's attributes for creating the window, which is not visible at first.
    pub(super) fn attributes(&self) -> WindowAttributes {
        use winit::platform::{wayland, x11};
        let attributes = Window::default_attributes()
            .with_title("clreel")
            .with_visible(false)
            .with_inner_size(self.given)
            .with_min_inner_size(PhysicalSize::new(MIN_SIZE.0, MIN_SIZE.1));
        let attributes = x11::WindowAttributesExtX11::with_name(attributes, "clreel", "clreel");
        wayland::WindowAttributesExtWayland::with_name(attributes, "clreel", "clreel")
    }

    /// Returns a smaller size if the window, with the window manager's frame, reaches beyond the screen; the frame's size is
    /// known only once the window is open. Returns `None` if the window fits on the screen, or if the user or the window
    /// manager has resized it.
    pub(super) fn with_frame(&mut self, window: &Window) -> Option<PhysicalSize<u32>> {
        let has = window.inner_size();
        if has != self.given {
            return None;
        }
        let fits: PhysicalSize<u32> = fit_to_screen(self.shown, self.screen, frame_size(window)).into();
        let is_smaller = fits.width < has.width || fits.height < has.height;
        is_smaller.then(|| {
            self.given = fits;
            fits
        })
    }
}

/// Returns the number of pixels that the window manager's frame takes horizontally and vertically; 0 if it is unknown.
pub(super) fn frame_size(window: &Window) -> (u32, u32) {
    let (inner, outer) = (window.inner_size(), window.outer_size());
    (outer.width.saturating_sub(inner.width), outer.height.saturating_sub(inner.height))
}

/// The assumed size of the picture until the movie is known, and the size to which smaller pictures are enlarged.
pub(super) const DEFAULT_SIZE: (f64, f64) = (960.0, 540.0);
/// The minimum width and height of a window.
const MIN_SIZE: (u32, u32) = (320, 180);

/// Returns the width and height of the picture as displayed: upright and with square pixels. To make pixels square, the picture
/// is enlarged rather than reduced.
pub(super) fn displayed_size(movie: &MovieInfo) -> (f64, f64) {
    let ((width, height), aspect) =
        movie.orientation.display_size((movie.width, movie.height), movie.pixel_aspect);
    let (width, height) = (f64::from(width), f64::from(height));
    match aspect {
        a if !a.is_finite() || a <= 0.0 || width < 1.0 || height < 1.0 => DEFAULT_SIZE,
        a if a < 1.0 => (width, height / a),
        a => (width * a, height),
    }
}

/// Returns the width and height of the window's contents for a picture of this size: enlarged to at least [`DEFAULT_SIZE`], and
/// reduced so that it fits on the screen with the window manager's frame.
fn fit_to_screen((width, height): (f64, f64), screen: Option<(u32, u32)>, frame: (u32, u32)) -> (u32, u32) {
    let grow = (DEFAULT_SIZE.0 / width).min(DEFAULT_SIZE.1 / height).max(1.0);
    let (width, height) = (width * grow, height * grow);
    // The frame's size is ignored if the frame leaves no room for the window.
    let room = |screen: u32, frame, min: u32| f64::from(screen.saturating_sub(frame).max(min.min(screen)));
    let max = screen.map_or((f64::MAX, f64::MAX), |(width, height)| {
        (room(width, frame.0, MIN_SIZE.0), room(height, frame.1, MIN_SIZE.1))
    });
    let shrink = (max.0 / width).min(max.1 / height).min(1.0);
    let side = |side: f64, min: u32, max: f64| (side * shrink).round().max(f64::from(min)).min(max) as u32;
    (side(width, MIN_SIZE.0, max.0), side(height, MIN_SIZE.1, max.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_pictures_shape_and_stays_on_the_screen_with_its_frame() {
        let (hd, none) = (Some((1920, 1080)), (0, 0));
        // The frame has a title of 36 pixels, and an edge of 2.
        let frame = (4, 38);
        for (shown, screen, frame, expected) in [
            ((1280.0, 720.0), hd, none, (1280, 720)),
            ((3840.0, 2160.0), hd, none, (1920, 1080)),
            ((3840.0, 2160.0), None, none, (3840, 2160)),
            // An upright picture, as phones record.
            ((1080.0, 1920.0), hd, none, (608, 1080)),
            ((64.0, 48.0), hd, none, (720, 540)),
            // A strip has black bars, so that the window's sides can be grabbed; on a small screen the window is small.
            ((16384.0, 1.0), hd, none, (1920, 180)),
            ((1.0, 16384.0), hd, none, (320, 1080)),
            ((1280.0, 720.0), Some((240, 320)), none, (240, 180)),
            ((1280.0, 720.0), hd, frame, (1280, 720)),
            ((1920.0, 1080.0), hd, frame, (1852, 1042)),
            ((1920.0, 1040.0), hd, frame, (1916, 1038)),
            ((1080.0, 1920.0), hd, frame, (586, 1042)),
            ((16384.0, 1.0), hd, frame, (1916, 180)),
            ((1920.0, 1080.0), None, frame, (1920, 1080)),
            // The screen has no room for this frame.
            ((1920.0, 1080.0), hd, (4000, u32::MAX), (320, 180)),
        ] {
            assert_eq!(fit_to_screen(shown, screen, frame), expected, "{shown:?} with {frame:?}");
        }
    }

    #[test]
    fn pixels_and_turns_count() {
        let shown = |size: (u32, u32), pixel_aspect, swapped| {
            let mut movie = video::Decoder::without_frames().info().clone();
            (movie.width, movie.height, movie.pixel_aspect) = (size.0, size.1, pixel_aspect);
            movie.orientation.swapped = swapped;
            let (width, height) = displayed_size(&movie);
            (width.round(), height.round())
        };
        assert_eq!(shown((720, 576), 64.0 / 45.0, false), (1024.0, 576.0));
        assert_eq!(shown((720, 480), 8.0 / 9.0, false), (720.0, 540.0));
        assert_eq!(shown((1920, 1080), 1.0, true), (1080.0, 1920.0));
        assert_eq!(shown((720, 576), 64.0 / 45.0, true), (576.0, 1024.0));
        assert_eq!(shown((0, 0), 1.0, false), DEFAULT_SIZE);
        assert_eq!(shown((720, 576), f64::NAN, false), DEFAULT_SIZE);
    }
}
