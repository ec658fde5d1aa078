//! The part of the panel of stages that explains the filter's time: the work of its kernels, rates of memory traffic and
//! operations, their shares of the device's peaks, sentences that measurements support, and a roofline of the variants. An
//! unknown number is shown as "–".

use base::device::KernelRegisters;
use base::timing::{Precision, believed, number};
use compute::work::LaunchWork;
use ladder::roofline::{Anchor, Dot, Mark, Roofline};
use ladder::why::{DevicePeaks, Evidence, Rates, percent, sentences};
use stats::{FilterWork, Stage};

use crate::panel::{line, paragraph};
use crate::prelude::*;
use crate::stages::show_fact;
use crate::{VariantRow, scoreboard};

/// The measured properties of the device in use: its peaks (highest rates), and the registers of the kernels on the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceFacts {
    /// The measured peaks (highest rates) of the device; `None` until they are measured.
    pub peaks: Option<DevicePeaks>,
    /// True if other processes were busy while the peaks were measured.
    pub is_rough: bool,
    /// A sentence that says why the peaks are not measured yet; `None` if there is no reason to show.
    pub waits: Option<String>,
    /// The registers that the kernels on the screen use; empty if the driver does not report them.
    pub registers: Vec<KernelRegisters>,
}

/// The columns of the table of kernels after the name: heading, width in points, and hover text of each.
const COLUMNS: [(&str, f32, &str); 6] = [
    ("ms", 44.0, "Median device time of the kernel"),
    ("reads", 42.0, "Elements read from global memory or images for each pixel, borders and strips included"),
    ("writes", 42.0, "Elements written to global memory or images for each pixel"),
    ("barriers", 46.0, "Barriers of the work-group that a work-item passes at most"),
    ("group size", 64.0, "Work-items of a work-group"),
    (
        "registers",
        50.0,
        "Registers of a work-item, where the driver reports them; a sentence names what does not fit into them",
    ),
];

/// Lays out the explanation of the filter's time.
pub(crate) fn show(ui: &mut Ui, view: &View, numbers: &Numbers) {
    let peaks = view.facts.peaks.unwrap_or_default();
    let work = numbers.work.as_ref();
    let evidence = evidence(view, numbers);
    let rates = evidence.as_ref().and_then(Evidence::rates);
    let precision = evidence.as_ref().map_or(Precision::from(None), |evidence| evidence.precision);
    let least = evidence.as_ref().and_then(|evidence| evidence.work).map(|work| work.least_bytes);
    let memory = memory_text(least, rates, &peaks, precision);
    show_fact(ui, "Memory", (&memory, theme::TEXT), MEMORY);
    show_fact(ui, "Compute", (&compute_text(rates, &peaks, precision), theme::TEXT), COMPUTE);
    let color = if view.facts.peaks.is_some() { theme::TEXT } else { theme::WEAK };
    show_fact(ui, "Peaks", (&peaks_text(view.facts), color), PEAKS);
    if let Some(work) = work {
        ui.spacing_mut().item_spacing.y = 0.0;
        let head = COLUMNS.map(|(name, ..)| name.to_owned());
        show_row(ui, "kernel", head, (theme::WEAK, theme::words(10.5)));
        for (pass, name) in work.config.code().passes.iter().map(|pass| pass.kernel).enumerate() {
            let launch = work.work.as_ref().and_then(|work| Some((work.launches.get(pass)?, work.units)));
            let ms = work.pass_ms.get(pass).copied().filter(|ms| ms.is_finite());
            let registers = view.facts.registers.iter().find(|registers| registers.kernel == name);
            // The prefix that all kernels have would hide how they differ.
            let name = name.strip_prefix("box_").unwrap_or(name);
            let cells = cells(launch, ms, registers, precision);
            show_row(ui, name, cells, (theme::TEXT, theme::figures(10.5)));
        }
        ui.add_space(3.0);
    }
    for sentence in reasons(view, numbers) {
        paragraph(ui, &sentence, theme::STRONG);
    }
    // A dot for each variant that was measured with the settings and size on the screen.
    let dot = |row: &VariantRow| {
        let score = numbers.scores.of(row.id).filter(|score| score.is_at(view.settings, view.size()))?;
        Some((row.id.key, Dot::new(row.id.name, score.work?, score.ms)?))
    };
    let (keys, dots): (Vec<char>, _) = view.variants.iter().filter_map(dot).unzip();
    show_roofline(ui, &Roofline::new(peaks, dots), &keys);
    let is_uncounted = |row: &&VariantRow| {
        let score = numbers.scores.of(row.id).filter(|score| score.is_at(view.settings, view.size()));
        score.is_some() && !keys.contains(&row.id.key)
    };
    let uncounted: Vec<&str> = view.variants.iter().filter(is_uncounted).map(|row| row.id.name).collect();
    if !uncounted.is_empty() && !keys.is_empty() {
        let names = uncounted.join(", ");
        let text = format!("Not in the chart, as their bytes and operations are not counted: {names}.");
        paragraph(ui, &text, theme::WEAK);
    }
}

