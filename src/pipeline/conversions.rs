//! Which frames are converted on the device, and the programs for that: what is there, asked for, and not to be had.

use ffmpeg_next::frame::Video;

use super::Pipeline;
use crate::convert::Layout;
use crate::gpu::convert::{ConvertProgram, Converter};
use crate::ladder::{Storage, VariantId};

/// What tells one conversion's program from another's, as far as a movie can change it.
pub(super) type ConversionKind = (crate::convert::Family, bool, (bool, bool), bool, Storage);

fn kind(layout: &Layout, storage: Storage) -> ConversionKind {
    (layout.family, layout.wide, layout.halved, layout.fraction > 0, storage)
}

/// What is converted of a picture whose planes lie in `layout`.
fn converted(layout: &Layout, variant: VariantId) -> Layout {
    if variant == VariantId::Planar { layout.filtered() } else { *layout }
}

impl Pipeline {
    /// Adds a conversion that the builder finished.
    pub fn add_conversion(&mut self, program: ConvertProgram) {
        self.converter.add(program);
    }

    /// Conversions to be built, each told once.
    pub fn missing_conversions(&mut self) -> Vec<(Layout, Storage)> {
        std::mem::take(&mut self.missing)
    }

    /// How the planes of `frame` go to the device to be converted there, for `variant`. `None` where the window's thread is
    /// to convert them: on a CPU device, where that is the faster way, except for what filters the planes; for formats
    /// that the kernels do not know; and while the program is being built. The picture is the same either way.
    pub fn conversion(&mut self, frame: &Video, variant: VariantId) -> Option<Layout> {
        let (layout, storage) = self.kernel_conversion(frame, variant)?;
        let converted = converted(&layout, variant);
        if self.converter.is_ready(&converted, storage) {
            return Some(layout);
        }
        if self.asked.insert(kind(&converted, storage)) {
            self.missing.push((converted, storage));
        }
        None
    }

    /// Whether such a frame's planes are to be converted on the device, once the program for it is there.
    pub fn will_convert(&self, frame: &Video, variant: VariantId) -> bool {
        self.kernel_conversion(frame, variant).is_some_and(|(layout, storage)| {
            !self.failed.contains(&kind(&converted(&layout, variant), storage))
        })
    }

    /// Notes that the device has no program for such a conversion: the window's thread does it from now on.
    pub fn conversion_failed(&mut self, layout: &Layout, storage: Storage) {
        self.failed.insert(kind(layout, storage));
    }

    fn kernel_conversion(&self, frame: &Video, variant: VariantId) -> Option<(Layout, Storage)> {
        let planar = variant == VariantId::Planar && self.planar.is_some();
        if self.cl.is_cpu() && !planar {
            return None;
        }
        let storage = match self.built.get(&variant) {
            Some(built) => built.info().storage,
            None if self.to_texture => Storage::Image,
            None => Storage::Buffer,
        };
        let layout = Converter::supports(frame)?;
        // A picture that is too large for the device is shown all the same, without a filter.
        let bytes = layout.bytes().max(layout.rgba_bytes()) as u64;
        let fits = bytes <= self.cl.device.info.max_allocation_bytes;
        (planar || fits).then_some((layout, storage))
    }
}
