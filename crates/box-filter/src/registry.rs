//! The filters of this process: the box filter, and those of folders that were opened.

use std::path::Path;
use std::sync::LazyLock;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::VariantId;
use super::config::Extent;
use super::described::{DESCRIPTION, codes};
use super::filter::{Group, Variant, Work};
use base::error::{Error, Result};
use base::verify::Elements;
use filter::{Accuracy, Description, Format, Mistake, Reference, Settings, folder};
use opencl::memory::Rgba;
use opencl::sources::Sources;

/// A filter: its description and its variants.
#[derive(Debug)]
pub struct Filter {
    /// The name on the command line: that of the folder. It is the first part of the names of the variants.
    pub name: String,
    /// The description.
    pub description: &'static Description,
    /// The text of the description; empty for the box filter.
    text: String,
    /// The variants of a folder, in the order of the description.
    variants: Vec<Variant>,
}

/// The box filter.
static BOX: LazyLock<Filter> = LazyLock::new(|| Filter {
    name: "box".to_owned(),
    description: &DESCRIPTION,
    text: String::new(),
    variants: Vec::new(),
});

/// The filters of folders, the latest first. They are never freed, since variants refer to them.
static OPENED: RwLock<Vec<&'static Filter>> = RwLock::new(Vec::new());

impl Filter {
    /// Reads the filter of a folder, and adds its kernel files to `sources`.
    ///
    /// # Errors
    /// Returns the mistakes in the description, or the reason why clreel cannot run such a filter.
    pub fn open(path: &Path, sources: Sources) -> Result<(&'static Self, Sources)> {
        let description = folder::read(path).map_err(|mistakes| joined(&mistakes))?;
        require_runnable(&description)?;
        let files = Sources::read(path)?;
        let text = folder::text(path).map_err(|mistake| *mistake.error)?;
        let filter = Self::register(&folder_name(path), &text).map_err(|mistakes| joined(&mistakes))?;
        Ok((filter, sources.with_folder(&filter.name, &files)?))
    }

    /// Returns the filter of this name whose description has this text, and makes it known.
    fn register(name: &str, text: &str) -> Result<&'static Self, Vec<Mistake>> {
        let mut opened = OPENED.write();
        if let Some(known) = opened.iter().find(|known| known.name == name && known.text == text) {
            return Ok(known);
        }
        let file = format!("{name}/{}", folder::FILE);
        let description: &'static Description = Box::leak(Box::new(Description::parse(text, &file)?));
        let leaked = |text: String| -> &'static str { text.leak() };
        let variants = description.variants.iter().map(|variant| Variant {
            name: leaked(format!("{name}/{}", variant.id)),
            key: variant.key.map_or(' ', |key| char::from(b'0' + key)),
            group: if variant.is_step { Group::Steps } else { Group::Beyond },
            title: &variant.title,
            idea: &variant.idea,
            work: Work::Kernels(codes(&variant.codes, &format!("{name}/"), &description.parameters)),
        });
        let variants = variants.collect();
        let filter = Self { name: name.to_owned(), description, text: text.to_owned(), variants };
        let filter: &'static Self = Box::leak(Box::new(filter));
        opened.insert(0, filter);
        Ok(filter)
    }

    /// Returns the variants of a folder's filter; none for the box filter, whose variants are [`VariantId::all`].
    pub fn variants(&'static self) -> impl DoubleEndedIterator<Item = VariantId> {
        self.variants.iter().map(VariantId::of)
    }

    /// Returns the variant with this id, as in the description.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub fn variant(&'static self, id: &str) -> Result<VariantId, String> {
        let ids: Vec<&str> = self.description.variants.iter().map(|variant| variant.id.as_str()).collect();
        let at = ids.iter().position(|known| *known == id);
        at.and_then(|at| self.variants().nth(at)).ok_or_else(|| {
            let near = filter::nearest(id, ids.iter().copied());
            let instead =
                near.map_or(format!("it has {}", ids.join(", ")), |near| format!("did you mean '{near}'?"));
            format!("the filter '{}' has no variant '{id}'; {instead}", self.name)
        })
    }

    /// Returns the variant that is selected first.
    pub fn initial(&'static self) -> VariantId {
        self.variants().nth(self.description.initial).unwrap_or(VariantId::OFF)
    }

    /// Returns the variant that all others are compared with; `None` if that is a built-in function, or there is none.
    pub(crate) fn reference(&'static self) -> Option<VariantId> {
        match self.description.reference {
            Some(Reference::Variant(index)) => self.variants().nth(index),
            _ => None,
        }
    }

    /// Returns the largest difference that a byte of a correct output may have from the reference.
    pub(crate) fn bound(&self) -> u8 {
        match &self.description.accuracy {
            Accuracy::Exact => 0,
            Accuracy::Within { largest_difference, .. } => *largest_difference,
        }
    }

    /// Returns the radius of a filter that is compared with the box filter.
    pub(crate) fn radius(&self, whole: &Extent) -> u32 {
        let at = self.description.parameters.iter().position(|parameter| parameter.name == "radius");
        whole.settings.get(at.unwrap_or(0)) as u32
    }

    /// Returns the defaults of the parameters.
    pub fn defaults(&self) -> Settings {
        Settings::defaults(&self.description.parameters)
    }
}

