//! Reads the packets of an opened movie file, and seeks in it.
//!
//! Packets come from `av_read_frame` with its return codes, because `ffmpeg_next`'s iterator hides I/O errors.

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;

use super::container::Container;
use super::errors::{Ffmpeg, sentence};
use super::key_frames::{KeyFrameIndex, KeyFrameScan};
use super::read_control::ReadControl;
use base::error::Result;

/// The number of consecutive errors after which reading or decoding a file stops.
pub(super) const MAX_ERRORS_IN_A_ROW: u32 = 256;

/// Returns true if reading may continue with the next packet after this error.
fn is_recoverable(error: ffmpeg::Error) -> bool {
    matches!(error, ffmpeg::Error::InvalidData | ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN })
}

/// The part of a file that has been read so far. Times are in nanoseconds of the file's time stamps.
#[derive(Default)]
pub(super) struct ReadExtent {
    /// The latest end of a video packet, decoded or not.
    pub video_end_ns: Option<i64>,
    /// The end of the last packet of the sound that plays with the pictures.
    pub sound_end_ns: Option<i64>,
    /// The latest end of a packet of any stream except the video stream; `None` if packets of other streams are not read.
    pub other_streams_end_ns: Option<i64>,
    /// The largest byte offset at which a packet of any stream ends, among the packets whose position FFmpeg knows.
    pub end_byte: u64,
}

impl ReadExtent {
    /// Extends the read part of the file by a packet of `container`.
    fn add(&mut self, packet: &ffmpeg::Packet, container: &Container) {
        if let Ok(start) = u64::try_from(packet.position()) {
            self.end_byte = self.end_byte.max(start.saturating_add(packet.size() as u64));
        }
        let Some(stamp) = packet.pts().or(packet.dts()) else { return };
        let end = stamp.saturating_add(packet.duration().max(0));
        let end_ns = container.nanoseconds_of(packet.stream(), end);
        if Some(packet.stream()) == container.sound {
            self.sound_end_ns = end_ns;
        }
        match packet.stream() == container.stream {
            true => self.video_end_ns = self.video_end_ns.max(end_ns),
            false => self.other_streams_end_ns = self.other_streams_end_ns.max(end_ns),
        }
    }
}

/// The damage found so far: the packets that could not be read or decoded, and the reasons.
#[derive(Default)]
pub(super) struct Damage {
    /// The number of packets that the demuxer or the decoder refused.
    pub bad_packets: u64,
    /// The number of packets that are marked as damaged, for example where recordings were joined. They are decoded
    /// nevertheless.
    pub flagged_packets: u64,
    /// The number of pictures in which the decoder found errors other than missing references.
    pub damaged_pictures: u64,
    /// True if some packets were refused because memory was short.
    pub no_memory: bool,
    /// True if some packets were refused because this FFmpeg does not implement a feature that they use.
    pub unsupported: bool,
    /// The error that ended reading before the end of the file; `None` if there was none.
    pub read_error: Option<String>,
}

impl Damage {
    /// Returns a remark, worded as a clause, about packets that are marked as damaged, if all of them could be decoded without
    /// errors; otherwise `None`.
    pub(crate) fn note(&self) -> Option<String> {
        if self.bad_packets + self.damaged_pictures > 0 {
            return None;
        }
        match self.flagged_packets {
            0 => None,
            1 => Some("1 packet is marked as damaged; it could be decoded".to_owned()),
            n => Some(format!("{n} packets are marked as damaged; all could be decoded")),
        }
    }
}

/// A position in a file to which a seek leads.
pub(super) enum FilePlace {
    /// The last key frame whose time stamp, in nanoseconds, is this one or earlier.
    StampNs(i64),
    /// The first key frame whose byte offset is this one or later.
    Byte(i64),
}

/// An opened file, and the packet that was read last.
pub(super) struct Demuxer {
    pub container: Container,
    /// The packet that was read last.
    pub packet: ffmpeg::Packet,
    /// The part of the file that has been read so far. Scans for key frames do not count.
    pub extent: ReadExtent,
    pub damage: Damage,
    /// The number of packets in a row that the demuxer or the decoder refused.
    pub errors_in_a_row: u32,
    /// True once the file has ended and the decoder returns its last frames.
    pub is_draining: bool,
}

impl Demuxer {
    /// Opens the file at `path` and selects its video stream. Reading stops soon after `read_control` is cancelled.
    pub(super) fn open(path: &Path, read_control: &ReadControl) -> Result<Self> {
        let mut container = Container::open(path, read_control)?;
        // In other files only the packets of the other streams show how long the file is.
        if container.states_each_duration() {
            container.discard_other_streams();
        }
        Ok(Self::new(container))
    }

    /// Opens the file at `path`, and selects the stream of sound with the index `stream`.
    pub(super) fn open_sound(path: &Path, stream: usize, read_control: &ReadControl) -> Result<Self> {
        let mut container = Container::open_sound(path, stream, read_control)?;
        container.discard_other_streams();
        Ok(Self::new(container))
    }

