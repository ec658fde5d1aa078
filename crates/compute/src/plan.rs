//! A computation on a device as data: a [`Code`] is a kernel file with its launches, and a [`Program`] its compiled kernels.

use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::threads::Threads;
use opencl::cl::{Answer, Buffer, ClContext, Device, Event, Mem, Queue, failed};
use opencl::kernel::{Argument, Kernel, NdRange, Value, enqueue, expect_types};
use opencl::memory::allocation_flags;
use opencl::program;

use crate::config::{Config, Param, Tunable};
use crate::work::LaunchWork;

/// A kernel file, and how its kernels are launched for a case of type `S`. `X` is additional data for ladders that do more than
/// launch the kernels in order.
#[derive(Debug, Clone)]
pub struct Code<S: 'static, X: 'static = ()> {
    /// The path of the kernel file below `kernels/`.
    pub file: &'static str,
    /// The launches of kernels, in order.
    pub passes: &'static [Pass<S, X>],
    /// The tuning parameters of the kernels.
    pub params: &'static [Param],
    /// Returns true if the device can run these parameter values, without regard to the size of the work-groups.
    pub allows: fn(&Config<Self>, &DeviceInfo) -> bool,
    /// Checks that the device can run the kernels for a case.
    ///
    /// # Errors
    /// Returns a sentence that states why the device cannot run them.
    pub supports: fn(&Device, &S) -> Result<(), String>,
    /// Returns compiler options for a device, in addition to the values of the parameters.
    pub options: fn(&DeviceInfo) -> String,
    /// The additional data of the ladder.
    pub extra: X,
}

/// One launch of a kernel.
#[derive(Debug)]
pub struct Pass<S: 'static, X: 'static = ()> {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The kernel's arguments, in order.
    pub args: &'static [Arg<S, X>],
    /// Returns the numbers of work-items of a work-group, across and down.
    pub local: fn(&Config<Code<S, X>>) -> [usize; 2],
    /// Returns the numbers of work-groups for a configuration and a case, across and down. Nothing is launched if one of them is 0.
    pub groups: GroupCounts<S, X>,
    /// Returns the exact work of the launch; `None` if there is no formula for it.
    pub work: Option<WorkFormula<S, X>>,
}

/// A function that returns numbers of work-groups, across and down.
pub type GroupCounts<S, X = ()> = fn(&Config<Code<S, X>>, &S) -> [usize; 2];

/// A function that returns a launch with its exact work: the numbers of reads, writes, operations and barriers. Its arguments
/// are the configuration, the case, and the launch with only its sizes.
pub type WorkFormula<S, X = ()> = fn(&Config<Code<S, X>>, &S, Launched<'_>) -> LaunchWork;

/// A launch with only its sizes, for which a [`WorkFormula`] computes the exact work.
#[derive(Debug, Clone, Copy)]
pub struct Launched<'a> {
    /// The launch, with reads, writes and operations still 0.
    pub launch: LaunchWork,
    /// The number of work-groups of this launch.
    pub groups: u64,
    /// The number of work-groups of the preceding launch.
    pub groups_before: u64,
    /// The device that runs the launch.
    pub device: &'a DeviceInfo,
}

/// The type names that drivers may report for an argument.
pub type Types = &'static [&'static str];

/// An argument of a kernel.
#[derive(Debug)]
pub enum Arg<S: 'static, X: 'static = ()> {
    /// Memory of the case: its index (first the inputs, then the output), and the types that drivers may report for it.
    Memory(usize, Types),
    /// Memory for intermediate results: its index, the types that drivers may report for it, and the function that returns its
    /// length in 32-bit numbers.
    Scratch(usize, Types, fn(&Config<Code<S, X>>, &S) -> usize),
    /// A counter that belongs to the program and is 0 before each run.
    Counter,
    /// A number that is computed from the case: the types that drivers may report for it, and the function that computes it.
    Value(Types, fn(&S) -> Value),
    /// The number of work-groups of the preceding launch.
    GroupsBefore,
}

impl<S, X> Arg<S, X> {
    /// Returns the type names that drivers may report for the argument.
    fn types(&self) -> Types {
        match self {
            Arg::Memory(_, types) | Arg::Scratch(_, types, _) | Arg::Value(types, _) => types,
            Arg::Counter => &["uint*"],
            Arg::GroupsBefore => &["int"],
        }
    }
}

impl<S> Code<S> {
    /// Returns the description of a file that any device can run with all values of its parameters.
    pub const fn new(file: &'static str, passes: &'static [Pass<S>], params: &'static [Param]) -> Self {
        Self::with(file, passes, params, ())
    }
}

