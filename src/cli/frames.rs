//! Frames through the engine, for those who wait for them. In: an engine, a frame, what is asked of it. Out: the slot with the
//! picture, and what its stages took.

use std::sync::Arc;

use crate::engine::{Engine, Finished, Outcome, Request, Slot, Stages};
use crate::error::{Error, Result};
use crate::gpu::event::Waker;
use crate::media::Frame;

/// Here nobody sleeps until the engine wakes him.
pub(super) fn nobody() -> Waker {
    Arc::new(|| {})
}

/// The slot with the frame as it was asked for, and what that took.
///
/// # Errors
/// When it cannot be had so.
pub(super) fn ask(
    engine: &mut Engine,
    frame: &Frame,
    request: Request,
    slot: Slot,
) -> Result<(Slot, Stages)> {
    engine.submit(frame, request, slot).map_err(|(_, refusal)| refusal.into_error())?;
    match engine.wait()? {
        Some(Finished { outcome: Outcome::Done, slot: Some(slot), stages, .. }) => Ok((slot, stages)),
        Some(Finished { outcome: Outcome::Failed(error), .. }) => Err(error),
        _ => Err(Error::new("The frame was not filtered.", "", "Choose another variant.")),
    }
}

/// The pixels of a frame that was asked for into memory.
///
/// # Errors
/// When there are not so many bytes of them.
pub(super) fn pixels(slot: &Slot, bytes: usize) -> Result<&[u8]> {
    let missing =
        || Error::new("The frame was not filtered.", "It has no pixels.", "Choose another variant.");
    slot.pixels().filter(|pixels| pixels.len() == bytes).ok_or_else(missing)
}
