//! The box filter as two fragment shaders: the first sums pixels along rows, the second along columns.
//!
//! The row sums are stored in a texture of 16-bit integers, so that the result is exact. [`GlslFilter`] draws bands of rows and
//! never waits, because it shares the OpenGL context with a window that must stay responsive. [`Offscreen`] has a context of
//! its own, and waits.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use glow::HasContext as _;

use base::error::{Error, Result};
use base::timing::ms_since;
use box_filter::shaders::Shaders;
use compute::sample::Sample;
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use opengl::timer::{GlTimer, Timing};
use opengl::{shader, texture};

/// The compiled shaders of the box filter, and the OpenGL objects that they draw with. The OpenGL context must be current whenever the
/// filter is used or dropped.
pub struct GlslFilter {
    pub(crate) gl: Arc<glow::Context>,
    passes: [Pass; 2],
    vertex_array: glow::VertexArray,
    framebuffer: glow::Framebuffer,
    sums: Cell<Option<(glow::Texture, (u32, u32))>>,
    /// The timer of the filter's drawing, by OpenGL's timer queries or the host's clock.
    pub(crate) timer: GlTimer,
    largest: (u32, u32),
}

/// Returns the error for a picture that the shaders cannot filter.
pub(crate) fn cannot_filter(why: impl Into<String>) -> Error {
    Error::new("'glsl' cannot filter this picture.", why, "Choose another variant.")
}

/// The shader program of one pass of the box filter, and the location of its radius.
struct Pass {
    program: glow::Program,
    radius: Option<glow::UniformLocation>,
}

/// The textures and the filter radius for one picture that the shaders filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawing {
    /// The texture with the unfiltered picture.
    pub source: glow::Texture,
    /// The texture that receives the filtered picture; it may be `source`.
    pub target: glow::Texture,
    pub size: (u32, u32),
    pub radius: u32,
}

impl GlslFilter {
    /// Compiles the shaders in the current OpenGL context.
    ///
    /// # Errors
    /// If a shader does not build, with the driver's log.
    pub fn new(gl: Arc<glow::Context>) -> Result<Self> {
        let vertex = ("box.vert", include_str!("../../../shaders/box.vert"));
        let pass = |name, source| {
            let program = shader::program(&gl, name, vertex, (name, source))?;
            // SAFETY: the context is current, and the program is its own.
            let radius = unsafe { gl.get_uniform_location(program, "radius") };
            Ok::<_, Error>(Pass { program, radius })
        };
        let passes = [
            pass("box_horizontal.frag", include_str!("../../../shaders/box_horizontal.frag"))?,
            pass("box_vertical.frag", include_str!("../../../shaders/box_vertical.frag"))?,
        ];
        let mut largest = [0; 2];
        // SAFETY: the context is current; the driver writes two numbers.
        let (vertex_array, framebuffer) = unsafe {
            gl.get_parameter_i32_slice(glow::MAX_VIEWPORT_DIMS, &mut largest);
            (gl.create_vertex_array(), gl.create_framebuffer())
        };
        let made = |e| shader::build_error("box filter", e);
        Ok(Self {
            passes,
            vertex_array: vertex_array.map_err(made)?,
            framebuffer: framebuffer.map_err(made)?,
            sums: Cell::new(None),
            timer: GlTimer::new(gl.clone()),
            largest: (largest[0].max(0) as u32, largest[1].max(0) as u32),
            gl,
        })
    }

