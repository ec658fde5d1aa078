//! Writing files so that a full disk or a crash never leaves half of one under its name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::leftovers::Passing;

/// Writes a file by way of a temporary one beside it, which takes its name only when it is whole. A link is
/// followed. What is no regular file (a device, a pipe) is written directly: renaming would replace it.
///
/// # Errors
/// With the system's reason; the temporary file is removed, and a file that was there before stays.
pub fn atomically(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let result = if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
        File::options().write(true).open(&target).and_then(|file| whole(file, write).map(drop))
    } else {
        beside(&target, write)
    };
    result.map_err(|e| failed(path, &e))
}

/// Whether [`atomically`] could write a file there now. Nothing is left of the attempt, and a file that is there stays as
/// it is.
///
/// # Errors
/// With the system's reason.
pub fn can_write(path: &Path) -> Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target).map(|m| m.file_type()) {
        // Opening it waits for its reader, and closing it ends what that reads.
        Ok(kind) if kind.is_fifo() => return Ok(()),
        Ok(kind) if !kind.is_file() => {
            return File::options().write(true).open(&target).map(drop).map_err(|e| failed(path, &e));
        }
        _ => {}
    }
    let part = part_of(&target);
    let _passing = Passing::new(&part);
    let made = File::create(&part).and_then(|mut file| {
        file.write_all(&[0; 1 << 12])?;
        file.sync_all()
    });
    let _ = fs::remove_file(&part);
    made.map_err(|e| failed(path, &e))
}

fn beside(target: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let part = part_of(target);
    let _passing = Passing::new(&part);
    let written = File::create(&part)
        .and_then(|file| whole(file, write)?.sync_all())
        .and_then(|()| fs::rename(&part, target));
    if written.is_err() {
        // The first error is the one to report; the leftover may not even exist.
        let _ = fs::remove_file(&part);
    }
    written
}

/// The temporary file beside one.
fn part_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

fn whole(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    write(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "Create the folder first, or choose another one.",
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => {
            "Free some space, or choose another disk."
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Choose a folder that you may write to."
        }
        _ => "Choose another file.",
    };
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or(&reason);
    Error::new(
        format!("'{}' could not be written.", path.display()),
        format!("The system says: {reason}."),
        hint,
    )
}

/// Writes a picture as a PNG: `width`·`height` pixels, RGBA8, tightly packed, top row first. Colours stand beside their
/// alpha, not multiplied by it.
///
/// # Errors
/// As [`atomically`].
pub fn png(path: &Path, width: u32, height: u32, rgba: &[u8]) -> Result<()> {
    atomically(path, |file| {
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(rgba)?;
        Ok(writer.finish()?)
    })
}
