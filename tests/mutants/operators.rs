//! The operators that change one place of a kernel, such as `<` to `<=`. They know tokens, and nothing of the kernels.

use std::collections::HashMap;
use std::ops::Range;

use super::tokens::{Tokens, line_of};

/// A change of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The name of the operator.
    pub operator: &'static str,
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// The replacement.
    pub to: String,
}

/// Scalar arguments of kernels, with a condition that holds for most of their values: results are then lost for the others.
const ARGUMENTS: [(&str, &str); 4] = [
    ("radius", "radius < 20 || radius > 23"),
    ("width", "width != 640 && width != 1280"),
    ("count", "count < 4000"),
    ("k", "k < 250"),
];

/// Calls that store into global memory.
const STORES: [&str; 4] = ["STORE_UCHAR16", "STORE_USHORT16", "store_tail", "write_imagef"];

/// Returns all changes of a kernel file by all operators, ordered by operator and place.
pub fn places(text: &str) -> Vec<Place> {
    let scan = Scan::new(text);
    let mut places = Vec::new();
    for at in 0..scan.tokens.len() {
        scan.exchange(at, &mut places);
        scan.constant(at, &mut places);
        scan.component(at, &mut places);
        scan.call(at, &mut places);
        scan.store(at, &mut places);
    }
    places.sort_by_key(|place| (place.operator, place.range.start));
    places
}

