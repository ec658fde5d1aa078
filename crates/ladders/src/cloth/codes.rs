//! The kernel files of the variants as data: the steps that each file changes, the distribution of constraints over work-items,
//! and the transfers between host and device.

use super::host::Motion;
use super::model::{PARTICLES, SHIRT_VERTICES};
use super::steps::StepId;
use base::threads::Threads;
use compute::config::Param;
use compute::plan::{self, Types, group, single};
use compute::variant::Variant;
use opencl::kernel::Value;

/// The distribution of a crowd's constraints over work-items. A block of characters (figures of the crowd) consists of those
/// whose numbers lie side by side in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConstraintMapping {
    /// One work-item for all constraints; all other steps also have one work-item.
    Single,
    /// One work-item for each block of characters.
    Blocks,
    /// One work-item for each block of characters, which processes eight constraints of the same colour (constraints that share
    /// no particle) at a time.
    Octets,
    /// One launch for each colour (a set of constraints that share no particle), with a work-item for each constraint.
    Colours,
    /// One work-group for each character.
    Groups,
}

/// The transfers between host and device in each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Transfer {
    /// No transfers: everything stays in the device's memory.
    Resident,
    /// No transfers; skinning has its own command queue, so that it can overlap with other steps.
    TwoQueues,
    /// Pose and particles are written from the host's memory; the vertices are read back.
    Write,
    /// New buffers are created from pose and particles in each frame (`CL_MEM_COPY_HOST_PTR`); the vertices are read back.
    Copy,
    /// The device works in the host's memory (`CL_MEM_USE_HOST_PTR`), which is mapped for the host.
    InPlace,
}

/// The way in which a variant uses its kernels: which steps it changes, how it distributes work, and how it transfers data.
#[derive(Debug, Clone, Copy)]
pub struct Scheme {
    /// The steps that differ from those of the preceding variants, for which the variant is measured. If empty, the variant is
    /// measured only with all five steps together.
    pub(super) changed_steps: &'static [StepId],
    /// The distribution of constraints over work-items.
    pub(super) mapping: ConstraintMapping,
    /// The movement of data between host and device.
    pub(super) transfer: Transfer,
    /// True if the arrays on the device are arrays of structures, false if each component has an array of its own (a plane).
    pub(super) is_structs: bool,
    /// True if each block of characters has a launch of its own, false if one launch covers the whole crowd.
    pub(super) launches_per_block: bool,
}

/// A kernel file with all five steps.
pub(super) type Code = plan::Code<Launch, Scheme>;
/// A configuration of a kernel file: a value for each of its parameters.
pub(super) type Config = compute::config::Config<Code>;
/// An argument of a kernel.
type Arg = plan::Arg<Launch, Scheme>;
/// A launch of a kernel file.
type Pass = plan::Pass<Launch, Scheme>;

/// The values on which a launch of a step depends.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    pub(super) motion: Motion,
    /// The index of the first block of characters (figures of the crowd) that the launch computes.
    pub(super) first: u32,
    /// The number of blocks of characters that the launch computes.
    pub(super) blocks: usize,
    /// The number of characters in the whole crowd.
    pub(super) army: u32,
    /// The number of the body's vertices.
    pub(super) body: usize,
    /// The index of the first constraint and the end of the range of constraints that the launch applies. For kernels that
    /// process one colour (a set of constraints that share no particle) after the other: the number of colours, and the number
    /// of all constraints.
    pub(super) constraints: [u32; 2],
}

/// The OpenCL types of arrays of particles and of skinned vertices.
const POINTS: Types = &["float4*", "float*"];
/// The OpenCL type of arrays of numbers.
const FLOATS: Types = &["float*"];
const POSE: Arg = Arg::Memory(0, FLOATS);
const POSITIONS: Arg = Arg::Memory(1, POINTS);
const PREVIOUS: Arg = Arg::Memory(2, POINTS);
/// The argument for the array that receives the new positions of the particles.
const NEXT: Arg = Arg::Memory(3, POINTS);
const SKINNED: Arg = Arg::Memory(4, POINTS);
const VERTICES: Arg = Arg::Memory(5, FLOATS);
const FIRST: Arg = Arg::Value(&["uint"], |launch| Value::Uint(launch.first));
const ARMY: Arg = Arg::Value(&["uint"], |launch| Value::Uint(launch.army));

