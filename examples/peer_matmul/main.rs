//! Matrix multiplication against CLBlast, OpenBLAS and, on an NVIDIA device, cuBLAS, in one process that takes turns:
//! `./dev peers --ladder matmul`. Prints a table in Markdown, and writes a chart if requested.
//!
//! `cargo run --release --example peer_matmul -- [--device SEL] [--rounds N] [--variant ID,…] [--tune SECONDS]
//! [--chart FILE.svg] M,N,K…`
//!
//! The libraries are loaded by name; missing ones are left out with a message. Their
//! results must lie within the ladder's bound. All times are elapsed times, from the call to the result, with resident data:
//! CLBlast's and cuBLAS's on the device, OpenBLAS's on the processor for any device. The ladder's peak kernel takes turns
//! with them. With `--tune` CLBlast takes part a second time, after its own tuner has run for so long.

mod clblast;
mod report;

use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::ptr;
use std::time::Instant;

use base::device::DeviceKind;
use compute::sample::Sample;
use compute::trial::Child;
use ladder::Outcome;
use ladder::arrays::{ArrayLadder, Built};
use ladder::measure::{Alternation, Measurement};
use ladder::rows::{CaseRun, Row};
use ladder::runner::{CaseBuffers, Ladder, LadderRunner, describe_case};
use ladder::sizes::Sizes;
use ladders::matmul::MATMUL;
use ladders::matmul::reference::{bound, reference};
use ladders::matmul::shape::Shape;
use opencl::cl::{Device, list_devices, select_device};
use opencl::process;
use opencl::sources::Sources;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: peer_matmul [--device SEL] [--rounds N] [--variant ID,…] [--tune SECONDS] \
     [--chart FILE.svg] M,N,K…";
/// Rounds before those that count: devices wake up, caches fill.
const WARM: u32 = 2;

fn main() -> Result<()> {
    process::prepare();
    let mut shapes: Vec<[u32; 3]> = Vec::new();
    let (mut selected, mut rounds, mut variants) = (None, 15_u32, String::new());
    let (mut tune, mut turns, mut chart) = (0, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--device" => selected = Some(value()?),
            "--rounds" => rounds = value()?.parse()?,
            "--variant" => variants = value()?,
            "--tune" => tune = value()?.parse()?,
            "--chart" => chart = Some(check_writable(value()?)?),
            // Starts the second process.
            "--turns" => turns = Some(value()?),
            sizes => {
                let sizes: Vec<u32> =
                    sizes.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
                shapes.push(sizes.try_into().map_err(|_| USAGE)?);
            }
        }
    }
    let device = select_device(&list_devices(), selected.as_deref())?;
    if variants.is_empty() {
        variants = "private,padded,register-tiles,double-buffered,panels,auto".to_owned();
    }
    let shapes = MATMUL.cases(&Sizes::default().with("mnk", shapes))?;
    if let (Some(settings), [shape]) = (&turns, &shapes[..]) {
        clblast::serve(&device, *shape, settings)?;
        process::exit_now(0);
    }
    println!("{}\n", device.info.name);
    let mut settings = None;
    if tune > 0 {
        match clblast::tune(&device, std::time::Duration::from_secs(tune)) {
            Ok(tuned) => settings = Some(tuned),
            Err(why) => eprintln!("peer_matmul: CLBlast is not tuned: {why}."),
        }
    }
    let mut runs = Vec::new();
    for shape in shapes {
        let run = measure(&device, shape, rounds, &variants, settings.as_deref())?;
        println!("{}\n", report::table(&run));
        runs.push(run);
        if let Some(file) = &chart {
            fs::write(file, report::chart(&device.info.name, &runs))?;
        }
    }
    process::exit_now(0)
}

/// Returns the path if a chart can be written there: this is checked before anything is measured.
fn check_writable(file: String) -> Result<String> {
    if !file.ends_with(".svg") {
        return Err(format!("the chart '{file}' must end in .svg").into());
    }
    let opened = fs::File::options().append(true).create(true).open(&file);
    opened.map_err(|why| format!("the chart '{file}' could not be written ({why})"))?;
    Ok(file)
}

