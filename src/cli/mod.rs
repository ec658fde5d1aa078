//! The command line: clap definitions, and one module for each subcommand.
//!
//! Results go to stdout, everything else to stderr.

pub mod bench;
mod check_kernels;
mod compare;
mod conformance;
pub mod devices;
mod frames;
mod ladders;
pub(crate) mod live;
mod output;
pub mod snapshot;
mod stack;
mod suggestion;
pub mod tune;

use std::collections::HashSet;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Id, Parser, Subcommand};

use crate::app::player::find_filter;
use crate::options::{
    FILTER, FilterArgs, FolderArgs, PlayArgs, ReferencesArgs, SceneId, SizeArgs, TimeoutArgs, TraceArgs,
    TrialArgs, located, values,
};
use crate::probe;
use ::ladders::yuv_to_rgba::Selection;
use base::cleanup;
use base::environment;
use base::error::{Error, Result};
use base::exit;
use base::save;
use base::stderr::print_message;
use base::stdout;
use base::timing::log;
use box_filter::{Filter, Group, VariantId};
use opencl::cl::{Device, list, list_devices, no_device, select_device};
use opencl::sources::{self, Sources};
use opencl::{crash, drivers, process, program, sandbox, watch};
use stats::write_trace;

pub(crate) use check_kernels::CheckedCode;
pub use compare::CompareArgs;
pub use conformance::ConformanceArgs;
pub use ladders::LadderName;

/// The name and the version of this program, as results name it.
const PROGRAM: &str = concat!("clreel ", env!("CARGO_PKG_VERSION"));

/// Returns examples of commands and the most important keys, for `--help`.
fn after_help() -> String {
    let keys = |steps: bool| {
        let is_step = |id: &VariantId| matches!(id.group, Group::Off | Group::Steps);
        let variants = VariantId::all().filter(|id| is_step(id) == steps);
        variants.map(|id| format!("{} {id},", id.key)).collect::<Vec<_>>().join(" ")
    };
    let mut steps = VariantId::all().filter(|id| matches!(id.group, Group::Steps)).map(|id| id.key);
    let (first, last) = (steps.next().unwrap_or('1'), steps.next_back().unwrap_or('1'));
    format!(
        "Examples:
  clreel movie.mp4                        play it; {first} to {last} select a kernel, - and = its radius
  clreel bench --radius 3,7,31            time every kernel on the bundled clip
  clreel snapshot movie.mp4 --at 12.5 --variant naive --out frame.png
  clreel devices                          list the OpenCL devices

In the window: {}
{} - = radius, Space pause, i overlay, q quit.",
        keys(true),
        keys(false)
    )
}

/// The command line: a subcommand, or the options of the window.
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
    /// The options of the window.
    #[command(flatten)]
    pub play: PlayArgs,
    /// Ignore OpenCL platforms and drivers whose name contains NAME, in upper or lower case; repeatable
    #[arg(long, global = true, value_name = "NAME")]
    pub skip_platform: Vec<String>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check every variant against the reference, then time it
    Bench(BenchArgs),
    /// Find the fastest variant and parameters on a device, for `auto` and the filters of folders
    Tune(TuneArgs),
    /// Write one filtered frame as a PNG; needs no display
    Snapshot(SnapshotArgs),
    /// Compare saved results of `bench` or `conformance`: what is faster, what is slower, what broke
    Compare(CompareArgs),
    /// Check the type conversions of OpenCL C, or with --sharing the objects that OpenCL and OpenGL share
    Conformance(ConformanceArgs),
    /// Detect data races and out-of-bounds accesses of kernels (requires Oclgrind)
    CheckKernels(CheckKernelsArgs),
    /// List the OpenCL devices and the drivers that fail
    Devices {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// List the environment variables that clreel reads
    #[command(after_help = environment::HELP)]
    Environment,
    /// Query the drivers in a process that may crash (internal)
    #[command(name = drivers::ASK_SUBCOMMAND, hide = true)]
    AskDriver,
    /// Test texture sharing with OpenGL in a process that may crash (internal)
    #[command(name = probe::SUBCOMMAND, hide = true)]
    AskSharing {
        /// The devices or cases to test, as JSON
        work: String,
    },
    /// Run a variant's kernels once, under Oclgrind (internal)
    #[command(name = check_kernels::RUN_SUBCOMMAND, hide = true)]
    RunKernels {
        /// The variant
        variant: VariantId,
        /// Run the code for CPUs
        #[arg(long)]
        cpu: bool,
        /// Run the kernels on pictures of a single pixel, so that Oclgrind reports each access
        #[arg(long)]
        accesses: bool,
        /// Folder of modified kernels
        #[arg(long)]
        kernels: Option<PathBuf>,
    },
    /// Count what a variant's kernels read and write in each case (internal)
    #[command(name = check_kernels::COUNT_SUBCOMMAND, hide = true)]
    CountKernels {
        /// The ladder
        ladder: LadderName,
        /// The variant
        variant: String,
        /// The cases in JSON
        cases: Vec<String>,
        /// Run the code for CPUs
        #[arg(long)]
        cpu: bool,
        /// Run the kernels in this process, which Oclgrind has started
        #[arg(long)]
        run: bool,
    },
    /// Run modified kernels in a process that may crash (internal)
    #[command(name = sandbox::TRY_SUBCOMMAND, hide = true)]
    TryKernels {
        /// Name of the programs to build or run: a ladder, or another name that `ladders::serve` knows
        target: String,
        /// File descriptor of the shared memory
        frame: u32,
    },
}

