//! A fake ladder for tests. The test defines the behaviour and the times of its variants, which record their calls.

use std::cell::{Cell, RefCell};

use super::Outcome;
use super::definition::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use super::measure::Measurement;
use super::rows::{Entry, PeakKernel, Row};
use super::sizes::Sizes;
use base::device::DeviceKind;
use base::error::{Error, Result};
use base::verify::Floats;
use compute::BackEnd;
use compute::config::{Config, Param};
use compute::plan::{Code, Pass};
use compute::sample::Sample;
use compute::variant::{Variant, Work};
use opencl::cl::{ClContext, Device, list_devices};

/// Kernel code of a fake variant.
pub(super) type FakeCode = Code<u32>;

/// The code of the fake variant `one`. Its path names an existing kernel file, because the tuning cache stores a hash of the
/// file; the kernels in it are never run.
pub(super) static FIRST_CODE: FakeCode = code("convert/01_planes.cl");
/// The code of the fake variant `two`, with the path of an existing kernel file as in [`FIRST_CODE`].
pub(super) static SECOND_CODE: FakeCode = code("convert/02_correct.cl");

/// Returns the code of a fake variant, with the tuning parameters `A`, `B` and `C`. No device allows the value 4 for `A`.
const fn code(file: &'static str) -> FakeCode {
    const PASS: Pass<u32> = Pass {
        kernel: "",
        args: &[],
        local: |config| [config.get("B") as usize, 1],
        groups: |_, _| [1, 1],
        work: None,
    };
    const PARAMS: &[Param] = &[
        Param::new("A", 1, 1, &[1, 2, 4]),
        Param::new("B", 8, 8, &[8, 16, 32, 64]),
        Param::new("C", 1, 1, &[1, 2]),
    ];
    Code { allows: |config, _| config.get("A") != 4, ..Code::new(file, &[PASS], PARAMS) }
}

/// Returns a configuration of the kernels with the parameters `A` = `a` and `B` = `b`.
pub(super) fn config(code: &'static FakeCode, a: u32, b: u32) -> Config<FakeCode> {
    Config::new(code, DeviceKind::Cpu).with("A", a).with("B", b)
}

/// Returns a row of a variant with this id and title, which runs on the device.
pub(super) fn row(id: &'static str, title: &'static str, outcome: Outcome) -> Row {
    let entry = Entry { id, name: id.to_owned(), title, back_end: BackEnd::OpenCl, ..Entry::default() };
    Row::new(Entry { peak: Some(0), ..entry }, outcome)
}

/// Returns the statistics of this number of runs that took `ms` milliseconds each by the device's clock, and twice as long by the
/// wall clock.
pub(super) fn measured(ms: f64, runs: usize) -> Measurement {
    let sample = Sample { device_ms: Some(ms), dispatch_ms: None, wall_ms: 2.0 * ms };
    Measurement::from_samples(&vec![sample; runs]).unwrap()
}

/// The case of the fake ladder that is timed. Its operation count is 1.
pub(super) const TIMED_CASE: u32 = 9;
/// Names of the small cases 0 and 1 in the calls that the fake ladder records.
const SMALL: [&str; 2] = ["look", "check"];
/// A case with 1000 operations, whose time is predicted from a run of [`SMALLER_CASE`].
pub(super) const LARGE_CASE: u32 = 8;
/// The small case whose time predicts the time of [`LARGE_CASE`].
const SMALLER_CASE: u32 = 6;
/// A small case with 1000 operations, for ladders with a time budget for checks.
pub(super) const LARGE_CHECK: u32 = 5;
/// A small case whose check runs may take at most a millisecond, for ladders with a time budget for checks.
pub(super) const FAST_CHECK: u32 = 4;
/// A case whose allocation fails.
pub(super) const NO_MEMORY_CASE: u32 = 7;

