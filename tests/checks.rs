//! Tests of the tests and of the scripts that measure: each plants a fault in what a check reads, and asserts that the check
//! notices it. Programs that a script starts are shell scripts here; neither a device nor a display is needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::*;
use crate::mutants;
use crate::mutants::trial::Tools;
use clap::Parser as _;
use serde_json::json;
use testkit::programs;

/// Returns the path of a file of the repository.
fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder with programs that take the place of others, and copies of scripts.
struct Fakes(Folder);

impl Fakes {
    /// Creates a folder whose programs hide those of the system; no other test may use the same name.
    fn new(name: &str) -> Self {
        let fakes = Self(Folder::new(&format!("checks-{name}")));
        std::fs::create_dir_all(fakes.0.file("bin")).unwrap();
        fakes
    }

    /// Adds or replaces a program by a shell script. Links instead of new files, since a file that another thread's child process has
    /// still open cannot be executed.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        self.0.with(&format!("scripts/{name}.sh"), script.as_bytes());
        let path = self.0.file(&format!("bin/{name}"));
        if !path.exists() {
            std::os::unix::fs::symlink(root("tests/checks/fake"), &path).unwrap();
        }
        path
    }

    /// Copies scripts of the repository to the same places in this folder, so that they find its files instead of the repository's.
    fn copy(&self, scripts: &[&str]) {
        for script in scripts {
            let to = self.0.file(script);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(root(script), to).unwrap();
        }
    }

    /// Writes an executable script in the place of `./dev`.
    fn with_dev(&self, script: &str) {
        let dev = self.0.with("dev", script);
        std::fs::set_permissions(dev, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Returns the command of a script of this folder or of the repository. It is read by bash, for the reason of [`Self::program`].
    fn script(&self, path: &Path) -> Command {
        let mut command = Command::new("bash");
        command.arg(path).env_clear().env("FAKES", self.0.file("scripts")).env("HOME", self.0.file("home"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.0.file("bin").display()));
        command.current_dir(self.0.file("."));
        command
    }

    /// Returns the command of a script in Python of this folder or of the repository.
    fn python(&self, path: &str) -> Command {
        let own = self.0.file(path);
        let mut command = Command::new("python3");
        command.env("FAKES", self.0.file("scripts")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(if own.exists() { own } else { root(path) });
        command
    }

    /// Runs a copied script; returns true if its exit code is 0, and all that it printed.
    fn run(&self, script: &str, arguments: &[&str]) -> (bool, String) {
        finish(self.script(&self.0.file(script)).args(arguments))
    }
}

/// Runs a command to its end; returns true if its exit code is 0, and all that it printed, stdout last.
fn finish(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    (output.status.success(), text(&output.stderr) + &text(&output.stdout))
}

/// Returns the last line of a script's output.
fn last_line(printed: &str) -> &str {
    printed.lines().last().unwrap_or_default()
}

// ---------------------------------------------------------------------------------------------------- ./dev test

/// Returns the message that cargo prints of a test binary.
fn artifact(fakes: &Fakes, name: &str) -> String {
    let (manifest, executable) = (fakes.0.file("Cargo.toml"), fakes.0.file(&format!("bin/{name}")));
    // In cargo's order.
    let profile = r#""profile":{"opt_level":"3","test":true},"features":[]"#;
    let begin = r#""reason":"compiler-artifact""#;
    format!("{{{begin},\"manifest_path\":{manifest:?},{profile},\"executable\":{executable:?}}}\n")
}

/// Returns a folder with `dev` and test binaries that the scripts describe: what it does with `--list`, and without.
fn dev(name: &str, binaries: &[(&str, &str)]) -> Fakes {
    let fakes = Fakes::new(name);
    fakes.copy(&["dev"]);
    fakes.0.with("Cargo.toml", b"rust-version = \"1.0\"\n");
    fakes.program("rustc", "echo 'rustc 1.99.0'");
    fakes.program("dpkg-query", "printf 'installed '");
    fakes.program("apt-get", "exit 1");
    // More follows what `dev` looks for, as from the real program.
    let candidate = "case $2 in oclgrind) echo '  Candidate: (none)' ;; *) echo '  Candidate: 1' ;; esac";
    fakes.program("apt-cache", &format!("{candidate}; sleep 0.05; echo '  Version table:'"));
    let mut artifacts = String::new();
    for (n, (list, run)) in binaries.iter().enumerate() {
        let name = format!("unit-{n}");
        let begins = "printf '\\nrunning 2 tests\\n'";
        fakes.program(&name, &format!("case \"$*\" in *--list*) {list} ;; *) {begins}; {run} ;; esac"));
        artifacts += &artifact(&fakes, &name);
    }
    fakes.0.with("artifacts", artifacts.as_bytes());
    fakes.program("cargo", "case \"$*\" in *--no-run*) cat artifacts ;; esac");
    fakes
}

const LIST: &str = "printf 'one: test\\ntwo: test\\n'";
const PASS: &str = "printf 'test one ... ok <0.1s>\\ntest two ... ok <0.1s>\\n\\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\\n'";

#[test]
fn dev_test_counts_what_passed_failed_and_was_skipped() {
    let ignored = "echo 'test three ... ignored, in --all'; echo 'test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured'";
    let fakes = dev("dev-right", &[(LIST, PASS), ("printf 'three: test\\n'", ignored)]);
    let (passed, printed) = fakes.run("dev", &["test"]);
    assert!(passed && printed.contains("three: in --all"), "{printed}");
    assert_eq!(last_line(&printed), "dev: 2 passed, 0 failed, 1 skipped");
}

#[test]
fn dev_test_notices_processes_that_fail() {
    let result = |counts: &str| format!("echo 'test result: {counts}; 0 ignored; 0 measured'");
    let one_failed = result("FAILED. 1 passed; 1 failed");
    let fewer = format!("echo 'test one ... ok'; {}", result("ok. 1 passed; 0 failed"));
    let behind = format!("printf 'test one ... test two ... FAILED <1s>\\n'; {one_failed}; exit 101");
    let only_listed = format!("printf 'failures:\\n    two\\n\\n'; {one_failed}; exit 101");
    for (name, list, run, reason) in [
        ("not-listed", "exit 1", PASS, "could not be listed"),
        ("killed-in-list", &*format!("{LIST}; kill -9 $$"), PASS, "could not be listed"),
        ("crash-after", LIST, &*format!("{PASS}; kill -SEGV $$"), "ended with 139 after its tests"),
        ("exit-after", LIST, &format!("{PASS}; exit 1"), "ended with 1 after its tests"),
        ("crash-before", LIST, "echo 'test one ... ok'; kill -SEGV $$", "ended with 139 before"),
        ("ends-early", LIST, "echo 'test one ... ok'", "before all of its tests"),
        ("fewer", LIST, &fewer, "1 results of 2"),
        ("behind", LIST, &behind, "two"),
        ("only-listed", LIST, &only_listed, "two"),
        ("unnamed", LIST, &format!("{one_failed}; exit 101"), "0 names of 1 failed tests"),
        ("exit-0", LIST, &format!("echo 'test two ... FAILED'; {one_failed}"), "two"),
    ] {
        let fakes = dev(&format!("dev-{name}"), &[(LIST, PASS), (list, run)]);
        let (passed, printed) = fakes.run("dev", &["test"]);
        assert!(!passed && printed.contains(reason), "{name}: {printed}");
        let counts = last_line(&printed);
        assert!(!counts.contains(" 0 failed") && counts.contains(" passed, "), "{name}: {printed}");
    }
    let fakes = dev("dev-none", &[("true", PASS)]);
    let (passed, printed) = fakes.run("dev", &["test", "no_such_name"]);
    assert!(!passed && printed.contains("no test has such a name"), "{printed}");
    // Messages of another form: a binary would be left out.
    let fakes = dev("dev-form", &[(LIST, PASS)]);
    let other = artifact(&fakes, "unit-0").replace("\"executable\":\"", "\"executable\": \"");
    fakes.0.with("artifacts", other.as_bytes());
    let (passed, printed) = fakes.run("dev", &["test"]);
    assert!(!passed && printed.contains("were not found"), "{printed}");
}

#[test]
fn dev_test_counts_missing_programs_and_refuses_them_with_ci() {
    let skip = |package: &str| {
        format!("printf 'one\\t{package}\\t{package} is not installed\\n' >> \"$CLREEL_SKIPS\"; {PASS}")
    };
    for (package, ci, passes) in [("sway", false, true), ("oclgrind", true, true), ("sway", true, false)] {
        let fakes = dev(&format!("dev-skip-{package}-{ci}"), &[(LIST, &skip(package))]);
        let mut command = fakes.script(&fakes.0.file("dev"));
        if ci {
            command.env("CI", "true");
        }
        let (passed, printed) = finish(command.arg("test"));
        assert_eq!(passed, passes, "{package}, CI {ci}: {printed}");
        assert!(printed.contains(&format!("skipped: one: {package} is not installed")), "{printed}");
        let failed = u32::from(!passes);
        assert_eq!(last_line(&printed), format!("dev: 1 passed, {failed} failed, 1 skipped"));
    }
}

/// `cargo-nextest` is there, and a test fails: the mutants are tried all the same.
#[test]
fn dev_test_all_with_nextest_reaches_the_mutants() {
    for (summary, code) in
        [("2 tests run: 2 passed, 1 skipped", 0), ("2 tests run: 1 passed, 1 failed, 1 skipped", 100)]
    {
        let fakes = dev(&format!("dev-nextest-{code}"), &[]);
        fakes.program("cargo-nextest", "true");
        let script = format!(
            "case \"$*\" in nextest*) echo \"$*\"; echo '     Summary [   0.1s] {summary}'; exit {code} ;; *mutants*) echo MUTANTS ;; esac"
        );
        fakes.program("cargo", &script);
        let (passed, printed) = fakes.run("dev", &["test", "--all"]);
        assert_eq!(passed, code == 0, "{printed}");
        assert!(printed.contains("--run-ignored all") && printed.contains("MUTANTS"), "{printed}");
        let counts = if code == 0 { "2 passed, 0 failed" } else { "1 passed, 1 failed" };
        assert_eq!(last_line(&printed), format!("dev: {counts}, 0 skipped"));
    }
}

#[test]
fn dev_check_reads_all_workspaces() {
    let other = ["fuzz/Cargo.toml", "tests/peers/libblur/Cargo.toml"];
    let mut found = Vec::new();
    for folder in ["crates", "fuzz", "tests"] {
        files_below(&root(folder), &mut found);
    }
    let is_workspace = |path: &PathBuf| {
        let text = || std::fs::read_to_string(path).unwrap();
        path.ends_with("Cargo.toml") && text().lines().any(|line| line == "[workspace]")
    };
    found.retain(is_workspace);
    found.sort();
    assert_eq!(found, other.map(root), "dev lists the workspaces of their own");
    for wrong in [
        "fmt --check --manifest-path Cargo.toml",
        "fmt --check --manifest-path fuzz/",
        "fmt --check --manifest-path tests/peers/libblur/",
        "clippy --release --locked --manifest-path fuzz/",
    ] {
        let fakes = dev("dev-check", &[]);
        fakes.program("cargo", &format!("case \"$*\" in *\"{wrong}\"*) exit 1 ;; esac"));
        let (passed, printed) = fakes.run("dev", &["check"]);
        assert!(!passed, "{wrong}: {printed}");
    }
}

/// Names of tests in scripts: cargo runs no test, and says that all is well.
#[test]
fn a_name_that_no_test_has_is_a_failure() {
    for (counts, passes) in [("0 passed; 0 failed", false), ("1 passed; 0 failed", true)] {
        let fakes = dev("dev-soak", &[]);
        fakes.copy(&["tests/edits"]);
        fakes.0.with("assets/clip.mp4", b"");
        fakes.program("cargo", &format!("echo 'test result: ok. {counts}; 0 ignored'"));
        for (script, arguments) in [("dev", &["soak"][..]), ("tests/edits", &[])] {
            let (passed, printed) = fakes.run(script, arguments);
            assert_eq!(passed, passes, "{script}: {printed}");
        }
        let (passed, printed) = fakes.run("dev", &["soak", "--actions", "1"]);
        assert!(!passed && printed.contains("too small"), "{printed}");
    }
    let [clreel, work, compiled] = ["", "", "compiled"].map(PathBuf::from);
    let (witness, as_gpu, kernels) = (Vec::new(), Vec::new(), root("kernels"));
    let tools = Tools { clreel, witness, as_gpu, kernels, work, compiled };
    for wrong in [
        &["--file", "no-such-file"][..],
        &["--operator", "boudn"],
        &["--number", "1,99999"],
        &["--list", "--file", "x/y"],
    ] {
        let arguments = mutants::Args::parse_from([&["mutants"], wrong].concat());
        assert!(mutants::main(&arguments, &tools).is_err(), "{wrong:?}");
    }
    assert!(!mutants::is_good(&[]), "no mutant was tried");
}

// ------------------------------------------------------------------------------------------ scripts that measure

/// Returns statistics as clreel writes them, with metadata and `rows` frames, without the column `left_out`.
fn statistics(rows: usize, left_out: &str) -> String {
    let golden = std::fs::read_to_string(root("tests/goldens/csv/stats.txt")).unwrap();
    let columns: Vec<_> = golden.lines().filter(|column| *column != left_out).collect();
    let mut text = format!("# program: clreel\n# host: a, b\n{}\n", columns.join(","));
    for row in 0..rows {
        let cell =
            |column: &&str| if column.starts_with("gl_") { String::new() } else { format!("{}.5", row % 7) };
        text += &(columns.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

#[test]
fn gpu_window_fails_without_times_of_stages() {
    let fakes = Fakes::new("gpu-window");
    let stages = |csv: &str| {
        let path = fakes.0.with("s.csv", csv.as_bytes());
        finish(fakes.script(&root("tests/gpu-window")).arg("--stages").arg(path))
    };
    let (passed, printed) = stages(&statistics(60, ""));
    let has_times = printed.contains(" filter 3.500/6.500");
    assert!(passed && has_times && printed.contains("up to 40 frames"), "{printed}");
    let whole = statistics(60, "");
    let without_times =
        whole.lines().map(|line| if line.contains(".5") { "," } else { line }.to_owned() + "\n").collect();
    for (csv, reason) in [
        (statistics(60, "filter"), "no column filter"),
        (statistics(15, ""), "15 frames"),
        (String::new(), "no header"),
        ("# program: clreel\n".to_owned(), "no header"),
        (without_times, "no frame has a time of a stage"),
    ] {
        let (passed, printed) = stages(&csv);
        assert!(!passed && printed.contains(reason), "{printed}");
    }
    // The whole script, with a program that writes these files.
    let script = "while [ $# -gt 0 ]; do case $1 in --stats) case $2 in *.csv) cat \"$FAKES/$STATS.csv\" ;; *) echo '\"sharing\": \"shared\"' ;; esac \
                  > \"$2\" ;; --save-frame | --out) echo picture > \"$2\" ;; esac; shift; done";
    let clreel = fakes.program("clreel", &format!("STATS=now; {script}"));
    let earlier = fakes.program("earlier", &format!("STATS=earlier; {script}"));
    let run = |variants: &str, earlier_csv: &str, movies: &[&str]| {
        fakes.0.with("scripts/now.csv", statistics(60, "").as_bytes());
        fakes.0.with("scripts/earlier.csv", earlier_csv.as_bytes());
        let mut command = fakes.script(&root("tests/gpu-window"));
        command.envs([("TIMED", "off"), ("TURNS", "1"), ("RADII", "1"), ("VARIANTS", variants)]);
        finish(command.arg(&clreel).arg("--against").arg(&earlier).args(movies))
    };
    let (passed, printed) = run("off", &statistics(60, ""), &["m.mp4"]);
    assert!(passed && printed.contains("x1.00") && printed.contains("2 pictures compared"), "{printed}");
    assert!(!run("off", &statistics(15, ""), &["m.mp4"]).0, "the earlier build has too few frames");
    assert!(!run("off", &statistics(60, ""), &[]).0, "no movie");
    assert!(!run(" ", &statistics(60, ""), &["m.mp4"]).0, "no picture is compared");
}

#[test]
fn compare_mpv_fails_for_a_film_with_too_few_frames() {
    if !programs::has(&["python3"]) {
        return;
    }
    let fakes = Fakes::new("compare-mpv");
    fakes.program("Xvfb", "echo 5 >&3; exec sleep 60");
    fakes.program("pulseaudio", "true");
    let movie = fakes.0.with("m.mp4", b"");
    let clreel = |told: &str| {
        let script = format!(
            "while [ $# -gt 0 ]; do if [ \"$1\" = --stats ]; then echo '{told}' > \"$2\"; fi; shift; done"
        );
        fakes.program("clreel", &script)
    };
    let run = |mpv: &str, told: &str| {
        fakes.program("mpv", &format!("echo '[drops] {mpv}'"));
        let mut command = fakes.script(&root("tests/compare-mpv"));
        command.envs([("FRAMES", "200"), ("ROUNDS", "1"), ("SOUND", "no")]).env("CLREEL", clreel(told));
        finish(command.arg(&movie))
    };
    let whole = r#"{"presented": 199, "dropped": 1}"#;
    let (passed, printed) = run("last-frame=199 frames-dropped=0", whole);
    assert!(passed && printed.contains("median ratio"), "{printed}");
    for (mpv, told, reason) in [
        ("last-frame=24 frames-dropped=0", whole, "mpv played 25 of 200 frames"),
        ("frames-dropped=0", whole, "mpv did not tell its frames"),
        ("last-frame=199 frames-dropped=0", r#"{"presented": 25, "dropped": 0}"#, "clreel played 25 of 200"),
        ("last-frame=199 frames-dropped=0", r#"{"presented": null}"#, "clreel did not tell"),
        ("last-frame=199 frames-dropped=200", whole, "mpv played 200 of 200"),
    ] {
        let (passed, printed) = run(mpv, told);
        assert!(!passed && printed.contains(reason), "{mpv} {told}: {printed}");
    }
}

/// The scripts in Python have checks of their own beside them.
#[test]
fn scripts_in_python_notice_planted_faults() {
    if !programs::has(&["python3"]) {
        return;
    }
    for script in ["tests/damaged_files/checks.py", "tests/peers/checks.py", "tests/sound/checks.py"] {
        let (passed, printed) = finish(Command::new("python3").arg(root(script)));
        let ran = last_line(&printed) == "OK" && !printed.contains("Ran 0 tests");
        assert!(passed && ran, "{script}: {printed}");
    }
}

#[test]
fn the_chart_of_conversions_needs_what_host_and_device_did() {
    if !programs::has(&["python3"]) {
        return;
    }
    let fakes = Fakes::new("traces");
    let script = "while [ $# -gt 0 ]; do if [ \"$1\" = --trace ]; then cat \"$FAKES/trace.json\" > \"$2\"; fi; shift; done";
    let clreel = fakes.program("clreel", script);
    let draw = |names: &[&str]| {
        let event = |(n, name): (usize, &&str)| json!({ "ph": "X", "name": name, "tid": 1, "ts": n * 1000, "dur": 900 });
        let trace = json!({ "traceEvents": names.iter().enumerate().map(event).collect::<Vec<_>>() });
        fakes.0.with("scripts/trace.json", trace.to_string().as_bytes());
        finish(fakes.python("tests/conformance/traces.py").arg(&clreel).args(["cpu", "1000"]))
    };
    let (passed, printed) = draw(&["numbers and reference", "write", "convert", "read", "compare"]);
    assert!(passed && printed.contains("</svg>"), "{printed}");
    for (names, reason) in [
        (&["numbers and reference", "read", "compare"][..], "has no 'convert'"),
        (&["numbers and reference", "convert"], "has no 'compare'"),
        (&["convert", "compare"], "0 of 1 parts"),
    ] {
        let (passed, printed) = draw(names);
        assert!(!passed && printed.contains(reason), "{printed}");
    }
}

/// Libraries of `./dev peers` whose answers are wrong.
#[test]
fn a_library_without_frames_or_times_has_no_result() {
    if !programs::has(&["python3"]) {
        return;
    }
    let fakes = Fakes::new("contender");
    let library = "import contender\n\
                   class Library:\n\
                   \x20   names = ['a']\n\
                   \x20   def open(self, path, height, width): self.all = contender.frames(path, 4 * height * width)\n\
                   \x20   def run(self, name, radius, frame): return (frame * 5, frame * 5)\n\
                   contender.serve(Library)\n";
    fakes.0.with("library.py", library.as_bytes());
    let answers = |bytes: usize, frame: u32| {
        let path = fakes.0.with("frames", vec![0; bytes]);
        let requests = format!("open {} 2 1\nrun a 1 {frame} 0\n", path.display());
        let path = fakes.0.with("requests", requests.as_bytes());
        let mut command = fakes.python("library.py");
        command.env("PYTHONPATH", root("tests/peers")).stdin(std::fs::File::open(path).unwrap());
        finish(&mut command).1
    };
    assert_eq!(answers(16, 1), "ok a\nok 5 5\n");
    assert!(answers(15, 1).starts_with("no 15 bytes are no frames of 8\n"));
    assert!(answers(0, 1).starts_with("no 0 bytes"));
    assert_eq!(answers(16, 0), "ok a\nno a run took 0 ns, 0 ns on the device\n");
}

// ------------------------------------------------------------------------------------------- drivers and systems

/// Returns a folder with `tests/drivers/run`, whose groups print `tests` and `conformance`, and end with these codes.
fn drivers(name: &str, tests: (&str, u8), conformance: (&str, u8)) -> Fakes {
    let fakes = Fakes::new(name);
    fakes.copy(&["tests/drivers/run", ".ci/system.sh"]);
    fakes.0.with("tests/drivers/known_failures.txt", b"pocl parity known_* why\n");
    fakes.0.with("log", tests.0.as_bytes());
    fakes.0.with("conformance", conformance.0.as_bytes());
    // Instead of ./dev, whose first argument is `test`.
    let begins = "#!/bin/sh\ncase \"$*\" in *--no-run*) exit 0 ;; esac\n. ./parts\ncat log; exit";
    fakes.with_dev(&format!("{begins} {}\n", tests.1));
    // The names of tests are parts of others: each has a result.
    fakes.0.with("parts", b"shift 2; for part in \"$@\"; do case $part in -p | clreel | box-filter) ;; *) echo \"test $part ... ok\" ;; esac; done\n");
    let (begins, ends) = ("*conformance*) cat conformance; exit", "*) echo ' \"driver\": \"1\",' ;; esac");
    fakes.program("cargo", &format!("case \"$*\" in {begins} {} ;; {ends}", conformance.1));
    fakes
}

#[test]
fn drivers_run_notices_crashes_and_groups_without_a_pass() {
    let summary = "dev: 9 passed, 0 failed, 0 skipped\n";
    let all_ok = "\"case\": \"a_b\"\n\"outcome\": \"ok\"\n\"complete\": true\n";
    let known = "test known_one ... FAILED\n\ndev: 8 passed, 1 failed, 0 skipped\n";
    let crash = "test known_one ... FAILED\ndev: failed processes:\n  box-filter parity: ended with 139 after its tests\ndev: 8 passed, 2 failed, 0 skipped\n";
    let nextest = "  SIGSEGV [   0.1s] box-filter::main parity::other\ndev: 8 passed, 1 failed, 0 skipped\n";
    let differs = "\"case\": \"a_b\"\n\"outcome\": \"mismatch\"\n\"case\": \"c\"\n\"outcome\": \"ok\"\n\"complete\": true\n";
    let plants = [
        ("right", (summary, 0), (all_ok, 0), ""),
        ("crash", (crash, 1), (all_ok, 0), "process: box-filter parity: ended with 139"),
        ("nextest", (nextest, 1), (all_ok, 0), "parity::other"),
        ("no-summary", ("", 1), (all_ok, 0), "summary: ended with 1"),
        ("timeout", ("", 124), (all_ok, 0), "summary: ended with 124"),
        ("unsupported", (summary, 0), (&*all_ok.replace("ok", "unsupported"), 0), "nothing passed"),
        ("empty", (summary, 0), ("\"complete\": true\n", 0), "nothing passed"),
        ("differs", (summary, 0), (differs, 3), "failed: a_b"),
        ("killed", (summary, 0), (all_ok, 139), "exit-code-139"),
    ];
    for (name, tests, conformance, reason) in plants {
        let fakes = drivers(&format!("drivers-{name}"), tests, conformance);
        let (passed, printed) = fakes.run("tests/drivers/run", &["--here", "pocl"]);
        assert_eq!(passed, reason.is_empty(), "{name}: {printed}");
        assert!(printed.contains(reason), "{name}: {printed}");
    }
    // In other groups the failure is not known.
    let fakes = drivers("drivers-known", (known, 1), (all_ok, 0));
    let (passed, printed) = fakes.run("tests/drivers/run", &["--here", "pocl"]);
    assert!(!passed && printed.contains("1 known failures"), "{printed}");
}

#[test]
fn the_matrix_fails_if_a_system_cannot_be_installed() {
    let run = |name: &str, debootstrap: &str, suites: &[&str], work: &str| {
        let fakes = Fakes::new(&format!("matrix-{name}"));
        fakes.copy(&[".ci/matrix", ".ci/system.sh"]);
        let keys = fakes.0.with("keys", b"");
        let row = |suite: &&str| format!("{suite} {suite} http://localhost {}\n", keys.display());
        fakes.0.with(".ci/matrix.txt", ["a", "b"].iter().map(row).collect::<String>().as_bytes());
        for suite in suites {
            fakes.0.with(&format!("debootstrap/scripts/{suite}"), b"");
        }
        fakes.0.with("Cargo.lock", b"");
        fakes.program("id", "echo 0");
        fakes.program("rustc", "echo /opt/rust");
        fakes.program("git", "case $1 in archive) cd \"$FAKES\" && tar -c . ;; esac");
        fakes.program("cargo", "exit 0");
        fakes.program("chroot", "true");
        fakes.program("debootstrap", debootstrap);
        // Both the installation and what runs in the system go through it.
        fakes.program("unshare", &format!("while [ \"$1\" != -- ]; do shift; done; shift; case $1 in debootstrap) \"$@\" ;; *) {work} ;; esac"));
        let mut command = fakes.script(&fakes.0.file(".ci/matrix"));
        command.env("DEBOOTSTRAP_DIR", fakes.0.file("debootstrap"));
        finish(command.env("SYSTEMS_DIR", fakes.0.file("systems")))
    };
    let install = "for last; do true; done; folder=$(echo \"$*\" | sed 's/.* \\([^ ]*\\) [^ ]*$/\\1/'); mkdir -p \"$folder/etc/apt/apt.conf.d\" \"$folder/etc/ssl/certs\"";
    let both = &["a", "b"][..];
    for (name, debootstrap, suites, work, passes, counts) in [
        ("right", install, both, "true", true, "2 passed, 0 failed, 0 skipped"),
        ("one", install, &["a"][..], "true", true, "1 passed, 0 failed, 1 skipped"),
        ("fails", "exit 1", both, "true", false, "0 passed, 2 failed, 0 skipped"),
        ("none", install, &[][..], "true", false, "0 passed, 0 failed, 2 skipped"),
        ("tests", install, both, "exit 101", false, "0 passed, 2 failed, 0 skipped"),
    ] {
        let (passed, printed) = run(name, debootstrap, suites, work);
        assert_eq!(passed, passes, "{name}: {printed}");
        assert!(printed.contains(&format!("matrix: {counts}")), "{name}: {printed}");
    }
}

#[test]
fn ci_run_fails_if_a_step_fails_or_counts_no_tests() {
    let counts = "mkdir -p target/dev-run; echo '3 passed, 0 failed, 0 skipped' > target/dev-run/summary";
    for (name, test, check, passes) in [
        ("right", counts, "true", true),
        ("no-counts", "true", "true", false),
        ("tests", "exit 1", "true", false),
        ("check", counts, "exit 1", false),
    ] {
        let fakes = Fakes::new(&format!("ci-{name}"));
        fakes.copy(&[".ci/run", ".ci/system.sh"]);
        fakes.with_dev(&format!("#!/bin/sh\ncase $1 in test) {test} ;; check) {check} ;; esac\n"));
        let (passed, printed) = fakes.run(".ci/run", &["--here"]);
        assert_eq!(passed, passes, "{name}: {printed}");
        let counts = printed.contains("./dev test (3 passed, 0 failed, 0 skipped)");
        assert_eq!(counts, passes, "{name}: {printed}");
        assert_eq!(printed.contains("== failed with 1"), !passes, "{name}: {printed}");
    }
}

// ----------------------------------------------------------------------------------------------------- the tests

/// Runs tests of this binary without any program in `PATH`.
#[test]
fn a_test_without_its_program_fails_or_is_counted() {
    let skips = Folder::new("checks-skips");
    let tests =
        ["wayland::", "work::formulas", "why::too_few", "check_kernels::a_hang", "checks::compare_mpv"];
    let run = |skips: Option<PathBuf>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(tests).env("PATH", "/nonexistent").env_remove("CLREEL_SKIPS");
        if let Some(skips) = skips {
            command.env("CLREEL_SKIPS", skips);
        }
        finish(&mut command)
    };
    let (passed, printed) = run(None);
    assert!(!passed && printed.contains("0 passed; 10 failed"), "{printed}");
    assert!(
        printed.contains("oclgrind is not installed") && printed.contains("wtype is not installed")
            || printed.contains("sway is not installed"),
        "{printed}"
    );
    let (passed, printed) = run(Some(skips.file("skips")));
    assert!(passed && printed.contains("10 passed"), "{printed}");
    let counted = std::fs::read_to_string(skips.file("skips")).unwrap();
    let mut names: Vec<_> = counted.lines().map(|line| line.split('\t').next().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 10, "{counted}");
}

#[test]
fn statistics_without_frames_are_a_failure() {
    let panics = |check: fn()| std::panic::catch_unwind(check).is_err();
    assert!(panics(|| drop(presented_frames(&json!({ "frames": [] })).to_vec())));
    assert!(panics(|| drop(presented_frames(&json!({})).to_vec())));
    assert!(panics(|| drop(stamps(&json!({ "frames": [] })))));
    assert_eq!(stamps(&json!({ "frames": [{ "pts_s": 0.04 }] })), [40]);
}

/// Adds the paths of the files below a folder.
pub fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Returns the goldens that no string literal in `sources` names; `{}` and `{name}` in a literal stand for anything.
fn unopened<'a>(goldens: &[&'a str], sources: &[String]) -> Vec<&'a str> {
    let literals: Vec<&str> =
        sources.iter().flat_map(|text| text.split('"')).filter(|part| part.len() < 100).collect();
    let is_named = |golden: &str| {
        literals.iter().map(|literal| literal.trim_start_matches("tests/goldens/")).any(|literal| {
            match literal.split_once('{') {
                Some((before, rest)) => {
                    let after = rest.split_once('}').map_or("", |(_, after)| after);
                    before.ends_with(['/', '-']) && golden.starts_with(before) && golden.ends_with(after)
                }
                None => literal == golden,
            }
        })
    };
    goldens.iter().filter(|golden| !is_named(golden)).copied().collect()
}

/// Goldens of the overlay and of the help are compared with the folder's files by their own tests.
#[test]
fn every_golden_is_opened_by_a_test() {
    let mut sources = Vec::new();
    for folder in ["tests", "src", "crates"] {
        files_below(&root(folder), &mut sources);
    }
    sources.retain(|path| {
        path.extension().is_some_and(|end| end == "rs" || end == "py") || path.ends_with("gpu-window")
    });
    sources.retain(|path| !path.ends_with("tests/checks.rs"));
    let sources: Vec<_> = sources.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let (folder, mut goldens) = (root("tests/goldens"), Vec::new());
    files_below(&folder, &mut goldens);
    let goldens: Vec<_> =
        goldens.iter().map(|path| path.strip_prefix(&folder).unwrap().to_str().unwrap()).collect();
    let is_other = |path: &&str| !path.starts_with("overlay/") && !path.starts_with("help/");
    let others: Vec<_> = goldens.into_iter().filter(is_other).collect();
    assert!(others.len() >= 20, "{others:?}");
    assert_eq!(unopened(&others, &sources), [""; 0]);
    let planted = ["json/none.txt", "json/bench-x.txt"];
    assert_eq!(unopened(&planted, &["check(\"json/bench-{name}.txt\"".to_owned()]), ["json/none.txt"]);
}
