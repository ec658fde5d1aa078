//! The state of edited kernels: versions, results, and the check by Oclgrind.

use std::fmt;

use super::diff::VersionDiff;
use crate::code::Source;
use crate::theme;
use base::device::MachineCode;
use base::error::{Error, Result};
use base::timing::{self, Noise};
use base::verify::MismatchReport;
use box_filter::VariantId;

/// The state of validating one version of the kernels of a [`Subject`].
#[derive(Debug, Clone, PartialEq)]
pub enum Validation {
    /// The kernels are being validated, or are next to be validated.
    Pending,
    /// Every byte of the output is correct.
    Exact,
    /// The kernels finish and stay within their memory, but their output differs.
    Differs(MismatchReport),
    /// The kernels cannot run or must not: they do not build, time out, crash, or write out of bounds.
    Refused(Error),
}

impl Validation {
    /// Returns true if validation has ended, and the kernels may run.
    pub fn may_run(&self) -> bool {
        matches!(self, Validation::Exact | Validation::Differs(_))
    }

    /// Returns the reason why the kernels were refused; `None` if they were not.
    pub fn refusal(&self) -> Option<&Error> {
        match self {
            Validation::Refused(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Option<MismatchReport>> for Validation {
    /// Returns the state of kernels that may run; `report` has how their output differs, if it does.
    fn from(report: Option<MismatchReport>) -> Self {
        report.map_or(Validation::Exact, Validation::Differs)
    }
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

/// The result of one version of the edited kernels for the kernels of one variant or of the conversion from YUV to RGBA:
/// validation, time and speed.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionResult {
    /// The variant, or the conversion from YUV to RGBA, to which the kernels belong.
    pub subject: Subject,
    /// The state of their validation.
    pub validation: Validation,
    /// True if the kernels of this version are the ones that the player runs.
    pub runs: bool,
    /// The number of the version whose kernels ran before these; `None` if these have not run, or none ran before them.
    pub replaced: Option<u64>,
    /// The filter's time in the movie, if the kernels are exact, or are the user's own kernel.
    pub time: Option<FilterTime>,
    /// The comparison of the speed with that of the version of these kernels that ran before and was exact; `None` without such a
    /// version.
    pub speed: Option<Speed>,
    /// The compiler's warnings about kernels that may run; empty without any.
    pub warnings: String,
}

/// The median of a filter's times in the movie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterTime {
    /// The median in milliseconds.
    pub ms: f64,
    /// The number of measured frames.
    pub n: usize,
    /// The noise of the times; `None` if they are not noisy.
    pub noise: Option<Noise>,
}

impl FilterTime {
    /// Returns the time as text, such as "8.41 ms".
    pub(super) fn text(&self) -> String {
        format!("{} ms", theme::with_noise(self.ms, self.noise, theme::ms))
    }
}

/// The comparison of the speed of two versions of the same kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// The number of the version with which the kernels are compared.
    pub before: u64,
    /// The state of the comparison, with its verdict if it has one.
    pub state: SpeedState,
}

/// The state of a comparison of two versions at the size and the radius of the movie's frames.
#[derive(Debug, Clone, PartialEq)]
pub enum SpeedState {
    /// The versions were not compared.
    Unknown,
    /// The versions are being compared, or are compared next.
    Comparing,
    /// The versions were timed in turns, and there is a verdict.
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
    /// Creates the state of kernels that have not run.
    pub fn new(subject: Subject, validation: Validation) -> Self {
        let (runs, replaced, time, speed, warnings) = (false, None, None, None, String::new());
        Self { subject, validation, runs, replaced, time, speed, warnings }
    }

    /// Returns true if the kernels run, but their output differs from the reference.
    fn differs(&self) -> bool {
        matches!(self.validation, Validation::Differs(_))
    }
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
    /// The kernels of this version that were validated or are being validated.
    pub results: Vec<VersionResult>,
    /// The request to validate this version.
    pub request: ValidationRequest,
    /// True if this version lacks the user's own kernel, the file `own.cl`, which the previous version had.
    pub lost_own: bool,
    /// The selected variant's filter time in the movie, if it was measured with this version.
    pub time: Option<FilterTime>,
    /// The number of failed builds between this version and the next one in the list; failed builds have no lines of their own.
    pub failures: usize,
}

impl Version {
    /// Returns the result of a subject's kernels in this version; `None` if they have not been validated and are not being
    /// validated.
    pub fn result(&self, subject: Subject) -> Option<&VersionResult> {
        self.results.iter().find(|result| result.subject == subject)
    }

    /// Returns true if validation has refused the kernels of a subject in this version.
    pub fn refuses(&self, subject: Subject) -> bool {
        self.result(subject).is_some_and(|result| result.validation.refusal().is_some())
    }

    /// Returns the number of subjects (variants, or the conversion) that are being validated or are next to be validated.
    pub fn pending(&self) -> usize {
        self.results.iter().filter(|result| result.validation == Validation::Pending).count()
    }
}

/// The state of the request to validate a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationRequest {
    /// The request waits for the device or for a frame.
    Waiting,
    /// The request was made.
    Made,
    /// Each variant is validated when it is first selected, because the version was saved before the window was opened.
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
    /// Returns true if validation has found that the output of this variant's kernels is wrong, in the version with the number
    /// `version`, or in the version that runs if `version` is `None`.
    pub(crate) fn differs(&self, variant: VariantId, version: Option<u64>) -> bool {
        match version {
            Some(number) => {
                let version = self.versions.iter().find(|version| version.number == number);
                let result = version.and_then(|version| version.result(Subject::Variant(variant)));
                result.is_some_and(VersionResult::differs)
            }
            None => self.runs_and_differs(Subject::Variant(variant)),
        }
    }

    /// Returns true if validation has found that the output of the conversion kernels that run now is wrong.
    pub(crate) fn conversion_differs(&self) -> bool {
        self.runs_and_differs(Subject::Conversion)
    }

    /// Returns true if validation has found that the output of the kernels that run now for `subject`, a variant or the
    /// conversion from YUV to RGBA, is wrong.
    pub(super) fn runs_and_differs(&self, subject: Subject) -> bool {
        let mut results = self.versions.iter().filter_map(|version| version.result(subject));
        results.any(|result| result.runs && result.differs())
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
