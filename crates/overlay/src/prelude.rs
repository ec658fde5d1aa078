//! The names that most files of the overlay use: those of egui's shapes and widgets, of their descriptions, of the theme, and of a
//! pass with its input.

pub(crate) use egui::{
    Align, Align2, Button, Color32, CornerRadius, FontId, Galley, Id, Label, Margin, Mesh, Painter, Pos2,
    Rect, Response, RichText, Role, ScrollArea, Sense, Shape, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2,
    vec2,
};

pub(crate) use crate::action::Action;
pub(crate) use crate::describe::{self, Describe as _};
pub(crate) use crate::panels::Panel;
pub(crate) use crate::pass::{Numbers, Pass};
pub(crate) use crate::theme::{self, PaintText as _};
pub(crate) use crate::view::View;
