//! Scenes: ways of showing filtered pictures in the window.
//!
//! A [`Scene`] draws the pictures of one [`frame_loop`](engine::frame_loop), which all scenes share. Two scenes show the movie,
//! which continues when the user changes the scene: [`PlainMovie`] shows it as it is, [`cloth`] on the shirts of walking figures.
//! [`card`] plays a test card instead. Scenes in 3D use [`mesh`]es and a depth buffer.

/// The name and the source of a file in the folder `shaders`.
macro_rules! shader_file {
    ($name:literal) => {
        ($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name)))
    };
}

pub(crate) mod card;
pub(crate) mod cloth;
mod mesh;

use std::sync::Arc;

use clap::ValueEnum as _;

use crate::options::SceneId;
use base::error::{Error, Result};
use card::Card;
use cloth::Cloth;
use engine::frame_loop::{FrameLoop, ParkedMovie, Tick};
use engine::present::{Picture, VideoQuad, Viewport, letterbox};
use overlay::{Action, MovieSummary};
use video::{Decoder, Orientation};

/// A way of showing filtered pictures in the window.
pub(crate) trait Scene {
    /// Returns the properties of the movie or picture that the scene plays, for title, overlay and statistics; `None` if the
    /// scene shows the player's movie.
    fn facts(&self) -> Option<&MovieSummary> {
        None
    }

    /// Returns the properties that [`facts`](Self::facts) returns, so that they can be updated for the picture on the screen.
    fn facts_mut(&mut self) -> Option<&mut MovieSummary> {
        None
    }

    /// Prepares the scene to be the current one. If the scene plays something other than the movie, starts to play that in
    /// `frames`.
    ///
    /// # Errors
    /// Returns an error if the scene has nothing to play; then the previous scene remains the current one.
    fn enter(&mut self, _: &mut FrameLoop) -> Result<()> {
        Ok(())
    }

    /// Called when another scene becomes the current one. Stops what the scene plays in `frames` instead of the movie.
    fn leave(&mut self, _: &mut FrameLoop) {}

    /// Processes the work that has finished since the last call; never blocks. Returns a [`Tick`], which says whether a redraw
    /// is needed and when to call this function again.
    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        frames.tick()
    }

    /// Draws the scene in the window, without the overlay. The OpenGL context must be current.
    ///
    /// # Errors
    /// If an OpenGL call fails.
    fn draw(&mut self, frames: &FrameLoop, screen: &Screen) -> Result<()>;

    /// Handles a drag of the mouse, or a change of the scene's size by the keys that otherwise seek by chapters. Returns a message
    /// to show, which is empty if there is nothing to say; `None` if the scene does not use this action.
    ///
    /// # Errors
    /// If the requested change fails.
    fn input(&mut self, _: &Action, _: &mut FrameLoop) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns the title of the scene's own panel in the overlay; `None` if it has no panel.
    fn panel(&self) -> Option<&'static str> {
        None
    }

    /// Lays out the contents of the scene's panel in the overlay.
    fn panel_contents(&self, _: &mut egui::Ui) {}

    /// Ends the scene's threads; returns true if all of them have ended.
    fn end(&mut self) -> bool {
        true
    }
}

/// The window to draw in, and the picture to draw.
pub(crate) struct Screen<'a> {
    pub gl: &'a Arc<glow::Context>,
    /// The painter that draws pictures into the window.
    pub quad: &'a VideoQuad,
    /// Width and height of the window in pixels.
    pub size: (u32, u32),
    /// The picture: its texture, its size in pixels, and its pixels' width divided by their height; `None` before the first
    /// picture.
    pub picture: Option<(glow::Texture, (u32, u32), f64)>,
    /// The picture of the second side of a wipe, which has the same size as the first, and the fraction of the window's width
    /// at which that side begins; `None` without a wipe.
    pub second: Option<(glow::Texture, f32)>,
    pub orientation: Orientation,
    /// True if the picture may have pixels that are not opaque.
    pub has_alpha: bool,
}

impl Screen<'_> {
    /// Draws the picture on black, as large as fits; returns its rectangle in the window.
    fn show_picture(&self) -> Viewport {
        let viewport = self.viewport();
        let from = self.second.map_or(1.0, |(_, from)| from);
        let from = (from * viewport.width as f32).round() as i32;
        let (left, right) = (0..from, from..viewport.width);
        if self.picture.is_some() && viewport.fills(self.size) {
            self.quad.make_ready(self.size);
        } else {
            self.quad.clear(self.size);
        }
        let Some((texture, size, _)) = self.picture else { return viewport };
        let draw = |texture, columns| {
            let (has_alpha, orientation) = (self.has_alpha, self.orientation);
            self.quad.draw(&Picture { texture, size, has_alpha, orientation }, viewport, columns);
        };
        draw(texture, left);
        if let Some((second, _)) = self.second {
            draw(second, right);
        }
        viewport
    }

    /// Returns the rectangle in the window that the picture covers when it is as large as fits.
    pub(crate) fn viewport(&self) -> Viewport {
        let (upright, pixel_aspect) = match self.picture {
            Some((_, size, pixel_aspect)) => self.orientation.display_size(size, pixel_aspect),
            None => (self.size, 1.0),
        };
        letterbox(self.size, upright, pixel_aspect)
    }
}

