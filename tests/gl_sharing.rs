//! The tests' own OpenCL layer (`tests/gl_sharing`): that it shares textures as `cl_khr_gl_sharing` says, that a
//! forgotten acquire or release is seen, and that its failures come when they are planned. Raw calls, nothing of
//! clreel: what the application's tests stand on is proven here.
//!
//! The layer reads its options once for a process, so each case runs in a child: this test binary again, with the
//! ignored test `child` alone. The child does what `CASE` names and prints what it saw.

#[path = "common/display.rs"]
mod display;
#[path = "common/layer.rs"]
mod layer;
#[path = "common/native.rs"]
mod native;

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Command;
use std::ptr::{self, null_mut};

use display::Display;
use glow::HasContext as _;
use glutin::config::{ConfigSurfaceTypes, ConfigTemplateBuilder};
use glutin::context::{AsRawContext as _, ContextAttributesBuilder, PossiblyCurrentContext, RawContext};
use glutin::display::{AsRawDisplay as _, DisplayApiPreference, RawDisplay};
use glutin::prelude::*;
use glutin::surface::{PbufferSurface, Surface, SurfaceAttributesBuilder};
use ocl::ffi;
use raw_window_handle::{RawDisplayHandle, XlibDisplayHandle};

const WIDTH: usize = 7;
const HEIGHT: usize = 5;

// ---------------------------------------------------------------------------------------------------- the tests

/// Runs a case in a child under the layer; returns the words that it printed as `name=value`.
fn case(what: &str, platform: &str, options: &[(&str, &str)]) -> HashMap<String, String> {
    let display = Display::start(&[]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env("DISPLAY", &display.name).env("CASE", what).env("CASE_PLATFORM", platform);
    let output = command.envs(layer::environment(options)).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what} under {platform}: {stdout}\n{stderr}");
    let seen = stdout.lines().filter_map(|line| line.split_once('='));
    seen.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("clreel-gl-sharing-{}-{name}", std::process::id()))
}

#[test]
fn a_texture_is_shared_both_ways_under_glx_and_egl() {
    for platform in ["glx", "egl"] {
        for format in ["rgba8", "r8"] {
            let log = temporary(&format!("{platform}-{format}"));
            let options = [("POISON", "1"), ("LOG", log.to_str().unwrap())];
            let seen = case(&format!("share-{format}"), platform, &options);
            assert_eq!(seen["platform"], platform);
            assert_eq!(seen["listed"], "true");
            assert_eq!(seen["created"], "0");
            // What OpenGL wrote is read by a command of OpenCL, and the other way round.
            assert_eq!(seen["cl_sees_gl"], "true", "{platform} {format}");
            assert_eq!(seen["gl_sees_cl"], "true", "{platform} {format}");
            assert_eq!(seen["object"], "0 0x2001 true 0xde1 0");
            assert_eq!(seen["gl_state_kept"], "true");
            let bytes = WIDTH * HEIGHT * if format == "rgba8" { 4 } else { 1 };
            for function in ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"] {
                let calls = layer::calls(&log, function);
                let begins = format!("{function} objects=1 bytes={bytes} queue=");
                assert!(calls.len() == 1 && calls[0].starts_with(&begins), "{calls:?}");
            }
            // The layer's own copies are not the application's, and are not in the log.
            assert_eq!(
                layer::calls(&log, "clEnqueueReadImage"),
                [format!("clEnqueueReadImage bytes={bytes}")]
            );
            assert!(layer::calls(&log, "misuse").is_empty());
            std::fs::remove_file(log).unwrap();
        }
    }
}

