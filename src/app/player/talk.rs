//! The heart of the selected variant's kernels, as they run now, for the talk.

use super::PlayerContext;
use super::devices::Devices;
use super::kernels::LiveKernels;
use base::device::DeviceKind;
use box_filter::VariantId;
use overlay::heart;

/// The heart of the selected variant's kernels, and the key for which it was read.
#[derive(Default)]
pub(super) struct Talk {
    /// The variant, the number of the version of its kernels, and the kind of device for which the heart was read.
    of: Option<(VariantId, u64, DeviceKind)>,
    /// The heart of the selected variant's kernels; `None` if it has no kernels of its own.
    pub(super) heart: Option<String>,
}

impl Talk {
    /// While the talk is shown, reads the heart again if the variant, its kernels or the device have changed.
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
