//! Tests of includes, without a compiler; `program_tests.rs` has those with one.

use super::*;
use crate::sources::Sources;

/// Returns the first of these files with its includes.
fn text(files: &[(&str, &str)]) -> String {
    let load = |name: &str| {
        let found = files.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned());
        found.map_or_else(|| Sources::default().text(name), Ok)
    };
    resolve(files[0].0, files[0].1, &load).unwrap()
}

#[test]
fn includes_are_replaced_and_lines_keep_their_numbers() {
    let files =
        [("box_filter/x.cl", "// one\n#include \"../common/a.clh\"\nint b;\n"), ("common/a.clh", "int a;\n")];
    assert_eq!(
        text(&files),
        "#line 1 \"box_filter/x.cl\"\n// one\n#line 1 \"common/a.clh\"\nint a;\n#line 3 \"box_filter/x.cl\"\nint b;\n"
    );
}

#[test]
fn directives_are_those_of_a_preprocessor() {
    let a = ("a.clh", "int a;");
    for include in [
        "#include \"a.clh\"",
        "  #  include\t\"a.clh\"",
        "#include/**/\"a.clh\" // why",
        "/* a\n comment */ # /* b */ include \"a.clh\"",
        "#inc\\\nlude \\\n\"a.clh\"",
        "#include \\  \r\n \"a.clh\"",
        "%:include \"a.clh\"",
        "??=include \"a.clh\"",
        "#include <a.clh>",
        "#include \"./a.clh\" more",
        "#import \"a.clh\"",
        "#define NAME \"a.clh\"\n#include NAME",
        "#define NAME <a.clh>\n#include NAME",
        "#define TEXT(x) #x\n#define NAME(x) TEXT(x)\n#define FILE a.clh\n#include NAME(FILE)",
        "#define PASTE(a, b) a##b\n#define AB \"a.clh\"\n#include PASTE(A, B)",
    ] {
        let whole = text(&[("x.cl", &format!("{include}\nint end;\n")), a]);
        assert!(
            whole.contains("#line 1 \"a.clh\"\nint a;\n") && !whole.contains("include "),
            "{include}\n{whole}"
        );
        let lines = include.lines().count() + 1;
        assert!(whole.ends_with(&format!("#line {lines} \"x.cl\"\nint end;\n")), "{include}\n{whole}");
    }
    for other in [
        "// #include \"a.clh\"",
        "// why \\\n#include \"a.clh\"",
        "/*\n#include \"a.clh\"\n*/",
        "constant char s[] = \"\\\n#include <a.clh>\";",
        "int x; #include \"a.clh\"",
        "int x; /*\n*/ #include \"a.clh\"",
    ] {
        assert_eq!(text(&[("x.cl", other), a]), format!("#line 1 \"x.cl\"\n{other}\n"), "{other}");
    }
}

#[test]
fn a_file_is_found_beside_the_including_one_and_then_in_the_folder() {
    let files = [
        ("a/x.cl", "#include \"b.clh\"\n#include <b.clh>\n#include \"c/d.clh\"\n"),
        ("a/b.clh", "beside"),
        ("b.clh", "above"),
        ("c/d.clh", "#include \"../a/b.clh\"\n#include \"b.clh\"\n"),
    ];
    let found: Vec<_> =
        text(&files).lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    assert_eq!(
        found.join(" ").split_whitespace().collect::<Vec<_>>(),
        ["beside", "above", "beside", "above"]
    );
}

#[test]
fn a_missing_file_is_an_error_only_where_the_compiler_reads_the_line() {
    for name in [
        "\"gone.clh\"",
        "<gone.clh>",
        "\"/etc/passwd\"",
        "\"../../etc/passwd\"",
        "<../x.clh>",
        "\"\"",
        "\"open",
    ] {
        let whole = text(&[("a/x.cl", &format!("#if 0\n#include {name}\n#endif\nint a;\n"))]);
        assert!(whole.contains("#error ") && !whole.contains("#include"), "{whole}");
        assert!(whole.ends_with("\n#line 4 \"a/x.cl\"\nint a;\n"), "{whole}");
    }
    let whole = text(&[("a/x.cl", "\n#include \"gone.clh\"\n")]);
    assert!(
        whole.contains("#line 2 \"a/x.cl\"\n#error There is no kernel file 'a/gone.clh'. It is "),
        "{whole}"
    );
}

#[test]
fn lines_after_a_conditional_keep_their_numbers_although_the_compiler_skips_it() {
    let a = ("a.clh", "int a;\nint b;\n");
    for conditional in [
        "#if 0\n#include \"a.clh\"\n#else\n",
        "#if 1\n#else\n#include \"a.clh\"\n",
        "#if 0\n#if 1\n#include \"a.clh\"\n#endif\n",
    ] {
        let whole = text(&[("x.cl", &format!("{conditional}#endif\nint end;\n")), a]);
        assert!(whole.ends_with("\nint end;\n") && whole.contains("#endif\n#line "), "{whole}");
    }
    let whole = text(&[("x.cl", "#if 0\n#include \"a.clh\"\n#else\nint c;\n#endif\n"), a]);
    assert!(whole.contains("#else\n#line 4 \"x.cl\"\nint c;\n#endif\n#line 6 \"x.cl\"\n"), "{whole}");
}

