//! Where the overlay's texts are, for tests: they find by them what they click at, and see what is told.

use egui::epaint::ClippedShape;
use egui::{Rect, Shape};

/// Every text of a pass whose middle can be seen, in the order of painting, and the rectangle that it covers in points.
pub fn texts(shapes: &[ClippedShape]) -> Vec<(String, Rect)> {
    let mut found = Vec::new();
    shapes.iter().for_each(|clipped| collect(&clipped.shape, clipped.clip_rect, &mut found));
    found
}

fn collect(shape: &Shape, clip: Rect, found: &mut Vec<(String, Rect)>) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|s| collect(s, clip, found)),
        Shape::Text(text) => {
            let rect = text.galley.rect.translate(text.pos.to_vec2());
            if clip.contains(rect.center()) && !text.galley.text().is_empty() {
                found.push((text.galley.text().to_owned(), rect));
            }
        }
        _ => {}
    }
}
