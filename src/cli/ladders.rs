//! The ladders by their names on the command line. In: a name. Out: what the subcommands do for it.

use clap::{Args as _, Command, ValueEnum as _};

use super::given::Given;
use super::{BenchArgs, TuneArgs, bench, tune};
use crate::options::SizeArgs;
use base::error::Result;
use ladder::answer::answer;
use ladder::contest::Ladder;
use ladder::sizes::Sizes;
use ladders::{each_ladder, type_conversions};

/// Makes of the ladders' lines their names and what belongs to each.
macro_rules! ladders {
    ($($(#[doc = $about:literal])* $name:ident, $json:literal, $ladder:expr;)*) => {
        /// The ladders.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
        pub enum LadderName {
            /// The mean of a square window around each pixel of a movie
            #[value(alias = "box_filter")]
            BoxFilter,
            $($(#[doc = $about])* #[value(alias = $json)] $name,)*
        }

        impl LadderName {
            /// `clreel bench`.
            pub(super) fn bench(self, args: &BenchArgs) -> Result<u8> {
                match self {
                    Self::BoxFilter => bench::pictures(args),
                    $(Self::$name => bench::numbers(&$ladder, args),)*
                }
            }

            /// `clreel tune`.
            pub(super) fn tune(self, args: &TuneArgs) -> Result<u8> {
                match self {
                    Self::BoxFilter => tune::pictures(args),
                    $(Self::$name => tune::numbers(&$ladder, args),)*
                }
            }

            /// Runs its changed kernels for the process that asks; `frame` is the number of the memory that both share.
            pub(super) fn answer(self, frame: u32) -> ! {
                match self {
                    Self::BoxFilter => box_filter::trial::answer(frame),
                    $(Self::$name => answer(&$ladder, frame),)*
                }
            }
        }
    };
}

/// Whose kernels a child process tries.
#[derive(Debug, Clone, Copy)]
pub enum Tried {
    /// Those of a ladder that are changed.
    Ladder(LadderName),
    /// The conversions, as they are.
    Conversions,
}

impl Tried {
    /// By its name among the arguments of the child.
    pub(super) fn named(name: &str) -> std::result::Result<Self, String> {
        match name {
            type_conversions::trial::NAME => Ok(Self::Conversions),
            _ => LadderName::from_str(name, true).map(Self::Ladder),
        }
    }

    /// Answers for them, until nobody asks any more.
    pub(super) fn answer(self, frame: u32) -> ! {
        match self {
            Self::Ladder(ladder) => ladder.answer(frame),
            Self::Conversions => type_conversions::trial::answer(frame),
        }
    }
}

/// Options that say cases of ladders beside the box filter: all that [`SizeArgs`] has.
pub(super) fn of_cases() -> impl Iterator<Item = String> {
    let options = SizeArgs::augment_args(Command::new(""));
    let names: Vec<_> = options.get_arguments().map(|option| option.get_id().to_string()).collect();
    names.into_iter()
}

/// Options that have a meaning for the box filter; some of them say cases of other ladders too.
const OF_MOVIES: [&str; 7] =
    ["file", "size", "radius", "native", "whole_frames", "conversions", "allow_references"];

/// The cases of a ladder that filters no movies. What was given and means nothing for it is refused.
///
/// # Errors
/// A sentence for the user.
pub(super) fn asked_cases<L: Ladder>(
    ladder: &L,
    given: &Given,
    sizes: &Sizes,
) -> std::result::Result<Vec<L::Case>, String> {
    let options = OF_MOVIES.into_iter().map(str::to_owned).chain(of_cases());
    match given.any(options.filter(|name| !L::TAKES.contains(&name.as_str()))) {
        Some(name) => {
            let takes: Vec<_> = L::TAKES.iter().map(|name| format!("--{name}")).collect();
            let (own, takes) = (L::NAME.replace('_', "-"), takes.join(" and "));
            Err(format!("{name} belongs to another ladder: --ladder {own} takes {takes}"))
        }
        None => ladder.cases(sizes),
    }
}

each_ladder!(ladders);
