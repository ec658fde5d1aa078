//! Drawing of the figures with OpenGL: lit, in their shirts, on a floor with shadows.

use std::sync::Arc;

use glow::HasContext as _;

use super::army::{Army, LendResult};
use super::camera::{Camera, LIGHT, Matrix};
use super::detail::Detail;
use super::shadow::Shadow;
use super::walker::Report;
use crate::scene::depth::DepthBuffer;
use crate::scene::mesh::{Mesh, Vertex};
use base::error::Result;
use engine::present::{Viewport, texture_matrix};
use ladders::cloth::geometry::{Point, dot, scale};
use ladders::cloth::model::{Figure, SPEED};
use opengl::names;
use opengl::shader;
use opengl::texture;
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
/// The colour of shirts without a picture: light grey, RGBA.
const BARE_COLOR: [u8; 4] = [201, 201, 201, 255];

/// The OpenGL objects of the scene: floor, figures, shadow map and shader programs.
pub(super) struct World {
    gl: Arc<glow::Context>,
    detail: Detail,
    /// The shader program of each kind of object.
    programs: Vec<glow::Program>,
    depth: DepthBuffer,
    shadow: Shadow,
    floor: Mesh,
    /// A texture of one pixel with the colour [`BARE_COLOR`].
    bare: glow::Texture,
    figure: Figure,
    army: Option<Army>,
    /// True to draw without shadows. A test sets it to see that the comparison with the stored picture detects this fault.
    #[cfg(test)]
    pub(super) without_shadows: bool,
}

/// The parameters for drawing the scene.
pub(super) struct WorldView<'a> {
    pub camera: &'a Camera,
    /// The time for which the figures have walked, in seconds.
    pub seconds: f64,
    /// The picture on the shirts; `None` for shirts without a picture.
    pub picture: Option<glow::Texture>,
    /// The orientation of the picture on the shirts.
    pub orientation: Orientation,
}

