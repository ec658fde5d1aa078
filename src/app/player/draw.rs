//! Drawing the window: the picture, the overlay over it, and what the overlay is told.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use glow::HasContext as _;

use super::{IDLE_REPAINT, Player};
use crate::scene::Screen;
use base::error::Result;
use base::memory::picture_memory;
use base::timing::ms_since;
use box_filter::VariantId;
use engine::frame_loop::{DrawTimes, GlTimings, Seen, ShownWipe};
use engine::present::Viewport;
use engine::stats::{PlayState, Playing};
use ladder::BackEnd;
use opengl::read_texture::read_texture;
use opengl::timer::Clock;
use overlay::{Action, DeviceList, Placed, ScenePanel, Shown, VariantRow, View, Wipe};
use video::Orientation;

/// What is added to the idea of shaders where their time is not the device's.
const BY_THE_WALL: &str = "Its time is wall time: this OpenGL has no timer queries.";

impl Player<'_> {
    pub(super) fn draw(&mut self) -> Result<()> {
        self.repaints.drawing();
        let window = self.gl_window.size();
        let (mut times, mut timings) = (DrawTimes::default(), GlTimings::default());

        let began = Instant::now();
        let picture = self.frames.picture();
        let orientation = self.frames.shown_orientation();
        let (gl, quad) = (&self.gl_window.gl, self.surface.quad());
        let wipe = self.frames.shown_wipe().filter(|_| self.movies.is_movie());
        let beside = wipe.as_ref().map(|wipe| match wipe.difference {
            Some(_) => (wipe.texture, 0.0),
            None => (wipe.texture, self.overlay.wipe_at()),
        });
        self.frames.sees(Seen { line: beside.map(|(_, from)| from) });
        let has_alpha = self.frames.shown_has_alpha();
        let screen = Screen { gl, quad, size: window, picture, beside, orientation, has_alpha };
        let viewport = screen.viewport();
        let scene = self.movies.scene_mut();
        let mut drawn = Ok(());
        let mut draw = || drawn = scene.draw(&self.frames, &screen);
        match self.frames.gl_timer().filter(|_| picture.is_some()) {
            Some(timer) => timings.present = timer.time_with_next(draw).1,
            None => draw(),
        }
        times.present = ms_since(began);
        if let Err(error) = drawn {
            self.notify(error, true);
        }
        if picture.is_some()
            && self.saves.takes_frame()
            && let Some((texture, size)) = self.frames.whole_texture()
        {
            let saved = read_texture(&self.gl_window.gl, texture, size)
                .and_then(|rgba| self.saves.picture("frame", size, rgba, orientation, &self.waker));
            if let Err(error) = saved {
                self.notify(error, false);
            }
        }

        let began = Instant::now();
        let placed = picture.filter(|_| self.movies.is_movie()).map(|_| {
            let Viewport { x, y, width, height } = viewport;
            let at = [x, window.1 as i32 - y - height, width, height].map(|pixels| pixels as f32);
            Placed { at, orientation }
        });
        let wipe =
            wipe.map(|ShownWipe { sides, by_wall, difference, .. }| Wipe { sides, by_wall, difference });
        let actions = self.paint_overlay(window, placed, wipe.as_ref(), &mut timings);
        times.overlay = ms_since(began);

        if self.saves.takes_window() {
            let upright = Orientation::default();
            let saved = self
                .read_window(window)
                .and_then(|rgba| self.saves.picture("window", window, rgba, upright, &self.waker));
            if let Err(error) = saved {
                self.notify(error, false);
            }
        }
        let last = self.args.frames.is_some_and(|n| self.presented + 1 >= n);
        if self.args.screenshot.is_some() && (last && self.frames.shown_is_new() || self.quit) {
            let rgba = self.read_window(window)?;
            self.saves.keep_screenshot(window, rgba);
        }
        let began = Instant::now();
        self.gl_window.window.pre_present_notify();
        self.gl_window.swap()?;
        times.swap = ms_since(began);

        self.devices.was_drawn();
        let (count, unmeasured) =
            (self.frames.recorder.shown_count(), self.frames.recorder.shown().is_none());
        let is_new = self.frames.swapped(times, timings);
        if self.frames.recorder.shown_count() != count {
            // The first picture's numbers at once, those of others with the next refresh, also in a pause.
            self.repaints.after(if unmeasured { Duration::ZERO } else { IDLE_REPAINT });
        }
        if is_new {
            self.presented += 1;
            if self.args.frames.is_some_and(|n| self.presented >= n) {
                self.quit = true;
            }
        }
        if let Some(title) = self.movies.title(&self.frames) {
            self.gl_window.window.set_title(&title);
        }
        let heeded = if self.last.are_on_their_way() { Vec::new() } else { actions };
        for action in heeded {
            self.act(action);
            self.repaints.soon();
        }
        if !self.frames.is_paused() {
            self.repaints.after(IDLE_REPAINT);
        }
        Ok(())
    }

    fn paint_overlay(
        &mut self,
        window: (u32, u32),
        placed: Option<Placed>,
        wipe: Option<&Wipe>,
        timings: &mut GlTimings,
    ) -> Vec<Action> {
        self.movies.note_shown(&self.frames);
        let busy = self.frames.busy();
        let repeats = self.movies.repeats(&self.frames);
        let has_no_queries = self.frames.glsl_clock() == Some(Clock::Wall);
        let idea = |id: VariantId| match has_no_queries && id.back_end() == BackEnd::Glsl {
            true => Cow::Owned(format!("{} {BY_THE_WALL}", id.rung().idea)),
            false => Cow::Borrowed(id.rung().idea),
        };
        let ideas: Vec<Cow<str>> = self.devices.status().iter().map(|(id, _)| idea(*id)).collect();
        let variants: Vec<VariantRow> = self
            .devices
            .status()
            .iter()
            .zip(&ideas)
            .map(|((id, status), idea)| VariantRow {
                id: *id,
                title: id.rung().title,
                idea,
                status: status.clone(),
            })
            .collect();
        let interval_ms = self.frames.frame_interval_ns().map(|ns| ns as f64 / 1e6);
        let nominal_ms = self.movies.facts().fps.filter(|fps| *fps > 0.0).map(|fps| 1e3 / fps);
        // No next frame follows a still picture.
        let budget_ms = interval_ms.or(nominal_ms).filter(|_| !self.frames.is_still());
        let budget_ms = budget_ms.map(|ms| ms / self.frames.speed());
        let devices = self.devices.rows();
        let size = self.frames.shown_size();
        let auto = size.and_then(|size| self.frames.auto(size, self.frames.chosen().1));
        let not_measured = self.frames.not_measured().cloned();
        let readings = self.frames.shown_readings();
        let scene = self.movies.scene();
        let playing = Playing {
            opening: self.movies.facts().is_opening(),
            paused: self.frames.is_paused(),
            still: self.frames.is_still(),
            waiting: busy.is_some(),
            stopped: self.frames.is_finished() && self.frames.decoder().has_failed(),
            ended: self.frames.is_over(),
            seeking: self.frames.is_seeking(),
            stalled: self.frames.is_stalled(),
            unpaced: self.args.unpaced,
            catching_up: self.frames.decoder().queue().is_catching_up(),
        };
        let cpu = self.cpu.sample();
        self.frames.recorder.note_others(cpu.others);
        let recorder = scene.stats(&self.frames);
        let contents = |ui: &mut egui::Ui| scene.panel_contents(ui);
        let view = View {
            recorder,
            cpu,
            movie: self.movies.facts(),
            scene: scene.panel().map(|name| ScenePanel { name, contents: &contents }),
            device: self.devices.info(),
            devices: DeviceList {
                rows: devices.as_deref(),
                left_out: self.devices.left_out(),
                awaited: self.devices.is_awaited(),
            },
            gl_renderer: &self.gl_window.renderer,
            sharing: self.devices.sharing().name(),
            sharing_reason: self.devices.sharing().reason(),
            variants: &variants,
            chosen: self.frames.chosen().0,
            radius: self.frames.chosen().1,
            paused: self.frames.is_paused(),
            unpaced: self.args.unpaced,
            wipe,
            correction: self.colors.now(),
            readings: readings.as_deref(),
            not_measured: not_measured.as_ref(),
            placed,
            speed: self.frames.speed(),
            repeats: &repeats,
            target_s: self.movies.target_s(),
            part: self.movies.part(),
            shown: self.frames.shown_filter().zip(size).map(|((variant, radius), size)| Shown {
                variant,
                radius,
                size,
            }),
            state: PlayState::of(playing, recorder),
            busy: busy.as_ref(),
            notices: self.notices.all(),
            budget_ms,
            tuning: self.tuning.shown(),
            lab: self.lab.shown(),
            conversions: self.check.shown(),
            kernels: self.kernels.shown(),
            races: self.races.shown(),
            auto: auto.as_deref(),
        };
        let (overlay, timer) = (&mut self.overlay, self.frames.gl_timer());
        let mut actions = Vec::new();
        let (wait, timing) = self.surface.paint(&self.gl_window.window, window, timer, |ui| {
            actions.extend(overlay.show(ui, &view));
        });
        timings.overlay = timing;
        wait.into_iter().for_each(|wait| self.repaints.after(wait));
        actions
    }

    /// The window's pixels as they were just drawn: RGBA8, top row first.
    fn read_window(&self, (width, height): (u32, u32)) -> Result<Vec<u8>> {
        let row = width as usize * 4;
        let (mut bottom_up, mut rgba) = (picture_memory(width, height)?, picture_memory(width, height)?);
        let gl = &self.gl_window.gl;
        // SAFETY: the context is current, and the slice has room for width·height RGBA8 pixels.
        unsafe {
            gl.pixel_store_i32(glow::PACK_ALIGNMENT, 4);
            gl.pixel_store_i32(glow::PACK_ROW_LENGTH, 0);
            let pixels = glow::PixelPackData::Slice(Some(&mut bottom_up));
            gl.read_pixels(0, 0, width as i32, height as i32, glow::RGBA, glow::UNSIGNED_BYTE, pixels);
        }
        for (to, from) in rgba.chunks_exact_mut(row).zip(bottom_up.rchunks_exact(row)) {
            to.copy_from_slice(from);
        }
        // Windows have no transparency here; some drivers leave junk in alpha.
        rgba.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
        Ok(rgba)
    }
}
