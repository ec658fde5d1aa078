//! The list of filters, and the change from one to another: the box filter, and those of folders.

use super::member::Member;
use super::stored::Storage;
use super::thumbnails::{self, Thumbnails};
use super::*;
use crate::app::playlist::typed_path;
use base::text;
use box_filter::Filter;
use compute::BackEnd;
use engine::frame_loop::{Choice, SecondFilter};
use overlay::{FilterList, FilterRow};
use stats::VariantStatus;

/// The folder in which new filters are written, in the folder for saved files.
const FOLDER: &str = "clreel-filters";
/// The name of the folder of a new filter; another number follows if it exists.
const NEW_NAME: &str = "my-filter";
/// The description and the kernel of a new filter.
const TEMPLATE: [&str; 2] =
    [include_str!("../../kernels/filter/filter.toml"), include_str!("../../kernels/filter/filter.cl")];
/// The description of a filter that is made of the user's own kernel.
const OWN: &str = include_str!("../../kernels/filter/own.toml");
/// The names of the arguments in [`OWN`], in the order of the kernel.
const OWN_ARGUMENTS: [&str; 8] = ["src", "dst", "width", "height", "radius", "row0", "rows", "scale"];

/// The filters that the user may choose.
pub(super) struct Filters {
    pub shown: FilterList,
    /// The filter that was chosen, with its settings, before another one that is to be shown beside it; `None` if none is.
    pub beside: Option<(VariantId, Settings)>,
    pub thumbnails: Thumbnails,
    /// The last settings of the filters in folders that were left, by the path of the folder.
    settings: HashMap<String, Settings>,
}

impl Default for Filters {
    fn default() -> Self {
        let of_box = row_of(VariantId::OFF.filter());
        let shown = FilterList { rows: vec![of_box], ..FilterList::default() };
        Self { shown, beside: None, thumbnails: Thumbnails::default(), settings: HashMap::new() }
    }
}

impl Filters {
    /// Adds filters that were used before, the last one first, below those that are listed already.
    pub(super) fn add(&mut self, rows: Vec<FilterRow>) {
        let rows = rows.into_iter().filter(|row| !self.shown.rows.iter().any(|own| own.folder == row.folder));
        let new: Vec<FilterRow> = rows.collect();
        self.shown.rows.extend(new);
    }

