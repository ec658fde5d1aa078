//! One frame asked for twice: its second filter reads what was brought and converted for the first. In: a first request, which
//! keeps the unfiltered picture, and the one after it for the same frame. Out: that one's commands, without upload and conversion
//! of its own.
//!
//! The unfiltered picture is kept where it is: in the device's memory, where that converted or corrected it or had it uploaded,
//! or in the host's. It is safe there: on the device both filters are in one in-order queue, and the next frame's commands come
//! after theirs; the host's memory, from which an upload may still come, is not written while another slot has it.

use std::sync::Arc;

use super::load::Prepared;
use super::slot::Loaded;
use super::{Engine, Refusal, Request, Slot, Stages, Ticket};
use box_filter::VariantId;
use opencl::host_block::HostBlock;
use opencl::memory::Picture;
use video::Frame;
use video::color::{Correction, RgbaColors};

/// How a request stands to another one for the same frame.
pub(super) enum Share {
    /// There is no other one.
    Alone,
    /// The other one comes after it.
    First,
    /// It comes after the one that has kept this.
    Beside(FirstRequest),
}

/// What is kept of a first request.
pub(super) struct FirstRequest {
    ticket: Ticket,
    correction: Option<Correction>,
    colors: RgbaColors,
    /// The picture on the device, corrected.
    pub(super) on_device: Option<Picture>,
    /// The picture in the host's memory, and whether it is corrected there.
    on_host: Option<(Arc<HostBlock>, bool)>,
}

impl Share {
    /// For which variant a frame is converted on the device, and whether into its texture: what is read twice is a buffer.
    pub(super) fn conversion(&self, variant: VariantId, to_texture: bool) -> (VariantId, bool) {
        match self {
            Share::First => read_twice(variant, to_texture),
            _ => (variant, to_texture),
        }
    }
}

fn read_twice(variant: VariantId, to_texture: bool) -> (VariantId, bool) {
    if variant.reads_planes() { (variant, to_texture) } else { (VariantId::Off, false) }
}

impl Engine {
    /// As [`Engine::submit`], for a frame that is asked for twice: the request after it is for [`Engine::submit_beside`].
    ///
    /// # Errors
    /// As [`Engine::submit`].
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    pub fn submit_first(
        &mut self,
        frame: &Frame,
        request: Request,
        slot: Slot,
    ) -> std::result::Result<Ticket, (Slot, Refusal)> {
        self.submit_as(Share::First, frame, request, slot)
    }

