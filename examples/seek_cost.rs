//! The cost of an exact seek, as a ratio to decoding the same stretch from its key frame alone, in one run: in elapsed
//! time, and in CPU time of the whole process (in steps of 10 ms), which other programs disturb less.
//!
//! `cargo run --release --example seek_cost -- FILE KEY_INTERVAL_S [ROUNDS]`, for a file with a key frame every
//! KEY_INTERVAL_S seconds.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::timing::ms_since;
use video::{Decoder, OpenOptions, Seek};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(file), Some(gop_s)) = (arguments.first().map(PathBuf::from), arguments.get(1)) else {
        return Err("usage: seek_cost FILE KEY_INTERVAL_S [ROUNDS]".into());
    };
    let gop_s: f64 = gop_s.parse()?;
    let rounds: u32 = arguments.get(2).map_or(Ok(3), |text| text.parse())?;
    let decoder = Decoder::open(&file, OpenOptions::default(), Box::new(|| ()))?;
    let end_s = decoder.info().duration_s.ok_or("the file does not state its length")?;
    println!("{:>10} {:>12} {:>12} {:>7} {:>9}", "target s", "stretch ms", "seek ms", "ratio", "CPU ratio");
    let mut sums = [0.0; 4];
    for round in 0..rounds {
        for fraction in [0.1, 0.5, 0.98] {
            // Another stretch in each round, spread over the file.
            let stretches = (end_s / gop_s).floor().max(1.0);
            let stretch = (f64::from(round) * 7.0 + fraction * 10.0).floor() % stretches;
            let target_s = (stretch + fraction) * gop_s;
            // The stretch alone: every frame from its key frame to the target.
            wait_until_idle(&decoder);
            let (began, cpu) = (Instant::now(), cpu_ms());
            decoder.seek(Seek::Keyframe(stretch * gop_s + 0.001));
            loop {
                match decoder.queue().take_next() {
                    Some(frame) if frame.movie_s + frame.duration_ns as f64 / 1e9 > target_s => break,
                    Some(_) => {}
                    None => std::thread::sleep(Duration::from_micros(200)),
                }
            }
            let (alone, alone_cpu) = (ms_since(began), cpu_ms() - cpu);

            wait_until_idle(&decoder);
            let (began, cpu) = (Instant::now(), cpu_ms());
            decoder.seek(Seek::Exact(target_s));
            while decoder.queue().take_next().is_none() {
                std::thread::sleep(Duration::from_micros(200));
            }
            let (seek, seek_cpu) = (ms_since(began), cpu_ms() - cpu);
            let ratio = seek_cpu / alone_cpu.max(1.0);
            println!("{target_s:>10.3} {alone:>12.1} {seek:>12.1} {:>7.2} {ratio:>9.2}", seek / alone);
            for (sum, value) in sums.iter_mut().zip([alone, seek, alone_cpu, seek_cpu]) {
                *sum += value;
            }
        }
    }
    println!("over all: ratio {:.2}, of processor time {:.2}", sums[1] / sums[0], sums[3] / sums[2].max(1.0));
    Ok(())
}

/// Waits until the decoder has filled its queue and idles.
fn wait_until_idle(decoder: &Decoder) {
    while decoder.queue().frame_count() < 8 {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
}

/// Returns the CPU time of this process in milliseconds; 0 if the system does not report it.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}