/// Parses the command line of this process. Exits on `--help`, `--version` and usage errors.
pub fn parse() -> Cli {
    // Before clap keeps the default of `--variant`.
    select_filter();
    suggestion::exit_if_mistyped();
    let matches = Cli::command().get_matches();
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Some(Command::Bench(BenchArgs { ladder, .. }) | Command::Tune(TuneArgs { ladder, .. })) =
        &mut cli.command
        && let Some((_, options)) = matches.subcommand()
    {
        let is_explicit = |id: &&str| options.value_source(id) == Some(ValueSource::CommandLine);
        ladder.explicit = options.ids().map(Id::as_str).filter(is_explicit).map(str::to_owned).collect();
    }
    cli
}

/// Reads the folder that `--filter` or the environment names, so that the names of its variants are known when the
/// command line is parsed. An error is found again when the folder is used.
fn select_filter() {
    let mut arguments = std::env::args_os().skip(1);
    let option = format!("--{FILTER}");
    let folder = std::iter::from_fn(|| {
        let argument = arguments.next()?;
        let value = argument.to_str().and_then(|text| text.strip_prefix(&option)?.strip_prefix('='));
        Some(match value {
            Some(folder) => Some(folder.into()),
            None => (argument == option.as_str()).then(|| arguments.next()).flatten(),
        })
    });
    // Child processes get the folder by the environment.
    let asked = folder.flatten().last().map(PathBuf::from);
    let named = asked.clone().or_else(sources::named_filter);
    if let Some(folder) = &named.map(located) {
        process::set_filter(folder);
        match filter_of(folder) {
            Ok(filter) => Filter::select(Some(filter)),
            // The window opens without it, and with it once it is mended; nothing else can go on.
            Err(error) => {
                let is_window = std::env::args_os().nth(1).is_none_or(|first| {
                    Cli::command().get_subcommands().all(|command| first != command.get_name())
                });
                let names_variant = |argument: std::ffi::OsString| {
                    argument.to_str().is_some_and(|argument| argument.split('=').next() == Some("--variant"))
                };
                if asked.is_some() && (!is_window || std::env::args_os().any(names_variant)) {
                    std::process::exit(exit::report(Err(error)).into());
                }
            }
        }
    }
}

/// Returns the filter of a folder.
///
/// # Errors
/// If the folder has no filter, or its description is wrong.
fn filter_of(folder: &Path) -> Result<&'static Filter> {
    let unreadable = |e: std::io::Error| {
        let what = format!("The filter in {} cannot be read.", base::text::name(folder));
        let known = folder.to_str().and_then(|name| find_filter(name).err()).unwrap_or_default();
        let hint = match known.as_slice() {
            [] => "Name the folder of a filter: --filter DIR.".to_owned(),
            known => format!("Name a folder, or one of {}.", known.join(", ")),
        };
        Error::new(what, format!("{e}."), hint)
    };
    std::fs::read_dir(folder).map_err(unreadable)?;
    let read = Filter::of(&Sources::read(folder)?);
    let none = || {
        let what = format!("There is no filter in {}.", base::text::name(folder));
        let hint = "Name another folder; docs/filters.md explains the format.";
        Err(Error::new(what, "A filter is a folder with a filter.toml.", hint))
    };
    read.into_iter().next().map_or_else(none, |(_, filter)| filter)
}

