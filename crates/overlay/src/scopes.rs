//! The scopes: histogram and waveform of the luminance of the picture on the screen, its numbers, the switches of the heat map
//! and of auto-levels; and the heat map over the picture. In: [`Readings`] of that very frame. Out: what was switched.

use egui::epaint::Vertex;
use egui::{
    Align2, Color32, ColorImage, Id, Mesh, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions, Ui,
    Vec2, pos2, vec2,
};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, Overlay, View, Wipe, panel, theme};
use engine::{LEVELS, Readings, STRIPS};
use video::Orientation;

/// The panel's size in points.
const SIZE: Vec2 = vec2(296.0, 348.0);
const HISTOGRAM: f32 = 84.0;
const WAVEFORM: f32 = 128.0;
const LINE: f32 = 18.0;

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Scopes,
    key: Some(("h", "scopes: histogram, waveform")),
    menu: ("Scopes", "Histogram and waveform of the picture's luminance"),
    size: SIZE,
    least: vec2(SIZE.x, panels::LEAST),
    corner: Align2::RIGHT_TOP,
    is_shown: |overlay, _| overlay.open[Panel::Scopes as usize],
    show: |overlay, ui, rect, view, actions| {
        let folded = overlay.is_folded(Panel::Scopes);
        show(overlay, ui, rect, view, folded, actions)
    },
};

/// A switch of the panel: what its button does, its key does too.
pub struct Switch {
    /// The key, and what it does in the table of keys.
    pub key: (&'static str, &'static str),
    /// What both do.
    pub action: Action,
    /// The button: its name, and what the hover text says.
    button: (&'static str, &'static str),
    is_on: fn(&Overlay) -> bool,
}

/// All of them, as the panel has them from left to right.
pub const SWITCHES: [Switch; 2] = [
    Switch {
        key: ("H", "heat map of the luminance"),
        action: Action::ToggleHeat,
        button: ("Heat map", "The mean luminance of each block of 16×16 pixels over the picture"),
        is_on: |overlay| overlay.heat,
    },
    Switch {
        key: ("a", "auto-levels"),
        action: Action::ToggleLevels,
        button: ("Auto-levels", "Stretch each frame from black to white by its own histogram"),
        is_on: |overlay| overlay.levels,
    },
];

/// Where the picture lies in the window, for what is drawn over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// Left and upper edge, width and height, in pixels from the window's upper left corner.
    pub at: [f32; 4],
    /// How it is turned.
    pub orientation: Orientation,
}

fn show(
    overlay: &Overlay,
    ui: &mut Ui,
    rect: Rect,
    view: &View,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let frame = panel::Frame {
        panel: Panel::Scopes,
        id: "scopes",
        name: "Scopes",
        hover: place::HOVER,
        close: ("Close this panel: the key h", Action::Toggle(Panel::Scopes)),
    };
    let (title, inner) = frame.show(ui, rect, folded, actions);
    let Some(mut ui) = inner else { return (title, panel::HEADER) };
    panel::scrolled(&mut ui, rect, |ui| {
        let size = vec2(ui.available_width(), SIZE.y - panel::HEADER - 4.0);
        let (room, _) = ui.allocate_exact_size(size, egui::Sense::hover());
        contents(overlay, ui, room.shrink2(vec2(theme::PAD - 2.0, 0.0)), view, actions);
    });
    (title, SIZE.y)
}