#[test]
fn with_poison_a_forgotten_acquire_or_release_is_wrong_pixels() {
    for platform in ["glx", "egl"] {
        for forgotten in ["acquire", "release"] {
            let log = temporary(&format!("{platform}-{forgotten}"));
            let options = [("POISON", "1"), ("LOG", log.to_str().unwrap())];
            let seen = case(&format!("forget-{forgotten}"), platform, &options);
            assert_eq!(seen["gl_sees_cl"], "false", "{platform} {forgotten}");
            let misuse = layer::calls(&log, "misuse");
            let expected: &[&str] = match forgotten {
                "acquire" => &["misuse clEnqueueReleaseGLObjects not-acquired"],
                _ => &[],
            };
            assert_eq!(misuse, expected);
            std::fs::remove_file(log).unwrap();
        }
        // Without poison a picture can be right by luck: this is why tests ask for it.
        assert_eq!(case("forget-acquire", platform, &[])["gl_sees_cl"], "true");
    }
}

#[test]
fn a_thread_without_a_gl_context_can_hand_textures_over() {
    for platform in ["glx", "egl"] {
        for (threads, elsewhere) in [("release", [0, 1]), ("acquire", [1, 0]), ("both", [1, 1])] {
            let log = temporary(&format!("{platform}-thread-{threads}"));
            let options = [("POISON", "1"), ("LOG", log.to_str().unwrap())];
            let seen = case(&format!("thread-{threads}"), platform, &options);
            assert_eq!((seen["acquired"].as_str(), seen["released"].as_str()), ("0 0 0", "0 0 0"));
            assert_eq!(seen["cl_sees_gl"], "true true true", "{platform} {threads}");
            assert_eq!(seen["gl_sees_cl"], "true true true", "{platform} {threads}");
            assert_eq!(seen["current_again"], "true", "{platform} {threads}");
            let from_there = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"].map(|function| {
                let calls = layer::calls(&log, function);
                assert_eq!(calls.len(), 3);
                calls.iter().filter(|call| call.contains("thread=without-gl")).count() / 3
            });
            assert_eq!(from_there, elsewhere, "{platform} {threads}");
            assert!(layer::calls(&log, "misuse").is_empty());
            std::fs::remove_file(log).unwrap();
        }
    }
}

#[test]
fn a_driver_can_refuse_threads_without_a_gl_context_or_fail_there_in_silence() {
    let refused = format!("{0} {0} {0}", ffi::CL_INVALID_OPERATION);
    for platform in ["glx", "egl"] {
        for options in [&[("NO_FOREIGN_THREAD", "1")][..], &[("NO_FOREIGN_THREAD", "1"), ("POISON", "1")][..]]
        {
            let seen = case("thread-release", platform, options);
            assert_eq!((seen["acquired"].as_str(), &seen["released"]), ("0 0 0", &refused));
            assert_eq!(seen["gl_sees_cl"], "false false false", "{platform}");
            let seen = case("thread-acquire", platform, options);
            assert_eq!((&seen["acquired"], seen["released"].as_str()), (&refused, "0 0 0"));
        }
        for options in
            [&[("WRONG_FOREIGN_THREAD", "1")][..], &[("WRONG_FOREIGN_THREAD", "1"), ("POISON", "1")][..]]
        {
            let seen = case("thread-release", platform, options);
            assert_eq!(seen["released"], "0 0 0", "{platform}");
            assert_eq!(seen["gl_sees_cl"], "false false false", "{platform}");
            // Only releasing, and only from there.
            let seen = case("thread-acquire", platform, options);
            assert_eq!(
                (seen["cl_sees_gl"].as_str(), seen["gl_sees_cl"].as_str()),
                ("true true true", "true true true")
            );
        }
    }
}

#[test]
fn a_driver_can_be_slow_to_release_where_the_thread_has_a_gl_context() {
    for (threads, slow) in [("neither", 3), ("acquire", 3), ("release", 0), ("both", 0)] {
        let log = temporary(&format!("slow-{threads}"));
        let options = [("SLOW_RELEASE", "20000"), ("LOG", log.to_str().unwrap())];
        let seen = case(&format!("thread-{threads}"), "glx", &options);
        assert_eq!((seen["released"].as_str(), seen["gl_sees_cl"].as_str()), ("0 0 0", "true true true"));
        assert_eq!(layer::calls(&log, "slept"), vec!["slept us=20000"; slow], "{threads}");
        // As long as the system lets nothing return from a sleep too early.
        assert!(slow == 0 || seen["shortest_release_us"].parse::<u64>().unwrap() >= 20_000);
        std::fs::remove_file(log).unwrap();
    }
}

