//! Properties that a file states about itself: its frame rate, duration and format.

use ffmpeg_next::codec::Id;
use ffmpeg_next::ffi;
use ffmpeg_next::format::context::Input;

use super::{Container, to_nanoseconds};
use crate::SECOND_NS;
use crate::declared_size::movie_header_ns;
use crate::frame::{seconds, usable_rate};

/// The duration that a file states in its metadata, by which files that are cut off are recognised.
pub(crate) struct DeclaredDuration {
    /// The time in seconds at which, according to the file's metadata, the video stream ends, or the whole file if the end of
    /// the video stream is not stated.
    pub end_s: f64,
    /// The difference in seconds between `end_s` and the end that is found by reading, up to which the file counts as complete.
    pub tolerance_s: f64,
    /// True if `end_s` is the end of the video stream, false if it is the end of the whole file.
    pub of_pictures: bool,
}

impl Container {
    /// Returns true if time stamps may jump in files of this format, also in undamaged ones.
    pub(crate) fn allows_jumps(&self) -> bool {
        // SAFETY: the context is valid, and an opened input has a format.
        unsafe { (*(*self.input.as_ptr()).iformat).flags & ffi::AVFMT_TS_DISCONT != 0 }
    }

    /// Returns true for a single image in a format whose resolution in dots per inch FFmpeg mistakes for the pixel aspect
    /// ratio. DPX and OpenEXR are not such formats, because they do state the aspect ratio.
    pub(crate) fn is_still_image(&self, codec: Id) -> bool {
        let input = self.input.format();
        let mut names = input.name().split(',');
        let is_image = names.any(|name| ["image2", "apng"].contains(&name) || name.ends_with("_pipe"));
        is_image && !matches!(codec, Id::DPX | Id::EXR)
    }

    /// Returns the frames per second that the file states; `None` if it states none, or an implausible rate.
    pub(crate) fn fps(&self) -> Option<f64> {
        let video = self.played()?;
        usable_rate(video.avg_frame_rate()).or(usable_rate(video.rate()))
    }

    /// Returns the duration of the movie as the file states it, in nanoseconds; `None` if it states none. `origin_ns` is the
    /// time stamp of the movie's beginning.
    pub(crate) fn stated_duration_ns(&self, origin_ns: i64) -> Option<i64> {
        self.stated_end_ns()
            .map(|end_ns| end_ns.saturating_sub(origin_ns))
            .filter(|duration_ns| *duration_ns > 0)
    }

    /// Returns the time stamp in nanoseconds at which, according to the file, pictures and sound have ended; `None` if the file
    /// states no end.
    ///
    /// This is the end of the whole file, because the durations of single streams may be wrong, such as those of an MP4 with a
    /// variable frame rate. If another stream, such as subtitles, ends there, the end of the played streams is returned
    /// instead.
    fn stated_end_ns(&self) -> Option<i64> {
        let (mut played_ns, mut others_ns) = (None, None);
        for stream in self.input.streams().filter(|stream| stream.duration() > 0) {
            let start = if stream.start_time() == ffi::AV_NOPTS_VALUE { 0 } else { stream.start_time() };
            let end = start.saturating_add(stream.duration());
            let end_ns = Some(to_nanoseconds(end, stream.time_base().into()));
            let latest = if self.plays(stream.index()) { &mut played_ns } else { &mut others_ns };
            *latest = end_ns.max(*latest);
        }
        let duration = self.input.duration();
        if duration <= 0 {
            return played_ns;
        }
        // SAFETY: the context is valid; the field is a plain number.
        let start = unsafe { (*self.input.as_ptr()).start_time };
        let states_end = states_end(&self.input);
        let start = if start == ffi::AV_NOPTS_VALUE || states_end { 0 } else { start };
        let unit = ffi::AVRational { num: 1, den: ffi::AV_TIME_BASE };
        let file_ns = to_nanoseconds(start.saturating_add(duration), unit);
        // A fragmented MP4 states the sum of its fragments. FFmpeg 9 does not report the movie header of an MP4, but the duration
        // of the longest track, which may end before its last picture is shown.
        let is_mov = self.input.format().name().split(',').any(|name| name == "mov");
        let header_ns = is_mov.then(|| movie_header_ns(&self.access.file)).flatten();
        let stated = [played_ns, header_ns].into_iter().flatten().filter(|_| states_end);
        let file_ns = stated.fold(file_ns, i64::max);
        let is_of_others = others_ns.is_some_and(|end_ns| end_ns.saturating_add(SECOND_NS / 10) >= file_ns);
        Some(played_ns.filter(|_| is_of_others && self.stream_duration_s().is_some()).unwrap_or(file_ns))
    }

