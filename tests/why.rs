//! Faults planted in a user's own kernel, whose name tells nothing: `clreel bench --why` names each of them in a sentence with its
//! numbers, and says nothing where nothing can be known. Without Oclgrind its accesses are not known.

use std::path::Path;
use std::process::Command;

use crate::check_kernels::has_oclgrind;
use crate::common::reports::{clreel, rows};
use crate::common::*;

/// The width of the picture that Oclgrind is given (`src/cli/check_kernels/accesses.rs`).
const WIDTH: usize = 64;

/// Returns a kernel of the user's own with these statements, which compute the pixels that `mean` returns.
pub fn own(statements: &str) -> String {
    format!(
        "#include \"../common/mean.clh\"\n\
         uchar4 mean(__global const uchar4 *src, int width, int height, int radius, float scale, int x, int y)\n{{\n\
         \x20   int4 sum = 0;\n\
         \x20   for (int dy = -radius; dy <= radius; dy++)\n\
         \x20       for (int dx = -radius; dx <= radius; dx++)\n\
         \x20           sum += convert_int4(src[clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1)]);\n\
         \x20   const int side = 2 * radius + 1;\n\
         \x20   return convert_uchar4(mean4(sum, side * side, scale));\n}}\n\
         __kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1))) void\n\
         own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius, int row0, int rows,\n\
         \x20   float scale)\n{{\n{statements}}}\n"
    )
}

/// One pixel for each work-item, neighbours beside each other.
pub const PLAIN: &str = "    const int x = get_global_id(0), y = row0 + (int)get_global_id(1);\n\
                     \x20   if (x < width && y < row0 + rows)\n\
                     \x20       dst[y * width + x] = mean(src, width, height, radius, scale, x, y);\n";
/// One work-item for all pixels.
const FEW: &str = "    if (get_global_id(0) == 0 && get_global_id(1) == 0)\n\
                   \x20       for (int y = row0; y < row0 + rows; y++)\n\
                   \x20           for (int x = 0; x < width; x++)\n\
                   \x20               dst[y * width + x] = mean(src, width, height, radius, scale, x, y);\n";
/// Neighbours one above the other: the work-items of a row of the launch go down a column of the picture.
const STRIDED: &str = "    const int n = (int)get_global_id(1) * width + (int)get_global_id(0);\n\
                       \x20   const int x = n / rows, y = row0 + n % rows;\n\
                       \x20   if ((int)get_global_id(0) < width && (int)get_global_id(1) < rows)\n\
                       \x20       dst[y * width + x] = mean(src, width, height, radius, scale, x, y);\n";

/// Runs `bench --why` on a kernel of the user's own, and returns its sentences.
fn sentences(name: &str, statements: &str, change: impl FnOnce(&Folder, &mut Command)) -> Vec<String> {
    let folder = Folder::new(&format!("why-{name}"));
    folder.with("box_filter/own.cl", own(statements).as_bytes());
    let mut command =
        clreel(&["bench", "--variant", "own", "--why", "--json", "--device", "0", "--frames", "3"]);
    command.args(["--size", "64x48", "--radius", "1", "--conversions", "none"]);
    command.arg("--kernels").arg(folder.file("."));
    let other = Folder::new(&format!("why-programs-{name}"));
    change(&other, &mut command);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = rows(&report).remove(0);
    assert_eq!((row["id"].as_str(), row["outcome"].as_str()), (Some("own"), Some("ok")), "{name}: {row}");
    let why = row["why"].as_array().unwrap_or_else(|| panic!("{name}: {row}"));
    why.iter().map(|sentence| sentence.as_str().unwrap().to_owned()).collect()
}

/// Hides Oclgrind, but no other program, from a command: drivers need a linker. `folder` gets links to the programs.
fn without_oclgrind(folder: &Folder, command: &mut Command) {
    for path in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for program in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let name = program.file_name();
            if !name.to_string_lossy().starts_with("oclgrind") {
                // The first folder with a program of this name counts.
                let _ = std::os::unix::fs::symlink(program.path(), folder.file(name.to_str().unwrap()));
            }
        }
    }
    command.env("PATH", folder.file("."));
}

#[test]
fn too_few_work_items_and_strided_accesses_are_named() {
    if !has_oclgrind() {
        return;
    }
    let said = sentences("few", FEW, |_, _| ());
    assert!(said.contains(&format!("own: 1 work-item for {} pixels.", 8 * WIDTH)), "{said:?}");
    let said = sentences("strided", STRIDED, |_, _| ());
    let row = format!("own: neighbouring work-items write {} bytes apart (", 4 * WIDTH);
    assert!(said.iter().any(|sentence| sentence.starts_with(&row)), "{said:?}");
    assert!(!said.iter().any(|sentence| sentence.contains(" for ")), "all work-items compute: {said:?}");
}

#[test]
fn spills_in_the_drivers_log_are_named() {
    let folder = Folder::new("why-log");
    let log = "ptxas info    : Compiling entry function 'own' for 'sm_90'\n\
               \x20   2048 bytes stack frame, 1024 bytes spill stores, 1536 bytes spill loads\n\
               ptxas info    : Used 255 registers, 400 bytes cmem[0]\n";
    folder.with("log", log.as_bytes());
    let path = folder.file("log");
    let with_log = |log: &Path, folder: &Folder, command: &mut Command| {
        without_oclgrind(folder, command);
        command.envs(layer::environment(&[("PTX_LOG", log.to_str().unwrap())]));
    };
    let want = "own: 1,024 bytes of each work-item do not fit into its 255 registers (spills).";
    assert_eq!(sentences("spills", PLAIN, |folder, command| with_log(&path, folder, command)), [want]);
    folder.with("none", log.replace("1024 bytes spill", "0 bytes spill").as_bytes());
    let none = folder.file("none");
    assert_eq!(sentences("no-spills", PLAIN, |folder, command| with_log(&none, folder, command)), [""; 0]);
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    for (name, statements) in [("plain", PLAIN), ("few-unknown", FEW), ("strided-unknown", STRIDED)] {
        assert_eq!(sentences(name, statements, without_oclgrind), [""; 0], "{name}");
    }
    if has_oclgrind() {
        assert_eq!(sentences("plain-known", PLAIN, |_, _| ()), [""; 0], "nothing is wrong with it");
    }
}