    /// Asks once more for the frame of `first`, the request before. Where both filters read the same unfiltered picture, it is
    /// uploaded and converted once. (Not what reads planes.) Where `first` is cancelled before it has begun, this is, too.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    pub fn submit_beside(
        &mut self,
        first: Ticket,
        frame: &Frame,
        request: Request,
        slot: Slot,
    ) -> std::result::Result<Ticket, (Slot, Refusal)> {
        let kept = self.kept.take().filter(|kept| kept.ticket == first);
        let share =
            kept.filter(|kept| kept.correction == request.correction).map_or(Share::Alone, Share::Beside);
        self.submit_as(share, frame, request, slot)
    }

    /// What is to be started for a frame, and the request whose unfiltered picture that reads, if it is another one's.
    pub(super) fn make_job(
        &mut self,
        share: Share,
        frame: &Frame,
        request: &Request,
        slot: &mut Slot,
        stages: &mut Stages,
    ) -> Result<(Prepared, Option<Ticket>), Refusal> {
        // Before the host's memory is written anew.
        self.kept = None;
        if let Share::Beside(kept) = &share
            && let Some(prepared) = self.prepare_beside(&share, kept, frame, request, slot, stages)?
        {
            return Ok((prepared, Some(kept.ticket)));
        }
        let share = if matches!(share, Share::First) { share } else { Share::Alone };
        let colors = self.load(frame, request, slot, stages, &share)?;
        let prepared = self.prepare(request, slot, colors, stages, &share)?;
        if matches!(share, Share::First) {
            let is_rgba = slot.loaded() == Loaded::Rgba;
            let corrected = request.correction.is_some() && !self.corrects_on_device(request.variant);
            let on_host = if is_rgba { Some((slot.lend_input()?, corrected)) } else { None };
            let (ticket, correction) = (Ticket(self.next), request.correction);
            self.kept = Some(FirstRequest {
                ticket,
                correction,
                colors,
                on_device: prepared.unfiltered.clone(),
                on_host,
            });
        }
        Ok((prepared, None))
    }

    /// Prepares a request with what is kept of the one before; `None` where that is of no use to it.
    fn prepare_beside(
        &mut self,
        share: &Share,
        kept: &FirstRequest,
        frame: &Frame,
        request: &Request,
        slot: &mut Slot,
        stages: &mut Stages,
    ) -> Result<Option<Prepared>, Refusal> {
        let Request { variant, correction, .. } = *request;
        if variant.reads_planes() {
            return Ok(None);
        }
        // As it is in the host's memory nothing needs to be done to it there without a filter.
        let is_at_hand = |(_, corrected): &(Arc<HostBlock>, bool)| {
            variant == VariantId::Off && !request.measures() && (*corrected || correction.is_none())
        };
        let at_hand = kept.on_host.as_ref().is_some_and(is_at_hand);
        if let (true, false, Some(pipeline)) = (self.is_for_device(request), at_hand, &mut self.pipeline)
            && kept.on_device.is_some()
        {
            if let Some((block, _)) = &kept.on_host {
                slot.borrow_input(block.clone())?;
            }
            slot.load_nothing();
            return pipeline.prepare(slot, request, None, kept.colors, share).map(Some);
        }
        let Some((block, corrected)) = &kept.on_host else { return Ok(None) };
        if correction.is_some() && !corrected && !self.corrects_on_device(variant)
            || !at_hand && self.uploads_planes(frame, request, slot.texture().is_some())
        {
            return Ok(None);
        }
        slot.borrow_input(block.clone())?;
        let request = Request { correction: correction.filter(|_| !corrected), ..*request };
        self.prepare(&request, slot, kept.colors, stages, &Share::Alone).map(Some)
    }

    /// Whether the device, and not the host, corrects RGBA pictures for this variant.
    fn corrects_on_device(&self, variant: VariantId) -> bool {
        let pipeline = self.pipeline.as_ref().filter(|_| !variant.back_end().does_without_opencl());
        pipeline.is_some_and(|pipeline| pipeline.corrects())
    }

    /// Whether the frame would go to the device as planes, which are less than its RGBA picture.
    fn uploads_planes(&mut self, frame: &Frame, request: &Request, to_texture: bool) -> bool {
        let only_checked = self.only_checked;
        let is_for_device = self.is_for_device(request);
        let pipeline = self.pipeline.as_mut().filter(|_| is_for_device);
        pipeline.is_some_and(|pipeline| {
            pipeline.conversion(&frame.picture, request.variant, to_texture, only_checked).is_some()
        })
    }

    /// Cancels a frame that has not begun, with what would read its unfiltered picture.
    pub(super) fn cancel_unstarted(&mut self, ticket: Ticket) {
        self.kept.take_if(|kept| kept.ticket == ticket);
        let of_it = |job: &&mut super::job::Job| job.ticket == ticket || job.beside == Some(ticket);
        self.jobs
            .iter_mut()
            .filter(of_it)
            .filter(|job| job.started.is_none())
            .for_each(|job| job.cancelled = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Side};
    use video::Canvas;

    #[test]
    fn what_nothing_is_done_to_waits_for_no_thread() {
        let mut engine = Engine::new(Arc::new(|| {}));
        let frame = Canvas::new(4, 2).to_frame().unwrap();
        let mut ask = |variant| {
            let request = Request { variant, radius: 1, correction: None, readings: false, levels: false };
            engine.be_on(Side::Both);
            engine.submit(&frame, request, Slot::in_memory(4, 2)).map_err(|(_, e)| e.into_error()).unwrap();
            engine.be_on(Side::Device);
            let on_device_thread = engine.poll().map(|finished| finished.outcome);
            engine.be_on(Side::Window);
            (on_device_thread, engine.wait().unwrap().map(|finished| finished.outcome))
        };
        assert!(matches!(ask(VariantId::Off), (Some(Outcome::Done), None)));
        assert!(matches!(ask(VariantId::Native), (None, Some(Outcome::Done))), "it is the window's");
    }
}
