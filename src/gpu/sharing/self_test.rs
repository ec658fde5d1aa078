//! The proof that two APIs share a texture. In: a context that may share. Out: which thread is to release textures, or why
//! nothing is shared.
//!
//! OpenCL writes a pattern and OpenGL reads it, then the other way round. Odd sizes, so that rows have gaps where a
//! driver keeps gaps. Where the release takes the driver long, a thread without an OpenGL context is tried for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glow::HasContext as _;

use super::releaser::Releaser;
use super::texture::{self, Shared};
use crate::gpu::cl::ClContext;
use crate::present::read_texture;

const WIDTH: u32 = 67;
const HEIGHT: u32 = 35;
/// A call of the release that takes longer than this is worth a thread of its own.
const SLOW: Duration = Duration::from_micros(100);
/// Releases of each kind that are timed; the shortest counts.
const TURNS: u8 = 3;

/// Two patterns that differ in every byte.
fn pattern(seed: u8) -> Vec<u8> {
    (0..WIDTH * HEIGHT * 4).map(|i| (i as u8).wrapping_mul(31).wrapping_add((i >> 8) as u8) ^ seed).collect()
}

/// Tries a texture in both directions. The OpenGL context must be current. Returns whether a thread without one releases
/// textures faster, and correctly.
///
/// # Errors
/// One sentence without its full stop: what went wrong, and where.
pub(super) fn run(cl: &ClContext, gl: &Arc<glow::Context>) -> Result<bool, String> {
    let texture = texture::create(gl, WIDTH, HEIGHT).map_err(|e| e.why)?;
    let result = both_ways(cl, gl, texture).map(|shared| is_faster_elsewhere(cl, gl, texture, &shared));
    // An error may have left commands behind.
    let _ = cl.queue.finish();
    // SAFETY: the context is current, and nothing uses the texture any more: its memory object is gone, and the
    // queue is idle.
    unsafe { gl.delete_texture(texture) };
    result
}

fn both_ways(cl: &ClContext, gl: &Arc<glow::Context>, texture: glow::Texture) -> Result<Shared, String> {
    let shared = Shared::new(cl, texture, WIDTH, HEIGHT)
        .map_err(|e| format!("the driver does not share its textures: {}", sentence(&e.why)))?;
    let failed = |what: &str| {
        let what = what.to_owned();
        move |e: crate::error::Error| format!("{what} failed in a test: {}", sentence(&e.why))
    };
    let (from_cl, from_gl) = (pattern(0x00), pattern(0xff));

    // SAFETY: the context is current.
    unsafe { gl.finish() };
    let _acquired = shared.acquire(cl).map_err(failed("handing a texture to OpenCL"))?;
    shared.picture().write(&cl.queue, &from_cl).map_err(failed("writing into a shared texture"))?;
    let _released = shared.release(cl).map_err(failed("handing a texture back to OpenGL"))?;
    cl.queue
        .finish()
        .map_err(|e| format!("OpenCL failed in a test of sharing: {}", crate::gpu::cl::reason(&e)))?;
    let seen = read_texture(gl, texture, (WIDTH, HEIGHT)).map_err(|e| e.why)?;
    if seen != from_cl {
        return Err("what OpenCL wrote into a texture did not reach OpenGL in a test".to_owned());
    }

    texture::fill(gl, texture, (WIDTH, HEIGHT), &from_gl);
    // SAFETY: the context is current.
    unsafe { gl.finish() };
    let _acquired = shared.acquire(cl).map_err(failed("handing a texture to OpenCL"))?;
    let mut seen = vec![0; from_gl.len()];
    let read = shared.picture().read(&cl.queue, &mut seen).map_err(failed("reading a shared texture"));
    let _released = shared.release(cl).map_err(failed("handing a texture back to OpenGL"))?;
    cl.queue
        .finish()
        .map_err(|e| format!("OpenCL failed in a test of sharing: {}", crate::gpu::cl::reason(&e)))?;
    read?;
    if seen != from_gl {
        return Err("what OpenGL wrote into a texture did not reach OpenCL in a test".to_owned());
    }
    Ok(shared)
}

/// Whether a thread without an OpenGL context releases `shared` correctly, and in half of the time that it takes here.
/// `CLREEL_RELEASE` says otherwise: `here`, or `thread` where it is correct, whatever it takes.
fn is_faster_elsewhere(
    cl: &ClContext,
    gl: &Arc<glow::Context>,
    texture: glow::Texture,
    shared: &Shared,
) -> bool {
    let forced = std::env::var("CLREEL_RELEASE").ok();
    if forced.as_deref() == Some("here") {
        return false;
    }
    let forced = forced.as_deref() == Some("thread");
    // What fails here fails again when a frame is on its way, and is told then.
    let Some(here) = shortest(|turn| release_here(cl, gl, shared, turn)) else { return false };
    if here < SLOW && !forced {
        return false;
    }
    let Ok(releaser) = Releaser::new(cl, Arc::new(|| ())) else { return false };
    let there = shortest(|turn| release_there(cl, gl, texture, shared, &releaser, turn));
    there.is_some_and(|there| forced || there < here / 2)
}

/// The shortest time of a few turns; `None` where one fails.
fn shortest(turn: impl FnMut(u8) -> Option<Duration>) -> Option<Duration> {
    (0..TURNS).map(turn).try_fold(Duration::MAX, |shortest, took| Some(shortest.min(took?)))
}

/// Writes a pattern of its own for each turn into the acquired texture.
fn acquire_and_write(cl: &ClContext, gl: &glow::Context, shared: &Shared, turn: u8) -> Option<Vec<u8>> {
    let wanted = pattern(turn.wrapping_add(1).wrapping_mul(0x35));
    // SAFETY: the context is current.
    unsafe { gl.finish() };
    let _acquired = shared.acquire(cl).ok()?;
    if shared.picture().write(&cl.queue, &wanted).is_err() {
        let _ = shared.release(cl);
        return None;
    }
    Some(wanted)
}

fn release_here(cl: &ClContext, gl: &glow::Context, shared: &Shared, turn: u8) -> Option<Duration> {
    acquire_and_write(cl, gl, shared, turn)?;
    let began = Instant::now();
    let _released = shared.release(cl).ok()?;
    let took = began.elapsed();
    cl.queue.finish().ok()?;
    Some(took)
}

fn release_there(
    cl: &ClContext,
    gl: &glow::Context,
    texture: glow::Texture,
    shared: &Shared,
    releaser: &Releaser,
    turn: u8,
) -> Option<Duration> {
    let wanted = acquire_and_write(cl, gl, shared, 0x80 | turn)?;
    match releaser.release(shared).wait()? {
        Ok(released) => {
            cl.queue.finish().ok()?;
            let seen = read_texture(gl, texture, (WIDTH, HEIGHT)).ok()?;
            (seen == wanted).then(|| released.ended.duration_since(released.began))
        }
        Err(_) => {
            let _ = shared.release(cl);
            None
        }
    }
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
