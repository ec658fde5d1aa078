//! Finds the files that an `#include` of a macro may name, as in `#define M "x.clh"` and `#include M`: expands the macro with
//! each of its definitions (C99, 6.10.3). The compiler decides which definition is in force: each definition is followed by the
//! definition of a marker macro, and the include is replaced by an `#if` for each possibility.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::scan::{Directive, is_identifier};

/// The maximum number of combinations of definitions that are tried for one include.
const MAX_COMBINATIONS: usize = 64;
/// The maximum number of tokens that are expanded in the includes of one program, so that no program takes too long.
const MAX_STEPS: usize = 1_000_000;

/// The name of a file in an include.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderName {
    /// `"name"`, searched for first in the folder of the file that includes it, and then in the folder of kernels.
    Quoted(String),
    /// `<name>`, searched for in the folder of kernels.
    Angled(String),
}

impl HeaderName {
    /// Parses the operand of an include that names its file directly; `None` if it begins with something else.
    pub(super) fn parse(operand: &str) -> Option<Self> {
        let operand = operand.trim_start();
        let (quoted, angled) = (operand.strip_prefix('"'), operand.strip_prefix('<'));
        let quoted =
            quoted.and_then(|rest| rest.split_once('"')).map(|(name, _)| Self::Quoted(name.to_owned()));
        quoted.or_else(|| angled?.split_once('>').map(|(name, _)| Self::Angled(name.to_owned())))
    }
}

/// A token of the preprocessor.
#[derive(Debug, Clone)]
struct Token {
    text: String,
    follows_space: bool,
    /// The numbers of the macros whose expansion produced the token, and which are not expanded in it again.
    hidden: Vec<usize>,
}

/// A macro's definition.
#[derive(Debug)]
struct Definition {
    parameters: Option<Vec<String>>,
    body: Vec<Token>,
}

/// All definitions of the macros in some files. Each macro has a number, and so has each of its definitions.
#[derive(Debug, Default)]
pub(super) struct Macros {
    numbers: HashMap<String, usize>,
    definitions: Vec<Vec<Definition>>,
    /// The number of tokens that were expanded.
    steps: Cell<usize>,
}

/// The macro definitions that are in force: the number of each macro, with the number of its definition counted from 1, or with
/// 0 if the macro is not defined.
pub(super) type Condition = BTreeMap<usize, usize>;

impl Macros {
    /// Adds a `#define`. Returns the numbers of the macro and of the definition; `None` if the directive names no macro.
    pub(super) fn add(&mut self, directive: &Directive) -> Option<(usize, usize)> {
        let name = directive.first_name();
        let rest = directive.operand.trim_start().strip_prefix(name).filter(|_| !name.is_empty())?;
        let (parameters, body) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((list, body)) => (Some(list.split(',').map(|name| name.trim().to_owned()).collect()), body),
            None => (None, rest),
        };
        let number = self.number(name).unwrap_or_else(|| {
            self.numbers.insert(name.to_owned(), self.definitions.len());
            self.definitions.push(Vec::new());
            self.definitions.len() - 1
        });
        self.definitions[number].push(Definition { parameters, body: tokens(body) });
        Some((number, self.definitions[number].len()))
    }

    /// Returns the number of a macro; `None` if no file defines it.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Returns the files that an include with this operand may name, each with the macro definitions that must be in force for
    /// it; `None` if there are too many possibilities. `file` is the value of `__FILE__`.
    pub(super) fn header_names(&self, operand: &str, file: &str) -> Option<Vec<(Condition, HeaderName)>> {
        let mut needed: Vec<usize> = Vec::new();
        loop {
            let counts = needed.iter().map(|number| self.definitions[*number].len() + 1);
            let combinations = counts.clone().try_fold(1_usize, |all, count| all.checked_mul(count));
            let combinations = combinations.filter(|all| *all <= MAX_COMBINATIONS)?;
            let (mut found, mut missing) = (Vec::new(), BTreeSet::new());
            for combination in 0..combinations {
                let mut rest = combination;
                let choice = needed.iter().zip(counts.clone()).map(|(number, count)| {
                    let chosen = (*number, rest % count);
                    rest /= count;
                    chosen
                });
                let mut expansion = Expansion::new(self, choice.collect(), file);
                let expanded = expansion.expand(tokens(operand));
                missing.extend(expansion.missing);
                if let Some(name) = expanded.and_then(|tokens| HeaderName::parse(&spelled(&tokens))) {
                    let one = (expansion.used, name);
                    if !found.contains(&one) {
                        found.push(one);
                    }
                }
            }
            if missing.is_empty() {
                return Some(found);
            }
            needed.extend(missing);
        }
    }
}

/// The expansion of macros with given definitions.
struct Expansion<'a> {
    macros: &'a Macros,
    choice: Condition,
    /// The part of `choice` that the result depends on.
    used: Condition,
    /// The macros that the result depends on, but are not in `choice`.
    missing: BTreeSet<usize>,
    file: &'a str,
}

impl<'a> Expansion<'a> {
    fn new(macros: &'a Macros, choice: Condition, file: &'a str) -> Self {
        Self { macros, choice, used: Condition::new(), missing: BTreeSet::new(), file }
    }

