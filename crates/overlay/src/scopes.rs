//! The scopes: histogram, waveform and statistics of the luminance of the picture on the screen, the buttons of the heat map
//! and of auto-levels, and the heat map itself.

use egui::epaint::Vertex;
use egui::{ColorImage, TextureHandle, TextureOptions};
use stats::{LEVELS, Readings, STRIPS};
use video::Orientation;

use crate::panel::{self, ColumnPanel, Pane};
use crate::prelude::*;
use crate::{PicturePlace, Wipe};

/// Height of the histogram in points.
const HISTOGRAM_HEIGHT: f32 = 84.0;
/// Height of the waveform in points.
const WAVEFORM_HEIGHT: f32 = 128.0;
/// Height of a line of text in points.
const LINE_HEIGHT: f32 = 18.0;

pub(super) static SCOPES: ColumnPanel = ColumnPanel {
    key: Some(("h", "scopes: histogram, waveform")),
    margin: Margin { left: 8, right: 8, ..Margin::ZERO },
    ..ColumnPanel::new(
        Panel::Scopes,
        ("Scopes", "Histogram and waveform of the picture's luminance"),
        280.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (switches, pass) = (&*pane.switches, &mut *pane.pass);
    let view = pass.view;
    // The height of the panel's contents in points.
    let size = vec2(ui.available_width(), 320.0);
    let (room, _) = ui.allocate_exact_size(size, Sense::hover());
    let row = |top: f32, height: f32| {
        Rect::from_min_size(pos2(room.left(), room.top() + top), vec2(room.width(), height))
    };
    let mut buttons = ui.new_child(UiBuilder::new().id_salt("switches").max_rect(row(0.0, theme::CONTROL)));
    buttons.horizontal(|ui| {
        let heat = "Draw the mean luminance of each block of 16×16 pixels over the picture (H)";
        let levels = "Stretch each frame's luminance to the full range, by its histogram (a)";
        for (name, hover, action, is_on) in [
            ("Heat map", heat, Action::ToggleHeat, switches.heat),
            ("Auto-levels", levels, Action::ToggleLevels, switches.levels),
        ] {
            ui.add(panel::choice_button(name, is_on)).explain(hover).on_click(action, &mut pass.actions);
        }
    });
    let Some(readings) = view.readings else {
        let on_device = view.shown.is_none_or(|shown| !shown.variant.back_end().does_without_opencl());
        let why = match view.readings_error {
            Some(error) => format!("{} {}", error.what, error.why),
            None if view.device.is_some() && on_device => "Compiling the kernels of the scopes.".to_owned(),
            None => "Waiting for the first measurement.".to_owned(),
        };
        describe::number(ui, room, "Luminance", &why);
        let galley = ui.painter().layout(why, theme::words(12.5), theme::WEAK, room.width());
        ui.painter().galley(row(theme::CONTROL + 12.0, 0.0).min, galley, theme::WEAK);
        return;
    };
    let top = theme::CONTROL + 6.0;
    draw_histogram(ui, row(top, HISTOGRAM_HEIGHT), readings, switches.levels);
    draw_waveform(ui, row(top + HISTOGRAM_HEIGHT + 6.0, WAVEFORM_HEIGHT), readings);
    let numbers =
        format!("minimum {}   mean {}   maximum {}", readings.minimum, readings.mean, readings.maximum);
    let mut at = row(top + HISTOGRAM_HEIGHT + WAVEFORM_HEIGHT + 12.0, LINE_HEIGHT).left_center();
    let place = row(top, HISTOGRAM_HEIGHT + WAVEFORM_HEIGHT + 6.0);
    describe::painted(ui, place, Role::Image, "Histogram and waveform", &numbers);
    let mut line = |name: &str, text: String, color: Color32| {
        let place = (at, Align2::LEFT_CENTER, f32::INFINITY);
        describe::text(ui, name, place, &text, (12.5, color));
        at.y += LINE_HEIGHT;
    };
    line("Luminance", numbers, theme::TEXT);
    let (low, high) = readings.ends();
    let (name, color) = match switches.levels {
        true => ("auto-levels", theme::SELECT),
        false => ("auto-levels (off)", theme::WEAK),
    };
    line("Auto-levels", format!("{name}: {low} to {high}"), color);
    let source = match view.wipe {
        None => "measured at the filter's output",
        Some(Wipe { difference: None, .. }) => "measured at the output of the left filter",
        Some(_) => "left filter; no heat map over the difference map",
    };
    line("Source", source.to_owned(), theme::WEAK);
}

/// Returns the brightness, from 0 to 1, with which the histogram and the waveform show `count` pixels if the highest count is
/// `max`: the square root of the ratio, so that rare values are visible.
fn strength(count: u32, max: u32) -> f32 {
    (count as f32 / max.max(1) as f32).sqrt().min(1.0)
}

/// Draws the histogram of the luminance and the ends of its range, which are highlighted if `levels` is true (auto-levels is
/// on).
fn draw_histogram(ui: &Ui, rect: Rect, readings: &Readings, levels: bool) {
    theme::draw_ground(ui.painter(), rect, theme::TROUGH);
    let most = readings.histogram.iter().copied().max().unwrap_or(0);
    let step = rect.width() / readings.histogram.len().max(1) as f32;
    let mut mesh = Mesh::default();
    for (luminance, count) in readings.histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
        let left = rect.left() + luminance as f32 * step;
        let top = rect.bottom() - (strength(*count, most) * rect.height()).max(1.0);
        let bar = Rect::from_min_max(pos2(left, top), pos2(left + step, rect.bottom()));
        mesh.add_colored_rect(bar, theme::TEXT);
    }
    ui.painter().add(Shape::mesh(mesh));
    let (low, high) = readings.ends();
    let color = if levels { theme::SELECT } else { theme::WEAK };
    for end in [low as f32, high as f32 + 1.0] {
        ui.painter().vline(rect.left() + end * step, rect.y_range(), Stroke::new(1.0, color));
    }
}