/// Returns sentences that explain the filter's time by measurements; none if nothing can be said. A sentence that needs a peak
/// is left out without it.
pub(crate) fn reasons(view: &View, numbers: &Numbers) -> Vec<String> {
    let peaks = view.facts.peaks.unwrap_or_default();
    let said = evidence(view, numbers).zip(view.device);
    let said = said.map(|(evidence, device)| sentences(&evidence, &peaks, device)).unwrap_or_default();
    sampler_sentence(view, numbers).into_iter().chain(said).collect()
}

/// Returns a sentence with the times of two neighbours on the ladder that make the same reads, one of them through the image
/// sampler and one from buffers; `None` unless the filter on the screen is one of them, and both were measured.
fn sampler_sentence(view: &View, numbers: &Numbers) -> Option<String> {
    let (shown, kind) = (view.shown?, view.device?.kind);
    let work = numbers.work.as_ref()?.work.as_ref()?.totals();
    let timed = |at: usize| {
        let row = view.variants.get(at)?;
        let has_sampler = row.id.code(kind)?.has_sampler();
        let score = numbers.scores.of(row.id).filter(|score| score.is_at(shown.settings, shown.size))?;
        (score.work == Some(work)).then_some((has_sampler, row.id, score))
    };
    let at = view.variants.iter().position(|row| row.id == shown.variant)?;
    let this = timed(at)?;
    let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(timed);
    let other = neighbours.into_iter().find(|other| other.0 != this.0)?;
    let [(_, buffers, buffers_ms), (_, sampler, sampler_ms)] =
        if this.0 { [other, this] } else { [this, other] };
    let [buffers_ms, sampler_ms] = [buffers_ms, sampler_ms].map(scoreboard::score_text);
    Some(format!(
        "The same reads take {sampler_ms} through the image sampler ({sampler}), {buffers_ms} from buffers ({buffers})."
    ))
}

/// Returns the measurements of the filter from which the sentences are derived; `None` before the filter's time was measured,
/// and for filters without kernels.
fn evidence<'a>(view: &'a View, numbers: &'a Numbers) -> Option<Evidence<'a>> {
    let filter = numbers.stage(Stage::Filter)?;
    let FilterWork { work, pass_ms, .. } = numbers.work.as_ref()?;
    let is_known = pass_ms.iter().all(|ms| ms.is_finite());
    Some(Evidence {
        ms: filter.p50,
        precision: Precision::from(filter.noise),
        work: work.as_ref(),
        launch_ms: if is_known { pass_ms } else { &[] },
        registers: &view.facts.registers,
    })
}

/// Returns the text ", 42 % of the copy", for this share of the peak that `of` names; empty if the share is not known.
fn share_text(share: Option<f64>, of: &str, precision: Precision) -> String {
    share.map_or_else(String::new, |share| format!(", {} of {of}", percent(share, precision)))
}

/// Returns a text about the bytes that any kernel must move, their rate, and its share of the peak.
fn memory_text(
    least: Option<u64>,
    rates: Option<Rates>,
    peaks: &DevicePeaks,
    precision: Precision,
) -> String {
    let Some(least) = least else { return theme::UNKNOWN.to_owned() };
    let rate = rates.map_or_else(|| theme::UNKNOWN.to_owned(), |rates| believed(rates.gb_s, &[precision]));
    let share = share_text(rates.and_then(|rates| rates.copy_share(peaks)), "the copy", precision);
    format!("{} MB to move, {rate} GB/s{share}", number(least as f64 / 1e6))
}

/// Returns a text about the rate of operations and its share of the peak.
fn compute_text(rates: Option<Rates>, peaks: &DevicePeaks, precision: Precision) -> String {
    let Some(rates) = rates.filter(|rates| rates.gflop_s > 0.0) else { return theme::UNKNOWN.to_owned() };
    let share = share_text(rates.operation_share(peaks), "the peak", precision);
    format!("{} GFLOP/s{share}", believed(rates.gflop_s, &[precision]))
}

