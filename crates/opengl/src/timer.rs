//! Measurement of the time of OpenGL commands with timer queries, without waiting for the commands.

use std::sync::Arc;
use std::time::Instant;

use glow::HasContext as _;

/// The kind of clock that times OpenGL's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// OpenGL's timer queries, which measure the time on OpenGL's device.
    Queries,
    /// The host's clock, if there are no timer queries: from the first call until the end of the commands is noticed.
    Wall,
}

/// A timer of OpenGL commands. The context must be current whenever the timer is used.
#[derive(Clone)]
pub struct GlTimer {
    gl: Arc<glow::Context>,
    clock: Clock,
}

/// A measurement of OpenGL commands whose result is pending. The context must be current when it is polled or dropped.
pub struct Timing {
    gl: Arc<glow::Context>,
    query: Option<glow::Query>,
    fence: Option<glow::Fence>,
    /// The time just before the measured OpenGL commands were issued.
    pub began: Instant,
}

/// The times of finished OpenGL commands, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct CommandTimes {
    /// The time on OpenGL's device; `None` without timer queries, or if the driver returns an impossible time.
    pub device_ms: Option<f64>,
    /// The wall time from the first call until the end of the commands was noticed.
    pub wall_ms: f64,
}

impl CommandTimes {
    /// Returns the time on OpenGL's device if known, else the wall time.
    pub fn ms(&self) -> f64 {
        self.device_ms.unwrap_or(self.wall_ms)
    }
}

impl GlTimer {
    /// Creates a timer for the current context: with timer queries if OpenGL has them, else with the host's clock.
    pub fn new(gl: Arc<glow::Context>) -> Self {
        let version = gl.version();
        let timed = !version.is_embedded
            && ((version.major, version.minor) >= (3, 3)
                || gl.supported_extensions().contains("GL_ARB_timer_query"));
        Self { gl, clock: if timed { Clock::Queries } else { Clock::Wall } }
    }

    /// Returns the clock that this timer uses.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Runs `draw` and measures the commands that it issues, with a fence behind them. Measurements must not nest. Returns the
    /// result of `draw` and the pending measurement, which is `None` if the driver has no fences.
    pub fn time<T>(&self, draw: impl FnOnce() -> T) -> (T, Option<Timing>) {
        let (result, began, query) = self.run_with_query(draw);
        // SAFETY: the context is current; a query that is not kept is deleted.
        let fence = unsafe { self.gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0).ok() };
        let timing = Timing { gl: self.gl.clone(), query, fence, began };
        (result, Some(timing).filter(|timing| timing.fence.is_some()))
    }

    /// Runs `draw` and measures its commands as [`GlTimer::time`] does, but without a fence, which would make a software
    /// renderer draw these commands separately from the next ones. Returns the result of `draw` and the pending measurement,
    /// which is `None` if OpenGL has no timer queries.
    pub fn time_with_next<T>(&self, draw: impl FnOnce() -> T) -> (T, Option<Timing>) {
        let (result, began, query) = self.run_with_query(draw);
        let timing = Timing { gl: self.gl.clone(), query, fence: None, began };
        (result, Some(timing).filter(|timing| timing.query.is_some()))
    }

    /// Runs `draw` and measures its commands as [`GlTimer::time_with_next`] does, and then flushes them, so that they begin to
    /// run. Returns the result of `draw` and the pending measurement, which is `None` if OpenGL has no timer queries.
    pub fn time_and_begin<T>(&self, draw: impl FnOnce() -> T) -> (T, Option<Timing>) {
        let result = self.time_with_next(draw);
        // SAFETY: the context is current.
        unsafe { self.gl.flush() };
        result
    }

    /// Runs `draw`, with a timer query around its commands if OpenGL has timer queries. Returns the result of `draw`, the time
    /// before it, and the query.
    fn run_with_query<T>(&self, draw: impl FnOnce() -> T) -> (T, Instant, Option<glow::Query>) {
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
    /// Returns the times of the commands once they are finished, and `None` before. Never waits.
    pub fn finished(&self) -> Option<CommandTimes> {
        let gl = &self.gl;
        // SAFETY: the context is current; fence and query are this context's, and the query has ended.
        unsafe {
            if self.fence.is_some_and(|fence| gl.get_sync_status(fence) != glow::SIGNALED) {
                return None;
            }
            let wall_ms = self.began.elapsed().as_secs_f64() * 1e3;
            let Some(query) = self.query else { return Some(CommandTimes { device_ms: None, wall_ms }) };
            // Nothing takes longer than the wall clock says: llvmpipe 22.3 sometimes gives the time since the machine
            // was started.
            (gl.get_query_parameter_u32(query, glow::QUERY_RESULT_AVAILABLE) != 0).then(|| {
                let ms = gl.get_query_parameter_u64(query, glow::QUERY_RESULT) as f64 * 1e-6;
                CommandTimes { device_ms: Some(ms).filter(|ms| *ms <= wall_ms), wall_ms }
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
