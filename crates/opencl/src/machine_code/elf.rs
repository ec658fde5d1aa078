//! Disassembles the shared libraries in a driver's binary: PoCL's CPU code, and AMD's code objects.

use super::{Counts, MachineCode, amd, describe, disassembler, shortened};
use base::error::Result;

/// The maximum number of libraries that are disassembled; a program has one for each kernel.
const MAX_LIBRARIES: usize = 8;
/// The names of functions that the linker adds to each library, and that are not kernels.
const LINKER_FUNCTIONS: [&str; 8] = [
    "<_init>",
    "<_fini>",
    "<.plt",
    "<_start>",
    "<deregister_tm_clones>",
    "<register_tm_clones>",
    "<__do_global_dtors_aux>",
    "<frame_dummy>",
];

/// Returns the shared libraries that a program's binary contains: those in the format ELF, 64 bits, little-endian.
pub(super) fn libraries(binary: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) =
        binary.get(at..).and_then(|rest| rest.windows(4).position(|four| four == b"\x7fELF"))
    {
        at += next;
        match length(&binary[at..]) {
            Some(length) => {
                found.push(&binary[at..at + length]);
                at += length;
            }
            None => at += 4,
        }
        if found.len() == MAX_LIBRARIES {
            break;
        }
    }
    found
}

