//! Reads the sound of a movie's file.

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::software::resampling;

use super::{Samples, SoundSegment};
use crate::demuxer::{Demuxer, FilePlace, MAX_ERRORS_IN_A_ROW};
use crate::errors::{DAMAGE_HINT, undecoded_packets};
use crate::read_control::{Cancel, ReadControl, References};
use crate::timeline::{MAX_JUMP_BACK_NS, MAX_JUMP_FORWARD_NS};
use base::error::{Error, Result};
use base::text;

/// The time in nanoseconds before the target of a seek at which decoding begins, since a decoder's first samples need those
/// before.
const PREROLL_NS: i64 = 100_000_000;
/// The sample rates that are played, in hertz.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;
/// The maximum number of samples per channel that one packet may decode to.
const MAX_SAMPLES: libc::c_int = 1 << 24;
/// The largest difference in nanoseconds between a time stamp and the end of the samples before it that counts as rounding by
/// the file format.
const MAX_ROUNDING_NS: i64 = 30_000_000;

/// The format and rate of a resampler's input, its number of channels, and the bit mask of its channel layout.
type Input = (ffmpeg::format::Sample, u32, u16, u64);

/// Reads one track of a file.
pub(super) struct FileReader {
    demuxer: Demuxer,
    decoder: ffmpeg::decoder::Audio,
    /// Converts samples of one format to pairs of floats.
    resampler: Option<(resampling::Context, Input)>,
    /// The rate of the samples that are returned.
    rate: u32,
    stream: usize,
    /// The time stamp that counts as the movie's beginning, in nanoseconds.
    origin_ns: i64,
    /// The movie's position after the last sample that was returned; `None` after a seek.
    next_ns: Option<i64>,
    /// True if nothing was read since the file was opened.
    is_at_beginning: bool,
}

impl FileReader {
    /// Opens the stream with the index `stream` of the file at `path`. The reader returns `rate` samples per second.
    pub(super) fn open(
        path: &Path,
        stream: usize,
        rate: u32,
        references: References,
        cancel: &Cancel,
    ) -> Result<Self> {
        let read_control = ReadControl::new(references, cancel.clone());
        let demuxer = Demuxer::open_sound(path, stream, &read_control)?;
        let decoder = demuxer.container.open_sound_decoder(stream)?;
        Ok(Self {
            demuxer,
            decoder,
            resampler: None,
            rate,
            stream,
            origin_ns: 0,
            next_ns: None,
            is_at_beginning: true,
        })
    }

    /// Moves to the position `movie_ns` of the movie in this segment, or to a little before it. Returns false if the file
    /// cannot be read there.
    pub(super) fn seek(&mut self, segment: &SoundSegment, movie_ns: i64) -> bool {
        self.origin_ns = segment.origin_ns;
        self.next_ns = None;
        self.resampler = None;
        if self.is_at_beginning && movie_ns <= PREROLL_NS {
            return true;
        }
        let stamp_ns = self.origin_ns.saturating_add(movie_ns.saturating_sub(PREROLL_NS));
        let place = segment.byte.map_or(FilePlace::StampNs(stamp_ns), FilePlace::Byte);
        if self.demuxer.seek(place).is_err() {
            // The file cannot seek.
            let access = &self.demuxer.container.access;
            match Demuxer::open_sound(&access.path, self.stream, &access.read_control) {
                Ok(demuxer) => {
                    let damage = std::mem::take(&mut self.demuxer.damage);
                    self.demuxer = Demuxer { damage, ..demuxer };
                }
                Err(_) => return false,
            }
        }
        self.is_at_beginning = false;
        self.decoder.flush();
        true
    }

