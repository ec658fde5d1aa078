//! Finds which work-items access the pictures, and the distances between the addresses that neighbouring work-items access.
//! Kernels run under Oclgrind with pictures of a single pixel, so that it reports each access to another pixel as invalid, with
//! its address and work-item. Oclgrind interprets the kernels: an invalid read returns zeros, and an invalid write changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::RUN_SUBCOMMAND;
use super::oclgrind::{self, checker, messages};
use base::error::{Error, Result};
use base::numbers::counted;
use box_filter::{BuiltVariant, Extent, Scratch, VariantId};
use opencl::cl::ClContext;
use opencl::memory::{Picture, Storage};
use opencl::sandbox::Limit;

/// The size of the picture that the kernels filter, in pixels; it takes several rows of work-groups.
const SIZE: (u32, u32) = (64, 8);
/// The distance in bytes above which the accesses of neighbouring work-items share no cache line.
const CACHE_LINE: u64 = 64;
/// A kernel is reported to have few active work-items if fewer than one pixel in this number has a work-item that accesses a
/// picture.
const FEW_ACTIVE: usize = 8;

/// An access of a work-item to a picture.
struct Access<'a> {
    kernel: &'a str,
    is_read: bool,
    address: u64,
    /// The work-item's global id in both dimensions.
    item: (u32, u32),
    /// The kernel file and the line of the access.
    place: String,
}

/// Runs a variant's kernels under Oclgrind. Returns sentences on kernels with few active work-items, and on kernels whose
/// neighbouring work-items access distant addresses.
///
/// # Errors
/// If Oclgrind is missing, or the process cannot be started.
pub(crate) fn sentences(
    id: VariantId,
    cpu: bool,
    kernels: Option<&Path>,
    limit: Limit,
) -> Result<Vec<String>> {
    let failed =
        |e: std::io::Error| Error::new("The accesses of kernels could not be found.", format!("{e}."), "");
    let options = ["--max-errors", "100000", "--build-options", "-cl-opt-disable", "--log", "/dev/stdout"];
    let arguments = [RUN_SUBCOMMAND, id.name, "--accesses"];
    let (log, _) = oclgrind::run(&checker()?, &options, &arguments, cpu, kernels, limit).map_err(failed)?;
    Ok(describe(&parse(&log)))
}

/// Runs a built variant once with pictures of a single pixel, for the hidden subcommand.
///
/// # Errors
/// If the kernels cannot run.
pub(super) fn run_on_one_pixel(cl: &ClContext, built: &BuiltVariant) -> Result<()> {
    // Images have no invalid accesses.
    if built.input == Storage::Buffer {
        let [input, output] =
            [Picture::alloc(cl, Storage::Buffer, 1, 1)?, Picture::alloc(cl, Storage::Buffer, 1, 1)?];
        // The radius is small, since each access is reported.
        let plan = built.plan((&[&input], &output), &mut Scratch::new(cl), Extent::rgba(SIZE, 1))?;
        plan.enqueue_all(&cl.queue)?;
        cl.queue.finish().map_err(|e| opencl::cl::failed("The kernels could not run.", &e))?;
    }
    Ok(())
}

/// Parses the accesses to global memory in Oclgrind's log.
fn parse(log: &str) -> Vec<Access<'_>> {
    let accesses = messages(log).filter_map(|message| {
        let (what, address) = message.what.split_once(" at global memory address 0x")?;
        Some(Access {
            kernel: message.kernel,
            is_read: what.starts_with("Invalid read"),
            address: u64::from_str_radix(address.trim(), 16).ok()?,
            item: message.item,
            place: message.found_at(),
        })
    });
    accesses.collect()
}

/// Returns sentences on kernels with few active work-items, and on kernels whose neighbouring work-items access distant
/// addresses; none if there is nothing to report.
fn describe(accesses: &[Access]) -> Vec<String> {
    let mut sentences = Vec::new();
    let pixels = (SIZE.0 * SIZE.1) as usize;
    let kernels: BTreeSet<&str> = accesses.iter().map(|access| access.kernel).collect();
    for kernel in kernels {
        let of_kernel = || accesses.iter().filter(move |access| access.kernel == kernel);
        let active: BTreeSet<(u32, u32)> = of_kernel().map(|access| access.item).collect();
        if active.len() * FEW_ACTIVE < pixels {
            let count = counted(active.len() as u64, "work-item");
            sentences.push(format!("{kernel}: {count} for {pixels} pixels."));
        }
        for is_read in [true, false] {
            // The first access of each work-item in each line.
            let mut firsts: BTreeMap<&str, BTreeMap<(u32, u32), u64>> = BTreeMap::new();
            for access in of_kernel().filter(|access| access.is_read == is_read) {
                firsts.entry(&access.place).or_default().entry(access.item).or_insert(access.address);
            }
            let strided = firsts.iter().filter_map(|(place, of)| Some((*place, usual_distance(of)?)));
            if let Some((place, bytes)) =
                strided.filter(|(_, bytes)| *bytes > CACHE_LINE).max_by_key(|(_, bytes)| *bytes)
            {
                let verb = if is_read { "read" } else { "write" };
                sentences
                    .push(format!("{kernel}: neighbouring work-items {verb} {bytes} bytes apart ({place})."));
            }
        }
    }
    sentences
}

/// Returns the most frequent distance in bytes between the addresses that neighbouring work-items in the first dimension
/// access; `None` if there are no neighbours.
fn usual_distance(addresses: &BTreeMap<(u32, u32), u64>) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (&(x, y), address) in addresses {
        if let Some(next) = addresses.get(&(x + 1, y)) {
            *counts.entry(address.abs_diff(*next)).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(distance, _)| distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, address: u64, x: u32) -> String {
        format!(
            "\nInvalid {kind} of size 4 at global memory address {address:#x}\n\tKernel: own\n\tEntity: Global({x},2,0) \
             Local(3,2,0) Group(0,0,0)\n\t  %5 = load <4 x i8>\n\tAt line 7 (column 8) of box_filter/own.cl:\n\t  x\n"
        )
    }

    #[test]
    fn few_active_work_items_and_strided_accesses_are_named() {
        let log: String = (0..8).map(|x| message("read", 0x1000 + 256 * u64::from(x), x) + "\n").collect();
        let accesses = parse(&log);
        assert_eq!(accesses.len(), 8);
        assert_eq!((accesses[3].item, accesses[3].place.as_str()), ((3, 2), "box_filter/own.cl:7"));
        let want = [
            "own: 8 work-items for 512 pixels.",
            "own: neighbouring work-items read 256 bytes apart (box_filter/own.cl:7).",
        ];
        assert_eq!(describe(&accesses), want);
        let near: String = (0..200).map(|x| message("write", 0x1000 + 4 * u64::from(x), x) + "\n").collect();
        assert_eq!(describe(&parse(&near)), [""; 0]);
        assert_eq!(describe(&parse("Oclgrind: 3 errors generated")), [""; 0]);
    }
}
