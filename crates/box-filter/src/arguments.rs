//! The arguments of kernels, compared with those that a description passes.

use filter::{Memory, Passed, folder, nearest};

use super::config::Pass;
use base::error::{Error, Result};
use opencl::cl::ClContext;
use opencl::kernel::{Kernel, argument_names, expect_count, other_type};
use opencl::memory::Storage;

/// Returns for each argument of a pass its index in the kernel: by its name, which the driver or else the text of the file tells,
/// or in the order of the description if that has no names.
pub(crate) fn places(cl: &ClContext, kernel: &Kernel, pass: &Pass) -> Result<Vec<u32>> {
    let file = format!("{} ('{}')", pass.file, pass.kernel);
    if pass.described.is_empty() {
        // Before a missing argument is set, whose error would name no number.
        expect_count(kernel, &file, pass.arguments.len())?;
        return Ok((0..pass.arguments.len() as u32).collect());
    }
    let in_text = || folder::argument_names(&cl.sources().text(pass.file).ok()?, pass.kernel);
    let described: Vec<&str> = pass.described.iter().map(|argument| argument.name.as_str()).collect();
    let names = argument_names(kernel).or_else(in_text).ok_or_else(|| {
        let what = format!("The names of the arguments of the kernel in {file} are not known.");
        let hint = "Write the kernel without macros around its name and arguments.";
        Error::new(
            what,
            "This driver does not report them, and the text does not tell them for certain.",
            hint,
        )
    })?;
    // PoCL renames OpenCL's functions by macros, so that an argument such as `step` is reported as `_cl_step`.
    let own = |name: &'_ String| match name.strip_prefix("_cl_").filter(|own| described.contains(own)) {
        Some(own) => own.to_owned(),
        None => name.clone(),
    };
    let names: Vec<String> = names.iter().map(own).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let mismatch = |what: String, hint: Option<String>| {
        let why =
            format!("The kernel has {}; the description has {}.", known.join(", "), described.join(", "));
        Error::new(what, why, hint.unwrap_or_else(|| "Give them the same names.".to_owned()))
    };
    let unknown = |name: &&&str| !described.contains(*name);
    if let Some(name) = known.iter().find(unknown) {
        let what = format!("The kernel in {file} has an argument '{name}' that gets no value.");
        // A name of the description that the kernel has is no misspelt one.
        let others = described.iter().copied().filter(|other| !known.contains(other));
        let hint = |near| format!("Write '{name}' in place of '{near}' in `arguments` of {}.", folder::FILE);
        return Err(mismatch(what, nearest(name, others).map(hint)));
    }
    let place = |name: &&str| {
        let place = known.iter().position(|known| known == name);
        let missing = || {
            let others = known.iter().copied().filter(|other| !described.contains(other));
            let near = nearest(name, others).map(|near| format!("Did you mean '{near}'?"));
            mismatch(format!("The kernel in {file} has no argument '{name}'."), near)
        };
        place.map(|place| place as u32).ok_or_else(missing)
    };
    described.iter().map(place).collect()
}

/// Returns the types of arguments that take memory of this kind; the authors of kernels choose how to read a buffer.
pub(crate) fn memory_types(storage: Storage) -> &'static [&'static str] {
    match storage {
        Storage::Image => &["image2d_t"],
        Storage::Buffer => &["*"],
    }
}

/// Returns the error if an argument of a pass, the one with index `at` in the description and with index `place` in the kernel, has
/// another type than those `wanted`; `None` if it has one of them, if its type is not known, or if no description names it.
pub(crate) fn wrong_type(
    kernel: &Kernel,
    pass: &Pass,
    (at, place): (usize, u32),
    wanted: &[&str],
) -> Option<Error> {
    let found = other_type(kernel, place, wanted)?;
    let described = pass.described.get(at)?;
    let name = &described.name;
    let passed = match &described.value {
        Passed::Picture { memory: Memory::Buffer, .. } => "a picture in a buffer",
        Passed::Picture { memory: Memory::Image, .. } => "a picture in an image",
        Passed::Scratch(_) => "scratch memory",
        Passed::LocalBytes(_) => "local memory",
        Passed::Float(_) | Passed::Whole(..) | Passed::Vector(_) | Passed::Quotient(_) => "a number",
    };
    let (kernel, file) = (pass.kernel, pass.file);
    let what = format!("'{name}' has another type in the kernel '{kernel}' in {file}.");
    let types: Vec<&str> = wanted.iter().map(|one| if *one == "*" { "a pointer" } else { one }).collect();
    let why = format!("The kernel has {found}, not {}: {passed} is passed to it.", types.join(" or "));
    let hint = format!("Correct the kernel, or pass something else as '{name}'.");
    Some(*described.place.mistake(&what, why, hint).error)
}
