//! Build logs of OpenCL compilers, shortened and annotated for people.

use std::path::Path;

use crate::sources::{EMBEDDED, Sources, is_kernel_file};
use base::error::SourceLine;

/// The maximum number of lines of a build log that an error quotes.
const MAX_LOG_LINES: usize = 24;
/// The maximum length of a quoted line, in characters.
const MAX_LINE_CHARS: usize = 400;

/// Returns the beginning of a build log, with the source lines that its messages name. `text` is the compiled text; the source
/// lines come from `sources`.
pub(super) fn excerpt(log: &str, text: &str, sources: &Sources) -> String {
    annotate(&with_file_lines(log, text), sources)
}

/// Returns the warnings of a build log with the source lines that they name. Leaves out warnings about built-in files that were
/// not edited: some compilers print these at each build, and the user cannot fix them. `text` is the compiled text.
pub(super) fn warnings(log: &str, text: &str, sources: &Sources) -> String {
    let log = with_file_lines(log, text);
    let (mut kept, mut is_kept) = (Vec::new(), false);
    for line in log.lines() {
        if line.contains("warning: ") {
            let named = line.split_whitespace().find_map(source_line);
            is_kept = named.is_none_or(|named| sources.has(&named.file));
        } else if is_end(line) {
            is_kept = false;
        }
        if is_kept {
            kept.push(line);
        }
    }
    annotate(&kept.join("\n"), sources)
}

/// Returns the lines of kernel files that have errors according to a build log: "error: box_filter/own.cl:4:5: …", or
/// "box_filter/own.cl:4:5: error: …".
pub(super) fn error_lines(log: &str) -> impl Iterator<Item = SourceLine> {
    let errors = log.lines().filter(|line| line.contains("error: "));
    errors.filter_map(|line| line.split_whitespace().find_map(source_line))
}

/// Parses the position in a message of the compiler, such as "box_filter/own.cl:4:5:".
fn source_line(word: &str) -> Option<SourceLine> {
    let mut parts = word.split(':');
    let file = parts.next().filter(|file| is_kernel_file(Path::new(file)))?;
    let number = parts.next()?.parse().ok().filter(|number| *number > 0)?;
    Some(SourceLine { file: file.to_owned(), number })
}

/// Splits a build log into the lines to quote and the number of warnings left out. If the log has errors, leaves out the
/// warnings and the lines that belong to them; otherwise keeps all lines.
fn errors_of(log: &str) -> (Vec<&str>, usize) {
    let all = || log.lines().map(str::trim_end).filter(|line| !line.is_empty());
    if !all().any(|line| line.contains("error: ")) {
        return (all().collect(), 0);
    }
    let (mut kept, mut warnings, mut is_warning) = (Vec::new(), 0, false);
    for line in all() {
        if line.contains("warning: ") {
            (warnings, is_warning) = (warnings + 1, true);
        } else if line.contains("error: ") || is_end(line) {
            is_warning = false;
        }
        if !is_warning {
            kept.push(line);
        }
    }
    (kept, warnings)
}

/// Returns true if the line is the last one of a compiler's log, such as "2 errors generated."
fn is_end(line: &str) -> bool {
    line.ends_with("generated.") || line.contains("failed to build")
}

/// The file name in messages of Oclgrind, whose line numbers count the lines of the whole compiled text and ignore `#line`.
const WHOLE_TEXT: &str = "input.cl:";

/// Converts the line numbers in a build log that count the lines of the compiled text to the names and line numbers of the source
/// files.
fn with_file_lines(log: &str, text: &str) -> String {
    let named = |line: &str| {
        let (number, rest) = line.strip_prefix(WHOLE_TEXT)?.split_once(':')?;
        let (file, number) = file_at(text, number.parse().ok()?)?;
        Some(format!("{file}:{number}:{rest}"))
    };
    let lines: Vec<String> = log.lines().map(|line| named(line).unwrap_or_else(|| line.to_owned())).collect();
    lines.join("\n")
}

