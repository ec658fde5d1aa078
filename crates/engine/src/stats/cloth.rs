//! What a frame of an army took.

use ladders::cloth::steps::StepId;

/// The times of an army's frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClothTimes {
    /// How many figures there are.
    pub figures: usize,
    /// Milliseconds of each of [`Self::NAMES`]; not finite where it did not run, or the driver does not tell. They are the
    /// device's, but of steps on the host and of the copy the host's.
    pub ms: [f64; 8],
    /// Which steps the host did.
    pub on_host: [bool; 5],
    /// How often OpenGL's vertex buffer was handed over to OpenCL, and back; 0 where it is not shared.
    pub handovers: usize,
}

impl ClothTimes {
    /// What is timed, in the order in which it runs: the handover to OpenCL, the five steps, the handover back to OpenGL (the sum
    /// of two where there are two), and where vertices are not shared the copy.
    pub const NAMES: [&'static str; 8] =
        ["acquire", "skin", "integrate", "distances", "drive", "write-back", "release", "copy"];
    /// Where the first step is among them.
    pub const FIRST_STEP: usize = 1;

    /// The names of the steps that the host did.
    pub(crate) fn steps_on_host(&self) -> impl Iterator<Item = &'static str> {
        StepId::ALL.into_iter().zip(self.on_host).filter(|(_, on_host)| *on_host).map(|(step, _)| step.name())
    }
}
