//! The filters of this process: the box filter, and those of folders that were opened.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VariantId;
use super::config::{Code, Extent};
use super::described::{DESCRIPTION, codes};
use super::filter::{Group, Variant, Work};
use super::planar::Samples;
use super::table::VARIANTS;
use base::device::DeviceKind;
use base::error::{Error, Result};
use base::verify::Elements;
use filter::{Accuracy, Description, Mistake, Parameter, Reference, Settings, folder};
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
    /// The variants of a folder, in the order of the description, and then `auto` if there are several.
    variants: Vec<Variant>,
    /// For each variant the kernel files of CPUs and of all other devices, its own ones before those of its reference.
    files: Vec<[Vec<&'static str>; 2]>,
}

/// The box filter.
static BOX: LazyLock<Filter> = LazyLock::new(|| Filter {
    name: "box".to_owned(),
    description: &DESCRIPTION,
    text: String::new(),
    variants: Vec::new(),
    files: Vec::new(),
});

/// The filter of a folder whose variants are listed; `None` for the box filter.
static SELECTED: RwLock<Option<&'static Filter>> = RwLock::new(None);

/// The filters of folders, the latest first. They are never freed, since variants refer to them.
static OPENED: RwLock<Vec<&'static Filter>> = RwLock::new(Vec::new());

impl Filter {
    /// Returns the filters whose folders are among the sources, each with its name, or the mistakes in its description.
    pub fn of(sources: &Sources) -> Vec<(String, Result<&'static Self>)> {
        let described = sources.texts().filter_map(|(name, text)| {
            let folder = name.strip_suffix(folder::FILE)?.strip_suffix('/')?;
            // The box filter is compiled in.
            (!Sources::has_built_in(folder)).then_some((folder, text))
        });
        let read = |folder: &str, text: &Result<String>| {
            let text = text.as_ref().map_err(Clone::clone)?;
            let filter = Self::register(folder, text).map_err(|mistakes| joined(&mistakes))?;
            let text_of = |file: &str| {
                let path = format!("{folder}/{file}");
                if !sources.has(&path) {
                    return Err("There is no such file.".to_owned());
                }
                sources.text(&path).map_err(|error| error.why)
            };
            folder::check_kernels(filter.description, text_of).map_err(|mistakes| joined(&mistakes))?;
            Ok(filter)
        };
        described.map(|(folder, text)| (folder.to_owned(), read(folder, text))).collect()
    }

    /// Returns the filter of this name whose description has this text, and makes it known.
    fn register(name: &str, text: &str) -> Result<&'static Self, Vec<Mistake>> {
        let mut opened = OPENED.write();
        if let Some(at) = opened.iter().position(|known| known.name == name && known.text == text) {
            // The latest one of its name is found first.
            let known = opened.remove(at);
            opened.insert(0, known);
            return Ok(known);
        }
        let file = format!("{name}/{}", folder::FILE);
        let description: &'static Description = Box::leak(Box::new(Description::parse(text, &file)?));
        let leaked = |text: String| -> &'static str { text.leak() };
        // Variants without a key get those that are left.
        let is_free = |key: &u8| description.variants.iter().all(|variant| variant.key != Some(*key));
        let mut free = (1..=8).filter(is_free);
        let reference = match description.reference {
            Some(Reference::Variant(index)) if description.variants.len() > 1 => Some(index),
            _ => None,
        };
        let of = |variant: &'static filter::Variant| codes(&variant.codes, &format!("{name}/"), description);
        let all_codes: Vec<[&'static Code; 2]> = description.variants.iter().map(of).collect();
        let variants = description.variants.iter().enumerate().map(|(index, variant)| Variant {
            name: leaked(format!("{name}/{}", variant.id)),
            key: variant.key.or_else(|| free.next()).map_or(' ', |key| char::from(b'0' + key)),
            group: if variant.is_step { Group::Steps } else { Group::Beyond },
            title: &variant.title,
            idea: match (reference, &description.reference) {
                (Some(of), _) if of == index => {
                    leaked(format!("{} The reference of the others.", variant.idea))
                }
                (_, None) => leaked(format!("{} It has no reference.", variant.idea)),
                _ => &variant.idea,
            }
            .trim_start(),
            work: Work::Kernels(all_codes[index]),
        });
        let files = |codes: &[&'static Code; 2]| {
            [0, 1].map(|kind| {
                let of_reference = reference.map(|at| all_codes[at][kind].files);
                [codes[kind].files, of_reference.unwrap_or_default()].concat()
            })
        };
        let files_of_all = [0, 1].map(|kind| {
            let files: BTreeSet<&str> =
                all_codes.iter().flat_map(|codes| codes[kind].files).copied().collect();
            files.into_iter().collect()
        });
        let files = all_codes.iter().map(files).chain([files_of_all]).collect();
        let mut variants: Vec<Variant> = variants.collect();
        // The only variant is always the fastest.
        variants.extend((variants.len() > 1).then(|| auto(&variants[description.auto])));
        let filter = Self { name: name.to_owned(), description, text: text.to_owned(), variants, files };
        let filter: &'static Self = Box::leak(Box::new(filter));
        opened.insert(0, filter);
        Ok(filter)
    }

