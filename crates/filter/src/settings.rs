//! The values of a filter's parameters.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::description::Parameter;
use crate::place::nearest;

/// The most parameters of a filter.
pub const MAX_PARAMETERS: usize = 8;

/// The values of a filter's parameters, in the order of the description; there is a 0 for each one that it lacks.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Settings([f64; MAX_PARAMETERS]);

impl Settings {
    /// Returns the defaults of these parameters.
    pub fn defaults(parameters: &[Parameter]) -> Self {
        let mut settings = Self::default();
        for (value, parameter) in settings.0.iter_mut().zip(parameters) {
            *value = parameter.default;
        }
        settings
    }

    /// Returns the value of the parameter with this index.
    pub fn get(&self, index: usize) -> f64 {
        self.0.get(index).copied().unwrap_or_default()
    }

    /// Returns the value of the first parameter as a whole number from 0 on; that of the box filter is its radius.
    pub fn first(&self) -> u32 {
        self.0[0] as u32
    }

    /// Returns the parameters with their values.
    pub fn values<'p>(&self, parameters: &'p [Parameter]) -> impl Iterator<Item = (&'p Parameter, f64)> {
        parameters.iter().zip(self.0)
    }

    /// Returns these settings with another value of the parameter with this index: the nearest value that is within its range
    /// and has no more [decimals](Parameter::decimals). Returns these settings if there is no such parameter.
    #[must_use]
    pub fn with(mut self, parameters: &[Parameter], index: usize, value: f64) -> Self {
        if let (Some(parameter), Some(own)) = (parameters.get(index), self.0.get_mut(index)) {
            let [least, most] = parameter.range;
            let rounded = format!("{value:.*}", parameter.decimals()).parse().unwrap_or(value);
            // Without the sign of a negative zero, which is not equal to zero here.
            *own = rounded.max(least).min(most) + 0.0;
        }
        self
    }

    /// Returns these settings with the value of the parameter with this index changed by so many of its steps, within its range.
    #[must_use]
    pub fn stepped(self, parameters: &[Parameter], index: usize, steps: i32) -> Self {
        let step = parameters.get(index).map_or(0.0, |parameter| parameter.step);
        self.with(parameters, index, self.get(index) + f64::from(steps) * step)
    }

    /// Sets the value of a parameter from a text such as `sigma=2.5`.
    ///
    /// # Errors
    /// Returns the reason if there is no such parameter, or the value is no number or outside of its range.
    pub fn set(&mut self, parameters: &[Parameter], text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' has no '='"))?;
        let Some(index) = parameters.iter().position(|parameter| parameter.name == name) else {
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let instead = nearest(name, names.iter().copied());
            return Err(match instead {
                Some(instead) => format!("no parameter is called '{name}'; did you mean '{instead}'?"),
                None if names.is_empty() => format!("no parameter is called '{name}': there are none"),
                None => format!("no parameter is called '{name}'; there are {}", names.join(", ")),
            });
        };
        let parameter = &parameters[index];
        let [least, most] = parameter.range;
        let number: f64 = value.trim().parse().map_err(|_| format!("'{value}' is no number"))?;
        if parameter.is_whole && number.fract() != 0.0 {
            return Err(format!("'{name}' is a whole number, and {value} is none"));
        }
        if !(least..=most).contains(&number) {
            return Err(format!("'{name}' is from {least} to {most}, and {value} is outside"));
        }
        self.0[index] = number;
        Ok(())
    }

    /// Returns true if each value is within the range of its parameter.
    pub fn suit(&self, parameters: &[Parameter]) -> bool {
        let is_inside = |(value, p): (&f64, &Parameter)| (p.range[0]..=p.range[1]).contains(value);
        self.0.iter().zip(parameters).all(is_inside)
    }

    /// Returns names, values and units for a sentence, as in "radius = 7 px, gain = 1.5".
    pub fn text(&self, parameters: &[Parameter]) -> String {
        let one =
            |(value, p): (&f64, &Parameter)| format!("{} = {value} {}", p.name, p.unit).trim_end().to_owned();
        self.0.iter().zip(parameters).map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Sets the first parameter.
impl From<u32> for Settings {
    fn from(first: u32) -> Self {
        let mut settings = Self::default();
        settings.0[0] = first.into();
        settings
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.0.map(f64::to_bits) == other.0.map(f64::to_bits)
    }
}

impl Eq for Settings {}

impl Hash for Settings {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.map(f64::to_bits).hash(state);
    }
}
