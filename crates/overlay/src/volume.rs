//! The controls of the sound at the end of the seek bar: a loudspeaker that switches the sound off or on, and a slider for the
//! volume.

use egui::Slider;

use crate::prelude::*;
use crate::{SoundView, mouse};

/// Width in points of the loudspeaker.
const ICON_WIDTH: f32 = 24.0;
/// Width in points of the slider.
const SLIDER_WIDTH: f32 = 64.0;

/// Returns the width in points of the volume's controls in a row of this width.
pub(crate) fn width_in(row: f32) -> f32 {
    // The least width in points of the seek bar's row in which the volume has a slider.
    if row >= 380.0 { ICON_WIDTH + SLIDER_WIDTH + 4.0 } else { ICON_WIDTH }
}

/// Lays out the loudspeaker and, if `rect` is wide enough, the slider of the volume.
pub(crate) fn show(ui: &mut Ui, rect: Rect, sound: &SoundView, actions: &mut Vec<Action>) {
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