    /// Returns an invented filter of a folder for tests, with the tables of its parameters as TOML. It has the variants `plain`,
    /// `other` and `auto`, and no kernel files.
    ///
    /// # Panics
    /// Panics if the parameters are wrong.
    #[doc(hidden)]
    pub fn made_up(name: &str, parameters: &str) -> &'static Self {
        let head = format!("format = 1\nname = \"{name}\"\nsentence = \"It does nothing.\"\n");
        let variant = |id| {
            format!(
                "[[variants]]\nid = \"{id}\"\n[[variants.passes]]\nfile = \"a.cl\"\nkernel = \"a\"\nglobal = [1]\n\
                 local = [1]\narguments = {{ src = {{ input = \"buffer\" }}, dst = {{ output = \"buffer\" }} }}\n"
            )
        };
        let text = [head, parameters.to_owned(), variant("plain"), variant("other")].join("\n");
        Self::register(name, &text).unwrap_or_else(|mistakes| panic!("{}", joined(&mistakes)))
    }

    /// Returns the variants of a folder's filter; none for the box filter, whose variants are [`VariantId::all`].
    pub fn variants(&'static self) -> impl DoubleEndedIterator<Item = VariantId> {
        self.variants.iter().map(VariantId::of)
    }

    /// Returns the filter of a folder whose variants are listed and named by their ids alone; `None` for the box filter.
    pub fn selected() -> Option<&'static Self> {
        *SELECTED.read()
    }

    /// Selects the filter whose variants are listed: that of a folder, or the box filter.
    pub fn select(filter: Option<&'static Self>) {
        *SELECTED.write() = filter;
    }

    /// Returns the variants to list: those of the selected filter.
    pub(crate) fn listed() -> &'static [Variant] {
        Self::selected().map_or(&VARIANTS, |filter| &filter.variants)
    }

    /// Returns the variant with this id, as in the description, or `auto`; for `auto` of a filter with one variant that one.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub fn variant(&'static self, id: &str) -> Result<VariantId, String> {
        let ids: Vec<&str> = self.variants().map(VariantId::short_name).collect();
        let at = ids.iter().position(|known| *known == id);
        // The only variant is the fastest one.
        let at = at.or_else(|| (id == "auto" && ids.len() == 1).then_some(0));
        at.and_then(|at| self.variants().nth(at)).ok_or_else(|| {
            let near = filter::nearest(id, ids.iter().copied());
            let instead =
                near.map_or(format!("it has {}", ids.join(", ")), |near| format!("did you mean '{near}'?"));
            format!("the filter '{}' has no variant '{id}'; {instead}", self.name)
        })
    }

    /// Returns true for the box filter, false for that of a folder.
    pub fn is_box(&self) -> bool {
        self.variants.is_empty()
    }

    /// Returns the variant of this name that has kernels; `None` if there is none.
    pub(crate) fn with_kernels(&'static self, name: &str) -> Option<VariantId> {
        let of_box = self.is_box().then(VariantId::built_in);
        let mut all = self.variants().chain(of_box.into_iter().flatten());
        all.find(|id| id.name_in_table() == name && !id.codes().is_empty())
    }

    /// Returns the variant `auto`, which runs the fastest one by tuning results; [`VariantId::OFF`] for a folder's filter with a
    /// single variant.
    pub fn auto(&'static self) -> VariantId {
        let of_box = self.is_box().then(VariantId::built_in).into_iter().flatten();
        self.variants().chain(of_box).find(|id| id.is_auto()).unwrap_or(VariantId::OFF)
    }

    /// Returns the variant that `auto` runs without tuning results.
    pub(crate) fn untuned(&'static self) -> Option<VariantId> {
        self.with_kernels(match self.variants.get(self.description.auto) {
            Some(variant) => variant.name,
            None => &self.description.variants[self.description.auto].id,
        })
    }

    /// Returns the variant that is selected first.
    pub fn initial(&'static self) -> VariantId {
        let initial = &self.description.variants[self.description.initial].id;
        let of_box = || VariantId::built_in().find(|id| id.name == initial.as_str());
        self.variants().nth(self.description.initial).or_else(of_box).unwrap_or(VariantId::OFF)
    }

    /// Returns the variant that all others are compared with, or the only one; `None` if they are compared with a built-in function.
    pub fn reference_or_only(&'static self) -> Option<VariantId> {
        let only = || self.variants().next().filter(|_| self.description.reference.is_none());
        self.reference().or_else(only)
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
    pub fn radius(&self, settings: Settings) -> u32 {
        let at = self.description.parameters.iter().position(|parameter| parameter.name == "radius");
        settings.get(at.unwrap_or(0)) as u32
    }

    /// Returns these settings with each parameter in turn at the ends of its range.
    pub fn extremes(&self, settings: Settings) -> Vec<Settings> {
        let parameters = self.description.parameters.iter().enumerate();
        let ends = parameters.flat_map(|(index, parameter)| {
            parameter.range.map(|end| settings.with(&self.description.parameters, index, end))
        });
        ends.filter(|other| *other != settings).collect()
    }

    /// Returns the values of the parameters by name, for JSON.
    pub fn settings_map(&self, settings: Settings) -> Map<String, Value> {
        let value = |(index, parameter): (usize, &Parameter)| {
            let value = settings.get(index);
            let value = if parameter.is_whole { Value::from(value as i64) } else { Value::from(value) };
            (parameter.name.clone(), value)
        };
        self.description.parameters.iter().enumerate().map(value).collect()
    }

    /// Returns the defaults of the parameters.
    pub fn defaults(&self) -> Settings {
        Settings::defaults(&self.description.parameters)
    }
}

