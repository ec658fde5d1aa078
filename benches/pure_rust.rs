//! Times of the parts that are plain Rust or FFmpeg on the processor: no OpenCL, no window. For OpenCL use
//! `./dev bench`.
//!
//! cargo bench --bench pure_rust -- NAME

use std::hint::black_box;
use std::time::Duration;

use clreel::ladder::box_filter::native::{Lanes, filter};
use clreel::ladder::box_filter::pictures::noise;
use clreel::ladder::box_filter::reference::{plain, summed_area};
use clreel::media::convert::RgbaConverter;
use clreel::media::{Frame, FrameQueue};
use clreel::stats::Series;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

fn references(c: &mut Criterion) {
    let (width, height, radius) = (320, 180, 7);
    let src = noise(width * height * 4);
    let mut group = c.benchmark_group("reference 320x180 r=7");
    group.throughput(Throughput::Elements((width * height) as u64));
    group.bench_function("plain", |b| b.iter(|| plain(black_box(&src), width, height, radius)));
    group.bench_function("summed area", |b| b.iter(|| summed_area(black_box(&src), width, height, radius)));
    group.finish();
}

fn native(c: &mut Criterion) {
    let (width, height, radius) = (1280, 720, 7);
    let src = noise(width * height * 4);
    let mut dst = vec![0; src.len()];
    let mut group = c.benchmark_group("native 1280x720 r=7");
    group.throughput(Throughput::Elements((width * height) as u64));
    for threads in [1, 2] {
        for lanes in [Lanes::Plain, Lanes::Vector] {
            group.bench_function(format!("{threads} threads, {lanes:?}"), |b| {
                b.iter(|| filter(black_box(&src), &mut dst, (width, height), radius, threads, lanes).is_ok())
            });
        }
    }
    group.finish();
}

fn conversion(c: &mut Criterion) {
    let (width, height) = (1280, 720);
    let mut rgba = vec![0; width as usize * height as usize * 4];
    let mut group = c.benchmark_group("RgbaConverter 1280x720");
    group.throughput(Throughput::Elements(u64::from(width) * u64::from(height)));
    for (name, format) in
        [("yuv420p", Pixel::YUV420P), ("yuv422p", Pixel::YUV422P), ("yuv420p10", Pixel::YUV420P10LE)]
    {
        let mut frame = Video::new(format, width, height);
        for plane in 0..frame.planes() {
            let bytes = noise(frame.data(plane).len());
            frame.data_mut(plane).copy_from_slice(&bytes);
            if format == Pixel::YUV420P10LE {
                // Ten bits in two bytes, the low one first.
                frame.data_mut(plane).iter_mut().skip(1).step_by(2).for_each(|high| *high &= 3);
            }
        }
        let mut converter = RgbaConverter::new();
        if let Err(error) = converter.convert(&frame, &mut rgba) {
            eprintln!("{name} is left out: {error}");
            continue;
        }
        group.bench_function(name, |b| b.iter(|| converter.convert(black_box(&frame), &mut rgba).is_ok()));
    }
    group.finish();
}

fn queue(c: &mut Criterion) {
    let frame = |pts_ns| Frame {
        picture: Video::empty(),
        packed: Default::default(),
        pts_ns,
        movie_s: 0.0,
        duration_ns: 40_000_000,
        number: 0,
        generation: 0,
        seeked: false,
    };
    c.bench_function("queue: push and take 4 frames", |b| {
        b.iter(|| {
            let queue = FrameQueue::new(Box::new(|| ()));
            for pts_ns in 0..4 {
                queue.push(frame(pts_ns));
            }
            while let Some(frame) = queue.take_next() {
                black_box(frame);
            }
        })
    });
}

fn series(c: &mut Criterion) {
    let samples: Vec<f64> = noise(1000).into_iter().map(|b| f64::from(b) * 0.1).collect();
    c.bench_function("Series of 1000 samples", |b| b.iter(|| Series::of(black_box(&samples))));
}

criterion_group! {
    name = pure_rust;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2));
    targets = references, native, conversion, queue, series
}
criterion_main!(pure_rust);
