//! The movie and the scenes that show it, the list of movies, and navigation in the movie: seeking, and the section that is
//! repeated.

use super::*;
use crate::app::completion::CompletedPath;
use crate::options::SceneId;
use crate::scene::Scenes;
use overlay::{Action, MovieSummary, PathPurpose};
use stats::Request;
use video::{MovieInfo, Seek};

/// If a chapter has played for longer than this many seconds, the key for the previous chapter seeks to the beginning of the
/// current one, as in mpv.
const RESTART_S: f64 = 5.0;

/// The scenes, the list of movies, and the navigation in the current movie.
pub(super) struct Movies {
    pub scenes: Scenes,
    pub playlist: Playlist,
    pub navigation: Navigation,
    /// The job that completes the path that the user is typing.
    pub completion: Option<Job<CompletedPath>>,
    /// True once the decoder's warning about the current movie was shown.
    warned: bool,
    /// The error about a property of the current movie that clreel cannot show as intended; `None` if there is none.
    /// [`super::Player`] shows the error of the first movie.
    pub remark: Option<Error>,
    /// The state that the window's title named last: the filter of the picture on the screen (`None` without one), and true if
    /// the movie was paused. `None` before the first title.
    titled: Option<(Option<Request>, bool)>,
}

impl Movies {
    /// Creates the state at the start; `info` describes the first movie if that is already open.
    pub(super) fn new(playlist: Playlist, info: Option<&MovieInfo>) -> Self {
        let facts = match info {
            Some(info) => MovieSummary::new(playlist.current(), info),
            None => MovieSummary::while_opening(playlist.current()),
        };
        let (scenes, remark) = (Scenes::new(facts), info.and_then(MovieInfo::remark));
        let (navigation, completion, warned, titled) = (Navigation::default(), None, false, None);
        Self { scenes, playlist, navigation, completion, warned, remark, titled }
    }

    /// Makes a scene the current one, which the window shows.
    ///
    /// # Errors
    /// If the scene has nothing to play; then the current scene stays.
    pub(super) fn go_to(&mut self, id: SceneId, frames: &mut FrameLoop) -> Result<()> {
        // The section that is repeated is not kept when the scene changes.
        frames.intake.decoder.set_repeat_section(None);
        (self.navigation, self.titled) = (Navigation::default(), None);
        self.scenes.go_to(id, frames)
    }

    /// Passes an action of the user to the current scene; returns true if the scene has used it.
    pub(super) fn input(&mut self, action: &Action, cx: &mut PlayerContext) -> bool {
        match self.scenes.current_mut().input(action, &mut cx.frames) {
            Ok(None) => return false,
            Ok(Some(text)) if text.is_empty() => {}
            Ok(Some(text)) => cx.overlay.show_message(text),
            Err(error) => cx.notices.add(error, true),
        }
        true
    }

