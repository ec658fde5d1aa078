//! One frame's commands on the OpenCL device around its filter: enqueued by the [`Pipeline`](super::Pipeline), looked
//! at here, and told as times and spans.

use std::time::Instant;

use super::Stages;
use super::bands::Took;
use super::scopes::{Measured, Wanted};
use crate::stats::{Lane, Span, Stage};
use base::error::{Error, Result};
use opencl::cl::{Buffer, Event};
use opencl::event::is_complete;
use opencl::memory::Picture;
use opencl::timer::{self, DeviceClock};
use video::color::{Correction, Layout, RgbaColors};

/// What is done to the colours of a frame before the filter, or after one on planes, and where.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Colors {
    /// The slot's planes.
    Convert { correction: Correction, to: Picture },
    /// Planes that were filtered, in this block.
    ConvertFiltered { correction: Correction, layout: Layout, from: Picture, to: Picture },
    /// The slot's picture.
    Correct { correction: Correction, rgba: RgbaColors, from: Picture, to: Picture },
}

/// The commands of one frame around its filter.
#[derive(Default)]
pub(super) struct DeviceJob {
    pub(super) colors: Option<Colors>,
    /// The unfiltered picture, and the image into which it is copied for a filter that reads such.
    pub(super) to_image: Option<(Picture, Picture)>,
    /// The filtered buffer that is to be copied into the texture, on the device.
    pub(super) to_copy: Option<Picture>,
    pub(super) to_texture: bool,
    /// A picture that nothing filters or converts, and where it is to be copied to be measured.
    pub(super) unfiltered: Option<(Buffer, Buffer)>,
    /// What is to be measured after the filter, of which picture, and where auto-levels write.
    pub(super) wanted: Option<(Wanted, Picture, Picture)>,
    pub(super) measured: Option<Measured>,
    pub(super) upload: Option<Event>,
    /// The upload is over, and need not be asked about any more.
    pub(super) is_uploaded: bool,
    pub(super) acquire: Option<Event>,
    pub(super) converted: Option<Event>,
    pub(super) in_image: Option<Event>,
    /// Copies of the picture to where it goes.
    pub(super) copied: Vec<Event>,
    /// The last command: when it is complete, all are.
    pub(super) last: Option<Event>,
    /// The command that was enqueued in the shortest time, and before and after that.
    pub(super) noted: Option<(Event, Instant, Instant)>,
    /// Before its first command.
    pub(super) began: Option<Instant>,
    /// What the host did, and since when.
    pub(super) waited: Vec<Span>,
}

impl DeviceJob {
    /// Whether all of its commands are in the queue.
    pub(super) fn is_all_enqueued(&self) -> bool {
        self.last.is_some()
    }

    /// Whether its picture is in the slot's texture when it is done.
    pub(super) fn fills_texture(&self) -> bool {
        self.to_texture
    }

    /// Notes that a command has been enqueued since `before`: the shorter that took, the better the device's clock can be
    /// told from it.
    pub(super) fn enqueued(&mut self, event: &Event, before: Instant) {
        let after = Instant::now();
        let shortest = self.noted.as_ref().map(|(_, before, after)| after.duration_since(*before));
        if shortest.is_none_or(|shortest| after.duration_since(before) < shortest) {
            self.noted = Some((event.clone(), before, after));
        }
    }

    /// Notes what the host has done for a stage since `began`.
    pub(super) fn host_did(&mut self, stage: Stage, began: Instant) {
        self.waited.push(Span::since(stage, began));
    }

    fn stage_of_colors(&self) -> Stage {
        if matches!(self.colors, Some(Colors::Correct { .. })) { Stage::Correct } else { Stage::Convert }
    }

    /// Looks at the upload until that is over: on a queue of its own its failure is not the other commands' with every
    /// driver.
    ///
    /// # Errors
    /// When it failed.
    pub(super) fn look_at_upload(&mut self) -> Result<()> {
        if let Some(upload) = self.upload.as_ref().filter(|_| !self.is_uploaded) {
            self.is_uploaded = is_complete(upload, UPLOAD_FAILED)?;
        }
        Ok(())
    }

    /// Whether all commands are over. Never waits.
    ///
    /// # Errors
    /// When one failed.
    pub(super) fn is_over(&self) -> Result<bool> {
        self.last.as_ref().map_or(Ok(false), |last| is_complete(last, RETURN_FAILED))
    }

