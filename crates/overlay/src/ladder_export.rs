//! The ladder as files: a table as CSV, and a chart for slides as SVG and PNG. Both charts have the same marks. The SVG has
//! neither a style sheet nor classes, which ImageMagick ignores, and says `stroke="none"`, without which ImageMagick 6 draws
//! black edges.

use std::fmt::Write as _;

use base::device::DeviceInfo;
use base::error::{Error, Result};
use box_filter::{Settings, VariantId};
use egui::epaint::TextOptions;
use egui::epaint::text::Fonts;
use egui::{Color32, FontDefinitions, Pos2, Rect, pos2, vec2};
use stats::{Recorder, Score, settings_csv};

use crate::Kernels;
use crate::facts::{variants_of_filter, with_version};
use crate::ladder_column::LadderColumn;
use crate::scoreboard::{Scale, score_text};
use crate::theme;

/// The width of the chart in pixels.
const WIDTH: f32 = 1600.0;
/// The margin of the chart on all sides.
const MARGIN: f32 = 48.0;
/// The left and the right end of the bars.
const BARS: (f32, f32) = (310.0, 1060.0);
/// The right edge of the column of times; the factors end at the right margin.
const TIMES_RIGHT: f32 = 1310.0;
/// The height of a row.
const ROW_HEIGHT: f32 = 50.0;
/// The size of the title.
const TITLE: f32 = 40.0;
/// The size of the text in rows.
const TEXT: f32 = 30.0;
/// The size of a variant's name with the version of its edited kernels, which is longer.
const EDITED: f32 = 22.0;
/// The size of notes and of the names of devices.
const NOTE: f32 = 24.0;
/// The colours of the text and of the notes, on white.
const INKS: [Color32; 2] = [Color32::from_rgb(31, 35, 40), Color32::from_rgb(89, 99, 110)];
/// The colours of the bars of the first column and of the others.
const BAR_COLORS: [Color32; 2] = [theme::FILTER, Color32::from_rgb(122, 162, 210)];

/// The ladder of a filter with one set of settings and one size, with a column for each device and for the saved run.
pub struct LadderExport {
    title: String,
    /// A variant of the filter.
    variant: VariantId,
    at: (Settings, (u32, u32)),
    columns: Vec<LadderColumn>,
    /// The number of columns of this session, which come first; the others are those of the saved run.
    live: usize,
    /// The variants that run edited kernels, with the numbers of their versions.
    edited: Vec<(VariantId, u64)>,
}

/// A part of the chart.
enum Mark {
    Bar(Rect, Color32),
    /// A line of text, its size and its colour; `at` is the middle of its left end, or of its right end if `ends` is true.
    Text {
        at: Pos2,
        ends: bool,
        text: String,
        size: f32,
        color: Color32,
    },
}

impl LadderExport {
    /// Creates the export of the ladder of the filter of a variant, with these settings and a picture's size: the scores of the device in use and of those that were
    /// used before, with the versions of edited kernels, and the columns of the saved run.
    ///
    /// # Errors
    /// If nothing was measured with these settings and this size.
    pub fn new(
        recorder: &Recorder,
        device: Option<&DeviceInfo>,
        (saved, kernels): (&[LadderColumn], &Kernels),
        (variant, settings, size): (VariantId, Settings, (u32, u32)),
    ) -> Result<Self> {
        let now = LadderColumn::of_scores(device, |id| recorder.shown.scores.of(id));
        let is_measured =
            |column: &LadderColumn| column.scores.iter().any(|(_, score)| score.is_at(settings, size));
        let mut columns: Vec<_> = [now].into_iter().chain(LadderColumn::of_other_devices(recorder)).collect();
        columns.retain(is_measured);
        let live = columns.len();
        columns.extend(saved.iter().filter(|column| is_measured(column)).cloned());
        if columns.is_empty() {
            let why = match variant.opened() {
                None => format!("No variant was measured at radius {} and this size.", settings.first()),
                Some(_) => {
                    format!("No variant was measured at {} and this size.", variant.settings_text(settings))
                }
            };
            let hint = "Let the movie play with some variants, such as keys 1 to 5.";
            return Err(Error::new("The ladder could not be exported.", why, hint));
        }
        let text = match variant.opened() {
            None => format!("radius {}", settings.first()),
            Some(_) => variant.settings_text(settings),
        };
        let (name, (width, height)) = (&variant.filter().description.name, size);
        let parts = [name.clone(), text, format!("{width} \u{d7} {height}")];
        let title = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ");
        let at = (settings, size);
        Ok(Self { title, variant, at, columns, live, edited: kernels.edited.clone() })
    }

