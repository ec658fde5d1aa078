//! A wipe: the line between two filters of one picture, the labels of both, and how they differ. In: what is on both sides.
//! Out: where the line was dragged to, and which side the mouse is on.

use std::sync::Arc;

use egui::emath::GuiRounding as _;
use egui::{
    Align2, Color32, CornerRadius, CursorIcon, Galley, Id, Mesh, PointerButton, Pos2, Rect, Sense, Stroke,
    Ui, Vec2, pos2, vec2,
};

use super::{Action, Overlay, Placed, View, theme};
use base::timing::Noise;
use box_filter::VariantId;
use engine::stats::Summary;
use engine::{Difference, Request};
use video::Orientation;

/// Points to both sides of the line in which the mouse takes it.
const BAND: f32 = 12.0;
/// The line stays so far inside the picture, in parts of its width.
const EDGE: f32 = 0.02;
/// Height of a label.
const ROW: f32 = 22.0;

/// Two filters of one picture on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Wipe {
    /// How the left and the right side were filtered.
    pub sides: [Request; 2],
    /// Which of their times are wall time.
    pub by_wall: [bool; 2],
    /// How they differ, where a map of that is shown.
    pub difference: Option<Difference>,
}

/// The overlay's own state of it.
#[derive(Debug)]
pub(super) struct State {
    /// Where the line is, in parts of the picture's width.
    at: f32,
    /// Where it was laid out, in points from the window's left.
    line: f32,
    /// The mouse is on the right side.
    right: bool,
}

impl Default for State {
    fn default() -> Self {
        Self { at: 0.5, line: f32::INFINITY, right: false }
    }
}

impl Overlay {
    /// Where the line of a wipe is, in parts of the picture's width.
    pub fn wipe_at(&self) -> f32 {
        self.wipe.at
    }

    /// The mouse has moved since the last drawing, to this point.
    pub fn mouse_is_at(&mut self, pointer: Pos2) {
        self.wipe.right = pointer.x >= self.wipe.line;
    }

    /// Whether the mouse is on the right side of a wipe.
    pub fn is_right_of_wipe(&self) -> bool {
        self.wipe.right
    }

    /// The picture's part that is left of the line; all of it without a wipe, nothing where a map lies over it.
    pub(super) fn left_of_wipe(&self, view: &View, whole: Rect) -> Rect {
        match view.wipe {
            None => whole,
            Some(Wipe { difference: Some(_), .. }) => Rect::NOTHING,
            Some(_) => whole.with_max_x(whole.left() + self.wipe.at * whole.width()),
        }
    }

    /// Lays the line and the labels out, these in `area`, and below the panels in `covered` where there is room. The panels lie over
    /// the line, the picture's own clicks below.
    pub(super) fn wipe(
        &mut self,
        ui: &Ui,
        area: Rect,
        covered: &[Rect],
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        let (Some(wipe), Some(placed)) = (view.wipe, view.placed) else { return };
        let picture = placed.rect(ui);
        if picture.width() < 4.0 {
            return;
        }
        let x_of = |at: f32| picture.left() + at * picture.width();
        if wipe.difference.is_none() {
            let x = x_of(self.wipe.at);
            let band = Rect::from_x_y_ranges(x - BAND..=x + BAND, picture.y_range());
            let response = ui.interact(band, line_id(), Sense::click_and_drag());
            let response = response.on_hover_cursor(CursorIcon::ResizeHorizontal);
            if let Some(pointer) =
                response.interact_pointer_pos().filter(|_| response.dragged_by(PointerButton::Primary))
            {
                let at = (pointer.x - picture.left()) / picture.width();
                self.wipe.at = at.clamp(EDGE, 1.0 - EDGE);
            }
            if response.secondary_clicked() {
                actions.push(Action::TogglePause);
            }
            let color = if response.hovered() || response.dragged() { theme::SELECT } else { theme::STRONG };
            line(ui, x_of(self.wipe.at), picture, color);
        }
        let x = x_of(self.wipe.at);
        self.wipe.line = x;
        if let Some(pointer) = ui.input(|i| i.pointer.latest_pos()) {
            self.mouse_is_at(pointer);
        }
        let area = area.intersect(picture);
        let area = if area.is_positive() { area } else { picture };
        let right = self.wipe.right;
        let times = [self.numbers.filter(), self.numbers.beside];
        let differs = wipe.sides.map(|side| view.kernels.differs(side.variant));
        let [a, b] = texts(wipe, times, differs, view.kernels.beside, view.kernels.running);
        let y = area.top() + theme::GAP;
        let first = Label::new(ui, area, pos2(x - BAND, y), Align2::RIGHT_TOP, &a, !right);
        let mut second = Label::new(ui, area, pos2(x + BAND, y), Align2::LEFT_TOP, &b, right);
        if second.rect.intersects(first.rect) {
            // One below the other where there is no room side by side.
            second.rect = second.rect.translate(vec2(0.0, ROW + 4.0));
        }
        let below = second.rect.bottom() + 4.0;
        let mut labels = vec![first, second];
        let difference =
            wipe.difference.zip(view.shown).map(|(wipe, shown)| told(wipe, shown.size, placed.orientation));
        if let Some((text, _)) = &difference {
            let at_center = pos2(area.center().x, below);
            labels.push(Label::new(ui, area, at_center, Align2::CENTER_TOP, text, true));
        }
        let all = labels.iter().fold(Rect::NOTHING, |all, label| all.union(label.rect));
        let down = uncovered(all, area, covered);
        for mut label in labels {
            label.rect = label.rect.translate(vec2(0.0, down));
            label.paint(ui);
        }
        if let Some((_, Some(at))) = difference {
            let at = picture.min + at * picture.size();
            ui.painter().circle_stroke(at, 10.0, Stroke::new(3.0, Color32::from_black_alpha(160)));
            ui.painter().circle_stroke(at, 10.0, Stroke::new(1.5, theme::STRONG));
        }
    }
}

