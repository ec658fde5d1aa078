//! The OpenCL commands of one frame around its filter. The [`Pipeline`](super::Pipeline) enqueues them; this module polls them and reports
//! their times and spans.

use std::time::Instant;

use super::request::FilterTimes;
use super::scopes::{MeasurementPlan, QueuedMeasurements};
use super::speed_model::ConversionTime;
use base::error::{Error, Result};
use box_filter::color_kernels::{ConvertCommand, CorrectCommand};
use opencl::cl::{Buffer, Event};
use opencl::event::is_complete;
use opencl::memory::Picture;
use opencl::timer::{self, DeviceClock};
use stats::{Lane, Span, Stage, Stages};

/// The colour conversion or correction of a picture.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Colors {
    /// Converts planes.
    Convert(ConvertCommand),
    /// Corrects an RGBA picture.
    Correct(CorrectCommand),
}

/// The state for interpreting the times of a device's commands: the relation of its clock to the host's, and the measured time
/// of conversions.
pub(super) struct DeviceTimes {
    pub clock: DeviceClock,
    /// The command queue to which spans of uploads are attributed.
    pub uploads: Lane,
    pub conversion: ConversionTime,
}

/// The OpenCL commands of one frame around its filter.
#[derive(Default)]
pub(super) struct DeviceJob {
    pub colors: Option<Colors>,
    /// True if `colors` is done after the filter, which works on planes.
    pub colors_last: bool,
    /// The conversions or corrections of the pictures of earlier frames, in the order of the slot; none if they need none.
    pub earlier_colors: Vec<Colors>,
    /// The filtered buffer that is to be copied into the slot's texture on the device.
    pub to_copy: Option<Picture>,
    /// True if the finished picture is in the slot's texture.
    pub to_texture: bool,
    /// True if the filter was cancelled, so that the picture is neither converted nor measured.
    pub is_cancelled: bool,
    /// For a picture that is neither filtered nor converted: its buffer, and the buffer to copy it to so that it can be measured.
    pub unfiltered: Option<(Buffer, Buffer)>,
    /// The measurements to make after the filter, the picture to measure, and the picture that auto-levels write.
    pub wanted: Option<(MeasurementPlan, Picture, Picture)>,
    pub measured: Option<QueuedMeasurements>,
    /// The upload of each picture.
    pub uploads: Vec<Event>,
    /// True if the uploads are known to be complete, so that their events need not be polled again.
    pub is_uploaded: bool,
    pub acquire: Option<Event>,
    /// The conversion or correction of each picture.
    pub converted: Vec<Event>,
    /// Copies of the picture into the slot's texture, or into the buffer in which it is measured.
    pub copied: Vec<Event>,
    /// The last command of the frame. When it is complete, all commands of the frame are.
    pub last: Option<Event>,
    /// The command that was enqueued in the shortest time, with the host's times before and after the call. It relates the device's clock
    /// to the host's.
    pub clock_sample: Option<(Event, Instant, Instant)>,
    /// When the first command of the frame was about to be enqueued.
    pub began: Option<Instant>,
    /// The intervals in which the host worked for this frame.
    pub host_spans: Vec<Span>,
}

impl DeviceJob {
    /// Records the host's times around the call that enqueued `event`; the call began at `before`. Only the shortest such call
    /// is kept, because it relates the device's clock to the host's most precisely.
    pub(super) fn note_enqueue_time(&mut self, event: &Event, before: Instant) {
        let after = Instant::now();
        let shortest = self.clock_sample.as_ref().map(|(_, before, after)| after.duration_since(*before));
        if shortest.is_none_or(|shortest| after.duration_since(before) < shortest) {
            self.clock_sample = Some((event.clone(), before, after));
        }
    }

    /// Returns the stage to which the time of the colour command is added: the correction or the conversion.
    fn color_stage(&self) -> Stage {
        if matches!(self.colors, Some(Colors::Correct(_))) { Stage::Correct } else { Stage::Convert }
    }

    /// Returns true if all commands of the frame are complete. Never waits.
    ///
    /// # Errors
    /// If a command failed.
    pub(super) fn is_over(&self) -> Result<bool> {
        self.last.as_ref().map_or(Ok(false), |last| is_complete(last, RETURN_FAILED))
    }

