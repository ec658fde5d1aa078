//! The executable: parses the arguments, runs the command, prints errors. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    opencl::process::prepare();
    let cli = clreel::cli::parse();
    ExitCode::from(base::exit::report(clreel::cli::run(&cli)))
}
