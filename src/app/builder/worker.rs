//! The builder's thread. In: requests. Out: what it has built and checked, told one after the other.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::conversions::Conversions;
use super::judging::{self, Judge, passed};
use super::{Built, Part, Request, Shared};
use base::error::{Error, Result};
use base::jobs::Teller;
use base::verify::MismatchReport;
use box_filter::VariantId;
use box_filter::machine_code;
use box_filter::opencl::BuiltVariant;
use box_filter::pictures::noise as bytes;
use box_filter::planar::PlanarFilter;
use box_filter::trial::{Case, Launch, Trials};
use engine::{Comparer, Scopes, TrialCase};
use opencl::binaries;
use opencl::cl::{ClContext, is_device_failure, list_devices};
use opencl::memory::Storage;
use opencl::sources;
use opencl::watch;
use video::color::Layout;

/// An error of a variant's trial: what failed of the device need not say on which device, and with which variant.
fn named(id: VariantId, cl: &ClContext, error: Error) -> Error {
    if !is_device_failure(&error) {
        return error;
    }
    let what = format!("'{id}' could not be tried on '{}'.", cl.device.info.name);
    Error { why: format!("{} {}", error.what, error.why), what, hint: String::new(), ..error }
}

/// A picture for what only is to show that it runs.
const TINY: (u32, u32) = (70, 3);

fn noise((width, height): (u32, u32)) -> Vec<u8> {
    bytes(width as usize * height as usize * 4)
}

/// The first trial of changed kernels, on such a picture.
fn tiny(src: &[u8]) -> Case<'_> {
    Case { src, size: TINY, radius: 1, launch: Launch::Bands, longest_ms: None, wants_picture: false }
}

/// Tries a variant at the size and radius that frames are to be filtered at.
fn try_case(
    trials: &mut Trials,
    cl: &ClContext,
    case: &TrialCase,
    to_image: bool,
) -> Result<Option<MismatchReport>> {
    let (size, radius) = (case.size, case.radius);
    let tried = match &case.layout {
        Some(layout) => {
            let block = bytes(layout.bytes());
            trials.planar(cl, case.variant, layout, to_image, &Case { size, radius, ..tiny(&block) })
        }
        None => {
            let src = noise(size);
            trials.variant(cl, case.variant, None, to_image, &Case { size, radius, ..tiny(&src) })
        }
    };
    passed(tried?)
}

/// Tries a conversion before it is built.
fn try_conversion(trials: &mut Trials, cl: &ClContext, layout: &Layout, storage: Storage) -> Result<()> {
    let block = bytes(layout.bytes());
    let case = Case { size: (layout.width, layout.height), ..tiny(&block) };
    trials.convert(cl, layout, storage == Storage::Image, &case).map(drop)
}

/// Takes the variant that comes next: the one that is wanted, or the first.
fn take_next(left: &mut Vec<VariantId>, wanted: VariantId) -> Option<VariantId> {
    let at = left.iter().position(|id| *id == wanted).unwrap_or(0);
    (at < left.len()).then(|| left.remove(at))
}

/// The window is gone.
struct Gone;

/// What is to be done, and for which context.
pub(super) struct Worker<'a> {
    teller: &'a Teller<(), Built>,
    shared: &'a Shared,
    to_texture: bool,
    left: Vec<VariantId>,
    /// The correction is to be built.
    corrector: bool,
    trials: Trials,
    /// What [`VariantId::Version`] is a version of.
    beside: Option<VariantId>,
    /// For the context that is built for.
    conversions: Option<Conversions>,
}

impl<'a> Worker<'a> {
    /// Nothing is built for yet. Each step of a trial may take `kernel_timeout`.
    pub(super) fn new(
        teller: &'a Teller<(), Built>,
        shared: &'a Shared,
        kernel_timeout: Option<Duration>,
    ) -> Self {
        let trials = Trials::new(kernel_timeout);
        Self {
            teller,
            shared,
            to_texture: false,
            left: Vec::new(),
            corrector: false,
            trials,
            beside: None,
            conversions: None,
        }
    }

