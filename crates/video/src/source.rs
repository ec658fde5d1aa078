//! Decodes a movie file: returns its pictures in display order, with the time stamps of the file.
//!
//! Damaged data is skipped and counted in [`Damage`](super::demuxer::Damage).

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::frame::Video;

use super::container::{Container, refused_reference};
use super::cropping::Cropping;
use super::demuxer::{Demuxer, FilePlace, MAX_ERRORS_IN_A_ROW};
use super::errors::{CONVERT_HINT, Ffmpeg, cannot_decode, is_unsupported, no_memory};
use super::key_frames::{self, KeyFrameIndex};
use super::orientation::{self, Matrix};
use super::read_control::ReadControl;
use super::{SECOND_NS, alpha, libav};
use base::error::{Error, Result};

/// The flag by which FFmpeg marks pictures whose references are missing, such as the first ones after a cut.
const FF_DECODE_ERROR_MISSING_REFERENCE: libc::c_int = 2;

/// A decoded picture with the file's time stamp and its expected duration, in nanoseconds.
pub(super) struct DecodedPicture {
    pub video: Video,
    pub stamp_ns: Option<i64>,
    pub duration_ns: i64,
}

/// The kinds of packets that are skipped instead of decoded.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Skip {
    /// No packet is skipped: every packet is decoded.
    Nothing,
    /// Pictures that no other picture references are skipped.
    Unreferenced,
    /// All but key frames are skipped until a key frame has this time stamp (in nanoseconds) or a later one. From
    /// there on every packet is decoded again, since all references exist.
    KeysUntil(i64),
}

/// An opened movie file with its decoder.
pub(super) struct Source {
    pub demuxer: Demuxer,
    pub decoder: ffmpeg::decoder::Video,
    /// The duration of a frame in nanoseconds, from the frame rate that the file states; 1/25 s if it states none.
    pub frame_ns: i64,
    /// True if the pixel aspect ratio that the file states is a print resolution, and must be ignored.
    ignores_aspect: bool,
    /// The display matrix of the whole stream, if it has one.
    matrix: Option<Matrix>,
    /// The decoder of the sound; `None` once the first sample was found or is not needed any more, or without sound.
    sound_decoder: Option<ffmpeg::decoder::Audio>,
    /// The time stamp in nanoseconds of the first sample of the sound that plays with the pictures.
    first_sound_ns: Option<i64>,
    /// The cropping that the container states, if it states any.
    cropping: Option<Cropping>,
    pub skip: Skip,
    /// Pictures with an earlier time stamp will be discarded, so pictures before it that no other picture references are
    /// not decoded.
    skip_before_ns: Option<i64>,
    /// The number of packets passed to the decoder so far.
    #[cfg(test)]
    pub sent: u64,
}

impl Source {
    /// Opens the movie at `path` and its decoder. Reading stops soon after `read_control` is cancelled.
    pub(crate) fn open(path: &Path, read_control: &ReadControl) -> Result<Self> {
        let demuxer = Demuxer::open(path, read_control)?;
        let container = &demuxer.container;
        let decoder = container.open_decoder()?;
        let frame_ns = container.fps().map_or(SECOND_NS / 25, |fps| (SECOND_NS as f64 / fps) as i64);
        let video = container.played();
        let side_data = |name| libav::stream_side_data(video.as_ref()?, name);
        let matrix = side_data(c"Display Matrix").and_then(|data| orientation::matrix(data.data()));
        let cropping = side_data(c"Frame Cropping").and_then(|data| Cropping::parse(data.data()));
        let ignores_aspect = container.is_still_image(decoder.id());
        let sound_decoder = container.sound.and_then(|stream| container.open_sound_decoder(stream).ok());
        Ok(Self {
            demuxer,
            decoder,
            frame_ns,
            ignores_aspect,
            matrix,
            sound_decoder,
            first_sound_ns: None,
            cropping,
            skip: Skip::Nothing,
            skip_before_ns: None,
            #[cfg(test)]
            sent: 0,
        })
    }

    pub(crate) fn container(&self) -> &Container {
        &self.demuxer.container
    }

    pub(crate) fn read_control(&self) -> &ReadControl {
        &self.container().access.read_control
    }

