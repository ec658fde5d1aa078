//! Matrix multiplication against CLBlast, OpenBLAS and, on an NVIDIA device, cuBLAS, in one process that takes turns:
//! `./dev peers --ladder matmul`. In: sizes and a device. Out: a table in Markdown on stdout, and a chart where it is asked for.
//!
//! `cargo run --release --example peer_matmul -- [--device SEL] [--rounds N] [--variant ID,…] [--tune SECONDS]
//! [--chart FILE.svg] M,N,K…`
//!
//! The libraries are opened by their names where the machine has them; who is missing is left out with a sentence. Their
//! results are held to the bound of the ladder. All times are the wall's, from the call to the result, with data resident:
//! CLBlast's and cuBLAS's on the device, OpenBLAS's on the processor, whatever the device is. The ladder's limit takes turns
//! with them. With `--tune` CLBlast takes part a second time, after its own tuner has searched for so long.

mod clblast;
mod report;

use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::ptr;
use std::time::Instant;

use ladder::Outcome;
use ladder::bench::Bench;
use ladder::contest::{Contest, Ladder, Room};
use ladder::measure::{Contender, Measurement, Sample, alternate};
use ladder::rounds::compare_once;
use ladder::rows::{CaseRun, Entry, Row};
use ladder::sizes::Sizes;
use ladder::trial::Child;
use ladders::matmul::reference::{bound, reference};
use ladders::matmul::shape::Shape;
use ladders::matmul::{Built, Matmul};
use opencl::cl::{Device, DeviceKind, list_devices, select_device};
use opencl::process;
use report::library;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: peer_matmul [--device SEL] [--rounds N] [--variant ID,…] [--tune SECONDS] \
     [--chart FILE.svg] M,N,K…";
/// Rounds before those that count: a device wakes up, caches fill.
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
            "--chart" => chart = Some(writable(value()?)?),
            // How the second process is started.
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
    let shapes = Matmul.cases(&Sizes::default().with("mnk", shapes))?;
    if let (Some(settings), [shape]) = (&turns, &shapes[..]) {
        clblast::take_turns(&device, *shape, settings)?;
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

/// The same, where a chart can be written there: that is known before anything is measured.
fn writable(file: String) -> Result<String> {
    if !file.ends_with(".svg") {
        return Err(format!("the chart '{file}' must end in .svg").into());
    }
    let opened = fs::File::options().append(true).create(true).open(&file);
    opened.map_err(|why| format!("the chart '{file}' could not be written ({why})"))?;
    Ok(file)
}

/// The times of rungs and libraries at a shape, in turns.
fn measure(
    device: &Device,
    shape: Shape,
    rounds: u32,
    variants: &str,
    settings: Option<&str>,
) -> Result<CaseRun> {
    let mut child = Child::new(Matmul::NAME, None);
    let mut contest = Contest::new(&Matmul, Some(device), &mut child);
    let mut room = contest.room(&shape)?;
    let mut run = CaseRun::new(contest.case(&shape));
    let limit = contest.limit(0, &mut room);
    let limit = limit.map_err(|outcome| left_out(Matmul::LIMIT, &outcome)).ok();
    let mut ready = Vec::new();
    for rung in Matmul.rungs().iter().filter(|rung| variants.split(',').any(|id| id == rung.id)) {
        match contest.prepare(rung, &mut room) {
            Ok(prepared) => {
                compare_once(&contest, &prepared.ready, &mut room)?;
                let row = Row::new(contest.entry(rung), Outcome::Skipped(String::new()));
                ready.push((Row { chosen: prepared.chosen, ..row }, prepared.ready));
            }
            Err(outcome) => left_out(rung.id, &outcome),
        }
    }
    let (a, b) = (numbers(shape.left(), 1), numbers(shape.right(), 2));
    let want = reference(shape, &a, &b)?;
    let room = RefCell::new(room);
    // The limit has no row.
    let mut rows: Vec<Option<Row>> = Vec::new();
    let mut contenders: Vec<Contender<Box<dyn Error>>> = Vec::new();
    let rounds = rounds + WARM;
    if let Some(limit) = &limit {
        rows.push(None);
        contenders.push(Contender { rounds, run: ours(&contest, &room, limit) });
    }
    for (row, ready) in &ready {
        rows.push(Some(row.clone()));
        contenders.push(Contender { rounds, run: ours(&contest, &room, ready) });
    }
    for (entry, library) in libraries(device, shape, &a, &b, settings) {
        match library
            .and_then(|mut library| check(shape, &want, &a, &b, &(library.multiply)()?).map(|()| library))
        {
            Ok(Library { mut run, .. }) => {
                rows.push(Some(Row::new(entry, Outcome::Skipped(String::new()))));
                contenders.push(Contender { rounds, run: Box::new(move || run().map(by_wall)) });
            }
            Err(why) => eprintln!("peer_matmul: {} is left out: {why}", entry.id),
        }
    }
    let results = alternate(rounds, &mut contenders, |_, _| Ok(()))?;
    for (row, timed) in rows.into_iter().zip(results) {
        let name = row.as_ref().map_or(Matmul::LIMIT, |row| row.entry.id);
        let timed = match timed {
            Ok(timed) => timed,
            Err(why) => {
                eprintln!("peer_matmul: {name} is left out: {why}");
                continue;
            }
        };
        let samples: Vec<Sample> = timed.samples.into_iter().skip(WARM as usize).collect();
        let measured = Measurement::of(&samples).ok_or("--rounds takes a number from 1 on")?;
        // The tuned CLBlast is a process of its own, and no stranger.
        let others = timed.others.filter(|_| settings.is_none());
        let outcome = Outcome::Ok(Measurement { others, ..measured });
        match row {
            Some(row) => run.rows.push(Row { outcome, ..row }),
            None => run.limits = vec![outcome],
        }
    }
    report::compare_with_best(&mut run);
    Ok(run)
}

/// One run of a rung or of the limit, by the wall's clock.
fn ours<'a>(
    contest: &'a Contest<'_, Matmul>,
    room: &'a RefCell<Room<Matmul>>,
    one: &'a Built,
) -> Box<dyn FnMut() -> Result<Sample> + 'a> {
    Box::new(move || Ok(by_wall(contest.run(one, &mut room.borrow_mut())?.wall_ms)))
}

