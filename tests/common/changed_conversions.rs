//! Modified conversion kernels (`kernels/convert`) for the tests of conversions: each in a folder for `--kernels`.

use std::path::{Path, PathBuf};

use super::*;
use ffmpeg_next::format::Pixel;

pub const PLANES: &str = "convert/01_planes.cl";
pub const CORRECT: &str = "convert/02_correct.cl";
pub const ROWS: &str = "convert/03_rows.cl";
pub const COMMON: &str = "common/convert.clh";

/// The conversions that `ROWS` must report, as in a [`Mutant`].
const FILTERED: (&str, &str) = ("yuv420p-filtered", ROWS);

/// A fault in a conversion kernel: its name, the file, the text that is replaced, its replacement, the conversions that
/// must be reported (a part of their id, and the kernel file), and true if only other formats than the movie's show it.
pub struct Mutant(
    pub &'static str,
    pub &'static str,
    pub &'static str,
    pub &'static str,
    pub (&'static str, &'static str),
    pub bool,
);

pub const MUTANTS: [Mutant; 13] = [
    Mutant("constant", COMMON, "(1 << 20)) >> 21", "(1 << 19)) >> 21", ("yuv420p", PLANES), false),
    Mutant("clamp", COMMON, ">> 21, 0, 255)", ">> 21, 1, 255)", ("yuv420p", PLANES), false),
    Mutant("siting", PLANES, "4 * field - siting.s1", "4 * field - siting.s0", ("yuv420p", PLANES), false),
    Mutant("range", PLANES, "first - matrix.s1", "first - 256", ("yuv420p", PLANES), false),
    Mutant("alpha", PLANES, "a = 255;", "a = 254;", ("yuv420p", PLANES), false),
    Mutant(
        "pixel",
        PLANES,
        "STORE(dst, width, x + i, y, pixel);",
        "STORE(dst, width, x + i, y, x + i == 61 && y == 33 ? (uchar4)(1, 2, 3, 255) : pixel);",
        ("yuv420p", PLANES),
        false,
    ),
    Mutant("shift", PLANES, "(stored >> bits.s0)", "(stored >> (bits.s0 & 1))", ("p010le", PLANES), true),
    Mutant(
        "layout",
        PLANES,
        "const int row0 = y, row1 = y,",
        "const int row0 = HALF_X ? max(y - 1, 0) : y, row1 = y,",
        ("yuv422p", PLANES),
        true,
    ),
    Mutant("weights", ROWS, "(2 + siting) * middle", "(3 + siting) * middle", FILTERED, false),
    Mutant("last", ROWS, "min(16, width - x)", "min(16, width - x) - (width > 60)", FILTERED, false),
    Mutant("saturation", COMMON, "(1 << 11)) >> 12", "(1 << 10)) >> 12", ("rgba", CORRECT), false),
    Mutant("column", CORRECT, "x >= width", "x >= width - (width > 60)", ("rgba", CORRECT), false),
    Mutant("this size", CORRECT, "x >= width", "x >= width - (width == 70)", ("rgba", CORRECT), false),
];

pub fn mutant(name: &str) -> &'static Mutant {
    MUTANTS.iter().find(|mutant| mutant.0 == name).unwrap()
}

/// Returns a folder with the modified kernel file.
pub fn kernels(mutant: &Mutant, test: &str) -> Folder {
    let folder = Folder::new(&format!("conversions-{test}-{}", mutant.0));
    plant(mutant, &folder);
    folder
}

/// Writes the modified kernel file to a folder.
pub fn plant(&Mutant(name, file, from, to, ..): &Mutant, folder: &Folder) {
    let text = kernel(file);
    assert!(text.contains(from), "{name}: '{from}' is not in {file}");
    folder.with(file, text.replacen(from, to, 1));
}

pub const SIZE: (u32, u32) = (70, 46);

/// Writes a movie in 4:2:0.
pub fn small_movie(folder: &Folder) -> PathBuf {
    folder.movie("m.mkv", &Movie { format: Pixel::YUV420P, size: SIZE, ..Movie::default() })
}

/// A statement at the start of a kernel that makes all its work-items loop for ever: an odd number is never 0. Compilers remove a
/// loop without volatile accesses, and rusticl's one whose result is not used.
pub const ENDLESS_LOOP: &str = "{ volatile uint odd = 1; while (odd) odd += 2; if (odd) return; }";
/// The timeout for kernels in seconds: long enough for a busy machine.
pub const TIMEOUT_S: &str = "12";

/// Returns a folder with a kernel file whose first kernel never ends.
pub fn endless_kernel(file: &str, test: &str) -> Folder {
    let folder = Folder::new(&format!("conversions-endless-{test}"));
    folder.with(file, with_first_statement(&kernel(file), ENDLESS_LOOP));
    folder
}

/// Returns the text of a kernel file with a statement at the start of its first kernel.
pub fn with_first_statement(text: &str, statement: &str) -> String {
    let kernel = text.find("__kernel").unwrap();
    let body = kernel + text[kernel..].find('{').unwrap() + 1;
    format!("{} {statement} {}", &text[..body], &text[body..])
}

pub fn as_gpu() -> Vec<(String, std::ffi::OsString)> {
    layer::environment(&[("FAKE_GPU", "1")])
}

/// Takes a snapshot of a movie; returns the picture and stderr.
pub fn take_snapshot(
    (folder, movie): (&Folder, &Path),
    changed: Option<&Folder>,
    gpu: bool,
    variant: &str,
) -> (Picture, String) {
    let out = folder.file("shot.png");
    let mut command = clreel(None);
    command.arg("snapshot").arg(movie).args(["--at", "0.04", "--variant", variant, "--radius", "2"]);
    command.args(["--kernel-timeout", TIMEOUT_S, "--device", if gpu { "gpu" } else { "cpu" }]);
    command.envs(changed.map(|changed| ("CLREEL_KERNELS", changed)));
    let stderr = succeed(command.envs(gpu.then(as_gpu).into_iter().flatten()).arg("--out").arg(&out));
    (png(&out), stderr)
}
