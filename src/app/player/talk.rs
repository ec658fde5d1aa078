//! The heart of the selected variant's kernels, for the talk (the presentation view). The heart consists of the few most
//! important lines of the source, which a comment marks.

use super::PlayerContext;
use super::devices::Devices;
use super::kernels::LiveKernels;
use base::device::DeviceKind;
use box_filter::VariantId;
use overlay::heart;

/// The heart (the most important lines) of the selected variant's kernels, and the kernels from which it was read.
#[derive(Default)]
pub(super) struct Talk {
    /// The variant, the number of the version of its kernels, and the kind of device for which the heart was read; `None`
    /// before the first time.
    of: Option<(VariantId, u64, DeviceKind)>,
    /// The heart of the selected variant's kernels; `None` if the variant has no kernel file.
    pub(super) heart: Option<String>,
}

impl Talk {
    /// While the talk is shown, reads the heart again if the selected variant, its kernels or the kind of device have changed.
    pub(super) fn update(&mut self, devices: &Devices, kernels: &LiveKernels, cx: &PlayerContext) {
        if !cx.overlay.is_talk_visible() {
            return;
        }
        let kind = devices.running.kind();
        let (variant, _) = cx.frames.choice.filter();
        let (version, sources) = kernels.in_use(variant);
        if self.of.replace((variant, version, kind)) != Some((variant, version, kind)) {
            let file = variant.files(kind).and_then(<[_]>::first);
            self.heart =
                file.map(|file| sources.text(file).map_or_else(|_| String::new(), |text| heart(&text)));
        }
    }
}