/// Measures variants and libraries at a shape, in turns.
fn measure(
    device: &Device,
    shape: Shape,
    rounds: u32,
    variants: &str,
    settings: Option<&str>,
) -> Result<CaseRun> {
    let mut child = Child::new(MATMUL.info.name, None);
    let runner = LadderRunner::new(&MATMUL, Some(device), Sources::from_environment(), &mut child);
    let mut buffers = runner.allocate(&shape)?;
    let mut run = CaseRun::new(describe_case(&MATMUL, &shape));
    let peak = runner.peak(0, &buffers);
    let peak = peak.map_err(|outcome| print_left_out(MATMUL.info.peaks[0].name, &outcome)).ok();
    let mut ready = Vec::new();
    for variant in MATMUL.variants().iter().filter(|variant| variants.split(',').any(|id| id == variant.id)) {
        match runner.prepare(variant, &mut buffers) {
            Ok(prepared) => {
                let checked = runner.check(variant.id, &prepared, &mut buffers);
                let compared =
                    checked.and_then(|_| runner.run_compared((None, false), &prepared.built, &mut buffers));
                compared.map_err(|outcome| outcome.reason().unwrap_or_default())?;
                let row = Row::new(runner.entry(variant), Outcome::Skipped(String::new()));
                ready.push((Row { auto_choice: prepared.auto_choice, ..row }, prepared.built));
            }
            Err(outcome) => print_left_out(variant.id, &outcome),
        }
    }
    let (a, b) = (numbers(shape.left_len(), 1), numbers(shape.right_len(), 2));
    let want = reference(&shape, &[&a, &b])?;
    let buffers = RefCell::new(buffers);
    // The peak kernel has no row.
    let mut rows: Vec<Option<Row>> = Vec::new();
    let mut contenders: Vec<Box<dyn FnMut() -> Result<Sample> + '_>> = Vec::new();
    let rounds = rounds + WARM;
    if let Some(peak) = &peak {
        rows.push(None);
        contenders.push(run_variant(&runner, &buffers, peak));
    }
    for (row, ready) in &ready {
        rows.push(Some(row.clone()));
        contenders.push(run_variant(&runner, &buffers, ready));
    }
    let cublas = match device.info.platform.contains("NVIDIA") {
        true => cublas(shape, &a, &b),
        false => Err("it computes on NVIDIA's devices alone".into()),
    };
    let tuned = settings.map(|settings| clblast::tuned_library(device, shape, settings));
    let on_processor = device.info.kind == DeviceKind::Cpu;
    let libraries = [
        ("CLBlast", true, Some(clblast::library(device, shape, &a, &b))),
        ("CLBlast, tuned", true, tuned),
        ("OpenBLAS", on_processor, Some(openblas(shape, a.clone(), b.clone()))),
        ("cuBLAS", true, Some(cublas)),
    ];
    for (name, on_device, library) in libraries {
        let (entry, Some(library)) = (report::library(name, on_device), library) else { continue };
        match library
            .and_then(|mut library| check(shape, &want, &a, &b, &(library.multiply)()?).map(|()| library))
        {
            Ok(Library { mut run, .. }) => {
                rows.push(Some(Row::new(entry, Outcome::Skipped(String::new()))));
                contenders.push(Box::new(move || run().map(Sample::on_host)));
            }
            Err(why) => eprintln!("peer_matmul: {} is left out: {why}", entry.id),
        }
    }
    let mut turns: Alternation<Box<dyn Error>> = Alternation::new(vec![rounds; contenders.len()], Vec::new());
    for round in 0..rounds {
        turns.round(round, |at, _| contenders[at]());
    }
    turns.finish();
    for (row, timed) in rows.into_iter().zip(turns.results) {
        let name = row.as_ref().map_or(MATMUL.info.peaks[0].name, |row| row.entry.id);
        let timed = match timed {
            Ok(timed) => timed,
            Err(why) => {
                eprintln!("peer_matmul: {name} is left out: {why}");
                continue;
            }
        };
        let samples: Vec<Sample> = timed.samples.iter().skip(WARM as usize).copied().collect();
        let measured = Measurement::from_samples(&samples).ok_or("--rounds takes a number from 1 on")?;
        // The tuned CLBlast is a process of its own: its CPU use is not that of a foreign process.
        let others = timed.others.filter(|_| settings.is_none());
        let outcome = Outcome::Ok(Measurement { others, ..measured });
        match row {
            Some(row) => run.rows.push(Row { outcome, ..row }),
            None => run.peaks = vec![outcome],
        }
    }
    report::compare_with_best(&mut run);
    Ok(run)
}