#[test]
fn exactly_the_planned_call_fails() {
    let seen = case("flush-five-times", "glx", &[("FAIL", "clFlush:3:-36,clCreateBuffer:2:-4")]);
    assert_eq!(seen["flush"], "0 0 -36 0 0");
    assert_eq!(seen["buffer"], "0 -4 0 0 0");
    let seen = case("flush-five-times", "glx", &[("FAIL", "clFlush:4+:-5")]);
    assert_eq!(seen["flush"], "0 0 0 -5 -5");
    assert_eq!(seen["buffer"], "0 0 0 0 0");
    assert_eq!(case("share-rgba8", "glx", &[("FAIL", "clCreateContext:1:-1000")])["created"], "-1000");
}

#[test]
fn a_device_can_hide_the_extension_and_still_share() {
    let seen = case("share-rgba8", "glx", &[("HIDE_EXTENSION", "1")]);
    assert_eq!((seen["listed"].as_str(), seen["gl_sees_cl"].as_str()), ("false", "true"));
}

#[test]
fn a_driver_can_refuse_egl_alone() {
    let options = [("NO_INTEROP_EGL", "1")];
    assert_eq!(case("share-rgba8", "egl", &options)["created"], ffi::CL_INVALID_OPERATION.to_string());
    assert_eq!(case("share-rgba8", "glx", &options)["gl_sees_cl"], "true");
}

#[test]
fn the_device_can_be_something_else() {
    let seen = case("device", "glx", &[]);
    assert_eq!((seen["type"].as_str(), seen["images"].as_str()), ("2", "1"));
    let seen = case("device", "glx", &[("FAKE_GPU", "1"), ("NO_IMAGES", "1")]);
    assert_eq!((seen["type"].as_str(), seen["images"].as_str(), seen["unified"].as_str()), ("4", "0", "0"));
}

#[test]
fn textures_need_a_context_that_was_made_for_sharing() {
    assert_eq!(case("plain-context", "glx", &[])["texture"], ffi::CL_INVALID_CONTEXT.to_string());
}

// ---------------------------------------------------------------------------------------------------- the child

#[test]
#[ignore = "runs in a child process of the other tests, which set its environment"]
fn child() {
    let (Ok(what), Ok(platform)) = (std::env::var("CASE"), std::env::var("CASE_PLATFORM")) else { return };
    println!();
    let gl = Gl::open(&platform);
    match what.as_str() {
        "device" => describe_device(),
        "flush-five-times" => flush_five_times(),
        "plain-context" => {
            let cl = Cl::open(&[]).unwrap();
            println!("texture={}", cl.texture(gl.texture(&Format::RGBA8)).unwrap_err());
        }
        "share-rgba8" => share(&gl, &Format::RGBA8, "", true),
        "share-r8" => share(&gl, &Format::R8, "", true),
        "thread-neither" => share_by_threads(&gl, false, false),
        "thread-acquire" => share_by_threads(&gl, true, false),
        "thread-release" => share_by_threads(&gl, false, true),
        "thread-both" => share_by_threads(&gl, true, true),
        _ => share(&gl, &Format::RGBA8, what.strip_prefix("forget-").unwrap(), false),
    }
}

/// How the test names a format to OpenGL.
struct Format {
    internal: u32,
    external: u32,
    channels: usize,
}

impl Format {
    const RGBA8: Format = Format { internal: glow::RGBA8, external: glow::RGBA, channels: 4 };
    const R8: Format = Format { internal: glow::R8, external: glow::RED, channels: 1 };

