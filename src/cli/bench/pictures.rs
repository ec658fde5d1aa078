//! `clreel bench`: the box filter on the frames of a movie, and the conversions of its pictures. In: the command line. Out:
//! what has been measured, shown; the exit code.

use std::path::PathBuf;

use super::results::{Progress, Results, Subject};
use super::whole::Client;
use super::{ask, chosen_devices, conversions, goes_on, start};
use crate::cli::ladders::of_cases;
use crate::cli::live::Live;
use crate::cli::{BenchArgs, each_once, usage};
use base::error::Result;
use box_filter::bench::{BoxBench, Input};
use box_filter::entrants::{Entrant, case, require_memory};
use box_filter::trial::Trials;
use box_filter::yuv_to_rgba::{self as converted, Which};
use box_filter::{OWN_FILE, VariantId};
use ladder::BackEnd;
use opencl::{program, watch};

/// The most frames that are kept in memory and cycled.
const MAX_FRAMES: usize = 30;

/// Everything that filters, in the order of [`VariantId::ALL`]; the user's own where the folder of kernels has it.
fn filters() -> impl Iterator<Item = (&'static str, VariantId)> + Clone {
    let own = program::source(OWN_FILE).is_ok().then_some(VariantId::Own);
    let filters = VariantId::ALL.into_iter().filter(|id| id.back_end() != BackEnd::Nothing);
    filters.chain(own).map(|id| (id.as_str(), id))
}

pub(in crate::cli) fn run(args: &BenchArgs) -> Result<u8> {
    if let Some(name) = args.given.any(of_cases()) {
        return Ok(usage(
            "bench",
            &format!("the box filter has no {name}: it filters the pictures of a movie"),
        ));
    }
    let variants = match args.variant.among(filters()) {
        Ok(variants) => variants,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let devices = chosen_devices(args, variants.iter().map(|id| id.back_end()))?;
    let grid = Entrant::grid().filter(|_| args.native);
    let entrants: Vec<Entrant> = variants.into_iter().map(Entrant::Variant).chain(grid).collect();
    let radii = each_once(&args.radius);
    let file: PathBuf = match &args.file {
        Some(file) => file.clone(),
        None => video::bundled_clip()?,
    };
    if let Some(size) = args.size {
        // Before much time goes into scaling.
        require_memory(size, &entrants)?;
    }
    let count = MAX_FRAMES.min(args.frames as usize);
    let clip = video::read_frames_rgba(&file, count, args.size, args.references.get())?;
    if let Some(warning) = &clip.warning {
        eprintln!("clreel: {warning}");
    }
    let size = (clip.width, clip.height);
    let input = Input { frames: &clip.frames, width: clip.width, height: clip.height };
    let movie = match args.conversions {
        Which::None => None,
        Which::All | Which::Input => conversions::input(&file, size, args.references.get())?,
    };

    let subject = Subject::Movie { file: file.display().to_string(), size, frames: clip.frames.len() };
    let cases = radii.iter().map(|radius| case(size, *radius)).collect();
    let live = start(args, subject, cases, &devices, entrants.len());
    let mut trials = Trials::new(args.trial.limit());
    for (index, device) in devices.iter().enumerate() {
        if !goes_on(args, &live) {
            break;
        }
        let name = device.as_ref().map(|device| device.info.name.as_str());
        let _watched = name.map(|name| watch::on_device(name, "the variants are checked"));
        let kind = device.as_ref().map(|device| device.info.kind);
        let mut client = Client::new(clip.frames.first().map_or(&[], Vec::as_slice), size);
        let made = BoxBench::new(device.as_ref(), input, &entrants, &mut trials, &mut client);
        let mut progress = Progress { live: &live, device: index };
        progress.run(made, &entrants, |entrant| entrant.entry(kind), &radii, ask(args));
        if args.whole_frames {
            time_whole_frames(args, &live, index, &mut client, &radii);
        }
        drop(client);
        let (Some(device), Which::All | Which::Input, true) =
            (device, args.conversions, goes_on(args, &live))
        else {
            continue;
        };
        let ask =
            converted::Ask { size, rounds: args.frames, which: args.conversions, fail_fast: args.fail_fast };
        match converted::run_device(device, movie.as_ref(), &ask, &mut trials, &mut |what| live.say(what)) {
            Ok(rows) => live.results().devices[index].conversions = rows,
            // Where not even that is there, the variants have said so.
            Err(e) if live.results().devices[index].tells(&e) => {}
            Err(e) => eprintln!("clreel: {e}"),
        }
    }
    Ok(live.finish()?.code())
}

/// Times whole frames of the variants that have times of their own.
fn time_whole_frames(
    args: &BenchArgs,
    live: &Live<Results>,
    device: usize,
    client: &mut Client,
    radii: &[u32],
) {
    for (case, radius) in radii.iter().enumerate() {
        if !goes_on(args, live) {
            return;
        }
        let mut timed = Vec::new();
        for (_, run) in live.results().devices[device].runs.iter().filter(|(of, _)| *of == case) {
            let ids = run.timed().filter(|(row, _)| row.entry.beside.is_none()).map(|(row, _)| row.entry.id);
            timed.extend(ids.filter_map(|id| filters().find(|(name, _)| *name == id)).map(|(_, id)| id));
        }
        match client.time(&timed, *radius, ask(args), |what| live.say(what)) {
            Ok(rows) => live.results().devices[device].whole_frames.get_or_insert_default().extend(rows),
            Err(error) => eprintln!("clreel: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::VariantList;

    #[test]
    fn variant_lists() {
        let parse = |list: &str| VariantList(list.to_owned()).among(filters());
        assert_eq!(parse("all").map(|v| v.len()), Ok(VariantId::ALL.len() - 1), "all but `off`");
        assert_eq!(parse("flat, naive,flat"), Ok(vec![VariantId::Flat, VariantId::Naive]));
        assert!(parse("off").is_err());
        assert!(parse("").is_err());
        assert!(parse("naive,fast").unwrap_err().contains("fast"));
    }
}
