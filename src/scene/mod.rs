//! What fills the window. In: decoded frames, what the user chose. Out: the picture to draw, and what it took.
//!
//! A [`Scene`] says how that is drawn; the pictures come to it from one [`frame_loop`](engine::frame_loop), a frame's way, which all of them share.
//! Two show the movie, which plays on when the one gives the window to the other: [`movie`] as it is, [`cloth`] on the shirts of
//! an army. [`card`] plays a test card of its own. One that draws in space has a [`depth`] buffer and [`mesh`]es.

pub(crate) mod card;
pub(crate) mod cloth;
mod depth;
mod mesh;
mod movie;

use std::sync::Arc;

use crate::options::SceneId;
use base::error::{Error, Result};
use card::Card;
use cloth::Cloth;
use engine::frame_loop::{FrameLoop, Tick};
use engine::present::{VideoQuad, Viewport, letterbox};
use engine::stats::Recorder;
use movie::{Movie, Plain};
use opencl::event::Waker;
use overlay::MovieSummary;
use video::{Decoder, Orientation};

/// What the user does with the picture, and a scene may heed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Input {
    /// The mouse was pressed over the picture, and is dragged from there: parts of the window's width and height, from its upper
    /// left corner.
    Grab([f32; 2]),
    /// It was dragged.
    Drag {
        /// In parts of the window's height: right and down are positive.
        by: [f32; 2],
        /// To where, as in [`Input::Grab`].
        at: [f32; 2],
    },
    /// It was let go.
    LetGo,
    /// A larger scene, or a smaller one: so many steps.
    Size(isize),
}

/// What fills the window.
pub(crate) trait Scene {
    /// Its name on the command line.
    fn id(&self) -> SceneId;

    /// What plays in it, for the title, the overlay and the statistics; `None`: it shows the movie, and plays nothing of its own.
    fn facts(&self) -> Option<&MovieSummary> {
        None
    }

    /// The same, to be brought up to date with what is on the screen.
    fn facts_mut(&mut self) -> Option<&mut MovieSummary> {
        None
    }

    /// Takes the window, and gives `frames` what it plays of its own.
    ///
    /// # Errors
    /// When it has nothing to play; the scene before stays.
    fn enter(&mut self, _: &mut FrameLoop) -> Result<()> {
        Ok(())
    }

    /// Leaves the window to another scene, and ends in `frames` what it plays of its own.
    fn leave(&mut self, _: &mut FrameLoop) {}

    /// One turn: moves along what has finished, and says when there is something to draw and when to come again. Never waits.
    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        frames.tick()
    }

    /// Draws the window, over which the overlay comes. The OpenGL context is current.
    ///
    /// # Errors
    /// When OpenGL refuses what it needs for that.
    fn draw(&mut self, frames: &FrameLoop, screen: &Screen) -> Result<()>;

    /// Takes what the user does, unless it means nothing here; returns what is to be said of it, which may be nothing.
    ///
    /// # Errors
    /// When that cannot be done.
    fn input(&mut self, _: Input, _: &mut FrameLoop) -> Result<Option<String>> {
        Ok(None)
    }

    /// What was measured.
    fn stats<'a>(&'a self, frames: &'a FrameLoop) -> &'a Recorder {
        &frames.recorder
    }

    /// Its own panel among the overlay's: the title.
    fn panel(&self) -> Option<&'static str> {
        None
    }

    /// The panel's contents.
    fn panel_contents(&self, _: &mut egui::Ui) {}

    /// Ends what works for it; whether that has ended.
    fn end(&mut self) -> bool {
        true
    }

    /// Deletes its OpenGL objects; call it while the context is current.
    fn destroy(&mut self) {}
}

/// The window to draw in.
pub(crate) struct Screen<'a> {
    /// OpenGL.
    pub gl: &'a Arc<glow::Context>,
    /// Draws pictures.
    pub quad: &'a VideoQuad,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// The picture to show: its texture, its size in pixels, and the width of a pixel over its height.
    pub picture: Option<(glow::Texture, (u32, u32), f64)>,
    /// Another one of that size, over it, and from which part of its width on.
    pub beside: Option<(glow::Texture, f32)>,
    /// How it is turned.
    pub orientation: Orientation,
    /// Whether it may have pixels that are not opaque.
    pub has_alpha: bool,
}

impl Screen<'_> {
    /// Draws the picture as large as fits, on black; returns where it lies.
    fn show_picture(&self) -> Viewport {
        let viewport = self.viewport();
        let from = self.beside.map_or(1.0, |(_, from)| from);
        let from = (from * viewport.width as f32).round() as i32;
        let (left, right) = (0..from, from..viewport.width);
        if self.picture.is_some() && viewport.fills(self.size) {
            self.quad.make_ready(self.size);
        } else {
            self.quad.clear(self.size);
        }
        let Some((texture, size, _)) = self.picture else { return viewport };
        let draw = |texture, columns| {
            self.quad.draw((texture, size, self.has_alpha), viewport, self.orientation, columns);
        };
        draw(texture, left);
        if let Some((beside, _)) = self.beside {
            draw(beside, right);
        }
        viewport
    }

    /// Where the picture lies as large as fits.
    pub(crate) fn viewport(&self) -> Viewport {
        let (upright, pixel_aspect) = match self.picture {
            Some((_, size, pixel_aspect)) => self.orientation.shown(size, pixel_aspect),
            None => (self.size, 1.0),
        };
        letterbox(self.size, upright, pixel_aspect)
    }
}

