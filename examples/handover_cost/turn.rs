//! One turn of a case, with each call timed.

use std::ffi::CStr;
use std::ptr;
use std::sync::mpsc;
use std::time::Instant;

use base::timing::ms_since;
use clreel::gl_window::GlWindow;
use glow::HasContext as _;
use ocl::ffi;
use opencl::cl::{ClContext, Event, Mem, Program, Queue, Status};
use opencl::kernel::{Kernel, Value};
use opencl::timer::device_ms;
use opengl::timer::{GlTimer, Timing};

use crate::cases::*;
use crate::objects::{Group, Target};
use crate::{Failure, refused};

/// A pixel is a hash of its position and of a seed that no other turn has.
const KERNELS: &CStr = c"uint pixel(int x, int y, int width, uint seed) {
    uint v = ((uint)(y * width + x) ^ seed * 0x9e3779b9u) * 0x85ebca6bu;
    return v ^ v >> 15;
}
__kernel void to_image(__write_only image2d_t to, int width, uint seed) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width) write_imagef(to, (int2)(x, y), convert_float4(as_uchar4(pixel(x, y, width, seed))) / 255.0f);
}
__kernel void to_buffer(__global uint *to, int width, uint seed) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width) to[y * width + x] = pixel(x, y, width, seed);
}";

/// A thread that calls the release.
struct Helper {
    jobs: mpsc::Sender<(Queue, Mem)>,
    /// The event and the duration, or the error.
    done: mpsc::Receiver<Result<(Event, f64), String>>,
}

impl Helper {
    fn start() -> Result<Self, Failure> {
        let (jobs, todo) = mpsc::channel::<(Queue, Mem)>();
        let (answers, done) = mpsc::channel();
        std::thread::Builder::new().spawn(move || {
            for (queue, memory) in todo {
                let began = Instant::now();
                let released = hand_over(&queue, &[memory], false, true)
                    .and_then(|event| Ok((event.ok_or("no event")?, queue.flush().map_err(refused)?)))
                    .map(|(event, ())| (event, ms_since(began)));
                if answers.send(released.map_err(|e| e.to_string())).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { jobs, done })
    }
}

/// The programs and queues for pictures of one size.
pub struct Bench<'a> {
    window: &'a GlWindow,
    cl: &'a ClContext,
    size: (u32, u32),
    timer: GlTimer,
    /// A queue without profiling.
    bare: Queue,
    to_image: Kernel,
    to_buffer: Kernel,
    helper: Helper,
    seed: u32,
}

impl<'a> Bench<'a> {
    /// Builds the kernels.
    pub fn new(window: &'a GlWindow, cl: &'a ClContext, size: (u32, u32)) -> Result<Self, Failure> {
        let program = Program::from_source(&cl.context, KERNELS).map_err(refused)?;
        program.build(&cl.device, c"").map_err(refused)?;
        let kernel = |name| Kernel::new(&program, name).map_err(refused);
        let bare = Queue::new(&cl.context, &cl.device, 0, cl.clock().clone()).map_err(refused)?;
        let (to_image, to_buffer) = (kernel("to_image")?, kernel("to_buffer")?);
        let (timer, helper) = (GlTimer::new(window.gl.clone()), Helper::start()?);
        Ok(Self { window, cl, size, timer, bare, to_image, to_buffer, helper, seed: 0 })
    }

    /// Runs one turn of a case. Afterwards everything is idle, and without an error all objects belong to OpenGL.
    pub fn turn(&mut self, case: &Case, group: &mut Group) -> Result<Turn, Failure> {
        let mut turn = [f64::NAN; ALONE + 1];
        let result = self.steps(case, group, &mut turn);
        // SAFETY: the context is current.
        unsafe { self.window.gl.finish() };
        self.cl.queue.finish().map_err(refused)?;
        let fill = result?;
        turn[DEVICE_FILL] = fill.and_then(|timing| timing.finished()?.device_ms).unwrap_or(f64::NAN);
        turn[ALL] = turn[..ALL].iter().filter(|ms| ms.is_finite()).sum();
        Ok(turn)
    }