/// A kernel file as tokens.
struct Scan<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    /// The types of pointers to global memory that can be written, by name.
    global: HashMap<&'a str, &'a str>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let tokens = Tokens::of(text);
        let mut global = HashMap::new();
        for at in 0..tokens.len() {
            let end = at + 2 + usize::from(tokens.word(at + 3) == "restrict");
            if tokens.word(at) == "__global" && tokens.word(at + 2) == "*" {
                global.insert(tokens.word(end + 1), tokens.word(at + 1));
            }
        }
        Self { text, tokens, global }
    }

    fn word(&self, at: usize) -> &'a str {
        self.tokens.word(at)
    }

    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |at| self.word(at))
    }

    /// Returns true if an operator at this token has a value on its left.
    fn is_binary(&self, at: usize) -> bool {
        let left = self.before(at);
        let is_name = left.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let earlier = at.checked_sub(2).map_or("", |at| self.word(at));
        let is_pointer = ["__global", "__local", "const", "volatile"].contains(&earlier)
            || [")", "*", ",", "restrict"].contains(&self.word(at + 1));
        let is_cast = self.word(at) == "*" && is_pointer || left == ")" && earlier == "*";
        (is_name && left != "return" || [")", "]"].contains(&left)) && !is_cast
    }

    /// Returns true if a statement begins at this token.
    fn is_statement(&self, at: usize) -> bool {
        [";", "{", "}", ")"].contains(&self.before(at)) && self.tokens.depth(at).is_some()
    }

    fn add(&self, places: &mut Vec<Place>, operator: &'static str, range: Range<usize>, to: String) {
        if self.text[range.clone()] != to {
            places.push(Place { operator, range, to });
        }
    }

    /// Operators, and functions of the same arguments: each is replaced by another one.
    fn exchange(&self, at: usize, places: &mut Vec<Place>) {
        const BINARY: [(&str, &str, &str); 19] = [
            ("bound", "<", "<="),
            ("bound", "<=", "<"),
            ("bound", ">", ">="),
            ("bound", ">=", ">"),
            ("equality", "==", "!="),
            ("equality", "!=", "=="),
            ("sign", "+", "-"),
            ("sign", "-", "+"),
            ("sign", "+=", "-="),
            ("sign", "-=", "+="),
            ("factor", "*", "+"),
            ("factor", "/", "*"),
            ("factor", "%", "/"),
            ("shift", "<<", ">>"),
            ("shift", ">>", "<<"),
            ("logic", "&", "|"),
            ("logic", "|", "&"),
            ("logic", "&&", "||"),
            ("logic", "||", "&&"),
        ];
        const CALLS: [(&str, &str); 4] = [("min", "max"), ("max", "min"), ("fmin", "fmax"), ("fmax", "fmin")];
        let (word, range) = (self.word(at), self.tokens.range(at));
        if let Some((operator, _, to)) = BINARY.iter().find(|(_, from, _)| *from == word)
            && self.is_binary(at)
        {
            self.add(places, operator, range.clone(), (*to).to_owned());
        }
        if let Some((_, to)) = CALLS.iter().find(|(from, _)| *from == word && self.word(at + 1) == "(") {
            self.add(places, "min and max", range.clone(), (*to).to_owned());
        }
        let rounding = word.replace("_rte", "_rtz").replace("_sat", "");
        self.add(places, "rounding", range, rounding);
    }

    /// Numbers: one more, a negative zero, or one per cent more.
    fn constant(&self, at: usize, places: &mut Vec<Place>) {
        let (word, range) = (self.word(at), self.tokens.range(at));
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let suffix = &word[digits.len()..];
        let hexadecimal = digits.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        let to = match (hexadecimal, digits.parse::<u64>(), word) {
            (Some(Ok(number)), ..) => format!("0x{:x}{suffix}", number + 1),
            (_, Ok(number), _) => format!("{}{suffix}", number + 1),
            (_, _, "0.0f") if self.before(at) == "=" => "-0.0f".to_owned(),
            (_, _, "0.0f") => "1.0f".to_owned(),
            _ if word.ends_with('f') && word.contains('.') => format!("(1.01f * {word})"),
            _ => return,
        };
        self.add(places, "constant", range, to);
    }

    /// The component of a vector: another one.
    fn component(&self, at: usize, places: &mut Vec<Place>) {
        let (word, range) = (self.word(at), self.tokens.range(at));
        let from = match word.rsplit_once('.') {
            Some((name, part)) if !name.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) => part,
            None if self.before(at) == "." => word,
            _ => return,
        };
        let to = match from {
            "x" => "y".to_owned(),
            "y" | "z" | "w" => "x".to_owned(),
            "lo" => "hi".to_owned(),
            "hi" => "lo".to_owned(),
            "even" => "odd".to_owned(),
            "odd" => "even".to_owned(),
            _ => match from.strip_prefix('s') {
                Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
                    match (digits.split_at(1), digits.len()) {
                        ((first, _), 1) => if first == "0" { "s1" } else { "s0" }.to_owned(),
                        ((first, rest), _) => format!("s{}{first}{}", &rest[..1], &rest[1..]),
                    }
                }
                _ => return,
            },
        };
        self.add(places, "component", range.end - from.len()..range.end, to);
    }

    /// Calls: a statement is dropped, `clamp` loses an end, a conversion saturates too early; and an index, which is one more.
    fn call(&self, at: usize, places: &mut Vec<Place>) {
        let (word, start) = (self.word(at), self.tokens.range(at).start);
        let Some(close) = self.tokens.closing(at + 1) else { return };
        let inside = self.tokens.range(at + 1).end..self.tokens.range(close).start;
        if self.word(at + 1) == "[" && self.tokens.depth(at).is_some() && !inside.is_empty() {
            let is_declared =
                self.before(at).starts_with(|c: char| c.is_ascii_alphabetic()) && self.before(at) != "return";
            if !is_declared {
                let to = format!("{} + 1", &self.text[inside.clone()]);
                self.add(places, "index", inside, to);
            }
            return;
        }
        if word == ")" && self.before(at) == "*" && self.word(at + 1) == "(" {
            let to = format!("({}) + 1", &self.text[inside.clone()]);
            self.add(places, "pointer", inside, to);
            return;
        }
        if self.word(at + 1) != "(" || !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return;
        }
        let all = start..self.tokens.range(close).end;
        if word == "clamp"
            && let [value, low, high] = self.tokens.arguments(at + 1).as_slice()
        {
            let of = |range: &Range<usize>| &self.text[range.clone()];
            self.add(places, "clamp", all.clone(), format!("max({}, {})", of(value), of(low)));
            self.add(places, "clamp", all.clone(), format!("min({}, {})", of(value), of(high)));
        }
        let limits = [("uchar", 254), ("ushort", 30_000)];
        let to = word.strip_prefix("convert_").map(|to| to.trim_end_matches("_sat"));
        if let Some(to) = to
            && let Some((_, limit)) =
                limits.iter().find(|(kind, _)| to.trim_end_matches(char::is_numeric) == *kind)
        {
            let saturated = format!("min({}, ({to})({limit}))", &self.text[all.clone()]);
            self.add(places, "saturation", all.clone(), saturated);
        }
        let is_keyword = ["if", "for", "while", "return", "switch"].contains(&word);
        if self.is_statement(at) && self.word(close + 1) == ";" && !is_keyword {
            let is_barrier = word.to_lowercase().contains("barrier") || word == "wait_group_events";
            self.add(places, if is_barrier { "barrier" } else { "call" }, all, String::new());
        }
    }

    /// Statements that store into global memory: nothing for the first work-item or for a value of an argument, something
    /// before the output too, and floats that are rounded or limited.
    fn store(&self, at: usize, places: &mut Vec<Place>) {
        let name = self.word(at);
        let Some(close) = self.tokens.closing(at + 1) else { return };
        let pointee = self.global.get(name).filter(|_| self.word(at + 1) == "[");
        let is_assigned = pointee.is_some() && self.word(close + 1) == "=";
        if !self.is_statement(at) || !(is_assigned || STORES.contains(&name)) {
            return;
        }
        let Some(end) = (close..self.tokens.len()).find(|&at| self.word(at) == ";") else { return };
        let range = self.tokens.range(at).start..self.tokens.range(end).end;
        let whole = &self.text[range.clone()];
        let to = format!("{{ if (get_global_id(0) > 0) {whole} }}");
        self.add(places, "first item", range.clone(), to);
        for (argument, condition) in ARGUMENTS {
            if self.tokens.parameters(at).any(|name| name == argument) {
                self.add(places, "argument", range.clone(), format!("{{ if ({condition}) {whole} }}"));
            }
        }
        let Some(pointee) = pointee else { return };
        let to = format!("{{ if (get_global_id(0) == 0) {name}[-1] = {name}[0]; {whole} }}");
        self.add(places, "outside", range, to);
        if pointee.starts_with("float") || *pointee == "real" {
            let value = self.tokens.range(close + 1).end..self.tokens.range(end).start;
            let expression = self.text[value.clone()].trim();
            self.add(places, "rounding", value.clone(), format!(" ({expression}) * 1.00002f"));
            self.add(places, "saturation", value, format!(" fmin({expression}, 1e16f)"));
        }
    }
}