    /// Expands all macros among the tokens; `None` if that takes too long.
    fn expand(&mut self, tokens: Vec<Token>) -> Option<Vec<Token>> {
        let (mut left, mut out): (VecDeque<Token>, Vec<Token>) = (tokens.into(), Vec::new());
        while let Some(mut token) = left.pop_front() {
            let steps = &self.macros.steps;
            steps.set(steps.get() + 1);
            if steps.get() > MAX_STEPS {
                return None;
            }
            if token.text == "__FILE__" {
                token.text = format!("\"{}\"", self.file);
            }
            let number = self.macros.number(&token.text).filter(|number| !token.hidden.contains(number));
            let Some(definition) = number.and_then(|number| self.definition(number)) else {
                out.push(token);
                continue;
            };
            let Some(body) = self.replacement(definition, &mut left)? else {
                out.push(token);
                continue;
            };
            for (at, mut new) in body.into_iter().enumerate().rev() {
                new.hidden.extend(token.hidden.iter().copied().chain(number));
                if at == 0 {
                    new.follows_space = token.follows_space;
                }
                left.push_front(new);
            }
        }
        Some(out)
    }

    /// Returns the definition of a macro that is in force; `None` if the macro is not defined.
    fn definition(&mut self, number: usize) -> Option<&'a Definition> {
        let Some(chosen) = self.choice.get(&number).copied() else {
            self.missing.insert(number);
            return None;
        };
        self.used.insert(number, chosen);
        self.macros.definitions[number].get(chosen.checked_sub(1)?)
    }

    /// Returns the tokens that replace a macro, and takes its arguments from `left`. Returns `Some(None)` if the macro needs
    /// arguments and none follow, so that its name is left as it is; returns `None` if the expansion takes too long.
    #[allow(clippy::option_option, reason = "both are documented")]
    fn replacement(&mut self, macro_: &Definition, left: &mut VecDeque<Token>) -> Option<Option<Vec<Token>>> {
        let arguments = match &macro_.parameters {
            None => Vec::new(),
            Some(_) => match take_arguments(left) {
                Some(arguments) => arguments,
                None => return Some(None),
            },
        };
        let parameters = macro_.parameters.as_deref().unwrap_or_default();
        let argument = |token: &Token| {
            let at = parameters.iter().position(|name| *name == token.text)?;
            Some(arguments.get(at).cloned().unwrap_or_default())
        };
        let body = &macro_.body;
        let is = |at: Option<usize>, text: &str| {
            at.and_then(|at| body.get(at)).is_some_and(|one| one.text == text)
        };
        let (mut out, mut at): (Vec<Token>, usize) = (Vec::new(), 0);
        while let Some(token) = body.get(at) {
            let before = at.checked_sub(1);
            let made_string = body.get(at + 1).filter(|_| token.text == "#").and_then(argument);
            let mut new = match argument(token) {
                _ if made_string.is_some() => {
                    at += 1;
                    let text = format!("\"{}\"", spelled(&made_string.unwrap_or_default()));
                    vec![Token { text, ..token.clone() }]
                }
                Some(raw) if is(before, "##") || is(Some(at + 1), "##") => raw,
                Some(raw) => self.expand(raw)?,
                None => vec![token.clone()],
            };
            at += 1;
            if token.text == "##" {
                continue;
            }
            if let Some(first) = new.first_mut() {
                first.follows_space = token.follows_space;
            }
            if is(before, "##")
                && let (Some(last), false) = (out.last_mut(), new.is_empty())
            {
                last.text += &new.remove(0).text;
            }
            out.extend(new);
        }
        Some(Some(out))
    }
}

/// Takes the arguments of a macro with their parentheses from the tokens. Returns `None`, and takes nothing, if no complete
/// argument list follows.
fn take_arguments(left: &mut VecDeque<Token>) -> Option<Vec<Vec<Token>>> {
    left.front().filter(|token| token.text == "(")?;
    let (mut depth, mut arguments) = (0_usize, vec![Vec::new()]);
    for (at, token) in left.iter().enumerate() {
        match token.text.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            left.drain(..=at);
            return Some(arguments);
        }
        match token.text.as_str() {
            "," if depth == 1 => arguments.push(Vec::new()),
            "(" if at == 0 => {}
            _ => arguments.last_mut()?.push(token.clone()),
        }
    }
    None
}

fn tokens(line: &str) -> Vec<Token> {
    let (mut tokens, mut rest, mut follows_space) = (Vec::new(), line, false);
    while let Some(first) = rest.chars().next() {
        let word = rest.bytes().take_while(|byte| is_identifier(*byte)).count();
        let length = match first {
            _ if first.is_whitespace() => 0,
            _ if word > 0 => word,
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            '#' if rest.starts_with("##") => 2,
            other => other.len_utf8(),
        };
        if length > 0 {
            tokens.push(Token { text: rest[..length].to_owned(), follows_space, hidden: Vec::new() });
        }
        follows_space = length == 0;
        rest = &rest[if length == 0 { first.len_utf8() } else { length }..];
    }
    tokens
}

/// Returns the text of tokens, with the spaces between them.
fn spelled(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        if token.follows_space && !text.is_empty() {
            text.push(' ');
        }
        text += &token.text;
    }
    text
}
