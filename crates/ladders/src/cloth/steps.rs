//! The five steps by name, and all of them in a row.

/// A step of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepId {
    /// Positions, normals and drivers from the pose.
    Skin,
    /// Particles move on, and fall.
    Integrate,
    /// Neighbours come to their distances.
    Distances,
    /// Particles stay outside the body and within reach of their drivers.
    Drive,
    /// Vertices with normals for OpenGL.
    Write,
}

impl StepId {
    /// All of them, in their order.
    pub const ALL: [Self; 5] = [Self::Skin, Self::Integrate, Self::Distances, Self::Drive, Self::Write];

    /// Its name in files and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skin => "skin",
            Self::Integrate => "integrate",
            Self::Distances => "distances",
            Self::Drive => "drive",
            Self::Write => "write-back",
        }
    }
}
