//! Small movies, encoded at test time with encoders that every FFmpeg has. Frame `i` is flat grey of luma
//! [`luma_of`]`(i)`, so that a test can identify each frame.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;

use crate::track::Track;

/// The properties of a test movie.
#[derive(Clone)]
pub struct Movie {
    /// The video codec.
    pub codec: Id,
    /// The pixel format.
    pub format: Pixel,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// The time stamp of each frame in milliseconds; increasing.
    pub stamps_ms: Vec<i64>,
    /// Milliseconds added to every time stamp in the file.
    pub offset_ms: i64,
    /// The number of frames from one key frame to the next.
    pub gop: u32,
    /// The largest number of consecutive B-frames.
    pub b_frames: usize,
    /// The index of the first frame, which determines its grey.
    pub first: usize,
    /// The frame rate stated in the container, as a fraction.
    pub rate: (i32, i32),
    /// The pixel aspect ratio: width and height of a pixel.
    pub pixel_aspect: (i32, i32),
    /// True if the movie is marked as interlaced; MPEG-4 only.
    pub interlaced: bool,
    /// The start of each chapter in milliseconds and its title; a chapter ends where the next one starts.
    pub chapters: Vec<(i64, &'static str)>,
    /// True if an interlaced movie is marked as having its top field first.
    pub top_first: bool,
    /// The function that draws the frame with this index; by default flat grey of luma [`luma_of`].
    pub paint: fn(usize, &mut ffmpeg::frame::Video),
    /// The matrix and the transfer characteristics in the stream's tags (ITU-T H.273); `None` leaves them unset.
    pub tags: Option<(u32, u32)>,
    /// The primaries in the stream's tags (ITU-T H.273); `None` leaves them unset.
    pub primaries: Option<u32>,
    /// The profile and the base layer's compatibility in the stream's configuration record of Dolby Vision; `None` for no
    /// record.
    pub dolby_vision: Option<(u8, u8)>,
    /// The duration of the last frame in milliseconds, where the container stores it; `None` for the encoder's own value.
    pub last_ms: Option<i64>,
    /// The duration in milliseconds of an audio stream that plays [`tone`]; `None` for no such stream.
    pub sound_ms: Option<i64>,
    /// Further sound tracks, each with a tone.
    pub tracks: Vec<Track>,
    /// Start and duration of a subtitle in milliseconds; `None` for no subtitle.
    pub subtitle_ms: Option<(i64, i64)>,
}

impl Default for Movie {
    /// Returns 20 frames of 64×48 at 25 frames per second, MPEG-4.
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
            paint: |index, frame| {
                frame.data_mut(0).fill(luma_of(index));
                (1..frame.planes()).for_each(|plane| frame.data_mut(plane).fill(128));
            },
            tags: None,
            primaries: None,
            dolby_vision: None,
            last_ms: None,
            sound_ms: None,
            tracks: Vec::new(),
            subtitle_ms: None,
        }
    }
}

/// Returns the time stamps of `count` frames at 25 frames per second.
pub fn steady(count: usize) -> Vec<i64> {
    (0..count as i64).map(|i| i * 40).collect()
}

/// Returns the luma of frame `index`.
pub fn luma_of(index: usize) -> u8 {
    20 + (index % 50) as u8 * 4
}

/// Returns the index of the frame, among the first 50, that `picture` shows, by the luma of its middle pixel.
pub fn index_in(picture: &ffmpeg::frame::Video) -> usize {
    let middle = picture.stride(0) * (picture.height() as usize / 2) + picture.width() as usize / 2;
    (usize::from(picture.data(0)[middle]) - 18) / 4
}

