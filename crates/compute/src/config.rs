//! Tuning parameters of kernels as data: [`Param`] declares a parameter, and [`Config`] has a value for each parameter and
//! returns the compiler options.

use std::fmt;

use base::device::{DeviceInfo, DeviceKind};

/// A tuning parameter of a kernel file, which is passed to the compiler as a `-D` option.
#[derive(Debug)]
pub struct Param {
    /// The macro's name in the kernel file. Parameters whose names begin with `GROUP` are sizes of work-groups.
    pub name: &'static str,
    /// The default value on CPU devices.
    pub cpu: u32,
    /// The default value on all other devices.
    pub gpu: u32,
    /// The values that a search uses; empty if the parameter is not tuned.
    pub values: &'static [u32],
}

impl Param {
    /// Creates a parameter from its name, its default values on CPU devices and on all others, and the values for a search.
    pub const fn new(name: &'static str, cpu: u32, gpu: u32, values: &'static [u32]) -> Self {
        Self { name, cpu, gpu, values }
    }
}

/// Kernel code with tuning parameters. Each ladder implements this for its own type of code.
pub trait Tunable: Sized + 'static {
    /// Returns the path of the kernel file below `kernels/`.
    fn file(&self) -> &'static str;

    /// Returns the paths of all files on which a tuning result depends: if one of them changes, the result is not used. By default
    /// that is [`file`](Self::file) alone.
    fn tuned_files(&self) -> Vec<&'static str> {
        vec![self.file()]
    }

    /// Returns the declarations of the tuning parameters.
    fn params(&self) -> &'static [Param];

    /// Returns the number of work-items in a work-group, for each launch.
    fn group_sizes(&self, config: &Config<Self>) -> Vec<usize>;

    /// Returns true if the device can run kernels with these parameter values, regardless of the work-group sizes; true by
    /// default.
    fn allows(&self, _config: &Config<Self>, _device: &DeviceInfo) -> bool {
        true
    }

    /// Returns other default values for a group of cases that share a tuning result, on a kind of device: pairs of a
    /// parameter's name and its default value. Returns none by default.
    fn class_defaults(&self, _kind: DeviceKind, _class: &str) -> &'static [(&'static str, u32)] {
        &[]
    }

    /// Returns the index, in the ladder's list of peak kernels, of the peak kernel that this code is compared with; 0 by default.
    fn peak(&self) -> usize {
        0
    }

    /// Returns true if a search for the best parameter values is worth its time.
    fn is_tuned(&self) -> bool {
        true
    }
}

/// A configuration: one value for each parameter of some code.
#[derive(Debug)]
pub struct Config<C: 'static> {
    code: &'static C,
    values: Vec<u32>,
}

impl<C> Clone for Config<C> {
    fn clone(&self) -> Self {
        Self { code: self.code, values: self.values.clone() }
    }
}

impl<C: Tunable> PartialEq for Config<C> {
    fn eq(&self, other: &Self) -> bool {
        self.code.file() == other.code.file() && self.values == other.values
    }
}

impl<C: Tunable> Config<C> {
    /// Returns the default values for a kind of device.
    pub fn new(code: &'static C, kind: DeviceKind) -> Self {
        let value = |p: &Param| if kind == DeviceKind::Cpu { p.cpu } else { p.gpu };
        Self { code, values: code.params().iter().map(value).collect() }
    }

    /// Returns the default values for the kind of this device, with work-group sizes reduced until the device allows them.
    pub fn for_device(code: &'static C, device: &DeviceInfo) -> Self {
        Self::new(code, device.kind).fit_to_device(device)
    }

    /// Returns the default values for a group of cases that share a tuning result, with work-group sizes reduced until the
    /// device allows them. If the device cannot run these values, returns the defaults for all cases.
    pub fn for_class(code: &'static C, device: &DeviceInfo, class: &str) -> Self {
        let better = Self::for_kind(code, device.kind, class).fit_to_device(device);
        if better.is_allowed(device) { better } else { Self::for_device(code, device) }
    }

    /// Returns the default values for a group of cases that share a tuning result, on a kind of device. A particular device may
    /// not allow them.
    pub fn for_kind(code: &'static C, kind: DeviceKind, class: &str) -> Self {
        let better = code.class_defaults(kind, class).iter();
        better.fold(Self::new(code, kind), |config, (name, value)| config.with(name, *value))
    }

    /// Returns the code that this configuration is for.
    pub fn code(&self) -> &'static C {
        self.code
    }

    /// Returns the index of a parameter in the list of the code's parameters; `None` if the code has no such parameter.
    fn index_of(&self, name: &str) -> Option<usize> {
        self.code.params().iter().position(|p| p.name == name)
    }

    /// Returns a parameter's value; `None` if the code has no such parameter.
    pub fn value(&self, name: &str) -> Option<u32> {
        self.index_of(name).and_then(|at| self.values.get(at)).copied()
    }

    /// Returns a parameter's value; 1 if the code has no such parameter.
    pub fn get(&self, name: &str) -> u32 {
        self.value(name).unwrap_or(1)
    }

    /// Returns this configuration with `value` for the parameter `name`; unchanged if the code has no such parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: u32) -> Self {
        if let Some(at) = self.index_of(name) {
            self.values[at] = value;
        }
        self
    }

    /// Halves the sizes of work-groups until the device allows them.
    #[must_use]
    pub fn fit_to_device(mut self, device: &DeviceInfo) -> Self {
        while !self.fits(device) {
            let mut smaller = false;
            for (param, value) in self.code.params().iter().zip(&mut self.values) {
                if param.name.starts_with("GROUP") && *value > 1 {
                    *value = value.div_ceil(2);
                    smaller = true;
                }
            }
            if !smaller {
                break;
            }
        }
        self
    }

    /// Returns all configurations that differ from this one in the value of one parameter and that the device allows.
    pub fn neighbours(&self, device: &DeviceInfo) -> Vec<Self> {
        let each = |param: &'static Param| param.values.iter().map(move |value| (param.name, *value));
        let others =
            self.code.params().iter().flat_map(each).map(|(name, value)| self.clone().with(name, value));
        others.filter(|other| other != self && other.is_allowed(device)).collect()
    }

    /// Returns true if no work-group of this configuration has more work-items than the device allows.
    fn fits(&self, device: &DeviceInfo) -> bool {
        let most = device.max_work_group_size.max(1);
        self.code.group_sizes(self).into_iter().all(|items| items <= most)
    }

    /// Returns true if the device can run this configuration.
    pub fn is_allowed(&self, device: &DeviceInfo) -> bool {
        self.fits(device) && self.code.allows(self, device)
    }

    /// Returns the compiler options, such as `-D WIDTH=4 -D GROUP=64`.
    pub fn options(&self) -> String {
        self.settings().map(|setting| format!("-D {setting}")).collect::<Vec<_>>().join(" ")
    }

    /// Returns the values as in `STRIP_X=64`.
    fn settings(&self) -> impl Iterator<Item = String> {
        self.code.params().iter().zip(&self.values).map(|(param, value)| format!("{}={value}", param.name))
    }
}

/// Writes the values as in `STRIP_X=64 QUADS=4`.
impl<C: Tunable> fmt::Display for Config<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.settings().collect::<Vec<_>>().join(" "))
    }
}