/// Returns a launch in which a work-item processes `ITEMS` items. `items` returns the number of items in each block of
/// characters.
const fn pass(
    kernel: &'static str,
    args: &'static [Arg],
    groups: fn(&Config, &Launch) -> [usize; 2],
) -> Pass {
    Pass { kernel, args, local: group, groups, work: None }
}

/// Returns the number of work-groups for `count` items in each block of characters, of which a work-item processes `ITEMS`.
fn groups_of(config: &Config, launch: &Launch, count: usize) -> [usize; 2] {
    let items = (config.get("ITEMS") * config.get("GROUP")).max(1) as usize;
    [count.div_ceil(items), launch.blocks]
}

/// The launch of the step that skins the figure. Its first argument is the vertices of the figure at rest; their type depends
/// on the layout.
const SKIN: Pass = pass("skin", &[Arg::Memory(6, &[]), POSE, SKINNED, FIRST, ARMY], |config, launch| {
    groups_of(config, launch, launch.body + PARTICLES)
});
const INTEGRATE: Pass = pass(
    "integrate",
    &[
        POSITIONS,
        PREVIOUS,
        NEXT,
        Arg::Value(&["float4"], |launch| Value::Float4(launch.motion.at)),
        Arg::Value(&["float4"], |launch| Value::Float4(launch.motion.pull)),
        Arg::Value(&["float"], |launch| Value::Float(launch.motion.carry)),
        Arg::Value(&["float"], |launch| Value::Float(launch.motion.fall)),
        FIRST,
        ARMY,
    ],
    |config, launch| groups_of(config, launch, PARTICLES),
);
/// The launch of the step that applies the constraints, with a work-item for each constraint, or a work-group for each block of
/// characters.
const DISTANCES: Pass = pass(
    "distances",
    &[
        POSITIONS,
        NEXT,
        // The indices of the two particles of each constraint.
        Arg::Memory(7, &["uint2*"]),
        // The length at rest of each constraint, and the shares by which its two particles are moved.
        Arg::Memory(8, &["float4*"]),
        // The end of the range of constraints of each colour (constraints of one colour share no particle).
        Arg::Memory(9, &["uint*"]),
        Arg::Value(&["uint"], |launch| Value::Uint(launch.constraints[0])),
        Arg::Value(&["uint"], |launch| Value::Uint(launch.constraints[1])),
        FIRST,
        ARMY,
    ],
    |_, launch| [1, launch.blocks],
);
/// The launch of the step that keeps each particle outside the body and within reach of its driver, the point of the body that
/// it follows. Its third argument is the greatest distance of each particle from its driver.
const DRIVE: Pass =
    pass("drive", &[POSITIONS, SKINNED, Arg::Memory(10, FLOATS), NEXT, FIRST, ARMY], |config, launch| {
        groups_of(config, launch, PARTICLES)
    });
const WRITE_SHIRT: Pass = pass("write_shirt", &[POSITIONS, VERTICES, FIRST, ARMY], |config, launch| {
    groups_of(config, launch, SHIRT_VERTICES)
});
const WRITE_BODY: Pass =
    pass("write_body", &[SKINNED, Arg::Memory(11, &["float2*"]), VERTICES, FIRST, ARMY], |config, launch| {
        groups_of(config, launch, launch.body)
    });

/// The index of [`DISTANCES`] among the launches of a file.
pub(super) const DISTANCES_AT: usize = 2;
/// The index of the launch that copies the particles, in the file that has one.
pub(super) const COPY_AT: usize = 6;
/// The launches of a file, in the order of the steps; the last step has two.
const PASSES: &[Pass] = &[SKIN, INTEGRATE, DISTANCES, DRIVE, WRITE_SHIRT, WRITE_BODY];

/// Returns the launch changed to a single work-item.
const fn alone(pass: Pass) -> Pass {
    Pass { local: single, groups: |_, _| [1, 1], ..pass }
}

/// Returns the indices of a step's launches.
pub(super) fn passes_of(step: StepId) -> std::ops::Range<usize> {
    let at = step as usize;
    if step == StepId::Write { at..at + 2 } else { at..at + 1 }
}

