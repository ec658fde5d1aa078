//! `clreel bench`: checks every variant against the reference, then times it. Prints a table or JSON on stdout, progress and a
//! warning about noisy times on stderr. A signal ends the command, which prints the results so far.
//!
//! Only the kernels' commands are timed, on data that is resident on the device, so that the times exclude the engine's uploads
//! and queued frames. Before that, the engine filters one frame with each variant, as in the window, and that frame is compared
//! with the reference. `--whole-frames` also times such frames ([`whole_frames`]).

mod box_filter;
mod conversions;
mod results;
mod table;
mod whole_frames;
mod why;

use crate::cli::ladders::selected_cases;
use crate::cli::live::LiveRun;
use crate::cli::{BenchArgs, deduplicate, exit, selected_devices, usage, working_devices};
use base::error::{Error, Result};
use base::save;
use compute::BackEnd;
use compute::trial::Child;
use compute::variant::Variant;
use ladder::rounds::{BenchOptions, Benchmark};
use ladder::runner::{Ladder, LadderRunner};
use opencl::cl::Device;
use opencl::sources::Sources;
use opencl::{sandbox, watch};

pub(super) use box_filter::run as box_filter;
use results::Results;

/// The value of `--variant` that selects all variants.
const ALL: &str = "all";

/// Returns the variants that the value of `--variant` names, from `all`. They are in the order of the value, without
/// duplicates; the value "all" selects all of them.
///
/// # Errors
/// A usage message if an id is unknown.
pub(super) fn selected_variants<C: 'static, H: 'static>(
    list: &str,
    all: impl Iterator<Item = &'static Variant<C, H>> + Clone,
) -> Result<Vec<&'static Variant<C, H>>, String> {
    if list.trim() == ALL {
        return Ok(all.collect());
    }
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    // Variants of a folder's filter have its name before their own.
    let is_named =
        |id: &str, name: &str| id == name || id.rsplit_once('/').is_some_and(|(_, own)| own == name);
    let find = |name: &str| {
        all.clone().find(|variant| is_named(variant.id, name)).ok_or_else(|| {
            let known: Vec<_> = all.clone().map(|variant| variant.id).collect();
            format!(
                "invalid value '{list}' for '--variant <ID,…>': no variant is named '{name}'; expected all, or a list of {}",
                known.join(", ")
            )
        })
    };
    deduplicate(&names).into_iter().map(find).collect()
}

/// Runs `clreel bench`; returns the exit code: 3 if the output of a variant differs from the reference, 1 if a variant failed,
/// 4 if a kernel of the second folder is slower than the threshold allows.
///
/// # Errors
/// If a variant needs a device and there is none, the movie has no decodable frame, or the chart cannot be written.
pub(super) fn run(args: &BenchArgs) -> Result<u8> {
    if args.live {
        let failed =
            |e| Error::new("The benchmark could not be connected to the window.", format!("{e}."), "");
        sandbox::enter().map_err(failed)?;
    }
    for file in [&args.chart, &args.roofline, &args.save].into_iter().flatten() {
        // Fails before minutes of measurement.
        save::can_write(file)?;
    }
    if args.kernels.len() > 2 {
        usage("bench", "--kernels may be given twice, to compare the kernels of two folders");
    }
    if args.threshold.is_some() && args.kernels.len() < 2 {
        usage("bench", "--threshold applies to two folders: --kernels A --kernels B");
    }
    args.ladder.ladder.bench(args)
}

/// Runs the benchmark of a ladder other than the box filter; returns the exit code.
pub(super) fn generic<L: Ladder>(ladder: &L, args: &BenchArgs) -> Result<u8> {
    let cases =
        selected_cases(ladder, &args.ladder, args.size.as_slice()).unwrap_or_else(|why| usage("bench", &why));
    let variants =
        selected_variants(&args.variant, ladder.variants().iter()).unwrap_or_else(|why| usage("bench", &why));
    let devices = devices(args, variants.iter().map(|variant| variant.back_end()))?;
    let results = Results::new(args, ladder, &cases, &devices);
    let mut session = Session::start(args, results, Sources::from_environment(), variants.len())?;
    for (index, device) in devices.iter().enumerate() {
        if !session.should_continue() {
            break;
        }
        let _watched =
            device.as_ref().map(|device| watch::on_device(&device.info.name, "the variants are checked"));
        session.time(ladder, (index, device.as_ref()), &variants, &cases);
    }
    Ok(session.live.finish()?.exit_code())
}

