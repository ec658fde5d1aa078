//! The variants with kernels on RGBA pictures, as `kernels/box_filter/filter.toml` describes them, and the user's own kernel.

use std::sync::LazyLock;

use super::config::{Argument, Code, Config, Extent, Formulas, Launch, Pass};
use super::table::OWN_FILE;
use base::device::DeviceInfo;
use base::error::Result;
use compute::config::Param;
use compute::work::{LaunchWork, Transfer};
use filter::{Description, Expression, Memory, Mistake, Number, Passed, Values};
use opencl::kernel::Value;
use opencl::memory::Storage;

/// The folder of the description below `kernels/`.
const FOLDER: &str = "box_filter/";

/// The description of the box filter.
pub(crate) static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    let text = include_str!("../../../kernels/box_filter/filter.toml");
    Description::parse(text, "box_filter/filter.toml").unwrap_or_else(|mistakes| {
        panic!("{}", mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
    })
});

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
    code(Box::leak(Box::new(own)))
});

/// Returns the code of a variant for CPUs and that for all other devices; the same one twice if they do not differ.
pub(crate) fn codes([cpu, other]: &'static [filter::Code; 2]) -> [&'static Code; 2] {
    let for_cpu = code(cpu);
    [for_cpu, if cpu == other { for_cpu } else { code(other) }]
}

/// Returns a code of a description. It is never freed, since configurations refer to it.
fn code(described: &'static filter::Code) -> &'static Code {
    let arguments = |pass: &'static filter::Pass| pass.arguments.iter();
    let mut pictures =
        described.passes.iter().flat_map(arguments).filter_map(|argument| match &argument.value {
            Passed::Picture { memory, .. } => Some(*memory),
            _ => None,
        });
    let storage = if pictures.next() == Some(Memory::Image) { Storage::Image } else { Storage::Buffer };
    let passed = |argument: &filter::Argument| match &argument.value {
        Passed::Picture { is_output: false, .. } => Argument::Source,
        Passed::Picture { .. } => Argument::Destination,
        Passed::Scratch(index) if described.scratch[*index].name == COLUMN_SUMS => Argument::ColumnSums,
        Passed::Scratch(_) => Argument::RowSums,
        _ => Argument::Number,
    };
    let passes = described.passes.iter().map(|pass| Pass {
        kernel: &pass.kernel,
        arguments: arguments(pass).map(passed).collect::<Vec<_>>().leak(),
    });
    let params =
        described.tuning.iter().map(|t| Param::new(&t.name, t.defaults[0], t.defaults[1], &t.values));
    let large = described.tuning.iter().filter_map(|t| Some((t.name.as_str(), t.large?)));
    let file = described.passes.first().map_or("", |pass| &pass.file);
    Box::leak(Box::new(Code {
        file: format!("{FOLDER}{file}").leak(),
        storage,
        passes: passes.collect::<Vec<_>>().leak(),
        params: params.collect::<Vec<_>>().leak(),
        large_defaults: large.collect::<Vec<_>>().leak(),
        formulas: described,
        to_image: described.image_output_define.is_some(),
        is_tuned: described.tuning.iter().all(|tuning| !tuning.values.is_empty()),
        peak: 0,
    }))
}

/// The name of the scratch memory for column sums; all other scratch memory is for row sums.
const COLUMN_SUMS: &str = "column_sums";

/// Computes something that a code describes, for a configuration and a band of rows.
fn compute<T>(
    code: &filter::Code,
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
            "radius" => Some(e.radius),
            parameter => config.value(parameter),
        };
        value.map(i64::from)
    };
    Values::new(code, &lookup).and_then(|values| of(&values)).map_err(|mistake| *mistake.error)
}

impl Formulas for filter::Code {
    fn launch(&self, config: &Config, pass: usize, e: &Extent) -> Result<(Launch, Vec<Value>)> {
        let pass = &self.passes[pass];
        compute(self, config, e, |values| {
            let filter::Launch { global, local } = values.launch(pass)?;
            let [global, local] =
                [global, local].map(|sizes| [0, 1].map(|d| sizes.get(d).copied().unwrap_or(1)));
            let numbers = pass.arguments.iter().filter_map(|argument| values.number(argument).transpose());
            let numbers = numbers.map(|number| Ok(value(number?))).collect::<Result<_, Mistake>>()?;
            Ok((Launch { global, local }, numbers))
        })
    }

