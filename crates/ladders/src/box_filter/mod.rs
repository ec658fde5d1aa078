//! The box filter, or the filter of a folder, as a [`Ladder`] for the benchmark. A case is a picture size and a radius, or other
//! settings; it is timed on frames of a movie, or on noise while tuning. A case also has the kind of memory that holds the pictures (buffer, image, planes, …)
//! and the division of the rows into bands; only checks use more than one division.

mod cases;
mod variants;
pub mod whole_frames;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use serde_json::json;

use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::memory::{rgba_bytes, zeroed};
use base::timing::ms_since;
use base::verify::{self, Checked};
use box_filter::guarded::{GuardedInput, GuardedPicture};
use box_filter::native::{Input, Threads};
use box_filter::pictures::Pattern;
use box_filter::planar::{planar_quick, planes_of, suite};
use box_filter::reference::quick;
use box_filter::shaders::Shaders;
use box_filter::trial::{LaunchMode, Source, Target, Trials};
use box_filter::tuned::{self, SizeClass};
use box_filter::{
    Bands, BuiltVariant, Code, Config, Extent, Filter, Plan, Scratch, Settings, VariantId, filter_once, trial,
};
use compute::sample::{Sample, sample};
use compute::variant::Variant;
use compute::work::KernelWork;
use ladder::outcome::VariantResult;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use ladder::tune;
use opencl::cl::{ClContext, Device, failed};
use opencl::kernel::unique_number;
use opencl::memory::{Picture, Storage};
use opencl::sources::Sources;
use video::color::Layout;
use whole_frames::{BuiltFilter, EngineFrames};

pub use cases::Case;
use cases::{CHECK_SIZES, Kind, OTHER_RADIUS_MS, PlanesOutput, RADII_SIZES, SMALL_PIXELS};
pub use variants::{NonClVariant, variant, variants};

/// A configuration of the box filter that a search for the fastest one has timed or failed to build, with its result.
pub type Trial = tune::Trial<Code>;

/// The result of a search for the fastest variant and parameters of the box filter.
pub type Search = tune::Search<Code>;

/// The name of the input that a benchmark times, frames of the movie.
const MOVIE_INPUT: &str = "the movie";

/// The key of a check picture: its pattern, its size, the layout of its planes, and the settings of the filter.
type PictureKey = (Pattern, (u32, u32), Option<Layout>, Settings);

/// A picture of a check, and the expected output for it.
type CheckPicture = (Vec<u8>, Vec<u8>);
/// The index of a frame and settings, and the expected output for them.
type ExpectedFrame = ((usize, Settings), Vec<u8>);

/// A filter as a ladder for the benchmark, on pictures of one size.
#[derive(Default)]
pub struct BoxFilter<'a> {
    /// RGBA frames; each round uses the next one. Empty while tuning, which uses noise.
    frames: &'a [Vec<u8>],
    size: (u32, u32),
    /// The filter of a folder; `None` for the box filter.
    filter: Cell<Option<&'static Filter>>,
    /// The engine that filters a frame as the window does; `None` while tuning.
    engine: Option<RefCell<&'a mut dyn EngineFrames>>,
    /// True to check variants that can write images also with output into an image, as the window runs them on shared
    /// textures.
    pub into_images: bool,
    /// Check pictures with their expected output, shared by all variants and parameters.
    pictures: RefCell<HashMap<PictureKey, Rc<CheckPicture>>>,
    /// The expected output for the last frame that was compared, shared by all kinds of memory: the index of the frame and the
    /// settings, and the output.
    expected_frame: RefCell<Option<ExpectedFrame>>,
    /// The sandbox in which the reference of a folder's filter runs; `None` in the sandbox itself.
    trials: Option<RefCell<Trials>>,
}

/// A variant that is ready to run, or the peak kernel, which only copies the picture.
pub enum Built {
    /// Kernels: the context, the variant, and the variant built to write images; `None` if it is not checked with them.
    Kernels(Box<ClContext>, Box<BuiltVariant>, Option<Box<BuiltVariant>>),
    /// Shaders, and the number of the input picture that they have loaded (see [`Buffers::input`]).
    Shaders(Rc<dyn Shaders>, Cell<u64>),
    /// The filter in Rust, on this number of threads.
    Threads(Threads),
    /// A copy on the device, as the peak: of planes if true, of RGBA pictures otherwise.
    Copy(bool),
}

