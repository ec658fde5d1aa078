//! The checks around the times. In: the frames, a radius, and what is to be timed. Out: what was compared, or the
//! [`Outcome`] that stands in the place of the times.
//!
//! Before anything is timed it is checked at [small sizes](super::suite), and in bands at the frames' own size where that
//! takes no seconds. What is timed is compared, too: the output of the first run of all, every byte of it.

use std::cell::OnceCell;

use super::native;
use super::pictures::{Pattern, noise};
use super::planar::run as planes;
use super::planar::{PlanarFilter, planar_quick, planes_of, suite as planar_suite};
use super::reference::quick;
use super::run::{Bands, Checker};
use super::suite::{SIZES, Subject, Suite, case, done};
use super::trial::{self, Case, Launch, Trials};
use super::{BuiltVariant, Config};
use crate::VariantId;
use base::error::Result;
use base::memory::require;
use base::timing::ms_since;
use base::verify::{Checked, MismatchReport};
use ladder::bench::{Tried, fail, passed};
use ladder::measure::{SINGLE, rounds_for};
use ladder::{NOT_TIMED, Outcome};
use opencl::cl::ClContext;
use opencl::memory::Storage;
use opencl::program;
use video::color::Layout;

/// The longest that a run may take that is made for a check alone, at the frames' own size, in milliseconds.
const EXTRA_MS: f64 = 1000.0;

/// What building a variant runs, to be tried before it is built here.
pub(super) const TINY: (u32, u32) = (70, 3);

/// What is tried before it is timed.
pub(super) fn trial_case(src: &[u8], size: (u32, u32), radius: u32) -> Case<'_> {
    let longest_ms = Some(SINGLE.as_secs_f64() * 1e3);
    Case { src, size, radius, launch: Launch::Checks, longest_ms, wants_picture: false }
}

/// Checks at one radius. The pictures of a size are made once, for all variants.
pub(super) struct Checks<'a> {
    /// The first frame.
    frame: &'a [u8],
    size: (u32, u32),
    radius: u32,
    suite: Suite,
    /// What the reference makes of the first frame.
    first: OnceCell<Vec<u8>>,
}

impl<'a> Checks<'a> {
    /// `frame` holds RGBA pixels of a picture of `size`.
    pub(crate) fn new(frame: &'a [u8], size: (u32, u32), radius: u32) -> Result<Self> {
        // Noise and what is right for it and for the first frame; source and output of a check, before and after it, each
        // with its canaries.
        require(size.0 as usize * size.1 as usize * 4 * 15)?;
        Ok(Self { frame, size, radius, suite: Suite::default(), first: OnceCell::new() })
    }

    /// What the reference makes of the first frame.
    pub(crate) fn first(&self) -> &[u8] {
        let ((width, height), radius) = (self.size, self.radius as usize);
        let reference = || quick(self.frame, width as usize, height as usize, radius);
        self.first.get_or_init(reference)
    }

    /// What is compared of everything: the first output that is timed.
    pub(crate) fn timed(&self) -> Checked {
        let (width, height) = self.size;
        Checked {
            sizes: vec![format!("{width}x{height}")],
            inputs: vec!["the movie".to_owned()],
            bands: vec![Bands::Whole.name().to_owned()],
            timed: true,
            ..Checked::default()
        }
    }

    /// A first look at a variant, before it runs on whole frames.
    pub(crate) fn first_look(&mut self, cl: &ClContext, variant: &BuiltVariant) -> Tried<()> {
        passed(self.suite.first(cl, variant, self.size, self.radius))
    }

