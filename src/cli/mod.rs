//! The command line: clap definitions, and one module for each subcommand.
//!
//! Results go to stdout, everything else to stderr.

pub mod bench;
mod check_kernels;
mod conformance;
pub mod devices;
mod frames;
pub mod given;
mod ladders;
pub(crate) mod live;
mod mistyped;
pub mod snapshot;
pub mod tune;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};

use crate::options::{
    DeviceTimeoutArgs, FilterArgs, PlayArgs, ReferencesArgs, SceneId, SizeArgs, TraceArgs, TrialArgs,
    WipeArgs, values,
};
use crate::probe;
use base::environment;
use base::error::Result;
use base::exit;
use base::leftovers;
use base::save;
use base::timing::log;
use box_filter::yuv_to_rgba::Which;
use box_filter::{Group, VariantId};
use engine::stats::{TraceContext, write_trace};
use opencl::cl::{Device, Listing, list, list_devices};
use opencl::{binaries, crash, drivers, process, trial, watch};

use given::Given;

pub use conformance::ConformanceArgs;
pub use ladders::{LadderName, Tried};

/// Commands to begin with; the keys are those of the ladder's first and last step.
fn examples() -> String {
    let steps = VariantId::ALL.into_iter().filter(|id| matches!(id.rung().group, Group::Steps));
    let keys: Vec<char> = steps.map(VariantId::key).collect();
    let (first, last) = (keys.first().unwrap_or(&'1'), keys.last().unwrap_or(&'1'));
    format!(
        "Examples:
  clreel movie.mp4                        play it; {first} to {last} choose a kernel, - and = its radius
  clreel bench --radius 3,7,31            time every kernel on the bundled clip
  clreel snapshot movie.mp4 --at 12.5 --variant naive --out frame.png
  clreel devices                          list the OpenCL devices"
    )
}

/// Examples, and the keys that matter most.
fn after_help() -> String {
    let keys = |steps: bool| {
        let is_step = |id: &VariantId| matches!(id.rung().group, Group::Off | Group::Steps);
        let rungs = VariantId::ALL.into_iter().filter(|id| is_step(id) == steps);
        rungs.map(|id| format!("{} {id},", id.key())).collect::<Vec<_>>().join(" ")
    };
    let others = "- = radius, Space pause, i overlay, q quit.";
    format!("{}\n\nIn the window: {}\n{} {others}", examples(), keys(true), keys(false))
}

/// The command line: a subcommand, or the window.
#[derive(Debug, Parser)]
#[command(
    name = "clreel",
    version,
    about = "Plays a movie through hand-written OpenCL kernels and shows what each optimisation is worth, live.",
    after_help = after_help(),
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// The subcommand; without one the window opens.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What the window plays, and how.
    #[command(flatten)]
    pub play: PlayArgs,
    /// Leave out OpenCL platforms or drivers with this in their name, in any case; may be given several times
    #[arg(long, global = true, value_name = "NAME")]
    pub skip_platform: Vec<String>,
}

/// What clreel does besides the window.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check every variant against the reference, then time it
    Bench(BenchArgs),
    /// Find the fastest variant and its parameters on a device, for `auto`
    Tune(TuneArgs),
    /// Write one filtered frame as a PNG; needs no display
    Snapshot(SnapshotArgs),
    /// Check the conversions of OpenCL C on a device against whole-number arithmetic
    Conformance(ConformanceArgs),
    /// Find races and bad accesses of kernels, where Oclgrind is installed
    CheckKernels(CheckKernelsArgs),
    /// List the OpenCL devices, and the drivers that fail
    Devices(DevicesArgs),
    /// List the variables of the environment that clreel heeds
    #[command(after_help = environment::help())]
    Environment,
    /// Ask the drivers, in a process that may crash; for clreel itself
    #[command(name = drivers::ASK, hide = true)]
    AskDriver,
    /// Test which devices share textures with OpenGL, in a process that may crash; for clreel itself
    #[command(name = probe::ASK, hide = true)]
    AskSharing {
        /// Which devices
        list: String,
    },
    /// Run a variant's kernels once, under Oclgrind; for clreel itself
    #[command(name = check_kernels::RUN, hide = true)]
    RunKernels {
        /// The variant
        variant: VariantId,
        /// As on a CPU
        #[arg(long)]
        cpu: bool,
        /// The folder of kernels, where it was named by the option
        #[arg(long)]
        kernels: Option<PathBuf>,
    },
    /// Run changed kernels, in a process that may crash; for clreel itself
    #[command(name = trial::TRY, hide = true)]
    TryKernels {
        /// Whose kernels: a ladder's, or those of the conformance test
        #[arg(value_parser = Tried::named)]
        whose: Tried,
        /// The number of the memory that both share
        frame: u32,
    },
}

/// The command line of this process. Ends the process where it makes no sense, or asks for help.
pub fn parse() -> Cli {
    mistyped::refuse(std::env::args_os().skip(1));
    Cli::parse()
}

