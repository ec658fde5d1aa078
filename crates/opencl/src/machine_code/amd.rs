//! Instructions and metadata of AMD's code objects.

use base::device::KernelRegisters;
use base::numbers::thousands;

/// Returns true if an instruction loads a vector from memory, as `global_load_dwordx4` and `ds_read_b64` do. Loads into
/// scalar registers do not count: they read the kernel's arguments.
pub(super) fn loads_vector(name: &str) -> bool {
    let is_load = ["global_load_", "buffer_load_", "flat_load_", "scratch_load_", "ds_read_", "ds_load_"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let widths = ["dwordx2", "dwordx3", "dwordx4", "b64", "b96", "b128"];
    is_load && name.split('_').any(|part| widths.contains(&part))
}

/// Returns true if an instruction waits for other work-items of the work-group.
pub(super) fn is_barrier(name: &str) -> bool {
    ["s_barrier", "s_barrier_wait"].contains(&name)
}

/// The size of a vector register in each work-item, in bytes.
const REGISTER_BYTES: u64 = 4;

/// Returns a line about the registers of each kernel, read from the metadata of a code object, as in "sums: 5 vector registers,
/// 0 spilled".
pub(super) fn register_facts(object: &[u8]) -> Vec<String> {
    let line = |kernel: KernelRegisters| {
        let counts = [kernel.registers, kernel.spilled_bytes / REGISTER_BYTES];
        let [registers, spilled] = counts.map(|count| thousands(count as f64));
        format!("{}: {registers} vector registers, {spilled} spilled", kernel.kernel)
    };
    registers(object).into_iter().map(line).collect()
}

/// Returns the vector registers of each kernel in the metadata of a code object.
///
/// The metadata is a map in MessagePack with sorted keys, so that the counts of a kernel follow its symbol, such as "sums.kd":
/// <https://llvm.org/docs/AMDGPUUsage.html#code-object-v3-metadata>.
pub(super) fn registers(object: &[u8]) -> Vec<KernelRegisters> {
    let (mut kernels, mut rest) = (Vec::new(), object);
    while let Some(kernel) = after(rest, b".symbol") {
        rest = kernel;
        let of_kernel = &kernel[..position(kernel, b".symbol").unwrap_or(kernel.len())];
        let number = |key| number(after(of_kernel, key)?);
        let (Some(symbol), Some(registers), Some(spilled)) =
            (text(kernel), number(b".vgpr_count"), number(b".vgpr_spill_count"))
        else {
            continue;
        };
        kernels.push(KernelRegisters {
            kernel: symbol.trim_end_matches(".kd").to_owned(),
            registers: u64::from(registers),
            spilled_bytes: REGISTER_BYTES * u64::from(spilled),
        });
    }
    kernels
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn after<'a>(bytes: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    position(bytes, part).map(|at| &bytes[at + part.len()..])
}

/// Returns the string (fixstr or str 8) at the beginning of `bytes`.
fn text(bytes: &[u8]) -> Option<&str> {
    let (length, rest) = match *bytes {
        [first @ 0xa0..=0xbf, ref rest @ ..] => (usize::from(first & 0x1f), rest),
        [0xd9, length, ref rest @ ..] => (usize::from(length), rest),
        _ => return None,
    };
    std::str::from_utf8(rest.get(..length)?).ok()
}

/// Returns the number (positive fixint, uint 8 or uint 16) at the beginning of `bytes`.
fn number(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [number @ 0..=0x7f, ..] | [0xcc, number, ..] => Some(u16::from(number)),
        [0xcd, high, low, ..] => Some(u16::from_be_bytes([high, low])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A code object with two kernels, created by `make-amd-code-object`.
    const OBJECT: &[u8] = include_bytes!("amd-gfx1030.so");

    #[test]
    fn registers_are_those_of_the_metadata() {
        let facts = ["sums: 5 vector registers, 0 spilled", "half_of: 2 vector registers, 0 spilled"];
        assert_eq!(register_facts(OBJECT), facts);
        for length in 0..OBJECT.len() {
            assert!(register_facts(&OBJECT[..length]).iter().zip(facts).all(|(fact, whole)| fact == whole));
        }
        // uint 8 and uint 16.
        assert_eq!(
            register_facts(b"\xa7.symbol\xa4k.kd\xab.vgpr_count\xcc\xff\xb1.vgpr_spill_count\xcd\x04\x01"),
            ["k: 255 vector registers, 1,025 spilled"]
        );
    }

    #[test]
    fn only_vectors_from_memory_count() {
        assert!(
            ["global_load_dwordx4", "buffer_load_b64", "ds_read_b128"].iter().all(|name| loads_vector(name))
        );
        let others =
            ["global_load_dword", "s_load_dwordx4", "global_store_dwordx4", "ds_read2_b32", "ds_read_b32"];
        assert!(!others.iter().any(|name| loads_vector(name)));
    }
}