/// The memory for the input and the output of a case.
pub struct Buffers {
    case: Case,
    /// The number of bytes of canaries (known values that detect writes out of bounds) on each side of the input and the
    /// output.
    guard: usize,
    /// The input without canaries, and a number that identifies it.
    input: (Vec<u8>, u64),
    /// The output of variants that run on the host, with canaries. Images and textures have no canaries of their own; for
    /// these, this memory supplies the canaries.
    host: Vec<u8>,
    device: Option<DeviceBuffers>,
}

/// Memory on the device for the input and the output of a case, with the plans that use it.
struct DeviceBuffers {
    cl: ClContext,
    from: GuardedInput,
    to: GuardedPicture,
    scratch: Scratch,
    /// The plans created so far, each with the number of its variant ([`BuiltVariant::number`]).
    plans: Vec<(u64, Plan)>,
}

impl DeviceBuffers {
    /// Allocates the memory of a case, with `guard` bytes of canaries on each side of buffers.
    fn new(cl: &ClContext, case: &Case, guard: usize) -> Result<Self> {
        let storages = match case.kind {
            Kind::Image => [Storage::Image, Storage::Image],
            Kind::IntoImage => [Storage::Buffer, Storage::Image],
            Kind::FromImage => [Storage::Image, Storage::Buffer],
            Kind::Planes(_) if case.planes_output == PlanesOutput::RgbaImage => {
                [Storage::Buffer, Storage::Image]
            }
            _ => [Storage::Buffer, Storage::Buffer],
        };
        let (from, to) = GuardedInput::with_output(cl, storages, &case.whole(), guard)?;
        Ok(Self { cl: cl.clone(), from, to, scratch: Scratch::new(cl), plans: Vec::new() })
    }

    /// Returns the plan of a variant for these buffers; creates it at the first call.
    fn plan(&mut self, variant: &BuiltVariant, case: &Case) -> Result<&Plan> {
        let Self { from, to, scratch, plans, .. } = self;
        let at = plans.iter().position(|(number, _)| *number == variant.number);
        let at = match at {
            Some(at) => at,
            None => {
                let plan = variant.plan((&from.pictures(), &to.picture), scratch, case.whole())?;
                plans.push((variant.number, plan));
                plans.len() - 1
            }
        };
        Ok(&plans[at].1)
    }
}

/// Returns the error for a variant that cannot run in this kind of buffers.
fn unusable_memory() -> Error {
    Error::new("The picture could not be filtered.", "It is not where the variant filters.", "")
}

impl Buffers {
    /// Uploads an input, between canaries if the source is a buffer.
    fn set_input(&mut self, input: Vec<u8>) -> Result<()> {
        if let Some(DeviceBuffers { cl, from, .. }) = &self.device {
            from.write(&cl.queue, &from.between_canaries(&input))?;
        }
        self.input = (input, unique_number());
        Ok(())
    }

    /// Returns the memory on the device, or an error if there is none.
    fn device(&mut self) -> Result<&mut DeviceBuffers> {
        self.device.as_mut().ok_or_else(unusable_memory)
    }

    /// Returns the byte range of the output between its canaries.
    fn output_range(&self) -> Range<usize> {
        self.guard..self.guard + self.case.bytes()[1]
    }
}

impl<'a> BoxFilter<'a> {
    /// Creates a benchmark on `frames` of a movie: at least one, each with `size` (width and height) in RGBA. Before a
    /// variant is timed, one of the frames is filtered through `engine` and checked.
    pub fn on_movie(frames: &'a [Vec<u8>], size: (u32, u32), engine: &'a mut dyn EngineFrames) -> Self {
        Self { engine: Some(RefCell::new(engine)), into_images: true, ..Self::on_frames(frames, size) }
    }

    /// Creates a benchmark on `frames` as [`BoxFilter::on_movie`] does, without an engine: variants are checked by the ladder
    /// alone.
    pub fn on_frames(frames: &'a [Vec<u8>], size: (u32, u32)) -> Self {
        Self { frames, ..Self::on_noise(size) }
    }

    /// Creates a benchmark of the selected filter on pictures of noise with this width and height, for tuning.
    pub fn on_noise(size: (u32, u32)) -> Self {
        let filter = Cell::new(Filter::selected());
        Self { size, filter, trials: Some(RefCell::new(Trials::new(None))), ..Self::default() }
    }