    /// Checks a variant whose runs are predicted to take so long, and whose [work](super::Plan::work) is that.
    pub(crate) fn variant(
        &mut self,
        cl: &ClContext,
        variant: &BuiltVariant,
        predicted_ms: f64,
        work: f64,
        trials: &mut Trials,
    ) -> Tried<Vec<Checked>> {
        let mut checked = vec![self.timed()];
        let read_ms = predicted_ms / work.max(1.0);
        let of = self.size;
        let subject = Subject { cl, variant, of, way: "", read_ms };
        passed(self.small(subject, &mut checked))?;
        passed(self.large(subject, predicted_ms, &mut checked))?;
        // With shared textures the window has it write these.
        let Some((id, config)) = variant.config(of, self.radius) else { return Ok(checked) };
        if config.code().to_image && cl.device.info.image_support && variant.output() == Storage::Buffer {
            tried(self.try_tiny(trials, cl, id, config, true))?;
            let built = BuiltVariant::build_into(cl, id, config, Storage::Image).map_err(fail)?;
            let subject = Subject { variant: &built, way: "into an image", ..subject };
            passed(self.small(subject, &mut checked))?;
            passed(self.large(subject, predicted_ms, &mut checked))?;
        }
        if program::is_changed(config.code().file) {
            self.other_parameters(subject, id, config, trials, &mut checked)?;
        }
        Ok(checked)
    }

    /// Tries changed kernels in a process of their own, as the checks at small sizes run them.
    fn try_tiny(
        &self,
        trials: &mut Trials,
        cl: &ClContext,
        id: VariantId,
        config: &Config,
        to_image: bool,
    ) -> Result<Option<trial::Tried>> {
        let src = noise(TINY.0 as usize * TINY.1 as usize * 4);
        trials.variant(cl, id, Some(config), to_image, &trial_case(&src, TINY, self.radius))
    }

    fn small(&mut self, subject: Subject, checked: &mut Vec<Checked>) -> Result<Option<MismatchReport>> {
        let go_on = &mut || Ok(());
        match self.suite.sizes(subject, self.radius, checked, go_on)? {
            None => self.suite.radii(subject, checked, go_on),
            found => Ok(found),
        }
    }

    /// In bands as the window cuts them, at the frames' own size.
    fn large(
        &mut self,
        subject: Subject,
        predicted_ms: f64,
        checked: &mut Vec<Checked>,
    ) -> Result<Option<MismatchReport>> {
        if predicted_ms > EXTRA_MS {
            return Ok(None);
        }
        let (size, radius, bands) = (self.size, self.radius, Bands::Steps);
        let checker = Checker::new(subject.cl, subject.variant, size, subject.of, radius)?;
        let (src, want) = self.suite.case(Pattern::Noise, size, radius);
        let report = checker.check(src, want, bands)?;
        done(subject.way, size, &[Pattern::Noise], &[bands], &[]).add_to(checked);
        let case = case(subject.way, Pattern::Noise.name(), size, radius, bands);
        Ok(report.map(|report| MismatchReport { case, ..report }))
    }

    /// The values that tuning may choose, of kernels that the tests do not know.
    fn other_parameters(
        &mut self,
        subject: Subject,
        id: VariantId,
        config: &Config,
        trials: &mut Trials,
        checked: &mut Vec<Checked>,
    ) -> Tried<()> {
        for other in config.neighbours(&subject.cl.device.info) {
            match self.try_tiny(trials, subject.cl, id, &other, false) {
                Err(error) if trials.is_fault() => return Err(fail(error)),
                // What does not build cannot be chosen.
                Err(_) => continue,
                came => tried(came)?,
            }
            let Ok(built) = BuiltVariant::build_with(subject.cl, id, &other) else { continue };
            let subject = Subject { variant: &built, way: &other.to_string(), ..subject };
            passed(self.small(subject, checked))?;
        }
        Ok(())
    }

    /// Checks a filter in Rust at small sizes.
    pub(crate) fn native(&mut self, checked: &mut Vec<Checked>) -> Tried<()> {
        let radius = self.radius;
        for (size, _) in SIZES {
            for pattern in Pattern::ALL {
                let (src, want) = self.suite.case(pattern, size, radius);
                let report = native::check(src, want, size.0, size.1, radius);
                let case = case("", pattern.name(), size, radius, Bands::Whole);
                passed(report.map(|report| report.map(|report| MismatchReport { case, ..report })))?;
            }
            done("", size, &Pattern::ALL, &[Bands::Whole], &[]).add_to(checked);
        }
        Ok(())
    }

