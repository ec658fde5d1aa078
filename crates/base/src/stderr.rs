//! Messages on the standard error output.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a message on stderr, after the program's name. Unlike `eprintln!`, which panics, it ignores a closed output, as in
/// `clreel wrong 2>&1
/// head -n 0`: nobody would read a message about it.
pub fn print_message(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "clreel: {text}");
}
