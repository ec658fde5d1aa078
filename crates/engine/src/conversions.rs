//! Which frames are converted on the device, and the programs for that: what is there and was checked, what was asked
//! for, and what is not to be had.

use std::collections::HashMap;

use ffmpeg_next::frame::Video;

use super::Pipeline;
use base::error::Result;
use box_filter::VariantId;
use box_filter::color_kernels::check::file_of;
use box_filter::color_kernels::{ConvertProgram, Converter};
use opencl::memory::Storage;
use video::color::Layout;

/// What tells one conversion from another. Programs serve many; each is checked for itself.
type Conversion = (Layout, Storage);

/// Layouts that are remembered at once: a file may have a new one in each frame.
const MOST: usize = 1000;

/// What is known of conversions.
#[derive(Default)]
pub(super) struct Known {
    trust: HashMap<Conversion, Trust>,
    /// To be built and checked, each told once.
    missing: Vec<Conversion>,
    /// To be checked as a whole, in spare time.
    unchecked: Vec<Check>,
    /// Corrections of pictures that are RGBA: size, from where to where.
    corrected: Vec<Corrected>,
}

enum Trust {
    /// The builder has been asked.
    Asked,
    /// Some rows are as they should be. Perhaps all: that is seen later, in spare time.
    Checked,
    /// It is wrong, or cannot be built.
    Refused,
}

type Corrected = ((u32, u32), Storage, Storage);

/// What is to be checked in spare time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub enum Check {
    /// The conversion of whole pictures that lie so.
    Conversion(Layout, Storage),
    /// The correction of pictures of this size: from where to where.
    Correction((u32, u32), Storage, Storage),
}

impl Known {
    /// Asks anew for what was not told.
    pub(super) fn ask_again(&mut self) {
        self.trust.retain(|_, trust| !matches!(trust, Trust::Asked));
        self.missing.clear();
    }

    fn ask(&mut self, conversion: Conversion) {
        if self.trust.len() >= MOST {
            self.trust.clear();
        }
        self.trust.insert(conversion, Trust::Asked);
        self.missing.push(conversion);
    }

    fn is_refused(&self, layout: &Layout, storage: Storage) -> bool {
        matches!(self.trust.get(&(*layout, storage)), Some(Trust::Refused))
    }

    /// Why a picture's planes are not on the device, for the variant that filters them.
    pub(super) fn why_not(&self) -> &'static str {
        match self.trust.values().any(|trust| matches!(trust, Trust::Refused)) {
            true => "The program that converts its pictures on the device does not build, or is wrong.",
            false => "The device does not read the planes of its pictures' format.",
        }
    }

    /// Notes that pictures are corrected so, to have that checked.
    pub(super) fn correct(&mut self, size: (u32, u32), from: Storage, to: Storage) {
        let corrected = (size, from, to);
        if !self.corrected.contains(&corrected) && self.corrected.len() < MOST {
            self.corrected.push(corrected);
            self.unchecked.push(Check::Correction(size, from, to));
        }
    }
}

/// What is converted of a picture whose planes lie in `layout`.
fn converted(layout: &Layout, variant: VariantId) -> Layout {
    if variant.reads_planes() { layout.filtered() } else { *layout }
}

impl Pipeline {
    /// Adds a conversion that the builder finished, and checked for such pictures. `replace`: in place of the program
    /// that is there, and not to be checked once more.
    pub fn add_conversion(
        &mut self,
        program: ConvertProgram,
        layout: &Layout,
        storage: Storage,
        replace: bool,
    ) {
        if replace || !self.converter.is_ready(layout, storage) {
            self.converter.add(program);
        }
        self.known.trust.insert((*layout, storage), Trust::Checked);
        if !replace {
            self.known.unchecked.push(Check::Conversion(*layout, storage));
        }
    }

    /// The conversions of pictures that lie so, and of what a filter on planes makes of them, each with its kernel file: those that were
    /// wanted, and one of each other file.
    pub fn conversions_of(&self, layout: &Layout) -> Vec<(Layout, Storage, &'static str)> {
        let all = |storage: Storage| {
            let with_file = move |layout| (layout, storage, file_of(&self.cl, &layout, storage));
            [*layout, layout.filtered()].into_iter().map(with_file)
        };
        let was_wanted =
            |(layout, storage, _): &(Layout, Storage, _)| self.known.trust.contains_key(&(*layout, *storage));
        let mut found: Vec<_> = all(Storage::Buffer).chain(all(Storage::Image)).filter(was_wanted).collect();
        for one in all(Storage::Buffer) {
            if found.iter().all(|(.., file)| *file != one.2) {
                found.push(one);
            }
        }
        found
    }

