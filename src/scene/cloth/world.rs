//! Drawing of the figures with OpenGL: lit, in their shirts, on a floor with shadows.

use std::sync::Arc;

use glow::HasContext as _;

use super::army::{Army, Detail, LendResult};
use super::camera::{Camera, LIGHT, Matrix};
use super::walker::Report;
use crate::scene::mesh::{DepthBuffer, Mesh, Vertex};
use base::error::{Error, Result};
use engine::present::{Viewport, texture_matrix};
use ladders::cloth::geometry::{Point, dot, scale};
use ladders::cloth::model::{Figure, SPEED};
use opengl::shader;
use opengl::texture::{self, PixelFormat};
use video::Orientation;

/// The colour of the background: red, green, blue from 0 to 1.
const BACKGROUND: Point = [0.105, 0.115, 0.135];
/// Half the width of the floor, in metres.
const FLOOR: f32 = 60.0;
/// The kind of object for the shaders: the part of the floor on which shadows may fall.
const FLOORS: usize = 0;
/// The kind of object for the shaders: bodies.
const BODIES: usize = 1;
/// The kind of object for the shaders: sleeves.
const SLEEVES: usize = 2;
/// The kind of object for the shaders: shirts.
const SHIRTS: usize = 3;
/// The kind of object for the shaders: the part of the floor on which no shadow can fall.
const BRIGHT_FLOORS: usize = 4;
/// The OpenGL objects of the scene: floor, figures, shadow map and shader programs. Except for those of an army that is
/// replaced, they live until their context is destroyed, which deletes them.
pub(super) struct World {
    gl: Arc<glow::Context>,
    detail: Detail,
    /// The shader program of each kind of object.
    programs: Vec<glow::Program>,
    /// The depth buffer, whose framebuffer contains the picture that was drawn last.
    pub(super) depth: DepthBuffer,
    shadow: Shadow,
    floor: Mesh,
    /// A texture of one pixel with the colour of shirts without a picture: light grey.
    bare: glow::Texture,
    figure: Figure,
    army: Option<Army>,
    /// True to draw without shadows. A test sets it to see that the comparison with the stored picture detects this fault.
    #[cfg(test)]
    pub(super) without_shadows: bool,
}

impl World {
    /// Creates the OpenGL objects of the scene at this level of detail, without figures.
    ///
    /// # Errors
    /// If the shaders do not compile, or OpenGL cannot create the objects.
    pub(super) fn new(gl: &Arc<glow::Context>, detail: Detail) -> Result<Self> {
        let mut programs = Vec::new();
        for kind in [FLOORS, BODIES, SLEEVES, SHIRTS, BRIGHT_FLOORS] {
            let (kind, may_be_shaded) = if kind == BRIGHT_FLOORS { (FLOORS, false) } else { (kind, true) };
            let [(vertex, of_vertices), (fragment, of_pixels)] = detail.shaders(kind, may_be_shaded);
            programs.push(shader::program(gl, "cloth", (vertex, &of_vertices), (fragment, &of_pixels))?);
        }
        let depth = DepthBuffer::new(gl.clone())?;
        let shadow = Shadow::new(gl, detail.shadow_size())?;
        let floor = Mesh::new(gl.clone(), &floor())?;
        let bare = texture::RGBA8.create(gl, 1, 1)?;
        texture::RGBA8.fill(gl, bare, (1, 1), &[201, 201, 201, 255]);
        Ok(Self {
            gl: gl.clone(),
            detail,
            programs,
            depth,
            shadow,
            floor,
            bare,
            figure: Figure::new(),
            army: None,
            #[cfg(test)]
            without_shadows: false,
        })
    }

