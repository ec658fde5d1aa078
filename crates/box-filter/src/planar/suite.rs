//! Checks of the filter on planes at small sizes, in every layout that it reads. In: the filter as it is built. Out:
//! nothing when every sample is right, or the first case in which one is not; and what was compared.

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use super::run::check;
use super::{PlanarFilter, planar_quick};
use crate::MAX_RADIUS;
use crate::pictures::noise;
use crate::run::Bands;
use base::error::Result;
use base::verify::{Checked, MismatchReport};
use opencl::cl::ClContext;
use video::color::Layout;
use video::color::planes::layout_of;

/// One format for each way in which planes lie in memory: by the order, the distance and the width of their samples.
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

/// Odd ones; a whole number of vectors of 16 samples, one less, and one more.
const SIZES: [(u32, u32); 6] = [(139, 65), (63, 33), (5, 3), (1, 37), (48, 1), (1, 1)];
const RADII: [u32; 13] = [0, 1, 2, 3, 8, 31, 40, 41, 64, 80, 81, MAX_RADIUS - 1, MAX_RADIUS];

/// Rows of what is checked beside a whole frame.
const FEW_ROWS: u32 = 24;
/// Pictures of all kinds.
const ALL: [Samples; 5] =
    [Samples::Noise, Samples::Largest, Samples::Stripes, Samples::One, Samples::Smallest];

/// What is in every component.
#[derive(Clone, Copy)]
enum Samples {
    Noise,
    Largest,
    Smallest,
    /// Rows of the largest and the smallest as high as the window.
    Stripes,
    /// The smallest, but for one.
    One,
}

impl Samples {
    fn name(self) -> &'static str {
        match self {
            Samples::Noise => "noise",
            Samples::Largest => "white",
            Samples::Smallest => "black",
            Samples::Stripes => "stripes across",
            Samples::One => "one pixel",
        }
    }

    /// A block with room for whole numbers of four bytes.
    fn block(self, layout: &Layout, radius: u32) -> Vec<u8> {
        let bytes = layout.bytes().next_multiple_of(4);
        match self {
            Samples::Noise => noise(bytes),
            Samples::Largest => vec![255; bytes],
            Samples::Smallest => vec![0; bytes],
            Samples::Stripes => {
                let mut block = vec![0; bytes];
                for plane in layout.planes.iter().filter(|plane| plane.row > 0) {
                    for y in (0..plane.rows).filter(|y| (y / (2 * radius as usize + 1)).is_multiple_of(2)) {
                        block[plane.offset + y * plane.stride..][..plane.row].fill(255);
                    }
                }
                block
            }
            Samples::One => {
                let mut block = vec![0; bytes];
                for index in 0..layout.count() {
                    let (component, (width, height)) = (layout.components[index], layout.size_of(index));
                    let at = component.offset + height / 3 * component.stride + width / 2 * component.step;
                    let unit = if layout.wide { 2 } else { 1 };
                    block[unit * at as usize..][..unit].fill(255);
                }
                block
            }
        }
    }
}

/// Checks every layout at small sizes with one radius, whole and in bands: noise and white; 4:2:0 of 8 bits with
/// all kinds of pictures and with radii of every range.
///
/// # Errors
/// When the filter cannot run.
pub(crate) fn layouts(
    cl: &ClContext,
    filter: &PlanarFilter,
    radius: u32,
    checked: &mut Vec<Checked>,
) -> Result<Option<MismatchReport>> {
    let few: &[Samples] = &[Samples::Noise, Samples::Largest];
    for (index, format) in FORMATS.into_iter().enumerate() {
        let samples = if index == 0 { &ALL } else { few };
        let one = One { cl, filter, format };
        let mut own = Vec::new();
        for size in SIZES {
            let report = one.check(size, samples, &[radius], false, &mut own)?;
            if report.is_some() {
                return Ok(report);
            }
        }
        own.into_iter().for_each(|one| one.add_to(checked));
    }
    One { cl, filter, format: FORMATS[0] }.check((19, 11), few, &RADII, true, checked)
}