    /// Keeps the settings of the filter `before` with the selected folder, and gives the filter `next` in another folder those that it
    /// had there. Folders of one name have settings of their own, although the player keeps them by the name.
    fn change_settings(
        &mut self,
        before: Option<&'static Filter>,
        next: Option<(&'static Filter, &str)>,
        choice: &mut Choice,
    ) {
        let left = self.shown.rows.get(self.shown.selected).and_then(|row| row.folder.clone());
        if left.as_deref() == next.map(|(_, folder)| folder) {
            return;
        }
        let settings = &mut self.settings;
        settings.extend(left.zip(before).map(|(left, before)| (left, choice.settings_of(before.initial()))));
        let Some((filter, folder)) = next else { return };
        let mut others = settings.keys().filter(|path| *path != folder);
        let has_namesake = others.any(|path| name_of(Path::new(path)) == filter.name);
        let own = settings.get(folder).copied().or_else(|| has_namesake.then(|| filter.defaults()));
        if let Some(own) = own.filter(|own| own.suit(&filter.description.parameters)) {
            choice.remember(filter.initial(), own);
        }
    }

    /// Names a filter as its description does now, in the row of the folder that members of the stack with this filter have.
    pub(super) fn rename(&mut self, filter: &Filter, members: &[Member]) {
        let members = members.iter().filter(|member| std::ptr::eq(member.variant.filter(), filter));
        for folder in members.filter_map(|member| member.folder.as_ref()) {
            for row in self.shown.rows.iter_mut().filter(|row| row.folder.as_ref() == Some(folder)) {
                let FilterRow { name, sentence, .. } = row_of(filter);
                (row.name, row.sentence, row.error) = (name, sentence, None);
            }
        }
    }

    /// Lists the filter of the watched folder as the one that was used last, with its error if its description is wrong. Without a
    /// filter the box filter is selected.
    pub(super) fn show_used(&mut self, folder: Option<&str>, filter: Option<&Filter>, error: Option<&Error>) {
        let rows = &mut self.shown.rows;
        self.shown.selected = 0;
        let Some(folder) = folder.filter(|_| filter.is_some() || error.is_some()) else { return };
        let at = rows.iter().position(|row| row.folder.as_deref() == Some(folder));
        let known = at.map(|at| rows.remove(at));
        let mut row = filter.map(row_of).or_else(|| known.clone()).unwrap_or_default();
        if row.name.is_empty() {
            row.name = name_of(Path::new(folder));
        }
        row.thumbnail = known.and_then(|known| known.thumbnail);
        (row.folder, row.error) = (Some(folder.to_owned()), error.cloned());
        rows.insert(1, row);
        self.shown.selected = usize::from(filter.is_some());
    }
}

/// Returns the row of a filter, without its folder.
fn row_of(filter: &Filter) -> FilterRow {
    let (name, sentence) = (filter.description.name.clone(), filter.description.sentence.clone());
    FilterRow { name, sentence, ..FilterRow::default() }
}

/// Returns the last part of a path for the screen.
pub(super) fn name_of(folder: &Path) -> String {
    folder.file_name().map(text::name).unwrap_or_default()
}

/// Returns the row of the filter in a folder; `None` if it has none.
pub(super) fn read(folder: &str) -> Option<FilterRow> {
    let path = Path::new(folder);
    if !path.join(sources::DESCRIPTION).exists() {
        return None;
    }
    let sources = Sources::read(path).ok()?;
    let filter = Filter::of(&sources).into_iter().next()?.1;
    let row = match filter {
        Ok(filter) => row_of(filter),
        Err(error) => FilterRow { name: name_of(path), error: Some(error), ..FilterRow::default() },
    };
    Some(FilterRow { folder: Some(folder.to_owned()), thumbnail: thumbnails::kept(&sources), ..row })
}

/// Returns the folders of filters that were written into one of these folders for saved files.
pub(super) fn written(folders: &[PathBuf]) -> Vec<String> {
    let all = folders.iter().filter_map(|folder| std::fs::read_dir(folder.join(FOLDER)).ok());
    let paths = all.flatten().flatten().map(|entry| entry.path());
    let described = paths.filter(|path| path.join(sources::DESCRIPTION).exists());
    let mut paths: Vec<String> = described.filter_map(|path| path.to_str().map(str::to_owned)).collect();
    paths.sort();
    paths
}

/// Returns the folder of the filter with this name: one that clreel has written, or one that was opened before. `Err` has the names of
/// those that there are.
pub(crate) fn find(name: &str) -> std::result::Result<PathBuf, Vec<String>> {
    let remembered = crate::app::settings::kernel_folders();
    let known = remembered.into_iter().chain(written(&save::folders())).map(PathBuf::from);
    let known: Vec<PathBuf> = known.filter(|path| path.join(sources::DESCRIPTION).exists()).collect();
    let found = known.iter().find(|path| path.ends_with(name));
    found.cloned().ok_or_else(|| known.iter().map(|path| name_of(path)).collect())
}

/// Returns the description of a filter whose kernel is the user's own kernel with this text.
///
/// # Errors
/// If the kernel has other arguments than the template of an own kernel.
fn describe_own(kernel: &str) -> base::error::Result<String> {
    let names = box_filter::argument_names(kernel, "own").unwrap_or_default();
    if names.len() != OWN_ARGUMENTS.len() {
        let why = "It does not take the eight arguments that the comment in the template lists.";
        let hint = "New filter\u{2026} writes a folder whose description names all arguments.";
        return Err(Error::new("own.cl could not be made a filter.", why, hint));
    }
    let (head, arguments) = OWN.split_once("\nsrc = ").unwrap_or((OWN, ""));
    let values = arguments.lines().map(|line| line.split_once(" = ").map_or(line, |(_, value)| value));
    // The first line has lost its name.
    let values = std::iter::once(arguments.lines().next().unwrap_or_default()).chain(values.skip(1));
    let lines = names.iter().zip(values).map(|(name, value)| format!("{name} = {value}\n"));
    Ok(format!("{head}\n{}", lines.collect::<String>()))
}

/// Writes a filter with this description and this kernel into a new folder, and returns its path.
fn write_filter([description, kernel]: [&str; 2]) -> base::error::Result<PathBuf> {
    const FAILED: &str = "The filter could not be written.";
    let folders: Vec<PathBuf> = save::folders().into_iter().map(|folder| folder.join(FOLDER)).collect();
    save::create_in(&folders, NEW_NAME, FAILED, |folder| {
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::create_dir(folder)?;
        // The names of two filters differ as those of their folders.
        let number = name_of(folder).strip_prefix(NEW_NAME).map(|rest| rest.replace('-', " "));
        let name = format!("\"My filter{}\"", number.unwrap_or_default());
        std::fs::write(folder.join("filter.cl"), kernel)?;
        std::fs::write(folder.join(sources::DESCRIPTION), description.replace("\"My filter\"", &name))?;
        Ok(folder.to_owned())
    })
}

impl LiveKernels {
    /// Changes to the filter at this position of the list.
    pub(crate) fn select_filter(&mut self, index: usize, devices: &mut Devices, cx: &mut PlayerContext) {
        if index == self.filters.shown.selected || self.copying.is_some() {
            return;
        }
        match self.filters.shown.rows.get(index) {
            Some(FilterRow { folder: Some(folder), .. }) => self.open(folder.into(), cx),
            Some(_) => self.unwatch(devices, cx),
            None => {}
        }
    }

