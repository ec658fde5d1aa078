//! The cost of filter and conversion together: planes filtered and then converted (`planar`), against planes converted and
//! then filtered (`fused`). Medians of device time in one run on the same frame, alternating; on CPU devices also the
//! conversion without OpenCL, by elapsed time.
//!
//! `cargo run --release --example planar_cost -- [ROUNDS] [WIDTHxHEIGHT] [DEVICE]`: 100 rounds, 1280x720, the best device.

use base::timing::ms_since;
use box_filter::VariantId;
use box_filter::color_kernels::{Converter, KernelCache};
use box_filter::planar::{PlanarFilter, planes_of};
use box_filter::{BuiltVariant, Scratch};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use opencl::cl::{ClContext, list_devices, select_device};
use opencl::memory::{Picture, Storage};
use opencl::process;
use opencl::sources::Sources;
use opencl::timer;
use video::color::Correction;
use video::color::RgbaConverter;
use video::{References, bundled_clip, read_frames_rgba};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    process::prepare();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: usize = arguments.first().map_or(Ok(100), |text| text.parse())?;
    let rounds = rounds.max(1);
    let size = arguments.get(1).map_or("1280x720", String::as_str);
    let (width, height) = size.split_once('x').ok_or("the size is not WIDTHxHEIGHT")?;
    let (width, height): (u32, u32) = (width.parse()?, height.parse()?);
    let device = select_device(&list_devices(), arguments.get(2).map(String::as_str))?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    let clip = read_frames_rgba(&bundled_clip()?, 1, Some((width, height)), References::Refused)?;
    let rgba = clip.frames.first().ok_or("the clip has no frame")?;

    let (layout, samples) = planes_of(rgba, width, height)?;
    let filtered = layout.filtered();
    let queue = &cl.queue;
    let from = Picture::block(&cl, &cl.queue, &samples)?;
    let between = Picture::alloc(&cl, Storage::Buffer, (filtered.bytes() / 4) as u32, 1)?;
    let (pixels, out) = (
        Picture::alloc(&cl, Storage::Buffer, width, height)?,
        Picture::alloc(&cl, Storage::Buffer, width, height)?,
    );
    let (planar, fused) =
        (PlanarFilter::build(&cl, VariantId::Planar)?, BuiltVariant::build(&cl, VariantId::Fused)?);
    let mut converter = Converter::new(&cl);
    let mut frame = Video::new(Pixel::YUV420P, width, height);
    for index in 0..3 {
        let plane = layout.planes[index];
        let stride = frame.stride(index);
        for y in 0..plane.rows {
            let row = &samples[plane.offset + y * plane.stride..][..plane.row];
            frame.data_mut(index)[y * stride..y * stride + plane.row].copy_from_slice(row);
        }
    }
    let (mut processor, mut host) = (RgbaConverter::new(), vec![0; rgba.len()]);
    let (neutral, kernels) = (Correction::NEUTRAL, &mut KernelCache::default());
    println!("{}, {width}x{height}, 4:2:0, {rounds} rounds, medians in ms", cl.device.info.name);
    println!(
        "radius | planar + convert = all | convert + fused = all | ratio | without OpenCL, planar + convert against it and fused"
    );
    for radius in [1, 3, 7, 15, 31] {
        let plan = planar.plan(&cl, &layout, &between, &mut Scratch::new(), radius)?;
        let mut scratch = Scratch::new();
        let pass = fused.plan(&cl, &pixels, &out, &mut scratch, width, height, radius)?;
        let mut times = vec![Vec::new(); 5];
        for _ in 0..rounds {
            let began = std::time::Instant::now();
            if cl.is_cpu() {
                processor.convert(&frame, &mut host)?;
            }
            times[4].push(ms_since(began));
            let filter = plan.enqueue(queue, &from, 0..height)?;
            let after = converter.enqueue(queue, kernels, &filtered, &between, &out, &neutral)?;
            let before = converter.enqueue(queue, kernels, &layout, &from, &pixels, &neutral)?;
            let fused = pass.enqueue_all(queue)?;
            queue.finish()?;
            for (times, event) in times.iter_mut().zip([&filter, &after, &before, &fused[0]]) {
                times.push(timer::device_ms(event)?);
            }
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let [filter, after, before, fused, without] = std::array::from_fn(|at| median(&mut times[at]));
        println!(
            "{radius:6} | {filter:.4} + {after:.4} = {:.4} | {before:.4} + {fused:.4} = {:.4} | {:.2} | {without:.4} {:.2}",
            filter + after,
            before + fused,
            (filter + after) / (before + fused),
            (filter + after) / (without + fused),
        );
    }
    process::exit_now(0)
}
