//! A filter of the stack besides the chosen one: its folder, the version of its texts that runs, and later versions that are to take
//! over.

use super::filters::name_of;
use super::*;
use crate::app::builder::MemberVersion;
use base::error::Result;
use box_filter::Filter;
use overlay::StackRow;
use serde::{Deserialize, Serialize};
use stats::Layer;

/// The first sentence of the error if a filter cannot be added to the stack.
pub(super) const FAILED: &str = "The filter could not be added to the stack.";

/// A filter of the stack, besides the chosen one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// The path of the folder; `None` for the box filter.
    pub folder: Option<String>,
    pub variant: VariantId,
    pub settings: Settings,
    pub is_on: bool,
    /// The sources from which the kernels are built.
    pub sources: Sources,
    /// The error because of which the kernels were not built; `None` if they were, or will be.
    pub error: Option<Error>,
    /// The version that was saved last and is to take over; `None` if it runs, or cannot run.
    pub next: Option<MemberVersion>,
    /// The error because of which the version that was saved last does not take over; `None` if it runs, or may still.
    pub fault: Option<Error>,
}

/// A filter of a stack, as the settings file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedMember {
    /// The path of the folder; `None` for the box filter.
    pub(super) folder: Option<String>,
    /// The id of the variant in the description.
    variant: String,
    /// The values of the parameters, each as in "gain=2".
    values: Vec<String>,
    is_on: bool,
}

impl Member {
    /// Creates a member that is switched on and has no errors, without a folder.
    pub(super) fn new((variant, settings): (VariantId, Settings), sources: Sources) -> Self {
        let (folder, error, next, fault) = (None, None, None, None);
        Self { folder, variant, settings, is_on: true, sources, error, next, fault }
    }

    /// Reads the filter of a folder.
    ///
    /// # Errors
    /// If it cannot be read, or its description is wrong.
    pub(super) fn read(SavedMember { folder, variant, values, is_on }: SavedMember) -> Result<Self> {
        let sources =
            folder.as_ref().map_or_else(|| Ok(Sources::default()), |f| Sources::read(Path::new(f)))?;
        let filter = match &folder {
            None => VariantId::OFF.filter(),
            Some(_) => described(&sources)?,
        };
        let settings = settings_of(filter, &values);
        let variant = filter.variant(&variant).unwrap_or_else(|_| filter.initial());
        Ok(Self { folder, is_on, ..Self::new((variant, settings), sources) })
    }

    pub(super) fn saved(&self) -> SavedMember {
        SavedMember {
            folder: self.folder.clone(),
            variant: self.variant.short_name().to_owned(),
            values: self.values(),
            is_on: self.is_on,
        }
    }

