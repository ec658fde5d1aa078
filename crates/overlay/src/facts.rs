//! Texts that the headline, the line of statistics, the table of stages and the graphs share.

use super::{Busy, View, theme, words};
use base::error::Error;
use box_filter::{Settings, VariantId};
use stats::{PlayState, Setting};

/// Returns the progress of the picture that is being filtered if its filter differs from that of the picture on the screen;
/// `None` otherwise.
pub(crate) fn pending_filter<'a>(view: &View<'a>) -> Option<&'a Busy> {
    let shown = view.shown.map(|s| (s.variant, s.settings));
    view.busy.filter(|busy| shown != Some((busy.variant, busy.settings)))
}

/// Returns the progress of the picture that is being filtered if it is that of [`pending_filter`], or if the filter takes 2 s and
/// more; `None` otherwise.
pub(crate) fn slow_filter<'a>(view: &View<'a>) -> Option<&'a Busy> {
    let is_slow = |busy: &&Busy| busy.predicted_s.unwrap_or(0.0).max(busy.elapsed_s) >= 2.0;
    pending_filter(view).or(view.busy.filter(is_slow))
}

/// Returns the variant and the settings with which the picture on the screen was filtered; before the first picture, the selected
/// ones.
pub(crate) fn shown_filter(view: &View) -> (VariantId, Settings) {
    view.shown.map_or((view.chosen, view.settings), |s| (s.variant, s.settings))
}

/// Returns the other filters of the stack that have filtered the picture on the screen while the selected one is switched off, such as
/// "running-sum r=7"; `None` if the selected one runs, or no other one does.
pub(crate) fn stack_without_selected(view: &View) -> Option<String> {
    let setting = view.recorder.shown.setting.filter(|_| shown_filter(view).0 == VariantId::OFF)?;
    setting.stack_text().filter(|_| setting.variant == VariantId::OFF)
}

/// Returns an error as sentences of one paragraph: what has happened, why, and what to do.
pub(crate) fn sentences(error: &Error) -> String {
    let parts = [&error.what, &error.why, &error.hint].map(String::as_str);
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The text that is shown in place of the filter's time if the picture differs from the reference.
pub(crate) const NOT_TIMED: &str = "not timed: output differs";

/// Returns true if no filter time is shown for the picture on the screen, because its output differs from the reference.
pub(crate) fn is_left_out(view: &View) -> bool {
    let shown = &view.recorder.shown;
    shown.setting.is_some_and(|setting| shown.is_left_out(&setting))
}

/// Returns the variant that `auto` stands for, if `auto` has filtered the picture on the screen; `None` otherwise.
pub(crate) fn auto_variant(view: &View) -> Option<VariantId> {
    let is_auto = view.chosen.is_auto() && shown_filter(view) == (view.chosen, view.settings);
    view.auto.filter(|_| is_auto).map(|auto| auto.variant)
}

/// Returns a filter's name as texts show it: "fused r=7", "auto (fused) r=7", "flat r=7, version 3", "off". `auto` is the variant
/// that `auto` stands for, `version` that of edited kernels.
pub(crate) fn filter_name(
    (variant, settings): (VariantId, Settings),
    auto: Option<VariantId>,
    version: Option<u64>,
) -> String {
    if variant == VariantId::OFF {
        return variant.to_string();
    }
    let auto = auto.map_or_else(String::new, |auto| format!(" ({})", auto.short_name()));
    let name = format!("{variant}{auto} {}", variant.settings_text(settings));
    with_version(name.trim_end().to_owned(), version)
}

/// Returns the settings of a variant's filter where there is more room than in a name: "r = 7", "gain = 1.5, side = 3 px".
pub(crate) fn settings_text(variant: VariantId, settings: Settings) -> String {
    match variant.opened() {
        None => format!("r = {}", settings.first()),
        Some(_) => variant.settings_text(settings),
    }
}

/// Returns all variants of the filter to which this variant belongs.
pub(crate) fn variants_of_filter(variant: VariantId) -> Vec<VariantId> {
    variant.opened().map_or_else(|| VariantId::all().collect(), |filter| filter.variants().collect())
}

/// Returns the name of a filter with the version of its edited kernels, if it has one: "flat, version 3".
pub(crate) fn with_version(name: String, version: Option<u64>) -> String {
    version.map_or_else(|| name.clone(), |version| format!("{name}, version {version}"))
}

/// Returns the version of edited kernels with which a frame of this setting was filtered; `None` for the built-in kernels.
pub(crate) fn edited_version(view: &View, setting: &Setting) -> Option<u64> {
    let Setting { variant, version, .. } = *setting;
    let is_saved = version > 1 && !view.kernels.is_as_opened(variant, version);
    let is_edited = is_saved || view.kernels.edited_version(variant) == Some(version);
    is_edited.then_some(setting.version)
}

/// Returns the CPU load of the process in percent of one core: "CPU 60 %".
pub(crate) fn cpu(view: &View) -> String {
    view.cpu.process.map_or_else(|| format!("CPU {}", theme::UNKNOWN), |p| format!("CPU {p:.0} %"))
}

/// Returns the speed unless it is normal, and the text about the loop unless the movie has ended.
pub(crate) fn speed_and_loop(view: &View) -> Vec<String> {
    let speed = (view.speed != 1.0).then(|| format!("{:.2}\u{d7}", view.speed));
    let repeats = !view.loop_text.is_empty() && view.state != PlayState::Ended;
    speed.into_iter().chain(repeats.then(|| view.loop_text.to_owned())).collect()
}

/// Returns the text for an unknown frame rate.
pub(crate) fn no_rate() -> String {
    format!("{} fps", theme::UNKNOWN)
}

/// Formats the elapsed seconds of a picture that is being filtered: with one decimal below 100 s, without one above.
pub(crate) fn seconds(s: f64) -> String {
    if s < 99.95 { format!("{s:.1}") } else { format!("{s:.0}") }
}

/// Returns the step before the filter can begin, such as "compiling", if the kernels of the awaited picture are not built yet;
/// `None` if they are.
pub(crate) fn preparation(view: &View, busy: &Busy) -> Option<&'static str> {
    busy.awaits_build.then(|| if view.device.is_some() { "compiling" } else { without_device(view).0 })
}