    fn bytes(&self) -> usize {
        WIDTH * HEIGHT * self.channels
    }

    /// Bytes that differ from their neighbours, from each other's `seed`, and from the poison's.
    fn pattern(&self, seed: u8) -> Vec<u8> {
        (0..self.bytes()).map(|i| (i as u8).wrapping_mul(7).wrapping_add(seed)).collect()
    }
}

/// OpenGL without a window, current on this thread.
struct Gl {
    api: glow::Context,
    properties: Vec<isize>,
    _surface: Surface<PbufferSurface>,
    _context: PossiblyCurrentContext,
}

impl Gl {
    fn open(platform: &str) -> Self {
        // SAFETY: Xlib's own signature; the display stays open until the process ends.
        let display = unsafe {
            let xlib = libc::dlopen(c"libX11.so.6".as_ptr(), libc::RTLD_NOW);
            // Several threads use the display in some cases.
            let threads: extern "C" fn() -> libc::c_int =
                std::mem::transmute(libc::dlsym(xlib, c"XInitThreads".as_ptr()));
            threads();
            let open: extern "C" fn(*const libc::c_char) -> *mut c_void =
                std::mem::transmute(libc::dlsym(xlib, c"XOpenDisplay".as_ptr()));
            open(ptr::null())
        };
        let display = ptr::NonNull::new(display).expect("the display opens");
        let raw = RawDisplayHandle::Xlib(XlibDisplayHandle::new(Some(display), 0));
        let preference = match platform {
            "glx" => DisplayApiPreference::Glx(Box::new(|_| ())),
            _ => DisplayApiPreference::Egl,
        };
        let template = ConfigTemplateBuilder::new().with_surface_type(ConfigSurfaceTypes::PBUFFER).build();
        let size = NonZeroU32::new(16).unwrap();
        let pbuffer = SurfaceAttributesBuilder::<PbufferSurface>::new().build(size, size);
        // SAFETY: the display is open, and each object is made from the one before it.
        unsafe {
            let display = glutin::display::Display::new(raw, preference).unwrap();
            let config = display.find_configs(template).unwrap().next().expect("a config with pbuffers");
            let surface = display.create_pbuffer_surface(&config, &pbuffer).unwrap();
            let context =
                display.create_context(&config, &ContextAttributesBuilder::new().build(None)).unwrap();
            let context = context.make_current(&surface).unwrap();
            let api = glow::Context::from_loader_function_cstr(|name| display.get_proc_address(name));
            let (context_handle, name) = match context.raw_context() {
                RawContext::Glx(handle) => (handle, "glx"),
                RawContext::Egl(handle) => (handle, "egl"),
            };
            let (display_property, display_handle) = match display.raw_display() {
                RawDisplay::Glx(handle) => (ffi::CL_GLX_DISPLAY_KHR, handle),
                RawDisplay::Egl(handle) => (ffi::CL_EGL_DISPLAY_KHR, handle),
            };
            println!("platform={name}");
            let properties = vec![
                ffi::CL_GL_CONTEXT_KHR,
                context_handle as isize,
                display_property,
                display_handle as isize,
            ];
            Self { api, properties, _surface: surface, _context: context }
        }
    }

    /// A complete texture of one level.
    fn texture(&self, format: &Format) -> glow::Texture {
        // SAFETY: the context is current.
        unsafe {
            let texture = self.api.create_texture().unwrap();
            self.api.bind_texture(glow::TEXTURE_2D, Some(texture));
            self.api.tex_storage_2d(glow::TEXTURE_2D, 1, format.internal, WIDTH as i32, HEIGHT as i32);
            texture
        }
    }