/// Checks some rows of all kinds that lie as in `layout`, whole: what is done with kernels that were just changed. `step` is told of
/// each run before it begins.
///
/// # Errors
/// When the filter cannot run.
pub(crate) fn extremes(
    cl: &ClContext,
    filter: &PlanarFilter,
    layout: &Layout,
    radius: u32,
    mut step: impl FnMut(),
) -> Result<Option<MismatchReport>> {
    // An odd height ends within a row of chroma; it stays odd.
    let part = layout.with_rows(layout.height.min(FEW_ROWS + layout.height % 2));
    for samples in ALL {
        let block = samples.block(&part, radius);
        let want = planar_quick(&part, &block, radius)?;
        step();
        if let Some(report) = check(cl, filter, &part, &block, &want, radius, &[])? {
            let (name, width, height) = (samples.name(), part.width, part.height);
            let case = format!("{name}, {width}×{height}, r={radius}, whole");
            return Ok(Some(MismatchReport { case, ..report }));
        }
    }
    Ok(None)
}

struct One<'a> {
    cl: &'a ClContext,
    filter: &'a PlanarFilter,
    format: Pixel,
}

impl One<'_> {
    fn check(
        &self,
        (width, height): (u32, u32),
        samples: &[Samples],
        radii: &[u32],
        others: bool,
        checked: &mut Vec<Checked>,
    ) -> Result<Option<MismatchReport>> {
        let Some(layout) = layout_of(&Video::new(self.format, width, height)) else { return Ok(None) };
        let name = format!("{:?}", self.format).to_lowercase();
        let ways = [Bands::Whole, Bands::Odd];
        for samples in samples {
            for &radius in radii {
                let block = samples.block(&layout, radius);
                let want = planar_quick(&layout, &block, radius)?;
                for bands in ways {
                    let ends: Vec<u32> = bands.of(height, 1).iter().map(|rows| rows.end).collect();
                    let ends = &ends[..ends.len() - 1];
                    let report = check(self.cl, self.filter, &layout, &block, &want, radius, ends)?;
                    if let Some(report) = report {
                        let case = format!(
                            "{name}, {}, {width}×{height}, r={radius}, {}",
                            samples.name(),
                            bands.name()
                        );
                        return Ok(Some(MismatchReport { case, ..report }));
                    }
                }
            }
        }
        Checked {
            sizes: vec![format!("{width}x{height}")],
            inputs: samples.iter().map(|samples| samples.name().to_owned()).collect(),
            bands: ways.iter().map(|bands| bands.name().to_owned()).collect(),
            radii: if others { radii.to_vec() } else { Vec::new() },
            ways: vec![name],
            timed: false,
        }
        .add_to(checked);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VariantId;
    use opencl::cl::list_devices;
    use opencl::sources::{self, Sources};

    /// What of a frame and of pictures of all kinds differs.
    fn differs(cl: &ClContext) -> [bool; 2] {
        let filter = PlanarFilter::build(cl, VariantId::Planar).unwrap();
        let layout = Layout::planar_420(70, 51, false);
        let block = noise(layout.bytes());
        let want = planar_quick(&layout, &block, 2).unwrap();
        let frame = check(cl, &filter, &layout, &block, &want, 2, &[]).unwrap();
        let mut steps = 0;
        let others = extremes(cl, &filter, &layout, 2, || steps += 1).unwrap();
        assert_eq!(steps == ALL.len(), others.is_none(), "{steps} steps");
        [frame, others].map(|report| report.is_some())
    }

    #[test]
    fn pictures_of_all_kinds_show_what_a_frame_does_not() {
        let file = "box_filter/08_planes.cl";
        let right = include_str!("../../../../kernels/box_filter/08_planes.cl");
        // As the mutant of the rule "extreme": white becomes a level less.
        let mean = "convert_ushort16(as_uint16(mean + 8388608.0f))";
        let wrong = right.replace(mean, &format!("min({mean}, (ushort16)(4079))"));
        assert_ne!(wrong, right);
        let changed: Sources = serde_json::from_value(serde_json::json!({ file: { "Ok": wrong } })).unwrap();
        let devices = list_devices();
        let cl = ClContext::new(
            devices.iter().find(|device| device.info.kind == opencl::cl::DeviceKind::Cpu).unwrap(),
        )
        .unwrap();
        assert_eq!(differs(&cl), [false, false]);
        sources::pin(Some(changed));
        assert_eq!(differs(&cl), [false, true]);
        sources::pin(None);
    }
}
