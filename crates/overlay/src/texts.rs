//! The texts that a pass has painted, with their positions, in which tests find texts and places to click.

use egui::epaint::ClippedShape;
use egui::{Rect, Shape};

/// Returns every text of a pass (layout of the overlay) whose centre is visible, in the order of painting, and its rectangle in
/// points.
pub fn texts(shapes: &[ClippedShape]) -> Vec<(String, Rect)> {
    let mut found = Vec::new();
    visit(shapes, &mut |shape, clip| {
        let Shape::Text(text) = shape else { return };
        let rect = text.galley.rect.translate(text.pos.to_vec2());
        if clip.contains(rect.center()) && !text.galley.text().is_empty() {
            found.push((text.galley.text().to_owned(), rect));
        }
    });
    found
}

/// Calls `each` for every shape that is not a group of shapes, with the clip rectangle of the shape.
pub(crate) fn visit(shapes: &[ClippedShape], each: &mut dyn FnMut(&Shape, Rect)) {
    fn within(shape: &Shape, clip: Rect, each: &mut dyn FnMut(&Shape, Rect)) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| within(shape, clip, each)),
            shape => each(shape, clip),
        }
    }
    shapes.iter().for_each(|clipped| within(&clipped.shape, clipped.clip_rect, each));
}
