//! The builder's thread: handles the window's requests, and builds pending programs while there are no requests.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::conversions::Conversions;
use super::validator::{Validator, accept};
use super::*;
use base::memory::rgba_bytes;
use box_filter::color_kernels::Conversion;
use box_filter::pictures::noise as bytes;
use box_filter::trial::{Case, LaunchMode, Source, Target, TrialReport, Trials};
use box_filter::{BuiltVariant, machine_code};
use engine::{Comparer, Scopes};
use opencl::cl::{is_device_failure, list_devices};
use opencl::memory::Storage;
use opencl::process::trim_memory;
use opencl::sources::named_folder;
use opencl::watch;
use video::color::Layout;

/// The size in pixels of the picture in the first trial of edited kernels.
const TINY_SIZE: (u32, u32) = (70, 3);

/// Returns the input of the first trial of edited kernels: a small picture with the RGBA bytes `src`, filtered at radius 1 in
/// bands of rows.
fn tiny_case(src: &[u8]) -> Case<'_> {
    Case { src: Source::Bytes(src), size: TINY_SIZE, settings: 1.into(), launch: LaunchMode::Bands }
}

/// Runs a trial of a variant's edited kernels in the child process on a picture of random bytes, or on a different one for each
/// frame that the variant reads. The picture is filtered in bands of rows.
fn try_case(
    trials: &mut Trials,
    cl: &ClContext,
    case: &TrialCase,
    to_image: bool,
) -> Result<Option<TrialReport>> {
    let TrialCase { variant: id, size, settings, layout, .. } = *case;
    let src = bytes(id.extent_of(layout, size, settings).bytes()[0]);
    trials.run(
        cl,
        Target::Variant { id, layout, to_image, has_defaults: false },
        &Case { size, settings, ..tiny_case(&src) },
    )
}

/// Removes and returns the next variant to build: `wanted` if it is pending, else the first pending one; `None` if none is
/// pending.
fn take_next(pending: &mut Vec<VariantId>, wanted: VariantId) -> Option<VariantId> {
    let at = pending.iter().position(|id| *id == wanted).unwrap_or(0);
    (at < pending.len()).then(|| pending.remove(at))
}

/// The error of sending a message after the window has been closed.
struct WindowClosed;

type SendResult = Result<(), WindowClosed>;

/// The OpenCL context for which the builder works, and what is still to be built for it.
struct Context {
    /// The number by which the builder's messages identify the context.
    number: u64,
    cl: ClContext,
    to_texture: bool,
    /// The variants that are still to be built.
    pending: Vec<VariantId>,
    /// The variants of filters in the stack besides the chosen one that are still to be built, each with the size of the pictures.
    members: VecDeque<(MemberVersion, Option<(u32, u32)>)>,
    /// True if the colour correction is still to be built.
    corrector: bool,
    conversions: Conversions,
}

/// The builder's thread and its state, which outlives contexts.
pub(super) struct Worker<'a> {
    reporter: &'a Reporter<(), BuilderMessage>,
    shared: &'a SharedState,
    trials: Trials,
    /// The sources of the version that was built last for the second side of a wipe (a comparison of two versions on one
    /// frame).
    other_version: Sources,
    /// The kernel sources that were saved last.
    newest: Sources,
}

impl<'a> Worker<'a> {
    /// Creates the worker without a context; `kernel_timeout` is the user's timeout for a step of the validation of edited
    /// kernels.
    pub(super) fn new(
        reporter: &'a Reporter<(), BuilderMessage>,
        shared: &'a SharedState,
        kernel_timeout: Option<Duration>,
    ) -> Self {
        let trials = Trials::new(kernel_timeout);
        Self { reporter, shared, trials, other_version: Sources::default(), newest: shared.sources.get() }
    }

