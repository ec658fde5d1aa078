//! Tells tests what the overlay shows. In: the texts of a pass. Out: the file that [`VARIABLE`] names, whenever they
//! have changed: a JSON list of `{"text", "x", "y", "width", "height"}`, in pixels of the window.

use std::path::PathBuf;

use serde::Serialize;

/// The environment variable that names the file. Without it nothing is told.
const VARIABLE: &str = "CLREEL_TEXTS";

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

/// The file, and what was written last.
#[derive(Debug)]
pub(super) struct TextFile {
    path: Option<PathBuf>,
    written: Vec<u8>,
}

impl TextFile {
    pub(crate) fn new() -> Self {
        let path = base::environment::get(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { path, written: Vec::new() }
    }

    /// Tells the texts of these shapes; `scale` is pixels in a point. A file that cannot be written is not tried again.
    pub(crate) fn tell(&mut self, shapes: &[egui::epaint::ClippedShape], scale: f32) {
        let Some(path) = &self.path else { return };
        let texts = overlay::texts(shapes);
        let rows = texts.iter().map(|(text, rect)| Text {
            text,
            x: rect.left() * scale,
            y: rect.top() * scale,
            width: rect.width() * scale,
            height: rect.height() * scale,
        });
        let Ok(json) = serde_json::to_vec(&rows.collect::<Vec<_>>()) else { return };
        if json == self.written {
            return;
        }
        // Renamed, so that nobody reads half of it.
        let part = path.with_extension("part");
        if let Err(error) = std::fs::write(&part, &json).and_then(|()| std::fs::rename(&part, path)) {
            eprintln!("clreel: '{}' cannot be written: {error}.", base::text::name(path));
            self.path = None;
        }
        self.written = json;
    }
}
