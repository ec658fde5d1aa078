//! What plays: the scenes, the list of movies, and where in them the user wants to be ([`navigate`]). In: what the user asks
//! for. Out: a decoder in the frame loop, and sentences for the user.

mod navigate;

use std::path::PathBuf;

use super::With;
use crate::app::completion::Completion;
use crate::app::playlist::Playlist;
use crate::options::SceneId;
use crate::scene::{Input, Scene, Scenes};
use base::error::{Error, Result};
use base::jobs::Waker;
use box_filter::VariantId;
use engine::frame_loop::{FrameLoop, Tick};
use navigate::Navigation;
use overlay::MovieSummary;
use video::{Decoder, MovieInfo};

/// What plays.
pub(super) struct Movies {
    scenes: Scenes,
    playlist: Playlist,
    navigation: Navigation,
    completion: Option<Completion>,
    /// What is wrong with the movie has been told.
    warned: bool,
    /// What of the movie is not shown as it is meant.
    remark: Option<Error>,
    /// That has been told.
    remarked: bool,
    /// What the title says: the filter of the picture on the screen, and whether it is paused.
    titled: Option<(Option<(VariantId, u32)>, bool)>,
}

impl Movies {
    /// The list's first movie has the window; `info` is what is known of it, if it is open already.
    pub(super) fn new(playlist: Playlist, info: Option<&MovieInfo>, waker: &Waker) -> Self {
        let facts = match info {
            Some(info) => MovieSummary::of(playlist.current(), info),
            None => MovieSummary::opening(playlist.current()),
        };
        Self {
            scenes: Scenes::new(facts, waker),
            playlist,
            navigation: Navigation::default(),
            completion: None,
            warned: false,
            remark: info.and_then(MovieInfo::remark),
            remarked: false,
            titled: None,
        }
    }

    /// Gives the window to a scene.
    ///
    /// # Errors
    /// When it has nothing to play; the one before goes on.
    pub(super) fn go_to(&mut self, id: SceneId, frames: &mut FrameLoop) -> Result<()> {
        // What repeats is a part of what plays until now.
        frames.decoder().set_ab(None);
        (self.navigation, self.titled) = (Navigation::default(), None);
        self.scenes.go_to(id, frames)
    }

    /// Gives the window to the scene after this one.
    pub(super) fn next_scene(&mut self, with: &mut With) {
        if let Err(error) = self.go_to(self.scenes.next(), with.frames) {
            with.notices.tell(error, true);
        }
        with.repaints.soon();
    }

    /// The scene that has the window.
    pub(super) fn scene(&self) -> &dyn Scene {
        self.scenes.now()
    }

    /// What is known of what plays.
    pub(super) fn facts(&self) -> &MovieSummary {
        self.scenes.facts()
    }

    /// Whether the movie has the window.
    pub(super) fn is_movie(&self) -> bool {
        self.scenes.is_movie()
    }

    /// The scene, to draw it.
    pub(super) fn scene_mut(&mut self) -> &mut dyn Scene {
        self.scenes.now_mut()
    }

