//! The rungs of matrix multiplication, in order. In: nothing. Out: their names, and what they are made of.

use super::codes::{self, Code};
use super::host::{self, Host};
use ladder::rung::{Rung, Work};

const fn host(id: &'static str, title: &'static str, idea: &'static str, host: Host) -> Rung<Code, Host> {
    Rung { id, title, idea, work: Work::Host(host) }
}

const fn kernels(
    id: &'static str,
    title: &'static str,
    idea: &'static str,
    code: &'static Code,
) -> Rung<Code, Host> {
    Rung { id, title, idea, work: Work::Kernels(code) }
}

pub(super) static RUNGS: [Rung<Code, Host>; 15] = [
    host("serial", "Serial", "One thread, one product at a time.", host::SERIAL),
    host("threads", "Threads", "The same on all cores.", host::THREADS),
    host(
        "threads-vectors",
        "Threads, vectors",
        "All cores, in blocks that caches and registers hold, in vectors.",
        host::THREADS_VECTORS,
    ),
    kernels("naive", "Naive", "OpenCL, one result a work-item, added up in global memory.", &codes::NAIVE),
    kernels("private", "Private", "The sum stays in a register.", &codes::PRIVATE),
    kernels(
        "transposed",
        "Transposed",
        "B is transposed first: both matrices are read along rows.",
        &codes::TRANSPOSED,
    ),
    kernels(
        "work-group",
        "Work-group",
        "Groups as high as they are wide share what the caches hold.",
        &codes::WORK_GROUP,
    ),
    kernels(
        "local-tiles",
        "Local tiles",
        "Each group brings tiles of both matrices into local memory.",
        &codes::LOCAL_TILES,
    ),
    kernels("constant", "Constant", "B in constant memory, where it fits.", &codes::CONSTANT),
    kernels("padded", "Padded", "Local tiles whose rows lie in different banks.", &codes::PADDED),
    kernels(
        "register-tiles",
        "Register tiles",
        "Several results a work-item: tiles on two levels.",
        &codes::REGISTER_TILES,
    ),
    kernels(
        "vector-loads",
        "Vector loads",
        "Four numbers at a time, between all kinds of memory.",
        &codes::VECTOR_LOADS,
    ),
    kernels(
        "double-buffered",
        "Double buffered",
        "The next tiles come while these are used.",
        &codes::DOUBLE_BUFFERED,
    ),
    kernels(
        "panels",
        "Panels",
        "For processors: packed panels, and a work-item whose results fill the vector registers.",
        &codes::PANELS,
    ),
    Rung {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest,
    },
];
