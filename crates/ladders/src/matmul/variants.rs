//! The variants of matrix multiplication.

use super::codes::{self, Code};
use super::host;
use super::shape::Shape;
use ladder::arrays::Host;
use ladder::variant::Variant;

/// The variants of the ladder of matrix multiplication, in the order of the tables.
pub(super) static VARIANTS: [Variant<Code, Host<Shape>>; 15] = [
    Variant::host("serial", "Serial", "One thread, one product at a time.", host::SERIAL),
    Variant::host("threads", "Threads", "The same on all cores.", host::THREADS),
    Variant::host(
        "threads-vectors",
        "Threads, vectors",
        "All cores, in blocks that caches and registers hold, in vectors.",
        host::THREADS_VECTORS,
    ),
    Variant::kernels(
        "naive",
        "Naive",
        "OpenCL, one result a work-item, added up in global memory.",
        &codes::NAIVE,
    ),
    Variant::kernels("private", "Private", "The sum stays in a register.", &codes::PRIVATE),
    Variant::kernels(
        "transposed",
        "Transposed",
        "B is transposed first: both matrices are read along rows.",
        &codes::TRANSPOSED,
    ),
    Variant::kernels(
        "work-group",
        "Work-group",
        "Groups as high as they are wide share what the caches hold.",
        &codes::WORK_GROUP,
    ),
    Variant::kernels(
        "local-tiles",
        "Local tiles",
        "Each group brings tiles of both matrices into local memory.",
        &codes::LOCAL_TILES,
    ),
    Variant::kernels("constant", "Constant", "B in constant memory, where it fits.", &codes::CONSTANT),
    Variant::kernels("padded", "Padded", "Local tiles whose rows lie in different banks.", &codes::PADDED),
    Variant::kernels(
        "register-tiles",
        "Register tiles",
        "Several results a work-item: tiles on two levels.",
        &codes::REGISTER_TILES,
    ),
    Variant::kernels(
        "vector-loads",
        "Vector loads",
        "Four numbers at a time, between all kinds of memory.",
        &codes::VECTOR_LOADS,
    ),
    Variant::kernels(
        "double-buffered",
        "Double buffered",
        "The next tiles come while these are used.",
        &codes::DOUBLE_BUFFERED,
    ),
    Variant::kernels(
        "panels",
        "Panels",
        "For processors: packed panels, and a work-item whose results fill the vector registers.",
        &codes::PANELS,
    ),
    Variant::AUTO,
];
