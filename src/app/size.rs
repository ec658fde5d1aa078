//! How large the window is at first.

use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;

/// The movie's size, but not so small that the overlay does not fit, and not larger than the monitor. A size of 0 is not
/// known yet.
pub(super) fn window_size(event_loop: &ActiveEventLoop, width: u32, height: u32) -> PhysicalSize<u32> {
    let (width, height) = if width == 0 || height == 0 { (960, 540) } else { (width, height) };
    let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
    let limit = monitor.map(|m| m.size()).filter(|s| s.width > 0 && s.height > 0);
    let (w, h) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let grow = (960.0 / w).min(540.0 / h).max(1.0);
    let shrink =
        limit.map_or(1.0, |l| (f64::from(l.width) / (w * grow)).min(f64::from(l.height) / (h * grow)));
    let scale = grow * shrink.min(1.0);
    PhysicalSize::new((w * scale).round().max(320.0) as u32, (h * scale).round().max(180.0) as u32)
}