/// Returns the source file, and the line number in it, that line `number` of a text comes from according to its `#line` directives.
fn file_at(text: &str, number: usize) -> Option<(&str, usize)> {
    let mut at = None;
    for line in text.lines().take(number) {
        let directive = line.strip_prefix("#line ").and_then(|rest| rest.split_once(' '));
        at = match directive
            .and_then(|(next, file)| Some((file.trim().trim_matches('"'), next.parse::<usize>().ok()?)))
        {
            // The directive sets the number of the line after it.
            Some((file, next)) => Some((file, next.saturating_sub(1))),
            None => at.map(|(file, line): (&str, usize)| (file, line.saturating_add(1))),
        };
    }
    at
}

/// Returns the first lines of a build log, with long lines shortened. Below each message that names a line of a kernel file, that
/// source line is inserted, unless the compiler has quoted it. If there are errors, warnings are only counted.
fn annotate(log: &str, sources: &Sources) -> String {
    let (lines, warnings) = errors_of(log);
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        out.push(shorten(line));
        if let Some((number, quoted)) = named_source_line(line, sources) {
            let next = lines.get(i + 1).map_or("", |l| l.trim());
            // Some compilers quote the line after its number.
            if !next.ends_with(quoted.trim()) {
                out.push(format!("  {number} | {}", shorten(quoted.trim_end())));
            }
        }
        if out.len() >= MAX_LOG_LINES && i + 1 < lines.len() {
            out.push(format!("… and {} more lines, {} in all", lines.len() - i - 1, format_bytes(log.len())));
            break;
        }
    }
    match warnings {
        0 => {}
        1 => out.push("… and a warning".to_owned()),
        more => out.push(format!("… and {more} warnings")),
    }
    out.join("\n")
}

/// Shortens a long line and appends the number of bytes that were removed.
fn shorten(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => format!("{}… and {} more", &line[..at], format_bytes(line.len() - at)),
        None => line.to_owned(),
    }
}

