//! Results of a device compared with what is right. In: bytes of both, which bits count, the numbers that were converted. Out:
//! nothing, or a [`Failure`].

use serde::{Deserialize, Serialize};

use super::bulk::convert_all;
use super::reference::{accepts, convert, is_open};
use super::types::{Case, Form, Type};

/// What the output holds before a run, and what lies round it.
pub(crate) const JUNK: u32 = 0xdead_beef;
/// Bytes that are looked at together.
const BLOCK: usize = 4096;

/// What is wrong with a conversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// How it was written, as in "width 3".
    pub form: String,
    /// What is wrong: "differs", "not written" (it still holds the junk), or "outside" (it wrote where it must not).
    pub what: String,
    /// The first number that was wrong, in bits and as a value; empty of what wrote outside.
    pub input_bits: String,
    /// The same as a value.
    pub input: String,
    /// What the device gave.
    pub got_bits: String,
    /// The same as a value.
    pub got: String,
    /// What is right.
    pub wanted_bits: String,
    /// The same as a value.
    pub wanted: String,
    /// How many were wrong, among those that were tried with it.
    pub wrong: u64,
    /// So many were tried with it.
    pub tried: u64,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { form, what, input, input_bits, got, got_bits, wanted, wanted_bits, wrong, tried } = self;
        match what.as_str() {
            "outside" => write!(f, "{form}: {wrong} bytes were written outside the output"),
            _ => write!(
                f,
                "{form}: of {input} ({input_bits}) got {got} ({got_bits}), wanted {wanted} ({wanted_bits}); {wrong} of {tried} are wrong{}",
                if what == "not written" { ", this one was never written" } else { "" }
            ),
        }
    }
}

/// What is right for some numbers.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    bytes: Vec<u8>,
    /// Which bits count; empty where all do.
    care: Vec<u8>,
}

impl Wanted {
    /// Of `input`, in place of what was there.
    pub(crate) fn fill(&mut self, case: Case, input: &[u8]) {
        let bytes = input.len() / case.from.bytes() * case.to.bytes();
        self.bytes.resize(bytes, 0);
        self.care.resize(if is_open(case) { bytes } else { 0 }, 0);
        convert_all(case, input, &mut self.bytes, &mut self.care);
    }

    /// Whether a block is right at first sight.
    fn is_plainly(&self, got: &[u8], from: usize) -> bool {
        let to = from + got.len();
        let bytes = self.bytes.get(from..to).unwrap_or_default();
        match self.care.get(from..to) {
            Some(care) if !self.care.is_empty() => {
                let ((got, got_rest), (bytes, rest)) = (got.as_chunks::<8>(), bytes.as_chunks::<8>());
                let (care, care_rest) = care.as_chunks::<8>();
                let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
                let words = got.iter().zip(bytes).zip(care);
                let wrong =
                    words.fold(0, |wrong, ((got, want), care)| wrong | (word(got) ^ word(want)) & word(care));
                let mut left = got_rest.iter().zip(rest).zip(care_rest);
                wrong == 0 && left.all(|((got, want), care)| (got ^ want) & care == 0)
            }
            _ => got == bytes,
        }
    }

    /// Compares what a form gave for `input`. `flushes` says whether the device takes subnormal numbers of a type for zeros.
    pub(crate) fn compare(
        &self,
        (case, form): (Case, Form),
        input: &[u8],
        got: &[u8],
        flushes: &dyn Fn(Type) -> bool,
    ) -> Option<Failure> {
        let mut failure: Option<Failure> = None;
        let (from, to) = (case.from.bytes(), case.to.bytes());
        for (number, block) in got.chunks(BLOCK).enumerate() {
            let start = number * BLOCK;
            if self.is_plainly(block, start) {
                continue;
            }
            for (index, got) in block.chunks_exact(to).enumerate() {
                let at = start / to + index;
                let (input, got) = (bits(&input[at * from..(at + 1) * from]), bits(got));
                if accepts(case, input, got, flushes) {
                    continue;
                }
                match &mut failure {
                    Some(failure) => failure.wrong += 1,
                    None => failure = Some(first(case, form, input, got)),
                }
            }
        }
        failure.map(|failure| Failure { tried: (got.len() / to) as u64, ..failure })
    }
}

/// The bytes outside an output that have changed.
pub(crate) fn outside(form: Form, changed: u64) -> Failure {
    let none = String::new;
    Failure {
        form: form.to_string(),
        what: "outside".to_owned(),
        input_bits: none(),
        input: none(),
        got_bits: none(),
        got: none(),
        wanted_bits: none(),
        wanted: none(),
        wrong: changed,
        tried: 0,
    }
}

fn first(case: Case, form: Form, input: u64, got: u64) -> Failure {
    let wanted = convert(case, input).bits;
    let hex = |of: Type, bits: u64| format!("0x{bits:0width$x}", width = 2 * of.bytes());
    let junk = u64::from(JUNK) << 32 | u64::from(JUNK);
    let is_junk = (0..4).any(|at| (junk >> (8 * at)) & case.to.mask() == got) && case.to.bytes() > 1
        || case.to.bytes() == 1 && JUNK.to_ne_bytes().contains(&(got as u8));
    Failure {
        form: form.to_string(),
        what: if is_junk { "not written" } else { "differs" }.to_owned(),
        input_bits: hex(case.from, input),
        input: shown(case.from, input),
        got_bits: hex(case.to, got),
        got: shown(case.to, got),
        wanted_bits: hex(case.to, wanted),
        wanted: shown(case.to, wanted),
        wrong: 1,
        tried: 0,
    }
}

/// A number for people.
fn shown(of: Type, bits: u64) -> String {
    let unused = 64 - of.bits();
    match of {
        Type::Char | Type::Short | Type::Int | Type::Long => {
            (((bits << unused) as i64) >> unused).to_string()
        }
        Type::UChar | Type::UShort | Type::UInt | Type::ULong => bits.to_string(),
        Type::Half => {
            let wide = Case {
                from: Type::Half,
                to: Type::Double,
                saturates: false,
                rounding: super::types::Rounding::Nearest,
            };
            format!("{:?}", f64::from_bits(convert(wide, bits).bits))
        }
        Type::Float => format!("{:?}", f32::from_bits(bits as u32)),
        Type::Double => format!("{:?}", f64::from_bits(bits)),
    }
}

/// Up to eight bytes as a number.
fn bits(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
