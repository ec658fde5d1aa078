//! A cube with the filtered picture on its faces.

use std::sync::Arc;

use glow::HasContext as _;

use super::picture::BACKGROUND_GREY;
use crate::scene::mesh::{DepthBuffer, Mesh, Vertex};
use base::error::Result;
use engine::present::Viewport;
use opengl::shader;

/// The distance of the eye from the centre of the cube, whose edges have length 2.
const DISTANCE: f32 = 5.0;
/// The distance of the eye from the picture plane, which determines how large the cube appears.
const FOCUS: f32 = 2.4;

/// The cube's mesh, shader program and depth buffer.
pub(super) struct Cube {
    gl: Arc<glow::Context>,
    program: glow::Program,
    mesh: Mesh,
    depth: DepthBuffer,
}

impl Cube {
    /// Creates the OpenGL objects of the cube.
    ///
    /// # Errors
    /// If the shaders do not compile, or OpenGL cannot create the objects.
    pub(super) fn new(gl: &Arc<glow::Context>) -> Result<Self> {
        let program = shader::program(gl, "cube", shader_file!("cube.vert"), shader_file!("cube.frag"))?;
        let mesh = Mesh::new(gl.clone(), &faces())?;
        Ok(Self { gl: gl.clone(), program, mesh, depth: DepthBuffer::new(gl.clone())? })
    }

    /// Draws the cube with the picture `texture` on its faces in the rectangle `at` of the window, on a grey background of the
    /// level `ground` (0 to 1). The cube is rotated by two angles in radians: about its vertical axis, then towards the eye.
    ///
    /// # Errors
    /// If OpenGL has not enough memory.
    pub(super) fn draw(&mut self, at: Viewport, angles: [f32; 2], texture: glow::Texture) -> Result<()> {
        let (gl, mesh) = (&self.gl, &self.mesh);
        let wide = at.width as f32 / at.height.max(1) as f32;
        let view = [FOCUS / wide.max(1.0), FOCUS * wide.min(1.0), DISTANCE];
        self.depth.draw(at, [BACKGROUND_GREY; 3], || {
            // SAFETY: the context is current on this thread; all objects are alive and this context's.
            unsafe {
                gl.use_program(Some(self.program));
                let uniform = |name: &str| gl.get_uniform_location(self.program, name);
                gl.uniform_matrix_3_f32_slice(uniform("turn").as_ref(), false, &turn(angles));
                gl.uniform_3_f32_slice(uniform("view").as_ref(), &view);
                gl.active_texture(glow::TEXTURE0);
                gl.bind_texture(glow::TEXTURE_2D, Some(texture));
                mesh.draw();
                gl.bind_texture(glow::TEXTURE_2D, None);
                gl.use_program(None);
            }
        })
    }
}

/// Returns the matrix of the cube's two rotations (about its vertical axis, then towards the eye), in column-major order.
fn turn([about, towards]: [f32; 2]) -> [f32; 9] {
    let ((sin_a, cos_a), (sin_t, cos_t)) = (about.sin_cos(), towards.sin_cos());
    [cos_a, sin_t * sin_a, -cos_t * sin_a, 0.0, cos_t, sin_t, sin_a, -sin_t * cos_a, cos_t * cos_a]
}

/// Returns the vertices of the cube's six faces, each of which consists of two triangles. The picture is upright on each face.
fn faces() -> Vec<Vertex> {
    let faces: [([f32; 3], [f32; 3], [f32; 3]); 6] = [
        ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]),
        ([-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
        ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]),
        ([0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
    ];
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    let vertex = |(normal, right, up): ([f32; 3], [f32; 3], [f32; 3]), (x, y): (f32, f32)| {
        let [px, py, pz] = std::array::from_fn(|n| normal[n] + x * right[n] + y * up[n]);
        [px, py, pz, normal[0], normal[1], normal[2], (x + 1.0) / 2.0, (1.0 - y) / 2.0]
    };
    faces.into_iter().flat_map(|face| corners.map(|corner| vertex(face, corner))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gl_window::read_pixels;
    use opengl::headless::Headless;
    use opengl::texture;

    #[test]
    fn faces_look_outward_and_turns_keep_lengths() {
        let faces = faces();
        assert_eq!(faces.len(), 36);
        for triangle in faces.chunks(3) {
            let side = |n: usize| -> [f32; 3] { std::array::from_fn(|d| triangle[n][d] - triangle[0][d]) };
            let (a, b) = (side(1), side(2));
            let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
            let outward: f32 = cross.iter().zip(&triangle[0][3..6]).map(|(c, n)| c * n).sum();
            assert!(outward > 0.0, "{triangle:?}");
        }
        for column in turn([0.7, -0.3]).chunks(3) {
            let length: f32 = column.iter().map(|v| v * v).sum();
            assert!((length - 1.0).abs() < 1e-6);
        }
    }

    /// Tests that the front face hides all others, whatever the order in which the faces are drawn.
    #[test]
    fn what_is_behind_is_hidden() {
        let Ok(headless) = Headless::new() else {
            eprintln!("There is no OpenGL without a display: nothing is tested.");
            return;
        };
        let gl = &headless.gl;
        let mut cube = Cube::new(gl).unwrap();
        let texture = texture::RGBA8.create(gl, 2, 1).unwrap();
        // Red at the left, green at the right of each face.
        texture::RGBA8.fill(gl, texture, (2, 1), &[255, 0, 0, 255, 0, 255, 0, 255]);
        // SAFETY: the context is current, and the texture is this context's.
        unsafe {
            gl.bind_texture(glow::TEXTURE_2D, Some(texture));
            for filter in [glow::TEXTURE_MIN_FILTER, glow::TEXTURE_MAG_FILTER] {
                gl.tex_parameter_i32(glow::TEXTURE_2D, filter, glow::NEAREST as i32);
            }
        }
        // The faces drawn first, last and in between face the eye in turn.
        let quarter = std::f32::consts::FRAC_PI_2;
        for angles in [[0.0, 0.0], [2.0 * quarter, 0.0], [quarter, 0.0], [3.0 * quarter, 0.0], [0.0, quarter]]
        {
            let at = Viewport { x: 0, y: 0, width: 64, height: 64 };
            // A context without a surface has nothing to copy to: the pixels are read where they were drawn.
            cube.draw(at, angles, texture).unwrap();
            let read = read_pixels(gl, Some(cube.depth.framebuffer), (64, 64)).unwrap();
            let pixel = |x: usize, y: usize| &read[(y * 64 + x) * 4..][..3];
            for y in [24, 32, 40] {
                let (left, right) = (pixel(24, y), pixel(40, y));
                assert!(left[0] > 128 && left[1] == 0, "{angles:?}: {left:?} at the left of row {y}");
                assert!(right[1] > 128 && right[0] == 0, "{angles:?}: {right:?} at the right of row {y}");
            }
            let ground = (BACKGROUND_GREY * 255.0).round() as u8;
            assert!(pixel(0, 0).iter().all(|value| value.abs_diff(ground) <= 1), "the ground");
        }
    }
}
