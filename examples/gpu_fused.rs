//! Times configurations of kernels/box_filter/07_march.cl, each checked first, against a copy and other variants.
//!
//! `gpu_fused [--device SEL] [--quick] [--seconds N] [--dump DIR] [--set NAME]`

use std::time::Instant;

use clreel::gpu::cl::{ClContext, list_devices, select_device};
use clreel::gpu::{program, timer};
use clreel::ladder::VariantId;
use clreel::ladder::box_filter::{BuiltVariant, Picture, Scratch, reference::reference};
use clreel::ladder::Storage;
use ocl::core::{self, ArgVal, ProgramBuildInfo};

const MARCH: &str = include_str!("../kernels/box_filter/07_march.cl");
const RUNNING: &str = include_str!("../kernels/box_filter/05_running_sum.cl");
type Any<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Clone, Debug)]
struct Config {
    columns: usize,
    group: usize,
    rows: usize,
    ahead: usize,
    extra: String,
}

impl Config {
    fn options(&self) -> String {
        format!(
            "-D COLUMNS={} -D GROUP={} -D ROWS={} -D AHEAD={} {}",
            self.columns, self.group, self.rows, self.ahead, self.extra
        )
    }
    fn name(&self) -> String {
        format!("c{} g{} r{} a{} {}", self.columns, self.group, self.rows, self.ahead, self.extra.replace("-D ", ""))
    }
    fn local_bytes(&self) -> usize {
        16 * self.group * self.rows * (self.columns + 2)
    }
}

struct Pass {
    kernel: core::Kernel,
    global: [usize; 3],
    local: [usize; 3],
}

fn enqueue(queue: &ocl::Queue, pass: &Pass) -> Any<ocl::Event> {
    let mut event = core::Event::null();
    // SAFETY: all arguments are set, and the memory lives in `main`.
    unsafe {
        core::enqueue_kernel(queue, &pass.kernel, 2, None, &pass.global, Some(pass.local), None::<&core::Event>, Some(&mut event))?;
    }
    Ok(ocl::Event::from(event))
}

#[allow(clippy::too_many_arguments)]
fn bind(program: &ocl::Program, name: &str, src: &core::Mem, dst: &core::Mem, w: u32, h: u32, radius: u32, last: bool) -> Any<core::Kernel> {
    let kernel = core::create_kernel(program, name)?;
    core::set_kernel_arg(&kernel, 0, ArgVal::mem(src))?;
    core::set_kernel_arg(&kernel, 1, ArgVal::mem(dst))?;
    for (i, v) in [w as i32, h as i32, radius as i32, 0, h as i32].iter().enumerate() {
        core::set_kernel_arg(&kernel, 2 + i as u32, ArgVal::scalar(v))?;
    }
    if last {
        let side = 2 * radius + 1;
        core::set_kernel_arg(&kernel, 7, ArgVal::scalar(&(1.0f32 / (side * side) as f32)))?;
    }
    Ok(kernel)
}

/// Work-groups across and down.
fn groups(c: &Config, width: u32, height: u32, radius: u32, units: u32, per_unit: f64) -> Option<(usize, usize)> {
    let blocks = (width as usize).div_ceil(c.columns);
    let halo = 2 * (radius as usize).div_ceil(c.columns);
    if c.group <= halo {
        return None;
    }
    let across = blocks.div_ceil(c.group - halo);
    let down = (f64::from(units) * per_unit / across as f64).floor().max(1.0) as usize;
    Some((across, down.min(height as usize)))
}

fn median(v: &mut [f64]) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(v.len() / 2).copied().unwrap_or(f64::NAN)
}

fn build(cl: &ClContext, name: &str, text: &str, options: &str, nvidia: bool) -> Any<ocl::Program> {
    let options = format!("{options}{}", if nvidia { " -cl-nv-verbose" } else { "" });
    program::build(cl, name, text, &options).map_err(|e| format!("{} {}", e.what, e.why).into())
}

fn log(program: &ocl::Program, cl: &ClContext) -> String {
    let text = core::get_program_build_info(program, cl.device.device.as_core(), ProgramBuildInfo::BuildLog);
    let text = text.map(|t| t.to_string()).unwrap_or_default();
    text.lines().filter(|l| l.contains("Used") || l.contains("spill")).map(str::trim).collect::<Vec<_>>().join(" | ")
}

