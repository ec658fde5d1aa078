//! `clreel conformance --sharing`: checks the bytes that OpenCL and OpenGL exchange in shared textures and buffers, with each
//! API of OpenGL that can be opened. Prints a table for each API, or JSON.

use comfy_table::Table;
use serde::Serialize;

use crate::cli::live::{LiveResults, LiveRun};
use crate::cli::output::{grouped, join_counts, print_json, print_line, table};
use crate::cli::{PROGRAM, exit};
use crate::probe::cases::{Api, run_cases};
use base::device::DeviceInfo;
use base::error::Result;
use base::stderr::print_message;
use engine::sharing::cases::{Case, Direction, Format, Order, Outcome};
use opencl::cl::Device;

/// The result of testing what OpenCL and OpenGL share, on all devices. The field names are JSON keys.
#[derive(Serialize)]
struct SharingResult {
    schema: u32,
    kind: &'static str,
    program: &'static str,
    seed: u32,
    /// True if the test has not been interrupted.
    complete: bool,
    devices: Vec<DeviceResult>,
    #[serde(skip)]
    json: bool,
}

#[derive(Serialize)]
struct DeviceResult {
    name: String,
    platform: String,
    version: String,
    driver: String,
    apis: Vec<ApiResult>,
}

/// The result of the test on one device with one API of OpenGL.
#[derive(Default, Serialize)]
struct ApiResult {
    api: &'static str,
    /// OpenGL's interface, renderer and version; `None` if OpenGL could not be opened.
    opengl: Option<String>,
    /// "tested", "unsupported" (nothing is shared, or OpenGL cannot be opened) or "failed"
    outcome: &'static str,
    /// The reason why none or not all of the cases were tested, as a sentence without its full stop; `None` if all were tested.
    reason: Option<String>,
    cases: Vec<CaseResult>,
}

#[derive(Serialize)]
struct CaseResult {
    format: &'static str,
    direction: &'static str,
    order: &'static str,
    /// The outcome of the case: "ok", "wrong", "unsupported" or "failed"
    outcome: &'static str,
    /// The number of bytes that differ, and the number of bytes of the object; `None` unless the case is wrong.
    wrong_bytes: Option<usize>,
    bytes: Option<usize>,
    /// A text about the first byte that differs, or the reason why the case failed or is unsupported; `None` if it is ok.
    reason: Option<String>,
    /// The command line that repeats the test; `None` unless the case is wrong or failed.
    repeat: Option<String>,
}

impl CaseResult {
    fn new(case: Case, outcome: Outcome, repeat: &str) -> Self {
        let (word, wrong_bytes, bytes, reason) = match outcome {
            Outcome::Ok => ("ok", None, None, None),
            Outcome::Wrong { wrong, bytes, first } => ("wrong", Some(wrong), Some(bytes), Some(first)),
            Outcome::Unsupported(why) => ("unsupported", None, None, Some(why)),
            Outcome::Failed(why) => ("failed", None, None, Some(why)),
        };
        let Case { format, direction, order } = case;
        let (format, direction, order) = (format.name(), direction.name(), order.name());
        let repeat = matches!(word, "wrong" | "failed").then(|| repeat.to_owned());
        Self { format, direction, order, outcome: word, wrong_bytes, bytes, reason, repeat }
    }

    fn name(&self) -> String {
        [self.format, self.direction, self.order].join(", ")
    }

    /// Returns a sentence about the case, for the lines below the table; `None` if it is ok.
    fn remark(&self) -> Option<String> {
        let reason = self.reason.as_deref()?;
        Some(match self.wrong_bytes.zip(self.bytes) {
            Some((wrong, bytes)) => format!("differs: {wrong} of {bytes} bytes, first: {reason}"),
            None if self.outcome == "unsupported" => format!("not offered: {reason}"),
            None => reason.to_owned(),
        })
    }
}