    /// Does what is asked for until nobody asks any more; `list` is whether it begins with the devices.
    pub(super) fn run(mut self, list: bool, requests: &Receiver<Request>) {
        binaries::keep();
        sources::read_named();
        sources::pin_current();
        self.shared.begin(sources::current());
        if list && self.send(Built::Devices(list_devices())).is_err() {
            return;
        }
        let mut context: Option<(u64, ClContext)> = None;
        loop {
            let checked = self.conversions.as_ref().is_none_or(Conversions::is_idle);
            let idle = context.is_none() || self.left.is_empty() && !self.corrector && checked;
            let request = if idle {
                // Where kernels are edited, the next save need not wait for a process that is just started.
                if let Some((_, cl)) = context.as_ref().filter(|_| sources::current().is_some()) {
                    self.trials.make_ready(cl);
                }
                self.shared.now().busy = None;
                requests.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                requests.try_recv()
            };
            if self.teller.is_cancelled() {
                return;
            }
            let at = context.as_ref().map_or(0, |(number, _)| *number);
            {
                let mut state = self.shared.now();
                (state.at, state.busy) = (at, Some(Instant::now()));
            }
            let name = context.as_ref().map(|(_, cl)| cl.device.info.name.clone());
            let _watched = name.map(|name| watch::on_device(&name, "programs are built"));
            let done = match (request, &context) {
                (Ok(Request::Start(start)), _) => {
                    self.to_texture = start.to_texture;
                    self.left = start.variants;
                    self.corrector = start.corrector;
                    self.conversions = Some(Conversions::new(&start.cl));
                    context = Some((start.number, start.cl));
                    Ok(())
                }
                (Ok(Request::Convert(layout, storage)), Some((number, cl))) => {
                    let part = self.converting(|worker| worker.convert(cl, layout, storage));
                    self.send_some(*number, part)
                }
                (Ok(Request::Check(check)), Some(_)) => {
                    self.conversions.iter_mut().for_each(|c| c.later(check));
                    Ok(())
                }
                (Ok(Request::Try(case)), Some((number, cl))) => {
                    // What was tried is what runs.
                    let newest = sources::current();
                    sources::pin(self.shared.with_texts(|texts| texts.built(case.variant, newest.clone())));
                    let of = self.beside.filter(|_| case.variant == VariantId::Version);
                    let tried_as = TrialCase { variant: of.unwrap_or(case.variant), ..case };
                    let tried = try_case(&mut self.trials, cl, &tried_as, self.to_texture);
                    sources::pin(newest);
                    self.send(Built::For(*number, Box::new(Part::Tried(case, tried))))
                }
                (Ok(Request::Again(variant)), Some(_)) => {
                    self.trials.forget();
                    if !self.left.contains(&variant) {
                        self.left.push(variant);
                    }
                    Ok(())
                }
                (Ok(Request::Judge(judge)), Some((number, cl))) => {
                    let (number, cl) = (*number, cl.clone());
                    self.judge(number, &cl, &judge)
                }
                (Ok(Request::MachineCode(asm)), Some((number, cl))) => {
                    let newest = sources::current();
                    sources::pin(asm.sources);
                    let code = machine_code::of(cl, asm.variant, &asm.pictures);
                    sources::pin(newest);
                    let part = Part::MachineCode(asm.version, asm.variant, code);
                    self.send(Built::For(*number, Box::new(part)))
                }
                (Ok(Request::Scopes(size)), Some((number, cl))) => {
                    let part = Part::Scopes(Box::new(Scopes::build(cl, size)));
                    self.send(Built::For(*number, Box::new(part)))
                }
                (Ok(Request::Comparer), Some((number, cl))) => {
                    let part = Part::Comparer(Box::new(Comparer::ready(cl, self.to_texture)));
                    self.send(Built::For(*number, Box::new(part)))
                }
                (Err(TryRecvError::Empty), Some((number, cl))) => self.build_next(*number, cl),
                (Err(TryRecvError::Disconnected), _) => Err(Gone),
                (_, None) => Ok(()),
            };
            if done.is_err() {
                return;
            }
        }
    }

    /// Builds one variant, the wanted one first, or the correction after them all, or checks one thing after that.
    fn build_next(&mut self, number: u64, cl: &ClContext) -> std::result::Result<(), Gone> {
        let wanted = self.shared.now().wanted;
        if let Some(id) = take_next(&mut self.left, wanted) {
            let newest = sources::current();
            sources::pin(self.shared.with_texts(|texts| texts.texts_of(id, newest.as_ref())));
            let done = match id.reads_planes() {
                true => self.build_planar(id, number, cl),
                false => self.build_variant(id, number, cl),
            };
            sources::pin(newest);
            return done;
        }
        let part = match std::mem::take(&mut self.corrector) {
            true => match self.trials.correct(cl, &tiny(&noise(TINY))) {
                Ok(_) => self.conversions.as_ref().and_then(Conversions::corrector),
                Err(error) => Some(Part::NoCorrector(error)),
            },
            false => self.converting(|worker| worker.conversions.as_mut().and_then(Conversions::check_next)),
        };
        self.send_some(number, part)
    }

    /// Builds a variant on RGBA pictures.
    fn build_variant(&mut self, id: VariantId, number: u64, cl: &ClContext) -> std::result::Result<(), Gone> {
        let to_texture = self.to_texture;
        let tried = self.trials.variant(cl, id, None, to_texture, &tiny(&noise(TINY)));
        if let Ok(Some(_)) = tried {
            self.send(Built::For(number, Box::new(Part::Changed(id))))?;
        }
        let built = tried.and_then(passed).and_then(|_| match to_texture {
            true => BuiltVariant::build_for_textures(cl, id),
            false => BuiltVariant::build(cl, id),
        });
        let part = match built {
            Ok(built) => Part::Variant(built),
            Err(error) => Part::NoVariant(id, named(id, cl, error)),
        };
        self.send(Built::For(number, Box::new(part)))
    }

