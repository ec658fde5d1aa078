//! Shared libraries in a driver's binary as text. In: the binary. Out: what objdump or llvm-objdump makes of them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Counts, MachineCode, shortened, told};
use base::error::{Error, Result};
use base::load;

/// What makes text of machine code, the first that is installed.
const TOOLS: [&str; 2] = ["objdump", "llvm-objdump"];
/// The longest that one library's text may be, in bytes, and how long it may take.
const LONGEST: u64 = 4 << 20;
const LIMIT: Duration = Duration::from_secs(20);
/// Libraries that are looked at: a program has one for each kernel.
const MOST: usize = 8;
/// What the linker adds to each library.
const LINKERS: [&str; 8] = [
    "<_init>",
    "<_fini>",
    "<.plt",
    "<_start>",
    "<deregister_tm_clones>",
    "<register_tm_clones>",
    "<__do_global_dtors_aux>",
    "<frame_dummy>",
];

/// The shared libraries (ELF, 64 bits, the lowest byte first) that lie somewhere in a binary; each ends within it.
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
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// A library's length: its table of sections stands at its end.
fn length(elf: &[u8]) -> Option<usize> {
    let number = |at: usize, bytes: usize| {
        let bytes = elf.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    const IS_64_LOWEST_FIRST: &[u8] = &[2, 1];
    const SHARED_LIBRARY: u64 = 3;
    if elf.get(4..6)? != IS_64_LOWEST_FIRST || number(16, 2)? != SHARED_LIBRARY {
        return None;
    }
    let sections = number(0x3a, 2)? * number(0x3c, 2)?;
    let end = usize::try_from(number(0x28, 8)?.checked_add(sections)?).ok()?;
    (end > 64 && end <= elf.len()).then_some(end)
}

/// Where a disassembler is.
fn tool() -> Option<PathBuf> {
    let path = base::environment::get("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let in_folders = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    TOOLS.into_iter().find_map(in_folders)
}

/// The libraries as text, and what is counted in it.
pub(super) fn of(libraries: &[&[u8]]) -> Result<MachineCode> {
    let tool = tool().ok_or_else(|| {
        Error::new(
            "The machine code cannot be shown.",
            "No disassembler is installed.",
            "On Debian: apt-get install binutils, or llvm.",
        )
    })?;
    let (mut text, mut counts) = (String::new(), Counts::default());
    for library in libraries {
        let (own, counted) = kernels_of(&disassemble(&tool, library)?);
        text.push_str(&own);
        counts.vector_loads += counted.vector_loads;
        counts.barriers += counted.barriers;
        counts.instructions += counted.instructions;
    }
    let name = tool.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let facts = vec![
        told(&counts),
        "Barriers become loops over the work-items there; registers and spills: the driver does not tell them."
            .to_owned(),
    ];
    Ok(MachineCode { name: format!("Machine code, by {name}"), text: shortened(&text), facts })
}

fn disassemble(tool: &std::path::Path, library: &[u8]) -> Result<String> {
    let failed = |why: String| Error::new("The machine code cannot be shown.", why, "");
    let io = |e: std::io::Error| failed(format!("{e}."));
    let name = format!("clreel-code-{}-{}", std::process::id(), crate::kernel::unique());
    let folder = std::env::temp_dir().join(name);
    let _passing = base::leftovers::Passing::new(&folder);
    std::fs::create_dir(&folder).map_err(io)?;
    let (file, out) = (folder.join("kernel.so"), folder.join("text"));
    let made = (|| {
        std::fs::write(&file, library).map_err(io)?;
        let to = std::fs::File::create(&out).map_err(io)?;
        let mut command = Command::new(tool);
        command.args(["-d", "--no-show-raw-insn"]).arg(&file);
        let mut child = command.stdin(Stdio::null()).stdout(to).stderr(Stdio::null()).spawn().map_err(io)?;
        let began = Instant::now();
        let status = loop {
            let is_over = child.try_wait().map_err(io)?;
            let length = std::fs::metadata(&out).map_or(0, |file| file.len());
            match is_over {
                Some(status) => break status,
                None if began.elapsed() > LIMIT || length > LONGEST => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed("The disassembler did not come to an end.".to_owned()));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        if !status.success() {
            return Err(failed(format!("The disassembler ended with {status}.")));
        }
        load::text(&out, LONGEST).map_err(|why| failed(why.to_string()))
    })();
    let _ = std::fs::remove_dir_all(&folder);
    made
}

/// The functions that are the kernels', without addresses, and what is counted in them.
fn kernels_of(text: &str) -> (String, Counts) {
    let (mut own, mut counts, mut is_own) = (String::new(), Counts::default(), false);
    for line in text.lines() {
        if let Some((_, name)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
            let name = format!("<{name}");
            is_own = !LINKERS.iter().any(|linkers| name.starts_with(linkers)) && !name.contains("@plt>");
            if is_own {
                own.push_str(&format!("{name}\n"));
            }
            continue;
        }
        let Some((_, code)) = line.split_once(":\t").filter(|_| is_own) else { continue };
        let code = code.trim();
        let (name, operands) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
        counts.instructions += 1;
        counts.vector_loads += usize::from(loads_vector(name, operands.trim()));
        own.push_str(&format!("  {}\n", code.replace('\t', " ")));
    }
    (own, counts)
}

/// Whether an instruction reads a vector from memory: on x86 into or with one of the vector registers, more than one number at
/// once; on ARM into a whole one.
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
    // AT&T's order: the last one is written.
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
        // Cut, or longer than it can be.
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
        let (own, counts) = kernels_of(text);
        assert_eq!(counts, Counts { vector_loads: 2, barriers: 0, instructions: 6 });
        assert!(own.starts_with("<_pocl_kernel_k_workgroup>:\n  vmovdqu") && !own.contains("_init"));
        assert!(loads_vector("ldr", "q0, [x1]") && loads_vector("ld1", "{v0.16b}, [x0]"));
        assert!(!loads_vector("ldr", "w0, [x1]"));
    }
}
