//! What a kernel file becomes before it is compiled, what is said of it where it does not, and its binary.

use super::*;
use crate::cl::{Buffer, list_devices};
use crate::kernel::{Kernel, Value, enqueue};

/// PoCL before version 6 ends the process where it is asked for the binary of a program that runs (see [`Program::binary`]), if a
/// kernel ends in a short moment: five programs met it in four of six runs.
#[test]
fn a_binary_can_be_had_while_its_kernel_runs() {
    let Some(device) = list_devices().into_iter().next() else { return };
    let cl = ClContext::new(&device).unwrap();
    // A kernel that names its group's size.
    let (file, side) = ("transpose/03_group_linear.cl", 512_u32);
    let numbers = side as usize * side as usize;
    for tile in [4, 6, 8, 12, 16] {
        // What the driver has compiled before is too soon there.
        let options = format!("-D TILE={tile} -D TRIED_BY={}", std::process::id());
        let program = build(&cl, file, &source(file).unwrap(), &options).unwrap();
        let kernel = Kernel::new(&program, "transpose_group_linear").unwrap();
        for index in 0..2 {
            let memory = Buffer::new(&cl.context, ocl::ffi::CL_MEM_READ_WRITE, 4 * numbers).unwrap();
            kernel.set(index, memory.mem()).unwrap();
            kernel.set(index + 2, Value::Uint(side)).unwrap();
        }
        let (group, tiles) = (tile * tile, (side as usize).div_ceil(tile));
        let run = || {
            // SAFETY: the arguments are set, and the memory is as large as the kernel is told.
            let ran = unsafe { enqueue(&cl.queue, &kernel, 1, [tiles * tiles * group, 1, 1], [group, 1, 1]) };
            ran.unwrap().wait_for().unwrap();
        };
        run();
        std::thread::scope(|scope| {
            let own = ClContext::new(&device).unwrap();
            let reader = scope.spawn(move || binary_and_log(&own, file, &options));
            while !reader.is_finished() {
                run();
            }
            assert!(!reader.join().unwrap().unwrap().0.is_empty());
        });
    }
}

#[test]
fn includes_are_expanded_and_lines_keep_their_numbers() {
    let load = |name: &str| match name {
        "common/a.clh" => Ok("int a;\n".to_owned()),
        other => panic!("asked for {other}"),
    };
    let text = expand("box_filter/x.cl", "// one\n#include \"../common/a.clh\"\nint b;\n", 4, &load).unwrap();
    assert_eq!(
        text,
        "#line 1 \"box_filter/x.cl\"\n// one\n#line 1 \"common/a.clh\"\nint a;\n#line 3 \"box_filter/x.cl\"\nint b;\n"
    );
}

#[test]
fn an_include_that_is_missing_is_named_with_who_includes_it() {
    let load = |name: &str| match name {
        "common/a.clh" => Ok("int a;\n#include \"b.clh\"\n".to_owned()),
        _ => built_in(name),
    };
    let error = expand("box_filter/x.cl", "#include \"../common/a.clh\"\n", 8, &load).unwrap_err();
    assert_eq!(error.what, "There is no kernel file 'common/b.clh'.");
    assert!(error.why.starts_with("common/a.clh includes it at line 2. It is "), "{error}");
}

#[test]
fn a_file_that_includes_itself_is_an_error() {
    let load = |_: &str| Ok("#include \"x.cl\"\n".to_owned());
    assert!(expand("x.cl", "#include \"x.cl\"\n", 8, &load).is_err());
}

