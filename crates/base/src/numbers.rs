//! Formatting of numbers.

/// Formats a number, rounded to an integer, with a comma between groups of three digits.
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of things, as in "1 instruction" and "1,200 instructions".
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number as f64), if number == 1 { "" } else { "s" })
}