/// Returns the elapsed and the estimated total time of a picture that is being filtered: "1.3 of about 12 s"; only the elapsed
/// time if there is no estimate, with the step that comes first if the filter cannot begin yet: "compiling, 1.3 s".
pub(crate) fn progress(view: &View, busy: &Busy) -> String {
    let elapsed = seconds(busy.elapsed_s);
    match (preparation(view, busy), estimate(busy)) {
        (Some(step), _) => format!("{step}, {elapsed} s"),
        (None, Some(all)) => format!("{elapsed} of about {all} s"),
        (None, None) => format!("{elapsed} s"),
    }
}

/// Returns [`progress`] with the finished part of the picture: "40 % of this frame, 1.3 of about 12 s". The part is left out while
/// the filter cannot begin.
pub(crate) fn frame_progress(view: &View, busy: &Busy) -> String {
    let progress = progress(view, busy);
    match preparation(view, busy) {
        Some(_) => progress,
        None => format!("{:.0} % of this frame, {progress}", busy.fraction.clamp(0.0, 1.0) * 100.0),
    }
}

/// Returns the estimated total time in seconds of a picture that is being filtered, as text; never less than the elapsed time.
/// Returns `None` without an estimate.
pub(crate) fn estimate(busy: &Busy) -> Option<String> {
    let all = busy.predicted_s.filter(|s| s.is_finite())?.max(busy.elapsed_s);
    Some(if all < 9.95 { format!("{all:.1}") } else { format!("{all:.0}") })
}

/// Returns the text that stands in place of the device's name while no device is in use, and the hover text for it.
pub(crate) fn without_device(view: &View) -> (&'static str, &'static str) {
    match (view.devices.is_pending, view.devices.rows) {
        (true, None) => ("searching for OpenCL devices", words::AWAITED_DEVICE),
        (true, Some(_)) => ("initializing the OpenCL device", words::AWAITED_DEVICE),
        (false, _) => ("no OpenCL device", &words::NO_DEVICE),
    }
}
