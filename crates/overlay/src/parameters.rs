//! The sliders of the selected filter's parameters: one in the strip along the bottom of the window, such as the radius of the box
//! filter, or a group of several above the strip.

use std::borrow::Cow;

use box_filter::{Filter, Parameter};
use egui::Slider;

use crate::prelude::*;
use crate::{mouse, panel, words};

/// Width in points of the buttons that change a value.
const STEP_BUTTON_WIDTH: f32 = 22.0;
/// Width in points of the text that shows the value.
const VALUE_WIDTH: f32 = 48.0;
/// The least and the greatest width of the parameter's name before its slider in the strip, in points.
const LABEL_WIDTHS: (f32, f32) = (48.0, 96.0);
/// The least and the greatest width of a slider in the strip, in points.
const SLIDER_WIDTHS: (f32, f32) = (48.0, 110.0);
/// The least width in points of a parameter in the strip, with its slider and without its name.
pub(crate) const LEAST_WIDTH: f32 = 2.0 * STEP_BUTTON_WIDTH + VALUE_WIDTH + 20.0 + SLIDER_WIDTHS.0;

/// Width in points of the group of several parameters.
const GROUP_WIDTH: f32 = 330.0;
/// Width in points of the names and the values in the group.
const GROUP_TEXTS: (f32, f32) = (96.0, 64.0);
/// Height in points of a row of the group.
const ROW_HEIGHT: f32 = theme::CONTROL + 4.0;
/// The least width and height in points that the group leaves beside or above it for banners and messages.
const MIN_REST: Vec2 = vec2(220.0, 90.0);

/// The texts of a parameter's controls.
struct Texts<'p> {
    /// The name before the slider.
    label: Cow<'p, str>,
    /// The hover text of the name and the buttons.
    hover: String,
    /// The hover text of the slider.
    slider_hover: String,
    /// The names of the buttons for screen readers.
    buttons: [String; 2],
    /// The name of the value for screen readers.
    value: String,
}

impl<'p> Texts<'p> {
    fn new(view: &View, parameter: &'p Parameter, index: usize) -> Self {
        if view.sliders.0.opened().is_none() {
            return Self {
                label: "Radius".into(),
                hover: words::RADIUS.to_owned(),
                slider_hover: words::filter_text(view.sliders.0, view.sliders.1),
                buttons: ["Smaller radius", "Larger radius"].map(str::to_owned),
                value: "Radius of the box".to_owned(),
            };
        }
        let name = &parameter.name;
        let [least, most] = parameter.range.map(|end| parameter.value_text(end));
        let keys = if index == 0 { " (-, =)" } else { "" };
        let hover = format!("{name}: {least} to {most}{keys}");
        let buttons = ["Smaller", "Larger"].map(|verb| format!("{verb} {name}"));
        Self { label: name.into(), slider_hover: hover.clone(), hover, buttons, value: name.clone() }
    }
}

/// The widths in points of the parts of a parameter's row.
struct Widths {
    /// The name; `None` if there is no room for it.
    label: Option<f32>,
    /// The slider; `None` if there is no room for it.
    slider: Option<f32>,
    value: f32,
}

/// Lays out the first parameter of the selected filter: its name, buttons, a slider and the value, as far as `room` is wide enough
/// for them. Does nothing if the filter has no parameters.
pub(crate) fn show_first(ui: &mut Ui, room: Rect, pass: &mut Pass) {
    let mut spare = room.width() - 2.0 * STEP_BUTTON_WIDTH - VALUE_WIDTH - 12.0;
    let label = label_width(ui, pass.view);
    let label = (spare >= label + SLIDER_WIDTHS.0).then_some(label);
    spare -= label.unwrap_or(0.0);
    let slider = (spare >= SLIDER_WIDTHS.0).then(|| spare.min(SLIDER_WIDTHS.1));
    show_parameter(ui, room, 0, &Widths { label, slider, value: VALUE_WIDTH }, pass);
}

/// Returns the width in points of the name of the first parameter in the strip.
fn label_width(ui: &Ui, view: &View) -> f32 {
    let parameter = view.sliders.0.opened().and_then(|filter| filter.description.parameters.first());
    let Some(parameter) = parameter else { return LABEL_WIDTHS.0 };
    let galley = ui.painter().layout_no_wrap(parameter.name.clone(), theme::words(12.5), theme::TEXT);
    (galley.size().x + 9.0).clamp(LABEL_WIDTHS.0, LABEL_WIDTHS.1)
}

/// Returns the place of the group of several parameters at the lower left of `free`, and the rest of `free`, beside or above it;
/// `None` and `free` if the selected filter has no more than one parameter, or there is no room. If `free` is beside an unfolded
/// headline, which has the rectangle `headline`, the group stands below the headline as far as it fits.
pub(crate) fn place(free: Rect, headline: Option<Rect>, view: &View) -> (Option<Rect>, Rect) {
    let count = view.sliders.0.filter().description.parameters.len();
    let height = (count as f32 * ROW_HEIGHT + 2.0 * theme::PAD).min(free.height());
    let size = vec2(GROUP_WIDTH.min(free.width()), height);
    let least = LEAST_WIDTH + GROUP_TEXTS.0;
    if count < 2 || size.x < least || size.y < ROW_HEIGHT + 2.0 * theme::PAD {
        return (None, free);
    }
    let group = Align2::LEFT_BOTTOM.align_size_within_rect(size, free);
    let is_below = |headline: &Rect| headline.bottom() + theme::GAP <= group.top();
    let left = headline.filter(is_below).map_or(free.left(), |headline| headline.left().min(free.left()));
    let group = group.translate(vec2(left - free.left(), 0.0));
    if group.right() + theme::GAP <= free.left() {
        return (Some(group), free);
    }
    let beside = free.with_min_x((group.right() + theme::GAP).min(free.right()));
    let above = free.with_max_y((group.top() - theme::GAP).max(free.top()));
    let is_beside = beside.width() >= MIN_REST.x || above.height() < MIN_REST.y;
    (Some(group), if is_beside { beside } else { above })
}

