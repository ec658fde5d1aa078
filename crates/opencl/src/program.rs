//! OpenCL programs. In: the name of a kernel file under `kernels/`, or its text. Out: a built program, or
//! the compiler's log with the lines it points at.
//!
//! All kernel sources are part of the binary. The environment variable `CLREEL_KERNELS` names a directory
//! to read them from instead, which must be there; a file that is missing in it falls back to the one in the binary. The window
//! reads it as a whole ([`sources`]).

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::binaries::BinaryFile;
use crate::cl::{self, ClContext, Program};
use crate::crash;
use crate::sources::{self, Sources};
use base::error::{Error, Result};
use base::load::{self, Unread};
use base::timing::log::{self, Event};

/// Every file under `kernels/`, by its path there; `build.rs` lists them.
pub(super) const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The environment variable that names a directory of kernel sources.
pub(crate) const KERNELS_VARIABLE: &str = "CLREEL_KERNELS";

/// The longest build log that an error quotes, in lines.
const LOG_LINES: usize = 24;
/// The longest line of it, in characters.
const LOG_LINE: usize = 400;

/// The folder of kernels that the environment names; an empty name is none.
pub fn named_folder() -> Option<PathBuf> {
    base::environment::get(KERNELS_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Whether the folder that is named was named by the option.
static BY_OPTION: AtomicBool = AtomicBool::new(false);

/// Notes that the user has named the folder by `--kernels`.
pub(super) fn named_by_option() {
    BY_OPTION.store(true, Ordering::Relaxed);
}

/// What the user has named the folder with, as the beginning of a sentence.
pub fn named_with() -> &'static str {
    naming(named_folder().is_some(), BY_OPTION.load(Ordering::Relaxed)).0
}

/// What leaves that folder out, after "or" or a comma.
pub fn way_back() -> &'static str {
    naming(named_folder().is_some(), BY_OPTION.load(Ordering::Relaxed)).1
}

fn naming(is_named: bool, by_option: bool) -> (&'static str, &'static str) {
    match (is_named, by_option) {
        (true, true) => ("--kernels", "start clreel without --kernels"),
        (true, false) => (KERNELS_VARIABLE, "unset CLREEL_KERNELS"),
        // The copy that the window has made.
        (false, _) => ("The folder of kernels", "delete the files that are changed"),
    }
}

/// The text of a kernel file, by its path under `kernels/`, such as `box_filter/01_naive.cl`.
pub fn source(name: &str) -> Result<String> {
    if let Some(sources) = sources::current() {
        return sources.text(name);
    }
    let directory = named_folder();
    source_from(directory.as_deref(), name)
}

/// The same as it is inside the binary, whatever the user has named.
///
/// # Errors
/// When there is no such file.
pub fn built_in(name: &str) -> Result<String> {
    source_from(None, name)
}

fn source_from(directory: Option<&Path>, name: &str) -> Result<String> {
    if let Some(folder) = directory {
        let path = folder.join(name);
        match load::text(&path, load::KERNEL) {
            Ok(text) => return Ok(text),
            Err(Unread::Missing) if folder.is_dir() => {}
            // Said alike of all its files, and so once.
            Err(Unread::Missing) => return Err(sources::no_folder(folder, "There is no such folder.")),
            Err(why) => return Err(sources::unreadable(&path, &why)),
        }
    }
    let built_in = EMBEDDED.iter().find(|(n, _)| *n == name).map(|(_, text)| (*text).to_owned());
    built_in.ok_or_else(|| missing(name))
}

const NO_FILE: &str = "There is no kernel file ";

fn missing(name: &str) -> Error {
    let folder = match named_folder() {
        Some(folder) => Some(format!("in {}", base::text::name(folder))),
        None => sources::is_named().then(|| "in the folder of kernels".to_owned()),
    };
    let (why, hint) = match folder {
        Some(folder) => (
            format!("It is neither {folder} nor among the built-in kernels."),
            "Correct the name, or put the file there.",
        ),
        None => (
            "It is not among the built-in kernels.".to_owned(),
            "Name the folder that has it with --kernels.",
        ),
    };
    Error::new(format!("{NO_FILE}'{name}'."), why, hint)
}

/// Replaces each `#include "…"` by the file's text, so that the compiler needs no path. `#line` directives
/// keep the names and numbers in the build log those of the files. With all includes it may be four files of the largest
/// size long.
fn expand(name: &str, text: &str, depth: usize, load: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let mut out = String::new();
    expand_into(&mut out, name, text, depth, load)?;
    Ok(out)
}

