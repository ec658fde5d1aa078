//! What the window writes: settings now and then, statistics when asked for, and at the end the screenshot and all that was asked
//! for. In: the state of the window. Out: files, and sentences about them.

use std::path::PathBuf;
use std::time::Duration;

use super::Player;
use super::devices::Devices;
use crate::app::settings::Settings;
use crate::error::Result;
use crate::gpu::device_thread::DeviceThread;
use crate::gpu::read_texture::read_texture;
use crate::stats::{self, ExportContext, TraceContext, write_trace};
use crate::timing::log;

/// How long the end of the window waits for devices that are made ready or left.
const END: Duration = Duration::from_millis(300);

impl Player<'_> {
    /// Says what has been saved, and keeps the settings.
    pub(super) fn look_after_files(&mut self) {
        for saved in self.saves.finished(false) {
            match saved {
                Ok(paths) => self.say_saved(&paths),
                Err(error) => self.notify(error, false),
            }
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
    fn trace_context(&self) -> TraceContext {
        TraceContext {
            device: self.devices.info().map(|device| device.name.clone()),
            gl_renderer: Some(self.gl_window.renderer.clone()),
        }
    }

    /// What the statistics are about.
    fn export_context(&self) -> ExportContext {
        let facts = self.movies.scene().facts();
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

    /// Writes the screenshot and the statistics that were asked for, and takes everything down. The error is
    /// that of a file that cannot be written; the others are written all the same. Returns also whether OpenCL
    /// is idle: while a kernel or a compiler runs, the process must not run the driver's exit handlers.
    pub(crate) fn close(mut self) -> (Result<()>, bool) {
        let no_screenshot = self.args.screenshot.is_some() && self.saves.screenshot().is_none();
        if self.saves.want_drawing() || no_screenshot {
            let _ = self.draw();
        }
        let frame = self.write_frame();
        let result = frame.and(self.write());
        // Both are asked, whatever the first one says.
        let (device, builder) = (self.frames.shut_down(), self.devices.shut_down());
        let tuner = self.tuning.shut_down();
        self.lab.shut_down();
        let idle = device && builder && tuner && DeviceThread::have_ended(END);
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

    /// Writes the last picture, if that was asked for.
    fn write_frame(&mut self) -> Result<()> {
        let Some(path) = &self.args.save_frame else { return Ok(()) };
        let Some((texture, size)) = self.frames.shown_texture() else { return Ok(()) };
        let rgba = read_texture(&self.gl_window.gl, texture, size)?;
        let (size, rgba) = self.frames.shown_orientation().turn(size, rgba)?;
        crate::save::png(path, size.0, size.1, &rgba)
    }

    /// The part of [`Player::close`] that needs no display.
    pub(crate) fn write(&mut self) -> Result<()> {
        let mut result = Ok(());
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
        if let (Some(path), Some((width, height, rgba))) = (&self.args.screenshot, self.saves.screenshot()) {
            result = crate::save::png(path, *width, *height, rgba);
        }
        if let Some(path) = &self.args.stats {
            let written =
                stats::export(path, self.movies.scene().stats(&self.frames), &self.export_context());
            result = result.and(written);
        }
        if let (Some(path), Some(recorded)) = (&self.args.trace.trace, log::copy()) {
            result = result.and(write_trace(path, &recorded, &self.trace_context()));
        }
        result
    }
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(" and ")
}
