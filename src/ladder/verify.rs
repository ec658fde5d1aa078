//! (skeleton)

/// How an output differs from the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct MismatchReport {
    pub count: usize,
}
