//! Expressions: whole numbers, `+ - * / %`, `ceil_div`, `min`, `max`, parentheses and names, computed in checked 64 bits.

use crate::place::{Mistake, Place, instead};

/// The most characters of an expression.
pub(crate) const MAX_LENGTH: usize = 300;
/// The deepest nesting of parentheses in an expression.
pub(crate) const MAX_DEPTH: usize = 24;

/// An expression, checked and ready to be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The place where the expression begins.
    pub place: Place,
    /// The steps in the order in which they are taken: operands come before what is applied to them.
    steps: Vec<(Step, Place)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Number(i64),
    Name(String),
    Apply(Function),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    CeilDiv,
    Min,
    Max,
}

impl Function {
    /// The functions that are called by name.
    const NAMED: [(&str, Self); 3] = [("ceil_div", Self::CeilDiv), ("min", Self::Min), ("max", Self::Max)];

    /// Returns the result; `None` if it does not exist, or does not fit in 64 bits.
    fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => a.checked_div(b),
            Self::Remainder => a.checked_rem(b),
            Self::CeilDiv => {
                let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
                Some(quotient + i64::from(rest != 0 && (rest < 0) == (b < 0)))
            }
            Self::Min => Some(a.min(b)),
            Self::Max => Some(a.max(b)),
        }
    }
}

impl Expression {
    /// Returns an expression that is this number.
    pub(crate) fn number(number: i64, place: Place) -> Self {
        Self { steps: vec![(Step::Number(number), place.clone())], place }
    }

    /// Returns an expression that is this name.
    pub(crate) fn name(name: &str, place: Place) -> Self {
        Self { steps: vec![(Step::Name(name.to_owned()), place.clone())], place }
    }

    /// Reads an expression. `place` returns the place of the byte at an offset in the text.
    ///
    /// # Errors
    /// Returns the first mistake.
    pub fn parse(text: &str, place: &dyn Fn(usize) -> Place) -> Result<Self, Mistake> {
        if text.chars().count() > MAX_LENGTH {
            let why = format!("It has {} characters, and {MAX_LENGTH} are allowed.", text.chars().count());
            return Err(place(0).mistake(
                "This expression is too long.",
                why,
                "Give parts of it names in `sizes`.",
            ));
        }
        let mut parser = Parser { text, at: 0, depth: 0, steps: Vec::new(), place };
        parser.operation(0)?;
        match parser.peek() {
            None => Ok(Self { place: place(0), steps: parser.steps }),
            Some(_) => Err(parser.unexpected("an operator or the end")),
        }
    }

