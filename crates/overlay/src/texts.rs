//! The texts of a pass with their positions, from which tests get texts and places to click.

use egui::epaint::ClippedShape;
use egui::{Rect, Shape};

/// Returns every text of a pass whose centre is visible, in the order of painting, and its rectangle in points.
pub fn texts(shapes: &[ClippedShape]) -> Vec<(String, Rect)> {
    let mut found = Vec::new();
    shapes.iter().for_each(|clipped| collect_texts(&clipped.shape, clipped.clip_rect, &mut found));
    found
}

/// Adds the visible texts of `shape` to `found`; `clip` is the rectangle outside which nothing is drawn.
fn collect_texts(shape: &Shape, clip: Rect, found: &mut Vec<(String, Rect)>) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|s| collect_texts(s, clip, found)),
        Shape::Text(text) => {
            let rect = text.galley.rect.translate(text.pos.to_vec2());
            if clip.contains(rect.center()) && !text.galley.text().is_empty() {
                found.push((text.galley.text().to_owned(), rect));
            }
        }
        _ => {}
    }
}