#[test]
fn includes_that_multiply_end() {
    // Each file takes in the next one a thousand times.
    let load = |name: &str| {
        let next = name.trim_end_matches(".cl").parse::<u32>().unwrap() + 1;
        Ok(format!("#include \"{next}.cl\"\n").repeat(if next < 5 { 1000 } else { 0 }))
    };
    let error = expand("0.cl", &load("0.cl").unwrap(), 8, &load).unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn every_embedded_file_expands() {
    for (name, text) in EMBEDDED {
        let expanded = expand(name, text, 8, &|n| source_from(None, n)).unwrap();
        assert!(!expanded.contains("#include"), "{name}");
    }
}

#[test]
fn a_directory_overrides_and_falls_back() {
    let dir = std::env::temp_dir().join(format!("clreel-kernels-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("box_filter")).unwrap();
    std::fs::write(dir.join("box_filter/01_naive.cl"), "mine").unwrap();
    assert_eq!(source_from(Some(&dir), "box_filter/01_naive.cl").unwrap(), "mine");
    assert_eq!(source_from(Some(&dir), "common/mean.clh"), source_from(None, "common/mean.clh"));
    std::fs::remove_dir_all(&dir).unwrap();
    let error = source_from(Some(&dir), "common/mean.clh").unwrap_err().to_string();
    assert!(error.contains("cannot be read") && error.contains("Name another folder, or "), "{error}");
    std::fs::create_dir_all(dir.join("common")).unwrap();
    std::fs::write(dir.join("common/mean.clh"), [0xff, 0xfe]).unwrap();
    let error = source_from(Some(&dir), "common/mean.clh").unwrap_err().to_string();
    assert!(error.contains("cannot be read") && error.contains("Correct or delete it"), "{error}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_way_back_is_the_one_that_the_user_has_come() {
    let ways = [(true, true), (true, false), (false, false)].map(|(named, option)| naming(named, option));
    assert_eq!(ways[0], ("--kernels", "start clreel without --kernels"));
    assert!(ways[1].0 == KERNELS_VARIABLE && ways[1].1.ends_with(KERNELS_VARIABLE));
    assert!(!format!("{:?}", ways[2]).contains("KERNELS") && !ways[2].1.contains("--"));
}

#[test]
fn beside_errors_warnings_are_only_counted() {
    let load = |_: &str| Some("first\nsecond\n".to_owned());
    let errors = "error: common/mean.clh:1:3: no\n  1 | first\nwarning: x.cl:2: odd\n  2 | odd\n  ^\nnote: why\n\
                  error: x.cl:9:1: no\nwarning: a\nDevice d failed to build the program";
    assert_eq!(
        annotate(errors, &load),
        "error: common/mean.clh:1:3: no\n  1 | first\nerror: x.cl:9:1: no\nDevice d failed to build the program\n\
         … and 2 warnings"
    );
    // Where nothing else is there, they are what there is.
    assert_eq!(annotate("warning: odd\n  2 | odd", &load), "warning: odd\n  2 | odd");
    assert!(annotate("x: error: no\nx: warning: odd", &load).ends_with("… and a warning"));
}

#[test]
fn a_log_quotes_its_lines_and_is_cut() {
    let load = |_: &str| Some("first\nsecond\n".to_owned());
    let text = annotate("common/mean.clh:2:1: error: no", &load);
    assert_eq!(text, "common/mean.clh:2:1: error: no\n  2 | second");
    let text = annotate("common/mean.clh:2:1: error: no\n  second\n  ^", &load);
    assert_eq!(text, "common/mean.clh:2:1: error: no\n  second\n  ^");
    let long = vec!["noise"; 500].join("\n");
    assert_eq!(annotate(&long, &load).lines().count(), LOG_LINES + 1);
    assert!(annotate(&long, &load).ends_with("… and 476 more lines, 2999 bytes in all"));
    // One line may be as long as a thousand.
    let endless = "äöü".repeat(1_000_000);
    let text = annotate(&endless, &load);
    assert!(text.len() < 2 * LOG_LINE + 40 && text.ends_with("… and 6.0 MB more"), "{text}");
    let wide = vec![endless.as_str(); 30].join("\n");
    assert!(annotate(&wide, &load).len() < LOG_LINES * (2 * LOG_LINE + 40) + 60);
}

/// Oclgrind counts the lines of all that it gets, with what is included.
#[test]
fn a_log_that_counts_all_lines_names_those_of_the_files() {
    let file = "box_filter/03_flat.cl";
    let text = expand(file, &source(file).unwrap(), 8, &source).unwrap();
    let find = |part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    let own = |name: &str, part: &str| {
        source(name).unwrap().lines().position(|line| line.contains(part)).unwrap() + 1
    };
    let (here, there) = (find("int4 sum = 0;"), find("mean4("));
    let log = format!(
        "input.cl:{here}:17: error: a\n    int4 sum = 0\ninput.cl:{there}:1: note: b\n<x>:1:2: warning: c"
    );
    let (here, there) = (own(file, "int4 sum = 0;"), own("common/mean.clh", "mean4("));
    let files = format!(
        "{file}:{here}:17: error: a\n    int4 sum = 0\ncommon/mean.clh:{there}:1: note: b\n<x>:1:2: warning: c"
    );
    assert_eq!(in_files(&log, &text), files);
    assert_eq!(
        in_files("input.cl:99999999999999999999:1: x\ninput.cl:0:1: y", &text),
        "input.cl:99999999999999999999:1: x\ninput.cl:0:1: y"
    );
}
