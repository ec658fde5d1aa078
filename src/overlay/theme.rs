//! Colours, sizes and number formats of the overlay.

use egui::{Color32, CornerRadius, FontFamily, FontId, Margin, Stroke, TextStyle, Theme, vec2};

use crate::stats::Stage;

/// Panels: nearly opaque, so that text reads over a white picture as well as over a black one.
pub const PANEL: Color32 = Color32::from_rgba_premultiplied(14, 16, 19, 234);
pub const PANEL_EDGE: Color32 = Color32::from_rgba_premultiplied(36, 38, 42, 160);
/// Text in three weights.
pub const STRONG: Color32 = Color32::from_rgb(240, 243, 246);
pub const TEXT: Color32 = Color32::from_rgb(205, 211, 218);
pub const WEAK: Color32 = Color32::from_rgb(143, 151, 162);
/// Lines between parts of a panel, and of the graph's grid.
pub const RULE: Color32 = Color32::from_rgb(60, 66, 75);
/// What is chosen; also the filter's colour, the one stage that this program is about.
pub const ACCENT: Color32 = Color32::from_rgb(230, 159, 0);
pub const WARN: Color32 = Color32::from_rgb(240, 190, 80);
pub const ERROR: Color32 = Color32::from_rgb(240, 110, 90);
pub const GOOD: Color32 = Color32::from_rgb(70, 190, 150);
/// What the stages leave of a frame's interval.
pub const IDLE: Color32 = Color32::from_rgb(54, 61, 70);

/// Distance of the panels from the window's edge and from each other.
pub const GAP: f32 = 8.0;
/// Space between a panel's edge and its contents.
pub const PAD: f32 = 10.0;
/// Height of a row of buttons.
pub const CONTROL: f32 = 24.0;

/// Colours after Okabe and Ito ("Color Universal Design", 2008), which differ for colour-blind eyes too;
/// greys where their eight do not suffice. Neighbours in the stack differ in lightness.
pub fn stage_color(stage: Stage) -> Color32 {
    match stage {
        Stage::Take => Color32::from_rgb(150, 158, 168),
        Stage::Upload => Color32::from_rgb(0, 114, 178),
        Stage::Acquire => Color32::from_rgb(206, 212, 219),
        Stage::Convert => Color32::from_rgb(0, 158, 115),
        Stage::Correct => Color32::from_rgb(110, 95, 240),
        Stage::Filter => ACCENT,
        Stage::Release => Color32::from_rgb(110, 118, 128),
        Stage::Present => Color32::from_rgb(86, 180, 233),
        // Theirs looks to a deuteranope as the grey of `take` does; a darker purple does not.
        Stage::Overlay => Color32::from_rgb(150, 60, 140),
        Stage::Swap => Color32::from_rgb(213, 94, 0),
        Stage::Collect => Color32::from_rgb(240, 228, 66),
    }
}

/// Figures stand in columns, so they are set in the monospaced face.
pub fn figures(size: f32) -> FontId {
    FontId::new(size, FontFamily::Monospace)
}

/// Words.
pub fn words(size: f32) -> FontId {
    FontId::new(size, FontFamily::Proportional)
}

/// Milliseconds with as many decimals as fit in six or seven characters.
pub fn ms(value: f64) -> String {
    match value {
        v if !v.is_finite() => "-".into(),
        v if v < 999.995 => format!("{v:.2}"),
        v if v < 9_999.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Frames a second that go with a time in milliseconds.
pub fn fps(ms: f64) -> String {
    match 1000.0 / ms {
        f if !f.is_finite() || f <= 0.0 => "-".into(),
        f if f < 9.995 => format!("{f:.2} fps"),
        f if f < 999.95 => format!("{f:.1} fps"),
        _ => "over 1000 fps".into(),
    }
}

/// A position in the movie: minutes and seconds, hours where there are some.
pub fn clock(seconds: f64) -> String {
    let tenths = (seconds.max(0.0) * 10.0).round() as u64;
    let (s, tenth) = (tenths / 10, tenths % 10);
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, m, s) => format!("{m}:{s:02}.{tenth}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}.{tenth}"),
    }
}