/// Tests what OpenCL and OpenGL share on these devices, and prints the result; returns the exit code: 3 if a byte is wrong, 1
/// if a case failed, or no API of OpenGL could be opened. A device that shares nothing is no failure.
///
/// # Errors
/// If writing the result fails.
pub(super) fn run(devices: Vec<Device>, seed: u32, json: bool) -> Result<u8> {
    print_message(format_args!("The seed of the random bytes is {seed}."));
    let of_device = |device: &Device| {
        let DeviceInfo { name, platform, version, driver, .. } = device.info.clone();
        DeviceResult { name, platform, version, driver, apis: Vec::new() }
    };
    let result = SharingResult {
        schema: 1,
        kind: "sharing",
        program: PROGRAM,
        seed,
        complete: false,
        devices: devices.iter().map(of_device).collect(),
        json,
    };
    let count = Case::all().len();
    let live = LiveRun::start(result, devices.len() * Api::ALL.len() * count);
    for (at, device) in devices.iter().enumerate() {
        let repeat = format!("clreel conformance --sharing --device {} --seed {seed}", device.info.index);
        for (number, api) in Api::ALL.into_iter().enumerate() {
            live.set_message(api.name());
            let result = ApiResult { api: api.name(), outcome: "tested", ..ApiResult::default() };
            live.results().devices[at].apis.push(result);
            let on_opengl = |name| live.results().devices[at].apis[number].opengl = Some(name);
            let on_case = |case: Case, outcome| {
                let result = CaseResult::new(case, outcome, &repeat);
                live.next_step(&format!("{}: {}", api.name(), result.name()));
                live.results().devices[at].apis[number].cases.push(result);
            };
            if let Err((outcome, why)) = run_cases(device, api, seed, on_opengl, on_case) {
                let mut results = live.results();
                let result = &mut results.devices[at].apis[number];
                (result.outcome, result.reason) = (outcome, Some(why));
            }
            live.skip_to((at * Api::ALL.len() + number + 1) * count);
        }
    }
    live.results().complete = true;
    let results = live.finish()?;
    let apis = || results.devices.iter().flat_map(|device| &device.apis);
    let any = |outcome| {
        apis().any(|api| api.outcome == outcome || api.cases.iter().any(|case| case.outcome == outcome))
    };
    let has_opengl = |device: &DeviceResult| device.apis.iter().any(|api| api.opengl.is_some());
    Ok(exit::check_code(any("wrong"), any("failed") || !results.devices.iter().all(has_opengl)))
}

impl LiveResults for SharingResult {
    fn print(&self, _: Option<&str>) -> Result<()> {
        if self.json {
            return print_json(self);
        }
        for device in &self.devices {
            print_line(format!("{} ({}, driver {})", device.name, device.platform, device.driver))?;
            device.apis.iter().try_for_each(|api| print(api, self.seed))?;
        }
        Ok(())
    }

    fn describe_missing(&self) -> String {
        "The test was interrupted; cases are missing.".to_owned()
    }
}

fn print(api: &ApiResult, seed: u32) -> Result<()> {
    let opengl = api.opengl.as_deref().unwrap_or(api.api);
    if let (Some(why), true) = (&api.reason, api.cases.is_empty()) {
        return print_line(match (api.outcome, &api.opengl) {
            ("unsupported", Some(_)) => format!("{opengl}: shares nothing: {why}"),
            _ => format!("{opengl}: not tested: {why}"),
        });
    }
    print_line(opengl)?;
    print_line(matrix(api))?;
    let words = [("ok", "ok"), ("wrong", "wrong"), ("failed", "failed"), ("unsupported", "not offered")];
    let count = |outcome| api.cases.iter().filter(|case| case.outcome == outcome).count();
    let counts = join_counts(words.map(|(outcome, word)| (count(outcome), word)));
    print_line(format!("{} cases: {counts}; seed {seed}", api.cases.len()))?;
    // Cases with the same remark share a line.
    let remarks = api.cases.iter().filter_map(|case| Some((case.remark()?, case)));
    let mut remarks = grouped(remarks);
    remarks.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (remark, cases) in remarks {
        let more = if cases.len() > 1 { format!(" (and {} more)", cases.len() - 1) } else { String::new() };
        print_line(match remark.starts_with("not offered") {
            false => format!("{}{more}: {remark}", cases[0].name()),
            true => remark,
        })?;
    }
    if let Some(why) = &api.reason {
        print_line(format!("other cases were not tested: {why}"))?;
    }
    if let Some(repeat) = api.cases.iter().find_map(|case| case.repeat.as_ref()) {
        print_line(format!("  {repeat}"))?;
    }
    Ok(())
}

/// Creates a table with two rows for each format, one for each direction of the transfer, and a column for each order of calls.
fn matrix(api: &ApiResult) -> Table {
    let orders = Order::ALL.map(|order| order.name().to_owned());
    let mut table = table(["format", "direction"].map(str::to_owned).into_iter().chain(orders), 0..0);
    for (format, direction) in
        Format::ALL.into_iter().flat_map(|f| Direction::ALL.map(|to| (f.name(), to.name())))
    {
        let cell = |order: Order| {
            let is_it = |case: &&CaseResult| {
                (case.format, case.direction, case.order) == (format, direction, order.name())
            };
            match api.cases.iter().find(is_it).map(|case| case.outcome) {
                Some("wrong") => "WRONG",
                Some("unsupported") => "-",
                other => other.unwrap_or_default(),
            }
        };
        table.add_row([format, direction].into_iter().chain(Order::ALL.map(cell)));
    }
    table
}
