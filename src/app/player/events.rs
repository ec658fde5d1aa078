//! Handling of window events, keyboard commands, and actions of the overlay.

use winit::event::{ElementState, WindowEvent};
use winit::keyboard::NamedKey;
use winit::window::Fullscreen;

use super::surface::INPUT_REPAINT;
use super::*;
use crate::app::{completion, input};
use overlay::{Action, PathPurpose, variant_after};
use video::Seek;

/// The slowest and the fastest speed at which the movie can be played, as multiples of its own speed.
const SPEEDS: (f64, f64) = (0.25, 4.0);

impl Player<'_> {
    /// Handles an event of the window.
    ///
    /// # Errors
    /// If the window can no longer be drawn to.
    pub(crate) fn event(&mut self, event: &WindowEvent) -> Result<()> {
        self.cx.frames.update();
        if self.visibility.is_hidden {
            // After an event of the window, it is checked in the next turn if the window is still hidden.
            self.visibility.check_at = None;
        }
        let ending = self.saves.are_being_written();
        match event {
            // While the window is being closed, drawing may be impossible.
            WindowEvent::RedrawRequested if ending => return self.draw().or(Ok(())),
            WindowEvent::RedrawRequested => return self.draw(),
            WindowEvent::CloseRequested | WindowEvent::Destroyed => {
                self.quit = true;
                return Ok(());
            }
            WindowEvent::HoveredFile(_) => self.movies.playlist.dropping = false,
            WindowEvent::DroppedFile(path) if !ending => {
                self.movies.playlist.dropped(path.clone());
                if self.movies.playlist.count() > 1 {
                    // Until now, the first file of the drop was the only movie, which is repeated.
                    self.cx.frames.intake.decoder.set_looping(false);
                }
                return Ok(());
            }
            WindowEvent::Resized(size) => {
                self.cx.gl_window.resize(*size);
                self.cx.frames.schedule.clock.interrupt();
                self.cx.repaints.redraw_soon();
                self.fit_to_screen();
            }
            WindowEvent::Moved(_) | WindowEvent::Focused(true) => self.fit_to_screen(),
            WindowEvent::ModifiersChanged(modifiers) => self.modifiers = modifiers.state(),
            _ => {}
        }
        if self.surface.event(&self.cx.gl_window.window, event, self.cx.overlay.has_field()) {
            self.cx.repaints.redraw_every(INPUT_REPAINT);
        }
        // Synthetic events (for keys that are down when the focus changes) are ignored: the real event follows.
        if let (WindowEvent::KeyboardInput { event: key, is_synthetic: false, .. }, false) = (event, ending) {
            if !self.cx.overlay.has_field() {
                // A dead key would combine with the next key.
                self.cx.gl_window.window.reset_dead_keys();
                let talks = self.cx.overlay.is_talk_visible();
                if let Some(action) = input::action(key, self.modifiers, talks) {
                    let Self { movies, devices, surface, cx, .. } = self;
                    // A user who presses keys needs no hint.
                    cx.overlay.dismiss_hint();
                    cx.repaints.redraw_soon();
                    // The key may arrive before a redraw that updates the mouse's position.
                    surface.mouse().into_iter().for_each(|mouse| cx.overlay.wipe_line.set_pointer(mouse));
                    if !wipe::apply_to_second(&action, movies, devices, cx) {
                        self.act(action);
                    }
                }
            } else if key.state == ElementState::Pressed && key.logical_key == NamedKey::Escape {
                // The field is left at once, so that the next key is a command again.
                self.cx.overlay.leave_field();
                self.cx.repaints.redraw_soon();
            }
        }
        Ok(())
    }

    /// Shrinks the window if it would reach beyond the screen with the window manager's frame, whose size is known only once
    /// the window is open.
    fn fit_to_screen(&mut self) {
        if let Some(size) = self.size.with_frame(&self.cx.gl_window.window) {
            self.cx.gl_window.request_size(size);
            self.cx.repaints.redraw_soon();
        }
    }

    /// Executes an action that the user has requested by a key or in the overlay.
    pub(super) fn act(&mut self, action: Action) {
        let Self { movies, devices, kernels, tuning, cx, .. } = self;
        match action {
            Action::SetVariant(id) => match devices.prefer(id) {
                Ok(()) => cx.frames.choice.choose_variant(id),
                Err(error) => cx.notify(error, true),
            },
            Action::SetSettings(settings) => kernels.adjust(cx, |_, _| settings),
            Action::ChangeSettings(steps) => {
                kernels.adjust(cx, |parameters, settings| settings.stepped(parameters, 0, steps));
            }
            Action::ChangeVariant(steps) => {
                let rows = devices.running.statuses.rows().map(|(id, status)| (id, status.clone()));
                let rows: Vec<_> = rows.collect();
                let next = variant_after(&rows, cx.chosen(), steps);
                next.into_iter().for_each(|id| self.act(Action::SetVariant(id)));
            }
            Action::ChangeMovie(step) if movies.playlist.count() < 2 && !movies.playlist.is_opening() => {
                let which = if step > 0 { "next" } else { "previous" };
                cx.overlay.show_message(format!("There is no {which} movie: the list has only this one"));
            }
            Action::ChangeMovie(step) => movies.playlist.go(step),
            Action::SetCorrection(sliders) => {
                self.sliders = sliders.limited();
                cx.frames.choice.set_correction(self.is_corrected.then_some(self.sliders));
            }
            Action::ToggleCorrection => {
                self.is_corrected ^= true;
                cx.frames.choice.set_correction(self.is_corrected.then_some(self.sliders));
            }
            Action::ToggleHeat => {
                cx.overlay.switches.heat ^= true;
                show_switch("Heat map", cx.overlay.switches.heat, cx);
            }
            Action::ToggleLevels => {
                cx.overlay.switches.levels ^= true;
                show_switch("Auto-levels", cx.overlay.switches.levels, cx);
            }
            Action::Seek { to_s, exact } => movies.seek(to_s, exact, cx),
            Action::SeekBy { seconds, exact } => {
                movies.seek(movies.navigation.position_s(cx) + seconds, exact, cx);
            }
            Action::EndSeek => movies.navigation.refine(cx),
            Action::SeekStart => movies.seek(0.0, true, cx),
            // A scene that has sizes handles the key.
            Action::SeekChapter(step) => {
                if !movies.input(&action, cx) {
                    movies.go_to_chapter(step, cx);
                }
            }
            Action::Step { back: false } => cx.frames.schedule.step(),
            Action::Step { back: true } => {
                if !cx.frames.schedule.is_paused() {
                    cx.frames.schedule.toggle_pause();
                }
                cx.frames.seek(Seek::Before(cx.frames.presenter.screen.position_s()));
            }
            Action::ChangeSpeed(factor) => {
                let clock = &mut cx.frames.schedule.clock;
                let speed = factor.map_or(1.0, |by| (clock.speed * by).clamp(SPEEDS.0, SPEEDS.1));
                clock.set_speed(speed);
            }
            Action::MarkPart => movies.navigation.mark_part(&cx.frames),
            Action::ToggleLoop => {
                let decoder = &cx.frames.intake.decoder;
                decoder.set_looping(!decoder.is_looping());
            }
            Action::StartDrag(_) | Action::Drag { .. } | Action::EndDrag => _ = movies.input(&action, cx),
            Action::NextScene => {
                if let Err(error) = movies.go_to(movies.scenes.next(), &mut cx.frames) {
                    cx.notices.add(error, true);
                }
            }
            Action::ToggleWipe => wipe::toggle(movies, devices, cx),
            Action::SwapSides => wipe::swap(devices, cx),
            Action::ToggleDifference => {
                let compares = !cx.frames.wipe.compares();
                if compares && cx.frames.wipe.second().is_none() {
                    wipe::toggle(movies, devices, cx);
                }
                cx.frames.wipe.set_comparing(compares);
            }
            Action::ToggleFullscreen => {
                let window = &cx.gl_window.window;
                let next = window.fullscreen().is_none().then_some(Fullscreen::Borderless(None));
                window.set_fullscreen(next);
            }
            Action::Leave if cx.overlay.switches.keys => cx.overlay.switches.keys = false,
            Action::Leave if cx.overlay.is_talk_visible() => cx.overlay.toggle_talk(),
            Action::Leave if cx.notices.dismiss_passing() => {}
            Action::Leave if cx.overlay.panels.is_frozen() => cx.overlay.panels.unfreeze(),
            Action::Leave => cx.gl_window.window.set_fullscreen(None),
            Action::ToggleMute => {
                let (volume, is_muted) = (self.sound.volume, self.sound.is_muted);
                cx.overlay.show_message(self.sound.set_volume(volume, !is_muted));
            }
            Action::SetVolume(percent) => cx.overlay.show_message(self.sound.set_volume(percent, false)),
            Action::ChangeVolume(by) => {
                let volume = self.sound.volume.saturating_add_signed(by);
                cx.overlay.show_message(self.sound.set_volume(volume, false));
            }
            Action::NextTrack => {
                let text = self.sound.next_track(&mut cx.frames.schedule);
                cx.overlay.show_message(text);
            }
            Action::TogglePause => cx.frames.schedule.toggle_pause(),
            Action::AskForMovie => {
                if !movies.playlist.open_dialog(&cx.gl_window) {
                    cx.overlay.path_prompt.open(PathPurpose::Movie);
                }
            }
            Action::ShowFiles => cx.overlay.path_prompt.open(PathPurpose::Movie),
            Action::Open(path) => movies.playlist.open_typed(&path),
            Action::CompareWith => cx.overlay.path_prompt.open(PathPurpose::Run),
            Action::EndComparison => self.saved_run.end(),
            Action::OpenRun(path) => self.saved_run.open(&path, cx),
            Action::Complete(typed) => {
                movies.completion =
                    Some(completion::start(typed, cx.overlay.path_prompt.purpose(), &cx.waker));
            }
            Action::ToggleOverlay => cx.overlay.toggle_visible(),
            Action::ToggleTalk => cx.overlay.toggle_talk(),
            Action::ToggleKeys => cx.overlay.switches.keys ^= true,
            Action::ResetPanels => {
                cx.overlay.reset_panels();
                // The panel of the colour correction is open while it is on.
                self.is_corrected = false;
                cx.frames.choice.set_correction(None);
            }
            Action::MoveColumn => cx.overlay.move_column(),
            Action::SaveFrame => self.saves.wants_frame = true,
            Action::SaveWindow => self.saves.wants_window = true,
            Action::NextDevice => devices.next_device(cx),
            Action::SetDevice(position) => devices.set_device(position, cx),
            Action::Toggle(panel) => cx.overlay.panels.toggle(panel),
            Action::Freeze(frame) => cx.overlay.panels.freeze(frame, &cx.frames.recorder),
            Action::Zoom(factor) => self.surface.zoom(factor),
            Action::TuneNow => tuning.request(devices, cx),
            Action::StopTuning => tuning.stop(),
            Action::Measure { ladder, size } => self.lab.start((ladder, size), (devices, kernels), cx),
            Action::Benchmark(radii) => self.lab.start_benchmark((radii, movies), (devices, kernels), cx),
            Action::SaveBenchmark => self.save_results("lab", self.lab.report()),
            Action::StopMeasuring => self.lab.measurement.stop(),
            Action::CheckConversions => self.check.start(devices, cx),
            Action::StopChecking => self.check.task.stop(),
            Action::CopyKernels => kernels.copy_built_in(None, cx),
            Action::ReopenKernels(index) => kernels.reopen(index, cx),
            Action::SelectFilter(index) => kernels.select_filter(index, devices, cx),
            Action::WipeFilter(index) => kernels.wipe_filter(index, devices, cx),
            Action::StackFilter(index) => kernels.stack_filter(index, cx),
            Action::ChooseLayer(at) => kernels.choose_layer(at, devices, cx),
            Action::SwitchLayer(at) => kernels.switch_layer(at, cx),
            Action::RemoveLayer(at) => kernels.remove_layer(at, devices, cx),
            Action::MoveLayer { from, to } => kernels.move_layer(from, to, cx),
            Action::UndoStack => kernels.undo_stack(cx),
            Action::RestoreStack => kernels.restore_stack(cx),
            Action::NewFilter => kernels.make_filter(cx),
            Action::MakeFilterOfOwn => kernels.make_filter_of_own(cx),
            Action::AskForFilter => cx.overlay.path_prompt.open(PathPurpose::Filter),
            Action::OpenFilter(path) => kernels.open_filter(&path, cx),
            Action::RebuildKernels => kernels.rebuild(cx),
            Action::WipeKernels(number) if movies.scenes.is_movie() => {
                kernels.request_wipe(number, devices, cx);
            }
            Action::WipeKernels(_) => {}
            Action::CheckRaces => self.races.toggle(kernels.saved(), cx),
            Action::UseKernels(number) => kernels.use_version(number, cx),
            Action::OpenInEditor => self.open_in_editor(),
            Action::MakeOwnKernel => kernels.make_own(cx),
            Action::DiffKernels(version) => kernels.show_diff(version),
            Action::RestoreKernels(version) => kernels.restore(version, cx),
            Action::SaveAsOwnKernel(version) => kernels.save_as_own(version, devices, cx),
            Action::ExportLadder => self.export_ladder(),
            Action::ExportStats => self.export_stats(),
            Action::SaveRun => self.save_run(),
            Action::SaveLab => self.save_results("lab", self.lab.results.clone()),
            Action::DismissNotice(index) if index < cx.notices.all.len() => _ = cx.notices.all.remove(index),
            Action::DismissNotice(_) => {}
            Action::Quit => self.quit = true,
        }
    }
}

/// Shows a message with the name and the new state of a setting that was switched on or off.
fn show_switch(name: &str, is_on: bool, cx: &mut PlayerContext) {
    cx.overlay.show_message(format!("{name} {}", if is_on { "on" } else { "off" }));
}