    /// Runs the builder's thread: handles requests until their channel is closed. If `list` is true, lists the devices first.
    pub(super) fn run(mut self, list: bool, requests: &Receiver<Request>) {
        self.shared.state.lock().texts.first.get_or_insert_with(|| self.newest.clone());
        if list && self.send(BuilderMessage::Devices(list_devices())).is_err() {
            return;
        }
        let mut context: Option<Context> = None;
        loop {
            // Nothing is left to build or check.
            let is_idle = |of: &Context| {
                let has_variant = !of.pending.is_empty() || !of.members.is_empty();
                !has_variant && !of.corrector && of.conversions.later.is_empty()
            };
            let request = if context.as_ref().is_none_or(is_idle) {
                // A child process is started now, so that the next save of an edited kernel need not wait for it.
                let is_edited = named_folder().is_some() || self.shared.state.lock().version > 0;
                if let Some(context) = context.as_ref().filter(|_| is_edited) {
                    self.trials.make_ready(&context.cl);
                }
                self.shared.state.lock().busy = None;
                trim_memory();
                requests.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                requests.try_recv()
            };
            if self.reporter.is_cancelled() {
                return;
            }
            {
                let mut state = self.shared.state.lock();
                let at = context.as_ref().map_or(0, |context| context.number);
                (state.at, state.busy) = (at, Some(Instant::now()));
            }
            let name = context.as_ref().map(|context| context.cl.device.info.name.clone());
            let _watched = name.map(|name| watch::on_compiler(&name, "programs are built"));
            let done = match (request, &mut context) {
                (Ok(Request::Start(start)), _) => {
                    // If the folder of kernels has appeared meanwhile, programs that are requested before the next `Validate`
                    // would otherwise fail for good.
                    self.newest = self.shared.sources.get();
                    let Start { number, cl, to_texture, variants: pending, corrector } = start;
                    let cl = cl.with_sources(self.newest.clone()).with_kept_binaries();
                    let conversions = Conversions::new(&cl);
                    let members = VecDeque::new();
                    context =
                        Some(Context { number, cl, to_texture, pending, members, corrector, conversions });
                    Ok(())
                }
                (Ok(request), Some(context)) => self.handle(context, request),
                (Err(TryRecvError::Empty), Some(context)) => self.build_next(context),
                (Err(TryRecvError::Disconnected), _) => Err(WindowClosed),
                (_, None) => Ok(()),
            };
            if done.is_err() {
                return;
            }
        }
    }

    /// Handles a request that concerns the current context.
    fn handle(&mut self, context: &mut Context, request: Request) -> SendResult {
        let part = match request {
            // This request concerns no context: `run` creates one.
            Request::Start(_) => None,
            Request::Need(Need::Conversion(conversion)) => Some(self.convert(context, conversion)),
            Request::Need(Need::Check(check)) => {
                context.conversions.later.push_back(check);
                None
            }
            Request::Need(Need::Trial(case)) => {
                // The trial runs the kernels that are in use.
                let sources = match case.version {
                    None => self.sources(Subject::Variant(case.variant)),
                    Some(_) => self.other_version.clone(),
                };
                let cl = context.cl.with_sources(sources);
                let tried = try_case(&mut self.trials, &cl, &case, context.to_texture).and_then(accept);
                let result = tried.clone().map(drop);
                let record = move |pipeline: &mut Pipeline| pipeline.trials.record(case, result);
                Some(Part::new(News::Tried(case, tried), record))
            }
            Request::Need(Need::Scopes(size)) => {
                let scopes = Scopes::build(&context.cl, size);
                Some(Part::new(News::Installed, |pipeline| pipeline.meters.scopes = Some(scopes)))
            }
            Request::Need(Need::Comparer) => {
                let comparer = Comparer::new_compiled(&context.cl, context.to_texture);
                Some(Part::new(News::Installed, |pipeline| pipeline.meters.comparer = Some(comparer)))
            }
            Request::Member { version, size } => {
                context.members.push_back((version, size));
                None
            }
            Request::Again(variant) => {
                self.trials.forget();
                context.pending.retain(|id| *id != variant);
                context.pending.push(variant);
                None
            }
            Request::Validate(request) if request.is_second_side => {
                let cl = context.cl.with_sources(request.sources.clone());
                let variant = request.variants.first();
                let part = variant.map(|variant| self.validator(&cl, &request, context).variant(*variant));
                if part.as_ref().is_some_and(Part::has_passed) {
                    self.other_version = request.sources;
                }
                part
            }
            Request::Validate(request) => {
                self.newest = request.sources.clone();
                context.cl = context.cl.with_sources(request.sources.clone());
                return self.validate(context, &request);
            }
            Request::MachineCode { version, sources, variant, pictures } => {
                let cl = context.cl.with_sources(sources);
                let code = machine_code::disassemble(&cl, variant, &pictures);
                Some(News::MachineCode(version, variant, code).into())
            }
        };
        self.send_part(context.number, part)
    }

    /// Does one piece of the pending work. The order is: the preferred variant, the other filters of the stack, other variants, the
    /// colour correction, checks of conversions.
    fn build_next(&mut self, context: &mut Context) -> SendResult {
        let wanted = self.shared.state.lock().wanted;
        if !context.pending.contains(&wanted)
            && let Some((version, size)) = context.members.pop_front()
        {
            let part = self.build_member(version, size, context);
            return self.send_part(context.number, part);
        }
        if let Some(id) = take_next(&mut context.pending, wanted) {
            let sent = self.build_variant(id, context);
            // Once for each context, after the variant that the window waits for. If it fails, times stay uncalibrated.
            opencl::clock::calibrate(&context.cl);
            return sent;
        }
        let part = match std::mem::take(&mut context.corrector) {
            true => {
                let src = bytes(rgba_bytes(TINY_SIZE));
                match self.trials.run(&context.cl, Target::Correct, &tiny_case(&src)) {
                    Ok(_) => conversions::corrector(&context.cl),
                    Err(error) => Some(conversions::no_corrector(error)),
                }
            }
            false => self.conversions(context).check_next(),
        };
        self.send_part(context.number, part)
    }