    /// The calls of a turn. Returns the timer query of the fill, if there is one.
    fn steps(&mut self, case: &Case, group: &mut Group, turn: &mut Turn) -> Result<Option<Timing>, Failure> {
        let (gl, cl) = (self.window.gl.clone(), self.cl);
        let queue = if case.bare { &self.bare } else { &cl.queue };
        let (memory, targets) = (&group.memory[..case.objects], &mut group.targets[..case.objects]);
        let (mut acquired, mut written, mut released) = (Vec::new(), Vec::new(), Vec::new());
        let in_calls = |acquire, events: &mut Vec<Event>| -> Result<(), Failure> {
            for memory in memory.chunks(if case.one_by_one { 1 } else { case.objects }) {
                events.extend(hand_over(queue, memory, acquire, !case.bare)?);
            }
            Ok(())
        };
        if case.before != Before::Unused {
            targets.iter().for_each(|target| self.draw(target));
        }
        // SAFETY: the context is current; the fence is used and deleted here.
        let began = unsafe {
            let asks = matches!(case.before, Before::Fence | Before::BusyFence);
            let fence = asks.then(|| gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0)).transpose()?;
            if !matches!(case.before, Before::Finish | Before::BusyFence) {
                gl.finish();
            }
            let began = Instant::now();
            let reached = fence.map(|fence| {
                let status = gl.client_wait_sync(fence, glow::SYNC_FLUSH_COMMANDS_BIT, 0);
                gl.delete_sync(fence);
                matches!(status, glow::ALREADY_SIGNALED | glow::CONDITION_SATISFIED)
            });
            if reached == Some(false) || case.before == Before::Finish {
                gl.finish();
            }
            began
        };
        let mut lap = lap_from(began);
        let waited = lap();
        if !matches!(case.before, Before::Unused | Before::Drawn) {
            turn[WAIT] = waited;
        }
        if case.way == Way::Copied {
            let event = targets[0].slot.to_device(cl, &cl.queue)?;
            acquired.extend(event);
        } else {
            in_calls(true, &mut acquired)?;
        }
        turn[ACQUIRE] = lap();
        if case.writes > 0 {
            for (memory, target) in memory.iter().zip(&mut *targets) {
                self.seed += 1;
                target.seed = self.seed;
                for _ in 0..case.writes {
                    written.extend(self.write(queue, case, memory, target.seed)?);
                }
            }
            turn[KERNEL] = lap();
        }
        let mut idle = 0.0;
        if case.pause {
            queue.finish().map_err(refused)?;
            idle = lap();
        }
        if case.elsewhere {
            self.helper.jobs.send((queue.clone(), memory[0].clone()))?;
            turn[RELEASE] = lap();
            turn[MEANWHILE] = self.clear();
            lap();
            match self.helper.done.recv()? {
                Ok((event, ms)) => {
                    turn[ELSEWHERE] = ms;
                    released.push(event);
                }
                Err(why) => {
                    in_calls(false, &mut released)?;
                    return Err(why.into());
                }
            }
        } else {
            let busy = processor_ms();
            if case.way == Way::Copied {
                released.push(targets[0].slot.to_host(cl, false)?);
            } else {
                in_calls(false, &mut released)?;
            }
            turn[RELEASE] = lap();
            turn[PROCESSOR] = processor_ms() - busy;
            lap();
            queue.flush().map_err(refused)?;
        }
        turn[FLUSH] = lap();
        queue.finish().map_err(refused)?;
        turn[COMPLETE] = lap() + idle;
        for (column, events) in [acquired, written, released].into_iter().enumerate() {
            let times = events.into_iter().map(|event| device_ms(&event).unwrap_or(f64::NAN));
            turn[DEVICE + column] = times.reduce(|sum, ms| sum + ms).unwrap_or(f64::NAN);
        }
        if case.elsewhere {
            turn[ALONE] = self.clear();
        }
        if case.way.is_image() {
            return Ok(None);
        }
        let target = &mut targets[0];
        let (ms, timing) = self.timer.time(|| {
            let began = Instant::now();
            match target.buffer {
                Some(buffer) => self.fill(target.texture, buffer),
                None => {
                    target.slot.note_back_on_host();
                    target.slot.show();
                }
            }
            ms_since(began)
        });
        turn[FILL] = ms;
        Ok(timing)
    }

