//! The panel of stages: the table with its percentiles, and what is known about the movie and the machine. In: a [`View`].
//! Out: the wish to list the devices.

use egui::{Align2, Color32, Rect, Response, Sense, Ui, pos2, vec2};

use super::hatch::Hatch;
use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::table::{self, Numbers};
use super::{Action, View, facts, panel, theme, words};
use box_filter::VariantId;
use opencl::cl::DeviceKind;

/// The panel's width in points.
pub(crate) const WIDTH: f32 = 388.0;
/// What stands for the size of a picture that is not there yet.
pub(crate) const OPENING: &str = "the movie is being opened";
const LABEL: f32 = 66.0;
const LINE: f32 = 16.0;

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Stages,
    key: Some(("d", "the stages in detail")),
    menu: ("Stages", "All stages of a frame"),
    size: vec2(WIDTH, 300.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::LEFT_TOP,
    is_shown: |overlay, _| overlay.open[Panel::Stages as usize],
    show: |overlay, ui, rect, view, actions| {
        let folded = overlay.is_folded(Panel::Stages);
        show(ui, rect, view, &overlay.numbers, folded, &mut overlay.hatched, actions)
    },
};

/// Lays the panel out in `rect`, with a scroll bar where it is too low; `hatched`: the stages have patterns beside their
/// greys. Returns what was done with its title, and the height that it would like to have.
fn show(
    ui: &mut Ui,
    rect: Rect,
    view: &View,
    numbers: &Numbers,
    folded: bool,
    hatched: &mut bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let frame = panel::Frame {
        panel: Panel::Stages,
        id: "stages",
        name: "Stages",
        hover: place::HOVER,
        close: ("Close this panel: the key d", Action::Toggle(Panel::Stages)),
    };
    let (title, inner) = frame.show(ui, rect, folded, actions);
    let Some(mut ui) = inner else { return (title, panel::HEADER) };
    let text = if *hatched { "greys" } else { "patterns" };
    if panel::link(&mut ui, rect, text, "Tell the stages apart by patterns, or leave them grey") {
        *hatched = !*hatched;
    }
    let hatch = Hatch::new(&ui, *hatched);
    let margin = egui::Margin { left: 10, right: 10, top: 0, bottom: 8 };
    let height = panel::scrolled(&mut ui, rect, |ui| {
        egui::Frame::new().inner_margin(margin).show(ui, |ui| {
            table::table(ui, numbers, &hatch, converts_otherwise(view));
            ui.add_space(2.0);
            facts(ui, view, numbers, actions);
        });
    });
    (title, panel::HEADER + height + 2.0)
}

/// Whether kernels have converted the picture on the screen that make another one than they should. On a processor they do so
/// for what filters planes alone.
fn converts_otherwise(view: &View) -> bool {
    let by_kernel = view.shown.is_some_and(|shown| {
        let is_card = view.device.is_some_and(|device| device.kind != DeviceKind::Cpu);
        shown.variant.reads_planes() || is_card && !shown.variant.back_end().does_without_opencl()
    });
    by_kernel && view.kernels.converts_otherwise()
}

fn facts(ui: &mut Ui, view: &View, numbers: &Numbers, actions: &mut Vec<Action>) {
    rule(ui);
    let recorder = view.recorder;
    let (late, dropped) = (recorder.late(), recorder.dropped());
    let color = if late + dropped > 0 { theme::WARN } else { theme::TEXT };
    let counts = format!("{} presented, {late} late, {dropped} dropped", recorder.presented());
    fact(ui, "Frames", &counts, color, words::COUNTS);

    let percent = |load: Option<f32>| load.map_or_else(|| theme::UNKNOWN.into(), |p| format!("{p:.0} %"));
    let cpu = format!("{} of one core, machine {}", percent(view.cpu.process), percent(view.cpu.machine));
    fact(ui, "CPU", &cpu, theme::TEXT, &words::cpu(view.cpu.cores));
    let repaint = match numbers.repaint {
        Some(r) => format!("{} ms, p95 {} ms", theme::ms(r.p50), theme::ms(r.p95)),
        None => theme::UNKNOWN.into(),
    };
    fact(ui, "Repaint", &repaint, theme::TEXT, words::REPAINT);
    rule(ui);

    let idea = view.variants.iter().find(|v| v.id == view.chosen).map_or("", |v| v.idea);
    let mut hover = idea.to_owned();
    if let Some(auto) = view.auto.filter(|_| view.chosen == VariantId::Auto) {
        hover.push_str(&format!("\nFor this picture and radius it is {auto}."));
    }
    hover.push_str(&format!("\n{}", words::window(view.radius)));
    let variant = format!("{}, radius {}", view.chosen, view.radius);
    fact(ui, "Variant", &variant, theme::TEXT, &hover);
    let movie = view.movie;
    let rate = movie.fps.map_or_else(String::new, |f| format!(", {} fps", (f * 1000.0).round() / 1000.0));
    let (interlaced, why) = words::fields(movie.fields);
    let picture = match movie.width {
        0 => OPENING.to_owned(),
        width => format!("{width} \u{d7} {}{rate}{interlaced}", movie.height),
    };
    fact(ui, "Picture", &picture, theme::TEXT, &format!("{picture}{why}"));
    fact(ui, "Format", &movie.format, theme::TEXT, &format!("{}\n{}", movie.format, words::FORMAT));
    for remark in &movie.remarks {
        fact(ui, "Note", remark, theme::WARN, &format!("{remark}\n{}", words::REMARK));
    }
    let devices = match view.device {
        Some(device) => {
            let hover = words::device(device);
            let response = fact(ui, "Device", &device.name, theme::TEXT, &hover);
            let driver = format!("{} {}", device.platform, device.driver);
            fact(ui, "Driver", &driver, theme::TEXT, &format!("{driver}\n{}", device.version));
            response
        }
        None => {
            let (text, hover) = facts::without_device(view);
            fact(ui, "Device", text, if view.devices.awaited { theme::WEAK } else { theme::WARN }, hover)
        }
    };
    if devices.interact(Sense::click()).clicked() {
        actions.push(Action::Toggle(Panel::Devices));
    }
    fact(ui, "OpenGL", view.gl_renderer, theme::TEXT, view.gl_renderer);
    let sharing = if view.sharing_reason.is_empty() {
        view.sharing.to_owned()
    } else {
        format!("{}: {}", view.sharing, view.sharing_reason)
    };
    fact(ui, "Sharing", &sharing, theme::TEXT, &words::sharing(view.sharing, view.sharing_reason));
}

fn rule(ui: &mut Ui) {
    ui.spacing_mut().item_spacing.y = 0.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 7.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, egui::Stroke::new(1.0, theme::RULE));
}

/// A line of name and value; what does not fit is cut, and the hover text has it.
fn fact(ui: &mut Ui, name: &str, value: &str, color: Color32, hover: &str) -> Response {
    ui.spacing_mut().item_spacing.y = 0.0;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, name, theme::words(12.0), theme::WEAK);
    let galley = theme::elided(ui, value, theme::words(12.0), color, rect.width() - LABEL);
    let at = pos2(rect.left() + LABEL, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, color);
    response.on_hover_text(hover)
}
