//! The panel of stages (the timed parts of a frame's way to the screen): the table of their times, and lines about the movie,
//! the device and the machine.

use base::device::DeviceKind;
use stats::Sharing;
use video::FieldOrder;

use crate::hatch::Hatch;
use crate::panel::{self, ColumnPanel, Pane};
use crate::prelude::*;
use crate::{Subject, facts, table, why, words};

/// The text that stands in place of the picture's size while the movie is being opened.
pub(crate) const OPENING_TEXT: &str = "opening the movie";
/// Width in points of the names left of the values.
const LABEL_WIDTH: f32 = 66.0;

/// The panel of stages, the timed parts of a frame's way to the screen.
pub(super) static STAGES: ColumnPanel = ColumnPanel {
    key: Some(("d", "stages: times, bytes, roofline")),
    margin: Margin { left: 10, right: 10, top: 0, bottom: 8 },
    ..ColumnPanel::new(
        Panel::Stages,
        ("Stages", "Times of all stages of a frame, bytes that kernels move, roofline of the variants"),
        388.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let text = if pane.switches.hatched { "plain" } else { "patterns" };
    if panel::title_link(ui, pane.head, text, "Show the stages with patterns, or in plain colours") {
        pane.switches.hatched ^= true;
    }
    let (view, numbers) = (pane.pass.view, pane.pass.numbers);
    // The picture was converted from YUV to RGBA by kernels. On a CPU device, kernels convert only for variants that filter planes.
    let by_kernel = view.shown.is_some_and(|shown| {
        let is_gpu = view.device.is_some_and(|device| device.kind != DeviceKind::Cpu);
        shown.variant.reads_planes() || is_gpu && !shown.variant.back_end().does_without_opencl()
    });
    let conversion_differs = by_kernel && view.kernels.differs(Subject::Conversion, None);
    let hatch = Hatch::new(ui, pane.switches.hatched);
    table::show(ui, numbers, &hatch, conversion_differs);
    ui.add_space(2.0);
    draw_rule(ui);
    why::show(ui, view, numbers);
    show_facts(ui, pane.pass);
}

/// Lays out the lines about the movie, the frames and the device, below the table of stages. The lines about the movie come
/// first: its notes are warnings, which must be visible without scrolling.
fn show_facts(ui: &mut Ui, pass: &mut Pass) {
    let (view, numbers) = (pass.view, pass.numbers);
    draw_rule(ui);
    let idea = view.variants.iter().find(|v| v.id == view.chosen).map_or("", |v| v.idea);
    let mut hover = idea.to_owned();
    if let Some(auto) = view.auto.filter(|_| view.chosen.is_auto()) {
        hover.push_str(&format!("\n{}", words::auto_text(auto)));
    }
    hover.push_str(&format!("\n{}", words::filter_text(view.chosen, view.settings)));
    let settings = match view.chosen.opened() {
        None => format!("radius {}", view.settings.first()),
        Some(_) => view.chosen.settings_text(view.settings),
    };
    let settings = if settings.is_empty() { settings } else { format!(", {settings}") };
    let variant = format!("{}{settings}", view.chosen);
    show_fact(ui, "Variant", (&variant, theme::TEXT), &hover);
    let movie = view.movie;
    let rate = movie.fps.map_or_else(String::new, |f| format!(", {} fps", (f * 1000.0).round() / 1000.0));
    let first = match movie.fields {
        FieldOrder::Progressive => None,
        FieldOrder::TopFirst => Some("top field first (even rows)"),
        FieldOrder::BottomFirst => Some("bottom field first (odd rows)"),
    };
    let woven = "Frames are shown with both fields woven, without deinterlacing.";
    let why = first.map_or_else(String::new, |first| format!("\nInterlaced, {first}.\n{woven}"));
    let interlaced = if first.is_some() { ", interlaced" } else { "" };
    let picture = match movie.width {
        0 => OPENING_TEXT.to_owned(),
        width => format!("{width} \u{d7} {}{rate}{interlaced}", movie.height),
    };
    show_fact(ui, "Picture", (&picture, theme::TEXT), &format!("{picture}{why}"));
    show_fact(ui, "Format", (&movie.format, theme::TEXT), &format!("{}\n{}", movie.format, words::FORMAT));
    for remark in &movie.remarks {
        show_fact(ui, "Note", (remark, theme::WARN), &format!("{remark}\n{}", words::UNSUPPORTED_PROPERTY));
    }
    if let Some(note) = &movie.note {
        show_fact(ui, "Note", (note, theme::TEXT), &format!("{note}\n{}", words::FLAGGED_PACKETS));
    }
    draw_rule(ui);

    let recorder = view.recorder;
    let (late, dropped) = (recorder.late, recorder.dropped);
    let color = if late + dropped > 0 { theme::WARN } else { theme::TEXT };
    let [presented, late, dropped] = [recorder.presented, late, dropped].map(|n| theme::thousands(n as f64));
    let counts = format!("{presented} presented, {late} late, {dropped} dropped");
    show_fact(ui, "Frames", (&counts, color), words::FRAME_COUNTS);

    let percent = |load: Option<f32>| load.map_or_else(|| theme::UNKNOWN.into(), |p| format!("{p:.0} %"));
    let cpu = format!("{} of one core, machine {}", percent(view.cpu.process), percent(view.cpu.machine));
    show_fact(ui, "CPU", (&cpu, theme::TEXT), &words::cpu_text(view.cpu.cores));
    let (clock, hover) = words::clock_speed_texts(view.clock_speed);
    show_fact(ui, "Clock", (&clock, theme::TEXT), &hover);
    let repaint = match numbers.repaint {
        Some(r) => format!("{} ms, p95 {} ms", theme::ms(r.p50), theme::ms(r.p95)),
        None => theme::UNKNOWN.into(),
    };
    show_fact(ui, "Repaint", (&repaint, theme::TEXT), words::REPAINT);
    draw_rule(ui);

    let devices = match view.device {
        Some(device) => {
            let hover = words::device_text(device);
            let response = show_fact(ui, "Device", (&device.name, theme::TEXT), &hover);
            let driver = format!("{} {}", device.platform, device.driver);
            show_fact(ui, "Driver", (&driver, theme::TEXT), &format!("{driver}\n{}", device.version));
            response
        }
        None => {
            let (text, hover) = facts::without_device(view);
            let color = if view.devices.is_pending { theme::WEAK } else { theme::WARN };
            show_fact(ui, "Device", (text, color), hover)
        }
    };
    devices.interact(Sense::click()).on_click(Action::Toggle(Panel::Devices), &mut pass.actions);
    show_fact(ui, "OpenGL", (view.gl_renderer, theme::TEXT), view.gl_renderer);
    let sharing = match view.sharing {
        Sharing::ZeroCopy => view.sharing.name().to_owned(),
        Sharing::Copy { reason } => format!("{}: {reason}", view.sharing.name()),
    };
    show_fact(ui, "Sharing", (&sharing, theme::TEXT), &words::sharing_text(view.sharing));
    draw_rule(ui);
    ui.button("Save run")
        .explain("Save the filter's times in all frames so far, for 'clreel compare' (Ctrl R)")
        .on_click(Action::SaveRun, &mut pass.actions);
}

/// Draws a horizontal line between two parts of the panel.
fn draw_rule(ui: &mut Ui) {
    ui.spacing_mut().item_spacing.y = 0.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 7.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(1.0, theme::RULE));
}

/// Lays out a line with a name and a value. The value is cut at the panel's edge; the hover text shows all of it.
pub(crate) fn show_fact(ui: &mut Ui, name: &str, (value, color): (&str, Color32), hover: &str) -> Response {
    ui.spacing_mut().item_spacing.y = 0.0;
    // Height in points of a line with a name and a value.
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
    ui.words(rect.left_center(), Align2::LEFT_CENTER, name, 12.0, theme::WEAK);
    let at = rect.left_center() + vec2(LABEL_WIDTH, 0.0);
    let at = (at, Align2::LEFT_CENTER, rect.width() - LABEL_WIDTH);
    theme::elided_text(ui, at, value, (12.0, color));
    response.named(Role::Status, name).valued(|| value.to_owned()).explain(hover)
}