    /// Launches the kernel. There is no event on the queue without profiling.
    fn write(&self, queue: &Queue, case: &Case, to: &Mem, seed: u32) -> Result<Option<Event>, Failure> {
        let kernel = if case.way.is_image() { &self.to_image } else { &self.to_buffer };
        let (width, height) = self.size;
        kernel.set(0, to).map_err(refused)?;
        kernel.set(1, Value::Int(width as i32)).map_err(refused)?;
        kernel.set(2, Value::Uint(seed)).map_err(refused)?;
        let global = [(width as usize).next_multiple_of(64), height as usize, 1];
        let local = [64, 1, 1];
        optional(!case.bare, |event| {
            let (queue, kernel, none) = (queue.raw(), kernel.raw(), ptr::null());
            let (global, local) = (global.as_ptr(), local.as_ptr());
            // SAFETY: all arguments are set with their types, and the kernel stays inside the picture.
            unsafe {
                let offset = ptr::null();
                ffi::clEnqueueNDRangeKernel(queue, kernel, 2, offset, global, local, 0, none, event)
            }
        })
    }

    /// Draws the texture into the window, at the window's size, without showing it.
    fn draw(&self, target: &Target) {
        let (gl, (w, h)) = (&self.window.gl, self.size);
        let to = self.window.size();
        // SAFETY: the context is current, and the framebuffer is complete.
        unsafe {
            gl.bind_framebuffer(glow::READ_FRAMEBUFFER, Some(target.framebuffer));
            let (mask, filter) = (glow::COLOR_BUFFER_BIT, glow::LINEAR);
            gl.blit_framebuffer(0, 0, w as i32, h as i32, 0, 0, to.0 as i32, to.1 as i32, mask, filter);
            gl.bind_framebuffer(glow::READ_FRAMEBUFFER, None);
        }
    }

    /// Returns the milliseconds for a clear of the window and a flush.
    fn clear(&self) -> f64 {
        let began = Instant::now();
        // SAFETY: the context is current.
        unsafe {
            self.window.gl.clear(glow::COLOR_BUFFER_BIT);
            self.window.gl.flush();
        }
        ms_since(began)
    }

    /// Fills the texture from its buffer by OpenGL.
    fn fill(&self, texture: glow::Texture, buffer: glow::Buffer) {
        let (gl, (w, h)) = (&self.window.gl, self.size);
        let (format, kind) = (glow::RGBA, glow::UNSIGNED_BYTE);
        let pixels = glow::PixelUnpackData::BufferOffset(0);
        // SAFETY: the context is current, and the buffer holds w·h·4 bytes.
        unsafe {
            gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, Some(buffer));
            gl.bind_texture(glow::TEXTURE_2D, Some(texture));
            gl.tex_sub_image_2d(glow::TEXTURE_2D, 0, 0, 0, w as i32, h as i32, format, kind, pixels);
            gl.bind_texture(glow::TEXTURE_2D, None);
            gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
        }
    }
}

/// Enqueues one handover of all objects; returns its event if requested.
fn hand_over(
    queue: &Queue,
    memory: &[Mem],
    acquire: bool,
    with_event: bool,
) -> Result<Option<Event>, Failure> {
    let memory: Vec<ffi::cl_mem> = memory.iter().map(Mem::raw).collect();
    let enqueue = if acquire { ffi::clEnqueueAcquireGLObjects } else { ffi::clEnqueueReleaseGLObjects };
    optional(with_event, |event| {
        // SAFETY: the queue is alive, and so are the objects of the list.
        unsafe { enqueue(queue.raw(), memory.len() as u32, memory.as_ptr(), 0, ptr::null(), event) }
    })
}

/// Enqueues a command, with an event or without.
fn optional(
    with_event: bool,
    enqueue: impl FnOnce(*mut ffi::cl_event) -> i32,
) -> Result<Option<Event>, Failure> {
    if with_event {
        return Event::from_call(enqueue).map(Some).map_err(refused);
    }
    match enqueue(ptr::null_mut()) {
        0 => Ok(None),
        code => Err(refused(Status(code))),
    }
}

/// Returns a function that returns the milliseconds since its last call, at first since `began`.
fn lap_from(mut began: Instant) -> impl FnMut() -> f64 {
    move || {
        let ms = ms_since(began);
        began = Instant::now();
        ms
    }
}

/// Returns the CPU time of this thread in milliseconds.
fn processor_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the time; if it fails, the time stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 * 1e-6
}
