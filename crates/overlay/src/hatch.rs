//! Hatching: where that is asked for, every stage has a pattern beside its grey, so that all can be told apart.
//!
//! The patterns are tiles of one small texture, darker where there is ink, and are multiplied with the colour. They
//! hang on the window's pixels, so that neighbouring bars continue each other's lines.

use egui::epaint::{Mesh, Vertex};
use egui::{Color32, ColorImage, Id, Rect, Shape, TextureHandle, TextureOptions, Ui, pos2};

use engine::stats::Stage;

/// Side of a tile in texels; patterns repeat after `PERIOD` of them.
const TILE: usize = 64;
const PERIOD: usize = 8;
/// One for each stage, one for what is idle, one without ink.
const TILES: usize = Stage::ALL.len() + 2;
const INK: Color32 = Color32::from_gray(96);

/// What an area is hatched as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// A stage's.
    Of(Stage),
    /// What the stages leave of a frame.
    Idle,
    /// Colour only.
    Plain,
}

impl Pattern {
    fn tile(self) -> usize {
        match self {
            Pattern::Of(stage) => stage as usize,
            Pattern::Idle => Stage::ALL.len(),
            Pattern::Plain => Stage::ALL.len() + 1,
        }
    }
}

/// Whether the texel at `x`, `y` of a pattern has ink. The filter, which most looks are for, is plain.
fn ink(tile: usize, x: usize, y: usize) -> bool {
    // Diagonals that rise, and that fall.
    let (up, down) = (x + y, x + PERIOD - y % PERIOD);
    let every = |n: usize, line: usize| line.is_multiple_of(n);
    let Some(stage) = Stage::ALL.get(tile) else {
        return tile == Stage::ALL.len() && every(8, down) && every(4, x);
    };
    match stage {
        Stage::Take => every(2, y),
        Stage::Upload => every(4, up),
        Stage::Acquire => every(4, y),
        Stage::Convert => every(2, x) && every(4, up),
        Stage::Correct => every(4, x),
        Stage::Filter => false,
        Stage::Reduce => every(4, x) && every(2, y),
        Stage::Levels => every(2, x),
        Stage::Release => every(4, down),
        Stage::Wipe => every(4, y) && every(2, x),
        Stage::Difference => every(8, x) || every(8, y),
        Stage::Present => every(4, x) || every(4, y),
        Stage::Overlay => every(8, up) || every(8, down),
        Stage::Swap => every(2, x / 2 + y / 2),
        Stage::Collect => up % 8 < 4,
    }
}

fn image() -> ColorImage {
    let pixels = (0..TILES * TILE)
        .flat_map(|y| (0..TILE).map(move |x| if ink(y / TILE, x, y % TILE) { INK } else { Color32::WHITE }));
    ColorImage::new([TILE, TILES * TILE], pixels.collect())
}

/// The patterns' texture, and the size of a texel on the screen.
pub(crate) struct Hatch {
    texture: TextureHandle,
    /// Size of a texel in points: a whole number of pixels.
    texel: f32,
    /// Whether patterns are drawn at all.
    hatched: bool,
}

impl Hatch {
    /// The patterns for `ui`'s resolution, which are made once; without `hatched` there are plain colours.
    pub(crate) fn new(ui: &Ui, hatched: bool) -> Self {
        let id = Id::unique("hatch");
        let made = ui.data(|data| data.get_temp::<TextureHandle>(id));
        let texture = made.unwrap_or_else(|| {
            let texture = ui.ctx().load_texture("hatch", image(), TextureOptions::NEAREST);
            ui.data_mut(|data| data.insert_temp(id, texture.clone()));
            texture
        });
        let pixels = ui.pixels_per_point();
        Self { texture, texel: pixels.round().max(1.0) / pixels, hatched }
    }

    /// A mesh for [`Hatch::add`].
    pub(crate) fn mesh(&self) -> Mesh {
        Mesh::with_texture(self.texture.id())
    }

    /// Adds `rect` to `mesh`.
    pub(crate) fn add(&self, mesh: &mut Mesh, rect: Rect, color: Color32, pattern: Pattern) {
        if !(rect.is_positive() && rect.is_finite()) {
            return;
        }
        if !self.hatched || matches!(pattern, Pattern::Plain | Pattern::Of(Stage::Filter)) {
            // One quad, however large it is: the texel in the middle of a tile without ink.
            let at = pos2(0.5, (Pattern::Plain.tile() as f32 + 0.5) / TILES as f32);
            let first = mesh.vertices.len() as u32;
            for pos in [rect.left_top(), rect.right_top(), rect.left_bottom(), rect.right_bottom()] {
                mesh.vertices.push(Vertex { pos, uv: at, color });
            }
            mesh.indices.extend_from_slice(&[first, first + 1, first + 2, first + 2, first + 1, first + 3]);
            return;
        }
        let columns = parts(rect.left(), rect.right(), self.texel);
        for (top, bottom, v) in parts(rect.top(), rect.bottom(), self.texel) {
            for (left, right, u) in columns.clone() {
                self.quad(
                    mesh,
                    Rect::from_min_max(pos2(left, top), pos2(right, bottom)),
                    [u, v],
                    color,
                    pattern,
                );
            }
        }
    }

