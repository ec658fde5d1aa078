//! Colour conversion on the device: which pixel formats are converted there, with which programs, and which conversions are
//! requested, verified or refused.

use std::collections::HashMap;

use ffmpeg_next::frame::Video;

use super::Pipeline;
use super::device_job::Colors;
use base::error::Result;
use box_filter::color_kernels::{Conversion, ConvertProgram, Converter, Corrector, KernelCache};
use opencl::cl::{ClContext, Event};
use opencl::memory::Storage;
use stats::KernelsId;
use video::color::Layout;

/// The maximum number of conversions, and of colour corrections, whose state is kept: a file may change its pixel format with
/// every frame.
const MAX_CONVERSIONS: usize = 1000;

/// The states of all conversions on one device.
#[derive(Default)]
pub(super) struct ConversionStates {
    /// The state of each conversion that frames have requested, whether it can be used or not.
    pub trust: HashMap<Conversion, Trust>,
    /// Conversions that the builder (the thread that compiles programs) should build and check. Each is passed to it once.
    pub missing: Vec<Conversion>,
    /// Conversions and colour corrections whose output should be compared with the reference on whole pictures, in the
    /// background. Each is reported once.
    pub unchecked: Vec<Check>,
    /// Colour corrections of RGBA pictures that frames have used.
    corrected: Vec<Check>,
}

/// The state of one conversion on the device.
#[derive(PartialEq)]
pub(super) enum Trust {
    /// The builder, the thread that compiles programs, was asked to build and check the conversion.
    Requested,
    /// The converted rows of a test were correct. Whole pictures are compared with the reference later, in the background.
    Checked,
    /// The conversion is wrong or cannot be built.
    Refused,
}

/// A conversion or colour correction whose output is to be compared with the reference, in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub enum Check {
    /// A conversion of whole pictures from planes to RGBA.
    Conversion(Conversion),
    /// The colour correction of RGBA pictures of this size, from the first kind of memory (buffer or image) to the second.
    Correction((u32, u32), Storage, Storage),
}

impl ConversionStates {
    /// Forgets the conversions that were requested from the builder (the thread that compiles programs) and are not built yet, so that
    /// frames request them again.
    pub(super) fn forget_requests(&mut self) {
        self.trust.retain(|_, trust| *trust != Trust::Requested);
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

    /// Records that RGBA pictures of this size are colour-corrected from one kind of memory (buffer or image) to the other, and
    /// requests a comparison with the reference the first time.
    pub(super) fn correct(&mut self, size: (u32, u32), from: Storage, to: Storage) {
        let check = Check::Correction(size, from, to);
        if !self.corrected.contains(&check) && self.corrected.len() < MAX_CONVERSIONS {
            self.corrected.push(check);
            self.unchecked.push(check);
        }
    }
}

/// The programs that convert and correct frames on one device, and the states of conversions.
pub struct Conversions {
    cl: ClContext,
    converter: Converter,
    /// The program for the colour correction of RGBA pictures, which the builder has built.
    pub corrector: Option<Corrector>,
    /// True if the kernel of the colour correction computed wrong pictures, so that it is not used any more. The host corrects colours
    /// then.
    pub is_corrector_refused: bool,
    pub(super) known: ConversionStates,
    /// True if only verified conversions may be used. If false, a conversion that is not verified may run with a program that
    /// already converts other layouts.
    pub(super) only_checked: bool,
}

impl Conversions {
    /// Creates the state for a device on which no program is built yet.
    pub(super) fn new(cl: &ClContext) -> Self {
        Self {
            converter: Converter::new(cl),
            corrector: None,
            is_corrector_refused: false,
            known: ConversionStates::default(),
            only_checked: false,
            cl: cl.clone(),
        }
    }

    /// Adds the program of a conversion that the builder built and checked. With `replace` it replaces the program in use, and the
    /// conversion is not scheduled for another check.
    pub fn add(&mut self, program: ConvertProgram, conversion: Conversion, replace: bool) {
        if replace || !self.converter.is_ready(&conversion) {
            self.converter.add(program);
        }
        self.known.trust.insert(conversion, Trust::Checked);
        if !replace {
            self.known.unchecked.push(Check::Conversion(conversion));
        }
    }

    /// Replaces all conversion programs with `made`, the programs of edited kernels. `differs` is true if a check has found that
    /// their pictures differ from the reference; no further check is scheduled then.
    pub fn replace_all(&mut self, made: Vec<(ConvertProgram, Conversion)>, differs: bool) {
        self.converter = Converter::new(&self.cl);
        self.known.trust.clear();
        self.known.missing.clear();
        for (program, conversion) in made {
            self.add(program, conversion, differs);
        }
    }

    /// Builds a conversion and marks it as checked, for callers that check the picture themselves. Waits for the compiler.
    ///
    /// # Errors
    /// If the program does not build (with its log), or fails to run.
    pub fn build(&mut self, conversion: Conversion) -> Result<()> {
        self.converter.prepare(&conversion)?;
        self.known.trust.insert(conversion, Trust::Checked);
        Ok(())
    }

    /// Marks a conversion as unavailable on this device, because its program is missing or wrong. The host converts such frames from now
    /// on.
    pub fn refuse(&mut self, conversion: Conversion) {
        self.known.trust.insert(conversion, Trust::Refused);
    }

