//! Tests of programs: their binaries, and files that they include, with the first device's compiler.

use std::collections::BTreeMap;

use super::*;
use crate::cl::{Buffer, Device, list_devices};
use crate::kernel::{Kernel, NdRange, Value, enqueue};
use crate::sources::Sources;

/// A binary is requested while the program's kernel runs, which [`Program::binary`] itself does not allow. With five programs a
/// missing precaution showed in four of six runs with PoCL 3.1.
#[test]
fn a_binary_can_be_had_while_its_kernel_runs() {
    let device = list_devices().into_iter().next().expect("an OpenCL device");
    let cl = ClContext::new(&device, Sources::default()).unwrap();
    // A kernel that names its group's size.
    let (file, side) = ("transpose/03_group_linear.cl", 512_u32);
    let numbers = side as usize * side as usize;
    for tile in [4, 6, 8, 12, 16] {
        // A program that the driver has cached would be finished too soon.
        let options = format!("-D TILE={tile} -D TRIED_BY={}", std::process::id());
        let program = build(&cl, file, &options).unwrap();
        let kernel = Kernel::new(&program, "transpose_group_linear").unwrap();
        for index in 0..2 {
            let memory = Buffer::new(&cl.context, ocl::ffi::CL_MEM_READ_WRITE, 4 * numbers).unwrap();
            kernel.set(index, memory.mem()).unwrap();
            kernel.set(index + 2, Value::Uint(side)).unwrap();
        }
        let (group, tiles) = (tile * tile, (side as usize).div_ceil(tile));
        let run = || {
            // SAFETY: the arguments are set, and the memory is as large as the kernel is told.
            let ran =
                unsafe { enqueue(&cl.queue, &kernel, NdRange::line(tiles * tiles * group, group), &[]) };
            ran.unwrap().wait_for().unwrap();
        };
        run();
        std::thread::scope(|scope| {
            let own = ClContext::new(&device, Sources::default()).unwrap();
            let reader = scope.spawn(move || binary_and_log(&own, file, &options));
            while !reader.is_finished() {
                run();
            }
            assert!(!reader.join().unwrap().unwrap().0.is_empty());
        });
    }
}

/// The kernel file of the tests of includes.
const OWN: &str = "box_filter/own.cl";
/// A kernel that writes the value of the macro `ANSWER`.
const ANSWER: &str = "kernel void answer(global int *out) { out[0] = ANSWER; }\n";

/// Compiles [`OWN`] among these files, and runs its kernel; returns the number that it writes.
fn answer(device: &Device, files: &[(&str, &str)]) -> Result<i32> {
    let texts: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let cl = ClContext::new(device, Sources::from_texts(texts).unwrap()).unwrap();
    let kernel = Kernel::new(&build(&cl, OWN, "")?, "answer").unwrap();
    crate::kernel::expect_types(&kernel, OWN, &[&["int*"]]).unwrap();
    let out = Buffer::new(&cl.context, ocl::ffi::CL_MEM_READ_WRITE, 4).unwrap();
    kernel.set(0, out.mem()).unwrap();
    // SAFETY: the argument is set, and the memory has the number that the kernel writes.
    unsafe { enqueue(&cl.queue, &kernel, NdRange::line(1, 1), &[]) }.unwrap();
    let mut bytes = [0; 4];
    out.read(&cl.queue, &mut bytes).unwrap();
    Ok(i32::from_le_bytes(bytes))
}

/// A header that includes itself three times, and counts.
const COUNTS: &str = "#ifndef ONE\n#define ONE\n#include \"count.clh\"\n#elif !defined(TWO)\n#define TWO\n\
                      #include \"count.clh\"\n#else\n#define ANSWER 42\n#endif\n";

