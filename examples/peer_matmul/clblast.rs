//! CLBlast with its defaults, and after its own tuner.
//!
//! CLBlast's parameters apply to the whole process, so the tuned one runs in a second process, which
//! multiplies on request: it takes turns like all others.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::io::{Read as _, Write as _, stdin, stdout};
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use base::device::DeviceKind;
use ladders::matmul::shape::Shape;
use opencl::cl::{Buffer, ClContext, Device};
use opencl::sources::Sources;
use serde_json::Value;

use super::{Library, PLAIN, ROW_MAJOR, Result, check_status, function, numbers, timed};

const FILE: &[&str] = &["libclblast.so.1"];
/// From `clblast_c.h`.
const SINGLE: c_int = 32;
/// The tuner has a short and a long list of settings and tries one of so many of each, in random order: 72 of the short one,
/// then as many as the time allows.
const FRACTION: &str = "8";

/// CLBlast in this process.
pub fn library(device: &Device, shape: Shape, a: &[f32], b: &[f32]) -> Result<Library> {
    #[rustfmt::skip]
    type Sgemm = unsafe extern "C" fn(c_int, c_int, c_int, usize, usize, usize, f32, *mut c_void, usize, usize, *mut c_void, usize, usize, f32, *mut c_void, usize, usize, *mut *mut c_void, *mut *mut c_void) -> c_int;
    let symbol = function(FILE, "CLBlastSgemm")?;
    // SAFETY: the function has this signature in `clblast_c.h`.
    let sgemm: Sgemm = unsafe { std::mem::transmute(symbol) };
    let cl = ClContext::new(device, Sources::from_environment())?;
    let bytes = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let buffer = |numbers: &[f32]| Buffer::copied(&cl.context, ocl::ffi::CL_MEM_READ_WRITE, &bytes(numbers));
    let no = |status| opencl::cl::failed("CLBlast's matrices could not be had.", &status);
    let (a, b) = (buffer(a).map_err(no)?, buffer(b).map_err(no)?);
    let c = buffer(&vec![f32::NAN; shape.product_len()]).map_err(no)?;
    let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
    let (queue, result) = (cl.queue.clone(), c.clone());
    let multiply = Rc::new(move || -> Result<()> {
        let (a, b, c) = (a.mem().raw(), b.mem().raw(), c.mem().raw());
        let mut queue = cl.queue.raw();
        let (queue, event) = (ptr::from_mut(&mut queue).cast(), ptr::null_mut());
        // SAFETY: the buffers have these sizes and belong to the queue's context; no event is requested.
        #[rustfmt::skip]
        let status = unsafe { sgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1.0, a, 0, k, b, 0, n, 0.0, c, 0, n, queue, event) };
        check_status("CLBlastSgemm", status)?;
        Ok(cl.queue.finish().map_err(no)?)
    });
    let once = multiply.clone();
    Ok(Library {
        run: Box::new(move || timed(|| multiply())),
        multiply: Box::new(move || {
            once()?;
            let mut read = vec![0; 4 * shape.product_len()];
            result.read(&queue, &mut read).map_err(no)?;
            Ok(read.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect())
        }),
    })
}