    /// Builds a variant on planes, and the conversion of the commonest ones: the movie need not wait for it then.
    fn build_planar(&mut self, id: VariantId, number: u64, cl: &ClContext) -> std::result::Result<(), Gone> {
        let storage = if self.to_texture { Storage::Image } else { Storage::Buffer };
        let common = Layout::planar_420(16, 16, false);
        let block = bytes(common.bytes());
        let case = Case { size: (16, 16), ..tiny(&block) };
        let tried = self.trials.planar(cl, id, &common, self.to_texture, &case);
        if let Ok(Some(_)) = tried {
            self.send(Built::For(number, Box::new(Part::Changed(id))))?;
        }
        let tried = tried.and_then(passed);
        if tried.is_ok() {
            let part = self.converting(|worker| worker.convert(cl, common.filtered(), storage));
            // What is wrong with it is told when a movie wants it.
            self.send_some(number, part.filter(|part| matches!(part, Part::Conversion(_))))?;
        }
        let part = match tried.and_then(|_| PlanarFilter::build(cl, id)) {
            Ok(filter) => Part::Planar(filter),
            Err(error) => Part::NoVariant(id, named(id, cl, error)),
        };
        self.send(Built::For(number, Box::new(part)))
    }

    /// Tries a conversion, builds and checks it.
    fn convert(&mut self, cl: &ClContext, layout: Layout, storage: Storage) -> Option<Part> {
        match try_conversion(&mut self.trials, cl, &layout, storage) {
            Ok(()) => self.conversions.as_mut().map(|c| c.conversion(layout, storage)),
            Err(error) => Some(Part::NoConversion(Box::new(layout), storage, error)),
        }
    }

    /// Does something with the texts of the conversions that run.
    fn converting<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let newest = sources::current();
        sources::pin(self.shared.with_texts(|texts| texts.of_conversions(newest.as_ref())));
        let done = work(self);
        sources::pin(newest);
        done
    }

    /// Judges the variants that a version changes, one after the other, the wanted one first; a newer version
    /// makes the rest of them idle.
    fn judge(&mut self, number: u64, cl: &ClContext, judge: &Judge) -> std::result::Result<(), Gone> {
        let mut may_run = !judge.is_beside;
        let mut left = judge.variants.clone();
        loop {
            // Another one may have been chosen meanwhile.
            let wanted = self.shared.now().wanted;
            let Some(variant) = take_next(&mut left, wanted) else { break };
            if self.teller.is_cancelled() {
                return Err(Gone);
            }
            {
                let mut state = self.shared.now();
                if !judge.is_beside && state.version != judge.version {
                    may_run = false;
                    break;
                }
                state.busy = Some(Instant::now());
            }
            let judged = judging::judge(&mut self.trials, cl, judge, variant, self.to_texture);
            may_run &= judged.made.is_some();
            if judged.made.is_some() {
                if judge.is_beside {
                    self.beside = Some(variant);
                }
                self.shared.with_texts(|texts| texts.passed(judged.case.variant, &judge.sources));
            }
            // Where nothing is there from before, what was refused would be built once more.
            let is_done = judged.made.is_some() || self.shared.with_texts(|texts| texts.came_late());
            if !judge.is_beside && is_done {
                self.left.retain(|left| *left != variant);
            }
            let is_awaited = judged.made.is_some() && variant == wanted && !judge.is_beside;
            self.send(Built::For(number, Box::new(Part::Judged(judged))))?;
            if is_awaited {
                // What comes next, be it a new process for trials, would take the processor from its first picture.
                self.shared.wait_until_shown(judge.version);
            }
        }
        if may_run && !judge.variants.is_empty() {
            // Another search may make it of what has changed.
            self.shared.with_texts(|texts| texts.passed(VariantId::Auto, &judge.sources));
        }
        if judge.conversions.is_empty() || self.shared.now().version != judge.version {
            return Ok(());
        }
        self.shared.now().busy = Some(Instant::now());
        let judged = judging::judge_conversions(&mut self.trials, cl, judge);
        if !judged.made.is_empty() {
            self.shared.with_texts(|texts| texts.conversions_passed(&judge.sources));
            self.conversions.iter_mut().for_each(|conversions| conversions.take_judged(&judged));
        }
        self.send(Built::For(number, Box::new(Part::JudgedConversions(judged))))
    }

    fn send_some(&self, number: u64, part: Option<Part>) -> std::result::Result<(), Gone> {
        part.map_or(Ok(()), |part| self.send(Built::For(number, Box::new(part))))
    }

    fn send(&self, message: Built) -> std::result::Result<(), Gone> {
        self.teller.tell(message).then_some(()).ok_or(Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_variant_comes_next_and_all_others_in_their_order() {
        let mut left = vec![VariantId::Naive, VariantId::Flat, VariantId::Fused, VariantId::Auto];
        let mut next = |wanted| take_next(&mut left, wanted);
        assert_eq!(next(VariantId::Fused), Some(VariantId::Fused));
        assert_eq!(next(VariantId::Fused), Some(VariantId::Naive), "it is done already");
        assert_eq!(next(VariantId::Auto), Some(VariantId::Auto));
        assert_eq!([next(VariantId::Off), next(VariantId::Off)], [Some(VariantId::Flat), None]);
    }
}
