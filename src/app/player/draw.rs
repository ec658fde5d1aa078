//! Drawing the window: the picture and the overlay over it.

use std::time::{Duration, Instant};

use super::save::SavedPicture;
use super::{IDLE_REPAINT, Player};
use crate::gl_window::{GlWindow, read_pixels};
use crate::scene::Screen;
use base::error::Result;
use base::timing::ms_since;
use box_filter::VariantId;
use compute::BackEnd;
use engine::frame_loop::{DrawTimes, ShownWipe, VariantStatus};
use engine::present::Viewport;
use engine::stats::{PlayState, Playing};
use opengl::read_texture::read_texture;
use opengl::timer::{Clock, Timing};
use overlay::{Action, DeviceList, Panel, PicturePlace, ScenePanel, ShownFilter, VariantRow, View, Wipe};
use video::Orientation;

/// The sentence that is added to the description of the variant `glsl` if OpenGL cannot measure times on the GPU. The shown
/// time is then wall time on the CPU.
const WALL_TIME_NOTE: &str = "Its time is wall time: this OpenGL has no timer queries.";

impl Player<'_> {
    /// Draws the current scene and the overlay, and shows them in the window.
    pub(super) fn draw(&mut self) -> Result<()> {
        self.cx.repaints.clear();
        let window = self.cx.gl_window.size();
        let mut times = DrawTimes::default();

        let began = Instant::now();
        let picture = self.cx.frames.picture();
        let orientation = self.cx.frames.presenter.screen.orientation();
        let (gl, quad) = (&self.cx.gl_window.gl, &self.surface.quad);
        let wipe = self.cx.frames.presenter.screen.wipe().filter(|_| self.movies.is_movie());
        let second = wipe.as_ref().map(|wipe| match wipe.difference {
            Some(_) => (wipe.texture, 0.0),
            None => (wipe.texture, self.cx.overlay.wipe_line.position),
        });
        let has_alpha = self.cx.frames.presenter.screen.has_alpha();
        let screen = Screen { gl, quad, size: window, picture, second, orientation, has_alpha };
        let viewport = screen.viewport();
        let scene = self.movies.scenes.current_mut();
        let mut drawn = Ok(());
        let mut draw = || drawn = scene.draw(&self.cx.frames, &screen);
        match self.cx.frames.presenter.gl_timer().filter(|_| picture.is_some()) {
            Some(timer) => times.gl[1] = timer.time_with_next(draw).1,
            None => draw(),
        }
        times.present = ms_since(began);
        if let Err(error) = drawn {
            self.cx.notify(error, true);
        }
        if picture.is_some()
            && std::mem::take(&mut self.saves.wants_frame)
            && let Some((texture, size)) = self.cx.frames.presenter.screen.filled_texture()
        {
            let rgba = read_texture(&self.cx.gl_window.gl, texture, size);
            let saved =
                rgba.and_then(|rgba| self.saves.picture("frame", SavedPicture { size, rgba, orientation }));
            self.cx.or_notify(saved);
        }

        let began = Instant::now();
        let placed = picture.filter(|_| self.movies.is_movie()).map(|_| {
            let Viewport { x, y, width, height } = viewport;
            let at = [x, window.1 as i32 - y - height, width, height].map(|pixels| pixels as f32);
            PicturePlace { at, orientation }
        });
        let wipe =
            wipe.map(|ShownWipe { sides, by_wall, difference, .. }| Wipe { sides, by_wall, difference });
        let (actions, timing) = self.paint_overlay(placed, wipe.as_ref());
        times.gl[2] = timing;
        times.overlay = ms_since(began);

        if std::mem::take(&mut self.saves.wants_window) {
            let saved =
                read_window(&self.cx.gl_window).and_then(|picture| self.saves.picture("window", picture));
            self.cx.or_notify(saved);
        }
        let last = self.cx.args.frames.is_some_and(|n| self.presented + 1 >= n);
        if self.cx.args.screenshot.is_some()
            && (last && self.cx.frames.presenter.screen.is_new() || self.quit)
        {
            self.saves.screenshot = Some(read_window(&self.cx.gl_window)?);
        }
        let began = Instant::now();
        self.cx.gl_window.window.pre_present_notify();
        self.cx.gl_window.swap()?;
        times.swap = ms_since(began);

        self.devices.candidate.was_drawn();
        let (count, unmeasured) =
            (self.cx.frames.recorder.shown.changes, self.cx.frames.recorder.shown.last().is_none());
        let is_new = self.cx.frames.swapped(times);
        if self.cx.frames.recorder.shown.changes != count {
            // The numbers of the first picture are shown at once, later ones at the next refresh of the overlay, even in a
            // pause.
            self.cx.repaints.redraw_within(if unmeasured { Duration::ZERO } else { IDLE_REPAINT });
        }
        if is_new {
            self.presented += 1;
            if self.cx.args.frames.is_some_and(|n| self.presented >= n) {
                self.quit = true;
            }
        }
        if let Some(title) = self.movies.title(&self.cx.frames) {
            self.cx.gl_window.window.set_title(&title);
        }
        let actions = if self.last.are_being_written() { Vec::new() } else { actions };
        for action in actions {
            self.act(action);
            self.cx.repaints.redraw_soon();
        }
        if !self.cx.frames.schedule.is_paused() {
            self.cx.repaints.redraw_within(IDLE_REPAINT);
        }
        Ok(())
    }

    /// Lays out and draws the overlay. Returns the actions that the user has requested in it, and the running measurement of
    /// its drawing time on the GPU (`None` if it is not measured).
    fn paint_overlay(
        &mut self,
        placed: Option<PicturePlace>,
        wipe: Option<&Wipe>,
    ) -> (Vec<Action>, Option<Timing>) {
        self.movies.note_shown(&self.cx.frames);
        let busy = self.cx.frames.busy();
        let repeats = self.movies.repeat_text(&self.cx.frames);
        let has_no_queries = self.cx.frames.glsl.as_ref() == Ok(&Clock::Wall);
        let glsl = VariantId::all().find(|id| has_no_queries && id.back_end() == BackEnd::Glsl);
        let glsl_idea = glsl.map(|id| format!("{} {WALL_TIME_NOTE}", id.idea));
        let row = |(id, status): (VariantId, &VariantStatus)| VariantRow {
            id,
            title: id.title,
            idea: glsl_idea.as_deref().filter(|_| glsl == Some(id)).unwrap_or(id.idea),
            status: status.clone(),
        };
        let variants: Vec<VariantRow> = self.devices.running.rows().map(row).collect();
        let interval_ms = self.cx.frames.presenter.screen.frame_interval_ns().map(|ns| ns as f64 / 1e6);
        let nominal_ms = self.movies.scenes.facts().fps.filter(|fps| *fps > 0.0).map(|fps| 1e3 / fps);
        // A still picture has no next frame, and so no time until that.
        let budget_ms = interval_ms.or(nominal_ms).filter(|_| !self.cx.frames.playing().still);
        let budget_ms = budget_ms.map(|ms| ms / self.cx.frames.schedule.clock.speed());
        let devices = self.devices.rows();
        let size = self.cx.frames.presenter.screen.size();
        let auto =
            size.and_then(|size| self.cx.frames.filters.workers.auto(size, self.cx.frames.choice.filter().1));
        let not_measured = self.cx.frames.filters.workers.status().scopes.clone().and_then(Result::err);
        let readings = self.cx.frames.presenter.screen.readings();
        let scene = self.movies.scenes.current();
        let playing = Playing {
            opening: self.movies.scenes.facts().is_opening(),
            waiting: busy.is_some(),
            unpaced: self.cx.args.unpaced,
            ..self.cx.frames.playing()
        };
        let cpu = self.cpu.sample();
        self.cx.frames.recorder.set_others_share(cpu.others);
        let recorder = &self.cx.frames.recorder;
        let contents = |ui: &mut egui::Ui| scene.panel_contents(ui);
        let clock = self.devices.running.clock();
        let clock_speed = self.clock_monitor.sample(
            self.devices.running.device(),
            self.cx.overlay.panels.is_open(Panel::Stages),
            &mut self.cx.lane,
        );
        let view = View {
            clock: &clock,
            clock_speed,
            facts: &self.peaks.shown,
            recorder,
            cpu,
            movie: self.movies.scenes.facts(),
            scene: scene.panel().map(|name| ScenePanel { name, contents: &contents }),
            device: self.devices.running.info.as_ref(),
            devices: DeviceList {
                rows: devices.as_deref(),
                remarks: &self.devices.list.remarks,
                is_pending: self.devices.is_awaited(),
            },
            gl_renderer: &self.cx.gl_window.renderer,
            sharing: &self.devices.running.sharing,
            variants: &variants,
            chosen: self.cx.frames.choice.filter().0,
            radius: self.cx.frames.choice.filter().1,
            paused: self.cx.frames.schedule.is_paused(),
            unpaced: self.cx.args.unpaced,
            wipe,
            correction: self.colors.current(),
            readings: readings.as_deref(),
            readings_error: not_measured.as_ref(),
            picture_place: placed,
            speed: self.cx.frames.schedule.clock.speed(),
            loop_text: &repeats,
            target_s: self.movies.navigation.target_s,
            loop_range: self.movies.navigation.part,
            shown: self
                .cx
                .frames
                .presenter
                .screen
                .filter()
                .zip(size)
                .map(|((variant, radius), size)| ShownFilter { variant, radius, size }),
            state: PlayState::of(playing, recorder),
            busy: busy.as_ref(),
            notices: &self.cx.notices.all,
            budget_ms,
            tuning: &self.tuning.shown,
            lab: &self.lab.shown,
            conversions: &self.check.shown,
            kernels: self.kernels.shown(),
            races: self.races.shown(),
            heart: self.talk.heart.as_deref(),
            sound: self.sound.view.as_ref(),
            auto: auto.as_ref(),
        };
        let (overlay, timer) = (&mut self.cx.overlay, self.cx.frames.presenter.gl_timer());
        let mut actions = Vec::new();
        let (wait, timing) = self.surface.paint(&self.cx.gl_window, timer, |ui| {
            actions.extend(overlay.show(ui, &view));
        });
        wait.into_iter().for_each(|wait| self.cx.repaints.redraw_within(wait));
        (actions, timing)
    }
}

/// Returns the picture that the window shows, read from OpenGL.
fn read_window(gl_window: &GlWindow) -> Result<SavedPicture> {
    let size = gl_window.size();
    let mut rgba = read_pixels(&gl_window.gl, None, size)?;
    // The window is opaque, but some drivers leave arbitrary values in alpha.
    rgba.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
    Ok(SavedPicture { size, rgba, orientation: Orientation::default() })
}