/// Runs the command; returns the exit code. Must be called before any thread is started, since it sets environment
/// variables.
///
/// # Errors
/// Any error of the command; [`report`](base::exit::report) turns it into a message and an exit code.
pub fn run(cli: &Cli) -> Result<u8> {
    let command = cli.command.as_ref();
    let of = |trial: &TrialArgs| (trial.kernels.clone(), Some(trial.timeouts));
    let (kernels, timeouts) = match command {
        None => of(&cli.play.trial),
        Some(Command::Bench(args)) => (args.kernels.first().cloned(), Some(args.timeouts)),
        Some(Command::Tune(args)) => of(&args.trial),
        Some(Command::Snapshot(args)) => of(&args.trial),
        Some(Command::CheckKernels(args)) => (args.kernels.clone(), None),
        Some(Command::RunKernels { kernels, .. }) => (kernels.clone(), None),
        Some(_) => (None, None),
    };
    if let Some(folder) = &kernels {
        process::set_kernels(folder);
    }
    if command.is_none() && Filter::selected().is_some() {
        let FilterArgs { folder, variant, radius, .. } = &cli.play.filter;
        if let Err(why) = folder.settings(*variant, *radius) {
            usage("", &why);
        }
    }
    let runs_kernels = matches!(command, Some(Command::Bench(_) | Command::Tune(_) | Command::Snapshot(_)));
    let is_under_oclgrind =
        matches!(command, Some(Command::RunKernels { .. } | Command::CountKernels { .. }));
    let is_child =
        matches!(command, Some(Command::AskDriver | Command::AskSharing { .. } | Command::TryKernels { .. }));
    let separated = match command {
        None => stdout::capture(),
        // The standard output of these commands is a pipe to another process of clreel, which expects the text that drivers
        // print.
        Some(_) if is_child || is_under_oclgrind => Ok(()),
        Some(_) => stdout::separate(std::io::stderr()),
    };
    separated.map_err(|e| Error::new("The standard output cannot be used.", format!("{e}."), ""))?;
    if (runs_kernels || matches!(command, Some(Command::CheckKernels(_))))
        && let Some(folder) = sources::named_folder()
    {
        // If the folder cannot be read, the command ends here: otherwise each variant would fail with this error, some after
        // minutes of measurement. The window waits for the folder instead.
        Sources::read(&folder)?;
    }
    // The link leads to the running program even if its file has been replaced.
    sandbox::set_program("/proc/self/exe".into());
    // A comparison needs no driver.
    if !is_child && !matches!(command, Some(Command::Compare(_))) {
        drivers::test_before_loading(&cli.skip_platform);
        if !is_under_oclgrind {
            crash::install();
        }
        if command.is_some() {
            cleanup::install_signal_handlers();
            if let Some(timeouts) = timeouts {
                watch::end_process_after(timeouts.device_timeout);
            }
        }
    }
    if runs_kernels {
        program::print_warnings();
    }
    match command {
        None => crate::app::run(&cli.play).map(|()| exit::DONE),
        Some(Command::Bench(args)) => traced(&args.trace, || bench::run(args)),
        Some(Command::Tune(args)) => args.ladder.ladder.tune(args),
        Some(Command::Snapshot(args)) => traced(&args.trace, || snapshot::run(args)),
        Some(Command::Compare(args)) => compare::run(args),
        Some(Command::Conformance(args)) => conformance::run(args),
        Some(Command::CheckKernels(args)) => check_kernels::run(args),
        Some(Command::RunKernels { variant, cpu, accesses, .. }) => {
            check_kernels::run_kernels(*variant, *cpu, *accesses)
        }
        Some(Command::CountKernels { ladder, variant, cases, cpu, run: true }) => {
            ladder.run_cases(variant, *cpu, cases)
        }
        Some(Command::CountKernels { ladder, variant, cases, cpu, run: false }) => {
            check_kernels::count::run(&values::name_of(ladder), variant, *cpu, cases)
        }
        Some(Command::Devices { json }) => devices::run(*json),
        Some(Command::Environment) => output::print_line(environment::HELP).map(|()| exit::DONE),
        Some(Command::AskDriver) => drivers::run_child(|| {
            let (devices, unusable) = list();
            (devices.into_iter().map(|device| device.info.platform).collect(), unusable)
        }),
        Some(Command::AskSharing { work }) => probe::run_child(work),
        Some(Command::TryKernels { target, frame }) => ladders::serve(target, *frame),
    }
}