/// So many milliseconds, which are all that is known of a library.
fn by_wall(wall_ms: f64) -> Sample {
    Sample { device_ms: None, dispatch_ms: None, wall_ms }
}

fn left_out(name: &str, outcome: &Outcome) {
    let why = outcome.reason().unwrap_or_default();
    eprintln!("peer_matmul: {name} is left out, {}: {why}", outcome.word());
}

/// The libraries, or why they cannot take part.
fn libraries(
    device: &Device,
    shape: Shape,
    a: &[f32],
    b: &[f32],
    settings: Option<&str>,
) -> Vec<(Entry, Result<Library>)> {
    let mut libraries = vec![(library("CLBlast", true), clblast::library(device, shape, a, b))];
    if let Some(settings) = settings {
        libraries.push((library("CLBlast, tuned", true), clblast::tuned(device, shape, settings)));
    }
    let on_processor = device.info.kind == DeviceKind::Cpu;
    libraries.push((library("OpenBLAS", on_processor), openblas(shape, a.to_vec(), b.to_vec())));
    libraries.push((
        library("cuBLAS", true),
        match device.info.platform.contains("NVIDIA") {
            true => cublas(shape, a, b),
            false => Err("it computes on NVIDIA's devices alone".into()),
        },
    ));
    libraries
}

/// Numbers between -1 and 1 by a linear congruential generator, the same each time.
fn numbers(count: usize, mut state: u32) -> Vec<f32> {
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Whether a library's result is within the ladder's bound.
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
    /// One run in milliseconds.
    run: Box<dyn FnMut() -> Result<f64>>,
    /// A run and its result.
    multiply: Box<dyn FnMut() -> Result<Vec<f32>>>,
}

/// A function of a library, by its name; it stays open to the end.
fn function(library: &[&str], name: &str) -> Result<*mut c_void> {
    for file in library {
        let file = CString::new(*file)?;
        // SAFETY: both are strings that end; what is opened is never closed.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) };
        if !handle.is_null() {
            let name = CString::new(name)?;
            // SAFETY: the library is open.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            return if symbol.is_null() { Err(format!("it has no {name:?}").into()) } else { Ok(symbol) };
        }
    }
    // SAFETY: it is a string that ends, or nothing.
    let why = unsafe { libc::dlerror().cast::<c_char>().as_ref().map(|why| CStr::from_ptr(why)) };
    Err(format!("it could not be opened ({})", why.map_or("no reason given".into(), CStr::to_string_lossy))
        .into())
}

fn timed(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    call()?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

fn accepted(name: &str, status: c_int) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(format!("{name} returned {status}").into()) }
}

const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;