/// Runs what the command line asks for; returns the exit code. Call it before any thread is started.
///
/// # Errors
/// Any error of the command; [`report`](base::exit::report) turns it into a message and an exit code.
pub fn run(cli: &Cli) -> Result<u8> {
    let trial = match &cli.command {
        None => Some(&cli.play.trial),
        Some(Command::Bench(args)) => Some(&args.trial),
        Some(Command::Tune(args)) => Some(&args.trial),
        Some(Command::Snapshot(args)) => Some(&args.trial),
        Some(_) => None,
    };
    let checked = match &cli.command {
        Some(Command::CheckKernels(args)) => args.kernels.as_deref(),
        Some(Command::RunKernels { kernels, .. }) => kernels.as_deref(),
        _ => None,
    };
    if let Some(folder) = trial.and_then(|trial| trial.kernels.as_deref()).or(checked) {
        process::set_kernels(folder);
    }
    // The link leads to this very program, also when its file was replaced meanwhile.
    drivers::set_program("/proc/self/exe".into());
    if !matches!(
        cli.command,
        Some(Command::AskDriver | Command::AskSharing { .. } | Command::TryKernels { .. })
    ) {
        drivers::guard(&cli.skip_platform);
        if !matches!(cli.command, Some(Command::RunKernels { .. })) {
            crash::install();
        }
        if cli.command.is_some() {
            leftovers::remove_on_signals();
        }
    }
    match &cli.command {
        None => crate::app::run(&cli.play).map(|()| exit::DONE),
        Some(Command::Bench(args)) => {
            watch::end_process_after(args.device_timeout.limit());
            traced(&args.trace, || bench::run(args))
        }
        Some(Command::Tune(args)) => {
            watch::end_process_after(args.device_timeout.limit());
            tune::run(args)
        }
        Some(Command::Snapshot(args)) => {
            watch::end_process_after(args.device_timeout.limit());
            binaries::keep();
            traced(&args.trace, || snapshot::run(args))
        }
        Some(Command::Conformance(args)) => conformance::run(args),
        Some(Command::CheckKernels(args)) => check_kernels::run(args),
        Some(Command::RunKernels { variant, cpu, .. }) => check_kernels::run_kernels(*variant, *cpu),
        Some(Command::Devices(args)) => devices::run(args),
        Some(Command::Environment) => {
            devices::print_line(environment::help())?;
            Ok(exit::DONE)
        }
        Some(Command::AskDriver) => drivers::answer(platforms_and_unusable),
        Some(Command::AskSharing { list }) => probe::answer(list),
        Some(Command::TryKernels { whose, frame }) => whose.answer(*frame),
    }
}

/// Does something, and then writes what ran meanwhile, where that was asked for. A file that cannot be written is told at
/// once, and stops nothing.
fn traced(args: &TraceArgs, work: impl FnOnce() -> Result<u8>) -> Result<u8> {
    let Some(path) = &args.trace else { return work() };
    if let Err(error) = save::can_write(path) {
        eprintln!("clreel: {error}");
    }
    log::start(log::KEPT_EVENTS);
    let done = work();
    let written =
        log::copy().map_or(Ok(()), |recorded| write_trace(path, &recorded, &TraceContext::default()));
    done.and_then(|code| written.map(|()| code))
}

/// Says how a subcommand was used wrongly, and how it is used; returns the exit code.
pub(crate) fn usage(subcommand: &str, why: &str) -> u8 {
    let mut command = Cli::command();
    command.build();
    let command = command.find_subcommand_mut(subcommand);
    // There is nobody to tell that it could not be told.
    let _ = command.map(|command| command.error(ErrorKind::ValueValidation, why).print());
    exit::USAGE
}

/// The platform of each device, and a sentence for each that cannot be used.
fn platforms_and_unusable() -> (Vec<String>, Vec<String>) {
    let Listing { devices, unusable } = list();
    (devices.into_iter().map(|device| device.info.platform).collect(), unusable)
}

/// The devices to choose from; says on stderr which drivers were left out because they failed.
pub(crate) fn working_devices() -> Vec<Device> {
    let devices = list_devices();
    // Without any device the error that follows names the drivers.
    if !devices.is_empty() {
        for failure in drivers::failures() {
            eprintln!("clreel: {failure}");
        }
    }
    devices
}

