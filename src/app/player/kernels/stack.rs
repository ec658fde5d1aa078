//! The stack of filters: those that run before and after the chosen one.

use super::controller::is_same_filter;
use super::filters::{self, name_of};
use super::*;
use base::error::Result;
use box_filter::{Filter, Settings};
use engine::DeviceStatus;
use overlay::{FilterRow, MAX_STACK, StackRow, StackView};
use serde::{Deserialize, Serialize};
use stats::{FrameSample, Layer, Stack, VariantStatus};

/// The first sentence of the error if a filter cannot be added to the stack.
const FAILED: &str = "The filter could not be added to the stack.";
/// The maximum number of changes that can be undone.
const MAX_UNDO: usize = 50;

/// A filter of the stack, besides the chosen one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// The path of the folder; `None` for the box filter.
    folder: Option<String>,
    variant: VariantId,
    settings: Settings,
    is_on: bool,
    sources: Sources,
    /// The error because of which the kernels were not built; `None` if they were, or will be.
    error: Option<Error>,
}

/// A filter of a stack, as the settings file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedMember {
    /// The path of the folder; `None` for the box filter.
    folder: Option<String>,
    /// The id of the variant in the description.
    variant: String,
    /// The values of the parameters, each as in "gain=2".
    values: Vec<String>,
    is_on: bool,
}

/// A filter that was read for the stack, with its row in the list of filters; `None` for the box filter.
type ReadMember = (Option<FilterRow>, Member);

/// A filter of the stack that becomes the chosen one as soon as its folder is open and its kernels are built.
struct NextChosen {
    member: Member,
    /// Its index among the members.
    at: usize,
    /// The filter that was chosen before, which stays in the stack; `None` if it leaves the stack.
    leaving: Option<Member>,
}

/// The members of the stack besides the chosen filter, and changes that are under way.
#[derive(Default)]
pub(super) struct FilterStack {
    /// The members in the order in which they run.
    members: Vec<Member>,
    /// The number of members that run before the chosen filter.
    below: usize,
    /// All filters of the stack before each change, the last one at the end.
    undo: Vec<Vec<Member>>,
    next: Option<NextChosen>,
    /// The job that reads filters, and the place at which they are added: below the chosen one, above it, or in place of all.
    reading: Option<(Job<Vec<ReadMember>>, Place)>,
    /// The variant that was chosen last, for the switch of the chosen filter.
    last: Option<VariantId>,
    /// The numbers of changes of the device and of restarts of the builder for which the kernels were requested.
    built_for: Option<(u32, u32)>,
    /// The last stack.
    pub saved: Vec<SavedMember>,
}

/// The place at which filters are added to the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Below,
    Above,
    /// In place of all others, the chosen one included, which the last one replaces.
    InsteadOfAll,
}

impl FilterStack {
    /// Starts to read the filters of these folders, which run below the chosen one.
    pub(super) fn begin(&mut self, below: Vec<PathBuf>, waker: &Waker) {
        let saved = |folder: PathBuf| SavedMember {
            folder: folder.to_str().map(str::to_owned),
            variant: String::new(),
            values: Vec::new(),
            is_on: true,
        };
        self.read(below.into_iter().map(saved).collect(), Place::Below, waker);
    }

    fn read(&mut self, filters: Vec<SavedMember>, place: Place, waker: &Waker) {
        if !filters.is_empty() {
            let row = |filter: &SavedMember| filter.folder.as_deref().and_then(filters::read);
            let read = move |_: &_| filters.into_iter().map(|of| Ok((row(&of), Member::read(of)?))).collect();
            self.reading = Some((Job::spawn("filter", FAILED, waker, read), place));
        }
    }

    /// Returns all filters of the stack, `chosen` in its place.
    fn all(&self, chosen: Member) -> Vec<Member> {
        let mut all = self.members.clone();
        all.insert(self.below.min(all.len()), chosen);
        all
    }

    /// Keeps the present stack, to undo a change.
    fn note(&mut self, chosen: Member) {
        self.undo.push(self.all(chosen));
        let extra = self.undo.len().saturating_sub(MAX_UNDO);
        self.undo.drain(..extra);
    }

    /// Makes these filters the stack, of which that at `chosen` is the chosen one.
    fn set(&mut self, mut all: Vec<Member>, chosen: usize) {
        if chosen < all.len() {
            all.remove(chosen);
        }
        (self.members, self.below, self.built_for) = (all, chosen, None);
    }

    /// Returns the members below or above the chosen filter that are switched on.
    fn layers(&self) -> Stack {
        let (below, above) = self.members.split_at(self.below.min(self.members.len()));
        let on = |members: &[Member]| -> Vec<Layer> {
            let on = members.iter().filter(|member| member.is_on && member.error.is_none());
            on.map(Member::layer).collect()
        };
        Stack::new(on(below), on(above))
    }

