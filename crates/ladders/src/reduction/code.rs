//! Kernels that reduce pictures on an OpenCL device. In: a configuration, and a picture in the device's memory. Out: what
//! came of it there, and how long that took.

use super::memory::Memory;
use super::pictures::Case;
use base::error::{Error, Result};
use ladder::config::{Config, Param, Tunable};
use ladder::measure::{self, Sample};
use opencl::cl::{Answer, Buffer, ClContext, DeviceInfo, Event, Mem, Queue, failed};
use opencl::kernel::{Argument, Kernel, Value, enqueue, expect_types};
use opencl::memory::new_memory;
use opencl::program;

/// An argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// The picture, in words of a pixel.
    Picture,
    /// The picture as an image.
    Image,
    /// The image that comes of the picture.
    Output,
    /// What a stage hands on.
    Parts,
    /// The numbers that come of the picture.
    Numbers,
    /// A number of 32 bits, 0 before each run.
    Counter,
    /// Of the picture.
    Width,
    /// Of the picture.
    Height,
    /// The edge of a block.
    Block,
    /// How many groups the launch before had.
    Groups,
}

impl Arg {
    /// Its types in a kernel, as a driver may tell them.
    fn types(self) -> &'static [&'static str] {
        match self {
            Arg::Picture | Arg::Numbers | Arg::Counter => &["uint*"],
            Arg::Image | Arg::Output => &["image2d_t"],
            Arg::Parts => &["uint4*", "uint*"],
            Arg::Width | Arg::Height | Arg::Block | Arg::Groups => &["int"],
        }
    }
}

/// A launch of a kernel.
#[derive(Debug)]
pub struct Pass {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Its arguments, in order.
    pub args: &'static [Arg],
    /// The parameter that is the size of its groups.
    pub group: &'static str,
    /// Groups, across and down.
    pub groups: fn(&Config<Code>, &Case) -> [usize; 2],
}

/// How a kernel file uses OpenCL's sub-groups. NVIDIA's devices have none; the files tell those by the compiler, and use their
/// assembler's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SubGroups {
    /// Not at all.
    Unused,
    /// Where the device has them.
    Used,
    /// It cannot run without, or NVIDIA's.
    Needed,
}

/// A kernel file, and how it is launched.
#[derive(Debug)]
pub struct Code {
    /// Its path below `kernels/`.
    pub file: &'static str,
    /// Its launches, in order.
    pub passes: &'static [Pass],
    /// Its parameters.
    pub params: &'static [Param],
    /// How it uses sub-groups.
    pub sub_groups: SubGroups,
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        self.passes.iter().map(|pass| config.get(pass.group) as usize).collect()
    }
}

impl Code {
    /// Whether the device can run it; otherwise why not, in a sentence.
    pub(super) fn runs_on(&self, device: &DeviceInfo) -> std::result::Result<(), String> {
        let has = || is_nvidias(device) || device.language_of_sub_groups().is_some();
        match self.sub_groups != SubGroups::Needed || has() {
            true => Ok(()),
            false => Err(format!(
                "'{}' has no sub-groups: that takes OpenCL 2 with cl_khr_subgroups, or OpenCL 3 with __opencl_c_subgroups.",
                device.name
            )),
        }
    }

    /// The compiler's options for these values on the device.
    fn options(&self, config: &Config<Self>, device: &DeviceInfo) -> String {
        let values = config.options();
        match device.language_of_sub_groups() {
            Some(language) if self.sub_groups != SubGroups::Unused && !is_nvidias(device) => {
                format!("{values} {language} -D SUB_GROUPS=1")
            }
            _ => values,
        }
    }
}

fn is_nvidias(device: &DeviceInfo) -> bool {
    device.platform.contains("NVIDIA")
}

/// What kernels work on, in the device's memory.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// As [`Arg::Picture`] or [`Arg::Image`].
    pub picture: &'a Mem,
    /// As [`Arg::Parts`].
    pub parts: &'a Mem,
    /// As [`Arg::Numbers`] or [`Arg::Output`].
    pub numbers: &'a Mem,
}

/// Compiled kernels with their parameters.
#[derive(Debug)]
pub struct Program {
    config: Config<Code>,
    kernels: Vec<Kernel>,
    /// Its own: what a kernel leaves there harms no other.
    counter: Buffer,
}

impl Program {
    pub(crate) fn compile(cl: &ClContext, config: &Config<Code>) -> Result<Self> {
        Self::of_source(cl, config, &program::source(config.code().file)?)
    }

    /// The same with another text of the kernels' file.
    pub fn of_source(cl: &ClContext, config: &Config<Code>, source: &str) -> Result<Self> {
        let code = config.code();
        let program = program::build(cl, code.file, source, &code.options(config, &cl.device.info))?;
        let kernel = |pass: &Pass| {
            let what = format!("The kernel '{}' in {} could not be prepared.", pass.kernel, code.file);
            let kernel = Kernel::of_file(&program, code.file, pass.kernel, &what)?;
            let types: Vec<_> = pass.args.iter().map(|arg| arg.types()).collect();
            expect_types(&kernel, code.file, &types)?;
            Ok(kernel)
        };
        let kernels = code.passes.iter().map(kernel).collect::<Result<_>>()?;
        let counter = Buffer::new(&cl.context, new_memory(cl), 4);
        let counter = counter.map_err(|e| failed("Memory could not be had on the device.", &e))?;
        let cleared = counter.write(&cl.queue, &[0; 4]);
        cleared.map_err(|e| failed("Memory could not be cleared on the device.", &e))?;
        Ok(Self { config: config.clone(), kernels, counter })
    }