    /// Opens the next movie of the list when the current one is over, plays a movie that has been opened, and continues seeks.
    /// Opens the overlay's text field for a path if the desktop's dialog has failed, and shows the completions of the typed path.
    /// Returns information about a new movie if the window is to be resized to fit it.
    ///
    /// # Errors
    /// If none of the first movies can be opened.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) -> Result<Option<MovieInfo>> {
        let several = self.playlist.count() > 1;
        let plays = self.scenes.plays_movie() && !self.playlist.is_opening();
        if several && plays && !cx.frames.schedule.is_paused() && cx.frames.playing().ended {
            self.playlist.advance();
        }
        let sized = match self.playlist.poll(Duration::ZERO) {
            Some(Ok(decoder)) => self.play(decoder, cx),
            Some(Err(error)) if self.playlist.is_hopeless() && self.scenes.plays_movie() => {
                return Err(error);
            }
            Some(Err(error)) => {
                match self.playlist.has_request {
                    true => cx.notices.add_passing(error, true),
                    false => cx.notices.add(error, true),
                }
                cx.repaints.redraw_soon();
                None
            }
            None => None,
        };
        if self.playlist.poll_dialog() {
            cx.overlay.path_prompt.open(PathPurpose::Movie);
            cx.repaints.redraw_soon();
        }
        if let Some(Ok(done)) = Job::take_result(&mut self.completion, Duration::ZERO) {
            cx.overlay.path_prompt.complete(&done.typed, done.text, done.folder, done.names);
            cx.repaints.redraw_soon();
        }
        self.navigation.update(cx);
        if !self.warned
            && let Some(warning) = cx.frames.intake.decoder.warning()
        {
            self.warned = true;
            cx.notify(warning, false);
        }
        Ok(sized)
    }

    /// Plays the movie of this decoder. Returns information about the movie if the window is to be resized to fit it.
    fn play(&mut self, decoder: Decoder, cx: &mut PlayerContext) -> Option<MovieInfo> {
        // More files may have been dropped while this one was being opened.
        decoder.set_looping(self.playlist.count() == 1);
        // The window was opened before the movie's size was known.
        let sizes = self.scenes.movie.is_opening() && self.scenes.is_movie();
        let sized = sizes.then(|| decoder.info().clone());
        self.playlist.take_obsolete_errors().iter().for_each(|error| cx.notices.hide(error));
        // The shown error is about the previous movie.
        self.remark.iter().for_each(|error| cx.notices.hide(error));
        self.remark = decoder.info().remark();
        self.remark.iter().for_each(|error| cx.notify(error.clone(), false));
        let facts = MovieSummary::new(self.playlist.current(), decoder.info());
        (self.warned, self.titled, self.navigation) = (false, None, Navigation::default());
        self.scenes.play(decoder, facts, &mut cx.frames);
        self.note_recent(cx);
        if self.playlist.has_request
            && !self.scenes.plays_movie()
            && let Err(error) = self.go_to(SceneId::Movie, &mut cx.frames)
        {
            cx.notices.add(error, true);
        }
        cx.repaints.redraw_soon();
        sized
    }

    /// Remembers the movie that plays among the recent files, unless it is the bundled clip or its path is not Unicode.
    pub(super) fn note_recent(&self, cx: &mut PlayerContext) {
        let path = self.playlist.current();
        if video::bundled_clip().is_ok_and(|clip| clip == path) {
            return;
        }
        let path = std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        path.into_iter().for_each(|path| cx.overlay.path_prompt.add_recent(path));
    }

    /// Seeks to this time of the movie, in seconds; to a key frame near it if `exact` is false.
    pub(super) fn seek(&mut self, to_s: f64, exact: bool, cx: &mut PlayerContext) {
        // A damaged file may state any length, also NaN.
        let to_s = to_s.min(self.scenes.facts().duration_s.unwrap_or(f64::MAX)).max(0.0);
        self.navigation.seek_to(to_s, exact, cx);
    }

    /// Seeks forward by `step` chapters, or backward if `step` is negative. The first step backward leads to the beginning of
    /// the current chapter, unless that has only just begun.
    pub(super) fn go_to_chapter(&mut self, step: isize, cx: &mut PlayerContext) {
        let frame_s = cx.frames.presenter.screen.frame_interval_ns().map_or(0.0, |ns| ns as f64 / 1e9);
        let chapters = &self.scenes.facts().chapters;
        let starts: Vec<f64> = chapters.iter().map(|chapter| chapter.start_s).collect();
        let next = chapter(&starts, self.navigation.position_s(cx), frame_s, step);
        let Some((next, chapter)) = next.and_then(|next| Some((next, chapters.get(next)?))) else {
            let text =
                if starts.is_empty() { "This movie has no chapters" } else { "This is the last chapter" };
            return cx.overlay.show_message(text.to_owned());
        };
        let colon = if chapter.title.is_empty() { "" } else { ": " };
        let (count, to_s) = (starts.len(), chapter.start_s);
        cx.overlay.show_message(format!("Chapter {} of {count}{colon}{}", next + 1, chapter.title));
        self.seek(to_s, true, cx);
    }

    /// Returns the overlay's text about repetition: the marked section, or `once` if the movie is not repeated. Returns an
    /// empty text if the whole movie is repeated, or if the list has several movies.
    pub(super) fn repeat_text(&self, frames: &FrameLoop) -> String {
        match self.navigation.part {
            (Some(a), Some(b)) => format!("repeats {a:.2} to {b:.2} s"),
            (Some(a), None) => format!("repeats from {a:.2} s"),
            (None, _) if self.playlist.count() == 1 && !frames.intake.decoder.is_looping() => {
                "once".to_owned()
            }
            (None, _) => String::new(),
        }
    }

    /// Updates the position and the size of the picture on the screen, and the movie's duration, for the overlay and the
    /// statistics.
    pub(super) fn note_shown(&mut self, frames: &FrameLoop) {
        let in_list = self.playlist.list_position().filter(|_| self.scenes.plays_movie());
        let facts = self.scenes.facts_mut();
        facts.position_s = frames.presenter.screen.position_s();
        // While a movie is being opened, the picture on the screen belongs to another scene.
        if !facts.is_opening() {
            facts.duration_s = frames.intake.decoder.duration_s();
        }
        if let Some((width, height)) = frames.presenter.screen.size().filter(|_| !facts.is_opening()) {
            (facts.width, facts.height) = (width, height);
        }
        facts.note = frames.intake.decoder.note().filter(|_| !facts.is_opening());
        facts.in_list = in_list;
    }

    /// Returns the new title of the window, such as "clip.mp4 - naive, r=7"; `None` if it has not changed since the last call.
    pub(super) fn title(&mut self, frames: &FrameLoop) -> Option<String> {
        let facts = self.scenes.facts();
        let now = (frames.presenter.screen.request().copied(), frames.schedule.is_paused());
        if self.titled.replace(now) == Some(now) {
            return None;
        }
        let worn = if self.scenes.plays_movie() && !self.scenes.is_movie() { " on shirts" } else { "" };
        if facts.is_opening() {
            return Some(format!("{} - opening - clreel", facts.name()));
        }
        // The title names a movie once it is on the screen.
        let request = now.0?;
        let (variant, text) = (request.variant, request.variant.settings_text(request.settings));
        let filter = match variant == VariantId::OFF || text.is_empty() {
            _ if !request.stack.is_empty() => format!(" - {request}"),
            true => format!(" - {variant}"),
            false => format!(" - {variant}, {text}"),
        };
        let paused = if now.1 { ", paused" } else { "" };
        Some(format!("{}{worn}{filter}{paused} - clreel", facts.name()))
    }

    /// Stops reading all movies; returns true if no thread reads a movie any more.
    #[must_use]
    pub(super) fn end(&mut self, frames: &mut FrameLoop) -> bool {
        let (plays, waits) = (frames.intake.decoder.end(), self.scenes.end());
        !self.playlist.is_opening() && plays && waits
    }
}

