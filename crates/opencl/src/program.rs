//! Compiles kernel files for a device. The texts come from the context's [`Sources`](crate::sources::Sources).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ocl::ffi::{CL_BUILD_PROGRAM_FAILURE, CL_COMPILER_NOT_AVAILABLE};
use parking_lot::Mutex;

use crate::binaries::BinaryFile;
use crate::build_log;
use crate::cl::{self, ClContext, CompilerInput, Program, Refused};
use crate::crash;
use crate::sandbox::{self, BUILD, LAUNCH, PREPARATION, builds};
use crate::watch;
use base::error::{Error, ErrorKind, Result};
use base::stderr::print_message;
use base::timing::log::{self, Event};

pub use crate::cl::CompiledProgram;

/// Calls `compile`, which calls a compiler or makes a driver load a binary, under a watchdog, because such calls may hang or
/// crash.
fn watched<T, E>(compile: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let _watched = watch::step("a program is built", PREPARATION.as_secs_f64() * 1e3);
    sandbox::step(BUILD);
    compile().inspect(|_| sandbox::step(LAUNCH))
}

impl CompiledProgram {
    /// Returns the compiler's warnings about edited files, with the source lines that they name; empty if there are none.
    pub fn warnings(&self, cl: &ClContext) -> String {
        build_log::warnings(&self.log, &self.input.text, cl.sources())
    }
}

/// Compiles a kernel file for [`ClContext::with_compiled`]. `None` if the file does not compile; [`build`] then returns the error.
pub fn precompile(cl: &ClContext, file: &str, options: &str) -> Option<CompiledProgram> {
    let input = CompilerInput::new(cl, file, &cl.sources().text(file).ok()?, options).ok()?;
    let _building = crash::mark_building(file, &cl.device.info.name, &input.options());
    let (program, log) = input.compile(cl).ok()?;
    Some(CompiledProgram { input, program, log })
}

impl CompilerInput {
    /// Returns the input for the kernel file `file`, with the text `text`, its includes, and `options`.
    ///
    /// # Errors
    /// Returns an error if the includes are too long together, or there is a zero in the text.
    fn new(cl: &ClContext, file: &str, text: &str, options: &str) -> Result<Self> {
        let text = cl.sources().with_includes(file, text)?;
        let source = CString::new(base::text::to_bytes(&text));
        let options = CString::new(format!("-cl-kernel-arg-info {options}"));
        match (source, options) {
            (Ok(source), Ok(options)) => Ok(Self { text, source, options }),
            (Err(e), _) | (_, Err(e)) => {
                let what = format!("The kernel file '{file}' does not build.");
                let kind = ErrorKind::KernelDoesNotBuild(Vec::new());
                Err(Error { kind, ..Error::new(what, format!("{e}."), "") })
            }
        }
    }

    fn options(&self) -> Cow<'_, str> {
        self.options.to_string_lossy()
    }

    /// Compiles the program for the context's device. Returns it with the compiler's log.
    fn compile(&self, cl: &ClContext) -> Result<(Program, String), Refused> {
        Program::compile(&cl.context, &cl.device, &self.source, &self.options)
    }
}

/// Compiles a kernel file for the context's device. `options` are compiler options, such as `-D STRIP=64`. If the binary was kept
/// at an earlier start, it is loaded instead.
///
/// # Errors
/// Returns an error if the file cannot be read, or does not compile; in the second case the error's `why` has the build log.
pub fn build(cl: &ClContext, file: &str, options: &str) -> Result<Program> {
    build_text(cl, file, &cl.sources().text(file)?, options)
}

