//! The heart of a kernel file: its few most important lines, for presentations. Comments in the file mark these lines, so that
//! they stay correct when the file is edited.

/// The comment at the end of a line that marks the statement beginning there as part of the heart.
const MARK: &str = "// heart";
/// The greatest number of lines of a heart, and the greatest number of characters in a line.
const MAX_SIZE: (usize, usize) = (9, 110);

/// Returns the heart of an OpenCL C source: the statements whose first lines end with `// heart`, without their indentation,
/// and with an empty line between two of them; empty if no statement is marked. A loop is one statement. Returns at most 9
/// lines of 110 characters; an ellipsis replaces the rest.
pub fn heart(source: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut lines = source.lines();
    while let Some(first) = lines.next() {
        let Some(first) = first.trim_end().strip_suffix(MARK) else { continue };
        let indent = first.len() - first.trim_start().len();
        if !found.is_empty() {
            found.push(String::new());
        }
        let mut depth = 0;
        for line in std::iter::once(first).chain(lines.by_ref()) {
            let own = line.len() - line.trim_start().len();
            let text = line.get(own.min(indent)..).unwrap_or_default().trim_end();
            found.push(shortened(text.strip_suffix(MARK).unwrap_or(text).trim_end()));
            if ends_statement(line, &mut depth) {
                break;
            }
        }
    }
    if found.len() > MAX_SIZE.0 {
        found.truncate(MAX_SIZE.0 - 1);
        found.push("\u{2026}".to_owned());
    }
    found.join("\n")
}

/// Returns true if a statement ends with this line. `depth` is the number of open brackets before the line; it is changed to
/// the number after the line.
fn ends_statement(line: &str, depth: &mut i32) -> bool {
    let code = line.split("//").next().unwrap_or_default().trim_end();
    if code.trim_start().starts_with('#') {
        return false;
    }
    for c in code.chars() {
        match c {
            '(' | '[' | '{' => *depth += 1,
            ')' | ']' | '}' => *depth -= 1,
            _ => {}
        }
    }
    *depth <= 0 && code.ends_with([';', '}'])
}

/// Returns a line without tabs, cut with an ellipsis if it is too long.
fn shortened(line: &str) -> String {
    let line = line.replace('\t', "    ");
    match line.char_indices().nth(MAX_SIZE.1) {
        Some((end, _)) => format!("{}\u{2026}", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use base::device::DeviceKind;
    use box_filter::VariantId;
    use opencl::sources::Sources;

    use super::*;

    #[test]
    fn marked_statements_are_the_heart_and_a_long_one_is_cut() {
        let loops = "void f()\n{\n    for (;;) // heart\n        for (;;)\n            s += a[(i)]; // }\n    t();\n}\n";
        assert_eq!(heart(loops), "for (;;)\n    for (;;)\n        s += a[(i)]; // }");
        let blocks = "  for (;;) { // heart\n    if (a) {\n      b();\n    }\n#pragma unroll\n  }\n c();\n  d(1,  // heart\n    2);\n";
        let both = "for (;;) {\n  if (a) {\n    b();\n  }\n#pragma unroll\n}\n\nd(1,\n  2);";
        assert_eq!(heart(blocks), both, "two statements");
        assert_eq!(heart("int x; // no heart is marked\nint y;"), "");

        let all = heart(&format!("while (1) {{ // heart\n{}", "\tx();\n".repeat(40)));
        assert_eq!(all.lines().count(), MAX_SIZE.0);
        assert!(all.starts_with("while (1) {\n    x();") && all.ends_with("\n\u{2026}"), "{all}");
        let wide = heart(&format!("{} // heart\n;", "\u{e9}".repeat(200)));
        assert_eq!(wide.lines().next().unwrap().chars().count(), MAX_SIZE.1 + 1);
    }

    #[test]
    fn each_variant_of_the_ladder_has_a_heart_that_is_shown_whole() {
        for id in crate::talk::order(VariantId::all()) {
            for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
                let file = id.files(kind).unwrap()[0];
                let heart = heart(&Sources::default().text(file).unwrap());
                assert!(heart.contains("+= ") && !heart.contains('\u{2026}'), "{file}: {heart}");
            }
        }
    }
}
