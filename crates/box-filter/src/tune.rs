//! Tuning the box filter. In: a device, a size, a radius. Out: what the [search](ladder::tune) found, and what of it
//! goes into the cache.

use std::time::Instant;

use crate::VariantId;
use crate::pictures::{Pattern, noise};
use crate::reference::quick;
use crate::run::{Bands, Checker};
use crate::suite::{self, Subject, Suite};
use crate::trial::{Case, Launch, Trials};
use crate::tuned::{self, SizeClass};
use crate::{BuiltVariant, Code, Config, Plan, Scratch, Work, bench, config};
use base::error::Result;
use base::memory::{require, zeroed};
use base::timing::ms_since;
use base::verify::{self, Checked, MismatchReport};
use ladder::cache::Entry;
use ladder::judge::{GoOn, Judge, Status};
use ladder::measure::{self, Sample};
use ladder::tune::{self, Rungs, Watch};
use opencl::cl::{ClContext, DeviceInfo, DeviceKind};
use opencl::memory::{Picture, Rgba, Storage};

/// A configuration that was tried.
pub type Trial = tune::Trial<Code>;

/// What came of a search.
pub type Search = tune::Search<Code>;

/// The variants that are worth tuning, the likely best first. Those that read images are left out: no parameter makes them
/// fast.
pub fn variants() -> Vec<VariantId> {
    let worth = |id: &VariantId| matches!(&id.rung().work, Work::Kernels(k) if k.storage == Storage::Buffer);
    VariantId::ALL.into_iter().rev().filter(worth).collect()
}

/// The variants with the parameters that a search begins with.
fn rungs(device: &DeviceInfo, variants: &[VariantId], (width, height): (u32, u32)) -> Rungs<Code> {
    let size = SizeClass::of(width, height);
    let first = |code| config::for_size(code, device.kind, size).fitted(device);
    let rung = |id: &VariantId| Some((id.as_str(), first(id.kernels()?.code(device.kind))));
    variants.iter().filter_map(rung).collect()
}

/// The most trials that a search over these variants makes, for a progress bar.
pub fn most_trials(device: &DeviceInfo, variants: &[VariantId]) -> usize {
    tune::most_trials(&rungs(device, variants, (1, 1)))
}

/// Searches the parameters of `variants` for pictures of `width` by `height` pixels at `radius`. `None` when `watch`
/// has ended it. Changed kernels are tried in `trials` first.
///
/// # Errors
/// When the device cannot hold the pictures or fails. What goes wrong with a configuration is its [`Status`].
pub fn search(
    cl: &ClContext,
    variants: &[VariantId],
    size: (u32, u32),
    radius: u32,
    trials: &mut Trials,
    watch: &mut dyn Watch<Code>,
) -> Result<Option<Search>> {
    require_memory(&cl.device.info, size)?;
    let (width, height) = size;
    let src = noise(width as usize * height as usize * 4);
    let want = quick(&src, width as usize, height as usize, radius as usize);
    let pairs = Vec::new();
    let judge = OfPictures { cl, size, radius, pairs, src, want, trials, suite: Suite::default() };
    tune::search(judge, rungs(&cl.device.info, variants, size), watch)
}

/// Whether there is memory for a search at a size: in pictures of that size.
///
/// # Errors
/// When there is not.
pub fn require_memory(device: &DeviceInfo, (width, height): (u32, u32)) -> Result<()> {
    // The picture and what is right, and the reference's tables; after these what a check keeps beside them: source and
    // output, before and after it, each with its canaries.
    let host = 2 + 12;
    // A CPU device has the same memory: source, destination, and those of the check with their canaries; row sums of twice a
    // picture's size for the check and for the best of each variant.
    let device = if device.kind == DeviceKind::Cpu { 8 + 2 * (variants().len() + 1) } else { 0 };
    require(width as usize * height as usize * 4 * (host + device))
}

/// What the best of each variant gives the cache.
///
/// # Errors
/// When a kernel's text cannot be read.
pub fn entries(
    search: &Search,
    device: &DeviceInfo,
    (width, height): (u32, u32),
    radius: u32,
) -> Result<Vec<Entry>> {
    search.entries(device, &tuned::class(SizeClass::of(width, height), radius))
}

/// A picture of noise, filtered with one radius.
struct OfPictures<'a> {
    cl: &'a ClContext,
    size: (u32, u32),
    radius: u32,
    pairs: Vec<(Storage, Picture, Picture)>,
    src: Vec<u8>,
    want: Vec<u8>,
    trials: &'a mut Trials,
    suite: Suite,
}

/// A variant with one configuration, and the picture that it filters and writes.
struct Ready {
    built: BuiltVariant,
    plan: Plan,
    src: Picture,
    dst: Picture,
}

impl OfPictures<'_> {
    fn pair(&mut self, storage: Storage) -> Result<(Picture, Picture)> {
        if let Some((_, src, dst)) = self.pairs.iter().find(|(s, ..)| *s == storage) {
            return Ok((src.clone(), dst.clone()));
        }
        let new = || Picture::alloc(self.cl, storage, self.size.0, self.size.1);
        let (src, dst) = (new()?, new()?);
        src.write(&self.cl.queue, &self.src)?;
        self.pairs.push((storage, src.clone(), dst.clone()));
        Ok((src, dst))
    }
}

