//! What the command line can ask of the window and of more than one subcommand: clap's definitions. Those of a single
//! subcommand stand in `cli`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::gpu::gl::Interface;
use crate::ladders::box_filter::{MAX_RADIUS, VariantId, listed};
use crate::media::References;

fn variant_help() -> String {
    format!("The filter: {}", listed(VariantId::ALL, "or"))
}

/// Which filter, and where it runs.
#[derive(Debug, Clone, Args)]
pub struct FilterArgs {
    /// The filter
    #[arg(long, value_name = "ID", default_value = "running-sum", help = variant_help())]
    pub variant: VariantId,
    /// Radius of the box in pixels: the window is (2N+1) by (2N+1)
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(0..=MAX_RADIUS as i64))]
    pub radius: u32,
    /// The OpenCL device: an index from `clreel devices`, a part of a name, cpu or gpu
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
}

/// How changed kernels are tried.
#[derive(Debug, Clone, Args)]
pub struct TrialArgs {
    /// How long changed kernels (CLREEL_KERNELS) may take for a step of their trial; without it 10 s, or ten times as long as predicted
    #[arg(long, value_name = "S", value_parser = timeout)]
    pub kernel_timeout: Option<f64>,
}

impl TrialArgs {
    /// How long a step may take, where the user says.
    pub fn limit(&self) -> Option<Duration> {
        self.kernel_timeout.and_then(|s| Duration::try_from_secs_f64(s).ok())
    }
}

/// What a movie may open.
#[derive(Debug, Clone, Copy, Args)]
pub struct ReferencesArgs {
    /// Let movies that you trust have other files of this machine opened, as playlists do, and take every format that
    /// FFmpeg knows
    #[arg(long)]
    pub allow_references: bool,
}

impl ReferencesArgs {
    /// The choice.
    pub fn get(self) -> References {
        if self.allow_references { References::Allowed } else { References::Refused }
    }
}

/// `clreel [FILE…]`: the window.
#[derive(Debug, Clone, Args)]
pub struct PlayArgs {
    /// The movies to play, one after the other and round again; without any the bundled clip
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What they may open.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// Which filter, and where it runs.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How changed kernels are tried.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// Keep OpenGL and OpenCL apart: copy each frame instead of sharing textures
    #[arg(long)]
    pub no_sharing: bool,
    /// The way to OpenGL that is tried first, else that in the variable CLREEL_GL, else GLX, where more drivers share textures
    #[arg(long, value_name = "WAY")]
    pub gl: Option<Interface>,
    /// Start at this time, in seconds
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = seconds)]
    pub start: f64,
    /// Present frames as fast as they come instead of by their time stamps
    #[arg(long)]
    pub unpaced: bool,
    /// Decode this many frames to memory first, and play those in a loop
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub preload: Option<u32>,
    /// Quit after this many presented frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,
    /// Save the window as a PNG when quitting
    #[arg(long, value_name = "PNG")]
    pub screenshot: Option<PathBuf>,
    /// Save the last picture, as the filter made it and turned as it is shown, as a PNG when quitting
    #[arg(long, value_name = "PNG")]
    pub save_frame: Option<PathBuf>,
    /// Write the statistics when quitting: one row a frame as .csv, the same with a summary as .json
    #[arg(long, value_name = "FILE", value_parser = stats_file)]
    pub stats: Option<PathBuf>,
    /// Where everything that ran is to be written.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Where everything that ran is to be written.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// Write when each stage, kernel, build and repaint ran, on one time axis, at the end: a .json for ui.perfetto.dev
    #[arg(long, value_name = "FILE", value_parser = trace_file)]
    pub trace: Option<PathBuf>,
}

pub(crate) fn seconds(s: &str) -> std::result::Result<f64, String> {
    match s.parse::<f64>() {
        Ok(v) if v.is_finite() && v >= 0.0 => Ok(v),
        _ => Err(format!("'{s}' is not a time in seconds, such as 12.5")),
    }
}

fn timeout(s: &str) -> std::result::Result<f64, String> {
    match s.parse::<f64>() {
        Ok(v) if (0.1..=86_400.0).contains(&v) => Ok(v),
        _ => Err(format!("'{s}' is not a time in seconds from 0.1 to 86400")),
    }
}

fn trace_file(s: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(s);
    match path.extension().and_then(|e| e.to_str()) {
        Some("json") => Ok(path),
        _ => Err(format!("'{s}' must end in .json")),
    }
}

fn stats_file(s: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(s);
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv" | "json") => Ok(path),
        _ => Err(format!("'{s}' must end in .csv or .json")),
    }
}
