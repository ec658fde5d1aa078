//! How long OpenGL's commands take on the device: timer queries between two looks of which nobody waits.

use std::sync::Arc;
use std::time::Instant;

use glow::HasContext as _;

/// Which clock times OpenGL's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// OpenGL's timer queries: the time on the device.
    Queries,
    /// From the call until the end was noticed: this OpenGL has no timer queries.
    Wall,
}

/// Makes [`Timing`]s. The context must be current whenever it is used.
#[derive(Clone)]
pub struct GlTimer {
    gl: Arc<glow::Context>,
    clock: Clock,
}

/// What tells when commands are finished, and how long they took. The context must be current when it is asked or
/// dropped.
pub struct Timing {
    gl: Arc<glow::Context>,
    query: Option<glow::Query>,
    fence: Option<glow::Fence>,
    began: Instant,
}

/// Times of finished commands, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// On the device; `None` where OpenGL does not tell, or tells what cannot be.
    pub device_ms: Option<f64>,
    /// Until somebody noticed that they were finished.
    pub wall_ms: f64,
}

impl Took {
    /// The best that is known.
    pub fn ms(&self) -> f64 {
        self.device_ms.unwrap_or(self.wall_ms)
    }
}

impl GlTimer {
    /// A timer for the current context.
    pub fn new(gl: Arc<glow::Context>) -> Self {
        let version = gl.version();
        let timed = !version.is_embedded
            && ((version.major, version.minor) >= (3, 3)
                || gl.supported_extensions().contains("GL_ARB_timer_query"));
        Self { gl, clock: if timed { Clock::Queries } else { Clock::Wall } }
    }

    /// What times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Runs `draw`, whose commands are timed and begun; none of them may time others. The timing is `None` where the driver
    /// has no fences.
    pub fn time<T>(&self, draw: impl FnOnce() -> T) -> (T, Option<Timing>) {
        let (result, began, query) = self.queried(draw);
        // SAFETY: the context is current; a query that is not kept is deleted.
        let fence = unsafe { self.gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0).ok() };
        let timing = Timing { gl: self.gl.clone(), query, fence, began };
        (result, Some(timing).filter(|timing| timing.fence.is_some()))
    }

    /// Runs `draw` as [`GlTimer::time`] does, without a fence: that would have a software OpenGL draw at once what it
    /// draws together with what comes next. The timing is `None` where OpenGL has no timer queries.
    pub fn time_with_next<T>(&self, draw: impl FnOnce() -> T) -> (T, Option<Timing>) {
        let (result, began, query) = self.queried(draw);
        let timing = Timing { gl: self.gl.clone(), query, fence: None, began };
        (result, Some(timing).filter(|timing| timing.query.is_some()))
    }

    /// As [`GlTimer::time_with_next`], but OpenGL begins with it now.
    pub fn time_and_begin<T>(&self, draw: impl FnOnce() -> T) -> (T, Option<Timing>) {
        let result = self.time_with_next(draw);
        // SAFETY: the context is current.
        unsafe { self.gl.flush() };
        result
    }

    fn queried<T>(&self, draw: impl FnOnce() -> T) -> (T, Instant, Option<glow::Query>) {
        let gl = &self.gl;
        let began = Instant::now();
        // SAFETY: the context is current, and no other query of this kind is open.
        let query = unsafe {
            let query = if self.clock == Clock::Queries { gl.create_query().ok() } else { None };
            if let Some(query) = query {
                gl.begin_query(glow::TIME_ELAPSED, query);
            }
            query
        };
        let result = draw();
        if query.is_some() {
            // SAFETY: as above; it was opened here.
            unsafe { gl.end_query(glow::TIME_ELAPSED) };
        }
        (result, began, query)
    }
}

impl Timing {
    /// When the first call was made.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// What the commands took, if they are finished. Never waits.
    pub fn finished(&self) -> Option<Took> {
        let gl = &self.gl;
        // SAFETY: the context is current; fence and query are this context's, and the query has ended.
        unsafe {
            if self.fence.is_some_and(|fence| gl.get_sync_status(fence) != glow::SIGNALED) {
                return None;
            }
            let wall_ms = self.began.elapsed().as_secs_f64() * 1e3;
            let Some(query) = self.query else { return Some(Took { device_ms: None, wall_ms }) };
            // Nothing takes longer than the wall clock says: llvmpipe 22.3 sometimes gives the time since the machine
            // was started.
            (gl.get_query_parameter_u32(query, glow::QUERY_RESULT_AVAILABLE) != 0).then(|| {
                let ms = gl.get_query_parameter_u64(query, glow::QUERY_RESULT) as f64 * 1e-6;
                Took { device_ms: Some(ms).filter(|ms| *ms <= wall_ms), wall_ms }
            })
        }
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        // SAFETY: the context is current; both are its own and not used again.
        unsafe {
            if let Some(fence) = self.fence {
                self.gl.delete_sync(fence);
            }
            if let Some(query) = self.query {
                self.gl.delete_query(query);
            }
        }
    }
}
