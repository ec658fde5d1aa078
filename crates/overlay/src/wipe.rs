//! The parts of a wipe (two filters of one picture) that the overlay draws: a line between the sides, which the user can drag,
//! a label for each side, and the difference of the sides.

use std::sync::Arc;

use base::timing::Ratio;
use box_filter::VariantId;
use egui::emath::GuiRounding as _;
use egui::{CursorIcon, PointerButton, Rangef};
use stats::{Difference, Summary};
use video::Orientation;

use crate::prelude::*;
use crate::{Kernels, Subject, Wipe, facts, notices};

/// The greatest distance in points of the mouse from the line at which the mouse can drag the line.
const GRAB_DISTANCE: f32 = 12.0;
/// The least width in points of the room for a label beside the line, in which it can be read.
const MIN_SIDE: f32 = 110.0;
/// Height in points of a line of a label.
const LABEL_LINE: f32 = 16.0;
/// The space in points at both sides of a label's text, and above and below it.
const LABEL_MARGIN: Vec2 = vec2(14.0, 6.0);
/// The least height in points of the room for a label of several lines.
const MIN_LABEL_HEIGHT: f32 = 4.0 * LABEL_LINE + LABEL_MARGIN.y;
/// Width and height in points of the line's handle.
const HANDLE: Vec2 = vec2(8.0, 34.0);

/// The line between the sides of a wipe, which the user can drag.
#[derive(Debug)]
pub struct WipeLine {
    /// The line's position, as a fraction of the picture's width: where the user has put it, but with room for a label at each
    /// side.
    pub position: f32,
    /// The position to which the user has dragged the line, as a fraction of the picture's width.
    chosen: f32,
    /// The line's position in the last pass, in points from the window's left edge.
    x: f32,
    /// True if the mouse is on the right side of a wipe; the keys of variants then change the filter of that side.
    pub pointer_is_right: bool,
}

impl Default for WipeLine {
    /// Returns a line in the middle of the picture.
    fn default() -> Self {
        Self { position: 0.5, chosen: 0.5, x: f32::INFINITY, pointer_is_right: false }
    }
}

impl WipeLine {
    /// Puts the line at this fraction of the picture's width.
    #[cfg(test)]
    pub(crate) fn put(&mut self, position: f32) {
        self.chosen = position;
    }

    /// Sets the position to which the mouse has moved since the last pass.
    pub fn set_pointer(&mut self, pointer: Pos2) {
        self.pointer_is_right = pointer.x >= self.x;
    }

    /// Returns the part of the picture `whole` that the first filter has made: all of it without a wipe, nothing if the map of
    /// differences covers the picture, otherwise the part left of the line.
    pub(crate) fn first_filter_rect(&self, view: &View, whole: Rect) -> Rect {
        match view.wipe {
            None => whole,
            Some(Wipe { difference: Some(_), .. }) => Rect::NOTHING,
            Some(_) => whole.with_max_x(whole.left() + self.position * whole.width()),
        }
    }

