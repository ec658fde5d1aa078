//! clreel's binary: parse the arguments, run, print the error. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = clreel::cli::Cli::parse();
    match clreel::cli::run(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("clreel: {error}");
            ExitCode::from(clreel::cli::exit::FAILED)
        }
    }
}
