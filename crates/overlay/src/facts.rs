//! What the headline, the line that it folds to, and the table of stages say alike. In: a [`View`]. Out: words.

use super::{Busy, View, theme, words};
use box_filter::VariantId;

/// The picture that is awaited, where that is another one than the picture on the screen.
pub(crate) fn awaited<'a>(view: &View<'a>) -> Option<&'a Busy> {
    let shown = view.shown.map(|s| (s.variant, s.radius));
    view.busy.filter(|busy| shown != Some((busy.variant, busy.radius)))
}

/// What filtered the picture on the screen; what was chosen, before there is one.
pub(crate) fn of(view: &View) -> (VariantId, u32) {
    view.shown.map_or((view.chosen, view.radius), |s| (s.variant, s.radius))
}

/// The variant that `auto` is, where that is on the screen.
pub(crate) fn auto<'a>(view: &View<'a>) -> Option<&'a str> {
    let is_auto = of(view) == (VariantId::Auto, view.radius) && view.chosen == VariantId::Auto;
    view.auto.filter(|_| is_auto).map(|auto| auto.split(' ').next().unwrap_or(auto))
}

/// CPU load of the process in percent of one core.
pub(crate) fn cpu(view: &View) -> String {
    view.cpu.process.map_or_else(|| format!("CPU {}", theme::UNKNOWN), |p| format!("CPU {p:.0} %"))
}

/// What stands for the frames a second where none follow each other.
pub(crate) fn no_rate() -> String {
    format!("{} fps", theme::UNKNOWN)
}

/// Seconds that count up.
pub(crate) fn seconds(s: f64) -> String {
    if s < 99.95 { format!("{s:.1}") } else { format!("{s:.0}") }
}

/// How long the whole picture takes, as far as that is known: never less than it has taken.
pub(crate) fn estimate(busy: &Busy) -> Option<String> {
    let all = busy.predicted_s.filter(|s| s.is_finite())?.max(busy.elapsed_s);
    Some(if all < 9.95 { format!("{all:.1}") } else { format!("{all:.0}") })
}

/// What stands for the device's name where none filters, and its hover text.
pub(crate) fn without_device(view: &View) -> (&'static str, &'static str) {
    match (view.devices.awaited, view.devices.rows) {
        (true, None) => ("looking for OpenCL devices", words::AWAITED_DEVICE),
        (true, Some(_)) => ("the OpenCL device is made ready", words::AWAITED_DEVICE),
        (false, _) => ("no OpenCL device", &words::NO_DEVICE),
    }
}