/// Runs a variant or the peak kernel once, by elapsed time.
fn run_variant<'a>(
    runner: &'a LadderRunner<'_, ArrayLadder<Shape>>,
    buffers: &'a RefCell<CaseBuffers<ArrayLadder<Shape>>>,
    one: &'a Built<Shape>,
) -> Box<dyn FnMut() -> Result<Sample> + 'a> {
    Box::new(move || Ok(Sample::on_host(runner.run(one, &mut buffers.borrow_mut())?.wall_ms)))
}

fn print_left_out(name: &str, outcome: &Outcome) {
    let why = outcome.reason().unwrap_or_default();
    eprintln!("peer_matmul: {name} is left out, {}: {why}", outcome.word());
}

/// Returns numbers between -1 and 1 by a linear congruential generator, the same at each run.
fn numbers(count: usize, mut state: u32) -> Vec<f32> {
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Fails if a library's result exceeds the ladder's bound.
fn check(shape: Shape, want: &[u8], a: &[f32], b: &[f32], got: &[f32]) -> Result<()> {
    let (n, k) = (shape.n as usize, shape.k as usize);
    let length = |x: &mut dyn Iterator<Item = f32>| x.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let rows: Vec<f64> = a.chunks(k.max(1)).map(|row| length(&mut row.iter().copied())).collect();
    let mut columns = vec![0.0; n];
    for row in b.chunks(n) {
        columns.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x).powi(2));
    }
    for (at, (got, want)) in got.iter().zip(want.chunks_exact(4)).enumerate() {
        let want = f32::from_le_bytes([want[0], want[1], want[2], want[3]]);
        let allowed = bound(shape.k) * rows.get(at / n).unwrap_or(&0.0) * columns[at % n].sqrt();
        if f64::from(got - want).abs() > allowed || got.is_nan() {
            return Err(format!("its result differs at number {at}: got {got}, want {want}").into());
        }
    }
    Ok(())
}

/// A library with matrices in its memory.
struct Library {
    /// Runs once; returns milliseconds.
    run: Box<dyn FnMut() -> Result<f64>>,
    /// Runs once; returns the result.
    multiply: Box<dyn FnMut() -> Result<Vec<f32>>>,
}

/// Returns a function of a library by its name; the library is never closed.
fn function(library: &[&str], name: &str) -> Result<*mut c_void> {
    for file in library {
        let file = CString::new(*file)?;
        // SAFETY: both strings are zero-terminated; the library is never closed.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) };
        if !handle.is_null() {
            let name = CString::new(name)?;
            // SAFETY: the library is open.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            return if symbol.is_null() { Err(format!("it has no {name:?}").into()) } else { Ok(symbol) };
        }
    }
    // SAFETY: the result is a zero-terminated string, or null.
    let why = unsafe { libc::dlerror().cast::<c_char>().as_ref().map(|why| CStr::from_ptr(why)) };
    Err(format!("it could not be opened ({})", why.map_or("no reason given".into(), CStr::to_string_lossy))
        .into())
}

fn timed(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    call()?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

fn check_status(name: &str, status: c_int) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(format!("{name} returned {status}").into()) }
}

const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;

fn openblas(shape: Shape, a: Vec<f32>, b: Vec<f32>) -> Result<Library> {
    #[rustfmt::skip]
    type Sgemm = unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *const f32, c_int, f32, *mut f32, c_int);
    let symbol = function(&["libopenblas.so.0"], "cblas_sgemm")?;
    // SAFETY: the function has this signature in the C interface of BLAS.
    let sgemm: Sgemm = unsafe { std::mem::transmute(symbol) };
    let (m, n, k) = (shape.m as c_int, shape.n as c_int, shape.k as c_int);
    let multiply = std::rc::Rc::new(move |c: &mut [f32]| -> Result<()> {
        let (a, b) = (a.as_ptr(), b.as_ptr());
        // SAFETY: the matrices have these sizes, without padding.
        unsafe { sgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1.0, a, k.max(1), b, n, 0.0, c.as_mut_ptr(), n) };
        Ok(())
    });
    let (once, mut c) = (multiply.clone(), vec![0.0; shape.product_len()]);
    Ok(Library {
        run: Box::new(move || timed(|| multiply(&mut c))),
        multiply: Box::new(move || {
            let mut c = vec![f32::NAN; shape.product_len()];
            once(&mut c)?;
            Ok(c)
        }),
    })
}

