//! The machine code to which the driver compiles a variant.

use crate::opencl::options;
use crate::tuned::{self, SizeClass};
use crate::{Config, VariantId};
use base::device::MachineCode;
use base::error::{Error, Result};
use opencl::cl::ClContext;
use opencl::machine_code;
use opencl::program;

/// The properties of pictures on which the choice of a variant's code depends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PictureInfo {
    /// Width and height of the pictures in pixels.
    pub size: (u32, u32),
    /// The radius of the filter in pixels.
    pub radius: u32,
    /// True if samples of planes have two bytes.
    pub wide: bool,
}

/// Returns the machine code of a variant with its default parameters, for pictures with these properties. For `auto`,
/// returns the machine code of the variant that tuning chose, with the parameters that tuning chose.
///
/// # Errors
/// Returns an error if the variant has no kernels, or the driver does not provide machine code.
pub fn disassemble(cl: &ClContext, id: VariantId, pictures: &PictureInfo) -> Result<MachineCode> {
    let device = &cl.device.info;
    let (width, height) = pictures.size;
    let size = SizeClass::of(width, height);
    let class = tuned::radius_class(pictures.radius);
    let is_match = |choice: &tuned::TunedVariant| (choice.size, choice.radius_class) == (size, class);
    let tuned = tuned::results_for(id, device, cl.sources()).into_iter().find(is_match);
    if let Some(untuned) = id.untuned() {
        let (variant, mut code) = match tuned {
            Some(choice) => {
                let config = choice.config.fit_to_device(device);
                (choice.variant, disassemble_config(cl, &config, pictures)?)
            }
            None => (untuned, disassemble(cl, untuned, pictures)?),
        };
        code.name = format!("auto is {variant} here: {}", code.name);
        return Ok(code);
    }
    let code = id.code(device.kind).ok_or_else(|| {
        let why = format!("'{id}' is made of no kernels.");
        Error::new("The machine code cannot be shown.", why, "Choose one of the ladder's other variants.")
    })?;
    let default = || Config::for_class(code, device, size.as_str());
    let config = tuned.map_or_else(default, |choice| choice.config);
    disassemble_config(cl, &config, pictures)
}

/// Returns the machine code of the first kernel file of a configuration; of kernels on planes that for samples of the pictures' bytes.
fn disassemble_config(cl: &ClContext, config: &Config, pictures: &PictureInfo) -> Result<MachineCode> {
    let (file, all) = (config.code().file, options(config, None));
    let options = all.get(usize::from(pictures.wide)).or(all.first()).map_or("", String::as_str);
    let (binary, log) = program::binary_and_log(cl, file, options)?;
    let mut code = machine_code::from_binary(&binary, &log)?;
    if all.len() > 1 {
        let bytes = if pictures.wide { "two bytes" } else { "one byte" };
        code.name = format!("{file}, for samples of {bytes}: {}", code.name);
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;
    use opencl::cl::list_devices;
    use opencl::sources::Sources;

    #[test]
    fn only_variants_with_kernels_have_machine_code() {
        let device = list_devices().into_iter().next().expect("the tests need an OpenCL device");
        let cl = ClContext::new(&device, Sources::default()).unwrap();
        let told = |id, wide| {
            disassemble(&cl, id, &PictureInfo { size: (64, 48), radius: 3, wide }).map(|code| code.name)
        };
        let check_name = |told: Result<String>, begin: &str| match told {
            Ok(name) => assert!(name.starts_with(begin), "{name}"),
            // No disassembler is installed.
            Err(error) => assert!(!error.why.contains("made of no kernels"), "{error}"),
        };
        check_name(told(named("flat"), false), "");
        check_name(told(VariantId::auto(), false), "auto is ");
        let planar = named("planar");
        let file = planar.files(device.info.kind).unwrap()[0];
        check_name(told(planar, false), &format!("{file}, for samples of one byte: "));
        check_name(told(planar, true), &format!("{file}, for samples of two bytes: "));
        for id in ["off", "glsl", "native"].map(named) {
            assert!(told(id, false).unwrap_err().why.contains(id.name));
        }
    }
}