    /// Lays out the dividing line of the wipe, and a label in each side, within `room` and beside the parts of the overlay. In
    /// a window that has no such place, the line and the labels stay in `area`, which all parts leave free. Call this after the
    /// picture, so that the line gets clicks before the picture does, and before the panels, which are drawn over the line.
    pub(crate) fn show(&mut self, ui: &Ui, (room, area): (Rect, Rect), pass: &mut Pass) {
        let (view, numbers) = (pass.view, pass.numbers);
        let (Some(wipe), Some(placed)) = (view.wipe, view.picture_place) else { return };
        let picture = placed.rect(ui);
        if picture.width() < 4.0 {
            return;
        }
        let area = area.intersect(picture);
        let area = if area.is_positive() { area } else { picture };
        let mut parts: Vec<Rect> = describe::parts(ui.ctx()).into_iter().map(|(part, _)| part).collect();
        parts.sort_by(|a, b| a.top().total_cmp(&b.top()));
        let message = notices::places(area).1;
        let covered = parts.iter().copied().chain([message]).collect();
        let places = LabelPlaces { room: room.intersect(picture), covered };
        let edge = MIN_SIDE.min(0.3 * area.width());
        let (least, most) = places.limits().unwrap_or((area.left() + edge, area.right() - edge));
        let within_limits = |position: f32| {
            let x = picture.left() + position * picture.width();
            (x.clamp(least, most) - picture.left()) / picture.width()
        };
        let position = within_limits(self.chosen);
        if std::mem::replace(&mut self.position, position) != position {
            // The picture was drawn before the overlay, with the old position.
            ui.ctx().request_repaint();
        }
        let x_of = |position: f32| picture.left() + position * picture.width();
        if wipe.difference.is_none() {
            let x = x_of(self.position);
            let band = Rect::from_x_y_ranges(x - GRAB_DISTANCE..=x + GRAB_DISTANCE, picture.y_range());
            let response = ui.interact(band, Id::unique("wipe-line"), Sense::click_and_drag());
            let response = response.on_hover_cursor(CursorIcon::ResizeHorizontal);
            let response = response.named(Role::Splitter, "Line of the wipe");
            let response = response.valued(|| format!("{:.0} %", 100.0 * self.position));
            let pointer = response.interact_pointer_pos();
            if let Some(pointer) = pointer.filter(|_| response.dragged_by(PointerButton::Primary)) {
                self.position = within_limits((pointer.x - picture.left()) / picture.width());
                self.chosen = self.position;
            }
            if response.secondary_clicked() {
                pass.actions.push(Action::TogglePause);
            }
            let color = if response.hovered() || response.dragged() { theme::SELECT } else { theme::STRONG };
            let x = x_of(self.position);
            // Parts of the overlay are not quite opaque: the line is left out below them.
            parts.retain(|part| part.x_range().contains(x));
            let (mut top, mut longest) = (picture.top(), Rangef::NOTHING);
            for part in parts.into_iter().chain([Rect::everything_below(picture.bottom())]) {
                let visible = picture.y_range().intersection(Rangef::new(top, part.top()));
                draw_line(ui, x, visible, color);
                longest = if visible.span() > longest.span() { visible } else { longest };
                top = top.max(part.bottom());
            }
            let handle = Rect::from_center_size(pos2(x, longest.center()), HANDLE);
            ui.painter().rect_filled(handle, 4, color);
        }
        let x = x_of(self.position);
        self.x = x;
        if let Some(pointer) = ui.input(|i| i.pointer.latest_pos()) {
            self.set_pointer(pointer);
        }
        let right = self.pointer_is_right;
        let times = ([numbers.filter(), numbers.second_filter], numbers.wipe_ratio);
        let differs =
            wipe.sides.map(|side| view.kernels.differs(Subject::Variant(side.variant), side.version));
        let [a, b] = label_texts(wipe, times, differs, view.kernels);
        // Each label stands on its own side, in as many lines as it needs there.
        let sizes = [&a, &b].map(|text| Label::size_of_line(ui, text));
        let rooms = places.beside(x, sizes).unwrap_or_else(|| {
            let room = area.with_min_y(area.top() + theme::GAP);
            [room.with_max_x(x - GRAB_DISTANCE), room.with_min_x(x + GRAB_DISTANCE)]
        });
        if rooms.iter().any(|room| room.height() < LABEL_LINE + LABEL_MARGIN.y) {
            return;
        }
        let first = Label::new(ui, rooms[0], Align2::RIGHT_TOP, (&a, !right));
        let second = Label::new(ui, rooms[1], Align2::LEFT_TOP, (&b, right));
        describe::number(ui, first.rect, "Left side", &a);
        describe::number(ui, second.rect, "Right side", &b);
        let below = first.rect.bottom().max(second.rect.bottom()) + 4.0;
        first.paint(ui);
        second.paint(ui);
        if let Some((difference, shown)) = wipe.difference.zip(view.shown) {
            let (text, largest) = difference_text(difference, shown.size, placed.orientation);
            let room = area.with_min_y(below.min(area.bottom()));
            Label::new(ui, room, Align2::CENTER_TOP, (&text, true)).paint(ui);
            describe::number(ui, area, "Difference of the sides", &text);
            if let Some(at) = largest.map(|at| picture.min + at * picture.size()) {
                ui.painter().circle_stroke(at, 10.0, Stroke::new(3.0, Color32::from_black_alpha(160)));
                ui.painter().circle_stroke(at, 10.0, Stroke::new(1.5, theme::STRONG));
            }
        }
    }
}