impl Movie {
    /// Writes the movie; the file name extension selects the container.
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
        // 2: not known.
        let (matrix, transfer) = self.tags.unwrap_or((2, 2));
        // SAFETY: the context is valid. The fields are 32-bit enumerations, written as the C integers they are: files may contain
        // numbers that no enumeration has.
        unsafe {
            let context = encoder.as_mut_ptr();
            (&raw mut (*context).colorspace).cast::<u32>().write(matrix);
            (&raw mut (*context).color_trc).cast::<u32>().write(transfer);
            (&raw mut (*context).color_primaries).cast::<u32>().write(self.primaries.unwrap_or(2));
        }
        let mut options = ffmpeg::Dictionary::new();
        if self.codec == Id::MPEG4 {
            // Flat frames of different greys look like scene cuts, and every frame would become a key frame.
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
            // AVI has one frame rate and fills gaps with empty frames.
            let avi = path.extension().is_some_and(|ending| ending == "avi");
            stream.set_time_base(if avi { (1, 25) } else { (1, 1000) });
            stream.set_avg_frame_rate(self.rate);
            // SAFETY: the stream is valid; the ratio is a plain field.
            unsafe {
                (*stream.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational::from(self.pixel_aspect).into()
            };
            if let Some((profile, compatibility)) = self.dolby_vision {
                // Version 1.0, level 1, with metadata and a base layer.
                add_dolby_vision(&mut stream, [1, 0, profile, 1, 1, 0, 1, compatibility, 0]);
            }
        }
        let sound = self.sound_ms.map(|_| add_sound(&mut output));
        let tracks: Vec<_> = self.tracks.iter().map(|track| track.add(&mut output)).collect();
        let subtitle = self.subtitle_ms.map(|_| add_subtitle(&mut output));
        let ends = self.chapters.iter().skip(1).map(|(start, _)| *start).chain([i64::from(i32::MAX)]);
        for (id, ((start, title), end)) in self.chapters.iter().zip(ends).enumerate() {
            output.add_chapter(id as i64, (1, 1000), *start, end, title).expect("a chapter");
        }
        // The index of an MP4 goes to the front, so that a truncated file can still be opened.
        let mut options = ffmpeg::Dictionary::new();
        options.set("movflags", "faststart");
        if self.dolby_vision.is_some() {
            // FFmpeg's records are an extension.
            options.set("strict", "unofficial");
        }
        output.write_header_with(options).expect("the header is written");
        let time_base = output.stream(0).expect("the stream").time_base();

        if let (Some(stream), Some(length_ms)) = (sound, self.sound_ms) {
            // Packets of a tenth of a second.
            for start_ms in (0..length_ms).step_by(100) {
                let time = |sample: i32| start_ms as f64 / 1e3 + f64::from(sample) / f64::from(SOUND_RATE);
                let samples = (0..SOUND_RATE / 10).map(|sample| (16_384.0 * tone(time(sample))) as i16);
                let data: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
                write_packet(&mut output, stream, &data, (self.offset_ms + start_ms, 100));
            }
        }
        tracks.into_iter().for_each(|track| track.write(&mut output));
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
            set_fields(&mut frame, false, self.top_first);
            encoder.send_frame(&frame).expect("a frame is encoded");
            drain(&mut encoder);
        }
        encoder.send_eof().expect("the encoder ends");
        drain(&mut encoder);
        output.write_trailer().expect("the trailer is written");
    }
}

/// Returns the sample at `t` seconds of a tone that rises by [`TONE_RISE`], so that its frequency tells the time.
pub fn tone(t: f64) -> f64 {
    (std::f64::consts::TAU * (TONE_BASE * t + TONE_RISE / 2.0 * t * t)).sin()
}

/// The frequency of [`tone`] at its beginning, in hertz.
pub const TONE_BASE: f64 = 600.0;
/// Hertz by which the frequency of [`tone`] rises in a second.
pub const TONE_RISE: f64 = 200.0;

fn add_dolby_vision(stream: &mut ffmpeg::format::stream::StreamMut, record: [u8; 9]) {
    let kind = ffmpeg::ffi::AVPacketSideDataType::AV_PKT_DATA_DOVI_CONF;
    // SAFETY: the stream is valid, and FFmpeg owns the data, which have this length.
    unsafe {
        let stream = stream.as_mut_ptr();
        #[cfg(not(ffmpeg_8_0))]
        let data = ffmpeg::ffi::av_stream_new_side_data(stream, kind, record.len() as _);
        #[cfg(ffmpeg_8_0)]
        let data = {
            let parameters = &mut *(*stream).codecpar;
            let (all, count) = (&mut parameters.coded_side_data, &mut parameters.nb_coded_side_data);
            (*ffmpeg::ffi::av_packet_side_data_new(all, count, kind, record.len(), 0)).data
        };
        data.copy_from_nonoverlapping(record.as_ptr(), record.len());
    }
}

/// Sets whether a picture is marked as interlaced, and whether its top field is the first one.
pub fn set_fields(picture: &mut ffmpeg::frame::Video, interlaced: bool, top_first: bool) {
    // SAFETY: the frame is valid and owned; all are plain numbers.
    unsafe {
        let frame = &mut *picture.as_mut_ptr();
        #[cfg(not(ffmpeg_8_0))]
        {
            (frame.interlaced_frame, frame.top_field_first) = (interlaced.into(), top_first.into());
        }
        #[cfg(ffmpeg_8_0)]
        for (flag, is_set) in [
            (ffmpeg::ffi::AV_FRAME_FLAG_INTERLACED, interlaced),
            (ffmpeg::ffi::AV_FRAME_FLAG_TOP_FIELD_FIRST, top_first),
        ] {
            frame.flags = if is_set { frame.flags | flag } else { frame.flags & !flag };
        }
    }
}