    fn group_sizes(&self, config: &Config) -> Vec<usize> {
        let lookup = |name: &str| config.value(name).map(i64::from);
        let items = |pass: &filter::Pass| pass.group(&lookup).map_or(1, |sizes| sizes.iter().product());
        self.passes.iter().map(items).collect()
    }

    fn allows(&self, config: &Config, device: &DeviceInfo) -> bool {
        let lookup = |name: &str| match name {
            "units" => Some(i64::from(device.units)),
            "local_memory" => i64::try_from(device.local_memory()).ok(),
            parameter => config.value(parameter).map(i64::from),
        };
        filter::Code::allows(self, &lookup).unwrap_or(false)
    }

    fn reads_per_pixel(&self, config: &Config, pass: usize, e: &Extent) -> f64 {
        let pass = &self.passes[pass];
        let pixels = f64::from(e.width) * f64::from(e.rows);
        let reads = compute(self, config, e, |values| match (&pass.reads_per_pixel, &pass.work) {
            (Some(reads), _) => Ok(values.count(reads)? as f64),
            (None, Some(work)) => Ok(values.count(&work.reads[0])? as f64 / pixels),
            (None, None) => Ok(1.0),
        });
        reads.unwrap_or(1.0)
    }

    fn work(&self, config: &Config, pass: usize, e: &Extent, launch: LaunchWork) -> Option<LaunchWork> {
        let work = self.passes[pass].work.as_ref()?;
        let counted = compute(self, config, e, |values| {
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

    fn row_step(&self, config: &Config, pass: usize) -> u32 {
        let Some(rows) = self.passes.get(pass).and_then(|pass| pass.rows.as_ref()) else { return 1 };
        let step = compute(self, config, &Extent::rgba((1, 1), 0), |values| Ok(values.rows(rows)?[2]));
        step.map_or(1, |step| step as u32)
    }

    fn column_sums(&self, config: &Config, e: &Extent) -> Result<usize> {
        let Some(sums) = self.scratch.iter().find(|scratch| scratch.name == COLUMN_SUMS) else {
            return Ok(0);
        };
        compute(self, config, e, |values| Ok(values.scratch(sums)?[0] as usize))
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use base::device::DeviceKind;
    use filter::{Channels, ScratchMemory};

    /// Plans bind memory as this file describes it, with kernels in one file, launches in two dimensions and bands.
    #[test]
    fn the_description_has_only_what_plans_can_do() {
        let e = Extent { units: 24, ..Extent::rgba((70, 33), 5) };
        for variant in &DESCRIPTION.variants {
            for (described, code) in variant.codes.iter().zip(codes(&variant.codes)) {
                let config = Config::new(code, DeviceKind::Gpu);
                assert!(described.defines.is_empty(), "{}", variant.id);
                assert!(described.image_output_define.as_ref().is_none_or(|define| define == "TO_IMAGE"));
                for (index, (pass, bound)) in described.passes.iter().zip(code.passes).enumerate() {
                    assert!(pass.file == described.passes[0].file && pass.rows.is_some(), "{}", pass.kernel);
                    assert!(pass.global.len() <= 2, "{}", pass.kernel);
                    let numbers = code.formulas.launch(&config, index, &e).unwrap().1.len();
                    let places = bound.arguments.iter().filter(|a| matches!(a, Argument::Number)).count();
                    assert_eq!(numbers, places, "{}", pass.kernel);
                }
                for scratch in described.scratch.iter().filter(|scratch| scratch.name != COLUMN_SUMS) {
                    let sizes = compute(described, &config, &e, |values| values.scratch(scratch)).unwrap();
                    match &scratch.memory {
                        ScratchMemory::Bytes(_) => assert_eq!(sizes, [8 * 70 * 33], "{}", variant.id),
                        ScratchMemory::Image(channels, _) => {
                            assert_eq!((*channels, sizes), (Channels::Rgba16Ui, vec![70, 33]));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn memory_is_reserved_where_the_number_of_compute_units_is_unknown() {
        let fused = DESCRIPTION.variants.iter().find(|variant| !variant.is_step).unwrap();
        let code = codes(&fused.codes)[0];
        let config = Config::new(code, DeviceKind::Cpu);
        let bytes = |units| code.formulas.column_sums(&config, &Extent { units, ..Extent::rgba((64, 8), 1) });
        assert_eq!(bytes(0).unwrap(), bytes(1).unwrap());
        assert!(code.formulas.launch(&config, 0, &Extent { units: 0, ..Extent::rgba((64, 8), 1) }).is_ok());
    }
}
