//! Colours, sizes and number formats of the overlay.

use std::sync::LazyLock;

use egui::{
    Align2, Color32, CornerRadius, FontFamily, FontId, Margin, Pos2, Rect, Stroke, TextStyle, Theme, vec2,
};

pub(crate) use base::numbers::thousands;
use base::timing::{Noise, noise};
use stats::Stage;

/// The background of panels: nearly opaque, so that text can be read over a white picture as well as over a black one.
pub(crate) const PANEL: Color32 = Color32::from_rgba_premultiplied(14, 16, 19, 234);
/// The colour of the edge of panels.
pub(crate) const PANEL_EDGE: Color32 = Color32::from_rgba_premultiplied(36, 38, 42, 160);
/// The colour of emphasized text.
pub const STRONG: Color32 = Color32::from_rgb(240, 243, 246);
/// The colour of normal text.
pub const TEXT: Color32 = Color32::from_rgb(205, 211, 218);
/// The colour of secondary text.
pub const WEAK: Color32 = Color32::from_rgb(143, 151, 162);
/// The colour of lines between parts of a panel, and of the graph's grid.
pub(crate) const RULE: Color32 = Color32::from_rgb(60, 66, 75);
/// The colour of the filter's time, bars and line; used for nothing else.
pub const FILTER: Color32 = Color32::from_rgb(245, 166, 35);
/// The colour of filter times that do not belong to the picture on the screen.
pub(crate) const FILTER_DIM: Color32 = Color32::from_rgb(142, 110, 56);
/// The colour of selected items, links, and the position in the movie.
pub const SELECT: Color32 = Color32::from_rgb(108, 182, 255);
/// The background of selected items.
pub(crate) const SELECTION_BACKGROUND: Color32 = Color32::from_rgb(28, 66, 118);
/// The colour of late frames, of times over the budget (the time that a frame may take), and of other warnings.
pub(crate) const WARN: Color32 = Color32::from_rgb(247, 138, 160);
/// The colour of errors.
pub(crate) const ERROR: Color32 = Color32::from_rgb(240, 84, 84);
/// The colour of correct results and other good news.
pub(crate) const GOOD: Color32 = Color32::from_rgb(70, 190, 150);
/// The colours of selected text and of the background behind it.
pub(crate) const SELECTED_TEXT_COLORS: (Color32, Color32) = (STRONG, SELECTION_BACKGROUND);
/// The colour of the background of bars and rails.
pub const TROUGH: Color32 = Color32::from_rgb(40, 45, 53);
/// The colour of a frame's idle time.
pub(crate) const IDLE: Color32 = Color32::from_rgb(54, 61, 70);

/// The colours of the lines of charts.
pub(crate) const LINES: [Color32; 6] = [
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(240, 228, 66),
    Color32::from_rgb(230, 120, 180),
    Color32::from_rgb(0, 185, 130),
    Color32::from_rgb(235, 100, 60),
    Color32::from_rgb(225, 228, 232),
];

/// Distance in points of the panels from the window's edge and from each other.
pub(crate) const GAP: f32 = 8.0;
/// Space in points between a panel's edge and its contents.
pub(crate) const PAD: f32 = 10.0;
/// Height in points of a row of buttons.
pub(crate) const CONTROL: f32 = 24.0;

/// Returns the colour of a stage (a timed part of a frame's way to the screen) in bars, graphs and legends. Text on it is black.
/// All stages have different colours; the filter has [`FILTER`].
pub(crate) fn stage_color(stage: Stage) -> Color32 {
    let (red, green, blue) = match stage {
        Stage::Take => (240, 240, 200),
        Stage::Upload => (86, 180, 233),
        Stage::Acquire => (255, 225, 240),
        Stage::Convert => (0, 170, 125),
        Stage::Correct => (150, 225, 190),
        Stage::Filter => return FILTER,
        Stage::Stack => (170, 90, 220),
        Stage::Reduce => (0, 150, 160),
        Stage::Levels => (120, 200, 220),
        Stage::Release => (214, 120, 175),
        Stage::Wipe => (190, 140, 100),
        Stage::Difference => (215, 90, 130),
        Stage::Present => (100, 135, 245),
        Stage::Overlay => (196, 200, 212),
        Stage::Swap => (104, 112, 104),
        Stage::Collect => (180, 160, 255),
    };
    Color32::from_rgb(red, green, blue)
}

/// The stages in the order in which bars stack them, from the base up: the filter first, the others in order of time.
pub(crate) static STACK: LazyLock<[Stage; Stage::ALL.len()]> = LazyLock::new(|| {
    let mut stages = Stage::ALL;
    stages.sort_by_key(|stage| *stage != Stage::Filter);
    stages
});

