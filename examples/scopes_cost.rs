//! The cost of scopes, heat map and auto-levels for a frame on the device: medians of device time in one run.
//!
//! `cargo run --release --example scopes_cost -- [ROUNDS] [DEVICE]`: 100 rounds, the best device.

use box_filter::pictures::noise;
use engine::Scopes;
use opencl::cl::{ClContext, list_devices, select_device};
use opencl::memory::{Picture, Storage};
use opencl::process;
use opencl::sources::Sources;

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    process::prepare();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: usize = arguments.first().map_or(Ok(100), |text| text.parse())?;
    let device = select_device(&list_devices(), arguments.get(1).map(String::as_str))?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    println!("{}, {rounds} rounds, medians in ms", cl.device.info.name);
    println!("size | picture | reduce | levels | both");
    for (width, height) in [(1280, 720), (1920, 1080), (3840, 2160)] {
        let mut scopes = Scopes::build(&cl, (width, height))?;
        let noise = noise((width * height * 4) as usize);
        // Neighbouring pixels are similar in a movie.
        let smooth: Vec<u8> = (0..noise.len()).map(|at| (at / 4 % width as usize / 8) as u8).collect();
        for (name, storage, bytes) in [
            ("noise, a buffer", Storage::Buffer, &noise),
            ("smooth, a buffer", Storage::Buffer, &smooth),
            ("noise, an image", Storage::Image, &noise),
        ] {
            let picture = Picture::alloc(&cl, storage, width, height)?;
            picture.write(&cl.queue, bytes)?;
            // A kernel cannot write into an image that it reads.
            let into = match storage {
                Storage::Buffer => picture.clone(),
                Storage::Image => Picture::alloc(&cl, storage, width, height)?,
            };
            let mut times = [Vec::new(), Vec::new(), Vec::new()];
            for _ in 0..rounds.max(1) {
                let [reduce, levels] = scopes.measure(&cl, &picture, (width, height), Some(&into))?.1;
                for (times, ms) in times.iter_mut().zip([reduce, levels, reduce + levels]) {
                    times.push(ms);
                }
            }
            let [reduce, levels, both] = times.each_mut().map(|times| median(times));
            println!("{width}x{height} | {name} | {reduce:.4} | {levels:.4} | {both:.4}");
        }
    }
    Ok(())
}
