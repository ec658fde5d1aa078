//! What the user does with the window, its keys and its mouse. In: winit's events and the overlay's actions. Out:
//! calls to the frame loop, the playlist and the overlay.

use std::time::Duration;

use winit::event::WindowEvent;
use winit::window::Fullscreen;

use super::{INPUT_REPAINT, Player, built};
use crate::app::completion::Completion;
use crate::app::input::{self, Command};
use crate::app::settings::UI_SCALE;
use crate::error::Result;
use crate::gpu::cl::is_device_failure;
use crate::ladders::box_filter::MAX_RADIUS;
use crate::overlay::{Action, VariantStatus};
use crate::scene::Input;

impl Player<'_> {
    /// Ends playing at the next turn.
    pub(crate) fn quit(&mut self) {
        self.quit = true;
    }

    /// Whether the user asked to quit, or the number of frames asked for has been presented.
    pub(crate) fn wants_to_quit(&self) -> bool {
        self.quit
    }

    /// Handles an event of the window.
    ///
    /// # Errors
    /// When the window cannot be drawn to any more.
    pub(crate) fn event(&mut self, event: &WindowEvent) -> Result<()> {
        self.look_at_window();
        match event {
            WindowEvent::RedrawRequested => return self.draw(),
            WindowEvent::CloseRequested | WindowEvent::Destroyed => {
                self.quit = true;
                return Ok(());
            }
            WindowEvent::HoveredFile(_) => self.playlist.hovered(),
            WindowEvent::DroppedFile(path) => {
                self.playlist.dropped(path.clone());
                if self.playlist.count() > 1 {
                    // The first of a drop was alone until now.
                    self.frames.decoder().set_looping(false);
                }
                return Ok(());
            }
            WindowEvent::Resized(size) => {
                self.gl_window.resize(*size);
                self.frames.interrupt();
                self.repaint_after(Duration::ZERO);
            }
            WindowEvent::CursorMoved { .. } => self.moved = Some(event.clone()),
            WindowEvent::CursorLeft { .. } => self.moved = None,
            WindowEvent::ModifiersChanged(modifiers) => self.modifiers = modifiers.state(),
            _ => {}
        }
        let response = self.egui_input.on_window_event(&self.gl_window.window, event);
        if response.repaint {
            self.repaint_after(INPUT_REPAINT.saturating_sub(self.last_draw.elapsed()));
        }
        // What winit makes up for keys that are down when the focus comes or goes is nobody's press: the real one follows.
        if let WindowEvent::KeyboardInput { event: key, is_synthetic: false, .. } = event {
            if !self.overlay.takes_keys() {
                if let Some(command) = input::command(key, self.modifiers) {
                    self.obey(command);
                }
            } else if input::is_escape(key) {
                // At once, so that the next key is the player's again.
                self.overlay.close_path_field();
                self.repaint_after(Duration::ZERO);
            }
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        // Who presses keys needs no hint.
        self.overlay.hint_seen = true;
        match command {
            Command::Do(action) => self.act(action),
            Command::RadiusBy(step) => {
                let radius = self.frames.chosen().1.saturating_add_signed(step);
                self.act(Action::SetRadius(radius));
            }
            Command::LeaveFullscreen if self.overlay.keys_open => self.overlay.keys_open = false,
            Command::LeaveFullscreen if self.overlay.is_frozen() => self.overlay.let_go(),
            Command::Movie(step) => self.playlist.go(step),
            Command::SeekBy { seconds, exact } => self.seek_by(seconds, exact),
            Command::SeekEnd => self.refine(),
            Command::Chapter(step) => self.go_to_chapter(step),
            Command::SeekStart => self.seek_to(0.0, true),
            Command::Step { back } => self.step(back),
            Command::Speed(factor) => self.change_speed(factor),
            Command::MarkPart => self.mark_part(),
            Command::ToggleLoop => self.toggle_loop(),
            Command::LeaveFullscreen => self.gl_window.window.set_fullscreen(None),
        }
        self.repaint_after(Duration::ZERO);
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::SetVariant(id) => {
                let status = self.status.iter().find(|(v, _)| *v == id).map(|(_, status)| status.clone());
                match status {
                    // Memory may be there again.
                    Some(VariantStatus::Unavailable(error))
                        if is_device_failure(&error) && self.devices.running.is_some() =>
                    {
                        built::set(&mut self.status, id, VariantStatus::Building);
                        self.builder.again(id);
                    }
                    Some(VariantStatus::Unavailable(error)) => {
                        self.notify(error, true);
                        return;
                    }
                    _ => {}
                }
                self.builder.want(id);
                self.frames.choose(id, self.frames.chosen().1);
            }
            Action::SetRadius(radius) => {
                self.frames.choose(self.frames.chosen().0, radius.min(MAX_RADIUS));
            }
            Action::SetCorrection(correction) => {
                self.correction = correction.limited();
                self.correct();
            }
            Action::ToggleCorrection => {
                self.corrects = !self.corrects;
                self.correct();
            }
            Action::Seek { to_s, exact } => self.seek_to(to_s, exact),
            Action::Drag(by) => drop(self.input(Input::Drag(by))),
            Action::NextScene => self.go_to_scene(self.scenes.next()),
            Action::ToggleFullscreen => {
                let window = &self.gl_window.window;
                let next = window.fullscreen().is_none().then_some(Fullscreen::Borderless(None));
                window.set_fullscreen(next);
            }
            Action::TogglePause => self.frames.toggle_pause(),
            Action::AskForMovie => {
                if !self.playlist.ask(&self.gl_window.window) {
                    self.overlay.ask_for_path();
                }
            }
            Action::Open(path) => self.playlist.open_typed(&path),
            Action::Complete(typed) => self.completion = Completion::begin(typed, self.waker.clone()),
            Action::ToggleOverlay => self.overlay.visible = !self.overlay.visible,
            Action::ToggleKeys => self.overlay.keys_open = !self.overlay.keys_open,
            Action::ResetPanels => self.overlay.reset_panels(),
            Action::SaveFrame => self.save_frame = true,
            Action::SaveWindow => self.save_window = true,
            Action::NextDevice => self.next_device(),
            Action::SetDevice(position) => self.set_device(position),
            Action::ToggleDevices => self.overlay.toggle_devices(),
            Action::ToggleTimeline => self.overlay.toggle_timeline(),
            Action::Freeze(frame) => self.overlay.freeze(frame, &self.frames.recorder),
            Action::ToggleStages => self.overlay.stages_open = !self.overlay.stages_open,
            Action::Zoom(factor) => {
                let scale = factor.map_or(1.0, |factor| self.ui_scale * factor);
                self.ui_scale = scale.clamp(*UI_SCALE.start(), *UI_SCALE.end());
            }
            Action::ToggleTuning => self.overlay.toggle_tuning(),
            Action::TuneNow => self.tune_now(),
            Action::StopTuning => self.tuning.stop(),
            Action::ExportStats => self.export_stats(),
            Action::DismissNotice(index) => {
                if index < self.notices.len() {
                    self.notices.remove(index);
                }
            }
            Action::Quit => self.quit = true,
        }
    }
}
