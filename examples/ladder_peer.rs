//! clreel's side of `./dev peers --ladder NAME`: a process that runs variants of a ladder on request.
//! Requests are lines on stdin, see [`answer`]; each gets a line on stdout: `ok` and a result, or `no` and the reason.
//!
//! `cargo run --release --example ladder_peer -- reduction [DEVICE]`

use std::io::{BufRead as _, Write as _};

use base::device::DeviceKind;
use compute::config::Config;
use compute::variant::Work;
use ladder::runner::{Ladder, Part};
use ladders::histogram::HISTOGRAM;
use ladders::reduction::REDUCTION;
use opencl::cl::{self, ClContext};
use opencl::process;
use opencl::sources::Sources;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    process::prepare();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["reduction", device @ ..] if device.len() < 2 => serve(&REDUCTION, device.first().copied()),
        ["histogram", device @ ..] if device.len() < 2 => serve(&HISTOGRAM, device.first().copied()),
        _ => Err("usage: ladder_peer reduction|histogram [DEVICE]".into()),
    }
}

/// A ladder on a device, and one of its cases.
struct Peer<'a, L: Ladder> {
    ladder: &'a L,
    cl: ClContext,
    buffers: Option<L::Buffers>,
    ready: Vec<(&'static str, L::Built)>,
}

fn serve<L: Ladder>(ladder: &L, device: Option<&str>) -> Result<(), Failure> {
    let device = cl::select_device(&cl::list_devices(), device)?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    let mut peer = Peer { ladder, cl, buffers: None, ready: Vec::new() };
    for line in std::io::stdin().lock().lines() {
        match answer(&mut peer, &line?) {
            Ok(text) => println!("ok {text}"),
            Err(e) => println!("no {}", e.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    // PoCL may wait for its threads in its exit handlers.
    process::exit_now(0)
}

/// Handles a request: `device` returns its name; `open CASE`, with a case as JSON, the names of variants that are right
/// there, with the peak kernel first; `run NAME WARM` runs WARM times, then once timed: elapsed and device time in ns.
fn answer<L: Ladder>(peer: &mut Peer<L>, line: &str) -> Result<String, Failure> {
    if line == "device" {
        let info = &peer.cl.device.info;
        let driver = if info.kind == DeviceKind::Cpu { "" } else { &format!(", driver {}", info.driver) };
        return Ok(format!("{} ({}{driver})", info.name, info.version.trim()));
    }
    if let Some(case) = line.strip_prefix("open ") {
        let (ladder, cl, case) = (peer.ladder, &peer.cl, serde_json::from_str(case)?);
        let mut buffers = ladder.allocate(Some(cl), &case, 0)?;
        let want = ladder.load(&mut buffers, ladder.info().inputs[0])?.bytes;
        peer.ready = vec![("peak", ladder.build(Part::Peak(cl, 0))?)];
        for variant in ladder.variants() {
            let built = match variant.work {
                Work::Host(host) => ladder.build(Part::Host(host))?,
                Work::Kernels([code, _]) if ladder.supports(&cl.device, Some(code), &case).is_ok() => {
                    let info = &cl.device.info;
                    ladder.build(Part::Kernels(cl, &Config::new(code, info.kind).fit_to_device(info)))?
                }
                _ => continue,
            };
            let wrong: Vec<u8> = want.iter().map(|byte| !byte).collect();
            ladder.write(&built, &mut buffers, &wrong)?;
            ladder.run(&built, &mut buffers)?;
            if ladder.read(&built, &buffers)?.bytes != want {
                return Err(format!("'{}' differs from the reference.", variant.id).into());
            }
            peer.ready.push((variant.id, built));
        }
        peer.buffers = Some(buffers);
        return Ok(peer.ready.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" "));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["run", name, warm] = words.as_slice() else { return Err("This request is not known.".into()) };
    let (_, built) = peer.ready.iter().find(|(known, _)| known == name).ok_or("Nothing is called so.")?;
    let buffers = peer.buffers.as_mut().ok_or("Nothing is open.")?;
    for _ in 0..warm.parse()? {
        peer.ladder.run(built, buffers)?;
    }
    let sample = peer.ladder.run(built, buffers)?;
    Ok(format!("{:.0} {:.0}", sample.wall_ms * 1e6, sample.ms() * 1e6))
}