/// Runs `work` and then writes the trace, if one was requested. A file that cannot be written is reported before the work
/// starts, but does not prevent it.
fn traced(args: &TraceArgs, work: impl FnOnce() -> Result<u8>) -> Result<u8> {
    let Some(path) = &args.trace else { return work() };
    if let Err(error) = save::can_write(path) {
        print_message(&error);
    }
    log::start(log::KEPT_EVENTS);
    let done = work();
    let written = log::copy().map_or(Ok(()), |recorded| write_trace(path, &recorded, None));
    done.and_then(|code| written.map(|()| code))
}

/// Prints a usage error of `subcommand` with the message `why`, and exits.
pub(crate) fn usage(subcommand: &str, why: &str) -> ! {
    let mut command = Cli::command();
    command.build();
    let mut command = command.find_subcommand(subcommand).cloned().unwrap_or(command);
    // Without this call, the exit handler would blame a driver for this exit.
    base::exit::report(Ok(exit::USAGE));
    command.error(ErrorKind::ValueValidation, why).exit()
}

/// Returns the usable devices, and prints to stderr which drivers failed.
pub(crate) fn working_devices() -> Vec<Device> {
    let devices = list_devices();
    // Without devices, the error that follows names the drivers.
    if !devices.is_empty() {
        for failure in drivers::failures() {
            print_message(&failure);
        }
    }
    devices
}

/// Options that select a ladder and its cases.
#[derive(Debug, Clone, Args)]
pub struct LadderArgs {
    /// The ids of the options that the user set on the command line. An option that the ladder does not use is an error even if
    /// its value is the default.
    #[arg(skip)]
    explicit: Vec<String>,
    /// Ladder: a computation and its variants
    #[arg(long, value_name = "NAME", default_value = "box-filter")]
    pub ladder: LadderName,
    /// The options that select the cases of the ladders other than the box filter.
    #[command(flatten)]
    pub sizes: SizeArgs,
}

/// Options of `clreel bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Movie whose frames are filtered [default: the bundled clip]
    #[arg(value_name = "FILE", value_parser = values::movie())]
    pub file: Option<PathBuf>,
    /// The options that select the ladder and its cases.
    #[command(flatten)]
    pub ladder: LadderArgs,
    /// The options that select the filter of a folder.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// The option that permits movies to refer to other files.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// Variants to time, separated by commas, or all
    #[arg(long, value_name = "ID,…", default_value = "all")]
    pub variant: String,
    /// Radii in pixels, separated by commas
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "7", value_parser = values::radius, allow_hyphen_values = true)]
    pub radius: Vec<u32>,
    /// Scale the frames to this size first; size of the pictures (reduction, histogram)
    #[arg(long, value_name = "WxH", value_parser = values::size)]
    pub size: Option<(u32, u32)>,
    /// Filter only the frame at this time of the movie: seconds, 1:30 or 1:02:03
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    pub at: Option<f64>,
    /// Timed rounds; each runs every variant once
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = values::count)]
    pub frames: u32,
    /// OpenCL device: an index from `clreel devices`, part of a platform or device name, cpu, gpu or all
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// YUV to RGBA conversions to check; those of the movie's format are also timed
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub conversions: Selection,
    /// Stop at the first variant or conversion that fails or differs from the reference
    #[arg(long)]
    pub fail_fast: bool,
    /// Also time the filter in Rust, without OpenCL: on one thread and on all, scalar and vectorised
    #[arg(long)]
    pub native: bool,
    /// Also time whole frames, as in the window: upload, conversion, filter and release
    #[arg(long)]
    pub whole_frames: bool,
    /// Folder of kernel files, laid out like kernels/, that replace built-in files of the same name; twice: the kernels of both
    /// folders are timed in turns and compared [env: CLREEL_KERNELS]
    #[arg(long, value_name = "DIR")]
    pub kernels: Vec<PathBuf>,
    /// Accepted slowdown in percent of the second folder's kernels: the exit code is 4 if one is slower by more, with 99 %
    /// confidence [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub threshold: Option<f64>,
    /// The timeouts of kernels and devices.
    #[command(flatten)]
    pub timeouts: TimeoutArgs,
    /// The option that writes a timeline of the run to a file.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Print JSON instead of tables; each row has what was `checked` and why it is `noisy`
    #[arg(long)]
    pub json: bool,
    /// Print each step on stdout and wait for a line on stdin before it (internal, for the window)
    #[arg(long, hide = true)]
    pub live: bool,
    /// Save the results with the time of each run, for `clreel compare`
    #[arg(long, value_name = "FILE.json", value_parser = values::json_file)]
    pub save: Option<PathBuf>,
    /// Also write an SVG with a bar for each variant
    #[arg(long, value_name = "FILE.svg", value_parser = values::svg_file)]
    pub chart: Option<PathBuf>,
    /// Also print why: reads, writes, rates and times of each kernel, and the shares of the device's measured peaks
    #[arg(long)]
    pub why: bool,
    /// Also write an SVG with a roofline: a dot for each variant below the device's measured peaks
    #[arg(long, value_name = "FILE.svg", value_parser = values::svg_file)]
    pub roofline: Option<PathBuf>,
}

