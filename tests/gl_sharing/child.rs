//! The child process of `tests/gl_sharing.rs`: raw calls of OpenGL and OpenCL under the layer. The environment variable
//! `CASE` names the case; results are printed as lines of `name=value`.

use std::ffi::{CStr, c_void};
use std::num::NonZeroU32;
use std::ptr::{self, null_mut};

use glow::HasContext as _;
use glutin::config::{ConfigSurfaceTypes, ConfigTemplateBuilder};
use glutin::context::{AsRawContext as _, ContextAttributesBuilder, PossiblyCurrentContext, RawContext};
use glutin::display::{AsRawDisplay as _, DisplayApiPreference, RawDisplay};
use glutin::prelude::*;
use glutin::surface::{PbufferSurface, Surface, SurfaceAttributesBuilder};
use ocl::ffi;
use raw_window_handle::{RawDisplayHandle, XlibDisplayHandle};

/// The size of the texture in pixels.
pub const WIDTH: usize = 7;
pub const HEIGHT: usize = 5;
/// The length of a shared buffer in bytes.
pub const LENGTH: usize = 1003;

#[test]
#[ignore = "runs in a child process of the other tests, which set its environment"]
fn case() {
    let (Ok(what), Ok(platform)) = (std::env::var("CASE"), std::env::var("CASE_PLATFORM")) else { return };
    println!();
    let gl = Gl::open(&platform);
    match what.as_str() {
        "device" => describe_device(),
        "driving" => describe_driving(&gl),
        "flush-five-times" => flush_five_times(),
        "plain-context" => {
            let cl = Cl::open(&[]).unwrap();
            println!("texture={}", cl.texture(gl.texture(&Format::RGBA8)).unwrap_err());
            println!("buffer={}", cl.buffer(gl.buffer(&[0; LENGTH])).unwrap_err());
        }
        "no-buffer" => {
            let cl = Cl::open(&gl.properties).unwrap();
            let unknown = NonZeroU32::new(4711).map(glow::NativeBuffer).unwrap();
            println!("unknown={}", cl.buffer(unknown).unwrap_err());
            println!("empty={}", cl.buffer(gl.buffer(&[])).unwrap_err());
        }
        "buffer" => share_buffer(&gl, "", false),
        "buffer-elsewhere" => share_buffer(&gl, "", true),
        "buffer-forget-acquire" => share_buffer(&gl, "acquire", false),
        "buffer-forget-release" => share_buffer(&gl, "release", false),
        "share-rgba8" => share(&gl, &Format::RGBA8, "", true),
        "share-r8" => share(&gl, &Format::R8, "", true),
        "thread-acquire" => share_by_threads(&gl, true, false),
        "thread-release" => share_by_threads(&gl, false, true),
        "thread-both" => share_by_threads(&gl, true, true),
        _ => share(&gl, &Format::RGBA8, what.strip_prefix("forget-").unwrap(), false),
    }
}

/// A texture format in OpenGL's terms.
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

    /// Returns bytes that differ from their neighbours, from those of another `seed`, and from the poison.
    fn pattern(&self, seed: u8) -> Vec<u8> {
        (0..self.bytes()).map(|i| (i as u8).wrapping_mul(7).wrapping_add(seed)).collect()
    }
}

/// An OpenGL context without a window, current on this thread.
struct Gl {
    api: glow::Context,
    properties: Vec<isize>,
    _surface: Surface<PbufferSurface>,
    _context: PossiblyCurrentContext,
}