    /// Returns the rows for the overlay. `sample` is the last frame, which has the times, and `status` that of the device.
    fn rows(&self, chosen: &Member, sample: Option<&FrameSample>, status: &DeviceStatus) -> Vec<StackRow> {
        let mut times = sample.map_or_else(Vec::new, |sample| {
            let stack = sample.setting.stack;
            stack.below().chain(stack.above()).zip(sample.stages.layer_ms).collect()
        });
        let mut rows: Vec<StackRow> = Vec::new();
        for member in &self.members {
            let at = times.iter().position(|(layer, _)| *layer == member.layer());
            let ms = at.map(|at| times.remove(at).1).filter(|ms| member.is_on && ms.is_finite());
            let error = member.error.clone().or_else(|| status.layer_error(member.layer()));
            rows.push(StackRow { ms, error: error.filter(|_| member.is_on), ..member.row() });
        }
        let ms = sample.filter(|sample| sample.setting.variant == chosen.variant && chosen.is_on);
        let ms = ms.map(|sample| sample.stages.filter_ms()).filter(|ms| ms.is_finite());
        rows.insert(self.below.min(rows.len()), StackRow { ms, is_chosen: true, ..chosen.row() });
        rows
    }
}

impl Member {
    /// Reads the filter of a folder.
    ///
    /// # Errors
    /// If it cannot be read, or its description is wrong.
    fn read(SavedMember { folder, variant, values, is_on }: SavedMember) -> Result<Self> {
        let sources =
            folder.as_ref().map_or_else(|| Ok(Sources::default()), |f| Sources::read(Path::new(f)))?;
        let none = || Error::new(FAILED, "Its folder has no filter.toml.", "Choose another folder.");
        let filter = match &folder {
            None => VariantId::OFF.filter(),
            Some(_) => Filter::of(&sources).into_iter().next().ok_or_else(none)?.1?,
        };
        let mut settings = filter.defaults();
        for value in &values {
            // A value that the parameter cannot have any more leaves the default.
            let _ = settings.set(&filter.description.parameters, value);
        }
        let variant = filter.variant(&variant).unwrap_or_else(|_| filter.initial());
        Ok(Self { folder, variant, settings, is_on, sources, error: None })
    }

    fn saved(&self) -> SavedMember {
        let values = self.variant.filter().settings_map(self.settings);
        SavedMember {
            folder: self.folder.clone(),
            variant: self.variant.short_name().to_owned(),
            values: values.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            is_on: self.is_on,
        }
    }

    fn layer(&self) -> Layer {
        Layer { variant: self.variant, settings: self.settings }
    }

    fn row(&self) -> StackRow {
        let (filter, settings) = (self.variant.filter(), self.variant.settings_text(self.settings));
        StackRow {
            name: filter.description.name.clone(),
            filter: format!("{} {settings}", self.variant.short_name()).trim_end().to_owned(),
            is_on: self.is_on,
            ..StackRow::default()
        }
    }
}

impl SavedMember {
    fn name(&self) -> String {
        let of_box = || VariantId::OFF.filter().description.name.clone();
        self.folder.as_ref().map_or_else(of_box, |folder| name_of(Path::new(folder)))
    }
}

impl LiveKernels {
    /// Returns the chosen filter as a member of the stack.
    fn chosen_member(&self, cx: &PlayerContext) -> Member {
        let (variant, settings) = cx.frames.choice.filter();
        let is_on = variant != VariantId::OFF;
        let last = self.stack.last.filter(|last| is_same_filter(last.opened(), Filter::selected()));
        let variant = if is_on { variant } else { last.unwrap_or_else(VariantId::initial) };
        let settings = if is_on { settings } else { cx.frames.choice.settings_of(variant) };
        let folder =
            self.filters.shown.rows.get(self.filters.shown.selected).and_then(|row| row.folder.clone());
        let sources = self.saved().map(|(_, sources)| sources).unwrap_or_default();
        Member { folder, variant, settings, is_on, sources, error: None }
    }

    /// Adds the filter at this index of the list on top of the stack.
    pub(crate) fn stack_filter(&mut self, index: usize, cx: &PlayerContext) {
        let Some(row) = self.filters.shown.rows.get(index) else { return };
        if self.stack.members.len() + 1 < MAX_STACK && self.stack.reading.is_none() {
            let folder = row.folder.clone();
            let saved = SavedMember { folder, variant: String::new(), values: Vec::new(), is_on: true };
            self.stack.read(vec![saved], Place::Above, &cx.waker);
        }
    }

    /// Makes the stack again that the settings have.
    pub(crate) fn restore_stack(&mut self, cx: &PlayerContext) {
        if self.stack.reading.is_none() {
            let saved = self.stack.saved.clone();
            self.stack.read(saved, Place::InsteadOfAll, &cx.waker);
        }
    }

