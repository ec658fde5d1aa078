//! A reproducible picture of walking figures, drawn without a window, for `snapshot` and tests.

use std::sync::Arc;

use glow::HasContext as _;

use super::camera::Camera;
use super::detail::Detail;
use super::world::{World, WorldView};
use crate::gl_window::read_pixels;
use base::error::Result;
use engine::present::Viewport;
use ladders::cloth::chain::Chain;
use opencl::cl::ClContext;
use opencl::watch;
use opengl::texture;
use video::Orientation;

/// Width and height of the picture.
pub(crate) const SIZE: (u32, u32) = (1280, 720);
/// The number of simulation steps of 1/60 s before the picture is drawn.
const STEPS: usize = 100;

/// Draws one figure with the picture `rgba`, of `size` pixels, on its shirt. Returns RGBA of [`SIZE`], top row first. The
/// OpenGL context must be current.
///
/// # Errors
/// If the device or an OpenGL call fails.
pub(crate) fn draw(
    gl: &Arc<glow::Context>,
    cl: Option<&ClContext>,
    size: (u32, u32),
    rgba: &[u8],
) -> Result<Vec<u8>> {
    let mut chain = Chain::new(1, cl)?;
    let vertices = simulate(&mut chain)?;
    let mut world = World::new(gl, Detail::Fine)?;
    let drawn = draw_figures(gl, &mut world, (&chain, &vertices[..]), size, rgba);
    world.destroy();
    drawn
}

/// Simulates [`STEPS`] steps of the walking figures, and returns their vertices.
fn simulate(chain: &mut Chain) -> Result<Vec<u8>> {
    for _ in 0..STEPS {
        chain.step(1.0 / 60.0, None)?;
        chain.finish()?;
        watch::progress();
    }
    let mut vertices = Vec::new();
    chain.read_vertices(&mut vertices)?;
    Ok(vertices)
}

/// Draws the figures of `chain` with these vertices, and with a picture on their shirts: `rgba`, of `size` pixels. Returns RGBA
/// of [`SIZE`], top row first.
fn draw_figures(
    gl: &Arc<glow::Context>,
    world: &mut World,
    (chain, vertices): (&Chain, &[u8]),
    size: (u32, u32),
    rgba: &[u8],
) -> Result<Vec<u8>> {
    world.set(chain.army(), vertices)?;
    let worn = texture::create(gl, size.0, size.1)?;
    texture::fill(gl, worn, size, rgba);
    let look = WorldView {
        camera: &Camera::new(chain.army()),
        seconds: chain.seconds(),
        picture: Some(worn),
        orientation: Orientation::default(),
    };
    let (width, height) = SIZE;
    let at = Viewport { x: 0, y: 0, width: width as i32, height: height as i32 };
    let drawn = world.draw(at, &look).and_then(|()| read_pixels(gl, Some(world.framebuffer()), SIZE));
    // SAFETY: the context is current, and the texture is not used again.
    unsafe { gl.delete_texture(worn) };
    drawn
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
