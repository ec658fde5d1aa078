//! Notices, banners that report errors until the user dismisses them; and short messages, one at a time, with the hint that is
//! shown at the first start.

use egui::Layout;

use crate::Notice;
use crate::panel::COVER;
use crate::prelude::*;
use crate::timer::Timer;

/// The greatest width in points of a short message, and the height that is kept free for its usual one or two lines.
const MAX_MESSAGE_SIZE: Vec2 = vec2(720.0, 42.0);

/// Returns the rectangles in `area` for the banners, and for a short message below them. The place of the message stays free,
/// so that nothing moves when a message appears.
pub(crate) fn places(area: Rect) -> (Rect, Rect) {
    let height = if area.height() >= 200.0 { MAX_MESSAGE_SIZE.y } else { 26.0_f32.min(area.height()) };
    let width = area.width().min(MAX_MESSAGE_SIZE.x);
    let message = Align2::CENTER_BOTTOM.align_size_within_rect(vec2(width, height), area);
    (area.with_max_y((message.top() - theme::GAP).max(area.top())), message)
}

/// Returns `area`, or in a very low window, in which it is less than `height` points high, all of the window above its lower
/// edge. Returns `None` if that is too small, too.
fn readable(ui: &Ui, area: Rect, height: f32) -> Option<Rect> {
    let window = ui.max_rect().shrink(theme::GAP).with_max_y(area.bottom());
    let is_readable = |rect: &Rect| rect.width() >= 60.0 && rect.height() >= height;
    [area, window].into_iter().find(is_readable)
}

/// Lays the notices out from the top of `area`, the newest last; they scroll if they do not fit. Leaves out notices that are
/// not serious if `only_serious` is true. In a very low window they lie over the panels.
pub(crate) fn show(ui: &mut Ui, area: Rect, only_serious: bool, pass: &mut Pass) {
    let notices = pass.view.notices;
    let shown = || notices.iter().enumerate().filter(|(_, n)| n.serious || !only_serious);
    if shown().next().is_none() {
        return;
    }
    let Some(area) = readable(ui, area, 30.0) else { return };
    // The greatest width in points of a banner.
    let width = area.width().min(640.0);
    let rect = Rect::from_min_size(pos2(area.right() - width, area.top()), vec2(width, area.height()));
    let mut ui = ui.new_child(UiBuilder::new().id_salt("notices").max_rect(rect));
    let area = ScrollArea::vertical().id_salt("notices").auto_shrink([false, true]).min_scrolled_height(0.0);
    area.show(&mut ui, |ui| {
        ui.spacing_mut().item_spacing.y = theme::GAP;
        for (index, notice) in shown() {
            show_banner(ui, index, notice, &mut pass.actions);
        }
    });
}

/// Lays one banner out, with a button that dismisses it.
fn show_banner(ui: &mut Ui, index: usize, notice: &Notice, actions: &mut Vec<Action>) {
    let color = if notice.serious { theme::ERROR } else { theme::WARN };
    let frame = egui::Frame::new().fill(theme::PANEL.to_opaque()).corner_radius(6);
    let frame = frame.stroke(Stroke::new(1.0, color.gamma_multiply(0.6)));
    let frame = frame.inner_margin(Margin { left: 14, right: 8, top: 7, bottom: 8 });
    let contents = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
            let close = Button::new(RichText::new("\u{d7}").size(17.0)).min_size(vec2(22.0, 22.0));
            let close = close.frame_when_inactive(false);
            let close = ui.add(close).named(Role::Button, &format!("Dismiss: {}", notice.error.what));
            close.explain("Dismiss").on_click(Action::DismissNotice(index), actions);
            ui.with_layout(Layout::top_down(Align::LEFT), |ui| show_text(ui, index, notice));
        });
    };
    // A click on the banner must not reach the picture.
    let over = UiBuilder::new().id_salt(("notice", index)).sense(COVER);
    let rect = ui.scope_builder(over, |ui| frame.show(ui, contents).response.rect).inner;
    let bar = Rect::from_min_max(rect.left_top(), pos2(rect.left() + 4.0, rect.bottom()));
    ui.painter().rect_filled(bar, CornerRadius { nw: 6, sw: 6, ne: 0, se: 0 }, color);
}

