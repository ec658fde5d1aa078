//! The cases, and the indices of times in a [`Turn`].

/// The object that the kernel writes.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    Texture,
    /// As before, with a promise of OpenCL not to read it.
    WriteOnly,
    /// OpenGL's buffer, created with `GL_STREAM_COPY`.
    StreamBuffer,
    /// Created with `GL_STATIC_COPY`.
    StaticBuffer,
    /// OpenCL's buffer, which the host copies to OpenGL's as clreel does without sharing.
    Copied,
}

impl Way {
    pub const ALL: [Way; 5] =
        [Way::Texture, Way::WriteOnly, Way::StreamBuffer, Way::StaticBuffer, Way::Copied];

    /// Returns true for textures.
    pub fn is_image(self) -> bool {
        matches!(self, Way::Texture | Way::WriteOnly)
    }
}

/// OpenGL's work before a turn, and the wait for it. `Finish` and `Fence` are timed.
#[derive(Clone, Copy, PartialEq)]
pub enum Before {
    /// Nothing since the last release.
    Unused,
    /// It has drawn from the texture and is idle.
    Drawn,
    /// It draws; glFinish.
    Finish,
    /// It has drawn and is idle, and a fence is polled, as clreel's slots do.
    Fence,
    /// It draws; a fence is polled, and then glFinish if that is not signalled yet.
    BusyFence,
}

pub struct Case {
    pub name: &'static str,
    pub way: Way,
    pub objects: usize,
    /// A call for each object instead of one for all.
    pub one_by_one: bool,
    /// Launches of the kernel for each object.
    pub writes: usize,
    pub before: Before,
    /// The queue is idle at the release.
    pub pause: bool,
    /// On a queue without profiling, and without events.
    pub bare: bool,
    /// The release is called by a thread without an OpenGL context.
    pub elsewhere: bool,
}

const WRITTEN: Case = Case {
    name: "written",
    way: Way::Texture,
    objects: 1,
    one_by_one: false,
    writes: 1,
    before: Before::Drawn,
    pause: false,
    bare: false,
    elsewhere: false,
};

pub const CASES: [Case; 19] = [
    Case { name: "acquire and release alone, each waited for", writes: 0, pause: true, ..WRITTEN },
    Case { name: "nothing between", writes: 0, ..WRITTEN },
    WRITTEN,
    Case { name: "written, OpenGL did nothing", before: Before::Unused, ..WRITTEN },
    Case { name: "written, glFinish before", before: Before::Finish, ..WRITTEN },
    Case { name: "written, fence before, reached", before: Before::Fence, ..WRITTEN },
    Case { name: "written, fence before, not reached", before: Before::BusyFence, ..WRITTEN },
    Case { name: "written 16 times", writes: 16, ..WRITTEN },
    Case { name: "written, queue idle before the release", pause: true, ..WRITTEN },
    Case { name: "written, no profiling, no events", bare: true, ..WRITTEN },
    Case { name: "written, `CL_MEM_WRITE_ONLY`", way: Way::WriteOnly, ..WRITTEN },
    Case { name: "written, in one call", objects: 2, ..WRITTEN },
    Case { name: "written, in one call", objects: 4, ..WRITTEN },
    Case { name: "written, a call each", objects: 2, one_by_one: true, ..WRITTEN },
    Case { name: "written, a call each", objects: 4, one_by_one: true, ..WRITTEN },
    Case { name: "buffer (`GL_STREAM_COPY`), texture filled from it", way: Way::StreamBuffer, ..WRITTEN },
    Case { name: "buffer (`GL_STATIC_COPY`), texture filled from it", way: Way::StaticBuffer, ..WRITTEN },
    Case { name: "not shared: read into a mapped pixel buffer", way: Way::Copied, ..WRITTEN },
    Case { name: "written, released by another thread", elsewhere: true, ..WRITTEN },
];

/// Milliseconds of a turn, indexed by the constants below; NaN for missing ones.
pub type Turn = [f64; 16];
pub const WAIT: usize = 0;
pub const ACQUIRE: usize = 1;
pub const KERNEL: usize = 2;
pub const RELEASE: usize = 3;
pub const FLUSH: usize = 4;
/// With the wait before the release, if there is one.
pub const COMPLETE: usize = 5;
pub const FILL: usize = 6;
/// The sum of the times above.
pub const ALL: usize = 7;
/// The device's times of acquire, kernel and release.
pub const DEVICE: usize = 8;
pub const DEVICE_FILL: usize = 11;
/// The CPU time of the thread during the release: it slept for the rest.
pub const PROCESSOR: usize = 12;
/// The other thread's release and flush, and an OpenGL clear and flush meanwhile and alone.
pub const ELSEWHERE: usize = 13;
pub const MEANWHILE: usize = 14;
pub const ALONE: usize = 15;
/// The headings of the columns from [`WAIT`] to [`PROCESSOR`].
pub const COLUMNS: [&str; 13] = [
    "wait for OpenGL",
    "acquire",
    "kernel",
    "release",
    "flush",
    "until complete",
    "fill",
    "all",
    "device: acquire",
    "kernel",
    "release",
    "fill",
    "processor in release",
];