    /// Returns the time stamp in nanoseconds at which the sound begins, as the file states it; `None` without sound, or if the
    /// file states none.
    pub(crate) fn stated_sound_start_ns(&self) -> Option<i64> {
        let stream = self.input.stream(self.sound?)?;
        let start = Some(stream.start_time()).filter(|start| *start != ffi::AV_NOPTS_VALUE)?;
        // SAFETY: a stream has parameters; the fields are plain numbers.
        let (padding, rate) = unsafe {
            let parameters = &*stream.parameters().as_ptr();
            (parameters.initial_padding.max(0), parameters.sample_rate)
        };
        let padding_ns = to_nanoseconds(padding.into(), ffi::AVRational { num: 1, den: rate });
        Some(to_nanoseconds(start, stream.time_base().into()).saturating_add(padding_ns))
    }

    /// Returns the duration that the file states; `None` if FFmpeg only estimates it.
    pub(crate) fn declared_duration(&self) -> Option<DeclaredDuration> {
        let is_of_stream = self.states_duration && self.states_each_duration();
        if let Some(end_s) = self.stream_duration_s().filter(|_| is_of_stream) {
            return Some(DeclaredDuration { end_s, tolerance_s: 0.5 + 0.02 * end_s, of_pictures: true });
        }
        if !is_duration_of_header(&self.input) {
            return None;
        }
        let duration = Some(self.input.duration()).filter(|duration| *duration > 0)?;
        let end_s = duration as f64 / f64::from(ffi::AV_TIME_BASE);
        Some(DeclaredDuration { end_s, tolerance_s: 0.5 + 0.05 * end_s, of_pictures: false })
    }

    /// Returns true if the container states the duration of each stream, not only of the whole file. ASF files do not
    /// count: they state the duration of the whole file for each stream.
    pub(crate) fn states_each_duration(&self) -> bool {
        let is_asf = self.input.format().name().starts_with("asf");
        let is_of_file = !self.states_duration && is_duration_of_header(&self.input);
        !is_asf && !is_of_file && self.stream_duration_s().is_some()
    }

    /// Returns the duration of the video stream in seconds; `None` if the file does not state it.
    fn stream_duration_s(&self) -> Option<f64> {
        let duration = self.played()?.duration();
        (duration > 0).then(|| seconds(self.nanoseconds(duration)))
    }
}

/// Returns true if the stated duration of the file is the time stamp of its end, wherever the first picture is. This is so
/// by definition in MP4, QuickTime and NUT. Writers of Matroska differ; FFmpeg's writer states the end.
fn states_end(input: &Input) -> bool {
    let format = input.format();
    let is = |name| format.name().split(',').any(|part| part == name);
    let by_ffmpeg = input.metadata().get("encoder").is_some_and(|writer| writer.starts_with("Lavf"));
    is("mov") || is("nut") || (is("matroska") && by_ffmpeg)
}

/// Returns true if the duration comes from the file's metadata; false if FFmpeg estimates it.
fn is_duration_of_header(input: &Input) -> bool {
    // SAFETY: the context is valid; the field is a plain number.
    let method = unsafe { (*input.as_ptr()).duration_estimation_method };
    method == ffi::AVDurationEstimationMethod::AVFMT_DURATION_FROM_STREAM
}
