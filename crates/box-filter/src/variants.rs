//! Ids of variants: names that are looked up in the table of variants. The command line, help, keys, buttons, the scoreboard and
//! tests read the declarations in the table ([`Variant`]).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::config::{Code, Extent};
use super::filter::{Group, Variant, Work};
use super::registry::{Filter, opened_variants};
use super::table::{OFF, OWN, VARIANTS};
use base::device::{DeviceInfo, DeviceKind};
use base::error::{Error, Result};
use compute::BackEnd;
use filter::{Format, Settings};
use opencl::memory::Storage;
use video::color::Layout;

/// The identity of a variant: a reference to its declaration in the table. It dereferences to the declaration.
#[derive(Clone, Copy)]
pub struct VariantId(&'static Variant);

impl VariantId {
    /// The variant without a filter: the frame passes through.
    pub const OFF: Self = Self(&OFF);

    /// Returns [`VariantId::OFF`] and then all variants of the [selected](Filter::select) filter, in the order of display; at first
    /// those of the box filter.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        std::iter::once(Self::OFF).chain(Filter::listed().iter().map(Self))
    }

    /// Returns the variants of the box filter, whichever filter is selected, without [`VariantId::OFF`].
    pub fn built_in() -> impl DoubleEndedIterator<Item = Self> + Clone {
        VARIANTS.iter().map(Self)
    }

    /// Returns [all variants](Self::all), and then the user's own, which is one of the box filter.
    pub fn with_own() -> impl Iterator<Item = Self> + Clone {
        Self::all().chain(Filter::selected().is_none().then(Self::own))
    }

    /// Returns the variant that is selected when the window opens.
    pub fn initial() -> Self {
        Filter::selected().unwrap_or_else(|| Self::OFF.filter()).initial()
    }

    /// Returns the variant [`auto`](Filter::auto) of the selected filter.
    pub fn auto() -> Self {
        Filter::selected().unwrap_or(Self::OFF.filter()).auto()
    }

    /// Returns the variant of the user's own kernel, which exists only if the folder of kernels has its file.
    pub fn own() -> Self {
        Self(&OWN)
    }

    /// Returns the first variant that runs on this back end; [`VariantId::OFF`] if there is none.
    pub fn on(back_end: BackEnd) -> Self {
        Self::all().find(|id| id.back_end() == back_end).unwrap_or(Self::OFF)
    }

    /// Returns the variant that this code belongs to; `None` if there is none.
    pub fn with_code(code: &Code) -> Option<Self> {
        let is_own = |own: &&Code| std::ptr::eq(*own, code);
        Self::built_in()
            .chain([Self::own()])
            .chain(opened_variants())
            .find(|id| id.codes().iter().any(is_own))
    }

    /// Returns the identity of this variant.
    pub(crate) fn of(variant: &'static Variant) -> Self {
        Self(variant)
    }

    /// Returns the name of the variant, which lives as long as the table.
    pub(crate) fn name_in_table(self) -> &'static str {
        self.0.name
    }

    /// Returns true if this is the identity of `variant`.
    pub(crate) fn is(self, variant: &Variant) -> bool {
        std::ptr::eq(self.0, variant)
    }

    /// Returns true for the user's own kernel, which exists only if the folder of kernels has its file.
    pub fn is_own(self) -> bool {
        self == Self::own()
    }

    /// Returns true for `auto`, which runs the fastest of the other variants by tuning results.
    pub fn is_auto(self) -> bool {
        matches!(self.work, Work::Fastest(_))
    }

    /// Returns the variant that `auto` uses without tuning results; `None` for variants other than `auto`.
    pub fn untuned(self) -> Option<Self> {
        if self.is_auto() { self.filter().untuned() } else { None }
    }

    /// Returns the back end on which the variant runs.
    pub fn back_end(self) -> BackEnd {
        match self.work {
            Work::Nothing => BackEnd::Nothing,
            Work::Kernels(_) | Work::Fastest(_) => BackEnd::OpenCl,
            Work::Shaders => BackEnd::Glsl,
            Work::Threads => BackEnd::Native,
        }
    }

    /// Returns the code of the variant, for CPU devices and for all others; empty for `auto`, and for variants without kernels.
    pub fn codes(self) -> &'static [&'static Code] {
        match &self.0.work {
            Work::Kernels(codes) => codes,
            Work::Nothing | Work::Fastest(_) | Work::Shaders | Work::Threads => &[],
        }
    }

    /// Returns the code for a kind of device; `None` for variants without kernels. For `auto`, returns the code that it uses
    /// without tuning results.
    pub fn code(self, kind: DeviceKind) -> Option<&'static Code> {
        self.untuned().unwrap_or(self).codes().get(usize::from(kind != DeviceKind::Cpu)).copied()
    }

    /// Returns true if the variant filters planes, before the conversion to RGBA; all others filter RGBA pictures.
    pub fn reads_planes(self) -> bool {
        self.formats()[0] != Format::Rgba8
    }

    /// Returns true for a variant with kernels that do the same work on the same bytes as the others of its filter, so that their times
    /// can be compared.
    pub fn is_comparable(self) -> bool {
        !self.codes().is_empty() && self.formats()[0] == self.filter().description.input
    }

    /// Returns the formats of input and output.
    fn formats(self) -> [Format; 2] {
        self.code(DeviceKind::Cpu).map_or([Format::Rgba8; 2], |code| code.formats)
    }

    /// Returns the layout of the planes that the variant makes of planes with this layout; `None` if it makes RGBA pixels.
    pub fn output_layout(self, layout: Layout) -> Option<Layout> {
        match self.formats()[1] {
            Format::Rgba8 => None,
            Format::Planes => Some(layout),
            Format::Planes12 => Some(layout.filtered()),
        }
    }

    /// Returns the extent of a whole picture that the variant filters, for a device with one compute unit: of planes with this layout, or
    /// without one of RGBA pixels of this size.
    pub fn extent_of(
        self,
        layout: Option<Layout>,
        size: (u32, u32),
        settings: impl Into<Settings>,
    ) -> Extent {
        let output = layout.and_then(|layout| self.output_layout(layout));
        Extent { layout, output, frames: self.frames() as u32, ..Extent::rgba(size, settings) }
    }

    /// Returns the extent of a whole picture of RGBA pixels that the variant filters, for a device with one compute unit.
    pub fn extent(self, size: (u32, u32), settings: impl Into<Settings>) -> Extent {
        self.extent_of(None, size, settings)
    }

    /// Returns the extent of a whole picture of planes with this layout that the variant filters, for a device with one compute unit.
    pub fn planes_extent(self, layout: Layout, settings: impl Into<Settings>) -> Extent {
        self.extent_of(Some(layout), (layout.width, layout.height), settings)
    }

    /// Returns the kernel files that the variant uses on a kind of device, and then those of the reference of a folder's filter;
    /// `None` for `auto` of the box filter, which may use the files of any variant.
    pub fn files(self, kind: DeviceKind) -> Option<&'static [&'static str]> {
        if let Some(files) = self.opened_files(kind) {
            return Some(files);
        }
        let files = self.code(kind).map(|code| code.files);
        (!self.is_auto()).then(|| files.unwrap_or_default())
    }

    /// Returns an error unless a device can run this variant on pictures of `width` by `height` pixels.
    ///
    /// # Errors
    /// Returns an error if the device has no images, or its images or allocations are too small.
    pub fn supports(self, device: &DeviceInfo, width: u32, height: u32) -> Result<()> {
        let Some(code) = self.code(device.kind) else { return Ok(()) };
        let error = |why: String, hint: String| {
            Error::new(format!("'{self}' cannot run on '{}'.", device.name), why, hint)
        };
        if [code.storage, code.output].contains(&Storage::Image) {
            if !device.image_support {
                return Err(error("The device has no images.".to_owned(), without_images()));
            }
            let (max_width, max_height) = device.max_image;
            if width as usize > max_width || height as usize > max_height {
                let why = format!(
                    "Its largest image is {max_width}×{max_height}, the picture is {width}×{height}."
                );
                return Err(error(why, without_images()));
            }
        }
        if self.reads_planes() {
            return Ok(());
        }
        let smaller = || "Use a smaller picture.".to_owned();
        // The row sums are the largest allocation: four channels of two bytes.
        let bytes = u64::from(width) * u64::from(height) * 8;
        if !device.has_room(bytes, bytes) {
            let why = format!("It needs {bytes} bytes in one piece, more than the device allows.");
            return Err(error(why, smaller()));
        }
        // Kernels count pixels in 32-bit signed integers.
        if u64::from(width) * u64::from(height) > i32::MAX as u64 / 2 {
            return Err(error(format!("{width}×{height} pixels are too many."), smaller()));
        }
        Ok(())
    }
}