/// A running benchmark: its progress bar and results, and the source texts of the kernels, from one folder or from two that are
/// compared.
struct Session<'a> {
    args: &'a BenchArgs,
    live: LiveRun<Results>,
    sources: Sources,
    second_sources: Option<Sources>,
    /// The child processes (sandboxes) in which modified kernels run first, one for each of the two folders of kernels.
    children: [Child; 2],
}

impl<'a> Session<'a> {
    /// Starts the progress bar and the collection of results. `variants` is the number of variants that are timed in each case
    /// on each device.
    ///
    /// # Errors
    /// If the second folder of kernels cannot be read.
    fn start(args: &'a BenchArgs, results: Results, sources: Sources, variants: usize) -> Result<Self> {
        let second_sources = args.kernels.get(1).map(|folder| Sources::read(folder)).transpose()?;
        let runs = results.devices.len() * results.cases.len();
        let steps = runs * (variants * args.kernels.len().max(1) + args.frames as usize);
        let children = [(); 2].map(|()| Child::new(results.ladder, args.timeouts.kernel_timeout));
        Ok(Self { args, live: LiveRun::start(results, steps), sources, second_sources, children })
    }

    /// Returns true if the benchmark should go on: false only if `--fail-fast` is set and a variant has failed or differs from the
    /// reference.
    fn should_continue(&self) -> bool {
        !self.args.fail_fast || self.live.results().check_code() == exit::DONE
    }

    /// Checks and times `variants` for each of `cases` on the device with this index. Also measures the device's peaks if
    /// `--why` or `--roofline` needs them.
    fn time<L: Ladder>(
        &mut self,
        ladder: &L,
        (index, device): (usize, Option<&Device>),
        variants: &[&'static Variant<L::Code, L::Host>],
        cases: &[L::Case],
    ) {
        let Self { args, live, sources, second_sources, children: [child, second_child] } = self;
        let runner = LadderRunner::new(ladder, device, sources.clone(), child);
        let second = second_sources.clone().map(|sources| runner.with_sources(sources, second_child));
        let bench = Benchmark { runner: &runner, second: second.as_ref(), variants, options: options(args) };
        for (at, case) in cases.iter().enumerate() {
            let mut one = bench.case(case);
            while let Some(step) = one.next_step() {
                live.next_step(&step);
                if let Some(run) = one.step() {
                    live.results().devices[index].update(at, run);
                }
            }
            let run = one.finish();
            let is_wrong = run.is_wrong();
            live.results().devices[index].update(at, run);
            if is_wrong && args.fail_fast {
                break;
            }
        }
        if let Some(device) = device.filter(|_| args.why || args.roofline.is_some()) {
            live.set_message("measuring the device's peaks");
            let peaks = ladders::peaks::measure(device);
            live.results().devices[index].peaks = Some(peaks);
        }
    }
}

/// Returns the options of the benchmark that the command line arguments select.
fn options(args: &BenchArgs) -> BenchOptions {
    BenchOptions {
        rounds: args.frames,
        fail_fast: args.fail_fast,
        selected_by_name: args.variant.trim() != ALL,
        registers: args.why,
        checks: true,
    }
}

/// Returns the devices that the command line selects. Returns a single `None` if there is no device and no variant needs one.
fn devices(args: &BenchArgs, mut back_ends: impl Iterator<Item = BackEnd>) -> Result<Vec<Option<Device>>> {
    let (devices, selected) = (working_devices(), args.device.as_deref());
    if selected.is_none() && devices.is_empty() && back_ends.all(BackEnd::does_without_opencl) {
        return Ok(vec![None]);
    }
    Ok(selected_devices(devices, selected)?.into_iter().map(Some).collect())
}
