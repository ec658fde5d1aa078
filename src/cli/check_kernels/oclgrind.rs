//! Runs this program under Oclgrind, and parses the faults of kernels from its log.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use opencl::sandbox::{Ending, Limit, Sandbox};
use opencl::sources::Sources;

/// Maximum length of Oclgrind's log that is read, in bytes.
const MAX_LOG: usize = 64 << 20;

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

/// Returns the path of Oclgrind's executable.
///
/// # Errors
/// If it is not installed.
pub(crate) fn checker() -> Result<PathBuf> {
    let path = base::environment::get("PATH").unwrap_or_default();
    let file = std::env::split_paths(&path).map(|folder| folder.join("oclgrind")).find(|file| file.is_file());
    file.ok_or_else(|| {
        Error::new(
            "Oclgrind is not installed.",
            "It detects data races and out-of-bounds accesses of kernels.",
            "On Debian: apt-get install oclgrind.",
        )
    })
}

/// Runs this program under Oclgrind with these `arguments`, for a variant's kernels for CPUs if `cpu` is true. `options` are
/// Oclgrind's. Returns its output, and how the process ended.
///
/// # Errors
/// If the process cannot be started.
pub(super) fn run(
    checker: &Path,
    options: &[&str],
    arguments: &[&str],
    cpu: bool,
    kernels: Option<&Path>,
    limit: Limit,
) -> io::Result<(String, Ending)> {
    let mut command = Command::new(checker);
    command.args(options).arg(std::env::current_exe()?).args(arguments);
    if cpu {
        command.arg("--cpu");
    }
    if let Some(folder) = kernels {
        // The process gets the folder from the environment, too, but hints in errors name the option.
        command.arg("--kernels").arg(folder);
    }
    Ok(Sandbox::start(command, None)?.output(MAX_LOG, |passed| limit.exceeded_by(passed)))
}

/// A message in Oclgrind's log on a kernel.
pub(super) struct Message<'a> {
    /// Oclgrind's description, such as "Invalid read of size 4 at global memory address 0x1000".
    pub what: &'a str,
    pub kernel: &'a str,
    /// The work-item's global id in the first two dimensions; 0 if the message names none.
    pub item: (u32, u32),
    /// The kernel file and the line; a data race has two of them.
    places: Vec<(&'a str, &'a str)>,
}

impl Message<'_> {
    /// Returns the file and the line, such as `box_filter/03_flat.cl:25`; those of a data race are joined by " and ".
    pub(super) fn found_at(&self) -> String {
        let places: Vec<String> = self.places.iter().map(|(file, line)| format!("{file}:{line}")).collect();
        places.join(" and ")
    }
}

/// Parses Oclgrind's log; messages that name no kernel are left out.
pub(super) fn messages(log: &str) -> impl Iterator<Item = Message<'_>> {
    log.split("\n\n").filter_map(|part| {
        let mut lines = part.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut message = Message { what: lines.next()?, kernel: "", item: (0, 0), places: Vec::new() };
        for line in lines {
            if let Some(name) = line.strip_prefix("Kernel: ") {
                message.kernel = name;
            } else if let Some((_, ids)) = line.split_once("Global(") {
                let mut ids = ids.split(')').next()?.split(',').map(|id| id.parse().unwrap_or(0));
                message.item = (ids.next().unwrap_or(0), ids.next().unwrap_or(0));
            } else if let Some((line, file)) =
                line.strip_prefix("At line ").and_then(|at| at.split_once(" of "))
            {
                message.places.push((file.trim_end_matches(':'), line.split(' ').next()?));
            }
        }
        (!message.kernel.is_empty()).then_some(message)
    })
}

/// Parses the faults in Oclgrind's log; faults of the same kernel at the same line are reported once.
pub(super) fn parse_faults(log: &str, sources: &Sources) -> Vec<Fault> {
    // The text of a line of a kernel file, preceded by its number.
    let source_line = |(file, number): &(&str, &str)| {
        let source = sources.text(file).ok()?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some(format!("  {number} | {}", source.lines().nth(index)?.trim_end()))
    };
    let mut faults: Vec<Fault> = Vec::new();
    for message in messages(log) {
        let (what, kernel) = (message.what.to_owned(), message.kernel.to_owned());
        let found_at = message.found_at();
        if !faults.iter().any(|fault| fault.found_at == found_at && fault.kernel == kernel) {
            let lines = message.places.iter().filter_map(source_line).collect();
            faults.push(Fault { what, kernel, found_at, lines });
        }
    }
    faults
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
        let found_at = "box_filter/03_flat.cl:25";
        assert_eq!((fault.kernel.as_str(), fault.found_at.as_str()), ("box_flat_rows", found_at));
        assert!(fault.lines.len() == 1 && fault.lines[0].starts_with("  25 | "), "{:?}", fault.lines);
        let code = CheckedCode { name: "flat".to_owned(), faults: found, error: None };
        let (text, _) = code.fault_sentences().next().unwrap();
        assert!(text.starts_with("flat: Invalid write of size 8"), "{text}");
        assert_eq!(code.no_faults_text(), None);
        assert_eq!(parse_faults("", &Sources::default()), []);
    }
}