    /// Uploads the vertices of `count` figures; returns false if their number is wrong.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn set(&mut self, count: usize, vertices: &[u8]) -> Result<bool> {
        if self.army.as_ref().is_none_or(|army| army.count != count) {
            if let Some(army) = self.army.take() {
                army.destroy();
            }
            self.army = Some(Army::new(&self.gl, &self.figure, count, self.detail)?);
        }
        self.army.as_mut().map_or(Ok(false), |army| army.set(vertices))
    }

    /// Lends a buffer for the vertices of `count` figures to the device.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn lend(&mut self, count: usize) -> Result<LendResult> {
        match self.army.as_mut().filter(|army| army.count == count) {
            Some(army) => army.lend(),
            None => Ok(LendResult::NoArmy),
        }
    }

    /// Uses the vertices of a report for drawing from now on: those in the lent buffer, or those in the report, which are
    /// uploaded. Returns false if OpenGL does not see the vertices that the device has written into the buffer; then those in
    /// the report are uploaded instead.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn take(&mut self, report: &mut Report) -> Result<bool> {
        let mut is_seen = true;
        if let Some(buffer) = report.lent.take() {
            let holds_vertices = || buffer.read(&self.gl).is_some_and(|bytes| bytes == report.vertices);
            is_seen = !report.is_written || report.vertices.is_empty() || holds_vertices();
            report.is_written &= is_seen;
            if let Some(army) = &mut self.army {
                army.take_back(&buffer, report.is_written);
            }
        }
        if !report.is_written && !report.vertices.is_empty() {
            self.set(report.army, &report.vertices)?;
        }
        Ok(is_seen)
    }

    /// Draws the scene in the rectangle `at` of the window, after the figures have walked for this time in seconds. `picture` is
    /// the picture on the shirts; `None` for shirts without a picture.
    ///
    /// # Errors
    /// If OpenGL has not enough memory.
    pub(super) fn draw(
        &mut self,
        at: Viewport,
        camera: &Camera,
        seconds: f64,
        picture: Option<glow::Texture>,
        orientation: Orientation,
    ) -> Result<()> {
        let (light, view) = (camera.light(), camera.view(at.width as f32 / at.height.max(1) as f32));
        // Modulo the period of the floor's pattern, for precision after long walks.
        let walked = (seconds * f64::from(SPEED)).rem_euclid(1.3) as f32;
        let far = (camera.distance() * 2.0 + 8.0).min(FLOOR);
        let lamp = scale(LIGHT, 1.0 / dot(LIGHT, LIGHT).sqrt());
        #[cfg(test)]
        let casts = !self.without_shadows;
        #[cfg(not(test))]
        let casts = true;
        self.shadow
            .draw(&light, || self.army.iter().filter(|_| casts).for_each(|army| army.draw(&army.shadow)));
        let gl = &self.gl;
        let shaded = shadow_bounds(camera, at);
        let (army, shadow, floor) = (&self.army, &self.shadow, &self.floor);
        let (programs, worn) = (&self.programs, picture.unwrap_or(self.bare));
        self.depth.draw(at, BACKGROUND, || {
            // SAFETY: the context is current on this thread; all objects are alive and this context's.
            unsafe {
                gl.active_texture(glow::TEXTURE1);
                gl.bind_texture(glow::TEXTURE_2D, Some(shadow.texture));
                gl.active_texture(glow::TEXTURE0);
                gl.bind_texture(glow::TEXTURE_2D, Some(worn));
                // Front to back, so that hidden parts of bodies and of the floor are not shaded.
                for kind in [SHIRTS, SLEEVES, BODIES, FLOORS, BRIGHT_FLOORS] {
                    gl.use_program(Some(programs[kind]));
                    // Uniforms that a program does not have are ignored.
                    let uniform = |name: &str| gl.get_uniform_location(programs[kind], name);
                    gl.uniform_matrix_4_f32_slice(uniform("view").as_ref(), false, &view);
                    gl.uniform_matrix_4_f32_slice(uniform("light").as_ref(), false, &light);
                    gl.uniform_3_f32_slice(uniform("lamp").as_ref(), &lamp);
                    gl.uniform_3_f32_slice(uniform("eye").as_ref(), &camera.eye());
                    gl.uniform_3_f32_slice(uniform("ground").as_ref(), &BACKGROUND);
                    gl.uniform_1_f32(uniform("walked").as_ref(), walked);
                    gl.uniform_1_f32(uniform("far").as_ref(), far);
                    let orientation = texture_matrix(orientation);
                    gl.uniform_matrix_2_f32_slice(uniform("orientation").as_ref(), false, &orientation);
                    gl.uniform_1_i32(uniform("picture").as_ref(), 0);
                    gl.uniform_1_i32(uniform("shadow").as_ref(), 1);
                    match (kind, army) {
                        (FLOORS, _) => draw_floor(gl, floor, &[shaded]),
                        (BRIGHT_FLOORS, _) => draw_floor(gl, floor, &rectangles_around(shaded, at)),
                        (SHIRTS, Some(army)) => army.draw(&army.shirts),
                        (_, Some(army)) => {
                            // Closed surfaces are not visible from inside.
                            gl.enable(glow::CULL_FACE);
                            army.draw(if kind == SLEEVES { &army.sleeves } else { &army.bodies });
                            gl.disable(glow::CULL_FACE);
                        }
                        (_, None) => {}
                    }
                }
                gl.active_texture(glow::TEXTURE1);
                gl.bind_texture(glow::TEXTURE_2D, None);
                gl.active_texture(glow::TEXTURE0);
                gl.bind_texture(glow::TEXTURE_2D, None);
                gl.use_program(None);
            }
        })
    }
}

/// Returns the rectangle of the window in which shadows may fall on the floor, in pixels: left, bottom, right, top.
fn shadow_bounds(camera: &Camera, at: Viewport) -> [i32; 4] {
    let area = camera.shadow_area(at.width as f32 / at.height.max(1) as f32);
    let [left, bottom, right, top] = area.unwrap_or([0.0, 0.0, 1.0, 1.0]);
    let [across, down] = [at.width as f32, at.height as f32];
    let [left, bottom] = [left * across, bottom * down].map(|edge| edge as i32);
    let [right, top] = [right * across, top * down].map(|edge| edge.ceil() as i32);
    [left, bottom, right, top]
}