    /// Returns the next samples; `None` at the end.
    pub(super) fn read(&mut self) -> Option<Samples> {
        self.is_at_beginning = false;
        loop {
            let mut frame = ffmpeg::frame::Audio::empty();
            // SAFETY: the pointer is only compared; an allocation that failed must not reach FFmpeg.
            if unsafe { frame.as_ptr().is_null() } {
                self.demuxer.damage.read_error = Some("memory has run out".into());
                return None;
            }
            match self.decoder.receive_frame(&mut frame) {
                Ok(()) => match self.convert(&mut frame) {
                    Some(samples) => {
                        self.demuxer.errors_in_a_row = 0;
                        return Some(samples);
                    }
                    None => self.demuxer.count_error(),
                },
                Err(ffmpeg::Error::Eof) => return None,
                Err(ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN }) if !self.demuxer.is_draining => {}
                Err(_) => self.demuxer.count_error(),
            }
            let read_control = &self.demuxer.container.access.read_control;
            if read_control.is_cancelled() || self.demuxer.errors_in_a_row > MAX_ERRORS_IN_A_ROW {
                return None;
            }
            if !self.demuxer.is_draining
                && self.demuxer.read_for(&mut self.decoder) == Some(true)
                && self.decoder.send_packet(&self.demuxer.packet).is_err()
            {
                self.demuxer.count_error();
            }
        }
    }

    /// Converts a decoded frame; `None` if its format is not valid or not supported.
    fn convert(&mut self, frame: &mut ffmpeg::frame::Audio) -> Option<Samples> {
        let (rate, channels) = (frame.rate(), frame.channels());
        if !RATES.contains(&rate) || channels == 0 || frame.samples() == 0 {
            return None;
        }
        // A layout that is not a bit mask of places (none, ambisonics, or a list of its own) is replaced by the usual one.
        // Nothing of a layout is kept, as its list belongs to the frame.
        let layout = match frame.channel_layout() {
            layout if layout.bits().count_ones() == u32::from(channels) => layout,
            _ => ffmpeg::ChannelLayout::default(channels.into()),
        };
        let input = (frame.format(), rate, channels, layout.bits());
        if self.resampler.as_ref().is_none_or(|(_, of)| *of != input) {
            self.resampler = None;
            // FFmpeg would lower the volume of a single channel by 3 dB.
            let two = if channels == 1 { ffmpeg::ChannelLayout::MONO } else { ffmpeg::ChannelLayout::STEREO };
            let float = ffmpeg::format::Sample::F32(ffmpeg::format::sample::Type::Packed);
            let context = resampling::Context::get(input.0, layout, rate, float, two, self.rate);
            self.resampler = Some((context.ok()?, input));
        }
        let (context, _) = self.resampler.as_mut()?;
        let outputs = if channels == 1 { 1 } else { 2 };
        // SAFETY: the context is open for the frame's format, and the frame has as many samples in each of its planes; the
        // output has memory for `capacity` samples of each channel.
        let (delay, data) = unsafe {
            let raw = context.as_mut_ptr();
            let delay_ns = ffi::swr_get_delay(raw, 1_000_000_000);
            let count = frame.samples() as libc::c_int;
            let capacity = ffi::swr_get_out_samples(raw, count);
            if !(0..=MAX_SAMPLES).contains(&capacity) {
                return None;
            }
            let mut data = vec![0.0_f32; outputs * capacity as usize];
            let mut planes = [data.as_mut_ptr().cast::<u8>()];
            let source = (*frame.as_ptr()).extended_data.cast();
            let converted = ffi::swr_convert(raw, planes.as_mut_ptr(), capacity, source, count);
            data.truncate(outputs * usize::try_from(converted).ok()?);
            (delay_ns, data)
        };
        let data: Vec<[f32; 2]> = match outputs {
            1 => data.into_iter().map(|sample| [sample; 2]).collect(),
            _ => data.as_chunks().0.to_vec(),
        };
        let stamp_ns = frame.timestamp().map(|stamp| self.demuxer.container.nanoseconds(stamp));
        let movie_ns = self.position(stamp_ns.map(|stamp_ns| stamp_ns.saturating_sub(delay)));
        let duration_ns = (data.len() as f64 * 1e9 / f64::from(self.rate)) as i64;
        self.next_ns = Some(movie_ns.saturating_add(duration_ns));
        Some(Samples { movie_ns, data })
    }

    /// Returns the position in the movie, in nanoseconds, of samples with this time stamp. Samples continue those before them
    /// unless the time stamp differs by more than [`MAX_ROUNDING_NS`]. After a jump of time stamps, as
    /// [`Timeline`](crate::timeline::Timeline) defines it, they continue too, and positions count from another origin.
    fn position(&mut self, stamp_ns: Option<i64>) -> i64 {
        let stated_ns = stamp_ns.map(|stamp_ns| stamp_ns.saturating_sub(self.origin_ns));
        let Some(next_ns) = self.next_ns else { return stated_ns.unwrap_or(0) };
        let gap_ns = stated_ns.map_or(0, |stated_ns| stated_ns.saturating_sub(next_ns));
        let allows_jumps = self.demuxer.container.allows_jumps();
        if gap_ns < -MAX_JUMP_BACK_NS || (allows_jumps && gap_ns > MAX_JUMP_FORWARD_NS) {
            self.origin_ns = self.origin_ns.saturating_add(gap_ns);
            return next_ns;
        }
        if gap_ns.abs() <= MAX_ROUNDING_NS { next_ns } else { next_ns.saturating_add(gap_ns) }
    }

    /// Returns a warning about damage found since the last call; `None` if there was none.
    pub(super) fn take_warning(&mut self) -> Option<Error> {
        let damage = std::mem::take(&mut self.demuxer.damage);
        let mut reasons = Vec::new();
        reasons.extend(damage.read_error.map(|error| format!("Reading stopped: {error}.")));
        reasons.extend(undecoded_packets(damage.bad_packets));
        let container = &self.demuxer.container;
        if reasons.is_empty() || container.access.read_control.is_cancelled() {
            return None;
        }
        let what = format!("The sound of '{}' is damaged.", text::name(&container.access.path));
        Some(Error::new(what, reasons.join(" "), DAMAGE_HINT))
    }
}
