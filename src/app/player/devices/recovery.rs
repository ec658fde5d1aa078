//! Recovery from the failure of a device: while it was opened, while it processed a frame, or in a trial of the chosen variant.
//!
//! There is one rule, [`next_attempt`]: the device is opened again, then without sharing, then each other device is opened; if
//! none works, the movie is shown unfiltered. Each attempt is made once, until a device has run the chosen variant for longer
//! than [`FORGIVEN_AFTER`] or the user chooses a device. If a replacement fails, the same rule applies to the replacement. If a
//! device that the user chooses then works, it filters with the variant that ran before the failures.
//!
//! One banner reports the failure and the current attempt. It reports success only once the chosen variant runs.

use super::*;
use base::stderr::print_message;

/// The time after which earlier attempts are forgotten: if a device has run the chosen variant for longer before it fails, all
/// attempts can be made again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(30);

/// An attempt to use a device after a failure: the index of the device, and true if its context is to share textures.
type Attempt = (usize, bool);

/// Returns the attempt to make after the device with index `failed` has failed; `None` if no attempt is left. `shared` is true
/// if that device shared textures. `devices` are the indices of all devices. `tried` are the attempts made so far.
fn next_attempt(
    failed: usize,
    shared: bool,
    devices: impl Iterator<Item = usize>,
    tried: &[Attempt],
) -> Option<Attempt> {
    let without_sharing = shared.then_some((failed, false));
    let others = devices.filter(|device| *device != failed).map(|device| (device, true));
    let mut attempts = std::iter::once((failed, true)).chain(without_sharing).chain(others);
    attempts.find(|attempt| !tried.contains(attempt))
}

/// The failure of a device.
#[derive(Clone)]
pub(super) struct DeviceFailure {
    /// The index of the device.
    pub device: usize,
    pub error: Error,
    /// True if the device shared textures, or its context was to share them.
    pub shared: bool,
    /// True if the device does not respond. It is not opened again, since that would not end either.
    pub is_silent: bool,
}

impl DeviceFailure {
    /// Creates the failure of a device that does respond.
    pub(super) fn new(device: &Device, error: Error, shared: bool) -> Self {
        Self { device: device.info.index, error, shared, is_silent: false }
    }
}

/// The stages of the recovery.
#[derive(Default)]
enum State {
    /// No device has failed since the chosen variant last ran on a device.
    #[default]
    Idle,
    /// A device is being opened or prepared in place of the one that failed, for which the banner is shown. The text is the hint
    /// that the banner gets once the new device runs the chosen variant; it is empty while the device is being opened.
    Trying(DeviceFailure, String),
    /// No attempt is left, and the movie is shown unfiltered.
    GivenUp,
}

/// The attempts to use a device after a failure, and the banner that reports the failure.
#[derive(Default)]
pub(crate) struct Recovery {
    state: State,
    tried: Vec<Attempt>,
    /// The time since which the chosen variant has been running; `None` if it has not run since the last failure.
    works_since: Option<Instant>,
    banner: Option<Error>,
    /// The variant that was chosen when no attempt was left; it is chosen again once a device works. `None` if there is none.
    pub(super) variant_to_restore: Option<VariantId>,
}

impl Recovery {
    /// Returns the attempt to make after a failure; `None` if no attempt is left. `devices` are the indices of all devices.
    /// Remembers for the banner the first failure since the chosen variant last ran.
    pub(super) fn next(
        &mut self,
        failure: &DeviceFailure,
        devices: impl Iterator<Item = usize>,
    ) -> Option<Attempt> {
        let DeviceFailure { device, shared, is_silent, .. } = *failure;
        if self.works_since.take().is_some_and(|since| since.elapsed() > FORGIVEN_AFTER) {
            self.tried.clear();
        }
        if is_silent {
            self.tried.extend([(device, true), (device, false)]);
        }
        if !matches!(self.state, State::Trying(..)) {
            self.state = State::Trying(failure.clone(), String::new());
        }
        let next = next_attempt(device, shared, devices, &self.tried);
        self.tried.extend(next);
        next
    }

    /// Reports that no attempt is left. Returns the error for which all OpenCL variants become unavailable; `None` if there is
    /// no failure to report.
    pub(super) fn give_up(&mut self, cx: &mut PlayerContext) -> Option<Error> {
        let chosen = cx.chosen();
        let hint = match chosen.back_end() {
            BackEnd::OpenCl => {
                self.variant_to_restore = Some(chosen);
                "The movie goes on unfiltered; Ctrl+D tries the next device."
            }
            _ => "Ctrl+D tries the next device.",
        };
        match std::mem::replace(&mut self.state, State::GivenUp) {
            State::Trying(failure, _) => Some(self.report(failure.error, hint.to_owned(), cx)),
            State::Idle | State::GivenUp => None,
        }
    }

