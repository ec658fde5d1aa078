//! The variants with kernels, as `filter.toml` and `planes.toml` in `kernels/box_filter` describe them, and the user's own kernel.

use std::sync::LazyLock;

use super::config::{Argument, Code, Config, Extent, Formulas, Pass, ScratchSize};
use super::table::OWN_FILE;
use base::device::DeviceInfo;
use base::error::Result;
use compute::config::Param;
use compute::work::{LaunchWork, Transfer};
use filter::{
    Channels, Description, Expression, Format, Launch, Memory, Mistake, Number, Parameter, Passed,
    ScratchMemory, Settings, Values,
};
use opencl::cl::Channel;
use opencl::kernel::{self, Value};
use opencl::memory::Storage;

/// The folder of the description below `kernels/`.
pub(crate) const FOLDER: &str = "box_filter/";

/// The description of the box filter.
pub(crate) static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    built_in(include_str!("../../../kernels/box_filter/filter.toml"), "box_filter/filter.toml")
});

/// The description of the box filter's variant on planes.
pub(crate) static PLANES_DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    built_in(include_str!("../../../kernels/box_filter/planes.toml"), "box_filter/planes.toml")
});

/// Returns a description that is compiled in.
fn built_in(text: &str, file: &str) -> Description {
    Description::parse(text, file).unwrap_or_else(|mistakes| {
        panic!("{}", mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
    })
}

/// The code of the user's own kernel: that of the first variant, on buffers and without exact counts.
pub(crate) static OWN_CODE: LazyLock<&Code> = LazyLock::new(|| {
    let mut own = DESCRIPTION.variants[0].codes[0].clone();
    for pass in &mut own.passes {
        pass.file = OWN_FILE.trim_start_matches(FOLDER).to_owned();
        pass.kernel = "own".to_owned();
        pass.work = None;
        for argument in &mut pass.arguments {
            if let Passed::Picture { memory, .. } = &mut argument.value {
                *memory = Memory::Buffer;
            }
        }
    }
    code(Box::leak(Box::new(own)), FOLDER, &DESCRIPTION)
});

/// Returns the code of a variant for CPUs and that for all other devices; the same one twice if they do not differ. The files are
/// below `folder`, which ends in a slash.
pub(crate) fn codes(
    [cpu, other]: &'static [filter::Code; 2],
    folder: &str,
    description: &'static Description,
) -> [&'static Code; 2] {
    let for_cpu = code(cpu, folder, description);
    [for_cpu, if cpu == other { for_cpu } else { code(other, folder, description) }]
}

/// Returns a code of a description. It is never freed, since configurations refer to it.
fn code(described: &'static filter::Code, folder: &str, description: &'static Description) -> &'static Code {
    let is_opened = folder != FOLDER;
    let arguments = |pass: &'static filter::Pass| pass.arguments.iter();
    let storage_of = |wanted: bool| {
        let mut of_kind = described.passes.iter().flat_map(arguments).filter_map(|a| match &a.value {
            Passed::Picture { memory, is_output, .. } if *is_output == wanted => Some(*memory),
            _ => None,
        });
        if of_kind.next() == Some(Memory::Image) { Storage::Image } else { Storage::Buffer }
    };
    let [storage, output] = [false, true].map(storage_of);
    let passed = |argument: &filter::Argument| match &argument.value {
        Passed::Picture { is_output: false, frames_back, .. } => Argument::Source(*frames_back as usize),
        Passed::Picture { .. } => Argument::Destination,
        Passed::Scratch(index) => Argument::Scratch(*index),
        _ => Argument::Number,
    };
    let mut files: Vec<&'static str> = Vec::new();
    let mut file = |name: &str| {
        let path = format!("{folder}{name}");
        let known = files.iter().copied().find(|known| *known == path);
        known.unwrap_or_else(|| {
            let path: &'static str = path.leak();
            files.push(path);
            path
        })
    };
    let passes = described.passes.iter().map(|pass| Pass {
        file: file(&pass.file),
        kernel: &pass.kernel,
        // Edited kernels of the box filter, and those of the user's own, may have other names.
        described: if is_opened { &pass.arguments } else { &[] },
        arguments: arguments(pass).map(passed).collect::<Vec<_>>().leak(),
    });
    let params =
        described.tuning.iter().map(|t| Param::new(&t.name, t.defaults[0], t.defaults[1], &t.values));
    let large = described.tuning.iter().filter_map(|t| Some((t.name.as_str(), t.large?)));
    let passes = passes.collect::<Vec<_>>().leak();
    Box::leak(Box::new(Code {
        file: files.first().copied().unwrap_or_default(),
        files: files.leak(),
        description: is_opened.then(|| &*format!("{folder}{}", filter::folder::FILE).leak()),
        formats: [description.input, description.output],
        storage,
        output,
        passes,
        params: params.collect::<Vec<_>>().leak(),
        large_defaults: large.collect::<Vec<_>>().leak(),
        formulas: Box::leak(Box::new(Described { code: described, parameters: &description.parameters })),
        to_image: described.image_output_define.as_deref(),
        has_defines: !described.defines.is_empty(),
        is_tuned: is_opened
            || !described.tuning.is_empty()
                && described.tuning.iter().all(|tuning| !tuning.values.is_empty()),
        // The box filter has peaks for pictures and for planes, a folder has that for its input.
        peak: usize::from(description.input != Format::Rgba8 && !is_opened),
    }))
}

