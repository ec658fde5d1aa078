//! Rules of the structure that the compiler does not check: no code outside the ladders names a rung, what all ladders share knows none
//! of them, the page of changes names files that there are, and kernels keep clear of what crashes compilers.

mod names;
mod paths;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use box_filter::VariantId;

use names::{Rungs, single};
use paths::{code, modules};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// A module's file.
struct File {
    name: String,
    text: String,
}

/// The files that the roots of the program and of its libraries lead to, without those of the tests' own library.
fn files() -> Vec<File> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let crates = crates.filter(|path| !path.ends_with("testkit")).chain([root()]);
    let mut files = Vec::new();
    for folder in crates.map(|path| path.join("src")) {
        visit(&folder.join("lib.rs"), &folder, &mut files);
    }
    files
}

/// Reads a module's file, and those of the modules that it declares, which lie in `folder`.
fn visit(path: &Path, folder: &Path, files: &mut Vec<File>) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let children = modules(&text);
    let name = path.strip_prefix(root()).unwrap().display().to_string();
    files.push(File { name, text });
    for child in children {
        let (flat, nested) = (folder.join(format!("{child}.rs")), folder.join(&child).join("mod.rs"));
        visit(if flat.exists() { &flat } else { &nested }, &folder.join(&child), files);
    }
}

/// The page that says where a change goes names files that are there.
#[test]
fn the_page_of_changes_names_what_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let mut rows = 0;
    for line in page.lines() {
        rows += usize::from(line.starts_with("| a") && line.matches('|').count() == 4);
        let named = line.split('`').skip(1).step_by(2).map(|word| word.split(' ').next().unwrap());
        for name in named.filter(|name| {
            ["src/", "crates/", "tests/", "docs/", "kernels/"].iter().any(|top| name.starts_with(top))
        }) {
            assert!(root.join(name).exists(), "docs/architecture.md names '{name}', which is not there");
        }
    }
    assert_eq!(rows, 10, "ten changes");
}

/// The lines of a planted file that have `crate` in its code.
fn planted(text: &str) -> Vec<usize> {
    code(text).iter().filter(|token| token.text == "crate").map(|token| token.line).collect()
}

#[test]
fn words_strings_and_tests_are_no_code() {
    for text in [
        "// use crate::app;",
        "//! [`x`](crate::app)",
        "/* use crate::app; /* nested */ use crate::app; */",
        "const S: &str = \"crate::app::run\";",
        "const S: &str = \"a\\\"crate::app::run\";",
        "const S: &str = r#\"a\" crate::app\"#;",
        "const S: &[u8] = b\"crate::app\";",
        "#[cfg(test)]\nmod tests {\n    use crate::app;\n    fn f() { {} }\n}",
        "#[cfg(test)]\nmod tests;",
        "#[cfg(test)]\npub(crate) fn f() -> crate::app::X { crate::app::run() }",
        "#[cfg(test)]\nuse crate::app;",
        "struct S {\n    #[cfg(test)]\n    pub sent: crate::app::X,\n    there: u8,\n}",
        "struct S {\n    #[cfg(test)]\n    pub sent: crate::app::X\n}",
        "fn f() {\n    #[cfg(test)]\n    {\n        crate::app::run();\n    }\n}",
        "#[cfg(test)]\n#[path = \"x.rs\"]\nmod movie;",
        "std::super_::app();",
        "not_crate::app::run();",
        "fn f(&self) -> Self { self.app }",
    ] {
        assert!(planted(text).is_empty(), "{text}");
        // What follows is found again.
        let last = text.lines().count() + 1;
        assert_eq!(planted(&format!("{text}\nuse crate::cli;")), [last], "{text}");
    }
    for text in ["const C: char = '\"'; use crate::cli;", "const C: char = '\\''; use crate::cli; // '"] {
        assert_eq!(planted(text), [1], "{text}");
    }
    assert_eq!(modules("#[cfg(test)]\nmod tests;\npub mod a;\nmod b;\nmod c { mod d; }"), ["a", "b"]);
}

/// Rungs' names that are English as well: as words they may stand anywhere, between quotation marks they are rungs.
const ENGLISH: [&str; 9] =
    ["apart", "copied", "group", "panels", "reference", "several", "single", "threads", "written"];
/// What all ladders have: the rung that takes the fastest kernels, and the names of back ends.
const COMMON: [&str; 3] = ["auto", "native", "glsl"];
/// What only single ladders know. The name of transposition is not among them: `Option` has a method that is called so.
const OF_LADDERS: [&str; 22] = [
    "radius",
    "radii",
    "picture",
    "pictures",
    "pixel",
    "pixels",
    "rgba",
    "luminance",
    "block",
    "blocks",
    "mn",
    "mnk",
    "matrix",
    "matrices",
    "army",
    "shirt",
    "shirts",
    "box_filter",
    "vector_add",
    "matmul",
    "histogram",
    "cloth",
];