    /// Goes on with programs of changed kernels, which were judged, and with none that was there before. `differs`: they make
    /// another picture, which is known; else they are checked as others are.
    pub fn conversions_judged(&mut self, made: Vec<(ConvertProgram, Layout, Storage)>, differs: bool) {
        self.converter = Converter::new(&self.cl);
        self.known.trust.clear();
        self.known.missing.clear();
        for (program, layout, storage) in made {
            self.add_conversion(program, &layout, storage, differs);
        }
    }

    /// Builds the program for pictures that lie so, for those who wait and check the picture themselves; waits for the
    /// compiler.
    ///
    /// # Errors
    /// When it does not build, with its log, or fails to run.
    pub fn build_conversion(&mut self, layout: &Layout, storage: Storage) -> Result<()> {
        self.converter.prepare(layout, storage)?;
        self.known.trust.insert((*layout, storage), Trust::Checked);
        Ok(())
    }

    /// Conversions to be built and checked, each told once.
    pub fn missing_conversions(&mut self) -> Vec<(Layout, Storage)> {
        std::mem::take(&mut self.known.missing)
    }

    /// What is in use and should be checked as a whole when there is time, each told once.
    pub fn unchecked(&mut self) -> Vec<Check> {
        std::mem::take(&mut self.known.unchecked)
    }

    /// How the planes of `frame` go to the device to be converted there, for `variant`. `None` where the window's
    /// thread is to convert them: on a CPU device, where that is the faster way, except for what filters the planes;
    /// for formats that the kernels do not know; and while the program is being built. The picture is the same either
    /// way.
    ///
    /// `to_texture` says where the picture is wanted. A program that serves other pictures already is used at once,
    /// unless `only_checked`, and checked for these soon.
    pub(super) fn conversion(
        &mut self,
        frame: &Video,
        variant: VariantId,
        to_texture: bool,
        only_checked: bool,
    ) -> Option<Layout> {
        if !variant.reads_planes() {
            self.ask_ahead(frame, to_texture);
        }
        let (layout, storage) = self.kernel_conversion(frame, variant, to_texture)?;
        let converted = converted(&layout, variant);
        match self.known.trust.get(&(converted, storage)) {
            Some(Trust::Checked) => return Some(layout),
            Some(Trust::Refused) => return None,
            Some(Trust::Asked) => {}
            None => self.known.ask((converted, storage)),
        }
        (!only_checked && self.converter.is_ready(&converted, storage)).then_some(layout)
    }

    /// Has what a variant on planes would need checked before it is chosen, where its program is there already.
    fn ask_ahead(&mut self, frame: &Video, to_texture: bool) {
        // They all have the same conversion.
        let of_planes = self.planar.keys().next().copied();
        if let Some((layout, storage)) =
            of_planes.and_then(|variant| self.kernel_conversion(frame, variant, to_texture))
        {
            let filtered = layout.filtered();
            if self.converter.is_ready(&filtered, storage)
                && !self.known.trust.contains_key(&(filtered, storage))
            {
                self.known.ask((filtered, storage));
            }
        }
    }

    /// Whether such a frame's planes are to be converted on the device, once the program for it is there.
    pub(super) fn will_convert(&self, frame: &Video, variant: VariantId, to_texture: bool) -> bool {
        self.kernel_conversion(frame, variant, to_texture)
            .is_some_and(|(layout, storage)| !self.known.is_refused(&converted(&layout, variant), storage))
    }

    /// Notes that the device has no program for such a conversion, or a wrong one: the window's thread does it from now
    /// on.
    pub fn conversion_failed(&mut self, layout: &Layout, storage: Storage) {
        self.known.trust.insert((*layout, storage), Trust::Refused);
    }

    /// Notes that the device corrects colours wrongly: the window's thread does it from now on.
    pub fn correction_failed(&mut self) {
        self.correction_is_wrong = true;
    }

    fn kernel_conversion(
        &self,
        frame: &Video,
        variant: VariantId,
        to_texture: bool,
    ) -> Option<(Layout, Storage)> {
        let planar = self.planar.contains_key(&variant);
        if self.cl.is_cpu() && !planar {
            return None;
        }
        let storage = match self.built.get(&variant) {
            Some(built) => built.kernels().storage,
            None if self.to_texture() && to_texture => Storage::Image,
            None => Storage::Buffer,
        };
        let layout = Converter::supports(frame)?;
        // A picture that is too large for the device is shown all the same, without a filter.
        let bytes = layout.bytes().max(layout.rgba_bytes()) as u64;
        let fits = self.cl.device.info.has_room(bytes, bytes);
        (planar || fits).then_some((layout, storage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_told_is_asked_again() {
        let of = |width| (Layout::planar_420(width, 16, false), Storage::Buffer);
        let mut known = Known::default();
        known.ask(of(16));
        known.trust.extend([(of(32), Trust::Checked), (of(64), Trust::Refused)]);
        known.ask_again();
        assert!(known.missing.is_empty() && !known.trust.contains_key(&of(16)));
        assert!(known.trust.len() == 2 && known.is_refused(&of(64).0, of(64).1));
    }
}