fn format_bytes(count: usize) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..1_000_000 => format!("{} KB", count / 1000),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// Returns the source line that a message such as `box_filter/01_naive.cl:12:5: error: …` names: its number and its text.
fn named_source_line(message: &str, sources: &Sources) -> Option<(usize, String)> {
    let built_in = EMBEDDED.iter().map(|(name, _)| *name).find(|name| message.contains(&format!("{name}:")));
    let name = built_in.or_else(|| message.split_once(':').map(|(name, _)| name.trim()))?;
    let number: usize = message.split_once(&format!("{name}:"))?.1.split(':').next()?.parse().ok()?;
    let text = sources.text(name).ok()?;
    Some((number, text.lines().nth(number.checked_sub(1)?)?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns sources in which this file has two lines.
    fn sources_with(file: &str) -> Sources {
        Sources::from_texts([(file.to_owned(), "first\nsecond\n".to_owned())].into()).unwrap()
    }

    #[test]
    fn beside_errors_warnings_are_only_counted() {
        let sources = sources_with("common/mean.clh");
        let errors = "error: common/mean.clh:1:3: no\n  1 | first\nwarning: x.cl:2: odd\n  2 | odd\n  ^\nnote: why\n\
                      error: x.cl:9:1: no\nwarning: a\nDevice d failed to build the program";
        assert_eq!(
            annotate(errors, &sources),
            "error: common/mean.clh:1:3: no\n  1 | first\nerror: x.cl:9:1: no\nDevice d failed to build the program\n\
             … and 2 warnings"
        );
        // A log that has only warnings keeps them.
        assert_eq!(annotate("warning: odd\n  2 | odd", &sources), "warning: odd\n  2 | odd");
        assert!(annotate("x: error: no\nx: warning: odd", &sources).ends_with("… and a warning"));
    }

    #[test]
    fn warnings_are_those_about_edited_files() {
        let flat = "box_filter/03_flat.cl";
        let sources = sources_with(flat);
        let log = "warning: common/mean.clh:17:30 <a.h:842:28>: the ABI changes\n  17 | int16 mean16\n\
                   box_filter/03_flat.cl:2:5: warning: unused variable\nwarning: odd option\n2 warnings generated.";
        assert_eq!(
            warnings(log, "", &sources),
            "box_filter/03_flat.cl:2:5: warning: unused variable\n  2 | second\nwarning: odd option"
        );
        assert_eq!(warnings("", "", &sources), "");
        assert_eq!(warnings("note: nothing", "", &sources), "");
    }

    #[test]
    fn errors_are_found_in_the_logs_of_several_compilers() {
        let log = "error: a/b.cl:37:5: unknown type name 'imt4'\n  37 | imt4 sum;\na/b.cl:4:5: warning: unused\n\
                   a/b.cl:9:1: error: no\na/c.clh:3: error: no\nerror: a/b.cl:x\nerror: a/b.cl:0:1";
        let found: Vec<_> = error_lines(log).map(|SourceLine { file, number }| (file, number)).collect();
        assert_eq!(found, [("a/b.cl", 37), ("a/b.cl", 9), ("a/c.clh", 3)].map(|(f, n)| (f.to_owned(), n)));
    }

    #[test]
    fn a_log_quotes_its_lines_and_is_cut() {
        let sources = sources_with("common/mean.clh");
        let text = annotate("common/mean.clh:2:1: error: no", &sources);
        assert_eq!(text, "common/mean.clh:2:1: error: no\n  2 | second");
        let text = annotate("common/mean.clh:2:1: error: no\n  second\n  ^", &sources);
        assert_eq!(text, "common/mean.clh:2:1: error: no\n  second\n  ^");
        let long = vec!["noise"; 500].join("\n");
        assert_eq!(annotate(&long, &sources).lines().count(), MAX_LOG_LINES + 1);
        assert!(annotate(&long, &sources).ends_with("… and 476 more lines, 2999 bytes in all"));
        // A line may be as long as thousands of others.
        let endless = "äöü".repeat(1_000_000);
        let text = annotate(&endless, &sources);
        assert!(text.len() < 2 * MAX_LINE_CHARS + 40 && text.ends_with("… and 6.0 MB more"), "{text}");
        let wide = vec![endless.as_str(); 30].join("\n");
        assert!(annotate(&wide, &sources).len() < MAX_LOG_LINES * (2 * MAX_LINE_CHARS + 40) + 60);
    }

    /// Messages of Oclgrind count the lines of the whole text, includes among them; the quoted log names the lines of the files
    /// instead.
    #[test]
    fn a_log_that_counts_all_lines_names_those_of_the_files() {
        let file = "box_filter/03_flat.cl";
        let sources = Sources::default();
        let text = sources.whole_text(file).unwrap();
        let find = |part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
        let own = |name: &str, part: &str| {
            Sources::default().text(name).unwrap().lines().position(|line| line.contains(part)).unwrap() + 1
        };
        let (here, there) = (find("int4 sum = 0;"), find("mean4("));
        let log = format!(
            "input.cl:{here}:17: error: a\n    int4 sum = 0\ninput.cl:{there}:1: note: b\n<x>:1:2: warning: c"
        );
        let (here, there) = (own(file, "int4 sum = 0;"), own("common/mean.clh", "mean4("));
        let files = format!(
            "{file}:{here}:17: error: a\n    int4 sum = 0\ncommon/mean.clh:{there}:1: note: b\n<x>:1:2: warning: c"
        );
        assert_eq!(with_file_lines(&log, &text), files);
        assert_eq!(
            with_file_lines("input.cl:99999999999999999999:1: x\ninput.cl:0:1: y", &text),
            "input.cl:99999999999999999999:1: x\ninput.cl:0:1: y"
        );
    }
}
