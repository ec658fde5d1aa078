//! The test card's picture.
//!
//! ```text
//! eight bars of colour at three quarters of their strength
//! ramps: grey, red, green, blue, with a line that goes through them
//! gratings and a grid │ lines of text │ a dark field
//! ```

use video::color::Matrix;
use video::{Canvas, TICK_INTERVAL_S, TICK_S};

/// Frames per second of the test card.
pub(super) const FRAME_RATE: u32 = 25;
/// The lower edges of the rows of the test card, as fractions of the height: the colour bars, the grey ramp, and the three
/// coloured ramps.
const ROWS: [f64; 5] = [0.40, 0.48, 0.52, 0.56, 0.60];
/// The left edges of the text and of the dark field, as fractions of the width.
const COLUMNS: [f64; 2] = [0.30, 0.76];
/// The grey level of the dark field, and of the background of lines and text, from 0 to 1.
pub(super) const BACKGROUND_GREY: f32 = 0.1;
/// The number of frames in which the moving line crosses all ramps once.
const SWEEP: u64 = 100;

/// A colour: red, green and blue from 0 to 1.
type Rgb = [f32; 3];

/// A painter of the frames of a test card of one size.
pub(super) struct Painter {
    background: Canvas,
}

impl Painter {
    /// Creates a painter, and paints the background that all frames share.
    pub(super) fn new(width: usize, height: usize) -> Self {
        let mut background = Canvas::new(width, height);
        let chroma_width = width.div_ceil(2);
        for y in 0..height {
            for x in 0..width {
                let [luma, blue, red] = Matrix::Bt709.limited(color((x, y), (width, height)));
                background.planes[0][y * width + x] = luma;
                // Chroma of the left pixel of two, in even rows: exact for edges at even positions.
                if x % 2 == 0 && y % 2 == 0 {
                    background.planes[1][y / 2 * chroma_width + x / 2] = blue;
                    background.planes[2][y / 2 * chroma_width + x / 2] = red;
                }
            }
        }
        Self { background }
    }

    /// Paints frame `number` with these lines of text on `canvas`.
    pub(super) fn paint(&self, number: u64, lines: &[String], canvas: &mut Canvas) {
        canvas.clone_from(&self.background);
        let (width, height) = (canvas.width, canvas.height);
        let line = (number % SWEEP) as usize * width / SWEEP as usize;
        fill(canvas, (line, at(ROWS[0], height)), ((width / 160).max(1), at(ROWS[4], height)));
        let dot = (height / 120).max(1);
        let (left, top) = (at(COLUMNS[0], width) + 2 * dot, at(ROWS[4], height) + 3 * dot);
        for (n, text) in lines.iter().enumerate() {
            for (x, y) in dots(text) {
                let (x, y) = (left + x * dot, top + (n * CELL.1 + y) * dot);
                if x + dot <= at(COLUMNS[1], width) {
                    fill(canvas, (x, y), (dot, y + dot));
                }
            }
        }
        // While the sound ticks, there is a white rectangle in the lower right corner of the field with the text, so that one
        // can see whether they coincide.
        if (number as f64 / f64::from(FRAME_RATE)).rem_euclid(TICK_INTERVAL_S) < TICK_S {
            let side = at(0.08, height).max(1);
            let left = at(COLUMNS[1], width).saturating_sub(side);
            fill(canvas, (left, height.saturating_sub(side)), (side, height));
        }
    }
}

/// Returns the position in pixels of a fraction of a side of `size` pixels.
fn at(part: f64, size: usize) -> usize {
    (part * size as f64).round() as usize
}

/// Fills a rectangle of the canvas with white. The upper left corner is (`left`, `top`), the width is `wide` pixels, and the
/// lower edge is above the row `bottom`.
fn fill(canvas: &mut Canvas, (left, top): (usize, usize), (wide, bottom): (usize, usize)) {
    let (width, height) = (canvas.width, canvas.height);
    let right = (left + wide).min(width);
    for (n, value) in [235, 128, 128].into_iter().enumerate() {
        let half = |v: usize| if n == 0 { v } else { v.div_ceil(2) };
        let stride = half(width);
        for row in canvas.planes[n].chunks_exact_mut(stride).take(half(bottom.min(height))).skip(half(top)) {
            if let Some(part) = row.get_mut(half(left)..half(right)) {
                part.fill(value);
            }
        }
    }
}

/// Returns the colour of the pixel (x, y) of the background in a test card of this width and height.
fn color((x, y): (usize, usize), (width, height): (usize, usize)) -> Rgb {
    let (across, down) = (x as f64 / width as f64, y as f64 / height as f64);
    let ramp = (x as f32 / (width.max(2) - 1) as f32).min(1.0);
    match ROWS.iter().position(|end| down < *end) {
        Some(0) => {
            // White first, black last: each primary is on in half of the bars.
            let bar = 7 - ((across * 8.0) as usize).min(7);
            [bar >> 1 & 1, bar >> 2 & 1, bar & 1].map(|on| 0.75 * on as f32)
        }
        Some(1) => [ramp; 3],
        Some(n) => std::array::from_fn(|part| if part + 2 == n { ramp } else { 0.0 }),
        None if across < COLUMNS[0] => grating((x, y), (width, height)),
        None => [BACKGROUND_GREY; 3],
    }
}