    /// Creates the texture for the row sums of pictures of `size` pixels, unless it exists already.
    ///
    /// # Errors
    /// If the picture is larger than OpenGL draws.
    pub(crate) fn create_sums_texture(&self, size: (u32, u32)) -> Result<()> {
        let (width, height) = self.largest;
        if size.0 > width || size.1 > height {
            let drawn = format!("OpenGL draws up to {width}×{height} pixels here");
            return Err(cannot_filter(format!("{drawn}, the picture is {}×{}.", size.0, size.1)));
        }
        if self.sums.get().is_some_and(|(_, of)| of == size) {
            return Ok(());
        }
        let gl = &self.gl;
        // SAFETY: the context is current; no pixels are passed.
        unsafe {
            if let Some((old, _)) = self.sums.take() {
                gl.delete_texture(old);
            }
            let texture = gl.create_texture().map_err(|e| shader::build_error("box filter", e))?;
            gl.bind_texture(glow::TEXTURE_2D, Some(texture));
            for filter in [glow::TEXTURE_MIN_FILTER, glow::TEXTURE_MAG_FILTER] {
                gl.tex_parameter_i32(glow::TEXTURE_2D, filter, glow::NEAREST as i32);
            }
            gl.tex_parameter_i32(glow::TEXTURE_2D, glow::TEXTURE_MAX_LEVEL, 0);
            let (format, kind, none) =
                (glow::RGBA_INTEGER, glow::UNSIGNED_SHORT, glow::PixelUnpackData::Slice(None));
            let (w, h) = (size.0 as i32, size.1 as i32);
            gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
            gl.tex_image_2d(glow::TEXTURE_2D, 0, glow::RGBA16UI as i32, w, h, 0, format, kind, none);
            gl.bind_texture(glow::TEXTURE_2D, None);
            self.sums.set(Some((texture, size)));
        }
        Ok(())
    }

    /// Calls `draw`, and starts to measure the time of its OpenGL commands. Returns the pending measurement. Never waits.
    ///
    /// # Errors
    /// If `draw` returns one, or the driver gives no fence.
    pub(crate) fn time_drawing(&self, draw: impl FnOnce() -> Result<()>) -> Result<Timing> {
        let (drawn, timing) = self.timer.time(draw);
        drawn?;
        timing.ok_or_else(|| shader::build_error("box filter", "the driver gave no fence".to_owned()))
    }

    /// Draws some rows of one pass: pass 0 from `source` to the texture of the row sums, pass 1 from that texture to `target`. The commands
    /// run after `glFlush` at the latest.
    ///
    /// # Errors
    /// If the driver cannot draw into the textures.
    pub(crate) fn draw(
        &self,
        pass: usize,
        rows: Range<u32>,
        Drawing { source, target, size, radius }: Drawing,
    ) -> Result<()> {
        let gl = &self.gl;
        let sums = self.sums.get().map(|(texture, _)| texture);
        let (from, to) = if pass == 0 { (Some(source), sums) } else { (sums, Some(target)) };
        let Pass { program, radius: uniform } = &self.passes[pass];
        // SAFETY: the context is current on this thread; all objects are alive and belong to this context. Afterwards, the
        // state that others rely on has OpenGL's initial values; they set the rest themselves.
        unsafe {
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.framebuffer));
            let point = glow::COLOR_ATTACHMENT0;
            gl.framebuffer_texture_2d(glow::FRAMEBUFFER, point, glow::TEXTURE_2D, to, 0);
            let complete = gl.check_framebuffer_status(glow::FRAMEBUFFER) == glow::FRAMEBUFFER_COMPLETE;
            if complete {
                let off = [glow::BLEND, glow::CULL_FACE, glow::DEPTH_TEST, glow::STENCIL_TEST, glow::DITHER];
                off.into_iter().for_each(|state| gl.disable(state));
                gl.enable(glow::SCISSOR_TEST);
                gl.scissor(0, rows.start as i32, size.0 as i32, rows.len() as i32);
                gl.viewport(0, 0, size.0 as i32, size.1 as i32);
                gl.color_mask(true, true, true, true);
                gl.use_program(Some(*program));
                gl.uniform_1_i32(uniform.as_ref(), radius as i32);
                gl.bind_vertex_array(Some(self.vertex_array));
                gl.active_texture(glow::TEXTURE0);
                gl.bind_texture(glow::TEXTURE_2D, from);
                gl.draw_arrays(glow::TRIANGLES, 0, 3);
                gl.bind_texture(glow::TEXTURE_2D, None);
                gl.bind_vertex_array(None);
                gl.use_program(None);
                gl.disable(glow::SCISSOR_TEST);
                gl.enable(glow::DITHER);
            }
            // The next pass may not read a texture that is attached to a framebuffer.
            gl.framebuffer_texture_2d(glow::FRAMEBUFFER, point, glow::TEXTURE_2D, None, 0);
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
            if !complete {
                let why = "The driver does not draw into such textures.";
                return Err(cannot_filter(why));
            }
        }
        Ok(())
    }
}