#[test]
fn includes_are_those_of_a_preprocessor() {
    let Some(device) = list_devices().into_iter().next() else { return };
    let header = ("common/x.clh", "#define ANSWER 42\n");
    let own = |before: &str| format!("{before}\n{ANSWER}");
    for before in [
        "#include \"../common/x.clh\"",
        "// #include \"gone.clh\"\n/*\n#include \"gone.clh\"\n*/\n#define ANSWER 42",
        "#if 0\n#include \"gone.clh\"\n#endif\n#define ANSWER 42",
        "#ifdef OTHER\n#include \"gone.clh\"\n#else\n#include \"../common/x.clh\"\n#endif",
        "#if 0\ndon't /* \n#include \"gone.clh\"\n*/\n#endif\n#include \"../common/x.clh\"",
        " # include \"../common/x.clh\" // why",
        "#inc\\\nlude \\\n\"../common/x.clh\"",
        "#define M \"../common/x.clh\"\n#include M",
        "#ifdef OTHER\n#define M \"gone.clh\"\n#else\n#define M \"../common/x.clh\"\n#endif\n#include M",
        "#define STRING(x) #x\n#define NAME(x) STRING(../common/x.clh)\n#include NAME(x)",
        "#include <common/x.clh>",
        "#include \"../common/./../common/x.clh\"",
        "#define A\n#include \"guarded.clh\"\n#include \"guarded.clh\"",
        "#include \"once.clh\"\n#include \"once.clh\"",
        "#include \"count.clh\"",
    ] {
        let text = own(before);
        let files = [
            (OWN, text.as_str()),
            header,
            (
                "box_filter/guarded.clh",
                "#ifndef G\n#define G\n#include \"guarded.clh\"\nconstant int c = 42;\n#define ANSWER c\n#endif",
            ),
            ("box_filter/once.clh", "#pragma once\nconstant int c = 42;\n#define ANSWER c"),
            ("box_filter/count.clh", COUNTS),
        ];
        assert_eq!(answer(&device, &files), Ok(42), "{before}");
    }
    let itself = format!(
        "#ifndef AGAIN\n#define AGAIN\n#include __FILE__\n{ANSWER}#else\n#define ANSWER 42\n#endif\n"
    );
    assert_eq!(answer(&device, &[(OWN, &itself)]), Ok(42));
    // Texts are bytes, with or without a mark.
    let latin1 = base::text::from_bytes(b"// caf\xe9\n#define ANSWER (\"caf\xe9\"[3] & 255)\n");
    let own = format!("\u{feff}#include \"x.clh\"\n{latin1}{ANSWER}");
    let files = [(OWN, own.as_str()), ("box_filter/x.clh", "\u{feff}// more\n")];
    assert_eq!(answer(&device, &files), Ok(0xe9));
}

#[test]
fn errors_name_file_and_line() {
    let Some(device) = list_devices().into_iter().next() else { return };
    let of = |before: &str| {
        let text = format!("#if 0\n#include \"count.clh\"\n#endif\n{before}\n{ANSWER}");
        let files = [
            (OWN, text.as_str()),
            ("box_filter/count.clh", COUNTS),
            (
                "box_filter/bad.clh",
                "#ifndef BAD\n#define BAD\n#include \"bad.clh\"\n#else\nint f() { return y; }\n#endif\n",
            ),
            ("box_filter/inner.clh", "#define ANSWER 1\n\n#include \"../gone/x.clh\"\n"),
        ];
        let error = answer(&device, &files).unwrap_err();
        let ErrorKind::KernelDoesNotBuild(lines) = &error.kind else { panic!("{error}") };
        let lines: Vec<_> = lines.iter().map(|line| (line.file.clone(), line.number)).collect();
        (lines.first().cloned().unwrap_or_default(), error.to_string())
    };
    for (before, file, line, part) in [
        ("#include \"gone.clh\"", OWN, 4, "There is no kernel file 'box_filter/gone.clh'"),
        ("#include \"inner.clh\"", "box_filter/inner.clh", 3, "There is no kernel file 'gone/x.clh'"),
        ("#include \"/etc/hostname\"", OWN, 4, "outside the folder of kernels"),
        ("#include \"../../x.clh\"", OWN, 4, "outside the folder of kernels"),
        ("#include <limits.h>", OWN, 4, "There is no kernel file 'limits.h'"),
        ("#define M \"/etc/hostname\"\n#include M", OWN, 5, "outside the folder of kernels"),
        ("#include \"Cargo.toml\"", OWN, 4, "There is no kernel file"),
        ("int f() { return z; }", OWN, 4, "'z'"),
        ("#include \"bad.clh\"", "box_filter/bad.clh", 5, "'y'"),
        ("#include \"count.clh\"\nint f() { return z; }", OWN, 5, "'z'"),
    ] {
        let (place, error) = of(before);
        assert_eq!(place, (file.to_owned(), line), "{before}: {error}");
        assert!(error.contains(part), "{before}: {error}");
    }
}