/// A code with the parameters of its filter.
struct Described {
    code: &'static filter::Code,
    parameters: &'static [Parameter],
}

impl Described {
    /// Computes something that the code describes, for a configuration and a band of rows.
    fn compute<T>(
        &self,
        config: &Config,
        e: &Extent,
        of: impl FnOnce(&Values<'_>) -> Result<T, Mistake>,
    ) -> Result<T> {
        let lookup = |name: &str| {
            let value = match name {
                "width" => Some(e.width),
                "height" => Some(e.height),
                "first_row" => Some(e.first),
                "rows" => Some(e.rows),
                "units" => Some(e.units),
                other => {
                    let setting = self.setting(other, e).map(|value| value as i64);
                    return setting.or_else(|| tuned(config, other)).or_else(|| of_planes(e, other));
                }
            };
            value.map(i64::from)
        };
        Values::new(self.code, &lookup).and_then(|values| of(&values)).map_err(|mistake| *mistake.error)
    }

    /// Returns the value of the parameter with this name.
    fn setting(&self, name: &str, e: &Extent) -> Option<f64> {
        let index = self.parameters.iter().position(|parameter| parameter.name == name)?;
        Some(e.settings.get(index))
    }
}

/// Returns the value of the tuning parameter with this name.
fn tuned(config: &Config, name: &str) -> Option<i64> {
    config.value(name).map(i64::from)
}

/// Returns a property of the planes of a picture; `None` for other names, and if there are none.
fn of_planes(e: &Extent, name: &str) -> Option<i64> {
    let layout = e.layout?;
    let output = e.output.unwrap_or(layout);
    let value = match name {
        "planes" => layout.count() as u32,
        "bits" => layout.depth,
        "shift" => layout.shift,
        "sample_bytes" => 1 + u32::from(layout.wide),
        "half_columns" => u32::from(layout.subsampled_of(1).0),
        "half_rows" => u32::from(layout.subsampled_of(1).1),
        "output_level" => 1 << (output.fraction - layout.fraction),
        _ => {
            let is_output = name.starts_with("output");
            let (plane, of) =
                name.strip_prefix(if is_output { "output" } else { "plane" })?.split_once('_')?;
            let (plane, of_layout) = (plane.parse().ok()?, if is_output { output } else { layout });
            let component = of_layout.components.get(plane).filter(|_| plane < layout.count());
            match (component, of) {
                (None, _) => 0,
                (_, "width") => layout.size_of(plane).0,
                (_, "height") => layout.size_of(plane).1,
                (Some(component), "offset") => component.offset,
                (Some(component), "stride") => component.stride,
                (Some(component), "step") => component.step,
                _ => return None,
            }
        }
    };
    Some(value.into())
}

impl Formulas for Described {
    fn launch(&self, config: &Config, pass: usize, e: &Extent) -> Result<(Launch, Vec<kernel::Argument>)> {
        let pass = &self.code.passes[pass];
        self.compute(config, e, |values| {
            let mut computed = Vec::with_capacity(pass.arguments.len());
            for argument in &pass.arguments {
                computed.extend(match &argument.value {
                    Passed::Picture { .. } | Passed::Scratch(_) => None,
                    Passed::LocalBytes(bytes) => {
                        Some(kernel::Argument::Local(values.local_bytes(bytes)? as usize))
                    }
                    Passed::Float(name) => {
                        let number = self.setting(name, e).unwrap_or_default();
                        Some(Value::Float(number as f32).into())
                    }
                    Passed::Whole(..) | Passed::Vector(_) | Passed::Quotient(_) => {
                        values.number(argument)?.map(|n| value(n).into())
                    }
                });
            }
            Ok((values.launch(pass)?, computed))
        })
    }

    fn group_sizes(&self, config: &Config) -> Vec<usize> {
        let lookup = |name: &str| config.value(name).map(i64::from);
        let items = |pass: &filter::Pass| pass.group(&lookup).map_or(1, |sizes| sizes.iter().product());
        self.code.passes.iter().map(items).collect()
    }

    fn allows(&self, config: &Config, device: &DeviceInfo) -> bool {
        let lookup = |name: &str| match name {
            "units" => Some(i64::from(device.units)),
            "local_memory" => i64::try_from(device.local_memory()).ok(),
            parameter => config.value(parameter).map(i64::from),
        };
        self.code.allows(&lookup).unwrap_or(false)
    }

