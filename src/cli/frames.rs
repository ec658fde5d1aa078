//! Frames through the engine, for those who wait for them. In: an engine, a frame, what is asked of it. Out: the slot with the
//! picture, and what its stages took.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use base::error::{Error, Result};
use base::memory::picture_memory;
use engine::glsl;
use engine::{Engine, Finished, Outcome, Progress, Request, Slot, Stages};
use ladder::BackEnd;
use opencl::event::Waker;
use opencl::watch;
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use video::Frame;

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
    next(engine, |_| ())
}

/// Returns the next frame that was asked for; meanwhile it is told how far that is.
fn next(engine: &mut Engine, tell: impl FnMut(Progress)) -> Result<(Slot, Stages)> {
    match engine.wait_telling(tell)? {
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

/// A frame that takes longer has a bar on stderr, where that is a terminal.
const LONG: Duration = Duration::from_secs(1);

/// The bar of a frame that takes long.
#[derive(Default)]
struct Bar(Option<ProgressBar>);

impl Bar {
    fn show(&mut self, progress: Progress) {
        if progress.elapsed_s < LONG.as_secs_f64() {
            return;
        }
        // A terminal may be held.
        let _host = watch::on_host();
        let bar = self.0.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:30} {percent} % of the frame, {msg}");
            style.map_or_else(|_| ProgressBar::new(1000), |style| ProgressBar::new(1000).with_style(style))
        });
        bar.set_position((progress.fraction * 1e3) as u64);
        let all = progress.total_s.map_or_else(String::new, |all| format!(" of about {all:.0}"));
        bar.set_message(format!("{:.0}{all} s", progress.elapsed_s));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What makes pictures of frames: an engine, and OpenGL where shaders are among the filters.
pub(super) struct Pictures {
    /// The engine, which may be given a device.
    pub(super) engine: Engine,
    /// Declared after the engine, which draws with it to its end.
    headless: Option<Headless>,
}

impl Pictures {
    /// For such requests.
    ///
    /// # Errors
    /// When shaders are among them, and there is no OpenGL.
    pub(super) fn new(requests: &[Request]) -> Result<Self> {
        let by_shaders = requests.iter().any(|request| request.variant.back_end() == BackEnd::Glsl);
        let headless = by_shaders.then(glsl::headless).transpose()?;
        let engine = match &headless {
            Some(headless) => Engine::with_opengl(headless.gl.clone(), nobody()),
            None => Engine::new(nobody()),
        };
        Ok(Self { engine, headless })
    }

    /// The frame in each way in which it is asked for, RGBA, 8 bits a channel, no gaps between rows. Where the first two read
    /// the same unfiltered picture, it is brought and converted once.
    ///
    /// # Errors
    /// When one of them cannot be had.
    pub(super) fn of(&mut self, frame: &Frame, requests: &[Request]) -> Result<Vec<Vec<u8>>> {
        let (width, height) = (frame.width(), frame.height());
        let slot = |_| match &self.headless {
            Some(headless) => Slot::new(&headless.gl, width, height),
            None => Ok(Slot::in_memory(width, height)),
        };
        let slots = requests.iter().map(slot).collect::<Result<Vec<Slot>>>()?;
        let (mut first, mut asked, mut refused) = (None, 0, None);
        for (request, slot) in requests.iter().zip(slots) {
            let submitted = match first {
                Some(first) => self.engine.submit_beside(first, frame, *request, slot),
                None if requests.len() > 1 => self.engine.submit_first(frame, *request, slot),
                None => self.engine.submit(frame, *request, slot),
            };
            match submitted {
                Ok(ticket) => (first, asked) = (first.or(Some(ticket)), asked + 1),
                Err((_, refusal)) => {
                    refused = Some(refusal.into_error());
                    break;
                }
            }
        }
        // What was begun is waited for, whatever became of the others.
        let made: Vec<Result<Vec<u8>>> = (0..asked)
            .map(|_| {
                let mut bar = Bar::default();
                let (slot, _) = next(&mut self.engine, |progress| bar.show(progress))?;
                self.read(slot, (width, height))
            })
            .collect();
        refused.map_or_else(|| made.into_iter().collect(), Err)
    }

    /// The picture of a slot that has it.
    fn read(&self, mut slot: Slot, (width, height): (u32, u32)) -> Result<Vec<u8>> {
        if let Some((headless, texture)) = self.headless.as_ref().zip(slot.texture()) {
            slot.show();
            return read_texture(&headless.gl, texture, (width, height));
        }
        let mut rgba = picture_memory(width, height)?;
        let bytes = rgba.len();
        rgba.copy_from_slice(pixels(&slot, bytes)?);
        Ok(rgba)
    }
}
