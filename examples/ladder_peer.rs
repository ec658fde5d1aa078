//! clreel's side of `./dev peers --ladder NAME`: a process that runs the rungs of a ladder when it is asked to, line by line.
//! In: requests on stdin, see [`answer`]. Out: one line for each on stdout: `ok` and an answer, or `no` and why.
//!
//! `cargo run --release --example ladder_peer -- reduction [DEVICE]`

use std::io::{BufRead as _, Write as _};

use ladder::config::Config;
use ladder::contest::Ladder;
use ladder::rung::Work;
use ladders::histogram::HISTOGRAM;
use ladders::reduction::REDUCTION;
use opencl::cl::{self, ClContext, DeviceKind};
use opencl::process;

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
    room: Option<L::Room>,
    ready: Vec<(&'static str, L::Built)>,
}

fn serve<L: Ladder>(ladder: &L, device: Option<&str>) -> Result<(), Failure> {
    let device = cl::select_device(&cl::list_devices(), device)?;
    let mut peer = Peer { ladder, cl: ClContext::new(&device)?, room: None, ready: Vec::new() };
    for line in std::io::stdin().lock().lines() {
        match answer(&mut peer, &line?) {
            Ok(text) => println!("ok {text}"),
            Err(e) => println!("no {}", e.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    // PoCL's own end of the process may wait for its threads.
    process::exit_now(0)
}

/// The requests: `device` gives its name; `open CASE`, with a case as JSON, the names of what is right there, the limit first;
/// `run NAME WARM` runs WARM times, then once by the clock: wall and device time in ns.
fn answer<L: Ladder>(peer: &mut Peer<L>, line: &str) -> Result<String, Failure> {
    if line == "device" {
        let info = &peer.cl.device.info;
        let driver = if info.kind == DeviceKind::Cpu { "" } else { &format!(", driver {}", info.driver) };
        return Ok(format!("{} ({}{driver})", info.name, info.version.trim()));
    }
    if let Some(case) = line.strip_prefix("open ") {
        let case = peer.ladder.case(&serde_json::from_str(case)?).ok_or("This is no case of the ladder.")?;
        return peer.open(&case);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["run", name, warm] = words.as_slice() else { return Err("This request is not known.".into()) };
    let (_, built) = peer.ready.iter().find(|(known, _)| known == name).ok_or("Nothing is called so.")?;
    let room = peer.room.as_mut().ok_or("Nothing is open.")?;
    for _ in 0..warm.parse()? {
        peer.ladder.run(built, room)?;
    }
    let sample = peer.ladder.run(built, room)?;
    Ok(format!("{:.0} {:.0}", sample.wall_ms * 1e6, sample.ms() * 1e6))
}

impl<L: Ladder> Peer<'_, L> {
    fn open(&mut self, case: &L::Case) -> Result<String, Failure> {
        let (ladder, cl) = (self.ladder, &self.cl);
        let mut room = ladder.room(Some(cl), case, 0)?;
        let want = ladder.load(&mut room, L::INPUTS[0])?;
        self.ready = vec![("limit", ladder.compile_limit(cl)?)];
        for rung in ladder.rungs() {
            let built = match rung.work {
                Work::Host(host) => ladder.host(host),
                Work::Kernels(code) if ladder.takes(cl, code, case).is_ok() => {
                    let info = &cl.device.info;
                    ladder.compile(cl, &Config::of(code, info.kind).fitted(info))?
                }
                Work::Kernels(_) | Work::Fastest => continue,
            };
            let wrong: Vec<u8> = want.iter().map(|byte| !byte).collect();
            ladder.write(&built, &mut room, &wrong)?;
            ladder.run(&built, &mut room)?;
            if ladder.read(&built, &room)? != want {
                return Err(format!("'{}' differs from the reference.", rung.id).into());
            }
            self.ready.push((rung.id, built));
        }
        self.room = Some(room);
        Ok(self.ready.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" "))
    }
}