/// Returns the preferred width and height of a scene in pixels; `None` if the scene takes the movie's size.
pub(crate) fn size(id: SceneId) -> Option<(f64, f64)> {
    let (width, height) = card::SIZES[card::INITIAL_SIZE];
    (id != SceneId::Movie).then_some((width as f64, height as f64))
}

/// The scene that shows the movie without anything else.
struct PlainMovie;

impl Scene for PlainMovie {
    /// Draws the picture as large as fits.
    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        screen.show_picture();
        Ok(())
    }
}

/// All scenes, the current one, and the movie, which more than one scene shows.
pub(crate) struct Scenes {
    /// The properties of the movie, even while the current scene plays something else.
    pub(crate) movie: MovieSummary,
    /// The movie's decoder and state, taken out of the frame loop while the current scene does not show the movie.
    parked: Option<ParkedMovie>,
    /// All scenes, in the order of [`SceneId`], in which the key `v` selects them.
    all: [Box<dyn Scene>; 3],
    current: SceneId,
}

impl Scenes {
    /// Creates all scenes. The current scene is the movie player, for the movie with the properties `facts`.
    pub(crate) fn new(facts: MovieSummary) -> Self {
        let all: [Box<dyn Scene>; 3] = [Box::new(PlainMovie), Box::new(Card::new()), Box::new(Cloth::new())];
        Self { movie: facts, parked: None, all, current: SceneId::Movie }
    }

    pub(crate) fn current(&self) -> &dyn Scene {
        &*self.all[self.current as usize]
    }

    pub(crate) fn current_mut(&mut self) -> &mut dyn Scene {
        &mut *self.all[self.current as usize]
    }

    /// Returns true if the movie player is the current scene.
    pub(crate) fn is_movie(&self) -> bool {
        self.current == SceneId::Movie
    }

    /// Returns true if the current scene shows the movie, as it is or on shirts.
    pub(crate) fn plays_movie(&self) -> bool {
        self.current().facts().is_none()
    }

    /// Returns the properties of the movie or picture that the current scene plays.
    pub(crate) fn facts(&self) -> &MovieSummary {
        self.current().facts().unwrap_or(&self.movie)
    }

    /// Returns the properties that [`facts`](Self::facts) returns, so that they can be updated for the picture on the screen.
    pub(crate) fn facts_mut(&mut self) -> &mut MovieSummary {
        self.all[self.current as usize].facts_mut().unwrap_or(&mut self.movie)
    }

    /// Plays another movie. If the current scene does not show the movie, it begins when a scene that does becomes the current
    /// one.
    pub(crate) fn play(&mut self, decoder: Decoder, facts: MovieSummary, frames: &mut FrameLoop) {
        self.movie = facts;
        if self.plays_movie() {
            frames.play(ParkedMovie::new(decoder));
        } else if let Some(before) = self.parked.replace(ParkedMovie::new(decoder)) {
            before.retire();
        }
    }

    /// Makes a scene the current one.
    ///
    /// # Errors
    /// If the scene has nothing to play, or shows the movie while no movie was opened yet.
    pub(crate) fn go_to(&mut self, id: SceneId, frames: &mut FrameLoop) -> Result<()> {
        if id == self.current {
            return Ok(());
        }
        let (showed, shows) = (self.plays_movie(), self.all[id as usize].facts().is_none());
        if shows && !showed && self.movie.is_opening() {
            let hint = "Open one with o, or drop it on the window.";
            return Err(Error::new("There is no movie to show.", "None has been opened yet.", hint));
        }
        self.current_mut().leave(frames);
        if showed && !shows {
            self.parked = Some(frames.park());
        }
        let before = std::mem::replace(&mut self.current, id);
        let entered = self.enter(frames);
        if entered.is_err() {
            self.current = before;
            return self.enter(frames).and(entered);
        }
        entered
    }

    /// Enters the current scene, and resumes the movie if the scene shows it.
    fn enter(&mut self, frames: &mut FrameLoop) -> Result<()> {
        self.current_mut().enter(frames)?;
        if self.plays_movie()
            && let Some(parked) = self.parked.take()
        {
            frames.play(parked);
        }
        Ok(())
    }

    /// Returns the id of the scene that follows the current one; the first scene follows the last one.
    pub(crate) fn next(&self) -> SceneId {
        let all = SceneId::value_variants();
        all[(self.current as usize + 1) % all.len()]
    }

    /// Stops reading a movie that is kept while another scene plays, and ends the threads of all scenes. Returns true if all of
    /// these threads have ended.
    pub(crate) fn end(&mut self) -> bool {
        // All are ended, even if the first one returns false.
        let movie = self.parked.as_mut().is_none_or(|parked| parked.decoder.end());
        self.all.iter_mut().map(|scene| scene.end()).fold(movie, |all, ended| all && ended)
    }
}
