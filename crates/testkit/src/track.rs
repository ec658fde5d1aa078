//! Tracks of sound in test movies: a tone that begins with the first sample.

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::context::Output;
use ffmpeg_next::format::sample::{Sample, Type};
use ffmpeg_next::format::stream::Disposition;

/// The samples per second of the tone.
const RATE: i32 = 48_000;

/// A track of sound in a test movie.
#[derive(Clone)]
pub struct Track {
    /// The codec: AAC, or one whose encoder takes 16-bit samples.
    pub codec: Id,
    /// The language that the file states; empty for none.
    pub language: &'static str,
    /// The flags that the file states.
    pub flags: Disposition,
    /// The bit rate, in bits per second.
    pub bit_rate: usize,
    /// Start and duration in milliseconds, on the timeline of the pictures' time stamps.
    pub span_ms: (i64, i64),
    /// The number of the programme that has the track; the pictures are in programme 1. 0 for none.
    pub programme: i32,
}

impl Default for Track {
    /// Returns a second of MP2 at the beginning, without language and flags.
    fn default() -> Self {
        Self {
            codec: Id::MP2,
            language: "",
            flags: Disposition::empty(),
            bit_rate: 128_000,
            span_ms: (0, 1000),
            programme: 0,
        }
    }
}

/// A track whose stream was added, and the encoder for its packets.
pub(crate) struct Encoding {
    span_ms: (i64, i64),
    stream: usize,
    encoder: ffmpeg::encoder::Audio,
}

impl Track {
    /// Adds the track's stream to the file.
    pub(crate) fn add(&self, output: &mut Output) -> Encoding {
        let codec = ffmpeg::encoder::find(self.codec).expect("the encoder exists");
        let mut encoder =
            ffmpeg::codec::Context::new_with_codec(codec).encoder().audio().expect("an encoder of sound");
        encoder.set_rate(RATE);
        encoder.set_channel_layout(ffmpeg::ChannelLayout::MONO);
        encoder.set_format(match self.codec {
            Id::AAC => Sample::F32(Type::Planar),
            _ => Sample::I16(Type::Packed),
        });
        encoder.set_bit_rate(self.bit_rate);
        encoder.set_time_base((1, RATE));
        if output.format().flags().contains(ffmpeg::format::Flags::GLOBAL_HEADER) {
            encoder.set_flags(ffmpeg::codec::Flags::GLOBAL_HEADER);
        }
        let encoder = encoder.open_as(codec).expect("the encoder opens");
        let mut stream = output.add_stream(codec).expect("a stream of sound");
        stream.set_parameters(&encoder);
        stream.set_time_base((1, RATE));
        if !self.language.is_empty() {
            let mut metadata = ffmpeg::Dictionary::new();
            metadata.set("language", self.language);
            stream.set_metadata(metadata);
        }
        let index = stream.index();
        // SAFETY: stream and context are valid; the flags are a plain field, and pictures are the first stream.
        unsafe {
            (*stream.as_mut_ptr()).disposition = self.flags.bits();
            if self.programme > 0 {
                for stream in [index, 0].into_iter().take(1 + usize::from(self.programme == 1)) {
                    ffmpeg::ffi::av_new_program(output.as_mut_ptr(), self.programme);
                    let stream = stream as libc::c_uint;
                    ffmpeg::ffi::av_program_add_stream_index(output.as_mut_ptr(), self.programme, stream);
                }
            }
        }
        Encoding { span_ms: self.span_ms, stream: index, encoder }
    }
}

impl Encoding {
    /// Writes the track's packets.
    pub(crate) fn write(mut self, output: &mut Output) {
        let (start_ms, duration_ms) = self.span_ms;
        let samples = |ms: i64| ms * i64::from(RATE) / 1000;
        let step = match self.encoder.frame_size() {
            0 => 1024,
            size => i64::from(size),
        };
        for first in (0..samples(duration_ms)).step_by(step as usize) {
            let (format, layout) = (self.encoder.format(), ffmpeg::ChannelLayout::MONO);
            let mut frame = ffmpeg::frame::Audio::new(format, step as usize, layout);
            frame.set_rate(RATE as u32);
            frame.set_pts(Some(samples(start_ms) + first));
            let tone = |at: i64| (at as f32 / RATE as f32 * 440.0 * std::f32::consts::TAU).cos() * 0.5;
            match format {
                Sample::F32(_) => {
                    (first..).zip(frame.plane_mut::<f32>(0)).for_each(|(at, sample)| *sample = tone(at));
                }
                _ => {
                    let samples = (first..).zip(frame.plane_mut::<i16>(0));
                    samples.for_each(|(at, sample)| *sample = (tone(at) * 32767.0) as i16);
                }
            }
            self.encoder.send_frame(&frame).expect("sound is encoded");
            self.drain(output);
        }
        self.encoder.send_eof().expect("the encoder ends");
        self.drain(output);
    }

    /// Writes the packets that the encoder has ready.
    fn drain(&mut self, output: &mut Output) {
        let time_base = output.stream(self.stream).expect("the stream").time_base();
        let mut packet = ffmpeg::Packet::empty();
        while self.encoder.receive_packet(&mut packet).is_ok() {
            packet.set_stream(self.stream);
            packet.rescale_ts((1, RATE), time_base);
            packet.write_interleaved(output).expect("a packet is written");
        }
    }
}