    /// Changes to the filter at this position of the list, and shows the present one at the right of a wipe.
    pub(crate) fn wipe_filter(&mut self, index: usize, devices: &mut Devices, cx: &mut PlayerContext) {
        if self.copying.is_none() {
            self.filters.beside = Some(cx.frames.choice.filter());
            self.select_filter(index, devices, cx);
        }
    }

    /// Starts to open the filter in a folder; `typed` is the path of the folder or of its `filter.toml`, as the user has typed it.
    pub(crate) fn open_filter(&mut self, typed: &str, cx: &PlayerContext) {
        let home = base::environment::get("HOME").map(PathBuf::from);
        let path = typed_path(typed, home.as_deref());
        let open = move |_: &_| {
            let is_file = path.ends_with(sources::DESCRIPTION);
            let folder = path.parent().filter(|_| is_file).unwrap_or(&path).to_owned();
            if !folder.join(sources::DESCRIPTION).exists() {
                let what = format!("There is no filter in {}.", text::name(&folder));
                let why = "A filter is a folder with a filter.toml.";
                return Err(Error::new(what, why, "New filter\u{2026} writes one that runs."));
            }
            Sources::read(&folder).map(|_| folder)
        };
        self.copying = Some(Job::spawn("filter", "The filter could not be opened.", &cx.waker, open));
    }

    /// Starts to write a filter from a template, which is opened afterwards.
    pub(crate) fn make_filter(&mut self, cx: &PlayerContext) {
        if self.copying.is_none() {
            let failed = "The filter could not be written.";
            self.copying = Some(Job::spawn("filter", failed, &cx.waker, |_| write_filter(TEMPLATE)));
        }
    }

    /// Starts to write a filter with the user's own kernel, which is opened afterwards.
    pub(crate) fn make_filter_of_own(&mut self, cx: &mut PlayerContext) {
        let text = self.saved().and_then(|(_, sources)| sources.text(OWN_FILE).ok()).unwrap_or_default();
        if let (Some(description), None) = (cx.or_tell(describe_own(&text)), &self.copying) {
            let write = move |_: &_| write_filter([&description, &text]);
            self.copying = Some(Job::spawn("filter", "The filter could not be written.", &cx.waker, write));
        }
    }

