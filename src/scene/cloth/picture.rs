//! The army without a window. In: a picture for the shirts, a device or none. Out: pixels, the same ones each time.

use std::sync::Arc;

use glow::HasContext as _;

use super::camera::Camera;
use super::detail::Detail;
use super::world::{Look, World};
use base::error::Result;
use base::memory::picture_memory;
use engine::present::Viewport;
use ladders::cloth::chain::Chain;
use opencl::cl::ClContext;
use opencl::watch;
use opengl::texture;
use video::Orientation;

/// Width and height of the picture.
pub(crate) const SIZE: (u32, u32) = (1280, 720);
/// It walks so many steps of a sixtieth of a second before that.
const STEPS: usize = 100;

/// One figure that wears `rgba`, as many pixels as `size` says: RGBA of [`SIZE`], top row first. The context must be current.
///
/// # Errors
/// When the device fails, or OpenGL refuses what it needs.
pub(crate) fn draw(
    gl: &Arc<glow::Context>,
    cl: Option<&ClContext>,
    size: (u32, u32),
    rgba: &[u8],
) -> Result<Vec<u8>> {
    let mut chain = Chain::new(1, cl)?;
    let vertices = walked(&mut chain)?;
    let mut world = World::new(gl, Detail::Fine)?;
    let drawn = drawn(gl, &mut world, (&chain, &vertices[..]), size, rgba);
    world.destroy();
    drawn
}

/// The vertices of an army that has walked for a while.
fn walked(chain: &mut Chain) -> Result<Vec<u8>> {
    for _ in 0..STEPS {
        chain.step(1.0 / 60.0, None)?;
        chain.finish()?;
        watch::progress();
    }
    let mut vertices = Vec::new();
    chain.read_vertices(&mut vertices)?;
    Ok(vertices)
}

/// A picture of an army, by its vertices.
fn drawn(
    gl: &Arc<glow::Context>,
    world: &mut World,
    (chain, vertices): (&Chain, &[u8]),
    size: (u32, u32),
    rgba: &[u8],
) -> Result<Vec<u8>> {
    world.set(chain.army(), vertices)?;
    let worn = texture::create(gl, size.0, size.1)?;
    texture::fill(gl, worn, size, rgba);
    let look = Look {
        camera: &Camera::new(chain.army()),
        seconds: chain.seconds(),
        picture: Some(worn),
        orientation: Orientation::default(),
    };
    let (width, height) = SIZE;
    let at = Viewport { x: 0, y: 0, width: width as i32, height: height as i32 };
    let drawn = world.draw(at, &look).and_then(|()| read(gl, world));
    // SAFETY: the context is current, and the texture is not used again.
    unsafe { gl.delete_texture(worn) };
    drawn
}

/// The picture that a world has drawn, top row first.
pub(super) fn read(gl: &glow::Context, world: &World) -> Result<Vec<u8>> {
    let (width, height) = SIZE;
    let (mut read, mut rgba) = (picture_memory(width, height)?, picture_memory(width, height)?);
    // SAFETY: the context is current, and the slice has room for width·height RGBA8 pixels.
    unsafe {
        gl.bind_framebuffer(glow::FRAMEBUFFER, Some(world.framebuffer()));
        gl.pixel_store_i32(glow::PACK_ALIGNMENT, 4);
        let pixels = glow::PixelPackData::Slice(Some(&mut read));
        gl.read_pixels(0, 0, width as i32, height as i32, glow::RGBA, glow::UNSIGNED_BYTE, pixels);
        gl.bind_framebuffer(glow::FRAMEBUFFER, None);
    }
    let row = width as usize * 4;
    for (to, from) in rgba.chunks_exact_mut(row).zip(read.rchunks_exact(row)) {
        to.copy_from_slice(from);
    }
    Ok(rgba)
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
