//! The army in OpenGL. In: its vertices, the camera, the movie's picture. Out: figures in their shirts on a floor, lit, with
//! their shadows.

use std::sync::Arc;

use glow::HasContext as _;

use super::army::{Army, Lent};
use super::camera::{Camera, LIGHT, Matrix, Point, dot, scale};
use super::detail::Detail;
use super::shadow::Shadow;
use super::walker::Report;
use crate::scene::depth::DepthBuffer;
use crate::scene::mesh;
use base::error::Result;
use engine::present::{Viewport, texture_matrix};
use ladders::cloth::model::{Figure, SPEED};
use opengl::names;
use opengl::shader;
use opengl::texture;
use video::Orientation;

/// The background: red, green, blue.
const GROUND: Point = [0.105, 0.115, 0.135];
/// How far the floor goes, in metres.
const FLOOR: f32 = 60.0;
/// What is drawn, as the shader numbers it.
const FLOORS: usize = 0;
const BODIES: usize = 1;
const SLEEVES: usize = 2;
const SHIRTS: usize = 3;
/// The floor where no shadow can be.
const BRIGHT_FLOORS: usize = 4;
/// What shirts show that have no picture: light grey.
const BARE: [u8; 4] = [201, 201, 201, 255];

/// Everything that is drawn.
pub(super) struct World {
    gl: Arc<glow::Context>,
    detail: Detail,
    /// One for each kind.
    programs: Vec<glow::Program>,
    depth: DepthBuffer,
    shadow: Shadow,
    floor: (glow::VertexArray, glow::Buffer),
    /// A pixel of [`BARE`].
    bare: glow::Texture,
    figure: Figure,
    army: Option<Army>,
    /// Nothing throws a shadow: a fault that the picture's test plants.
    #[cfg(test)]
    pub(super) without_shadows: bool,
}

/// What is seen.
pub(super) struct Look<'a> {
    pub camera: &'a Camera,
    /// How long the army has walked, in seconds.
    pub seconds: f64,
    /// What the shirts show, and how it is turned.
    pub picture: Option<glow::Texture>,
    pub orientation: Orientation,
}

impl World {
    /// Makes it, drawn so finely, with nobody in it.
    ///
    /// # Errors
    /// When the shaders do not compile, or OpenGL gives no objects.
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
        let floor = floor(gl)?;
        let bare = texture::create(gl, 1, 1)?;
        texture::fill(gl, bare, (1, 1), &BARE);
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

    /// Takes the vertices of so many figures; whether they are that many.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
    pub(super) fn set(&mut self, count: usize, vertices: &[u8]) -> Result<bool> {
        if self.army.as_ref().is_none_or(|army| army.count() != count) {
            if let Some(army) = self.army.take() {
                army.destroy();
            }
            self.army = Some(Army::new(&self.gl, &self.figure, count, self.detail)?);
        }
        self.army.as_mut().map_or(Ok(false), |army| army.set(vertices))
    }

    /// Lends a buffer for the vertices of so many figures.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
    pub(super) fn lend(&mut self, count: usize) -> Result<Lent> {
        match self.army.as_mut().filter(|army| army.count() == count) {
            Some(army) => army.lend(),
            None => Ok(Lent::Nothing),
        }
    }

    /// Takes what was done: vertices that are in the buffer that was lent, or are copied there. Whether OpenGL sees what was
    /// written, where that is known; else those are copied, too.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
    pub(super) fn take(&mut self, report: &mut Report) -> Result<bool> {
        let mut is_seen = true;
        if let Some(buffer) = report.lent.take() {
            is_seen =
                !report.is_written || report.vertices.is_empty() || buffer.holds(&self.gl, &report.vertices);
            report.is_written &= is_seen;
            if let Some(army) = &mut self.army {
                army.came_back(&buffer, report.is_written);
            }
        }
        if !report.is_written && !report.vertices.is_empty() {
            self.set(report.army, &report.vertices)?;
        }
        Ok(is_seen)
    }