    /// Adds a rectangle that is not larger than a tile, from texel `at` of it on.
    fn quad(&self, mesh: &mut Mesh, rect: Rect, at: [f32; 2], color: Color32, pattern: Pattern) {
        let tile = (pattern.tile() * TILE) as f32;
        let first = mesh.vertices.len() as u32;
        for pos in [rect.left_top(), rect.right_top(), rect.left_bottom(), rect.right_bottom()] {
            let texels = (pos - rect.min) / self.texel;
            let u = (at[0] + texels.x) / TILE as f32;
            let v = (tile + at[1] + texels.y) / (TILES * TILE) as f32;
            mesh.vertices.push(Vertex { pos, uv: pos2(u, v), color });
        }
        mesh.indices.extend_from_slice(&[first, first + 1, first + 2, first + 2, first + 1, first + 3]);
    }

    /// A patch of a colour and its pattern for a legend.
    pub(crate) fn swatch(&self, rect: Rect, color: Color32, pattern: Pattern) -> Shape {
        let mut mesh = self.mesh();
        self.add(&mut mesh, rect, color, pattern);
        Shape::mesh(mesh)
    }
}

/// Cuts a length into parts that a tile covers: beginning, end, and the texel that the beginning falls on.
fn parts(from: f32, to: f32, texel: f32) -> impl Iterator<Item = (f32, f32, f32)> + Clone {
    let step = (TILE - PERIOD) as f32 * texel;
    let count = ((to - from) / step).ceil().clamp(0.0, 10_000.0) as usize;
    (0..count).map(move |n| {
        let begin = from + n as f32 * step;
        (begin, (begin + step).min(to), (begin / texel).rem_euclid(PERIOD as f32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_patterns_are_alike() {
        let bits =
            |tile| -> Vec<bool> { (0..PERIOD * PERIOD).map(|n| ink(tile, n % PERIOD, n / PERIOD)).collect() };
        // Plain colour is the filter's.
        for a in 0..TILES - 1 {
            for b in a + 1..TILES - 1 {
                assert_ne!(bits(a), bits(b), "tiles {a} and {b}");
            }
        }
    }

    #[test]
    fn patterns_repeat_within_a_tile() {
        for tile in 0..TILES {
            for (x, y) in (0..TILE - PERIOD).flat_map(|x| (0..TILE - PERIOD).map(move |y| (x, y))) {
                assert_eq!(ink(tile, x, y), ink(tile, x + PERIOD, y), "tile {tile}");
                assert_eq!(ink(tile, x, y), ink(tile, x, y + PERIOD), "tile {tile}");
            }
        }
    }

    #[test]
    fn large_areas_stay_within_their_tile() {
        let ctx = egui::Context::default();
        let output = ctx.run_ui(egui::RawInput::default(), |ui| {
            let hatch = Hatch::new(ui, true);
            let mut mesh = hatch.mesh();
            let rect = Rect::from_min_max(pos2(3.0, 5.0), pos2(1003.0, 205.0));
            hatch.add(&mut mesh, rect, Color32::WHITE, Pattern::Of(Stage::Swap));
            let tile = Stage::Swap as usize as f32;
            for vertex in &mesh.vertices {
                assert!((0.0..=1.0).contains(&vertex.uv.x), "{:?}", vertex.uv);
                let v = vertex.uv.y * TILES as f32;
                assert!((tile..=tile + 1.0).contains(&v), "{v}");
            }
            assert_eq!(mesh.calc_bounds(), rect);
            let area: f32 =
                mesh.vertices.chunks(4).map(|q| (q[3].pos.x - q[0].pos.x) * (q[3].pos.y - q[0].pos.y)).sum();
            assert!((area - rect.area()).abs() < 1.0, "nothing twice, nothing left out: {area}");
            hatch.add(&mut mesh, Rect::NOTHING, Color32::WHITE, Pattern::Idle);
            hatch.add(&mut mesh, Rect::NAN, Color32::WHITE, Pattern::Idle);
        });
        output.drop_without_applying_deltas();
    }
}
