//! A command that was mistyped, as in `clreel bnech`. In: the arguments. Out: which command was meant.

use std::ffi::OsString;
use std::path::Path;

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Says which command was meant, and ends the process, where the first argument is no file and nearly a command: its
/// options would be errors of their own.
pub(super) fn refuse(arguments: impl Iterator<Item = OsString>) {
    let mut command = Cli::command();
    if let Some((typed, meant)) = meant(&command, arguments) {
        let typed = base::text::escaped(&typed);
        let text = format!("there is no file '{typed}'; is the command `clreel {meant}` meant?");
        command.error(clap::error::ErrorKind::InvalidSubcommand, text).exit();
    }
}

fn meant(command: &Command, mut arguments: impl Iterator<Item = OsString>) -> Option<(String, String)> {
    let typed = arguments.next()?.into_string().ok().filter(|typed| !typed.starts_with('-'))?;
    let names = || command.get_subcommands().map(Command::get_name).chain(["help"]);
    if names().any(|name| name == typed) || Path::new(&typed).exists() {
        return None;
    }
    let hidden = |name: &str| command.find_subcommand(name).is_some_and(Command::is_hide_set);
    let shown = names().filter(|name| !hidden(name));
    let near = shown.map(|name| (edits(&typed, name), name)).min()?;
    // Two of five letters, one of four.
    (near.0 * 5 <= near.1.len().min(10) * 2).then(|| (typed, near.1.to_owned()))
}

/// How many letters are to be added, left out, changed or exchanged with their neighbour: the optimal string alignment
/// distance (Damerau, "A technique for computer detection and correction of spelling errors", 1964).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, n) in
            [("", "", 0), ("", "ab", 2), ("bnech", "bench", 1), ("bench", "bench", 0), ("tnue", "tune", 1)]
        {
            assert_eq!((edits(a, b), edits(b, a)), (n, n), "{a} {b}");
        }
    }

    #[test]
    fn commands_are_meant_by_what_is_near_them() {
        let meant = |typed: &str| meant(&Cli::command(), [typed.into()].into_iter()).map(|(_, meant)| meant);
        let near = [
            ("bnech", "bench"),
            ("benhc", "bench"),
            ("device", "devices"),
            ("snapsht", "snapshot"),
            ("tun", "tune"),
        ];
        for (typed, command) in near {
            assert_eq!(meant(typed).as_deref(), Some(command), "{typed}");
        }
        for typed in
            ["bench", "movie", "bunny.mp4", "--radius", "--kernels", "t", "Cargo.toml", "beach.mp4", ""]
        {
            assert_eq!(meant(typed), None, "{typed}");
        }
    }
}
