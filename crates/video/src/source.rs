//! One file opened for decoding. In: a path. Out: pictures in display order with the stamps of the file.
//!
//! Packets come from `av_read_frame` with its return codes, because an iterator would hide I/O errors. What is
//! damaged is skipped and counted in [`Damage`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;

use super::SECOND_NS;
use super::alpha;
use super::failures::{Ffmpeg, is_unsupported, sentence};
use super::frame::usable_rate;
use super::jumps::{self, Jumps, Scan};
use super::open::{Container, discard_others, not_a_movie, open_container, open_decoder, video_stream};
use super::orientation::{self, Matrix};
use super::reading::Reading;
use base::error::Result;

/// Errors in a row after which a file is given up.
const MAX_ERRORS_IN_A_ROW: u32 = 256;

/// What could not be read or decoded so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Damage {
    /// Packets that the reader or the decoder refused, or that are marked as damaged.
    pub bad_packets: u64,
    /// Some of them because there was not enough memory.
    pub no_memory: bool,
    /// Some of them because this FFmpeg has no code for what is in them.
    pub unsupported: bool,
    /// What stopped the reading before the end.
    pub read_error: Option<String>,
}

/// A picture with the file's stamp and the time it is expected to last, in nanoseconds.
pub(super) struct Stamped {
    pub video: ffmpeg::frame::Video,
    pub stamp_ns: Option<i64>,
    pub duration_ns: i64,
}

/// Which packets are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// Every one.
    Nothing,
    /// Those that another frame needs.
    Unreferenced,
    /// Key frames only, until one has this stamp (in nanoseconds) or a later one: from there on every frame is
    /// decoded again, with its references whole.
    KeysUntil(i64),
}

/// An opened file, its decoder, and where both stand.
pub(super) struct Source {
    pub(super) decoder: ffmpeg::decoder::Video,
    pub(super) file: Container,
    pub(super) stream: usize,
    time_base: ffi::AVRational,
    frame_ns: i64,
    /// What the pictures say of their pixels' shape is none, but dots per inch.
    tells_dots: bool,
    /// How the whole stream is to be turned, if it says so.
    matrix: Option<Matrix>,
    packet: ffmpeg::Packet,
    reading: Reading,
    skip: Skip,
    read_to_ns: Option<i64>,
    /// The same of the streams that are not decoded, where they are read.
    others_to_ns: Option<i64>,
    /// Where the last packet of any stream ends in the file, as far as FFmpeg tells.
    read_to_byte: u64,
    /// Pictures with an earlier stamp will be thrown away.
    wanted_from_ns: Option<i64>,
    /// The newest seek that was asked for, and the one that this reads for.
    newest: Option<(Arc<AtomicU64>, u64)>,
    draining: bool,
    errors_in_a_row: u32,
    pub damage: Damage,
    /// Packets given to the decoder.
    #[cfg(test)]
    pub sent: u64,
}

impl Source {
    /// Opens the movie at `path` and its decoder. Reading stops soon after `reading` is stopped.
    pub(crate) fn open(path: &Path, reading: &Reading) -> Result<Self> {
        crate::libav::initialise();
        reading.begin();
        let file = open_container(path, reading)?;
        let stream = video_stream(&file.input, path)?;

        let (time_base, frame_ns, matrix, decoder) = {
            let video = file.input.stream(stream).ok_or_else(|| not_a_movie(path, "It has no stream."))?;
            let rate = usable_rate(video.avg_frame_rate()).or(usable_rate(video.rate()));
            let frame_ns = rate.map_or(SECOND_NS / 25, |fps| (SECOND_NS as f64 / fps) as i64);
            let time_base = ffi::AVRational::from(video.time_base());
            (
                time_base,
                frame_ns,
                orientation::matrix_of_stream(&video),
                open_decoder(&video, path, file.room)?,
            )
        };
        let mut source = Self {
            decoder,
            file,
            stream,
            time_base,
            frame_ns,
            tells_dots: false,
            matrix,
            packet: ffmpeg::Packet::empty(),
            reading: reading.clone(),
            skip: Skip::Nothing,
            read_to_ns: None,
            others_to_ns: None,
            read_to_byte: 0,
            wanted_from_ns: None,
            newest: None,
            draining: false,
            errors_in_a_row: 0,
            damage: Damage::default(),
            #[cfg(test)]
            sent: 0,
        };
        source.tells_dots = source.is_still();
        // Elsewhere only their packets tell how long the file is.
        if source.states_each_length() {
            discard_others(&mut source.file.input, stream);
        }
        Ok(source)
    }

