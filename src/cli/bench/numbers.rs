//! `clreel bench --ladder NAME`: a ladder that filters no pictures. In: the ladder, its cases and the command line. Out: what
//! has been measured, shown; the exit code.

use super::results::{Progress, Subject};
use super::{ask, chosen_devices, goes_on, start};
use crate::cli::ladders::asked_cases;
use crate::cli::{BenchArgs, usage};
use base::error::Result;
use ladder::contest::{Contest, Ladder};
use ladder::trial::Child;
use opencl::watch;

pub(in crate::cli) fn run<L: Ladder>(ladder: &L, args: &BenchArgs) -> Result<u8> {
    let size = args.size.as_slice();
    let sizes = args.sizes.sizes(size);
    let cases = match asked_cases(ladder, &args.given, &sizes) {
        Ok(cases) => cases,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let cases = cases.as_slice();
    let rungs = match args.variant.among(ladder.rungs().iter().map(|rung| (rung.id, rung))) {
        Ok(rungs) => rungs,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let devices = chosen_devices(args, rungs.iter().map(|rung| rung.back_end()))?;
    let named = cases.iter().map(|case| ladder.named(case)).collect();
    let live = start(args, Subject::Numbers(L::NAME), named, &devices, rungs.len());
    let mut child = Child::new(L::NAME, args.trial.limit());
    for (index, device) in devices.iter().enumerate() {
        if !goes_on(args, &live) {
            break;
        }
        let name = device.as_ref().map(|device| device.info.name.as_str());
        let _watched = name.map(|name| watch::on_device(name, "the variants are checked"));
        let made = Ok(Contest::new(ladder, device.as_ref(), &mut child));
        let mut progress = Progress { live: &live, device: index };
        progress.run(made, &rungs, |rung| rung.entry(), cases, ask(args));
    }
    Ok(live.finish()?.code())
}