/// The sample rate of the tone; FLV supports it too.
const SOUND_RATE: i32 = 11025;

/// Adds an audio stream of 16-bit samples; returns its index.
fn add_sound(output: &mut ffmpeg::format::context::Output) -> usize {
    let mut stream = output.add_stream(ffmpeg::encoder::find(Id::PCM_S16LE)).expect("a stream of sound");
    stream.set_time_base((1, SOUND_RATE));
    // SAFETY: the stream is valid and has parameters, which are plain fields; the layout is set for this channel count.
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

/// Adds a subtitle stream; returns its index.
fn add_subtitle(output: &mut ffmpeg::format::context::Output) -> usize {
    let mut stream = output.add_stream(ffmpeg::encoder::find(Id::SUBRIP)).expect("a stream of subtitles");
    stream.set_time_base((1, 1000));
    // SAFETY: the stream is valid and has parameters, which are plain fields.
    unsafe {
        let parameters = &mut *(*stream.as_mut_ptr()).codecpar;
        parameters.codec_type = ffmpeg::ffi::AVMediaType::AVMEDIA_TYPE_SUBTITLE;
        parameters.codec_id = Id::SUBRIP.into();
    }
    stream.index()
}

/// Writes a packet with its time stamp and duration in milliseconds.
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

/// Returns the MP4 with the elements a, b, c, d of its display matrix replaced. The matrix must have been the identity.
pub fn with_display_matrix(mut mp4: Vec<u8>, [a, b, c, d]: [i32; 4]) -> Vec<u8> {
    // The matrix lies in the track header, 40 bytes behind the version (ISO/IEC 14496-12, version 0).
    let at = mp4.windows(4).position(|w| w == b"tkhd").expect("a track header") + 4 + 40;
    assert_eq!(mp4[at..at + 4], (1i32 << 16).to_be_bytes(), "the matrix is where it is expected");
    for (i, number) in [a, b, 0, c, d, 0, 0, 0, 1 << 30].into_iter().enumerate() {
        mp4[at + 4 * i..][..4].copy_from_slice(&number.to_be_bytes());
    }
    mp4
}

/// A temporary folder for one test, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates an empty folder, whose name begins with `name`.
    ///
    /// # Panics
    /// Panics if it cannot be created.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("clreel-{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file with these bytes, creates its parent folders, and returns its path.
    pub fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the file's folder");
        std::fs::write(&path, bytes).expect("the file is written");
        path
    }

    /// Writes a movie under this name and returns its path.
    pub fn movie(&self, name: &str, movie: &Movie) -> PathBuf {
        let path = self.file(name);
        movie.write(&path);
        path
    }

    /// Creates a folder in this one, with all folders above it, and returns its path.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }
}

impl AsRef<OsStr> for Folder {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a command that runs `program` with a limit of some kilobytes for each file, as on a full disk.
pub fn with_full_disk(program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh", program]);
    command
}

/// Returns a command that runs `program` in `folder`, over which a disk of 64 KiB is mounted that only this program sees; `None`
/// if the system does not permit that.
pub fn on_small_disk(program: &str, folder: &Path) -> Option<Command> {
    let on_disk = |script: &str, program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).arg(folder).arg(program);
        command
    };
    let script = "mount -t tmpfs -o size=64k none \"$1\" && cd \"$1\" && shift && exec \"$@\"";
    if on_disk(script, "true").status().is_ok_and(|status| status.success()) {
        return Some(on_disk(script, program));
    }
    crate::programs::skip("mounting a disk in a namespace of its own is not permitted");
    None
}

/// Creates a named pipe.
pub fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success(), "{}", path.display());
}

/// Returns one second of silence as a WAV file.
pub fn wav() -> Vec<u8> {
    // PCM in one channel, 8,000 samples of 16 bits.
    let (rates, length) = ([8000_u32, 16_000].map(u32::to_le_bytes).concat(), 16_000_u32);
    let format = [b"WAVEfmt \x10\0\0\0\x01\0\x01\0".as_slice(), &rates, b"\x02\0\x10\0data"].concat();
    let header = [b"RIFF".as_slice(), &(36 + length).to_le_bytes(), &format, &length.to_le_bytes()];
    [header.concat(), vec![0; length as usize]].concat()
}
