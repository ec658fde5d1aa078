//! Colour conversion on the device: which pixel formats are converted there, with which programs, and which conversions are requested,
//! checked or refused.

use std::collections::HashMap;

use ffmpeg_next::frame::Video;

use super::device_job::Colors;
use super::request::KernelsId;
use super::speed_model::ConversionTime;
use super::{Pipeline, Slot};
use base::error::Result;
use box_filter::VariantId;
use box_filter::color_kernels::{ConvertProgram, Converter, Corrector};
use opencl::cl::{ClContext, Event};
use opencl::memory::Storage;
use video::color::Layout;

/// A conversion from planes in a layout to RGBA in a buffer or an image. One program may serve several conversions, but each is checked on
/// its own.
type Conversion = (Layout, Storage);

/// The maximum number of conversions, and of corrections, that are remembered: a file may change its pixel format with every frame.
const MAX_CONVERSIONS: usize = 1000;

/// The states of all conversions on one device.
#[derive(Default)]
struct ConversionStates {
    trust: HashMap<Conversion, Trust>,
    /// Conversions that the builder (the thread that compiles programs) should build and check. [`Conversions::take_missing`] returns each
    /// once.
    missing: Vec<Conversion>,
    /// Conversions and colour corrections that should be checked on whole pictures in spare time. [`Conversions::take_unchecked`] returns
    /// each once.
    unchecked: Vec<Check>,
    /// Colour corrections of RGBA pictures that were used.
    corrected: Vec<CorrectedPictures>,
}

/// The state of one conversion on the device.
enum Trust {
    /// The builder was asked to build and check the conversion.
    Requested,
    /// Some rows were converted correctly. Whole pictures are checked later, in spare time.
    Checked,
    /// The conversion is wrong or cannot be built.
    Refused,
}

/// The pictures that a colour correction processes: their width and height, and the storages (buffer or image) that it reads
/// and writes.
type CorrectedPictures = ((u32, u32), Storage, Storage);

/// A check that is to be made in spare time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub enum Check {
    /// The conversion of whole pictures from this layout to RGBA in this storage.
    Conversion(Layout, Storage),
    /// The colour correction of RGBA pictures of this size, from the first storage to the second one.
    Correction((u32, u32), Storage, Storage),
}

impl ConversionStates {
    /// Forgets the conversions that were requested from the builder (the thread that compiles programs) and are not built yet, so that
    /// frames request them again.
    fn forget_requests(&mut self) {
        self.trust.retain(|_, trust| !matches!(trust, Trust::Requested));
        self.missing.clear();
    }

    /// Requests a conversion from the builder, the thread that compiles programs.
    fn request(&mut self, conversion: Conversion) {
        if self.trust.len() >= MAX_CONVERSIONS {
            self.trust.clear();
        }
        self.trust.insert(conversion, Trust::Requested);
        self.missing.push(conversion);
    }

    /// Returns true if the program of this conversion is missing or wrong, so that the host converts.
    fn is_refused(&self, layout: &Layout, storage: Storage) -> bool {
        matches!(self.trust.get(&(*layout, storage)), Some(Trust::Refused))
    }

    /// Records that RGBA pictures of this size are colour-corrected from one storage to the other, and requests a check the
    /// first time.
    fn correct(&mut self, size: (u32, u32), from: Storage, to: Storage) {
        let corrected = (size, from, to);
        if !self.corrected.contains(&corrected) && self.corrected.len() < MAX_CONVERSIONS {
            self.corrected.push(corrected);
            self.unchecked.push(Check::Correction(size, from, to));
        }
    }
}

/// Returns the layout of the planes that are converted to RGBA: that of the filtered planes if the variant filters planes, else that of
/// the frame.
fn converted(layout: &Layout, variant: VariantId) -> Layout {
    if variant.reads_planes() { layout.filtered() } else { *layout }
}

/// The programs that convert and correct frames on one device, and the states of conversions.
pub struct Conversions {
    cl: ClContext,
    converter: Converter,
    corrector: Option<Corrector>,
    /// True if the kernel of the colour correction computed wrong pictures, so that it is not used any more.
    is_corrector_refused: bool,
    known: ConversionStates,
    time: ConversionTime,
}

impl Conversions {
    /// Creates the state for a device on which no program is built yet.
    pub(super) fn new(cl: &ClContext) -> Self {
        Self {
            converter: Converter::new(cl),
            corrector: None,
            is_corrector_refused: false,
            known: ConversionStates::default(),
            time: ConversionTime::default(),
            cl: cl.clone(),
        }
    }

    /// Adds the program of a conversion that the builder built and checked. With `replace` it replaces the program in use, and the
    /// conversion is not scheduled for another check.
    pub fn add(&mut self, program: ConvertProgram, layout: &Layout, storage: Storage, replace: bool) {
        if replace || !self.converter.is_ready(layout, storage) {
            self.converter.add(program);
        }
        self.known.trust.insert((*layout, storage), Trust::Checked);
        if !replace {
            self.known.unchecked.push(Check::Conversion(*layout, storage));
        }
    }