/// `clreel bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// What of all these was given.
    #[command(flatten)]
    pub given: Given,
    /// The movie whose frames are filtered; without it the bundled clip
    #[arg(value_name = "FILE", value_parser = values::movie())]
    pub file: Option<PathBuf>,
    /// What is computed
    #[arg(long, value_name = "NAME", default_value = "box-filter")]
    pub ladder: LadderName,
    /// The cases of ladders that compute with numbers.
    #[command(flatten)]
    pub sizes: SizeArgs,
    /// What it may open.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// Variants to time, separated by commas, or all
    #[arg(long, value_name = "ID,…", default_value = "all")]
    pub variant: bench::VariantList,
    /// Radii in pixels, separated by commas
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "7", value_parser = values::radius, allow_hyphen_values = true)]
    pub radius: Vec<u32>,
    /// Scale the frames to this size first; the size of a reduction's pictures
    #[arg(long, value_name = "WxH", value_parser = values::size)]
    pub size: Option<(u32, u32)>,
    /// Timed rounds; each round runs every variant once
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = values::count)]
    pub frames: u32,
    /// The OpenCL device: an index from `clreel devices`, a part of a platform's or a device's name, cpu, gpu or all
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// Which conversions to RGBA are checked: all, or those of the movie's own format; these are timed
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub conversions: Which,
    /// End at the first variant or conversion that is wrong or fails; what would come after it is left out
    #[arg(long)]
    pub fail_fast: bool,
    /// Time the filter in Rust too, without OpenCL: on one thread and on all, plain and in vectors
    #[arg(long)]
    pub native: bool,
    /// Time whole frames too, as the window asks for them: upload, conversion, filter and what brings them back
    #[arg(long)]
    pub whole_frames: bool,
    /// How changed kernels are tried.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// How long the device may be waited for.
    #[command(flatten)]
    pub device_timeout: DeviceTimeoutArgs,
    /// Where everything that ran is to be written.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Print JSON instead of a table; each row says what was `checked`, and whether it is `noisy` and why
    #[arg(long)]
    pub json: bool,
    /// Say each step on stdout, and wait for a line on stdin before it; for clreel's window
    #[arg(long, hide = true)]
    pub live: bool,
    /// Draw a chart as well: an SVG with a bar for each variant
    #[arg(long, value_name = "FILE.svg", value_parser = values::svg_file)]
    pub chart: Option<PathBuf>,
}

/// `clreel tune`.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// What of all these was given.
    #[command(flatten)]
    pub given: Given,
    /// What is computed
    #[arg(long, value_name = "NAME", default_value = "box-filter")]
    pub ladder: LadderName,
    /// The cases of ladders that compute with numbers.
    #[command(flatten)]
    pub sizes: SizeArgs,
    /// Radii in pixels, separated by commas; each stands for its range. Without it one for each range
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::radius, allow_hyphen_values = true)]
    pub radius: Vec<u32>,
    /// Sizes of the pictures, separated by commas; each stands for its class. Without it 1280x720
    #[arg(long, value_name = "WxH,…", value_delimiter = ',', value_parser = values::size)]
    pub size: Vec<(u32, u32)>,
    /// The OpenCL device: an index from `clreel devices`, a part of a platform's or a device's name, cpu or gpu
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// How changed kernels are tried.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// How long the device may be waited for.
    #[command(flatten)]
    pub device_timeout: DeviceTimeoutArgs,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `clreel snapshot`.
#[derive(Debug, Clone, Args)]
pub struct SnapshotArgs {
    /// The movie; without it the bundled clip
    #[arg(value_name = "FILE", value_parser = values::movie())]
    pub file: Option<PathBuf>,
    /// Whose picture: movie, card (the test card), or cloth (the movie on a shirt)
    #[arg(long, value_name = "SCENE", value_enum, hide_possible_values = true, default_value_t = SceneId::Movie)]
    pub scene: SceneId,
    /// What it may open.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// The PNG to write: turned as the window shows it, its pixels as stored
    #[arg(long, value_name = "PNG", value_parser = values::png_file)]
    pub out: PathBuf,
    /// Time of the frame: seconds, 1:30 or 1:02:03
    #[arg(long, value_name = "TIME", default_value_t = 0.0, value_parser = values::time, allow_hyphen_values = true)]
    pub at: f64,
    /// Which filter, and where it runs.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Two filters instead of one.
    #[command(flatten)]
    pub wipe: WipeArgs,
    /// How changed kernels are tried.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// How long the device may be waited for.
    #[command(flatten)]
    pub device_timeout: DeviceTimeoutArgs,
    /// Where everything that ran is to be written.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// `clreel check-kernels`.
#[derive(Debug, Clone, Args)]
pub struct CheckKernelsArgs {
    /// Variants to check, separated by commas; without it all that are made of kernels of their own
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub variant: Vec<VariantId>,
    /// A folder of kernel files that take the place of those of the same name
    #[arg(long, value_name = "DIR")]
    pub kernels: Option<PathBuf>,
    /// How long the kernels of a variant may take under Oclgrind; without it 60 s, more on a busy machine
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub kernel_timeout: Option<f64>,
    /// Print the machine code that the first device runs for them instead, at 1280×720 and radius 7
    #[arg(long)]
    pub machine_code: bool,
}

/// `clreel devices`.
#[derive(Debug, Clone, Args)]
pub struct DevicesArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Each of them once, in the order given.
fn each_once<T: PartialEq + Copy>(given: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for &one in given {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}