/// Returns a text about the difference of the sides, and the position of the largest difference in the picture on the screen,
/// as a fraction of the picture's width and height.
fn difference_text(
    difference: Difference,
    size: (u32, u32),
    orientation: Orientation,
) -> (String, Option<Vec2>) {
    let ((across, down), _) = orientation.display_size(size, 1.0);
    let largest = difference.largest.map(|(_, at)| {
        let (x, y) = orientation.display_position(size, at);
        vec2((x as f32 + 0.5) / across.max(1) as f32, (y as f32 + 0.5) / down.max(1) as f32)
    });
    (difference.text_in(size, orientation), largest)
}

/// Returns the labels of the left and the right side: the filter, its median time, and the verdict of the comparison with the
/// opposite side. `ratio` is that of the left side's times to the right side's, frame by frame. Edited kernels with wrong
/// output get no times. Versions of edited kernels are named, and the left side's also if the right side shows another version of
/// the same kernels.
fn label_texts(
    wipe: &Wipe,
    (times, ratio): ([Option<Summary>; 2], Option<Ratio>),
    differs: [bool; 2],
    kernels: &Kernels,
) -> [String; 2] {
    let filters = |side: usize| wipe.sides[side].variant != VariantId::OFF && !differs[side];
    let time = |side: usize| times[side].filter(|time| filters(side) && time.p50 > 0.0);
    [0, 1].map(|side| {
        let request = &wipe.sides[side];
        let right = &wipe.sides[1];
        let is_same = right.version.is_some() && wipe.sides[0].variant == right.variant;
        let running = kernels.running.filter(|_| side == 0 && is_same);
        // The first version of a folder is no edit: it is named only beside another version of the same filter.
        let is_edit = |version: &u64| is_same || !kernels.is_as_opened(request.variant, *version);
        let version = request.version.filter(is_edit).or(running);
        let version = version.or_else(|| kernels.edited_version(request.variant));
        let mut text = facts::filter_name((request.variant, request.settings), None, version);
        if request.measurements.levels {
            text.push_str(", auto-levels");
        }
        if differs[side] {
            text.push_str(&format!("   p50 {}", theme::UNKNOWN));
        }
        if let Some(own) = time(side) {
            let wall = if wipe.by_wall[side] { " wall time" } else { "" };
            let ms = theme::with_noise(own.p50, own.noise, theme::short_ms);
            text.push_str(&format!("   p50 {ms} ms{wall}"));
            if let Some(ratio) = ratio.filter(|_| time(1 - side).is_some()) {
                // Above 1 if the right side is faster.
                let ratio = if side == 1 { ratio } else { ratio.inverse() };
                text.push_str(&format!("   {}", ratio.verdict().words()));
            }
        }
        text
    })
}

/// The part of the picture in which the labels of a wipe may stand, and the rectangles in it that are covered.
struct LabelPlaces {
    room: Rect,
    covered: Vec<Rect>,
}

impl LabelPlaces {
    /// Returns the least and the greatest position in points of the line that have room for a label at each side; `None` if
    /// there are none.
    fn limits(&self) -> Option<(f32, f32)> {
        let narrow = vec2(MIN_SIDE, MIN_LABEL_HEIGHT);
        let needed = MIN_SIDE + GRAB_DISTANCE;
        let edges = |of: fn(&Rect) -> f32| self.covered.iter().map(of);
        let from = edges(|part| part.right() + theme::GAP).chain([self.room.left()]).map(|x| x + needed);
        let to = edges(|part| part.left() - theme::GAP).chain([self.room.right()]).map(|x| x - needed);
        let has = |x: f32, side: usize| self.tops().any(|top| self.at(top, x, side, narrow).is_some());
        let least = from.filter(|x| has(*x, 0)).min_by(f32::total_cmp)?;
        let most = to.filter(|x| has(*x, 1)).max_by(f32::total_cmp)?;
        (least <= most).then_some((least, most))
    }

    /// Returns the rooms for the labels left and right of the line at `x`, whose sizes in one line are `sizes`: beside each other
    /// if there is such a place, and for several lines where one line has no room. Returns `None` if one of them has no room.
    fn beside(&self, x: f32, sizes: [Vec2; 2]) -> Option<[Rect; 2]> {
        let narrow = vec2(MIN_SIDE, MIN_LABEL_HEIGHT);
        let at = |top: f32, side: usize| {
            self.at(top, x, side, sizes[side]).or_else(|| self.at(top, x, side, narrow))
        };
        let both = self.tops().find_map(|top| Some([at(top, 0)?, at(top, 1)?]));
        let own = |side: usize| self.tops().find_map(|top| at(top, side));
        both.or_else(|| Some([own(0)?, own(1)?]))
    }

