//! Check pictures of planes, in every kind of layout that kernels read.

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use crate::pictures::{Pattern, noise};
use video::color::Layout;
use video::color::planes::layout_of;

/// Pixel formats that cover every memory layout of planes: the order, the distance and the width of samples.
pub const FORMATS: [Pixel; 18] = [
    Pixel::YUV420P,
    Pixel::NV12,
    Pixel::NV21,
    Pixel::YUV422P,
    Pixel::YUV440P,
    Pixel::YUV444P,
    Pixel::YUYV422,
    Pixel::UYVY422,
    Pixel::YUV420P10LE,
    Pixel::YUV422P10LE,
    Pixel::YUV444P12LE,
    Pixel::P010LE,
    Pixel::GRAY8,
    Pixel::GRAY12LE,
    Pixel::RGB24,
    Pixel::BGRA,
    Pixel::GBRAP,
    Pixel::GBRP10LE,
];

/// Returns the layout of the format with this index in [`FORMATS`]; `None` if the format has no pictures of this size.
pub fn layout(format: usize, (width, height): (u32, u32)) -> Option<Layout> {
    layout_of(&Video::new(*FORMATS.get(format)?, width, height))
}

/// Returns the name of the format with this index, such as "yuv420p".
pub fn name(format: usize) -> String {
    FORMATS.get(format).map(|format| format!("{format:?}").to_lowercase()).unwrap_or_default()
}

/// Returns the memory block of a planar picture with this layout, filled with this pattern and padded to a multiple of four
/// bytes. Stripes are as wide as the window of the filter with this radius. Unused bits of samples are 0, as in decoded planes.
pub fn block(pattern: Pattern, layout: &Layout, radius: u32) -> Vec<u8> {
    let bytes = layout.bytes().next_multiple_of(4);
    let side = 2 * radius as usize + 1;
    let value = |x: usize, y: usize| match pattern {
        Pattern::StripesAcross if (y / side).is_multiple_of(2) => 255,
        Pattern::StripesDown if (x / side).is_multiple_of(2) => 255,
        Pattern::Checkerboard if (x + y).is_multiple_of(2) => 255,
        Pattern::Ramps => (3 * x + 5 * y) as u8,
        _ => 0,
    };
    let mut block = vec![0; bytes];
    match pattern {
        Pattern::Noise => block = noise(bytes),
        Pattern::White => block.fill(255),
        Pattern::OnePixel => {
            for index in 0..layout.count() {
                let (component, (width, height)) = (layout.components[index], layout.size_of(index));
                let at = component.offset + height / 3 * component.stride + width / 2 * component.step;
                let unit = if layout.wide { 2 } else { 1 };
                block[unit * at as usize..][..unit].fill(255);
            }
        }
        _ => {
            for plane in layout.planes.iter().filter(|plane| plane.row > 0) {
                for y in 0..plane.rows {
                    let row = &mut block[plane.offset + y * plane.stride..][..plane.row];
                    row.iter_mut().enumerate().for_each(|(x, byte)| *byte = value(x, y));
                }
            }
        }
    }
    clear_unused_bits(layout, &mut block);
    block
}

/// Sets the bits of planes with this layout that belong to no sample to 0.
pub(crate) fn clear_unused_bits(layout: &Layout, block: &mut [u8]) {
    if layout.wide {
        let used = ((1_u16 << layout.depth) - 1) << layout.shift;
        let samples = block.as_chunks_mut().0;
        samples.iter_mut().for_each(|two| *two = (u16::from_le_bytes(*two) & used).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planar::planar_quick;
    use crate::planar::run::{FilteredPlanes, check};
    use crate::{BuiltVariant, named};
    use base::device::DeviceKind;
    use opencl::cl::{ClContext, list_devices};
    use opencl::sources::Sources;

    /// Filters pictures of noise and of all other patterns. Returns for both whether the output differs from the reference.
    fn differs(cl: &ClContext) -> [bool; 2] {
        let filter = BuiltVariant::build(cl, named("planar")).unwrap();
        let layout = Layout::planar_420(70, 51, false);
        let is_wrong = |pattern: &Pattern| {
            let block = &block(*pattern, &layout, 2);
            let want = &planar_quick(&layout, block, 2).unwrap();
            let planes = FilteredPlanes { layout, radius: 2, block, want };
            check(cl, &filter, &planes, &[]).unwrap().is_some()
        };
        let (noise, others) = Pattern::ALL.split_at(1);
        [noise, others].map(|patterns| patterns.iter().any(is_wrong))
    }

    #[test]
    fn patterns_find_faults_that_noise_does_not() {
        let file = "box_filter/08_planes.cl";
        let right = include_str!("../../../../kernels/box_filter/08_planes.cl");
        // As the mutant of the rule "extreme": white becomes a level less.
        let mean = "convert_ushort16(as_uint16(mean + 8388608.0f))";
        let wrong = right.replace(mean, &format!("min({mean}, (ushort16)(4079))"));
        assert_ne!(wrong, right);
        let changed = Sources::from(Ok([(file.to_owned(), Ok(wrong))].into()));
        let devices = list_devices();
        let cpu = devices.iter().find(|device| device.info.kind == DeviceKind::Cpu).unwrap();
        let cl = ClContext::new(cpu, Sources::default()).unwrap();
        assert_eq!(differs(&cl), [false, false]);
        assert_eq!(differs(&cl.with_sources(changed)), [false, true]);
    }
}
