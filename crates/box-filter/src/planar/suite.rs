//! Check pictures for the filter on planes, in every kind of layout that it reads.

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use super::planar_quick;
use super::run::{FilteredPlanes, check};
use crate::BuiltVariant;
use crate::pictures::{Pattern, noise};
use base::error::Result;
use base::verify::MismatchReport;
use opencl::cl::ClContext;
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

/// The number of rows of the test pictures that are verified in addition to a whole frame.
const FEW_ROWS: u32 = 24;
/// The patterns of the pictures that [`check_extremes`] checks.
const PATTERNS: [Pattern; 5] =
    [Pattern::Noise, Pattern::White, Pattern::StripesAcross, Pattern::OnePixel, Pattern::Black];

/// Returns the layout of the format with this index in [`FORMATS`]; `None` if the format has no pictures of this size.
pub fn layout(format: usize, (width, height): (u32, u32)) -> Option<Layout> {
    layout_of(&Video::new(*FORMATS.get(format)?, width, height))
}

/// Returns the name of the format with this index, such as "yuv420p".
pub fn name(format: usize) -> String {
    FORMATS.get(format).map(|format| format!("{format:?}").to_lowercase()).unwrap_or_default()
}

/// Returns the memory block of a planar picture with this layout, filled with this pattern and padded to a multiple of four
/// bytes. Stripes are as wide as the window of the filter with this radius.
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
    block
}

/// Verifies edited kernels with pictures of all [`PATTERNS`], which have only a few rows of a layout, each in one launch. Calls
/// `step` before each run. Returns the first report of a difference from the reference; `None` if there is none.
///
/// # Errors
/// Returns an error if the filter cannot run.
pub(crate) fn check_extremes(
    cl: &ClContext,
    filter: &BuiltVariant,
    &FilteredPlanes { layout, radius, .. }: &FilteredPlanes,
    mut step: impl FnMut(),
) -> Result<Option<MismatchReport>> {
    // With an odd height, the last row of chroma belongs to a single row of luma: an odd height remains odd.
    let layout = layout.with_rows(layout.height.min(FEW_ROWS + layout.height % 2));
    for pattern in PATTERNS {
        let block = &block(pattern, &layout, radius);
        let want = &planar_quick(&layout, block, radius)?;
        step();
        if let Some(report) = check(cl, filter, &FilteredPlanes { layout, radius, block, want }, &[])? {
            let (name, width, height) = (pattern.name(), layout.width, layout.height);
            let case = format!("{name}, {width}×{height}, r={radius}, whole");
            return Ok(Some(MismatchReport { case, ..report }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;
    use base::device::DeviceKind;
    use opencl::cl::list_devices;
    use opencl::sources::Sources;

    /// Filters a frame of noise and test pictures of all patterns. Returns for each whether the output differs from the
    /// reference.
    fn differs(cl: &ClContext) -> [bool; 2] {
        let filter = BuiltVariant::build(cl, named("planar")).unwrap();
        let layout = Layout::planar_420(70, 51, false);
        let block = &noise(layout.bytes());
        let want = &planar_quick(&layout, block, 2).unwrap();
        let planes = FilteredPlanes { layout, radius: 2, block, want };
        let frame = check(cl, &filter, &planes, &[]).unwrap();
        let mut steps = 0;
        let others = check_extremes(cl, &filter, &planes, || steps += 1).unwrap();
        assert_eq!(steps == PATTERNS.len(), others.is_none(), "{steps} steps");
        [frame, others].map(|report| report.is_some())
    }

    #[test]
    fn patterns_find_faults_that_a_frame_does_not() {
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
