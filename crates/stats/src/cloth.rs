//! The times of one rendered frame of the cloth simulation.

/// The times of one rendered frame of the cloth simulation, which moves walking figures and their clothes.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct ClothTimes {
    /// The number of figures.
    pub figures: usize,
    /// The times in milliseconds, in the order of [`Self::NAMES`]; not finite if a step did not run or its time is unknown. The
    /// times are the device's, except for steps on the host and for the copy, which are the host's.
    pub ms: [f64; 8],
    /// For each of the five steps of the simulation, in the order of [`Self::NAMES`], true if it ran on the CPU instead of the
    /// OpenCL device.
    pub on_host: [bool; 5],
    /// The number of times that OpenGL's vertex buffer was handed over to OpenCL and back; 0 if it is not shared.
    pub handovers: usize,
}

impl ClothTimes {
    /// The names of the times, in the order in which they are taken: the handover to OpenCL, the five steps, the handover back
    /// to OpenGL (if there are two, their sum), and the copy of the vertices if their buffer is not shared.
    pub const NAMES: [&'static str; 8] =
        ["acquire", "skin", "integrate", "distances", "drive", "write-back", "release", "copy"];
    /// The index of the first step in [`Self::NAMES`].
    pub const FIRST_STEP: usize = 1;
}