/// Compiles `text` as the contents of the kernel file `file`, in place of the file's own text.
///
/// # Errors
/// Returns an error as [`build`] does.
pub fn build_text(cl: &ClContext, file: &str, text: &str, options: &str) -> Result<Program> {
    let what = || format!("The kernel file '{file}' does not build for '{}'.", cl.device.info.name);
    let input = CompilerInput::new(cl, file, text, options)?;
    if let Some(compiled) = cl.compiled.iter().find(|compiled| compiled.input == input) {
        return Ok(compiled.program.clone());
    }
    let binary_file = BinaryFile::of(cl, &input.text, &input.options());
    let began = Instant::now();
    let event = |name| [Event::since(name, began).with(format!("{file} {}", input.options()))];
    let _building = crash::mark_building(file, &cl.device.info.name, &input.options());
    let kept = binary_file.as_ref().and_then(BinaryFile::get);
    let load = |binary: Vec<u8>| {
        let program = Program::from_binary(&cl.context, &cl.device, &binary)?;
        program.build(&cl.device, &input.options).map(|()| program)
    };
    if let Some(Ok(program)) = kept.map(|binary| watched(|| load(binary))) {
        log::record(|| event("load"));
        return Ok(program);
    }
    builds::try_first(cl, file, &input)?;
    let built = watched(|| input.compile(cl));
    log::record(|| event("build"));
    match built {
        Ok((program, _)) => {
            report_warnings(cl, file, &input);
            if let Some(file) = binary_file
                && let Some(binary) = program.binary()
            {
                file.put(&binary);
            }
            Ok(program)
        }
        // A failure of the device that no kernel file causes: all files have the same message.
        Err(Refused { status, .. }) if status.0 == CL_COMPILER_NOT_AVAILABLE => {
            let what = format!("The driver of '{}' compiles no kernels.", cl.device.info.name);
            let hint = "Choose another device with --device; `clreel devices` lists them.".to_owned();
            Err(Error { hint, ..cl::failed(&what, &status) })
        }
        Err(Refused { status, log }) => {
            let failed = cl::failed(&what(), &status);
            let log = build_log::excerpt(&log, &input.text, cl.sources());
            let kind = match status.0 {
                CL_BUILD_PROGRAM_FAILURE => {
                    ErrorKind::KernelDoesNotBuild(build_log::error_lines(&log).collect())
                }
                _ => failed.kind,
            };
            let why = if log.is_empty() { failed.why } else { format!("The compiler says:\n{log}") };
            let hint = "Correct the kernel, or choose another variant.".to_owned();
            Err(Error { why, hint, kind, ..failed })
        }
    }
}

/// True if compilers' warnings about edited kernels are printed.
static PRINTS_WARNINGS: AtomicBool = AtomicBool::new(false);

/// Prints the compilers' warnings about edited kernels from here on, each once, on stderr.
pub fn print_warnings() {
    PRINTS_WARNINGS.store(true, Ordering::Relaxed);
}

/// Prints the compiler's warnings about a kernel file that was built from `input`, once for each text. Compiles the file again
/// with another option, since drivers that cache programs, such as PoCL, have no log for a program that was built before.
fn report_warnings(cl: &ClContext, file: &str, input: &CompilerInput) {
    /// The program texts whose warnings were printed.
    static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = || PRINTED.lock().insert(input.text.clone());
    if !PRINTS_WARNINGS.load(Ordering::Relaxed) || !cl.sources().is_changed(file) || !is_new() {
        return;
    }
    let options = format!("{} -D CLREEL_WARNINGS={}", input.options(), unique_number());
    let again = CString::new(options).map(|options| CompilerInput { options, ..input.clone() });
    let Some(Ok((_, log))) = again.ok().map(|again| watched(|| again.compile(cl))) else { return };
    let warnings = build_log::warnings(&log, &input.text, cl.sources());
    if !warnings.is_empty() {
        print_message(format!("The compiler warns about kernels:\n{warnings}"));
    }
}

/// Compiles a kernel file again. Returns the driver's binary, and the build log with as much detail as the compiler gives.
///
/// # Errors
/// Returns an error as [`build`] does, or if the driver returns no binary.
pub fn binary_and_log(cl: &ClContext, file: &str, options: &str) -> Result<(Vec<u8>, String)> {
    let what = || format!("The machine code of '{file}' is not available from '{}'.", cl.device.info.name);
    let is_nvidia = cl.device.info.platform.contains("NVIDIA");
    let verbose = if is_nvidia { " -cl-nv-verbose" } else { "" };
    // The option makes this a different program for the driver than one that may be running: see [`Program::binary`].
    let options = format!("-D CLREEL_MACHINE_CODE {options}{verbose}");
    let mut source = cl.sources().text(file)?;
    builds::try_first(cl, file, &CompilerInput::new(cl, file, &source, &options)?)?;
    // NVIDIA's driver keeps the results of ptxas on disk by their PTX, and has no log for PTX that it finds there, such as the
    // PTX that the sandbox has just built. A constant changes the PTX; a macro would not.
    if is_nvidia {
        source += &format!("\n__constant int clreel_build_{} = 0;\n", unique_number());
    }
    let input = CompilerInput::new(cl, file, &source, &options)?;
    let _building = crash::mark_building(file, &cl.device.info.name, &input.options());
    let (program, log) =
        watched(|| input.compile(cl)).map_err(|refused| cl::failed(&what(), &refused.status))?;
    let binary = program.binary().ok_or_else(|| Error::new(what(), "The driver returns no binary.", ""))?;
    Ok((binary, log))
}

/// Returns a number that no earlier call, in this process or another, has returned.
fn unique_number() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos()) << 32 | u128::from(std::process::id())
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