    /// Replaces all conversion programs with `made`, the programs of edited kernels, each with its layout and storage.
    /// `differs` is true if a check has found that their pictures differ from the reference; no further check is scheduled
    /// then.
    pub fn replace_all(&mut self, made: Vec<(ConvertProgram, Layout, Storage)>, differs: bool) {
        self.converter = Converter::new(&self.cl);
        self.known.trust.clear();
        self.known.missing.clear();
        for (program, layout, storage) in made {
            self.add(program, &layout, storage, differs);
        }
    }

    /// Builds a conversion and marks it as checked, for callers that check the picture themselves. Waits for the compiler.
    ///
    /// # Errors
    /// If the program does not build (with its log), or fails to run.
    pub fn build(&mut self, layout: &Layout, storage: Storage) -> Result<()> {
        self.converter.prepare(layout, storage)?;
        self.known.trust.insert((*layout, storage), Trust::Checked);
        Ok(())
    }

    /// Marks a conversion as unavailable on this device, because its program is missing or wrong. The host converts such frames from now
    /// on.
    pub fn refuse(&mut self, layout: &Layout, storage: Storage) {
        self.known.trust.insert((*layout, storage), Trust::Refused);
    }

    /// Returns the conversions that frames have requested, whether they can be used or not.
    pub(super) fn requested(&self) -> impl Iterator<Item = (Layout, Storage)> {
        self.known.trust.keys().copied()
    }

    /// Returns the conversions that the builder should build and check. Each is returned once.
    pub(super) fn take_missing(&mut self) -> Vec<(Layout, Storage)> {
        std::mem::take(&mut self.known.missing)
    }

    /// Returns the conversions and corrections in use that should be checked on whole pictures in spare time. Each is returned once.
    pub(super) fn take_unchecked(&mut self) -> Vec<Check> {
        std::mem::take(&mut self.known.unchecked)
    }

    /// Sets the program for the colour correction of RGBA pictures, which the builder has built.
    pub fn set_corrector(&mut self, corrector: Corrector) {
        self.corrector = Some(corrector);
    }

    /// Marks the device's colour correction as wrong. The host corrects colours from now on.
    pub fn refuse_corrector(&mut self) {
        self.is_corrector_refused = true;
    }

    /// Returns true if the colours of RGBA pictures can be corrected on the device.
    pub fn can_correct(&self) -> bool {
        self.corrector.is_some() && !self.is_corrector_refused
    }

    /// Records that RGBA pictures of this size are colour-corrected from one storage to the other, and requests a check the
    /// first time.
    pub(super) fn note_correction(&mut self, size: (u32, u32), from: Storage, to: Storage) {
        self.known.correct(size, from, to);
    }

    /// Forgets the conversions that were requested and are not built yet, so that frames request them again.
    pub(super) fn forget_requests(&mut self) {
        self.known.forget_requests();
    }

    /// Returns the reason why a frame's planes are not on the device, for the error message of a variant that filters planes.
    pub(super) fn planes_missing_reason(&self) -> &'static str {
        match self.known.trust.values().any(|trust| matches!(trust, Trust::Refused)) {
            true => "The program that converts its pictures on the device does not build, or is wrong.",
            false => "The device does not read the planes of its pictures' format.",
        }
    }

    /// Enqueues the conversion or correction that runs before the filter. Returns its event, or `None` if there is nothing to enqueue.
    ///
    /// # Errors
    /// If the driver refuses the command.
    pub(super) fn enqueue_before(
        &mut self,
        colors: Option<&Colors>,
        slot: &mut Slot,
    ) -> Result<Option<Event>> {
        let (queue, size) = (&self.cl.queue, slot.size());
        let kept = &mut slot.device.plans.colors;
        let event = match (colors, &slot.planes, &mut self.corrector) {
            (Some(Colors::Convert { correction, to }), Some(planes), _) => {
                let (layout, block) = (planes.layout(), planes.device_memory()?);
                self.converter.enqueue(queue, kept, layout, block, to, correction)?
            }
            (Some(Colors::Correct { correction, rgba, from, to }), _, Some(corrector)) => {
                corrector.enqueue(queue, kept, from, to, size, correction, *rgba)?
            }
            _ => return Ok(None),
        };
        Ok(Some(event))
    }

    /// Enqueues the conversion of filtered planes to RGBA. Returns its event, or `None` if the filter does not work on planes.
    ///
    /// # Errors
    /// If the driver refuses the command.
    pub(super) fn enqueue_after(
        &mut self,
        colors: Option<&Colors>,
        slot: &mut Slot,
    ) -> Result<Option<Event>> {
        let Some(Colors::ConvertFiltered { correction, layout, from, to }) = colors else { return Ok(None) };
        let kept = &mut slot.device.plans.colors;
        self.converter.enqueue(&self.cl.queue, kept, layout, from, to, correction).map(Some)
    }

    /// Divides `ms`, the time of a kernel that converts and corrects, into the time of the conversion and the time of the correction, both
    /// in milliseconds.
    pub(super) fn split(&mut self, colors: &Colors, size: (u32, u32), ms: f64) -> (f64, f64) {
        match colors {
            Colors::Convert { correction, to } => {
                self.time.split((size, to.storage(), false), ms, correction)
            }
            Colors::ConvertFiltered { correction, to, .. } => {
                self.time.split((size, to.storage(), true), ms, correction)
            }
            Colors::Correct { .. } => (0.0, ms),
        }
    }

    /// Returns true if a conversion can be used now, and requests an unknown one from the builder. Without `only_checked`, an unchecked
    /// conversion may use a program that already serves other layouts.
    fn can_convert(&mut self, conversion: Conversion, only_checked: bool) -> bool {
        match self.known.trust.get(&conversion) {
            Some(Trust::Checked) => return true,
            Some(Trust::Refused) => return false,
            Some(Trust::Requested) => {}
            None => self.known.request(conversion),
        }
        !only_checked && self.converter.is_ready(&conversion.0, conversion.1)
    }

    /// Requests the check of a conversion if a program for it exists and it has not been requested.
    fn request_ready(&mut self, conversion: Conversion) {
        if self.converter.is_ready(&conversion.0, conversion.1) && !self.known.trust.contains_key(&conversion)
        {
            self.known.request(conversion);
        }
    }
}

