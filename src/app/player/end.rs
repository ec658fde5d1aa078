//! Closing of the window: a job writes the files that the command line requests while the window still responds, then
//! everything is shut down.

use std::path::Path;
use std::time::{Duration, Instant};

use winit::event_loop::{ActiveEventLoop, ControlFlow};

use super::files::names;
use super::save::SavedPicture;
use super::{IDLE_REPAINT, Player};
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::save;
use base::stderr::print_message;
use base::timing::log;
use engine::stats::{self, write_trace};
use opencl::device_thread::DeviceThread;
use opengl::read_texture::read_texture;

/// The maximum time for which closing the window waits for the threads of devices.
const THREADS_TIMEOUT: Duration = Duration::from_millis(300);

/// The files that are written when the window is closed: screenshot, last frame, statistics and trace.
pub(super) struct LastFiles {
    /// The job that tests at the start whether the file of the trace can be written.
    trial: Option<Job<()>>,
    job: Option<Job<()>>,
    result: Option<Result<()>>,
}

impl LastFiles {
    /// Starts a job that tests whether the file `trace` can be written, since the file system may not respond. Does nothing if
    /// `trace` is `None`.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn begin(trace: Option<&Path>, waker: &Waker) -> Result<Self> {
        let trial = trace.map(|trace| {
            let trace = trace.to_path_buf();
            let work = move |_: &_| save::can_write(&trace);
            Job::spawn("trial", "Whether the trace can be written is not known.", waker, work)
        });
        Ok(Self { trial: trial.transpose()?, job: None, result: None })
    }

    /// Returns the error if the test has found that the trace cannot be written. Returns it only once.
    pub(super) fn take_trace_error(&mut self) -> Option<Error> {
        Job::take_result(&mut self.trial, Duration::ZERO)?.err()
    }

    pub(super) fn are_being_written(&self) -> bool {
        self.job.is_some()
    }

    /// Waits for at most `time` until all files are written; returns true if each file was written or has failed.
    fn wait(&mut self, time: Duration) -> bool {
        if let Some(done) = Job::take_result(&mut self.job, time) {
            self.result = Some(done);
        }
        self.result.is_some()
    }
}

/// A function that writes one of the requested files.
type Write = Box<dyn FnOnce() -> Result<()> + Send>;

impl Player<'_> {
    /// Stops playing and starts to write the files that the command line requests. Returns true once each file was written or
    /// has failed; must be called again until then.
    pub(crate) fn poll_end(&mut self) -> bool {
        self.quit = true;
        if self.last.job.is_none() && self.last.result.is_none() {
            let saves = &self.saves;
            let no_screenshot = self.cx.args.screenshot.is_some() && saves.screenshot.is_none();
            if saves.wants_frame || saves.wants_window || no_screenshot {
                let _ = self.draw();
            }
            let frame = self.frame_to_write();
            self.begin_to_write(frame);
        }
        self.last.wait(Duration::ZERO)
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
            self.movies.scenes.destroy();
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
        if self.last.job.is_none() && self.last.result.is_none() {
            self.begin_to_write(None);
        }
        self.last.wait(Duration::MAX);
        self.last.result.take().unwrap_or(Ok(()))
    }

    /// Returns a function that writes the last picture to a file; `None` if the command line does not request that.
    fn frame_to_write(&mut self) -> Option<Write> {
        let path = self.cx.args.save_frame.clone()?;
        let (texture, size) = self.cx.frames.presenter.screen.filled_texture()?;
        let orientation = self.cx.frames.presenter.screen.orientation();
        let rgba = read_texture(&self.cx.gl_window.gl, texture, size);
        Some(Box::new(move || SavedPicture { size, rgba: rgba?, orientation }.write(&path)))
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
            self.last.result = Some(Ok(()));
            return;
        }
        let trial = self.last.trial.take();
        let write = move |_: &_| {
            // The test uses the trace's file; if it has failed, writing the file will fail, too.
            if let Some(trial) = trial {
                let _ = trial.wait(Duration::MAX);
            }
            let mut written = Ok(());
            for file in files {
                // The first error is returned; all files are written.
                let this = file();
                written = written.and(this);
            }
            written
        };
        match Job::spawn("end", "The files of the end could not be written.", &self.cx.waker, write) {
            Ok(job) => self.last.job = Some(job),
            Err(error) => self.last.result = Some(Err(error)),
        }
    }
}
