//! The state of edited kernels: versions, results, and the check by Oclgrind.

use std::fmt;

use base::device::MachineCode;
use base::error::{Error, Result};
use base::timing::{self, Noise};
use base::verify::MismatchReport;
use box_filter::VariantId;

use super::diff::VersionDiff;
use crate::code::Source;
use crate::facts;
use crate::job::Wait;
use crate::prelude::*;

/// The state of validating the kernels of one [`Subject`] (a variant or the conversion from YUV to RGBA) in one version:
/// whether they may run, and whether their output equals the reference.
#[derive(Debug, Clone, PartialEq)]
pub enum Validation {
    /// The kernels are being validated, or will be validated next.
    Pending,
    /// Every byte of the output equals the reference.
    Exact,
    /// The kernels finish and stay within their memory, but their output differs from the reference.
    Differs(MismatchReport),
    /// The kernels cannot run or must not run: they do not build, time out, crash, or write out of bounds.
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
    /// Returns the state of kernels that may run: exact if `report` is `None`, otherwise one with this report of how the output
    /// differs.
    fn from(report: Option<MismatchReport>) -> Self {
        report.map_or(Validation::Exact, Validation::Differs)
    }
}

/// The kernels that are validated together: those of a variant of the filter, or those of the conversion from YUV to RGBA.
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
    /// Returns the result of comparing an output that does not differ, as [`VariantId::agreement`] does.
    pub fn agreement(self) -> String {
        match self {
            Subject::Variant(id) => id.agreement(),
            Subject::Conversion => "exact".to_owned(),
        }
    }

    /// Returns true if these kernels take part in making the picture while the variant `chosen` is selected. Those of the
    /// conversion always do.
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
    /// The state of the validation of these kernels.
    pub validation: Validation,
    /// True if the kernels of this version are the ones that the player runs.
    pub runs: bool,
    /// The number of the older version whose kernels ran before those of this version. `None` if the kernels of this version
    /// have not run, or no older version's kernels ran before them.
    pub replaced: Option<u64>,
    /// The filter's time in the movie; `None` if it was not measured, or the kernels are neither exact nor the user's own
    /// kernel.
    pub time: Option<FilterTime>,
    /// The comparison of the speed with that of the last exact version of these kernels that ran before; `None` if there is no
    /// such version.
    pub speed: Option<Speed>,
    /// The compiler's warnings about kernels that may run; empty if there are none.
    pub warnings: String,
}

/// The median of the filter's times in the movie.
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
    /// The number of the earlier version, with which the kernels are compared.
    pub before: u64,
    /// The state of the comparison, with its verdict once there is one.
    pub state: SpeedState,
}

/// The state of a comparison of the speed of two versions, at the size and the radius of the movie's frames.
#[derive(Debug, Clone, PartialEq)]
pub enum SpeedState {
    /// The versions were not compared.
    Unknown,
    /// The versions are being compared, or will be compared next.
    Comparing {
        /// The number of finished pairs of runs, and the number of all pairs; `None` before the first one.
        pairs: Option<(u32, u32)>,
        /// The reason for which the comparison waits; `None` if it does not wait.
        waits: Option<Wait>,
    },
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
    /// Creates the result of kernels that have not run.
    pub fn new(subject: Subject, validation: Validation) -> Self {
        let (runs, replaced, time, speed, warnings) = (false, None, None, None, String::new());
        Self { subject, validation, runs, replaced, time, speed, warnings }
    }
}

/// A version of the kernels that was kept on the disk before the window was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierVersion {
    /// The hash of the version's texts.
    pub hash: u64,
    /// The local time at which the version was saved.
    pub time: String,
    /// The names of the files that differ from the previous version.
    pub files: Vec<String>,
    /// True if the output of the kernels equalled the reference; false if the version was kept because another one was restored
    /// in its place.
    pub is_exact: bool,
}

/// A version of the kernels: their text at one save.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The version's number, from 1.
    pub number: u64,
    /// The names of the files that differ from the previous version.
    pub files: Vec<String>,
    /// The results of the kernels of this version that were validated or are being validated.
    pub results: Vec<VersionResult>,
    /// The request to validate this version.
    pub request: ValidationRequest,
    /// True if this version lacks the user's own kernel, the file `own.cl`, which the previous version had.
    pub lost_own: bool,
    /// The selected variant's filter time in the movie; `None` if it was not measured with this version.
    pub time: Option<FilterTime>,
    /// The number of failed builds between this version and the next one in the list; failed builds have no lines of their own.
    pub failures: usize,
}

impl Version {
    /// Returns the result of the kernels of `subject` (a variant or the conversion from YUV to RGBA) in this version; `None` if
    /// they have not been validated and are not being validated.
    pub fn result(&self, subject: Subject) -> Option<&VersionResult> {
        self.results.iter().find(|result| result.subject == subject)
    }

    /// Returns true if validation has refused the kernels of `subject` (a variant or the conversion from YUV to RGBA) in this
    /// version.
    pub fn refuses(&self, subject: Subject) -> bool {
        self.result(subject).is_some_and(|result| result.validation.refusal().is_some())
    }

    /// Returns the number of variants (the conversion counts as one) whose kernels are being validated or will be validated
    /// next.
    pub fn pending(&self) -> usize {
        self.results.iter().filter(|result| result.validation == Validation::Pending).count()
    }
}