impl Gl {
    fn open(platform: &str) -> Self {
        // SAFETY: this is the signature in Xlib; the display stays open until the process ends.
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

    /// Creates a complete texture with one mipmap level.
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

    /// Creates a buffer with these bytes.
    fn buffer(&self, bytes: &[u8]) -> glow::Buffer {
        // SAFETY: the context is current; OpenGL copies the bytes before the call returns.
        unsafe {
            let buffer = self.api.create_buffer().unwrap();
            self.api.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
            self.api.buffer_data_u8_slice(glow::ARRAY_BUFFER, bytes, glow::DYNAMIC_DRAW);
            self.api.finish();
            buffer
        }
    }

    fn read_buffer(&self, buffer: glow::Buffer) -> Vec<u8> {
        let mut bytes = vec![0; LENGTH];
        // SAFETY: the context is current; the buffer has that many bytes.
        unsafe {
            self.api.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
            self.api.get_buffer_sub_data(glow::ARRAY_BUFFER, 0, &mut bytes);
        }
        bytes
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

    fn buffer(&self, buffer: glow::Buffer) -> Result<ffi::cl_mem, i32> {
        let mut status = 0;
        // SAFETY: the context lives.
        let buffer = unsafe {
            let flags = ffi::CL_MEM_READ_WRITE;
            ffi::clCreateFromGLBuffer(self.context, flags, buffer.0.get(), &mut status)
        };
        if buffer.is_null() { Err(status) } else { Ok(buffer) }
    }

    fn read_buffer(&self, buffer: ffi::cl_mem) -> Vec<u8> {
        let mut bytes = vec![0u8; LENGTH];
        let (to, none) = (bytes.as_mut_ptr().cast(), ptr::null());
        // SAFETY: blocking, into a block with room for the whole buffer.
        let status =
            unsafe { ffi::clEnqueueReadBuffer(self.queue, buffer, 1, 0, LENGTH, to, 0, none, null_mut()) };
        assert_eq!(status, 0);
        bytes
    }

    fn write_buffer(&self, buffer: ffi::cl_mem, bytes: &[u8]) {
        let (from, none) = (bytes.as_ptr().cast(), ptr::null());
        // SAFETY: blocking, from a block that holds the whole buffer.
        let status =
            unsafe { ffi::clEnqueueWriteBuffer(self.queue, buffer, 1, 0, LENGTH, from, 0, none, null_mut()) };
        assert_eq!(status, 0);
    }

    /// Calls `function` on this thread, or on a new one, which has no OpenGL context.
    fn hand_over(&self, image: ffi::cl_mem, elsewhere: bool, function: HandOver) -> i32 {
        let (queue, image) = (self.queue as usize, image as usize);
        let call = move || {
            let image = image as ffi::cl_mem;
            // SAFETY: one live object, no events; OpenCL's handles belong to no thread.
            unsafe { function(queue as _, 1, ptr::from_ref(&image), 0, ptr::null(), null_mut()) }
        };
        if elsewhere { std::thread::spawn(call).join().unwrap() } else { call() }
    }

    fn read(&self, image: ffi::cl_mem, format: &Format) -> Vec<u8> {
        let (mut bytes, origin, region) = (vec![0u8; format.bytes()], [0; 3], [WIDTH, HEIGHT, 1]);
        let target = bytes.as_mut_ptr().cast();
        // SAFETY: blocking, into a block with room for the whole image.
        let status = unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            let (queue, none) = (self.queue, ptr::null());
            ffi::clEnqueueReadImage(queue, image, 1, origin, region, 0, 0, target, 0, none, null_mut())
        };
        assert_eq!(status, 0);
        bytes
    }

    fn write(&self, image: ffi::cl_mem, bytes: &[u8]) {
        let (origin, region, source) = ([0; 3], [WIDTH, HEIGHT, 1], bytes.as_ptr().cast());
        // SAFETY: blocking, from a block that holds the whole image.
        let status = unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            let (queue, none) = (self.queue, ptr::null());
            ffi::clEnqueueWriteImage(queue, image, 1, origin, region, 0, 0, source, 0, none, null_mut())
        };
        assert_eq!(status, 0);
    }
}

/// OpenGL writes and OpenCL reads, then OpenCL writes and OpenGL reads; without the `forgotten` call.
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
        assert_eq!(cl.hand_over(image, false, ffi::clEnqueueAcquireGLObjects), 0);
    }
    if look {
        println!("cl_sees_gl={}", cl.read(image, format) == from_gl);
    }
    cl.write(image, &from_cl);
    if forgotten != "release" {
        assert_eq!(cl.hand_over(image, false, ffi::clEnqueueReleaseGLObjects), 0);
    }
    // SAFETY: the context is current.
    let row_length = unsafe { gl.api.get_parameter_i32(glow::UNPACK_ROW_LENGTH) };
    println!("gl_state_kept={}", row_length == 99);
    println!("gl_sees_cl={}", gl.read(texture, format) == from_cl);
}