impl VariantId {
    /// Returns the name for places where the filter is known: that of the description for a folder's variant.
    pub fn short_name(self) -> &'static str {
        let name = self.name_in_table();
        if self.opened().is_none() { name } else { name.rsplit_once('/').map_or(name, |(_, id)| id) }
    }

    /// Returns the filter to which the variant belongs.
    pub fn filter(self) -> &'static Filter {
        self.opened().unwrap_or(&BOX)
    }

    /// Returns the filter of a folder to which the variant belongs; `None` for those of the box filter.
    pub fn opened(self) -> Option<&'static Filter> {
        OPENED.read().iter().copied().find(|filter| filter.variants.iter().any(|variant| self.is(variant)))
    }

    /// Returns the number of frames that the variant reads: this one and those before it.
    pub fn frames(self) -> usize {
        self.filter().description.frames as usize
    }

    /// Returns the samples of an output, with the accuracy of the filter.
    pub fn elements(self, whole: &Extent) -> OutputElements {
        let samples: Box<dyn Elements> = match whole.output {
            Some(layout) => Box::new(Samples(layout)),
            None => Box::new(Rgba { width: whole.width as usize }),
        };
        OutputElements { samples, bound: self.filter().bound() }
    }

    /// Returns the values of the filter's parameters for a sentence, as in "r=7".
    pub fn settings_text(self, settings: Settings) -> String {
        match self.opened() {
            None => format!("r={}", settings.first()),
            Some(filter) => settings.text(&filter.description.parameters),
        }
    }

    /// Returns the result of comparing an output that does not differ, in a word or two: "exact", "within 2", or that it was compared
    /// with nothing.
    pub fn agreement(self) -> String {
        let filter = self.filter();
        match (&filter.description.reference, filter.bound()) {
            (None, _) => "no reference".to_owned(),
            (Some(Reference::Variant(_)), _) if filter.reference() == Some(self) => {
                "the reference".to_owned()
            }
            (_, 0) => "exact".to_owned(),
            (_, bound) => format!("within {bound}"),
        }
    }

    /// Returns the kernel files of a folder's variant and of its reference, for `auto` those of all variants; `None` for the box
    /// filter.
    pub(crate) fn opened_files(self, kind: DeviceKind) -> Option<&'static [&'static str]> {
        let filter = self.opened()?;
        let at = filter.variants.iter().position(|variant| self.is(variant))?;
        Some(&filter.files.get(at)?[usize::from(kind != DeviceKind::Cpu)])
    }

    /// Returns the settings with which the variant runs for the first time, on a small picture.
    pub fn trial_settings(self) -> Settings {
        self.opened().map_or(Settings::from(1), Filter::defaults)
    }
}

