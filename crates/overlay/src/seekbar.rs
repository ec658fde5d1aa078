//! The seek bar, the button that pauses the movie, and the controls of the sound: a loudspeaker that switches the sound off or on,
//! and a slider for the volume.

use egui::{CursorIcon, LayerId, Order, Slider};

use crate::prelude::*;
use crate::{SoundView, mouse};

/// Height in points of the seek bar's row; all of it can be clicked.
pub(crate) const HEIGHT: f32 = 22.0;
/// The radius in points of the handle, which stands at the position in the movie.
const HANDLE_RADIUS: f32 = 5.5;
/// Width in points of the loudspeaker.
const ICON_WIDTH: f32 = 24.0;
/// Width in points of the slider.
const SLIDER_WIDTH: f32 = 64.0;
/// The hover text of the seek bar of a movie without a known duration.
const NO_DURATION_HOVER: &str = "The duration of the movie is unknown, so the seek bar is disabled.\n\
    The arrow keys still seek.";

/// Returns the movie's duration in seconds, or the hover text that says why the seek bar is disabled.
fn duration_s(view: &View) -> Result<f64, &'static str> {
    let length = view.movie.duration_s.filter(|d| d.is_finite() && *d > 0.0).ok_or(NO_DURATION_HOVER)?;
    let frame = view.movie.fps.filter(|f| *f > 0.0).map_or(0.0, |f| 1.0 / f);
    if length < 1.5 * frame { Err("Still picture: there is nothing to seek.") } else { Ok(length) }
}

/// Lays out in `row` the button that pauses, the position and the duration as text, the rail of the seek bar, and the volume.
pub(crate) fn show(ui: &mut Ui, row: Rect, pass: &mut Pass) {
    let (view, actions) = (pass.view, &mut pass.actions);
    let button = Rect::from_center_size(row.left_center() + vec2(11.0, 0.0), vec2(22.0, 22.0));
    show_pause_button(ui, button, view, actions);
    let mut row = row.with_min_x(row.left() + 30.0);
    if let Some(sound) = view.sound {
        // The least width in points of the row in which the volume has a slider.
        let slider = if row.width() >= 380.0 { SLIDER_WIDTH + 4.0 } else { 0.0 };
        let width = ICON_WIDTH + slider;
        show_volume(ui, row.with_min_x(row.right() - width), sound, actions);
        row.max.x -= width + 8.0;
    }
    let length = duration_s(view);
    let here = view.target_s.unwrap_or(view.movie.position_s);
    let steps = mouse::wheel_steps(ui, row, "time");
    if let (Ok(length), true) = (length, steps != 0) {
        // Seconds by which a step of the mouse wheel seeks, as many as by an arrow key.
        let to_s = (here + f64::from(steps) * 5.0).clamp(0.0, length);
        actions.push(Action::Seek { to_s, exact: true });
    }
    let total = length.map_or_else(|_| theme::UNKNOWN.to_owned(), theme::clock);
    let position = || format!("{} / {total}", theme::clock(view.movie.position_s));
    // Room for the longest figures, so that the rail does not move.
    let room = 7.3 * (2 * total.len().max(6) + 3) as f32 + 10.0;
    let mut rail = row;
    if row.width() > 1.6 * room {
        // The figures belong to the picture on the screen; the handle is already at the target of a seek.
        ui.figures(row.left_center(), Align2::LEFT_CENTER, position(), 12.0, theme::TEXT);
        rail = row.with_min_x(row.left() + room);
    }
    let inside = rail.shrink2(vec2(HANDLE_RADIUS + 1.0, 0.0));
    if inside.width() < 10.0 {
        return;
    }
    let line = Rect::from_center_size(inside.center(), vec2(inside.width() + 4.0, 4.0));
    ui.painter().rect_filled(line, 2, theme::RULE);
    let sense = if length.is_ok() { Sense::click_and_drag() } else { Sense::click() };
    let response = ui.interact(rail, Id::unique("seek-rail"), sense).named(Role::Slider, "Position");
    let response = response.valued(|| length.map_or_else(str::to_owned, |_| position()));
    let length = match length {
        Ok(length) => length,
        Err(reason) => {
            if let Some(pointer) = response.hover_pos() {
                draw_tag(ui, pos2(pointer.x, row.top() - 3.0), reason.to_owned());
            }
            return;
        }
    };
    let response = response.on_hover_cursor(CursorIcon::PointingHand);

    let x_of = |s: f64| inside.left() + inside.width() * (s / length).clamp(0.0, 1.0) as f32;
    let s_at = |x: f32| length * f64::from((x - inside.left()) / inside.width()).clamp(0.0, 1.0);
    let pointer = response.interact_pointer_pos().map(|p| p.x);
    if let Some(x) = pointer {
        // Exact where the button is pressed and where a drag ends, key frames in between. A tap may begin and end within one
        // pass.
        let went_down = ui.input(|i| i.pointer.any_pressed());
        let tapped = went_down && (response.is_pointer_button_down_on() || response.clicked());
        if tapped || response.drag_stopped() {
            actions.push(Action::Seek { to_s: s_at(x), exact: true });
        } else if response.dragged() && response.drag_delta().x != 0.0 {
            actions.push(Action::Seek { to_s: s_at(x), exact: false });
        }
    }

    let dragged = pointer.filter(|_| response.dragged());
    let handle = dragged.map_or_else(|| x_of(if here.is_finite() { here } else { 0.0 }), |x| x_of(s_at(x)));
    let painter = ui.painter();
    painter.rect_filled(line.with_max_x(handle), 2, theme::SELECT);
    let mut last = f32::NEG_INFINITY;
    let starts = view.movie.chapters.iter().map(|chapter| chapter.start_s);
    for x in starts.filter(|start_s| *start_s > 0.0).map(x_of) {
        // Closer marks would merge.
        if x - last >= 3.0 {
            last = x;
            let mark = Rect::from_center_size(pos2(x, line.center().y), vec2(1.0, line.height() + 6.0));
            painter.rect_filled(mark, 0, theme::TEXT);
        }
    }
    draw_loop_marks(ui, line, view.loop_range, x_of);
    let center = pos2(handle, line.center().y);
    painter.circle_filled(center, HANDLE_RADIUS, theme::STRONG);
    if let Some(x) = dragged.or(response.hover_pos().map(|p| p.x)) {
        let s = s_at(x);
        let chapter = view.movie.chapters.iter().rfind(|chapter| chapter.start_s <= s);
        let text = match chapter.map_or("", |chapter| chapter.title.as_str()) {
            "" => theme::clock(s),
            title => format!("{}  {title}", theme::clock(s)),
        };
        draw_tag(ui, pos2(x_of(s), row.top() - 3.0), text);
    }
}

