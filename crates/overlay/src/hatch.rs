//! Hatching: patterns that are drawn over the colours of the stages on request, so that all stages can be distinguished.
//!
//! The patterns are tiles of one small texture, which is multiplied with the colour and is darker in the lines of the pattern.
//! They are aligned to the window's pixels, so that neighbouring bars continue each other's lines.

use egui::{ColorImage, TextureHandle, TextureOptions};
use stats::Stage;

use crate::prelude::*;

/// Side of a tile, the square that shows one pattern in the texture, in texels.
const TILE_SIDE: usize = 64;
/// The number of texels after which every pattern repeats.
const PERIOD: usize = 8;
/// The number of tiles in the texture: one for each stage, one for idle time, and one without a pattern.
const TILES: usize = Stage::ALL.len() + 2;

/// The pattern that is drawn over the colour of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The pattern of a stage, a timed part of a frame's way to the screen.
    Stage(Stage),
    /// The pattern of a frame's idle time.
    Idle,
    /// No pattern, only the colour.
    Plain,
}

impl Pattern {
    /// Returns the index of the pattern's tile in the texture.
    fn tile_index(self) -> usize {
        match self {
            Pattern::Stage(stage) => stage as usize,
            Pattern::Idle => Stage::ALL.len(),
            Pattern::Plain => Stage::ALL.len() + 1,
        }
    }
}

/// Returns true if the texel at `x`, `y` of a tile is dark, as part of the pattern. The tile of the filter, the most important
/// stage, has no pattern.
fn is_ink(tile: usize, x: usize, y: usize) -> bool {
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
        Stage::Stack => every(8, x),
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

/// Draws patterns over the colours of stages, from a texture at the resolution of the window.
pub(crate) struct Hatch {
    texture: TextureHandle,
    /// Size of a texel in points, a whole number of pixels.
    texel: f32,
    /// True to draw patterns, false to draw plain colours.
    hatched: bool,
}

impl Hatch {
    /// Creates the patterns for `ui`'s resolution, or plain colours if `hatched` is false. The texture is created only once.
    pub(crate) fn new(ui: &Ui, hatched: bool) -> Self {
        let id = Id::unique("hatch");
        let made = ui.data(|data| data.get_temp::<TextureHandle>(id));
        let texture = made.unwrap_or_else(|| {
            // All tiles, one below the other.
            let texels = (0..TILES * TILE_SIDE).flat_map(|y| (0..TILE_SIDE).map(move |x| (x, y)));
            let ink = |(x, y)| is_ink(y / TILE_SIDE, x, y % TILE_SIDE);
            // The colour of a pattern's dark texels, by which the colour of an area is multiplied.
            let pixels =
                texels.map(|at| if ink(at) { Color32::from_gray(96) } else { Color32::WHITE }).collect();
            let image = ColorImage::new([TILE_SIDE, TILES * TILE_SIDE], pixels);
            let texture = ui.ctx().load_texture("hatch", image, TextureOptions::NEAREST);
            ui.data_mut(|data| data.insert_temp(id, texture.clone()));
            texture
        });
        let pixels = ui.pixels_per_point();
        Self { texture, texel: pixels.round().max(1.0) / pixels, hatched }
    }

    /// Returns an empty mesh for [`Hatch::add`].
    pub(crate) fn mesh(&self) -> Mesh {
        Mesh::with_texture(self.texture.id())
    }

    /// Adds `rect` to `mesh`, filled with the colour and the pattern.
    pub(crate) fn add(&self, mesh: &mut Mesh, rect: Rect, (color, pattern): (Color32, Pattern)) {
        if !(rect.is_positive() && rect.is_finite()) {
            return;
        }
        if !self.hatched || matches!(pattern, Pattern::Plain | Pattern::Stage(Stage::Filter)) {
            // One quad, however large it is: the texel in the middle of a tile without ink.
            let texel = pos2(0.5, (Pattern::Plain.tile_index() as f32 + 0.5) / TILES as f32);
            mesh.add_rect_with_uv(rect, Rect::from_min_max(texel, texel), color);
            return;
        }
        // Positions in the texture are fractions of its size.
        let size = vec2(TILE_SIDE as f32, (TILES * TILE_SIDE) as f32);
        let tile = (pattern.tile_index() * TILE_SIDE) as f32;
        let columns = split_at_tiles(rect.left(), rect.right(), self.texel);
        for (top, bottom, v) in split_at_tiles(rect.top(), rect.bottom(), self.texel) {
            for (left, right, u) in columns.clone() {
                let part = Rect::from_min_max(pos2(left, top), pos2(right, bottom));
                let texels = Rect::from_min_size(pos2(u, tile + v), part.size() / self.texel);
                let [from, to] = [texels.min, texels.max].map(|at| (at.to_vec2() / size).to_pos2());
                mesh.add_rect_with_uv(part, Rect::from_min_max(from, to), color);
            }
        }
    }

    /// Returns a rectangle with a colour and its pattern, for a legend.
    pub(crate) fn swatch(&self, rect: Rect, fill: (Color32, Pattern)) -> Shape {
        let mut mesh = self.mesh();
        self.add(&mut mesh, rect, fill);
        Shape::mesh(mesh)
    }
}

/// Divides the range between two positions in points into parts that are not longer than a tile. Returns the start and the end
/// of each part, and the position in the tile, in texels, of the part's start.
fn split_at_tiles(from: f32, to: f32, texel: f32) -> impl Iterator<Item = (f32, f32, f32)> + Clone {
    let step = (TILE_SIDE - PERIOD) as f32 * texel;
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
    fn patterns_differ_and_stay_within_their_tile() {
        let bits = |tile| -> Vec<bool> {
            (0..PERIOD * PERIOD).map(|n| is_ink(tile, n % PERIOD, n / PERIOD)).collect()
        };
        // Plain colour is the filter's.
        for a in 0..TILES - 1 {
            for b in a + 1..TILES - 1 {
                assert_ne!(bits(a), bits(b), "tiles {a} and {b}");
            }
        }

        for tile in 0..TILES {
            for (x, y) in (0..TILE_SIDE - PERIOD).flat_map(|x| (0..TILE_SIDE - PERIOD).map(move |y| (x, y))) {
                assert_eq!(is_ink(tile, x, y), is_ink(tile, x + PERIOD, y), "tile {tile}");
                assert_eq!(is_ink(tile, x, y), is_ink(tile, x, y + PERIOD), "tile {tile}");
            }
        }

        let ctx = egui::Context::default();
        let output = ctx.run_ui(egui::RawInput::default(), |ui| {
            let hatch = Hatch::new(ui, true);
            let mut mesh = hatch.mesh();
            let rect = Rect::from_min_max(pos2(3.0, 5.0), pos2(1003.0, 205.0));
            hatch.add(&mut mesh, rect, (Color32::WHITE, Pattern::Stage(Stage::Swap)));
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
            hatch.add(&mut mesh, Rect::NOTHING, (Color32::WHITE, Pattern::Idle));
            hatch.add(&mut mesh, Rect::NAN, (Color32::WHITE, Pattern::Idle));
        });
        output.drop_without_applying_deltas();
    }
}