impl<S, X> Code<S, X> {
    /// Returns the description of a file as [`Code::new`] does, with additional data of the ladder.
    pub const fn with(
        file: &'static str,
        passes: &'static [Pass<S, X>],
        params: &'static [Param],
        extra: X,
    ) -> Self {
        Self {
            file,
            passes,
            params,
            allows: |_, _| true,
            supports: |_, _| Ok(()),
            options: |_| String::new(),
            extra,
        }
    }

    /// Returns the exact work of each launch on a device; `None` if there is no formula for one of them.
    pub fn work(config: &Config<Self>, device: &DeviceInfo, size: &S) -> Option<Vec<LaunchWork>> {
        let (mut launches, mut groups_before) = (Vec::new(), 0);
        for pass in config.code().passes {
            let ([across, down], local) = ((pass.groups)(config, size), (pass.local)(config));
            let groups = (across * down) as u64;
            if groups > 0 {
                let launch = LaunchWork::new(pass.kernel, &[across * local[0], down * local[1]], &local);
                launches.push((pass.work?)(config, size, Launched { launch, groups, groups_before, device }));
            }
            groups_before = groups;
        }
        Some(launches)
    }
}

impl<S, X> Tunable for Code<S, X> {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn group_sizes(&self, config: &Config<Self>) -> Vec<usize> {
        self.passes.iter().map(|pass| (pass.local)(config).iter().product()).collect()
    }

    fn allows(&self, config: &Config<Self>, device: &DeviceInfo) -> bool {
        (self.allows)(config, device)
    }
}

/// Returns the size of one-dimensional work-groups that the parameter `GROUP` sets.
pub fn group<S, X>(config: &Config<Code<S, X>>) -> [usize; 2] {
    [config.get("GROUP") as usize, 1]
}

/// Returns the size of work-groups that have one work-item.
pub fn single<S, X>(_: &Config<Code<S, X>>) -> [usize; 2] {
    [1, 1]
}

/// The compiled kernels of a [`Code`], with the values of their parameters.
#[derive(Debug)]
pub struct Program<S: 'static, X: 'static = ()> {
    /// The values of the kernels' tuning parameters.
    pub config: Config<Code<S, X>>,
    kernels: Vec<Kernel>,
    /// The memory of [`Arg::Counter`]; `None` without such an argument. Each program has its own, so that a faulty kernel harms
    /// no other.
    counter: Option<Buffer>,
}

/// The device memory that a program's kernels read and write: the memory of the case, and the memory for intermediate results.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The memory of the case: first the inputs, then the output.
    pub memory: &'a [&'a Mem],
    /// The memory for intermediate results.
    pub scratch: &'a [&'a Mem],
}

/// A kernel whose arguments are set, with the sizes of its launch.
#[derive(Debug)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    groups: [usize; 2],
    local: [usize; 2],
}

impl Launch<'_> {
    /// Returns the launch with another number of work-groups and another work-group size.
    #[must_use]
    pub fn with_size(self, groups: [usize; 2], local: [usize; 2]) -> Self {
        Self { groups, local, ..self }
    }

    /// Enqueues the kernel. It begins after the events `after` are complete.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn enqueue(&self, queue: &Queue, after: &[Event]) -> Answer<Event> {
        let Self { kernel, groups: [across, down], local: [width, height] } = *self;
        let range = NdRange::plane([across * width, down * height], [width, height]);
        // SAFETY: the arguments are set, their types were compared, and the kernels stay within the sizes of the case.
        unsafe { enqueue(queue, kernel, range, after) }
    }
}

impl<S, X> Program<S, X> {
    /// Compiles the kernels with these parameters.
    ///
    /// # Errors
    /// Returns an error if the kernels do not compile, or the device has not enough memory.
    pub fn compile(cl: &ClContext, config: &Config<Code<S, X>>) -> Result<Self> {
        Self::compile_with(cl, config, &cl.sources().text(config.code().file)?, "")
    }