    /// Returns the values of the parameters, each as in "gain=2".
    fn values(&self) -> Vec<String> {
        let values = self.variant.filter().settings_map(self.settings);
        values.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    pub(super) fn layer(&self) -> Layer {
        Layer { variant: self.variant, settings: self.settings }
    }

    /// Returns the version that runs, or is to run first.
    pub(super) fn version(&self) -> MemberVersion {
        MemberVersion { variant: self.variant, settings: self.settings, sources: self.sources.clone() }
    }

    pub(super) fn row(&self) -> StackRow {
        let (filter, settings) = (self.variant.filter(), self.variant.settings_text(self.settings));
        StackRow {
            name: filter.description.name.clone(),
            filter: format!("{} {settings}", self.variant.short_name()).trim_end().to_owned(),
            is_on: self.is_on,
            fault: self.fault.clone(),
            ..StackRow::default()
        }
    }

    /// Takes the texts that the folder has now. If they change the variant, they are the next version, or there is an error.
    fn take_texts(&mut self, texts: &Result<Sources>) {
        let read = texts.as_ref().map_err(Clone::clone);
        let read = read.and_then(|sources| Ok((described(sources)?, sources)));
        (self.next, self.fault) = match read {
            Err(error) => (None, Some(error)),
            Ok((filter, sources)) => {
                let variant = filter.variant(self.variant.short_name()).unwrap_or_else(|_| filter.initial());
                let kinds = [DeviceKind::Cpu, DeviceKind::Gpu];
                let is_same = |kind: DeviceKind| is_same(variant, kind, sources, &self.sources);
                let is_changed = variant != self.variant || !kinds.into_iter().all(is_same);
                let settings = match variant == self.variant {
                    true => self.settings,
                    false => settings_of(filter, &self.values()),
                };
                let sources = sources.clone();
                (is_changed.then_some(MemberVersion { variant, settings, sources }), None)
            }
        };
    }

    /// Notes the result of building a version. Adds errors that it ends to `over`. Returns true if the version replaces another one.
    pub(super) fn note_built(
        &mut self,
        version: &MemberVersion,
        built: &Result<()>,
        over: &mut Vec<Error>,
    ) -> bool {
        let is_next = self.next.as_ref() == Some(version);
        let runs = self.variant == version.variant && self.sources == version.sources;
        if let Err(error) = built {
            if is_next {
                (self.next, self.fault) = (None, Some(error.clone()));
            } else if runs {
                self.error = Some(error.clone());
            }
            return false;
        }
        if is_next || runs {
            over.extend(self.error.take());
        }
        if is_next {
            over.extend(self.fault.take());
            self.next = None;
            if self.variant != version.variant {
                (self.variant, self.settings) = (version.variant, version.settings);
            }
            self.sources = version.sources.clone();
        }
        is_next
    }
}

impl SavedMember {
    /// Creates a member with the variant and the values that the description in the folder begins with; `None` is the box filter.
    pub(super) fn new(folder: Option<String>) -> Self {
        Self { folder, variant: String::new(), values: Vec::new(), is_on: true }
    }

    pub(super) fn name(&self) -> String {
        let of_box = || VariantId::OFF.filter().description.name.clone();
        self.folder.as_ref().map_or_else(of_box, |folder| name_of(Path::new(folder)))
    }
}

/// Returns the filter that these sources describe.
///
/// # Errors
/// If there is none, or its description is wrong.
fn described(sources: &Sources) -> Result<&'static Filter> {
    let none = || Error::new(FAILED, "Its folder has no filter.toml.", "Choose another folder.");
    Filter::of(sources).into_iter().next().ok_or_else(none)?.1
}

/// Returns the settings of a filter with these values, each as in "gain=2". A value that the parameter cannot have leaves the default.
fn settings_of(filter: &Filter, values: &[String]) -> Settings {
    let mut settings = filter.defaults();
    for value in values {
        let _ = settings.set(&filter.description.parameters, value);
    }
    settings
}

/// The watchers of the folders of members.
#[derive(Default)]
pub(super) struct MemberWatchers(Vec<(String, FolderWatcher)>);

impl MemberWatchers {
    /// Watches the folders of these members, and no others, and gives the members the texts that were saved there. Returns true if there
    /// are any.
    pub(super) fn update(&mut self, members: &mut [Member], cx: &PlayerContext) -> bool {
        let is_member = |folder: &String, members: &[Member]| {
            members.iter().any(|member| member.folder.as_ref() == Some(folder))
        };
        self.0.retain(|(folder, _)| is_member(folder, members));
        for folder in members.iter().filter_map(|member| member.folder.as_ref()) {
            if !self.0.iter().any(|(known, _)| known == folder) {
                let watcher = FolderWatcher::start(folder.into(), None, &cx.waker, system_watcher);
                self.0.push((folder.clone(), watcher));
            }
        }
        let mut is_read = false;
        for (folder, watcher) in &self.0 {
            while let Some(message) = watcher.poll() {
                let texts = match message {
                    FolderMessage::Read { sources, .. } => Ok(sources),
                    FolderMessage::Unreadable(error) => Err(error),
                    FolderMessage::Slow(_) => continue,
                };
                is_read = true;
                let members = members.iter_mut().filter(|member| member.folder.as_ref() == Some(folder));
                members.for_each(|member| member.take_texts(&texts));
            }
        }
        is_read
    }
}