/// How far down `labels` go to lie below all that covers them; not at all where they would leave `area`.
fn uncovered(labels: Rect, area: Rect, covered: &[Rect]) -> f32 {
    let mut down = 0.0;
    let covers = |rect: &&Rect, down: f32| rect.intersects(labels.translate(vec2(0.0, down)));
    while let Some(rect) = covered.iter().find(|rect| covers(rect, down)) {
        // With a gap, so that each step gets past one of them for good.
        down = rect.bottom() + theme::GAP - labels.top();
    }
    if labels.bottom() + down <= area.bottom() { down } else { 0.0 }
}

/// The line's name in egui.
pub(crate) fn line_id() -> Id {
    Id::unique("wipe-line")
}

/// How the sides differ, in words, and where the largest difference is in the picture as it is shown, in parts of its width and
/// height.
fn told(difference: Difference, size: (u32, u32), orientation: Orientation) -> (String, Option<Vec2>) {
    let ((across, down), _) = orientation.shown(size, 1.0);
    let largest = difference.largest.map(|(levels, at)| (levels, orientation.shown_at(size, at)));
    let middle = |(x, y): (u32, u32)| {
        vec2((x as f32 + 0.5) / across.max(1) as f32, (y as f32 + 0.5) / down.max(1) as f32)
    };
    let text = Difference { largest, ..difference }.to_string();
    // The first in the order of the stored picture.
    let text =
        if orientation == Orientation::default() { text } else { text.replace("first so at", "so at") };
    (text, largest.map(|(_, at)| middle(at)))
}

/// What is said of both sides, each with the median of its filter, also in parts of the other's; kernels that make another
/// picture have none. Where a `version` is on the other side, the first one's is told, too: the one that is `running`.
fn texts(
    wipe: &Wipe,
    times: [Option<Summary>; 2],
    differs: [bool; 2],
    version: Option<(VariantId, u64)>,
    running: Option<u64>,
) -> [String; 2] {
    let filters = |side: usize| wipe.sides[side].variant != VariantId::Off && !differs[side];
    let version = version.filter(|_| wipe.sides[1].variant == VariantId::Version);
    let time = |side: usize| times[side].filter(|time| filters(side) && time.p50 > 0.0);
    [0, 1].map(|side| {
        let request = &wipe.sides[side];
        let mut text = request.to_string();
        if let Some((variant, number)) = version {
            let numbers = [running.filter(|_| request.variant == variant), Some(number)];
            if let Some(number) = numbers[side] {
                let name = format!("{variant} of version {number}");
                text = text.replacen(request.variant.as_str(), &name, 1);
            }
        }
        if request.levels {
            text.push_str(", auto-levels");
        }
        if differs[side] {
            text.push_str(&format!("   p50 {}", theme::UNKNOWN));
        }
        if let Some(own) = time(side) {
            let wall = if wipe.by_wall[side] { " wall time" } else { "" };
            let ms = theme::believed(own.p50, own.noise, theme::short_ms);
            text.push_str(&format!("   p50 {ms} ms{wall}"));
            if let Some(other) = time(1 - side) {
                let noise = [own.noise, other.noise].into_iter().flatten().min_by_key(Noise::digits);
                let ratio = theme::believed(own.p50 / other.p50, noise, theme::rounded);
                text.push_str(&format!("   {ratio} \u{d7}"));
            }
        }
        text
    })
}

/// A text on a ground of its own.
struct Label {
    rect: Rect,
    galley: Arc<Galley>,
    color: Color32,
}

impl Label {
    fn new(ui: &Ui, area: Rect, at: Pos2, align: Align2, text: &str, strong: bool) -> Self {
        let color = if strong { theme::STRONG } else { theme::TEXT };
        let galley = theme::elided(ui, text, theme::words(13.0), color, ui.max_rect().width() - 14.0);
        let size = vec2(galley.size().x + 14.0, ROW);
        let rect = align.anchor_size(at, size);
        // Inside, as far as it goes.
        let room = if area.width() >= size.x { area } else { ui.max_rect() };
        let left = (rect.left().min(room.right() - size.x)).max(room.left());
        let rect = rect.translate(vec2(left - rect.left(), 0.0));
        Self { rect, galley, color }
    }

