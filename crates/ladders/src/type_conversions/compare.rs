//! Compares the results of a device with the expected ones.

use serde::{Deserialize, Serialize};

use super::bulk::convert_all;
use super::reference::{accepts, convert, has_undefined_bits};
use super::types::{Case, Form, Rounding, Type};

/// The word with which the output and the canaries around it are filled before a run.
pub(crate) const JUNK_WORD: u32 = 0xdead_beef;
/// The number of bytes of results that are compared at once. Single results are compared only if their block differs.
const BLOCK_BYTES: usize = 4096;

/// The wrong results of a conversion in one form: their number, and the first of them. The field names are JSON keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The form in which the conversion was written, such as "width 3" for the `convert_` function of vectors of three.
    pub form: String,
    /// The kind of failure: "differs", "not written" (the output still has the junk word), or "outside" (the kernel wrote
    /// outside the output).
    pub what: String,
    /// The first number that was converted wrongly, as hexadecimal bits; empty if the kernel wrote outside its output.
    pub input_bits: String,
    /// The first number that was converted wrongly, as a value.
    pub input: String,
    /// The device's result for the first number, as bits.
    pub got_bits: String,
    /// The device's result for the first number, as a value.
    pub got: String,
    /// The expected result for the first number, as bits.
    pub wanted_bits: String,
    /// The expected result for the first number, as a value.
    pub wanted: String,
    /// The number of wrong results among the tested numbers.
    pub wrong: u64,
    /// The number of results that were compared.
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

/// The numbers that a test converts, and the expected results.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The numbers as packed bytes.
    pub input: Vec<u8>,
    /// The expected results as packed bytes.
    bytes: Vec<u8>,
    /// A mask of the defined bits of each result; empty if all bits are defined.
    care: Vec<u8>,
}

impl Numbers {
    /// Computes the expected results of a case, which replace the previous ones.
    pub(crate) fn convert(&mut self, case: Case) {
        let bytes = self.input.len() / case.from.bytes() * case.to.bytes();
        self.bytes.resize(bytes, 0);
        self.care.resize(if has_undefined_bits(case) { bytes } else { 0 }, 0);
        convert_all(case, &self.input, &mut self.bytes, &mut self.care);
    }

    /// Returns true if a block of results, which begins at byte `from` of all results, equals the expected one in all defined
    /// bits.
    fn is_equal_block(&self, got: &[u8], from: usize) -> bool {
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

    /// Compares `got`, the results that a device computed, with the expected results. `form` is the form in which the kernel
    /// converted: an assignment or the `convert_` function of one width. `flushes` returns true for types whose subnormal
    /// numbers the device may replace by zeros. Returns the first wrong result with the count of all wrong ones; `None` if all
    /// are right.
    pub(crate) fn compare(
        &self,
        (case, form): (Case, Form),
        got: &[u8],
        flushes: &dyn Fn(Type) -> bool,
    ) -> Option<Failure> {
        let mut failure: Option<Failure> = None;
        let (from, to) = (case.from.bytes(), case.to.bytes());
        for (number, block) in got.chunks(BLOCK_BYTES).enumerate() {
            let start = number * BLOCK_BYTES;
            if self.is_equal_block(block, start) {
                continue;
            }
            for (index, got) in block.chunks_exact(to).enumerate() {
                let at = start / to + index;
                let (input, got) = (to_bits(&self.input[at * from..(at + 1) * from]), to_bits(got));
                if accepts(case, input, got, flushes) {
                    continue;
                }
                match &mut failure {
                    Some(failure) => failure.wrong += 1,
                    None => failure = Some(first_failure(case, form, input, got)),
                }
            }
        }
        failure.map(|failure| Failure { tried: (got.len() / to) as u64, ..failure })
    }
}

/// Returns the failure of a kernel that wrote outside its output: `changed` bytes around the output no longer have the value
/// with which they were filled.
pub(crate) fn wrote_outside(form: Form, changed: u64) -> Failure {
    Failure { form: form.to_string(), what: "outside".to_owned(), wrong: changed, ..Failure::default() }
}

/// Returns the description of the first wrong result of a form, for which the device converted the number `input` to `got`. The
/// returned failure counts one wrong result.
fn first_failure(case: Case, form: Form, input: u64, got: u64) -> Failure {
    let wanted = convert(case, input).bits;
    let hex = |ty: Type, bits: u64| format!("0x{bits:0width$x}", width = 2 * ty.bytes());
    let junk = u64::from(JUNK_WORD) << 32 | u64::from(JUNK_WORD);
    let is_junk = (0..4).any(|at| (junk >> (8 * at)) & case.to.mask() == got) && case.to.bytes() > 1
        || case.to.bytes() == 1 && JUNK_WORD.to_ne_bytes().contains(&(got as u8));
    Failure {
        form: form.to_string(),
        what: if is_junk { "not written" } else { "differs" }.to_owned(),
        input_bits: hex(case.from, input),
        input: display_value(case.from, input),
        got_bits: hex(case.to, got),
        got: display_value(case.to, got),
        wanted_bits: hex(case.to, wanted),
        wanted: display_value(case.to, wanted),
        wrong: 1,
        tried: 0,
    }
}

/// Formats a number, given by its bits, as a value of its type.
fn display_value(ty: Type, bits: u64) -> String {
    let unused = 64 - ty.bits();
    match ty {
        Type::Char | Type::Short | Type::Int | Type::Long => {
            (((bits << unused) as i64) >> unused).to_string()
        }
        Type::UChar | Type::UShort | Type::UInt | Type::ULong => bits.to_string(),
        Type::Half => {
            let (from, to, rounding) = (Type::Half, Type::Double, Rounding::Nearest);
            let wide = Case { from, to, saturates: false, rounding };
            format!("{:?}", f64::from_bits(convert(wide, bits).bits))
        }
        Type::Float => format!("{:?}", f32::from_bits(bits as u32)),
        Type::Double => format!("{:?}", f64::from_bits(bits)),
    }
}

/// Returns up to eight little-endian bytes as a number.
fn to_bits(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