    pub(super) fn without_memory(&self) -> Error {
        let what = format!("{} cannot run.", self.config.code().file);
        Error::new(what, "The device has no room for the picture.", "")
    }

    /// Reduces the picture, waits, and times it.
    pub(super) fn run(&self, memory: &Memory, case: &Case) -> Result<Sample> {
        measure::sample(&memory.queue, |queue| self.enqueue(queue, &memory.operands(), case))
    }

    /// Puts the reduction of a picture on the queue; returns the events of its launches, in order.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn enqueue(&self, queue: &Queue, operands: &Operands, case: &Case) -> Result<Vec<Event>> {
        let what = "A picture could not be reduced on the device.";
        let mut before = 0;
        let passes = self.config.code().passes.iter().zip(&self.kernels);
        let enqueued = passes.map(|(pass, kernel)| {
            let [across, down] = (pass.groups)(&self.config, case);
            self.bind(kernel, pass.args, operands, case, before)?;
            let group = self.config.get(pass.group) as usize;
            before = across * down;
            // SAFETY: the arguments are set, their types were compared, and the kernels look at the picture's size.
            unsafe { enqueue(queue, kernel, 2, [across * group, down, 1], [group, 1, 1]) }
        });
        let enqueued: Answer<Vec<Event>> = enqueued.collect();
        // Other pictures have other memory.
        self.kernels.iter().for_each(Kernel::forget_memory);
        enqueued.map_err(|e| failed(what, &e))
    }

    fn bind(
        &self,
        kernel: &Kernel,
        args: &[Arg],
        operands: &Operands,
        case: &Case,
        groups: usize,
    ) -> Answer<()> {
        for (index, arg) in (0..).zip(args) {
            let argument: Argument = match arg {
                Arg::Picture | Arg::Image => operands.picture.into(),
                Arg::Parts => operands.parts.into(),
                Arg::Numbers | Arg::Output => operands.numbers.into(),
                Arg::Counter => self.counter.mem().into(),
                Arg::Width => Value::Int(case.width as i32).into(),
                Arg::Height => Value::Int(case.height as i32).into(),
                Arg::Block => Value::Int(case.block as i32).into(),
                Arg::Groups => Value::Int(groups as i32).into(),
            };
            kernel.set(index, argument)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels;
    use super::*;

    #[test]
    fn sub_groups_are_named_where_the_device_has_them_and_in_its_language() {
        let language = |platform: &str, version: &str, extensions: &[&str], max_sub_groups: u32| {
            let device = DeviceInfo {
                platform: platform.into(),
                version: version.into(),
                extensions: extensions.iter().map(|&extension| extension.into()).collect(),
                max_sub_groups,
                ..DeviceInfo::made_up()
            };
            let options = |code: &'static Code| code.options(&Config::of(code, device.kind), &device);
            assert!(!options(&kernels::ONE_PASS).contains("SUB_GROUPS"), "{version}");
            assert!(kernels::UNROLLED.runs_on(&device).is_ok(), "{version}");
            let [used, needed] = [&kernels::UNROLLED, &kernels::SUB_GROUPS].map(options);
            let language = ["-cl-std=CL2.0", "-cl-std=CL3.0"].into_iter().find(|one| needed.contains(one));
            assert_eq!(needed.contains("-D SUB_GROUPS=1"), language.is_some(), "{needed}");
            assert!(used.contains(language.unwrap_or_default()), "{used}");
            assert_eq!(used.contains("-D SUB_GROUPS=1"), language.is_some(), "{used}");
            kernels::SUB_GROUPS.runs_on(&device).map(|()| language)
        };
        let listed = &["cl_khr_fp64", "cl_khr_subgroups"][..];
        assert_eq!(language("PoCL", "OpenCL 3.0 PoCL 6", listed, 128), Ok(Some("-cl-std=CL3.0")));
        assert_eq!(language("Other", "OpenCL 3.0", &[], 8), Ok(Some("-cl-std=CL3.0")));
        assert_eq!(language("Other", "OpenCL 2.0 Other", listed, 0), Ok(Some("-cl-std=CL2.0")));
        assert_eq!(language("NVIDIA CUDA", "OpenCL 3.0 CUDA", &[], 0), Ok(None));
        assert_eq!(language("NVIDIA CUDA", "OpenCL 3.0 CUDA", listed, 8), Ok(None));
        for (version, extensions) in
            [("OpenCL 3.0 PoCL 3.1", &[][..]), ("OpenCL 2.1", &[]), ("OpenCL 1.2", listed), ("", listed)]
        {
            let why = language("Other", version, extensions, 0).unwrap_err();
            assert!(why.contains("has no sub-groups") && why.contains("cl_khr_subgroups"), "{why}");
        }
    }
}