    /// Switches the filter at this place of the stack on or off.
    pub(crate) fn switch_layer(&mut self, at: usize, cx: &mut PlayerContext) {
        let chosen = self.chosen_member(cx);
        match at.cmp(&self.stack.below) {
            std::cmp::Ordering::Equal if chosen.is_on => cx.choose_off(),
            std::cmp::Ordering::Equal => cx.frames.choice.choose_variant(chosen.variant),
            order => {
                self.stack.note(chosen);
                let at = if order.is_lt() { at } else { at - 1 };
                self.stack.members.iter_mut().skip(at).take(1).for_each(|member| member.is_on ^= true);
            }
        }
    }

    /// Moves a filter of the stack to another place.
    pub(crate) fn move_layer(&mut self, from: usize, to: usize, cx: &PlayerContext) {
        let chosen = self.chosen_member(cx);
        let mut all = self.stack.all(chosen.clone());
        if from < all.len() && to < all.len() {
            self.stack.note(chosen);
            let mut order: Vec<usize> = (0..all.len()).collect();
            let moved = order.remove(from);
            order.insert(to, moved);
            let at = order.iter().position(|at| *at == self.stack.below).unwrap_or(0);
            all = order.into_iter().map(|at| all[at].clone()).collect();
            self.stack.set(all, at);
        }
    }

    /// Removes the filter at this place from the stack. If it is the chosen one, the one below it is chosen, or the one above.
    pub(crate) fn remove_layer(&mut self, at: usize, devices: &mut Devices, cx: &mut PlayerContext) {
        let chosen = self.chosen_member(cx);
        if self.stack.members.is_empty() || at > self.stack.members.len() {
            return;
        }
        self.stack.note(chosen.clone());
        if at == self.stack.below {
            return self.choose_member(at.saturating_sub(1), None, (devices, cx));
        }
        let mut all = self.stack.all(chosen);
        all.remove(at);
        let below = self.stack.below - usize::from(at < self.stack.below);
        self.stack.set(all, below);
    }

    /// Chooses the filter at this place of the stack.
    pub(crate) fn choose_layer(&mut self, at: usize, devices: &mut Devices, cx: &mut PlayerContext) {
        if at != self.stack.below {
            let leaving = Some(self.chosen_member(cx));
            self.choose_member(at - usize::from(at > self.stack.below), leaving, (devices, cx));
        }
    }

    /// Undoes the last change of the stack, except which filter is the chosen one.
    pub(crate) fn undo_stack(&mut self, cx: &PlayerContext) {
        let chosen = self.chosen_member(cx);
        let is_chosen = |member: &Member| is_same_filter(member.variant.opened(), chosen.variant.opened());
        while let Some(all) = self.stack.undo.pop() {
            if let Some(at) = all.iter().position(is_chosen) {
                return self.stack.set(all, at);
            }
        }
    }

    /// Opens the folder of a member, which becomes the chosen filter when its kernels are built. `leaving` is the filter that was
    /// chosen before; without it, that leaves the stack.
    fn choose_member(
        &mut self,
        at: usize,
        leaving: Option<Member>,
        (devices, cx): (&mut Devices, &mut PlayerContext),
    ) {
        let Some(member) = self.stack.members.get(at).cloned() else { return };
        if self.copying.is_some() {
            return;
        }
        let rows = &self.filters.shown.rows;
        let row = rows.iter().position(|row| row.folder == member.folder);
        let is_selected = is_same_filter(member.variant.opened(), Filter::selected());
        let Member { variant, settings, is_on, .. } = member;
        self.stack.next = Some(NextChosen { member, at, leaving });
        match row {
            _ if is_selected => {
                self.exchange_chosen(cx);
                cx.frames.choice.choose(if is_on { variant } else { VariantId::OFF }, settings);
            }
            Some(row) => self.select_filter(row, devices, cx),
            None => self.stack.next = None,
        }
    }

    /// Returns the variant and the settings of the filter of the stack that becomes the chosen one with `filter`; `None` if it is
    /// another one.
    pub(super) fn next_chosen(&self, filter: Option<&'static Filter>) -> Option<(VariantId, Settings)> {
        let member = &self.stack.next.as_ref()?.member;
        let id = member.variant.short_name();
        let variant = match filter {
            Some(filter) => filter.variant(id).ok()?,
            None => Some(member.variant).filter(|variant| variant.opened().is_none())?,
        };
        Some((variant, member.settings))
    }

