//! The texts of a pass with their positions, from which tests get texts and places to click.

use egui::epaint::ClippedShape;
use egui::{Rect, Shape};

/// Returns every text of a pass whose centre is visible, in the order of painting, and its rectangle in points.
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

/// Calls `each` for every shape that is no group of shapes, with the rectangle outside which nothing of it is drawn.
pub(crate) fn visit(shapes: &[ClippedShape], each: &mut dyn FnMut(&Shape, Rect)) {
    fn within(shape: &Shape, clip: Rect, each: &mut dyn FnMut(&Shape, Rect)) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| within(shape, clip, each)),
            shape => each(shape, clip),
        }
    }
    shapes.iter().for_each(|clipped| within(&clipped.shape, clipped.clip_rect, each));
}