/// Returns the colour of a pixel in the left field: vertical and horizontal gratings with lines of 1, 2, 4 and 8 pixels, and a
/// grid below them.
fn grating((x, y): (usize, usize), (width, height): (usize, usize)) -> Rgb {
    let down = (y as f64 / height as f64 - ROWS[4]) / (1.0 - ROWS[4]);
    let field = ((x as f64 / width as f64 / COLUMNS[0] * 4.0) as u32).min(3);
    let is_light = match down {
        d if d < 0.33 => x >> field & 1 == 0,
        d if d < 0.66 => y >> field & 1 == 0,
        _ => {
            let step = (height / 36).max(2);
            x % step == 0 || y % step == 0
        }
    };
    if is_light { [0.9; 3] } else { [BACKGROUND_GREY; 3] }
}

/// The position of the dark field as fractions of the picture: left, top, width, height.
pub(super) const FIELD: [f64; 4] = [COLUMNS[1], ROWS[4], 1.0 - COLUMNS[1], 1.0 - ROWS[4]];

/// The width and the height of a letter with its spacing, in dots.
const CELL: (usize, usize) = (6, 9);

/// The characters of the font, each followed by its seven rows of dots from top to bottom. A row is a digit of base 32, whose
/// highest bit is the leftmost dot.
const LETTERS: [&str; 39] = [
    "0ehjlphe", "14c4444e", "2eh1248v", "3v2421he", "426aiv22", "5vgu11he", "668guhhe", "7v124888",
    "8ehhehhe", "9ehhf12c", "Aehhvhhh", "Buhhuhhu", "Cehggghe", "Duhhhhhu", "Evgguggv", "Fvgguggg",
    "Gehgnhhf", "Hhhhvhhh", "Ie44444e", "J72222ic", "Khikokih", "Lggggggv", "Mhrllhhh", "Nhpljhhh",
    "Oehhhhhe", "Puhhuggg", "Qehhhlid", "Ruhhukih", "Sfgge11u", "Tv444444", "Uhhhhhhe", "Vhhhhha4",
    "Whhhllrh", "Xhha4ahh", "Yhha4444", "Zv1248gv", ".00000cc", "-000v000", "=00v0v00",
];

/// Returns the positions x and y of all dots of `text`. Characters that the font lacks are left blank.
fn dots(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    text.chars().enumerate().flat_map(|(n, c)| {
        let letter = LETTERS.iter().find(|letter| letter.starts_with(c.to_ascii_uppercase()));
        let rows = letter.into_iter().flat_map(|letter| letter.chars().skip(1)).enumerate();
        rows.flat_map(move |(y, row)| {
            let row = row.to_digit(32).unwrap_or(0);
            (0..5).filter(move |x| row >> (4 - x) & 1 == 1).map(move |x| (n * CELL.0 + x, y))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_has_its_bars_and_ramps() {
        let size = (1280, 720);
        let bars = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| color((n * 160 + 80, 100), size));
        let on = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]];
        let expected = on.map(|on| on.map(|on: u8| 0.75 * f32::from(on)));
        assert_eq!(bars, expected);
        assert_eq!((color((0, 300), size), color((1279, 300), size)), ([0.0; 3], [1.0; 3]));
        assert_eq!(color((1279, 360), size), [1.0, 0.0, 0.0]);
        assert_eq!(color((1279, 420), size), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_frame_has_its_line_and_its_text_and_forgets_those_before() {
        for (width, height) in [(1280, 720), (175, 99), (1, 1)] {
            let painter = Painter::new(width, height);
            let mut canvas = Canvas::new(width, height);
            let before = painter.background.clone();
            painter.paint(0, &["R=7".to_owned()], &mut canvas);
            assert!(canvas != before || width == 1);
            let first = canvas.clone();
            let long = "a text that is far too long for the field that it has".to_owned();
            painter.paint(50, &[long], &mut canvas);
            assert!(canvas != first || width == 1);
            painter.paint(100, &["R=7".to_owned()], &mut canvas);
            assert!(canvas == first, "frames of a whole turn are alike");
            let corner = height * width - width + at(COLUMNS[1], width) - 1;
            assert_eq!(canvas.planes[0][corner], 235, "the mark of the tick");
            painter.paint(112, &["R=7".to_owned()], &mut canvas);
            assert!(canvas.planes[0][corner] < 235 || width == 1, "no mark between ticks");
        }
    }

    #[test]
    fn every_letter_is_one_of_its_own() {
        for (n, letter) in LETTERS.iter().enumerate() {
            let (c, rows) = letter.split_at(1);
            assert!(rows.len() == 7 && rows.chars().all(|row| row.is_digit(32)) && rows != "0000000", "{c}");
            assert!(LETTERS[..n].iter().all(|other| !other.starts_with(c) && !other.ends_with(rows)), "{c}");
        }
        let small: Vec<_> = dots("l-").collect();
        assert_eq!(small.iter().filter(|dot| dot.0 == 0).count(), 7);
        assert_eq!(small[small.len() - 5..], [(6, 3), (7, 3), (8, 3), (9, 3), (10, 3)]);
    }
}
