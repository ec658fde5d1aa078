//! The parameters of kernels as data. In: a rung's code and a device. Out: a [`Config`], one choice of values, and the
//! compiler's options that follow from it.

use std::fmt;

use opencl::cl::{DeviceInfo, DeviceKind};

/// A parameter of a kernel file: a `-D` option, and what the launch depends on.
#[derive(Debug)]
pub struct Param {
    /// Its name in the kernel file. Those that begin with `GROUP` are sizes of work-groups.
    pub name: &'static str,
    /// Its value on CPU devices, where nothing better is known.
    pub cpu: u32,
    /// Its value on all other devices, where nothing better is known.
    pub gpu: u32,
    /// The values that are worth trying.
    pub values: &'static [u32],
}

/// What kernels with parameters have in common: a ladder's own code is one.
pub trait Tunable: Sized + 'static {
    /// The kernel file under `kernels/`.
    fn file(&self) -> &'static str;

    /// The parameters.
    fn params(&self) -> &'static [Param];

    /// Work-items of a group in each pass.
    fn groups(&self, config: &Config<Self>) -> Vec<usize>;

    /// Whether the values go together on this device, beyond the size of the work-groups; all of them do where nothing is said.
    fn allows(&self, _config: &Config<Self>, _device: &DeviceInfo) -> bool {
        true
    }
}

/// One choice of values for the parameters of some code.
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
    /// The default values for a kind of device.
    pub fn of(code: &'static C, kind: DeviceKind) -> Self {
        let value = |p: &Param| if kind == DeviceKind::Cpu { p.cpu } else { p.gpu };
        Self { code, values: code.params().iter().map(value).collect() }
    }

    /// The code that it configures.
    pub fn code(&self) -> &'static C {
        self.code
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.code.params().iter().position(|p| p.name == name)
    }

    /// A parameter's value; 1 if the code has no such parameter.
    pub fn get(&self, name: &str) -> u32 {
        self.index_of(name).and_then(|at| self.values.get(at)).copied().unwrap_or(1)
    }

    /// The same with another value for one parameter; unchanged if the code has no such parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: u32) -> Self {
        if let Some(at) = self.index_of(name) {
            self.values[at] = value;
        }
        self
    }

    /// Halves the work-groups until the device takes them.
    #[must_use]
    pub fn fitted(mut self, device: &DeviceInfo) -> Self {
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

    /// This one with each other value of each parameter that is worth trying, where the device allows it.
    pub fn neighbours(&self, device: &DeviceInfo) -> Vec<Self> {
        let each = |param: &'static Param| param.values.iter().map(move |value| (param.name, *value));
        let others =
            self.code.params().iter().flat_map(each).map(|(name, value)| self.clone().with(name, value));
        others.filter(|other| other != self && other.is_allowed(device)).collect()
    }

    fn fits(&self, device: &DeviceInfo) -> bool {
        let most = device.max_work_group_size.max(1);
        self.code.groups(self).into_iter().all(|items| items <= most)
    }

    /// Whether the device can run it.
    pub fn is_allowed(&self, device: &DeviceInfo) -> bool {
        self.fits(device) && self.code.allows(self, device)
    }

    /// The compiler's options.
    pub fn options(&self) -> String {
        let option = |(p, v): (&Param, &u32)| format!("-D {}={v}", p.name);
        self.code.params().iter().zip(&self.values).map(option).collect::<Vec<_>>().join(" ")
    }
}

/// As in `STRIP_X=64 QUADS=4`.
impl<C: Tunable> fmt::Display for Config<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (param, value)) in self.code.params().iter().zip(&self.values).enumerate() {
            let gap = if n > 0 { " " } else { "" };
            write!(f, "{gap}{}={value}", param.name)?;
        }
        Ok(())
    }
}
