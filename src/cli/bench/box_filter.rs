//! `clreel bench` for the box filter: times the variants on the frames of a movie, and the conversions from YUV to RGBA.

use super::results::Results;
use super::whole_frames::Client;
use super::why;
use super::{Session, devices, options, selected_variants};
use crate::cli::ladders::size_option_ids;
use crate::cli::stack::Below;
use crate::cli::{BenchArgs, deduplicate, usage};
use base::error::{Error, Result};
use base::memory::require;
use base::stderr::print_message;
use box_filter::trial::Trials;
use box_filter::{Code, OWN_FILE, VariantId};
use box_filter::{Filter, Settings};
use compute::variant::{Variant, Work};
use ladder::results::Input;
use ladder::rows::CaseRun;
use ladder::runner::Ladder as _;
use ladders::box_filter::whole_frames::TestFrame;
use ladders::box_filter::{BoxFilter, NonClVariant, variants};
use ladders::yuv_to_rgba::{self, Selection};
use opencl::cl::ClContext;
use opencl::sources::Sources;
use opencl::watch;
use stats::Request;

/// The maximum number of frames of the movie that are decoded. The timed rounds use them in turn.
const MAX_FRAMES: usize = 30;

/// Returns the variants of the box filter, in the order of [`VariantId::all`]; also that of the user's own kernel if `sources`
/// contain one.
fn filters(sources: &Sources) -> impl Iterator<Item = &'static Variant<Code, NonClVariant>> + Clone + use<> {
    let has_own = sources.text(OWN_FILE).is_ok();
    let is_there = move |id: &str| has_own || id != VariantId::own().name;
    variants_of_selected().filter(move |variant| is_there(variant.id) && !is_native(variant))
}

/// Returns all variants of the selected filter that can be timed.
fn variants_of_selected() -> impl Iterator<Item = &'static Variant<Code, NonClVariant>> + Clone {
    variants(VariantId::initial().filter()).iter()
}

/// Returns true if this is one of the filters in Rust, which are timed only with `--native`.
fn is_native(variant: &Variant<Code, NonClVariant>) -> bool {
    matches!(variant.work, Work::ExtraHost(..))
}