    fn write(&self, texture: glow::Texture, format: &Format, bytes: &[u8]) {
        let (width, height) = (WIDTH as i32, HEIGHT as i32);
        let source = glow::PixelUnpackData::Slice(Some(bytes));
        // SAFETY: the context is current; `bytes` has the whole texture, in rows without padding.
        unsafe {
            self.api.pixel_store_i32(glow::UNPACK_ALIGNMENT, 1);
            self.api.bind_texture(glow::TEXTURE_2D, Some(texture));
            let (target, kind) = (glow::TEXTURE_2D, glow::UNSIGNED_BYTE);
            self.api.tex_sub_image_2d(target, 0, 0, 0, width, height, format.external, kind, source);
            self.api.finish();
        }
    }

    fn read(&self, texture: glow::Texture, format: &Format) -> Vec<u8> {
        let mut bytes = vec![0; format.bytes()];
        let target = glow::PixelPackData::Slice(Some(&mut bytes));
        // SAFETY: the context is current; `bytes` has room for the whole texture, in rows without padding.
        unsafe {
            self.api.pixel_store_i32(glow::PACK_ALIGNMENT, 1);
            self.api.bind_texture(glow::TEXTURE_2D, Some(texture));
            self.api.get_tex_image(glow::TEXTURE_2D, 0, format.external, glow::UNSIGNED_BYTE, target);
        }
        bytes
    }
}

type HandOver = unsafe extern "system" fn(
    ffi::cl_command_queue,
    ffi::cl_uint,
    *const ffi::cl_mem,
    ffi::cl_uint,
    *const ffi::cl_event,
    *mut ffi::cl_event,
) -> ffi::cl_int;

/// The first device of the first platform, with a queue.
struct Cl {
    context: ffi::cl_context,
    queue: ffi::cl_command_queue,
}

fn first_device() -> (ffi::cl_platform_id, ffi::cl_device_id) {
    let (mut platform, mut device) = (null_mut(), null_mut());
    // SAFETY: one entry each.
    unsafe {
        assert_eq!(ffi::clGetPlatformIDs(1, &mut platform, null_mut()), 0, "an OpenCL driver is installed");
        assert_eq!(ffi::clGetDeviceIDs(platform, ffi::CL_DEVICE_TYPE_ALL, 1, &mut device, null_mut()), 0);
    }
    (platform, device)
}

impl Cl {
    fn open(gl_properties: &[isize]) -> Result<Self, i32> {
        let (platform, device) = first_device();
        let mut properties = vec![ffi::CL_CONTEXT_PLATFORM as isize, platform as isize];
        properties.extend(gl_properties);
        properties.push(0);
        let mut status = 0;
        // SAFETY: the list ends with 0; there is one device and no callback.
        unsafe {
            let context =
                ffi::clCreateContext(properties.as_ptr(), 1, &device, None, null_mut(), &mut status);
            if context.is_null() {
                return Err(status);
            }
            let queue = ffi::clCreateCommandQueue(context, device, 0, &mut status);
            assert_eq!(status, 0);
            Ok(Self { context, queue })
        }
    }

    fn texture(&self, texture: glow::Texture) -> Result<ffi::cl_mem, i32> {
        let (mut status, name) = (0, texture.0.get());
        // SAFETY: the context lives.
        let image = unsafe {
            let flags = ffi::CL_MEM_READ_WRITE;
            ffi::clCreateFromGLTexture(self.context, flags, glow::TEXTURE_2D, 0, name, &mut status)
        };
        if image.is_null() { Err(status) } else { Ok(image) }
    }

    fn acquire(&self, image: &ffi::cl_mem) {
        assert_eq!(self.hand_over(*image, ffi::clEnqueueAcquireGLObjects), 0);
    }

    fn release(&self, image: &ffi::cl_mem) {
        assert_eq!(self.hand_over(*image, ffi::clEnqueueReleaseGLObjects), 0);
    }

    fn hand_over(&self, image: ffi::cl_mem, function: HandOver) -> i32 {
        // SAFETY: one live object, no events.
        unsafe { function(self.queue, 1, ptr::from_ref(&image), 0, ptr::null(), null_mut()) }
    }

