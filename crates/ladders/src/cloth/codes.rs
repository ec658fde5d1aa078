//! The kernel files of the variants as data: which steps each changes, how it distributes constraints, and how data gets to the
//! device and back.

use super::steps::StepId;
use ladder::config::{Config, Param, Tunable};

/// The distribution of a crowd's constraints over work-items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConstraintMapping {
    /// One work-item for everything, in this step and in all others.
    Single,
    /// One work-item for each block of characters.
    Blocks,
    /// One work-item for each block of characters, which processes eight constraints of the same colour at a time.
    Octets,
    /// One launch for each colour, with a work-item for each constraint.
    Colours,
    /// One work-group for each character.
    Groups,
}

/// The movement of data between host and device in each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Transfer {
    /// No transfers: everything stays in the device's memory.
    Resident,
    /// No transfers, and skinning has a queue of its own.
    TwoQueues,
    /// Pose and particles are written from the host's memory; the vertices are read back.
    Write,
    /// New buffers are made of pose and particles for each frame (`CL_MEM_COPY_HOST_PTR`); the vertices are read back.
    Copy,
    /// The device works in the host's memory (`CL_MEM_USE_HOST_PTR`), which is mapped for the host.
    InPlace,
}

/// A kernel file with all five steps, and how it is used.
#[derive(Debug)]
pub struct Code {
    pub(super) file: &'static str,
    /// The steps that differ from those of the preceding variants. If there are none, only all five steps together are measured.
    pub(super) changed_steps: &'static [StepId],
    /// The distribution of constraints over work-items.
    pub(super) mapping: ConstraintMapping,
    /// The movement of data between host and device.
    pub(super) transfer: Transfer,
    /// True if arrays are arrays of structures, false if they are planes.
    pub(super) is_structs: bool,
    /// True if each block of characters has a launch of its own, false if one launch covers the whole crowd.
    pub(super) launches_per_block: bool,
    params: &'static [Param],
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn group_sizes(&self, config: &Config<Self>) -> Vec<usize> {
        vec![config.get("GROUP") as usize]
    }
}

/// The size of the work-groups.
const GROUP: Param = Param { name: "GROUP", cpu: 64, gpu: 64, values: &[32, 64, 128, 256] };
/// The number of characters in each vector: one.
const ONE_LANE: Param = Param { name: "LANES", cpu: 1, gpu: 1, values: &[] };

/// The description of kernels with one work-item for each item of an array, on arrays of structures; several variants change parts
/// of it.
const ON_STRUCTS: Code = Code {
    file: "cloth/02_scalar.cl",
    changed_steps: &StepId::ALL,
    mapping: ConstraintMapping::Blocks,
    transfer: Transfer::Resident,
    is_structs: true,
    launches_per_block: false,
    params: &[GROUP],
};

/// The description of kernels with one work-item for each item of an array, on structures of arrays (planes); several variants
/// change parts of it.
const ON_PLANES: Code =
    Code { file: "cloth/04_planes.cl", is_structs: false, params: &[GROUP, ONE_LANE], ..ON_STRUCTS };

/// Kernels that process the constraints with a work-group for each character.
const IN_GROUPS: Code = Code {
    file: "cloth/06_group.cl",
    changed_steps: &[StepId::Distances],
    mapping: ConstraintMapping::Groups,
    params: &[Param { name: "GROUP", cpu: 64, gpu: 256, values: &[64, 128, 256, 512] }],
    ..ON_PLANES
};

/// Kernels that are fast on a CPU, for the variants whose data is in the host's memory.
const FROM_HOST: Code = Code {
    changed_steps: &[],
    params: &[
        Param { name: "GROUP", cpu: 64, gpu: 64, values: &[] },
        Param { name: "LANES", cpu: 8, gpu: 4, values: &[] },
    ],
    ..ON_PLANES
};

/// The kernels of the variant `single`.
pub(super) static SINGLE: Code =
    Code { file: "cloth/01_single.cl", mapping: ConstraintMapping::Single, params: &[], ..ON_STRUCTS };

/// The kernels of the variant `scalar`.
pub(super) static SCALAR: Code = ON_STRUCTS;

/// The kernels of the variant `local`.
pub(super) static LOCAL: Code =
    Code { file: "cloth/03_local.cl", changed_steps: &[StepId::Skin], ..ON_STRUCTS };

/// The kernels of the variant `apart`.
pub(super) static APART: Code = Code { launches_per_block: true, ..ON_PLANES };

/// The kernels of the variant `planes`.
pub(super) static PLANES: Code = ON_PLANES;

/// The kernels of the variant `several`.
pub(super) static SEVERAL: Code = Code {
    // The constraints of a character stay with one work-item.
    changed_steps: &[StepId::Skin, StepId::Integrate, StepId::Drive, StepId::Write],
    params: &[GROUP, ONE_LANE, Param { name: "ITEMS", cpu: 4, gpu: 4, values: &[2, 4, 8] }],
    ..ON_PLANES
};

/// The kernels of the variant `coloured`.
pub(super) static COLOURED: Code = Code {
    file: "cloth/05_coloured.cl",
    changed_steps: &[StepId::Distances],
    mapping: ConstraintMapping::Colours,
    params: &[GROUP],
    ..ON_PLANES
};

/// The kernels of the variant `group`.
pub(super) static GROUPED: Code = IN_GROUPS;

/// The kernels of the variant `octets`.
pub(super) static OCTETS: Code = Code {
    file: "cloth/07_octets.cl",
    changed_steps: &[StepId::Distances],
    mapping: ConstraintMapping::Octets,
    params: &[GROUP],
    ..ON_PLANES
};

/// The kernels of the variant `lanes`.
pub(super) static LANES: Code =
    Code { params: &[GROUP, Param { name: "LANES", cpu: 8, gpu: 4, values: &[4, 8, 16] }], ..ON_PLANES };

/// The kernels of the variant `two-queues`.
pub(super) static TWO_QUEUES: Code = Code {
    changed_steps: &[],
    transfer: Transfer::TwoQueues,
    params: &[Param { name: "GROUP", cpu: 64, gpu: 256, values: &[] }],
    ..IN_GROUPS
};

/// The kernels of the variant `written`.
pub(super) static WRITTEN: Code = Code { transfer: Transfer::Write, ..FROM_HOST };

/// The kernels of the variant `copied`.
pub(super) static COPIED: Code = Code { transfer: Transfer::Copy, ..FROM_HOST };

/// The kernels of the variant `in-place`.
pub(super) static IN_PLACE: Code = Code { transfer: Transfer::InPlace, ..FROM_HOST };