/// Lays out the button that pauses (two bars) or resumes (a triangle).
fn show_pause_button(ui: &mut Ui, rect: Rect, view: &View, actions: &mut Vec<Action>) {
    let response = ui.interact(rect, Id::unique("pause"), Sense::click());
    if response.hovered() {
        ui.painter().rect_filled(rect, 4, Color32::from_white_alpha(22));
    }
    let center = rect.center();
    if view.paused {
        let points = [vec2(-4.0, -6.0), vec2(6.0, 0.0), vec2(-4.0, 6.0)].map(|p| center + p).to_vec();
        ui.painter().add(Shape::convex_polygon(points, theme::STRONG, Stroke::NONE));
    } else {
        for x in [-5.0, 1.0] {
            let bar = Rect::from_min_size(center + vec2(x, -6.0), vec2(4.0, 12.0));
            ui.painter().rect_filled(bar, 0, theme::STRONG);
        }
    }
    let (name, hover) = match view.paused {
        true => ("Resume", "Resume (Space)"),
        false => ("Pause", "Pause (Space). The frame is filtered again when variant or settings change."),
    };
    response.named(Role::Button, name).explain(hover).on_click(Action::TogglePause, actions);
}

/// Draws the letters A and B at the ends `part` of the A-B loop, with a line between them.
fn draw_loop_marks(ui: &Ui, line: Rect, part: (Option<f64>, Option<f64>), x_of: impl Fn(f64) -> f32) {
    let painter = ui.painter();
    let finite = |s: Option<f64>| s.filter(|s| s.is_finite()).map(&x_of);
    let (a, b) = (finite(part.0), finite(part.1));
    if let (Some(a), Some(b)) = (a, b) {
        let y = line.center().y + 5.0;
        painter.line_segment([pos2(a, y), pos2(b, y)], Stroke::new(1.5, theme::STRONG));
    }
    for (x, name, side) in [(a, "A", Align2::RIGHT_CENTER), (b, "B", Align2::LEFT_CENTER)] {
        let Some(x) = x else { continue };
        let ends = [pos2(x, line.top() - 5.0), pos2(x, line.bottom() + 5.0)];
        painter.line_segment(ends, Stroke::new(1.5, theme::STRONG));
        let beside = if name == "A" { -3.0 } else { 3.0 };
        let at = pos2(x + beside, line.center().y - 5.0);
        ui.words(at, side, name, 10.0, theme::STRONG);
    }
}

