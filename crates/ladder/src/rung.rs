//! A rung: one way to compute what a ladder computes, declared once. Command line, tables and tests read it from here.

use super::BackEnd;
use super::rows::Entry;

/// What a rung is made of.
#[derive(Debug)]
pub enum Work<C: 'static, H> {
    /// Kernels on an OpenCL device.
    Kernels(&'static C),
    /// Threads of this process, and what they do.
    Host(H),
    /// The fastest of the ladder's kernels on this device, by measuring.
    Fastest,
}

/// One step of a ladder, as the user meets it: of kernels `C`, or of what the host does, `H`.
#[derive(Debug)]
pub struct Rung<C: 'static, H> {
    /// Its name on the command line and in JSON; it never changes meaning.
    pub id: &'static str,
    /// Its name for people, one to three words.
    pub title: &'static str,
    /// What this step does differently, in one sentence.
    pub idea: &'static str,
    /// What it is made of.
    pub work: Work<C, H>,
}

impl<C, H> Rung<C, H> {
    /// What computes it.
    pub fn back_end(&self) -> BackEnd {
        match self.work {
            Work::Kernels(_) | Work::Fastest => BackEnd::OpenCl,
            Work::Host(_) => BackEnd::Native,
        }
    }

    /// What it is called in a benchmark.
    pub fn entry(&self) -> Entry {
        let (id, name, title) = (self.id, self.id.to_owned(), self.title);
        Entry { id, name, title, back_end: self.back_end(), limit: None, beside: None }
    }
}