    /// Draws it at `at` of the window.
    ///
    /// # Errors
    /// When OpenGL has no memory for it.
    pub(super) fn draw(&mut self, at: Viewport, look: &Look) -> Result<()> {
        let light = look.camera.light();
        #[cfg(test)]
        let casts = !self.without_shadows;
        #[cfg(not(test))]
        let casts = true;
        self.shadow.draw(&light, || self.army.iter().filter(|_| casts).for_each(Army::draw_shadow));
        let gl = &self.gl;
        let shaded = shaded(look.camera, at);
        let seen = Seen { at, look, light: &light };
        let (army, shadow, floor) = (&self.army, &self.shadow, self.floor.0);
        let (programs, worn) = (&self.programs, look.picture.unwrap_or(self.bare));
        self.depth.draw(at, GROUND, || {
            // SAFETY: the context is current on this thread; all objects are alive and this context's.
            unsafe {
                gl.active_texture(glow::TEXTURE1);
                gl.bind_texture(glow::TEXTURE_2D, Some(shadow.texture()));
                gl.active_texture(glow::TEXTURE0);
                gl.bind_texture(glow::TEXTURE_2D, Some(worn));
                // What hides others comes first: shirts hide bodies, and all of them the floor, which needs no light there.
                for kind in [SHIRTS, SLEEVES, BODIES, FLOORS, BRIGHT_FLOORS] {
                    let Some(program) = programs.get(kind) else { continue };
                    gl.use_program(Some(*program));
                    seen.tell(gl, *program);
                    match (kind, army) {
                        (FLOORS, _) => draw_floor(gl, floor, &[shaded]),
                        (BRIGHT_FLOORS, _) => draw_floor(gl, floor, &around(shaded, at)),
                        (SHIRTS, Some(army)) => army.draw_shirts(),
                        (_, Some(army)) => {
                            // They are closed: nobody sees them from within.
                            gl.enable(glow::CULL_FACE);
                            if kind == SLEEVES {
                                army.draw_sleeves();
                            } else {
                                army.draw_bodies();
                            }
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

    /// What it was drawn into, before it went to the window.
    pub(super) fn framebuffer(&self) -> glow::Framebuffer {
        self.depth.framebuffer()
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(self) {
        self.depth.destroy();
        self.shadow.destroy();
        if let Some(army) = self.army {
            army.destroy();
        }
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.gl.delete_vertex_array(self.floor.0);
            self.gl.delete_buffer(self.floor.1);
            self.gl.delete_texture(self.bare);
            self.programs.iter().for_each(|program| self.gl.delete_program(*program));
        }
        names::delete_left(&self.gl);
    }
}

/// The pixels in which the floor may have shadows: left, bottom, right, top.
fn shaded(camera: &Camera, at: Viewport) -> [i32; 4] {
    let size = [at.width, at.height];
    match camera.shaded(at.width as f32 / at.height.max(1) as f32) {
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

/// All other pixels.
fn around([left, bottom, right, top]: [i32; 4], at: Viewport) -> [[i32; 4]; 4] {
    let (width, height) = (at.width, at.height);
    [[0, 0, width, bottom], [0, top, width, height], [0, bottom, left, top], [right, bottom, width, top]]
}

/// Draws what of the floor is in these parts of the picture, with the program that is in use.
fn draw_floor(gl: &glow::Context, floor: glow::VertexArray, parts: &[[i32; 4]]) {
    // SAFETY: the context is current on this thread, and the floor has four vertices.
    unsafe {
        gl.bind_vertex_array(Some(floor));
        gl.enable(glow::SCISSOR_TEST);
        for [left, bottom, right, top] in parts.iter().filter(|part| part[0] < part[2] && part[1] < part[3]) {
            gl.scissor(*left, *bottom, right - left, top - bottom);
            gl.draw_arrays(glow::TRIANGLE_STRIP, 0, 4);
        }
        gl.disable(glow::SCISSOR_TEST);
        gl.bind_vertex_array(None);
    }
}

/// What programs are told.
struct Seen<'a> {
    at: Viewport,
    look: &'a Look<'a>,
    light: &'a Matrix,
}

impl Seen<'_> {
    /// Tells a program what is seen; it must be in use.
    fn tell(&self, gl: &glow::Context, program: glow::Program) {
        let Self { at, look, .. } = self;
        // A program has not all of them: none is set where there is no such uniform.
        // SAFETY: the context is current on this thread, and the program is this context's.
        let uniform = |name: &str| unsafe { gl.get_uniform_location(program, name) };
        // What the floor's pattern does not tell apart need not be exact in thousands of kilometres.
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
            gl.uniform_3_f32_slice(uniform("ground").as_ref(), &GROUND);
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

/// A square of the floor, of which the fragments make tiles.
fn floor(gl: &Arc<glow::Context>) -> Result<(glow::VertexArray, glow::Buffer)> {
    let corners = [[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]];
    let numbers = corners.map(|[x, z]| [x * FLOOR, 0.0, z * FLOOR, 0.0, 1.0, 0.0, 0.0, 0.0_f32]);
    let bytes: Vec<u8> = numbers.as_flattened().iter().flat_map(|number| number.to_ne_bytes()).collect();
    // SAFETY: the context is current on this thread; the attributes lie within the vertices that the buffer has.
    unsafe {
        let buffer = gl.create_buffer().map_err(|e| shader::failed("cloth", e))?;
        gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
        gl.buffer_data_u8_slice(glow::ARRAY_BUFFER, &bytes, glow::STATIC_DRAW);
        gl.bind_buffer(glow::ARRAY_BUFFER, None);
        Ok((mesh::vertex_array(gl, buffer)?, buffer))
    }
}
