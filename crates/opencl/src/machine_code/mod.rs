//! What a device really runs. In: the driver's binary of a program, and the compiler's log. Out: the machine code as text, and
//! what is counted in it.
//!
//! NVIDIA's binary is PTX, which is text, and its log has registers and spills. PoCL's is a container with a shared library (ELF)
//! for each kernel; a disassembler, where one is installed, makes text of those. Whatever stands in a binary was written by a
//! driver of changed kernels' text: nothing is believed of it but within its length.

mod disassembled;

use base::error::{Error, Result};
use base::numbers::thousands;

/// The longest binary that is looked at, in bytes.
const LONGEST: usize = 32 << 20;
/// Lines that are kept: the rest is counted, and not shown.
const LINES: usize = 4000;

/// Machine code.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineCode {
    /// What kind it is, and where it came from, in words.
    pub name: String,
    /// Its first lines.
    pub text: String,
    /// What was counted in all of it, a line each.
    pub facts: Vec<String>,
}

/// What is counted.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    vector_loads: usize,
    barriers: usize,
    instructions: usize,
}

/// What stands in a program's binary; `log` is the compiler's.
///
/// # Errors
/// When it is in no form that is known here, or there is no disassembler.
pub fn of(binary: &[u8], log: &str) -> Result<MachineCode> {
    let failed = |why: String, hint: &str| Error::new("The machine code cannot be shown.", why, hint);
    if binary.is_empty() || binary.len() > LONGEST {
        return Err(failed(format!("The driver's binary has {} bytes.", binary.len()), ""));
    }
    if is_ptx(binary) {
        return Ok(of_ptx(&String::from_utf8_lossy(binary), log));
    }
    let libraries = disassembled::libraries(binary);
    if libraries.is_empty() {
        let why = "The driver's binary is neither PTX nor does it have ELF files.".to_owned();
        return Err(failed(why, "On NVIDIA's devices and with PoCL on processors it is there."));
    }
    disassembled::of(&libraries)
}

/// PTX begins with comments and its version.
fn is_ptx(binary: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&binary[..binary.len().min(4096)]).into_owned();
    head.contains(".version") && head.contains(".target")
}

fn of_ptx(text: &str, log: &str) -> MachineCode {
    let text = text.trim_end_matches('\0');
    let mut counts = Counts::default();
    for line in text.lines() {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        // What ends on this line; a call may have begun before it.
        let statements = code.rsplit_once(';').map_or("", |(statements, _)| statements).split(';');
        for statement in statements.map(|statement| statement.trim_start_matches(['{', ' ', '\t'])) {
            let mut words = statement.split_whitespace();
            // A guard comes before what it guards.
            let name = words.find(|word| !word.starts_with('@')).unwrap_or_default();
            counts.instructions += usize::from(!name.is_empty() && !name.starts_with('.'));
            counts.vector_loads += usize::from(loads_vector(name));
            counts.barriers += usize::from(is_barrier(name));
        }
    }
    let mut facts = vec![told(&counts)];
    facts.extend(registers(log));
    MachineCode { name: "PTX, as the driver gives it".to_owned(), text: shortened(text), facts }
}

/// Whether an instruction reads several numbers from memory at once; arguments are none.
fn loads_vector(name: &str) -> bool {
    name.starts_with("ld.")
        && !name.starts_with("ld.param.")
        && name.split('.').any(|part| ["v2", "v4", "v8"].contains(&part))
}

/// Whether it waits for other work-items of the group; those of a warp alone are none.
fn is_barrier(name: &str) -> bool {
    ["bar.", "barrier."].iter().any(|bar| name.starts_with(bar)) && !name.starts_with("bar.warp.")
}

fn told(counts: &Counts) -> String {
    let of = |number: usize, what: &str| {
        format!("{} {what}{}", thousands(number as f64), if number == 1 { "" } else { "s" })
    };
    let Counts { vector_loads, barriers, instructions } = *counts;
    [of(instructions, "instruction"), of(vector_loads, "vector load"), of(barriers, "barrier")].join(", ")
}

/// What ptxas says of each kernel: "box_flat_rows: 32 registers, 0 bytes spilled".
fn registers(log: &str) -> Vec<String> {
    let number = |line: &str, before: &str| -> Option<u64> {
        line.split_once(before)?.0.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let (mut facts, mut kernel, mut spilled) = (Vec::new(), String::new(), 0);
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("entry function '") {
            kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            spilled = 0;
        }
        if let Some(bytes) = number(line, "bytes spill stores") {
            spilled = bytes;
        }
        if let Some(registers) = number(line, "registers") {
            let spilled = thousands(spilled as f64);
            facts.push(format!("{kernel}: {registers} registers, {spilled} bytes spilled"));
        }
    }
    match facts.is_empty() {
        true => vec!["Registers and spills: the driver does not tell them.".to_owned()],
        false => facts,
    }
}

/// The first lines.
fn shortened(text: &str) -> String {
    let mut lines = text.lines();
    let mut kept: Vec<&str> = lines.by_ref().take(LINES).collect();
    let more = lines.count();
    let rest = format!("\u{2026} and {} more lines", thousands(more as f64));
    if more > 0 {
        kept.push(&rest);
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = include_str!("example.ptx");
    /// What the compiler says of it.
    const LOG: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'levels' for 'sm_90'
ptxas info    : Function properties for levels
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 2 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'sums' for 'sm_90'
ptxas info    : Function properties for sums
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, 1024 bytes smem, 360 bytes cmem[0]
ptxas info    : Function properties for twice
    16 bytes stack frame, 24 bytes spill stores, 24 bytes spill loads
";

    #[test]
    fn ptx_is_counted_and_its_log_told() {
        let code = of(PTX.as_bytes(), LOG).unwrap();
        assert_eq!(
            code.facts,
            [
                "29 instructions, 4 vector loads, 3 barriers",
                "levels: 40 registers, 4 bytes spilled",
                "sums: 255 registers, 0 bytes spilled",
            ]
        );
        assert_eq!(code.text, PTX.trim_end());
        // As it comes from a driver: with a zero behind it.
        let with_zero = format!("{PTX}\0");
        assert_eq!(of(with_zero.as_bytes(), LOG).unwrap().facts, code.facts);
        assert!(of(PTX.as_bytes(), "").unwrap().facts[1].contains("does not tell"));
        let long = format!("{PTX}{}", "ret;\n".repeat(2 * LINES));
        let code = of(long.as_bytes(), "").unwrap();
        assert!(code.text.lines().count() == LINES + 1 && code.text.ends_with("more lines"));
        assert!(code.facts[0].starts_with("8,029 instructions, "), "{}", code.facts[0]);
        let one = ".version 8.4\n.target sm_90\n.entry k()\n{\n\tbar.sync 0;\n}\n";
        assert_eq!(of(one.as_bytes(), "").unwrap().facts[0], "1 instruction, 0 vector loads, 1 barrier");
    }

    #[test]
    fn what_is_no_program_is_a_sentence() {
        for binary in [&b""[..], b"poclbin", b"\x7fELF", &[0x7f; 5000]] {
            assert!(of(binary, "").unwrap_err().what.contains("cannot be shown"));
        }
    }
}