    /// The same on a thread of its own, which has no OpenGL context.
    fn hand_over_elsewhere(&self, image: ffi::cl_mem, function: HandOver) -> i32 {
        let (queue, image) = (self.queue as usize, image as usize);
        std::thread::spawn(move || {
            let image = image as ffi::cl_mem;
            // SAFETY: one live object, no events; OpenCL's handles belong to no thread.
            unsafe { function(queue as _, 1, ptr::from_ref(&image), 0, ptr::null(), null_mut()) }
        })
        .join()
        .unwrap()
    }

    fn read(&self, image: ffi::cl_mem, format: &Format) -> Vec<u8> {
        let (mut bytes, origin, region) = (vec![0u8; format.bytes()], [0; 3], [WIDTH, HEIGHT, 1]);
        let target = bytes.as_mut_ptr().cast();
        // SAFETY: blocking, into a block with room for the whole image.
        let status = unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            ffi::clEnqueueReadImage(
                self.queue,
                image,
                1,
                origin,
                region,
                0,
                0,
                target,
                0,
                ptr::null(),
                null_mut(),
            )
        };
        assert_eq!(status, 0);
        bytes
    }

    fn write(&self, image: ffi::cl_mem, bytes: &[u8]) {
        let (origin, region, source) = ([0; 3], [WIDTH, HEIGHT, 1], bytes.as_ptr().cast());
        // SAFETY: blocking, from a block that holds the whole image.
        let status = unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            ffi::clEnqueueWriteImage(
                self.queue,
                image,
                1,
                origin,
                region,
                0,
                0,
                source,
                0,
                ptr::null(),
                null_mut(),
            )
        };
        assert_eq!(status, 0);
    }
}

/// OpenGL writes, OpenCL reads, then OpenCL writes, OpenGL reads; without the call that is `forgotten`.
fn share(gl: &Gl, format: &Format, forgotten: &str, look: bool) {
    println!("listed={}", device_text(ffi::CL_DEVICE_EXTENSIONS).contains("cl_khr_gl_sharing"));
    let cl = match Cl::open(&gl.properties) {
        Ok(cl) => cl,
        Err(status) => return println!("created={status}"),
    };
    println!("created=0");
    let (from_gl, from_cl) = (format.pattern(3), format.pattern(101));
    let texture = gl.texture(format);
    gl.write(texture, format, &from_gl);
    let image = cl.texture(texture).unwrap();
    describe_object(image, texture);
    // State that an application may have set, and that the layer needs otherwise.
    // SAFETY: the context is current.
    unsafe { gl.api.pixel_store_i32(glow::UNPACK_ROW_LENGTH, 99) };
    if forgotten != "acquire" {
        cl.acquire(&image);
    }
    if look {
        println!("cl_sees_gl={}", cl.read(image, format) == from_gl);
    }
    cl.write(image, &from_cl);
    if forgotten != "release" {
        cl.release(&image);
    }
    // SAFETY: the context is current.
    let row_length = unsafe { gl.api.get_parameter_i32(glow::UNPACK_ROW_LENGTH) };
    println!("gl_state_kept={}", row_length == 99);
    println!("gl_sees_cl={}", gl.read(texture, format) == from_cl);
}