#[test]
fn files_that_include_themselves_are_repeated_unless_a_guard_ends_that() {
    for guarded in [
        "#ifndef A\n#define A\n#include \"a.clh\"\nint a;\n#endif\n",
        "// why\n#if !defined(A)\n#define A 1\n#include \"b.clh\"\nint a;\n#endif // A\n",
        "#pragma once\n#include \"a.clh\"\nint a;\n",
    ] {
        let whole =
            text(&[("x.cl", "#include \"a.clh\"\n"), ("a.clh", guarded), ("b.clh", "#include \"a.clh\"\n")]);
        assert_eq!(whole.matches("int a;").count(), 1, "{whole}");
    }
    for counting in [
        "#ifndef A\n#define A\n#include \"a.clh\"\n#else\nint a;\n#endif\n",
        "#ifndef A\n#define A\n#include \"a.clh\"\n#endif\nint a;\n",
        "#ifndef A\n#define A\n#undef A\n#include \"b.clh\"\n#endif\n",
        "#include \"x.cl\"\n",
        "#include __FILE__\n",
    ] {
        let files =
            [("x.cl", "#include \"a.clh\"\n"), ("a.clh", counting), ("b.clh", "#include \"a.clh\"\n")];
        let whole = text(&files);
        assert!(whole.contains("#error The includes nest too deeply."), "{counting}");
        assert!(!whole.contains("#include"), "{counting}");
    }
}

#[test]
fn the_definition_of_a_name_is_chosen_by_the_compiler() {
    let files = [
        (
            "x.cl",
            "#ifdef B\n#define NAME \"b.clh\"\n#else\n#define NAME \"a.clh\"\n#endif\n#include NAME\n#undef NAME\nint end;\n",
        ),
        ("a.clh", "int a;\n"),
        ("b.clh", "int b;\n"),
    ];
    let whole = text(&files);
    assert!(whole.contains("#if CLREEL_DEFINITION_0 == 1\n#line 1 \"b.clh\"\nint b;\n"), "{whole}");
    assert!(whole.contains("#elif CLREEL_DEFINITION_0 == 2\n#line 1 \"a.clh\"\nint a;\n"), "{whole}");
    assert!(whole.contains("#define CLREEL_DEFINITION_0 0\n#line 8 \"x.cl\"\nint end;\n"), "{whole}");
    let whole = text(&[("x.cl", "#include UNKNOWN\n")]);
    assert!(whole.contains("#error The name of the included file is not known."), "{whole}");
}

#[test]
fn other_questions_about_files_are_answered_without_the_disk() {
    let files = [
        (
            "x.cl",
            "#if __has_include(\"a.clh\") && !__has_include (<gone.clh>)\n#endif\n#embed \"/etc/passwd\"\n",
        ),
        ("a.clh", ""),
    ];
    let whole = text(&files);
    assert!(whole.contains("#if 1 && !0\n"), "{whole}");
    assert!(whole.contains("#error Kernel files cannot embed other files."), "{whole}");
    let whole = text(&[("x.cl", "#ifdef __has_include\n#endif\n#if defined(__has_include)\n#endif\n")]);
    assert!(!whole.contains("#line 2"), "{whole}");
}

#[test]
fn faults_of_a_file_stay_in_that_file() {
    for fault in ["int a; /* open", "#if 1\n", "#endif\n"] {
        let whole = text(&[("x.cl", "#include \"a.clh\"\nint end;\n"), ("a.clh", fault)]);
        assert!(
            whole.contains("#line 1 \"a.clh\"\n#error ") && whole.ends_with("#line 2 \"x.cl\"\nint end;\n"),
            "{whole}"
        );
    }
    let whole = text(&[("x.cl", "#include \"a.clh\"\nint end;\n"), ("a.clh", "// end\\\n")]);
    assert!(whole.contains("// end\\\n\n#line 2"), "{whole}");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let whole = text(&[("x.cl", "\u{feff}#include \"a.clh\"\n"), ("a.clh", "\u{feff}int a;\n")]);
    assert_eq!(whole, "#line 1 \"x.cl\"\n#line 1 \"a.clh\"\nint a;\n#line 2 \"x.cl\"\n");
}

#[test]
fn includes_that_multiply_end() {
    // Each file includes the next one a thousand times.
    let load = |name: &str| {
        let next = name.trim_end_matches(".cl").parse::<u32>().unwrap() + 1;
        Ok(format!("#include \"{next}.cl\"\n").repeat(if next < 5 { 1000 } else { 0 }))
    };
    let error = resolve("0.cl", &load("0.cl").unwrap(), &load).unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
}
