//! The user's selection in panels.

use ladders::LadderSummary;

/// Identifies the kernels of a variant in the Lab: their file and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabKernel {
    /// The kernel file's path below `kernels/`.
    pub file: String,
    /// The values of the tuning parameters, such as "STRIP_X=64 QUADS=4"; empty if there are none.
    pub parameters: String,
}

/// The user's selection in the Lab (ladder of variants, size and variant), and in the panel of tuning.
#[derive(Debug)]
pub(crate) struct Selection {
    pub ladders: Vec<LadderSummary>,
    /// The index of the selected ladder; `None` for the box filter.
    pub ladder: Option<usize>,
    pub size: usize,
    /// The id of the selected variant; empty until the user or the Lab selects one.
    pub variant: String,
    /// The kernels of the selected variant, whose code the Lab shows; `None` if it has none.
    pub kernel: Option<LabKernel>,
    /// The variant whose heat map the panel of tuning shows; `None` for the fastest one.
    pub tuning_variant: Option<&'static str>,
}

impl Default for Selection {
    /// Returns the initial selection: the first ladder with its second size.
    fn default() -> Self {
        let (ladder, size, variant) = (Some(0), 1, String::new());
        Self { ladders: ladders::all(), ladder, size, variant, kernel: None, tuning_variant: None }
    }
}

impl Selection {
    /// Returns the selected ladder and size; `None` if the box filter is selected.
    pub(crate) fn current(&self) -> Option<(&LadderSummary, &'static str)> {
        let ladder = self.ladders.get(self.ladder?)?;
        Some((ladder, ladder.sizes.get(self.size).or(ladder.sizes.first())?))
    }
}
