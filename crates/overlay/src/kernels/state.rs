//! The state of edited kernels: versions, results, and the check by Oclgrind.

use std::fmt;

use super::diff::VersionDiff;
use crate::code::Source;
use base::error::{Error, Result};
use base::timing::{self, Noise};
use base::verify::MismatchReport;
use box_filter::VariantId;
use opencl::machine_code::MachineCode;

/// The result of validating changed kernels.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Every byte of the output is correct.
    Exact,
    /// The kernels finish and stay within their memory, but their output differs.
    Differs(MismatchReport),
    /// The kernels cannot run or must not: they do not build, time out, crash, or write out of bounds.
    Refused(Error),
}

/// The part of the program whose kernels were edited: a variant of the filter, or the conversion from YUV to RGBA. Each is
/// validated on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The kernels of this variant of the filter.
    Variant(VariantId),
    /// The kernels of the conversion from YUV to RGBA.
    Conversion,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Variant(id) => id.fmt(f),
            Subject::Conversion => f.write_str("YUV to RGBA"),
        }
    }
}

impl Subject {
    /// Returns true if these kernels take part in making the picture while the variant `chosen` is selected. The conversion
    /// always does.
    pub(super) fn is_used(self, chosen: VariantId) -> bool {
        self == Subject::Conversion || self == Subject::Variant(chosen)
    }
}

/// The result of one version of the edited kernels, for the kernels of one variant or of the conversion from YUV to RGBA.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionResult {
    /// The variant, or the conversion from YUV to RGBA, to which the kernels belong.
    pub subject: Subject,
    /// The result of validating the kernels.
    pub verdict: Verdict,
    /// True if the kernels of this version are the ones that the player runs.
    pub runs: bool,
    /// The median of the filter's times in the movie, in milliseconds, if the kernels are exact, or are the user's own kernel.
    pub ms: Option<f64>,
    /// The noise of `ms`; `None` if it is not noisy.
    pub noise: Option<Noise>,
    /// The comparison of the speed with that of the version of these kernels that ran before and was exact; `None` without such a
    /// version.
    pub speed: Option<Speed>,
    /// The compiler's warnings about kernels that may run; empty without any.
    pub warnings: String,
}

/// The comparison of the speed of two versions of the same kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// The number of the version with which the kernels are compared.
    pub before: u64,
    /// The verdict, or why there is none.
    pub state: SpeedState,
}

/// The state of a comparison of two versions at the size and the radius of the movie's frames.
#[derive(Debug, Clone, PartialEq)]
pub enum SpeedState {
    /// The versions were not compared.
    Unknown,
    /// The versions are being compared, or are compared next.
    Comparing,
    /// The versions were timed in turns.
    Compared {
        /// The verdict on the later version.
        verdict: timing::Verdict,
        /// The number of times that each version was timed.
        rounds: usize,
        /// The number of rows of the frame that were filtered; `None` for all.
        rows: Option<u32>,
    },
    /// The versions could not be compared, for this reason.
    Failed(String),
}

impl VersionResult {
    /// Creates a result without measured times.
    pub fn new(subject: Subject, verdict: Verdict) -> Self {
        Self { subject, verdict, runs: false, ms: None, noise: None, speed: None, warnings: String::new() }
    }

    /// Returns true if the kernels run, but their output differs from the reference.
    fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Differs(_))
    }
}

/// A version of the kernels of the watched folder, in requests of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionId {
    /// The version with this number since the window was opened.
    Session(u64),
    /// The version with this hash of its texts that was kept on the disk.
    Earlier(u64),
}

/// A version of the kernels that was kept on the disk before the window was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierVersion {
    /// The hash of the version's texts.
    pub hash: u64,
    /// The local time at which the version was kept.
    pub time: String,
    /// The files that differ from the version before.
    pub files: Vec<String>,
    /// True if the kernels were exact; false if the version was kept because another one was restored in its place.
    pub is_exact: bool,
}

/// A version of the kernels: their text after a save.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The version's number, from 1.
    pub number: u64,
    /// The files that differ from the previous version.
    pub files: Vec<String>,
    /// The results of validating this version so far.
    pub results: Vec<VersionResult>,
    /// The part of this version that is still to be validated.
    pub pending: PendingValidation,
    /// True if this version lacks the user's own kernel, the file `own.cl`, which the previous version had.
    pub lost_own: bool,
    /// The median of the selected variant's filter times in the movie, in milliseconds, if they were measured with this
    /// version.
    pub ms: Option<f64>,
    /// The noise of the median `ms`; `None` if it is not noisy.
    pub noise: Option<Noise>,
    /// The number of failed builds between this version and the next one in the list, which have no lines of their own.
    pub failures: usize,
}

