//! Compiles and links OpenGL programs from shaders without a `#version` line, for OpenGL 3.0 and OpenGL ES 3.0 or later.

use glow::HasContext as _;

use base::error::{Error, Result};

/// The names of the vertex attributes. The index is the attribute's location in all programs, so that one vertex array serves
/// several programs.
pub const ATTRIBUTES: [&str; 3] = ["position", "normal", "texel"];

/// Compiles and links a vertex and a fragment shader, each given as its name and its source. The name of the program is used in
/// errors. The context must be current.
///
/// # Errors
/// Returns an error with the driver's log if a shader does not compile or link.
pub fn program(
    gl: &glow::Context,
    name: &str,
    vertex: (&str, &str),
    fragment: (&str, &str),
) -> Result<glow::Program> {
    let version = gl.version();
    let header = if version.is_embedded {
        "#version 300 es\nprecision highp float;\nprecision highp int;\n\
         precision highp sampler2D;\nprecision highp usampler2D;\nprecision highp sampler2DShadow;\n"
    } else if (version.major, version.minor) >= (3, 3) {
        "#version 330 core\n"
    } else {
        "#version 130\n"
    };
    let shaders = [(glow::VERTEX_SHADER, vertex), (glow::FRAGMENT_SHADER, fragment)];
    // SAFETY: the context is current on this thread, and the objects are this context's.
    unsafe {
        let program = gl.create_program().map_err(|e| build_error(name, e))?;
        for (kind, (name, source)) in shaders {
            let shader = gl.create_shader(kind).map_err(|e| build_error(name, e))?;
            gl.shader_source(shader, &format!("{header}{source}"));
            gl.compile_shader(shader);
            if !gl.get_shader_compile_status(shader) {
                return Err(build_error(name, gl.get_shader_info_log(shader)));
            }
            gl.attach_shader(program, shader);
            gl.delete_shader(shader);
        }
        for (at, name) in (0..).zip(ATTRIBUTES) {
            gl.bind_attrib_location(program, at, name);
        }
        gl.link_program(program);
        if !gl.get_program_link_status(program) {
            return Err(build_error(name, gl.get_program_info_log(program)));
        }
        Ok(program)
    }
}

/// Returns the error for the shader or program `name` that could not be built, with the driver's log.
pub fn build_error(name: &str, log: impl std::fmt::Display) -> Error {
    Error::new(
        format!("The shader '{name}' could not be built."),
        log.to_string().trim().to_owned(),
        "Update the OpenGL driver; clreel needs OpenGL 3.0 or OpenGL ES 3.0.",
    )
}
