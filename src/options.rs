//! Definitions for clap of the options of the window, and of options that several subcommands share. The options of single
//! subcommands are in `cli`.

pub(crate) mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::app::player::find_filter;
use crate::gl_window::Interface;
use crate::window_system::WindowSystem;
use box_filter::{Filter, Settings, VariantId, join_ids};
use ladder::sizes::Sizes;
use video::{Language, Languages, OpenPolicy, References};

/// Options that select the filter of a folder, and the values of its parameters.
#[derive(Debug, Clone, Args)]
pub struct FolderArgs {
    /// Folder of a filter, filter.toml and kernels (docs/filters.md), or the name of one that clreel has written or opened; its
    /// variants take the place of the box filter's. Repeated for a stack, in which each filters the picture of the one before;
    /// other options belong to the last one [env: CLREEL_FILTER]
    #[arg(long = FILTER, value_name = "DIR|NAME", conflicts_with = "kernels")]
    pub folder: Vec<PathBuf>,
    /// Value of a parameter of the filter, such as sigma=2.5; repeatable [default: that of the description]
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
}

/// The name of the option for the folder of a filter.
pub(crate) const FILTER: &str = "filter";

impl FolderArgs {
    /// Returns the folders of the filters below the last one, in the order in which they run.
    pub(crate) fn below(&self) -> Vec<PathBuf> {
        let below = self.folder.split_last().map_or(&[][..], |(_, below)| below);
        below.iter().cloned().map(located).collect()
    }

    /// Returns the values of the parameters of a variant's filter, for the box filter with this radius.
    ///
    /// # Errors
    /// Returns the reason if `--set` names no parameter, or has a value that it cannot have.
    pub(crate) fn settings(&self, variant: VariantId, radius: u32) -> Result<Settings, String> {
        if variant.opened().is_none() && Filter::selected().is_some() {
            return Ok(radius.into());
        }
        let parameters = &variant.filter().description.parameters;
        let mut settings = variant.opened().map_or(radius.into(), Filter::defaults);
        for text in &self.set {
            settings
                .set(parameters, text)
                .map_err(|why| format!("invalid value '{text}' for '--set <NAME=VALUE>': {why}"))?;
        }
        Ok(settings)
    }
}

/// Returns a folder as it is, if there is one; otherwise the folder of the filter with this name, if there is one.
pub(crate) fn located(folder: PathBuf) -> PathBuf {
    let is_name = folder.components().count() == 1 && !folder.exists();
    let name = folder.to_str().filter(|_| is_name);
    name.and_then(|name| find_filter(name).ok()).unwrap_or(folder)
}

/// Options that select the filter and its device, or two filters at once.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// The options that select the filter of a folder.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// The filter
    #[arg(long, value_name = "ID", default_value_t = VariantId::initial(), help = format!("The filter: {}, a kernel of your own in the folder of --kernels", join_ids(VariantId::with_own(), "or")))]
    pub variant: VariantId,
    /// Radius of the box in pixels: each pixel becomes the mean of (2N+1)×(2N+1) pixels
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = values::one_radius, allow_hyphen_values = true, conflicts_with = "folder")]
    pub radius: u32,
    /// OpenCL device: an index from `clreel devices`, part of a platform or device name, cpu or gpu
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// Show two filters side by side, each with its radius, such as flat:7,off or flat:7,native:15 [default radius: --radius]
    #[arg(long, value_name = "A:N,B:N", value_parser = values::wipe, conflicts_with = "variant")]
    pub wipe: Option<[values::WipeSide; 2]>,
    /// Show a map of the differences between both filters instead: black (none), violet, red, white
    #[arg(long, requires = "wipe")]
    pub difference: bool,
}

/// Options for modified kernels, and timeouts.
#[derive(Debug, Clone, Args)]
pub struct TrialArgs {
    /// Folder of kernel files, laid out like kernels/, that replace built-in files of the same name; the window rebuilds a file
    /// when it is saved [env: CLREEL_KERNELS]
    #[arg(long, value_name = "DIR")]
    pub kernels: Option<PathBuf>,
    /// The timeouts of kernels and devices.
    #[command(flatten)]
    pub timeouts: TimeoutArgs,
}

/// Timeouts of kernels and devices.
#[derive(Debug, Clone, Copy, Args)]
pub struct TimeoutArgs {
    /// Timeout per validation step of modified kernels, in seconds [default: 10, or 10x the predicted time]
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub kernel_timeout: Option<Duration>,
    /// Timeout per step on the device, in seconds [default: 10, or 10x the predicted time]
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub device_timeout: Option<Duration>,
}

/// Options that select the cases of the ladders other than the box filter. Each ladder accepts some of them
/// ([`LadderInfo::options`](ladder::runner::LadderInfo::options)).
#[derive(Debug, Clone, Args)]
pub struct SizeArgs {
    /// Numbers of elements, separated by commas (vector-add, conversions); `tune` keeps one result per size class [default:
    /// 16777216]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::large_count)]
    pub count: Vec<u64>,
    /// Edges of the blocks in pixels, separated by commas: 16, 32 or 64 (reduction) [default: 64]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::count)]
    pub block: Vec<u32>,
    /// Sizes of the matrices, M×K by K×N; repeatable (matmul); `tune` keeps one result per size class [default:
    /// 1024,1024,1024]
    #[arg(long, value_name = "M,N,K", value_parser = values::sizes::<3>)]
    pub mnk: Vec<[u32; 3]>,
    /// Rows and columns of the matrix; repeatable (transpose) [default: 4096,4096]
    #[arg(long, value_name = "M,N", value_parser = values::sizes::<2>)]
    pub mn: Vec<[u32; 2]>,
    /// Numbers of walking figures, separated by commas (cloth); `tune` keeps one result per size class [default: 25]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::count)]
    pub army: Vec<u32>,
}