/// The part of a version that is still to be validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingValidation {
    /// Not known yet: the part depends on the frame and on the device, which is not ready.
    Unknown,
    /// This number of subjects (variants, or the conversion from YUV to RGBA) are being validated or are next to be
    /// validated.
    Now(usize),
    /// Each variant is validated when it is first selected, because the version is older than the window.
    WhenChosen,
}

/// A folder of kernels that was edited before and is not watched.
#[derive(Debug, Clone, PartialEq)]
pub struct EditedFolder {
    /// The folder's path.
    pub path: String,
    /// The number of files that differ from the built-in ones.
    pub edits: usize,
}

/// The edited kernels, with their versions and results.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kernels {
    /// The path of the folder whose kernel files are watched for edits.
    pub folder: Option<String>,
    /// The folders that were edited before and still exist, the newest first, without `folder`.
    pub remembered: Vec<EditedFolder>,
    /// True if the folder has the user's own kernel, the file `own.cl`.
    pub has_own: bool,
    /// True while the kernels are being written into a new folder, or a folder is being reopened.
    pub copying: bool,
    /// The error of the last attempt to read or write the folder.
    pub problem: Option<Error>,
    /// The reason why changes of the files are noticed with a delay; `None` if they are noticed at once.
    pub slow: Option<Error>,
    /// The error of the last attempt to read versions that are kept on the disk, or to keep one there.
    pub history_error: Option<Error>,
    /// The last versions of the edited kernels, the newest first.
    pub versions: Vec<Version>,
    /// The versions that were kept on the disk before the window was opened, the newest first, without those that `versions`
    /// has.
    pub earlier: Vec<EarlierVersion>,
    /// The comparison of a version with the files, in the place of the source.
    pub diff: Option<VersionDiff>,
    /// The number of the version that was saved or selected last.
    pub current: u64,
    /// The number of the version of which the selected variant runs the kernels.
    pub running: Option<u64>,
    /// The number of the version of which the conversion from YUV to RGBA runs the kernels.
    pub conversion: Option<u64>,
    /// The first lines that kernels have printed since the version `current` was saved or selected.
    pub printed: Vec<String>,
    /// The source of the selected variant's kernels.
    pub source: Option<Source>,
    /// The machine code of the selected variant, once the driver has returned it.
    pub machine_code: Option<Result<MachineCode>>,
}

impl Kernels {
    /// Returns true if validation has found a wrong output of this variant's kernels, in the version with the number
    /// `version`, or in the version that runs if `version` is `None`.
    pub(crate) fn differs(&self, variant: VariantId, version: Option<u64>) -> bool {
        match version {
            Some(number) => {
                let version = self.versions.iter().filter(|version| version.number == number);
                version
                    .flat_map(|version| &version.results)
                    .any(|result| result.subject == Subject::Variant(variant) && result.differs())
            }
            None => self.runs_and_differs(Subject::Variant(variant)),
        }
    }

    /// Returns true if validation has found a wrong output of the conversion kernels that run now.
    pub(crate) fn conversion_differs(&self) -> bool {
        self.runs_and_differs(Subject::Conversion)
    }

    /// Returns true if validation has found a wrong output of the kernels that run now for `subject`, a variant or the
    /// conversion from YUV to RGBA.
    pub(super) fn runs_and_differs(&self, subject: Subject) -> bool {
        let results = self.versions.iter().flat_map(|version| &version.results);
        results.filter(|result| result.subject == subject).any(|result| result.runs && result.differs())
    }
}

/// The state and the result of the check for data races, in which Oclgrind runs a variant's kernels.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RaceReport {
    /// The kernels were not checked.
    #[default]
    Unknown,
    /// Oclgrind has been running these kernels for this number of seconds.
    Checking(CheckedKernels, u64),
    /// Oclgrind has finished, with these lines of text.
    Found(CheckedKernels, Vec<RaceLine>),
    /// Oclgrind could not run.
    Failed(Error),
}

/// A line of the result of the check for data races.
#[derive(Debug, Clone, PartialEq)]
pub enum RaceLine {
    /// A variant's code has no faults.
    Clean(String),
    /// A fault, or an error because of which code was not checked.
    Fault(String),
    /// A detail of the fault above: a source line, or the reason for an error.
    Detail(String),
}

/// The kernels that Oclgrind runs in the check for data races.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckedKernels {
    /// The variant whose kernels are checked.
    pub variant: VariantId,
    /// The version of the edited kernels; `None` for the built-in ones.
    pub version: Option<u64>,
}

impl fmt::Display for CheckedKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "'{}' (version {version})", self.variant),
            None => write!(f, "'{}'", self.variant),
        }
    }
}