    fn paint(self, ui: &Ui) {
        // Without an edge, which is many triangles where a processor draws.
        ui.painter().rect_filled(self.rect, CornerRadius::same(4), theme::PANEL);
        let at = self.rect.left_center() + vec2(7.0, -self.galley.size().y / 2.0);
        ui.painter().galley(at, self.galley, self.color);
    }
}

fn line(ui: &Ui, x: f32, picture: Rect, color: Color32) {
    let painter = ui.painter();
    // On whole pixels, so that no edge needs smoothing: that is triangles of its own, from top to bottom.
    let scale = ui.pixels_per_point();
    let middle = x.round_to_pixels(scale);
    let mut mesh = Mesh::default();
    for (half, color) in [(2.0_f32, Color32::from_black_alpha(120)), (1.0, color)] {
        let half = half.round_to_pixels(scale);
        mesh.add_colored_rect(Rect::from_x_y_ranges(middle - half..=middle + half, picture.y_range()), color);
    }
    painter.add(mesh);
    let handle = Rect::from_center_size(pos2(x, picture.center().y), vec2(8.0, 34.0));
    painter.rect_filled(handle, CornerRadius::same(4), color);
}

impl Placed {
    /// The same in points.
    pub(super) fn rect(&self, ui: &Ui) -> Rect {
        let [left, top, width, height] = self.at.map(|pixels| pixels / ui.pixels_per_point());
        Rect::from_min_size(pos2(left, top), vec2(width, height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_difference_is_marked_in_the_middle_of_its_pixel_however_the_picture_is_turned() {
        let difference = Difference { pixels: 5000, differing: 3, largest: Some((9, (5, 6))) };
        let as_stored = Orientation::default();
        let (text, at) = told(difference, (100, 50), as_stored);
        assert!(text.ends_with("by at most 9 levels, first so at (5, 6)"), "{text}");
        assert_eq!(at, Some(vec2(5.5 / 100.0, 6.5 / 50.0)));
        // Columns are rows, from below: (5, 6) is six to the right, and five above the lowest of a hundred.
        let turned = Orientation { swapped: true, flip_x: false, flip_y: true };
        let (text, at) = told(difference, (100, 50), turned);
        assert!(text.ends_with("by at most 9 levels, so at (6, 94)"), "{text}");
        assert_eq!(at, Some(vec2(6.5 / 50.0, 94.5 / 100.0)));
        assert_eq!(told(Difference { largest: None, ..difference }, (100, 50), turned).1, None);
    }

    #[test]
    fn labels_go_below_what_covers_them_where_there_is_room() {
        let rect = |top: f32, bottom: f32| Rect::from_x_y_ranges(0.0..=100.0, top..=bottom);
        let down = |covered: &[Rect]| uncovered(rect(10.0, 30.0), rect(0.0, 200.0), covered);
        assert_eq!(down(&[]), 0.0);
        assert_eq!(down(&[rect(40.0, 60.0)]), 0.0);
        assert_eq!(down(&[rect(0.0, 90.0)]), 80.0 + theme::GAP);
        // What lies where the first one sends them sends them further, in whichever order.
        let further = [rect(0.0, 90.0), rect(92.0, 130.0)];
        assert_eq!(down(&further), 120.0 + theme::GAP);
        assert_eq!(down(&[further[1], further[0]]), 120.0 + theme::GAP);
        assert_eq!(down(&[rect(0.0, 190.0)]), 0.0, "there is no room");
    }

    #[test]
    fn kernels_that_make_another_picture_have_no_median() {
        let sides = [VariantId::Fused, VariantId::Flat].map(|variant| Request::new(variant, 3));
        let wipe = Wipe { sides, by_wall: [false; 2], difference: None };
        let time = |ms: f64| Summary::of([ms; 50].into_iter(), None);
        let [a, b] = texts(&wipe, [time(1.0), time(2.0)], [false; 2], None, None);
        assert!(
            a.contains("p50 1") && a.contains('\u{d7}') && b.contains("p50 2") && b.contains('\u{d7}'),
            "{a}, {b}"
        );
        let [a, b] = texts(&wipe, [time(1.0), time(2.0)], [false, true], None, None);
        assert!(a.contains("p50 1") && !a.contains('\u{d7}'), "{a}");
        assert_eq!(b, "flat r=3   p50 \u{2013}");
    }

    #[test]
    fn both_versions_of_a_kernel_are_told() {
        let of = |sides: [VariantId; 2]| {
            let sides = sides.map(|variant| Request::new(variant, 3));
            let wipe = Wipe { sides, by_wall: [false; 2], difference: None };
            texts(&wipe, [None, None], [false; 2], Some((VariantId::Flat, 1)), Some(4))
        };
        let told = of([VariantId::Flat, VariantId::Version]);
        assert_eq!(told, ["flat of version 4 r=3", "flat of version 1 r=3"]);
        // That which runs is another variant's; and what was beside it before is of no wipe now.
        assert_eq!(of([VariantId::Fused, VariantId::Version])[0], "fused r=3");
        assert_eq!(of([VariantId::Flat, VariantId::Fused]), ["flat r=3", "fused r=3"]);
    }
}