impl SizeArgs {
    /// Returns the selected cases by option name; `size` adds the picture sizes (width, height) of `--size`.
    pub(crate) fn sizes(&self, size: &[(u32, u32)]) -> Sizes {
        Sizes::default()
            .with("count", self.count.iter().map(|count| [*count]))
            .with("block", self.block.iter().map(|block| [*block]))
            .with("mnk", self.mnk.iter().copied())
            .with("mn", self.mn.iter().copied())
            .with("army", self.army.iter().map(|army| [*army]))
            .with("size", size.iter().map(|&(width, height)| [width, height]))
    }
}

/// Option for movies that refer to other files.
#[derive(Debug, Clone, Copy, Args)]
pub struct ReferencesArgs {
    /// Let movies open other local files, as playlists do, and accept every format that FFmpeg knows; only for movies that you
    /// trust
    #[arg(long)]
    pub allow_references: bool,
}

impl ReferencesArgs {
    /// Returns the policy for references to other files.
    pub fn get(self) -> References {
        if self.allow_references { References::Allowed } else { References::Refused }
    }

    /// Returns the policy for opening movies, whose sound is in one of these languages, or else in the system's.
    pub fn policy(self, wanted: &[Language]) -> OpenPolicy {
        let system = base::environment::text("LANG").and_then(|code| Language::from_code(&code));
        OpenPolicy { references: self.get(), languages: Languages { wanted: wanted.to_vec(), system } }
    }
}

/// A scene: a way of showing the movie in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SceneId {
    /// The movie
    Movie,
    /// Test card: bars, ramps, grids and the engine's measurements
    Card,
    /// The movie on the shirts of walking figures; the device simulates the cloth
    Cloth,
}

/// Options of `clreel [FILE…]`, which opens the window.
#[derive(Debug, Args)]
pub struct PlayArgs {
    /// Movies to play one after another, in a loop [default: the bundled clip]
    #[arg(value_name = "FILE", value_parser = values::movie())]
    pub files: Vec<PathBuf>,
    /// Scene at the start; the key v changes it
    #[arg(long, value_name = "SCENE", value_enum, default_value_t = SceneId::Movie)]
    pub scene: SceneId,
    /// Show the ladder in large type, one variant after the other, for a projector; the key F6 does so, too
    #[arg(long)]
    pub talk: bool,
    /// The option that permits movies to refer to other files.
    #[command(flatten)]
    pub references: ReferencesArgs,
    /// The options that select the filter, or both filters of a wipe, and the device.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// The options for the folder of modified kernels and for timeouts.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// Copy each frame from OpenCL to OpenGL instead of sharing textures
    #[arg(long)]
    pub no_sharing: bool,
    /// OpenGL interface to try first; more drivers share textures with GLX [env: CLREEL_GL] [default: glx]
    #[arg(long, value_name = "WAY")]
    pub gl: Option<Interface>,
    /// Window system; on NVIDIA textures are shared under X11 only [env: CLREEL_WINDOW_SYSTEM] [default: wayland, or x11 on
    /// NVIDIA]
    #[arg(long, value_name = "SYSTEM")]
    pub window_system: Option<WindowSystem>,
    /// Start at this time: seconds, 1:30 or 1:02:03
    #[arg(long, value_name = "TIME", default_value_t = 0.0, value_parser = values::time, allow_hyphen_values = true)]
    pub start: f64,
    /// Present frames as soon as they are ready, ignoring their time stamps
    #[arg(long)]
    pub unpaced: bool,
    /// Play without sound [env: CLREEL_NO_AUDIO]
    #[arg(long)]
    pub no_audio: bool,
    /// Languages of the sound, the best one first: codes such as en, eng or pt-BR, separated by commas; the key # plays the next
    /// track [default: the file's default track, then LANG]
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::language)]
    pub audio_language: Vec<Language>,
    /// Volume of the sound in percent; the keys / and * change it, m mutes
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub volume: u32,
    /// Decode this many frames into memory first and play them in a loop, without sound
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub preload: Option<u32>,
    /// Quit after this many presented frames
    #[arg(long, value_name = "N", value_parser = values::large_count)]
    pub frames: Option<u64>,
    /// Save the window as a PNG on exit
    #[arg(long, value_name = "PNG", value_parser = values::png_file)]
    pub screenshot: Option<PathBuf>,
    /// Save the last filtered picture, rotated as shown, as a PNG on exit
    #[arg(long, value_name = "PNG", value_parser = values::png_file)]
    pub save_frame: Option<PathBuf>,
    /// Write statistics on exit: one row per frame as .csv, or rows and a summary as .json
    #[arg(long, value_name = "FILE", value_parser = values::stats_file)]
    pub stats: Option<PathBuf>,
    /// The option that writes a timeline of the run to a file.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Option that writes a timeline of the run.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// Write a timeline of stages, kernels, builds and repaints on exit, as .json for ui.perfetto.dev
    #[arg(long, value_name = "FILE", value_parser = values::json_file)]
    pub trace: Option<PathBuf>,
}