/// Returns a text with the device's peaks, or with the reason why they are not known.
fn peaks_text(facts: &DeviceFacts) -> String {
    let Some(peaks) = facts.peaks else {
        let waits = facts.waits.as_deref().map_or_else(String::new, |why| format!(" {why}"));
        return format!("{}{waits}", theme::UNKNOWN);
    };
    let mark = if facts.is_rough { theme::NOISY } else { "" };
    let number = |peak| format!("{mark}{}", number(peak));
    let text = |peak: Option<f64>| peak.map_or_else(|| theme::UNKNOWN.to_owned(), number);
    let [copy, read, gflop_s] = [peaks.copy_gb_s, peaks.read_gb_s, peaks.gflop_s].map(text);
    format!("copy {copy} GB/s, read {read} GB/s; {gflop_s} GFLOP/s")
}

/// Returns the texts in a kernel's row of the table, without the name: time, reads and writes per pixel, barriers, group size,
/// and registers.
fn cells(
    launch: Option<(&LaunchWork, u64)>,
    ms: Option<f64>,
    registers: Option<&KernelRegisters>,
    precision: Precision,
) -> [String; 6] {
    let per_pixel = |of: fn(&LaunchWork) -> u64| {
        launch.map(|(launch, units)| number(of(launch) as f64 / units.max(1) as f64))
    };
    [
        ms.map(|ms| believed(ms, &[precision])),
        per_pixel(|launch| launch.reads.elements),
        per_pixel(|launch| launch.writes.elements),
        launch.and_then(|(launch, _)| launch.barriers).map(|barriers| barriers.to_string()),
        launch.map(|(launch, _)| launch.group_size.to_string()),
        registers.map(|registers| registers.registers.to_string()),
    ]
    .map(|cell| cell.unwrap_or_else(|| theme::UNKNOWN.to_owned()))
}

/// Lays out a row of the table of kernels. `color` is the colour of the texts, `font` the font of the cells after the name.
fn show_row(ui: &mut Ui, name: &str, cells: [String; 6], (color, font): (Color32, FontId)) {
    // Height in points of a row of the table of kernels.
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 15.0), Sense::hover());
    let room = rect.width() - COLUMNS.iter().map(|(_, width, _)| width).sum::<f32>();
    let named = COLUMNS.iter().zip(&cells).map(|((column, ..), cell)| format!("{column} {cell}"));
    let values = named.collect::<Vec<_>>().join(", ");
    let response = response.named(Role::Row, name).valued(|| values);
    let at = (rect.left_center(), Align2::LEFT_CENTER, room);
    theme::elided_text(ui, at, name, (11.5, color));
    let mut right = rect.left() + room;
    for (cell, (_, width, _)) in cells.iter().zip(COLUMNS) {
        right += width;
        ui.painter().text(pos2(right, rect.center().y), Align2::RIGHT_CENTER, cell, font.clone(), color);
    }
    let hovers: Vec<String> = COLUMNS.iter().map(|(name, _, hover)| format!("{name}: {hover}.")).collect();
    response.explain(format!("{name}\n{}", hovers.join("\n")));
}

/// Space in points left of the plot and below it, for the numbers of the axes.
const MARGINS: (f32, f32) = (46.0, 34.0);
/// Space in points above the plot, for the name of a peak along its upper edge.
const MARGIN_ABOVE: f32 = 16.0;

/// Lays a roofline out in the panel's width: the plot, and below it a line of text for each dot, with the key of its variant.
/// Does nothing if there are no dots.
fn show_roofline(ui: &mut Ui, roofline: &Roofline, keys: &[char]) {
    if roofline.dots.is_empty() {
        return;
    }
    // Height of the plot in points.
    let size = vec2(ui.available_width(), 150.0 + MARGINS.1 + MARGIN_ABOVE);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let plot = Rect::from_min_max(
        pos2(area.left() + MARGINS.0, area.top() + MARGIN_ABOVE),
        pos2(area.right() - 8.0, area.bottom() - MARGINS.1),
    );
    let [left, right, top, bottom] = [plot.left(), plot.right(), plot.top(), plot.bottom()].map(f64::from);
    // Dots give way to the texts and to each other.
    let mut taken = Vec::new();
    for mark in roofline.marks((left, right), (bottom, top)) {
        taken.extend(paint_mark(ui, plot, &mark, (keys, &taken)));
    }
    let names = roofline.dots.iter().map(|dot| dot.words()).collect::<Vec<_>>().join("; ");
    describe::painted(ui, area, Role::Image, "Roofline", &names);
    for (key, dot) in keys.iter().zip(&roofline.dots) {
        line(ui, &format!("{key}  {}", dot.words()), theme::TEXT);
    }
    if let Some(above) = roofline.above(|index| keys[index].to_string()) {
        paragraph(ui, &above, theme::WEAK);
    }
}