    /// Returns the error of the first command of this frame that failed; `None` if none has failed. `of_filter` is the error of
    /// the filter, if that has failed. The filter comes after the conversion, or before it if the filter works on planes.
    pub(super) fn first_failure(&self, of_filter: Option<&Error>) -> Option<Error> {
        let colors = match self.color_stage() {
            Stage::Correct => "The correction of a frame's colours failed on the device.",
            _ => "The conversion of a frame failed on the device.",
        };
        let failed = |events: &[Event], what| events.iter().find_map(|event| is_complete(event, what).err());
        let of_colors = || failed(&self.converted, colors);
        failed(&self.uploads, UPLOAD_FAILED)
            .or_else(|| failed(self.acquire.as_slice(), "A texture could not be handed over to OpenCL."))
            .or_else(|| if self.colors_last { None } else { of_colors() })
            .or_else(|| of_filter.cloned())
            .or_else(of_colors)
            .or_else(|| self.measured.as_ref().and_then(QueuedMeasurements::failure))
            .or_else(|| failed(&self.copied, COPY_FAILED))
            .or_else(|| failed(self.last.as_slice(), RETURN_FAILED))
    }

    /// Adds the times and spans of a finished frame to `stages`; call it once for each frame. `took` has the filter's times.
    pub(super) fn report_times(
        &mut self,
        stages: &mut Stages,
        took: FilterTimes,
        DeviceTimes { clock, uploads, conversion }: &mut DeviceTimes,
    ) {
        let colors = self.color_stage();
        let measured = self.measured.as_ref();
        let commands: [(Stage, &[Event]); 7] = [
            (Stage::Upload, &self.uploads),
            (Stage::Acquire, self.acquire.as_slice()),
            (colors, &self.converted),
            (Stage::Release, self.last.as_slice()),
            (Stage::Release, &self.copied),
            (Stage::Reduce, measured.map_or(&[], |measured| &measured.reduce)),
            (Stage::Levels, measured.map_or(&[], |measured| &measured.levels)),
        ];
        let mut ran = Vec::with_capacity(commands.len());
        let within = self.began.map(|began| began.elapsed());
        for (stage, events) in commands {
            let lane = if stage == Stage::Upload { *uploads } else { Lane::Device };
            for event in events {
                let span_ns = clock.span_ns(event, within);
                // A sum is unknown if one of its parts is.
                stages.times[stage as usize] += span_ns.map_or(f64::NAN, timer::ms);
                ran.extend(span_ns.map(|span_ns| (stage, lane, span_ns)));
            }
        }
        if let (Some(Colors::Convert(command)), true) = (&self.colors, !self.converted.is_empty()) {
            let [convert, correct] = [Stage::Convert, Stage::Correct].map(|stage| stage as usize);
            let pictures = self.converted.len() as f64;
            let (convert_ms, correct_ms) =
                conversion.split(command.conversion(), stages.times[convert] / pictures, &command.correction);
            (stages.times[convert], stages.times[correct]) = (convert_ms * pictures, correct_ms * pictures);
            let correct_ns = (stages.times[correct] * 1e6) as u64;
            let converted =
                ran.iter().find(|(stage, ..)| *stage == Stage::Convert).map(|(.., span_ns)| *span_ns);
            if let Some((from, to)) = converted.filter(|_| correct_ns > 0) {
                ran.push((Stage::Correct, Lane::Device, (to.saturating_sub(correct_ns).max(from), to)));
            }
        }
        stages.times[Stage::Filter as usize] += took.ms;
        stages.times[Stage::Stack as usize] += took.stack_ms;
        stages.layer_ms = took.layer_ms;
        stages.filter_by_wall |= took.by_wall;
        stages.work = took.work;
        stages.spans.extend(took.on_host);
        for (stage, spans) in [(Stage::Filter, took.on_device), (Stage::Stack, took.stack_on_device)] {
            ran.extend(spans.into_iter().map(|span_ns| (stage, Lane::Device, span_ns)));
        }
        stages.add_spans(std::mem::take(&mut self.host_spans));
        let Some((event, before, after)) = &self.clock_sample else { return };
        if clock.adjust(event, *before, *after).is_err() {
            return;
        }
        stages.spans.extend(ran.into_iter().filter_map(|(stage, lane, (from, to))| {
            Some(Span { stage, lane, from: clock.instant(from)?, to: clock.instant(to)? })
        }));
    }
}

/// The first sentence of the error when the upload of a frame fails.
pub(super) const UPLOAD_FAILED: &str = "A frame could not be brought to the device.";
/// The first sentence of the error when the copy of the finished picture into its texture or buffer fails.
const COPY_FAILED: &str = "A frame could not be copied to where it is shown.";
/// The first sentence of the error when the finished picture does not return to the host.
const RETURN_FAILED: &str = "A filtered frame could not be had back from the device.";
