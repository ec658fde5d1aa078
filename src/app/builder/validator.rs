//! Validation of edited kernels: trials run them in a child process, on the frame on the screen and on test pictures. Kernels
//! that terminate and do not write outside their memory are built for the window, even if their output differs from the
//! reference.

use std::borrow::Cow;

use super::*;
use base::memory::zeroed;
use base::timing::log::{self, Event};
use box_filter::Settings;
use box_filter::color_kernels::{Conversion, ConvertProgram, Converter};
use box_filter::color_test_pictures;
use box_filter::opencl::BuiltVariant;
use box_filter::planar::planar_quick;
use box_filter::trial::{Case, LaunchMode, Source, Target, TrialReport, Trials};
use opencl::program::CompiledProgram;
use video::Frame;
use video::color::planes::pack;

/// A request to validate the kernels of one version of the edited kernels, and to build those that may run.
pub(crate) struct VersionRequest {
    /// The number of the version of the edited kernels.
    pub version: u64,
    pub sources: Sources,
    /// The variants whose kernels are to be validated, in this order.
    pub variants: Vec<VariantId>,
    /// The YUV to RGBA conversions whose kernels are to be validated: those of the frame's planes or of the filtered planes.
    pub conversions: Vec<Conversion>,
    /// The frame on the screen, on which trials run the kernels.
    pub frame: Arc<Frame>,
    /// The values of the parameters of each variant's filter.
    pub settings: HashMap<VariantId, Settings>,
    /// The radius in pixels with which planes are filtered for conversions.
    pub box_radius: u32,
    /// True if the kernels are for the second side of a wipe between two versions.
    pub is_second_side: bool,
}

/// A compiled program, and the YUV to RGBA conversion for which it was built.
pub(super) type BuiltConversion = (ConvertProgram, Conversion);

/// Returns the differences between the output of a trial of edited kernels and the reference. Returns `None` if the output is
/// exact, or if there is no report because the kernels needed no trial.
///
/// # Errors
/// If the kernels write outside their memory.
pub(super) fn accept(tried: Option<TrialReport>) -> Result<Option<MismatchReport>> {
    match tried.and_then(|tried| tried.report) {
        Some(report) if report.wrote_elsewhere() => Err(Error::new(
            "Changed kernels write outside the picture.",
            format!("{report}."),
            "Correct the kernels; in this process they could damage anything.",
        )),
        report => Ok(report),
    }
}

/// The context, the kernels and the child process with which one version of the edited kernels is validated.
pub(super) struct Validator<'a> {
    pub trials: &'a mut Trials,
    /// The OpenCL context, which compiles from the version's sources.
    pub cl: &'a ClContext,
    pub request: &'a VersionRequest,
    /// True if the context shares textures with OpenGL.
    pub to_texture: bool,
}