/// Returns four rectangles that together cover all pixels of `at` outside the given rectangle.
fn rectangles_around([left, bottom, right, top]: [i32; 4], at: Viewport) -> [[i32; 4]; 4] {
    let (width, height) = (at.width, at.height);
    [[0, 0, width, bottom], [0, top, width, height], [0, bottom, left, top], [right, bottom, width, top]]
}

/// Draws the floor in these rectangles of pixels with the shader program in use.
fn draw_floor(gl: &glow::Context, floor: &Mesh, parts: &[[i32; 4]]) {
    // SAFETY: the context is current on this thread.
    unsafe {
        gl.enable(glow::SCISSOR_TEST);
        for [left, bottom, right, top] in parts.iter().filter(|part| part[0] < part[2] && part[1] < part[3]) {
            gl.scissor(*left, *bottom, right - left, top - bottom);
            floor.draw();
        }
        gl.disable(glow::SCISSOR_TEST);
    }
}

/// Returns the two triangles of the floor, a square on which the fragment shader draws tiles.
fn floor() -> [Vertex; 6] {
    let corners = [[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]];
    corners.map(|[x, z]| [x * FLOOR, 0.0, z * FLOOR, 0.0, 1.0, 0.0, 0.0, 0.0])
}

/// The shadow map: a depth texture that stores the depth of the nearest surface as seen from the light (L. Williams, "Casting
/// Curved Shadows on Curved Surfaces", 1978).
struct Shadow {
    gl: Arc<glow::Context>,
    program: glow::Program,
    framebuffer: glow::Framebuffer,
    /// The depth texture of the shadow map.
    texture: glow::Texture,
    /// The width and height of the texture in pixels.
    size: u32,
}

/// The format of the shadow map's texture.
const DEPTHS: PixelFormat = PixelFormat {
    internal: glow::DEPTH_COMPONENT24,
    channels: glow::DEPTH_COMPONENT,
    kind: glow::UNSIGNED_INT,
    pixel_bytes: 4,
};

impl Shadow {
    /// Creates an empty shadow map, `size` pixels wide and high.
    ///
    /// # Errors
    /// If the shaders do not compile, or OpenGL cannot create the texture.
    fn new(gl: &Arc<glow::Context>, size: u32) -> Result<Self> {
        let (vertex, fragment) = (shader_file!("cloth_shadow.vert"), shader_file!("cloth_shadow.frag"));
        let program = shader::program(gl, "cloth_shadow", vertex, fragment)?;
        let texture = DEPTHS.create(gl, size, size).map_err(|error| shadow_map_error(error.why))?;
        let target = glow::TEXTURE_2D;
        // SAFETY: the context is current on this thread, and the objects are this context's.
        unsafe {
            gl.bind_texture(target, Some(texture));
            gl.tex_parameter_i32(target, glow::TEXTURE_COMPARE_MODE, glow::COMPARE_REF_TO_TEXTURE as i32);
            gl.tex_parameter_i32(target, glow::TEXTURE_COMPARE_FUNC, glow::LEQUAL as i32);
            gl.bind_texture(target, None);
            let framebuffer = gl.create_framebuffer().map_err(shadow_map_error)?;
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(framebuffer));
            let attachment = glow::DEPTH_ATTACHMENT;
            gl.framebuffer_texture_2d(glow::FRAMEBUFFER, attachment, target, Some(texture), 0);
            gl.draw_buffers(&[glow::NONE]);
            gl.read_buffer(glow::NONE);
            let status = gl.check_framebuffer_status(glow::FRAMEBUFFER);
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
            if status != glow::FRAMEBUFFER_COMPLETE {
                return Err(shadow_map_error(format!("its status is 0x{status:x}")));
            }
            Ok(Self { gl: gl.clone(), program, framebuffer, texture, size })
        }
    }

    /// Calls `draw` with the shadow map as the render target; `light` is the matrix that transforms points of the scene to the
    /// shadow map.
    fn draw(&self, light: &Matrix, draw: impl FnOnce()) {
        let gl = &self.gl;
        // SAFETY: the context is current on this thread; all objects are alive and this context's.
        unsafe {
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.framebuffer));
            gl.viewport(0, 0, self.size as i32, self.size as i32);
            gl.enable(glow::DEPTH_TEST);
            gl.depth_func(glow::LESS);
            gl.depth_mask(true);
            gl.clear(glow::DEPTH_BUFFER_BIT);
            gl.enable(glow::POLYGON_OFFSET_FILL);
            gl.polygon_offset(2.0, 4.0);
            gl.use_program(Some(self.program));
            let at = gl.get_uniform_location(self.program, "light");
            gl.uniform_matrix_4_f32_slice(at.as_ref(), false, light);
            draw();
            gl.use_program(None);
            gl.disable(glow::POLYGON_OFFSET_FILL);
            gl.disable(glow::DEPTH_TEST);
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
        }
    }
}

fn shadow_map_error(why: String) -> Error {
    Error::new("OpenGL gives no picture for shadows.", format!("{why}."), "Update the OpenGL driver.")
}