/// Lays out the text of a banner: what failed, the reason, and the suggestion to the user.
fn show_text(ui: &mut Ui, index: usize, notice: &Notice) {
    let error = &notice.error;
    ui.label(RichText::new(&error.what).font(theme::words(14.0)).color(theme::STRONG));
    // The greatest length in bytes of an error's reason that is shown as a paragraph. A longer reason, or one of more than three
    // lines, is taken for a build log and shown in a box that scrolls.
    if error.why.len() > 240 || error.why.lines().count() > 3 {
        let frame = egui::Frame::new().fill(Color32::from_black_alpha(120)).corner_radius(3).inner_margin(6);
        frame.show(ui, |ui| {
            // The greatest height in points of the box that shows a build log.
            let area = ScrollArea::both().id_salt(("log", index)).max_height(220.0);
            let log = Label::new(highlighted_log(&error.why)).extend();
            area.auto_shrink([false, true]).show(ui, |ui| ui.add(log));
        });
        if ui.button("Copy").explain("Copy the whole message").clicked() {
            ui.copy_text(error.to_string());
        }
    } else if !error.why.is_empty() {
        ui.label(&error.why);
    }
    if !error.hint.is_empty() {
        ui.colored_label(theme::WEAK, &error.hint);
    }
}

/// Lays out a build log with its error messages, and the source lines to which they refer, highlighted.
fn highlighted_log(text: &str) -> egui::text::LayoutJob {
    let mut job = egui::text::LayoutJob::default();
    for line in text.split_inclusive('\n') {
        let number = line.trim_start().split_once(" | ").map(|(number, _)| number);
        let color = if number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
            theme::STRONG
        } else if line.contains("error:") {
            theme::ERROR
        } else {
            theme::TEXT
        };
        job.append(line, 0.0, egui::TextFormat::simple(theme::figures(11.5), color));
    }
    job
}

/// The hint that is shown until the first key is pressed, and the newest message with its timer.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// True if a key was pressed, after which the hint is not shown any more.
    pub hint_seen: bool,
    message: String,
    message_timer: Timer,
}

impl Messages {
    /// Shows `text` in place of the previous short message.
    pub(crate) fn show(&mut self, text: String) {
        self.message = text;
        self.message_timer.start();
    }

    /// Lays the message out at the bottom of `area` in as many lines as it needs, or `hint` if there is no message. A
    /// pressed key ends the hint.
    pub(crate) fn show_current(&mut self, ui: &Ui, area: Rect, hint: Option<&str>) {
        let is_press = |event: &egui::Event| matches!(event, egui::Event::Key { pressed: true, .. });
        self.hint_seen |= ui.input(|i| i.events.iter().any(is_press));
        let mut text = hint.filter(|_| !self.hint_seen);
        // Seconds for which a message is shown, so that a path can be read.
        let seconds = (self.message.chars().count() as f64 / 10.0).max(6.0);
        if self.message_timer.update(ui, seconds) {
            text = Some(&self.message);
        }
        let Some((text, area)) = text.zip(readable(ui, area, 20.0)) else { return };
        let layout = |width: f32| {
            ui.painter().layout(text.to_owned(), theme::words(12.5), theme::STRONG, width - 20.0)
        };
        // A message keeps its end: it lies over what is above it, and over the panels where it has no room beside them.
        let window = ui.max_rect().shrink(theme::GAP);
        let mut galley = layout(area.width());
        let height = galley.size().y + 8.0;
        let mut room = area.with_min_y(area.bottom() - height);
        if height > 3.0 * MAX_MESSAGE_SIZE.y || room.top() < window.top() {
            let width = window.width().min(MAX_MESSAGE_SIZE.x);
            galley = layout(width);
            let size = vec2(width, galley.size().y + 8.0);
            room = Align2::CENTER_BOTTOM.align_size_within_rect(size, window.with_max_y(area.bottom()));
        }
        describe::number(ui, room, "Message", galley.text());
        let size = galley.size() + vec2(20.0, 8.0);
        let rect = Align2::CENTER_BOTTOM.align_size_within_rect(size, room);
        theme::draw_ground(ui.painter(), rect, theme::PANEL);
        let at = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), rect);
        ui.painter().galley(at.min, galley, theme::STRONG);
    }
}
