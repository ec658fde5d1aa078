//! The settings of a filter in files. The box filter has its radius there, other filters have the names of their parameters.

use box_filter::{Settings, VariantId};
use serde_json::{Map, Value};

/// Returns the key and the value that JSON has for the settings of a variant: `radius` for variants of the box filter, otherwise
/// `settings`, an object with a number for each parameter.
pub fn settings_json(variant: VariantId, settings: Settings) -> (&'static str, Value) {
    let Some(filter) = variant.opened() else { return ("radius", settings.first().into()) };
    let number = |is_whole, value: f64| if is_whole { Value::from(value as i64) } else { value.into() };
    let values = settings.values(&filter.description.parameters);
    let values = values.map(|(parameter, value)| (parameter.name.clone(), number(parameter.is_whole, value)));
    ("settings", values.collect::<Map<_, _>>().into())
}

/// Returns the settings that JSON has for a variant of this name, whose object `of` [`settings_json`] has made; `None` if they are
/// not complete.
pub fn settings_from_json(variant: VariantId, of: &Value) -> Option<Settings> {
    let Some(filter) = variant.opened() else {
        return of["radius"].as_u64().and_then(|radius| u32::try_from(radius).ok()).map(Settings::from);
    };
    let parameters = &filter.description.parameters;
    let mut settings = filter.defaults();
    for parameter in parameters {
        let value = of["settings"][&parameter.name].as_f64()?;
        settings.set(parameters, &format!("{}={value}", parameter.name)).ok()?;
    }
    Some(settings)
}

/// Returns the settings that CSV has for a variant of a folder, as in "gain=1.5 side=3"; empty for variants of the box filter,
/// whose radius is in a column of its own.
pub fn settings_csv(variant: VariantId, settings: Settings) -> String {
    let Some(filter) = variant.opened() else { return String::new() };
    let values = settings.values(&filter.description.parameters);
    values.map(|(parameter, value)| format!("{}={value}", parameter.name)).collect::<Vec<_>>().join(" ")
}
