//! The environment: the only place where it is read. In: the name of a variable. Out: its value. `clreel help environment`
//! prints the table.

use std::ffi::OsString;
use std::fmt::Write as _;

/// A variable of the environment.
struct Variable {
    name: &'static str,
    /// What holds where it is not set; empty where nothing does.
    default: &'static str,
    /// What it means.
    means: &'static str,
}

const fn variable(name: &'static str, default: &'static str, means: &'static str) -> Variable {
    Variable { name, default, means }
}

/// Those of clreel's own.
const OWN: &[Variable] = &[
    variable(
        "CLREEL_BINARIES",
        "for the window and for snapshot",
        "Whether programs are kept as the driver compiled them: 0 keeps and uses none, 1 does so for all commands.",
    ),
    variable("CLREEL_CLIP", "the clip beside the program", "The movie that plays where no file is named."),
    variable(
        "CLREEL_DRIVER_TIMEOUT",
        "10, more on a busy machine",
        "Seconds that an OpenCL driver may take to answer before it is left out.",
    ),
    variable("CLREEL_GL", "glx", "The way to OpenGL that is tried first, as --gl names it: glx or egl."),
    variable(
        "CLREEL_KERNELS",
        "the kernels that are built in",
        "A folder of kernel files, laid out as kernels/ is, that take the place of those of the same name; empty: none. --kernels is its other name.",
    ),
    variable("CLREEL_MOVIE_TIMEOUT", "30", "Seconds that reading from a movie's file may take."),
    variable(
        "CLREEL_SETTINGS",
        "clreel/settings.json among the user's configuration",
        "The file of the window's settings; empty: nothing is remembered.",
    ),
    variable(
        "CLREEL_SKIP_PLATFORMS",
        "none",
        "Parts of names of OpenCL platforms or drivers to leave out, separated by commas, as --skip-platform does.",
    ),
];

/// Those that are there for tests.
const HOOKS: &[Variable] = &[
    variable(
        "CLREEL_CHECK_CASES",
        "all",
        "The conversions that a check in the window tries, separated by commas, as in int_sat_rte_float.",
    ),
    variable(
        "CLREEL_QUEUES",
        "2 on a graphics card, 1 on a CPU",
        "How many OpenCL queues frames take: 2 have uploads on one of their own.",
    ),
    variable(
        "CLREEL_TEXTS",
        "none",
        "A file that the texts of the overlay are written to, with their places.",
    ),
    variable(
        "CLREEL_TUNE_VARIANTS",
        "all that are worth it",
        "The variants that a search in the window tries, separated by commas.",
    ),
];

/// Those of others that clreel reads, too.
const OTHERS: &[Variable] = &[
    variable("DBUS_SESSION_BUS_ADDRESS", "", "Where the desktop's dialog for files is asked for."),
    variable("DISPLAY", "", "The X server; one of this and WAYLAND_DISPLAY is needed for a window."),
    variable("HOME", "", "The user's folder: settings, caches, and `~/` in a path that is typed."),
    variable("LD_LIBRARY_PATH", "", "Where libOpenCL may come from; looked at where no device is found."),
    variable(
        "OCL_ICD_FILENAMES",
        "",
        "OpenCL drivers beyond those that are registered, separated by colons.",
    ),
    variable("OCL_ICD_VENDORS", "none", "The place of OpenCL drivers instead of OPENCL_VENDOR_PATH."),
    variable(
        "OPENCL_LAYERS",
        "",
        "Layers between programs and drivers: what is known of sharing holds for them alone.",
    ),
    variable("OPENCL_VENDOR_PATH", "/etc/OpenCL/vendors", "Where OpenCL drivers are registered."),
    variable(
        "PATH",
        "",
        "Where zenity (a dialog for files), fc-match (fonts), Oclgrind and objdump are looked for.",
    ),
    variable("POCL_AFFINITY", "1 where all cores are allowed", "Whether PoCL's threads keep to a core each."),
    variable(
        "POCL_CACHE_DIR",
        "PoCL's own",
        "Where PoCL keeps its kernels; another folder where it cannot be written to.",
    ),
    variable("TMPDIR", "/tmp", "The folder for temporary files."),
    variable("WAYLAND_DISPLAY", "", "The Wayland compositor."),
    variable(
        "XDG_CACHE_HOME",
        "~/.cache",
        "Where caches are kept: programs, tuning, and whether devices share textures.",
    ),
    variable(
        "XDG_CONFIG_HOME",
        "~/.config",
        "Where the settings and the names of the user's folders are kept.",
    ),
    variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share", "Where the desktop's services are registered."),
    variable(
        "XDG_RUNTIME_DIR",
        "the folder for temporary files",
        "Where files lie that go with the process.",
    ),
    variable("__GLX_VENDOR_LIBRARY_NAME", "", "The driver of OpenGL under X11."),
    variable("__GL_YIELD", "USLEEP", "How NVIDIA's OpenGL waits."),
];