    /// Compiles the kernels from `source` instead of their file, with further compiler options.
    ///
    /// # Errors
    /// Returns an error as [`Program::compile`] does.
    pub fn compile_with(
        cl: &ClContext,
        config: &Config<Code<S, X>>,
        source: &str,
        options: &str,
    ) -> Result<Self> {
        let code = config.code();
        let options = [&config.options(), options, &(code.options)(&cl.device.info)];
        let options: Vec<&str> = options.into_iter().filter(|options| !options.is_empty()).collect();
        let program = program::build_text(cl, code.file, source, &options.join(" "))?;
        let kernel = |pass: &Pass<S, X>| -> Result<Kernel> {
            let what = format!("The kernel '{}' in {} could not be prepared.", pass.kernel, code.file);
            let kernel = Kernel::from_file(&program, &cl.device.info, code.file, pass.kernel, &what)?;
            let types: Vec<Types> = pass.args.iter().map(Arg::types).collect();
            expect_types(&kernel, code.file, &types)?;
            Ok(kernel)
        };
        let counter = || -> Answer<Buffer> {
            let counter = Buffer::new(&cl.context, allocation_flags(cl), 4)?;
            counter.write(&cl.queue, &[0; 4])?;
            Ok(counter)
        };
        let counts = code.passes.iter().flat_map(|pass| pass.args).any(|arg| matches!(arg, Arg::Counter));
        let counter = counts.then(counter).transpose();
        Ok(Self {
            config: config.clone(),
            kernels: code.passes.iter().map(kernel).collect::<Result<_>>()?,
            counter: counter.map_err(|e| failed("Memory could not be had on the device.", &e))?,
        })
    }

    /// Sets the arguments of all kernels; returns the launches in order.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn bind_all(&self, on: Operands<'_>, size: &S) -> Answer<Vec<Launch<'_>>> {
        let (mut launches, mut before) = (Vec::new(), 0);
        for at in 0..self.kernels.len() {
            let launch = self.bind(at, (on, before), size)?;
            before = launch.groups.iter().product();
            launches.extend((before > 0).then_some(launch));
        }
        Ok(launches)
    }

    /// Sets the arguments of the kernel with the index `at`. For kernels that need it as an argument, the number of work-groups
    /// of the preceding launch is passed.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn bind(
        &self,
        at: usize,
        (on, groups_before): (Operands<'_>, usize),
        size: &S,
    ) -> Answer<Launch<'_>> {
        let (pass, kernel) = (&self.config.code().passes[at], &self.kernels[at]);
        for (index, arg) in (0..).zip(pass.args) {
            let argument: Argument = match arg {
                Arg::Memory(at, _) => on.memory[*at].into(),
                Arg::Scratch(at, ..) => on.scratch[*at].into(),
                Arg::Counter => {
                    let Some(counter) = &self.counter else { continue };
                    counter.mem().into()
                }
                Arg::Value(_, value) => value(size).into(),
                Arg::GroupsBefore => Value::Int(groups_before as i32).into(),
            };
            kernel.set(index, argument)?;
        }
        let (groups, local) = ((pass.groups)(&self.config, size), (pass.local)(&self.config));
        Ok(Launch { kernel, groups, local })
    }

    /// Enqueues all launches; returns their events, in order.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn enqueue(&self, queue: &Queue, on: Operands<'_>, size: &S) -> Result<Vec<Event>> {
        let enqueued = self.bind_all(on, size).and_then(|launches| {
            launches.iter().map(|launch| launch.enqueue(queue, &[])).collect::<Answer<Vec<Event>>>()
        });
        self.forget_memory();
        enqueued.map_err(|e| self.failed(&e))
    }

    /// Drops the references to device memory that the kernels' arguments keep.
    pub fn forget_memory(&self) {
        self.kernels.iter().for_each(Kernel::forget_memory);
    }

    /// Returns the error for a launch that the driver refuses.
    pub fn failed(&self, status: &opencl::cl::Status) -> Error {
        failed(&format!("The kernels of {} could not be run.", self.config.code().file), status)
    }
}

/// Returns `Ok` if the device has enough memory for arrays of these sizes in bytes.
///
/// # Errors
/// Returns a sentence for the user if it has not enough memory.
pub fn require_memory(device: &DeviceInfo, arrays: &[u64]) -> Result<(), String> {
    let (sum, largest) = (arrays.iter().sum(), arrays.iter().copied().max().unwrap_or_default());
    match device.has_room(sum, largest) {
        true => Ok(()),
        false => Err(format!("It takes {sum} bytes, more memory than '{}' has.", device.name)),
    }
}

/// The lengths of a case's arrays in 32-bit numbers.
#[derive(Debug)]
pub struct Lens {
    /// The length of each input.
    pub inputs: Vec<usize>,
    /// The length of the output.
    pub output: usize,
    /// The length of each piece of memory for intermediate results, as estimated before a program exists.
    pub scratch: Vec<usize>,
}

/// The implementation of a variant that runs on threads of this process.
#[derive(Debug, Clone, Copy)]
pub struct Host<S: 'static> {
    /// The number of threads that it uses.
    pub threads: Threads,
    /// Computes the output of a case from the inputs. The last argument is the number of threads.
    pub run: HostFunction<S>,
}

/// A function that computes an output from inputs, on a number of threads.
pub type HostFunction<S> = fn(&S, &[&[f32]], &mut [f32], usize) -> Result<()>;
