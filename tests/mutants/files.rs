//! The kernel files that are mutated, and the mutants made of them.

use std::fs;
use std::path::Path;

use base::device::DeviceKind::{Cpu, Gpu};

use super::cases::Runner::{self, *};
use super::equal::{EQUAL, Equal};
use super::operators::{places, select};
use super::tokens::line_of;

/// The code that runs each file. Without `limit.cl`, whose output is not used.
const FILES: &[(&str, &[Runner])] = &[
    ("box_filter/01_naive.cl", &[Variant("naive", Cpu)]),
    ("box_filter/02_separable.cl", &[Variant("separable", Cpu)]),
    ("box_filter/03_flat.cl", &[Variant("flat", Cpu)]),
    ("box_filter/04_vectorized.cl", &[Variant("vectorized", Cpu)]),
    ("box_filter/05_running_sum.cl", &[Variant("running-sum", Cpu), Variant("running-sum", Gpu)]),
    ("box_filter/06_fused.cl", &[Variant("fused", Cpu)]),
    (
        "box_filter/07_march.cl",
        &[
            Variant("fused", Gpu),
            IntoImage("fused", Gpu),
            Tuned("fused", Gpu, "ROWS", 2),
            Tuned("fused", Gpu, "AHEAD", 0),
        ],
    ),
    ("box_filter/08_planes.cl", &[Planar(Cpu)]),
    ("box_filter/09_planes_march.cl", &[Planar(Gpu)]),
    ("common/mean.clh", &[Variant("flat", Cpu), Variant("vectorized", Cpu), Variant("fused", Cpu)]),
    ("common/vectors.clh", &[Variant("vectorized", Cpu)]),
    (
        "common/convert.clh",
        &[Planes { image: false }, Planes { image: true }, Correct { from: true, to: true }],
    ),
    ("common/luminance.clh", &[Ladder("reduction", "wide-64")]),
    ("convert/01_planes.cl", &[Planes { image: false }]),
    ("convert/02_correct.cl", &[Correct { from: false, to: false }, Correct { from: true, to: true }]),
    ("convert/03_rows.cl", &[Rows]),
    ("vector_add/01_scalar.cl", &[Ladder("vector-add", "scalar")]),
    ("vector_add/02_vector.cl", &[Ladder("vector-add", "vector")]),
    (
        "reduction/parts.clh",
        &[
            Ladder("reduction", "wide-64"),
            Ladder("reduction", "two-stage"),
            Ladder("reduction", "one-pass"),
            Ladder("reduction", "strips"),
        ],
    ),
    ("reduction/tiles.clh", &[Ladder("reduction", "wide-64"), Ladder("reduction", "unrolled")]),
    ("reduction/frames.clh", &[Ladder("reduction", "one-pass"), Ladder("reduction", "two-stage")]),
    ("reduction/01_interleaved.cl", &[Ladder("reduction", "interleaved")]),
    ("reduction/02_sequential.cl", &[Ladder("reduction", "sequential")]),
    ("reduction/03_unrolled.cl", &[Ladder("reduction", "unrolled"), Ladder("reduction", "wide-64")]),
    ("reduction/04_two_stage.cl", &[Ladder("reduction", "two-stage")]),
    ("reduction/05_one_pass.cl", &[Ladder("reduction", "one-pass"), Ladder("reduction", "sub-groups")]),
    ("reduction/06_strips.cl", &[Ladder("reduction", "strips")]),
    ("histogram/histogram.clh", &[Ladder("histogram", "copies")]),
    ("histogram/01_global.cl", &[Ladder("histogram", "global")]),
    ("histogram/02_local.cl", &[Ladder("histogram", "local"), Ladder("histogram", "copies")]),
    ("histogram/03_private.cl", &[Ladder("histogram", "private")]),
    ("matmul/01_naive.cl", &[Ladder("matmul", "naive")]),
    ("matmul/02_private.cl", &[Ladder("matmul", "private")]),
    ("matmul/03_transposed.cl", &[Ladder("matmul", "transposed")]),
    ("matmul/04_work_group.cl", &[Ladder("matmul", "work-group")]),
    ("matmul/05_local_tiles.cl", &[Ladder("matmul", "local-tiles")]),
    ("matmul/06_constant.cl", &[Ladder("matmul", "constant")]),
    ("matmul/07_padded.cl", &[Ladder("matmul", "padded")]),
    ("matmul/08_register_tiles.cl", &[Ladder("matmul", "register-tiles")]),
    ("matmul/09_vector_loads.cl", &[Ladder("matmul", "vector-loads")]),
    ("matmul/10_double_buffered.cl", &[Ladder("matmul", "double-buffered")]),
    ("matmul/11_panels.cl", &[Ladder("matmul", "panels")]),
    ("matmul/tiles.clh", &[Ladder("matmul", "register-tiles"), Ladder("matmul", "vector-loads")]),
    ("matmul/quads.clh", &[Ladder("matmul", "vector-loads")]),
    ("transpose/01_row_linear.cl", &[Ladder("transpose", "row-linear")]),
    ("transpose/02_column_linear.cl", &[Ladder("transpose", "column-linear")]),
    ("transpose/03_group_linear.cl", &[Ladder("transpose", "group-linear")]),
    ("cloth/01_single.cl", &[Ladder("cloth", "single")]),
    ("cloth/02_scalar.cl", &[Ladder("cloth", "scalar")]),
    ("cloth/03_local.cl", &[Ladder("cloth", "local")]),
    ("cloth/04_planes.cl", &[Ladder("cloth", "planes"), Ladder("cloth", "lanes")]),
    ("cloth/05_coloured.cl", &[Ladder("cloth", "coloured")]),
    ("cloth/06_group.cl", &[Ladder("cloth", "group")]),
    ("cloth/07_octets.cl", &[Ladder("cloth", "octets")]),
    ("cloth/distance.clh", &[Ladder("cloth", "planes"), Ladder("cloth", "group")]),
    ("cloth/figure.clh", &[Ladder("cloth", "planes")]),
    ("cloth/structs.clh", &[Ladder("cloth", "scalar")]),
    ("cloth/scalar.clh", &[Ladder("cloth", "scalar")]),
    (
        "cloth/planes.clh",
        &[
            Ladder("cloth", "planes"),
            Ladder("cloth", "several"),
            Ladder("cloth", "lanes"),
            ClothOnGpu("lanes"),
        ],
    ),
];