impl Validator<'_> {
    /// Validates the kernels of a variant, and builds the variant if its kernels may run.
    pub(super) fn variant(&mut self, variant: VariantId) -> Part {
        let (began, cl, request) = (Instant::now(), self.cl, self.request);
        // The cached results were found with other sources.
        self.trials.forget();
        let picture = &request.frame.picture;
        let size = (picture.width(), picture.height());
        let layout = Converter::supports(picture).filter(|_| variant.reads_planes());
        let version = request.is_second_side.then_some(request.version);
        let settings = request.settings.get(&variant).copied();
        let settings = settings.unwrap_or_else(|| variant.filter().defaults());
        let case = TrialCase { variant, version, size, settings, layout };
        let (tried, compiled) = self.try_beside_compiler(&case);
        let is_changed = !matches!(tried, Ok(None));
        let warnings: Vec<String> = compiled.iter().map(|program| program.warnings(cl)).collect();
        let made = tried.and_then(accept).and_then(|report| {
            let began = Instant::now();
            let made = BuiltVariant::build_for(&cl.with_compiled(compiled), variant, self.to_texture)?;
            log::record(|| [Event::since("compile", began).with(variant.name)]);
            Ok((report, made))
        });
        self.log(began, variant.name);
        let validated = |validation| Validated::new(request, Subject::Variant(variant), validation);
        match made {
            Ok((report, mut made)) => {
                made.version = version;
                let warnings = if is_changed { warnings.concat() } else { String::new() };
                let validated = Validated { warnings, ..validated(report.into()) };
                Part::new(News::Validated(validated), move |pipeline| {
                    pipeline.variants.add(made);
                    pipeline.trials.record_passed(case, is_changed);
                })
            }
            Err(error) => News::Validated(validated(Validation::Refused(error))).into(),
        }
    }

    /// Validates the kernels of the requested YUV to RGBA conversions, and builds the conversions if all may run. Returns the
    /// differences between the output of the first inexact conversion and the reference (`None` if all are exact), and the
    /// programs.
    ///
    /// # Errors
    /// The reason why one of them must not be used.
    pub(super) fn conversions(&mut self) -> Result<(Option<MismatchReport>, Vec<BuiltConversion>)> {
        let began = Instant::now();
        self.trials.forget();
        let conversions = self.request.conversions.iter();
        let all: Result<Vec<_>> = conversions.map(|conversion| self.conversion(*conversion)).collect();
        self.log(began, "the conversion");
        let (reports, made): (Vec<_>, Vec<_>) = all?.into_iter().unzip();
        Ok((reports.into_iter().flatten().next(), made))
    }

    /// Runs a trial of one conversion in the sandbox, and builds the conversion. Returns the differences between its output and
    /// the reference (`None` if it is exact), and the program.
    fn conversion(&mut self, conversion: Conversion) -> Result<(Option<MismatchReport>, BuiltConversion)> {
        let (layout, picture) = (&conversion.layout, &self.request.frame.picture);
        // The frame's planes if they have this layout, the frame's planes filtered if those have it, otherwise a test pattern.
        let of = Converter::supports(picture);
        let block = match of.filter(|own| own == layout || own.filtered() == *layout) {
            None => color_test_pictures::block(layout, color_test_pictures::Pattern::Mixed, 1)?,
            Some(own) => {
                let mut block = zeroed(own.bytes())?;
                pack(picture, &own, &mut block)?;
                if own == *layout { block } else { planar_quick(&own, &block, self.request.box_radius)? }
            }
        };
        let (size, launch) = ((layout.width, layout.height), LaunchMode::Extremes);
        let case = Case { src: Source::Bytes(&block), size, settings: 0.into(), launch };
        let report = accept(self.trials.run(self.cl, Target::Convert(conversion), &case)?)?;
        let began = Instant::now();
        let program = ConvertProgram::build(self.cl, &conversion)?;
        log::record(|| [Event::since("compile", began).with("the conversion")]);
        Ok((report, (program, conversion)))
    }

    /// Runs a trial of a variant on the frame in the child process. As soon as the child process has compiled the kernels,
    /// another thread compiles them in this process too, while the child process runs them. Returns the trial's report and the
    /// compiled programs.
    fn try_beside_compiler(
        &mut self,
        case: &TrialCase,
    ) -> (Result<Option<TrialReport>>, Vec<CompiledProgram>) {
        let (compiled, is_compiled) = channel();
        self.trials.child.compiled = Some(compiled);
        let (cl, variant, to_texture) = (self.cl, case.variant, self.to_texture);
        let compile = move || {
            is_compiled.recv().ok()?;
            Some(BuiltVariant::precompile(cl, variant, to_texture))
        };
        std::thread::scope(|scope| {
            // If the thread cannot be started, the kernels are compiled later.
            let compiler =
                std::thread::Builder::new().name("compiler".into()).spawn_scoped(scope, compile).ok();
            let tried = self.try_frame(case);
            // If the compiler's thread still waits, it stops waiting.
            self.trials.child.compiled = None;
            let compiled = compiler.and_then(|compiler| compiler.join().ok()).flatten();
            (tried, compiled.unwrap_or_default())
        })
    }

    /// Runs a trial of a variant on the frame in the child process. Returns `None` if the variant's kernels are the built-in
    /// ones, which need no trial.
    fn try_frame(&mut self, of: &TrialCase) -> Result<Option<TrialReport>> {
        let TrialCase { variant: id, size, settings, layout, .. } = *of;
        let frame = &self.request.frame;
        let target = Target::Variant { id, layout, to_image: self.to_texture, has_defaults: false };
        let case = |src| Case { src, size, settings, launch: LaunchMode::Extremes };
        let pictures = || match &layout {
            Some(layout) => frame.to_planes(layout, id.frames()).map(Cow::Owned),
            None => frame.to_rgba(id.frames()).map(Cow::Owned),
        };
        let [bytes, _] = id.extent_of(layout, size, settings).bytes();
        self.trials.run(self.cl, target, &case(Source::Later(bytes, &pictures)))
    }

    fn log(&self, began: Instant, of: &str) {
        let version = self.request.version;
        log::record(|| [Event::since("validate", began).with(format!("version {version} of {of}"))]);
    }
}