/// Runs the benchmark of the box filter; returns the exit code.
pub(crate) fn run(args: &BenchArgs) -> Result<u8> {
    if let Some(name) = args.ladder.first_explicit(size_option_ids()) {
        let why = format!("{name} does not apply to the box filter, which filters the frames of a movie");
        usage("bench", &why);
    }
    let filter = Filter::selected();
    let settings: Vec<Settings> = match filter {
        None => deduplicate(&args.radius).into_iter().map(Settings::from).collect(),
        Some(filter) => {
            let of_box = ["radius", "whole_frames", "native", "conversions"].map(str::to_owned);
            if let Some(option) = args.ladder.first_explicit(of_box) {
                usage("bench", &format!("{option} belongs to the box filter, not to '{}'", filter.name));
            }
            let settings = args.folder.settings(filter.initial(), 0);
            vec![settings.unwrap_or_else(|why| usage("bench", &why))]
        }
    };
    let sources = Sources::from_environment();
    let mut variants =
        selected_variants(&args.variant, filters(&sources)).unwrap_or_else(|why| usage("bench", &why));
    let devices = devices(args, variants.iter().map(|variant| variant.back_end()))?;
    variants.extend(variants_of_selected().filter(|variant| args.native && is_native(variant)));
    let file = args.file.clone().map_or_else(video::bundled_clip, Ok)?;
    if let Some(size) = args.size {
        // Fails before the frames are scaled, which takes time.
        let ladder = BoxFilter::on_noise(size);
        require(ladder.describe(&ladder.case(0)).memory)?;
    }
    let count = MAX_FRAMES.min(args.frames as usize);
    let clip = match args.at {
        Some(at_s) => video::read_frame_rgba_at(&file, at_s, args.size, args.references.policy(&[]))?,
        None => video::read_frames_rgba(&file, count, args.size, args.references.get())?,
    };
    if let Some(warning) = &clip.warning {
        print_message(warning);
    }
    let size = (clip.width, clip.height);
    let Some(first) = clip.frames.first() else {
        return Err(Error::new("There is nothing to time.", "The movie has no decodable frame.", ""));
    };
    let mut original = TestFrame::from_rgba(first, size)?;
    // The input for the conversions; `None` if no kernel converts the movie's pixel format.
    let conversions = if filter.is_some() { Selection::None } else { args.conversions };
    let movie = match conversions {
        Selection::None => None,
        Selection::All | Selection::Input => {
            let (frame, _) = video::read_frame_at(&file, 0.0, 0, args.references.get())?;
            yuv_to_rgba::Input::of(&frame.picture, size)
        }
    };
    let ladder = BoxFilter::on_noise(size);
    let cases: Vec<_> = settings.iter().map(|settings| ladder.case(*settings)).collect();
    let mut results = Results::new(args, &ladder, &cases, &devices);
    let (width, height) = size;
    let (file, frames) = (file.display().to_string(), clip.frames.len());
    let below = Below::read(args.folder.below())?;
    let stack_filters =
        (!below.is_empty()).then(|| below.add_to(Request::new(VariantId::OFF, 0)).to_string());
    results.input = Some(Input { file, width, height, frames, at_s: args.at, stack_filters });
    let mut session = Session::start(args, results, sources.clone(), variants.len())?;
    let mut trials = Trials::new(args.timeouts.kernel_timeout);
    for (index, device) in devices.iter().enumerate() {
        if !session.should_continue() {
            break;
        }
        let _watched =
            device.as_ref().map(|device| watch::on_device(&device.info.name, "the variants are checked"));
        let mut client = Client::new(&mut original, size);
        let filtered = match device {
            Some(device) if !below.is_empty() => {
                let cl = ClContext::new(device, sources.clone())?;
                Some(below.filter_frames(&cl, &clip.frames, size, &mut trials)?)
            }
            _ => None,
        };
        let frames = filtered.as_ref().unwrap_or(&clip.frames);
        let ladder = BoxFilter::on_movie(frames, size, &mut client);
        session.time(&ladder, (index, device.as_ref()), &variants, &cases);
        let live = &session.live;
        if let (true, Some(device)) = (args.why, device) {
            live.set_message("running modified kernels under Oclgrind");
            let ids = variants.iter().filter_map(|variant| variant.id.parse().ok());
            let accesses = why::accesses(ids, device.info.kind, &sources, args);
            live.results().devices[index].accesses = accesses;
        }
        if args.whole_frames {
            time_whole_frames(&session, index, &mut client, &deduplicate(&args.radius));
        }
        drop(client);
        let (Some(device), Selection::All | Selection::Input, true) =
            (device, conversions, session.should_continue())
        else {
            continue;
        };
        let run_options = yuv_to_rgba::RunOptions {
            input: movie.as_ref(),
            size,
            rounds: args.frames,
            which: conversions,
            fail_fast: args.fail_fast,
        };
        let mut show = |message: &str| live.set_message(message);
        let rows = ClContext::new(device, sources.clone())
            .and_then(|cl| yuv_to_rgba::run_device(&cl, &run_options, &mut trials, &mut show));
        match rows {
            Ok(rows) => live.results().devices[index].conversions = rows,
            // The variants have reported the same error.
            Err(e) if live.results().devices[index].has_error(&e) => {}
            Err(e) => print_message(&e),
        }
    }
    Ok(session.live.finish()?.exit_code())
}

/// Times whole frames (upload, conversion, filter and release) on the device with the index `device`, for the variants whose
/// kernels were timed there.
fn time_whole_frames(session: &Session, device: usize, client: &mut Client, radii: &[u32]) {
    let Session { args, live, .. } = session;
    for (case, radius) in radii.iter().enumerate() {
        if !session.should_continue() {
            return;
        }
        let run = live.results().devices[device].runs.get(case).cloned();
        let rows = run.iter().flat_map(CaseRun::timed).filter(|(row, _)| row.entry.extra.is_none());
        let timed: Vec<VariantId> = rows.filter_map(|(row, _)| row.entry.id.parse().ok()).collect();
        match client.time(&timed, *radius, options(args), |message| live.set_message(message)) {
            Ok(run) if run.variants.is_empty() => {}
            Ok(run) => live.results().devices[device].whole_frames.push(run),
            Err(error) => print_message(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variant_lists() {
        let parse = |list: &str| {
            let found = selected_variants(list, filters(&Sources::default()));
            found.map(|found| found.iter().map(|variant| variant.id).collect::<Vec<_>>())
        };
        assert_eq!(parse("all").map(|v| v.len()), Ok(VariantId::all().count() - 1), "all but `off`");
        assert_eq!(parse("flat, naive,flat"), Ok(vec!["flat", "naive"]));
        assert!(parse("off").is_err());
        assert!(parse("").is_err());
        assert!(parse("naive,fast").unwrap_err().contains("fast"));
    }
}
