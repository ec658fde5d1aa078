//! Small pictures of the effects of filters. A child process makes each one once, from a frame of the bundled clip; the user's folder for
//! caches keeps them.

use std::io::BufReader;
use std::sync::Arc;

use super::*;
use base::error::Result;
use opencl::drivers;
use opencl::folders::{Folder, cache_folder};
use opencl::sandbox::{Cause, Sandbox};
use overlay::{FilterList, Thumbnail};

/// The greatest width in pixels of a thumbnail.
const WIDTH: usize = 144;
/// The position in the bundled clip of the frame that is filtered.
const POSITION: &str = "4";
/// The maximum time for making one.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// The first sentence of the error if one could not be made.
const FAILED: &str = "The filter has no small picture.";

/// The job that makes the thumbnail of a filter.
#[derive(Default)]
pub(super) struct Thumbnails {
    /// The job, and the folder of the filter; `None` for the box filter.
    making: Option<(Job<Thumbnail>, Option<String>)>,
    /// The folders of the filters for which one was made or has failed.
    tried: Vec<Option<String>>,
}

impl Thumbnails {
    /// Takes a thumbnail that was made, and starts to make that of the selected filter. Returns true if the list has changed.
    pub(super) fn update(&mut self, list: &mut FilterList, waker: &Waker) -> bool {
        let mut is_new = false;
        let made = self.making.as_ref().and_then(|(job, _)| job.wait(Duration::ZERO));
        if let Some(made) = made
            && let Some((_, of)) = self.making.take()
            && let Some(row) = list.rows.iter_mut().find(|row| row.folder == of)
        {
            (row.thumbnail, is_new) = (made.ok(), true);
        }
        let wanted = list.rows.get(list.selected);
        let wanted = wanted.filter(|row| row.thumbnail.is_none() && !self.tried.contains(&row.folder));
        if let (Some(row), None) = (wanted, &self.making) {
            let folder = row.folder.clone();
            self.tried.push(folder.clone());
            let path = folder.clone();
            let job =
                Job::spawn("thumbnail", FAILED, waker, move |_| of_filter(path.as_deref().map(Path::new)));
            self.making = Some((job, folder));
        }
        is_new
    }
}

/// Returns the thumbnail of the filter in a folder, `None` for the box filter: the one that is kept, or a new one.
fn of_filter(folder: Option<&Path>) -> Result<Thumbnail> {
    let sources = folder.map_or_else(|| Ok(Sources::default()), Sources::read)?;
    if let Some(kept) = kept(&sources) {
        return Ok(kept);
    }
    let made = make(folder)?;
    if let Some(path) = path(&sources) {
        let ([width, height], rgba) = &*made.0;
        // Without room on the disk it is made again at the next start.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = base::save::png(&path, *width as u32, *height as u32, rgba);
    }
    Ok(made)
}

/// Returns the path at which the thumbnail of a filter is kept; `None` without a folder for caches.
fn path(sources: &Sources) -> Option<PathBuf> {
    let name = format!("{:016x}.png", fingerprint(sources));
    cache_folder().map(|folder| folder.join("thumbnails").join(name))
}

/// Returns the thumbnail that was kept of a filter; `None` if there is none.
pub(super) fn kept(sources: &Sources) -> Option<Thumbnail> {
    read(&path(sources)?).ok()
}

/// Makes a thumbnail in a child process, whose kernels may crash or never end.
fn make(folder: Option<&Path>) -> Result<Thumbnail> {
    let failed = |e: std::io::Error| Error::new(FAILED, format!("{e}."), "");
    let place = std::env::temp_dir().join(format!("clreel-thumbnail-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    let place = Folder::create(&place).map_err(failed)?;
    let out = place.0.join("out.png");
    let (mut command, drivers) = drivers::sandboxed("snapshot").map_err(failed)?;
    command.args(["--at", POSITION, "--out"]).arg(&out);
    for variable in ["CLREEL_KERNELS", "CLREEL_FILTER"] {
        command.env_remove(variable);
    }
    if let Some(folder) = folder {
        command.arg("--filter").arg(folder);
    }
    let child = Sandbox::start(command, drivers).map_err(failed)?;
    let (_, ending) = child.output(0, |elapsed| (elapsed > TIME_LIMIT).then_some(TIME_LIMIT));
    if !matches!(ending.cause, Cause::Exit(0)) {
        return Err(Error::new(FAILED, format!("`clreel snapshot` {ending}. {}", ending.stderr), ""));
    }
    let picture = read(&out).map_err(failed)?;
    Ok(reduced(&picture))
}

/// Reads a PNG of RGBA pixels.
fn read(path: &Path) -> std::io::Result<Thumbnail> {
    let file = BufReader::new(std::fs::File::open(path)?);
    let mut reader = png::Decoder::new(file).read_info()?;
    let mut rgba = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let info = reader.next_frame(&mut rgba)?;
    let size = [info.width as usize, info.height as usize];
    if rgba.len() != 4 * size[0] * size[1] {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    Ok(Thumbnail(Arc::new((size, rgba))))
}

/// Returns a picture of at most [`WIDTH`] pixels across, whose pixels are means of squares.
fn reduced(picture: &Thumbnail) -> Thumbnail {
    let ([width, height], rgba) = &*picture.0;
    let step = width.div_ceil(WIDTH).max(1);
    let size = [width / step, height / step];
    let mut reduced = Vec::with_capacity(4 * size[0] * size[1]);
    for (y, x) in (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (y, x))) {
        for channel in 0..4 {
            let at = |i: usize| 4 * ((y * step + i / step) * width + x * step + i % step) + channel;
            let sum: usize = (0..step * step).map(|i| usize::from(rgba[at(i)])).sum();
            reduced.push((sum / (step * step)) as u8);
        }
    }
    Thumbnail(Arc::new((size, reduced)))
}
