//! The panel on the left: the movie, the numbers, the machine.

use egui::{Align2, Rect, ScrollArea, Sense, Ui, pos2, vec2};

use super::place::{self, Panel, Title};
use super::table::{self, Numbers};
use super::{Action, View, panel, theme, words};
use crate::ladder::VariantId;

/// The panel's width in points.
pub const WIDTH: f32 = 312.0;
const LABEL: f32 = 66.0;
const LINE: f32 = 16.0;

/// Lays the panel out in `rect`; it scrolls when it is too high. Returns what was done with its title, and the
/// height that it would like to have.
pub fn show(
    ui: &mut Ui,
    rect: Rect,
    view: &View,
    numbers: &Numbers,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let mut ui = ui.new_child(egui::UiBuilder::new().id_salt("panel").max_rect(rect));
    ui.set_clip_rect(rect);
    if folded {
        let rect = rect.with_max_y(rect.top() + panel::HEADER);
        return (panel::folded(&mut ui, rect, Panel::Numbers, "Numbers"), panel::HEADER);
    }
    let mut title = Title::default();
    let mut height = 0.0;
    theme::panel_frame().show(&mut ui, |ui| {
        let inner = egui::Margin { left: 10, right: 10, top: 8, bottom: 8 };
        let scrolled = ScrollArea::vertical().id_salt("panel").auto_shrink([false, true]).show(ui, |ui| {
            egui::Frame::new().inner_margin(inner).show(ui, |ui| {
                title = head(ui, view, rect.min);
                table::tiles(ui, numbers, view);
                ui.add_space(2.0);
                table::table(ui, numbers);
                ui.add_space(2.0);
                facts(ui, view, numbers, actions);
            });
        });
        height = scrolled.content_size.y + 2.0;
    });
    (title, height)
}

/// File name and position; below, what the player is doing.
fn head(ui: &mut Ui, view: &View, corner: egui::Pos2) -> Title {
    let movie = view.movie;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 34.0), Sense::hover());
    let (response, mut title) = place::handle(ui, Panel::Numbers, rect, corner);
    let painter = ui.painter();
    let position = match movie.duration_s {
        Some(duration) => format!("{} / {}", theme::clock(movie.position_s), theme::clock(duration)),
        None => theme::clock(movie.position_s),
    };
    let font = theme::figures(11.5);
    let time = painter.text(rect.right_bottom(), Align2::RIGHT_BOTTOM, position, font, theme::TEXT);
    elided(
        ui,
        rect.left_top() + vec2(16.0, 0.0),
        rect.width() - 16.0,
        &movie.file_name,
        theme::words(14.0),
        theme::STRONG,
    );

    let color = if view.state.is_good() { theme::GOOD } else { theme::WARN };
    let y = time.center().y;
    ui.painter().circle_filled(pos2(rect.left() + 4.0, y), 3.5, color);
    let mut state = view.state.to_string();
    if view.speed != 1.0 {
        state.push_str(&format!(", {:.2}×", view.speed));
    }
    if !view.repeats.is_empty() {
        state.push_str(", ");
        state.push_str(view.repeats);
    }
    elided(
        ui,
        pos2(rect.left() + 13.0, y - 7.0),
        time.left() - rect.left() - 20.0,
        &state,
        theme::words(12.0),
        color,
    );
    response.on_hover_text(format!("{}\n{}", movie.file_name, place::HOVER));
    title.fold = panel::header(ui, rect.with_max_y(rect.top() + 17.0), "", false);
    title
}

fn facts(ui: &mut Ui, view: &View, numbers: &Numbers, actions: &mut Vec<Action>) {
    let recorder = view.recorder;
    let (late, dropped) = (recorder.late(), recorder.dropped());
    let color = if late + dropped > 0 { theme::WARN } else { theme::TEXT };
    let counts = format!("{} presented, {late} late, {dropped} dropped", recorder.presented());
    fact(ui, "Frames", &counts, color, words::COUNTS);

    let percent = |load: Option<f32>| load.map_or_else(|| "-".into(), |p| format!("{p:.0} %"));
    let cpu = format!("{} of one core, machine {}", percent(view.cpu.process), percent(view.cpu.machine));
    fact(ui, "CPU", &cpu, theme::TEXT, &words::cpu(view.cpu.cores));
    let repaint = match numbers.repaint {
        Some(r) => format!("{} ms, p95 {} ms", theme::ms(r.p50), theme::ms(r.p95)),
        None => "-".into(),
    };
    fact(ui, "Repaint", &repaint, theme::TEXT, words::REPAINT);
    rule(ui);

    let idea = view.variants.iter().find(|v| v.id == view.chosen).map_or("", |v| v.idea);
    let (mut variant, mut hover) = (view.chosen.to_string(), idea.to_owned());
    if let Some(auto) = view.auto.filter(|_| view.chosen == VariantId::Auto) {
        let name = auto.split(' ').next().unwrap_or(auto);
        variant.push_str(&format!(" ({name})"));
        hover.push_str(&format!("\nFor this picture and radius it is {auto}."));
    }
    variant.push_str(&format!(", radius {}", view.radius));
    hover.push_str(&format!("\n{}", words::window(view.radius)));
    fact(ui, "Variant", &variant, theme::STRONG, &hover);
    let movie = view.movie;
    let rate = movie.fps.map_or_else(String::new, |f| format!(", {} fps", (f * 1000.0).round() / 1000.0));
    let (interlaced, why) = words::fields(movie.fields);
    let picture = match movie.width {
        0 => "the movie is being opened".to_owned(),
        width => format!("{width} \u{d7} {}{rate}, {}{interlaced}", movie.height, movie.codec),
    };
    fact(ui, "Picture", &picture, theme::TEXT, &format!("{picture}{why}"));
    let devices = match view.device {
        Some(device) => {
            let kind = match device.kind {
                crate::gpu::cl::DeviceKind::Cpu => "CPU",
                crate::gpu::cl::DeviceKind::Gpu => "GPU",
                crate::gpu::cl::DeviceKind::Accelerator => "Accelerator",
            };
            let units = format!(
                "{}\n{kind}, {} compute units at {} MHz\nA click lists all devices.",
                device.name, device.units, device.clock_mhz
            );
            let response = fact(ui, "Device", &device.name, theme::TEXT, &units);
            let driver = format!("{} {}", device.platform, device.driver);
            fact(ui, "Driver", &driver, theme::TEXT, &format!("{driver}\n{}", device.version));
            response
        }
        None => {
            let hover = "Without one, off, glsl and native work.\nA click lists what was found.";
            fact(ui, "Device", "no OpenCL device", theme::WARN, hover)
        }
    };
    if devices.interact(Sense::click()).clicked() {
        actions.push(Action::ToggleDevices);
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
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 3.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, egui::Stroke::new(1.0, theme::RULE));
}

/// A line of name and value; what does not fit is cut, and the hover text has it.
fn fact(ui: &mut Ui, name: &str, value: &str, color: egui::Color32, hover: &str) -> egui::Response {
    ui.spacing_mut().item_spacing.y = 0.0;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, name, theme::words(12.0), theme::WEAK);
    let at = pos2(rect.left() + LABEL, rect.top() + 1.0);
    elided(ui, at, rect.width() - LABEL, value, theme::words(12.0), color);
    response.on_hover_text(hover)
}

/// Text in one line, cut with an ellipsis at `width`.
fn elided(ui: &Ui, at: egui::Pos2, width: f32, text: &str, font: egui::FontId, color: egui::Color32) {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, color);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width);
    let galley = ui.painter().layout_job(job);
    ui.painter().galley(at, galley, color);
}
