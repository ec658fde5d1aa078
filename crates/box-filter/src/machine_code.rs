//! What a device runs for a variant. In: the variant, and which pictures. Out: the driver's machine code.

use crate::planar::PlanesCode;
use crate::tuned::{self, SizeClass};
use crate::{Config, VariantId, config};
use base::error::{Error, Result};
use ladder::cache::Cache;
use opencl::cl::ClContext;
use opencl::machine_code::{self, MachineCode};
use opencl::program;

/// What decides which code of a variant runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pictures {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
    /// The planes' samples have two bytes.
    pub wide: bool,
}

/// What the device runs for a variant, with its default parameters, on such pictures; for `auto` that of the variant, and with the
/// parameters, that it is there.
///
/// # Errors
/// When it has no kernels, or the driver does not tell.
pub fn of(cl: &ClContext, id: VariantId, pictures: &Pictures) -> Result<MachineCode> {
    let device = &cl.device.info;
    let (width, height) = pictures.size;
    let size = SizeClass::of(width, height);
    if let Some(planes) = id.planes() {
        let file = *planes.file_on(device.kind);
        let mut code = code(cl, file, &PlanesCode::options(pictures.wide))?;
        let bytes = if pictures.wide { "two bytes" } else { "one byte" };
        code.name = format!("{file}, for samples of {bytes}: {}", code.name);
        return Ok(code);
    }
    if id == VariantId::Auto {
        let class = tuned::radius_class(pictures.radius);
        let is_it = |choice: &tuned::Choice| (choice.size, choice.radius_class) == (size, class);
        let tuned = tuned::choices(&Cache::load(), device).into_iter().find(is_it);
        let (variant, mut code) = match tuned {
            Some(choice) => (choice.variant, of_config(cl, &choice.config.fitted(device))?),
            None => (tuned::UNTUNED, of(cl, tuned::UNTUNED, pictures)?),
        };
        code.name = format!("auto is {variant} here: {}", code.name);
        return Ok(code);
    }
    let kernels = id.kernels().ok_or_else(|| {
        let why = format!("'{id}' is made of no kernels.");
        Error::new("The machine code cannot be shown.", why, "Choose one of the ladder's other rungs.")
    })?;
    of_config(cl, &config::for_size(kernels.code(device.kind), device.kind, size).fitted(device))
}

fn of_config(cl: &ClContext, config: &Config) -> Result<MachineCode> {
    code(cl, config.code().file, &config.options())
}

fn code(cl: &ClContext, file: &str, options: &str) -> Result<MachineCode> {
    let (binary, log) = program::binary_and_log(cl, file, options)?;
    machine_code::of(&binary, &log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opencl::cl::list_devices;

    #[test]
    fn every_variant_with_kernels_has_code_and_the_others_say_why_not() {
        let device = list_devices().into_iter().next().expect("the tests need an OpenCL device");
        let cl = ClContext::new(&device).unwrap();
        let told =
            |id, wide| of(&cl, id, &Pictures { size: (64, 48), radius: 3, wide }).map(|code| code.name);
        let named = |told: Result<String>, begin: &str| match told {
            Ok(name) => assert!(name.starts_with(begin), "{name}"),
            // No disassembler is installed.
            Err(error) => assert!(!error.why.contains("made of no kernels"), "{error}"),
        };
        named(told(VariantId::Flat, false), "");
        named(told(VariantId::Auto, false), "auto is ");
        let file = VariantId::Planar.files(device.info.kind).unwrap()[0];
        named(told(VariantId::Planar, false), &format!("{file}, for samples of one byte: "));
        named(told(VariantId::Planar, true), &format!("{file}, for samples of two bytes: "));
        for id in [VariantId::Off, VariantId::Glsl, VariantId::Native] {
            assert!(told(id, false).unwrap_err().why.contains(id.as_str()));
        }
    }
}