impl Drop for GlslFilter {
    fn drop(&mut self) {
        // SAFETY: the context is current (see the type); the objects are its own and not used again.
        unsafe {
            self.passes.iter().for_each(|pass| self.gl.delete_program(pass.program));
            self.gl.delete_vertex_array(self.vertex_array);
            self.gl.delete_framebuffer(self.framebuffer);
            if let Some((sums, _)) = self.sums.take() {
                self.gl.delete_texture(sums);
            }
        }
    }
}

/// Creates an OpenGL context without a window, for the box filter as shaders.
///
/// # Errors
/// If there is no OpenGL driver.
pub fn headless() -> Result<Headless> {
    Headless::new().map_err(|why| {
        let hint =
            "Install an OpenGL driver (on Debian and Ubuntu the packages libgl1-mesa-dri and libegl1).";
        Error::new("'glsl' cannot run without OpenGL.", why, hint)
    })
}

/// The box filter in an OpenGL context of its own, without a window. It filters pictures of one size, and must be used on one thread.
pub struct Offscreen {
    source: glow::Texture,
    target: glow::Texture,
    size: (u32, u32),
    filter: GlslFilter,
    /// The OpenGL context, which is current.
    pub headless: Headless,
}

impl Offscreen {
    /// Creates an OpenGL context without a window, and in it the shaders of the box filter and the textures for pictures of `width` by
    /// `height` pixels. The context stays current on the calling thread.
    ///
    /// # Errors
    /// If there is no OpenGL driver, a shader does not build, or pictures of this size are larger than the driver can draw.
    pub fn new(width: u32, height: u32) -> Result<Self> {
        let headless = headless()?;
        let gl = &headless.gl;
        let filter = GlslFilter::new(gl.clone())?;
        filter.create_sums_texture((width, height))?;
        let create = || texture::RGBA8.create(gl, width, height);
        let [source, target] = [create()?, create()?];
        Ok(Self { source, target, size: (width, height), filter, headless })
    }
}

impl Shaders for Offscreen {
    /// Uploads the picture to filter, and waits until OpenGL has received it.
    fn load(&self, rgba: &[u8]) {
        texture::RGBA8.fill(&self.headless.gl, self.source, self.size, rgba);
        // SAFETY: the context is current.
        unsafe { self.headless.gl.finish() };
    }

    /// Fills the target texture with `rgba`, which differs from the expected result, so that a pixel that the next run does not
    /// write is detected.
    fn poison(&self, rgba: &[u8]) {
        texture::RGBA8.fill(&self.headless.gl, self.target, self.size, rgba);
    }

    /// Filters the picture once with both passes, waits until OpenGL has finished, and returns the times.
    fn run(&self, radius: u32) -> Result<Sample> {
        let _host = opencl::watch::on_host();
        let began = Instant::now();
        let timing = self.filter.time_drawing(|| {
            let picture = Drawing { source: self.source, target: self.target, size: self.size, radius };
            (0..2).try_for_each(|pass| self.filter.draw(pass, 0..self.size.1, picture))
        })?;
        // SAFETY: the context is current.
        unsafe { self.headless.gl.finish() };
        let wall_ms = ms_since(began);
        let took = loop {
            match timing.finished() {
                Some(took) => break took,
                None => std::thread::yield_now(),
            }
        };
        Ok(Sample { device_ms: took.device_ms, dispatch_ms: None, wall_ms })
    }

    /// Reads the filtered picture back to host memory.
    fn read(&self) -> Result<Vec<u8>> {
        read_texture(&self.headless.gl, self.target, self.size)
    }
}

impl Drop for Offscreen {
    fn drop(&mut self) {
        // SAFETY: the context is current on the thread that created this object, which is the only thread that has it.
        unsafe {
            self.headless.gl.delete_texture(self.source);
            self.headless.gl.delete_texture(self.target);
        }
    }
}