    /// Creates a benchmark on noise of any size, for trials of modified kernels.
    pub fn on_trial() -> Self {
        Self { into_images: true, trials: None, ..Self::on_noise((1, 1)) }
    }

    /// Changes the benchmark to this filter, whichever is selected.
    #[must_use]
    pub fn of_filter(self, filter: &'static Filter) -> Self {
        Self { filter: Cell::new(Some(filter).filter(|filter| !filter.is_box())), ..self }
    }

    /// Returns a variant of the filter, which stands for all of them where they do not differ.
    fn any_variant(&self) -> VariantId {
        self.filter.get().map_or(VariantId::OFF, Filter::initial)
    }

    /// Returns the expected output of a case, with the accuracy of the filter.
    fn expected(&self, bytes: Vec<u8>, case: &Case) -> Expected {
        Expected::new(bytes, self.any_variant().elements(&case.whole()))
    }

    /// Returns the check picture of a pattern for a case, and the reference's output for that picture.
    fn picture(&self, pattern: Pattern, case: &Case, cl: Option<&ClContext>) -> Result<Rc<CheckPicture>> {
        let (whole, settings) = (case.whole(), case.settings);
        let of = (pattern, case.size, whole.layout, settings);
        if let Some(known) = self.pictures.borrow().get(&of) {
            return Ok(known.clone());
        }
        let src = pattern.input(&whole);
        let want = self.reference(&src, whole, cl)?;
        let mut pictures = self.pictures.borrow_mut();
        // Large pictures of other settings are not needed again.
        pictures
            .retain(|(_, (width, height), _, other), _| width * height <= SMALL_PIXELS || *other == settings);
        Ok(pictures.entry(of).or_insert_with(|| Rc::new((src, want))).clone())
    }

    /// Returns the reference's output for a picture: the box filter, or the reference of the folder's filter, which runs in the
    /// sandbox. The only variant of a filter without a reference is compared with itself.
    fn reference(&self, src: &[u8], whole: Extent, cl: Option<&ClContext>) -> Result<Vec<u8>> {
        let Extent { width, height, settings, layout, .. } = whole;
        let filter = self.filter.get();
        let variant = filter.and_then(Filter::reference_or_only);
        let Some((variant, cl)) = variant.zip(cl) else {
            let radius = filter.map_or(settings.first(), |filter| filter.radius(settings));
            return match layout {
                Some(layout) => planar_quick(&layout, src, radius),
                None => Ok(quick(src, width as usize, height as usize, radius as usize)),
            };
        };
        let Some(trials) = &self.trials else {
            let built = BuiltVariant::build_as(cl, variant, cl.device.info.kind)?;
            return filter_once(cl, &built, src, whole);
        };
        let target = Target::Variant { id: variant, layout, to_image: false, has_defaults: true };
        let (src, size) = (Source::Bytes(src), (width, height));
        let case = trial::Case { src, size, settings, launch: LaunchMode::Whole };
        let tried = trials.borrow_mut().run(cl, target, &case)?;
        let none = || Error::new("The reference of the filter did not run.", "Its kernels are missing.", "");
        tried.and_then(|tried| tried.picture).ok_or_else(none)
    }

    /// Uploads a frame of the movie, given by its index, as the case's input.
    fn load_frame(&self, buffers: &mut Buffers, index: usize) -> Result<()> {
        self.frames.get(index).ok_or_else(unusable_memory)?;
        // The first frame is repeated before the movie's beginning.
        let back = (0..buffers.case.frames as usize).map(|back| index.saturating_sub(back));
        let frames = back.filter_map(|at| self.frames.get(at).map(Vec::as_slice));
        let mut input = match buffers.case.layout() {
            Some(_) => {
                let mut blocks = Vec::new();
                for frame in frames {
                    let block = planes_of(frame, self.size.0, self.size.1)?.1;
                    // Another copy would leave the caches cold.
                    if blocks.is_empty() {
                        blocks = block
                    } else {
                        blocks.extend(block)
                    }
                    blocks.resize(blocks.len().next_multiple_of(4), 0);
                }
                blocks
            }
            None => frames.collect::<Vec<_>>().concat(),
        };
        input.resize(buffers.case.bytes()[0], 0);
        buffers.set_input(input)
    }