/// The seeks in progress, and the section that is repeated. While a key is held, positions are requested faster than they can
/// be shown.
#[derive(Debug, Default)]
pub(crate) struct Navigation {
    /// The target of the last seek in seconds, from which relative seeks start; `None` once its frame is on the screen and no
    /// seek key is held.
    pub target_s: Option<f64>,
    /// The seek that starts once the frame of the previous seek is on the screen; `None` if there is none.
    next_seek: Option<Seek>,
    /// True while a seek key is held, so that only key frames are shown.
    is_coarse: bool,
    /// The beginning and the end of the repeated section in seconds; each is `None` while it is not marked.
    pub part: (Option<f64>, Option<f64>),
}

impl Navigation {
    /// Returns the position in seconds from which relative seeks start: the target of a seek in progress, else the position of
    /// the picture on the screen.
    pub(crate) fn position_s(&self, cx: &PlayerContext) -> f64 {
        self.target_s.unwrap_or_else(|| cx.frames.presenter.screen.position_s())
    }

    /// Seeks to a time within the movie, in seconds. If `exact` is false, because a key is held, shows the nearest key frame;
    /// [`Navigation::refine`] then shows the exact frame when the key is released.
    fn seek_to(&mut self, to_s: f64, exact: bool, cx: &mut PlayerContext) {
        (self.target_s, self.is_coarse) = (Some(to_s), !exact);
        self.next_seek = Some(if exact { Seek::Exact(to_s) } else { Seek::Keyframe(to_s) });
        if exact || cx.frames.schedule.has_started {
            self.seek_now(cx);
        }
    }

