//! What every ladder of kernels shares: the variants' names, the outcome of running one, and the rules for
//! checking ([`verify`](crate::verify)) and timing ([`measure`]) it.

pub mod box_filter;
pub mod config;
pub mod contest;
pub mod conversions;
pub mod heat;
pub mod measure;
pub mod rung;
pub mod search;
pub mod tune;
pub mod tuned;

use std::fmt;
use std::str::FromStr;

use crate::gpu::memory::Storage;

/// One rung of the box-filter ladder, or [`VariantId::Off`] for the unfiltered picture.
///
/// The names are part of the command line and of every file that clreel writes: they never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VariantId {
    /// No filter: the frame passes through.
    Off,
    /// `image2d`, two nested loops, (2r+1)² reads a pixel.
    Naive,
    /// Images, one horizontal and one vertical pass.
    Separable,
    /// The same two passes on flat buffers.
    Flat,
    /// Flat buffers, several pixels a work-item in OpenCL vector types.
    Vectorized,
    /// Add the pixel that enters the window, subtract the one that leaves it.
    RunningSum,
    /// Two fragment shaders in OpenGL, without OpenCL.
    Glsl,
    /// Threads and vectors in Rust, without OpenCL.
    Native,
    /// Rows and columns in one kernel: each pixel is read about once and written once.
    Fused,
    /// The planes of a picture at their own sizes, before they become RGBA.
    Planar,
    /// Whatever of the others is the fastest on this device, by the cache of [`tuned`].
    Auto,
}

impl VariantId {
    /// Every choice in its order on the screen: 0 is `off`, 1 to 5 are the steps of the ladder, then come the peers that
    /// do without OpenCL, and what goes beyond the five.
    pub const ALL: [VariantId; 11] = [
        VariantId::Off,
        VariantId::Naive,
        VariantId::Separable,
        VariantId::Flat,
        VariantId::Vectorized,
        VariantId::RunningSum,
        VariantId::Glsl,
        VariantId::Native,
        VariantId::Fused,
        VariantId::Planar,
        VariantId::Auto,
    ];

    /// The name used on the command line, in JSON and in CSV.
    pub fn as_str(self) -> &'static str {
        match self {
            VariantId::Off => "off",
            VariantId::Naive => "naive",
            VariantId::Separable => "separable",
            VariantId::Flat => "flat",
            VariantId::Vectorized => "vectorized",
            VariantId::RunningSum => "running-sum",
            VariantId::Glsl => "glsl",
            VariantId::Native => "native",
            VariantId::Fused => "fused",
            VariantId::Planar => "planar",
            VariantId::Auto => "auto",
        }
    }

    /// The key that chooses it in the window: a number, and for `planar`, since there are ten numbers, a letter.
    pub fn key(self) -> char {
        match self {
            VariantId::Off => '0',
            VariantId::Naive => '1',
            VariantId::Separable => '2',
            VariantId::Flat => '3',
            VariantId::Vectorized => '4',
            VariantId::RunningSum => '5',
            VariantId::Glsl => '6',
            VariantId::Native => '7',
            VariantId::Fused => '8',
            VariantId::Planar => 'y',
            VariantId::Auto => '9',
        }
    }

    /// What computes it.
    pub fn kind(self) -> Kind {
        match self {
            VariantId::Off => Kind::Nothing,
            VariantId::Glsl => Kind::Glsl,
            VariantId::Native => Kind::Native,
            _ => Kind::OpenCl,
        }
    }
}

impl fmt::Display for VariantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for VariantId {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|v| v.as_str() == s).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|v| v.as_str()).collect();
            format!("no variant is called '{s}'; choose one of {}", names.join(", "))
        })
    }
}

/// What computes a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// There is nothing to compute.
    Nothing,
    /// Kernels on an OpenCL device.
    OpenCl,
    /// Shaders in OpenGL.
    Glsl,
    /// Threads of this process.
    Native,
}

impl Kind {
    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Nothing => "none",
            Kind::OpenCl => "opencl",
            Kind::Glsl => "glsl",
            Kind::Native => "native",
        }
    }

    /// Whether it filters without OpenCL.
    pub fn is_peer(self) -> bool {
        !matches!(self, Kind::Nothing | Kind::OpenCl)
    }
}

/// One step of a ladder, as the user meets it.
#[derive(Debug)]
pub struct VariantInfo {
    /// Its name everywhere.
    pub id: VariantId,
    /// Its name for people, one to three words.
    pub title: &'static str,
    /// What this step does differently, in one sentence.
    pub idea: &'static str,
    /// What its input and output are.
    pub storage: Storage,
    /// Its kernels on CPU devices.
    pub cpu: &'static box_filter::config::Code,
    /// Its kernels on all other devices: the same, where one file serves both.
    pub gpu: &'static box_filter::config::Code,
}

/// A filter that is none of the ladder's, as the user meets it.
#[derive(Debug)]
pub struct PeerInfo {
    /// Its name everywhere.
    pub id: VariantId,
    /// Its name for people, one to three words.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub idea: &'static str,
}

/// Why something that was to be timed has no time yet.
pub const NOT_TIMED: &str = "It was not timed.";

/// What came of running a variant.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It equals the reference, and this is its time.
    Ok(measure::Measurement),
    /// The device cannot run it, and why.
    Unsupported(String),
    /// It was left out, and why.
    Skipped(String),
    /// It differs from the reference, so it has no time.
    Mismatch(crate::verify::MismatchReport),
    /// It could not be built or run.
    Failed(crate::error::Error),
}

impl Outcome {
    /// Its times, where it has some.
    pub fn measured(&self) -> Option<&measure::Measurement> {
        if let Outcome::Ok(measured) = self { Some(measured) } else { None }
    }

    /// The word for it in tables and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Ok(_) => "ok",
            Outcome::Unsupported(_) => "unsupported",
            Outcome::Skipped(_) => "skipped",
            Outcome::Mismatch(_) => "mismatch",
            Outcome::Failed(_) => "failed",
        }
    }
}
