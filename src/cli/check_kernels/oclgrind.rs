//! Runs this program under Oclgrind, and parses the faults of kernels from its log.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use base::error::Error;
use opencl::sandbox::{Ending, Limit, Sandbox};
use opencl::sources::Sources;

/// Name of Oclgrind's executable.
const CHECKER: &str = "oclgrind";
/// Maximum number of faults that are reported for one variant.
const MAX_FAULTS: usize = 5;
/// Maximum length of Oclgrind's log that is read, in bytes.
const MAX_LOG: usize = 4 << 20;

/// The results of checking a variant's kernels under Oclgrind.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CheckedCode {
    /// The name of the variant, followed by the kind of device if the variant has different kernels for CPUs and GPUs.
    pub name: String,
    /// The faults that Oclgrind found.
    pub faults: Vec<Fault>,
    /// The error if the kernels did not run to their end; else `None`.
    pub error: Option<Error>,
}

impl CheckedCode {
    /// Returns a sentence which states that the kernels have no faults; `None` if they have faults or did not run to their end.
    pub(crate) fn no_faults_text(&self) -> Option<String> {
        let is_clean = self.faults.is_empty() && self.error.is_none();
        is_clean.then(|| format!("{}: no data races, no out-of-bounds accesses", self.name))
    }

    /// Returns a sentence for each fault, with the source lines of the fault.
    pub(crate) fn fault_sentences(&self) -> impl Iterator<Item = (String, &[String])> {
        let sentence = |fault: &Fault| {
            format!("{}: {} in {} at {}", self.name, fault.what, fault.kernel, fault.found_at)
        };
        self.faults.iter().map(move |fault| (sentence(fault), fault.lines.as_slice()))
    }
}

/// A fault of a kernel that Oclgrind found: a data race or an out-of-bounds access.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fault {
    /// Oclgrind's description of the fault.
    pub what: String,
    pub kernel: String,
    /// The file and the line of the fault, such as `box_filter/03_flat.cl:25`; a data race has two, joined by " and ".
    pub found_at: String,
    /// The source lines at the fault, with their numbers; a line whose file is not known is left out.
    pub lines: Vec<String>,
}

/// Returns the path of Oclgrind's executable; `None` if it is not installed.
pub(super) fn checker() -> Option<PathBuf> {
    let path = base::environment::get("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(CHECKER)).find(|file| file.is_file())
}

/// Runs this program under Oclgrind, with arguments that `arguments` adds to the command. Returns the faults that Oclgrind has
/// found, and how the process ended. `sources` are the kernels that the process runs.
///
/// # Errors
/// If the process cannot be started.
pub(super) fn run(
    checker: &Path,
    arguments: impl FnOnce(&mut Command),
    sources: &Sources,
    limit: Limit,
) -> io::Result<(Vec<Fault>, Ending)> {
    let mut command = Command::new(checker);
    // The log goes through a pipe, since a file would remain if this process is killed.
    command.args(["--data-races", "--max-errors", &MAX_FAULTS.to_string(), "--log", "/dev/stdout"]);
    arguments(command.arg(std::env::current_exe()?));
    let (log, ending) = Sandbox::start(command, None)?.output(MAX_LOG, |passed| limit.exceeded_by(passed));
    Ok((parse_faults(&log, sources), ending))
}

/// Parses the faults in Oclgrind's log; faults of the same kernel at the same line are reported once.
fn parse_faults(log: &str, sources: &Sources) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for part in log.split("\n\n") {
        let mut lines = part.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(what) = lines.next() else { continue };
        let (mut kernel, mut places) = (String::new(), Vec::new());
        for line in lines {
            if let Some(name) = line.strip_prefix("Kernel: ") {
                kernel = name.to_owned();
            } else if let Some((line, file)) =
                line.strip_prefix("At line ").and_then(|at| at.split_once(" of "))
            {
                let line = line.split(' ').next().unwrap_or_default();
                // A race names two places.
                places.push((file.trim_end_matches(':'), line));
            }
        }
        let found_at: Vec<String> = places.iter().map(|(file, line)| format!("{file}:{line}")).collect();
        let found_at = found_at.join(" and ");
        if !kernel.is_empty()
            && !faults.iter().any(|fault| fault.found_at == found_at && fault.kernel == kernel)
        {
            let lines = places.iter().filter_map(|(file, line)| source_line(sources, file, line)).collect();
            faults.push(Fault { what: what.to_owned(), kernel, found_at, lines });
        }
    }
    faults
}

/// Returns the text of the line `number` of a kernel file, preceded by its number; `None` if there is no such line.
fn source_line(sources: &Sources, file: &str, number: &str) -> Option<String> {
    let source = sources.text(file).ok()?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    Some(format!("  {number} | {}", source.lines().nth(index)?.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_parsed_into_faults_each_place_once() {
        let one = "\nInvalid write of size 8 at global memory address 0x30000000c3b90\n\tKernel: box_flat_rows\n\tEntity: \
                   Global(3,2,0) Local(3,2,0) Group(0,0,0)\n\t  store <4 x i16> %sum.0\n\tAt line 25 (column 84) of \
                   box_filter/03_flat.cl:\n\t  \n\t\n";
        let log = format!("{one}{one}\nOclgrind: 2 errors generated - suppressing further errors\n");
        let found = parse_faults(&log, &Sources::default());
        let [fault] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (fault.kernel.as_str(), fault.found_at.as_str()),
            ("box_flat_rows", "box_filter/03_flat.cl:25")
        );
        assert!(fault.lines.len() == 1 && fault.lines[0].starts_with("  25 | "), "{:?}", fault.lines);
        let code = CheckedCode { name: "flat".to_owned(), faults: found, error: None };
        let (text, _) = code.fault_sentences().next().unwrap();
        assert!(
            text.starts_with("flat: Invalid write of size 8") && code.no_faults_text().is_none(),
            "{text}"
        );
        assert_eq!(parse_faults("", &Sources::default()), []);
    }
}
