//! Kernels that reduce pictures on an OpenCL device.

use super::memory::DeviceBuffers;
use super::pictures::Case;
use super::work::{Launched, WorkFormula};
use crate::device::typed_kernel;
use base::error::{Error, Result};
use ladder::config::{Config, Param, Tunable};
use ladder::measure::{self, Sample};
use ladder::work::LaunchWork;
use opencl::cl::{Answer, Buffer, ClContext, DeviceInfo, Event, Mem, Queue, failed};
use opencl::kernel::{Argument, Kernel, Value, enqueue};
use opencl::memory::allocation_flags;
use opencl::program;

/// An argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// The picture in a buffer, four bytes per pixel.
    Picture,
    /// The picture in an image.
    Image,
    /// The image that the kernel writes.
    Output,
    /// The buffer with intermediate results, which one launch writes and the next one reads.
    Parts,
    /// The buffer with the results.
    Numbers,
    /// A 32-bit counter, which is 0 before each run.
    Counter,
    /// The picture's width in pixels.
    Width,
    /// The picture's height in pixels.
    Height,
    /// The edge of a block in pixels.
    Block,
    /// The number of work-groups of the preceding launch.
    Groups,
}

impl Arg {
    /// Returns the argument's type names as drivers may report them.
    fn types(self) -> &'static [&'static str] {
        match self {
            Arg::Picture | Arg::Numbers | Arg::Counter => &["uint*"],
            Arg::Image | Arg::Output => &["image2d_t"],
            Arg::Parts => &["uint4*", "uint*"],
            Arg::Width | Arg::Height | Arg::Block | Arg::Groups => &["int"],
        }
    }
}

/// One launch of a kernel.
#[derive(Debug)]
pub struct Pass {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The kernel's arguments, in order.
    pub args: &'static [Arg],
    /// The name of the parameter for the work-group size; empty if work-groups have one work-item.
    pub group: &'static str,
    /// Returns the number of work-groups across and down.
    pub groups: fn(&Config<Code>, &Case) -> [usize; 2],
    /// Returns the exact work of the launch; `None` if there is no formula for it.
    pub work: Option<WorkFormula>,
}

/// The use of OpenCL's sub-groups in a kernel file. NVIDIA's devices have none; the files detect NVIDIA's compiler and use its
/// assembly instead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SubGroups {
    /// The file does not use them.
    Unused,
    /// The file uses them if the device has them.
    Used,
    /// The file cannot run on a device that has neither sub-groups nor NVIDIA's assembly.
    Needed,
}

/// A kernel file, and how it is launched.
#[derive(Debug)]
pub struct Code {
    /// The path below `kernels/`.
    pub file: &'static str,
    /// The launches, in order.
    pub passes: &'static [Pass],
    /// The tuning parameters.
    pub params: &'static [Param],
    /// The use of sub-groups.
    pub sub_groups: SubGroups,
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn group_sizes(&self, config: &Config<Self>) -> Vec<usize> {
        self.passes.iter().map(|pass| config.get(pass.group) as usize).collect()
    }
}

impl Code {
    /// Checks that the device can run the kernels.
    ///
    /// # Errors
    /// Returns a sentence that states why the device cannot run the kernels.
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

    /// Returns the exact work of each launch on a device; `None` if there is no formula for one of them.
    pub(super) fn work(
        &self,
        config: &Config<Self>,
        device: &DeviceInfo,
        case: &Case,
    ) -> Option<Vec<LaunchWork>> {
        let has_sub_groups = is_nvidias(device)
            || self.sub_groups != SubGroups::Unused && device.language_of_sub_groups().is_some();
        let mut groups_before = 0;
        let launch = |pass: &Pass| {
            let [across, down] = (pass.groups)(config, case);
            let group = config.get(pass.group) as usize;
            let launch = LaunchWork::new(pass.kernel, &[across * group, down], &[group]);
            let groups = (across * down) as u64;
            let launched = Launched { launch, groups, groups_before, has_sub_groups };
            groups_before = groups;
            pass.work.map(|work| work(config, case, launched))
        };
        self.passes.iter().map(launch).collect()
    }

    /// Returns the compiler options for a configuration on a device.
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

/// Returns true for a device of NVIDIA's driver.
fn is_nvidias(device: &DeviceInfo) -> bool {
    device.platform.contains("NVIDIA")
}

/// The device memory that kernels work on.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The picture, for [`Arg::Picture`] or [`Arg::Image`].
    pub picture: &'a Mem,
    /// The intermediate results, for [`Arg::Parts`].
    pub parts: &'a Mem,
    /// The results, for [`Arg::Numbers`] or [`Arg::Output`].
    pub numbers: &'a Mem,
}

/// Compiled kernels with their parameters.
#[derive(Debug)]
pub struct Program {
    config: Config<Code>,
    kernels: Vec<Kernel>,
    /// The buffer of [`Arg::Counter`]. Each program has one, so that a faulty kernel harms no other.
    counter: Buffer,
}

impl Program {
    /// Compiles the kernels with these parameters.
    pub(crate) fn compile(cl: &ClContext, config: &Config<Code>) -> Result<Self> {
        Self::compile_source(cl, config, &cl.sources().text(config.code().file)?)
    }

    /// Compiles the kernels from `source` instead of their file.
    ///
    /// # Errors
    /// Returns an error if the kernels do not compile, or the device has not enough memory.
    pub fn compile_source(cl: &ClContext, config: &Config<Code>, source: &str) -> Result<Self> {
        let code = config.code();
        let program = program::build_text(cl, code.file, source, &code.options(config, &cl.device.info))?;
        let kernel = |pass: &Pass| {
            let types: Vec<_> = pass.args.iter().map(|arg| arg.types()).collect();
            typed_kernel(&program, code.file, pass.kernel, &types)
        };
        let kernels = code.passes.iter().map(kernel).collect::<Result<_>>()?;
        let counter = Buffer::new(&cl.context, allocation_flags(cl), 4);
        let counter = counter.map_err(|e| failed("Memory could not be had on the device.", &e))?;
        let cleared = counter.write(&cl.queue, &[0; 4]);
        cleared.map_err(|e| failed("Memory could not be cleared on the device.", &e))?;
        Ok(Self { config: config.clone(), kernels, counter })
    }

    /// Returns the error for a device without memory for the picture.
    pub(super) fn without_memory(&self) -> Error {
        let what = format!("{} cannot run.", self.config.code().file);
        Error::new(what, "The device has not enough memory for the picture.", "")
    }

    /// Reduces the picture, waits, and returns the times.
    pub(super) fn run(&self, memory: &DeviceBuffers, case: &Case) -> Result<Sample> {
        measure::sample(&memory.queue, |queue| self.enqueue(queue, &memory.operands(), case))
    }

    /// Enqueues the reduction of a picture; returns the events of its launches, in order.
    ///
    /// # Errors
    /// Returns an error if the driver fails.
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
        // The kernels must not keep memory of this picture alive.
        self.kernels.iter().for_each(Kernel::forget_memory);
        enqueued.map_err(|e| failed(what, &e))
    }

    /// Sets a kernel's arguments; `groups` is the number of work-groups of the preceding launch.
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
    fn sub_groups_are_enabled_in_the_language_that_has_them() {
        let language = |platform: &str, version: &str, extensions: &[&str], max_sub_groups: u32| {
            let device = DeviceInfo {
                platform: platform.into(),
                version: version.into(),
                extensions: extensions.iter().map(|&extension| extension.into()).collect(),
                max_sub_groups,
                ..DeviceInfo::made_up()
            };
            let options = |code: &'static Code| code.options(&Config::new(code, device.kind), &device);
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