impl World {
    /// Creates the OpenGL objects of the scene at this level of detail, without figures.
    ///
    /// # Errors
    /// If the shaders do not compile, or OpenGL cannot create the objects.
    pub(super) fn new(gl: &Arc<glow::Context>, detail: Detail) -> Result<Self> {
        let program = |kind: usize| {
            let (kind, may_be_shaded) = if kind == BRIGHT_FLOORS { (FLOORS, false) } else { (kind, true) };
            let [(vertex, of_vertices), (fragment, of_pixels)] = detail.shaders(kind, may_be_shaded);
            shader::program(gl, "cloth", (vertex, &of_vertices), (fragment, &of_pixels))
        };
        let programs = [FLOORS, BODIES, SLEEVES, SHIRTS, BRIGHT_FLOORS]
            .into_iter()
            .map(program)
            .collect::<Result<_>>()?;
        let depth = DepthBuffer::new(gl.clone())?;
        let shadow = Shadow::new(gl, detail.shadow_size())?;
        let floor = Mesh::new(gl.clone(), &floor())?;
        let bare = texture::create(gl, 1, 1)?;
        texture::fill(gl, bare, (1, 1), &BARE_COLOR);
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

    /// Draws the scene in the rectangle `at` of the window.
    ///
    /// # Errors
    /// If OpenGL has not enough memory.
    pub(super) fn draw(&mut self, at: Viewport, look: &WorldView) -> Result<()> {
        let light = look.camera.light();
        #[cfg(test)]
        let casts = !self.without_shadows;
        #[cfg(not(test))]
        let casts = true;
        self.shadow
            .draw(&light, || self.army.iter().filter(|_| casts).for_each(|army| army.draw(&army.shadow)));
        let gl = &self.gl;
        let shaded = shadow_bounds(look.camera, at);
        let seen = SceneUniforms { at, look, light: &light };
        let (army, shadow, floor) = (&self.army, &self.shadow, &self.floor);
        let (programs, worn) = (&self.programs, look.picture.unwrap_or(self.bare));
        self.depth.draw(at, BACKGROUND, || {
            // SAFETY: the context is current on this thread; all objects are alive and this context's.
            unsafe {
                gl.active_texture(glow::TEXTURE1);
                gl.bind_texture(glow::TEXTURE_2D, Some(shadow.texture));
                gl.active_texture(glow::TEXTURE0);
                gl.bind_texture(glow::TEXTURE_2D, Some(worn));
                // Front to back, so that hidden parts of bodies and of the floor are not shaded.
                for kind in [SHIRTS, SLEEVES, BODIES, FLOORS, BRIGHT_FLOORS] {
                    let Some(program) = programs.get(kind) else { continue };
                    gl.use_program(Some(*program));
                    seen.set(gl, *program);
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

    /// Returns the framebuffer in which the scene was last drawn.
    pub(super) fn framebuffer(&self) -> glow::Framebuffer {
        self.depth.framebuffer
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(self) {
        self.depth.destroy();
        self.shadow.destroy();
        self.floor.destroy();
        if let Some(army) = self.army {
            army.destroy();
        }
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.gl.delete_texture(self.bare);
            self.programs.iter().for_each(|program| self.gl.delete_program(*program));
        }
        names::delete_pending(&self.gl);
    }
}

/// Returns the rectangle of the window in which shadows may fall on the floor, in pixels: left, bottom, right, top.
fn shadow_bounds(camera: &Camera, at: Viewport) -> [i32; 4] {
    let size = [at.width, at.height];
    match camera.shadow_area(at.width as f32 / at.height.max(1) as f32) {
        Some([left, bottom, right, top]) => {
            let [left, bottom] =
                [(left, size[0]), (bottom, size[1])].map(|(part, of)| (part * of as f32) as i32);
            let [right, top] =
                [(right, size[0]), (top, size[1])].map(|(part, of)| (part * of as f32).ceil() as i32);
            [left, bottom, right, top]
        }
        None => [0, 0, at.width, at.height],
    }
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

/// The values from which the uniforms of the shader programs are set.
struct SceneUniforms<'a> {
    at: Viewport,
    look: &'a WorldView<'a>,
    light: &'a Matrix,
}

impl SceneUniforms<'_> {
    /// Sets the uniforms of a shader program, which must be in use.
    fn set(&self, gl: &glow::Context, program: glow::Program) {
        let Self { at, look, .. } = self;
        // Uniforms that a program does not have are ignored.
        // SAFETY: the context is current on this thread, and the program is this context's.
        let uniform = |name: &str| unsafe { gl.get_uniform_location(program, name) };
        // Modulo the period of the floor's pattern, for precision after long walks.
        let walked = (look.seconds * f64::from(SPEED)).rem_euclid(1.3) as f32;
        let far = (look.camera.distance() * 2.0 + 8.0).min(FLOOR);
        let lamp = scale(LIGHT, 1.0 / dot(LIGHT, LIGHT).sqrt());
        let view = look.camera.view(at.width as f32 / at.height.max(1) as f32);
        // SAFETY: as above, and the program is in use.
        unsafe {
            gl.uniform_matrix_4_f32_slice(uniform("view").as_ref(), false, &view);
            gl.uniform_matrix_4_f32_slice(uniform("light").as_ref(), false, self.light);
            gl.uniform_3_f32_slice(uniform("lamp").as_ref(), &lamp);
            gl.uniform_3_f32_slice(uniform("eye").as_ref(), &look.camera.eye());
            gl.uniform_3_f32_slice(uniform("ground").as_ref(), &BACKGROUND);
            gl.uniform_1_f32(uniform("walked").as_ref(), walked);
            gl.uniform_1_f32(uniform("far").as_ref(), far);
            gl.uniform_matrix_2_f32_slice(
                uniform("orientation").as_ref(),
                false,
                &texture_matrix(look.orientation),
            );
            gl.uniform_1_i32(uniform("picture").as_ref(), 0);
            gl.uniform_1_i32(uniform("shadow").as_ref(), 1);
        }
    }
}

/// Returns the two triangles of the floor, a square on which the fragment shader draws tiles.
fn floor() -> [Vertex; 6] {
    let corner = |x: f32, z: f32| Vertex {
        position: [x * FLOOR, 0.0, z * FLOOR],
        normal: [0.0, 1.0, 0.0],
        uv: [0.0; 2],
    };
    let [far_left, far_right] = [corner(-1.0, -1.0), corner(1.0, -1.0)];
    let [near_left, near_right] = [corner(-1.0, 1.0), corner(1.0, 1.0)];
    [near_left, near_right, far_left, far_left, near_right, far_right]
}
