//! Writing of the overlay's texts to a file, for tests: a JSON list of `{"text", "x", "y", "width", "height"}` in pixels of the
//! window, written whenever the texts change.

use base::stderr::print_message;
use std::path::PathBuf;

use serde::Serialize;

/// The environment variable that names the file for the overlay's texts; no file is written if it is not set.
const VARIABLE: &str = "CLREEL_TEXTS";

/// A text in the overlay, and its rectangle in pixels of the window, as a JSON object.
#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

/// The file for the overlay's texts, and its last contents.
#[derive(Debug)]
pub(super) struct TextFile {
    path: Option<PathBuf>,
    written: Vec<u8>,
}

impl TextFile {
    /// Takes the path of the file from the environment.
    pub(crate) fn new() -> Self {
        let path = base::environment::get(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { path, written: Vec::new() }
    }

    /// Writes the texts among these shapes to the file if they have changed; `scale` is the number of pixels per point. After
    /// an error nothing is written any more.
    pub(crate) fn write(&mut self, shapes: &[egui::epaint::ClippedShape], scale: f32) {
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
        // The file is written under another name and then renamed, so that nobody reads an incomplete file.
        let part = path.with_extension("part");
        if let Err(error) = std::fs::write(&part, &json).and_then(|()| std::fs::rename(&part, path)) {
            print_message(format_args!("'{}' cannot be written: {error}.", base::text::name(path)));
            self.path = None;
        }
        self.written = json;
    }
}
