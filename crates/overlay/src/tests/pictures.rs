//! Compares pictures of the overlay with golden files: eleven states with fixed numbers, drawn by OpenGL without a window.

use std::path::Path;

use egui_glow::glow::{self, HasContext as _};
use opengl::headless::Headless;

use super::*;

/// The greatest difference of a channel, in levels, at which two pixels count as equal: renderers round the edges of shapes
/// differently.
const MAX_LEVELS: u8 = 24;
/// The greatest number of pixels that may differ; a changed digit has more.
const MAX_PIXELS: usize = 20;

/// A picture: width, height, and RGB from the upper left corner.
type Picture = (u32, u32, Vec<u8>);

/// Draws the last pass of the fixture on an even background, after some passes that settle the layout.
fn draw(fixture: &mut Fixture, headless: &Headless) -> Picture {
    fixture.settle();
    let gl = &headless.gl;
    let size = (fixture.size * fixture.scale).round();
    let (width, height) = (size.x as u32, size.y as u32);
    let texture = opengl::texture::RGBA8.create(gl, width, height).unwrap();
    let shapes = fixture.harness.output().shapes.clone();
    let primitives = fixture.harness.ctx.tessellate(shapes, fixture.scale);
    let mut painter = egui_glow::Painter::new(gl.clone(), "", None, false).unwrap();
    // SAFETY: the context is current on this thread, and the texture is complete.
    unsafe {
        let framebuffer = gl.create_framebuffer().unwrap();
        gl.bind_framebuffer(glow::FRAMEBUFFER, Some(framebuffer));
        let (target, point) = (glow::TEXTURE_2D, glow::COLOR_ATTACHMENT0);
        gl.framebuffer_texture_2d(glow::FRAMEBUFFER, point, target, Some(texture), 0);
        painter.clear([width, height], [0.35, 0.40, 0.38, 1.0]);
        let mut deltas = fixture.deltas.0.borrow_mut();
        painter.paint_and_update_textures([width, height], fixture.scale, &primitives, &mut deltas);
        gl.bind_framebuffer(glow::FRAMEBUFFER, None);
        gl.delete_framebuffer(framebuffer);
    }
    let rgba = opengl::read_texture::read_texture(gl, texture, (width, height)).unwrap();
    painter.destroy();
    // OpenGL's rows go up.
    let rows = rgba.chunks_exact(4 * width as usize).rev();
    (width, height, rows.flat_map(|row| row.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]])).collect())
}

fn write(path: &Path, (width, height, rgb): &Picture) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut encoder = png::Encoder::new(std::fs::File::create(path).unwrap(), *width, *height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().unwrap().write_image_data(rgb).unwrap();
}

fn read(path: &Path) -> Option<Picture> {
    let file = std::io::BufReader::new(std::fs::File::open(path).ok()?);
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    Some((info.width, info.height, rgb))
}

/// Compares a picture with the golden file of this name, or writes the file if the goldens are to be rewritten. A picture that
/// differs is written to the folder of temporary files.
fn check(name: &str, picture: &Picture) {
    let name = format!("overlay/{name}.png");
    testkit::golden::note_compared(&name);
    let path = testkit::golden::folder().join(&name);
    let golden = read(&path);
    let differing =
        golden.as_ref().filter(|golden| (golden.0, golden.1) == (picture.0, picture.1)).map(|golden| {
            let pixels = golden.2.chunks_exact(3).zip(picture.2.chunks_exact(3));
            pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > MAX_LEVELS)).count()
        });
    if differing.is_some_and(|count| count <= MAX_PIXELS) {
        return;
    }
    if testkit::golden::is_update() {
        return write(&path, picture);
    }
    let now = std::env::temp_dir().join(name.replace("overlay/", "clreel-"));
    write(&now, picture);
    panic!("{differing:?} pixels of {} differ: compare it with {}", path.display(), now.display());
}

/// Returns an overlay in a window of this size in pixels, with fixed data and these open panels.
fn state(pixels: Vec2, open: &[Panel]) -> Fixture<'static> {
    let zoom = crate::zoom(pixels.x, pixels.y);
    let mut fixture = Fixture::new(pixels / zoom);
    fixture.scale = zoom;
    fixture.fill();
    fixture.has_scene = false;
    if open.contains(&Panel::Kernels) {
        // The exact version runs, since a version that differs has no times.
        fixture.kernels = super::kernels::edited();
        fixture.kernels.running = Some(2);
        for version in &mut fixture.kernels.versions {
            version.results.iter_mut().for_each(|result| result.runs = version.number == 2);
        }
    }
    fixture.open_matmul();
    fixture.change(|s| s.open = Panel::ALL.map(|panel| open.contains(&panel)));
    fixture
}

/// Returns an overlay with the list of files, below two movies that were opened last.
fn files() -> Fixture<'static> {
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    let prompt = &mut fixture.overlay.path_prompt;
    prompt.recent = vec!["/home/me/clip.mp4".into(), "/home/me/lecture/city.mkv".into()];
    prompt.open(PathPurpose::Movie);
    fixture.settle();
    let names = ["films/", "lecture/", "city.mkv", "clip.mp4"].map(str::to_owned).into();
    fixture.overlay.path_prompt.complete("", String::new(), String::new(), names);
    fixture.settle();
    fixture.pass(vec![key(Key::ArrowDown, true)]);
    fixture
}

#[test]
fn pictures_of_eleven_states() {
    let headless = Headless::new().unwrap();
    let states = [
        ("window", state(vec2(1280.0, 720.0), &[])),
        ("kernels", state(vec2(1280.0, 720.0), &[Panel::Kernels])),
        ("stages-timeline", state(vec2(1280.0, 720.0), &[Panel::Stages, Panel::Timeline])),
        ("devices-small", state(vec2(640.0, 360.0), &[Panel::Devices])),
        ("lab-large", state(vec2(1920.0, 1080.0), &[Panel::Lab, Panel::Conversions])),
        ("tuning-left", state(vec2(1280.0, 720.0), &[Panel::Tuning])),
        ("talk", super::talk::talk(vec2(1280.0, 720.0))),
        ("wipe", super::mouse::wiped(vec2(1280.0, 720.0))),
        ("files", files()),
        ("compared", super::scoreboard::judged(vec2(1280.0, 720.0))),
        ("stages-roofline", super::why::explained(vec2(1280.0, 1000.0))),
    ];
    for (name, mut fixture) in states {
        fixture.change(|s| s.column.left = name == "tuning-left");
        check(name, &draw(&mut fixture, &headless));
    }
    testkit::golden::assert_all_compared("overlay", "png");
}
