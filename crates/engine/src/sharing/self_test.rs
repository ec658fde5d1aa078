//! The proof that two APIs share a texture. In: a context that may share. Out: nothing, or why it does not.
//!
//! OpenCL writes a pattern and OpenGL reads it, then the other way round. Odd sizes, so that rows have gaps where a
//! driver keeps gaps.

use glow::HasContext as _;

use super::{OnGl, Shared};
use opencl::cl::ClContext;
use opengl::read_texture::read_texture;
use opengl::texture;

const WIDTH: u32 = 67;
const HEIGHT: u32 = 35;

/// Two patterns that differ in every byte.
fn pattern(seed: u8) -> Vec<u8> {
    (0..WIDTH * HEIGHT * 4).map(|i| (i as u8).wrapping_mul(31).wrapping_add((i >> 8) as u8) ^ seed).collect()
}

/// Tries a texture in both directions.
///
/// # Errors
/// One sentence without its full stop: what went wrong, and where.
pub(super) fn run(cl: &ClContext, gl: &OnGl) -> Result<(), String> {
    let texture = gl.call(|gl| {
        let texture = texture::create(gl, WIDTH, HEIGHT);
        finish(gl);
        texture
    })?;
    let texture = texture.map_err(|e| e.why)?;
    let result = both_ways(cl, gl, texture);
    // An error may have left commands behind.
    let _ = cl.queue.finish();
    // SAFETY: the context is current there, and nothing uses the texture any more: its memory object is gone, and the
    // queue is idle.
    gl.call(move |gl| unsafe { gl.delete_texture(texture) })?;
    result
}

fn finish(gl: &glow::Context) {
    // SAFETY: the context is current.
    unsafe { gl.finish() };
}

fn both_ways(cl: &ClContext, gl: &OnGl, texture: glow::Texture) -> Result<(), String> {
    let shared = Shared::new(cl, texture, WIDTH, HEIGHT)
        .map_err(|e| format!("the driver does not share its textures: {}", sentence(&e.why)))?;
    let failed = |what: &str| {
        let what = what.to_owned();
        move |e: base::error::Error| format!("{what} failed in a test: {}", sentence(&e.why))
    };
    let (from_cl, from_gl) = (pattern(0x00), pattern(0xff));

    let _acquired = shared.acquire(cl).map_err(failed("handing a texture to OpenCL"))?;
    shared.picture().write(&cl.queue, &from_cl).map_err(failed("writing into a shared texture"))?;
    let _released = shared.release(cl).map_err(failed("handing a texture back to OpenGL"))?;
    cl.queue
        .finish()
        .map_err(|e| format!("OpenCL failed in a test of sharing: {}", opencl::cl::reason(&e)))?;
    let seen = gl.call(move |gl| read_texture(gl, texture, (WIDTH, HEIGHT)))?.map_err(|e| e.why)?;
    if seen != from_cl {
        return Err("what OpenCL wrote into a texture did not reach OpenGL in a test".to_owned());
    }

    let to_fill = from_gl.clone();
    gl.call(move |gl| {
        texture::fill(gl, texture, (WIDTH, HEIGHT), &to_fill);
        finish(gl);
    })?;
    let _acquired = shared.acquire(cl).map_err(failed("handing a texture to OpenCL"))?;
    let mut seen = vec![0; from_gl.len()];
    let read = shared.picture().read(&cl.queue, &mut seen).map_err(failed("reading a shared texture"));
    let _released = shared.release(cl).map_err(failed("handing a texture back to OpenGL"))?;
    cl.queue
        .finish()
        .map_err(|e| format!("OpenCL failed in a test of sharing: {}", opencl::cl::reason(&e)))?;
    read?;
    if seen != from_gl {
        return Err("what OpenGL wrote into a texture did not reach OpenCL in a test".to_owned());
    }
    Ok(())
}

fn sentence(why: &str) -> &str {
    why.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_patterns_differ_in_every_byte() {
        assert!(super::pattern(0).iter().zip(super::pattern(0xff)).all(|(a, b)| *a != b));
    }
}
