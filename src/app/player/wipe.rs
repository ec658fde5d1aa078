//! The user's control of the wipe, which shows two filters of one frame, separated by a line: the filter of the second side,
//! and the comparison of both sides.

use super::*;
use engine::frame_loop::SecondFilter;
use overlay::Action;
use stats::VariantStatus;

/// Applies the key of a variant or of a setting to the second side of the wipe if the mouse is over that side. Returns true if the
/// key was applied.
pub(super) fn apply_to_second(
    action: &Action,
    movies: &Movies,
    devices: &mut Devices,
    cx: &mut PlayerContext,
) -> bool {
    let is_over_second = cx.overlay.wipe_line.pointer_is_right && movies.scenes.is_movie();
    let Some(second) = cx.frames.wipe.second().filter(|_| is_over_second) else { return false };
    let (own, settings) = second.filter;
    let second = match action {
        // The settings of another filter are those that it had last.
        Action::SetVariant(id) => match std::ptr::eq(id.filter(), own.filter()) {
            true => SecondFilter::from((*id, settings)),
            false => SecondFilter::from((*id, cx.frames.choice.settings_of(*id))),
        },
        Action::ChangeSettings(steps) => {
            let settings = settings.stepped(&own.filter().description.parameters, 0, *steps);
            SecondFilter { filter: (own, settings), ..second }
        }
        _ => return false,
    };
    if prefer_second(second, devices, cx) {
        cx.frames.wipe.set_second(Some(second));
    }
    true
}

/// Begins a wipe between two filters, or ends the current wipe.
pub(super) fn toggle(movies: &Movies, devices: &mut Devices, cx: &mut PlayerContext) {
    let Some(second) = cx.frames.wipe.toggle(cx.frames.choice.settings_of(VariantId::OFF)) else { return };
    // If the variant is unavailable, the wipe ends at once with a message.
    let _ = devices.prefer(second.filter.0);
    if !movies.scenes.is_movie() {
        cx.overlay.show_message("This scene shows one filter: v goes to the movie and its wipe.".to_owned());
    }
}

/// Exchanges the filters of the two sides of the wipe.
pub(super) fn swap(devices: &mut Devices, cx: &mut PlayerContext) {
    match cx.frames.wipe.second() {
        None => cx.overlay.show_message("There is one filter: w puts a second one beside it.".to_owned()),
        Some(SecondFilter { version: Some(_), .. }) => {
            cx.overlay.show_message(
                "The version on the left is the one that runs: choose it in the list.".to_owned(),
            );
        }
        Some(SecondFilter { filter: (variant, _), .. })
            if variant != VariantId::OFF && variant.opened().is_none() == Filter::selected().is_some() =>
        {
            cx.overlay.show_message("The sides show two filters: F changes the one at the left.".to_owned());
        }
        Some(second) => {
            if prefer_second(second, devices, cx) {
                cx.frames.wipe.set_second(Some(cx.frames.choice.filter().into()));
                cx.frames.choice.choose(second.filter.0, second.filter.1);
            }
        }
    }
}

/// Makes the builder build the variant of the wipe's second side before all others. Shows an error and returns false if the
/// variant is unavailable; returns true otherwise. Does nothing if the second side shows another version of the edited kernels,
/// since that is built already.
fn prefer_second(second: SecondFilter, devices: &mut Devices, cx: &mut PlayerContext) -> bool {
    // Programs of another version are built before its wipe begins.
    second.version.is_some()
        || devices.prefer(second.filter.0).map_err(|error| cx.notify(error, true)).is_ok()
}

/// Ends the wipe if the variant of its second side is unavailable or its programs were built for another device. Stops the
/// comparison of the sides if there is no device. Shows the error that has ended or stopped either.
pub(super) fn update(movies: &Movies, devices: &Devices, cx: &mut PlayerContext) {
    cx.frames.wipe.is_suspended = !movies.scenes.is_movie();
    let (wiped_on, number) = (devices.builds.wiped_on, devices.running.number());
    if (wiped_on.is_none() || wiped_on != number)
        && cx.frames.wipe.second().is_some_and(|second| second.version.is_some())
    {
        cx.frames.wipe.set_second(None);
    }
    if let Some(SecondFilter { filter: (variant, _), version: None }) = cx.frames.wipe.second()
        && let Some(VariantStatus::Unavailable(error)) = devices.running.statuses.get(variant)
    {
        cx.frames.wipe.end(error.clone());
    }
    let has_no_device = devices.running.info.is_none() && !devices.is_awaited();
    if has_no_device && cx.frames.wipe.compares() {
        let why = "An OpenCL device compares them, and there is none.";
        let hint = "Choose a device with Ctrl+D.";
        cx.frames.wipe.stop_comparing(Error::new("Two pictures could not be compared.", why, hint));
    }
    if let Some(error) = cx.frames.wipe.error.take() {
        cx.notify(error, true);
    }
}
