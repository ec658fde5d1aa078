//! Small movies made at test time, with encoders that every FFmpeg has. Frame `i` is flat grey of luma
//! [`luma_of`]`(i)`, so that a test can tell frames apart.

use std::path::{Path, PathBuf};
use std::process::Command;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;

/// What a test movie is made of.
#[derive(Clone)]
pub struct Movie {
    /// The encoder of its pictures.
    pub codec: Id,
    /// Their pixels.
    pub format: Pixel,
    /// Their width and height.
    pub size: (u32, u32),
    /// When each frame is shown, in milliseconds; increasing.
    pub stamps_ms: Vec<i64>,
    /// Added to every stamp in the file.
    pub offset_ms: i64,
    /// Frames from one key frame to the next.
    pub gop: u32,
    /// The most pictures in a row that need a later one.
    pub b_frames: usize,
    /// Which frame of the row of greys is the first one.
    pub first: usize,
    /// Frames a second that the container states, as a fraction.
    pub rate: (i32, i32),
    /// Width and height of a pixel.
    pub pixel_aspect: (i32, i32),
    /// Marked as interlaced; MPEG-4 only.
    pub interlaced: bool,
    /// Where chapters begin, in milliseconds of the stamps, and their titles; each lasts until the next one.
    pub chapters: Vec<(i64, &'static str)>,
    /// Of the interlaced ones, which field is marked as the first.
    pub top_first: bool,
    /// Draws a frame of the row of greys, or something else in its place.
    pub paint: fn(usize, &mut ffmpeg::frame::Video),
    /// The numbers of the matrix and of the transfer characteristics that the pictures are tagged with (ITU-T H.273).
    pub tags: Option<(u32, u32)>,
    /// How long the last picture lasts, in milliseconds, as far as the container can say it.
    pub last_ms: Option<i64>,
    /// How long silence lasts that goes with the pictures, in milliseconds.
    pub sound_ms: Option<i64>,
    /// When a subtitle is shown and for how long, in milliseconds.
    pub subtitle_ms: Option<(i64, i64)>,
}

impl Default for Movie {
    /// 20 frames of 64×48 at 25 a second, MPEG-4.
    fn default() -> Self {
        Self {
            codec: Id::MPEG4,
            format: Pixel::YUV420P,
            size: (64, 48),
            stamps_ms: steady(20),
            offset_ms: 0,
            gop: 5,
            b_frames: 0,
            first: 0,
            rate: (25, 1),
            pixel_aspect: (0, 1),
            interlaced: false,
            chapters: Vec::new(),
            top_first: false,
            paint: paint_grey,
            tags: None,
            last_ms: None,
            sound_ms: None,
            subtitle_ms: None,
        }
    }
}

/// Stamps of `count` frames at 25 a second.
pub fn steady(count: usize) -> Vec<i64> {
    (0..count as i64).map(|i| i * 40).collect()
}

/// The luma of frame `index`.
pub fn luma_of(index: usize) -> u8 {
    20 + (index % 50) as u8 * 4
}

/// Fills a frame with the luma of its index.
fn paint_grey(index: usize, frame: &mut ffmpeg::frame::Video) {
    frame.data_mut(0).fill(luma_of(index));
    (1..frame.planes()).for_each(|plane| frame.data_mut(plane).fill(128));
}

/// Which of the first 50 frames a luma value belongs to.
pub fn index_of(luma: u8) -> usize {
    (usize::from(luma) - 18) / 4
}

/// The index of the frame that `picture` shows, by its middle.
pub fn index_in(picture: &ffmpeg::frame::Video) -> usize {
    let middle = picture.stride(0) * (picture.height() as usize / 2) + picture.width() as usize / 2;
    index_of(picture.data(0)[middle])
}

impl Movie {
    /// Writes the movie; the container follows from the name's ending.
    pub fn write(&self, path: &Path) {
        ffmpeg::init().expect("FFmpeg starts");
        ffmpeg::log::set_level(ffmpeg::log::Level::Quiet);
        let mut output = ffmpeg::format::output(path).expect("the container can be written");
        let codec = ffmpeg::encoder::find(self.codec).expect("the encoder exists");
        let context = ffmpeg::codec::Context::new_with_codec(codec);
        let mut encoder = context.encoder().video().expect("a video encoder");
        encoder.set_width(self.size.0);
        encoder.set_height(self.size.1);
        encoder.set_format(self.format);
        encoder.set_time_base((1, 1000));
        encoder.set_frame_rate(Some((25, 1)));
        encoder.set_gop(self.gop);
        encoder.set_max_b_frames(self.b_frames);
        encoder.set_aspect_ratio(self.pixel_aspect);
        encoder.set_bit_rate(2_000_000);
        let mut flags = ffmpeg::codec::Flags::empty();
        if output.format().flags().contains(ffmpeg::format::Flags::GLOBAL_HEADER) {
            flags |= ffmpeg::codec::Flags::GLOBAL_HEADER;
        }
        if self.interlaced {
            flags |= ffmpeg::codec::Flags::INTERLACED_DCT;
        }
        encoder.set_flags(flags);
        if let Some((matrix, transfer)) = self.tags {
            // SAFETY: the context is valid. Both are 32-bit enumerations, written as the integers they are in C: files may
            // have numbers that no enumeration has.
            unsafe {
                let context = encoder.as_mut_ptr();
                (&raw mut (*context).colorspace).cast::<u32>().write(matrix);
                (&raw mut (*context).color_trc).cast::<u32>().write(transfer);
            }
        }
        let mut options = ffmpeg::Dictionary::new();
        if self.codec == Id::MPEG4 {
            // Flat frames of different grey look like cuts, and every frame would become a key frame.
            options.set("sc_threshold", "1000000000");
        }
        if self.codec == Id::VP9 {
            // Otherwise it encodes no alpha.
            options.set("auto-alt-ref", "0");
            options.set("deadline", "realtime");
        }
        let mut encoder = encoder.open_as_with(codec, options).expect("the encoder opens");
        {
            let mut stream = output.add_stream(codec).expect("a stream");
            stream.set_parameters(&encoder);
            // AVI has one rate for all frames and fills the gaps with empty ones.
            let avi = path.extension().is_some_and(|ending| ending == "avi");
            stream.set_time_base(if avi { (1, 25) } else { (1, 1000) });
            stream.set_avg_frame_rate(self.rate);
            // SAFETY: the stream is valid; the ratio is a plain field.
            unsafe {
                (*stream.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational::from(self.pixel_aspect).into()
            };
        }
        let sound = self.sound_ms.map(|_| add_sound(&mut output));
        let subtitle = self.subtitle_ms.map(|_| add_subtitle(&mut output));
        let ends = self.chapters.iter().skip(1).map(|(start, _)| *start).chain([i64::from(i32::MAX)]);
        for (id, ((start, title), end)) in self.chapters.iter().zip(ends).enumerate() {
            output.add_chapter(id as i64, (1, 1000), *start, end, title).expect("a chapter");
        }
        // An MP4's index first: what is cut off behind it can still be opened.
        let mut options = ffmpeg::Dictionary::new();
        options.set("movflags", "faststart");
        output.write_header_with(options).expect("the header is written");
        let time_base = output.stream(0).expect("the stream").time_base();

        if let (Some(stream), Some(length_ms)) = (sound, self.sound_ms) {
            // A tenth of a second of silence at a time.
            for start_ms in (0..length_ms).step_by(100) {
                let data = vec![0; 2 * SOUND_RATE as usize / 10];
                write_packet(&mut output, stream, &data, (self.offset_ms + start_ms, 100));
            }
        }
        if let (Some(stream), Some((start_ms, length_ms))) = (subtitle, self.subtitle_ms) {
            write_packet(&mut output, stream, b"What is said", (self.offset_ms + start_ms, length_ms));
        }

        let mut drain = |encoder: &mut ffmpeg::encoder::video::Encoder| {
            let mut packet = ffmpeg::Packet::empty();
            while encoder.receive_packet(&mut packet).is_ok() {
                packet.set_stream(0);
                packet.set_pts(packet.pts().map(|t| t + self.offset_ms));
                packet.set_dts(packet.dts().map(|t| t + self.offset_ms));
                let is_last = packet.pts() == self.stamps_ms.last().map(|last| last + self.offset_ms);
                if let Some(last_ms) = self.last_ms.filter(|_| is_last) {
                    packet.set_duration(last_ms);
                }
                packet.rescale_ts((1, 1000), time_base);
                packet.write_interleaved(&mut output).expect("a packet is written");
            }
        };
        for (index, &stamp) in self.stamps_ms.iter().enumerate() {
            let mut frame = ffmpeg::frame::Video::new(self.format, self.size.0, self.size.1);
            (self.paint)(self.first + index, &mut frame);
            frame.set_pts(Some(stamp));
            // SAFETY: the frame is valid and owned; the field is a plain number.
            unsafe { (*frame.as_mut_ptr()).top_field_first = i32::from(self.top_first) };
            encoder.send_frame(&frame).expect("a frame is encoded");
            drain(&mut encoder);
        }
        encoder.send_eof().expect("the encoder ends");
        drain(&mut encoder);
        output.write_trailer().expect("the trailer is written");
    }
}

/// Samples a second of the silence, a rate that FLV knows, too.
const SOUND_RATE: i32 = 11025;

/// Adds a stream of samples of 16 bits; returns its number.
fn add_sound(output: &mut ffmpeg::format::context::Output) -> usize {
    let mut stream = output.add_stream(ffmpeg::encoder::find(Id::PCM_S16LE)).expect("a stream of sound");
    stream.set_time_base((1, SOUND_RATE));
    // SAFETY: the stream is valid and has parameters, which are plain fields; the layout is made for this many channels.
    unsafe {
        let parameters = &mut *(*stream.as_mut_ptr()).codecpar;
        parameters.codec_type = ffmpeg::ffi::AVMediaType::AVMEDIA_TYPE_AUDIO;
        parameters.codec_id = Id::PCM_S16LE.into();
        parameters.format = ffmpeg::ffi::AVSampleFormat::AV_SAMPLE_FMT_S16 as i32;
        parameters.sample_rate = SOUND_RATE;
        parameters.bits_per_coded_sample = 16;
        parameters.block_align = 2;
        parameters.bit_rate = i64::from(16 * SOUND_RATE);
        ffmpeg::ffi::av_channel_layout_default(&mut parameters.ch_layout, 1);
    }
    stream.index()
}

/// Adds a stream of subtitles; returns its number.
fn add_subtitle(output: &mut ffmpeg::format::context::Output) -> usize {
    let mut stream = output.add_stream(ffmpeg::encoder::find(Id::SUBRIP)).expect("a stream of subtitles");
    stream.set_time_base((1, 1000));
    // SAFETY: as above.
    unsafe {
        let parameters = &mut *(*stream.as_mut_ptr()).codecpar;
        parameters.codec_type = ffmpeg::ffi::AVMediaType::AVMEDIA_TYPE_SUBTITLE;
        parameters.codec_id = Id::SUBRIP.into();
    }
    stream.index()
}

/// Writes a packet with its time and duration in milliseconds.
fn write_packet(
    output: &mut ffmpeg::format::context::Output,
    stream: usize,
    data: &[u8],
    (at_ms, length_ms): (i64, i64),
) {
    let mut packet = ffmpeg::Packet::copy(data);
    packet.set_stream(stream);
    packet.set_pts(Some(at_ms));
    packet.set_dts(Some(at_ms));
    packet.set_duration(length_ms);
    packet.set_flags(ffmpeg::packet::Flags::KEY);
    let time_base = output.stream(stream).expect("the stream").time_base();
    packet.rescale_ts((1, 1000), time_base);
    packet.write_interleaved(output).expect("a packet is written");
}

/// The bytes of an MP4 whose pictures are not turned, with the numbers a, b, c, d of another display matrix.
pub fn turned(mut mp4: Vec<u8>, [a, b, c, d]: [i32; 4]) -> Vec<u8> {
    // The track header: its matrix lies 40 bytes behind the version (ISO/IEC 14496-12, version 0).
    let at = mp4.windows(4).position(|w| w == b"tkhd").expect("a track header") + 4 + 40;
    assert_eq!(mp4[at..at + 4], (1i32 << 16).to_be_bytes(), "the matrix is where it is expected");
    for (i, number) in [a, b, 0, c, d, 0, 0, 0, 1 << 30].into_iter().enumerate() {
        mp4[at + 4 * i..][..4].copy_from_slice(&number.to_be_bytes());
    }
    mp4
}

/// A folder of its own for a test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes an empty folder; the name is for one test alone.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("clreel-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    /// Returns the path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with these bytes.
    pub fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, bytes).expect("the file is written");
        path
    }

    /// A movie under this name.
    pub fn movie(&self, name: &str, movie: &Movie) -> PathBuf {
        let path = self.file(name);
        movie.write(&path);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program where no file may grow beyond some kilobytes, as on a disk that is full.
pub fn on_a_full_disk(program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh", program]);
    command
}

/// One second of silence as a WAV file.
pub fn wav() -> Vec<u8> {
    let samples = vec![0_u8; 16_000];
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + samples.len() as u32).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend([1_u16, 1].iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend([8000_u32, 16_000].iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend([2_u16, 16].iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(b"data");
    bytes.extend((samples.len() as u32).to_le_bytes());
    bytes.extend(samples);
    bytes
}
