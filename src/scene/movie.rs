//! The movie, which more than one scene shows, and [`PlainMovie`], the scene that shows it without anything else.

use super::{Scene, Screen};
use crate::options::SceneId;
use base::error::Result;
use engine::frame_loop::{FrameLoop, ParkedMovie};
use overlay::MovieSummary;
use video::Decoder;

/// The movie and its state, independent of the scene that shows it.
pub(super) struct Movie {
    pub(super) facts: MovieSummary,
    /// The movie's decoder and state, taken out of the frame loop while the current scene does not show the movie.
    parked: Option<ParkedMovie>,
}

impl Movie {
    /// Creates the state for a movie with the properties `facts`, which the frame loop plays.
    pub(super) fn new(facts: MovieSummary) -> Self {
        Self { facts, parked: None }
    }

    /// Plays another movie in `frames`. If `frames` is `None`, keeps the movie without playing it, until a scene shows it.
    pub(super) fn play(&mut self, decoder: Decoder, facts: MovieSummary, frames: Option<&mut FrameLoop>) {
        self.facts = facts;
        match frames {
            Some(frames) => frames.play(ParkedMovie::new(decoder)),
            None => {
                let before = self.parked.replace(ParkedMovie::new(decoder));
                before.into_iter().for_each(ParkedMovie::retire);
            }
        }
    }

    /// Takes the movie out of the frame loop `frames` and keeps it, so that a scene can play something else there;
    /// [`resume`](Self::resume) continues it.
    pub(super) fn park(&mut self, frames: &mut FrameLoop) {
        self.parked = Some(frames.park());
    }

    /// Puts a movie that was taken out by [`park`](Self::park) back into the frame loop `frames`; does nothing if there is none.
    pub(super) fn resume(&mut self, frames: &mut FrameLoop) {
        if let Some(parked) = self.parked.take() {
            frames.play(parked);
        }
    }

    /// Stops reading a movie that is kept outside of the frame loop; returns true if no thread reads it any more.
    pub(super) fn end(&mut self) -> bool {
        self.parked.as_mut().is_none_or(|parked| parked.decoder.end())
    }
}

/// The scene that shows the movie without anything else.
pub(super) struct PlainMovie;

impl Scene for PlainMovie {
    fn id(&self) -> SceneId {
        SceneId::Movie
    }

    /// Draws the picture as large as fits.
    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        screen.show_picture();
        Ok(())
    }
}
