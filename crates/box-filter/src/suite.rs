//! Checks at small sizes, where even the slowest kernel is quick. In: a variant as it is built, and how fast it is. Out:
//! nothing when every byte is right, or the first case in which one is not; and what was compared.
//!
//! Pictures of all kinds at odd sizes, smaller than the window and wider than a work-group, whole and in bands of rows;
//! and every range of radii that a kernel treats in a way of its own.

use std::collections::HashMap;

use super::pictures::Pattern;
use super::reference::quick;
use super::run::{Bands, Checker};
use super::{BuiltVariant, MAX_RADIUS};
use base::error::Result;
use base::verify::{Checked, MismatchReport};
use ladder::judge::GoOn;
use opencl::cl::ClContext;

/// The sizes, and how each is launched; what is no kernel is only run whole.
pub(super) const SIZES: [((u32, u32), &[Bands]); 6] = [
    ((129, 65), &[Bands::Whole, Bands::Odd, Bands::Steps]),
    ((67, 33), &[Bands::Whole, Bands::Odd]),
    ((5, 3), &[Bands::Whole, Bands::Odd]),
    ((1, 37), &[Bands::Whole, Bands::Odd]),
    ((48, 1), &[Bands::Whole]),
    ((1, 1), &[Bands::Whole]),
];
/// The one at which a kernel that was just saved meets all kinds of pictures.
const EXTREME: (u32, u32) = (67, 33);
/// On both sides of each radius at which a kernel changes its way.
const RADII: [u32; 15] = [0, 1, 2, 7, 8, 15, 16, 31, 42, 43, 63, 64, 100, MAX_RADIUS - 1, MAX_RADIUS];
/// The sizes for these, from which the first is taken that does not take long.
const RADII_SIZES: [(u32, u32); 3] = [(19, 11), (5, 3), (2, 2)];
/// The longest that a size should take, and one run at one of the radii, in milliseconds.
const SIZE_MS: f64 = 250.0;
const RUN_MS: f64 = 15.0;

/// Which kernels are checked.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The device.
    pub cl: &'a ClContext,
    /// The variant.
    pub variant: &'a BuiltVariant,
    /// It has the parameters that pictures of this size are filtered with.
    pub of: (u32, u32),
    /// What is unusual about it: another target, other parameters.
    pub way: &'a str,
    /// How long a pixel's read takes, in milliseconds, by [`Plan::work`](super::Plan::work).
    pub read_ms: f64,
}

/// A picture, and what the reference makes of it.
type Case = (Vec<u8>, Vec<u8>);

/// The pictures, each made once for all variants and parameters.
#[derive(Default)]
pub struct Suite {
    made: HashMap<(Pattern, (u32, u32), u32), Case>,
}

impl Suite {
    /// A picture of a kind and a size, and what the reference makes of it.
    pub(crate) fn case(&mut self, pattern: Pattern, size: (u32, u32), radius: u32) -> &Case {
        self.made.entry((pattern, size, radius)).or_insert_with(|| {
            let src = pattern.picture(size, radius);
            let want = quick(&src, size.0 as usize, size.1 as usize, radius as usize);
            (src, want)
        })
    }

    /// A first look, before anything is known of the variant's speed: one small picture, so that a kernel that leaves its
    /// memory does it among canaries.
    ///
    /// # Errors
    /// As [`Suite::sizes`].
    pub(crate) fn first(
        &mut self,
        cl: &ClContext,
        variant: &BuiltVariant,
        of: (u32, u32),
        radius: u32,
    ) -> Result<Option<MismatchReport>> {
        let size = (5, 3);
        let checker = Checker::new(cl, variant, size, of, radius)?;
        match self.one(&checker, "", Pattern::Noise, size, radius, Bands::Whole)? {
            None => self.one(&checker, "", Pattern::Noise, size, radius, Bands::Odd),
            found => Ok(found),
        }
    }