    /// Returns the names in the expression, with their places.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.steps.iter().filter_map(|(step, place)| match step {
            Step::Name(name) => Some((name.as_str(), place)),
            _ => None,
        })
    }

    /// Computes the expression; `lookup` returns the number behind a name.
    ///
    /// # Errors
    /// Returns an error with the place of a division by zero, of a number that does not fit in 64 bits, or of an unknown name.
    pub fn value(&self, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, Mistake> {
        let mut stack: Vec<i64> = Vec::new();
        for (step, place) in &self.steps {
            let next = match step {
                Step::Number(number) => *number,
                Step::Name(name) => lookup(name).ok_or_else(|| {
                    let what = format!("'{name}' has no value here.");
                    place.mistake(&what, "Nothing of this name is known for this run.", "Use another name.")
                })?,
                Step::Apply(function) => {
                    // The parser puts two operands before each function.
                    let (b, a) = (stack.pop().unwrap_or(0), stack.pop().unwrap_or(0));
                    function.apply(a, b).ok_or_else(|| match b {
                        0 if !matches!(function, Function::Add | Function::Subtract | Function::Multiply) => {
                            place.mistake(
                                "This divides by zero.",
                                format!("{a} is divided by 0."),
                                "Divide by max(1, …).",
                            )
                        }
                        _ => {
                            let why = format!("Its operands are {a} and {b}.");
                            place.mistake(
                                "This number does not fit in 64 bits.",
                                why,
                                "Make the numbers smaller.",
                            )
                        }
                    })?
                }
            };
            stack.push(next);
        }
        Ok(stack.pop().unwrap_or(0))
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    steps: Vec<(Step, Place)>,
    place: &'a dyn Fn(usize) -> Place,
}

impl Parser<'_> {
    /// Returns the next character that is no blank, without moving past it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Moves past the longest run of characters for which `belongs` returns true, and returns it.
    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn unexpected(&mut self, wanted: &str) -> Mistake {
        let found = self
            .peek()
            .map_or("The expression ends here.".to_owned(), |c| format!("'{c}' is not expected here."));
        let hint = "Expressions have whole numbers, names, + - * / %, ceil_div(a, b), min(a, b), max(a, b) and parentheses.";
        (self.place)(self.at).mistake(&found, format!("Expected: {wanted}."), hint)
    }

    fn expect(&mut self, wanted: char) -> Result<(), Mistake> {
        if self.peek() != Some(wanted) {
            return Err(self.unexpected(&format!("'{wanted}'")));
        }
        self.at += 1;
        Ok(())
    }

    /// Reads operands with operators between them; operators of level 1 bind closer than those of level 0.
    fn operation(&mut self, level: usize) -> Result<(), Mistake> {
        let operand = |parser: &mut Self| if level == 0 { parser.operation(1) } else { parser.operand() };
        operand(self)?;
        loop {
            let function = match (level, self.peek()) {
                (0, Some('+')) => Function::Add,
                (0, Some('-')) => Function::Subtract,
                (1, Some('*')) => Function::Multiply,
                (1, Some('/')) => Function::Divide,
                (1, Some('%')) => Function::Remainder,
                _ => return Ok(()),
            };
            let place = (self.place)(self.at);
            self.at += 1;
            operand(self)?;
            self.steps.push((Step::Apply(function), place));
        }
    }

    /// Reads a number, a name, a call, or an expression in parentheses.
    fn operand(&mut self) -> Result<(), Mistake> {
        let first = self.peek();
        let place = (self.place)(self.at);
        match first {
            Some('0'..='9') => {
                let digits = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.').to_owned();
                let number = digits.parse().map_err(|_| {
                    let what = format!("'{digits}' is no whole number of 64 bits.");
                    place.mistake(
                        &what,
                        "Expressions have decimal whole numbers only.",
                        "Write, for example, 16.",
                    )
                })?;
                self.steps.push((Step::Number(number), place));
            }
            Some('a'..='z' | 'A'..='Z' | '_') => {
                let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
                if self.peek() != Some('(') {
                    self.steps.push((Step::Name(name), place));
                    return Ok(());
                }
                let Some((_, function)) = Function::NAMED.into_iter().find(|(known, _)| *known == name)
                else {
                    let (why, hint) = instead(&name, &Function::NAMED.map(|(known, _)| known));
                    return Err(place.mistake(&format!("'{name}' is no function."), why, hint));
                };
                self.deeper(|parser| {
                    parser.expect('(')?;
                    parser.operation(0)?;
                    parser.expect(',')?;
                    parser.operation(0)?;
                    parser.expect(')')
                })?;
                self.steps.push((Step::Apply(function), place));
            }
            Some('(') => self.deeper(|parser| {
                parser.expect('(')?;
                parser.operation(0)?;
                parser.expect(')')
            })?,
            _ => return Err(self.unexpected("a number, a name or '('")),
        }
        Ok(())
    }

    /// Reads something within parentheses, as long as they are not too many.
    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<(), Mistake>) -> Result<(), Mistake> {
        if self.depth == MAX_DEPTH {
            let why = format!("At most {MAX_DEPTH} parentheses may be open.");
            let place = (self.place)(self.at);
            return Err(place.mistake(
                "The parentheses are too deep.",
                why,
                "Give parts of it names in `sizes`.",
            ));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        let place = |offset| Place { file: "f".into(), line: 1, column: offset + 1 };
        let lookup =
            |name: &str| [("w", 7), ("big", i64::MAX), ("least", i64::MIN)].into_iter().find(|n| n.0 == name);
        let computed = Expression::parse(text, &place).and_then(|e| e.value(&|name| Some(lookup(name)?.1)));
        computed.map_err(|mistake| mistake.error.what)
    }

    #[test]
    fn expressions_are_computed_as_written() {
        for (text, want) in [
            ("1 + 2*3 - 4", 3),
            ("(1 + 2)*3", 9),
            ("20 - 5 - 3", 12),
            ("24 / 4 / 3 % 5", 2),
            ("ceil_div(w, 2) + ceil_div(0 - 7, 2) + ceil_div(8, 2)", 5),
            ("ceil_div(0 - 7, 0 - 2) + ceil_div(7, 0 - 2)", 1),
            ("min(w, max(3, 4)) % 3", 1),
            ("(0 - 7) / 2 + (0 - 7) % 2", -4),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn mistakes_have_their_place() {
        let deep = format!("{}1{}", "(".repeat(MAX_DEPTH + 1), ")".repeat(MAX_DEPTH + 1));
        let long = "1+".repeat(MAX_LENGTH);
        for (text, want) in [
            ("", "f:1:1: The expression ends here."),
            ("1 +", "f:1:4: The expression ends here."),
            ("1 2", "f:1:3: '2' is not expected here."),
            ("-1", "f:1:1: '-' is not expected here."),
            ("w & 1", "f:1:3: '&' is not expected here."),
            ("é", "f:1:1: 'é' is not expected here."),
            ("1 + 0x10", "f:1:5: '0x10' is no whole number of 64 bits."),
            ("1.5", "f:1:1: '1.5' is no whole number of 64 bits."),
            ("99999999999999999999", "f:1:1: '99999999999999999999' is no whole number of 64 bits."),
            ("2*ceildiv(1, 2)", "f:1:3: 'ceildiv' is no function."),
            ("min(1)", "f:1:6: ')' is not expected here."),
            ("(1", "f:1:3: The expression ends here."),
            ("w / (w - 7)", "f:1:3: This divides by zero."),
            ("w % 0", "f:1:3: This divides by zero."),
            ("ceil_div(1, 0)", "f:1:1: This divides by zero."),
            ("big + 1", "f:1:5: This number does not fit in 64 bits."),
            ("0 * (big * 2)", "f:1:10: This number does not fit in 64 bits."),
            ("least / (0 - 1)", "f:1:7: This number does not fit in 64 bits."),
            ("1 + unknown", "f:1:5: 'unknown' has no value here."),
            (&deep, "f:1:25: The parentheses are too deep."),
            (&long, "f:1:1: This expression is too long."),
        ] {
            assert_eq!(value(text), Err(want.to_owned()), "{text}");
        }
    }
}