    /// One turn of the scene that has the window.
    pub(super) fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        self.scenes.now_mut().tick(frames)
    }

    /// Lets the scene take what the user does; whether that means something to it.
    pub(super) fn input(&mut self, input: Input, with: &mut With) -> bool {
        match self.scenes.now_mut().input(input, with.frames) {
            Ok(None) => return false,
            Ok(Some(text)) if text.is_empty() => {}
            Ok(Some(text)) => with.overlay.say(text),
            Err(error) => with.notices.tell(error, true),
        }
        with.repaints.soon();
        true
    }

    /// Goes on to the next movie of several when this one is over, plays what has been opened meanwhile, and goes on with
    /// seeks. Returns a movie whose size the window is to take.
    ///
    /// # Errors
    /// When none of the first movies can be opened.
    pub(super) fn look(&mut self, with: &mut With) -> Result<Option<MovieInfo>> {
        let several = self.playlist.count() > 1;
        let plays = self.scenes.plays_movie() && !self.playlist.is_opening();
        if several && plays && !with.frames.is_paused() && with.frames.is_over() {
            self.playlist.advance();
        }
        let sized = match self.playlist.poll() {
            Some(Ok(decoder)) => self.play(decoder, with),
            Some(Err(error)) if self.playlist.is_hopeless() && self.scenes.plays_movie() => {
                return Err(error);
            }
            Some(Err(error)) => {
                with.notify(error, true);
                None
            }
            None => None,
        };
        self.navigate(with);
        if !self.remarked
            && let Some(remark) = self.remark.clone()
        {
            self.remarked = true;
            with.notify(remark, false);
        }
        if !self.warned
            && let Some(warning) = with.frames.decoder().warning()
        {
            self.warned = true;
            with.notify(warning, false);
        }
        Ok(sized)
    }

    fn play(&mut self, decoder: Decoder, with: &mut With) -> Option<MovieInfo> {
        // More files may have been dropped while this one was being opened.
        decoder.set_looping(self.playlist.count() == 1);
        // The window appeared before its movie's size was known.
        let sizes = self.scenes.movie().is_opening() && self.scenes.is_movie();
        let sized = sizes.then(|| decoder.info().clone());
        self.playlist.outlived().iter().for_each(|error| with.notices.hide(error));
        // What was told of the movie before says nothing of this one.
        self.remark.iter().for_each(|error| with.notices.hide(error));
        (self.remark, self.remarked) = (decoder.info().remark(), false);
        let facts = MovieSummary::of(self.playlist.current(), decoder.info());
        (self.warned, self.titled, self.navigation) = (false, None, Navigation::default());
        self.scenes.play(decoder, facts, with.frames);
        if self.playlist.was_asked()
            && !self.scenes.plays_movie()
            && let Err(error) = self.go_to(SceneId::Movie, with.frames)
        {
            with.notices.tell(error, true);
        }
        with.repaints.soon();
        sized
    }

    /// Files have come over the window: what is dropped next is a drop of its own.
    pub(super) fn hovered(&mut self) {
        self.playlist.hovered();
    }

    /// Takes a file that was dropped on the window.
    pub(super) fn dropped(&mut self, path: PathBuf, frames: &FrameLoop) {
        self.playlist.dropped(path);
        if self.playlist.count() > 1 {
            // The first of a drop was alone until now.
            frames.decoder().set_looping(false);
        }
    }

    /// Plays another movie of several.
    pub(super) fn go(&mut self, step: isize) {
        self.playlist.go(step);
    }

    /// Asks for a movie: with the desktop's dialog, else in the overlay.
    pub(super) fn ask(&mut self, with: &mut With) {
        if !self.playlist.ask(&with.gl_window.window) {
            with.overlay.ask_for_path();
        }
    }

    /// Opens the movie at a path as a user types it.
    pub(super) fn open_typed(&mut self, text: &str) {
        self.playlist.open_typed(text);
    }

    /// Begins to complete a path.
    pub(super) fn complete(&mut self, typed: String, waker: &Waker) {
        self.completion = Completion::begin(typed, waker);
    }

    /// Asks for a path where the desktop's dialog could not, and completes the one that is typed.
    fn look_after_paths(&mut self, with: &mut With) {
        if self.playlist.dialog_failed() {
            with.overlay.ask_for_path();
            with.repaints.soon();
        }
        if let Some(done) = self.completion.as_ref().and_then(Completion::poll) {
            self.completion = None;
            with.overlay.complete_path(&done.typed, done.text, &done.names);
            with.repaints.soon();
        }
    }

    /// Whether there is one movie, and every frame of it was shown.
    pub(super) fn is_finished(&self, frames: &FrameLoop) -> bool {
        self.playlist.count() == 1 && frames.is_finished()
    }

    /// Notes what is on the screen now, for the overlay and the statistics.
    pub(super) fn note_shown(&mut self, frames: &FrameLoop) {
        let in_list = self.playlist.in_list().filter(|_| self.scenes.plays_movie());
        let facts = self.scenes.facts_mut();
        facts.position_s = frames.position_s();
        // Until then the picture on the screen is another scene's.
        if let Some((width, height)) = frames.shown_size().filter(|_| !facts.is_opening()) {
            (facts.width, facts.height) = (width, height);
        }
        facts.in_list = in_list;
    }

    /// The title names what is on the screen, also while the overlay is hidden: "clip.mp4 - naive, r=7". `None`: it has not
    /// changed.
    pub(super) fn title(&mut self, frames: &FrameLoop) -> Option<String> {
        let facts = self.scenes.facts();
        let now = (frames.shown_filter(), frames.is_paused());
        if self.titled.replace(now) == Some(now) {
            return None;
        }
        let worn = if self.scenes.plays_movie() && !self.scenes.is_movie() { " on shirts" } else { "" };
        if facts.is_opening() {
            return Some(format!("{} - opening - clreel", facts.name()));
        }
        // A movie that is named there is on the screen.
        let filter = match now.0? {
            (VariantId::Off, _) => " - off".to_owned(),
            (variant, radius) => format!(" - {variant}, r={radius}"),
        };
        let paused = if now.1 { ", paused" } else { "" };
        Some(format!("{}{worn}{filter}{paused} - clreel", facts.name()))
    }

    /// Ends what reads; whether all of it has ended.
    #[must_use]
    pub(super) fn end(&mut self, frames: &mut FrameLoop) -> bool {
        let (plays, waits) = (frames.end_decoder(), self.scenes.end());
        !self.playlist.is_opening() && plays && waits
    }

    /// Deletes the OpenGL objects of the scenes; call it while the context is current.
    pub(super) fn destroy(&mut self) {
        self.scenes.destroy();
    }
}
