//! Files that the window writes during playback (settings, saved pictures, statistics) and at the end. A job writes the files
//! that the command line requests while the window still responds, then everything is shut down.

use std::io::Write as _;
use std::path::PathBuf;

use super::save::SavedPicture;
use super::*;
use crate::app::saved_run;
use crate::app::settings::Settings;
use base::metadata::Metadata;
use base::stderr::print_message;
use base::timing::log;
use ladder::results::Report;
use opencl::device_thread::DeviceThread;
use opengl::read_texture::read_texture;
use overlay::LadderExport;
use stats::{ExportContext, ExportedMovie, write_trace};

/// The name and version of this program, for the metadata of files.
const PROGRAM: &str = concat!("clreel ", env!("CARGO_PKG_VERSION"));

/// The maximum time for which closing the window waits for the threads of devices.
const THREADS_TIMEOUT: Duration = Duration::from_millis(300);

/// A function that writes one of the requested files.
type Write = Box<dyn FnOnce() -> Result<()> + Send>;

impl Player<'_> {
    /// Shows messages about files that were saved since the last call, and writes the settings if they have changed.
    pub(super) fn update_saved_files(&mut self) {
        for saved in self.saves.take_finished(false) {
            if let Some(paths) = self.cx.or_tell(saved) {
                let text = format!("Saved {}", names(&paths));
                print_message(&text);
                self.cx.overlay.show_message(text);
                self.cx.repaints.redraw_soon();
            }
        }
        if let Some(Err(error)) = Job::take_result(&mut self.saves.trial, Duration::ZERO) {
            self.cx.notify(error, false);
        }
        let kept = self.settings.keep(&self.current_settings());
        if let Some(wait) = self.cx.or_notify(kept).flatten() {
            self.cx.repaints.redraw_within(wait);
        }
    }

    /// Returns the current settings, including those that the user has changed in the window.
    fn current_settings(&self) -> Settings {
        Settings {
            ui_scale: self.surface.scale,
            kernel_folders: self.kernels.folders.clone(),
            stack: self.kernels.saved_stack(),
            recent_files: self.cx.overlay.path_prompt.recent.clone(),
            overlay: self.cx.overlay.saved_state(),
        }
    }

    /// Saves the statistics as CSV and JSON, the recorded events as a trace, and the results of the Lab, if there are any, to
    /// new files.
    pub(super) fn export_stats(&mut self) {
        let (context, recorder) = (self.export_context(), self.cx.frames.recorder.clone());
        let recorded = log::copy();
        let lab = [("lab.json", self.lab.results.clone()), ("bench.json", self.lab.report())];
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
        self.saves.save("stats", &endings, write);
    }

    /// Saves the recorded filter times as a benchmark result, in the format of `clreel bench --save`.
    pub(super) fn save_run(&mut self) {
        let (context, recorder) = (self.export_context(), self.cx.frames.recorder.clone());
        let write = move |paths: &[PathBuf]| {
            let results = saved_run::results(&recorder, &context)?;
            paths.iter().try_for_each(|path| results.save(path))
        };
        self.saves.save("run", &["json"], write);
    }

    /// Saves the ladder with the current settings and size as a table and as a chart.
    pub(super) fn export_ladder(&mut self) {
        let (recorder, screen) = (&self.cx.frames.recorder, &self.cx.frames.presenter.screen);
        let (chosen, settings) = self.cx.frames.choice.filter();
        let at = (chosen, settings, screen.size().unwrap_or_default());
        let device = self.devices.running.info.as_ref();
        let export = LadderExport::new(recorder, device, (&self.saved_run.columns, self.kernels.shown()), at);
        let Some(export) = self.cx.or_tell(export) else { return };
        let write = move |paths: &[PathBuf]| {
            let [csv, svg, png] = paths else { return Ok(()) };
            for (path, text) in [(csv, export.csv()), (svg, export.svg())] {
                base::save::atomically(path, |file| file.write_all(text.as_bytes()))?;
            }
            let (width, height, rgba) = export.picture();
            base::save::png(png, width, height, &rgba)
        };
        self.saves.save("ladder", &["csv", "svg", "png"], write);
    }

    /// Saves results in the format of `clreel bench --save`; does nothing if `results` is `None`.
    pub(super) fn save_results(&mut self, name: &'static str, results: Option<Report>) {
        let Some(results) = results else { return };
        let write = move |paths: &[PathBuf]| paths.iter().try_for_each(|path| results.save(path));
        self.saves.save(name, &["json"], write);
    }

    /// Returns the properties of the movie, the device and the filter for the header of the statistics.
    pub(super) fn export_context(&self) -> ExportContext {
        let (facts, running) = (self.movies.scenes.facts(), &self.devices.running);
        // The kernel files with which the recorded frames were filtered.
        let used = self.cx.frames.recorder.used_versions().into_iter();
        let kernels = used.filter_map(|(of, version)| self.kernels.used(of, version, running.kind()));
        ExportContext {
            metadata: Metadata::now(PROGRAM),
            kernels: kernels.collect(),
            movie: ExportedMovie {
                file: facts.file_name.clone(),
                fps: facts.fps,
                height: facts.height,
                width: facts.width,
            },
            device: running.info.clone(),
            clock: running.clock.state(),
            gl_renderer: self.cx.gl_window.renderer.clone(),
            sharing: running.sharing.name().to_owned(),
            sharing_reason: running.sharing.reason().to_owned(),
            filter: self.cx.frames.choice.filter(),
            unpaced: self.cx.args.unpaced,
        }
    }

    /// Stops playing and starts to write the files that the command line requests. Returns true once each file was written or
    /// has failed; must be called again until then.
    pub(crate) fn poll_end(&mut self) -> bool {
        self.quit = true;
        if self.saves.last.is_none() && self.saves.last_result.is_none() {
            let saves = &self.saves;
            let no_screenshot = self.cx.args.screenshot.is_some() && saves.screenshot.is_none();
            if saves.wants_frame || saves.wants_window || no_screenshot {
                let _ = self.draw();
            }
            let screen = &mut self.cx.frames.presenter.screen;
            let path = self.cx.args.save_frame.clone();
            let picture = path.and_then(|path| Some((path, screen.filled_texture()?)));
            let frame = picture.map(|(path, (texture, size))| -> Write {
                let orientation = screen.orientation();
                let rgba = read_texture(&self.cx.gl_window.gl, texture, size);
                Box::new(move || SavedPicture { size, rgba: rgba?, orientation }.write(&path))
            });
            self.begin_to_write(frame);
        }
        self.saves.wait_for_last(Duration::ZERO)
    }

    /// Makes one turn of the event loop while the files are being written: only draws the window.
    pub(super) fn wait_for_last_files(&mut self, event_loop: &ActiveEventLoop) {
        self.cx
            .overlay
            .show_message("Writing the files that were asked for; the window closes after that".to_owned());
        self.cx.repaints.redraw_within(IDLE_REPAINT);
        let at = self.cx.repaints.next_redraw;
        if at.is_some_and(|at| at <= Instant::now()) {
            self.cx.gl_window.window.request_redraw();
        }
        event_loop.set_control_flow(at.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }

    /// Shuts everything down once the files are written. Returns the first error of writing a file (all other files are written
    /// nevertheless), and true if OpenCL is idle. If it is not, because a kernel or a compiler still runs, the process must not
    /// run the driver's exit handlers.
    pub(crate) fn close(mut self) -> (Result<()>, bool) {
        self.poll_end();
        let result = self.write();
        // All parts are shut down, even if the first one returns false.
        let (device, builder) = (self.cx.frames.shut_down(), self.devices.shut_down());
        let measurements = self.cx.lane.shut_down();
        let idle = device && builder && measurements && DeviceThread::have_ended(THREADS_TIMEOUT);
        // Threads that still read a file must not run during the process's exit handlers.
        let reading = !self.sound.end() | !self.movies.end(&mut self.cx.frames);
        if idle {
            self.surface.destroy();
        } else {
            // An OpenCL context in use may share objects with the window's OpenGL context: neither is destroyed.
            std::mem::forget(self);
        }
        (result, idle && !reading)
    }

    /// Writes all files that the command line requests and waits until they are written; needs no display.
    pub(crate) fn write(&mut self) -> Result<()> {
        self.devices.recovery.end(&mut self.cx);
        for saved in self.saves.take_finished(true) {
            match saved {
                Ok(paths) => print_message(format_args!("Saved {}", names(&paths))),
                Err(error) => print_message(&error),
            }
        }
        self.kernels.finish_storing(&self.cx.waker);
        if let Err(error) = self.settings.keep_now(&self.current_settings()) {
            print_message(&error);
        }
        if self.saves.last.is_none() && self.saves.last_result.is_none() {
            self.begin_to_write(None);
        }
        self.saves.wait_for_last(Duration::MAX);
        self.saves.last_result.take().unwrap_or(Ok(()))
    }

    /// Starts to write the files that the command line requests; `frame` is the function that writes the last picture.
    fn begin_to_write(&mut self, frame: Option<Write>) {
        let mut files: Vec<Write> = frame.into_iter().collect();
        if let (Some(path), Some(picture)) = (&self.cx.args.screenshot, self.saves.screenshot.take()) {
            let path = path.clone();
            files.push(Box::new(move || picture.write(&path)));
        }
        if let Some(path) = self.cx.args.stats.clone() {
            let (recorder, context) = (self.cx.frames.recorder.clone(), self.export_context());
            files.push(Box::new(move || stats::export(&path, &recorder, &context)));
        }
        if let (Some(path), Some(recorded)) = (self.cx.args.trace.trace.clone(), log::copy()) {
            let context = self.export_context();
            files.push(Box::new(move || write_trace(&path, &recorded, Some(&context))));
        }
        if files.is_empty() {
            self.saves.last_result = Some(Ok(()));
            return;
        }
        let trial = self.saves.trial.take();
        let write = move |_: &_| {
            // The test uses the trace's file; if it has failed, writing the file will fail, too.
            if let Some(trial) = trial {
                let _ = trial.wait(Duration::MAX);
            }
            // The first error is returned; all files are written.
            let results: Vec<Result<()>> = files.into_iter().map(|file| file()).collect();
            results.into_iter().collect()
        };
        let failed = "The files of the end could not be written.";
        self.saves.last = Some(Job::spawn("end", failed, &self.cx.waker, write));
    }
}

/// Returns the names of these files, joined by "and", for a message.
fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(base::text::name).collect::<Vec<_>>().join(" and ")
}
