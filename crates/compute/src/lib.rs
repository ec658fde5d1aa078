//! Computations on a device as data: kernel files with their launches and parameters ([`plan`], [`config`]), variants of one
//! computation ([`variant`]), the exact amounts of work of their kernels ([`work`]), timed runs ([`sample`]), stored tuning
//! results ([`cache`]), and trials of edited kernels in a child process ([`trial`]). The window and the benchmark use this
//! crate, which does not depend on them.

#![warn(missing_docs, unreachable_pub)]
// The docs are generated for all items (`./dev check`).
#![allow(rustdoc::private_intra_doc_links)]

pub mod cache;
pub mod config;
pub mod plan;
pub mod reduction;
pub mod sample;
pub mod trial;
pub mod variant;
pub mod work;

use opencl::sources::Sources;
use serde::{Deserialize, Serialize};

/// The technology that a variant computes with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BackEnd {
    /// No computation: the input is passed on.
    #[default]
    Nothing,
    /// Kernels on an OpenCL device.
    OpenCl,
    /// Shaders in OpenGL.
    Glsl,
    /// Threads of this process.
    Native,
}

impl BackEnd {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            BackEnd::Nothing => "none",
            BackEnd::OpenCl => "opencl",
            BackEnd::Glsl => "glsl",
            BackEnd::Native => "native",
        }
    }

    /// Returns true if this back end computes something, and needs no OpenCL device for it.
    pub fn does_without_opencl(self) -> bool {
        !matches!(self, BackEnd::Nothing | BackEnd::OpenCl)
    }
}

/// The kernel file from which a variant is built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFile {
    /// The path of the file below `kernels/`.
    pub file: String,
    /// A hash of the file's text, including all included files.
    pub hash: String,
    /// A hash of all kernels and of `filter.toml` in the folder of a user's filter; `None` for built-in filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

impl KernelFile {
    /// Returns this file with its hashes; `None` if it is missing or cannot be read.
    pub fn of(file: &str, sources: &Sources) -> Option<Self> {
        let hash = sources.fingerprint(file).ok()?;
        let folder = file.split_once('/').map(|(folder, _)| folder);
        let filter = folder.and_then(|folder| sources.filter_fingerprint(folder));
        Some(Self { file: file.to_owned(), hash, filter })
    }
}