fn sets(name: &str) -> Vec<Config> {
    let c = |columns, group, rows, ahead| Config { columns, group, rows, ahead, extra: String::new() };
    match name {
        // columns,group,rows,ahead[,options];…
        text if text.contains(',') => text
            .split(';')
            .filter_map(|one| {
                let mut parts = one.splitn(5, ',');
                let mut next = || parts.next().unwrap_or_default().trim().to_owned();
                let numbers = [next(), next(), next(), next()].map(|n| n.parse().unwrap_or(0));
                Some(Config { columns: numbers[0], group: numbers[1], rows: numbers[2], ahead: numbers[3], extra: next() })
            })
            .collect(),
        "small" => vec![c(4, 128, 1, 1), c(8, 64, 1, 1), c(8, 64, 2, 0), c(16, 32, 1, 0)],
        _ => vec![
            c(4, 128, 1, 1), c(4, 128, 2, 1), c(4, 128, 1, 0), c(4, 128, 2, 0), c(4, 256, 1, 1), c(4, 256, 2, 0),
            c(8, 64, 1, 1), c(8, 64, 2, 1), c(8, 64, 1, 0), c(8, 64, 2, 0), c(8, 128, 1, 1), c(8, 128, 2, 1),
            c(8, 128, 1, 0), c(8, 128, 2, 0), c(8, 256, 1, 1), c(8, 256, 1, 0), c(16, 64, 1, 0), c(16, 64, 1, 1),
        ],
    }
}