/// The switches, and the picture's numbers in `room`.
fn contents(overlay: &Overlay, ui: &mut Ui, room: Rect, view: &View, actions: &mut Vec<Action>) {
    let row = |top: f32, height: f32| {
        Rect::from_min_size(pos2(room.left(), room.top() + top), vec2(room.width(), height))
    };
    let mut switches =
        ui.new_child(egui::UiBuilder::new().id_salt("switches").max_rect(row(0.0, theme::CONTROL)));
    switches.horizontal(|ui| {
        for Switch { key: (key, _), action, button: (name, hover), is_on } in SWITCHES {
            let on = is_on(overlay);
            // What is on lies on the colour that texts have elsewhere.
            let color = if on { theme::PANEL.to_opaque() } else { theme::TEXT };
            let text = egui::RichText::new(name).color(color);
            if ui.selectable_label(on, text).on_hover_text(format!("{hover}: key {key}")).clicked() {
                actions.push(action);
            }
        }
    });
    let Some(readings) = view.readings else {
        let why = why_nothing(view);
        let galley = ui.painter().layout(why, theme::words(12.5), theme::WEAK, room.width());
        ui.painter().galley(row(theme::CONTROL + 12.0, 0.0).min, galley, theme::WEAK);
        return;
    };
    let top = theme::CONTROL + 6.0;
    histogram(ui, row(top, HISTOGRAM), readings, overlay.levels);
    waveform(ui, row(top + HISTOGRAM + 6.0, WAVEFORM), readings);
    let numbers =
        format!("minimum {}   mean {}   maximum {}", readings.minimum, readings.mean, readings.maximum);
    let mut at = row(top + HISTOGRAM + WAVEFORM + 12.0, LINE).left_center();
    let mut line = |text: String, color: Color32| {
        ui.painter().text(at, Align2::LEFT_CENTER, text, theme::words(12.5), color);
        at.y += LINE;
    };
    line(numbers, theme::TEXT);
    let (low, high) = readings.ends();
    let (verb, color) =
        if overlay.levels { ("stretch", theme::SELECT) } else { ("would stretch", theme::WEAK) };
    line(format!("auto-levels {verb} {low} to {high}"), color);
    line(of_what(view).to_owned(), theme::WEAK);
}

/// Of what the numbers are.
fn of_what(view: &View) -> &'static str {
    match view.wipe {
        None => "of the picture as it came out of the filter",
        Some(Wipe { difference: None, .. }) => "of the left side as it came out of its filter",
        Some(_) => "of the left side; no heat map over the other map",
    }
}

/// Why there are no numbers.
fn why_nothing(view: &View) -> String {
    if let Some(error) = view.not_measured {
        return format!("{} {}", error.what, error.why);
    }
    let on_device = view.shown.is_none_or(|shown| !shown.variant.back_end().does_without_opencl());
    match view.device.is_some() && on_device {
        true => "They are being made ready.".to_owned(),
        false => "They come soon.".to_owned(),
    }
}

/// Lengths go by the square root: what is rare is seen beside what is not.
fn part(count: u32, of: u32) -> f32 {
    (count as f32 / of.max(1) as f32).sqrt().min(1.0)
}

fn histogram(ui: &Ui, rect: Rect, readings: &Readings, levels: bool) {
    theme::ground(ui.painter(), rect, theme::TROUGH);
    let most = readings.histogram.iter().copied().max().unwrap_or(0);
    let step = rect.width() / readings.histogram.len().max(1) as f32;
    let mut mesh = Mesh::default();
    for (luminance, count) in readings.histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
        let left = rect.left() + luminance as f32 * step;
        let top = rect.bottom() - (part(*count, most) * rect.height()).max(1.0);
        mesh.add_colored_rect(
            Rect::from_min_max(pos2(left, top), pos2(left + step, rect.bottom())),
            theme::TEXT,
        );
    }
    ui.painter().add(Shape::mesh(mesh));
    let (low, high) = readings.ends();
    let color = if levels { theme::SELECT } else { theme::WEAK };
    for end in [low as f32, high as f32 + 1.0] {
        ui.painter().vline(rect.left() + end * step, rect.y_range(), egui::Stroke::new(1.0, color));
    }
}

fn waveform(ui: &Ui, rect: Rect, readings: &Readings) {
    theme::ground(ui.painter(), rect, theme::TROUGH);
    let (width, height) = readings.size;
    let strip = (width as usize).div_ceil(STRIPS) as u32 * height;
    // Bright where a tenth of a strip's pixels have one level.
    let color = |count: u32| match count {
        0 => Color32::TRANSPARENT,
        _ => theme::GOOD.gamma_multiply(0.2 + 0.8 * part(count, strip / 10)),
    };
    let level = |strip: usize, row: usize| readings.waveform.get(strip * LEVELS + LEVELS - 1 - row).copied();
    let pixels = (0..LEVELS).flat_map(|row| (0..STRIPS).map(move |strip| (strip, row)));
    let pixels = pixels.map(|(strip, row)| level(strip, row).map_or(Color32::TRANSPARENT, color)).collect();
    let texture = texture(ui, "waveform", ColorImage::new([STRIPS, LEVELS], pixels), TextureOptions::LINEAR);
    let whole = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
    ui.painter().image(texture.id(), rect, whole, Color32::WHITE);
}

