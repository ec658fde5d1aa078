//! The movie's sound: it follows the movie's clock, and its measured position corrects that clock. Also the keys for volume and
//! tracks.

use super::*;
use ::sound::{Sound, SoundStatus, Transport};
use base::jobs::Waker;
use engine::frame_loop::Schedule;
use overlay::SoundView;
use video::SoundFeed;

/// The maximum volume in percent.
const MAX_VOLUME: u32 = 100;

/// The sound of the current movie, and the user's settings for it.
pub(super) struct SoundControl {
    /// The sound's thread and the audio device; `None` if the user wants no sound, or if frames are shown as fast as they are
    /// filtered.
    sound: Option<Sound>,
    feed: Option<SoundFeed>,
    /// The index of the sound track that plays.
    track: usize,
    pub volume: u32,
    pub is_muted: bool,
}

impl SoundControl {
    /// Starts the sound, unless the command line asks for none.
    pub(super) fn start(cx: &mut PlayerContext, waker: &Waker) -> Self {
        let is_refused = cx.args.no_audio || base::environment::get("CLREEL_NO_AUDIO").is_some();
        let is_wanted = !is_refused && !cx.args.unpaced;
        let sound = is_wanted.then(|| Sound::start(waker.clone())).and_then(|sound| cx.or_notify(sound));
        let control = Self { sound, feed: None, track: 0, volume: cx.args.volume, is_muted: false };
        control.apply_volume();
        control
    }

    /// Plays the sound of the current movie, and corrects the movie's clock by the sound. Must be called in each turn, before
    /// the frames are advanced.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) {
        let feed = cx.frames.intake.decoder.sound();
        if self.feed.as_ref().is_none_or(|present| !present.is_same(feed)) {
            self.feed = Some(feed.clone());
            self.track = feed.preferred_track();
            self.play();
        }
        let Some(sound) = &self.sound else { return };
        let status = sound.status();
        let schedule = &mut cx.frames.schedule;
        schedule.clock.set_expects_sound(matches!(status, SoundStatus::Opening | SoundStatus::Device(_)));
        let revision = schedule.clock.revision;
        if let Some(anchor) = sound.take_anchor().filter(|anchor| anchor.revision == revision) {
            schedule.clock.follow_sound(anchor.position_ns, anchor.heard_at, anchor.delays);
        }
        if !matches!(status, SoundStatus::Device(_)) {
            schedule.clock.lose_sound();
        }
        let is_late = schedule.clock.give_up_sound();
        sound.take_errors().into_iter().for_each(|error| cx.notify(error, false));
        if is_late {
            let device = match status {
                SoundStatus::Device(name) => {
                    format!("The audio device '{name}' has played nothing for two seconds.")
                }
                _ => "The audio device could not be opened within two seconds.".to_owned(),
            };
            let hint = "If nothing is heard, close other programs that use the device, or choose another one in the desktop's settings.";
            cx.notify(Error::new("The sound begins later than the picture.", device, hint), false);
        }
    }

    /// Passes the state of the movie's clock to the sound. Must be called in each turn, after the frames were advanced.
    pub(super) fn publish_clock(&self, schedule: &Schedule) {
        if let Some(sound) = &self.sound {
            let waits = schedule.clock.waits_for_sound();
            sound.set_transport(Transport::new(&schedule.clock, schedule.is_placed, waits));
        }
    }

    /// Returns what the overlay shows about the sound; `None` if the movie has no sound, or the user wants none.
    pub(super) fn view(&self) -> Option<SoundView> {
        let (sound, tracks) = (self.sound.as_ref()?, self.feed.as_ref()?.tracks());
        let track = tracks.get(self.track)?;
        let name = if track.name.is_empty() { String::new() } else { format!(", {}", track.name) };
        let number = match tracks.len() {
            1 => String::new(),
            count => format!("track {} of {count}{name}: ", self.track + 1),
        };
        let device = match sound.status() {
            SoundStatus::Device(name) => format!("Device: {name}."),
            SoundStatus::Opening => "The device is being opened.".to_owned(),
            SoundStatus::NoTrack => "This track cannot be played.".to_owned(),
            SoundStatus::NoDevice => {
                "There is no audio device; clreel looks for one every two seconds.".to_owned()
            }
        };
        Some(SoundView {
            volume: self.volume,
            is_muted: self.is_muted,
            text: format!("Sound: {number}{}, {} Hz. {device}", track.codec, track.rate),
        })
    }

    /// Makes the sound's thread play the current movie and track.
    fn play(&self) {
        if let Some(sound) = &self.sound {
            let feed = self.feed.clone().filter(|feed| !feed.tracks().is_empty());
            sound.play(feed.map(|feed| (feed, self.track)));
        }
    }

    fn apply_volume(&self) {
        if let Some(sound) = &self.sound {
            sound.set_volume(if self.is_muted { 0.0 } else { self.volume.into() });
        }
    }

    /// Sets the volume in percent and mutes or unmutes the sound. Returns a message for the user.
    pub(super) fn set_volume(&mut self, percent: u32, is_muted: bool) -> String {
        (self.volume, self.is_muted) = (percent.min(MAX_VOLUME), is_muted);
        self.apply_volume();
        match (self.silence_reason(), self.is_muted) {
            (Some(reason), _) => reason.to_owned(),
            (None, true) => "Muted".to_owned(),
            (None, false) => format!("Volume {} %", self.volume),
        }
    }

    /// Plays the next sound track of the movie. Returns a message for the user.
    pub(super) fn next_track(&mut self, schedule: &mut Schedule) -> String {
        let tracks = self.feed.as_ref().map_or(&[][..], |feed| feed.tracks());
        let text = match (self.silence_reason(), tracks.len()) {
            (Some(reason), _) => reason.to_owned(),
            (None, 1) => "The movie has one track of sound".to_owned(),
            (None, count) => {
                self.track = (self.track + 1) % count;
                let name = &tracks[self.track].name;
                let colon = if name.is_empty() { "" } else { ": " };
                format!("Track {} of {count}{colon}{}", self.track + 1, base::text::escaped(name))
            }
        };
        if tracks.len() > 1 {
            self.play();
            schedule.wait_for_sound();
        }
        text
    }

    /// Returns the reason why nothing can be heard; `None` if there is none. The volume and the audio device do not count as
    /// reasons.
    fn silence_reason(&self) -> Option<&'static str> {
        let has_tracks = self.feed.as_ref().is_some_and(|feed| !feed.tracks().is_empty());
        match self.sound {
            None => Some("The sound is off: clreel was started with --no-audio or --unpaced"),
            Some(_) if !has_tracks => Some("The movie has no sound"),
            Some(_) => None,
        }
    }

    /// Ends the sound's thread; returns false if it still runs.
    pub(super) fn end(&mut self) -> bool {
        self.sound.take().is_none_or(|mut sound| sound.end())
    }
}
