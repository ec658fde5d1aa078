//! Calls the code of the subcommands for the ladder that is named on the command line.

use clap::{Args as _, Command, ValueEnum as _};

use super::check_kernels::count::run_cases;
use super::{BenchArgs, LadderArgs, TuneArgs, bench, tune, usage};
use crate::options::SizeArgs;
use base::error::Result;
use ladder::ladder_trial::serve_requests;
use ladder::runner::Ladder;
use ladders::box_filter::BoxFilter;
use ladders::{each_ladder, type_conversions};
use opencl::sandbox::{self, builds};

/// Defines [`LadderName`], the names of all ladders on the command line, and its methods, from the list in `each_ladder!`.
macro_rules! ladders {
    ($($(#[doc = $about:literal])* $name:ident, $json:literal, $ladder:expr;)*) => {
        /// A ladder, by its name on the command line.
        #[derive(Debug, Clone, Copy, clap::ValueEnum)]
        pub enum LadderName {
            /// The mean of a square window around each pixel of a movie
            #[value(alias = "box_filter")]
            BoxFilter,
            $($(#[doc = $about])* #[value(alias = $json)] $name,)*
        }

        impl LadderName {
            /// Runs `clreel bench`; returns the exit code.
            pub(super) fn bench(self, args: &BenchArgs) -> Result<u8> {
                match self {
                    Self::BoxFilter => bench::box_filter(args),
                    $(Self::$name => bench::generic(&$ladder, args),)*
                }
            }

            /// Runs `clreel tune`; returns the exit code.
            pub(super) fn tune(self, args: &TuneArgs) -> Result<u8> {
                match self {
                    Self::BoxFilter => tune::box_filter(args),
                    $(Self::$name => tune::generic(&$ladder, args),)*
                }
            }

            /// Runs a variant's kernels once for each of `cases`, under Oclgrind; returns the exit code.
            pub(super) fn run_cases(self, id: &str, cpu: bool, cases: &[String]) -> Result<u8> {
                match self {
                    Self::BoxFilter => run_cases(&BoxFilter::on_trial(), id, cpu, cases),
                    $(Self::$name => run_cases(&$ladder, id, cpu, cases),)*
                }
            }

            /// Runs trials of modified kernels for the parent process, until the parent closes the pipe. `frame` is the file
            /// descriptor of the memory that both processes share.
            fn serve(self, frame: u32) -> ! {
                match self {
                    Self::BoxFilter => serve_requests(&BoxFilter::on_trial(), frame),
                    $(Self::$name => serve_requests(&$ladder, frame),)*
                }
            }
        }
    };
}

/// Builds or runs programs for the parent process: handles requests from stdin until the parent closes it, then exits. `target`
/// names the programs: those of a ladder, the type conversions, programs that are only built, or the filters of the window and
/// of `snapshot`. `frame` is the file descriptor of the memory that both processes share.
pub(super) fn serve(target: &str, frame: u32) -> ! {
    match target {
        type_conversions::trial::NAME => type_conversions::trial::serve_requests(frame),
        builds::NAME => builds::run_child(frame),
        box_filter::trial::NAME => box_filter::trial::run_child(frame),
        _ => LadderName::from_str(target, true)
            .unwrap_or_else(|why| usage(sandbox::TRY_SUBCOMMAND, &why))
            .serve(frame),
    }
}

/// Returns the ids of the options in [`SizeArgs`], which select cases of the ladders other than the box filter.
pub(super) fn size_option_ids() -> Vec<String> {
    let options = SizeArgs::augment_args(Command::new(""));
    options.get_arguments().map(|option| option.get_id().to_string()).collect()
}

impl LadderArgs {
    /// Returns the first of the options with these ids that the user set, as it is written on the command line; `None` if the
    /// user set none of them.
    pub(super) fn first_explicit(&self, names: impl IntoIterator<Item = String>) -> Option<String> {
        let name = names.into_iter().find(|name| self.explicit.contains(name))?;
        Some(if name == "file" { "FILE".to_owned() } else { format!("--{}", name.replace('_', "-")) })
    }
}

/// The ids of the options that select cases of the box filter; some other ladders accept a few of them.
const BOX_FILTER_OPTIONS: [&str; 8] =
    ["file", "at", "size", "radius", "native", "whole_frames", "conversions", "allow_references"];

/// Returns the cases of a ladder other than the box filter that the user selected; `size` has the values of `--size`.
///
/// # Errors
/// A usage message if the user set an option that this ladder does not accept, or a size is not valid for it.
pub(super) fn selected_cases<L: Ladder>(
    ladder: &L,
    args: &LadderArgs,
    size: &[(u32, u32)],
) -> Result<Vec<L::Case>, String> {
    let options = BOX_FILTER_OPTIONS.into_iter().map(str::to_owned).chain(size_option_ids());
    let info = ladder.info();
    let Some(name) = args.first_explicit(options.filter(|name| !info.options.contains(&name.as_str())))
    else {
        return ladder.cases(&args.sizes.sizes(size));
    };
    let accepted: Vec<_> = info.options.iter().map(|name| format!("--{name}")).collect();
    let (own, accepted) = (info.name.replace('_', "-"), accepted.join(" and "));
    Err(format!("{name} does not apply to --ladder {own}, which accepts {accepted}"))
}

each_ladder!(ladders);