    /// Shows in the banner which device was opened after the failure; `sharing` says how it shares textures.
    pub(super) fn opened(&mut self, device: &Device, sharing: &Sharing, cx: &mut PlayerContext) {
        let State::Trying(failure, success) = &mut self.state else { return };
        let same = device.info.index == failure.device;
        // The device may have been opened without sharing this time.
        let copies = failure.shared && *sharing != Sharing::ZeroCopy;
        let name = &device.info.name;
        let hint;
        (hint, *success) = match (same, copies) {
            (true, false) => ("clreel starts it anew.".to_owned(), "clreel has started it anew.".to_owned()),
            (true, true) => (
                "clreel starts it anew, and copies each frame.".to_owned(),
                "clreel goes on with it, but copies each frame.".to_owned(),
            ),
            (false, _) => (format!("clreel tries '{name}'."), format!("clreel goes on with '{name}'.")),
        };
        let error = Error { hint, ..failure.error.clone() };
        self.show(error, cx);
    }

    /// Reports the success of the current attempt, if there is one. Must be called in each turn of the event loop in which a
    /// device runs the chosen variant.
    pub(super) fn confirm(&mut self, cx: &mut PlayerContext) {
        self.works_since.get_or_insert_with(Instant::now);
        match std::mem::take(&mut self.state) {
            State::Idle => {}
            State::Trying(failure, success) => _ = self.report(failure.error, success, cx),
            State::GivenUp => self.hide(cx),
        }
    }

    /// Ends the current attempt without a result, because the user has chosen another device or quits. Reports the failure that
    /// led to the attempt.
    pub(crate) fn end(&mut self, cx: &mut PlayerContext) {
        self.tried.clear();
        if matches!(self.state, State::Trying(..))
            && let State::Trying(failure, _) = std::mem::take(&mut self.state)
        {
            self.report(failure.error, String::new(), cx);
        }
    }

    /// Prints the error with this hint on stderr, and shows it in the banner. Returns that error.
    fn report(&mut self, error: Error, hint: String, cx: &mut PlayerContext) -> Error {
        let error = Error { hint, ..error };
        print_message(&error);
        self.show(error.clone(), cx);
        error
    }

    /// Shows the banner with this error, in place of the previous banner.
    fn show(&mut self, error: Error, cx: &mut PlayerContext) {
        self.hide(cx);
        cx.notices.all.push(Notice { error: error.clone(), serious: true });
        self.banner = Some(error);
        cx.repaints.redraw_soon();
    }

    fn hide(&mut self, cx: &mut PlayerContext) {
        if let Some(banner) = self.banner.take() {
            cx.notices.hide(&banner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all attempts that follow the failure of the device with index `failed`, if each device that is opened fails as
    /// well and shares textures whenever it may.
    fn attempts(failed: usize, count: usize, mut tried: Vec<Attempt>) -> Vec<Attempt> {
        let (mut last, before) = ((failed, true), tried.len());
        while let Some(next) = next_attempt(last.0, last.1, 0..count, &tried) {
            tried.push(next);
            last = next;
        }
        tried.split_off(before)
    }

    #[test]
    fn a_failed_device_is_opened_again_then_without_sharing_then_the_others() {
        assert_eq!(attempts(0, 1, vec![]), [(0, true), (0, false)]);
        let all = [(1, true), (1, false), (0, true), (0, false), (2, true), (2, false)];
        assert_eq!(attempts(1, 3, vec![]), all);
        // A device that was used without sharing is not opened without sharing again.
        assert_eq!(next_attempt(0, false, 0..2, &[(0, true)]), Some((1, true)));
    }

    fn failure(device: usize, is_silent: bool) -> DeviceFailure {
        DeviceFailure { device, error: Error::new("It failed.", "", ""), shared: true, is_silent }
    }

    #[test]
    fn attempts_are_made_again_once_a_device_has_worked_for_long() {
        let mut recovery = Recovery::default();
        assert_eq!(recovery.next(&failure(0, false), 0..1), Some((0, true)));
        recovery.works_since = Some(Instant::now());
        assert_eq!(recovery.next(&failure(0, false), 0..1), Some((0, false)));
        recovery.works_since = Instant::now().checked_sub(2 * FORGIVEN_AFTER);
        assert_eq!(recovery.next(&failure(0, false), 0..1), Some((0, true)));
        // A device that does not respond is not opened again.
        recovery.works_since = Instant::now().checked_sub(2 * FORGIVEN_AFTER);
        assert_eq!(recovery.next(&failure(0, true), 0..2), Some((1, true)));
        assert_eq!(recovery.next(&failure(1, true), 0..2), None);
    }
}
