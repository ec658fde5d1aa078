//! What the window writes: settings now and then, statistics when asked for, and what was asked for at the end. In: the state of
//! the window. Out: files, and sentences about them.

use std::path::PathBuf;

use super::Player;
use crate::app::settings::Settings;
use base::timing::log;
use engine::stats::{self, ExportContext, TraceContext, write_trace};

impl Player<'_> {
    /// Says what has been saved, and keeps the settings.
    pub(super) fn look_after_files(&mut self) {
        for saved in self.saves.finished(false) {
            match saved {
                Ok(paths) => self.say_saved(&paths),
                Err(error) => self.notify(error, false),
            }
        }
        if let Some(error) = self.last.complaint() {
            self.notify(error, false);
        }
        let settings = Settings::of(&self.overlay, self.surface.scale());
        match self.settings.keep(&settings) {
            Ok(wait) => {
                if let Some(wait) = wait {
                    self.repaints.after(wait);
                }
            }
            Err(error) => self.notify(error, false),
        }
    }

    fn say_saved(&mut self, paths: &[PathBuf]) {
        let text = format!("Saved {}", names(paths));
        eprintln!("clreel: {text}");
        self.overlay.say(text);
        self.repaints.soon();
    }

    /// Saves the statistics, and what happened just now.
    pub(super) fn export_stats(&mut self) {
        let (context, recorder) = (self.export_context(), self.movies.scene().stats(&self.frames).clone());
        let (recorded, trace) = (log::copy(), self.trace_context());
        let write = move |paths: &[PathBuf]| {
            let [tables @ .., last] = paths else { return Ok(()) };
            tables.iter().try_for_each(|path| stats::export(path, &recorder, &context))?;
            recorded.map_or(Ok(()), |recorded| write_trace(last, &recorded, &trace))
        };
        let endings = &["csv", "json", "trace.json"];
        if let Err(error) = self.saves.begin("stats", endings, write, &self.waker) {
            self.notify(error, false);
        }
    }

    /// What the trace is of.
    pub(super) fn trace_context(&self) -> TraceContext {
        TraceContext {
            device: self.devices.info().map(|device| device.name.clone()),
            gl_renderer: Some(self.gl_window.renderer.clone()),
        }
    }

    /// What the statistics are about.
    pub(super) fn export_context(&self) -> ExportContext {
        let facts = self.movies.facts();
        ExportContext {
            movie: facts.file_name.clone(),
            width: facts.width,
            height: facts.height,
            fps: facts.fps,
            device: self.devices.info().cloned(),
            gl_renderer: self.gl_window.renderer.clone(),
            sharing: self.devices.sharing().name().to_owned(),
            sharing_reason: self.devices.sharing().reason().to_owned(),
            variant: self.frames.chosen().0,
            radius: self.frames.chosen().1,
            unpaced: self.args.unpaced,
        }
    }
}

pub(super) fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(base::text::name).collect::<Vec<_>>().join(" and ")
}