/// Runs CLBlast's tuner for some time and returns the fastest parameters of its main kernel as JSON.
pub fn tune(device: &Device, patience: Duration) -> Result<String> {
    let platforms = ocl::core::get_platform_ids()?;
    let platform = platforms.iter().position(|platform| platform.as_ptr() == device.platform.raw());
    let platform = platform.ok_or("its platform is gone")?;
    let devices = ocl::core::get_device_ids(platforms[platform], None, None)?;
    let number = devices.iter().position(|one| one.as_raw() == device.id.raw()).ok_or("it is gone")?;
    // A processor takes seconds for runs that a card does in a millisecond.
    let side: usize = if device.info.kind == DeviceKind::Cpu { 256 } else { 2048 };
    let folder = std::env::temp_dir().join(format!("clreel-clblast-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let log = folder.join("log");
    // Its output is read after it is killed: it must be flushed line by line.
    let mut tuner = Command::new("stdbuf")
        .current_dir(&folder)
        .args(["-oL", "clblast_tuner_xgemm", "-precision", "32", "-fraction", FRACTION])
        .args(["-platform", &platform.to_string(), "-device", &number.to_string()])
        .args(["-m", "-n", "-k"].iter().flat_map(|name| [(*name).to_owned(), side.to_string()]))
        .stdout(fs::File::create(&log)?)
        .spawn()
        .map_err(|why| format!("stdbuf clblast_tuner_xgemm could not be started ({why})"))?;
    let begin = Instant::now();
    while tuner.try_wait()?.is_none() && begin.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(tuner.kill());
    tuner.wait()?;
    let found = parse_trials(&String::from_utf8_lossy(&fs::read(&log)?));
    fs::remove_dir_all(&folder)?;
    let count = found.len();
    let best = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let (ms, best) =
        best.ok_or("clblast_tuner_xgemm, of the package clblast-utils, found nothing so soon")?;
    let gflops = 2.0 * (side as f64).powi(3) / ms / 1e6;
    println!("CLBlast's tuner, {count} settings that work: {gflops:.0} GFLOP/s at {side}³ with {best}\n");
    Ok(best.to_string())
}

/// Returns the settings that worked and their times in milliseconds, from the tuner's tables: a line that names the
/// parameters, and one for each trial, `| number | of | values | group | work-items | compiled | time | speed | status |`.
fn parse_trials(log: &str) -> Vec<(f64, Value)> {
    let mut names: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for line in log.lines() {
        if let Some(list) = line.strip_prefix("* Parameters explored: ") {
            names = list.split_whitespace().collect();
        }
        let columns: Vec<&str> = line.split('|').collect();
        let [_, _, _, values, _, _, _, ms, _, status, ..] = columns[..] else { continue };
        let values: Vec<u64> = values.split_whitespace().filter_map(|value| value.parse().ok()).collect();
        let ms = ms.split_whitespace().next().and_then(|ms| ms.parse().ok());
        if let Some(ms) = ms.filter(|_| status.contains("results match") && values.len() == names.len()) {
            let settings =
                names.iter().map(|name| (*name).to_owned()).zip(values.into_iter().map(Value::from));
            found.push((ms, Value::Object(settings.collect())));
        }
    }
    found
}

/// Sets CLBlast's parameters to the tuner's result.
fn set(device: &Device, settings: &str) -> Result<()> {
    #[rustfmt::skip]
    type Override = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, usize, *const *const c_char, *const usize) -> c_int;
    let symbol = function(FILE, "CLBlastOverrideParameters")?;
    // SAFETY: the function has this signature in `clblast_c.h`.
    let set: Override = unsafe { std::mem::transmute(symbol) };
    let settings: Value = serde_json::from_str(settings)?;
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (name, value) in settings.as_object().ok_or("its parameters are no list")? {
        names.push(CString::new(name.as_str())?);
        values.push(usize::try_from(value.as_u64().ok_or("a parameter is no number")?)?);
    }
    let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: there are as many names, zero-terminated strings, as values.
    let status = unsafe {
        set(device.id.raw(), c"Xgemm".as_ptr(), SINGLE, values.len(), pointers.as_ptr(), values.as_ptr())
    };
    check_status("CLBlastOverrideParameters", status)
}

/// CLBlast with these settings, in a process of its own.
pub fn tuned_library(device: &Device, shape: Shape, settings: &str) -> Result<Library> {
    let Shape { m, n, k } = shape;
    let child = Command::new(std::env::current_exe()?)
        .args(["--device", &device.info.index.to_string(), "--turns", settings, &format!("{m},{n},{k}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let child = Rc::new(RefCell::new(child));
    let again = child.clone();
    Ok(Library {
        run: Box::new(move || {
            let mut ms = [0; 8];
            request(&child, b'r', &mut ms)?;
            Ok(f64::from_le_bytes(ms))
        }),
        multiply: Box::new(move || {
            let mut read = vec![0; 4 * shape.product_len()];
            request(&again, b'm', &mut read)?;
            Ok(read.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect())
        }),
    })
}

/// Sends one letter to the second process, and reads its reply.
fn request(child: &RefCell<Child>, letter: u8, answer: &mut [u8]) -> Result<()> {
    let mut child = child.borrow_mut();
    let (Some(mut to), Some(mut from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("its process has ended".into());
    };
    to.write_all(&[letter])?;
    from.read_exact(answer)?;
    (child.stdin, child.stdout) = (Some(to), Some(from));
    Ok(())
}

/// Runs the second process: multiplies, and replies with the time or the result, until stdin ends.
pub fn serve(device: &Device, shape: Shape, settings: &str) -> Result<()> {
    set(device, settings)?;
    let (a, b) = (numbers(shape.left_len(), 1), numbers(shape.right_len(), 2));
    let mut library = library(device, shape, &a, &b)?;
    let mut letter = [0];
    while stdin().read(&mut letter)? == 1 {
        match letter {
            [b'r'] => stdout().write_all(&(library.run)()?.to_le_bytes())?,
            _ => {
                let product = (library.multiply)()?;
                stdout().write_all(&product.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
            }
        }
        stdout().flush()?;
    }
    Ok(())
}
