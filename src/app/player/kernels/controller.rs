//! Control of edited kernels: the watched folder, requests for validation, messages about its results, and wipes between two
//! versions.

use super::filters::{self, Filters};
use super::shown::{SourceKey, updated_source};
use super::stack::FilterStack;
use super::stored::{Storage, local_time};
use super::*;
use crate::app::kernels::history::History;
use crate::app::settings::{self, MAX_KERNEL_FOLDERS};
use base::numbers::thousands;
use box_filter::Filter;
use box_filter::color_kernels::Converter;
use box_filter::tuned::auto_variants;
use compute::KernelFile;
use compute::cache::Cache;
use overlay::{EditedFolder, FilterRow, heart};
use stats::{Setting, UsedKernel, VariantStatus};
use std::time::SystemTime;

/// The name of the folder into which the built-in kernels are copied; another number follows if it exists.
const COPY_NAME: &str = "clreel-kernels";

/// A folder that was edited before and can be read.
enum Remembered {
    Kernels(EditedFolder),
    Filter(FilterRow),
}

/// The watched folder of kernels, and the versions of its kernels.
#[derive(Default)]
pub(crate) struct LiveKernels {
    pub(super) watching: Option<FolderWatcher>,
    pub(super) copying: Option<Job<PathBuf>>,
    pub(super) versions: Versions,
    pub(super) storage: Storage,
    /// Identifies the source text that the kernels panel shows; `None` before the first one.
    source: Option<SourceKey>,
    /// The paths of the folders of kernels that were edited, newest first, for the settings file.
    pub folders: Vec<String>,
    /// True if the user has requested a kernel of their own that is to be selected once it is there.
    pub(super) selects_own: bool,
    /// The number of the version whose descriptions of filters were read last; 0 before the first one.
    described: u64,
    /// True until the watched folder has been read: the current version is that of the folder before it.
    pub(super) is_unread: bool,
    /// The variant of a filter that was just selected, which is chosen once it is built; the one before it runs until then.
    pub(super) awaited: Option<VariantId>,
    /// The error in the description of the filter, which its banner shows; `None` if it is right.
    pub(super) wrong_filter: Option<Error>,
    /// The job that checks which of the folders edited before can still be read: a disk may not respond.
    reading: Option<Job<Vec<Remembered>>>,
    pub(super) filters: Filters,
    pub(super) stack: FilterStack,
}