/// Sets the whole style. Nothing is animated: an idle overlay asks for no repaint.
pub fn apply(ctx: &egui::Context) {
    ctx.set_theme(Theme::Dark);
    ctx.all_styles_mut(|style| {
        style.animation_time = 0.0;
        style.text_styles = [
            (TextStyle::Small, words(11.0)),
            (TextStyle::Body, words(12.5)),
            (TextStyle::Button, words(12.5)),
            (TextStyle::Heading, words(15.0)),
            (TextStyle::Monospace, figures(11.5)),
        ]
        .into();
        style.interaction.selectable_labels = false;
        style.interaction.show_tooltips_only_when_still = false;
        style.interaction.tooltip_delay = 0.25;
        let spacing = &mut style.spacing;
        spacing.item_spacing = vec2(6.0, 4.0);
        spacing.button_padding = vec2(8.0, 3.0);
        spacing.interact_size = vec2(24.0, CONTROL);
        spacing.tooltip_width = 340.0;
        spacing.slider_rail_height = 4.0;
        spacing.menu_margin = Margin::same(9);
        spacing.scroll = egui::style::ScrollStyle::thin();

        let visuals = &mut style.visuals;
        visuals.window_fill = Color32::from_rgb(22, 25, 30);
        visuals.window_stroke = Stroke::new(1.0, Color32::from_rgb(60, 66, 74));
        visuals.menu_corner_radius = CornerRadius::same(4);
        visuals.popup_shadow = egui::Shadow::NONE;
        visuals.weak_text_color = Some(WEAK);
        visuals.selection.bg_fill = ACCENT;
        visuals.selection.stroke = Stroke::new(1.0, ACCENT);
        visuals.slider_trailing_fill = true;
        visuals.disabled_alpha = 0.45;
        let widgets = &mut visuals.widgets;
        for (widget, fill, text) in [
            (&mut widgets.noninteractive, Color32::from_rgb(30, 34, 40), TEXT),
            (&mut widgets.inactive, Color32::from_rgb(56, 62, 71), TEXT),
            (&mut widgets.hovered, Color32::from_rgb(76, 84, 95), STRONG),
            (&mut widgets.active, Color32::from_rgb(96, 105, 118), STRONG),
            (&mut widgets.open, Color32::from_rgb(56, 62, 71), STRONG),
        ] {
            widget.bg_fill = fill;
            widget.weak_bg_fill = fill;
            widget.bg_stroke = Stroke::NONE;
            widget.fg_stroke = Stroke::new(1.0, text);
            widget.corner_radius = CornerRadius::same(4);
            widget.expansion = 0.0;
        }
    });
}

/// The frame round a panel.
pub fn panel_frame() -> egui::Frame {
    egui::Frame::new().fill(PANEL).stroke(Stroke::new(1.0, PANEL_EDGE)).corner_radius(6)
}

/// The ground of a panel, and its edge.
pub fn ground(painter: &egui::Painter, rect: egui::Rect, fill: Color32) {
    painter.rect(rect, 6, fill, Stroke::new(1.0, PANEL_EDGE), egui::StrokeKind::Inside);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_width() {
        assert_eq!(ms(0.0), "0.00");
        assert_eq!(ms(999.99), "999.99");
        assert_eq!(ms(999.996), "1000.0");
        assert_eq!(ms(12_345.6), "12346");
        assert_eq!(ms(f64::NAN), "-");
        assert_eq!(fps(40.0), "25.0 fps");
        assert_eq!(fps(2000.0), "0.50 fps");
        assert_eq!(fps(0.0), "-");
    }

    #[test]
    fn positions_carry_over() {
        assert_eq!(clock(59.96), "1:00.0");
        assert_eq!(clock(3725.4), "1:02:05.4");
        assert_eq!(clock(-1.0), "0:00.0");
    }

    /// A colour as a deuteranope sees it, in CIE L*a*b*: the matrix of Machado, Oliveira and Fernandes ("A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009) on linear RGB.
    fn seen(color: Color32) -> [f64; 3] {
        let linear = |v: u8| match f64::from(v) / 255.0 {
            v if v <= 0.04045 => v / 12.92,
            v => ((v + 0.055) / 1.055).powf(2.4),
        };
        let [r, g, b] = [color.r(), color.g(), color.b()].map(linear);
        let [r, g, b] = [
            0.367322 * r + 0.860646 * g - 0.227968 * b,
            0.280085 * r + 0.672501 * g + 0.047413 * b,
            -0.011820 * r + 0.042940 * g + 0.968881 * b,
        ]
        .map(|v: f64| v.clamp(0.0, 1.0));
        let [x, y, z] = [
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
        ]
        .map(|t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn stages_differ_for_a_deuteranope() {
        let mut colors: Vec<_> = Stage::ALL.iter().map(|s| (s.name(), seen(stage_color(*s)))).collect();
        colors.push(("idle", seen(IDLE)));
        for (n, (a, lab)) in colors.iter().enumerate() {
            for (b, other) in &colors[n + 1..] {
                let distance = (0..3).map(|i| (lab[i] - other[i]).powi(2)).sum::<f64>().sqrt();
                assert!(distance > 12.0, "{a} and {b} look alike: {distance:.1}");
            }
        }
    }

    #[test]
    fn no_two_stages_share_a_colour() {
        let mut colors: Vec<_> = Stage::ALL.iter().map(|s| stage_color(*s).to_array()).collect();
        colors.sort();
        colors.dedup();
        assert_eq!(colors.len(), Stage::ALL.len());
    }
}
