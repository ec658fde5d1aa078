//! A test card, which the chosen variant filters like the frames of a movie. It has bars, ramps, lines, and letters in several
//! sizes. A decoder's thread paints the pictures and writes the engine's measurements into them. A cube shows the filtered
//! picture on its faces.

mod cube;
mod picture;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Scene, Screen};
use base::error::Result;
use cube::Cube;
use engine::frame_loop::{FrameLoop, ParkedMovie, Tick};
use engine::present::Viewport;
use overlay::{Action, MovieSummary};
use parking_lot::Mutex;
use picture::{FIELD, FRAME_RATE, Painter};
use stats::Stage;
use video::{Canvas, Decoder, Frame};

/// The sizes of the test card in pixels.
pub(super) const SIZES: [(usize, usize); 6] =
    [(320, 180), (640, 360), (1280, 720), (1920, 1080), (2560, 1440), (3840, 2160)];
/// The index of the test card's initial size in [`SIZES`].
pub(super) const INITIAL_SIZE: usize = 2;
/// The interval between updates of the displayed measurements, long enough to read them.
const REFRESH: Duration = Duration::from_millis(500);
/// The speed at which the cube rotates, in radians per second.
const SPIN: f64 = 0.5;
/// The angle in radians by which dragging the mouse over the window's height rotates the cube.
const ANGLE_PER_DRAG: f32 = 3.0;

/// The scene that shows a test card with a rotating cube.
pub(super) struct Card {
    facts: MovieSummary,
    /// The index of the card's size in [`SIZES`].
    size: usize,
    lines: Arc<Mutex<Vec<String>>>,
    refreshed: Option<Instant>,
    cube: Option<Cube>,
    /// The rotation angles of the cube in radians: about its vertical axis, then towards the eye.
    turned: [f32; 2],
}

impl Card {
    /// Creates the scene; the card is not played yet.
    pub(super) fn new() -> Self {
        Self {
            facts: MovieSummary::while_opening(Path::new("test card")),
            size: INITIAL_SIZE,
            lines: Arc::default(),
            refreshed: None,
            cube: None,
            turned: [0.4, 0.5],
        }
    }
}

/// Returns the test card's frame at the time `at_s` in seconds, with these lines of text, and the pictures of `earlier` frames before
/// it. The frame does not contain the cube, which is drawn over the filtered picture.
///
/// # Errors
/// If there is not enough memory.
pub(crate) fn frame_at(at_s: f64, lines: &[String], earlier: usize) -> Result<Frame> {
    let (width, height) = SIZES[INITIAL_SIZE];
    let mut canvas = Canvas::new(width, height);
    let number = (at_s.max(0.0) * f64::from(FRAME_RATE)) as u64;
    let painter = Painter::new(width, height);
    let mut paint = |number| {
        painter.paint(number, lines, &mut canvas);
        canvas.to_frame()
    };
    let first = number.saturating_sub(earlier as u64);
    (first + 1..=number).try_fold(paint(first)?, |before, number| {
        let mut frame = paint(number)?;
        frame.follow(before);
        Ok(frame)
    })
}

/// Returns the lines of text for the card: variant and settings, measured times, and size of the picture on the screen.
fn card_lines(frames: &FrameLoop) -> Vec<String> {
    let (variant, settings) = frames.presenter.screen.filter().unwrap_or(frames.choice.filter());
    let of = |name: &str, ms: Option<f64>| ms.map(|ms| format!("{name} {ms:.2} ms"));
    let recorder = &frames.recorder;
    let size = frames.presenter.screen.size().map(|(width, height)| format!("{width}x{height}"));
    let lines = [
        Some(format!("{variant} {}", variant.settings_text(settings)).trim_end().to_owned()),
        of("filter", recorder.shown.summary(Stage::Filter).map(|s| s.p50)),
        of("upload", recorder.shown.summary(Stage::Upload).map(|s| s.p50)),
        of("frame", recorder.shown.frame_interval().map(|s| s.p50)),
        size,
    ];
    lines.into_iter().flatten().collect()
}

impl Scene for Card {
    fn facts(&self) -> Option<&MovieSummary> {
        Some(&self.facts)
    }

    fn facts_mut(&mut self) -> Option<&mut MovieSummary> {
        Some(&mut self.facts)
    }

    /// Plays the test card.
    fn enter(&mut self, frames: &mut FrameLoop) -> Result<()> {
        let (width, height) = SIZES[self.size];
        let (waker, lines) = (frames.filters.workers.waker.clone(), self.lines.clone());
        let mut painter = None;
        let paint = move |number: u64, canvas: &mut Canvas| {
            let lines = lines.lock().clone();
            let painter = painter.get_or_insert_with(|| Painter::new(width, height));
            painter.paint(number, &lines, canvas);
        };
        let decoder =
            Decoder::from_painter(Canvas::new(width, height), FRAME_RATE, Box::new(move || waker()), paint)?;
        self.facts = MovieSummary::new(Path::new("test card"), decoder.info());
        frames.play(ParkedMovie::new(decoder));
        Ok(())
    }

    /// Stops playing the test card.
    fn leave(&mut self, frames: &mut FrameLoop) {
        frames.park().retire();
    }

    /// Updates the displayed measurements, and lets the frame loop process finished work.
    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        if self.refreshed.is_none_or(|at| at.elapsed() >= REFRESH) {
            self.refreshed = Some(Instant::now());
            *self.lines.lock() = card_lines(frames);
        }
        frames.tick()
    }

    /// Draws the filtered test card and, in its dark field, the cube with the card on its faces.
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
        let spun = (frames.presenter.screen.position_s() * SPIN) as f32;
        cube.draw(at, [self.turned[0] + spun, self.turned[1]], texture)
    }

    /// Rotates the cube by drags of the mouse, and changes the card's size.
    fn input(&mut self, action: &Action, frames: &mut FrameLoop) -> Result<Option<String>> {
        match *action {
            Action::StartDrag(_) | Action::EndDrag => Ok(Some(String::new())),
            Action::Drag { by: [right, down], .. } => {
                self.turned[0] += ANGLE_PER_DRAG * right;
                self.turned[1] += ANGLE_PER_DRAG * down;
                Ok(Some(String::new()))
            }
            Action::SeekChapter(step) => {
                let size = self.size.saturating_add_signed(step).min(SIZES.len() - 1);
                if size != self.size {
                    self.size = size;
                    self.enter(frames)?;
                }
                let (width, height) = SIZES[size];
                Ok(Some(format!("The test card has {width}\u{d7}{height} pixels")))
            }
            _ => Ok(None),
        }
    }

    fn panel(&self) -> Option<&'static str> {
        Some("Test card")
    }

    /// Lays out the explanation of the test card.
    fn panel_contents(&self, ui: &mut egui::Ui) {
        ui.label(
            "Bars of 75 %; ramps of grey, red, green and blue, through which a line goes; lines of 1, 2, 4 and 8 \
             pixels; a grid; what the engine measures, twice a second. Each second the sound ticks, and a white square is \
             shown.\nThe variant filters all of it. PageUp and \
             PageDown change its size, a drag turns the cube.",
        );
    }
}