    /// Checks at all sizes with one radius. What takes too long is left out, first kinds of pictures, then sizes; `checked`
    /// gets what is compared.
    ///
    /// # Errors
    /// When the variant cannot run, or `go_on` ends it.
    pub fn sizes(
        &mut self,
        subject: Subject,
        radius: u32,
        checked: &mut Vec<Checked>,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>> {
        let mut own = Vec::new();
        for (size, bands) in SIZES {
            let checker = Checker::new(subject.cl, subject.variant, size, subject.of, radius)?;
            let run_ms = checker.work() * subject.read_ms;
            let fits = |patterns: usize| run_ms * (patterns * bands.len()) as f64 <= SIZE_MS;
            // Where nothing changes from pixel to pixel one kind is as good as another.
            let most = if size.0 * size.1 == 1 { 2 } else { Pattern::ALL.len() };
            let Some(count) = [most, 2, 1].into_iter().find(|count| fits(*count)) else { continue };
            let patterns = &Pattern::ALL[..count];
            for pattern in patterns {
                for &bands in bands {
                    go_on()?;
                    let report = self.one(&checker, subject.way, *pattern, size, radius, bands)?;
                    if report.is_some() {
                        return Ok(report);
                    }
                }
            }
            done(subject.way, size, patterns, bands, &[]).add_to(&mut own);
        }
        own.into_iter().for_each(|one| one.add_to(checked));
        Ok(None)
    }

    /// Checks at one small size with radii of every range: noise, white and stripes, whole and in bands.
    ///
    /// # Errors
    /// As [`Suite::sizes`].
    pub fn radii(
        &mut self,
        subject: Subject,
        checked: &mut Vec<Checked>,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>> {
        let patterns = [Pattern::White, Pattern::Noise, Pattern::StripesDown];
        let bands = [Bands::Whole, Bands::Odd];
        let mut own = Vec::new();
        for radius in RADII {
            let mut found = None;
            for size in RADII_SIZES {
                let checker = Checker::new(subject.cl, subject.variant, size, subject.of, radius)?;
                let quick = checker.work() * subject.read_ms <= RUN_MS;
                found = Some((size, checker));
                if quick {
                    break;
                }
            }
            let Some((size, checker)) = found else { continue };
            for pattern in patterns {
                for bands in bands {
                    go_on()?;
                    let report = self.one(&checker, subject.way, pattern, size, radius, bands)?;
                    if report.is_some() {
                        return Ok(report);
                    }
                }
            }
            done(subject.way, size, &patterns, &bands, &[radius]).add_to(&mut own);
        }
        own.into_iter().for_each(|one| one.add_to(checked));
        Ok(None)
    }

    /// Makes what [`Suite::extremes`] needs at this radius.
    pub(crate) fn make_extremes(&mut self, radius: u32) {
        for pattern in Pattern::ALL {
            self.case(pattern, EXTREME, radius);
        }
    }

    /// Checks all kinds of pictures at one small size, whole.
    ///
    /// # Errors
    /// As [`Suite::sizes`].
    pub(crate) fn extremes(
        &mut self,
        cl: &ClContext,
        variant: &BuiltVariant,
        of: (u32, u32),
        radius: u32,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>> {
        let checker = Checker::new(cl, variant, EXTREME, of, radius)?;
        for pattern in Pattern::ALL {
            go_on()?;
            let report = self.one(&checker, "", pattern, EXTREME, radius, Bands::Whole)?;
            if report.is_some() {
                return Ok(report);
            }
        }
        Ok(None)
    }

    fn one(
        &mut self,
        checker: &Checker,
        way: &str,
        pattern: Pattern,
        size: (u32, u32),
        radius: u32,
        bands: Bands,
    ) -> Result<Option<MismatchReport>> {
        let (src, want) = self.case(pattern, size, radius);
        let report = checker.check(src, want, bands)?;
        Ok(report
            .map(|report| MismatchReport { case: case(way, pattern.name(), size, radius, bands), ..report }))
    }
}

/// A case in words, as in `noise, 5×3, r=7, whole`.
pub(crate) fn case(
    way: &str,
    picture: &str,
    (width, height): (u32, u32),
    radius: u32,
    bands: Bands,
) -> String {
    let way = if way.is_empty() { String::new() } else { format!("{way}, ") };
    format!("{way}{picture}, {width}×{height}, r={radius}, {}", bands.name())
}

/// What was compared.
pub(crate) fn done(
    way: &str,
    (width, height): (u32, u32),
    patterns: &[Pattern],
    bands: &[Bands],
    radii: &[u32],
) -> Checked {
    Checked {
        sizes: vec![format!("{width}x{height}")],
        inputs: patterns.iter().map(|pattern| pattern.name().to_owned()).collect(),
        bands: bands.iter().map(|bands| bands.name().to_owned()).collect(),
        radii: radii.to_vec(),
        ways: if way.is_empty() { Vec::new() } else { vec![way.to_owned()] },
        timed: false,
    }
}