    /// The next picture; `None` at the end, after an error that ends the file, or when stopped.
    pub(crate) fn next_picture(&mut self) -> Option<Stamped> {
        loop {
            self.reading.advance();
            let mut video = ffmpeg::frame::Video::empty();
            // SAFETY: the pointer is only compared; an allocation that failed must not reach FFmpeg.
            if unsafe { video.as_ptr().is_null() } {
                self.damage.read_error = Some("memory has run out".into());
                return None;
            }
            match self.decoder.receive_frame(&mut video) {
                Ok(()) if video.width() > 0 && video.height() > 0 => {
                    self.errors_in_a_row = 0;
                    return Some(self.stamped(video));
                }
                Ok(()) => self.count_error(),
                Err(ffmpeg::Error::Eof) => return None,
                Err(ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN }) if !self.draining => {}
                Err(error) => self.refused(error),
            }
            if self.is_stopped() || self.errors_in_a_row > MAX_ERRORS_IN_A_ROW {
                return None;
            }
            if !self.draining {
                self.feed();
            }
        }
    }

    /// Reads one packet and gives it to the decoder, or tells the decoder that the file has ended.
    fn feed(&mut self) {
        // SAFETY: the packet is valid; what it held is released before av_read_frame fills it again.
        unsafe { ffi::av_packet_unref(ffmpeg::packet::Mut::as_mut_ptr(&mut self.packet)) };
        self.reading.begin();
        match self.packet.read(&mut self.file.input) {
            Ok(()) => {}
            Err(ffmpeg::Error::InvalidData | ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN }) => {
                self.count_error();
                return;
            }
            Err(error) => {
                if self.reading.timed_out() {
                    self.damage.read_error = Some("the file did not answer in time".into());
                } else if error != ffmpeg::Error::Eof && error != ffmpeg::Error::Exit {
                    self.damage.read_error = Some(sentence(error));
                }
                self.draining = true;
                if self.decoder.send_eof().is_err() {
                    self.count_error();
                }
                return;
            }
        }
        self.note_place();
        if self.packet.stream() != self.stream {
            self.others_to_ns = self.others_to_ns.max(self.packet_end_ns());
            return;
        }
        if self.packet.is_corrupt() {
            self.damage.bad_packets += 1;
        }
        let stamp_ns = self.packet.pts().or(self.packet.dts()).map(|stamp| self.nanoseconds(stamp));
        if let Some(stamp) = stamp_ns {
            let end = stamp.saturating_add(self.nanoseconds(self.packet.duration().max(0)));
            self.read_to_ns = self.read_to_ns.max(Some(end));
        }
        if let Skip::KeysUntil(target) = self.skip {
            if !self.packet.is_key() {
                return;
            }
            if stamp_ns.is_none_or(|stamp| stamp >= target) {
                self.set_skip(Skip::Nothing);
            }
        }
        if let Some(wanted) = self.wanted_from_ns {
            let early = self.packet.pts().is_some_and(|pts| self.nanoseconds(pts) < wanted);
            self.decoder.skip_frame(if early {
                ffmpeg::Discard::NonReference
            } else {
                ffmpeg::Discard::Default
            });
        }
        #[cfg(test)]
        {
            self.sent += 1;
        }
        if let Err(error) = self.decoder.send_packet(&self.packet) {
            self.refused(error);
        }
    }

    /// Notes where the packet lies in the file.
    fn note_place(&mut self) {
        if let Ok(start) = u64::try_from(self.packet.position()) {
            self.read_to_byte = self.read_to_byte.max(start.saturating_add(self.packet.size() as u64));
        }
    }

    /// When the packet of any stream ends, in nanoseconds of the file's stamps.
    fn packet_end_ns(&self) -> Option<i64> {
        let base = ffi::AVRational::from(self.file.input.stream(self.packet.stream())?.time_base());
        let stamp = self.packet.pts().or(self.packet.dts())?.saturating_add(self.packet.duration().max(0));
        Some(rescale(stamp, (base.num.into(), base.den.into()), (1, SECOND_NS)))
    }

    fn refused(&mut self, error: ffmpeg::Error) {
        self.damage.no_memory |= error == ffmpeg::Error::Other { errno: ffmpeg::error::ENOMEM };
        self.damage.unsupported |= is_unsupported(error);
        self.count_error();
    }

    fn count_error(&mut self) {
        self.damage.bad_packets += 1;
        self.errors_in_a_row += 1;
    }

    fn stamped(&mut self, mut video: ffmpeg::frame::Video) -> Stamped {
        let stamp_ns = video.timestamp().map(|t| self.nanoseconds(t));
        let duration = video.packet().duration;
        let duration_ns = if duration > 0 { self.nanoseconds(duration).max(1) } else { self.frame_ns };
        // SAFETY: context, stream and frame are valid; FFmpeg only reads them to choose a ratio, and the ratio is a
        // plain field of the frame.
        unsafe {
            let context = self.file.input.as_mut_ptr();
            let stream = *(*context).streams.add(self.stream);
            let frame = video.as_mut_ptr();
            (*frame).sample_aspect_ratio = match self.tells_dots {
                true => ffi::AVRational { num: 1, den: 1 },
                false => ffi::av_guess_sample_aspect_ratio(context, stream, frame),
            };
        }
        if let Some(matrix) = &self.matrix {
            orientation::default_matrix(&mut video, matrix);
        }
        alpha::without_unused(self.decoder.id(), &mut video);
        Stamped { video, stamp_ns, duration_ns }
    }

    /// Lets pictures with a stamp before this one be skipped where no other needs them; `None` for no longer.
    pub(crate) fn set_wanted_from(&mut self, stamp_ns: Option<i64>) {
        self.wanted_from_ns = stamp_ns;
        self.set_skip(self.skip);
    }

    /// Stops soon after `newest` becomes greater than `generation`.
    pub(crate) fn set_generation(&mut self, newest: Arc<AtomicU64>, generation: u64) {
        self.newest = Some((newest, generation));
    }

    /// What [`Source::set_generation`] was given.
    pub(crate) fn newest(&self) -> Option<(Arc<AtomicU64>, u64)> {
        self.newest.clone()
    }

    /// The time that a frame is expected to last, in nanoseconds.
    pub(crate) fn frame_ns(&self) -> i64 {
        self.frame_ns
    }

    /// Goes to the last key frame at or before `stamp_ns`. An error means that the file cannot seek.
    pub(crate) fn seek(&mut self, stamp_ns: i64) -> Ffmpeg<()> {
        let stamp = rescale(stamp_ns, (1, SECOND_NS), (self.time_base.num.into(), self.time_base.den.into()));
        self.seek_file(stamp, 0)
    }

    /// Goes to the first key frame at or behind a position in the file, in bytes. An error means that it cannot seek.
    pub(crate) fn seek_byte(&mut self, byte: i64) -> Ffmpeg<()> {
        self.seek_file(byte, ffi::AVSEEK_FLAG_BYTE as libc::c_int)
    }

    fn seek_file(&mut self, to: i64, flags: libc::c_int) -> Ffmpeg<()> {
        self.reading.begin();
        // SAFETY: the context is valid and the stream exists.
        let result = unsafe {
            let stream = self.stream as libc::c_int;
            ffi::avformat_seek_file(self.file.input.as_mut_ptr(), stream, i64::MIN, to, to, flags)
        };
        if result < 0 {
            return Err(ffmpeg::Error::from(result));
        }
        self.decoder.flush();
        self.draining = false;
        self.errors_in_a_row = 0;
        // Formats without an index land anywhere, and frames without their references would be garbage.
        self.set_skip(Skip::KeysUntil(i64::MIN));
        Ok(())
    }

    /// Reads the file through, without decoding, and returns where its key frames are, if its stamps jump. `origin_ns` is
    /// the stamp of its beginning. A seek has to follow. `None` too where reading was stopped or the file is large.
    pub(crate) fn scan(&mut self, origin_ns: i64) -> Option<Jumps> {
        if self.file.bytes() > jumps::MAX_BYTES || self.seek_byte(0).is_err() {
            return None;
        }
        let mut scan = Scan::new(origin_ns);
        let mut errors = 0;
        while !self.is_stopped() && errors < MAX_ERRORS_IN_A_ROW {
            // SAFETY: the packet is valid; what it held is released before av_read_frame fills it again.
            unsafe { ffi::av_packet_unref(ffmpeg::packet::Mut::as_mut_ptr(&mut self.packet)) };
            self.reading.begin();
            match self.packet.read(&mut self.file.input) {
                Ok(()) => errors = 0,
                Err(ffmpeg::Error::InvalidData | ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN }) => {
                    errors += 1;
                    continue;
                }
                Err(_) => break,
            }
            let stamp = self.packet.pts().or(self.packet.dts());
            if let Some(stamp) = stamp.filter(|_| self.packet.stream() == self.stream) {
                let duration_ns = self.nanoseconds(self.packet.duration());
                let duration_ns = if duration_ns > 0 { duration_ns } else { self.frame_ns };
                let byte = i64::try_from(self.packet.position()).ok().filter(|byte| *byte >= 0);
                let key_byte = byte.filter(|_| self.packet.is_key());
                scan.packet(self.nanoseconds(stamp), duration_ns, key_byte);
            }
        }
        scan.finish().filter(|_| !self.is_stopped())
    }

    /// Chooses what is decoded from the next packet on.
    pub(crate) fn set_skip(&mut self, skip: Skip) {
        self.skip = skip;
        self.decoder.skip_frame(match skip {
            Skip::Unreferenced => ffmpeg::Discard::NonReference,
            // For key frames the packets are left out before the decoder sees them.
            Skip::Nothing | Skip::KeysUntil(_) => ffmpeg::Discard::Default,
        });
    }

    /// What is skipped now.
    pub(crate) fn skip(&self) -> Skip {
        self.skip
    }

    /// The latest end of a packet read so far, decoded or not, in nanoseconds of the file's stamps.
    pub(crate) fn read_to_ns(&self) -> Option<i64> {
        self.read_to_ns
    }

    /// The latest end of a packet of another stream, where those are read, in nanoseconds of the file's stamps.
    pub(crate) fn others_to_ns(&self) -> Option<i64> {
        self.others_to_ns
    }

    /// Where the last packet ends in the file.
    pub(crate) fn read_to_byte(&self) -> u64 {
        self.read_to_byte
    }

    pub(super) fn nanoseconds(&self, stamp: i64) -> i64 {
        rescale(stamp, (self.time_base.num.into(), self.time_base.den.into()), (1, SECOND_NS))
    }

    /// The stop flag was raised while reading, or a newer seek was asked for.
    pub(crate) fn is_stopped(&self) -> bool {
        let outdated = |(newest, own): &(Arc<AtomicU64>, u64)| newest.load(Ordering::Relaxed) > *own;
        self.reading.is_stopped() || self.newest.as_ref().is_some_and(outdated)
    }
}