    /// The first of its commands that failed, where the filter between them failed with `of_filter`, or did not.
    pub(super) fn first_failure(&self, of_filter: Option<&Error>) -> Option<Error> {
        let converts_last = matches!(self.colors, Some(Colors::ConvertFiltered { .. }));
        let colors = match self.stage_of_colors() {
            Stage::Correct => "The correction of a frame's colours failed on the device.",
            _ => "The conversion of a frame failed on the device.",
        };
        let failed = |event: &Option<Event>, what| is_complete(event.as_ref()?, what).err();
        let of_colors = || failed(&self.converted, colors);
        failed(&self.upload, UPLOAD_FAILED)
            .or_else(|| failed(&self.acquire, "A texture could not be handed over to OpenCL."))
            .or_else(|| if converts_last { None } else { of_colors() })
            .or_else(|| failed(&self.in_image, "A frame could not be copied on the device."))
            .or_else(|| of_filter.cloned())
            .or_else(of_colors)
            .or_else(|| self.measured.as_ref().and_then(Measured::failure))
            .or_else(|| self.copied.iter().find_map(|event| is_complete(event, COPY_FAILED).err()))
            .or_else(|| failed(&self.last, RETURN_FAILED))
    }

    /// Tells what the steps of a job that is over took, each driver's event asked once, and when they ran, by the device's
    /// `clock`, each band by itself; `took` is the filter's share, `split` how the time of a conversion and the correction in it falls apart.
    pub(super) fn tell(
        &mut self,
        stages: &mut Stages,
        uploads: Lane,
        clock: &mut DeviceClock,
        took: Took,
        split: impl FnOnce(&Colors, f64) -> (f64, f64),
    ) {
        let colors = self.stage_of_colors();
        let steps = [
            (Stage::Upload, uploads, &self.upload),
            (Stage::Acquire, Lane::Device, &self.acquire),
            (colors, Lane::Device, &self.converted),
            (Stage::Upload, Lane::Device, &self.in_image),
            (Stage::Release, Lane::Device, &self.last),
        ];
        let mut ran = Vec::with_capacity(steps.len() + 1);
        let within = self.began.map(|began| began.elapsed());
        let measured = self.measured.iter().flat_map(|measured| {
            let of = |stage, events| std::iter::repeat((stage, Lane::Device)).zip(events);
            of(Stage::Reduce, &measured.reduce).chain(of(Stage::Levels, &measured.levels))
        });
        let steps = steps.into_iter().filter_map(|(stage, lane, event)| Some((stage, lane, event.as_ref()?)));
        let copied = self.copied.iter().map(|event| (Stage::Release, Lane::Device, event));
        let measured = measured.map(|((stage, lane), event)| (stage, lane, event));
        for (stage, lane, event) in steps.chain(copied).chain(measured) {
            let told = timer::known_span_ns(event, within);
            // A sum with a part that is not known is not known.
            stages.times[stage as usize] += told.map_or(f64::NAN, timer::ms);
            ran.extend(told.map(|told| (stage, lane, told)));
        }
        if let (Some(colors @ (Colors::Convert { .. } | Colors::ConvertFiltered { .. })), Some(_)) =
            (&self.colors, &self.converted)
        {
            let [convert, correct] = [Stage::Convert, Stage::Correct].map(|stage| stage as usize);
            (stages.times[convert], stages.times[correct]) = split(colors, stages.times[convert]);
            // One kernel does both: what the correction takes longer stands at its end.
            let correct_ns = (stages.times[correct] * 1e6) as u64;
            let converted = ran.iter().find(|(stage, ..)| *stage == Stage::Convert).map(|(.., told)| *told);
            if let Some((from, to)) = converted.filter(|_| correct_ns > 0) {
                ran.push((Stage::Correct, Lane::Device, (to.saturating_sub(correct_ns).max(from), to)));
            }
        }
        stages.times[Stage::Filter as usize] += took.ms;
        ran.extend(took.on_device.into_iter().map(|told| (Stage::Filter, Lane::Device, told)));
        for span in &self.waited {
            stages.times[span.stage as usize] += span.ms();
        }
        stages.spans.append(&mut self.waited);
        let Some((event, before, after)) = &self.noted else { return };
        if clock.look(event, *before, *after).is_err() {
            return;
        }
        stages.spans.extend(ran.into_iter().filter_map(|(stage, lane, (from, to))| {
            Some(Span { stage, lane, from: clock.instant(from)?, to: clock.instant(to)? })
        }));
    }
}

const UPLOAD_FAILED: &str = "A frame could not be brought to the device.";
const COPY_FAILED: &str = "A frame could not be copied to where it is shown.";
const RETURN_FAILED: &str = "A filtered frame could not be had back from the device.";
