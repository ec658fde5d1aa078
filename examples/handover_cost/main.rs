//! The cost of handing pictures over between OpenCL and OpenGL: by the number of objects, by what was done with them,
//! by which side waits, and against a buffer or a copy through the host. Prints a Markdown table for each size; exit
//! code 1 if OpenGL sees other bytes than a kernel wrote, or if the device does not share with the window's OpenGL.
//!
//! `cargo run --release --example handover_cost -- [--device SEL] [--size WxH,…] [--rounds N] [--thread]`
//!
//! A turn begins with OpenGL idle. It draws from the texture as a window would, hands it to OpenCL (*acquire*), runs a
//! kernel that writes every pixel (*kernel*), hands it back (*release*), flushes, and waits for all of it. *fill* is
//! `glTexSubImage2D` for pictures in a buffer. Each call is timed by the host's clock; the columns under *device*
//! are the commands' own times, START to END, and a timer query; the last is the CPU time of the thread in the release,
//! without sleep. All cases take turns on the same objects. Medians in ms.

mod cases;
mod objects;
mod turn;

use std::io::{self, Write as _};

use base::timing::Series;
use clap::Parser;
use clreel::gl_window::{GlWindow, Interface};
use engine::sharing::{self, Sharing};
use opencl::cl::{self, ClContext, Status};
use opencl::process;
use opencl::sources::Sources;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

use cases::*;
use objects::Group;
use turn::Bench;

type Failure = Box<dyn std::error::Error>;

/// Turns that are checked but not timed: drivers allocate memory at the first use.
const WARM: usize = 3;

/// Measures the handover of pictures between OpenCL and OpenGL.
#[derive(Parser)]
struct Arguments {
    /// Index, part of a name, cpu or gpu; without it the device that drives the window.
    #[arg(long)]
    device: Option<String>,
    /// Sizes of the picture, in pixels.
    #[arg(long, default_value = "1280x720,3840x2160", value_delimiter = ',')]
    size: Vec<String>,
    /// Timed turns of each case.
    #[arg(long, default_value_t = 60)]
    rounds: usize,
    /// Also release from a thread that has no OpenGL context; not every driver survives that.
    #[arg(long)]
    thread: bool,
}

fn main() {
    process::prepare();
    let mut app = App { arguments: Arguments::parse(), result: None };
    let ran = EventLoop::new().and_then(|event_loop| event_loop.run_app(&mut app));
    let result = match (app.result, ran) {
        (Some(result), _) => result,
        (None, Err(_)) => Err("No window can be opened: no display server answers.".into()),
        (None, Ok(())) => Err("The window's loop ended before it began.".into()),
    };
    let code = match result {
        Ok(0) => 0,
        Ok(wrong) => {
            eprintln!("handover_cost: {wrong} pictures were wrong");
            1
        }
        Err(error) => {
            eprintln!("handover_cost: {error}");
            1
        }
    };
    // A driver may wait for its threads in its exit handlers.
    process::exit_now(code)
}

/// Measures when the window exists.
struct App {
    arguments: Arguments,
    /// The number of wrong pictures.
    result: Option<Result<usize, Failure>>,
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.result.is_none() {
            self.result = Some(measure(event_loop, &self.arguments));
        }
        event_loop.exit();
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, _: WindowEvent) {}
}

fn measure(event_loop: &ActiveEventLoop, arguments: &Arguments) -> Result<usize, Failure> {
    let attributes = Window::default_attributes()
        .with_title("clreel: handover_cost")
        .with_inner_size(PhysicalSize::new(640, 360));
    let window = GlWindow::open(event_loop, attributes, false, Interface::preferred(None))?;
    let devices = cl::list_devices();
    let driving = sharing::driving_device(&devices, &window.opencl_properties());
    let device = match (&arguments.device, driving) {
        (None, Some(device)) => device.clone(),
        (named, _) => cl::select_device(&devices, named.as_deref())?,
    };
    let properties = Ok(window.opencl_properties());
    let (cl, sharing) = sharing::open(&device, &window.gl, properties, Sources::from_environment())?;
    let (info, interface) = (&device.info, window.interface().name().to_uppercase());
    if let Sharing::Copy { reason } = sharing {
        return Err(format!("{} shares nothing with OpenGL under {interface}: {reason}.", info.name).into());
    }
    let (opengl, rounds) = (&window.renderer, arguments.rounds);
    writeln!(io::stdout(), "{} ({}, driver {}), {opengl}", info.name, info.version, info.driver)?;
    writeln!(io::stdout(), "Medians of {rounds} turns in ms")?;
    let mut wrong = 0;
    for size in &arguments.size {
        let parsed = size.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let size = parsed.filter(|(w, h)| *w > 0 && *h > 0).ok_or("--size is WIDTHxHEIGHT")?;
        wrong += compare(&window, &cl, size, arguments)?;
    }
    Ok(wrong)
}

