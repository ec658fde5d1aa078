//! How large the window is at first.

use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;

use crate::media::MovieInfo;

/// The size of the movie's first picture as it is shown, but not so small that the overlay does not fit, and not larger
/// than the screen. `None`: it is not known yet.
pub(super) fn window_size(event_loop: &ActiveEventLoop, movie: Option<&MovieInfo>) -> PhysicalSize<u32> {
    size_for(event_loop, movie.map_or(DEFAULT, upright))
}

/// The same for a picture that is shown in so many pixels across and down.
pub(super) fn size_for(event_loop: &ActiveEventLoop, shown: (f64, f64)) -> PhysicalSize<u32> {
    let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
    let screen = monitor.map(|m| m.size()).filter(|s| s.width > 0 && s.height > 0);
    let (width, height) = fitted(shown, screen.map(|s| (s.width, s.height)));
    PhysicalSize::new(width, height)
}

/// Of a window whose movie is not known.
const DEFAULT: (f64, f64) = (960.0, 540.0);
/// The least side of a window, across and down.
pub(super) const LEAST: (u32, u32) = (320, 180);

/// Width and height of the picture as it is shown, in square pixels: none of the stored ones is left out.
fn upright(movie: &MovieInfo) -> (f64, f64) {
    let ((width, height), aspect) = movie.orientation.shown((movie.width, movie.height), movie.pixel_aspect);
    let (width, height) = (f64::from(width), f64::from(height));
    match aspect {
        a if !a.is_finite() || a <= 0.0 || width < 1.0 || height < 1.0 => DEFAULT,
        a if a < 1.0 => (width, height / a),
        a => (width * a, height),
    }
}

fn fitted((width, height): (f64, f64), screen: Option<(u32, u32)>) -> (u32, u32) {
    let grow = (DEFAULT.0 / width).min(DEFAULT.1 / height).max(1.0);
    let (width, height) = (width * grow, height * grow);
    let most = screen.map_or((f64::MAX, f64::MAX), |(w, h)| (f64::from(w), f64::from(h)));
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
    fn pixels_and_turns_count() {
        let shown = |size: (u32, u32), pixel_aspect, swapped| {
            let mut movie = crate::media::Decoder::without_frames().info().clone();
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