fn expand_into(
    out: &mut String,
    name: &str,
    text: &str,
    depth: usize,
    load: &dyn Fn(&str) -> Result<String>,
) -> Result<()> {
    let refused = |why: String| Error::new(format!("The kernel file '{name}' does not build."), why, "");
    let _ = writeln!(out, "#line 1 \"{name}\"");
    for (number, line) in text.lines().enumerate() {
        let include = line.trim_start().strip_prefix("#include").and_then(|r| r.trim().strip_prefix('"'));
        let Some((include, _)) = include.and_then(|rest| rest.split_once('"')) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        if depth == 0 {
            return Err(refused(format!("Its includes nest too deeply, at line {}.", number + 1)));
        }
        let path = resolve(name, include);
        let text = load(&path).map_err(|error| match error.what.starts_with(NO_FILE) {
            true => {
                Error { why: format!("{name} includes it at line {}. {}", number + 1, error.why), ..error }
            }
            false => error,
        })?;
        expand_into(out, &path, &text, depth - 1, load)?;
        let _ = writeln!(out, "#line {} \"{name}\"", number + 2);
        if out.len() as u64 > 4 * load::KERNEL {
            return Err(refused(format!("Its includes are too long together, at line {}.", number + 1)));
        }
    }
    Ok(())
}

