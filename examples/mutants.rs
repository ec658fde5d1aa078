//! Tries mutants of the kernels on `clreel bench`, which stands beside this example's folder: `./dev mutants`.

#[path = "../tests/mutants/mod.rs"]
mod mutants;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let root = mutants::root();
    if mutants::witness::attend(&root.join("kernels")) {
        return ExitCode::SUCCESS;
    }
    let args = mutants::Args::parse();
    let run = || {
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        let folder = this.parent().and_then(|folder| folder.parent()).ok_or("This example has no folder.")?;
        let tools = mutants::tools(
            folder.join("clreel"),
            vec![this.clone().into()],
            folder.with_file_name("mutants"),
        );
        mutants::main(&args, &tools)
    };
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}
