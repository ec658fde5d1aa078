//! Properties of the renderer of a current OpenGL context.

use glow::HasContext as _;

use base::error::Error;

/// Returns true if OpenGL renders on the CPU, as Mesa's software renderers and SwiftShader do. The context must be current.
pub fn is_software(gl: &glow::Context) -> bool {
    // SAFETY: the context is current on this thread.
    let renderer = unsafe { gl.get_parameter_string(glow::RENDERER) }.to_lowercase();
    ["llvmpipe", "softpipe", "swrast", "software rasterizer", "swiftshader"]
        .iter()
        .any(|name| renderer.contains(name))
}

/// Returns the maximum width and height of a texture, in pixels. The context must be current.
pub fn max_texture_size(gl: &glow::Context) -> u32 {
    // SAFETY: the context is current on this thread.
    unsafe { gl.get_parameter_i32(glow::MAX_TEXTURE_SIZE) }.max(0) as u32
}

/// Returns the error for a picture that is too large for a texture; `limit` is [`max_texture_size`].
pub fn too_large(width: u32, height: u32, limit: u32) -> Error {
    Error::new(
        "The picture is too large to be shown.",
        format!(
            "It has {width}×{height} pixels, and the OpenGL driver's largest texture has {limit}×{limit}."
        ),
        "Scale the movie down first, for example with ffmpeg -vf scale.",
    )
}