/// Returns the variant with this name, for tests and examples.
///
/// # Panics
/// Panics if there is none.
#[track_caller]
pub fn named(name: &'static str) -> VariantId {
    name.parse().expect("the table has a variant of this name")
}

impl Group {
    /// Returns the built-in variants of the group.
    pub fn variants(self) -> impl Iterator<Item = VariantId> + Clone {
        VariantId::all().filter(move |id| id.group == self)
    }
}

impl Deref for VariantId {
    type Target = Variant;

    fn deref(&self) -> &Variant {
        self.0
    }
}

impl PartialEq for VariantId {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for VariantId {}

impl Hash for VariantId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for VariantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for VariantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for VariantId {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let of_box = Self::built_in().chain([Self::OFF, Self::own()]);
        let in_selected = Filter::selected().and_then(|filter| filter.variant(s).ok());
        in_selected.or_else(|| of_box.chain(opened_variants()).find(|id| id.name == s)).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|id| id.0.name).collect();
            format!("no variant is called '{s}'; choose one of {}", names.join(", "))
        })
    }
}

impl Serialize for VariantId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for VariantId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Returns the names of variants as a list in a sentence, as in "flat, vectorized or running-sum" if `last` is "or".
pub fn join_ids(ids: impl IntoIterator<Item = VariantId>, last: &str) -> String {
    let names: Vec<_> = ids.into_iter().map(|id| id.0.name).collect();
    match names.split_last() {
        Some((end, others)) if !others.is_empty() => format!("{} {last} {end}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Returns a hint that names the variants that need no images, for devices without suitable images.
fn without_images() -> String {
    let on_buffers =
        |id: &VariantId| id.code(DeviceKind::Gpu).is_some_and(|code| code.storage == Storage::Buffer);
    let steps = join_ids(Group::Steps.variants().filter(on_buffers), "or");
    format!("Choose {steps}: they need no images.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Accelerator,
            global_memory_bytes: 1 << 32,
            max_image: (16_384, 16_384),
            ..DeviceInfo::made_up()
        }
    }

    /// Returns true if variants that read this kind of memory can run on the device. Asserts that the result is the same for
    /// all of them.
    fn supported(storage: Storage, device: &DeviceInfo, width: u32, height: u32) -> bool {
        let is_of_kind = |id: &VariantId| id.code(device.kind).is_some_and(|code| code.storage == storage);
        let of_kind = VariantId::all().filter(|id| !id.reads_planes()).filter(is_of_kind);
        let answers: Vec<bool> = of_kind.map(|v| v.supports(device, width, height).is_ok()).collect();
        assert!(!answers.is_empty() && answers.windows(2).all(|w| w[0] == w[1]));
        answers[0]
    }

    #[test]
    fn ids_are_the_same_in_json_and_roles_are_declared() {
        for id in VariantId::with_own() {
            assert_eq!(serde_json::to_value(id).unwrap(), id.name);
            assert_eq!(serde_json::from_value::<VariantId>(id.name.into()).unwrap(), id);
        }
        assert!(serde_json::from_value::<VariantId>("nonsense".into()).is_err());
        assert_eq!(VariantId::with_own().last(), Some(VariantId::own()));
        assert!(VariantId::all().all(|id| !id.is_own()));
        let names = [VariantId::OFF, VariantId::auto(), VariantId::own(), VariantId::initial()];
        assert_eq!(names.map(|id| id.name), ["off", "auto", "own", "running-sum"]);
        assert_eq!(VariantId::auto().untuned(), Some(named("fused")));
    }

    #[test]
    fn limits_of_images_and_memory_are_checked() {
        let without = DeviceInfo { image_support: false, max_image: (0, 0), ..device() };
        let narrow = DeviceInfo { max_image: (8192, 4096), ..device() };
        let small = DeviceInfo { max_allocation_bytes: 1280 * 720 * 8, ..device() };
        let huge = DeviceInfo { max_allocation_bytes: u64::MAX, max_image: (1 << 20, 1 << 20), ..device() };
        for (storage, device, size, want) in [
            (Storage::Image, &device(), (1280, 720), true),
            (Storage::Buffer, &device(), (1280, 720), true),
            (Storage::Buffer, &without, (1280, 720), true),
            (Storage::Image, &without, (1280, 720), false),
            (Storage::Image, &without, (1, 1), false),
            (Storage::Image, &narrow, (8192, 4096), true),
            (Storage::Image, &narrow, (8193, 16), false),
            (Storage::Image, &narrow, (16, 4097), false),
            (Storage::Buffer, &narrow, (8193, 16), true),
            (Storage::Image, &small, (1280, 720), true),
            (Storage::Image, &small, (1281, 720), false),
            (Storage::Buffer, &small, (1280, 720), true),
            (Storage::Buffer, &small, (1281, 720), false),
            // More pixels than the kernels count.
            (Storage::Image, &huge, (1 << 16, 1 << 15), false),
            (Storage::Buffer, &huge, (1 << 16, 1 << 15), false),
        ] {
            assert_eq!(supported(storage, device, size.0, size.1), want, "{storage:?} {size:?}: {device:?}");
        }
        let error = named("naive").supports(&without, 1280, 720).unwrap_err();
        assert!(error.why.contains("no images"), "{error}");
        assert!(error.hint.contains("flat, vectorized or running-sum:"), "{error}");
    }
}
