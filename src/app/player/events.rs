//! What the user does with the window, its keys and its mouse. In: winit's events and the overlay's actions. Out:
//! calls to the frame loop, the playlist and the overlay.

use winit::event::WindowEvent;
use winit::window::Fullscreen;

use super::Player;
use super::devices::Devices;
use super::movies::Movies;
use super::surface::INPUT_REPAINT;
use super::tuning::SpareTime;
use crate::app::input::{self, Command};
use crate::scene::Input;
use base::error::Result;
use box_filter::MAX_RADIUS;
use overlay::Action;

impl Player<'_> {
    /// Whether the user asked to quit, or the number of frames asked for has been presented.
    pub(crate) fn wants_to_quit(&self) -> bool {
        self.quit
    }

    /// Handles an event of the window.
    ///
    /// # Errors
    /// When the window cannot be drawn to any more.
    pub(crate) fn event(&mut self, event: &WindowEvent) -> Result<()> {
        self.frames.look_for_stop();
        self.look_at_window();
        let ending = self.last.are_on_their_way();
        match event {
            // At the end there may be nothing to draw on any more.
            WindowEvent::RedrawRequested if ending => return self.draw().or(Ok(())),
            WindowEvent::RedrawRequested => return self.draw(),
            WindowEvent::CloseRequested | WindowEvent::Destroyed => {
                self.quit = true;
                return Ok(());
            }
            WindowEvent::HoveredFile(_) => self.movies.hovered(),
            WindowEvent::DroppedFile(path) if !ending => {
                self.movies.dropped(path.clone(), &self.frames);
                return Ok(());
            }
            WindowEvent::Resized(size) => {
                self.gl_window.resize(*size);
                self.frames.interrupt();
                self.repaints.soon();
                self.make_room_for_frame();
            }
            WindowEvent::Moved(_) | WindowEvent::Focused(true) => self.make_room_for_frame(),
            WindowEvent::ModifiersChanged(modifiers) => self.modifiers = modifiers.state(),
            _ => {}
        }
        if self.surface.event(&self.gl_window.window, event, self.overlay.takes_keys()) {
            self.repaints.every(INPUT_REPAINT);
        }
        // What winit makes up for keys that are down when the focus comes or goes is nobody's press: the real one follows.
        if let (WindowEvent::KeyboardInput { event: key, is_synthetic: false, .. }, false) = (event, ending) {
            if !self.overlay.takes_keys() {
                // A dead key waits for a letter to put its accent on, and the next key would not be itself.
                self.gl_window.window.reset_dead_keys();
                if let Some(command) = input::command(key, self.modifiers) {
                    self.obey(command);
                }
            } else if input::is_escape(key) {
                // At once, so that the next key is the player's again.
                self.overlay.close_path_field();
                self.repaints.soon();
            }
        }
        Ok(())
    }

    /// Takes a smaller size where the window manager's frame, which is there now, would reach beyond the screen.
    fn make_room_for_frame(&mut self) {
        if let Some(size) = self.size.with_frame(&self.gl_window.window) {
            self.gl_window.request_size(size);
            self.repaints.soon();
        }
    }

    fn obey(&mut self, command: Command) {
        // Who presses keys needs no hint.
        self.overlay.needs_no_hint();
        if self.obey_on_other(&command) {
            self.repaints.soon();
            return;
        }
        match command {
            Command::Do(action) => self.act(action),
            Command::RadiusBy(step) => {
                let radius = self.frames.chosen().1.saturating_add_signed(step);
                self.act(Action::SetRadius(radius));
            }
            Command::LeaveFullscreen if self.overlay.keys_open() => self.overlay.toggle_keys(),
            Command::LeaveFullscreen if self.overlay.is_frozen() => self.overlay.let_go(),
            Command::Movie(step) => self.movies.go(step),
            Command::SeekBy { seconds, exact } => {
                self.with(|movies, with| movies.seek_by(seconds, exact, with))
            }
            Command::SeekEnd => self.with(Movies::refine),
            Command::Chapter(step) => self.with(|movies, with| movies.go_to_chapter(step, with)),
            Command::SeekStart => self.with(|movies, with| movies.seek_to(0.0, true, with)),
            Command::Step { back } => self.movies.step(back, &mut self.frames),
            Command::Speed(factor) => self.movies.change_speed(factor, &mut self.frames),
            Command::MarkPart => self.movies.mark_part(&self.frames),
            Command::ToggleLoop => self.movies.toggle_loop(&self.frames),
            Command::LeaveFullscreen => self.gl_window.window.set_fullscreen(None),
        }
        self.repaints.soon();
    }

    /// Lets the scene take what the mouse does with the picture.
    fn pass_on(&mut self, input: Input) {
        self.with(|movies, with| {
            movies.input(input, with);
        });
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::SetVariant(id) => match self.devices.want(id) {
                Ok(()) => self.frames.choose(id, self.frames.chosen().1),
                Err(error) => self.notify(error, true),
            },
            Action::SetRadius(radius) => {
                self.frames.choose(self.frames.chosen().0, radius.min(MAX_RADIUS));
            }
            Action::SetCorrection(correction) => {
                self.colors.set(correction, &mut self.frames);
            }
            Action::ToggleCorrection => {
                self.colors.toggle(&mut self.frames);
            }
            Action::ToggleHeat => self.overlay.toggle_heat(),
            Action::ToggleLevels => self.overlay.toggle_levels(),
            Action::Seek { to_s, exact } => self.with(|movies, with| movies.seek_to(to_s, exact, with)),
            Action::Grab(at) => self.pass_on(Input::Grab(at)),
            Action::Drag { by, at } => self.pass_on(Input::Drag { by, at }),
            Action::LetGo => self.pass_on(Input::LetGo),
            Action::NextScene => self.with(Movies::next_scene),
            Action::ToggleWipe => self.toggle_wipe(),
            Action::SwapSides => self.swap_sides(),
            Action::ToggleDifference => self.toggle_difference(),
            Action::ToggleFullscreen => {
                let window = &self.gl_window.window;
                let next = window.fullscreen().is_none().then_some(Fullscreen::Borderless(None));
                window.set_fullscreen(next);
            }
            Action::TogglePause => self.frames.toggle_pause(),
            Action::AskForMovie => self.with(Movies::ask),
            Action::Open(path) => self.movies.open_typed(&path),
            Action::Complete(typed) => self.movies.complete(typed, &self.waker),
            Action::ToggleOverlay => self.overlay.toggle_visible(),
            Action::ToggleKeys => self.overlay.toggle_keys(),
            Action::ResetPanels => self.overlay.reset_panels(),
            Action::SaveFrame => self.saves.want_frame(),
            Action::SaveWindow => self.saves.want_window(),
            Action::NextDevice => self.with_devices(Devices::next_device),
            Action::SetDevice(position) => {
                self.with_devices(|devices, with| devices.set_device(position, with))
            }
            Action::Toggle(panel) => self.overlay.toggle(panel),
            Action::Freeze(frame) => self.overlay.freeze(frame, &self.frames.recorder),
            Action::Zoom(factor) => self.surface.zoom(factor),
            Action::TuneNow => self.with_tuning(SpareTime::tune_now),
            Action::StopTuning => self.tuning.stop(),
            Action::Measure { ladder, size } => self.measure(ladder, size),
            Action::StopMeasuring => self.lab.stop(),
            Action::CheckConversions => self.check_conversions(),
            Action::StopChecking => self.check.stop(),
            Action::CopyKernels => self.copy_kernels(),
            Action::RebuildKernels => self.rebuild_kernels(),
            Action::WipeKernels(number) => self.wipe_kernels(number),
            Action::CheckRaces => self.check_races(),
            Action::UseKernels(number) => self.use_kernels(number),
            Action::ExportStats => self.export_stats(),
            Action::DismissNotice(index) => self.notices.dismiss(index),
            Action::Quit => self.quit = true,
        }
    }
}
