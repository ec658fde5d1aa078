//! Files that the window writes during playback: settings, saved pictures, and statistics.

use std::io::Write as _;
use std::path::PathBuf;

use super::Player;
use crate::app::settings::Settings;
use base::save;
use base::stderr::print_message;
use base::timing::log;
use engine::stats::{self, ExportContext, TraceContext, write_trace};

impl Player<'_> {
    /// Reports files that were saved since the last call, and writes the settings if they have changed.
    pub(super) fn update_saved_files(&mut self) {
        for saved in self.saves.take_finished(false) {
            if let Some(paths) = self.cx.or_notify(saved) {
                let text = format!("Saved {}", names(&paths));
                print_message(&text);
                self.cx.overlay.show_message(text);
                self.cx.repaints.redraw_soon();
            }
        }
        if let Some(error) = self.last.take_trace_error() {
            self.cx.notify(error, false);
        }
        let kept = self.settings.keep(&self.current_settings());
        if let Some(wait) = self.cx.or_notify(kept).flatten() {
            self.cx.repaints.redraw_within(wait);
        }
    }

    /// Returns the settings as the user has changed them.
    pub(super) fn current_settings(&self) -> Settings {
        Settings { ui_scale: self.surface.scale(), overlay: self.cx.overlay.saved_state() }
    }

    /// Saves the statistics as CSV and JSON, and the recorded events as a trace.
    pub(super) fn export_stats(&mut self) {
        let (context, recorder) = (self.export_context(), self.cx.frames.recorder.clone());
        let (recorded, trace) = (log::copy(), self.trace_context());
        let write = move |paths: &[PathBuf]| {
            let [tables @ .., last] = paths else { return Ok(()) };
            tables.iter().try_for_each(|path| stats::export(path, &recorder, &context))?;
            recorded.map_or(Ok(()), |recorded| write_trace(last, &recorded, &trace))
        };
        let endings = &["csv", "json", "trace.json"];
        let begun = self.saves.begin("stats", endings, write, &self.cx.waker);
        self.cx.or_notify(begun);
    }

    /// Starts to save the benchmark of the box filter, if there is one, as `clreel bench --save` does.
    pub(super) fn save_benchmark(&mut self) {
        let Some(report) = self.lab.report() else { return };
        let write = move |paths: &[PathBuf]| {
            let text = format!("{report}\n");
            let write = |path: &PathBuf| save::atomically(path, |file| file.write_all(text.as_bytes()));
            paths.iter().try_for_each(write)
        };
        let begun = self.saves.begin("bench", &["json"], write, &self.cx.waker);
        self.cx.or_notify(begun);
    }

    /// Returns the facts about device and OpenGL for the header of a trace.
    pub(super) fn trace_context(&self) -> TraceContext {
        TraceContext {
            device: self.devices.running.info().map(|device| device.name.clone()),
            clock: self.devices.running.clock(),
            gl_renderer: Some(self.cx.gl_window.renderer.clone()),
        }
    }

    /// Returns the facts about movie, device and filter for the header of the statistics.
    pub(super) fn export_context(&self) -> ExportContext {
        let facts = self.movies.scenes.facts();
        ExportContext {
            movie: facts.file_name.clone(),
            width: facts.width,
            height: facts.height,
            fps: facts.fps,
            device: self.devices.running.info().cloned(),
            clock: self.devices.running.clock(),
            gl_renderer: self.cx.gl_window.renderer.clone(),
            sharing: self.devices.running.sharing().name().to_owned(),
            sharing_reason: self.devices.running.sharing().reason().to_owned(),
            variant: self.cx.frames.choice.filter().0,
            radius: self.cx.frames.choice.filter().1,
            unpaced: self.cx.args.unpaced,
        }
    }
}

/// Returns the names of the files as a list for a message.
pub(super) fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(base::text::name).collect::<Vec<_>>().join(" and ")
}
