//! Properties of a file that follow from its directives: faults, and guards against including it twice.

use super::scan::{Directive, Scan};

/// Returns true for directives that include another file.
pub(super) fn is_include(directive: &Directive) -> bool {
    matches!(directive.name.as_str(), "include" | "include_next" | "import")
}

/// Returns a sentence about a fault of a file that would extend to the text after its `#include`: a comment that does not end,
/// or `#if` and `#endif` that do not match. `None` if the file has no such fault.
pub(super) fn fault(scan: &Scan) -> Option<&'static str> {
    let (mut depth, mut is_balanced) = (0, true);
    for directive in &scan.directives {
        depth += directive.depth_change();
        is_balanced &= depth >= 0;
    }
    if scan.has_open_comment {
        Some("A comment of this file does not end.")
    } else if depth != 0 || !is_balanced {
        Some("The #if and #endif of this file do not match.")
    } else {
        None
    }
}

/// Returns the macro that guards the whole text of a file: `#ifndef GUARD`, `#define GUARD`, and `#endif` at the end. `None` if
/// the file has no such guard.
pub(super) fn guard(scan: &Scan) -> Option<String> {
    let [first, second, .., last] = scan.directives.as_slice() else { return None };
    let operand: String = first.operand.split_whitespace().collect();
    let guard = match first.name.as_str() {
        "ifndef" => first.first_name(),
        "if" => operand.strip_prefix("!defined(").and_then(|rest| rest.strip_suffix(')'))?,
        _ => return None,
    };
    let has_code = first.follows_code || second.follows_code || scan.ends_with_code;
    if has_code || second.name != "define" || second.first_name() != guard || last.name != "endif" {
        return None;
    }
    let mut depth = 0;
    for (index, directive) in scan.directives.iter().enumerate() {
        depth += directive.depth_change();
        let is_last = index + 1 == scan.directives.len();
        if depth < 1 && !is_last || depth == 1 && directive.is_alternative() {
            return None;
        }
    }
    Some(guard.to_owned())
}

/// Returns true if a `#pragma once` stands before everything that could include the file again.
pub(super) fn is_once(scan: &Scan) -> bool {
    let mut depth = 0;
    for directive in &scan.directives {
        depth += directive.depth_change();
        if directive.name == "pragma" && directive.first_name() == "once" {
            return depth == 0;
        }
        if is_include(directive) {
            return false;
        }
    }
    false
}

pub(super) fn has_once(scan: &Scan) -> bool {
    scan.directives.iter().any(|one| one.name == "pragma" && one.first_name() == "once")
}