/// The parameter for the size of the work-groups.
const GROUP: Param = Param::new("GROUP", 64, 64, &[32, 64, 128, 256]);
/// The parameter for the number of characters in each vector, fixed at 1.
const ONE_LANE: Param = Param::new("LANES", 1, 1, &[]);

/// The scheme of a variant that has one work-item for each item of an array, and arrays of structures. The other schemes below
/// are changes of this one.
const ON_STRUCTS: Scheme = Scheme {
    changed_steps: &StepId::ALL,
    mapping: ConstraintMapping::Blocks,
    transfer: Transfer::Resident,
    is_structs: true,
    launches_per_block: false,
};
/// The scheme [`ON_STRUCTS`] with planes (structures of arrays) instead of arrays of structures.
const ON_PLANES: Scheme = Scheme { is_structs: false, ..ON_STRUCTS };
/// The scheme of a variant that processes the constraints with a work-group for each character.
const IN_GROUPS: Scheme =
    Scheme { changed_steps: &[StepId::Distances], mapping: ConstraintMapping::Groups, ..ON_PLANES };
/// The scheme of a variant that is measured only with all steps together.
const CHAIN_ONLY: Scheme = Scheme { changed_steps: &[], ..ON_PLANES };

/// The name of the file with the kernels for which each component of the vectors has an array of its own (a plane).
const PLANES_FILE: &str = "cloth/04_planes.cl";
/// The name of the file of the kernels with a work-group for each character.
const GROUP_FILE: &str = "cloth/06_group.cl";

/// Returns the kernels that are fast on a CPU, for variants whose data is in the host's memory.
const fn from_host(transfer: Transfer) -> Code {
    let params = const { &[Param::new("GROUP", 64, 64, &[]), Param::new("LANES", 8, 4, &[])] };
    Code::with(PLANES_FILE, PASSES, params, Scheme { transfer, ..CHAIN_ONLY })
}

/// The kernels of the variant `planes`.
pub(super) static PLANES: Code = Code::with(PLANES_FILE, PASSES, &[GROUP, ONE_LANE], ON_PLANES);

/// The kernels of the variant `group`.
pub(super) static GROUPED: Code =
    Code::with(GROUP_FILE, PASSES, &[Param::new("GROUP", 64, 256, &[64, 128, 256, 512])], IN_GROUPS);

/// The kernels of the variant `lanes`.
pub(super) static LANES: Code =
    Code::with(PLANES_FILE, PASSES, &[GROUP, Param::new("LANES", 8, 4, &[4, 8, 16])], ON_PLANES);

/// The kernels of the variant `two-queues`.
pub(super) static TWO_QUEUES: Code = Code::with(
    GROUP_FILE,
    PASSES,
    &[Param::new("GROUP", 64, 256, &[])],
    Scheme { changed_steps: &[], transfer: Transfer::TwoQueues, ..IN_GROUPS },
);

/// The peak kernel, which copies vectors and computes nothing. Its case has two numbers: how many vectors of four floats the
/// output has, and how many the input has.
pub(super) static PEAK: plan::Code<[usize; 2]> = plan::Code::new(
    "cloth/limit.cl",
    &[plan::Pass {
        kernel: "stream",
        args: &[
            plan::Arg::Memory(0, &["float4*"]),
            plan::Arg::Memory(1, &["float4*"]),
            plan::Arg::Value(&["uint"], |lens| Value::Uint(lens[0] as u32)),
            plan::Arg::Value(&["uint"], |lens| Value::Uint(lens[1].max(1) as u32)),
        ],
        local: |_| [64, 1],
        groups: |_, lens| [lens[0].div_ceil(64).min(1 << 10), 1],
        work: None,
    }],
    &[],
);