#[allow(clippy::too_many_lines)]
fn main() -> Any<()> {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let flag = |name: &str| args.iter().any(|a| a == name);
    let limit: f64 = value("--seconds").map_or(Ok(80.0), |s| s.parse())?;
    let began = Instant::now();
    let late = |part: f64| began.elapsed().as_secs_f64() > limit * part;
    let devices = list_devices();
    let device = match value("--device") {
        Some(sel) => select_device(&devices, Some(&sel)),
        None => select_device(&devices, Some("gpu")),
    }
    .map_err(|e| e.what)?;
    let nvidia = device.info.platform.to_lowercase().contains("nvidia");
    println!("{} · {} · {} units · {} · local {} KiB", device.info.name, device.info.driver, device.info.units, device.info.version, device.info.local_memory_bytes >> 10);
    let cl = ClContext::new(&device).map_err(|e| e.what)?;
    let units = device.info.units;
    let per: &[f64] = if flag("--quick") { &[2.0] } else { &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0] };
    let sizes: &[(u32, u32)] = if flag("--quick") { &[(157, 93), (640, 200)] } else { &[(1280, 720), (3840, 2160)] };
    let radii: &[u32] = &[1, 3, 7, 15, 31, 128];
    let rounds = if flag("--quick") { 2 } else { 15 };

    let march = value("--kernel").map_or(Ok(MARCH.to_owned()), std::fs::read_to_string)?;
    let mut programs = Vec::new();
    for c in sets(&value("--set").unwrap_or_default()) {
        if c.local_bytes() as u64 > device.info.local_memory_bytes.min(48 << 10) || late(0.5) {
            println!("left out: {}", c.name());
            continue;
        }
        match build(&cl, "box_filter/07_march.cl", &march, &c.options(), nvidia) {
            Ok(p) => programs.push((c, p)),
            Err(e) => println!("{}: {e}", c.name()),
        }
    }
    println!("built {} programs in {:.1} s", programs.len(), began.elapsed().as_secs_f64());
    for (c, p) in &programs {
        println!("  {:<24} {}", c.name(), log(p, &cl));
    }
    let mut running = Vec::new();
    if !flag("--march-only") {
        for x in [16, 32, 64, 128, 256] {
            for y in [16, 32, 64, 128, 256] {
                if late(0.6) {
                    break;
                }
                let o = format!("-D STRIP_X={x} -D STRIP_Y={y} -D QUADS=1");
                running.push((x, y, build(&cl, "box_filter/05_running_sum.cl", RUNNING, &o, false)?));
            }
        }
        println!("built the running sums by {:.1} s", began.elapsed().as_secs_f64());
    }
    if let Some(dir) = value("--dump") {
        for (c, p) in &programs {
            if let Ok(core::ProgramInfoResult::Binaries(b)) = core::get_program_info(p, core::ProgramInfo::Binaries) {
                std::fs::write(format!("{dir}/{}.ptx", c.name().trim().replace(' ', "_")), b.concat())?;
            }
        }
    }

    // Summary over radii to 31 at the last size: ratio to the copy, by configuration and groups per unit.
    let mut overall: std::collections::BTreeMap<(usize, u32), Vec<f64>> = Default::default();
    for &(w, h) in sizes {
        let bytes = (w * h * 4) as usize;
        let mut state = 0x9e37_79b9_u32;
        let pixels: Vec<u8> = (0..bytes)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                (state >> 9) as u8
            })
            .collect();
        let alloc = |s| Picture::alloc(&cl, s, w, h).map_err(|e| e.what);
        let (src, dst) = (alloc(Storage::Buffer)?, alloc(Storage::Buffer)?);
        let sums: ocl::Buffer<u16> = ocl::Buffer::builder().context(&cl.context).len(bytes).build()?;
        src.write(&cl.queue, &pixels).map_err(|e| e.what)?;
        let (Picture::Buffer(from), Picture::Buffer(to)) = (&src, &dst) else { return Err("buffers".into()) };
        for &radius in radii {
            if late(0.95) {
                println!("out of time before {w}×{h} r={radius}");
                break;
            }
            let want = reference(&pixels, w as usize, h as usize, radius as usize);
            let poison: Vec<u8> = want.iter().map(|v| !v).collect();
            let mut got = vec![0; bytes];
            let mut runs: Vec<(String, Vec<Pass>, Option<(usize, u32)>)> = Vec::new();
            for (index, (c, p)) in programs.iter().enumerate() {
                let mut seen = Vec::new();
                for &k in per {
                    let Some((across, down)) = groups(c, w, h, radius, units, k) else { continue };
                    if seen.contains(&down) {
                        continue;
                    }
                    seen.push(down);
                    let kernel = bind(p, "box_march", src.mem(), dst.mem(), w, h, radius, true)?;
                    let pass = Pass { kernel, global: [across * c.group, down, 1], local: [c.group, 1, 1] };
                    if seen.len() == 1 || flag("--quick") {
                        dst.write(&cl.queue, &poison).map_err(|e| e.what)?;
                        let _event = enqueue(&cl.queue, &pass)?;
                        dst.read(&cl.queue, &mut got).map_err(|e| e.what)?;
                        if got != want {
                            let n = got.iter().zip(&want).filter(|(a, b)| a != b).count();
                            let at = got.iter().zip(&want).position(|(a, b)| a != b).unwrap_or(0) / 4;
                            println!("WRONG {} k{k} {w}×{h} r={radius}: {n} bytes, first x={} y={}", c.name(), at % w as usize, at / w as usize);
                            break;
                        }
                    }
                    runs.push((format!("{} k{k} {across}×{down}", c.name()), vec![pass], Some((index, k as u32))));
                }
            }
            if radius != 128 && radius != 3 {
                for (x, y, p) in &running {
                    let rows = bind(p, "box_running_sum_rows", src.mem(), sums.as_core(), w, h, radius, false)?;
                    let cols = bind(p, "box_running_sum_columns", sums.as_core(), dst.mem(), w, h, radius, true)?;
                    let up = |a: u32, b: u32| a.div_ceil(b) as usize;
                    runs.push((
                        format!("running-sum x{x} y{y}"),
                        vec![
                            Pass { kernel: rows, global: [up(h, 64) * 64, up(w, *x), 1], local: [64, 1, 1] },
                            Pass { kernel: cols, global: [up(w, 256) * 64, up(h, *y), 1], local: [64, 1, 1] },
                        ],
                        None,
                    ));
                }
            }
            let mut copies = Vec::new();
            let mut times: Vec<Vec<f64>> = vec![Vec::new(); runs.len()];
            for round in 0..=rounds {
                let mut events = Vec::new();
                for (_, passes, _) in &runs {
                    let mut event = ocl::Event::empty();
                    from.copy(to, None, None).queue(&cl.queue).enew(&mut event).enq()?;
                    let mine = passes.iter().map(|p| enqueue(&cl.queue, p)).collect::<Any<Vec<_>>>()?;
                    events.push((event, mine));
                }
                cl.queue.finish()?;
                if round == 0 {
                    continue;
                }
                for ((copied, mine), times) in events.iter().zip(&mut times) {
                    copies.push(timer::device_ms(copied).map_err(|e| e.what)? * 1e3);
                    let mut us = 0.0;
                    for e in mine {
                        us += timer::device_ms(e).map_err(|e| e.what)? * 1e3;
                    }
                    times.push(us);
                }
            }
            let copy = median(&mut copies);
            let mut table: Vec<(f64, usize)> = times.iter_mut().map(|t| median(t)).zip(0..).collect();
            for &(us, i) in &table {
                if let (Some(key), true) = (runs[i].2, radius <= 31 && h == sizes[sizes.len() - 1].1) {
                    overall.entry(key).or_default().push(us / copy);
                }
            }
            table.sort_by(|a, b| a.0.total_cmp(&b.0));
            println!("\n{w}×{h} r={radius}: copy {copy:.1} µs   ({:.0} s)", began.elapsed().as_secs_f64());
            let march = table.iter().filter(|(_, i)| runs[*i].2.is_some());
            for (us, i) in march.clone().take(7) {
                println!("  {us:>7.1} µs  {:>5.2}×  {}", us / copy, runs[*i].0);
            }
            // The best of each configuration, in one line.
            let mut line = String::new();
            for (index, (c, _)) in programs.iter().enumerate() {
                if let Some((us, i)) = march.clone().find(|(_, i)| runs[*i].2.is_some_and(|k| k.0 == index)) {
                    line += &format!("  {}={us:.1}@k{}", c.name().trim(), runs[*i].2.map_or(0, |k| k.1));
                }
            }
            println!(" each:{line}");
            for (us, i) in table.iter().filter(|(_, i)| runs[*i].2.is_none()).take(3) {
                println!("  {us:>7.1} µs  {:>5.2}×  {}", us / copy, runs[*i].0);
            }
            if let Some((us, _)) = table.iter().find(|(_, i)| runs[*i].0 == "running-sum x64 y64") {
                println!("  {us:>7.1} µs  {:>5.2}×  running-sum x64 y64 (now)", us / copy);
            }
        }
        if !flag("--march-only") && !late(0.97) {
            for id in [VariantId::Naive, VariantId::Separable, VariantId::Flat, VariantId::Vectorized, VariantId::RunningSum] {
                let built = BuiltVariant::build(&cl, id).map_err(|e| e.what)?;
                let storage = built.info().storage;
                let (a, b) = (alloc(storage)?, alloc(storage)?);
                a.write(&cl.queue, &pixels).map_err(|e| e.what)?;
                let plan = built.plan(&cl, &a, &b, &mut Scratch::new(), w, h, 1).map_err(|e| e.what)?;
                let mut v = Vec::new();
                for _ in 0..rounds {
                    let events = plan.enqueue_all(&cl.queue).map_err(|e| e.what)?;
                    cl.queue.finish()?;
                    v.push(events.iter().map(|e| timer::device_ms(e).unwrap_or(f64::NAN) * 1e3).sum());
                }
                println!("  reference {w}×{h} r=1 {id}: {:.1} µs", median(&mut v));
            }
        }
    }
    let mut rank: Vec<_> = overall
        .iter()
        .filter(|(_, v)| v.len() == 5)
        .map(|(k, v)| (v.iter().map(|x| x.ln()).sum::<f64>() / 5.0, k))
        .collect();
    rank.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("\nbest over r = 1, 3, 7, 15, 31 at the last size (geometric mean of the ratio to the copy):");
    for (mean, (index, k)) in rank.iter().take(12) {
        println!("  {:>5.2}×  {} k{k}", mean.exp(), programs[*index].0.name());
    }
    println!("finished after {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}