/// `value` in units of `from` expressed in units of `to`, rounded to the nearest; the units are fractions of a
/// second. Values out of range are clamped.
fn rescale(value: i64, from: (i64, i64), to: (i64, i64)) -> i64 {
    let numerator = i128::from(from.0) * i128::from(to.1);
    let denominator = i128::from(from.1) * i128::from(to.0);
    if numerator <= 0 || denominator <= 0 {
        return 0;
    }
    let product = i128::from(value).saturating_mul(numerator);
    let half = denominator / 2;
    let rounded = if product >= 0 { (product + half) / denominator } else { (product - half) / denominator };
    rounded.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescales_with_rounding_and_clamping() {
        assert_eq!(rescale(1, (1, 3), (1, SECOND_NS)), 333_333_333);
        assert_eq!(rescale(2, (1, 3), (1, SECOND_NS)), 666_666_667);
        assert_eq!(rescale(-2, (1, 3), (1, SECOND_NS)), -666_666_667);
        assert_eq!(rescale(i64::MAX, (1000, 1), (1, SECOND_NS)), i64::MAX);
        assert_eq!(rescale(i64::MIN, (1000, 1), (1, SECOND_NS)), i64::MIN);
        assert_eq!(rescale(SECOND_NS, (1, SECOND_NS), (1001, 30_000)), 30);
        assert_eq!(rescale(5, (0, 1), (1, SECOND_NS)), 0);
    }
}
