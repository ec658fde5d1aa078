//! The stack of filters: those that run before and after the chosen one.

use super::controller::is_same_filter;
use super::filters;
use super::member::{FAILED, Member, MemberWatchers, SavedMember};
use super::*;
use box_filter::{Filter, Parameter};
use engine::DeviceStatus;
use engine::frame_loop::Choice;
use overlay::{FilterRow, MAX_STACK, StackRow, StackView};
use stats::{FrameSample, Layer, Stack, VariantStatus};

/// The maximum number of changes that can be undone.
const MAX_UNDO: usize = 50;

/// A filter that was read for the stack, with its row in the list of filters; `None` for the box filter.
type ReadMember = (Option<FilterRow>, Member);

/// The filters that could be read, and the errors of the others.
type ReadMembers = (Vec<ReadMember>, Vec<Error>);

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
    reading: Option<(Job<ReadMembers>, Place)>,
    /// The variant that was chosen last, for the switch of the chosen filter.
    last: Option<VariantId>,
    /// The numbers of changes of the device and of restarts of the builder for which the kernels were requested.
    built_for: Option<(u32, u32)>,
    /// The folders of the members, in which changes are noticed.
    watchers: MemberWatchers,
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
        // The list of filters has absolute paths.
        let absolute = |folder: PathBuf| std::path::absolute(&folder).unwrap_or(folder);
        let saved = |folder| SavedMember::new(absolute(folder).to_str().map(str::to_owned));
        self.read(below.into_iter().map(saved).collect(), Place::Below, waker);
    }

    fn read(&mut self, filters: Vec<SavedMember>, place: Place, waker: &Waker) {
        if !filters.is_empty() {
            let read_one = |filter: SavedMember| {
                let row = filter.folder.as_deref().and_then(filters::read);
                let what = format!("'{}' was left out of the stack.", filter.name());
                let left_out =
                    |error: Error| Error { what, why: format!("{} {}", error.what, error.why), ..error };
                Member::read(filter).map(|member| (row, member)).map_err(left_out)
            };
            let read = move |_: &_| {
                let (mut read, mut errors) = (Vec::new(), Vec::new());
                for filter in filters {
                    match read_one(filter) {
                        Ok(member) => read.push(member),
                        Err(error) => errors.push(error),
                    }
                }
                Ok((read, errors))
            };
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

impl LiveKernels {
    /// Returns the variant and the settings of the chosen filter, also while it is switched off.
    pub(crate) fn selected(&self, choice: &Choice) -> (VariantId, Settings) {
        if choice.filter().0 != VariantId::OFF {
            return choice.filter();
        }
        let last = self.stack.last.filter(|last| is_same_filter(last.opened(), Filter::selected()));
        let variant = last.unwrap_or_else(VariantId::initial);
        (variant, choice.settings_of(variant))
    }

    /// Changes the settings of the chosen filter, also while it is switched off. Does nothing if the new ones do not suit it: they are of
    /// another filter, which was chosen a moment ago.
    pub(crate) fn adjust(
        &self,
        cx: &mut PlayerContext,
        change: impl FnOnce(&'static [Parameter], Settings) -> Settings,
    ) {
        let (variant, settings) = self.selected(&cx.frames.choice);
        let parameters = &variant.filter().description.parameters;
        let settings = change(parameters, settings);
        let chosen = cx.chosen();
        if !settings.suit(parameters) {
            return;
        }
        // Without a filter, the radius is that of the box filter.
        match std::ptr::eq(chosen.filter(), variant.filter()) {
            true => cx.frames.choice.choose(chosen, settings),
            false => cx.frames.choice.remember(variant, settings),
        }
    }

    /// Chooses a variant that was a member of the stack, or leaves it switched off.
    fn choose_as_member(
        &mut self,
        (variant, settings): (VariantId, Settings),
        is_on: bool,
        cx: &mut PlayerContext,
    ) {
        self.stack.last = Some(variant);
        if is_on {
            cx.frames.choice.choose(variant, settings);
        } else {
            cx.frames.choice.remember(variant, settings);
            cx.choose_off();
        }
    }

    /// Returns the chosen filter as a member of the stack.
    fn chosen_member(&self, cx: &PlayerContext) -> Member {
        let is_on = cx.chosen() != VariantId::OFF;
        let (variant, settings) = self.selected(&cx.frames.choice);
        let folder =
            self.filters.shown.rows.get(self.filters.shown.selected).and_then(|row| row.folder.clone());
        // The version that was saved last may not run.
        let runs = self.versions.version_in_use(Subject::Variant(variant)).map(|kept| kept.sources.clone());
        let sources = runs.or_else(|| self.saved().map(|(_, sources)| sources)).unwrap_or_default();
        Member { folder, is_on, ..Member::new((variant, settings), sources) }
    }

    /// Adds the filter at this index of the list on top of the stack.
    pub(crate) fn stack_filter(&mut self, index: usize, cx: &PlayerContext) {
        let Some(row) = self.filters.shown.rows.get(index) else { return };
        if self.stack.members.len() + 1 < MAX_STACK && self.stack.reading.is_none() {
            let saved = SavedMember::new(row.folder.clone());
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
                self.choose_as_member((variant, settings), is_on, cx);
            }
            Some(row) => self.select_filter(row, devices, cx),
            None => self.stack.next = None,
        }
    }

    /// Chooses `awaited`, the variant of a filter that is open and built now. `is_forced` is true if the one that was chosen before
    /// belongs to another filter. A member of the stack that is switched off stays so.
    pub(super) fn choose_awaited(&mut self, awaited: VariantId, is_forced: bool, cx: &mut PlayerContext) {
        let next = self.next_chosen(Filter::selected()).filter(|(variant, _)| *variant == awaited);
        let is_on = self.stack.next.as_ref().is_none_or(|next| next.member.is_on);
        self.exchange_chosen(cx);
        match next {
            Some(next) => self.choose_as_member(next, is_on, cx),
            None if is_forced => cx.frames.choice.choose_variant(awaited),
            None => {}
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

    /// Notes the builder's results about filters of the stack: a version that was built runs from now on.
    pub(super) fn note_members(&mut self, news: &News, cx: &mut PlayerContext) {
        let News::Member(version, built) = news else { return };
        let Self { stack, filters, .. } = self;
        let mut over = Vec::new();
        let members = stack.members.iter_mut();
        let replaced: Vec<bool> =
            members.map(|member| member.note_built(version, built, &mut over)).collect();
        // A change that is undone does not undo the versions.
        for member in stack.undo.iter_mut().flatten() {
            let _ = member.note_built(version, built, &mut Vec::new());
        }
        over.iter().for_each(|error| cx.notices.hide(error));
        if replaced.contains(&true) {
            cx.frames.outdate_pictures();
            filters.rename(version.variant.filter(), &stack.members);
        }
        if let Err(error) = built {
            cx.notify(error.clone(), false);
        }
    }

    /// Requests the kernels of members: of all of them if the device or the builder has changed, otherwise of those whose folders
    /// have a new version.
    fn build_members(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let Self { stack, .. } = self;
        let is_read = stack.watchers.update(&mut stack.members, cx);
        let size = cx.frames.presenter.screen.size();
        let request = |version| devices.builds.builder.request(Request::Member { version, size });
        let built_for = (cx.frames.device_changes, devices.builds.restarts);
        let is_new = stack.built_for != Some(built_for) && devices.running.device().is_some();
        if is_new {
            stack.built_for = Some(built_for);
            for member in &stack.members {
                let is_listed = matches!(devices.status(member.variant), Some(VariantStatus::Ready));
                if !is_listed && !cx.frames.filters.workers.status().has_built(member.variant) {
                    request(member.version());
                }
            }
        }
        let next = stack.members.iter().filter_map(|member| member.next.clone());
        next.filter(|_| is_new || is_read).for_each(request);
    }

    /// Adds filters that were read, has their kernels built, and updates the frames' stack and the rows of the overlay.
    pub(super) fn update_stack(&mut self, devices: &mut Devices, cx: &mut PlayerContext) {
        if let Some(read) = self.stack.reading.as_ref().and_then(|(job, _)| job.wait(Duration::ZERO))
            && let Some((_, place)) = self.stack.reading.take()
            && let Some((read, errors)) = cx.or_notify(read)
        {
            errors.into_iter().for_each(|error| cx.notify(error, true));
            if !read.is_empty() {
                self.add_members(read, place, (devices, cx));
            }
        }
        let chosen = cx.chosen();
        if chosen != VariantId::OFF {
            self.stack.last = Some(chosen);
        }
        self.build_members(devices, cx);
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
