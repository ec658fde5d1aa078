//! Compiles kernel files for a device. The text is that of the context's [`Sources`](crate::sources::Sources).

use std::ffi::{CStr, CString, NulError};
use std::time::Instant;

use crate::binaries::BinaryFile;
use crate::build_log;
use crate::cl::{self, ClContext, Program};
use crate::crash;
use crate::sandbox::{self, BUILD, LAUNCH, PREPARATION, builds};
use crate::watch;
use base::error::{Error, ErrorKind, Result};
use base::timing::log::{self, Event};

/// Calls `compile`, which calls a compiler or makes a driver load a binary, under a watchdog, because such calls may hang or
/// crash.
fn watched<T, E>(compile: impl FnOnce() -> std::result::Result<T, E>) -> std::result::Result<T, E> {
    let _watched = watch::step("a program is built", PREPARATION.as_secs_f64() * 1e3);
    sandbox::step(BUILD);
    compile().inspect(|_| sandbox::step(LAUNCH))
}

/// A compiled program with its whole text and its options, for [`ClContext::with_compiled`].
#[derive(Debug, Clone)]
pub struct CompiledProgram {
    text: CString,
    options: CString,
    program: Program,
}

impl CompiledProgram {
    /// Returns the compiler's warnings about edited files, with the source lines that they name; empty without any.
    pub fn warnings(&self, cl: &ClContext) -> String {
        let log = self.program.build_log(&cl.device);
        build_log::warnings(&log, &self.text.to_string_lossy(), cl.sources())
    }
}

/// Compiles a kernel file for [`ClContext::with_compiled`]. `None` if the file does not compile; [`build`] then returns the error.
pub fn precompile(cl: &ClContext, file: &str, options: &str) -> Option<CompiledProgram> {
    let (text, options) = compiler_input(cl, file, &cl.sources().text(file).ok()?, options).ok()?;
    let _building = crash::mark_building(file, &cl.device.info.name, &options.to_string_lossy());
    let program = Program::from_source(&cl.context, &text).ok()?;
    program.build(&cl.device, &options).ok()?;
    Some(CompiledProgram { text, options, program })
}

/// Returns the text and the options that the compiler gets for a kernel file: the text `text` with its includes, and `options`.
fn compiler_input(cl: &ClContext, file: &str, text: &str, options: &str) -> Result<(CString, CString)> {
    let with_nul = |e: NulError| {
        let what = format!("The kernel file '{file}' does not build.");
        let kind = ErrorKind::KernelDoesNotBuild(Vec::new());
        Error { kind, ..Error::new(what, format!("{e}."), "") }
    };
    let text = CString::new(cl.sources().expand(file, text)?).map_err(with_nul)?;
    Ok((text, CString::new(format!("-cl-kernel-arg-info {options}")).map_err(with_nul)?))
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
    let (text, options) = compiler_input(cl, file, text, options)?;
    let is_same = |compiled: &&CompiledProgram| (&compiled.text, &compiled.options) == (&text, &options);
    if let Some(compiled) = cl.compiled().iter().find(is_same) {
        return Ok(compiled.program.clone());
    }
    let binary_file = BinaryFile::of(cl, &text.to_string_lossy(), &options.to_string_lossy());
    let began = Instant::now();
    let event = |name| [Event::since(name, began).with(format!("{file} {}", options.to_string_lossy()))];
    let _building = crash::mark_building(file, &cl.device.info.name, &options.to_string_lossy());
    let kept = binary_file.as_ref().and_then(BinaryFile::get);
    if let Some(program) = kept.and_then(|binary| load_binary(cl, &binary, &options)) {
        log::record(|| event("load"));
        return Ok(program);
    }
    builds::try_first(cl, file, &text, &options)?;
    let program = Program::from_source(&cl.context, &text).map_err(|e| cl::failed(&what(), &e))?;
    let built = watched(|| program.build(&cl.device, &options));
    log::record(|| event("build"));
    match built {
        Ok(()) => {
            if let Some(file) = binary_file
                && let Some(binary) = program.binary()
            {
                file.put(&binary);
            }
            Ok(program)
        }
        // A failure of the device that no kernel file causes: all files have the same message.
        Err(e) if e.0 == ocl::ffi::CL_COMPILER_NOT_AVAILABLE => {
            let what = format!("The driver of '{}' compiles no kernels.", cl.device.info.name);
            let hint = "Choose another device with --device; `clreel devices` lists them.".to_owned();
            Err(Error { hint, ..cl::failed(&what, &e) })
        }
        Err(e) => {
            let log = program.build_log(&cl.device);
            let failed = cl::failed(&what(), &e);
            let log = build_log::excerpt(&log, &text.to_string_lossy(), cl.sources());
            let is_text = e.0 == ocl::ffi::CL_BUILD_PROGRAM_FAILURE;
            let lines = || build_log::error_lines(&log).collect();
            let kind = if is_text { ErrorKind::KernelDoesNotBuild(lines()) } else { failed.kind };
            let why = if log.is_empty() { failed.why } else { format!("The compiler says:\n{log}") };
            let hint = "Correct the kernel, or choose another variant.".to_owned();
            Err(Error { why, hint, kind, ..failed })
        }
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
    let (text, first) = compiler_input(cl, file, &source, &options)?;
    builds::try_first(cl, file, &text, &first)?;
    // NVIDIA's driver keeps the results of ptxas on disk by their PTX, and has no log of one that it finds there, such as that of
    // the program just tried. A constant makes the PTX a new one; a macro would not.
    if is_nvidia {
        source += &format!("\n__constant int clreel_build_{} = 0;\n", unique_number());
    }
    let (text, options) = compiler_input(cl, file, &source, &options)?;
    let _building = crash::mark_building(file, &cl.device.info.name, &options.to_string_lossy());
    let program = Program::from_source(&cl.context, &text).map_err(|e| cl::failed(&what(), &e))?;
    watched(|| program.build(&cl.device, &options)).map_err(|e| cl::failed(&what(), &e))?;
    let binary = program.binary().ok_or_else(|| Error::new(what(), "The driver returns no binary.", ""))?;
    Ok((binary, program.build_log(&cl.device)))
}

/// Returns a number that no earlier call, in this process or another, has returned.
fn unique_number() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos()) << 32 | u128::from(std::process::id())
}

/// Creates a program from a binary; `None` if the driver does not accept the binary (any more).
fn load_binary(cl: &ClContext, binary: &[u8], options: &CStr) -> Option<Program> {
    let built = || {
        let program = Program::from_binary(&cl.context, &cl.device, binary)?;
        program.build(&cl.device, options).map(|()| program)
    };
    watched(built).ok()
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