    /// Returns true if the colours of RGBA pictures can be corrected on the device.
    pub fn can_correct(&self) -> bool {
        self.corrector.is_some() && !self.is_corrector_refused
    }

    /// Enqueues a conversion or correction. `kernels` is the kernel cache of the frame's slot. Returns the command's event, or
    /// `None` if there is nothing to enqueue.
    ///
    /// # Errors
    /// If the driver refuses the command.
    pub(super) fn enqueue(
        &mut self,
        kernels: &mut KernelCache,
        colors: Option<&Colors>,
    ) -> Result<Option<Event>> {
        let queue = &self.cl.queue;
        match (colors, &mut self.corrector) {
            (Some(Colors::Convert(command)), _) => self.converter.enqueue(queue, kernels, command).map(Some),
            (Some(Colors::Correct(command)), Some(corrector)) => {
                corrector.enqueue(queue, kernels, command).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns true if a conversion can be used now. If its state is unknown, requests it from the builder, the thread that
    /// compiles programs.
    fn can_convert(&mut self, conversion: Conversion) -> bool {
        match self.known.trust.get(&conversion) {
            Some(Trust::Checked) => return true,
            Some(Trust::Refused) => return false,
            Some(Trust::Requested) => {}
            None => self.known.request(conversion),
        }
        !self.only_checked && self.converter.is_ready(&conversion)
    }
}

impl Pipeline {
    /// Returns the layout in which the planes of `frame` are uploaded for conversion on the device. Returns `None` if the host converts
    /// the frame: on a CPU device, where that is faster, except for variants that filter planes; for formats that the kernels do not
    /// support; and while the program is being built. The RGBA picture is the same either way. With `to_texture` the picture goes into a
    /// texture.
    pub(super) fn conversion(
        &mut self,
        frame: &Video,
        kernels: KernelsId,
        to_texture: bool,
    ) -> Option<Layout> {
        // The check of the conversion to RGBA that follows a filter on planes is requested before the user selects such a variant.
        if !kernels.0.reads_planes()
            && let Some((variant, _)) =
                self.variants.kernels().find(|(id, version)| version.is_none() && id.reads_planes())
            && let Some((_, Some(conversion))) = self.kernel_conversion(frame, (variant, None), to_texture)
            && self.conversions.converter.is_ready(&conversion)
            && !self.conversions.known.trust.contains_key(&conversion)
        {
            self.conversions.known.request(conversion);
        }
        let (layout, conversion) = self.kernel_conversion(frame, kernels, to_texture)?;
        conversion.is_none_or(|conversion| self.conversions.can_convert(conversion)).then_some(layout)
    }

    /// Returns true if the planes of such a frame are to be converted on the device once a program for them is available, which is
    /// not the case now.
    pub(crate) fn lacks_conversion(&mut self, frame: &Video, kernels: KernelsId, to_texture: bool) -> bool {
        let is_lacking = self.conversion(frame, kernels, to_texture).is_none();
        let wanted = self.kernel_conversion(frame, kernels, to_texture).filter(|_| is_lacking);
        let trust = &self.conversions.known.trust;
        let conversion = wanted.and_then(|(_, conversion)| conversion);
        conversion.is_some_and(|conversion| trust.get(&conversion) != Some(&Trust::Refused))
    }

    /// Returns the layout in which the device reads the planes of such a frame, and the conversion that it should make. If the
    /// variant filters planes, that is a conversion of the filtered planes, or none if it makes RGBA pixels. Returns `None` if the host converts: on CPU
    /// devices, unless the variant filters planes; for formats that no kernel reads; and for pictures that are too large for
    /// the device.
    fn kernel_conversion(
        &self,
        frame: &Video,
        kernels: KernelsId,
        to_texture: bool,
    ) -> Option<(Layout, Option<Conversion>)> {
        let built = self.variants.get(kernels);
        let planar = built.is_some_and(|built| built.id().reads_planes());
        if self.cl.is_cpu() && !planar {
            return None;
        }
        let storage = match built.filter(|_| !planar) {
            Some(built) => built.storages((frame.width(), frame.height()))[0],
            None if self.to_texture() && to_texture => Storage::Image,
            None => Storage::Buffer,
        };
        let layout = Converter::supports(frame)?;
        // A picture that is too large for the device is shown without a filter.
        let bytes = layout.bytes().max(layout.rgba_bytes()) as u64;
        let fits = self.cl.device.info.has_room(bytes, bytes);
        let converted = if kernels.0.reads_planes() { kernels.0.output_layout(layout) } else { Some(layout) };
        (planar || fits).then_some((layout, converted.map(|layout| Conversion { layout, storage })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_requested_is_requested_again() {
        let layout = |width| Layout::planar_420(width, 16, false);
        let of = |width| Conversion { layout: layout(width), storage: Storage::Buffer };
        let mut known = ConversionStates::default();
        known.request(of(16));
        known.trust.extend([(of(32), Trust::Checked), (of(64), Trust::Refused)]);
        known.forget_requests();
        assert!(known.missing.is_empty() && !known.trust.contains_key(&of(16)));
        assert!(known.trust.len() == 2 && known.trust[&of(64)] == Trust::Refused);
    }
}
