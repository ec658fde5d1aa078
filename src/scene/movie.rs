//! The movie. In: its decoder. Out: its pictures in the frame loop while a scene shows it, and [`Plain`], the scene that has them
//! as large as the window has room for.

use super::{Scene, Screen};
use crate::options::SceneId;
use base::error::Result;
use engine::frame_loop::{FrameLoop, Parked};
use overlay::MovieSummary;
use video::Decoder;

/// The movie, whichever scene shows it.
pub(super) struct Movie {
    facts: MovieSummary,
    /// What played when a scene that does not show it took the window.
    parked: Option<Parked>,
}

impl Movie {
    pub(super) fn new(facts: MovieSummary) -> Self {
        Self { facts, parked: None }
    }

    /// What is known of it.
    pub(super) fn facts(&self) -> &MovieSummary {
        &self.facts
    }

    /// The same, to be brought up to date with what is on the screen.
    pub(super) fn facts_mut(&mut self) -> &mut MovieSummary {
        &mut self.facts
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

    /// Leaves `frames` to what another scene plays.
    pub(super) fn park(&mut self, frames: &mut FrameLoop) {
        self.parked = Some(frames.park());
    }

    /// Goes on in `frames` where it was left, if it was.
    pub(super) fn resume(&mut self, frames: &mut FrameLoop) {
        if let Some(parked) = self.parked.take() {
            frames.resume(parked);
        }
    }

    /// Stops what waits for the window; whether it has ended.
    pub(super) fn end(&mut self) -> bool {
        self.parked.as_mut().is_none_or(Parked::end)
    }
}

/// The movie as it is.
pub(super) struct Plain;

impl Scene for Plain {
    fn id(&self) -> SceneId {
        SceneId::Movie
    }

    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        screen.show_picture();
        Ok(())
    }
}
