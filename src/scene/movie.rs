//! The movie. In: its decoder. Out: its pictures, as large as the window has room for, or on the shirts of an army.

use super::cloth::Cloth;
use super::frame_loop::{FrameLoop, Parked, Tick};
use super::{Input, Scene, Screen};
use crate::error::Result;
use crate::jobs::Waker;
use crate::media::Decoder;
use crate::options::SceneId;
use crate::overlay::MovieSummary;

/// The movie.
pub(super) struct Movie {
    facts: MovieSummary,
    /// What played when another scene took the window.
    parked: Option<Parked>,
    /// What wears it.
    cloth: Cloth,
    is_worn: bool,
}

impl Movie {
    pub(super) fn new(facts: MovieSummary, waker: &Waker) -> Self {
        Self { facts, parked: None, cloth: Cloth::new(waker.clone()), is_worn: false }
    }

    /// Shows it on shirts from now on, or as it is.
    pub(super) fn wear(&mut self, is_worn: bool) {
        if !is_worn {
            self.cloth.leave();
        }
        self.is_worn = is_worn;
    }

    /// Plays another movie: in `frames`, or later where it does not have them.
    pub(super) fn play(&mut self, decoder: Decoder, facts: MovieSummary, frames: Option<&mut FrameLoop>) {
        self.facts = facts;
        match frames {
            Some(frames) => frames.play(decoder),
            None => {
                let before = self.parked.replace(Parked::new(decoder));
                before.into_iter().for_each(Parked::retire);
            }
        }
    }

    /// Whether there is one to show.
    pub(super) fn is_there(&self) -> bool {
        !self.facts.is_opening()
    }

    /// Stops what waits for the window, or moves what wears it; whether all of that has ended.
    pub(super) fn end(&mut self) -> bool {
        let (parked, cloth) = (self.parked.as_mut().is_none_or(Parked::end), self.cloth.end());
        parked && cloth
    }
}

impl Scene for Movie {
    fn id(&self) -> SceneId {
        if self.is_worn { SceneId::Cloth } else { SceneId::Movie }
    }

    fn facts(&self) -> &MovieSummary {
        &self.facts
    }

    fn facts_mut(&mut self) -> &mut MovieSummary {
        &mut self.facts
    }

    fn enter(&mut self, frames: &mut FrameLoop) -> Result<()> {
        if let Some(parked) = self.parked.take() {
            frames.resume(parked);
        }
        Ok(())
    }

    fn leave(&mut self, frames: &mut FrameLoop) {
        self.parked = Some(frames.park());
    }

    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        let tick = frames.tick();
        if self.is_worn {
            return self.cloth.tick(frames, tick);
        }
        frames.note_cloth(None);
        tick
    }

    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        if self.is_worn {
            return self.cloth.draw(screen);
        }
        screen.show_picture();
        Ok(())
    }

    fn input(&mut self, input: Input, _: &mut FrameLoop) -> Result<Option<String>> {
        Ok(if self.is_worn { self.cloth.input(input) } else { None })
    }

    fn panel(&self) -> Option<&'static str> {
        self.is_worn.then_some("Cloth")
    }

    fn panel_contents(&self, ui: &mut egui::Ui) {
        self.cloth.panel_contents(ui);
    }

    fn destroy(&mut self) {
        self.cloth.destroy();
    }
}