/// Draws a text in a box above the pointer, over all other parts of the overlay and within the window.
fn draw_tag(ui: &Ui, at: Pos2, text: String) {
    let layer = LayerId::new(Order::Tooltip, ui.unique_id().with("seek-time"));
    let painter = ui.ctx().layer_painter(layer);
    let galley = painter.layout_no_wrap(text, theme::words(12.5), theme::STRONG);
    let size = galley.size() + vec2(12.0, 6.0);
    let window = ui.ctx().content_rect();
    let half = (size.x / 2.0).min(window.width() / 2.0);
    let x = at.x.clamp(window.left() + half, window.right() - half);
    let rect = Align2::CENTER_BOTTOM.anchor_size(pos2(x, at.y), size);
    let edge = Stroke::new(1.0, theme::PANEL_EDGE);
    painter.add(Shape::rect_filled(rect, 4, theme::PANEL.to_opaque()));
    painter.rect_stroke(rect, 4, edge, StrokeKind::Inside);
    painter.galley(rect.min + vec2(6.0, 3.0), galley, theme::STRONG);
}

/// Lays out the loudspeaker and, if `rect` is wide enough, the slider of the volume.
fn show_volume(ui: &mut Ui, rect: Rect, sound: &SoundView, actions: &mut Vec<Action>) {
    let steps = mouse::wheel_steps(ui, rect, "volume");
    if steps != 0 {
        // The change of the volume by a step of the mouse wheel, in percent.
        actions.push(Action::ChangeVolume(steps.saturating_mul(5)));
    }
    let icon = rect.with_max_x(rect.left() + ICON_WIDTH);
    let response = ui.interact(icon, Id::unique("loudspeaker"), Sense::click());
    if response.hovered() {
        ui.painter().rect_filled(icon, 4, Color32::from_white_alpha(22));
    }
    draw_loudspeaker(ui.painter(), icon.center(), sound);
    let (name, state) = match sound.is_muted {
        true => ("Unmute", "Muted; m switches the sound on.".to_owned()),
        false => ("Mute", format!("Volume {} % (/ and * change it, m mutes).", sound.volume)),
    };
    let response = response.named(Role::Button, name);
    response.explain(format!("{state}\n{}", sound.text)).on_click(Action::ToggleMute, actions);
    if rect.width() < ICON_WIDTH + SLIDER_WIDTH {
        return;
    }
    let place = Rect::from_min_size(pos2(icon.right() + 4.0, rect.top()), vec2(SLIDER_WIDTH, rect.height()));
    ui.spacing_mut().slider_width = SLIDER_WIDTH;
    let mut volume = if sound.is_muted { 0 } else { sound.volume };
    let slider = ui.put(place, Slider::new(&mut volume, 0..=100).show_value(false));
    if slider.named(Role::Slider, "Volume").explain(format!("Volume {} %", sound.volume)).changed() {
        actions.push(Action::SetVolume(volume));
    }
}

/// Draws a loudspeaker: with waves if the sound is on, with a cross if it is off.
fn draw_loudspeaker(painter: &Painter, center: Pos2, sound: &SoundView) {
    let at = |x: f32, y: f32| center + vec2(x, y);
    let box_of = Rect::from_min_max(at(-8.0, -2.5), at(-4.0, 2.5));
    painter.rect_filled(box_of, 0, theme::STRONG);
    let cone = vec![at(-4.5, -2.5), at(-0.5, -6.0), at(-0.5, 6.0), at(-4.5, 2.5)];
    painter.add(Shape::convex_polygon(cone, theme::STRONG, Stroke::NONE));
    let line = Stroke::new(1.5, theme::STRONG);
    if sound.is_muted || sound.volume == 0 {
        painter.line_segment([at(2.5, -3.0), at(8.5, 3.0)], line);
        painter.line_segment([at(2.5, 3.0), at(8.5, -3.0)], line);
        return;
    }
    let waves = if sound.volume < 50 { &[3.5][..] } else { &[3.5, 7.0] };
    for radius in waves {
        let arc = (-4..=4).map(|step| {
            let angle = step as f32 * 0.2;
            at(radius * angle.cos(), radius * angle.sin())
        });
        painter.add(Shape::line(arc.collect(), line));
    }
}
