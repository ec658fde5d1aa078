//! Which options stand on the command line: their values may be those that they have without it. In: what clap has read.
//! Out: names, so that an option without meaning for a ladder can be refused.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The options that were given, by their names in the code. It has to be the first of the fields: clap takes the others'
/// values out.
#[derive(Debug, Clone, Default)]
pub struct Given(Vec<String>);

impl Given {
    /// The first of these that was given, as the user writes it.
    pub(crate) fn any(&self, names: impl IntoIterator<Item = String>) -> Option<String> {
        let name = names.into_iter().find(|name| self.0.contains(name))?;
        Some(if name == "file" { "FILE".to_owned() } else { format!("--{}", name.replace('_', "-")) })
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let ids = matches.ids().map(clap::Id::as_str);
        let given = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Self(given.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
