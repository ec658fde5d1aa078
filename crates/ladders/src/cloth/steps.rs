//! The five steps of a frame of the cloth simulation.

/// A step of a frame of the cloth simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StepId {
    /// Computes positions and normals of the body's vertices, and of the drivers (points of the body's surface that the particles
    /// follow), from the pose.
    Skin,
    /// Moves particles by their speed, gravity and the drag.
    Integrate,
    /// Moves neighbouring particles to their distances at rest.
    Distances,
    /// Keeps particles outside the body, and within reach of their drivers (the points of the body's surface that they follow).
    Drive,
    /// Writes vertices with normals for OpenGL.
    Write,
}

impl StepId {
    /// All steps, in order.
    pub const ALL: [Self; 5] = [Self::Skin, Self::Integrate, Self::Distances, Self::Drive, Self::Write];

    /// Returns the name of the step in files and on the screen.
    pub fn name(self) -> &'static str {
        ["skin", "integrate", "distances", "drive", "write-back"][self as usize]
    }
}