/// Returns the font for figures, with this size in points. It is monospaced, so that figures align in columns.
pub fn figures(size: f32) -> FontId {
    FontId::new(size, FontFamily::Monospace)
}

/// Returns the font for words, with this size in points. It is proportional.
pub fn words(size: f32) -> FontId {
    FontId::new(size, FontFamily::Proportional)
}

/// The text that stands for an unknown number.
pub const UNKNOWN: &str = "\u{2013}";

/// The mark in front of a noisy number.
pub(crate) const NOISY: &str = "~";

/// Formats milliseconds for a column of a table: with two decimals below 1,000 ms, and none above.
pub(crate) fn ms(value: f64) -> String {
    match value {
        v if !v.is_finite() => UNKNOWN.into(),
        v if v < 999.995 => format!("{v:.2}"),
        v => thousands(v),
    }
}

/// Formats a round number at the mark of an axis, with no more digits than it has, of which at most `decimals` are decimals.
pub(crate) fn tick(value: f64, decimals: i32) -> String {
    let scale = 10f64.powi(decimals);
    if value >= 1000.0 { thousands(value) } else { ((value * scale).round() / scale).to_string() }
}

/// Formats a single time in milliseconds: with three digits from 1 ms to 100 ms, in whole milliseconds above, and with two
/// digits below 1 ms, of which the last is at least 0.1 µs.
pub fn short_ms(value: f64) -> String {
    match value {
        v if !v.is_finite() => UNKNOWN.into(),
        0.0 => "0".into(),
        v if v < 0.00995 => format!("{v:.4}"),
        v if v < 0.0995 => format!("{v:.3}"),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => thousands(v),
    }
}

/// Formats the frames per second that correspond to a frame time in milliseconds, in at most three digits.
pub(crate) fn fps(ms: f64, noise: Option<Noise>) -> String {
    match 1000.0 / ms {
        f if !f.is_finite() || f <= 0.0 => UNKNOWN.into(),
        f => format!("{} fps", with_noise(f, noise, short_number)),
    }
}

/// Formats a number by `format`. If `noise` is given, rounds the number to its significant digits, with the mark [`NOISY`] in
/// front, and with no more decimal places than `format` gives it.
pub(crate) fn with_noise(value: f64, noise: Option<Noise>, format: fn(f64) -> String) -> String {
    let quiet = format(value);
    let Some(noise) = noise.filter(|_| value.is_finite() && value > 0.0) else { return quiet };
    let places = quiet.rsplit_once('.').map_or(0, |(_, places)| places.len());
    match noise::round_significant(value, noise.digits) {
        (_, decimals) if decimals > places => format!("{NOISY}{quiet}"),
        (value, 0) => format!("{NOISY}{}", thousands(value)),
        (value, decimals) => format!("{NOISY}{value:.decimals$}"),
    }
}

/// Formats a number in two or three digits without trailing zeros: "25", "24.7", "2,700".
pub(crate) fn short_number(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        v if v < 999.5 => return format!("{v:.0}"),
        v => {
            let unit = 10f64.powf(v.log10().floor() - 1.0);
            return thousands((v / unit).round() * unit);
        }
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a position in the movie in seconds: "1:02.5", "1:02:05.4".
pub(crate) fn clock(seconds: f64) -> String {
    let tenths = (seconds.max(0.0) * 10.0).round() as u64;
    let (s, tenth) = (tenths / 10, tenths % 10);
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, m, s) => format!("{m}:{s:02}.{tenth}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}.{tenth}"),
    }
}

/// Sets the fonts, colours and spacing of `ctx`; call it once per context. Switches animations off, so that an idle overlay
/// requests no repaint.
pub fn apply(ctx: &egui::Context) {
    let mut fonts = egui::FontDefinitions::default();
    // The face for words has no arrows, the one for figures has.
    if let Some(words) = fonts.families.get_mut(&FontFamily::Proportional) {
        words.push("Hack".to_owned());
    }
    ctx.set_fonts(fonts);
    ctx.set_theme(Theme::Dark);
    // A click may take any time: a slow picture can delay the pass that sees the release.
    ctx.options_mut(|options| {
        options.input_options.max_click_duration = f64::INFINITY;
        // As on desktops: two clicks take four passes, which a slow picture prolongs.
        options.input_options.max_double_click_delay = 0.5;
    });
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
        (visuals.popup_shadow, visuals.window_shadow) = (egui::Shadow::NONE, egui::Shadow::NONE);
        visuals.weak_text_color = Some(WEAK);
        visuals.selection.bg_fill = SELECT;
        visuals.selection.stroke = Stroke::new(1.0, SELECT);
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

/// Lays text out in one line, cut with an ellipsis at `width` points.
pub(crate) fn elided(
    ui: &egui::Ui,
    text: &str,
    (font, color): (FontId, Color32),
    width: f32,
) -> std::sync::Arc<egui::Galley> {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, color);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width.max(0.0));
    ui.painter().layout_job(job)
}

