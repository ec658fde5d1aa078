//! Tries mutants of the kernels on `clreel bench`, whose binary lies in the folder above this example: `./dev mutants`.

#[path = "../tests/mutants/mod.rs"]
mod mutants;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let root = mutants::root();
    if mutants::witness::run_if_requested(&root.join("kernels")) {
        return ExitCode::SUCCESS;
    }
    let args = mutants::Args::parse();
    let run = || {
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        let folder = this.parent().and_then(|folder| folder.parent()).ok_or("This example has no folder.")?;
        let work = folder.with_file_name("mutants");
        let compiled = work.join("compiled");
        let tools = mutants::tools(folder.join("clreel"), vec![this.clone().into()], work, compiled);
        let code = mutants::main(&args, &tools);
        // It is there for a run only.
        let _ = std::fs::remove_dir_all(tools.compiled);
        code
    };
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}