/// The number of mutants of each file that are tried, unless all are.
pub const MOST: usize = 10;

/// A kernel file with one place changed.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The number of the mutant, from 1, ordered by file, operator and place.
    pub number: usize,
    /// The name of the operator, such as `bound` or `clamp`.
    pub operator: &'static str,
    /// The path of the kernel file in `kernels/`.
    pub file: &'static str,
    /// The number of the changed line.
    pub line: usize,
    /// The original code.
    pub from: String,
    /// The replacement.
    pub to: String,
    /// The changed line; for a call that is left out, `without` and the call.
    pub changed: String,
    /// The text of the whole file.
    pub text: String,
    /// The reason why no case can distinguish it; `None` if a case must.
    pub equal: Option<&'static str>,
    /// True if only some devices or compilers distinguish it.
    pub by_device: bool,
    /// True if it is among those that are tried.
    pub is_selected: bool,
    /// The code that runs it.
    pub runners: &'static [Runner],
}

/// Returns all mutants of the kernels in a folder.
///
/// # Errors
/// Fails if a file cannot be read, or if an entry of [`EQUAL`] is no mutant.
pub fn mutants(kernels: &Path) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    for (file, runners) in FILES {
        let path = kernels.join(file);
        let text =
            fs::read_to_string(&path).map_err(|e| format!("{} cannot be read: {e}.", path.display()))?;
        let all = places(&text);
        let selected = select(&text, file, all.clone(), MOST);
        for place in all {
            let (from, line) = (&text[place.range.clone()], line_of(&text, place.range.start));
            let mut changed = text.clone();
            changed.replace_range(place.range.clone(), &place.to);
            let changed_line = match place.to.is_empty() {
                true => format!("without {}", one_line(from)),
                false => one_line(changed.lines().nth(line - 1).unwrap_or_default()),
            };
            let place_and_line = format!("{file}: {changed_line}");
            let is_entry = |equal: &&Equal| equal.places.contains(&place_and_line.as_str());
            let equal = EQUAL.iter().find(is_entry);
            mutants.push(Mutant {
                number: mutants.len() + 1,
                operator: place.operator,
                file,
                line,
                from: one_line(from),
                to: one_line(&place.to),
                text: changed,
                equal: equal.map(|equal| equal.why),
                by_device: equal.is_some_and(|equal| equal.by_device),
                is_selected: selected.contains(&place),
                changed: changed_line,
                runners,
            });
        }
    }
    let is_mutant = |entry: &str| mutants.iter().any(|m| entry == format!("{}: {}", m.file, m.changed));
    match EQUAL.iter().flat_map(|equal| equal.places).find(|entry| !is_mutant(entry)) {
        Some(entry) => Err(format!(
            "There is no mutant '{entry}'. The kernel has changed: correct tests/mutants/equal.rs."
        )),
        None => Ok(mutants),
    }
}

/// Removes blanks, for narrow tables.
fn one_line(code: &str) -> String {
    code.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