    /// Returns the expected output for the frame that is loaded, given by its index.
    fn expected_of_frame(&self, buffers: &Buffers, index: usize) -> Result<Expected> {
        let (case, input) = (buffers.case, &buffers.input.0);
        let cl = buffers.device.as_ref().map(|device| &device.cl);
        if case.layout().is_some() && self.filter.get().is_none() {
            return Ok(self.expected(self.reference(input, case.whole(), cl)?, &case));
        }
        let (key, mut known) = ((index, case.settings), self.expected_frame.borrow_mut());
        let bytes = match known.as_ref().filter(|(of, _)| *of == key) {
            Some((_, bytes)) => bytes.clone(),
            None => {
                let bytes = self.reference(input, case.whole(), cl)?;
                *known = Some((key, bytes.clone()));
                bytes
            }
        };
        Ok(self.expected(bytes, &case))
    }

    /// Returns the index of the frame that the benchmark's round with this number filters; `None` while tuning, which has no
    /// frames.
    fn frame_of_round(&self, round: u32) -> Option<usize> {
        (round as usize).checked_rem(self.frames.len())
    }

    /// Returns the case with these settings at the benchmark's picture size. It has RGBA buffers, one launch over all rows, and
    /// test pictures of all patterns.
    pub fn case(&self, settings: impl Into<Settings>) -> Case {
        let id = self.any_variant();
        let kind = if id.reads_planes() { Kind::Planes(None) } else { Kind::Buffer };
        let planes_output = PlanesOutput::of(id, Storage::Buffer);
        let frames = id.frames() as u32;
        Case { frames, planes_output, ..Case::new(self.size, settings.into(), kind) }
    }
}

impl BoxFilter<'_> {
    /// The description of the ladder for the benchmark: its name, peaks, inputs and options.
    pub const INFO: LadderInfo = LadderInfo {
        name: "box_filter",
        peaks: &[
            PeakKernel { name: "copy", note: None, computes: false },
            PeakKernel {
                name: "copy of planes",
                note: Some(
                    "planar: the same frames as planes of 4:2:0, with its own reference and its own copy",
                ),
                computes: false,
            },
        ],
        inputs: &Pattern::NAMES,
        options: &["radius"],
        check_budget_ms: Some(250.0),
        checks_parameters: true,
        ..LadderInfo::DEFAULT
    };

    /// The description of the ladder for a folder's filter of planes.
    const PLANES_INFO: LadderInfo = LadderInfo {
        peaks: &[PeakKernel { name: "copy of planes", note: None, computes: false }],
        ..Self::INFO
    };
}