/// Loads cuBLAS, with the driver's API in the context that cuBLAS uses.
fn cublas(shape: Shape, a: &[f32], b: &[f32]) -> Result<Library> {
    type Plain = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    type Three = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int;
    #[rustfmt::skip]
    type Sgemm = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int, c_int, *const f32, u64, c_int, u64, c_int, *const f32, u64, c_int) -> c_int;
    let named = std::env::var("CUBLAS").unwrap_or_default();
    let library = [named.as_str(), "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];
    let library: Vec<&str> = library.into_iter().filter(|name| !name.is_empty()).collect();
    // SAFETY: these functions have at most these arguments, each as wide as a register, in `cuda.h` and `cublas_v2.h`.
    let ([alloc, synchronize, create], [to_device, to_host]) = unsafe {
        let cuda = |name: &str| function(&["libcuda.so.1"], name);
        let plain = |symbol: Result<*mut c_void>| {
            symbol.map(|symbol| std::mem::transmute::<*mut c_void, Plain>(symbol))
        };
        let three = |symbol: Result<*mut c_void>| {
            symbol.map(|symbol| std::mem::transmute::<*mut c_void, Three>(symbol))
        };
        let mut context: *mut c_void = ptr::null_mut();
        check_status("cuInit", plain(cuda("cuInit"))?(ptr::null_mut(), 0))?;
        let retained = plain(cuda("cuDevicePrimaryCtxRetain"))?(ptr::from_mut(&mut context).cast(), 0);
        check_status("cuDevicePrimaryCtxRetain", retained)?;
        check_status("cuCtxSetCurrent", plain(cuda("cuCtxSetCurrent"))?(context, 0))?;
        let create = plain(function(&library, "cublasCreate_v2"))?;
        (
            [plain(cuda("cuMemAlloc_v2"))?, plain(cuda("cuCtxSynchronize"))?, create],
            [three(cuda("cuMemcpyHtoD_v2"))?, three(cuda("cuMemcpyDtoH_v2"))?],
        )
    };
    // SAFETY: as above.
    let sgemm: Sgemm = unsafe { std::mem::transmute(function(&library, "cublasSgemm_v2")?) };
    let memory = |numbers: &[f32]| -> Result<u64> {
        let mut address = 0_u64;
        // SAFETY: there is space for an address, and so many bytes are copied to memory of that size.
        unsafe {
            check_status("cuMemAlloc", alloc(ptr::from_mut(&mut address).cast(), size_of_val(numbers)))?;
            check_status(
                "cuMemcpyHtoD",
                to_device(address as *mut c_void, numbers.as_ptr() as *mut c_void, size_of_val(numbers)),
            )?;
        }
        Ok(address)
    };
    let (a, b, c) = (memory(a)?, memory(b)?, memory(&vec![f32::NAN; shape.product_len()])?);
    let mut handle: *mut c_void = ptr::null_mut();
    // SAFETY: there is space for a handle.
    check_status("cublasCreate", unsafe { create(ptr::from_mut(&mut handle).cast(), 0) })?;
    let (m, n, k) = (shape.m as c_int, shape.n as c_int, shape.k as c_int);
    let multiply = std::rc::Rc::new(move || -> Result<()> {
        // SAFETY: the column-major product of the transposed matrices is the row-major product; the sizes are theirs.
        let status = unsafe { sgemm(handle, 0, 0, n, m, k, &1.0, b, n, a, k, &0.0, c, n) };
        check_status("cublasSgemm", status)?;
        // SAFETY: the function has no arguments.
        check_status("cuCtxSynchronize", unsafe { synchronize(ptr::null_mut(), 0) })
    });
    let once = multiply.clone();
    Ok(Library {
        run: Box::new(move || timed(|| multiply())),
        multiply: Box::new(move || {
            once()?;
            let mut read = vec![0.0_f32; shape.product_len()];
            // SAFETY: both have so many bytes.
            check_status("cuMemcpyDtoH", unsafe {
                to_host(read.as_mut_ptr().cast(), c as *mut c_void, size_of_val(&read[..]))
            })?;
            Ok(read)
        }),
    })
}