    /// Puts the filter that was chosen before into the place that it has in the stack, and takes the new one out.
    pub(super) fn exchange_chosen(&mut self, cx: &PlayerContext) {
        let Some(NextChosen { at, mut leaving, .. }) = self.stack.next.take() else { return };
        let (variant, settings) = cx.frames.choice.filter();
        // It ran until now, and may have been changed.
        leaving.iter_mut().filter(|of| of.variant == variant).for_each(|of| of.settings = settings);
        let stack = &mut self.stack;
        let place = at + usize::from(at >= stack.below);
        let mut members: Vec<Option<Member>> = stack.members.drain(..).map(Some).collect();
        members.insert(stack.below.min(members.len()), leaving);
        let below = members.iter().take(place).flatten().count();
        members.remove(place);
        (stack.members, stack.below, stack.built_for) =
            (members.into_iter().flatten().collect(), below, None);
    }

    /// Forgets that another filter of the stack was to become the chosen one.
    pub(super) fn keep_chosen(&mut self) {
        self.stack.next = None;
    }

    /// Notes the errors of filters of the stack among the builder's results.
    pub(super) fn note_members(&mut self, news: &News) {
        if let News::Variant(id, made) = news {
            let members = self.stack.members.iter_mut().filter(|member| member.variant == *id);
            members.for_each(|member| member.error = made.as_ref().err().cloned());
        }
    }

    /// Adds filters that were read, has their kernels built, and updates the frames' stack and the rows of the overlay.
    pub(super) fn update_stack(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        if let Some(read) = self.stack.reading.as_ref().and_then(|(job, _)| job.wait(Duration::ZERO))
            && let Some((_, place)) = self.stack.reading.take()
            && let Some(read) = cx.or_notify(read)
        {
            self.add_members(read, place, (devices, cx));
        }
        let chosen = cx.chosen();
        if chosen != VariantId::OFF {
            self.stack.last = Some(chosen);
        }
        let built_for = (cx.frames.device_changes, devices.builds.restarts);
        if self.stack.built_for != Some(built_for) && devices.running.device().is_some() {
            self.stack.built_for = Some(built_for);
            for Member { variant, sources, .. } in &self.stack.members {
                let is_listed = matches!(devices.status(*variant), Some(VariantStatus::Ready));
                if !is_listed && !cx.frames.filters.workers.status().has_built(*variant) {
                    let (variant, sources) = (*variant, sources.clone());
                    devices.builds.builder.request(Request::Member { variant, sources });
                }
            }
        }
        let status = cx.frames.filters.workers.status();
        let is_missing = |of: &Member| of.is_on && of.error.is_none() && !status.has_built(of.variant);
        let has_device = devices.running.device().is_some() || devices.is_awaited();
        let is_awaited = self.stack.reading.is_some() || self.stack.members.iter().any(is_missing);
        // Scripts that count frames need all of them filtered.
        cx.frames.waits_for_stack = cx.frames.filters.waits_for_conversions && is_awaited && has_device;
        let layers = self.stack.layers();
        if layers != cx.frames.choice.stack {
            cx.frames.choice.stack = layers;
            cx.repaints.redraw_with_next_frame();
        }
        let chosen = self.chosen_member(cx);
        if !self.stack.members.is_empty() {
            self.stack.saved = self.stack.all(chosen.clone()).iter().map(Member::saved).collect();
        }
        let names: Vec<String> = self.stack.saved.iter().map(SavedMember::name).collect();
        let last = Some(names.join(" + ")).filter(|names| !names.is_empty() && self.stack.members.is_empty());
        let (sample, status) = (cx.frames.recorder.shown.last(), cx.frames.filters.workers.status());
        let rows = self.stack.rows(&chosen, sample, status);
        self.filters.shown.stack = StackView { rows, can_undo: !self.stack.undo.is_empty(), last };
    }

    /// Adds filters to the stack at a place.
    fn add_members(
        &mut self,
        read: Vec<ReadMember>,
        place: Place,
        (devices, cx): (&mut Devices, &mut PlayerContext),
    ) {
        let (rows, read): (Vec<Option<FilterRow>>, Vec<Member>) = read.into_iter().unzip();
        // Each can become the chosen one.
        self.filters.add(rows.into_iter().flatten().collect());
        let free = MAX_STACK - 1 - self.stack.members.len().min(MAX_STACK - 1);
        if place != Place::Below {
            let chosen = self.chosen_member(cx);
            self.stack.note(chosen);
        }
        match place {
            Place::Above => self.stack.members.extend(read.into_iter().take(free)),
            Place::Below => {
                self.stack.members.splice(0..0, read.into_iter().take(free));
                self.stack.below = self.stack.members.len();
            }
            Place::InsteadOfAll => {
                (self.stack.members, self.stack.below) = (read.into_iter().take(MAX_STACK).collect(), 0);
                let last = self.stack.members.len().saturating_sub(1);
                return self.choose_member(last, None, (devices, cx));
            }
        }
        self.stack.built_for = None;
    }
}
