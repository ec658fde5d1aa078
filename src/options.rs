//! What the command line can ask of the window and of more than one subcommand: clap's definitions. Those of a single
//! subcommand stand in `cli`.

pub(crate) mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::gl_window::Interface;
use box_filter::{VariantId, listed};
use ladder::sizes::Sizes;
use video::References;

fn variant_help() -> String {
    format!("The filter: {}", listed(VariantId::ALL, "or"))
}

/// Which filter, and where it runs.
#[derive(Debug, Clone, Args)]
pub struct FilterArgs {
    /// The filter
    #[arg(long, value_name = "ID", default_value_t = VariantId::DEFAULT, help = variant_help())]
    pub variant: VariantId,
    /// Radius of the box in pixels: the window is (2N+1) by (2N+1)
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = values::one_radius, allow_hyphen_values = true)]
    pub radius: u32,
    /// The OpenCL device: an index from `clreel devices`, a part of a platform's or a device's name, cpu or gpu
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
}

/// Two filters on one picture.
#[derive(Debug, Clone, Args)]
pub struct WipeArgs {
    /// Two filters side by side, each with its radius, such as flat:7,off or flat:7,native:15; without one --radius holds
    #[arg(long, value_name = "A:N,B:N", value_parser = values::wipe, conflicts_with = "variant")]
    pub wipe: Option<[values::WipeSide; 2]>,
    /// A map of the differences between the two, instead of one beside the other: black is none, then violet, red, white
    #[arg(long, requires = "wipe")]
    pub difference: bool,
}

/// How changed kernels are tried.
#[derive(Debug, Clone, Args)]
pub struct TrialArgs {
    /// A folder of kernel files, laid out as kernels/ is, that take the place of those of the same name; the variable
    /// CLREEL_KERNELS is its other name. The window builds what is saved there
    #[arg(long, value_name = "DIR")]
    pub kernels: Option<PathBuf>,
    /// How long changed kernels (--kernels) may take for a step of their trial; without it 10 s, or ten times as long as predicted
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub kernel_timeout: Option<f64>,
}

impl TrialArgs {
    /// How long a step may take, where the user says.
    pub fn limit(&self) -> Option<Duration> {
        self.kernel_timeout.and_then(|s| Duration::try_from_secs_f64(s).ok())
    }
}

/// How long a device may be waited for.
#[derive(Debug, Clone, Copy, Args)]
pub struct DeviceTimeoutArgs {
    /// How long a device may take for a step before clreel gives it up; without it 10 s, or ten times as long as predicted
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub device_timeout: Option<f64>,
}

impl DeviceTimeoutArgs {
    /// How long a step may take, where the user says.
    pub fn limit(self) -> Option<Duration> {
        self.device_timeout.and_then(|s| Duration::try_from_secs_f64(s).ok())
    }
}

/// What is computed by ladders that compute with numbers: each takes what is its own.
#[derive(Debug, Clone, Args)]
pub struct SizeArgs {
    /// How many numbers, separated by commas; for `tune` each stands for its class. Only where numbers are added or
    /// converted. Without it 16777216
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::large_count)]
    pub count: Option<Vec<u64>>,
    /// Edges of the blocks in pixels, separated by commas: 16, 32, 64; only for reductions. Without it 64
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::count)]
    pub block: Vec<u32>,
    /// Sizes of matrices: one of M×K by one of K×N; several times for several, which for `tune` stand for their classes.
    /// Only where matrices are multiplied. Without it 1024,1024,1024
    #[arg(long, value_name = "M,N,K", value_parser = values::sizes::<3>)]
    pub mnk: Option<Vec<[u32; 3]>>,
    /// Rows and columns of a matrix; several times for several. Only where one is transposed. Without it 4096,4096
    #[arg(long, value_name = "M,N", value_parser = values::sizes::<2>)]
    pub mn: Option<Vec<[u32; 2]>>,
    /// How many characters walk, separated by commas; for `tune` each stands for its class. Only where cloth is moved. Without
    /// it 25
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::count)]
    pub army: Option<Vec<u32>>,
}

impl SizeArgs {
    /// The same for a ladder, with the sizes of pictures.
    pub(crate) fn sizes(&self, size: &[(u32, u32)]) -> Sizes {
        Sizes::default()
            .with("count", self.count.iter().flatten().map(|count| [*count]))
            .with("block", self.block.iter().map(|block| [*block]))
            .with("mnk", self.mnk.iter().flatten().copied())
            .with("mn", self.mn.iter().flatten().copied())
            .with("army", self.army.iter().flatten().map(|army| [*army]))
            .with("size", size.iter().map(|&(width, height)| [width, height]))
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

/// What fills the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SceneId {
    /// The movie
    Movie,
    /// A test card: bars, ramps, grids, and what the engine measures
    Card,
    /// The movie on the shirts of an army that walks: cloth, moved by the device
    Cloth,
}

impl SceneId {
    /// All of them, in the order in which `v` goes round.
    pub const ALL: [Self; 3] = [Self::Movie, Self::Card, Self::Cloth];
}

/// `clreel [FILE…]`: the window.
#[derive(Debug, Clone, Args)]
pub struct PlayArgs {
    /// The movies to play, one after the other and round again; without any the bundled clip
    #[arg(value_name = "FILE", value_parser = values::movie())]
    pub files: Vec<PathBuf>,
    /// What fills the window at first; v goes round
    #[arg(long, value_name = "SCENE", value_enum, default_value_t = SceneId::Movie)]
    pub scene: SceneId,
    /// What they may open.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// Which filter, and where it runs.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Two filters instead of one.
    #[command(flatten)]
    pub wipe: WipeArgs,
    /// How changed kernels are tried.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// How long the device may be waited for.
    #[command(flatten)]
    pub device_timeout: DeviceTimeoutArgs,
    /// Keep OpenGL and OpenCL apart: copy each frame instead of sharing textures
    #[arg(long)]
    pub no_sharing: bool,
    /// The way to OpenGL that is tried first, else that in the variable CLREEL_GL, else GLX, where more drivers share textures
    #[arg(long, value_name = "WAY")]
    pub gl: Option<Interface>,
    /// Start at this time: seconds, 1:30 or 1:02:03
    #[arg(long, value_name = "TIME", default_value_t = 0.0, value_parser = values::time, allow_hyphen_values = true)]
    pub start: f64,
    /// Present frames as fast as they come instead of by their time stamps
    #[arg(long)]
    pub unpaced: bool,
    /// Decode this many frames to memory first, and play those in a loop
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub preload: Option<u32>,
    /// Quit after this many presented frames
    #[arg(long, value_name = "N", value_parser = values::large_count)]
    pub frames: Option<u64>,
    /// Save the window as a PNG when quitting
    #[arg(long, value_name = "PNG", value_parser = values::png_file)]
    pub screenshot: Option<PathBuf>,
    /// Save the last picture, as the filter made it and turned as it is shown, as a PNG when quitting
    #[arg(long, value_name = "PNG", value_parser = values::png_file)]
    pub save_frame: Option<PathBuf>,
    /// Write the statistics when quitting: one row a frame as .csv, the same with a summary as .json
    #[arg(long, value_name = "FILE", value_parser = values::stats_file)]
    pub stats: Option<PathBuf>,
    /// Where everything that ran is to be written.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Where everything that ran is to be written.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// Write when each stage, kernel, build and repaint ran, on one time axis, at the end: a .json for ui.perfetto.dev
    #[arg(long, value_name = "FILE", value_parser = values::trace_file)]
    pub trace: Option<PathBuf>,
}
