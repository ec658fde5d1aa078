//! Shows the machine code of a program, from the driver's binary and the compiler's log, and counts some of its instructions.
//!
//! NVIDIA's binary is PTX, which is text, and its log has registers and spills. Other binaries are turned into text by external
//! disassemblers, if these are installed: PoCL's and AMD's contain shared libraries (ELF), Intel's is read by ocloc, and
//! rusticl's has SPIR-V instead of machine code. A binary is untrusted input, since edited kernels may have been compiled into
//! it.

mod amd;
mod disassembler;
mod elf;

use base::device::{KernelRegisters, MachineCode};
use base::error::{Error, Result};
use base::numbers::{counted, thousands};

use disassembler::failed;

/// The maximum length of a binary that is read, in bytes.
const MAX_BINARY_BYTES: usize = 32 << 20;
/// The maximum number of lines that are kept; further lines are only counted.
const MAX_LINES: usize = 4000;

/// Returns the registers of each kernel in a program's binary; `log` is the compiler's build log. Empty if they are not reported.
pub fn registers(binary: &[u8], log: &str) -> Vec<KernelRegisters> {
    if binary.len() > MAX_BINARY_BYTES {
        return Vec::new();
    }
    match is_ptx(binary) {
        true => ptx_registers(log),
        false => elf::libraries(binary).into_iter().flat_map(amd::registers).collect(),
    }
}

/// The counts of certain instructions in a program's kernels.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    vector_loads: u64,
    barriers: u64,
    instructions: u64,
}

/// Returns the machine code in a program's binary; `log` is the compiler's build log.
///
/// # Errors
/// Returns an error if the binary has an unknown format, or its disassembler is not installed or fails.
pub fn from_binary(binary: &[u8], log: &str) -> Result<MachineCode> {
    if binary.is_empty() || binary.len() > MAX_BINARY_BYTES {
        return Err(failed(format!("The driver's binary has {} bytes.", binary.len()), ""));
    }
    if is_ptx(binary) {
        return Ok(from_ptx(&String::from_utf8_lossy(binary), log));
    }
    let by_text = |what: &str, (name, outputs): (String, Vec<String>), fact: &str| {
        let text = outputs.concat();
        let facts = vec![instructions(&text), fact.to_owned()];
        MachineCode { name: format!("{what}, by {name}"), text: shortened(&text), facts }
    };
    if is_intel(binary) {
        let disassembled = disassembler::OCLOC.disassemble(&[binary])?;
        let fact = "Vector loads, barriers, registers and spills: not counted.";
        return Ok(by_text("Machine code", disassembled, fact));
    }
    let libraries = elf::libraries(binary);
    if !libraries.is_empty() {
        return elf::machine_code(&libraries);
    }
    if let Some(spirv) = spirv(binary) {
        let fact = "The driver's binary has SPIR-V, not machine code.";
        let disassembled = disassembler::SPIRV_DIS.disassemble(&[spirv]);
        let failed = |error: Error| failed(format!("{fact} {}", error.why), error.hint);
        return Ok(by_text("SPIR-V", disassembled.map_err(failed)?, fact));
    }
    let why = "The driver's binary is neither PTX nor contains ELF files or SPIR-V.";
    let hint = "Machine code can be shown with the drivers of AMD, Intel and NVIDIA, and with PoCL on CPUs.";
    Err(failed(why, hint))
}

/// Returns true if a binary is one of Intel's formats that ocloc reads: patch tokens, a container (ELF) around them, or
/// zebin (ELF). <https://github.com/intel/compute-runtime/tree/master/shared/source/device_binary_format> has their constants.
fn is_intel(binary: &[u8]) -> bool {
    let number = |at: usize| binary.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let (kind, machine) = (number(16), number(18));
    let is_elf = binary.starts_with(b"\x7fELF");
    binary.starts_with(b"CTNI") || is_elf && (kind == Some(0xff04) || machine == Some(205))
}

/// Returns the SPIR-V in a container such as rusticl's, which begins with a header that may have the device's name; `None` if
/// there is none.
fn spirv(binary: &[u8]) -> Option<&[u8]> {
    const MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();
    const MAX_HEADER_BYTES: usize = 1024;
    let at = binary.windows(4).take(MAX_HEADER_BYTES).position(|four| four == MAGIC)?;
    Some(&binary[at..])
}