    /// Returns the version of edited kernels that a variant runs in the column with this index; `None` for built-in kernels.
    fn version(&self, column: usize, id: VariantId) -> Option<u64> {
        let edited = self.edited.iter().find(|(edited, _)| *edited == id && column < self.live);
        edited.map(|(_, version)| *version)
    }

    /// Returns the measured variants of a column, in the order of the ladder.
    fn rows<'c>(&self, column: &'c LadderColumn) -> impl Iterator<Item = (VariantId, &'c Score)> {
        let at = self.at;
        let own = self.variant.opened().is_none().then_some(VariantId::own());
        let mut ids = variants_of_filter(self.variant);
        ids.extend(own);
        ids.sort_by_key(|id| id.group as usize);
        ids.into_iter().filter_map(move |id| Some((id, column.score(id, at)?)))
    }

    /// Returns the table as CSV: a line for each variant and column. Times are in milliseconds; `low_ms` and `high_ms` are the
    /// interval of the median; `edited_version` is empty for built-in kernels. For the filter of a folder, `radius` is empty, and the
    /// last column has its settings.
    pub fn csv(&self) -> String {
        let (settings, (width, height)) = self.at;
        let (radius, last, text) = match self.variant.opened() {
            None => (settings.first().to_string(), "", String::new()),
            Some(_) => (String::new(), ",settings", format!(",{}", settings_csv(self.variant, settings))),
        };
        let columns = "variant,ms,low_ms,high_ms,factor,frames,radius,width,height,device,edited_version";
        let mut csv = format!("{columns}{last}\n");
        for (n, column) in self.columns.iter().enumerate() {
            let device = column.about.replace('"', "\"\"");
            for (id, score) in self.rows(column) {
                let Score { ms, interval: (low, high), n: frames, .. } = score;
                let version = self.version(n, id).map_or_else(String::new, |version| version.to_string());
                let factor = column.factor(id, self.at).map(|(factor, ..)| format!("{factor:.3}"));
                let factor = factor.unwrap_or_default();
                // Writing to a text cannot fail.
                let _ = writeln!(
                    csv,
                    "{id},{ms},{low},{high},{factor},{frames},{radius},{width},{height},\"{device}\",{version}{text}"
                );
            }
        }
        csv
    }

    /// Returns the marks of the chart, and its height.
    fn marks(&self) -> (Vec<Mark>, f32) {
        let [ink, weak] = INKS;
        let mut marks = Vec::new();
        let mut text = |x: f32, y: f32, ends: bool, text: String, size: f32, color: Color32| {
            marks.push(Mark::Text { at: pos2(x, y), ends, text, size, color });
        };
        let mut bars = Vec::new();
        let times: Vec<_> = self.columns.iter().flat_map(|column| self.rows(column)).collect();
        // A single bar would compare nothing.
        let compared = times.iter().filter(|_| times.len() > 1);
        let scale =
            Scale::for_times(compared.flat_map(|(_, score)| [score.ms, score.interval.0, score.interval.1]));
        let x = |ms: f64| BARS.0 + (BARS.1 - BARS.0) * scale.bar_length(ms);
        let mut y = MARGIN + TITLE / 2.0;
        text(MARGIN, y, false, self.title.clone(), TITLE, ink);
        y += TITLE;
        let mut has_factors = false;
        for (n, column) in self.columns.iter().enumerate() {
            y += ROW_HEIGHT / 2.0;
            text(MARGIN, y, false, shortened(&column.about), NOTE, weak);
            for (id, score) in self.rows(column) {
                y += ROW_HEIGHT;
                let version = self.version(n, id);
                let size = if version.is_some() { EDITED } else { TEXT };
                text(MARGIN, y, false, with_version(id.to_string(), version), size, ink);
                text(TIMES_RIGHT, y, true, score_text(score), TEXT, ink);
                if let Some((_, factor, _)) = column.factor(id, self.at) {
                    text(WIDTH - MARGIN, y, true, factor, TEXT, ink);
                    has_factors = true;
                }
                let bar = Rect::from_min_max(pos2(BARS.0, y - 14.0), pos2(x(score.ms), y + 14.0));
                bars.push(Mark::Bar(bar, BAR_COLORS[n.min(1)]));
                let (low, high) = score.interval;
                let interval =
                    Rect::from_min_max(pos2(x(low), y - 2.0), pos2(x(high).max(x(low) + 3.0), y + 2.0));
                bars.push(Mark::Bar(interval, ink));
            }
            y += ROW_HEIGHT;
        }
        let factors =
            if has_factors { "; \u{d7}: times as fast as the first kernel of its column" } else { "" };
        let note = format!("Median filter time with its interval, on a logarithmic scale{factors}");
        text(MARGIN, y, false, note, NOTE, weak);
        (bars.into_iter().chain(marks).collect(), (y + NOTE / 2.0 + MARGIN).ceil())
    }

    /// Returns the chart as SVG.
    pub fn svg(&self) -> String {
        let (marks, height) = self.marks();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\">\n<title>{}</title>\n\
             <rect x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\" stroke=\"none\"/>\n",
            markup(&self.title)
        );
        let hex = |color: Color32| format!("#{:02x}{:02x}{:02x}", color.r(), color.g(), color.b());
        for mark in marks {
            // Writing to a text cannot fail.
            let _ = match mark {
                Mark::Bar(rect, color) => writeln!(
                    svg,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" stroke=\"none\"/>",
                    rect.left(),
                    rect.top(),
                    rect.width(),
                    rect.height(),
                    hex(color)
                ),
                // Renderers differ in `dominant-baseline`: the baseline is a third of the size below the middle.
                Mark::Text { at, ends, text, size, color } => writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-family=\"sans-serif\" font-size=\"{size}\" \
                     text-anchor=\"{}\" fill=\"{}\" stroke=\"none\">{}</text>",
                    at.x,
                    at.y + 0.35 * size,
                    if ends { "end" } else { "start" },
                    hex(color),
                    markup(&text)
                ),
            };
        }
        svg + "</svg>\n"
    }

    /// Returns the chart as a picture: its width and height, and its RGBA pixels, top row first.
    pub fn picture(&self) -> (u32, u32, Vec<u8>) {
        let (marks, height) = self.marks();
        let (width, height) = (WIDTH as usize, height as usize);
        let mut rgba = vec![255; 4 * width * height];
        let mut blend = |x: i32, y: i32, color: Color32, part: u8| {
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
            if x >= width || y >= height {
                return;
            }
            let at = 4 * (y * width + x);
            for (channel, ink) in rgba[at..at + 3].iter_mut().zip(color.to_array()) {
                let (old, ink, part) = (u32::from(*channel), u32::from(ink), u32::from(part));
                *channel = ((old * (255 - part) + ink * part + 127) / 255) as u8;
            }
        };
        let mut fonts = Fonts::new(TextOptions::default(), FontDefinitions::default());
        let mut lines = Vec::new();
        for mark in marks {
            match mark {
                Mark::Bar(rect, color) => {
                    let [left, top, right, bottom] = [rect.left(), rect.top(), rect.right(), rect.bottom()]
                        .map(|edge| edge.round() as i32);
                    for y in top..bottom {
                        (left..right).for_each(|x| blend(x, y, color, 255));
                    }
                }
                Mark::Text { at, ends, text, size, color } => {
                    let mut view = fonts.with_pixels_per_point(1.0);
                    let galley = view.layout_no_wrap(text, theme::words(size), color);
                    let left = if ends { at.x - galley.size().x } else { at.x };
                    lines.push((pos2(left, at.y - galley.size().y / 2.0).round(), galley, color));
                }
            }
        }
        // The atlas has all glyphs once all texts are laid out.
        let atlas = fonts.image();
        for (at, galley, color) in lines {
            for row in &galley.rows {
                // Each glyph is a rectangle of four vertices, from its upper left to its lower right corner.
                for corners in row.visuals.mesh.vertices.chunks_exact(4) {
                    let (first, last) = (corners[0], corners[3]);
                    let to = at + row.pos.to_vec2() + first.pos.to_vec2();
                    let size = last.uv - first.uv;
                    for (x, y) in (0..size.y as usize).flat_map(|y| (0..size.x as usize).map(move |x| (x, y)))
                    {
                        let texel = [first.uv.x as usize + x, first.uv.y as usize + y];
                        let part = atlas.pixels.get(texel[1] * atlas.width() + texel[0]).map_or(0, |p| p.a());
                        let to = to + vec2(x as f32, y as f32);
                        blend(to.x.round() as i32, to.y.round() as i32, color, part);
                    }
                }
            }
        }
        (width as u32, height as u32, rgba)
    }
}

/// Returns a text cut to a length that fits into a line of notes.
fn shortened(text: &str) -> String {
    // The greatest number of characters in a line of notes.
    let most = 110;
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most).chain(['\u{2026}']).collect()
    }
}

/// Escapes a text for SVG.
fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