/// The samples of an output, which may differ by so much.
#[derive(Debug)]
pub struct OutputElements {
    samples: Box<dyn Elements>,
    bound: u8,
}

impl Elements for OutputElements {
    fn name(&self) -> &'static str {
        self.samples.name()
    }

    fn bytes(&self) -> usize {
        self.samples.bytes()
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        self.samples.value(bytes)
    }

    fn position(&self, number: usize) -> String {
        self.samples.position(number)
    }

    fn error(&self, number: usize, got: f64, want: f64) -> Option<f64> {
        // Bytes between the rows of planes may have any value.
        let is_any = self.samples.is_close(number, got, want);
        (self.bound > 0).then(|| if is_any { 0.0 } else { (got - want).abs() })
    }

    fn is_close(&self, number: usize, got: f64, want: f64) -> bool {
        self.samples.is_close(number, got, want)
            || self.error(number, got, want).is_some_and(|error| error <= self.bound.into())
    }

    fn bound(&self) -> Option<f64> {
        (self.bound > 0).then(|| self.bound.into())
    }
}

/// Returns the variant of a folder that runs the fastest one by tuning results, and `untuned` without them.
fn auto(untuned: &Variant) -> Variant {
    let idea = format!(
        "The fastest for this device and size, as `clreel tune` measured it; {} before that.",
        untuned.title
    );
    let name = untuned.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    Variant {
        name: format!("{name}/auto").leak(),
        key: '9',
        group: Group::Beyond,
        title: "Auto",
        idea: idea.leak(),
        work: Work::Fastest(untuned.name),
    }
}

/// Returns the variants of all opened folders.
pub fn opened_variants() -> Vec<VariantId> {
    let opened: Vec<&'static Filter> = OPENED.read().clone();
    opened.into_iter().flat_map(Filter::variants).collect()
}

/// The number of mistakes after the first one that an error shows: a list that is not closed has one in each line.
const MAX_MORE_MISTAKES: usize = 3;

/// Returns all mistakes as one error: the first one in full, what is wrong in a few more, and how many others there are.
fn joined(mistakes: &[Mistake]) -> Error {
    let Some((first, others)) = mistakes.split_first() else {
        return Error::new("The description of the filter is wrong.", "", "");
    };
    let mut error = (*first.error).clone();
    if !others.is_empty() {
        let (shown, left) = others.split_at(others.len().min(MAX_MORE_MISTAKES));
        let mut more: Vec<&str> = shown.iter().map(|mistake| mistake.error.what.as_str()).collect();
        let count = format!("There are {} more mistakes.", left.len());
        more.extend((!left.is_empty()).then_some(count.as_str()));
        error.why = format!("{} Also: {}", error.why, more.join(" "));
    }
    error
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