/// Returns the length of the ELF library at the beginning of `elf`, which ends with its table of sections; `None` if there is
/// no such library.
fn length(elf: &[u8]) -> Option<usize> {
    let number = |at: usize, bytes: usize| {
        let bytes = elf.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    /// The bytes of an ELF header that say 64 bits and little-endian.
    const ELF_64_LITTLE_ENDIAN: &[u8] = &[2, 1];
    /// The type of a shared library in an ELF header.
    const SHARED_LIBRARY: u64 = 3;
    if elf.get(4..6)? != ELF_64_LITTLE_ENDIAN || number(16, 2)? != SHARED_LIBRARY {
        return None;
    }
    let sections = number(0x3a, 2)? * number(0x3c, 2)?;
    let end = usize::try_from(number(0x28, 8)?.checked_add(sections)?).ok()?;
    (end > 64 && end <= elf.len()).then_some(end)
}

/// Disassembles the shared libraries that [`libraries`] has found in a driver's binary, with a disassembler that is installed
/// on this machine.
pub(super) fn machine_code(libraries: &[&[u8]]) -> Result<MachineCode> {
    const MACHINE_AMDGPU: &[u8] = &224_u16.to_le_bytes();
    let is_amd = libraries.iter().any(|library| library.get(18..20) == Some(MACHINE_AMDGPU));
    let disassembler = if is_amd { disassembler::LLVM_OBJDUMP } else { disassembler::OBJDUMP };
    let (name, outputs) = disassembler.disassemble(libraries)?;
    let (mut text, mut counts) = (String::new(), Counts::default());
    for output in &outputs {
        for (name, code) in kernels_of(output) {
            counts.add(&code);
            text.push_str(&format!("{name}\n"));
            text.extend(code.iter().map(|code| format!("  {}\n", code.replace('\t', " "))));
        }
    }
    let mut facts = vec![describe(&counts)];
    if is_amd {
        facts.extend(libraries.iter().flat_map(|library| amd::register_facts(library)));
    } else {
        let loops = "Barriers, if there are any, are compiled to loops over work-items; registers and spills: not reported by the driver.";
        facts.push(loops.to_owned());
    }
    Ok(MachineCode { name: format!("Machine code, by {name}"), text: shortened(&text), facts })
}

/// Returns the kernels' functions in a disassembly: their names as in `<NAME>:`, and their instructions without addresses.
fn kernels_of(text: &str) -> Vec<(String, Vec<&str>)> {
    let (mut kernels, mut is_own) = (Vec::<(String, Vec<&str>)>::new(), false);
    for line in text.lines() {
        if let Some((_, name)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
            let name = format!("<{name}");
            is_own =
                !LINKER_FUNCTIONS.iter().any(|linkers| name.starts_with(linkers)) && !name.contains("@plt>");
            if is_own {
                kernels.push((name, Vec::new()));
            }
        } else if let (true, Some((_, code))) = (is_own, kernels.last_mut()) {
            code.extend(instruction(line));
        }
    }
    for (_, code) in &mut kernels {
        // AMD's compiler appends padding to a kernel.
        while code.last().is_some_and(|code| ["s_nop 0", "s_code_end"].contains(code)) {
            code.pop();
        }
    }
    kernels
}

/// Returns the instruction of a line, without its address; `None` if the line has none. AMD's instructions have the address in
/// a comment behind them.
fn instruction(line: &str) -> Option<&str> {
    let (address, code) = line.split_once('\t')?;
    let code = match address.trim_end() {
        "" => code.split(" // ").next()?,
        address if address.ends_with(':') => code,
        _ => return None,
    };
    // objdump prints "..." for zeros.
    Some(code.trim()).filter(|code| !code.is_empty() && *code != "...")
}

impl Counts {
    fn add(&mut self, instructions: &[&str]) {
        for code in instructions {
            let (name, operands) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
            self.instructions += 1;
            self.vector_loads += u64::from(amd::loads_vector(name) || loads_vector(name, operands.trim()));
            self.barriers += u64::from(amd::is_barrier(name));
        }
    }
}

/// Returns true if an instruction loads a vector from memory: on x86 if it loads more than one number at once into or with a vector
/// register, on ARM if it loads a whole vector register.
fn loads_vector(name: &str, operands: &str) -> bool {
    if let Some(to) = operands.split(',').next().filter(|_| name.starts_with("ld")) {
        return (to.starts_with('q') || to.starts_with('{')) && operands.contains('[');
    }
    let plain = name.trim_start_matches('v');
    let is_scalar = ["movd", "movq"].contains(&plain)
        || ["pinsr", "broadcast"].iter().any(|part| plain.contains(part))
        || ["ss", "sd"].iter().any(|end| plain.ends_with(end));
    let to = operands.rsplit(',').next().unwrap_or_default().trim();
    let is_vector = ["%xmm", "%ymm", "%zmm"].iter().any(|register| to.starts_with(register));
    // In AT&T's order the last operand is the destination.
    is_vector && !is_scalar && operands.contains('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_end_within_the_binary() {
        let mut elf = vec![0_u8; 200];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[16] = 3;
        elf[0x28] = 100;
        (elf[0x3a], elf[0x3c]) = (50, 2);
        let mut binary = b"poclbin\x7fELF no".to_vec();
        binary.extend(&elf);
        binary.extend(&elf);
        assert_eq!(libraries(&binary), [&elf[..], &elf[..]]);
        // A library that is cut off, or whose header states an impossible length, is not found.
        assert_eq!(libraries(&binary[..binary.len() - 1]).len(), 1);
        let mut huge = elf.clone();
        huge[0x28..0x30].fill(0xff);
        assert!(libraries(&huge).is_empty() && libraries(&elf[..40]).is_empty());
    }

    #[test]
    fn vector_loads_are_counted_in_the_kernels_alone() {
        let text = "a.so: file format elf64-x86-64\n\n0000 <_init>:\n 10:\tvmovdqu (%rdi),%ymm0\n\n0020 <_pocl_kernel_k_workgroup>:\n \
                    20:\tvmovdqu (%rdi,%rax,4),%ymm0\n 24:\tvpaddw 0x10(%rsi),%ymm0,%ymm1\n 28:\tvmovdqu %ymm1,(%rdi)\n \
                    2c:\tmovd   (%rdi),%xmm0\n 30:\tmovl   (%rdi),%eax\n 34:\tret\n";
        let kernels = kernels_of(text);
        let [(name, code)] = &kernels[..] else { panic!("{kernels:?}") };
        let mut counts = Counts::default();
        counts.add(code);
        assert_eq!(counts, Counts { vector_loads: 2, barriers: 0, instructions: 6 });
        assert!(name == "<_pocl_kernel_k_workgroup>:" && code[0].starts_with("vmovdqu"));
        // The same code as printed by llvm-objdump.
        assert_eq!(kernels_of(&text.replace(":\t", ":      \t")), kernels);
        assert!(loads_vector("ldr", "q0, [x1]") && loads_vector("ld1", "{v0.16b}, [x0]"));
        assert!(!loads_vector("ldr", "w0, [x1]"));
    }

    /// The output of llvm-objdump for `amd-gfx1030.so`, without some lines.
    const AMD_TEXT: &str = "\
0000000000001800 <sums>:
\ts_load_dwordx4 s[0:3], s[4:5], 0x0                         // 000000001800: F4080002 FA000000
\tglobal_load_dwordx4 v[1:4], v1, s[0:1]                     // 000000001814: DC388000 01000001
\ts_nop 0                                                    // 000000001858: BF800000
\ts_barrier                                                  // 00000000183C: BF8A0000
\ts_endpgm                                                   // 000000001854: BF810000
\ts_nop 0                                                    // 000000001858: BF800000

0000000000001900 <half_of>:
\ts_endpgm                                                   // 000000001928: BF810000
\ts_code_end                                                 // 00000000192C: BF9F0000
";

    #[test]
    fn code_of_amd_has_neither_addresses_nor_padding() {
        let kernels = kernels_of(AMD_TEXT);
        let [(sums, code), (half_of, end)] = &kernels[..] else { panic!("{kernels:?}") };
        assert_eq!((&sums[..], &half_of[..], &end[..]), ("<sums>:", "<half_of>:", &["s_endpgm"][..]));
        assert_eq!(code[0], "s_load_dwordx4 s[0:3], s[4:5], 0x0");
        let mut counts = Counts::default();
        counts.add(code);
        assert_eq!(counts, Counts { vector_loads: 1, barriers: 1, instructions: 5 });
    }
}