/// Returns the number of lines that are neither comments nor labels, as in "12 instructions".
fn instructions(text: &str) -> String {
    let is_instruction = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with([';', '/']) && !line.ends_with(':')
    };
    counted(text.lines().filter(is_instruction).count() as u64, "instruction")
}

/// Returns true if a binary is PTX, which begins with comments and its version.
fn is_ptx(binary: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&binary[..binary.len().min(4096)]).into_owned();
    // AMD's metadata has these words, too, but not at the beginning of lines.
    [".version", ".target"].iter().all(|word| head.lines().any(|line| line.starts_with(word)))
}

/// Returns the machine code of a binary that is PTX; `log` is the build log, which has the numbers of registers.
fn from_ptx(text: &str, log: &str) -> MachineCode {
    let text = text.trim_end_matches('\0');
    let mut counts = Counts::default();
    for line in text.lines() {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        // The statements that end on this line; a call may have begun on an earlier one.
        let statements = code.rsplit_once(';').map_or("", |(statements, _)| statements).split(';');
        for statement in statements.map(|statement| statement.trim_start_matches(['{', ' ', '\t'])) {
            let mut words = statement.split_whitespace();
            // The guard of an instruction stands before its name.
            let name = words.find(|word| !word.starts_with('@')).unwrap_or_default();
            counts.instructions += u64::from(!name.is_empty() && !name.starts_with('.'));
            counts.vector_loads += u64::from(loads_vector(name));
            counts.barriers += u64::from(is_barrier(name));
        }
    }
    let mut facts = vec![describe(&counts)];
    facts.extend(ptx_registers(log).into_iter().map(
        |KernelRegisters { kernel, registers, spilled_bytes }| {
            format!("{kernel}: {registers} registers, {} bytes spilled", thousands(spilled_bytes as f64))
        },
    ));
    if facts.len() == 1 {
        facts.push("Registers and spills: not reported by the driver.".to_owned());
    }
    MachineCode { name: "PTX from the driver".to_owned(), text: shortened(text), facts }
}

/// Returns true if a PTX instruction loads a vector from memory; loads of kernel arguments do not count.
fn loads_vector(name: &str) -> bool {
    name.starts_with("ld.")
        && !name.starts_with("ld.param.")
        && name.split('.').any(|part| ["v2", "v4", "v8"].contains(&part))
}

/// Returns true if a PTX instruction waits for other work-items of the work-group, not only of the warp.
fn is_barrier(name: &str) -> bool {
    ["bar.", "barrier."].iter().any(|bar| name.starts_with(bar)) && !name.starts_with("bar.warp.")
}

fn describe(counts: &Counts) -> String {
    let Counts { vector_loads, barriers, instructions } = *counts;
    [counted(instructions, "instruction"), counted(vector_loads, "vector load"), counted(barriers, "barrier")]
        .join(", ")
}

fn ptx_registers(log: &str) -> Vec<KernelRegisters> {
    let number = |line: &str, before: &str| -> Option<u64> {
        line.split_once(before)?.0.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let (mut kernels, mut kernel, mut spilled_bytes) = (Vec::new(), String::new(), 0);
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("entry function '") {
            kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            spilled_bytes = 0;
        }
        if let Some(bytes) = number(line, "bytes spill stores") {
            spilled_bytes = bytes;
        }
        if let Some(registers) = number(line, "registers") {
            kernels.push(KernelRegisters { kernel: kernel.clone(), registers, spilled_bytes });
        }
    }
    kernels
}