/// The words of a file of the common part that belong to one of the ladders.
fn of_one_ladder(file: &str, text: &str, rungs: &BTreeSet<&'static str>) -> Vec<String> {
    let lower = text.to_lowercase();
    let words: BTreeSet<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect();
    // Made-up rungs of tests may be called as they like.
    let is_quoted = |id: &str| !file.ends_with("_tests.rs") && text.contains(&format!("\"{id}\""));
    let is_named = |id: &&&str| if ENGLISH.contains(id) { is_quoted(id) } else { words.contains(**id) };
    let rungs = rungs.iter().filter(|id| !COMMON.contains(id)).filter(is_named);
    rungs
        .chain(OF_LADDERS.iter().filter(|word| words.contains(**word)))
        .map(|&word| word.to_owned())
        .collect()
}

/// The names of all ladders' rungs.
fn all_rungs() -> BTreeSet<&'static str> {
    let filters = VariantId::ALL.into_iter().filter(|id| *id != VariantId::Off).map(VariantId::as_str);
    filters.chain(ladders::all().iter().flat_map(|one| (one.rungs)()).map(|rung| rung.id)).collect()
}

/// What all ladders share knows none of them.
#[test]
fn the_common_part_of_ladders_knows_no_pictures_and_no_rungs() {
    let rungs = all_rungs();
    assert!(
        ["running-sum", "register-tiles", "group-linear", "one-pass"].iter().all(|id| rungs.contains(id))
    );
    assert!(ENGLISH.iter().chain(&COMMON).all(|id| rungs.contains(id)), "each is a rung");
    let mut files = 0;
    for entry in std::fs::read_dir(root().join("crates/ladder/src")).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.is_file(), "{}: read it, too", path.display());
        let found =
            of_one_ladder(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap(), &rungs);
        assert!(found.is_empty(), "{}: {found:?}", path.display());
        files += 1;
    }
    assert!(files >= 6, "it has read them");
}

#[test]
fn a_planted_word_of_one_ladder_is_found() {
    let found = |file: &str, text: &str| of_one_ladder(file, text, &all_rungs());
    assert_eq!(found("a.rs", "// Pixels of Pictures, and an `army`."), ["pictures", "pixels", "army"]);
    assert_eq!(found("a.rs", "pub mnk: Option<[u32; 3]>, // fused"), ["fused", "mnk"]);
    assert_eq!(found("a.rs", "if id == \"group\" || id == \"two-queues\" {}"), ["group", "two-queues"]);
    assert_eq!(found("a.rs", "// A group of several threads; \"auto\"; x.transpose(); GROUPED"), [""; 0]);
    assert_eq!(found("a_tests.rs", "row(\"threads\")"), [""; 0]);
}

/// Rungs that stand for more than themselves: no filter, whichever is the fastest, the user's own kernels, those of another
/// version.
const ROLES: [VariantId; 4] = [VariantId::Off, VariantId::Auto, VariantId::Own, VariantId::Version];
/// Strings that are a rung's id, and mean something else: the file, the string, and what it means there.
const NO_RUNGS: [(&str, &str, &str); 1] =
    [("src/app/settings.rs", "panels", "how serde reads and writes the overlay's panels")];

fn single_rungs() -> Rungs {
    let variants = VariantId::ALL.into_iter().filter(|id| !ROLES.contains(id)).map(|id| format!("{id:?}"));
    let ids = all_rungs().into_iter().filter(|id| !COMMON.contains(id));
    Rungs { variants: variants.collect(), ids: ids.collect() }
}

/// Returns true if a file may name rungs. The kernels that convert and correct are beside the box filter, and no part of it.
fn is_of_a_ladder(file: &str) -> bool {
    let converts = ["color_kernels", "color_trial"].iter().any(|name| file.contains(name));
    file.starts_with("crates/ladders/") || file.starts_with("crates/box-filter/") && !converts
}

/// A property that a rung declares is asked for, not its name: then the next rung with that property needs no more code.
#[test]
fn outside_of_the_ladders_no_code_names_a_single_rung() {
    let (rungs, files) = (single_rungs(), files());
    let (mut wrong, mut allowed, mut read) = (String::new(), BTreeSet::new(), 0);
    for file in files.iter().filter(|file| !is_of_a_ladder(&file.name)) {
        for (line, name) in single(&file.text, &rungs) {
            match NO_RUNGS.iter().find(|(of, string, _)| (*of, *string) == (&file.name, &name)) {
                Some(one) => drop(allowed.insert(one)),
                None => wrong.push_str(&format!("  {}:{line}: {name}\n", file.name)),
            }
        }
        read += 1;
    }
    assert!(wrong.is_empty(), "Ask what the rung declares (crates/box-filter/src/rungs.rs):\n{wrong}");
    assert_eq!(allowed.len(), NO_RUNGS.len(), "each is still there");
    assert!(read > 200, "it has read them: {read}");
}

