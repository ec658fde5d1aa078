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
    ("common/luminance.clh", &[Reduction("wide-64")]),
    ("convert/01_planes.cl", &[Planes { image: false }]),
    ("convert/02_correct.cl", &[Correct { from: false, to: false }, Correct { from: true, to: true }]),
    ("convert/03_rows.cl", &[Rows]),
    ("vector_add/01_scalar.cl", &[VectorAdd("scalar")]),
    ("vector_add/02_vector.cl", &[VectorAdd("vector")]),
    (
        "reduction/parts.clh",
        &[Reduction("wide-64"), Reduction("two-stage"), Reduction("one-pass"), Reduction("strips")],
    ),
    ("reduction/tiles.clh", &[Reduction("wide-64"), Reduction("unrolled")]),
    ("reduction/frames.clh", &[Reduction("one-pass"), Reduction("two-stage")]),
    ("reduction/01_interleaved.cl", &[Reduction("interleaved")]),
    ("reduction/02_sequential.cl", &[Reduction("sequential")]),
    ("reduction/03_unrolled.cl", &[Reduction("unrolled"), Reduction("wide-64")]),
    ("reduction/04_two_stage.cl", &[Reduction("two-stage")]),
    ("reduction/05_one_pass.cl", &[Reduction("one-pass"), Reduction("sub-groups")]),
    ("reduction/06_strips.cl", &[Reduction("strips")]),
    ("histogram/histogram.clh", &[Histogram("copies")]),
    ("histogram/01_global.cl", &[Histogram("global")]),
    ("histogram/02_local.cl", &[Histogram("local"), Histogram("copies")]),
    ("histogram/03_private.cl", &[Histogram("private")]),
    ("matmul/01_naive.cl", &[Matmul("naive")]),
    ("matmul/02_private.cl", &[Matmul("private")]),
    ("matmul/03_transposed.cl", &[Matmul("transposed")]),
    ("matmul/04_work_group.cl", &[Matmul("work-group")]),
    ("matmul/05_local_tiles.cl", &[Matmul("local-tiles")]),
    ("matmul/06_constant.cl", &[Matmul("constant")]),
    ("matmul/07_padded.cl", &[Matmul("padded")]),
    ("matmul/08_register_tiles.cl", &[Matmul("register-tiles")]),
    ("matmul/09_vector_loads.cl", &[Matmul("vector-loads")]),
    ("matmul/10_double_buffered.cl", &[Matmul("double-buffered")]),
    ("matmul/11_panels.cl", &[Matmul("panels")]),
    ("matmul/tiles.clh", &[Matmul("register-tiles"), Matmul("vector-loads")]),
    ("matmul/quads.clh", &[Matmul("vector-loads")]),
    ("transpose/01_row_linear.cl", &[Transpose("row-linear")]),
    ("transpose/02_column_linear.cl", &[Transpose("column-linear")]),
    ("transpose/03_group_linear.cl", &[Transpose("group-linear")]),
    ("cloth/01_single.cl", &[Cloth("single")]),
    ("cloth/02_scalar.cl", &[Cloth("scalar")]),
    ("cloth/03_local.cl", &[Cloth("local")]),
    ("cloth/04_planes.cl", &[Cloth("planes"), Cloth("lanes")]),
    ("cloth/05_coloured.cl", &[Cloth("coloured")]),
    ("cloth/06_group.cl", &[Cloth("group")]),
    ("cloth/07_octets.cl", &[Cloth("octets")]),
    ("cloth/distance.clh", &[Cloth("planes"), Cloth("group")]),
    ("cloth/figure.clh", &[Cloth("planes")]),
    ("cloth/structs.clh", &[Cloth("scalar")]),
    ("cloth/scalar.clh", &[Cloth("scalar")]),
    ("cloth/planes.clh", &[Cloth("planes"), Cloth("several"), Cloth("lanes"), ClothOnGpu("lanes")]),
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
            let is_entry = |equal: &&Equal| equal.places.contains(&(*file, changed_line.as_str()));
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
    let is_stale =
        |(file, line): &&(&str, &str)| !mutants.iter().any(|m| m.file == *file && m.changed == *line);
    match EQUAL.iter().flat_map(|equal| equal.places).find(is_stale) {
        Some((file, line)) => Err(format!(
            "No mutant of {file} has the line '{line}'. The kernel has changed: correct tests/mutants/equal.rs."
        )),
        None => Ok(mutants),
    }
}

/// Removes blanks, for narrow tables.
fn one_line(code: &str) -> String {
    code.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
