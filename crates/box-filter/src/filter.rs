//! Declarations of variants. A variant is an entry of a table ([`VariantId`](crate::VariantId) looks variants up in it): the rest
//! of the program reads the fields and names no variant.

use super::config::Code;

/// A group of variants on the screen. Groups are displayed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The filter is off.
    Off,
    /// The five steps from `naive` to `running-sum`, each of which adds one idea to the one before.
    Steps,
    /// Variants beyond these steps, which are meant to be faster.
    Beyond,
    /// Other implementations, for comparison, such as `native` without OpenCL.
    Others,
}

impl Group {
    /// All groups.
    pub const ALL: [Group; 4] = [Group::Off, Group::Steps, Group::Beyond, Group::Others];
}

/// The implementation of a variant.
#[derive(Debug)]
pub enum Work {
    /// No implementation: the frame passes through.
    Nothing,
    /// Kernels: the code for CPU devices, and the code for all others.
    Kernels([&'static Code; 2]),
    /// The kernels of the variant that is the fastest by tuning results; without such results, those of the variant with this
    /// name.
    Fastest(&'static str),
    /// OpenGL shaders.
    Shaders,
    /// Rust code, on threads of this process.
    Threads,
}

/// The declaration of a variant.
#[derive(Debug)]
pub struct Variant {
    /// The id on the command line, in JSON and in CSV. It must never change.
    pub name: &'static str,
    /// The key that selects the variant in the window.
    pub key: char,
    /// The group in which the variant is listed on the screen.
    pub group: Group,
    /// The title on the screen, one to three words.
    pub title: &'static str,
    /// The idea of the variant, in one sentence.
    pub idea: &'static str,
    /// The implementation of the variant.
    pub work: Work,
}
