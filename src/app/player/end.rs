//! The end of the window. In: the wish to quit. Out: the files that were asked for with the command line, written on a thread
//! of their own while the window still answers; then everything is taken down.

use std::path::Path;
use std::time::{Duration, Instant};

use winit::event_loop::{ActiveEventLoop, ControlFlow};

use super::devices::Devices;
use super::files::names;
use super::{IDLE_REPAINT, Player};
use crate::app::settings::Settings;
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::save;
use base::timing::log;
use engine::stats::{self, write_trace};
use opencl::device_thread::DeviceThread;
use opengl::read_texture::read_texture;
use video::color::straighten;

/// How long the end of the window waits for devices that are made ready or left.
const END: Duration = Duration::from_millis(300);

/// What is written before the window goes.
pub(super) struct LastFiles {
    /// Whether the trace can be written: better known before there is one.
    trial: Option<Job<()>>,
    job: Option<Job<()>>,
    /// What came of it, from when on it is known.
    result: Option<Result<()>>,
}

impl LastFiles {
    /// Begins to try whether `trace` can be written: its folder may be one that does not answer.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn begin(trace: Option<&Path>, waker: &Waker) -> Result<Self> {
        let trial = trace.map(|trace| {
            let trace = trace.to_path_buf();
            let work = move |_: &_| save::can_write(&trace);
            Job::spawn("trial", "Whether the trace can be written is not known.", waker, work)
        });
        Ok(Self { trial: trial.transpose()?, job: None, result: None })
    }

    /// Why the trace cannot be written, once that is known.
    pub(super) fn complaint(&mut self) -> Option<Error> {
        let tried = self.trial.as_ref()?.wait(Duration::ZERO)?;
        self.trial = None;
        tried.err()
    }

    /// Whether they are being written.
    pub(super) fn are_on_their_way(&self) -> bool {
        self.job.is_some()
    }

    /// Waits so long for them; whether they are written, or could not be.
    fn wait(&mut self, time: Duration) -> bool {
        if let Some(done) = self.job.as_ref().and_then(|job| job.wait(time)) {
            (self.result, self.job) = (Some(done), None);
        }
        self.result.is_some()
    }
}

/// Writes one of them.
type Write = Box<dyn FnOnce() -> Result<()> + Send>;

impl Player<'_> {
    /// Ends playing, and begins to write what was asked for; whether that is over.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.quit = true;
        if self.last.job.is_none() && self.last.result.is_none() {
            let no_screenshot = self.args.screenshot.is_some() && self.saves.screenshot().is_none();
            if self.saves.want_drawing() || no_screenshot {
                let _ = self.draw();
            }
            let frame = self.frame_to_write();
            self.begin_to_write(frame);
        }
        self.last.wait(Duration::ZERO)
    }

    /// A turn while the files are written: nothing but the window goes on.
    pub(super) fn rest_while_written(&mut self, event_loop: &ActiveEventLoop) {
        self.overlay.say("Writing the files that were asked for; the window closes after that".to_owned());
        self.repaints.after(IDLE_REPAINT);
        let at = self.repaints.at();
        if at.is_some_and(|at| at <= Instant::now()) {
            self.gl_window.window.request_redraw();
        }
        event_loop.set_control_flow(at.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }

    /// Takes everything down once the files are written. The error is that of a file that cannot be written; the others are
    /// written all the same. Returns also whether OpenCL is idle: while a kernel or a compiler runs, the process must not run
    /// the driver's exit handlers.
    pub(crate) fn close(mut self) -> (Result<()>, bool) {
        self.has_ended();
        let result = self.write();
        // Both are asked, whatever the first one says.
        let (device, builder) = (self.frames.shut_down(), self.devices.shut_down());
        let tuner = self.tuning.shut_down();
        self.lab.shut_down();
        let check = self.check.shut_down();
        let idle = device && builder && tuner && check && DeviceThread::have_ended(END);
        // Whoever still opens or reads a file must not be there when the process takes its own things down.
        let reading = !self.movies.end(&mut self.frames);
        if idle {
            self.movies.destroy();
            self.surface.destroy();
        } else {
            // An OpenCL context that is still at work may share with the window's: neither is taken down.
            std::mem::forget(self);
        }
        (result, idle && !reading)
    }

    /// The part of [`Player::close`] that needs no display: waits for all that is on its way to the disk.
    pub(crate) fn write(&mut self) -> Result<()> {
        self.with_devices(Devices::end_recovery);
        for saved in self.saves.finished(true) {
            match saved {
                Ok(paths) => eprintln!("clreel: Saved {}", names(&paths)),
                Err(error) => eprintln!("clreel: {error}"),
            }
        }
        let settings = Settings::of(&self.overlay, self.surface.scale());
        if let Err(error) = self.settings.keep_now(&settings) {
            eprintln!("clreel: {error}");
        }
        if self.last.job.is_none() && self.last.result.is_none() {
            self.begin_to_write(None);
        }
        self.last.wait(Duration::MAX);
        self.last.result.take().unwrap_or(Ok(()))
    }

    /// The last picture, if that was asked for.
    fn frame_to_write(&mut self) -> Option<Write> {
        let path = self.args.save_frame.clone()?;
        let (texture, size) = self.frames.whole_texture()?;
        let orientation = self.frames.shown_orientation();
        let rgba = read_texture(&self.gl_window.gl, texture, size);
        Some(Box::new(move || {
            let (size, mut rgba) = orientation.turn(size, rgba?)?;
            straighten(&mut rgba);
            save::png(&path, size.0, size.1, &rgba)
        }))
    }

    /// Begins to write what was asked for, the last picture among it.
    fn begin_to_write(&mut self, frame: Option<Write>) {
        let mut files: Vec<Write> = frame.into_iter().collect();
        if let (Some(path), Some((width, height, rgba))) =
            (&self.args.screenshot, self.saves.take_screenshot())
        {
            let path = path.clone();
            files.push(Box::new(move || save::png(&path, width, height, &rgba)));
        }
        if let Some(path) = self.args.stats.clone() {
            let (recorder, context) =
                (self.movies.scene().stats(&self.frames).clone(), self.export_context());
            files.push(Box::new(move || stats::export(&path, &recorder, &context)));
        }
        if let (Some(path), Some(recorded)) = (self.args.trace.trace.clone(), log::copy()) {
            let context = self.trace_context();
            files.push(Box::new(move || write_trace(&path, &recorded, &context)));
        }
        if files.is_empty() {
            self.last.result = Some(Ok(()));
            return;
        }
        let trial = self.last.trial.take();
        // The first error is told, and the others are written all the same.
        let write = move |_: &_| {
            // It has a file of the same name as what is written now. What it says is said then, too.
            if let Some(trial) = trial {
                let _ = trial.wait(Duration::MAX);
            }
            let mut written = Ok(());
            for file in files {
                // One that cannot be written keeps none of the others away.
                let this = file();
                written = written.and(this);
            }
            written
        };
        match Job::spawn("end", "The files of the end could not be written.", &self.waker, write) {
            Ok(job) => self.last.job = Some(job),
            Err(error) => self.last.result = Some(Err(error)),
        }
    }
}