/// The state of the request to validate a version of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationRequest {
    /// Validation was not requested yet: it waits for the device or for a frame.
    Waiting,
    /// Validation was requested.
    Made,
    /// There is no request: each variant is validated when it is first selected, because the version was saved before the
    /// window was opened.
    WhenChosen,
}

/// A folder whose kernels were edited before and that is not watched now.
#[derive(Debug, Clone, PartialEq)]
pub struct EditedFolder {
    /// The folder's path.
    pub path: String,
    /// The number of files that differ from the built-in ones.
    pub edits: usize,
    /// The local time of the last change of a file in the folder.
    pub changed: String,
}

/// The state of the kernels that the user edits: their folder, versions and results.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kernels {
    /// The path of the folder whose kernel files are watched for edits; `None` if no folder is watched.
    pub folder: Option<String>,
    /// The folders whose kernels were edited before and that still exist, the newest first, without `folder`.
    pub remembered: Vec<EditedFolder>,
    /// True if the folder has the user's own kernel, the file `own.cl`.
    pub has_own: bool,
    /// True while the kernels are being written to a new folder, or a folder is being opened again.
    pub copying: bool,
    /// The error of the last attempt to read or write the folder; `None` if it succeeded.
    pub problem: Option<Error>,
    /// The reason why changes of the files are noticed with a delay; `None` if they are noticed at once.
    pub slow: Option<Error>,
    /// The error of the last attempt to read the versions that are kept on the disk, or to keep one there; `None` if it
    /// succeeded.
    pub history_error: Option<Error>,
    /// The last versions of the edited kernels, the newest first.
    pub versions: Vec<Version>,
    /// The versions that were kept on the disk before the window was opened, the newest first, without those that `versions`
    /// has.
    pub earlier: Vec<EarlierVersion>,
    /// The comparison of a version with the files, which is shown in place of the source; `None` if the source is shown.
    pub diff: Option<VersionDiff>,
    /// The number of the version that was saved or selected last.
    pub current: u64,
    /// The number of the version whose kernels the selected variant runs; `None` if no version of them can run.
    pub running: Option<u64>,
    /// The variants whose running kernels differ from the built-in ones, with the numbers of their versions. The user's own
    /// kernel, which replaces no built-in one, is not among them.
    pub edited: Vec<(VariantId, u64)>,
    /// The variants of filters of folders, with the numbers of the versions in which the folders were opened, which are no edits.
    pub opened: Vec<(VariantId, u64)>,
    /// The number of the version whose kernels convert from YUV to RGBA; `None` if no version of them can run.
    pub conversion: Option<u64>,
    /// The first lines that kernels have printed since the version with the number `current` was saved or selected.
    pub printed: Vec<String>,
    /// The source of the selected variant's kernels, if there is one to show.
    pub source: Option<Source>,
    /// The machine code of the selected variant; `None` until the driver has returned it.
    pub machine_code: Option<Result<MachineCode>>,
}

impl Kernels {
    /// Returns the number of the version whose kernels a variant runs; `None` if these are the built-in ones.
    pub(crate) fn edited_version(&self, variant: VariantId) -> Option<u64> {
        self.edited.iter().find(|(edited, _)| *edited == variant).map(|(_, version)| *version)
    }

    /// Returns true if this version has the kernels of a folder's variant as the folder was opened.
    pub(crate) fn is_as_opened(&self, variant: VariantId, version: u64) -> bool {
        self.opened.contains(&(variant, version))
    }

    /// Returns a variant's name, with the version that it runs if that is edited: "flat, version 3".
    pub(crate) fn name(&self, variant: VariantId) -> String {
        facts::with_version(variant.to_string(), self.edited_version(variant))
    }

    /// Returns a variant's name as [`Kernels::name`] does, for places without room: "flat v3".
    pub(crate) fn short_name(&self, variant: VariantId) -> String {
        let version = self.edited_version(variant).map(|version| format!(" v{version}"));
        format!("{}{}", variant.short_name(), version.unwrap_or_default())
    }

    /// Returns true if validation has found that the output of the kernels of `subject` is wrong, in the version with the number
    /// `version`, or of those that run now if `version` is `None`.
    pub(crate) fn differs(&self, subject: Subject, version: Option<u64>) -> bool {
        self.versions.iter().any(|each| {
            let result =
                each.result(subject).filter(|result| matches!(result.validation, Validation::Differs(_)));
            result.is_some_and(|result| version.map_or(result.runs, |number| number == each.number))
        })
    }
}

/// The state and the result of the check for data races, in which Oclgrind runs the kernels of a variant.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RaceReport {
    /// The kernels were not checked.
    #[default]
    Unknown,
    /// Oclgrind is running these kernels, and has been for this number of seconds.
    Checking(CheckedKernels, u64),
    /// Oclgrind has finished, with these lines of text as the result.
    Found(CheckedKernels, Vec<RaceLine>),
    /// Oclgrind could not run.
    Failed(Error),
}

/// A line of the result of the check for data races.
#[derive(Debug, Clone, PartialEq)]
pub enum RaceLine {
    /// A sentence that a variant's code has no data races and no out-of-bounds accesses.
    Clean(String),
    /// A sentence about a fault, or an error because of which code was not checked.
    Fault(String),
    /// A detail of the fault in the line above: a source line, or the reason for an error.
    Detail(String),
}

/// Identifies the kernels that Oclgrind runs in the check for data races.
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
