//! Files that the window writes during playback: settings, saved pictures, and statistics.

use std::path::PathBuf;

use super::Player;
use crate::app::saved_run;
use crate::app::settings::Settings;
use base::metadata::Metadata;
use base::stderr::print_message;
use base::timing::log;
use engine::stats::{self, ExportContext, ExportedMovie, UsedKernel, write_trace};
use ladder::results::Report;

/// The name and version of this program, for the metadata of files.
const PROGRAM: &str = concat!("clreel ", env!("CARGO_PKG_VERSION"));

impl Player<'_> {
    /// Shows messages about files that were saved since the last call, and writes the settings if they have changed.
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

    /// Returns the current settings, including those that the user has changed in the window.
    pub(super) fn current_settings(&self) -> Settings {
        Settings {
            ui_scale: self.surface.scale,
            kernel_folders: self.kernels.folders.clone(),
            overlay: self.cx.overlay.saved_state(),
        }
    }

    /// Saves the statistics as CSV and JSON, the recorded events as a trace, and the results of the Lab, if there are any, to
    /// new files.
    pub(super) fn export_stats(&mut self) {
        let (context, recorder) = (self.export_context(), self.cx.frames.recorder.clone());
        let recorded = log::copy();
        let lab = [("lab.json", self.lab.results()), ("bench.json", self.lab.report())];
        let lab: Vec<(&str, Report)> =
            lab.into_iter().filter_map(|(ending, results)| Some((ending, results?))).collect();
        let endings: Vec<&str> =
            ["csv", "json", "trace.json"].into_iter().chain(lab.iter().map(|(ending, _)| *ending)).collect();
        let write = move |paths: &[PathBuf]| {
            let [csv, json, last, of_lab @ ..] = paths else { return Ok(()) };
            [csv, json].into_iter().try_for_each(|path| stats::export(path, &recorder, &context))?;
            of_lab.iter().zip(&lab).try_for_each(|(path, (_, results))| results.save(path))?;
            recorded.map_or(Ok(()), |recorded| write_trace(last, &recorded, Some(&context)))
        };
        let begun = self.saves.begin("stats", &endings, write);
        self.cx.or_notify(begun);
    }

    /// Saves the recorded filter times as a benchmark result, in the format of `clreel bench --save`.
    pub(super) fn save_run(&mut self) {
        let (context, recorder) = (self.export_context(), self.cx.frames.recorder.clone());
        let write = move |paths: &[PathBuf]| {
            let results = saved_run::results(&recorder, &context)?;
            paths.iter().try_for_each(|path| results.save(path))
        };
        let begun = self.saves.begin("run", &["json"], write);
        self.cx.or_notify(begun);
    }

    /// Saves results in the format of `clreel bench --save`; does nothing if `results` is `None`.
    pub(super) fn save_results(&mut self, name: &'static str, results: Option<Report>) {
        let Some(results) = results else { return };
        let write = move |paths: &[PathBuf]| paths.iter().try_for_each(|path| results.save(path));
        let begun = self.saves.begin(name, &["json"], write);
        self.cx.or_notify(begun);
    }

    /// Returns the kernel files with which the recorded frames were filtered.
    fn used_kernels(&self) -> Vec<UsedKernel> {
        let kind = self.devices.running.kind();
        let used = self.cx.frames.recorder.used_versions();
        used.into_iter().filter_map(|(variant, version)| self.kernels.used(variant, version, kind)).collect()
    }

    /// Returns the properties of the movie, the device and the filter for the header of the statistics.
    pub(super) fn export_context(&self) -> ExportContext {
        let facts = self.movies.scenes.facts();
        ExportContext {
            metadata: Metadata::now(PROGRAM),
            kernels: self.used_kernels(),
            movie: ExportedMovie {
                file: facts.file_name.clone(),
                fps: facts.fps,
                height: facts.height,
                width: facts.width,
            },
            device: self.devices.running.info.clone(),
            clock: self.devices.running.clock(),
            gl_renderer: self.cx.gl_window.renderer.clone(),
            sharing: self.devices.running.sharing.name().to_owned(),
            sharing_reason: self.devices.running.sharing.reason().to_owned(),
            variant: self.cx.frames.choice.filter().0,
            radius: self.cx.frames.choice.filter().1,
            unpaced: self.cx.args.unpaced,
        }
    }
}

/// Returns the names of these files, joined by "and", for a message.
pub(super) fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(base::text::name).collect::<Vec<_>>().join(" and ")
}