/// The behaviour of a fake variant: its times, its faults, and when it fails.
#[derive(Clone, Copy)]
pub(super) struct Behaviour {
    /// The times of the variant's runs in milliseconds, in order. The first run serves to predict the time of the others; runs
    /// after the end of the list take the last time.
    pub runs_ms: &'static [f64],
    /// The additional time of the very first run in milliseconds, as if the driver compiled the kernel then.
    pub compile_ms: f64,
    /// The step in which the variant's output differs from the reference. `build` means that the variant cannot be built;
    /// `cache`, that it returns its first output of the timed case again; `once`, that it computes that output in its first
    /// timed run and in no other. Empty for a correct variant.
    pub wrong: &'static str,
    /// The number of successful runs, after which the variant fails.
    pub runs: usize,
}

pub(super) const CORRECT: Behaviour =
    Behaviour { runs_ms: &[1.0], compile_ms: 0.0, wrong: "", runs: usize::MAX };

/// A fake ladder; `BUDGET` is true if its checks have a time budget.
pub(super) struct FakeLadder<const BUDGET: bool = false> {
    /// Returns the behaviour of a variant by its id and its values of `A` and `B`.
    pub behaviour: fn(&str, u32, u32) -> Behaviour,
    /// True if all timed rounds have the same input, false if each has its own.
    pub has_one_input: bool,
    /// The calls of the ladder's methods so far, each as the name of a step and the id of a variant.
    pub calls: RefCell<Vec<String>>,
}

pub(super) struct Built {
    name: String,
    behaviour: Behaviour,
    runs: Cell<usize>,
    has_run: Cell<bool>,
}

pub(super) struct FakeBuffers {
    case: u32,
    /// The number that is added to each byte of the output: the number of the timed round.
    round: u8,
    output: Vec<u8>,
    guard: usize,
}

