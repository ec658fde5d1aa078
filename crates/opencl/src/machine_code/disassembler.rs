//! Runs external disassemblers on a driver's binary.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base::error::{Error, Result};
use base::load;

use crate::folders::{Folder, entries};
use crate::sandbox::{Cause, Sandbox};

/// The maximum length of a disassembler's output, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 20;
const TIMEOUT: Duration = Duration::from_secs(20);
/// The name of the file in the temporary folder that a disassembler reads.
const CODE: &str = "code";
/// The name of the folder in the temporary folder for files that a disassembler writes.
const FILES: &str = "files";

const OBJDUMPS: [&str; 10] = [
    "objdump",
    "llvm-objdump",
    "llvm-objdump-21",
    "llvm-objdump-20",
    "llvm-objdump-19",
    "llvm-objdump-18",
    "llvm-objdump-17",
    "llvm-objdump-16",
    "llvm-objdump-15",
    "llvm-objdump-14",
];
const OBJDUMP_ARGUMENTS: [&str; 3] = ["-d", "--no-show-raw-insn", CODE];

/// An external program that disassembles the file [`CODE`] in its current folder.
pub(super) struct Disassembler {
    /// Names of the program; the first one that is installed is used.
    names: &'static [&'static str],
    arguments: &'static [&'static str],
    /// True if the program writes assembly files to [`FILES`] instead of printing them.
    writes_files: bool,
    /// The Debian packages that contain the program.
    packages: &'static str,
}

/// The disassembler of CPU code.
pub(super) const OBJDUMP: Disassembler = Disassembler {
    names: &OBJDUMPS,
    arguments: &OBJDUMP_ARGUMENTS,
    writes_files: false,
    packages: "binutils, or llvm",
};

/// The disassembler of AMD's GPU code, which the objdump of binutils cannot read.
pub(super) const LLVM_OBJDUMP: Disassembler = Disassembler {
    names: OBJDUMPS.split_at(1).1,
    arguments: &OBJDUMP_ARGUMENTS,
    writes_files: false,
    packages: "llvm",
};

/// The disassembler of the binaries of Intel's driver. Before version 23 it writes nothing if the folder does not exist.
pub(super) const OCLOC: Disassembler = Disassembler {
    names: &["ocloc"],
    arguments: &["disasm", "-file", CODE, "-dump", FILES],
    writes_files: true,
    packages: "intel-ocloc, or on Debian 12 intel-opencl-icd",
};

/// The disassembler of SPIR-V.
pub(super) const SPIRV_DIS: Disassembler =
    Disassembler { names: &["spirv-dis"], arguments: &[CODE], writes_files: false, packages: "spirv-tools" };

/// Returns the error for machine code that cannot be shown.
pub(super) fn failed(why: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new("The machine code cannot be shown.", why, hint)
}

impl Disassembler {
    /// Disassembles each binary. Returns the file name of the program and its outputs.
    ///
    /// # Errors
    /// Returns an error if the program is not installed, fails, times out or prints too much.
    pub(super) fn disassemble(&self, binaries: &[&[u8]]) -> Result<(String, Vec<String>)> {
        let program = self.program().ok_or_else(|| {
            let hint = format!("Install {}. On Debian: apt-get install {}.", self.names[0], self.packages);
            failed("No disassembler is installed.", hint)
        })?;
        let name = program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let outputs: Result<_> = binaries.iter().map(|binary| self.run(&program, &name, binary)).collect();
        Ok((name, outputs?))
    }

    /// Returns the path of the program, if it is installed.
    fn program(&self) -> Option<PathBuf> {
        let path = base::environment::get("PATH")?;
        // The program runs in another folder.
        let folders: Vec<_> =
            std::env::split_paths(&path).flat_map(|folder| std::path::absolute(folder).ok()).collect();
        let in_folders =
            |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        self.names.iter().find_map(in_folders)
    }

    /// Disassembles a binary in a temporary folder.
    fn run(&self, program: &Path, name: &str, binary: &[u8]) -> Result<String> {
        let io = |e: std::io::Error| failed(format!("{e}."), "");
        let folder = format!("clreel-code-{}-{}", std::process::id(), crate::kernel::unique_number());
        let folder = Folder::create(&std::env::temp_dir().join(folder)).map_err(io)?;
        std::fs::create_dir(folder.0.join(FILES)).map_err(io)?;
        std::fs::write(folder.0.join(CODE), binary).map_err(io)?;
        let mut command = Command::new(program);
        command.args(self.arguments).current_dir(&folder.0);
        let is_over = |passed| (passed > TIMEOUT).then_some(TIMEOUT);
        let (text, ending) = Sandbox::start(command, None).map_err(io)?.output(MAX_TEXT_BYTES + 1, is_over);
        match ending.cause {
            Cause::Exit(0) if self.writes_files => assembly_files(&folder.0),
            Cause::Exit(0) if text.len() <= MAX_TEXT_BYTES => Ok(text),
            Cause::Exit(0) => Err(failed(format!("{name} printed more than {MAX_TEXT_BYTES} bytes."), "")),
            _ => Err(failed(format!("{name} {ending}."), "Another version of it may support this device.")),
        }
    }
}

/// Returns the texts of the assembly files that ocloc has written, one for each kernel, each preceded by the name of its
/// kernel.
fn assembly_files(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for file in entries(&folder.join(FILES)) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = name.strip_suffix(".asm") else { continue };
        // ".text.NAME.asm", or in the older format "NAME_KernelHeap.asm".
        let kernel = name.trim_start_matches(".text.").trim_end_matches("_KernelHeap");
        let assembly = load::text(&file, MAX_TEXT_BYTES as u64).map_err(|why| failed(why.to_string(), ""))?;
        text.push_str(&format!("<{kernel}>:\n{}\n", assembly.trim_end()));
    }
    if text.is_empty() {
        let hint = "It needs the library libiga64.so. On Debian: apt-get install libigc-dev.";
        return Err(failed("ocloc wrote no assembly.", hint));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of a shell script instead of ocloc.
    fn run(arguments: &'static [&'static str], writes_files: bool) -> Result<String> {
        let shell = Disassembler { names: &["sh"], arguments, writes_files, packages: "dash" };
        shell.disassemble(&[b"\x7fELF"]).map(|(name, outputs)| {
            assert_eq!(name, "sh");
            outputs.concat()
        })
    }

    #[test]
    fn outputs_are_read_and_a_disassembler_that_is_missing_or_fails_is_named() {
        const SCRIPT: &str = "grep -q ELF code && cd files && echo no >c.bin && \
                              echo ' mov' >.text.b.asm && echo ' nop' >a_KernelHeap.asm";
        assert_eq!(run(&["-c", SCRIPT], true).unwrap(), "<b>:\n mov\n<a>:\n nop\n");
        let error = run(&["-c", "true"], true).unwrap_err();
        assert!(error.hint.contains("libiga64.so"), "{error}");
        assert_eq!(run(&["-c", "cat code"], false).unwrap(), "\x7fELF");
        let error = run(&["-c", "exit 3"], false).unwrap_err();
        assert_eq!(error.why, "sh ended the sandbox with exit code 3.");
        let error = run(&["-c", "seq 700000"], false).unwrap_err();
        assert!(error.why.contains("more than"), "{error}");
        let missing =
            Disassembler { names: &["clreel-none"], arguments: &[], writes_files: false, packages: "none" };
        let error = missing.disassemble(&[b""]).unwrap_err();
        assert_eq!(error.why, "No disassembler is installed.");
        assert_eq!(error.hint, "Install clreel-none. On Debian: apt-get install none.");
    }
}
