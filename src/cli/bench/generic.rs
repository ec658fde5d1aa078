//! `clreel bench --ladder NAME` for all ladders except the box filter.

use super::results::{ProgressObserver, Results};
use super::{devices, measure_peaks, options, second_sources, selected_variants, should_continue, start};
use crate::cli::ladders::selected_cases;
use crate::cli::{BenchArgs, usage};
use base::error::Result;
use ladder::rounds;
use ladder::runner::{Ladder, LadderRunner, describe_case};
use ladder::trial::Child;
use opencl::sources::Sources;
use opencl::watch;

/// Runs the benchmark of `ladder`; returns the exit code.
pub(in crate::cli) fn run<L: Ladder>(ladder: &L, args: &BenchArgs) -> Result<u8> {
    let cases = match selected_cases(ladder, &args.ladder, args.size.as_slice()) {
        Ok(cases) => cases,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let known = ladder.variants().iter().map(|variant| (variant.id, variant));
    let variants = match selected_variants(&args.variant, known) {
        Ok(variants) => variants,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let devices = devices(args, variants.iter().map(|variant| variant.back_end()))?;
    let named = cases.iter().map(|case| describe_case(ladder, case)).collect();
    let live = start(Results::new(args, L::INFO.name, named, &devices), variants.len());
    let sources = Sources::from_environment();
    let mut child = Child::new(L::INFO.name, args.timeouts.kernel_timeout);
    let second_sources = second_sources(args)?;
    let mut second_child = Child::new(L::INFO.name, args.timeouts.kernel_timeout);
    for (index, device) in devices.iter().enumerate() {
        if !should_continue(args, &live) {
            break;
        }
        let name = device.as_ref().map(|device| device.info.name.as_str());
        let _watched = name.map(|name| watch::on_device(name, "the variants are checked"));
        let runner = LadderRunner::new(ladder, device.as_ref(), sources.clone(), &mut child);
        let second = second_sources.clone().map(|sources| runner.with_sources(sources, &mut second_child));
        let mut observer = ProgressObserver { live: &live, device: index };
        let second = second.as_ref();
        rounds::run((&runner, second), &variants, &cases, options(args), &mut observer);
        measure_peaks(args, &live, index, device.as_ref());
    }
    Ok(live.finish()?.exit_code())
}
