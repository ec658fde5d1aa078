//! The ladders by their names on the command line, one line each. In: a name. Out: what the subcommands do for it.

use super::{BenchArgs, TuneArgs, bench, tune};
use crate::error::Result;
use crate::ladder::answer::answer;
use crate::ladder::contest::Ladder;
use crate::ladders::box_filter;
use crate::ladders::matmul::Matmul;
use crate::ladders::transpose::Transpose;
use crate::ladders::vector_add::VectorAdd;
use crate::options::SizeArgs;

/// Makes of the lines below the names and what belongs to each: its name in the code, that in JSON, and the ladder.
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

/// The cases of a ladder that filters no pictures; `foreign` is an option that was given and belongs to pictures.
///
/// # Errors
/// A sentence for the user.
pub(super) fn asked_cases<L: Ladder>(
    ladder: &L,
    foreign: Option<String>,
    sizes: &SizeArgs,
) -> std::result::Result<Vec<L::Case>, String> {
    let own = L::NAME.replace('_', "-");
    if let Some(name) = foreign {
        return Err(format!("{name} belongs to the box filter: --ladder {own} takes {}", L::TAKES));
    }
    match sizes.given().find(|name| *name != L::TAKES) {
        Some(name) => Err(format!("{name} belongs to another ladder: --ladder {own} takes {}", L::TAKES)),
        None => ladder.cases(&sizes.sizes()),
    }
}

ladders! {
    /// The sum of two arrays of floats
    VectorAdd, "vector_add", VectorAdd;
    /// The product of two matrices of floats
    Matmul, "matmul", Matmul;
    /// A matrix with rows and columns exchanged: three ways to give its numbers to work-items
    Transpose, "transpose", Transpose;
}
