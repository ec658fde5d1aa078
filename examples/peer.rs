//! clreel's side of `tests/peers`: a process that filters frames on request. Requests are lines on stdin, see
//! [`answer`]; each gets a line on stdout.
//!
//! `cargo run --release --example peer -- serve [DEVICE]`, or `-- frames FILE WIDTH HEIGHT COUNT`, which writes COUNT
//! frames of the bundled clip and one of noise, as RGBA.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use base::device::DeviceKind;
use base::timing::ms_since;
use box_filter::VariantId;
use box_filter::native::{Input, Lanes, Threads};
use box_filter::pictures::noise;
use box_filter::reference::reference;
use box_filter::{BuiltVariant, Extent, Plan, Scratch};
use compute::BackEnd;
use compute::sample::sample;
use opencl::cl::{self, ClContext};
use opencl::memory::{Picture, Storage};
use opencl::process;
use opencl::sources::Sources;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    process::prepare();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["frames", file, width, height, count] => {
            let (width, height) = (width.parse()?, height.parse()?);
            let (clip, size) = (video::bundled_clip()?, Some((width, height)));
            let clip = video::read_frames_rgba(&clip, count.parse()?, size, video::References::Refused)?;
            let noise = noise(width as usize * height as usize * 4);
            Ok(fs::write(file, [clip.frames.concat(), noise].concat())?)
        }
        ["serve"] => serve(None),
        ["serve", device] => serve(Some(device)),
        _ => Err("usage: peer serve [DEVICE] | peer frames FILE WIDTH HEIGHT COUNT".into()),
    }
}