/// Lays out the group of all parameters of the selected filter in `rect`, a row for each; they scroll if they do not fit.
pub(crate) fn show_group(ui: &mut Ui, rect: Rect, pass: &mut Pass) {
    let mut ui = panel::ground(ui, rect, "parameters");
    let count = pass.view.sliders.0.filter().description.parameters.len();
    let inner = rect.shrink(theme::PAD);
    let mut ui = ui.new_child(UiBuilder::new().id_salt("rows").max_rect(inner));
    ui.spacing_mut().item_spacing.y = 0.0;
    ScrollArea::vertical().auto_shrink(false).min_scrolled_height(0.0).show(&mut ui, |ui| {
        for index in 0..count {
            let (_, row) = ui.allocate_space(vec2(ui.available_width(), ROW_HEIGHT));
            let (label, value) = GROUP_TEXTS;
            let slider = row.width() - label - 2.0 * STEP_BUTTON_WIDTH - value - 15.0;
            let widths = Widths { label: Some(label), slider: Some(slider), value };
            let row = row.shrink2(vec2(0.0, 2.0));
            let mut ui = ui.new_child(UiBuilder::new().id_salt(index).max_rect(row));
            show_parameter(&mut ui, row, index, &widths, pass);
        }
    });
}

/// Lays out the parameter with this index of the selected filter in a row: its name, a button, a slider, a button and the value.
fn show_parameter(ui: &mut Ui, room: Rect, index: usize, widths: &Widths, pass: &mut Pass) {
    let (view, actions) = (pass.view, &mut pass.actions);
    let filter: &Filter = view.sliders.0.filter();
    let parameters = &filter.description.parameters;
    let Some(parameter) = parameters.get(index) else { return };
    let texts = Texts::new(view, parameter, index);
    let [least, most] = parameter.range;
    let value = view.sliders.1.get(index);
    let after = |steps: i32| Action::SetSettings(view.sliders.1.stepped(parameters, index, steps));
    // The identifiers of egui tell the parameters of all filters apart.
    let name = (&filter.name, &parameter.name);
    let steps = mouse::wheel_steps(ui, room, &format!("{name:?}"));
    if steps != 0 {
        actions.push(after(steps));
    }
    let mut x = room.left();
    let place = |x: f32, width: f32| room.with_min_x(x).with_max_x(x + width);
    if let Some(width) = widths.label {
        let area = place(x, width);
        let at = (area.left_center(), Align2::LEFT_CENTER, width - 4.0);
        theme::elided_text(ui, at, &texts.label, (12.5, theme::TEXT));
        ui.interact(area, ui.unique_id().with(("name", name)), Sense::hover()).explain(texts.hover.as_str());
        x += width;
    }
    let step = |ui: &mut Ui, actions: &mut Vec<Action>, x: f32, text: &str, name: &str, (enabled, to)| {
        let rect = place(x, STEP_BUTTON_WIDTH);
        let button = Button::new(RichText::new(text).font(theme::figures(12.5))).min_size(rect.size());
        ui.add_enabled_ui(enabled, |ui| {
            let button = ui.put(rect, button).named(Role::Button, name);
            button.explain(texts.hover.as_str()).on_click(to, actions);
        });
    };
    step(ui, actions, x, "-", &texts.buttons[0], (value > least, after(-1)));
    x += STEP_BUTTON_WIDTH + 4.0;
    if let Some(width) = widths.slider {
        ui.spacing_mut().slider_width = width;
        let mut chosen = value.clamp(least, most);
        let slider = Slider::new(&mut chosen, least..=most).show_value(false);
        let slider = if parameter.is_whole { slider.integer() } else { slider };
        // A slider with steps would change a value between them that the command line has set.
        let slider = ui.put(place(x, width), slider);
        let slider = slider.named(Role::Slider, &texts.label).explain(texts.slider_hover.as_str());
        if slider.changed() {
            let steps = ((chosen - least) / parameter.step).round();
            let chosen = least + steps * parameter.step;
            actions.push(Action::SetSettings(view.sliders.1.with(parameters, index, chosen)));
        }
        x += width + 4.0;
    }
    step(ui, actions, x, "+", &texts.buttons[1], (value < most, after(1)));
    x += STEP_BUTTON_WIDTH + 7.0;
    let text = parameter.value_text(value);
    let at = pos2(x, room.center().y);
    let galley = ui.painter().layout_no_wrap(text.clone(), theme::figures(12.5), theme::STRONG);
    let place = match galley.size().x <= widths.value {
        true => ui.figures(at, Align2::LEFT_CENTER, &text, 12.5, theme::STRONG),
        false => {
            let style = (12.5, theme::STRONG);
            theme::elided_text(ui, (at, Align2::LEFT_CENTER, widths.value), &text, style)
        }
    };
    describe::number(ui, place, &texts.value, &text);
}