/// Three textures, one after the other; their acquires, their releases, or both, on a thread without an OpenGL context.
fn share_by_threads(gl: &Gl, acquire_elsewhere: bool, release_elsewhere: bool) {
    let cl = Cl::open(&gl.properties).unwrap();
    let hand_over = |image, elsewhere: bool, function: HandOver| match elsewhere {
        true => cl.hand_over_elsewhere(image, function),
        false => cl.hand_over(image, function),
    };
    let (mut acquired, mut released, mut cl_sees, mut gl_sees) = (vec![], vec![], vec![], vec![]);
    let mut shortest = u128::MAX;
    for turn in 0..3 {
        let format = &Format::RGBA8;
        let (from_gl, from_cl) = (format.pattern(3 + turn), format.pattern(101 + turn));
        let texture = gl.texture(format);
        gl.write(texture, format, &from_gl);
        let image = cl.texture(texture).unwrap();
        acquired.push(hand_over(image, acquire_elsewhere, ffi::clEnqueueAcquireGLObjects));
        cl_sees.push(cl.read(image, format) == from_gl);
        cl.write(image, &from_cl);
        let began = std::time::Instant::now();
        released.push(hand_over(image, release_elsewhere, ffi::clEnqueueReleaseGLObjects));
        shortest = shortest.min(began.elapsed().as_micros());
        gl_sees.push(gl.read(texture, format) == from_cl);
    }
    println!("acquired={}", words(&acquired));
    println!("released={}", words(&released));
    println!("cl_sees_gl={}", words(&cl_sees));
    println!("gl_sees_cl={}", words(&gl_sees));
    println!("shortest_release_us={shortest}");
    // SAFETY: the context should be current still; without one the name is 0.
    println!("current_again={}", unsafe { gl.api.create_texture() }.is_ok());
}

fn words(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn describe_object(image: ffi::cl_mem, texture: glow::Texture) {
    let (mut kind, mut name, mut target, mut level) = (0u32, 0u32, 0u32, -1i32);
    // SAFETY: the object lives, and each answer has 32 bits.
    unsafe {
        let status = ffi::clGetGLObjectInfo(image, &mut kind, &mut name);
        let target_at = ptr::from_mut(&mut target).cast();
        assert_eq!(ffi::clGetGLTextureInfo(image, ffi::CL_GL_TEXTURE_TARGET, 4, target_at, null_mut()), 0);
        let level_at = ptr::from_mut(&mut level).cast();
        assert_eq!(ffi::clGetGLTextureInfo(image, ffi::CL_GL_MIPMAP_LEVEL, 4, level_at, null_mut()), 0);
        println!("object={status} {kind:#x} {} {target:#x} {level}", name == texture.0.get());
    }
}

fn device_text(what: u32) -> String {
    let mut bytes = vec![0u8; 16384];
    // SAFETY: the size is the block's, and the answer ends with 0.
    unsafe {
        let at = bytes.as_mut_ptr().cast();
        assert_eq!(ffi::clGetDeviceInfo(first_device().1, what, bytes.len(), at, null_mut()), 0);
        CStr::from_ptr(bytes.as_ptr().cast()).to_string_lossy().into_owned()
    }
}

fn describe_device() {
    let number = |what, size| {
        let mut value = 0u64;
        // SAFETY: the answer has `size` bytes, at most 8.
        let status = unsafe {
            let at = ptr::from_mut(&mut value).cast();
            ffi::clGetDeviceInfo(first_device().1, what, size, at, null_mut())
        };
        assert_eq!(status, 0);
        value
    };
    println!("type={}", number(ffi::CL_DEVICE_TYPE, 8));
    println!("images={}", number(ffi::CL_DEVICE_IMAGE_SUPPORT, 4));
    println!("unified={}", number(ffi::CL_DEVICE_HOST_UNIFIED_MEMORY, 4));
}

fn flush_five_times() {
    let cl = Cl::open(&[]).unwrap();
    let statuses = |call: &dyn Fn() -> i32| words(&(0..5).map(|_| call()).collect::<Vec<_>>());
    // SAFETY: the queue lives.
    println!("flush={}", statuses(&|| unsafe { ffi::clFlush(cl.queue) }));
    let buffer = || {
        let mut status = 0;
        // SAFETY: the context lives; nothing is copied from the host.
        unsafe { ffi::clCreateBuffer(cl.context, ffi::CL_MEM_READ_WRITE, 64, null_mut(), &mut status) };
        status
    };
    println!("buffer={}", statuses(&buffer));
}
