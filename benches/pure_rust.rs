//! Benchmarks of the parts in plain Rust or FFmpeg on the processor: no OpenCL, no window. For OpenCL use
//! `./dev bench`. Prints a line for each: the median, the 95th percentile and the number of samples.
//!
//! cargo bench --bench pure_rust -- NAME
//!
//! Runs only the benchmarks with NAME in their names.

use std::hint::black_box;
use std::time::{Duration, Instant};

use base::timing::Series;
use box_filter::native::{Input, Lanes, Threads};
use box_filter::pictures::noise;
use box_filter::reference::{plain, summed_area};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use video::color::RgbaConverter;
use video::{Frame, FrameQueue};

/// The minimum length of a sample: short functions run many times in it.
const SAMPLE: Duration = Duration::from_millis(20);
const SAMPLES: usize = 50;

/// Times `run` if its name is selected.
fn time<R>(name: &str, mut run: impl FnMut() -> R) {
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
        return;
    }
    let mut took = |times: u32| {
        let began = Instant::now();
        for _ in 0..times {
            black_box(run());
        }
        began.elapsed()
    };
    let mut times = 1;
    while took(times) < SAMPLE {
        times *= 2;
    }
    let samples: Vec<_> =
        (0..SAMPLES).map(|_| took(times).as_secs_f64() * 1000.0 / f64::from(times)).collect();
    if let Some(series) = Series::of(&samples) {
        println!("{name:<44} {:>10.5} ms   p95 {:>10.5} ms   n {}", series.p50, series.p95, series.n);
    }
}

fn references() {
    let (width, height, radius) = (320, 180, 7);
    let src = noise(width * height * 4);
    time("reference 320x180 r=7: plain", || plain(black_box(&src), width, height, radius));
    time("reference 320x180 r=7: summed area", || summed_area(black_box(&src), width, height, radius));
}

fn native() {
    let (width, height) = (1280, 720);
    let src = noise(width as usize * height as usize * 4);
    let mut dst = vec![0; src.len()];
    for count in [1, 2] {
        for lanes in [Lanes::Plain, Lanes::Vector] {
            time(&format!("native 1280x720 r=7: {count} threads, {lanes:?}"), || {
                let input = Input { pixels: black_box(&src), size: (width, height), radius: 7 };
                input.filter(&mut dst, Threads { count, lanes }).is_ok()
            });
        }
    }
}

fn conversion() {
    let (width, height) = (1280, 720);
    let mut rgba = vec![0; width as usize * height as usize * 4];
    for (name, format) in
        [("yuv420p", Pixel::YUV420P), ("yuv422p", Pixel::YUV422P), ("yuv420p10", Pixel::YUV420P10LE)]
    {
        let mut frame = Video::new(format, width, height);
        for plane in 0..frame.planes() {
            let bytes = noise(frame.data(plane).len());
            frame.data_mut(plane).copy_from_slice(&bytes);
            if format == Pixel::YUV420P10LE {
                // Ten bits in two bytes, the low byte first.
                frame.data_mut(plane).iter_mut().skip(1).step_by(2).for_each(|high| *high &= 3);
            }
        }
        let mut converter = RgbaConverter::new();
        if let Err(error) = converter.convert(&frame, &mut rgba) {
            eprintln!("{name} is left out: {error}");
            continue;
        }
        time(&format!("RgbaConverter 1280x720: {name}"), || {
            converter.convert(black_box(&frame), &mut rgba).is_ok()
        });
    }
}

fn queue() {
    let frame = |pts_ns| Frame {
        earlier: Default::default(),
        picture: Video::empty(),
        packed: Default::default(),
        pts_ns,
        movie_s: 0.0,
        duration_ns: 40_000_000,
        number: 0,
        generation: 0,
        seeked: false,
    };
    time("queue: push and take 4 frames", || {
        let queue = FrameQueue::new(Box::new(|| ()));
        for pts_ns in 0..4 {
            queue.push(frame(pts_ns));
        }
        while let Some(frame) = queue.take_next() {
            black_box(frame);
        }
    });
}

fn series() {
    let samples: Vec<f64> = noise(1000).into_iter().map(|b| f64::from(b) * 0.1).collect();
    time("Series of 1000 samples", || Series::of(black_box(&samples)));
}

fn main() {
    references();
    native();
    conversion();
    queue();
    series();
}
