//! Matrix multiplication against CLBlast, OpenBLAS and, on an NVIDIA machine that has it, cuBLAS, in one process that takes
//! turns: `./dev peers --ladder matmul`. In: sizes and a device. Out: a table in Markdown on stdout.
//!
//! `cargo run --release --example peer_matmul -- [--device SEL] [--rounds N] [--variant ID,…] [--tune SECONDS] M,N,K…`
//!
//! The libraries are opened by their names where the machine has them; who is missing is left out with a sentence. Their
//! results are held to the bound of the ladder. All times are the wall's, from the call to the result, with data resident.
//! With `--tune` CLBlast takes part a second time, after its own tuner has searched for so long.

mod clblast;

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::time::Instant;

use clreel::gpu::cl::{Device, DeviceKind, list_devices, select_device};
use clreel::gpu::process;
use clreel::ladder::bench::Bench;
use clreel::ladder::contest::{Contest, Ladder, Sizes};
use clreel::ladder::rounds::compare_once;
use clreel::ladder::trial::Child;
use clreel::ladders::matmul::Matmul;
use clreel::ladders::matmul::reference::{bound, reference};
use clreel::ladders::matmul::shape::Shape;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What takes part: its name, one run in milliseconds, and its times.
struct Contender<'a> {
    name: String,
    run: Box<dyn FnMut() -> Result<f64> + 'a>,
    times: Vec<f64>,
}

fn main() -> Result<()> {
    process::prepare();
    let mut shapes: Vec<[u32; 3]> = Vec::new();
    let (mut selected, mut rounds, mut variants) = (None, 15, String::new());
    let (mut tune, mut turns) = (0, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--device" => selected = Some(value()?),
            "--rounds" => rounds = value()?.parse()?,
            "--variant" => variants = value()?,
            "--tune" => tune = value()?.parse()?,
            // How the second process is started.
            "--turns" => turns = Some(value()?),
            sizes => {
                let sizes: Vec<u32> =
                    sizes.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
                shapes.push(
                    sizes.try_into().map_err(|_| {
                        "usage: peer_matmul [--device SEL] [--rounds N] [--variant ID,…] [--tune SECONDS] M,N,K…"
                    })?,
                );
            }
        }
    }
    let device = select_device(&list_devices(), selected.as_deref())?;
    if variants.is_empty() {
        variants = "private,padded,register-tiles,double-buffered,panels,auto".to_owned();
    }
    let shapes = Matmul
        .cases(&Sizes { mnk: Some(&shapes).filter(|s| !s.is_empty()).map(|s| &s[..]), ..Sizes::default() })?;
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
    for shape in shapes {
        measure(&device, shape, rounds, &variants, settings.as_deref())?;
    }
    process::exit_now(0)
}

fn measure(
    device: &Device,
    shape: Shape,
    rounds: usize,
    variants: &str,
    settings: Option<&str>,
) -> Result<()> {
    let mut child = Child::new(Matmul::NAME, None);
    let mut contest = Contest::new(&Matmul, Some(device), &mut child)?;
    let mut room = contest.room(&shape)?;
    let mut ready = Vec::new();
    for rung in Matmul.rungs().iter().filter(|rung| variants.split(',').any(|id| id == rung.id)) {
        match contest.prepare(rung, &mut room) {
            Ok(prepared) => {
                compare_once(&contest, &prepared.ready, &mut room)?;
                let what = prepared.chosen.map(|chosen| format!(": {}", chosen.what)).unwrap_or_default();
                ready.push((format!("`{}`{what}", rung.id), prepared.ready));
            }
            Err(outcome) => eprintln!("peer_matmul: {} is left out: {}.", rung.id, outcome.word()),
        }
    }
    let (a, b) = (numbers(shape.left(), 1), numbers(shape.right(), 2));
    let want = reference(shape, &a, &b)?;
    let room = std::cell::RefCell::new(room);
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, ready) in &ready {
        let run = || Ok(contest.run(ready, &mut room.borrow_mut())?.wall_ms);
        contenders.push(Contender { name: name.clone(), run: Box::new(run), times: Vec::new() });
    }
    let mut libraries: Vec<(&str, Result<Library>)> =
        vec![("CLBlast", clblast::library(device, shape, &a, &b))];
    if let Some(settings) = settings {
        libraries.push(("CLBlast, tuned", clblast::tuned(device, shape, settings)));
    }
    match device.info.kind {
        DeviceKind::Cpu => libraries.push(("OpenBLAS", openblas(shape, a.clone(), b.clone()))),
        _ => libraries.push(("cuBLAS", cublas(shape, &a, &b))),
    }
    for (name, library) in libraries {
        match library
            .and_then(|mut library| check(shape, &want, &a, &b, &(library.multiply)()?).map(|()| library))
        {
            Ok(Library { run, .. }) => {
                contenders.push(Contender { name: name.to_owned(), run, times: Vec::new() })
            }
            Err(why) => eprintln!("peer_matmul: {name} is left out: {why}"),
        }
    }
    for round in 0..rounds + 2 {
        for contender in &mut contenders {
            let ms = (contender.run)()?;
            // The first two warm up.
            if round > 1 {
                contender.times.push(ms);
            }
        }
    }
    println!(
        "| {} | median, ms | least, ms | GFLOP/s | times as fast as the last |\n|---|---:|---:|---:|---:|",
        shape.title()
    );
    let median = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let last = contenders.last().map_or(f64::NAN, |last| median(&last.times));
    for Contender { name, times, .. } in &contenders {
        let (ms, least) = (median(times), times.iter().copied().fold(f64::INFINITY, f64::min));
        let gflops = 2.0 * shape.products() as f64 / ms / 1e6;
        println!("| {name} | {ms:.4} | {least:.4} | {gflops:.0} | {:.3} |", last / ms);
    }
    println!();
    Ok(())
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