/// Returns the first lines of a text, and below them the number of lines left out.
fn shortened(text: &str) -> String {
    let mut lines = text.lines();
    let mut kept: Vec<&str> = lines.by_ref().take(MAX_LINES).collect();
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
    /// The compiler's log for [`PTX`].
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
        let code = from_binary(PTX.as_bytes(), LOG).unwrap();
        assert_eq!(
            code.facts,
            [
                "29 instructions, 4 vector loads, 3 barriers",
                "levels: 40 registers, 4 bytes spilled",
                "sums: 255 registers, 0 bytes spilled",
            ]
        );
        assert_eq!(code.text, PTX.trim_end());
        // As a driver returns it, with a zero at its end.
        let with_zero = format!("{PTX}\0");
        assert_eq!(from_binary(with_zero.as_bytes(), LOG).unwrap().facts, code.facts);
        assert!(from_binary(PTX.as_bytes(), "").unwrap().facts[1].contains("not reported"));
        let long = format!("{PTX}{}", "ret;\n".repeat(2 * MAX_LINES));
        let code = from_binary(long.as_bytes(), "").unwrap();
        assert!(code.text.lines().count() == MAX_LINES + 1 && code.text.ends_with("more lines"));
        assert!(code.facts[0].starts_with("8,029 instructions, "), "{}", code.facts[0]);
        let one = ".version 8.4\n.target sm_90\n.entry k()\n{\n\tbar.sync 0;\n}\n";
        assert_eq!(
            from_binary(one.as_bytes(), "").unwrap().facts[0],
            "1 instruction, 0 vector loads, 1 barrier"
        );
    }

    #[test]
    fn what_is_no_program_is_a_sentence() {
        let truncated = (0..AMD.len()).map(|length| &AMD[..length]);
        for binary in [&b""[..], b"poclbin", b"\x7fELF", &[0x7f; 5000]].into_iter().chain(truncated) {
            let error = from_binary(binary, "").unwrap_err();
            assert!(error.what.contains("cannot be shown"), "{}", binary.len());
        }
    }

    /// A code object with two kernels, created by `make-amd-code-object`.
    const AMD: &[u8] = include_bytes!("amd-gfx1030.so");

    /// Returns true if no disassembler is installed.
    fn is_missing(result: &Result<MachineCode>, program: &str) -> bool {
        result
            .as_ref()
            .is_err_and(|e| e.why.ends_with("No disassembler is installed.") && e.hint.contains(program))
    }

    #[test]
    fn code_of_amd_is_disassembled() {
        let code = from_binary(AMD, "");
        if is_missing(&code, "llvm-objdump") {
            return;
        }
        let code = code.unwrap();
        let facts = [
            "25 instructions, 1 vector load, 1 barrier",
            "sums: 5 vector registers, 0 spilled",
            "half_of: 2 vector registers, 0 spilled",
        ];
        assert_eq!(code.facts, facts);
        assert!(code.name.contains("llvm-objdump"), "{}", code.name);
        assert!(code.text.starts_with("<sums>:\n  s_load_dwordx4 ") && code.text.ends_with("\n  s_endpgm"));
    }

    #[test]
    fn binaries_of_intel_are_recognized() {
        let elf = |kind: u16, machine: u16| {
            let head = [kind.to_le_bytes(), machine.to_le_bytes()].concat();
            [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", &head[..]].concat()
        };
        for binary in [b"CTNI".to_vec(), elf(0xff04, 0), elf(1, 205)] {
            assert!(is_intel(&binary), "{binary:x?}");
            // ocloc fails on these.
            let result = from_binary(&binary, "");
            let is_ocloc = result.as_ref().is_err_and(|error| error.why.contains("ocloc"));
            assert!(is_ocloc || is_missing(&result, "ocloc"), "{result:?}");
        }
        assert!(!is_intel(AMD) && !is_intel(&elf(3, 62)) && !is_intel(b"CTN") && !is_intel(b"\x7fELF"));
    }

    #[test]
    fn spirv_of_rusticl_is_unwrapped() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        // Version 1.2, and "OpCapability Kernel".
        let module = words(&[0x0723_0203, 0x0001_0200, 0, 1, 0, 0x0002_0011, 6]);
        let length = module.len() as u32;
        let current = [b"rusticl\0", &words(&[1, 8, length, 4])[..], b"llvmpipe", &module].concat();
        let older = [words(&[1, length, 4]), module.clone()].concat();
        for binary in [current, older] {
            assert_eq!(spirv(&binary), Some(&module[..]));
            let code = from_binary(&binary, "");
            if is_missing(&code, "spirv-dis") {
                assert!(code.unwrap_err().why.contains("SPIR-V, not machine code"));
                continue;
            }
            let code = code.unwrap();
            assert_eq!(code.facts, ["1 instruction", "The driver's binary has SPIR-V, not machine code."]);
            assert!(code.text.contains("OpCapability Kernel"), "{}", code.text);
        }
    }
}