/// Three textures, one after the other; their acquires, their releases, or both, on a thread without an OpenGL context.
fn share_by_threads(gl: &Gl, acquire_elsewhere: bool, release_elsewhere: bool) {
    let cl = Cl::open(&gl.properties).unwrap();
    let (mut acquired, mut released, mut cl_sees, mut gl_sees) = (vec![], vec![], vec![], vec![]);
    for turn in 0..3 {
        let format = &Format::RGBA8;
        let (from_gl, from_cl) = (format.pattern(3 + turn), format.pattern(101 + turn));
        let texture = gl.texture(format);
        gl.write(texture, format, &from_gl);
        let image = cl.texture(texture).unwrap();
        acquired.push(cl.hand_over(image, acquire_elsewhere, ffi::clEnqueueAcquireGLObjects));
        cl_sees.push(cl.read(image, format) == from_gl);
        cl.write(image, &from_cl);
        released.push(cl.hand_over(image, release_elsewhere, ffi::clEnqueueReleaseGLObjects));
        gl_sees.push(gl.read(texture, format) == from_cl);
    }
    println!("acquired={}", words(&acquired));
    println!("released={}", words(&released));
    println!("cl_sees_gl={}", words(&cl_sees));
    println!("gl_sees_cl={}", words(&gl_sees));
    // SAFETY: the context should still be current; without one the name is 0.
    println!("current_again={}", unsafe { gl.api.create_texture() }.is_ok());
}

/// Shares a buffer without the `forgotten` call; `elsewhere`: on a thread without an OpenGL context.
fn share_buffer(gl: &Gl, forgotten: &str, elsewhere: bool) {
    let cl = Cl::open(&gl.properties).unwrap();
    let pattern = |seed: usize| (0..LENGTH).map(|i| (i * 7 + seed) as u8).collect::<Vec<u8>>();
    let (from_gl, from_cl) = (pattern(3), pattern(101));
    let buffer = gl.buffer(&from_gl);
    let shared = cl.buffer(buffer).unwrap();
    let (mut kind, mut name) = (0, 0);
    // SAFETY: the object lives, and there is room for both answers.
    assert_eq!(unsafe { ffi::clGetGLObjectInfo(shared, &mut kind, &mut name) }, 0);
    println!("object={kind:#x} {}", name == buffer.0.get());
    if forgotten != "acquire" {
        assert_eq!(cl.hand_over(shared, elsewhere, ffi::clEnqueueAcquireGLObjects), 0);
    }
    println!("cl_sees_gl={}", cl.read_buffer(shared) == from_gl);
    cl.write_buffer(shared, &from_cl);
    if forgotten != "release" {
        assert_eq!(cl.hand_over(shared, elsewhere, ffi::clEnqueueReleaseGLObjects), 0);
    }
    println!("gl_sees_cl={}", gl.read_buffer(buffer) == from_cl);
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
    println!("name={}", device_text(ffi::CL_DEVICE_NAME));
    println!("type={}", number(ffi::CL_DEVICE_TYPE, 8));
    println!("images={}", number(ffi::CL_DEVICE_IMAGE_SUPPORT, 4));
    println!("unified={}", number(ffi::CL_DEVICE_HOST_UNIFIED_MEMORY, 4));
}

/// Prints which device the driver reports for the OpenGL context.
fn describe_driving(gl: &Gl) {
    type GetGlContextInfo =
        unsafe extern "system" fn(*const isize, u32, usize, *mut c_void, *mut usize) -> ffi::cl_int;
    const CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR: u32 = 0x2006;
    let (platform, first) = first_device();
    let mut properties = vec![ffi::CL_CONTEXT_PLATFORM as isize, platform as isize];
    properties.extend(&gl.properties);
    properties.push(0);
    let (mut device, mut length): (ffi::cl_device_id, _) = (null_mut(), usize::MAX);
    // SAFETY: the name ends with 0, and is that of a function of this type; the list ends with 0; there is room for
    // one device.
    let status = unsafe {
        let name = c"clGetGLContextInfoKHR".as_ptr();
        let function = ffi::clGetExtensionFunctionAddressForPlatform(platform, name);
        assert!(!function.is_null());
        let function: GetGlContextInfo = std::mem::transmute(function);
        let (what, at) = (CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, ptr::from_mut(&mut device).cast());
        function(properties.as_ptr(), what, size_of::<ffi::cl_device_id>(), at, &mut length)
    };
    println!("driving={status} {length} {}", device == first);
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
