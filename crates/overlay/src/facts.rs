//! Texts that headline, line of statistics, table of stages and graphs share.

use super::{Busy, View, theme, words};
use box_filter::VariantId;

/// Returns the progress of the picture that is being filtered if its filter differs from that of the picture on the screen;
/// `None` otherwise.
pub(crate) fn pending_filter<'a>(view: &View<'a>) -> Option<&'a Busy> {
    let shown = view.shown.map(|s| (s.variant, s.radius));
    view.busy.filter(|busy| shown != Some((busy.variant, busy.radius)))
}

/// Returns the variant and the radius of the picture on the screen, or the selected ones before the first picture.
pub(crate) fn shown_filter(view: &View) -> (VariantId, u32) {
    view.shown.map_or((view.chosen, view.radius), |s| (s.variant, s.radius))
}

/// The text in place of the filter's time if the picture differs from the reference.
pub(crate) const NOT_TIMED: &str = "not timed: output differs";

/// Returns true if the filter's time of the picture on the screen is left out, because its output differs from the reference.
pub(crate) fn is_left_out(view: &View) -> bool {
    let shown = &view.recorder.shown;
    shown.setting().is_some_and(|setting| shown.is_left_out(&setting))
}

/// Returns the variant that `auto` uses, if `auto` has made the picture on the screen; `None` otherwise.
pub(crate) fn auto_variant(view: &View) -> Option<VariantId> {
    let is_auto = view.chosen.is_auto() && shown_filter(view) == (view.chosen, view.radius);
    view.auto.filter(|_| is_auto).map(|auto| auto.variant)
}

/// Returns a filter's name as it is shown in texts: "fused r=7", "auto (fused) r=7", "off".
pub(crate) fn filter_name(variant: VariantId, radius: u32, auto: Option<VariantId>) -> String {
    let auto = auto.map_or_else(String::new, |auto| format!(" ({auto})"));
    if variant == VariantId::OFF { variant.to_string() } else { format!("{variant}{auto} r={radius}") }
}

/// Returns the CPU load of the process in percent of one core: "CPU 60 %".
pub(crate) fn cpu(view: &View) -> String {
    view.cpu.process.map_or_else(|| format!("CPU {}", theme::UNKNOWN), |p| format!("CPU {p:.0} %"))
}

/// Returns the text for an unknown frame rate.
pub(crate) fn no_rate() -> String {
    format!("{} fps", theme::UNKNOWN)
}

/// Formats the elapsed time of a picture in seconds, with a decimal below 100 s.
pub(crate) fn seconds(s: f64) -> String {
    if s < 99.95 { format!("{s:.1}") } else { format!("{s:.0}") }
}

/// Returns the time for which a picture has been filtered, and its estimated total: "1.3 of about 12 s".
pub(crate) fn progress(busy: &Busy) -> String {
    match estimate(busy) {
        Some(all) => format!("{} of about {all} s", seconds(busy.elapsed_s)),
        None => format!("{} s", seconds(busy.elapsed_s)),
    }
}

/// Returns the estimated total time of the picture in seconds, as text, never less than the elapsed time; `None` without a
/// prediction.
pub(crate) fn estimate(busy: &Busy) -> Option<String> {
    let all = busy.predicted_s.filter(|s| s.is_finite())?.max(busy.elapsed_s);
    Some(if all < 9.95 { format!("{all:.1}") } else { format!("{all:.0}") })
}

/// Returns the text in place of the device's name while no device is in use, and its hover text.
pub(crate) fn without_device(view: &View) -> (&'static str, &'static str) {
    match (view.devices.is_pending, view.devices.rows) {
        (true, None) => ("searching for OpenCL devices", words::AWAITED_DEVICE),
        (true, Some(_)) => ("initializing the OpenCL device", words::AWAITED_DEVICE),
        (false, _) => ("no OpenCL device", &words::NO_DEVICE),
    }
}