impl LiveKernels {
    /// Starts to watch the folder of kernels that the environment names; watches no folder if it names none. `folders` are the
    /// paths of folders that were edited before.
    pub(crate) fn begin(folders: Vec<String>, current: &CurrentSources, waker: &Waker) -> Self {
        let mut all = folders.clone();
        // The panel does not offer a folder that cannot be read.
        let edited = |path: String| {
            if let Some(filter) = filters::read(&path) {
                return Some(Remembered::Filter(filter));
            }
            let sources = Sources::read(Path::new(&path)).ok()?;
            let changed = newest_file(Path::new(&path)).map_or_else(|| "unknown".to_owned(), local_time);
            let edits = sources.changed_since(&Sources::default()).len();
            Some(Remembered::Kernels(EditedFolder { edits, path, changed }))
        };
        let read = move |_: &_| {
            let folders = save::folders();
            for path in existing_copies(&folders).into_iter().chain(filters::written(&folders)) {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
            Ok(all.into_iter().filter_map(edited).collect())
        };
        let failed = "The folders of edited kernels could not be read.";
        let reading = Some(Job::spawn("folders", failed, waker, read));
        let mut live = Self { folders, reading, ..Self::default() };
        if let Some(folder) = sources::named_folder() {
            live.versions.is_named = true;
            live.watch(&folder, Some(current), waker);
        }
        live
    }

    /// Starts to watch a folder of kernels, and adds it to the folders that were edited. `current` has the sources from which programs
    /// were built if the environment names the folder and this is the start; otherwise `None`.
    fn watch(&mut self, folder: &Path, current: Option<&CurrentSources>, waker: &Waker) {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        // The slash at the end is removed, so that a folder is remembered only once.
        let folder: PathBuf = folder.components().collect();
        self.versions.shown.folder = Some(base::text::name(&folder));
        // A path that is not Unicode is not remembered.
        if let Some(path) = folder.to_str() {
            self.folders.retain(|known| known != path);
            self.folders.insert(0, path.to_owned());
            self.folders.truncate(MAX_KERNEL_FOLDERS);
        }
        (self.described, self.is_unread) = (0, true);
        leave_out_watched(&mut self.versions.shown);
        // Nothing is stored if the user wants nothing saved.
        let history = settings::folder().map(|root| History::at(&root.join("versions"), &folder));
        self.storage = Storage::open(&folder, history, waker);
        self.watching = Some(FolderWatcher::start(folder, current, waker, system_watcher));
    }

    /// Sets the last stack of filters, which the settings have, and starts to read the filters of these folders, which run below the
    /// chosen one.
    pub(crate) fn begin_stack(&mut self, saved: Vec<SavedMember>, below: Vec<PathBuf>, waker: &Waker) {
        self.stack.saved = saved;
        self.stack.begin(below, waker);
    }

    /// Returns the last stack of filters, for the settings.
    pub(crate) fn saved_stack(&self) -> Vec<SavedMember> {
        self.stack.saved.clone()
    }

    /// Returns the contents of the overlay's kernels panel.
    pub(crate) fn shown(&self) -> &Kernels {
        &self.versions.shown
    }

    /// Returns the number and the sources of the version that was saved or chosen last; `None` without a watched folder.
    pub(crate) fn saved(&self) -> Option<(u64, Sources)> {
        let versions = &self.versions;
        versions.version(versions.current).map(|kept| (kept.row.number, kept.sources.clone()))
    }

    /// Returns the heart of the kernels that are in use for a variant, for the talk: the few most important lines of the source,
    /// which a comment marks. Returns `None` if the variant has no kernel file.
    pub(crate) fn heart(&self, variant: VariantId, kind: DeviceKind) -> Option<String> {
        let kept = self.versions.version_in_use(Subject::Variant(variant));
        let sources = kept.map(|kept| kept.sources.clone()).unwrap_or_default();
        let text = sources.text(variant.files(kind)?.first()?);
        Some(text.map_or_else(|_| String::new(), |text| heart(&text)))
    }

    /// Returns the number of the oldest kept version that has this kernel file; `None` if there is none, for the built-in file and
    /// for the user's own kernel.
    pub(crate) fn edited_version(&self, KernelFile { file, hash, .. }: &KernelFile) -> Option<u64> {
        let is_in = |sources: &Sources| sources.fingerprint(file).is_ok_and(|own| own == *hash);
        if file == OWN_FILE || self.watching.is_none() || is_in(&Sources::default()) {
            return None;
        }
        let number = self.versions.kept.iter().find(|kept| is_in(&kept.sources)).map(|kept| kept.row.number);
        number.filter(|number| !self.versions.is_first_with(file, *number))
    }

    /// Returns the path of a variant's kernel file in the watched folder.
    ///
    /// # Errors
    /// If no folder is watched, or the variant has no kernel file.
    pub(crate) fn file_to_edit(&self, variant: VariantId, kind: DeviceKind) -> base::error::Result<PathBuf> {
        let failed = |why: &str, hint| Err(Error::new("There is no kernel file to edit.", why, hint));
        let Some(file) = variant.files(kind).and_then(|files| files.first()) else {
            let hint = "Choose a step of the ladder, such as key 3.";
            return failed(&format!("'{variant}' has no kernels of its own."), hint);
        };
        // The watched folder is the first one that is remembered, unless its path is not Unicode.
        let watched = self.versions.shown.folder.as_ref();
        match self.folders.first().filter(|path| watched == Some(&base::text::name(path))) {
            Some(folder) => Ok(sources::root(Path::new(folder)).join(file)),
            None if watched.is_some() => {
                failed("The path of the folder is not Unicode.", "Open the file in your editor yourself.")
            }
            None => {
                failed("The built-in kernels run.", "Make an editable copy first, in the panel Kernels (e).")
            }
        }
    }

    /// Returns name and hash of the kernel file of a variant in a version, for the metadata of written files; `None` if the
    /// variant has no kernels, or the version is no longer kept.
    pub(crate) fn used(&self, variant: VariantId, version: u64, kind: DeviceKind) -> Option<UsedKernel> {
        let kept = self.versions.version(version);
        let built_in = Sources::default();
        let sources = match kept {
            Some(kept) => &kept.sources,
            None if self.versions.kept.is_empty() => &built_in,
            None => return None,
        };
        let file = variant.files(kind)?.first()?;
        let result = kept.and_then(|kept| kept.row.result(Subject::Variant(variant)));
        let is_exact = result.is_some_and(|result| result.validation == Validation::Exact);
        Some(UsedKernel {
            variant,
            version,
            kernel: KernelFile::of(file, sources)?,
            verified: is_exact || result.is_none() && is_same(variant, kind, sources, &built_in),
        })
    }

    /// Processes saved kernels and results of validation, requests validation of the current version, and updates the overlay's
    /// kernels panel. Must be called in each turn of the event loop.
    pub(crate) fn update(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        let mut is_new = self.poll_folder(cx);
        let lines = base::stdout::PRINTED.lock();
        if self.versions.shown.printed != *lines {
            self.versions.shown.printed.clone_from(&lines);
        }
        drop(lines);
        is_new |= self.storage.update(&mut self.versions, cx);
        if let Some(read) = Job::take_result(&mut self.reading, Duration::ZERO) {
            is_new = true;
            for remembered in cx.or_notify(read).unwrap_or_default() {
                match remembered {
                    Remembered::Kernels(folder) => self.versions.shown.remembered.push(folder),
                    Remembered::Filter(row) => self.filters.add(vec![row]),
                }
            }
            leave_out_watched(&mut self.versions.shown);
        }
        for news in std::mem::take(&mut devices.builds.news) {
            is_new = true;
            self.note_members(&news, cx);
            if let Some((subject, validation)) = self.versions.process(news) {
                report(subject, validation, cx);
            }
        }
        if is_new || self.watching.is_none() {
            self.update_filter(devices, cx);
            self.update_own_kernel(devices, cx);
        }
        let is_building = |id: &VariantId| matches!(devices.status(*id), Some(VariantStatus::Building));
        if let Some(awaited) = self.awaited.take_if(|awaited| !is_building(awaited)) {
            // Meanwhile the user may have chosen a variant of the new filter, or none.
            let chosen = cx.chosen();
            let is_forced = chosen != VariantId::OFF && !is_same_filter(chosen.opened(), Filter::selected());
            self.choose_awaited(awaited, is_forced, cx);
        }
        self.update_stack(devices, cx);
        self.versions.note_device(cx.frames.device_changes, devices.builds.restarts);
        self.validate(devices, cx);
        for over in self.versions.take_obsolete_errors() {
            cx.notices.hide_all(|error| is_same_error(error, &over));
            cx.repaints.redraw_with_next_frame();
        }
        let (chosen, settings) = cx.frames.choice.filter();
        let size = cx.frames.presenter.screen.size();
        let score = cx.frames.recorder.shown.scores.of(chosen);
        if let Some(score) = score.filter(|score| size.is_some_and(|size| score.is_at(settings, size))) {
            let of = Circumstances { variant: chosen, settings, size: score.size, beside: score.beside };
            self.versions.time(of, FilterTime { ms: score.ms, n: score.n, noise: score.noise });
        }
        // The time of the user's own kernel is shown even if it computes something else, but is in no comparison.
        if let (Some(setting), Some(left_out)) =
            (cx.frames.recorder.shown.setting, cx.frames.recorder.shown.left_out())
            && setting.variant.is_own()
        {
            let Setting { variant, settings, size, beside, .. } = setting;
            let time = FilterTime { ms: left_out.p50, n: left_out.n, noise: left_out.noise };
            self.versions.time(Circumstances { variant, settings, size, beside }, time);
        }
        // The filter of a folder is selected once that is read.
        if cx.overlay.panels.is_open(Panel::Filters)
            && self.awaited.is_none()
            && self.described == self.versions.current
        {
            let Filters { thumbnails, shown, .. } = &mut self.filters;
            is_new |= thumbnails.update(shown, &cx.waker);
        }
        let is_open = cx.overlay.panels.is_open(Panel::Kernels);
        if is_open {
            let kind = devices.running.kind();
            // For `auto`, the source of the variant that it uses is shown.
            let auto = size.filter(|_| chosen.is_auto());
            let auto =
                auto.and_then(|size| cx.frames.filters.workers.auto(size, cx.frames.choice.box_radius()));
            let chosen = auto.map_or(chosen, |auto| auto.variant);
            if let Some(source) = updated_source(&mut self.source, &self.versions, chosen, kind) {
                self.versions.shown.source = source;
            }
        }
        if is_open && cx.overlay.switches.machine_code {
            self.request_machine_code(devices, cx);
        }
        if is_new {
            let shown = self.versions.shown.diff.as_ref().map(|diff| diff.version);
            self.versions.compare_with_files(shown);
        }
        if is_new || is_open {
            self.refresh(cx);
        }
        if is_new {
            cx.repaints.redraw_with_next_frame();
        }
    }

    /// Updates the rows of the kernels panel from the versions and the measured times.
    pub(super) fn refresh(&mut self, cx: &PlayerContext) {
        self.versions.refresh(cx.chosen(), circumstances(cx));
        self.versions.shown.copying = self.copying.is_some();
    }

    /// Processes the messages of the thread that watches the folder. If the built-in kernels were copied into a new folder,
    /// starts to watch that folder. Returns true if anything has changed.
    fn poll_folder(&mut self, cx: &mut PlayerContext) -> bool {
        let mut is_new = false;
        while let Some(news) = self.watching.as_ref().and_then(FolderWatcher::poll) {
            is_new = true;
            match news {
                FolderMessage::Read { sources, asked, is_built } => {
                    self.is_unread = false;
                    self.versions.read(sources, asked, is_built);
                    self.saved().into_iter().for_each(|(_, sources)| cx.sources.set(sources));
                }
                FolderMessage::Unreadable(error) => self.versions.shown.problem = Some(error),
                FolderMessage::Slow(error) => self.versions.shown.slow = error,
            }
        }
        if let Some(copied) = Job::take_result(&mut self.copying, Duration::ZERO) {
            is_new = true;
            match cx.or_tell(copied) {
                Some(folder) => {
                    cx.overlay.show_message(format!("Files to edit: {}", base::text::name(&folder)));
                    self.watch(&folder, None, &cx.waker);
                }
                None => {
                    (self.selects_own, self.filters.beside) = (false, None);
                    self.keep_chosen();
                }
            }
        }
        self.filters.shown.is_pending = self.copying.is_some();
        is_new
    }

    /// Selects the filter of the watched folder, or again the box filter if the folder has none, after a version of it has become the
    /// current one. If a description is wrong, the filter before it stays selected.
    pub(super) fn update_filter(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        let current = self.versions.current;
        let is_due = self.described != current && !self.is_unread;
        let Some(kept) = self.versions.version(current).filter(|_| is_due) else { return };
        self.described = current;
        let (before, mut read) = (Filter::selected(), Filter::of(&kept.sources));
        let same = before.and_then(|before| read.iter().position(|(name, _)| *name == before.name));
        let filter = (!read.is_empty()).then(|| read.swap_remove(same.unwrap_or(0)).1).transpose();
        if let Some(error) = self.wrong_filter.take() {
            cx.notices.hide(&error);
        }
        match filter {
            Ok(filter) if is_same_filter(filter, before) => {}
            Ok(filter) => self.change_filter(filter, devices, cx),
            Err(error) => {
                self.filters.beside = None;
                self.keep_chosen();
                cx.notify(error.clone(), true);
                self.wrong_filter = Some(error);
            }
        }
        self.list_filter();
    }

    /// Adds the user's own kernel to the variants if the current version of the edited kernels has its file,
    /// `box_filter/own.cl`; removes it otherwise. If it is removed while it is chosen, chooses `off`; if it is on the second
    /// side of a wipe, ends the wipe. Shows an error in both cases.
    fn update_own_kernel(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        let versions = &mut self.versions;
        if self.watching.is_some() && versions.kept.is_empty() && versions.shown.problem.is_none() {
            // The folder is still being read.
            return;
        }
        let has_own = versions.version(versions.current).is_some_and(|kept| kept.sources.has(OWN_FILE));
        if !has_own {
            let own = Subject::Variant(VariantId::own());
            versions.running.remove(&own);
            note_refusal(&mut versions.refusals, own, None, None);
            if let Some(asked) = versions.version_mut(versions.asked) {
                let is_left = |result: &VersionResult| {
                    result.subject != own || result.validation != Validation::Pending
                };
                asked.row.results.retain(is_left);
            }
        }
        devices.update_own_row(has_own);
        if has_own {
            cx.notices.hide(&no_own_kernel_error());
            if std::mem::take(&mut self.selects_own) && devices.prefer(VariantId::own()).is_ok() {
                cx.frames.choice.choose_variant(VariantId::own());
            }
            return;
        }
        // Another filter takes its place as soon as it is built.
        if cx.chosen().is_own() && self.awaited.is_none() {
            cx.choose_off();
            cx.notify(no_own_kernel_error(), true);
        }
        if cx.frames.wipe.second().is_some_and(|second| second.is_running(VariantId::own())) {
            cx.frames.wipe.end(no_own_kernel_error());
        }
    }

    /// Requests validation of the kernels that the current version changes, unless that was requested before. Does nothing
    /// while another device is being prepared, or while the device's worker has yet to install programs that were built; a
    /// later call then makes the request.
    pub(crate) fn validate(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        let versions = &mut self.versions;
        let Some(asked) = versions.waits.filter(|_| devices.can_validate()) else { return };
        if std::mem::take(&mut versions.is_late) {
            cx.notices.hide_all(|error| error.kind == ErrorKind::KernelsUnreadable);
            devices.builds.restart(&mut devices.running, cx);
            // No request has been made yet that would have to be repeated.
            versions.note_device(cx.frames.device_changes, devices.builds.restarts);
        }
        let (Some(frame), Some(info)) = (cx.frames.presenter.screen.frame(), devices.running.info.as_ref())
        else {
            return;
        };
        let (chosen, kind) = (cx.chosen(), info.kind);
        let parts = auto_variants(&Cache::load(), info);
        let mut variants = versions.changed(kind, &parts, asked.then_some(chosen));
        // `auto` is validated last: it uses all other variants, and is seldom the one that is being edited.
        variants.sort_by_key(|variant| (*variant != chosen, variant.is_auto()));
        devices.running.statuses.validating = (versions.current, variants.clone());
        // The builder may be about to restart, and would validate for the previous device.
        if cx.frames.filters.workers.is_installing() {
            return;
        }
        let layout = Converter::supports(&frame.picture);
        let status = cx.frames.filters.workers.status();
        let wanted = layout.map_or_else(Vec::new, |layout| status.conversions_to_test(&layout));
        versions.waits = None;
        let files: Vec<&str> = wanted.iter().map(|(_, file)| *file).collect();
        let changed = wanted.iter().filter(|(_, file)| versions.changes_conversion(file, asked));
        let conversions: Vec<_> = changed.map(|(conversion, _)| *conversion).collect();
        let mut subjects: Vec<_> = variants.iter().copied().map(Subject::Variant).collect();
        subjects.extend((!conversions.is_empty()).then_some(Subject::Conversion));
        versions.note_requested(&subjects, kind, &files);
        if let (false, Some(kept)) = (subjects.is_empty(), versions.version(versions.current)) {
            devices.builds.builder.request(Request::Validate(VersionRequest {
                version: versions.current,
                sources: kept.sources.clone(),
                settings: variants.iter().map(|id| (*id, cx.frames.choice.settings_of(*id))).collect(),
                variants,
                conversions,
                frame,
                box_radius: cx.frames.choice.box_radius(),
                is_second_side: false,
            }));
        }
        cx.repaints.redraw_with_next_frame();
    }

    /// Requests that the kernels of the chosen variant are built from the version with this number, for the second side of a
    /// wipe; the first side shows the version that runs.
    pub(crate) fn request_wipe(&self, number: u64, devices: &Devices, cx: &mut PlayerContext) {
        self.request_second(number, cx.frames.choice.filter(), devices, cx);
    }

    /// Requests that the kernels of a variant are built from the version with this number, for the second side of a wipe.
    pub(super) fn request_second(
        &self,
        number: u64,
        (variant, settings): (VariantId, box_filter::Settings),
        devices: &Devices,
        cx: &mut PlayerContext,
    ) {
        let frame = cx.frames.presenter.screen.frame().filter(|_| devices.can_validate());
        let (Some(frame), Some(kept)) = (frame, self.versions.version(number)) else { return };
        if variant.code(DeviceKind::Cpu).is_none() {
            cx.overlay.show_message(format!("'{variant}' has no kernels to wipe."));
            return;
        }
        devices.builds.builder.request(Request::Validate(VersionRequest {
            version: number,
            sources: kept.sources.clone(),
            variants: vec![variant],
            conversions: Vec::new(),
            frame,
            settings: [(variant, settings)].into(),
            box_radius: cx.frames.choice.box_radius(),
            is_second_side: true,
        }));
    }

    /// Requests the machine code of the chosen variant, unless it is shown already or was requested.
    fn request_machine_code(&mut self, devices: &Devices, cx: &PlayerContext) {
        let variant = cx.chosen();
        let Some(size) = cx.frames.presenter.screen.size().filter(|_| devices.can_validate()) else { return };
        let layout = cx.frames.presenter.screen.frame().and_then(|frame| Converter::supports(&frame.picture));
        let wide = layout.is_some_and(|layout| layout.wide);
        let Some(device) = devices.running.info.as_ref().map(|info| info.index) else { return };
        let versions = &mut self.versions;
        let runs = versions.version_in_use(Subject::Variant(variant));
        // Only the code of `auto` depends on the radius.
        let radius = if variant.is_auto() { cx.frames.choice.box_radius() } else { 0 };
        let pictures = PictureInfo { size, radius, wide };
        let of = (runs.map_or(0, |kept| kept.row.number), variant, pictures, device);
        if versions.code_of == Some(of) {
            return;
        }
        let sources = runs.map(|kept| kept.sources.clone()).unwrap_or_default();
        (versions.code_of, versions.shown.machine_code) = (Some(of), None);
        devices.builds.builder.request(Request::MachineCode { version: of.0, sources, variant, pictures });
    }

    /// Makes the watching thread read the folder again, and rebuilds its kernels even if they have not changed.
    pub(crate) fn rebuild(&self, cx: &mut PlayerContext) {
        match &self.watching {
            Some(watching) => watching.rebuild(),
            None => cx.overlay.show_message("No folder of kernels is watched: key e".to_owned()),
        }
    }

    /// Starts to copy the built-in kernels into a new folder, which is watched afterwards, with the template `own` of the user's own
    /// kernel, if it is given.
    pub(crate) fn copy_built_in(&mut self, own: Option<&'static str>, cx: &PlayerContext) {
        const FAILED: &str = "The kernels could not be copied.";
        if self.copying.is_some() {
            return;
        }
        let copy = move |_: &_| {
            let write = |folder: &Path| {
                sources::write_built_in(folder)?;
                own.map_or(Ok(()), |own| std::fs::write(folder.join(OWN_FILE), own))?;
                Ok(folder.to_owned())
            };
            save::create_in(&save::folders(), COPY_NAME, FAILED, write)
        };
        self.copying = Some(Job::spawn("copy", FAILED, &cx.waker, copy));
    }

    /// Starts to watch the folder at this position of the kernels panel's list of folders, if it can still be read.
    pub(crate) fn reopen(&mut self, index: usize, cx: &PlayerContext) {
        let known = self.versions.shown.remembered.get(index).filter(|_| self.copying.is_none());
        if let Some(folder) = known.map(|known| PathBuf::from(&known.path)) {
            self.open(folder, cx);
        }
    }

    /// Starts to watch a folder, if it can be read.
    pub(super) fn open(&mut self, folder: PathBuf, cx: &PlayerContext) {
        let read = move |_: &_| Sources::read(&folder).map(|_| folder);
        self.copying =
            Some(Job::spawn("reopen", "The folder of kernels could not be read.", &cx.waker, read));
    }

    /// Makes the version with this number the current version again.
    pub(crate) fn use_version(&mut self, number: u64, cx: &PlayerContext) {
        self.versions.use_version(number, false);
        self.saved().into_iter().for_each(|(_, sources)| cx.sources.set(sources));
    }
}

/// Returns the conditions under which frames are filtered now (variant, settings, size, second filter of a wipe); `None` if no
/// frame is on the screen.
pub(super) fn circumstances(cx: &PlayerContext) -> Option<Circumstances> {
    let (variant, settings) = cx.frames.choice.filter();
    let beside = cx.frames.recorder.shown.setting.and_then(|setting| setting.beside);
    Some(Circumstances { variant, settings, size: cx.frames.presenter.screen.size()?, beside })
}

/// Returns the paths of the folders of kernels that [`LiveKernels::copy_built_in`] has made in `folders`.
fn existing_copies(folders: &[PathBuf]) -> Vec<String> {
    let is_copy = |name: &str| {
        let number = name.strip_prefix(COPY_NAME);
        number.is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok())
        })
    };
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_copy));
    let mut paths: Vec<String> = found.filter_map(|entry| entry.path().to_str().map(str::to_owned)).collect();
    paths.sort();
    paths
}