/// How many pixels across and down a scene has, unless it has the movie's.
pub(crate) fn size(id: SceneId) -> Option<(f64, f64)> {
    let (width, height) = card::SIZES[card::FIRST];
    (id != SceneId::Movie).then_some((width as f64, height as f64))
}

/// The scenes, and which of them has the window.
pub(crate) struct Scenes {
    movie: Movie,
    plain: Plain,
    others: Vec<Box<dyn Scene>>,
    now: SceneId,
}

impl Scenes {
    /// All of them; the movie has the window. `facts` are what is known of it, `waker` is called when a picture is there.
    pub(crate) fn new(facts: MovieSummary, waker: &Waker) -> Self {
        let others: Vec<Box<dyn Scene>> =
            vec![Box::new(Card::new(waker.clone())), Box::new(Cloth::new(waker.clone()))];
        Self { movie: Movie::new(facts), plain: Plain, others, now: SceneId::Movie }
    }

    fn scene(&self, id: SceneId) -> &dyn Scene {
        let other = self.others.iter().find(|scene| scene.id() == id);
        other.map_or(&self.plain, |scene| &**scene)
    }

    /// The one that has the window.
    pub(crate) fn now(&self) -> &dyn Scene {
        self.scene(self.now)
    }

    /// The same, to be changed.
    pub(crate) fn now_mut(&mut self) -> &mut dyn Scene {
        match self.others.iter_mut().find(|scene| scene.id() == self.now) {
            Some(other) => &mut **other,
            None => &mut self.plain,
        }
    }

    /// Whether the movie has the window, as it is.
    pub(crate) fn is_movie(&self) -> bool {
        self.now == SceneId::Movie
    }

    /// Whether the movie plays, as it is or on shirts.
    pub(crate) fn plays_movie(&self) -> bool {
        self.now().facts().is_none()
    }

    /// What is known of what plays.
    pub(crate) fn facts(&self) -> &MovieSummary {
        self.now().facts().unwrap_or(self.movie.facts())
    }

    /// The same, to be brought up to date with what is on the screen.
    pub(crate) fn facts_mut(&mut self) -> &mut MovieSummary {
        let own = self.others.iter_mut().find(|scene| scene.id() == self.now);
        own.and_then(|scene| scene.facts_mut()).unwrap_or(self.movie.facts_mut())
    }

    /// What is known of the movie, also while another scene has the window.
    pub(crate) fn movie(&self) -> &MovieSummary {
        self.movie.facts()
    }

    /// Plays another movie, now or as soon as a scene that shows it has the window.
    pub(crate) fn play(&mut self, decoder: Decoder, facts: MovieSummary, frames: &mut FrameLoop) {
        let is_shown = self.plays_movie();
        self.movie.play(decoder, facts, is_shown.then_some(frames));
    }

    /// Gives the window to this scene.
    ///
    /// # Errors
    /// As [`Scene::enter`], and when there is no movie yet to go back to.
    pub(crate) fn go_to(&mut self, id: SceneId, frames: &mut FrameLoop) -> Result<()> {
        if id == self.now {
            return Ok(());
        }
        let (showed, shows) = (self.plays_movie(), self.scene(id).facts().is_none());
        if shows && !showed && !self.movie.is_there() {
            let hint = "Open one with o, or drop it on the window.";
            return Err(Error::new("There is no movie to show.", "None has been opened yet.", hint));
        }
        self.now_mut().leave(frames);
        if showed && !shows {
            self.movie.park(frames);
        }
        let before = std::mem::replace(&mut self.now, id);
        let entered = self.enter(frames);
        if entered.is_err() {
            self.now = before;
            return self.enter(frames).and(entered);
        }
        entered
    }

    /// The scene takes the window, and the movie goes on where it shows that.
    fn enter(&mut self, frames: &mut FrameLoop) -> Result<()> {
        self.now_mut().enter(frames)?;
        if self.plays_movie() {
            self.movie.resume(frames);
        }
        Ok(())
    }

    /// The scene after this one, round.
    pub(crate) fn next(&self) -> SceneId {
        let all = SceneId::ALL;
        let at = all.iter().position(|id| *id == self.now).map_or(0, |at| (at + 1) % all.len());
        all[at]
    }

    /// Stops reading a movie that waits for the window, and what works for scenes; whether all of that has ended.
    pub(crate) fn end(&mut self) -> bool {
        // All are asked, whatever the first one says.
        let movie = self.movie.end();
        self.others.iter_mut().map(|scene| scene.end()).fold(movie, |all, ended| all && ended)
    }

    /// Deletes the OpenGL objects of all; call it while the context is current.
    pub(crate) fn destroy(&mut self) {
        self.others.iter_mut().for_each(|scene| scene.destroy());
    }
}