fn openblas(shape: Shape, a: Vec<f32>, b: Vec<f32>) -> Result<Library> {
    #[rustfmt::skip]
    type Sgemm = unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *const f32, c_int, f32, *mut f32, c_int);
    let symbol = function(&["libopenblas.so.0"], "cblas_sgemm")?;
    // SAFETY: it is the function with these arguments, by the standard of the C interface to BLAS.
    let sgemm: Sgemm = unsafe { std::mem::transmute(symbol) };
    let (m, n, k) = (shape.m as c_int, shape.n as c_int, shape.k as c_int);
    let multiply = std::rc::Rc::new(move |c: &mut [f32]| {
        let (a, b) = (a.as_ptr(), b.as_ptr());
        // SAFETY: the matrices have these sizes, without gaps.
        unsafe { sgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1.0, a, k.max(1), b, n, 0.0, c.as_mut_ptr(), n) };
    });
    let (once, mut c) = (multiply.clone(), vec![0.0; shape.product()]);
    Ok(Library {
        run: Box::new(move || {
            timed(|| {
                multiply(&mut c);
                Ok(())
            })
        }),
        multiply: Box::new(move || {
            let mut c = vec![f32::NAN; shape.product()];
            once(&mut c);
            Ok(c)
        }),
    })
}

/// By the driver's interface, in the context that cuBLAS takes itself.
fn cublas(shape: Shape, a: &[f32], b: &[f32]) -> Result<Library> {
    type Plain = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    type Three = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int;
    #[rustfmt::skip]
    type Sgemm = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int, c_int, *const f32, u64, c_int, u64, c_int, *const f32, u64, c_int) -> c_int;
    let named = std::env::var("CUBLAS").unwrap_or_default();
    let library = [named.as_str(), "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];
    let library: Vec<&str> = library.into_iter().filter(|name| !name.is_empty()).collect();
    // SAFETY: these functions take at most these arguments, each as wide as a register, by `cuda.h` and `cublas_v2.h`.
    let (plain, three) = unsafe {
        let cuda = |name: &str| function(&["libcuda.so.1"], name);
        let plain = |symbol: Result<*mut c_void>| {
            symbol.map(|symbol| std::mem::transmute::<*mut c_void, Plain>(symbol))
        };
        let three = |symbol: Result<*mut c_void>| {
            symbol.map(|symbol| std::mem::transmute::<*mut c_void, Three>(symbol))
        };
        let mut context: *mut c_void = ptr::null_mut();
        accepted("cuInit", plain(cuda("cuInit"))?(ptr::null_mut(), 0))?;
        let retained = plain(cuda("cuDevicePrimaryCtxRetain"))?(ptr::from_mut(&mut context).cast(), 0);
        accepted("cuDevicePrimaryCtxRetain", retained)?;
        accepted("cuCtxSetCurrent", plain(cuda("cuCtxSetCurrent"))?(context, 0))?;
        (
            (
                plain(cuda("cuMemAlloc_v2"))?,
                plain(cuda("cuCtxSynchronize"))?,
                plain(function(&library, "cublasCreate_v2"))?,
            ),
            (three(cuda("cuMemcpyHtoD_v2"))?, three(cuda("cuMemcpyDtoH_v2"))?),
        )
    };
    let ((alloc, synchronize, create), (to_device, to_host)) = (plain, three);
    // SAFETY: as above.
    let sgemm: Sgemm = unsafe { std::mem::transmute(function(&library, "cublasSgemm_v2")?) };
    let memory = |numbers: &[f32]| -> Result<u64> {
        let mut address = 0_u64;
        // SAFETY: there is room for an address, and so many bytes are copied to memory of that size.
        unsafe {
            accepted("cuMemAlloc", alloc(ptr::from_mut(&mut address).cast(), size_of_val(numbers)))?;
            accepted(
                "cuMemcpyHtoD",
                to_device(address as *mut c_void, numbers.as_ptr() as *mut c_void, size_of_val(numbers)),
            )?;
        }
        Ok(address)
    };
    let (a, b, c) = (memory(a)?, memory(b)?, memory(&vec![f32::NAN; shape.product()])?);
    let mut handle: *mut c_void = ptr::null_mut();
    // SAFETY: there is room for a handle.
    accepted("cublasCreate", unsafe { create(ptr::from_mut(&mut handle).cast(), 0) })?;
    let (m, n, k) = (shape.m as c_int, shape.n as c_int, shape.k as c_int);
    let multiply = std::rc::Rc::new(move || -> Result<()> {
        // SAFETY: column by column the product of the transposed ones is that of rows; the sizes are theirs.
        let status = unsafe { sgemm(handle, 0, 0, n, m, k, &1.0, b, n, a, k, &0.0, c, n) };
        accepted("cublasSgemm", status)?;
        // SAFETY: it takes nothing.
        accepted("cuCtxSynchronize", unsafe { synchronize(ptr::null_mut(), 0) })
    });
    let once = multiply.clone();
    Ok(Library {
        run: Box::new(move || timed(|| multiply())),
        multiply: Box::new(move || {
            once()?;
            let mut read = vec![0.0_f32; shape.product()];
            // SAFETY: both have so many bytes.
            accepted("cuMemcpyDtoH", unsafe {
                to_host(read.as_mut_ptr().cast(), c as *mut c_void, size_of_val(&read[..]))
            })?;
            Ok(read)
        }),
    })
}