/// The variants of the cloth ladder, in the order in which tables list them.
pub(super) static VARIANTS: [Variant<Code, Threads>; 17] = [
    Variant::host("serial", "Serial", "Plain Rust, one thread.", Threads::One),
    Variant::host("threads", "Threads", "The same on all cores, a character each.", Threads::All),
    Variant::kernels(
        "single",
        "Single",
        "OpenCL, one work-item does all.",
        &Code::with(
            "cloth/01_single.cl",
            &[
                alone(SKIN),
                alone(INTEGRATE),
                alone(DISTANCES),
                alone(DRIVE),
                alone(WRITE_SHIRT),
                alone(WRITE_BODY),
            ],
            &[],
            Scheme { mapping: ConstraintMapping::Single, ..ON_STRUCTS },
        ),
    ),
    Variant::kernels(
        "scalar",
        "Scalar",
        "A work-item a vertex or particle, on arrays of structures; a character's constraints one after the other.",
        &Code::with("cloth/02_scalar.cl", PASSES, &[GROUP], ON_STRUCTS),
    ),
    Variant::kernels(
        "local",
        "Local",
        "A group copies its vertices of 80 bytes into local memory first.",
        &Code::with(
            "cloth/03_local.cl",
            PASSES,
            &[GROUP],
            Scheme { changed_steps: &[StepId::Skin], ..ON_STRUCTS },
        ),
    ),
    Variant::kernels(
        "apart",
        "Apart",
        "Structures of arrays, one launch a character.",
        &Code::with(
            PLANES_FILE,
            PASSES,
            &[GROUP, ONE_LANE],
            Scheme { launches_per_block: true, ..ON_PLANES },
        ),
    ),
    Variant::kernels(
        "planes",
        "Planes",
        "Structures of arrays, one launch for the army: neighbours read neighbouring numbers.",
        &PLANES,
    ),
    Variant::kernels(
        "several",
        "Several",
        "Several particles or vertices a work-item, so that fewer have to begin.",
        &Code::with(
            PLANES_FILE,
            PASSES,
            &[GROUP, ONE_LANE, Param::new("ITEMS", 4, 4, &[2, 4, 8])],
            // The constraints of a character stay with one work-item.
            Scheme {
                changed_steps: &[StepId::Skin, StepId::Integrate, StepId::Drive, StepId::Write],
                ..ON_PLANES
            },
        ),
    ),
    Variant::kernels(
        "coloured",
        "Coloured",
        "Constraints that share no particle at a time, a launch a colour.",
        &Code::with(
            "cloth/05_coloured.cl",
            &[
                SKIN,
                INTEGRATE,
                Pass {
                    groups: |config, launch| {
                        let [first, end] = launch.constraints;
                        [(end - first).div_ceil(config.get("GROUP")) as usize, launch.blocks]
                    },
                    ..DISTANCES
                },
                DRIVE,
                WRITE_SHIRT,
                WRITE_BODY,
                pass("copy", &[Arg::Memory(1, FLOATS), Arg::Memory(3, FLOATS), FIRST], |config, launch| {
                    [(3 * PARTICLES).div_ceil(config.get("GROUP") as usize), launch.blocks]
                }),
            ],
            &[GROUP],
            Scheme { changed_steps: &[StepId::Distances], mapping: ConstraintMapping::Colours, ..ON_PLANES },
        ),
    ),
    Variant::kernels(
        "group",
        "Group",
        "A group a character: all colours in local memory, with barriers instead of launches.",
        &GROUPED,
    ),
    Variant::kernels(
        "octets",
        "Octets",
        "A work-item a character, whose constraints go through a vector, eight of a colour at a time.",
        &Code::with(
            "cloth/07_octets.cl",
            PASSES,
            &[GROUP],
            Scheme { changed_steps: &[StepId::Distances], mapping: ConstraintMapping::Octets, ..ON_PLANES },
        ),
    ),
    Variant::kernels(
        "lanes",
        "Lanes",
        "Several characters in a vector: no constraint waits for a colour.",
        &LANES,
    ),
    Variant::kernels(
        "two-queues",
        "Two queues",
        "As group, with skinning in a queue of its own beside the cloth until its drivers are needed.",
        &TWO_QUEUES,
    ),
    Variant::kernels(
        "written",
        "Written",
        "As lanes, from the host's memory and back: pose and particles are written, vertices read.",
        &from_host(Transfer::Write),
    ),
    Variant::kernels(
        "copied",
        "Copied",
        "The same; memory of the device is made of pose and particles for each frame (COPY_HOST_PTR).",
        &from_host(Transfer::Copy),
    ),
    Variant::kernels(
        "in-place",
        "In place",
        "The same; the device works in the host's memory, which is mapped (USE_HOST_PTR).",
        &from_host(Transfer::InPlace),
    ),
    Variant::AUTO,
];