    /// Stops watching the folder, so that the built-in kernels filter again.
    fn unwatch(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        (self.watching, self.is_unread) = (None, false);
        self.storage = Storage::default();
        self.versions.shown.folder = None;
        self.versions.is_named = false;
        self.versions.read(Sources::default(), false, false);
        self.saved().into_iter().for_each(|(_, sources)| cx.sources.set(sources));
        // The variants of the folder are not built from the built-in files.
        self.update_filter(devices, cx);
    }

    /// Lists and chooses the variants of `filter`, `None` for the box filter, in place of those of the filter before it. The second
    /// side of a wipe keeps its filter.
    pub(super) fn change_filter(
        &mut self,
        filter: Option<&'static Filter>,
        devices: &mut Devices,
        cx: &mut PlayerContext,
    ) {
        let (before, chosen) = (Filter::selected(), cx.frames.choice.filter());
        let id = chosen.0.name.rsplit_once('/').map_or("", |(_, id)| id);
        let next = filter.and_then(|filter| filter.variant(id).ok());
        let folder = self.folders.first().map(String::as_str);
        self.filters.change_settings(before, filter.zip(folder), &mut cx.frames.choice);
        Filter::select(filter);
        devices.list_selected();
        // Variants of the box filter were not built if clreel has begun with another one.
        for id in VariantId::all().filter(|id| filter.is_none() && id.back_end() == BackEnd::OpenCl) {
            if devices.status(id) == Some(&VariantStatus::Building) {
                devices.builds.builder.request(Request::Again(id));
            }
        }
        // Kernels that ran before are not built again unless they have changed.
        let of_filter = filter.into_iter().flat_map(Filter::variants);
        for id in of_filter {
            if !self.versions.running.contains_key(&Subject::Variant(id)) {
                continue;
            }
            let settings = cx.frames.choice.settings_of(id);
            if cx.frames.filters.workers.status().can_filter((id, None), settings) {
                devices.running.statuses.set(id, VariantStatus::Ready);
            } else {
                // They ran on another device.
                self.versions.running.remove(&Subject::Variant(id));
            }
        }
        // Nothing stays off that the user has switched off.
        let stays_off = chosen.0 == VariantId::OFF && before.is_some();
        let next = match self.next_chosen(filter) {
            Some((variant, settings)) => {
                cx.frames.choice.remember(variant, settings);
                variant
            }
            None => {
                self.keep_chosen();
                if stays_off { chosen.0 } else { next.unwrap_or_else(VariantId::initial) }
            }
        };
        let beside = self.filters.beside.take().map(SecondFilter::from).or_else(|| cx.frames.wipe.second());
        cx.frames.wipe.set_second(None);
        if let Some(second) = beside {
            self.set_second(second, devices, cx);
        }
        cx.or_notify(devices.prefer(next));
        self.awaited = Some(next);
    }

    /// Puts a filter on the second side of a wipe. Kernels of a folder are those of the version that runs.
    fn set_second(&self, second: SecondFilter, devices: &Devices, cx: &mut PlayerContext) {
        let (variant, settings) = second.filter;
        let runs = self.versions.running.get(&Subject::Variant(variant)).copied();
        match second.version.or(runs).filter(|_| variant.opened().is_some()) {
            Some(number) => self.request_second(number, (variant, settings), devices, cx),
            None => cx.frames.wipe.set_second(Some(second)),
        }
    }

    /// Shows the filter of the watched folder, or its error, in the list of filters.
    pub(super) fn list_filter(&mut self) {
        let folder = self.folders.first().filter(|_| self.watching.is_some());
        self.filters.show_used(folder.map(String::as_str), Filter::selected(), self.wrong_filter.as_ref());
    }

    /// Returns the list of filters for the overlay.
    pub(crate) fn filter_list(&self) -> &FilterList {
        &self.filters.shown
    }
}