impl Pipeline {
    /// Returns the layout in which the planes of `frame` are uploaded for conversion on the device. Returns `None` if the host converts
    /// the frame: on a CPU device, where that is faster, except for variants that filter planes; for formats that the kernels do not
    /// support; and while the program is being built. The RGBA picture is the same either way.
    ///
    /// With `to_texture` the picture goes into a texture. Without `only_checked`, a program that already serves other layouts is used
    /// before it was checked for this one.
    pub(super) fn conversion(
        &mut self,
        frame: &Video,
        kernels: KernelsId,
        to_texture: bool,
        only_checked: bool,
    ) -> Option<Layout> {
        let variant = kernels.0;
        if !variant.reads_planes() {
            self.request_for_planes(frame, to_texture);
        }
        let (layout, storage) = self.kernel_conversion(frame, kernels, to_texture)?;
        self.conversions.can_convert((converted(&layout, variant), storage), only_checked).then_some(layout)
    }

    /// Requests the check of the conversion to RGBA that follows a filter on planes, before the user selects such a variant.
    /// Does nothing while no program for the conversion is ready.
    fn request_for_planes(&mut self, frame: &Video, to_texture: bool) {
        if let Some(variant) = self.variants.any_planar()
            && let Some((layout, storage)) = self.kernel_conversion(frame, (variant, None), to_texture)
        {
            self.conversions.request_ready((layout.filtered(), storage));
        }
    }

    /// Returns true if the planes of such a frame are to be converted on the device once a program for them is available.
    pub(super) fn will_convert(&self, frame: &Video, kernels: KernelsId, to_texture: bool) -> bool {
        self.kernel_conversion(frame, kernels, to_texture).is_some_and(|(layout, storage)| {
            !self.conversions.known.is_refused(&converted(&layout, kernels.0), storage)
        })
    }

    /// Returns the layout and the storage of the conversion that the device should make of such a frame. Returns `None` if the
    /// host converts: on CPU devices, unless the variant filters planes; for formats that no kernel reads; and for pictures
    /// that are too large for the device.
    fn kernel_conversion(
        &self,
        frame: &Video,
        kernels: KernelsId,
        to_texture: bool,
    ) -> Option<(Layout, Storage)> {
        let built = self.variants.get(kernels);
        let planar = built.is_some_and(|built| built.id().reads_planes());
        if self.cl.is_cpu() && !planar {
            return None;
        }
        let storage = match built.filter(|_| !planar) {
            Some(built) => built.input(),
            None if self.to_texture() && to_texture => Storage::Image,
            None => Storage::Buffer,
        };
        let layout = Converter::supports(frame)?;
        // A picture that is too large for the device is shown without a filter.
        let bytes = layout.bytes().max(layout.rgba_bytes()) as u64;
        let fits = self.cl.device.info.has_room(bytes, bytes);
        (planar || fits).then_some((layout, storage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_requested_is_requested_again() {
        let of = |width| (Layout::planar_420(width, 16, false), Storage::Buffer);
        let mut known = ConversionStates::default();
        known.request(of(16));
        known.trust.extend([(of(32), Trust::Checked), (of(64), Trust::Refused)]);
        known.forget_requests();
        assert!(known.missing.is_empty() && !known.trust.contains_key(&of(16)));
        assert!(known.trust.len() == 2 && known.is_refused(&of(64).0, of(64).1));
    }
}