    /// Checks a filter that does without OpenCL by `check`, which gets a picture and what is right; returns the
    /// milliseconds that a picture took, and what was compared.
    pub(crate) fn without_opencl(
        &mut self,
        mut check: impl FnMut(&[u8], &[u8]) -> Result<Option<MismatchReport>>,
    ) -> Tried<(f64, Vec<Checked>)> {
        let mut checked = vec![self.timed()];
        let (size, radius) = (self.size, self.radius);
        let mut ms = 0.0;
        for pattern in Pattern::ALL {
            let (src, want) = self.suite.case(pattern, size, radius);
            let began = std::time::Instant::now();
            let report = check(src, want);
            ms = ms_since(began);
            let case = case("", pattern.name(), size, radius, Bands::Whole);
            passed(report.map(|report| report.map(|report| MismatchReport { case, ..report })))?;
            let mut one = done("", size, &[pattern], &[Bands::Whole], &[]);
            match checked.get_mut(1) {
                Some(all) => all.inputs.append(&mut one.inputs),
                None => checked.push(one),
            }
            if ms > EXTRA_MS / 8.0 {
                break;
            }
        }
        Ok((ms, checked))
    }

    /// Checks the filter on planes, against its own reference: in all layouts at small sizes, and noise as planes of
    /// 4:2:0 in bands at the frames' own size.
    pub(crate) fn planes(&self, cl: &ClContext, filter: &PlanarFilter) -> Tried<Vec<Checked>> {
        let mut checked = vec![Checked { ways: vec!["yuv420p".to_owned()], ..self.timed() }];
        passed(planar_suite::layouts(cl, filter, self.radius, &mut checked))?;
        let (size, bands) = (self.size, Bands::Steps);
        let (layout, mut block) = planes_of(&noise(self.frame.len()), size.0, size.1).map_err(fail)?;
        block.resize(block.len().next_multiple_of(4), 0);
        let want = planar_quick(&layout, &block, self.radius).map_err(fail)?;
        let ends: Vec<u32> = bands.of(size.1, 64).iter().map(|rows| rows.end).collect();
        let report = planes::check(cl, filter, &layout, &block, &want, self.radius, &ends[..ends.len() - 1]);
        let case = case("yuv420p", Pattern::Noise.name(), size, self.radius, bands);
        passed(report.map(|report| report.map(|report| MismatchReport { case, ..report })))?;
        done("yuv420p", size, &[Pattern::Noise], &[bands], &[]).add_to(&mut checked);
        Ok(checked)
    }

    /// The planes of the first frame, how they lie, and what the reference makes of them.
    pub(crate) fn first_planes(&self) -> Result<(Layout, Vec<u8>, Vec<u8>)> {
        let (layout, mut block) = planes_of(self.frame, self.size.0, self.size.1)?;
        block.resize(block.len().next_multiple_of(4), 0);
        let want = planar_quick(&layout, &block, self.radius)?;
        Ok((layout, block, want))
    }
}

/// What a trial of changed kernels lets through: what does no harm here. Whether the bytes are right the checks in this
/// process say, with the picture, the parameters and the layout.
pub(super) fn tried(tried: Result<Option<trial::Tried>>) -> Tried<()> {
    match tried.map_err(fail)? {
        Some(tried) if tried.left_out || tried.overran() => Err(not_passed(tried)),
        _ => Ok(()),
    }
}

/// What stands in the place of the times of what a trial did not let through.
pub(super) fn not_passed(tried: trial::Tried) -> Box<Outcome> {
    Box::new(match (tried.report, rounds_for(tried.ms, 1, false)) {
        (Some(report), _) => Outcome::Mismatch(report),
        (None, Err(why)) => Outcome::Skipped(why),
        (None, Ok(_)) => Outcome::Skipped(NOT_TIMED.to_owned()),
    })
}
