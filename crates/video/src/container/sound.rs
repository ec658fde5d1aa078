//! The tracks of sound in a movie's file.

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::media::Type;

use super::Container;
use super::open::describe_codec;
use crate::errors::{CONVERT_HINT, cannot_decode, sentence};
use crate::read_control::ReadControl;
use crate::sound::SoundTrack;
use base::error::{Error, Result};
use base::text;

impl Container {
    /// Opens the movie at `path` as [`Container::open`] does, for its stream of sound with this index.
    pub(crate) fn open_sound(path: &Path, stream: usize, read_control: &ReadControl) -> Result<Self> {
        Self::open_stream(path, read_control, |input| {
            let is_sound = |found: &ffmpeg::Stream| found.parameters().medium() == Type::Audio;
            input.stream(stream).filter(is_sound).ok_or_else(|| {
                let why = format!("It has no track {stream} any more.");
                Error::new(format!("The sound of '{}' cannot be read.", text::name(path)), why, "")
            })
        })
    }

    /// Opens the decoder for the stream of sound.
    pub(crate) fn open_sound_decoder(&self) -> Result<ffmpeg::decoder::Audio> {
        let missing = |what: String| {
            let why = format!("Its sound is silent: this FFmpeg does not decode {what}.");
            cannot_decode(self.path(), why, CONVERT_HINT)
        };
        let stream = self.played().ok_or_else(|| missing("a stream that has gone".into()))?;
        let parameters = stream.parameters();
        let codec = ffmpeg::decoder::find(parameters.id()).ok_or_else(|| missing(describe_codec(&stream)))?;
        let failed = |error| {
            let why =
                format!("Its sound is silent: FFmpeg's decoder {} says: {}.", codec.name(), sentence(error));
            cannot_decode(self.path(), why, "")
        };
        let mut context = ffmpeg::codec::Context::new_with_codec(codec);
        context.set_parameters(parameters).map_err(failed)?;
        let mut decoder = context.decoder();
        decoder.set_packet_time_base(stream.time_base());
        decoder.open_as(codec).and_then(|opened| opened.audio()).map_err(failed)
    }

    /// Returns the tracks of sound, the one that the file prefers first.
    pub(crate) fn sound_tracks(&self) -> Vec<SoundTrack> {
        let streams = self.input.streams().filter(|stream| {
            let parameters = stream.parameters();
            parameters.medium() == Type::Audio && parameters.id() != Id::None
        });
        let mut tracks: Vec<SoundTrack> = streams.map(|stream| track(&stream)).collect();
        let best = self.input.streams().best(Type::Audio).map(|stream| stream.index());
        tracks.sort_by_key(|track| Some(track.stream) != best);
        tracks
    }
}

/// Returns the properties of a stream of sound.
fn track(stream: &ffmpeg::Stream) -> SoundTrack {
    let parameters = stream.parameters();
    let metadata = stream.metadata();
    let stated = |key| metadata.get(key).map(str::trim).filter(|value| !value.is_empty() && *value != "und");
    // SAFETY: a stream has parameters; the rate is a plain field.
    let rate = unsafe { (*parameters.as_ptr()).sample_rate };
    SoundTrack {
        codec: parameters.id().name().to_owned(),
        rate: u32::try_from(rate).unwrap_or(0),
        name: stated("title").or_else(|| stated("language")).unwrap_or_default().to_owned(),
        stream: stream.index(),
    }
}