/// The value of a variable; `None` where it is not set.
pub fn get(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The same as text; `None` also where it is none.
pub fn text(name: &str) -> Option<String> {
    get(name)?.into_string().ok()
}

/// The same as a number of seconds; `None` also where it is none.
pub fn seconds(name: &str) -> Option<f64> {
    text(name)?.trim().parse().ok()
}

/// The tables in words.
pub fn help() -> String {
    let mut help = String::new();
    for (title, variables) in [
        ("clreel's own:", OWN),
        ("For tests; they may change:", HOOKS),
        ("Of others, which clreel heeds, too:", OTHERS),
    ] {
        let _ = writeln!(help, "{title}");
        for variable in variables {
            let _ = write!(help, "  {}\n      {}", variable.name, variable.means);
            if !variable.default.is_empty() {
                let _ = write!(help, " [default: {}]", variable.default);
            }
            help.push('\n');
        }
        help.push('\n');
    }
    help.truncate(help.trim_end().len());
    help
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Every file of the source below `folder`, as its path and its text.
    fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }

    /// The names in quotes that are written like a variable of clreel's; where the environment is asked, those that are
    /// written like any variable, whether they stand in the call, in a constant or in a list.
    fn names(text: &str) -> BTreeSet<String> {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let asks = code.contains("environment::");
        let is_name = |name: &str| {
            let letters = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            // The last is a value of one.
            letters && name.len() > 3 && name != "USLEEP"
        };
        let mut parts = code.split('"');
        let mut names = BTreeSet::new();
        while let (Some(before), Some(name)) = (parts.next(), parts.next()) {
            // What the compiler reads, what clap shows, and what names are looked through for.
            let other = ["env!(", "value_name = ", "contains("].iter().any(|way| before.ends_with(way));
            if is_name(name) && !other && (asks || name.starts_with("CLREEL_")) {
                names.insert(name.to_owned());
            }
        }
        names
    }

    #[test]
    fn the_environment_is_read_here_and_every_variable_is_told() {
        let told: BTreeSet<String> =
            [OWN, HOOKS, OTHERS].into_iter().flatten().map(|variable| variable.name.to_owned()).collect();
        let mut files = Vec::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        sources(&root.join("src"), &mut files);
        for entry in std::fs::read_dir(root.join("crates")).unwrap() {
            let path = entry.unwrap().path();
            // That is the tests'.
            if !path.ends_with("testkit") {
                sources(&path.join("src"), &mut files);
            }
        }
        let mut read = BTreeSet::new();
        for (path, text) in files.iter().filter(|(path, _)| !path.ends_with("base/src/environment.rs")) {
            for way in ["env::var(", "env::var_os(", "env::vars(", "env::vars_os(", "env::home_dir("] {
                assert!(
                    !text.contains(way),
                    "{path}: {way}…): the environment is read in crates/base/src/environment.rs"
                );
            }
            read.extend(names(text));
        }
        let untold: Vec<_> = read.difference(&told).collect();
        assert!(untold.is_empty(), "not told: {untold:?}");
        let own = told.iter().filter(|name| name.starts_with("CLREEL_"));
        assert!(own.clone().all(|name| read.contains(name)), "told, and nobody reads it: {own:?} {read:?}");
        assert_eq!(
            names("get(\"CLREEL_A\"); environment::text(\"HOME\"); \"XDG\""),
            names("\"CLREEL_A\" environment::get(\"HOME\")")
        );
        let constant = "use crate::environment::get; const V: &str = \"TERM_X\"; env!(\"OUT_DIR\"); get(V)";
        assert_eq!(names(constant), ["TERM_X".to_owned()].into());
    }
}