/// Times all cases in turn and prints them; returns the number of wrong pictures.
fn compare(
    window: &GlWindow,
    cl: &ClContext,
    size: (u32, u32),
    arguments: &Arguments,
) -> Result<usize, Failure> {
    let mut bench = Bench::new(window, cl, size)?;
    let mut groups = Way::ALL.map(|way| {
        Group::new(&window.gl, cl, way, size).map_err(|e| format!("not shared: {}", one_line(&*e)))
    });
    let cases = CASES.into_iter().filter(|case| arguments.thread || !case.elsewhere);
    let mut cases: Vec<_> = cases.map(|case| (case, Ok(Vec::new()))).collect();
    let (count, last) = (cases.len(), WARM + arguments.rounds);
    let mut wrong = 0;
    for round in 0..=last {
        for position in 0..count {
            // Forwards and backwards, so that the predecessor of a case varies.
            let at = (position + round) % count;
            let (case, turns) = &mut cases[if round % 2 == 0 { at } else { count - 1 - at }];
            let Ok(taken) = turns else { continue };
            let result = match &mut groups[case.way as usize] {
                Ok(group) => bench
                    .turn(case, group)
                    .map_err(|e| format!("refused: {}", one_line(&*e)))
                    .map(|turn| (turn, &*group)),
                Err(why) => Err(why.clone()),
            };
            match result {
                Ok((_, group)) if round < WARM || round == last => {
                    let different = group.count_wrong(case.objects)?;
                    if different > 0 {
                        eprintln!("{} ({}): OpenGL sees another picture", case.name, case.objects);
                    }
                    wrong += different;
                }
                Ok((turn, _)) => taken.push(turn),
                // Without this case there is nothing to compare with.
                Err(why) if case.way == Way::Texture && !case.elsewhere => return Err(why.into()),
                Err(why) => *turns = Err(why),
            }
        }
    }
    print(size, &cases)?;
    Ok(wrong)
}

fn print((width, height): (u32, u32), cases: &[(Case, Result<Vec<Turn>, String>)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "\n| {width}x{height} | objects | {} |", COLUMNS.join(" | "))?;
    writeln!(out, "|---{}|", "|---".repeat(COLUMNS.len() + 1))?;
    for (case, turns) in cases {
        let cells: Vec<String> = match turns {
            Ok(turns) => (WAIT..=PROCESSOR).map(|column| median(turns, column)).collect(),
            Err(why) => vec![why.clone()],
        };
        writeln!(out, "| {} | {} | {} |", case.name, case.objects, cells.join(" | "))?;
    }
    for (_, turns) in cases.iter().filter(|(case, _)| case.elsewhere) {
        let Ok(turns) = turns else { continue };
        let [elsewhere, meanwhile, alone] = [ELSEWHERE, MEANWHILE, ALONE].map(|c| median(turns, c));
        writeln!(
            out,
            "\nThe other thread's release and flush took {elsewhere} ms; meanwhile a clear and a flush of OpenGL's on \
             the first thread took {meanwhile} ms, alone {alone} ms."
        )?;
    }
    Ok(())
}

fn median(turns: &[Turn], column: usize) -> String {
    let samples: Vec<f64> = turns.iter().map(|turn| turn[column]).collect();
    Series::of(&samples).map_or("–".to_owned(), |series| format!("{:.3}", series.p50))
}

/// Converts OpenCL's status to an error.
fn refused(status: Status) -> Failure {
    cl::reason(&status).into()
}

/// Returns the text of an error on one line, for a cell of the table.
fn one_line(error: &dyn std::error::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