    /// Returns the heights at which a label may begin, the upper ones first.
    fn tops(&self) -> impl Iterator<Item = f32> {
        let mut tops: Vec<f32> = self.covered.iter().map(|part| part.bottom()).collect();
        tops.push(self.room.top());
        tops.sort_by(f32::total_cmp);
        tops.into_iter().map(|top| top + theme::GAP)
    }

    /// Returns the free rectangle from `top` on at the left (0) or right (1) side of the line at `x`, which ends at the next
    /// covered rectangles; `None` if it has no room for `size`.
    fn at(&self, top: f32, x: f32, side: usize, size: Vec2) -> Option<Rect> {
        let band = Rangef::new(top, top + size.y);
        let edge = [x - GRAB_DISTANCE, x + GRAB_DISTANCE][side];
        let mut free = [self.room.with_max_x(edge), self.room.with_min_x(edge)][side].with_min_y(top);
        let parts = || self.covered.iter().map(|part| part.expand(theme::GAP - 0.5));
        for part in parts().filter(|part| part.y_range().intersects(band)) {
            if part.x_range().contains(edge) {
                return None;
            }
            match side {
                0 if part.right() < edge => free.min.x = free.min.x.max(part.right()),
                1 if part.left() > edge => free.max.x = free.max.x.min(part.left()),
                _ => {}
            }
        }
        // A part that only touches the free rectangle at its side does not end it.
        let across = |part: &Rect| part.left() < free.right() - 1.0 && part.right() > free.left() + 1.0;
        let below = parts().filter(|part| part.top() > top && across(part));
        free.max.y = below.map(|part| part.top()).fold(free.max.y, f32::min);
        (free.width() + 1.0 >= size.x && free.height() + 1.0 >= size.y).then_some(free)
    }
}

/// A text on a filled rectangle: the label of a side of a wipe, or of the difference of the sides.
struct Label {
    rect: Rect,
    galley: Arc<Galley>,
}

impl Label {
    /// Returns the size in points of a label with this text in one line.
    fn size_of_line(ui: &Ui, text: &str) -> Vec2 {
        ui.painter().layout_no_wrap(text.to_owned(), theme::words(13.0), theme::TEXT).size() + LABEL_MARGIN
    }

    /// Lays out a label at the side `align` of `room`, in one line, or in several if `room` is too narrow. The text is brighter
    /// if `strong` is true.
    fn new(ui: &Ui, room: Rect, align: Align2, (text, strong): (&str, bool)) -> Self {
        let color = if strong { theme::STRONG } else { theme::TEXT };
        let width = (room.width() - LABEL_MARGIN.x).max(0.0);
        let mut galley = ui.painter().layout_no_wrap(text.to_owned(), theme::words(13.0), color);
        if galley.size().x > width {
            let text = text.replace("   ", "\n");
            let mut job = egui::text::LayoutJob::simple(text, theme::words(13.0), color, width);
            job.wrap.max_rows = ((room.height() - LABEL_MARGIN.y) / LABEL_LINE).max(1.0) as usize;
            galley = ui.painter().layout_job(job);
        }
        let size = galley.size() + LABEL_MARGIN;
        Self { rect: align.align_size_within_rect(size, room), galley }
    }

    fn paint(self, ui: &Ui) {
        // Without an edge, which would be many triangles for a software renderer.
        ui.painter().rect_filled(self.rect, 4, theme::PANEL);
        let at = self.rect.left_center() + vec2(7.0, -self.galley.size().y / 2.0);
        ui.painter().galley(at, self.galley, theme::TEXT);
    }
}