    /// Runs a trial of a variant's kernels in the child process if they were edited, builds the variant, and sends the variant
    /// or the error to the window. For a variant that filters planes, also builds the conversion of the most common layout of
    /// planes, so that the movie need not wait for it.
    fn build_variant(&mut self, id: VariantId, context: &mut Context) -> SendResult {
        let sources = self.sources(Subject::Variant(id));
        let (cl, to_image) = (context.cl.with_sources(sources), context.to_texture);
        let planes = id.reads_planes().then(|| Layout::planar_420(16, 16, false));
        let size = planes.map_or(TINY_SIZE, |planes| (planes.width, planes.height));
        let case =
            TrialCase { variant: id, version: None, size, settings: id.trial_settings(), layout: planes };
        let tried = try_case(&mut self.trials, &cl, &case, to_image);
        if let Ok(Some(_)) = tried {
            let require = move |pipeline: &mut Pipeline| pipeline.trials.note_change((id, None));
            self.send_part(context.number, Part::new(News::Installed, require))?;
        }
        let tried = tried.and_then(accept);
        let filtered = planes.and_then(|layout| id.output_layout(layout));
        if let (Some(layout), Ok(_)) = (filtered, &tried) {
            let storage = if to_image { Storage::Image } else { Storage::Buffer };
            let part = self.convert(context, Conversion { layout, storage });
            // An error is reported when a movie needs the conversion.
            if !matches!(part.news, News::NoConversion(_)) {
                self.send_part(context.number, part)?;
            }
        }
        let part = match tried.and_then(|_| BuiltVariant::build_for(&cl, id, to_image)) {
            Ok(built) => Part::new(News::Variant(id, Ok(())), |pipeline| pipeline.variants.add(built)),
            Err(error) if is_device_failure(&error) => {
                let what = format!("'{id}' could not be tried on '{}'.", cl.device.info.name);
                let why = format!("{} {}", error.what, error.why);
                News::Variant(id, Err(Error { what, why, hint: String::new(), ..error })).into()
            }
            Err(error) => News::Variant(id, Err(error)).into(),
        };
        self.send_part(context.number, part)
    }

    /// Runs a trial of the kernels of a filter in the stack on a picture of this size if they were edited, and builds the variant from
    /// these sources from now on if they may run. Returns the message with the variant or the error.
    fn build_member(&mut self, version: MemberVersion, size: Option<(u32, u32)>, context: &Context) -> Part {
        let MemberVersion { variant, settings, ref sources } = version;
        if variant.reads_planes() {
            return News::Member(version, Err(engine::not_in_a_stack(variant))).into();
        }
        // The cached results were found with other sources.
        self.trials.forget();
        let (cl, to_image) = (context.cl.with_sources(sources.clone()), context.to_texture);
        let size = size.unwrap_or(TINY_SIZE);
        let case = TrialCase { variant, version: None, size, settings, layout: None };
        let tried = try_case(&mut self.trials, &cl, &case, to_image);
        let is_changed = !matches!(tried, Ok(None));
        let built = tried.and_then(accept).and_then(|_| BuiltVariant::build_for(&cl, variant, to_image));
        match built {
            Ok(built) => {
                let (subject, sources) = (Subject::Variant(variant), sources.clone());
                self.shared.state.lock().texts.built_from.insert(subject, sources);
                Part::new(News::Member(version, Ok(())), move |pipeline| {
                    pipeline.variants.add(built);
                    pipeline.trials.record_passed(case, is_changed);
                })
            }
            Err(error) => News::Member(version, Err(error)).into(),
        }
    }

    /// Runs a trial of a conversion's kernels in the child process if they were edited, then builds the conversion and verifies
    /// its output. Returns the message with the program or the error.
    fn convert(&mut self, context: &mut Context, conversion: Conversion) -> Part {
        let cl = context.cl.with_sources(self.sources(Subject::Conversion));
        let layout = conversion.layout;
        let block = bytes(layout.bytes());
        let case = Case { size: (layout.width, layout.height), ..tiny_case(&block) };
        match self.trials.run(&cl, Target::Convert(conversion), &case) {
            Ok(_) => self.conversions(context).conversion(conversion),
            Err(error) => conversions::no_conversion(conversion, error),
        }
    }

    /// Returns the kernel sources from which a variant or the conversions are to be built now.
    fn sources(&self, subject: Subject) -> Sources {
        self.shared.state.lock().texts.sources(subject, &self.newest)
    }