/// The texture of this name, with this content.
fn texture(ui: &Ui, name: &str, image: ColorImage, options: TextureOptions) -> TextureHandle {
    let id = Id::unique(name);
    if let Some(mut texture) = ui.data(|data| data.get_temp::<TextureHandle>(id)) {
        texture.set(image, options);
        return texture;
    }
    let texture = ui.ctx().load_texture(name, image, options);
    ui.data_mut(|data| data.insert_temp(id, texture.clone()));
    texture
}

/// From cold to hot.
const COLORS: [[f32; 3]; 5] = [
    [24.0, 20.0, 90.0],
    [40.0, 110.0, 200.0],
    [60.0, 190.0, 120.0],
    [240.0, 200.0, 60.0],
    [235.0, 70.0, 50.0],
];

/// The colour of a luminance; the picture shines through.
fn heat(luminance: u32) -> Color32 {
    let at = luminance.min(255) as f32 / 255.0 * (COLORS.len() - 1) as f32;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    let [red, green, blue] = [0, 1, 2].map(|channel| {
        let (from, to) = (COLORS[below][channel], COLORS[above][channel]);
        (from + (to - from) * at.fract()) as u8
    });
    Color32::from_rgba_unmultiplied(red, green, blue, 170)
}

/// Where a corner of the picture on the screen, 0 or 1 across and down, lies in the stored one.
fn stored([x, y]: [f32; 2], orientation: Orientation) -> [f32; 2] {
    let x = if orientation.flip_x { 1.0 - x } else { x };
    let y = if orientation.flip_y { 1.0 - y } else { y };
    if orientation.swapped { [y, x] } else { [x, y] }
}

/// The means of blocks over the picture, as far as it is to be painted over.
pub(super) fn heat_map(painter: &Painter, ui: &Ui, readings: &Readings, placed: &Placed) {
    let [across, down] = readings.across_and_down();
    if readings.blocks.len() != across * down {
        return;
    }
    let pixels = readings.blocks.iter().map(|mean| heat(*mean)).collect();
    let texture = texture(ui, "heat", ColorImage::new([across, down], pixels), TextureOptions::NEAREST);
    let at = placed.rect(ui);
    // The last blocks may reach beyond the picture.
    let used = [readings.size.0 as f32 / (16 * across) as f32, readings.size.1 as f32 / (16 * down) as f32];
    let mut mesh = Mesh::with_texture(texture.id());
    for corner in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
        let [u, v] = stored(corner, placed.orientation);
        let pos = at.min + vec2(corner[0], corner[1]) * at.size();
        mesh.vertices.push(Vertex { pos, uv: pos2(u * used[0], v * used[1]), color: Color32::WHITE });
    }
    mesh.indices.extend_from_slice(&[0, 1, 2, 2, 1, 3]);
    painter.add(Shape::mesh(mesh));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_turned_as_the_picture_is() {
        // The same two by one picture as `Orientation::turn` has it: what stands at the left in it.
        for (swapped, flip_x, flip_y) in
            [(false, false, false), (false, true, false), (true, true, false), (true, false, true)]
        {
            let orientation = Orientation { swapped, flip_x, flip_y };
            let pixels = vec![1, 1, 1, 1, 2, 2, 2, 2];
            let (size, turned) = orientation.turn((2, 1), pixels).unwrap();
            for (at, pixel) in turned.chunks_exact(4).enumerate() {
                let corner = match size {
                    (2, 1) => [at as f32, 0.0],
                    _ => [0.0, at as f32],
                };
                assert_eq!(stored(corner, orientation)[0], f32::from(pixel[0] - 1), "{orientation:?}");
            }
        }
    }

    #[test]
    fn hotter_is_redder() {
        let [cold, hot] = [heat(0), heat(255)];
        assert!(cold.b() > cold.r() && hot.r() > hot.b() && heat(1000) == hot);
    }
}
