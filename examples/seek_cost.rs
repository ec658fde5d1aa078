//! What an exact seek costs, as a ratio to decoding the same stretch from its key frame alone, in one run.
//!
//! `cargo run --release --example seek_cost -- FILE KEY_INTERVAL_S [ROUNDS]`, for a file with a key frame every
//! KEY_INTERVAL_S seconds.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clreel::media::{Decoder, OpenOptions, Seek};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(file), Some(gop_s)) = (arguments.first().map(PathBuf::from), arguments.get(1)) else {
        return Err("usage: seek_cost FILE KEY_INTERVAL_S [ROUNDS]".into());
    };
    let gop_s: f64 = gop_s.parse()?;
    let rounds: u32 = arguments.get(2).map_or(Ok(3), |text| text.parse())?;
    let decoder = Decoder::open(&file, OpenOptions::default(), Box::new(|| ()))?;
    let end_s = decoder.info().duration_s.ok_or("the file does not state its length")?;
    println!("{:>10} {:>12} {:>12} {:>7}", "target s", "stretch ms", "seek ms", "ratio");
    let mut worst: f64 = 0.0;
    for round in 0..rounds {
        for fraction in [0.1, 0.5, 0.98] {
            // Another stretch in each round, spread over the file.
            let stretches = (end_s / gop_s).floor().max(1.0);
            let stretch = (f64::from(round) * 7.0 + fraction * 10.0).floor() % stretches;
            let target_s = (stretch + fraction) * gop_s;
            // The stretch alone: from its key frame, every frame, to the one at the target.
            let began = Instant::now();
            decoder.seek(Seek::Keyframe(stretch * gop_s + 0.001));
            loop {
                match decoder.queue().take_next() {
                    Some(frame) if frame.movie_s + frame.duration_ns as f64 / 1e9 > target_s => break,
                    Some(_) => {}
                    None => std::thread::sleep(Duration::from_micros(200)),
                }
            }
            let alone = began.elapsed().as_secs_f64() * 1e3;

            let began = Instant::now();
            decoder.seek(Seek::Exact(target_s));
            while decoder.queue().take_seeked().is_none() {
                std::thread::sleep(Duration::from_micros(200));
            }
            let seek = began.elapsed().as_secs_f64() * 1e3;
            worst = worst.max(seek / alone);
            println!("{target_s:>10.3} {alone:>12.1} {seek:>12.1} {:>7.2}", seek / alone);
        }
    }
    println!("worst ratio {worst:.2}");
    Ok(())
}
