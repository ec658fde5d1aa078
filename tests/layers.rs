//! Structural rules that the compiler does not check: the player does without the benchmark, code outside the ladders names no
//! variant, common code of ladders names no ladder, the architecture page names existing files, and kernels are portable.

mod paths;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use box_filter::VariantId;

use crate::checks::files_below;

use paths::{code, modules};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// A module's file.
struct File {
    name: String,
    text: String,
}

/// Reads the files of all modules of the program and its libraries, except the tests' own library.
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

/// The architecture page names existing files, and every module of the window.
#[test]
fn the_architecture_page_names_existing_files_and_every_module_of_the_player() {
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
    let parts = modules(&std::fs::read_to_string(root.join("src/app/player/mod.rs")).unwrap());
    assert!(parts.len() > 15, "{parts:?}");
    for part in parts {
        let rows = [format!("`{part}.rs`"), format!("`{part}/`")];
        assert!(rows.iter().any(|row| page.contains(row.as_str())), "docs/architecture.md lacks {part}");
    }
}

/// Returns the crates of the workspace that a crate names in its section `[dependencies]`.
fn dependencies(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let names = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('.'));
    names.map(|(name, _)| name.to_owned()).filter(|name| root().join("crates").join(name).exists()).collect()
}

/// Returns the crates of the workspace that a crate depends on, through others too.
fn all_dependencies(name: &str) -> BTreeSet<String> {
    let (mut all, mut left) = (BTreeSet::new(), dependencies(name));
    while let Some(next) = left.pop() {
        if all.insert(next.clone()) {
            left.extend(dependencies(&next));
        }
    }
    all
}

/// The window filters and measures without the benchmark's harness, and its panels show data without calls of OpenCL.
#[test]
fn the_player_does_without_the_benchmark() {
    let engine = all_dependencies("engine");
    assert!(engine.contains("compute") && engine.contains("box-filter"), "{engine:?}");
    assert!(["ladder", "ladders"].iter().all(|name| !engine.contains(*name)), "{engine:?}");
    assert!(all_dependencies("ladders").contains("ladder"), "it is found");
    let overlay = dependencies("overlay");
    assert!(overlay.contains(&"stats".to_owned()), "{overlay:?}");
    assert!(["engine", "opencl"].iter().all(|name| !overlay.contains(&(*name).to_owned())), "{overlay:?}");
    assert!(!all_dependencies("stats").contains("engine"), "the overlay is built beside the engine");
}

/// Returns the lines of a text that have `crate` in its code.
fn lines_with_crate(text: &str) -> Vec<usize> {
    code(text).iter().filter(|token| token.text == "crate").map(|token| token.line).collect()
}

#[test]
fn comments_strings_and_tests_are_no_code() {
    for text in [
        "// use crate::app;",
        "//! [`x`](crate::app)",
        "/* use crate::app; /* nested */ use crate::app; */",
        "const S: &str = \"a\\\"crate::app::run\";",
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
        assert!(lines_with_crate(text).is_empty(), "{text}");
        // The code behind it is found.
        let last = text.lines().count() + 1;
        assert_eq!(lines_with_crate(&format!("{text}\nuse crate::cli;")), [last], "{text}");
    }
    for text in ["const C: char = '\"'; use crate::cli;", "const C: char = '\\''; use crate::cli; // '"] {
        assert_eq!(lines_with_crate(text), [1], "{text}");
    }
    assert_eq!(modules("#[cfg(test)]\nmod tests;\npub mod a;\nmod b;\nmod c { mod d; }"), ["a", "b"]);
}

/// Ids of variants that are also English words or terms of OpenCL: as words they may occur anywhere, in quotation marks they are
/// variants.
const ENGLISH: &str = "apart copied global group local panels private reference several single threads vector \
    work-group written";
/// Names of all ladders: the variant that takes the fastest kernel, and back ends.
const COMMON: [&str; 3] = ["auto", "native", "glsl"];
/// Words of single ladders. The name of transposition is missing, because `Option` has a method of that name.
const OF_LADDERS: &str = "radius radii picture pictures pixel pixels rgba luminance block blocks mn mnk matrix matrices \
    army shirt shirts box_filter vector_add matmul histogram cloth";

/// Returns the words of a file of the common part that belong to a single ladder.
fn words_of_one_ladder(file: &str, text: &str, ids: &BTreeSet<&'static str>) -> Vec<String> {
    let lower = text.to_lowercase();
    let words: BTreeSet<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect();
    // Variants made up by tests may have any name.
    let is_quoted = |id: &str| !file.ends_with("_tests.rs") && text.contains(&format!("\"{id}\""));
    let is_english = |id: &str| ENGLISH.split(' ').any(|word| word == id);
    let is_named = |id: &&&str| if is_english(id) { is_quoted(id) } else { words.contains(**id) };
    let ids = ids.iter().filter(|id| !COMMON.contains(id)).filter(is_named);
    ids.copied().chain(OF_LADDERS.split(' ').filter(|word| words.contains(word))).map(str::to_owned).collect()
}

/// Returns the ids of the variants of all ladders.
fn all_variant_ids() -> BTreeSet<&'static str> {
    let filters = VariantId::all().filter(|id| *id != VariantId::OFF).map(|id| id.name);
    filters.chain(ladders::all().iter().flat_map(|one| (one.variants)()).map(|variant| variant.id)).collect()
}