    fn reads_per_pixel(&self, config: &Config, pass: usize, e: &Extent) -> f64 {
        let pass = &self.code.passes[pass];
        let pixels = f64::from(e.width) * f64::from(e.rows);
        let reads = self.compute(config, e, |values| match (&pass.reads_per_pixel, &pass.work) {
            (Some(reads), _) => Ok(values.count(reads)? as f64),
            (None, Some(work)) => Ok(values.count(&work.reads[0])? as f64 / pixels),
            (None, None) => Ok(1.0),
        });
        reads.unwrap_or(1.0)
    }

    fn work(&self, config: &Config, pass: usize, e: &Extent, launch: LaunchWork) -> Option<LaunchWork> {
        let work = self.code.passes[pass].work.as_ref()?;
        let counted = self.compute(config, e, |values| {
            let transfer = |[elements, bytes]: &[Expression; 2]| {
                Ok(Transfer { elements: values.count(elements)?, bytes: values.count(bytes)? })
            };
            Ok(LaunchWork {
                reads: transfer(&work.reads)?,
                writes: transfer(&work.writes)?,
                operations: values.count(&work.operations)?,
                barriers: Some(values.count(&work.barriers)?),
                ..launch
            })
        });
        counted.ok()
    }

    fn row_step(&self, config: &Config, pass: usize) -> Option<u32> {
        let rows = self.code.passes.get(pass)?.rows.as_ref()?;
        let settings = Settings::defaults(self.parameters);
        let step = self.compute(config, &Extent::rgba((1, 1), settings), |values| Ok(values.rows(rows)?[2]));
        Some(step.map_or(1, |step| step.max(1) as u32))
    }

    fn defines(&self, config: &Config, e: &Extent) -> Result<String> {
        self.compute(config, e, |values| {
            let one = |(name, value): &(String, Expression)| Ok(format!(" -D {name}={}", values.of(value)?));
            self.code.defines.iter().map(one).collect()
        })
    }

    fn scratch(&self, config: &Config, index: usize, e: &Extent) -> Result<ScratchSize> {
        let described = &self.code.scratch[index];
        self.compute(config, e, |values| {
            let sizes = values.scratch(described)?;
            let [first, second] = [0, 1].map(|d| sizes.get(d).copied().unwrap_or(1) as usize);
            Ok(match &described.memory {
                ScratchMemory::Bytes(_) => ScratchSize::Bytes(first),
                ScratchMemory::Image(channels, _) => ScratchSize::Image(channel(*channels), (first, second)),
            })
        })
    }
}

/// Returns the type of an image's channels.
fn channel(channels: Channels) -> Channel {
    match channels {
        Channels::Rgba8 => Channel::Unorm8,
        Channels::Rgba16Ui => Channel::Uint16,
        Channels::Rgba32F => Channel::Float,
    }
}

/// Returns a number as an argument of a kernel.
fn value(number: Number) -> Value {
    match number {
        Number::Int(value) => Value::Int(value),
        Number::Uint(value) => Value::Uint(value),
        Number::Long(value) => Value::Long(value),
        Number::Ulong(value) => Value::Ulong(value),
        Number::Float(value) => Value::Float(value),
        Number::Int2(values) => Value::Int2(values),
        Number::Int4(values) => Value::Int4(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use base::device::DeviceKind;

    /// The codes of a variant of the box filter.
    fn codes_of(variant: &'static filter::Variant) -> [&'static Code; 2] {
        codes(&variant.codes, FOLDER, &DESCRIPTION)
    }

    #[test]
    fn each_argument_that_is_no_memory_gets_a_number() {
        let e = Extent { units: 24, ..Extent::rgba((70, 33), 5) };
        for code in DESCRIPTION.variants.iter().flat_map(codes_of) {
            let config = Config::new(code, DeviceKind::Gpu);
            for (index, pass) in code.passes.iter().enumerate() {
                let numbers = code.formulas.launch(&config, index, &e).unwrap().1.len();
                let places = pass.arguments.iter().filter(|a| matches!(a, Argument::Number)).count();
                assert_eq!(numbers, places, "{}", pass.kernel);
            }
        }
    }

    #[test]
    fn memory_is_reserved_where_the_number_of_compute_units_is_unknown() {
        let fused = DESCRIPTION.variants.iter().find(|variant| !variant.is_step).unwrap();
        let code = codes_of(fused)[0];
        let config = Config::new(code, DeviceKind::Cpu);
        let size = |units| code.formulas.scratch(&config, 0, &Extent { units, ..Extent::rgba((64, 8), 1) });
        assert_eq!(size(0).unwrap(), size(1).unwrap());
        assert!(code.formulas.launch(&config, 0, &Extent { units: 0, ..Extent::rgba((64, 8), 1) }).is_ok());
    }
}
