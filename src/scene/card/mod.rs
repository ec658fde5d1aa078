//! A test card that the chosen variant filters like a movie's frames: what it does to bars, ramps, lines and letters is seen
//! at a glance, at sizes that no file needs to have. In: nothing. Out: pictures that are painted on a decoder's thread,
//! with the engine's numbers in them, and a cube that wears the filtered picture.

mod cube;
mod letters;
mod picture;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Input, Scene, Screen};
use crate::options::SceneId;
use base::error::Result;
use cube::Cube;
use engine::frame_loop::{FrameLoop, Tick};
use engine::present::Viewport;
use engine::stats::Stage;
use opencl::event::Waker;
use overlay::MovieSummary;
use picture::{FIELD, GROUND, Painter};
use video::{Canvas, Decoder, Frame};

/// The sizes that it can have, and which one it has at first.
pub(super) const SIZES: [(usize, usize); 6] =
    [(320, 180), (640, 360), (1280, 720), (1920, 1080), (2560, 1440), (3840, 2160)];
pub(super) const FIRST: usize = 2;
/// Frames a second.
const RATE: u32 = 25;
/// The numbers change so often, not with every frame: they are to be read.
const REFRESH: Duration = Duration::from_millis(500);
/// Radians a second that the cube turns by itself, how far it is turned at first, and by a drag over the window's height.
const SPIN: f64 = 0.5;
const TILT: [f32; 2] = [0.4, 0.5];
const BY_DRAG: f32 = 3.0;

/// The card.
pub(super) struct Card {
    facts: MovieSummary,
    waker: Waker,
    /// Which of [`SIZES`].
    size: usize,
    lines: Arc<Mutex<Vec<String>>>,
    refreshed: Option<Instant>,
    cube: Option<Cube>,
    turned: [f32; 2],
}

impl Card {
    pub(super) fn new(waker: Waker) -> Self {
        Self {
            facts: MovieSummary::opening(Path::new("test card")),
            waker,
            size: FIRST,
            lines: Arc::default(),
            refreshed: None,
            cube: None,
            turned: TILT,
        }
    }

    /// Plays it from its beginning.
    fn play(&mut self, frames: &mut FrameLoop) -> Result<()> {
        let (width, height) = SIZES[self.size.min(SIZES.len() - 1)];
        let (waker, lines) = (self.waker.clone(), self.lines.clone());
        let mut painter = None;
        let paint = move |number: u64, canvas: &mut Canvas| {
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
            painter.get_or_insert_with(|| Painter::new(width, height)).paint(number, &lines, canvas);
        };
        let decoder = Decoder::painted(Canvas::new(width, height), RATE, Box::new(move || waker()), paint)?;
        self.facts = MovieSummary::of(Path::new("test card"), decoder.info());
        frames.play(decoder);
        Ok(())
    }
}

/// The card that is shown at `at_s` seconds, with these lines in it. The cube is drawn over the filtered picture, and is not
/// there.
///
/// # Errors
/// When memory has run out.
pub(crate) fn frame_at(at_s: f64, lines: &[String]) -> Result<Frame> {
    let (width, height) = SIZES[FIRST];
    let mut canvas = Canvas::new(width, height);
    Painter::new(width, height).paint((at_s.max(0.0) * f64::from(RATE)) as u64, lines, &mut canvas);
    canvas.to_frame()
}

/// What the card says of the picture on the screen.
fn lines(frames: &FrameLoop) -> Vec<String> {
    let (variant, radius) = frames.shown_filter().unwrap_or(frames.chosen());
    let of = |name: &str, ms: Option<f64>| ms.map(|ms| format!("{name} {ms:.2} ms"));
    let recorder = &frames.recorder;
    let size = frames.shown_size().map(|(width, height)| format!("{width}x{height}"));
    let lines = [
        Some(format!("{variant} r={radius}")),
        of("filter", recorder.summary(Stage::Filter).map(|s| s.p50)),
        of("upload", recorder.summary(Stage::Upload).map(|s| s.p50)),
        of("frame", recorder.frame_interval().map(|s| s.p50)),
        size,
    ];
    lines.into_iter().flatten().collect()
}

impl Scene for Card {
    fn id(&self) -> SceneId {
        SceneId::Card
    }

    fn facts(&self) -> Option<&MovieSummary> {
        Some(&self.facts)
    }

    fn facts_mut(&mut self) -> Option<&mut MovieSummary> {
        Some(&mut self.facts)
    }

    fn enter(&mut self, frames: &mut FrameLoop) -> Result<()> {
        self.play(frames)
    }

    fn leave(&mut self, frames: &mut FrameLoop) {
        frames.park().retire();
    }

    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        if self.refreshed.is_none_or(|at| at.elapsed() >= REFRESH) {
            self.refreshed = Some(Instant::now());
            *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines(frames);
        }
        frames.tick()
    }

    fn draw(&mut self, frames: &FrameLoop, screen: &Screen) -> Result<()> {
        let all = screen.show_picture();
        let Some((texture, ..)) = screen.picture else { return Ok(()) };
        let cube = match &mut self.cube {
            Some(cube) => cube,
            None => self.cube.insert(Cube::new(screen.gl)?),
        };
        let part = |part: f64, size: i32| (part * f64::from(size)).round() as i32;
        let [left, top, width, height] = FIELD;
        let at = Viewport {
            x: all.x + part(left, all.width),
            y: all.y + part(1.0 - top - height, all.height),
            width: part(width, all.width).max(1),
            height: part(height, all.height).max(1),
        };
        let spun = (frames.position_s() * SPIN) as f32;
        cube.draw(at, GROUND, [self.turned[0] + spun, self.turned[1]], texture)
    }

    fn input(&mut self, input: Input, frames: &mut FrameLoop) -> Result<Option<String>> {
        match input {
            Input::Grab(_) | Input::LetGo => Ok(Some(String::new())),
            Input::Drag { by: [right, down], .. } => {
                self.turned[0] += BY_DRAG * right;
                self.turned[1] += BY_DRAG * down;
                Ok(Some(String::new()))
            }
            Input::Size(step) => {
                let size = self.size.saturating_add_signed(step).min(SIZES.len() - 1);
                if size != self.size {
                    self.size = size;
                    self.play(frames)?;
                }
                let (width, height) = SIZES[size];
                Ok(Some(format!("The test card has {width}\u{d7}{height} pixels")))
            }
        }
    }

    fn panel(&self) -> Option<&'static str> {
        Some("Test card")
    }

    fn panel_contents(&self, ui: &mut egui::Ui) {
        ui.label(
            "Bars of 75 %; ramps of grey, red, green and blue, through which a line goes; lines of 1, 2, 4 and 8 \
             pixels; a grid; what the engine measures, twice a second.\nThe variant filters all of it. PageUp and \
             PageDown change its size, a drag turns the cube.",
        );
    }

    fn destroy(&mut self) {
        if let Some(cube) = self.cube.take() {
            cube.destroy();
        }
    }
}
