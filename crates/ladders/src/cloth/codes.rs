//! The rungs' kernel files as data: which steps each does in its own way, how its constraints are spread, and what the host does
//! in a frame besides launching.

use super::steps::StepId;
use ladder::config::{Config, Param, Tunable};

/// How the constraints of an army are spread over work-items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// One work-item does all, in this step and in all others.
    Single,
    /// A work-item a block of characters.
    Blocks,
    /// The same, eight constraints of a colour at a time.
    Octets,
    /// A launch a colour, a work-item a constraint.
    Colours,
    /// A group a character.
    Groups,
}

/// What the host does in a frame besides launching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// Nothing: all is in the device's memory and stays there.
    Resident,
    /// The same; skinning has a queue of its own.
    TwoQueues,
    /// Pose and particles are in the host's memory and are written to the device's; the vertices are read back.
    Written,
    /// The same, but for each frame new memory is made of them (`CL_MEM_COPY_HOST_PTR`).
    Copied,
    /// The device works in the host's memory (`CL_MEM_USE_HOST_PTR`), which is mapped for the host.
    InPlace,
}

/// A kernel file, which has all five steps.
#[derive(Debug)]
pub struct Code {
    pub(super) file: &'static str,
    /// The steps that it does otherwise than the files before it; with none of them the chain is what differs.
    pub(super) own: &'static [StepId],
    pub(super) spread: Spread,
    pub(super) way: Way,
    pub(super) structs: bool,
    /// One launch a block of characters instead of one for the army.
    pub(super) apart: bool,
    params: &'static [Param],
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        vec![config.get("GROUP") as usize]
    }
}

const GROUP: Param = Param { name: "GROUP", cpu: 64, gpu: 64, values: &[32, 64, 128, 256] };
const ONE_LANE: Param = Param { name: "LANES", cpu: 1, gpu: 1, values: &[] };

const ON_STRUCTS: Code = Code {
    file: "cloth/02_scalar.cl",
    own: &StepId::ALL,
    spread: Spread::Blocks,
    way: Way::Resident,
    structs: true,
    apart: false,
    params: &[GROUP],
};

const ON_PLANES: Code =
    Code { file: "cloth/04_planes.cl", structs: false, params: &[GROUP, ONE_LANE], ..ON_STRUCTS };

const IN_GROUPS: Code = Code {
    file: "cloth/06_group.cl",
    own: &[StepId::Distances],
    spread: Spread::Groups,
    params: &[Param { name: "GROUP", cpu: 64, gpu: 256, values: &[64, 128, 256, 512] }],
    ..ON_PLANES
};

/// What is fast on a processor, from and to the host's memory.
const FROM_HOST: Code = Code {
    own: &[],
    params: &[
        Param { name: "GROUP", cpu: 64, gpu: 64, values: &[] },
        Param { name: "LANES", cpu: 8, gpu: 4, values: &[] },
    ],
    ..ON_PLANES
};

pub(super) static SINGLE: Code =
    Code { file: "cloth/01_single.cl", spread: Spread::Single, params: &[], ..ON_STRUCTS };

pub(super) static SCALAR: Code = ON_STRUCTS;

pub(super) static LOCAL: Code = Code { file: "cloth/03_local.cl", own: &[StepId::Skin], ..ON_STRUCTS };

pub(super) static APART: Code = Code { apart: true, ..ON_PLANES };

pub(super) static PLANES: Code = ON_PLANES;

pub(super) static SEVERAL: Code = Code {
    // A work-item has a character's constraints, as before.
    own: &[StepId::Skin, StepId::Integrate, StepId::Drive, StepId::Write],
    params: &[GROUP, ONE_LANE, Param { name: "ITEMS", cpu: 4, gpu: 4, values: &[2, 4, 8] }],
    ..ON_PLANES
};

pub(super) static COLOURED: Code = Code {
    file: "cloth/05_coloured.cl",
    own: &[StepId::Distances],
    spread: Spread::Colours,
    params: &[GROUP],
    ..ON_PLANES
};

pub(super) static GROUPED: Code = IN_GROUPS;

pub(super) static OCTETS: Code = Code {
    file: "cloth/07_octets.cl",
    own: &[StepId::Distances],
    spread: Spread::Octets,
    params: &[GROUP],
    ..ON_PLANES
};

pub(super) static LANES: Code =
    Code { params: &[GROUP, Param { name: "LANES", cpu: 8, gpu: 4, values: &[4, 8, 16] }], ..ON_PLANES };

pub(super) static TWO_QUEUES: Code = Code {
    own: &[],
    way: Way::TwoQueues,
    params: &[Param { name: "GROUP", cpu: 64, gpu: 256, values: &[] }],
    ..IN_GROUPS
};

pub(super) static WRITTEN: Code = Code { way: Way::Written, ..FROM_HOST };

pub(super) static COPIED: Code = Code { way: Way::Copied, ..FROM_HOST };

pub(super) static IN_PLACE: Code = Code { way: Way::InPlace, ..FROM_HOST };