/// Draws words with a font of `size` points in one line, cut with an ellipsis at `width` points. `at` is the position of the point
/// `anchor` of the text. Returns the text's rectangle.
pub(crate) fn elided_text(
    ui: &egui::Ui,
    (at, anchor, width): (Pos2, Align2, f32),
    text: &str,
    (size, color): (f32, Color32),
) -> Rect {
    let galley = elided(ui, text, (words(size), color), width);
    let rect = anchor.anchor_size(at, galley.size());
    ui.painter().galley(rect.min, galley, color);
    rect
}

/// Adds methods that draw text. `at` is the position of the point `anchor` of the text, `size` the font's size in points. They
/// return the text's rectangle.
pub(crate) trait PaintText {
    /// Draws words, in the font of [`words`].
    fn words(&self, at: Pos2, anchor: Align2, text: impl ToString, size: f32, color: Color32) -> Rect;
    /// Draws figures, in the font of [`figures`].
    fn figures(&self, at: Pos2, anchor: Align2, text: impl ToString, size: f32, color: Color32) -> Rect;
}

impl PaintText for egui::Ui {
    fn words(&self, at: Pos2, anchor: Align2, text: impl ToString, size: f32, color: Color32) -> Rect {
        self.painter().text(at, anchor, text, words(size), color)
    }

    fn figures(&self, at: Pos2, anchor: Align2, text: impl ToString, size: f32, color: Color32) -> Rect {
        self.painter().text(at, anchor, text, figures(size), color)
    }
}