/// The radius of a dot in points.
const DOT: f32 = 7.0;

/// Returns the place of the number of a dot that is at `at`: the nearest one in the plot that no other dot or text has taken.
fn free_place(at: Pos2, plot: Rect, taken: &[Rect]) -> Pos2 {
    let around = |place: Pos2| Rect::from_center_size(place, Vec2::splat(2.0 * DOT));
    let is_free = |place: &Pos2| {
        plot.expand(DOT).contains(*place) && !taken.iter().any(|other| other.intersects(around(*place)))
    };
    let rings = (1..=4).flat_map(|ring| {
        let far = 2.2 * DOT * ring as f32;
        (0..8).map(move |turn| at + far * Vec2::angled(turn as f32 * std::f32::consts::FRAC_PI_4))
    });
    [at].into_iter().chain(rings).find(is_free).unwrap_or(at)
}

/// Paints a mark of a roofline (line, dot or text), and returns the place that it takes from the dots after it. `keys` are the
/// keys of the dots' variants, `taken` the places of the marks before. The name of a peak never begins left of the plot.
fn paint_mark(ui: &Ui, plot: Rect, mark: &Mark, (keys, taken): (&[char], &[Rect])) -> Option<Rect> {
    let painter = ui.painter();
    match mark {
        Mark::Grid(ends) => _ = painter.line_segment(ends.map(point), Stroke::new(1.0, theme::RULE)),
        Mark::Roof(ends) => _ = painter.line_segment(ends.map(point), Stroke::new(1.5, theme::FILTER)),
        Mark::Tick(at, anchor, words) => {
            let align = match anchor {
                Anchor::Start => Align2::LEFT_BOTTOM,
                Anchor::Middle => Align2::CENTER_BOTTOM,
                Anchor::End => Align2::RIGHT_BOTTOM,
            };
            let at = point(*at) + vec2(0.0, 3.0);
            ui.figures(at, align, words, 10.5, theme::WEAK);
        }
        Mark::RoofName(at, anchor, words) => {
            let galley = painter.layout_no_wrap(words.clone(), theme::figures(10.5), theme::FILTER);
            let size = galley.size();
            let left = if *anchor == Anchor::End { point(*at).x - size.x } else { point(*at).x };
            let corner = pos2(left.max(plot.left() + 4.0), point(*at).y + 3.0 - size.y);
            painter.galley(corner, galley, theme::FILTER);
            return Some(Rect::from_min_size(corner, size));
        }
        Mark::Dot(at, index) => {
            let place = free_place(point(*at), plot, taken);
            if place != point(*at) {
                painter.line_segment([point(*at), place], Stroke::new(1.0, theme::SELECT));
                painter.circle_filled(point(*at), 2.5, theme::SELECT);
            }
            painter.circle_filled(place, DOT, theme::SELECT);
            ui.figures(place, Align2::CENTER_CENTER, keys[*index], 10.5, Color32::BLACK);
            return Some(Rect::from_center_size(place, Vec2::splat(2.0 * DOT)));
        }
    }
    None
}

fn point((x, y): (f64, f64)) -> Pos2 {
    pos2(x as f32, y as f32)
}

/// The hover text of the line of memory.
const MEMORY: &str = "The bytes that any kernel must move (the picture once in, once out), divided by the filter's median time, and the share \
                      of the bandwidth of a copy within the device's memory. Modified kernels have no known work.";
/// The hover text of the line of operations.
const COMPUTE: &str = "Additions, subtractions and multiplications of channels, divided by the filter's median time, and the share of the \
                       rate of multiply-adds in registers.";
/// The hover text of the line of peaks.
const PEAKS: &str = "What the device was measured to do at most: a copy and a plain read of 128 MiB, and multiply-adds of floats. Measured \
                     for each device in the background, while the movie leaves time or is paused. ~ other processes were busy \
                     meanwhile; the peaks are measured again when the machine is quiet.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_that_coincide_stand_side_by_side_and_leave_the_texts_free() {
        let plot = Rect::from_min_size(pos2(0.0, 0.0), vec2(200.0, 100.0));
        let text = Rect::from_min_size(pos2(80.0, 30.0), vec2(60.0, 12.0));
        let mut taken = vec![text];
        for _ in 0..6 {
            let place = free_place(pos2(100.0, 50.0), plot, &taken);
            let around = Rect::from_center_size(place, vec2(14.0, 14.0));
            assert!(!taken.iter().any(|other| other.intersects(around)), "{place} in {taken:?}");
            taken.push(around);
        }
        assert_eq!(free_place(pos2(20.0, 50.0), plot, &taken), pos2(20.0, 50.0), "where there is room");
    }
}