/// Options of `clreel tune`.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// The options that select the ladder and its cases.
    #[command(flatten)]
    pub ladder: LadderArgs,
    /// The options that select the filter of a folder.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// Variants to search, separated by commas, or all; what they find replaces earlier results of all variants
    #[arg(long, value_name = "ID,…", default_value = "all")]
    pub variant: String,
    /// Radii in pixels, separated by commas; each represents a range of radii [default: one of each range]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::radius, allow_hyphen_values = true)]
    pub radius: Vec<u32>,
    /// Sizes of the pictures, separated by commas; each represents a size class [default: 1280x720]
    #[arg(long, value_name = "WxH,…", value_delimiter = ',', value_parser = values::size)]
    pub size: Vec<(u32, u32)>,
    /// OpenCL device: an index from `clreel devices`, part of a platform or device name, cpu or gpu
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// The options for the folder of modified kernels and for timeouts.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Save the final runs with the time of each, for `clreel compare`
    #[arg(long, value_name = "FILE.json", value_parser = values::json_file)]
    pub save: Option<PathBuf>,
}

/// Options of `clreel snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotArgs {
    /// Movie [default: the bundled clip]
    #[arg(value_name = "FILE", value_parser = values::movie())]
    pub file: Option<PathBuf>,
    /// Scene: movie, card (the test card) or cloth (the movie on a shirt)
    #[arg(long, value_name = "SCENE", value_enum, hide_possible_values = true, default_value_t = SceneId::Movie)]
    pub scene: SceneId,
    /// The option that permits movies to refer to other files.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// PNG to write: rotated as in the window, in the movie's stored pixels
    #[arg(long, value_name = "PNG", value_parser = values::png_file)]
    pub out: PathBuf,
    /// Time of the frame: seconds, 1:30 or 1:02:03
    #[arg(long, value_name = "TIME", default_value_t = 0.0, value_parser = values::time, allow_hyphen_values = true)]
    pub at: f64,
    /// The options that select the filter, or both filters of a wipe, and the device.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// The options for the folder of modified kernels and for timeouts.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// The option that writes a timeline of the run to a file.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Options of `clreel check-kernels`.
#[derive(Debug, Args)]
pub struct CheckKernelsArgs {
    /// Variants to check, separated by commas [default: all with kernels of their own]
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub variant: Vec<VariantId>,
    /// The options that select the filter of a folder.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// Folder of kernel files that replace built-in files of the same name [env: CLREEL_KERNELS]
    #[arg(long, value_name = "DIR")]
    pub kernels: Option<PathBuf>,
    /// Timeout for the kernels of a variant, in seconds [default: 60, more on a busy machine]
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub kernel_timeout: Option<Duration>,
    /// Print the machine code of the first device instead, for 1280×720 and radius 7
    #[arg(long)]
    pub machine_code: bool,
    /// Print JSON (internal)
    #[arg(long, hide = true)]
    pub json: bool,
}

/// Returns the devices that the value of `--device` selects from `devices`: one of them, or all for the value `all`.
pub(crate) fn selected_devices(devices: Vec<Device>, selected: Option<&str>) -> Result<Vec<Device>> {
    match selected {
        Some("all") if devices.is_empty() => Err(no_device()),
        Some("all") => Ok(devices),
        selected => Ok(vec![select_device(&devices, selected)?]),
    }
}

/// Removes duplicates; the first occurrences keep their order.
fn deduplicate<T: Eq + Hash + Copy>(values: &[T]) -> Vec<T> {
    let mut known = HashSet::new();
    values.iter().copied().filter(|value| known.insert(*value)).collect()
}
