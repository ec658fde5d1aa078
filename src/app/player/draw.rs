//! Drawing the window: the picture and the overlay over it.

use super::save::SavedPicture;
use super::*;
use crate::gl_window::read_pixels;
use crate::scene::Screen;
use base::timing::ms_since;
use engine::frame_loop::{DrawTimes, ShownWipe};
use engine::present::Viewport;
use opengl::read_texture::read_texture;
use opengl::timer::{Clock, Timing};
use overlay::{Action, DeviceList, Panel, PicturePlace, ScenePanel, ShownFilter, VariantRow, View, Wipe};
use stats::{PlayState, Playing, VariantStatus};
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
        let Self { movies, surface, cx, .. } = self;
        let frames = &mut cx.frames;
        let picture = frames.picture();
        let shown = &frames.presenter.screen;
        let orientation = shown.orientation();
        let (gl, quad) = (&cx.gl_window.gl, &surface.quad);
        let wipe = shown.wipe().filter(|_| movies.scenes.is_movie());
        let second = wipe.as_ref().map(|wipe| match wipe.difference {
            Some(_) => (wipe.texture, 0.0),
            None => (wipe.texture, cx.overlay.wipe_line.position),
        });
        let has_alpha = shown.has_alpha();
        let screen = Screen { gl, quad, size: window, picture, second, orientation, has_alpha };
        let viewport = screen.viewport();
        let scene = movies.scenes.current_mut();
        let mut drawn = Ok(());
        let mut draw = || drawn = scene.draw(frames, &screen);
        match frames.presenter.gl_timer().filter(|_| picture.is_some()) {
            Some(timer) => times.gl[1] = timer.time_with_next(draw).1,
            None => draw(),
        }
        times.present = ms_since(began);
        if let Err(error) = drawn {
            cx.notify(error, true);
        }
        if picture.is_some()
            && std::mem::take(&mut self.saves.wants_frame)
            && let Some((texture, size)) = cx.frames.presenter.screen.filled_texture()
        {
            let rgba = read_texture(&cx.gl_window.gl, texture, size);
            let picture = cx.or_tell(rgba.map(|rgba| SavedPicture { size, rgba, orientation }));
            picture.into_iter().for_each(|picture| self.saves.picture("frame", filter_of(cx), picture));
        }

        let began = Instant::now();
        let placed = picture.filter(|_| self.movies.scenes.is_movie()).map(|_| {
            let Viewport { x, y, width, height } = viewport;
            let at = [x, window.1 as i32 - y - height, width, height].map(|pixels| pixels as f32);
            PicturePlace { at, orientation }
        });
        let wipe =
            wipe.map(|ShownWipe { sides, by_wall, difference, .. }| Wipe { sides, by_wall, difference });
        let (actions, timing) = self.paint_overlay(placed, wipe.as_ref());
        times.gl[2] = timing;
        times.overlay = ms_since(began);

        let cx = &mut self.cx;
        if std::mem::take(&mut self.saves.wants_window) {
            let picture = cx.or_tell(read_window(&cx.gl_window));
            picture.into_iter().for_each(|picture| self.saves.picture("window", filter_of(cx), picture));
        }
        let last = cx.args.frames.is_some_and(|n| self.presented + 1 >= n);
        if cx.args.screenshot.is_some() && (last && cx.frames.presenter.screen.is_new() || self.quit) {
            self.saves.screenshot = Some(read_window(&cx.gl_window)?);
        }
        let began = Instant::now();
        cx.gl_window.window.pre_present_notify();
        cx.gl_window.swap()?;
        times.swap = ms_since(began);

        self.devices.candidate.was_drawn();
        let (count, unmeasured) =
            (cx.frames.recorder.shown.changes, cx.frames.recorder.shown.last().is_none());
        let is_new = cx.frames.swapped(times);
        if cx.frames.recorder.shown.changes != count {
            // The numbers of the first picture are shown at once, later ones at the next refresh of the overlay, even in a
            // pause.
            cx.repaints.redraw_within(if unmeasured { Duration::ZERO } else { IDLE_REPAINT });
        }
        if is_new {
            self.presented += 1;
            if cx.args.frames.is_some_and(|n| self.presented >= n) {
                self.quit = true;
            }
        }
        if let Some(title) = self.movies.title(&cx.frames) {
            cx.gl_window.window.set_title(&title);
        }
        let actions = if self.saves.are_being_written() { Vec::new() } else { actions };
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
        let Self { movies, devices, cx, .. } = self;
        let (frames, args) = (&mut cx.frames, cx.args);
        movies.note_shown(frames);
        let cpu = self.cpu.sample();
        frames.recorder.others = cpu.others;
        let (busy, repeats) = (frames.busy(), movies.repeat_text(frames));
        let has_no_queries = frames.glsl.as_ref() == Ok(&Clock::Wall);
        let glsl = VariantId::all().find(|id| has_no_queries && id.back_end() == BackEnd::Glsl);
        let glsl_idea = glsl.map(|id| format!("{} {WALL_TIME_NOTE}", id.idea));
        let row = |(id, status): (VariantId, &VariantStatus)| VariantRow {
            id,
            idea: glsl_idea.as_deref().filter(|_| glsl == Some(id)).unwrap_or(id.idea),
            status: status.clone(),
        };
        let variants: Vec<VariantRow> = devices.running.statuses.rows().map(row).collect();
        let ((chosen, settings), box_radius) = (frames.choice.filter(), frames.choice.box_radius());
        let sliders = self.kernels.selected(&frames.choice);
        let size = frames.presenter.screen.size();
        let auto = size.and_then(|size| frames.filters.workers.auto(size, box_radius));
        let screen = &frames.presenter.screen;
        let speed = frames.schedule.clock.speed;
        let interval_ms = screen.frame_interval_ns().map(|ns| ns as f64 / 1e6);
        let nominal_ms = movies.scenes.facts().fps.filter(|fps| *fps > 0.0).map(|fps| 1e3 / fps);
        // A still picture has no next frame, and so no time until that.
        let budget_ms = interval_ms.or(nominal_ms).filter(|_| !frames.playing().still);
        let budget_ms = budget_ms.map(|ms| ms / speed);
        let rows = devices.list.rows(devices.running.device(), devices.candidate.device());
        let not_measured = frames.filters.workers.status().scopes.clone().and_then(Result::err);
        let readings = screen.readings();
        let scene = movies.scenes.current();
        let playing = Playing {
            opening: movies.scenes.facts().is_opening(),
            waiting: busy.is_some(),
            unpaced: args.unpaced,
            ..frames.playing()
        };
        let recorder = &frames.recorder;
        let contents = |ui: &mut egui::Ui| scene.panel_contents(ui);
        let (clock, kind) = (devices.running.clock.state(), devices.running.kind());
        let (sound, talks) = (self.sound.view(), cx.overlay.is_talk_visible());
        let heart = talks.then(|| self.kernels.heart(chosen, kind)).flatten();
        let clock_speed = self.peaks.clock_monitor.sample(
            devices.running.device(),
            cx.overlay.panels.is_open(Panel::Stages),
            &mut cx.lane,
        );
        let view = View {
            clock: &clock,
            clock_speed,
            facts: &self.peaks.shown,
            recorder,
            cpu,
            movie: movies.scenes.facts(),
            scene: scene.panel().map(|name| ScenePanel { name, contents: &contents }),
            device: devices.running.info.as_ref(),
            devices: DeviceList {
                rows: rows.as_deref(),
                remarks: &devices.list.remarks,
                is_pending: devices.is_awaited(),
            },
            gl_renderer: &cx.gl_window.renderer,
            sharing: &devices.running.sharing,
            variants: &variants,
            chosen,
            settings,
            sliders,
            box_radius,
            paused: frames.schedule.is_paused(),
            unpaced: args.unpaced,
            wipe,
            correction: self.is_corrected.then_some(self.sliders),
            readings: readings.as_deref(),
            readings_error: not_measured.as_ref(),
            picture_place: placed,
            speed,
            loop_text: &repeats,
            target_s: movies.navigation.target_s,
            loop_range: movies.navigation.part,
            shown: screen.filter().zip(size).map(|((variant, settings), size)| ShownFilter {
                variant,
                settings,
                size,
            }),
            state: PlayState::of(playing, recorder),
            busy: busy.as_ref(),
            notices: &cx.notices.all,
            budget_ms,
            tuning: &self.tuning.shown,
            lab: &self.lab.shown,
            conversions: &self.check.shown,
            filters: self.kernels.filter_list(),
            kernels: self.kernels.shown(),
            races: self.races.shown(),
            saved_columns: &self.saved_run.columns,
            heart: heart.as_deref(),
            sound: sound.as_ref(),
            auto: auto.as_ref(),
        };
        let (overlay, timer) = (&mut cx.overlay, frames.presenter.gl_timer());
        let mut actions = Vec::new();
        let (wait, timing) = self.surface.paint(&cx.gl_window, timer, |ui| {
            actions.extend(overlay.show(ui, &view));
        });
        wait.into_iter().for_each(|wait| cx.repaints.redraw_within(wait));
        (actions, timing)
    }
}

/// Returns the names and the settings of the filters that have made the picture on the screen, for the names of saved pictures; `None`
/// for the box filter.
fn filter_of(cx: &PlayerContext) -> Option<String> {
    let request = cx.frames.presenter.screen.request()?;
    (request.variant.opened().is_some() || !request.stack.is_empty()).then(|| request.to_string())
}

/// Returns the picture that the window shows, read from OpenGL.
fn read_window(gl_window: &GlWindow) -> Result<SavedPicture> {
    let size = gl_window.size();
    let mut rgba = read_pixels(&gl_window.gl, None, size)?;
    // The window is opaque, but some drivers leave arbitrary values in alpha.
    rgba.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
    Ok(SavedPicture { size, rgba, orientation: Orientation::default() })
}
