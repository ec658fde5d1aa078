//! Wipes between two versions of the edited kernels.

use super::*;
use engine::frame_loop::SecondFilter;

impl LiveKernels {
    /// Requests that the kernels of the chosen variant are built from the version with this number, for the second side of a
    /// wipe between that version and the running one.
    pub(in crate::app::player) fn begin_wipe(
        &mut self,
        number: u64,
        movies: &Movies,
        devices: &Devices,
        cx: &mut PlayerContext,
    ) {
        let ((variant, radius), device) =
            (cx.frames.choice.filter(), devices.running.info().map(|info| info.index));
        let frame = cx.frames.presenter.screen.frame().filter(|_| devices.can_judge() && movies.is_movie());
        let kept = self.versions.version(number);
        let (Some(frame), Some(kept), Some(device)) = (frame, kept, device) else { return };
        if variant.kernels().is_none() {
            cx.overlay.show_message(format!("'{variant}' has no kernels on RGBA pictures to wipe."));
            return;
        }
        devices.builds.request(Request::Judge(JudgeRequest {
            version: number,
            sources: kept.sources.clone(),
            variants: vec![variant],
            conversions: Vec::new(),
            frame,
            radius,
            is_second_side: true,
        }));
        self.wiped_on = Some(device);
    }

    /// Begins a wipe that was requested with [`begin_wipe`](Self::begin_wipe), because this version of `variant` was built for
    /// its second side; or shows why that version was refused.
    pub(super) fn begin_built_wipe(
        variant: VariantId,
        version: u64,
        verdict: Verdict,
        cx: &mut PlayerContext,
    ) {
        match verdict {
            Verdict::Refused(error) => cx.notify(error, true),
            Verdict::Exact | Verdict::Differs(_) => {
                let radius = cx.frames.choice.filter().1;
                let second = SecondFilter { filter: (variant, radius), version: Some(version) };
                cx.frames.wipe.set_second(Some(second));
                cx.repaints.redraw_soon();
            }
        }
    }

    /// Ends a wipe between two versions of the edited kernels if its second side was built for another device.
    pub(in crate::app::player) fn end_stale_wipe(&self, devices: &Devices, cx: &mut PlayerContext) {
        let device = devices.running.info().map(|info| info.index);
        let is_current = self.wiped_on.is_some() && self.wiped_on == device;
        let is_wiped = cx.frames.wipe.second().is_some_and(|second| second.version.is_some());
        if is_wiped && !is_current {
            cx.frames.wipe.set_second(None);
        }
    }
}