    fn new(container: Container) -> Self {
        Self {
            container,
            packet: ffmpeg::Packet::empty(),
            extent: ReadExtent::default(),
            damage: Damage::default(),
            errors_in_a_row: 0,
            is_draining: false,
        }
    }

    /// Reads the next packet of any stream, and adds it to the extent. Returns true if it belongs to the selected stream, false
    /// for another stream, and `None` if there is no packet: it was damaged, or reading has ended, so that `decoder` is drained.
    pub(super) fn read_for(&mut self, decoder: &mut ffmpeg::decoder::Opened) -> Option<bool> {
        let read = self.read_untracked().inspect(|()| self.extent.add(&self.packet, &self.container));
        let reason = match read {
            Ok(()) => return Some(self.is_selected_packet()),
            Err(error) if is_recoverable(error) => {
                self.count_error();
                return None;
            }
            Err(_) if self.container.access.read_control.timed_out() => {
                Some("the file did not answer in time".into())
            }
            Err(ffmpeg::Error::Eof | ffmpeg::Error::Exit) => None,
            Err(error) => Some(sentence(error)),
        };
        self.damage.read_error = reason.or(self.damage.read_error.take());
        self.is_draining = true;
        if decoder.send_eof().is_err() {
            self.count_error();
        }
        None
    }

    /// Counts a packet that the demuxer or the decoder has refused.
    pub(super) fn count_error(&mut self) {
        self.damage.bad_packets += 1;
        self.errors_in_a_row += 1;
    }

    /// Reads the next packet of any stream without adding it to the extent.
    fn read_untracked(&mut self) -> Ffmpeg<()> {
        // SAFETY: the packet is valid; its data is released before av_read_frame fills it again.
        unsafe { ffi::av_packet_unref(ffmpeg::packet::Mut::as_mut_ptr(&mut self.packet)) };
        self.container.access.read_control.begin_step();
        self.packet.read(&mut self.container.input)
    }

    /// Returns true if the packet that was read last belongs to the stream that is played.
    fn is_selected_packet(&self) -> bool {
        self.packet.stream() == self.container.stream
    }

    /// Returns the presentation time stamp of the packet that was read last, which must be a video packet, or else its
    /// decoding time stamp, in nanoseconds.
    pub(super) fn packet_stamp_ns(&self) -> Option<i64> {
        self.packet.pts().or(self.packet.dts()).map(|stamp| self.container.nanoseconds(stamp))
    }

    /// Seeks to a place in the file; the caller must flush the decoder. An error means that the file cannot seek.
    pub(super) fn seek(&mut self, place: FilePlace) -> Ffmpeg<()> {
        let (target, flags) = match place {
            FilePlace::StampNs(stamp_ns) => (self.container.stamp(stamp_ns), 0),
            FilePlace::Byte(byte) => (byte, ffi::AVSEEK_FLAG_BYTE as libc::c_int),
        };
        self.container.access.read_control.begin_step();
        let stream = self.container.stream as libc::c_int;
        // SAFETY: the context is valid and the stream exists.
        let result = unsafe {
            let context = self.container.input.as_mut_ptr();
            ffi::avformat_seek_file(context, stream, i64::MIN, target, target, flags)
        };
        if result < 0 {
            return Err(ffmpeg::Error::from(result));
        }
        (self.errors_in_a_row, self.is_draining) = (0, false);
        Ok(())
    }

    /// Reads all packets from the present position to the end, and returns the key frames if time stamps jump; `None` if
    /// they do not jump, or if reading was interrupted. `origin_ns` is the time stamp at the file's beginning, `frame_ns` the
    /// duration of packets that state none. The caller must seek afterwards.
    pub(super) fn scan_key_frames(&mut self, origin_ns: i64, frame_ns: i64) -> Option<KeyFrameIndex> {
        let mut scan = KeyFrameScan::new(origin_ns);
        let mut errors = 0;
        while !self.container.access.read_control.is_interrupted() && errors < MAX_ERRORS_IN_A_ROW {
            match self.read_untracked() {
                Ok(()) => errors = 0,
                Err(error) if is_recoverable(error) => {
                    errors += 1;
                    continue;
                }
                Err(_) => break,
            }
            if let Some(stamp_ns) = self.packet_stamp_ns().filter(|_| self.is_selected_packet()) {
                let duration_ns = self.container.nanoseconds(self.packet.duration());
                let duration_ns = if duration_ns > 0 { duration_ns } else { frame_ns };
                let byte = i64::try_from(self.packet.position()).ok().filter(|byte| *byte >= 0);
                scan.add_packet(stamp_ns, duration_ns, byte.filter(|_| self.packet.is_key()));
            }
        }
        scan.finish().filter(|_| !self.container.access.read_control.is_interrupted())
    }
}
