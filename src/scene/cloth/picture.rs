//! A reproducible picture of walking figures, drawn without a window, for `snapshot` and tests.

use std::sync::Arc;

use super::army::Detail;
use super::camera::Camera;
use super::world::World;
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
/// The number of simulation steps, of 1/60 s each, that are made before the picture is drawn.
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
    world.set(chain.army(), &vertices)?;
    let worn = picture_texture(gl, size, rgba)?;
    draw_figures(gl, &mut world, &chain, worn)
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

/// Creates a texture of `size` pixels with the picture `rgba`.
fn picture_texture(gl: &Arc<glow::Context>, size: (u32, u32), rgba: &[u8]) -> Result<glow::Texture> {
    let texture = texture::RGBA8.create(gl, size.0, size.1)?;
    texture::RGBA8.fill(gl, texture, size, rgba);
    Ok(texture)
}

/// Draws the figures of `chain`, whose vertices `world` contains already, with the picture `worn` on their shirts. Returns RGBA
/// of [`SIZE`], top row first.
fn draw_figures(
    gl: &glow::Context,
    world: &mut World,
    chain: &Chain,
    worn: glow::Texture,
) -> Result<Vec<u8>> {
    let (width, height) = SIZE;
    let at = Viewport { x: 0, y: 0, width: width as i32, height: height as i32 };
    let camera = Camera::new(chain.army());
    world.draw(at, &camera, chain.seconds, Some(worn), Orientation::default())?;
    read_pixels(gl, Some(world.depth.framebuffer), SIZE)
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