/// Returns a variant that runs on the host.
const fn host(id: &'static str) -> Variant<FakeCode, &'static str> {
    Variant { id, title: id, idea: "", work: Work::Host(id) }
}

static VARIANTS: [Variant<FakeCode, &str>; 10] = [
    host("good"),
    host("wrong"),
    host("slow"),
    host("half a minute"),
    host("unbuilt"),
    host("broken"),
    host("cached"),
    host("once"),
    Variant { id: "one", title: "one", idea: "", work: Work::Kernels([&FIRST_CODE; 2]) },
    Variant { id: "two", title: "two", idea: "", work: Work::Kernels([&SECOND_CODE; 2]) },
];

/// Returns the expected output of a round.
fn want(round: u8) -> [u8; 4] {
    [1, 2, 3, 4].map(|number: u8| number + round)
}

pub(super) fn device() -> Device {
    list_devices().into_iter().next().expect("these tests need an OpenCL device")
}

impl<const BUDGET: bool> FakeLadder<BUDGET> {
    pub(super) fn new(behaviour: fn(&str, u32, u32) -> Behaviour) -> Self {
        Self { behaviour, has_one_input: false, calls: RefCell::default() }
    }

    fn record(&self, step: &str, name: &str) {
        self.calls.borrow_mut().push(format!("{step} {name}"));
    }
}

impl<const BUDGET: bool> Ladder for FakeLadder<BUDGET> {
    type Case = u32;
    type Code = FakeCode;
    type Host = &'static str;
    type Built = Built;
    type Buffers = FakeBuffers;

    fn info(&self) -> &LadderInfo {
        &const {
            LadderInfo {
                name: "made",
                peaks: &[
                    PeakKernel { name: "first", note: None, computes: false },
                    PeakKernel { name: "nobody's", note: None, computes: false },
                ],
                inputs: &["noise"],
                check_budget_ms: if BUDGET { Some(250.0) } else { None },
                ..LadderInfo::DEFAULT
            }
        }
    }

    fn variants(&self) -> &'static [Variant<FakeCode, &'static str>] {
        &VARIANTS
    }

    fn cases(&self, _: &Sizes) -> Result<Vec<u32>, String> {
        Ok(vec![TIMED_CASE])
    }

    fn describe(&self, case: &u32) -> CaseInfo {
        CaseInfo {
            title: format!("case {case}"),
            class: "any",
            output: want(0).len(),
            operations: if [LARGE_CASE, LARGE_CHECK].contains(case) { 1000.0 } else { 1.0 },
            max_check_run_ms: (*case == FAST_CHECK).then_some(1.0),
            ..CaseInfo::default()
        }
    }

    fn small(&self, _: &Built, _: &u32) -> Vec<u32> {
        if BUDGET { vec![0, LARGE_CHECK, FAST_CHECK, 1] } else { vec![0, 1] }
    }

    fn smaller(&self, case: &u32) -> Vec<u32> {
        if *case == LARGE_CASE { vec![SMALLER_CASE] } else { Vec::new() }
    }

    fn supports(&self, _: &Device, _: Option<&FakeCode>, _: &u32) -> Result<(), String> {
        Ok(())
    }

    fn build(&self, part: Part<FakeCode, &'static str>) -> Result<Built> {
        let (name, behaviour) = match part {
            Part::Host(name) => (name.to_owned(), (self.behaviour)(name, 0, 0)),
            Part::Peak(..) => ("peak".to_owned(), CORRECT),
            Part::Kernels(_, config) => {
                let variant = if config.code().file == FIRST_CODE.file { "one" } else { "two" };
                let [a, b, c] = ["A", "B", "C"].map(|name| config.get(name));
                (format!("{variant} {a} {b} {c}"), (self.behaviour)(variant, a, b))
            }
        };
        self.record("build", &name);
        match behaviour.wrong {
            "build" => Err(Error::new("does not build", "", "")),
            _ => Ok(Built { name, behaviour, runs: Cell::new(0), has_run: Cell::new(false) }),
        }
    }

    fn allocate(&self, _: Option<&ClContext>, case: &u32, guard: usize) -> Result<FakeBuffers> {
        match *case {
            NO_MEMORY_CASE => Err(Error::new("no memory", "", "")),
            case => Ok(FakeBuffers { case, round: 0, output: vec![0; want(0).len() + 2 * guard], guard }),
        }
    }

    fn load(&self, _: &mut FakeBuffers, _: &str) -> Result<Expected> {
        Ok(Expected::new(want(0).to_vec(), Floats))
    }

    fn load_round(&self, buffers: &mut FakeBuffers, round: u32) -> Result<()> {
        self.record("next", &round.to_string());
        if !self.has_one_input {
            buffers.round = round as u8;
        }
        Ok(())
    }

    fn expected_round(&self, _: &FakeBuffers, round: u32) -> Result<Option<Expected>> {
        let expected = Expected::new(want(round as u8).to_vec(), Floats);
        Ok((!self.has_one_input).then_some(expected))
    }

    fn write(&self, built: &Built, buffers: &mut FakeBuffers, bytes: &[u8]) -> Result<()> {
        if buffers.case == TIMED_CASE {
            self.record("poison", &built.name);
        }
        buffers.output = bytes.to_vec();
        Ok(())
    }

    fn read(&self, _: &Built, buffers: &FakeBuffers) -> Result<Output> {
        Ok(Output { bytes: buffers.output.clone(), changed: 0 })
    }

    fn run(&self, built: &Built, buffers: &mut FakeBuffers) -> Result<Sample> {
        let is_first = !built.has_run.replace(true);
        let step = match buffers.case {
            SMALLER_CASE => "smaller",
            LARGE_CHECK | FAST_CHECK => "check",
            case => SMALL.get(case as usize).copied().unwrap_or("run"),
        };
        self.record(step, &built.name);
        let n = built.runs.get();
        if step == "run" {
            built.runs.set(n + 1);
            if n >= built.behaviour.runs {
                return Err(Error::new("It fails in its turns.", "", ""));
            }
        }
        // Runs 0 and 1 predict the time, run 2 is the first timed one.
        let output = match built.behaviour.wrong {
            "cache" => Some(want(0)),
            "once" => (step != "run" || n < 3).then(|| want(buffers.round)),
            wrong => (wrong != step).then(|| want(buffers.round)),
        };
        if let Some(output) = output {
            buffers.output[buffers.guard..][..output.len()].copy_from_slice(&output);
        }
        let run_ms = built.behaviour.runs_ms[n.min(built.behaviour.runs_ms.len() - 1)];
        let ms = if is_first { run_ms + built.behaviour.compile_ms } else { run_ms };
        Ok(Sample { device_ms: Some(ms), dispatch_ms: None, wall_ms: ms })
    }
}