/// The common code of ladders names none of them. The kernels of the reduction lie beside it, and are no part.
#[test]
fn common_code_of_ladders_names_no_single_ladder() {
    let ids = all_variant_ids();
    assert!(["running-sum", "register-tiles", "group-linear", "one-pass"].iter().all(|id| ids.contains(id)));
    assert!(ENGLISH.split(' ').chain(COMMON).all(|id| ids.contains(id)), "each is a variant");
    let mut paths = Vec::new();
    for name in ["ladder", "compute"] {
        files_below(&root().join("crates").join(name).join("src"), &mut paths);
    }
    // Results of schema 1 had keys of a single ladder.
    paths.retain(|path| !path.ends_with("results/schema_1.rs"));
    paths.retain(|path| !path.parent().unwrap().ends_with("reduction"));
    assert!(paths.len() >= 6, "{paths:?}");
    for path in paths {
        let path = path.display().to_string();
        let found = words_of_one_ladder(&path, &std::fs::read_to_string(&path).unwrap(), &ids);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}

#[test]
fn a_word_of_one_ladder_is_found() {
    let found = |file: &str, text: &str| words_of_one_ladder(file, text, &all_variant_ids());
    assert_eq!(found("a.rs", "// Pixels of Pictures, and an `army`."), ["pictures", "pixels", "army"]);
    assert_eq!(found("a.rs", "pub mnk: Option<[u32; 3]>, // fused"), ["fused", "mnk"]);
    assert_eq!(found("a.rs", "if id == \"group\" || id == \"two-queues\" {}"), ["group", "two-queues"]);
    assert_eq!(found("a.rs", "// A group of several threads; \"auto\"; x.transpose(); GROUPED"), [""; 0]);
    assert_eq!(found("a_tests.rs", "row(\"threads\")"), [""; 0]);
}

/// Returns every string that equals the id of a single variant, with its line. Code for tests only is left out.
fn single_variants(text: &str) -> Vec<(usize, String)> {
    let ids = all_variant_ids();
    let id = |text: &str| text.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    let found = code(text).into_iter().filter_map(|token| Some((token.line, id(&token.text)?)));
    found.filter(|(_, id)| ids.contains(id.as_str()) && !COMMON.contains(&id.as_str())).collect()
}

/// Returns true if a file may name variants. The kernels that convert and correct lie beside the box filter, and are no
/// part. Results of schema 1 had keys of a single ladder. Keys of filters' descriptions are also ids, such as `local`.
fn may_name_variants(file: &str) -> bool {
    let converts = ["color_kernels", "color_test_pictures"].iter().any(|name| file.contains(name));
    let is_of_ladder = ["crates/ladders/", "crates/compute/src/reduction/", "crates/filter/"]
        .iter()
        .any(|at| file.starts_with(at))
        || file.ends_with("results/schema_1.rs");
    is_of_ladder || file.starts_with("crates/box-filter/") && !converts
}

/// Code queries a property that a variant declares, not its name: then another variant with that property needs no more
/// code.
#[test]
fn code_outside_the_ladders_names_no_single_variant() {
    let (mut wrong, mut read) = (String::new(), 0);
    for file in files().iter().filter(|file| !may_name_variants(&file.name)) {
        for (line, name) in single_variants(&file.text) {
            wrong.push_str(&format!("  {}:{line}: {name}\n", file.name));
        }
        read += 1;
    }
    assert!(wrong.is_empty(), "Ask what the variant declares (crates/box-filter/src/filter.rs):\n{wrong}");
    assert!(read > 200, "it has read them: {read}");
}

#[test]
fn a_named_variant_is_found() {
    let found = |text: &str| {
        let found = single_variants(text);
        found.into_iter().map(|(line, name)| format!("{line} {name}")).collect::<Vec<_>>()
    };
    assert_eq!(found("fn f() {\n    if id == named(\"planar\") {}\n}"), ["2 planar"]);
    assert_eq!(found("if variant.id == \"two-queues\" || id == \"panels\" {}"), ["1 two-queues", "1 panels"]);
    for text in [
        "if id == VariantId::OFF || id.is_auto() { VariantId::all() }",
        "// named(\"planar\")",
        "const HINT: &str = \"Choose flat or 'planar'.\";",
        "#[cfg(test)]\nmod tests { const S: &str = \"flat\"; }",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

/// Returns OpenCL C code that built-in kernels avoid, with its line: not every driver compiles it.
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
    // A cast to a pointer into private memory: a numeric type, perhaps with `const`, between the brackets.
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
fn kernels_avoid_code_that_is_not_portable() {
    let mut paths = Vec::new();
    files_below(&root().join("kernels"), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "cl" || ending == "clh"));
    assert!(paths.len() > 50, "{paths:?}");
    for path in paths {
        let found = pitfalls(&std::fs::read_to_string(&path).unwrap());
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

#[test]
fn code_that_is_not_portable_is_found() {
    let lines_with_crate = "typedef uchar __attribute__((ext_vector_type(64))) bytes_t;\nuint32 many;\n\
        // (uint *)& in a comment\nvoid store(DST dst)\n{\n    write_imagef(dst, x, c);\n}\n\
        __kernel void\nall(DST dst)\n{\n    write_imagef(dst, x, c);\n    const uint *a = (const uint *)&y;\n\
        v = *(const samples_t *)one;\n    wait((event_t *)&copy, (__global const uint4 *)p);\n}\n";
    let lines: Vec<usize> = pitfalls(lines_with_crate).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 2, 6, 12, 13], "{:?}", pitfalls(lines_with_crate));
}
