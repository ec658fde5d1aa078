//! The tracks of sound in a movie's file.

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::ffi;
use ffmpeg_next::format::context::Input;
use ffmpeg_next::media::Type;

use super::Container;
use super::open::describe_codec;
use crate::errors::{CONVERT_HINT, cannot_decode, sentence};
use crate::languages::{Language, Languages};
use crate::read_control::ReadControl;
use crate::sound::SoundTrack;
use base::error::{Error, Result};
use base::text;

/// The flags of tracks that are not the movie's main sound: commentary, audio description, versions for people who hear badly,
/// versions without speech or singing, and parts that another track completes.
const SECONDARY: libc::c_int = ffi::AV_DISPOSITION_COMMENT
    | ffi::AV_DISPOSITION_VISUAL_IMPAIRED
    | ffi::AV_DISPOSITION_DESCRIPTIONS
    | ffi::AV_DISPOSITION_HEARING_IMPAIRED
    | ffi::AV_DISPOSITION_CLEAN_EFFECTS
    | ffi::AV_DISPOSITION_KARAOKE
    | ffi::AV_DISPOSITION_DEPENDENT;

impl Container {
    /// Opens the movie at `path` as [`Container::open`] does, but selects the stream of sound with the index `stream`.
    pub(crate) fn open_sound(path: &Path, stream: usize, read_control: &ReadControl) -> Result<Self> {
        Self::open_stream(path, read_control, |input| {
            let is_sound = |found: &ffmpeg::Stream| found.parameters().medium() == Type::Audio;
            input.stream(stream).filter(is_sound).ok_or_else(|| {
                let why = format!("It has no track {stream} any more.");
                Error::new(format!("The sound of '{}' cannot be read.", text::name(path)), why, "")
            })
        })
    }

    /// Opens the decoder for the stream of sound with this index.
    pub(crate) fn open_sound_decoder(&self, stream: usize) -> Result<ffmpeg::decoder::Audio> {
        let missing = |what: String| {
            let why = format!("Its sound is silent: this FFmpeg does not decode {what}.");
            cannot_decode(&self.access.path, why, CONVERT_HINT)
        };
        let stream = self.input.stream(stream).ok_or_else(|| missing("a stream that has gone".into()))?;
        let parameters = stream.parameters();
        let codec = ffmpeg::decoder::find(parameters.id()).ok_or_else(|| missing(describe_codec(&stream)))?;
        let failed = |error| {
            let why =
                format!("Its sound is silent: FFmpeg's decoder {} says: {}.", codec.name(), sentence(error));
            cannot_decode(&self.access.path, why, "")
        };
        let mut context = ffmpeg::codec::Context::new_with_codec(codec);
        context.set_parameters(parameters).map_err(failed)?;
        let mut decoder = context.decoder();
        decoder.set_packet_time_base(stream.time_base());
        decoder.open_as(codec).and_then(|opened| opened.audio()).map_err(failed)
    }

    /// Returns the tracks of sound in the order of the file: those of the picture's programme, and those that belong to none.
    pub(crate) fn sound_tracks(&self) -> Vec<SoundTrack> {
        let others = streams_of_other_programmes(&self.input, self.stream);
        let streams = self.input.streams().filter(|stream| {
            let parameters = stream.parameters();
            parameters.medium() == Type::Audio
                && parameters.id() != Id::None
                && !others.contains(&stream.index())
        });
        streams.map(|stream| track(&stream)).collect()
    }

    /// Returns the stream of sound that plays unless the user selects another one; `None` if there is no sound.
    ///
    /// Tracks that can be decoded come before all others. Further criteria, in this order: the track has no flag in
    /// [`SECONDARY`], the languages that the user asked for, the flag of the default track, the language of the system, and the
    /// order of the file.
    pub(super) fn preferred_sound(&self, languages: &Languages) -> Option<usize> {
        let rank = |track: &SoundTrack| {
            let stream = self.input.stream(track.stream)?;
            // SAFETY: a stream is valid; the field is a plain number.
            let flags = unsafe { (*stream.as_ptr()).disposition };
            let language = stream.metadata().get("language").and_then(Language::from_code);
            let wanted = languages.wanted.iter().position(|wanted| Some(wanted) == language.as_ref());
            Some((
                track.rate == 0 || self.open_sound_decoder(track.stream).is_err(),
                flags & SECONDARY != 0,
                wanted.unwrap_or(usize::MAX),
                flags & ffi::AV_DISPOSITION_DEFAULT == 0,
                language.is_none() || language != languages.system,
            ))
        };
        self.sound_tracks().iter().min_by_key(|track| rank(track)).map(|track| track.stream)
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

/// Returns the indices of the streams that belong only to programmes without this stream, since their time stamps
/// come from another clock; empty if the stream belongs to no programme.
fn streams_of_other_programmes(input: &Input, stream: usize) -> Vec<usize> {
    // SAFETY: the context is valid and has so many programmes; each is valid and has so many indices.
    let programmes: Vec<Vec<usize>> = unsafe {
        let context = input.as_ptr();
        let programme = |index| &**(*context).programs.add(index as usize);
        let indices = |programme: &ffi::AVProgram| {
            let index = |at| *programme.stream_index.add(at as usize) as usize;
            (0..programme.nb_stream_indexes).map(index).collect()
        };
        (0..(*context).nb_programs).map(|index| indices(programme(index))).collect()
    };
    let (own, others): (Vec<_>, Vec<_>) =
        programmes.into_iter().partition(|streams| streams.contains(&stream));
    let is_own = |stream: &usize| own.iter().any(|streams| streams.contains(stream));
    others.into_iter().flatten().filter(|stream| !own.is_empty() && !is_own(stream)).collect()
}