    /// Seeks to the exact frame of the last target, after the seek key was released. Does nothing if key frames were not shown.
    pub(crate) fn refine(&mut self, cx: &mut PlayerContext) {
        if let Some(to_s) = self.target_s.filter(|_| self.is_coarse) {
            self.seek_to(to_s, true, cx);
        }
    }

    /// Marks the frame on the screen as the beginning of the repeated section; a second call marks the end, and a third call
    /// removes both marks.
    pub(crate) fn mark_part(&mut self, frames: &FrameLoop) {
        let here = frames.presenter.screen.position_s();
        self.part = match self.part {
            (None, _) => (Some(here), None),
            (Some(a), None) if a != here => (Some(a.min(here)), Some(a.max(here))),
            _ => (None, None),
        };
        frames.intake.decoder.set_repeat_section(self.part.0.zip(self.part.1));
    }

    /// Starts the pending seek once the frame of the previous seek is on the screen. Clears the target of the last seek once
    /// its frame is on the screen, unless a seek key is held.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) {
        if !cx.frames.schedule.has_started {
            return;
        }
        if self.next_seek.is_some() {
            self.seek_now(cx);
        } else if !self.is_coarse {
            // While key frames are shown, the next seek starts from the last target, since the shown key frame may lie far
            // before that.
            self.target_s = None;
        }
    }

    /// Starts the pending seek; does nothing if there is none.
    fn seek_now(&mut self, cx: &mut PlayerContext) {
        if let Some(to) = self.next_seek.take() {
            cx.frames.seek(to);
            cx.repaints.redraw_soon();
        }
    }
}

/// Returns the index of the chapter `step` chapters after the one at the position `here` (before it if `step` is negative);
/// `None` if that is after the last chapter. `starts` are the beginnings of the chapters; all times are in seconds. A chapter
/// that begins while a picture is shown, for `frame_s` seconds, counts as begun, since a seek to that chapter shows that
/// picture.
fn chapter(starts: &[f64], here: f64, frame_s: f64, step: isize) -> Option<usize> {
    // Before the first chapter there is none.
    let begun = starts.iter().filter(|start| **start < here + frame_s.max(1e-3)).count() as isize;
    let entered = usize::try_from(begun - 1).ok().and_then(|present| starts.get(present));
    let is_late = entered.is_some_and(|start| here - start > RESTART_S);
    let to = begun - 1 + step + isize::from(step < 0 && is_late);
    usize::try_from(to.max(0)).ok().filter(|to| *to < starts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_follow_each_other() {
        let starts = [0.0, 10.01, 30.0];
        let to = |here, step| chapter(&starts, here, 0.04, step);
        assert_eq!([to(0.0, 1), to(9.9, 1), to(12.0, 1), to(31.0, 1)], [Some(1), Some(1), Some(2), None]);
        // The picture that a seek to 10.01 s shows begins before it.
        assert_eq!([to(10.0, 1), to(10.0, -1), to(12.0, -1)], [Some(2), Some(0), Some(0)]);
        assert_eq!([to(20.0, -1), to(0.5, -1), to(29.0, -1)], [Some(1), Some(0), Some(1)]);
        assert_eq!(chapter(&[], 1.0, 0.04, 1), None);
        assert_eq!(chapter(&[5.0], 1.0, 0.04, 1), Some(0), "what comes before the first one");
        assert_eq!(chapter(&[5.0], 1.0, 0.04, -1), Some(0));
    }
}