/// Selects at most `most` places of a file: of each operator one, then of each a second one, and so on. Which ones depends
/// on their lines only, so that an edit elsewhere in the file leaves the selection as it is.
pub fn select(text: &str, file: &str, places: Vec<Place>, most: usize) -> Vec<Place> {
    let mut operators: HashMap<&str, Vec<(String, Place)>> = HashMap::new();
    for place in places {
        let line = text.lines().nth(line_of(text, place.range.start) - 1).unwrap_or_default();
        let key = super::hash(&format!("{file} {} {}", place.to, line.trim()));
        operators.entry(place.operator).or_default().push((key, place));
    }
    let mut ranked: Vec<(usize, String, Place)> = Vec::new();
    for (operator, mut places) in operators {
        places.sort_by(|a, b| a.0.cmp(&b.0));
        let order = super::hash(&format!("{file} {operator}"));
        ranked.extend(places.into_iter().enumerate().map(|(rank, (_, place))| (rank, order.clone(), place)));
    }
    ranked.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    ranked.truncate(most);
    ranked.into_iter().map(|(_, _, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<String> {
        let change = |place: Place| {
            let mut changed = text.to_owned();
            changed.replace_range(place.range, &place.to);
            format!("{}: {changed}", place.operator)
        };
        places(text).into_iter().map(change).collect()
    }

    fn has(text: &str, wanted: &[&str]) {
        let changes = changes(text);
        for change in wanted {
            assert!(changes.iter().any(|found| found == change), "{change}\n{changes:#?}");
        }
    }

    #[test]
    fn each_operator_changes_its_tokens() {
        has("f(){a <= b;}", &["bound: f(){a < b;}"]);
        has(
            "f(){a - b == 7u;}",
            &["sign: f(){a + b == 7u;}", "equality: f(){a - b != 7u;}", "constant: f(){a - b == 8u;}"],
        );
        has("f(){x = 0.0f;}", &["constant: f(){x = -0.0f;}"]);
        has(
            "f(){min(a, b.s01 & 0xff);}",
            &[
                "min and max: f(){max(a, b.s01 & 0xff);}",
                "component: f(){min(a, b.s10 & 0xff);}",
                "logic: f(){min(a, b.s01 | 0xff);}",
                "constant: f(){min(a, b.s01 & 0x100);}",
            ],
        );
        has("f(){clamp(a, 0, g(b));}", &["clamp: f(){max(a, 0);}", "clamp: f(){min(a, g(b));}"]);
        has("f(){ barrier(X); g(1); }", &["barrier: f(){ ; g(1); }", "call: f(){ barrier(X); ; }"]);
        has("f(){x = convert_uchar4(y);}", &["saturation: f(){x = min(convert_uchar4(y), (uchar4)(254));}"]);
        has(
            "f(){x = convert_int4_rte(y << 2);}",
            &["rounding: f(){x = convert_int4_rtz(y << 2);}", "shift: f(){x = convert_int4_rte(y >> 2);}"],
        );
        has("f(){x = *(__global int *)(p);}", &["pointer: f(){x = *(__global int *)((p) + 1);}"]);
        has("f(){a[i] = b * c;}", &["index: f(){a[i + 1] = b * c;}", "factor: f(){a[i] = b + c;}"]);
        has(
            "f(__global float *a, int k){a[i] = b;}",
            &[
                "first item: f(__global float *a, int k){{ if (get_global_id(0) > 0) a[i] = b; }}",
                "argument: f(__global float *a, int k){{ if (k < 250) a[i] = b; }}",
                "outside: f(__global float *a, int k){{ if (get_global_id(0) == 0) a[-1] = a[0]; a[i] = b; }}",
                "saturation: f(__global float *a, int k){a[i] = fmin(b, 1e16f);}",
            ],
        );
    }

    #[test]
    fn pointers_signs_and_other_devices_are_no_places() {
        let changes = changes(
            "#if NVIDIA\nf(){a < b;}\n#endif\n#define N 4\n// a < b\nf(__global const float *p){ x = -y; *(__global float *)p; }",
        );
        assert_eq!(changes, [] as [&str; 0]);
    }

    #[test]
    fn a_selection_has_each_operator_and_does_not_depend_on_other_lines() {
        let text = "f(){a < b;}\nf(){c < d;}\nf(){e + f;}\n";
        let chosen = |text: &str, most| {
            let of =
                |place: &Place| (place.operator, text[..place.range.end].lines().last().map(str::to_owned));
            let mut chosen: Vec<_> = select(text, "a.cl", places(text), most).iter().map(of).collect();
            chosen.sort();
            chosen
        };
        let two = chosen(text, 2);
        assert_eq!(two.iter().map(|(operator, _)| *operator).collect::<Vec<_>>(), ["bound", "sign"]);
        assert_eq!(chosen(&format!("// A line.\n{text}"), 2), two);
        assert_eq!(chosen(text, 9).len(), 3);
    }
}