    /// Returns true if reading was cancelled, or a newer seek was requested.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.read_control().is_interrupted()
    }

    /// Returns the error for a movie without a single decodable picture.
    pub(crate) fn no_pictures_error(&self) -> Error {
        let (container, damage) = (self.container(), &self.demuxer.damage);
        let path = &container.access.path;
        if damage.no_memory {
            return no_memory(path);
        }
        if let Some(error) = refused_reference(&container.access) {
            return error;
        }
        let is_webp = container.access.is_animated_webp();
        if damage.unsupported || is_webp {
            let what_it_is = if is_webp { "an animated WebP" } else { "what is in it" };
            return cannot_decode(path, format!("This FFmpeg does not decode {what_it_is}."), CONVERT_HINT);
        }
        let why = match &damage.read_error {
            Some(error) => format!("Reading stopped before the first picture: {error}."),
            None if damage.bad_packets > 0 => {
                let most = container.budget.max_pixels() / 1_000_000;
                format!(
                    "None of its pictures could be decoded. Those of more than {most} million pixels are refused here."
                )
            }
            None => "It ends before its first picture.".into(),
        };
        cannot_decode(path, why, "The file is damaged; try a new copy of it or another file.")
    }

    /// Returns the next picture; `None` at the end, after an error that ends the file, or when reading was interrupted.
    pub(crate) fn next_picture(&mut self) -> Option<DecodedPicture> {
        loop {
            self.read_control().note_progress();
            let mut video = Video::empty();
            // SAFETY: the pointer is only compared; an allocation that failed must not reach FFmpeg.
            if unsafe { video.as_ptr().is_null() } {
                self.demuxer.damage.read_error = Some("memory has run out".into());
                return None;
            }
            match self.decoder.receive_frame(&mut video) {
                Ok(()) if video.width() > 0 && video.height() > 0 => {
                    self.demuxer.errors_in_a_row = 0;
                    return Some(self.complete(video));
                }
                Ok(()) => self.demuxer.count_error(),
                Err(ffmpeg::Error::Eof) => return None,
                Err(ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN }) if !self.demuxer.is_draining => {}
                Err(error) => self.count_decoder_error(error),
            }
            if self.is_interrupted() || self.demuxer.errors_in_a_row > MAX_ERRORS_IN_A_ROW {
                return None;
            }
            if !self.demuxer.is_draining {
                self.send_packet();
            }
        }
    }

    /// Reads a packet and passes it to the decoder; at the end of the file starts to drain the decoder.
    fn send_packet(&mut self) {
        match self.demuxer.read_for(&mut self.decoder) {
            Some(true) => {}
            Some(false) => return self.find_first_sound(),
            None => return,
        }
        self.demuxer.damage.flagged_packets += u64::from(self.demuxer.packet.is_corrupt());
        if let Skip::KeysUntil(target) = self.skip {
            if !self.demuxer.packet.is_key() {
                return;
            }
            if self.demuxer.packet_stamp_ns().is_none_or(|stamp| stamp >= target) {
                self.set_skip(Skip::Nothing);
            }
        }
        let packet = &self.demuxer.packet;
        if let Some(wanted) = self.skip_before_ns {
            let is_early = packet.pts().is_some_and(|pts| self.container().nanoseconds(pts) < wanted);
            let discard = if is_early { ffmpeg::Discard::NonReference } else { ffmpeg::Discard::Default };
            self.decoder.skip_frame(discard);
        }
        #[cfg(test)]
        {
            self.sent += 1;
        }
        if let Err(error) = self.decoder.send_packet(packet) {
            self.count_decoder_error(error);
        }
    }

    fn count_decoder_error(&mut self, error: ffmpeg::Error) {
        let damage = &mut self.demuxer.damage;
        damage.no_memory |= error == ffmpeg::Error::Other { errno: ffmpeg::error::ENOMEM };
        damage.unsupported |= is_unsupported(error);
        self.demuxer.count_error();
    }

    /// Adds to a decoded picture its time stamp, its duration, and the properties that the stream states for all its pictures.
    fn complete(&mut self, mut video: Video) -> DecodedPicture {
        let container = &mut self.demuxer.container;
        let stamp_ns = video.timestamp().map(|stamp| container.nanoseconds(stamp));
        let duration = video.packet().duration;
        let duration_ns = if duration > 0 { container.nanoseconds(duration).max(1) } else { self.frame_ns };
        let aspect = match self.ignores_aspect {
            true => ffi::AVRational { num: 1, den: 1 },
            false => container.pixel_aspect(&mut video),
        };
        // SAFETY: the frame is valid and owned; both are plain fields.
        let errors = unsafe {
            (*video.as_mut_ptr()).sample_aspect_ratio = aspect;
            (*video.as_ptr()).decode_error_flags
        };
        self.demuxer.damage.damaged_pictures += u64::from(errors & !FF_DECODE_ERROR_MISSING_REFERENCE != 0);
        if let Some(cropping) = &self.cropping {
            cropping.apply(&mut video);
        }
        if let Some(matrix) = &self.matrix {
            orientation::default_matrix(&mut video, matrix);
        }
        alpha::drop_unused_alpha(self.decoder.id(), &mut video);
        DecodedPicture { video, stamp_ns, duration_ns }
    }

    /// Decodes a packet of the sound, unless the first sample is known already; ignores packets of other streams. The decoder
    /// drops priming samples, and packets that it cannot decode without those before.
    fn find_first_sound(&mut self) {
        let (packet, container) = (&self.demuxer.packet, &self.demuxer.container);
        let is_sound = Some(packet.stream()) == container.sound;
        let Some(decoder) = self.sound_decoder.as_mut().filter(|_| is_sound) else { return };
        // A packet that cannot be decoded has no sample.
        let _ = decoder.send_packet(packet);
        let mut frame = ffmpeg::frame::Audio::empty();
        // SAFETY: the pointer is only compared; an allocation that failed must not reach FFmpeg.
        while unsafe { !frame.as_ptr().is_null() } && decoder.receive_frame(&mut frame).is_ok() {
            let stamp = frame.timestamp().filter(|_| frame.samples() > 0);
            self.first_sound_ns = stamp.and_then(|stamp| container.nanoseconds_of(packet.stream(), stamp));
            if self.first_sound_ns.is_some() {
                self.sound_decoder = None;
                return;
            }
        }
    }

    /// Ends the search for the first sample of the movie's sound, after the first picture was decoded, and returns its time
    /// stamp in nanoseconds, or else the one that the file states; `None` without sound.
    pub(crate) fn sound_start_ns(&mut self) -> Option<i64> {
        self.sound_decoder = None;
        self.first_sound_ns.or_else(|| self.container().stated_sound_start_ns())
    }

    /// Returns true if the file was read to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.demuxer.is_draining && self.demuxer.damage.read_error.is_none()
    }

    /// Sets the time stamp before which pictures that no other picture references are not decoded; `None` decodes all of
    /// them.
    pub(crate) fn set_skip_before(&mut self, stamp_ns: Option<i64>) {
        self.skip_before_ns = stamp_ns;
        self.set_skip(self.skip);
    }

    /// Seeks to a place in the file, and resets the decoder. An error means that the file cannot seek.
    pub(crate) fn seek(&mut self, place: FilePlace) -> Ffmpeg<()> {
        self.demuxer.seek(place)?;
        self.decoder.flush();
        // Formats without an index seek to any packet, and frames without their references would be garbage.
        self.set_skip(Skip::KeysUntil(i64::MIN));
        Ok(())
    }

    /// Reads the whole file without decoding, and returns its key frames if its time stamps jump; `None` if they do not
    /// jump, reading was interrupted, the file is large, or it cannot seek. `origin_ns` is the time stamp at the file's
    /// beginning. The caller must seek afterwards.
    pub(crate) fn scan_key_frames(&mut self, origin_ns: i64) -> Option<KeyFrameIndex> {
        let is_large = self.container().access.bytes() > key_frames::MAX_SCAN_BYTES;
        if is_large || self.seek(FilePlace::Byte(0)).is_err() {
            return None;
        }
        self.demuxer.scan_key_frames(origin_ns, self.frame_ns)
    }

    /// Sets the kind of packets that are not decoded, from the next packet on.
    pub(crate) fn set_skip(&mut self, skip: Skip) {
        self.skip = skip;
        self.decoder.skip_frame(match skip {
            Skip::Unreferenced => ffmpeg::Discard::NonReference,
            // For key frames the packets are left out before the decoder sees them.
            Skip::Nothing | Skip::KeysUntil(_) => ffmpeg::Discard::Default,
        });
    }

    /// Returns a warning if the file has alpha in separate pictures that this decoder does not read.
    pub(crate) fn alpha_warning(&self) -> Option<Error> {
        let (container, codec) = (self.container(), self.decoder.codec());
        let name = codec.as_ref().map_or("", |codec| codec.name());
        alpha::warning(&container.played()?, name, &container.access.path)
    }
}
