//! Blocking use of the engine, for `snapshot` and `bench`: submits a frame and waits for its filtered picture.

use std::sync::Arc;

use indicatif::ProgressBar;

use crate::cli::live::progress_bar;
use base::error::{Error, Result};
use base::memory::picture_memory;
use compute::BackEnd;
use engine::glsl;
use engine::{Engine, Finished, Outcome, Progress, Slot};
use opencl::event::Waker;
use opencl::watch;
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use stats::{Request, Stages};
use video::Frame;

/// Returns a waker that does nothing: callers of this module block instead of sleeping in an event loop.
pub(super) fn no_waker() -> Waker {
    Arc::new(|| {})
}

/// Waits until the next of the submitted frames is filtered; calls `on_progress` while it waits. Returns the slot (the memory or
/// texture for one picture) with the picture, and the times of the stages.
///
/// # Errors
/// If the frame fails.
pub(super) fn wait_for_next(
    engine: &mut Engine,
    on_progress: impl FnMut(Progress),
) -> Result<(Slot, Stages)> {
    match engine.wait_with_progress(on_progress)? {
        Some(Finished { outcome: Outcome::Done, slot, stages, .. }) => Ok((slot, stages)),
        Some(Finished { outcome: Outcome::Failed(error), .. }) => Err(error),
        _ => Err(Error::new("The frame was not filtered.", "", "Choose another variant.")),
    }
}

/// Returns the RGBA bytes of a frame that was filtered into host memory.
///
/// # Errors
/// If the slot does not have exactly `bytes` bytes.
pub(super) fn pixels(slot: &Slot, bytes: usize) -> Result<&[u8]> {
    let missing =
        || Error::new("The frame was not filtered.", "It has no pixels.", "Choose another variant.");
    slot.pixels().filter(|pixels| pixels.len() == bytes).ok_or_else(missing)
}

/// Shows the progress of a frame that has taken longer than a second, if stderr is a terminal. `bar` is cleared when it is
/// dropped; `None` until it is shown.
fn show_progress(bar: &mut Option<ProgressBar>, progress: Progress) {
    if progress.elapsed_s() < 1.0 {
        return;
    }
    // A terminal that is stopped (Ctrl+S) must not count as a driver that hangs.
    let _host = watch::on_host();
    let bar = bar.get_or_insert_with(|| progress_bar(1000, "{bar:30} {percent} % of the frame, {msg}"));
    bar.set_position((progress.fraction * 1e3) as u64);
    let all = progress.total_s().map_or_else(String::new, |all| format!(" of about {all:.0}"));
    bar.set_message(format!("{:.0}{all} s", progress.elapsed_s()));
}

/// A renderer that filters frames with an engine, and with headless OpenGL if a request needs shaders.
pub(super) struct FrameRenderer {
    /// The engine that filters the frames; callers may set its device.
    pub(super) engine: Engine,
    /// The headless OpenGL; `None` if no request needs shaders. Declared after the engine, so that it is dropped last.
    headless: Option<Headless>,
}

impl FrameRenderer {
    /// Creates a renderer for these requests.
    ///
    /// # Errors
    /// If a request needs shaders and OpenGL is not available.
    pub(super) fn new(requests: &[Request]) -> Result<Self> {
        let by_shaders = requests.iter().any(|request| request.variant.back_end() == BackEnd::Glsl);
        let headless = by_shaders.then(glsl::headless).transpose()?;
        let engine = match &headless {
            Some(headless) => Engine::with_opengl(headless.gl.clone(), no_waker()),
            None => Engine::new(no_waker()),
        };
        Ok(Self { engine, headless })
    }

    /// Filters `frame` once for each of `requests`. Returns the pictures: RGBA, 8 bits per channel, rows without padding.
    ///
    /// # Errors
    /// If any request is rejected or fails.
    pub(super) fn render(&mut self, frame: &Frame, requests: &[Request]) -> Result<Vec<Vec<u8>>> {
        let (width, height) = (frame.width(), frame.height());
        let slot = |_| match &self.headless {
            Some(headless) => Slot::new(&headless.gl, width, height),
            None => Ok(Slot::in_memory(width, height)),
        };
        let slots = requests.iter().map(slot).collect::<Result<Vec<Slot>>>()?;
        let (mut submitted, mut rejected) = (0, None);
        for (request, slot) in requests.iter().zip(slots) {
            match self.engine.submit(frame, *request, slot) {
                Ok(_) => submitted += 1,
                Err((_, refusal)) => {
                    rejected = Some(refusal.into_error());
                    break;
                }
            }
        }
        // Submitted frames are awaited even if a later request was rejected.
        let pictures: Vec<Result<Vec<u8>>> = (0..submitted)
            .map(|_| {
                let mut bar = None;
                let (mut slot, _) =
                    wait_for_next(&mut self.engine, |progress| show_progress(&mut bar, progress))?;
                // The picture is in a texture or in host memory.
                if let Some((headless, texture)) = self.headless.as_ref().zip(slot.texture()) {
                    slot.show();
                    return read_texture(&headless.gl, texture, (width, height));
                }
                let mut rgba = picture_memory(width, height)?;
                let bytes = rgba.len();
                rgba.copy_from_slice(pixels(&slot, bytes)?);
                Ok(rgba)
            })
            .collect();
        rejected.map_or_else(|| pictures.into_iter().collect(), Err)
    }
}
