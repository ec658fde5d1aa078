//! Suggests the subcommand that the user probably meant with a mistyped one, as in `clreel bnech`.

use std::ffi::OsString;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use strsim::osa_distance;

use super::Cli;

/// Prints a suggestion and exits if the first argument is not a file and resembles the name of a subcommand. Runs before clap,
/// which would only report the options of that subcommand as unknown.
pub(super) fn exit_if_mistyped() {
    let mut command = Cli::command();
    if let Some((typed, meant)) = suggest(&command, std::env::args_os().skip(1)) {
        let typed = base::text::escaped(&typed);
        let text = format!("there is no file '{typed}'; did you mean the command `clreel {meant}`?");
        command.error(clap::error::ErrorKind::InvalidSubcommand, text).exit();
    }
}

/// Returns the first argument and the name of the subcommand that it resembles; `None` if it resembles none.
fn suggest(command: &Command, mut arguments: impl Iterator<Item = OsString>) -> Option<(String, String)> {
    let typed = arguments.next()?.into_string().ok().filter(|typed| !typed.starts_with('-'))?;
    let names = || command.get_subcommands().map(Command::get_name).chain(["help"]);
    if names().any(|name| name == typed) || Path::new(&typed).exists() {
        return None;
    }
    let hidden = |name: &str| command.find_subcommand(name).is_some_and(Command::is_hide_set);
    let shown = names().filter(|name| !hidden(name));
    let near = shown.map(|name| (osa_distance(&typed, name), name)).min()?;
    // At most two typing errors per five characters, one per four.
    (near.0 * 5 <= near.1.len().min(10) * 2).then(|| (typed, near.1.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_commands_are_suggested() {
        let meant =
            |typed: &str| suggest(&Cli::command(), [typed.into()].into_iter()).map(|(_, meant)| meant);
        let near = [("bnech", "bench"), ("benhc", "bench"), ("device", "devices"), ("tun", "tune")];
        for (typed, command) in near.into_iter().chain([("snapsht", "snapshot")]) {
            assert_eq!(meant(typed).as_deref(), Some(command), "{typed}");
        }
        for typed in
            ["bench", "movie", "bunny.mp4", "--radius", "--kernels", "t", "Cargo.toml", "beach.mp4", ""]
        {
            assert_eq!(meant(typed), None, "{typed}");
        }
    }
}