/// Draws the waveform: the distribution of the luminance in each column of the picture.
fn draw_waveform(ui: &Ui, rect: Rect, readings: &Readings) {
    theme::draw_ground(ui.painter(), rect, theme::TROUGH);
    let (width, height) = readings.size;
    let strip = (width as usize).div_ceil(STRIPS) as u32 * height;
    // Full brightness where a tenth of a strip's pixels have one level.
    let color = |count: u32| match count {
        0 => Color32::TRANSPARENT,
        _ => theme::GOOD.gamma_multiply(0.2 + 0.8 * strength(count, strip / 10)),
    };
    let level = |strip: usize, row: usize| readings.waveform.get(strip * LEVELS + LEVELS - 1 - row).copied();
    let pixels = (0..LEVELS).flat_map(|row| (0..STRIPS).map(move |strip| (strip, row)));
    let pixels = pixels.map(|(strip, row)| level(strip, row).map_or(Color32::TRANSPARENT, color)).collect();
    let texture = texture(ui, "waveform", ColorImage::new([STRIPS, LEVELS], pixels), TextureOptions::LINEAR);
    let whole = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
    ui.painter().image(texture.id(), rect, whole, Color32::WHITE);
}

/// Returns the texture with this name after setting its content to `image`; creates it if needed.
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

/// The colours of the heat map from dark to bright.
const HEAT_COLORS: [[f32; 3]; 5] = [
    [24.0, 20.0, 90.0],
    [40.0, 110.0, 200.0],
    [60.0, 190.0, 120.0],
    [240.0, 200.0, 60.0],
    [235.0, 70.0, 50.0],
];

/// Returns the colour of a luminance in the heat map, partly transparent.
fn heat_color(luminance: u32) -> Color32 {
    let at = luminance.min(255) as f32 / 255.0 * (HEAT_COLORS.len() - 1) as f32;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    let (below, above) = (HEAT_COLORS[below], HEAT_COLORS[above]);
    let [red, green, blue] = [0, 1, 2].map(|n| (below[n] + (above[n] - below[n]) * at.fract()) as u8);
    Color32::from_rgba_unmultiplied(red, green, blue, 170)
}

/// Returns the corner of the stored picture that is at a corner of the picture on the screen. Coordinates are 0 or 1, across
/// and down.
fn stored_corner([x, y]: [f32; 2], orientation: Orientation) -> [f32; 2] {
    let x = if orientation.flip_x { 1.0 - x } else { x };
    let y = if orientation.flip_y { 1.0 - y } else { y };
    if orientation.swapped { [y, x] } else { [x, y] }
}

/// Draws the heat map over the picture, within the painter's clip rectangle: a coloured square for the mean luminance of each
/// block.
pub(super) fn draw_heat_map(painter: &Painter, ui: &Ui, readings: &Readings, placed: &PicturePlace) {
    let [across, down] = readings.across_and_down();
    if readings.blocks.len() != across * down {
        return;
    }
    let pixels = readings.blocks.iter().map(|mean| heat_color(*mean)).collect();
    let texture = texture(ui, "heat", ColorImage::new([across, down], pixels), TextureOptions::NEAREST);
    let at = placed.rect(ui);
    // The last blocks may reach beyond the picture.
    let used = [readings.size.0 as f32 / (16 * across) as f32, readings.size.1 as f32 / (16 * down) as f32];
    let mut mesh = Mesh::with_texture(texture.id());
    for corner in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
        let [u, v] = stored_corner(corner, placed.orientation);
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
    fn the_heat_map_is_turned_as_the_picture_is_and_hotter_is_redder() {
        // Compare with the left pixels of the same picture of two by one pixels, turned by `Orientation::turn`.
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
                assert_eq!(stored_corner(corner, orientation)[0], f32::from(pixel[0] - 1), "{orientation:?}");
            }
        }

        let [cold, hot] = [heat_color(0), heat_color(255)];
        assert!(cold.b() > cold.r() && hot.r() > hot.b() && heat_color(1000) == hot);
    }
}