/// Draws the background of a panel with this colour, and the panel's edge.
pub(crate) fn draw_ground(painter: &egui::Painter, rect: Rect, fill: Color32) {
    painter.rect(rect, 6, fill, Stroke::new(1.0, PANEL_EDGE), egui::StrokeKind::Inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::timing::Series;

    #[test]
    fn numbers_have_the_digits_of_their_place() {
        let formatted = [0.0, 999.99, 999.996, 12_345.6, f64::NAN].map(ms);
        assert_eq!(formatted, ["0.00", "999.99", "1,000", "12,346", UNKNOWN]);

        let formatted =
            [0.0, 0.0065, 0.0123, 0.37, 3.3, 14.8, 99.96, 105.4, 14_896.0, f64::INFINITY].map(short_ms);
        let wanted = ["0", "0.0065", "0.012", "0.37", "3.30", "14.8", "100", "105", "14,896", "\u{2013}"];
        assert_eq!(formatted, wanted);
        let formatted = [40.0, 40.5, 2000.0, 0.37, 9.5, 1e-4, 0.0, f64::NAN].map(|ms| fps(ms, None));
        let wanted = "25 fps; 24.7 fps; 0.5 fps; 2,700 fps; 105 fps; 10,000,000 fps; \u{2013}; \u{2013}";
        assert_eq!(formatted.join("; "), wanted);
        let formatted = [1.04, 12.0, 999.4, 999.6, 2283.7].map(short_number);
        assert_eq!(formatted, ["1.04", "12", "999", "1,000", "2,300"]);
        assert_eq!([0.0, 999.0, 1000.0, 1_234_567.0].map(thousands), ["0", "999", "1,000", "1,234,567"]);

        let formatted = [0.0, 0.25, 12.5, 2500.0, 20_000.0].map(|ms| tick(ms, 2));
        assert_eq!(formatted, ["0", "0.25", "12.5", "2,500", "20,000"]);
        assert_eq!([tick(1e-5, 5), tick(0.3, 3)], ["0.00001", "0.3"]);

        assert_eq!([59.96, 3725.4, -1.0].map(clock), ["1:00.0", "1:02:05.4", "0:00.0"]);
    }

    #[test]
    fn noisy_numbers_have_a_mark_and_the_digits_that_can_be_believed() {
        // The interval of the median allows three digits, and a few slow frames make it noisy.
        let noise = Noise::from_percentiles((0.367, 0.9), (0.3665, 0.3675), 100, None);
        assert_eq!(noise.map(|noise| noise.digits), Some(3));
        assert_eq!([None, noise].map(|noise| with_noise(0.367, noise, short_ms)), ["0.37", "~0.37"]);
        assert_eq!([None, noise].map(|noise| with_noise(8.414, noise, ms)), ["8.41", "~8.41"]);
        let one = Noise::from_percentiles((0.367, 0.9), (0.2, 0.5), 100, None);
        assert_eq!(with_noise(0.367, one, short_ms), "~0.4", "fewer where the interval is wide");
        assert_eq!(with_noise(2345.0, noise, short_ms), "~2,350");

        let noise = |samples: &[f64]| Noise::of(&Series::of(samples).unwrap(), None);
        let (few, far) = (noise(&[1.0; 3]), noise(&[1.0, 1.0, 1.0, 1.0, 3.0]));
        let formatted = |value, noise| with_noise(value, noise, short_ms);
        assert_eq!(formatted(0.367, None), "0.37");
        let times = [0.367, 14.83, 845.2, 14_896.0, 9.96].map(|v| formatted(v, few));
        assert_eq!(times, ["~0.37", "~15", "~850", "~15,000", "~10"]);
        let times = [0.367, 14.83, 845.2, 0.0065].map(|v| formatted(v, far));
        assert_eq!(times, ["~0.4", "~10", "~800", "~0.007"]);
        assert_eq!([formatted(0.0, few), formatted(f64::NAN, far)], ["0", UNKNOWN]);
        assert_eq!([fps(0.367, few), fps(0.367, far)], ["~2,700 fps", "~3,000 fps"]);
    }

    /// Returns the linear intensity of an sRGB value.
    fn linear(value: u8) -> f64 {
        match f64::from(value) / 255.0 {
            v if v <= 0.04045 => v / 12.92,
            v => ((v + 0.055) / 1.055).powf(2.4),
        }
    }

    /// Returns a colour as a deuteranope sees it, in CIE L*a*b*: the matrix of Machado, Oliveira and Fernandes ("A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009) on linear RGB.
    fn deuteranope_lab(color: Color32) -> [f64; 3] {
        let [r, g, b] = [color.r(), color.g(), color.b()].map(linear);
        let sum = |[x, y, z]: [f64; 3], [r, g, b]: [f64; 3]| x * r + y * g + z * b;
        let deuteranope = [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ];
        let rgb = deuteranope.map(|row| sum(row, [r, g, b]).clamp(0.0, 1.0));
        let xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let [x, y, z] = [0, 1, 2].map(|n| match sum(xyz[n], rgb) / [0.95047, 1.0, 1.08883][n] {
            t if t > 0.008856 => t.cbrt(),
            t => 7.787 * t + 16.0 / 116.0,
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn apart(a: Color32, b: Color32) -> f64 {
        let (a, b) = (deuteranope_lab(a), deuteranope_lab(b));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn colours_differ_for_a_deuteranope_and_selected_text_can_be_read() {
        let mut colors = STACK.map(stage_color).to_vec();
        colors.push(IDLE);
        for pair in colors.windows(2) {
            assert!(apart(pair[0], pair[1]) > 11.0, "{pair:?} look alike: {:.1}", apart(pair[0], pair[1]));
        }

        let rare = ["acquire", "correct", "stack", "reduce", "levels", "wipe", "difference", "collect"];
        let usual: Vec<_> = Stage::ALL.into_iter().filter(|stage| !rare.contains(&stage.name())).collect();
        for (n, one) in usual.iter().enumerate() {
            for other in &usual[..n] {
                let distance = apart(stage_color(*one), stage_color(*other));
                assert!(distance > 11.0, "{one:?} and {other:?} look alike: {distance:.1}");
            }
        }

        for (n, line) in LINES.iter().enumerate() {
            let distance =
                LINES[..n].iter().map(|other| apart(*line, *other)).fold(apart(*line, PANEL), f64::min);
            assert!(distance > 20.0, "{line:?} looks like another line or the background: {distance:.1}");
        }

        let others = [SELECT, SELECTION_BACKGROUND, WARN, ERROR, GOOD, STRONG, TEXT, WEAK, IDLE, TROUGH];
        let stages = STACK[1..].iter().map(|s| stage_color(*s));
        for color in others.into_iter().chain(stages) {
            assert!(apart(color, FILTER) > 30.0, "{color:?} looks like it: {:.1}", apart(color, FILTER));
        }
        // Warnings and selected items have different colours.
        assert!(apart(WARN, SELECT) > 30.0);

        assert_eq!(STACK[0], Stage::Filter);
        assert!(Stage::ALL.iter().all(|stage| STACK.iter().filter(|s| *s == stage).count() == 1));

        // The contrast ratio of the Web Content Accessibility Guidelines 2.1, 1.4.3: 4.5 at least.
        let light = |color: Color32| {
            0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b()) + 0.05
        };
        let ratio = light(SELECTED_TEXT_COLORS.0) / light(SELECTED_TEXT_COLORS.1);
        assert!(ratio > 4.5, "{ratio:.1}");
    }
}