impl Judge for OfPictures<'_> {
    type Code = Code;
    type Ready = Ready;
    type Limit = (Picture, Picture);

    fn device(&self) -> &DeviceInfo {
        &self.cl.device.info
    }

    fn try_apart(&mut self, rung: &'static str, config: &Config, longest_ms: f64) -> Option<Status> {
        let case = Case {
            src: &self.src,
            size: self.size,
            radius: self.radius,
            launch: Launch::Checks,
            longest_ms: Some(longest_ms),
            wants_picture: false,
        };
        let id = variant(rung).ok()?;
        match self.trials.variant(self.cl, id, Some(config), false, &case) {
            Err(error) => Some(Status::Failed(error.to_string())),
            Ok(Some(tried)) if tried.left_out => Some(Status::Abandoned(tried.ms)),
            Ok(Some(tried)) => tried.report.map(Status::Mismatch),
            Ok(None) => None,
        }
    }

    fn build(&mut self, rung: &'static str, config: &Config, compile_ms: &mut Option<f64>) -> Result<Ready> {
        let began = Instant::now();
        let built = BuiltVariant::build_with(self.cl, variant(rung)?, config);
        *compile_ms = Some(ms_since(began));
        let built = built?;
        let ((width, height), radius) = (self.size, self.radius);
        let (src, dst) = self.pair(built.kernels().storage)?;
        let plan = built.plan(self.cl, &src, &dst, &mut Scratch::new(), width, height, radius)?;
        Ok(Ready { built, plan, src, dst })
    }

    fn first_look(&mut self, ready: &Ready) -> Result<Option<MismatchReport>> {
        self.suite.first(self.cl, &ready.built, self.size, self.radius)
    }

    fn predict(&mut self, ready: &Ready) -> Result<f64> {
        ready.plan.predict(&self.cl.queue)
    }

    /// At small sizes, with radii of every range, and in bands at the size that is tuned for.
    fn check(
        &mut self,
        ready: &Ready,
        predicted_ms: f64,
        checked: &mut Vec<Checked>,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>> {
        let (cl, radius, size) = (self.cl, self.radius, self.size);
        let plan = &ready.plan;
        let work: f64 = (0..plan.passes()).map(|pass| plan.work(pass)).sum();
        let read_ms = predicted_ms / work.max(1.0);
        let subject = Subject { cl, variant: &ready.built, of: size, way: "", read_ms };
        let found = match self.suite.sizes(subject, radius, checked, go_on)? {
            None => self.suite.radii(subject, checked, go_on)?,
            found => found,
        };
        if found.is_some() {
            return Ok(found);
        }
        go_on()?;
        let bands = Bands::Steps;
        let checker = Checker::new(cl, &ready.built, size, size, radius)?;
        let report = checker.check(&self.src, &self.want, bands)?;
        suite::done("", size, &[Pattern::Noise], &[bands], &[]).add_to(checked);
        Checked { timed: true, ..suite::done("", size, &[Pattern::Noise], &[Bands::Whole], &[]) }
            .add_to(checked);
        let case = suite::case("", Pattern::Noise.name(), size, radius, bands);
        Ok(report.map(|report| MismatchReport { case, ..report }))
    }

    fn first_run(&mut self, ready: &Ready) -> Result<std::result::Result<Sample, MismatchReport>> {
        let (queue, Ready { plan, src, dst, .. }) = (&self.cl.queue, ready);
        dst.write(queue, &verify::poisoned(&self.want))?;
        let sample = measure::sample(queue, |q| plan.enqueue_all(q))?;
        let (mut got, mut source) = (zeroed(self.want.len())?, zeroed(self.src.len())?);
        dst.read(queue, &mut got)?;
        src.read(queue, &mut source)?;
        let pixels = Rgba { width: self.size.0 as usize };
        let Some(report) = verify::compare(&self.want, &got, pixels, (&self.src, &source)) else {
            return Ok(Ok(sample));
        };
        // All others read it.
        src.write(queue, &self.src)?;
        Ok(Err(MismatchReport { case: "noise, as it is timed".to_owned(), ..report }))
    }

    fn run(&self, ready: &Ready) -> Result<Sample> {
        measure::sample(&self.cl.queue, |q| ready.plan.enqueue_all(q))
    }

    fn limit(&mut self) -> Result<Option<Self::Limit>> {
        let pair = self.pair(Storage::Buffer)?;
        self.run_limit(&pair)?; // warm up
        Ok(Some(pair))
    }

    fn run_limit(&self, (from, to): &Self::Limit) -> Result<Sample> {
        bench::copy(&self.cl.queue, from, to)
    }
}

/// The variant of a rung's name.
fn variant(rung: &str) -> Result<VariantId> {
    rung.parse().map_err(|why: String| base::error::Error::new("It is not known here.", why, ""))
}
