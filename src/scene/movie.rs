//! The movie. In: its decoder. Out: its pictures, as large as the window has room for.

use super::frame_loop::{FrameLoop, Parked};
use super::{Scene, Screen};
use crate::error::Result;
use crate::media::Decoder;
use crate::options::SceneId;
use crate::overlay::MovieSummary;

/// The movie.
pub(super) struct Movie {
    facts: MovieSummary,
    /// What played when another scene took the window.
    parked: Option<Parked>,
}

impl Movie {
    pub(super) fn new(facts: MovieSummary) -> Self {
        Self { facts, parked: None }
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

    /// Stops reading what waits for the window; whether its thread has ended.
    pub(super) fn end(&mut self) -> bool {
        self.parked.as_mut().is_none_or(Parked::end)
    }
}

impl Scene for Movie {
    fn id(&self) -> SceneId {
        SceneId::Movie
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

    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        screen.show_picture();
        Ok(())
    }
}