#[test]
fn a_planted_rung_is_found() {
    let found = |text: &str| {
        let found = single(text, &single_rungs());
        found.into_iter().map(|(line, name)| format!("{line} {name}")).collect::<Vec<_>>()
    };
    assert_eq!(found("fn f() {\n    if id == VariantId::Planar {}\n}"), ["2 Planar"]);
    assert_eq!(found("match id { rungs::VariantId::Glsl | VariantId :: Naive => 1 }"), ["1 Glsl", "1 Naive"]);
    assert_eq!(found("use x::VariantId::{self, Flat}; use x::VariantId::*;"), ["1 {", "1 *"]);
    assert_eq!(found("use x::VariantId as Id;"), ["1 as"]);
    assert_eq!(found("if rung.id == \"two-queues\" || id == \"panels\" {}"), ["1 two-queues", "1 panels"]);
    for text in [
        "if id == VariantId::Off || id == VariantId::Version { VariantId::ALL }",
        "// VariantId::Planar and \"planar\"",
        "const HINT: &str = \"Choose flat or 'planar'.\";",
        "#[cfg(test)]\nmod tests { const ID: VariantId = VariantId::Planar; const S: &str = \"flat\"; }",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

/// What some compilers of OpenCL C take and others crash on, each with the line that has it (rusticl of Mesa 25.0 and 26.2:
/// docs/drivers.md).
fn pitfalls(text: &str) -> Vec<(usize, &'static str)> {
    const NUMBERS: [&str; 10] =
        ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"];
    let of_numbers = |word: &str| {
        let plain = word.split("_at").next().unwrap_or_default();
        NUMBERS.contains(&plain.trim_end_matches(|c: char| c.is_ascii_digit()))
    };
    let is_too_long = |word: &str| {
        of_numbers(word) && (word.ends_with("32") || word.ends_with("64")) || word == "ext_vector_type"
    };
    // A cast to a pointer into private memory: between the brackets stand a type of numbers and perhaps `const`.
    let is_private_cast = |start: &str| {
        let inner = start.rsplit('(').next().unwrap_or_default();
        let words: Vec<&str> = inner.split_whitespace().collect();
        words.iter().any(|word| of_numbers(word) || word.ends_with("_t"))
            && words.iter().all(|word| {
                *word == "const" || of_numbers(word) || word.ends_with("_t") && *word != "event_t"
            })
    };
    let (mut found, mut head, mut in_kernel) = (Vec::new(), String::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if words.clone().any(is_too_long) {
            found.push((number, "a vector of more than 16 elements"));
        }
        if code.match_indices("*)").any(|(at, _)| is_private_cast(&code[..at])) {
            found.push((number, "private memory read as another type"));
        }
        // Functions begin and end at the beginning of a line.
        match code.chars().next() {
            Some('{') => (in_kernel, head) = (head.contains("__kernel"), String::new()),
            Some('}') => in_kernel = false,
            Some(c) if !c.is_whitespace() && c != '#' => head += code,
            _ => {}
        }
        if words.clone().any(|word| word.starts_with("write_image")) && !in_kernel && !code.starts_with('#') {
            found.push((number, "an image that is written in a function"));
        }
    }
    found
}

#[test]
fn kernels_keep_clear_of_what_crashes_compilers() {
    let folder = root().join("kernels");
    let mut folders = vec![folder.clone()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "cl" || ending == "clh") {
                let found = pitfalls(&std::fs::read_to_string(&path).unwrap());
                assert!(found.is_empty(), "{}: {found:?}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn planted_pitfalls_are_found() {
    let planted = "typedef uchar __attribute__((ext_vector_type(64))) bytes_t;\nuint32 many;\n\
        // (uint *)& in a comment\nvoid store(DST dst)\n{\n    write_imagef(dst, x, c);\n}\n\
        __kernel void\nall(DST dst)\n{\n    write_imagef(dst, x, c);\n    const uint *a = (const uint *)&y;\n\
        v = *(const samples_t *)one;\n    wait((event_t *)&copy, (__global const uint4 *)p);\n}\n";
    let lines: Vec<usize> = pitfalls(planted).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 2, 6, 12, 13], "{:?}", pitfalls(planted));
}