/// Draws the dividing line of the wipe at the horizontal position `x`, in the range `y`.
fn draw_line(ui: &Ui, x: f32, y: Rangef, color: Color32) {
    if y.span() <= 0.0 {
        return;
    }
    // On whole pixels, so that egui does not add triangles for smooth edges.
    let scale = ui.pixels_per_point();
    let middle = x.round_to_pixels(scale);
    let mut mesh = Mesh::default();
    for (half, color) in [(2.0_f32, Color32::from_black_alpha(120)), (1.0, color)] {
        let half = half.round_to_pixels(scale);
        mesh.add_colored_rect(Rect::from_x_y_ranges(middle - half..=middle + half, y), color);
    }
    ui.painter().add(mesh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;
    use stats::Request;

    #[test]
    fn the_largest_difference_is_marked_in_the_middle_of_its_pixel_however_the_picture_is_turned() {
        let difference = Difference { pixels: 5000, differing: 3, largest: Some((9, (5, 6))) };
        let as_stored = Orientation::default();
        let (text, at) = difference_text(difference, (100, 50), as_stored);
        assert!(text.ends_with("by at most 9 levels, first so at (5, 6)"), "{text}");
        assert_eq!(at, Some(vec2(5.5 / 100.0, 6.5 / 50.0)));
        // Columns are rows, from below: (5, 6) is six to the right, and five above the lowest of a hundred.
        let turned = Orientation { swapped: true, flip_x: false, flip_y: true };
        let (text, at) = difference_text(difference, (100, 50), turned);
        assert!(text.ends_with("by at most 9 levels, so at (6, 94)"), "{text}");
        assert_eq!(at, Some(vec2(6.5 / 50.0, 94.5 / 100.0)));
        assert_eq!(difference_text(Difference { largest: None, ..difference }, (100, 50), turned).1, None);
    }

    #[test]
    fn labels_name_versions_and_have_medians_of_correct_kernels() {
        let built_in = Kernels::default();
        let sides = [named("fused"), named("flat")].map(|variant| Request::new(variant, 3));
        let wipe = Wipe { sides, by_wall: [false; 2], difference: None };
        let time = |ms: f64| Summary::of([ms; 50].into_iter(), None);
        let ratio = Ratio::of_pairs(&[1.0, 1.01, 1.02, 1.0, 1.0, 1.0, 1.0, 1.0], &[5.0; 8]);
        let times = ([time(1.0), time(5.0)], ratio);
        let [a, b] = label_texts(&wipe, times, [false; 2], &built_in);
        assert!(a.contains("p50 1") && a.ends_with("   5.00\u{d7} faster"), "{a}");
        assert!(b.contains("p50 5") && b.ends_with("   5.00\u{d7} slower"), "{b}");
        let [a, b] = label_texts(&wipe, (times.0, None), [false; 2], &built_in);
        assert!(!a.contains('\u{d7}') && !b.contains('\u{d7}'), "{a}, {b}: too few frames");
        let [a, b] = label_texts(&wipe, times, [false, true], &built_in);
        assert!(a.contains("p50 1") && !a.contains('\u{d7}'), "{a}");
        assert_eq!(b, "flat r=3   p50 \u{2013}");

        let of = |sides: [VariantId; 2], version, edited: &Vec<_>| {
            let [left, right] = sides.map(|variant| Request::new(variant, 3));
            let sides = [left, Request { version, ..right }];
            let wipe = Wipe { sides, by_wall: [false; 2], difference: None };
            let kernels = Kernels { running: Some(4), edited: edited.clone(), ..Kernels::default() };
            label_texts(&wipe, ([None, None], None), [false; 2], &kernels)
        };
        let none = Vec::new();
        let labels = of([named("flat"), named("flat")], Some(1), &none);
        assert_eq!(labels, ["flat r=3, version 4", "flat r=3, version 1"]);
        // The running version is another variant's; and a wipe of two variants names the versions of edited kernels only.
        assert_eq!(of([named("fused"), named("flat")], Some(1), &none), ["fused r=3", "flat r=3, version 1"]);
        let sides = [named("flat"), named("fused")];
        assert_eq!(of(sides, None, &none), ["flat r=3", "fused r=3"]);
        // A folder's filter as it was opened has no version, unless both sides show it.
        let opened = vec![(named("flat"), 4)];
        let label = |variant, version| {
            let sides = [Request::new(named("fused"), 3), Request { version, ..Request::new(variant, 3) }];
            let wipe = Wipe { sides, by_wall: [false; 2], difference: None };
            let kernels = Kernels { opened: opened.clone(), ..Kernels::default() };
            label_texts(&wipe, ([None, None], None), [false; 2], &kernels)[1].clone()
        };
        assert_eq!(label(named("flat"), Some(4)), "flat r=3");
        assert_eq!(label(named("flat"), Some(5)), "flat r=3, version 5");
        let edited = vec![(named("flat"), 4)];
        assert_eq!(of(sides, None, &edited), ["flat r=3, version 4", "fused r=3"]);
        assert_eq!(of([named("fused"), named("flat")], None, &edited), ["fused r=3", "flat r=3, version 4"]);
    }
}
