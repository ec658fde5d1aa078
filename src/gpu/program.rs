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

use crate::error::{Error, Result};
use crate::gpu::binaries::BinaryFile;
use crate::gpu::cl::{self, ClContext, Program};
use crate::gpu::sources::{self, Sources};
use crate::load::{self, Unread};
use crate::timing::log::{self, Event};

/// Every file under `kernels/`, by its path there; `build.rs` lists them.
pub(super) const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The environment variable that names a directory of kernel sources.
pub(crate) const KERNELS_VARIABLE: &str = "CLREEL_KERNELS";

/// The longest build log that an error quotes, in lines.
const LOG_LINES: usize = 24;
/// The longest line of it, in characters.
const LOG_LINE: usize = 400;

/// The folder of kernels that the environment names; an empty name is none.
pub(crate) fn named_folder() -> Option<PathBuf> {
    crate::environment::get(KERNELS_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Whether the folder that is named was named by the option.
static BY_OPTION: AtomicBool = AtomicBool::new(false);

/// Notes that the user has named the folder by `--kernels`.
pub(super) fn named_by_option() {
    BY_OPTION.store(true, Ordering::Relaxed);
}

/// What the user has named the folder with, as the beginning of a sentence.
pub(crate) fn named_with() -> &'static str {
    naming(named_folder().is_some(), BY_OPTION.load(Ordering::Relaxed)).0
}

/// What leaves that folder out, after "or" or a comma.
pub(crate) fn way_back() -> &'static str {
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
pub(crate) fn source(name: &str) -> Result<String> {
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
pub(crate) fn built_in(name: &str) -> Result<String> {
    source_from(None, name)
}

fn source_from(directory: Option<&Path>, name: &str) -> Result<String> {
    if let Some(folder) = directory {
        let path = folder.join(name);
        match load::text(&path, load::KERNEL) {
            Ok(text) => return Ok(text),
            Err(Unread::Missing) if folder.is_dir() => {}
            Err(why) => return Err(sources::unreadable(&path, &why)),
        }
    }
    EMBEDDED.iter().find(|(n, _)| *n == name).map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
        Error::new(
            format!("There is no kernel file '{name}'."),
            "It is not among the built-in kernels.",
            "Name the folder that has it with --kernels.",
        )
    })
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
        expand_into(out, &path, &load(&path)?, depth - 1, load)?;
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
pub(crate) fn is_changed(name: &str) -> bool {
    let text = |load: &dyn Fn(&str) -> Result<String>| expand(name, &load(name)?, 8, load);
    sources::may_differ()
        && text(&source).is_ok_and(|now| text(&|name| source_from(None, name)).ok().as_ref() != Some(&now))
}

/// Whether that is so of any kernel file whose name begins like this.
pub(crate) fn any_changed(prefix: &str) -> bool {
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
pub(crate) fn fingerprint(name: &str) -> Result<String> {
    let text = expand(name, &source(name)?, 8, &self::source)?;
    Ok(format!("{:016x}", hash(text.as_bytes())))
}

/// Whether a kernel file, with all that it includes, is the same in both; one that cannot be put together is like no other.
pub(crate) fn is_same_in(name: &str, one: &Sources, other: &Sources) -> bool {
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
pub(crate) struct Ahead {
    text: CString,
    options: CString,
    program: Program,
}

thread_local! {
    static AHEAD: RefCell<Vec<Ahead>> = const { RefCell::new(Vec::new()) };
}

/// Compiles a kernel file for [`take_over`]; `None` where it does not compile, which who asks for it is told.
pub(crate) fn ahead(cl: &ClContext, file: &str, options: &str) -> Option<Ahead> {
    let (text, options) = texts(file, &source(file).ok()?, options).ok()?;
    let program = Program::of_source(&cl.context, &text).ok()?;
    program.build(&cl.device, &options).ok()?;
    Some(Ahead { text, options, program })
}

/// From here on this thread compiles none of these again, and those before them if it has to.
pub(crate) fn take_over(programs: Vec<Ahead>) {
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
pub(crate) fn build(cl: &ClContext, source_name: &str, source: &str, options: &str) -> Result<Program> {
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
        Err(e) => {
            let log = program.build_log(&cl.device);
            let failed = cl::failed(&what(), &e);
            let why = if log.is_empty() {
                failed.why
            } else {
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
pub(crate) fn binary_and_log(cl: &ClContext, file: &str, options: &str) -> Result<(Vec<u8>, String)> {
    let what = || format!("The machine code of '{file}' cannot be had from '{}'.", cl.device.info.name);
    let no_zero = |e: std::ffi::NulError| Error::new(what(), format!("{e}."), "");
    let talks = if cl.device.info.platform.contains("NVIDIA") { " -cl-nv-verbose" } else { "" };
    let text = CString::new(expand(file, &source(file)?, 8, &self::source)?).map_err(no_zero)?;
    // Another program to the driver than the one that may run meanwhile: see [`Program::binary`].
    let options = CString::new(format!("-cl-kernel-arg-info -D READ {options}{talks}")).map_err(no_zero)?;
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
mod tests {
    use super::*;
    use crate::gpu::cl::{Buffer, list_devices};
    use crate::gpu::kernel::{Kernel, Value, enqueue};

    /// PoCL before version 6 ends the process where it is asked for the binary of a program that runs: mostly, so that it is asked for
    /// several.
    #[test]
    fn a_binary_can_be_had_while_its_kernel_runs() {
        let Some(device) = list_devices().into_iter().next() else { return };
        let cl = ClContext::new(&device).unwrap();
        // A kernel that names its group's size.
        let (file, side) = ("transpose/03_group_linear.cl", 512_u32);
        let numbers = side as usize * side as usize;
        for tile in [4, 6, 8, 12, 16] {
            // What the driver has compiled before is too soon there.
            let options = format!("-D TILE={tile} -D TRIED_BY={}", std::process::id());
            let program = build(&cl, file, &source(file).unwrap(), &options).unwrap();
            let kernel = Kernel::new(&program, "transpose_group_linear").unwrap();
            for index in 0..2 {
                let memory = Buffer::new(&cl.context, ocl::ffi::CL_MEM_READ_WRITE, 4 * numbers).unwrap();
                kernel.set(index, memory.mem()).unwrap();
                kernel.set(index + 2, Value::Uint(side)).unwrap();
            }
            let (group, tiles) = (tile * tile, (side as usize).div_ceil(tile));
            let run = || {
                // SAFETY: the arguments are set, and the memory is as large as the kernel is told.
                let ran =
                    unsafe { enqueue(&cl.queue, &kernel, 1, [tiles * tiles * group, 1, 1], [group, 1, 1]) };
                ran.unwrap().wait_for().unwrap();
            };
            run();
            std::thread::scope(|scope| {
                let own = ClContext::new(&device).unwrap();
                let reader = scope.spawn(move || binary_and_log(&own, file, &options));
                while !reader.is_finished() {
                    run();
                }
                assert!(!reader.join().unwrap().unwrap().0.is_empty());
            });
        }
    }

    #[test]
    fn includes_are_expanded_and_lines_keep_their_numbers() {
        let load = |name: &str| match name {
            "common/a.clh" => Ok("int a;\n".to_owned()),
            other => panic!("asked for {other}"),
        };
        let text =
            expand("box_filter/x.cl", "// one\n#include \"../common/a.clh\"\nint b;\n", 4, &load).unwrap();
        assert_eq!(
            text,
            "#line 1 \"box_filter/x.cl\"\n// one\n#line 1 \"common/a.clh\"\nint a;\n#line 3 \"box_filter/x.cl\"\nint b;\n"
        );
    }

    #[test]
    fn a_file_that_includes_itself_is_an_error() {
        let load = |_: &str| Ok("#include \"x.cl\"\n".to_owned());
        assert!(expand("x.cl", "#include \"x.cl\"\n", 8, &load).is_err());
    }

    #[test]
    fn includes_that_multiply_end() {
        // Each file takes in the next one a thousand times.
        let load = |name: &str| {
            let next = name.trim_end_matches(".cl").parse::<u32>().unwrap() + 1;
            Ok(format!("#include \"{next}.cl\"\n").repeat(if next < 5 { 1000 } else { 0 }))
        };
        let error = expand("0.cl", &load("0.cl").unwrap(), 8, &load).unwrap_err().to_string();
        assert!(error.contains("too long"), "{error}");
    }

    #[test]
    fn every_embedded_file_expands() {
        for (name, text) in EMBEDDED {
            let expanded = expand(name, text, 8, &|n| source_from(None, n)).unwrap();
            assert!(!expanded.contains("#include"), "{name}");
        }
    }

    #[test]
    fn a_directory_overrides_and_falls_back() {
        let dir = std::env::temp_dir().join(format!("clreel-kernels-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("box_filter")).unwrap();
        std::fs::write(dir.join("box_filter/01_naive.cl"), "mine").unwrap();
        assert_eq!(source_from(Some(&dir), "box_filter/01_naive.cl").unwrap(), "mine");
        assert_eq!(source_from(Some(&dir), "common/mean.clh"), source_from(None, "common/mean.clh"));
        std::fs::remove_dir_all(&dir).unwrap();
        let error = source_from(Some(&dir), "common/mean.clh").unwrap_err().to_string();
        assert!(error.contains("cannot be read") && error.contains("Name another folder, or "), "{error}");
        std::fs::create_dir_all(dir.join("common")).unwrap();
        std::fs::write(dir.join("common/mean.clh"), [0xff, 0xfe]).unwrap();
        let error = source_from(Some(&dir), "common/mean.clh").unwrap_err().to_string();
        assert!(error.contains("cannot be read") && error.contains("Correct or delete it"), "{error}");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_way_back_is_the_one_that_the_user_has_come() {
        let ways = [(true, true), (true, false), (false, false)].map(|(named, option)| naming(named, option));
        assert_eq!(ways[0], ("--kernels", "start clreel without --kernels"));
        assert!(ways[1].0 == KERNELS_VARIABLE && ways[1].1.ends_with(KERNELS_VARIABLE));
        assert!(!format!("{:?}", ways[2]).contains("KERNELS") && !ways[2].1.contains("--"));
    }

    #[test]
    fn beside_errors_warnings_are_only_counted() {
        let load = |_: &str| Some("first\nsecond\n".to_owned());
        let errors = "error: common/mean.clh:1:3: no\n  1 | first\nwarning: x.cl:2: odd\n  2 | odd\n  ^\nnote: why\n\
                      error: x.cl:9:1: no\nwarning: a\nDevice d failed to build the program";
        assert_eq!(
            annotate(errors, &load),
            "error: common/mean.clh:1:3: no\n  1 | first\nerror: x.cl:9:1: no\nDevice d failed to build the program\n\
             … and 2 warnings"
        );
        // Where nothing else is there, they are what there is.
        assert_eq!(annotate("warning: odd\n  2 | odd", &load), "warning: odd\n  2 | odd");
        assert!(annotate("x: error: no\nx: warning: odd", &load).ends_with("… and a warning"));
    }

    #[test]
    fn a_log_quotes_its_lines_and_is_cut() {
        let load = |_: &str| Some("first\nsecond\n".to_owned());
        let text = annotate("common/mean.clh:2:1: error: no", &load);
        assert_eq!(text, "common/mean.clh:2:1: error: no\n  2 | second");
        let text = annotate("common/mean.clh:2:1: error: no\n  second\n  ^", &load);
        assert_eq!(text, "common/mean.clh:2:1: error: no\n  second\n  ^");
        let long = vec!["noise"; 500].join("\n");
        assert_eq!(annotate(&long, &load).lines().count(), LOG_LINES + 1);
        assert!(annotate(&long, &load).ends_with("… and 476 more lines, 2999 bytes in all"));
        // One line may be as long as a thousand.
        let endless = "äöü".repeat(1_000_000);
        let text = annotate(&endless, &load);
        assert!(text.len() < 2 * LOG_LINE + 40 && text.ends_with("… and 6.0 MB more"), "{text}");
        let wide = vec![endless.as_str(); 30].join("\n");
        assert!(annotate(&wide, &load).len() < LOG_LINES * (2 * LOG_LINE + 40) + 60);
    }
}