    /// Builds a variant or the conversions from the sources of this request from now on, since its kernels have passed
    /// validation.
    fn note_passed(&self, subject: Subject, request: &VersionRequest) {
        self.shared.state.lock().texts.built_from.insert(subject, request.sources.clone());
    }

    /// Returns the context's conversions, after making them compile from the sources that passed validation last.
    fn conversions<'c>(&self, context: &'c mut Context) -> &'c mut Conversions {
        context.conversions.compile_from(self.sources(Subject::Conversion));
        &mut context.conversions
    }

    /// Creates the validator of this request's version of the edited kernels.
    fn validator<'v>(
        &'v mut self,
        cl: &'v ClContext,
        request: &'v VersionRequest,
        context: &Context,
    ) -> Validator<'v> {
        Validator { trials: &mut self.trials, cl, request, to_texture: context.to_texture }
    }

    /// Validates the requested variants in a version of the edited kernels, the preferred variant first, and then the requested
    /// conversions. Stops as soon as there is a newer version.
    fn validate(&mut self, context: &mut Context, request: &VersionRequest) -> SendResult {
        let (cl, mut may_run, mut variants) = (context.cl.clone(), true, request.variants.clone());
        loop {
            // The user may have chosen another variant meanwhile.
            let wanted = self.shared.state.lock().wanted;
            let Some(variant) = take_next(&mut variants, wanted) else { break };
            if self.reporter.is_cancelled() {
                return Err(WindowClosed);
            }
            {
                let mut state = self.shared.state.lock();
                if state.version != request.version {
                    may_run = false;
                    break;
                }
                state.busy = Some(Instant::now());
            }
            let part = self.validator(&cl, request, context).variant(variant);
            let passed = part.has_passed();
            may_run &= passed;
            if passed {
                self.note_passed(Subject::Variant(variant), request);
            }
            // If there were no earlier sources, the refused kernels would be built once more.
            if passed || self.shared.state.lock().texts.appeared_late() {
                let waits = context.pending.contains(&variant);
                context.pending.retain(|id| *id != variant);
                // The window shows a variant as being built until it gets the result of a build.
                if let (true, News::Validated(Validated { validation: Validation::Refused(error), .. })) =
                    (waits, &part.news)
                {
                    // It concerns these kernels, whatever the driver says: the device has not failed.
                    let error = Error { kind: base::error::ErrorKind::Other, ..error.clone() };
                    let failed = News::Variant(variant, Err(error));
                    self.send_part(context.number, Part::from(failed))?;
                }
            }
            self.send_part(context.number, part)?;
            if passed && variant == wanted {
                // Further work, even a new child process, would delay its first picture.
                let waits =
                    |state: &mut State| state.version == request.version && state.shown != request.version;
                let mut state = self.shared.state.lock();
                state.busy = None;
                self.shared.changed.wait_while_for(&mut state, waits, MAX_SCREEN_WAIT);
            }
        }
        if may_run && !request.variants.is_empty() {
            // A later search may make `auto` use a changed variant.
            self.note_passed(Subject::Variant(VariantId::auto()), request);
        }
        if request.conversions.is_empty() || self.shared.state.lock().version != request.version {
            return Ok(());
        }
        self.shared.state.lock().busy = Some(Instant::now());
        let validated =
            |validation| News::Validated(Validated::new(request, Subject::Conversion, validation));
        let part = match self.validator(&cl, request, context).conversions() {
            Ok((report, made)) => {
                let differ = report.is_some();
                self.note_passed(Subject::Conversion, request);
                context.conversions.replace(&made, differ, request.sources.clone());
                Part::new(validated(report.into()), move |pipeline| {
                    pipeline.conversions.replace_all(made, differ);
                })
            }
            Err(error) => validated(Validation::Refused(error)).into(),
        };
        self.send_part(context.number, part)
    }

    /// Sends a result for the context with this number to the window; does nothing if the result is `None`.
    fn send_part(&self, number: u64, part: impl Into<Option<Part>>) -> SendResult {
        part.into().map_or(Ok(()), |part| self.send(BuilderMessage::For(number, part)))
    }

    fn send(&self, message: BuilderMessage) -> SendResult {
        self.reporter.report(message).then_some(()).ok_or(WindowClosed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn the_wanted_variant_comes_next_and_all_others_in_their_order() {
        let mut left = vec![named("naive"), named("flat"), named("fused"), VariantId::auto()];
        let mut next = |wanted| take_next(&mut left, wanted);
        assert_eq!(next(named("fused")), Some(named("fused")));
        assert_eq!(next(named("fused")), Some(named("naive")), "it is done already");
        assert_eq!(next(VariantId::auto()), Some(VariantId::auto()));
        assert_eq!([next(VariantId::OFF), next(VariantId::OFF)], [Some(named("flat")), None]);
    }
}