/// Returns the time of the last change of a file in a folder of kernels; `None` if it has no files.
fn newest_file(folder: &Path) -> Option<SystemTime> {
    let files =
        |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let all = files(folder).flat_map(|path| if path.is_dir() { files(&path).collect() } else { vec![path] });
    all.filter_map(|path| path.metadata().ok().filter(|file| file.is_file())?.modified().ok()).max()
}

/// Returns true if both are the same filter, with the same description, or both are none.
pub(super) fn is_same_filter(one: Option<&'static Filter>, other: Option<&'static Filter>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Removes the watched folder from the list of folders that the kernels panel offers.
fn leave_out_watched(Kernels { folder, remembered, .. }: &mut Kernels) {
    remembered.retain(|known| folder.as_ref() != Some(&base::text::name(&known.path)));
}

/// Shows the result of validating the chosen variant or the conversion as a message, unless the kernels panel is open, which
/// shows it.
fn report(subject: Subject, validation: Validation, cx: &mut PlayerContext) {
    if ![Subject::Conversion, Subject::Variant(cx.chosen())].contains(&subject) {
        return;
    }
    let is_open = cx.overlay.is_panel_visible(Panel::Kernels);
    match validation {
        Validation::Exact => {
            let agreement = subject.agreement();
            cx.overlay.show_message(format!("{subject}: {agreement}"));
        }
        Validation::Differs(report) => {
            let count = thousands(report.count as f64);
            cx.overlay.show_message(format!("{subject} differs in {count} bytes"));
        }
        Validation::Refused(error) if !is_open => cx.notify(error, true),
        Validation::Refused(_) | Validation::Pending => {}
    }
}
