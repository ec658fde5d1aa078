//! `clreel bench --ladder NAME` for all ladders except the box filter.

use super::results::Results;
use super::{Session, devices, selected_variants};
use crate::cli::ladders::selected_cases;
use crate::cli::{BenchArgs, usage};
use base::error::Result;
use ladder::runner::{Ladder, describe_case};
use opencl::sources::Sources;
use opencl::watch;

/// Runs the benchmark of `ladder`; returns the exit code.
pub(crate) fn run<L: Ladder>(ladder: &L, args: &BenchArgs) -> Result<u8> {
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
    let results = Results::new(args, ladder.info().name, named, &devices);
    let mut session = Session::start(args, results, Sources::from_environment(), variants.len())?;
    for (index, device) in devices.iter().enumerate() {
        if !session.should_continue() {
            break;
        }
        let name = device.as_ref().map(|device| device.info.name.as_str());
        let _watched = name.map(|name| watch::on_device(name, "the variants are checked"));
        session.time(ladder, (index, device.as_ref()), (&variants, &cases));
    }
    Ok(session.live.finish()?.exit_code())
}