/// The path of `include` under `kernels/`, as seen from the file `from`.
fn resolve(from: &str, include: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in include.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Whether a kernel file or what it includes is not as it is built in, or not built in at all: nobody has tried it then. One
/// that cannot be read is not there to be tried.
pub fn is_changed(name: &str) -> bool {
    let text = |load: &dyn Fn(&str) -> Result<String>| expand(name, &load(name)?, 8, load);
    sources::may_differ()
        && text(&source).is_ok_and(|now| text(&|name| source_from(None, name)).ok().as_ref() != Some(&now))
}

/// Whether that is so of any kernel file whose name begins like this.
pub fn any_changed(prefix: &str) -> bool {
    EMBEDDED.iter().any(|(name, _)| name.starts_with(prefix) && name.ends_with(".cl") && is_changed(name))
}

/// A hash of bytes, against damage and changes but not against malice (FNV-1a: G. Fowler, L. C. Noll, K.-P. Vo, 1991).
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// A hash of a kernel file's text and of all that it includes: equal while they do not change.
///
/// # Errors
/// When a file is missing or cannot be read.
pub fn fingerprint(name: &str) -> Result<String> {
    let text = expand(name, &source(name)?, 8, &self::source)?;
    Ok(format!("{:016x}", hash(text.as_bytes())))
}

/// Whether a kernel file, with all that it includes, is the same in both; one that cannot be put together is like no other.
pub fn is_same_in(name: &str, one: &Sources, other: &Sources) -> bool {
    let text = |of: &Sources| expand(name, &of.text(name)?, 8, &|name| of.text(name));
    matches!((text(one), text(other)), (Ok(one), Ok(other)) if one == other)
}

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Is told that a compiler begins, and that it is done.
type Watcher = Box<dyn FnMut(bool)>;

/// From here on `watcher` is told of each program that this thread has compiled: `true` when the compiler begins, `false`
/// when it has made a program, whose kernels may run next.
pub(crate) fn watch(watcher: impl FnMut(bool) + 'static) {
    WATCHER.with_borrow_mut(|slot| *slot = Some(Box::new(watcher)));
}

/// Has the watcher told of a compiler, or of a driver that takes its binary back: either may hang or crash.
fn watched<T, E>(compile: impl FnOnce() -> std::result::Result<T, E>) -> std::result::Result<T, E> {
    let tell = |begins| WATCHER.with_borrow_mut(|watcher| watcher.iter_mut().for_each(|tell| tell(begins)));
    tell(true);
    compile().inspect(|_| tell(false))
}

/// A program that another thread has compiled, for the one that will ask for it.
#[derive(Debug)]
pub struct Ahead {
    text: CString,
    options: CString,
    program: Program,
}

thread_local! {
    static AHEAD: RefCell<Vec<Ahead>> = const { RefCell::new(Vec::new()) };
}

/// Compiles a kernel file for [`take_over`]; `None` where it does not compile, which who asks for it is told.
pub fn ahead(cl: &ClContext, file: &str, options: &str) -> Option<Ahead> {
    let (text, options) = texts(file, &source(file).ok()?, options).ok()?;
    let _building = crash::building(file, &cl.device.info.name, &options.to_string_lossy());
    let program = Program::of_source(&cl.context, &text).ok()?;
    program.build(&cl.device, &options).ok()?;
    Some(Ahead { text, options, program })
}

/// From here on this thread compiles none of these again, and those before them if it has to.
pub fn take_over(programs: Vec<Ahead>) {
    AHEAD.set(programs);
}

/// What the compiler gets: a file's whole text, and the options.
fn texts(file: &str, source: &str, options: &str) -> Result<(CString, CString)> {
    let no_zero = |e: std::ffi::NulError| {
        Error::new(format!("The kernel file '{file}' does not build."), format!("{e}."), "")
    };
    let text = CString::new(expand(file, source, 8, &self::source)?).map_err(no_zero)?;
    Ok((text, CString::new(format!("-cl-kernel-arg-info {options}")).map_err(no_zero)?))
}

/// Compiles `source`, the text of the kernel file `source_name`, for the context's device. `options` are the
/// compiler's, such as `-D STRIP=64`. Where the driver's binary of an earlier start is kept, that is taken instead.
///
/// # Errors
/// When the text does not compile: `why` then carries the build log.
pub fn build(cl: &ClContext, source_name: &str, source: &str, options: &str) -> Result<Program> {
    let what = || format!("The kernel file '{source_name}' does not build for '{}'.", cl.device.info.name);
    let (text, options) = texts(source_name, source, options)?;
    let is_it = |ahead: &Ahead| (&ahead.text, &ahead.options) == (&text, &options);
    let ahead = AHEAD.with_borrow(|all| all.iter().find(|ahead| is_it(ahead)).map(|a| a.program.clone()));
    if let Some(program) = ahead {
        return Ok(program);
    }
    let file = BinaryFile::of(&cl.device.info, &text.to_string_lossy(), &options.to_string_lossy());
    let began = Instant::now();
    let told = |how| [Event::since(how, began).with(format!("{source_name} {}", options.to_string_lossy()))];
    let _building = crash::building(source_name, &cl.device.info.name, &options.to_string_lossy());
    let kept = file.as_ref().and_then(BinaryFile::get);
    if let Some(program) = kept.and_then(|binary| of_binary(cl, &binary, &options)) {
        log::record(|| told("load"));
        return Ok(program);
    }
    let program = Program::of_source(&cl.context, &text).map_err(|e| cl::failed(&what(), &e))?;
    let built = watched(|| program.build(&cl.device, &options));
    log::record(|| told("build"));
    super::watch::progress();
    match built {
        Ok(()) => {
            if let Some(file) = file
                && let Some(binary) = program.binary()
            {
                file.put(&binary);
            }
            Ok(program)
        }
        // The device's failure, whatever the text is: it reads the same for each file.
        Err(e) if e.0 == ocl::ffi::CL_COMPILER_NOT_AVAILABLE => {
            let what = format!("The driver of '{}' compiles no kernels.", cl.device.info.name);
            let hint = "Choose another device with --device; `clreel devices` lists them.".to_owned();
            Err(Error { hint, ..cl::failed(&what, &e) })
        }
        Err(e) => {
            let log = program.build_log(&cl.device);
            let failed = cl::failed(&what(), &e);
            let why = if log.is_empty() {
                failed.why
            } else {
                let log = in_files(&log, &text.to_string_lossy());
                format!("The compiler says:\n{}", annotate(&log, &|file| self::source(file).ok()))
            };
            let hint = "Correct the kernel, or choose another variant.".to_owned();
            Err(Error { why, hint, ..failed })
        }
    }
}

/// What the driver makes of a kernel file, compiled anew: its binary, and what the compiler says, which is as much as it can.
///
/// # Errors
/// As [`build`]; also where the driver does not give the binary.
pub fn binary_and_log(cl: &ClContext, file: &str, options: &str) -> Result<(Vec<u8>, String)> {
    let what = || format!("The machine code of '{file}' cannot be had from '{}'.", cl.device.info.name);
    let no_zero = |e: std::ffi::NulError| Error::new(what(), format!("{e}."), "");
    let talks = if cl.device.info.platform.contains("NVIDIA") { " -cl-nv-verbose" } else { "" };
    let text = CString::new(expand(file, &source(file)?, 8, &self::source)?).map_err(no_zero)?;
    // Another program to the driver than the one that may run meanwhile: see [`Program::binary`].
    let other = "-D CLREEL_MACHINE_CODE";
    let options = CString::new(format!("-cl-kernel-arg-info {other} {options}{talks}")).map_err(no_zero)?;
    let _building = crash::building(file, &cl.device.info.name, &options.to_string_lossy());
    let program = Program::of_source(&cl.context, &text).map_err(|e| cl::failed(&what(), &e))?;
    watched(|| program.build(&cl.device, &options)).map_err(|e| cl::failed(&what(), &e))?;
    let binary = program.binary().ok_or_else(|| Error::new(what(), "The driver does not tell it.", ""))?;
    Ok((binary, program.build_log(&cl.device)))
}

/// A program of the driver's binary; `None` where the driver does not take it (any more).
fn of_binary(cl: &ClContext, binary: &[u8], options: &CStr) -> Option<Program> {
    let built = || {
        let program = Program::of_binary(&cl.context, &cl.device, binary)?;
        program.build(&cl.device, options).map(|()| program)
    };
    watched(built).ok()
}

/// The lines of a build log without its warnings, with what belongs to them, and how many warnings there were; where there is no
/// error among them, all lines.
fn errors_of(log: &str) -> (Vec<&str>, usize) {
    let all = || log.lines().map(str::trim_end).filter(|line| !line.is_empty());
    if !all().any(|line| line.contains("error: ")) {
        return (all().collect(), 0);
    }
    let (mut kept, mut warnings, mut is_warning) = (Vec::new(), 0, false);
    for line in all() {
        if line.contains("warning: ") {
            (warnings, is_warning) = (warnings + 1, true);
        } else if line.contains("error: ") || is_end(line) {
            is_warning = false;
        }
        if !is_warning {
            kept.push(line);
        }
    }
    (kept, warnings)
}

/// Whether a line of a log is about all of it, as "2 errors generated." is.
fn is_end(line: &str) -> bool {
    line.ends_with("generated.") || line.contains("failed to build")
}

/// What Oclgrind calls the text that it compiles. Its messages count the lines of that whole text, whatever `#line` says.
const WHOLE_TEXT: &str = "input.cl:";

/// A build log in which messages that count the lines of the whole text name the line of the file that stands there.
fn in_files(log: &str, text: &str) -> String {
    let named = |line: &str| {
        let (number, rest) = line.strip_prefix(WHOLE_TEXT)?.split_once(':')?;
        let (file, number) = file_at(text, number.parse().ok()?)?;
        Some(format!("{file}:{number}:{rest}"))
    };
    let lines: Vec<String> = log.lines().map(|line| named(line).unwrap_or_else(|| line.to_owned())).collect();
    lines.join("\n")
}

/// The file and the line of it that stand at a line of a text with `#line` directives.
fn file_at(text: &str, number: usize) -> Option<(&str, usize)> {
    let mut at = None;
    for line in text.lines().take(number) {
        let told = line.strip_prefix("#line ").and_then(|told| told.split_once(' '));
        at = match told
            .and_then(|(next, file)| Some((file.trim().trim_matches('"'), next.parse::<usize>().ok()?)))
        {
            // The line after it has the number.
            Some((file, next)) => Some((file, next.saturating_sub(1))),
            None => at.map(|(file, line): (&str, usize)| (file, line.saturating_add(1))),
        };
    }
    at
}

/// The first lines of a build log, long ones cut. Below each message that names a line of a kernel file stands that line,
/// unless the compiler has quoted it. Beside errors warnings are only counted.
fn annotate(log: &str, load: &dyn Fn(&str) -> Option<String>) -> String {
    let (lines, warnings) = errors_of(log);
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        out.push(cut(line));
        if let Some((number, quoted)) = pointed_at(line, load) {
            let next = lines.get(i + 1).map_or("", |l| l.trim());
            // Some compilers quote with the line's number.
            if !next.ends_with(quoted.trim()) {
                out.push(format!("  {number} | {}", cut(quoted.trim_end())));
            }
        }
        if out.len() >= LOG_LINES && i + 1 < lines.len() {
            out.push(format!("… and {} more lines, {} in all", lines.len() - i - 1, bytes(log.len())));
            break;
        }
    }
    match warnings {
        0 => {}
        1 => out.push("… and a warning".to_owned()),
        more => out.push(format!("… and {more} warnings")),
    }
    out.join("\n")
}

/// A line of a log: its beginning, and how much more there is.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LOG_LINE) {
        Some((at, _)) => format!("{}… and {} more", &line[..at], bytes(line.len() - at)),
        None => line.to_owned(),
    }
}

/// A number of bytes as a person would say it.
fn bytes(count: usize) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..1_000_000 => format!("{} KB", count / 1000),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// The number and text of the source line that a message such as `box_filter/01_naive.cl:12:5: error: …`
/// points at. Files that are not built in are named as the compiler names them.
fn pointed_at(message: &str, load: &dyn Fn(&str) -> Option<String>) -> Option<(usize, String)> {
    let built_in = EMBEDDED.iter().map(|(name, _)| *name).find(|name| message.contains(&format!("{name}:")));
    let name = built_in.or_else(|| message.split_once(':').map(|(name, _)| name.trim()))?;
    let number: usize = message.split_once(&format!("{name}:"))?.1.split(':').next()?.parse().ok()?;
    let text = load(name)?;
    Some((number, text.lines().nth(number.checked_sub(1)?)?.to_owned()))
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