impl Ladder for BoxFilter<'_> {
    type Case = Case;
    type Code = Code;
    type Host = NonClVariant;
    type Built = Built;
    type Buffers = Buffers;

    fn info(&self) -> &LadderInfo {
        if self.any_variant().reads_planes() { &Self::PLANES_INFO } else { &Self::INFO }
    }

    fn variants(&self) -> &'static [Variant<Code, NonClVariant>] {
        variants(self.any_variant().filter())
    }

    fn prepare_trial(&self, sources: &Sources) {
        let read = Filter::of(sources).into_iter().find_map(|(_, filter)| filter.ok());
        self.filter.set(read);
    }

    fn cases(&self, sizes: &Sizes) -> Result<Vec<Case>, String> {
        Ok(sizes.get("radius", &[[7]])?.into_iter().map(|[radius]| self.case(radius)).collect())
    }

    fn describe(&self, case: &Case) -> CaseInfo {
        let Case { size: (width, height), settings, kind, bands, is_other, pictures, .. } = *case;
        let radius = settings.first();
        let pixels = f64::from(width) * f64::from(height);
        let window = f64::from(2 * radius + 1);
        let folder = self.filter.get();
        // A filter of a folder may have no parameters.
        let short = Some(self.any_variant().settings_text(settings)).filter(|text| !text.is_empty());
        let way = match kind {
            Kind::Planes(format) => Some(suite::name(format.unwrap_or(0))),
            Kind::IntoImage => Some("into an image".to_owned()),
            _ => None,
        };
        let class = SizeClass::of(width, height);
        CaseInfo {
            title: match folder {
                None => format!("{width}×{height} · radius {radius}"),
                Some(filter) => {
                    let parts = [format!("{width}×{height}"), filter.name.clone()];
                    parts.into_iter().chain(short.clone()).collect::<Vec<_>>().join(" · ")
                }
            },
            mismatch_label: {
                let place = [Some(format!("{width}×{height}")), short.clone(), Some(bands.name().to_owned())];
                Some(way.iter().cloned().chain(place.into_iter().flatten()).collect::<Vec<_>>().join(", "))
            },
            short,
            check_label: Checked {
                sizes: vec![format!("{width}x{height}")],
                bands: vec![bands.name().to_owned()],
                radii: (is_other && folder.is_none()).then_some(radius).into_iter().collect(),
                ways: way.into_iter().collect(),
                ..Checked::default()
            },
            timed_input: Some(if self.frames.is_empty() { Pattern::Noise.name() } else { MOVIE_INPUT }),
            input_count: pictures,
            max_check_run_ms: match folder {
                // The smallest size checks large radii however slow the machine is.
                None => (is_other && case.size != RADII_SIZES[0]).then_some(OTHER_RADIUS_MS),
                // A tuning result is used at all settings, so their extremes are checked in any case.
                Some(_) => is_other.then_some(f64::INFINITY),
            },
            json: match folder {
                None => json!({ "width": width, "height": height, "radius": radius }),
                Some(filter) => json!({
                    "width": width,
                    "height": height,
                    "filter": filter.name,
                    "settings": filter.settings_map(settings),
                }),
            },
            class: class.as_str(),
            cache_class: Some(tuned::class_of(self.any_variant().filter(), class, radius)),
            uses_tuned: folder.is_some(),
            is_frame: true,
            bytes: case.bytes().map(|bytes| bytes as f64).iter().sum(),
            operations: if folder.is_none() { pixels * window * window } else { 0.0 },
            output: case.bytes()[1],
            // Counted in pictures: source, destination, row sums and expected output in each kind of memory; source and output
            // of a check, before and after it, each with its canaries, on host and device. A frame in the engine as planes and
            // pixels, its expected output, its slot's memory and the device's. The expected output of a frame that is timed. The
            // source for each frame before.
            memory: (36 + 10 * case.frames as usize) * rgba_bytes((width, height)),
        }
    }

    /// Returns the check cases for each kind of memory that the variant supports: small pictures, and one picture of the timed
    /// size that is filtered in bands.
    fn small(&self, built: &Built, timed: &Case) -> Vec<Case> {
        let Case { size, settings, frames, kind, .. } = *timed;
        // Bands as in the window, at the timed size.
        let large =
            Case { bands: Bands::Steps, pictures: Some(1), frames, ..Case::new(size, settings, kind) };
        match built {
            Built::Copy(_) => Vec::new(),
            Built::Shaders(..) => vec![*timed],
            Built::Threads(..) => self.small_cases_on(Kind::Host, timed).chain([*timed]).collect(),
            Built::Kernels(_, variant, _) if variant.id().reads_planes() => self.small_planes(timed, large),
            Built::Kernels(.., into_image) => {
                let mut all: Vec<Case> = self.small_cases_on(kind, timed).collect();
                all.insert(CHECK_SIZES.iter().map(|(_, bands)| bands.len()).sum(), large);
                if into_image.is_some() {
                    all.push(Case { kind: Kind::IntoImage, ..large });
                    all.extend(self.small_cases_on(Kind::IntoImage, timed));
                }
                all
            }
        }
    }

    /// Returns cases of pictures with fewer rows, whose times predict the time of `case`.
    fn smaller(&self, case: &Case) -> Vec<Case> {
        let (width, height) = case.size;
        // A slow kernel takes seconds for a 64th of a large picture.
        let rows = [1, height / 64, height / 8].into_iter().filter(|rows| (1..height).contains(rows));
        match case.kind {
            Kind::Host | Kind::Textures => Vec::new(),
            _ => rows.map(|rows| Case { size: (width, rows), ..*case }).collect(),
        }
    }

    fn supports(&self, device: &Device, code: Option<&Code>, case: &Case) -> Result<(), String> {
        let (width, height) = case.size;
        let id = code.map_or_else(|| Some(self.any_variant().filter().auto()), VariantId::with_code);
        id.map_or(Ok(()), |id| id.supports(&device.info, width, height)).map_err(|e| e.why)
    }

    fn build(&self, part: Part<Code, NonClVariant>) -> Result<Built> {
        match part {
            Part::Host(NonClVariant::Threads(threads)) => Ok(Built::Threads(threads)),
            Part::Host(NonClVariant::Shaders) => {
                let none = || Error::new("There are no shaders.", "Nothing is drawn.", "");
                let shaders = self.engine.as_ref().ok_or_else(none)?.borrow_mut().shaders(self.size)?;
                Ok(Built::Shaders(shaders, Cell::new(0)))
            }
            Part::Peak(_, index) => Ok(Built::Copy(index > 0 || self.any_variant().reads_planes())),
            Part::Kernels(cl, config) => {
                let unknown =
                    || Error::new("There is no variant with these kernels.", config.code().file, "");
                let id = VariantId::with_code(config.code()).ok_or_else(unknown)?;
                let variant = Box::new(BuiltVariant::build_with(cl, id, config)?);
                let has_images = config.code().to_image.is_some() && cl.device.info.image_support;
                let into_image = (has_images && self.into_images)
                    .then(|| BuiltVariant::build_into(cl, id, config, Storage::Image).map(Box::new));
                Ok(Built::Kernels(Box::new(cl.clone()), variant, into_image.transpose()?))
            }
        }
    }

    fn work(&self, config: &Config, device: &DeviceInfo, case: &Case) -> Option<KernelWork> {
        let (code, whole) = (config.code(), Extent { units: device.units, ..case.whole() });
        let work = |pass, rows: Range<u32>| {
            let band = Extent { first: rows.start, rows: rows.end - rows.start, ..whole };
            code.work_of(config, pass, &band)
        };
        let ranges = |pass| case.bands.ranges(whole.height, code.formulas.row_step(config, pass)).into_iter();
        let launches = (0..code.passes.len()).flat_map(|pass| ranges(pass).map(move |rows| work(pass, rows)));
        Some(whole.work(launches.collect::<Option<_>>()?))
    }

    /// Returns the case changed to the kind of memory in which the variant works.
    fn case_of(&self, built: &Built, case: &Case) -> Case {
        let kind = match built {
            Built::Kernels(_, variant, _) if variant.id().reads_planes() => {
                let planes_output = PlanesOutput::of(variant.id(), variant.output);
                return Case { kind: Kind::Planes(None), planes_output, ..*case };
            }
            Built::Kernels(_, variant, _) => match (variant.input, variant.output) {
                (Storage::Image, Storage::Image) => Kind::Image,
                (Storage::Image, Storage::Buffer) => Kind::FromImage,
                (Storage::Buffer, Storage::Image) => Kind::IntoImage,
                (Storage::Buffer, Storage::Buffer) => Kind::Buffer,
            },
            Built::Copy(true) => Kind::Planes(None),
            Built::Copy(false) => Kind::Buffer,
            Built::Shaders(..) => Kind::Textures,
            Built::Threads(..) => Kind::Host,
        };
        Case { kind, ..*case }
    }

    fn allocate(&self, cl: Option<&ClContext>, case: &Case, guard: usize) -> Result<Buffers> {
        let cl = cl.filter(|cl| {
            !matches!(case.kind, Kind::Host | Kind::Textures) && self.supports(&cl.device, None, case).is_ok()
        });
        let device = cl.map(|cl| DeviceBuffers::new(cl, case, guard)).transpose()?;
        let host = zeroed(case.bytes()[1] + 2 * guard)?;
        Ok(Buffers { case: *case, guard, input: (Vec::new(), 0), host, device })
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        let case = buffers.case;
        let Some(pattern) = Pattern::ALL.into_iter().find(|pattern| pattern.name() == input) else {
            self.load_frame(buffers, 0)?;
            return self.expected_of_frame(buffers, 0);
        };
        let cl = buffers.device.as_ref().map(|device| &device.cl);
        let (input, bytes) = self.picture(pattern, &case, cl)?.as_ref().clone();
        buffers.set_input(input)?;
        Ok(self.expected(bytes, &case))
    }

    fn load_round(&self, buffers: &mut Buffers, round: u32) -> Result<()> {
        self.frame_of_round(round).map_or(Ok(()), |index| self.load_frame(buffers, index))
    }

    fn expected_round(&self, buffers: &Buffers, round: u32) -> Result<Option<Expected>> {
        let index = self.frame_of_round(round).filter(|_| self.frames.len() > 1);
        index.map(|index| self.expected_of_frame(buffers, index)).transpose()
    }

    fn write(&self, built: &Built, buffers: &mut Buffers, bytes: &[u8]) -> Result<()> {
        buffers.host.copy_from_slice(bytes);
        if let Built::Shaders(shaders, _) = built {
            shaders.poison(&bytes[buffers.output_range()]);
        }
        let case = buffers.case;
        let Some(device) = &mut buffers.device else { return Ok(()) };
        // The memory between the steps is allocated with the plan, and poisoned below.
        if let Built::Kernels(_, variant, _) = built
            && case.kind != Kind::IntoImage
        {
            device.plan(variant, &case)?;
        }
        let DeviceBuffers { cl, to, scratch, .. } = device;
        to.write(&cl.queue, bytes)?;
        scratch.poison()
    }

    fn read(&self, built: &Built, buffers: &Buffers) -> Result<Output> {
        let mut bytes = buffers.host.clone();
        if let Built::Shaders(shaders, _) = built {
            bytes[buffers.output_range()].copy_from_slice(&shaders.read()?);
        }
        // On the host the input is read-only.
        let Some(DeviceBuffers { cl, from, to, .. }) = &buffers.device else {
            return Ok(Output { bytes, changed: 0 });
        };
        to.read(&cl.queue, &buffers.host, &mut bytes)?;
        let before = from.between_canaries(&buffers.input.0);
        let mut after = zeroed(before.len())?;
        from.read(&cl.queue, &before, &mut after)?;
        Ok(Output { bytes, changed: verify::count_changed(&before, &after) })
    }

    fn run(&self, built: &Built, buffers: &mut Buffers) -> Result<Sample> {
        let case = buffers.case;
        match built {
            Built::Kernels(_, variant, into_image) => {
                let variant = match into_image {
                    Some(into_image) if case.kind == Kind::IntoImage => into_image,
                    _ => variant,
                };
                let device = buffers.device()?;
                let queue = device.cl.queue.clone();
                let plan = device.plan(variant, &case)?;
                sample(&queue, |queue| {
                    let bands = |pass| {
                        let ranges = case.bands.ranges(case.size.1, plan.row_step(pass)).into_iter();
                        ranges.map(move |rows| plan.enqueue(queue, pass, rows))
                    };
                    (0..plan.passes()).flat_map(bands).collect()
                })
            }
            Built::Shaders(shaders, loaded) => {
                if loaded.replace(buffers.input.1) != buffers.input.1 {
                    shaders.load(&buffers.input.0);
                }
                shaders.run(case.settings.first())
            }
            Built::Threads(threads) => {
                let output_range = buffers.output_range();
                let input =
                    Input { pixels: &buffers.input.0, size: case.size, radius: case.settings.first() };
                let begin = Instant::now();
                input.filter(&mut buffers.host[output_range], *threads)?;
                Ok(Sample::on_host(ms_since(begin)))
            }
            Built::Copy(_) => {
                let DeviceBuffers { cl, from, to, .. } = buffers.device()?;
                let ([Picture::Buffer(from), ..], Picture::Buffer(to)) = (&from.pictures()[..], &to.picture)
                else {
                    return Err(unusable_memory());
                };
                sample(&cl.queue, |queue| {
                    let copied = from.enqueue_copy(queue, to);
                    Ok(vec![copied.map_err(|e| failed("A picture could not be copied on the device.", &e))?])
                })
            }
        }
    }

    /// Filters a frame of the movie through the engine, as the window does, and compares the result with the reference.
    fn check_in_use(&self, id: &str, built: &Built, case: &Case) -> VariantResult<Option<Checked>> {
        let engine = self.engine.as_ref().filter(|_| self.filter.get().is_none());
        let Some(engine) = engine else { return Ok(None) };
        let variant;
        let filter = match built {
            Built::Kernels(cl, built, _) => {
                variant = built.as_ref().clone().with_id(id);
                BuiltFilter::Kernels(cl, &variant)
            }
            Built::Shaders(..) => BuiltFilter::Shaders,
            Built::Threads(..) => BuiltFilter::Threads,
            Built::Copy(_) => return Ok(None),
        };
        engine.borrow_mut().check(filter, case.settings.first()).map(Some)
    }
}