impl VariantId {
    /// Returns the filter to which the variant belongs.
    pub fn filter(self) -> &'static Filter {
        self.opened().unwrap_or(&BOX)
    }

    /// Returns the filter of a folder to which the variant belongs; `None` for those of the box filter.
    pub fn opened(self) -> Option<&'static Filter> {
        OPENED.read().iter().copied().find(|filter| filter.variants.iter().any(|variant| self.is(variant)))
    }

    /// Returns the elements of an output of this width, with the accuracy of the filter.
    pub(crate) fn elements(self, width: u32) -> Pixels {
        Pixels { rgba: Rgba { width: width as usize }, bound: self.filter().bound() }
    }

    /// Returns the values of the filter's parameters for a sentence, as in "r=7".
    pub fn settings_text(self, settings: Settings) -> String {
        match self.opened() {
            None => format!("r={}", settings.first()),
            Some(filter) => settings.text(&filter.description.parameters),
        }
    }

    /// Returns the settings with which the variant runs for the first time, on a small picture.
    pub(crate) fn trial_settings(self) -> Settings {
        self.opened().map_or(Settings::from(1), Filter::defaults)
    }
}

/// The bytes of RGBA pixels, which may differ by so much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pixels {
    rgba: Rgba,
    bound: u8,
}

impl Elements for Pixels {
    fn name(&self) -> &'static str {
        self.rgba.name()
    }

    fn bytes(&self) -> usize {
        self.rgba.bytes()
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        self.rgba.value(bytes)
    }

    fn position(&self, number: usize) -> String {
        self.rgba.position(number)
    }

    fn error(&self, _: usize, got: f64, want: f64) -> Option<f64> {
        (self.bound > 0).then(|| (got - want).abs())
    }

    fn bound(&self) -> Option<f64> {
        (self.bound > 0).then(|| self.bound.into())
    }
}

/// Returns the variants of all opened folders.
pub(crate) fn opened_variants() -> Vec<VariantId> {
    let opened: Vec<&'static Filter> = OPENED.read().clone();
    opened.into_iter().flat_map(Filter::variants).collect()
}

/// Returns the name of a folder, without characters that names of files and variants cannot have.
fn folder_name(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control() && !['/', ' ', ','].contains(c)).collect();
    // The folders of the built-in kernels have their names.
    if name.is_empty() || Sources::has_built_in(&name) { format!("{name}-filter") } else { name }
}

/// Returns all mistakes as one error: the first one in full.
fn joined(mistakes: &[Mistake]) -> Error {
    let Some((first, others)) = mistakes.split_first() else {
        return Error::new("The description of the filter is wrong.", "", "");
    };
    let mut error = (*first.error).clone();
    if !others.is_empty() {
        let more: Vec<&str> = others.iter().map(|mistake| mistake.error.what.as_str()).collect();
        error.why = format!("{} Also: {}", error.why, more.join(" "));
    }
    error
}

/// Returns an error if the description has something that clreel cannot run yet.
fn require_runnable(description: &Description) -> Result<()> {
    let what = format!("'{}' cannot run.", description.name);
    if description.input == Format::Planes || description.output == Format::Planes {
        let why = "Filters of planes are described, but clreel runs only those of RGBA pictures so far.";
        return Err(Error::new(what, why, "Remove `input` and `output`."));
    }
    if description.frames > 1 {
        let why = "Filters of several frames are described, but clreel runs only those of one frame so far.";
        return Err(Error::new(what, why, "Remove `frames` and `frames_back`."));
    }
    Ok(())
}

/// A filter that another process sends to this one, which then knows it. In a message it must come before variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Sent", into = "Sent")]
pub(crate) struct SentFilter(Sent);

/// The name of a filter and the text of its description; `None` for the box filter.
type Sent = Option<(String, String)>;

impl SentFilter {
    /// Returns the filter of a variant.
    pub(crate) fn of(id: VariantId) -> Self {
        Self(id.opened().map(|filter| (filter.name.clone(), filter.text.clone())))
    }
}

impl TryFrom<Sent> for SentFilter {
    type Error = String;

    fn try_from(sent: Sent) -> Result<Self, String> {
        if let Some((name, text)) = &sent {
            Filter::register(name, text).map_err(|mistakes| joined(&mistakes).to_string())?;
        }
        Ok(Self(sent))
    }
}

impl From<SentFilter> for Sent {
    fn from(sent: SentFilter) -> Self {
        sent.0
    }
}
