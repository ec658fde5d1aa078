//! The benefit of caching program binaries for a start, in addition to the driver's own cache. Prints a Markdown table.
//!
//! `cargo run --release --example program_binaries -- [--device SEL] [--rounds N]`
//!
//! Each start is a process of its own, which builds the box filter's variants one after the other and launches each once,
//! as the window does. The kinds of start take turns. Caches lie in a folder of this program, if the driver's cache can be
//! configured: those of PoCL, NVIDIA, Intel and Mesa can.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use base::timing::{Series, ms_since};
use box_filter::{BuiltVariant, VariantId};
use clap::Parser;
use opencl::cl::{self, ClContext};
use opencl::process;
use opencl::sources::Sources;

type Failure = Box<dyn std::error::Error>;

/// The variants that are built at each start.
const VARIANTS: [VariantId; 6] = [
    VariantId::Naive,
    VariantId::Separable,
    VariantId::Flat,
    VariantId::Vectorized,
    VariantId::RunningSum,
    VariantId::Fused,
];
/// Environment variables for the folders of drivers' caches.
const DRIVER_CACHES: [&str; 4] =
    ["POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "MESA_SHADER_CACHE_DIR"];

/// Starts with and without binaries, timed in turn.
#[derive(Parser)]
struct Arguments {
    /// Index, part of a name, cpu or gpu.
    #[arg(long)]
    device: Option<String>,
    /// Starts of each kind.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Build once and print the milliseconds: for the program itself.
    #[arg(long, hide = true)]
    once: bool,
}

/// A kind of start.
struct Kind {
    name: &'static str,
    binaries: Binaries,
    /// The driver's cache of an earlier start exists.
    warm: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Binaries {
    /// None are cached.
    None,
    /// They are cached for the next start.
    New,
    /// Those of an earlier start exist.
    Kept,
}

const KINDS: [Kind; 5] = [
    Kind { name: "compiled, the driver's cache empty", binaries: Binaries::None, warm: false },
    Kind { name: "compiled and kept, the driver's cache empty", binaries: Binaries::New, warm: false },
    Kind { name: "binaries, the driver's cache empty", binaries: Binaries::Kept, warm: false },
    Kind { name: "compiled, the driver's cache filled", binaries: Binaries::None, warm: true },
    Kind { name: "binaries, the driver's cache filled", binaries: Binaries::Kept, warm: true },
];

fn main() -> Result<(), Failure> {
    process::prepare();
    let arguments = Arguments::parse();
    let device = cl::select_device(&cl::list_devices(), arguments.device.as_deref())?;
    if arguments.once {
        let cl = ClContext::new(&device, Sources::from_environment())?;
        let began = Instant::now();
        for id in VARIANTS {
            BuiltVariant::build(&cl, id)?;
        }
        println!("{}", ms_since(began));
        process::exit_now(0);
    }
    let folder = std::env::temp_dir().join(format!("clreel-program-binaries-{}", std::process::id()));
    let measured = measure(&folder, &arguments);
    std::fs::remove_dir_all(&folder)?;
    let info = &device.info;
    println!("{} ({}, driver {}), {} variants", info.name, info.version, info.driver, VARIANTS.len());
    println!("\n| {} starts each | ms | least | of the first |\n|---|---|---|---|", arguments.rounds);
    let measured = measured?;
    let median = |times: &[f64]| Series::of(times).map_or(f64::NAN, |series| series.p50);
    let first = median(&measured[0]);
    for (kind, times) in KINDS.iter().zip(&measured) {
        let (p50, least) = (median(times), times.iter().copied().fold(f64::INFINITY, f64::min));
        println!("| {} | {p50:.0} | {least:.0} | {:.3} |", kind.name, p50 / first);
    }
    process::exit_now(0);
}

/// Returns the milliseconds of each start of each kind.
fn measure(folder: &Path, arguments: &Arguments) -> Result<Vec<Vec<f64>>, Failure> {
    let (ours, kept) = (folder.join("ours"), folder.join("driver"));
    // Caches of an earlier run.
    start(arguments, Binaries::New, &ours, &kept)?;
    start(arguments, Binaries::None, &ours, &kept)?;
    let mut measured = vec![Vec::new(); KINDS.len()];
    for round in 0..arguments.rounds {
        for position in 0..KINDS.len() {
            let at = (position + round) % KINDS.len();
            let empty: PathBuf = folder.join(format!("driver-{round}-{at}"));
            let (binaries, driver) = (KINDS[at].binaries, if KINDS[at].warm { &kept } else { &empty });
            let new = folder.join(format!("ours-{round}-{at}"));
            let place = if binaries == Binaries::New { &new } else { &ours };
            measured[at].push(start(arguments, binaries, place, driver)?);
        }
    }
    Ok(measured)
}

fn start(arguments: &Arguments, binaries: Binaries, ours: &Path, driver: &Path) -> Result<f64, Failure> {
    std::fs::create_dir_all(driver)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--once").env("CLREEL_BINARIES", if binaries == Binaries::None { "0" } else { "1" });
    command.env("XDG_CACHE_HOME", ours).env_remove("CLREEL_KERNELS");
    command.envs(DRIVER_CACHES.map(|name| (name, driver)));
    if let Some(device) = &arguments.device {
        command.args(["--device", device]);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