fn serve(device: Option<&str>) -> Result<(), Failure> {
    // Without a device every answer has the reason.
    let mut peer = Peer::new(device);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match peer.as_mut().map(|peer| answer(peer, &words)) {
            Ok(Ok(text)) => println!("ok {text}"),
            Ok(Err(e)) => println!("no {}", e.to_string().replace('\n', " ")),
            Err(e) => println!("no {}", e.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    // PoCL may wait for its threads in its exit handlers.
    process::exit_now(0)
}

/// Handles a request: `device` returns its name; `open FILE WIDTH HEIGHT` the names of variants; `prepare NAME RADIUS`
/// the expected time of one run in ms, and a note; `write NAME RADIUS FRAME FILE` filters once and writes the result
/// (`reference` is a name, too); `compare FILE FILE` returns the largest difference, how many bytes differ, and how
/// many there are; `run NAME RADIUS FRAME WARM` filters WARM times, then once timed: elapsed and device time in ns.
fn answer(peer: &mut Peer, words: &[&str]) -> Result<String, Failure> {
    match words {
        ["device"] => {
            let info = &peer.cl.device.info;
            let driver = if info.kind == DeviceKind::Cpu { "" } else { &format!(", driver {}", info.driver) };
            Ok(format!("{} ({}{driver})", info.name, info.version.trim()))
        }
        ["open", file, width, height] => peer.open(file, width.parse()?, height.parse()?),
        ["prepare", name, radius] => peer.prepare(name, radius.parse()?),
        ["write", name, radius, frame, file] => {
            fs::write(file, peer.filter_frame(name, radius.parse()?, frame.parse()?)?)?;
            Ok(String::new())
        }
        ["compare", got, want] => {
            let (got, want) = (fs::read(got)?, fs::read(want)?);
            if got.len() != want.len() {
                return Err("The pictures are not of one size.".into());
            }
            let differences = || got.iter().zip(&want).map(|(a, b)| a.abs_diff(*b)).filter(|d| *d > 0);
            Ok(format!("{} {} {}", differences().max().unwrap_or(0), differences().count(), got.len()))
        }
        ["run", name, radius, frame, warm] => {
            let (radius, frame) = (radius.parse()?, frame.parse()?);
            for _ in 0..warm.parse()? {
                peer.run(name, radius, frame)?;
            }
            let (wall_ms, device_ms) = peer.run(name, radius, frame)?;
            Ok(format!("{:.0} {:.0}", wall_ms * 1e6, device_ms * 1e6))
        }
        _ => Err("This request is not known.".into()),
    }
}

/// Frames on the host and on the device, and the built variants.
struct Peer {
    cl: ClContext,
    threads: usize,
    size: (u32, u32),
    frames: Vec<Arc<[u8]>>,
    out: Vec<u8>,
    buffers: Option<(Picture, Picture)>,
    images: Option<(Picture, Picture)>,
    /// The frame in the buffers, and the one in the images.
    resident: [Option<usize>; 2],
    scratch: Scratch,
    built: HashMap<VariantId, BuiltVariant>,
    plans: HashMap<(VariantId, u32), (Plan, Storage)>,
    copy: Option<Copy>,
}

impl Peer {
    fn new(device: Option<&str>) -> Result<Self, Failure> {
        let device = cl::select_device(&cl::list_devices(), device)?;
        eprintln!("peer: {} ({}, {})", device.info.name, device.info.platform, device.info.version);
        let cl = ClContext::new(&device, Sources::from_environment())?;
        Ok(Self {
            threads: std::thread::available_parallelism().map_or(1, NonZero::get),
            size: (0, 0),
            frames: Vec::new(),
            out: Vec::new(),
            buffers: None,
            images: None,
            resident: [None; 2],
            scratch: Scratch::new(&cl),
            cl,
            built: HashMap::new(),
            plans: HashMap::new(),
            copy: None,
        })
    }

    fn open(&mut self, file: &str, width: u32, height: u32) -> Result<String, Failure> {
        let bytes = width as usize * height as usize * 4;
        self.plans.clear();
        self.resident = [None; 2];
        self.size = (width, height);
        self.frames = fs::read(file)?.chunks_exact(bytes).map(Arc::from).collect();
        if self.frames.is_empty() {
            return Err("The file holds no frame of this size.".into());
        }
        self.out = vec![0; bytes];
        let alloc = |storage| Picture::alloc(&self.cl, storage, width, height);
        self.buffers = Some((alloc(Storage::Buffer)?, alloc(Storage::Buffer)?));
        self.images = None;
        if self.cl.device.info.image_support {
            self.images = Some((alloc(Storage::Image)?, alloc(Storage::Image)?));
        }
        let mut names: Vec<&str> = VariantId::all()
            .filter(|id| !id.reads_planes() && id.code(DeviceKind::Cpu).is_some())
            .map(|id| id.name)
            .collect();
        if self.cl.is_cpu() {
            self.copy = Some(Copy::new(self.threads, bytes));
            names.extend(["native", "memcpy"]);
        } else {
            names.push("copy");
        }
        Ok(names.join(" "))
    }

    fn pair(&self, storage: Storage) -> Result<&(Picture, Picture), Failure> {
        let pair = if storage == Storage::Image { &self.images } else { &self.buffers };
        pair.as_ref().ok_or_else(|| "The device has no images, or nothing was opened.".into())
    }

    fn prepare(&mut self, name: &str, radius: u32) -> Result<String, Failure> {
        let id = match name {
            "native" | "memcpy" | "copy" => {
                self.run(name, radius, 0)?;
                let (ms, _) = self.run(name, radius, 0)?;
                let note = if name == "copy" { String::new() } else { format!("{} threads", self.threads) };
                return Ok(format!("{ms} {note}"));
            }
            name => name.parse::<VariantId>()?,
        };
        if !self.built.contains_key(&id) {
            self.built.insert(id, BuiltVariant::build(&self.cl, id)?);
        }
        let (variant, (width, height)) = (&self.built[&id], self.size);
        id.supports(&self.cl.device.info, width, height)?;
        let storage = variant.input;
        let (source, target) = self.pair(storage)?.clone();
        let plan =
            variant.plan((&[&source], &target), &mut self.scratch, Extent::rgba((width, height), radius))?;
        let ms = plan.predict_above(&self.cl.queue, 0.0)?;
        let note = if id.is_auto() { plan.description() } else { String::new() };
        self.plans.insert((id, radius), (plan, storage));
        Ok(format!("{ms} {note}"))
    }

    /// Runs once on a frame that is already in the filter's input; the transfer is not timed. Returns elapsed and
    /// device time in ms.
    fn run(&mut self, name: &str, radius: u32, frame: usize) -> Result<(f64, f64), Failure> {
        let pixels = self.frames.get(frame).ok_or("There is no such frame.")?;
        let (width, height) = self.size;
        match name {
            "memcpy" => {
                let ms = self.copy.as_mut().ok_or("Nothing was opened.")?.run(pixels)?;
                Ok((ms, ms))
            }
            "copy" => {
                let (Picture::Buffer(from), Picture::Buffer(to)) = self.pair(Storage::Buffer)? else {
                    return Err("There are no buffers.".into());
                };
                let failed = |e| cl::failed("A picture could not be copied on the device.", &e);
                let sample =
                    sample(&self.cl.queue, |queue| Ok(vec![from.enqueue_copy(queue, to).map_err(failed)?]))?;
                Ok((sample.wall_ms, sample.ms()))
            }
            "native" => {
                let threads = Threads { count: self.threads, lanes: Lanes::Vector };
                let begin = Instant::now();
                Input { pixels, size: (width, height), radius }.filter(&mut self.out, threads)?;
                let ms = ms_since(begin);
                Ok((ms, ms))
            }
            name => {
                let id: VariantId = name.parse()?;
                let (plan, storage) = self.plans.get(&(id, radius)).ok_or("It was not prepared.")?;
                if self.resident[*storage as usize] != Some(frame) {
                    self.pair(*storage)?.0.write(&self.cl.queue, pixels)?;
                }
                let sample = sample(&self.cl.queue, |queue| plan.enqueue_all(queue))?;
                self.resident[*storage as usize] = Some(frame);
                Ok((sample.wall_ms, sample.ms()))
            }
        }
    }

    fn filter_frame(&mut self, name: &str, radius: u32, frame: usize) -> Result<Vec<u8>, Failure> {
        if name == "reference" {
            let pixels = self.frames.get(frame).ok_or("There is no such frame.")?;
            return Ok(reference(pixels, self.size.0 as usize, self.size.1 as usize, radius as usize));
        }
        // Clear the output, so that an earlier result cannot pass for a new one.
        self.out.fill(0x5a);
        let id = name.parse::<VariantId>().ok().filter(|id| id.back_end() != BackEnd::Native);
        let plan = id.map(|id| self.plans.get(&(id, radius)).ok_or("It was not prepared.")).transpose()?;
        let storage = plan.map(|(_, storage)| *storage);
        if let Some(storage) = storage {
            self.pair(storage)?.1.write(&self.cl.queue, &self.out)?;
        }
        self.run(name, radius, frame)?;
        if let Some(storage) = storage {
            self.pair(storage)?.1.clone().read(&self.cl.queue, &mut self.out)?;
        }
        Ok(self.out.clone())
    }
}

/// A plain copy of a frame, with a part for each thread: the limit of the memory. The threads sleep between runs,
/// and start together, so that waking them is not timed. The calling thread copies the first part.
struct Copy {
    go: Vec<Sender<Arc<[u8]>>>,
    gate: Arc<Gate>,
    own: Vec<u8>,
}

/// The progress of the threads, counted over all runs.
#[derive(Default)]
struct Gate {
    here: AtomicUsize,
    open: AtomicUsize,
    done: AtomicUsize,
}

impl Copy {
    fn new(threads: usize, bytes: usize) -> Self {
        let (gate, part) = (Arc::new(Gate::default()), bytes.div_ceil(threads).max(1));
        // Starts a thread that copies a part of each frame that it receives.
        let start = |n: usize| {
            let (from, to) = (n * part, bytes.min((n + 1) * part));
            let mut target = vec![0u8; to - from];
            let (gate, (sender, receiver)) = (gate.clone(), channel::<Arc<[u8]>>());
            std::thread::spawn(move || {
                for (turn, frame) in (1..).zip(receiver) {
                    gate.here.fetch_add(1, Ordering::SeqCst);
                    wait(&gate.open, turn);
                    target.copy_from_slice(&frame[from..to]);
                    std::hint::black_box(&mut target);
                    gate.done.fetch_add(1, Ordering::SeqCst);
                }
            });
            sender
        };
        let go = (1..bytes.div_ceil(part)).map(start).collect();
        Self { go, gate, own: vec![0; part.min(bytes)] }
    }

    fn run(&mut self, frame: &Arc<[u8]>) -> Result<f64, Failure> {
        let turn = self.gate.open.load(Ordering::SeqCst) + 1;
        self.go.iter().try_for_each(|go| go.send(frame.clone()))?;
        wait(&self.gate.here, turn * self.go.len());
        let begin = Instant::now();
        self.gate.open.store(turn, Ordering::SeqCst);
        let length = self.own.len();
        self.own.copy_from_slice(&frame[..length]);
        std::hint::black_box(&mut self.own);
        wait(&self.gate.done, turn * self.go.len());
        Ok(ms_since(begin))
    }
}

/// Spins until the counter reaches `there`, yielding to other threads.
fn wait(counter: &AtomicUsize, there: usize) {
    let mut spins = 0u32;
    while counter.load(Ordering::SeqCst) < there {
        spins += 1;
        if spins.is_multiple_of(4096) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}
