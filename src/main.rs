//! clreel's binary: parse the arguments, run, print the error. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    clreel::gpu::process::prepare();
    let cli = clreel::cli::Cli::parse();
    ExitCode::from(clreel::exit::report(clreel::cli::run(&cli)))
}
