//! Atomic writing of files: a full disk or a crash never leaves an incomplete file under its name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::cleanup::CleanupPath;
use crate::error::{Error, Result};
use crate::stdout;

/// Writes a temporary file in the same folder, syncs it, and renames it to `path`. Links are followed. A device or a pipe
/// is written directly, since renaming would replace it.
///
/// # Errors
/// Returns an error if writing fails. The temporary file is then removed, and an existing file at `path` stays.
pub fn atomically(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let target = target_of(path);
    if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
        let file = File::options().write(true).open(&target);
        return file.and_then(|file| write_all(file, write).map(drop)).map_err(|e| write_error(path, &e));
    }
    let part = temporary_path(&target);
    let _cleanup = CleanupPath::new(&part);
    let written = File::create(&part)
        .and_then(|file| write_all(file, write)?.sync_all())
        .and_then(|()| fs::rename(&part, &target));
    written.map_err(|e| {
        // The first error is reported; the file may not exist.
        let _ = fs::remove_file(&part);
        write_error(path, &e)
    })
}

/// Checks that [`atomically`] can write a file at `path`, without changing an existing file.
///
/// # Errors
/// Returns an error if writing would fail.
pub fn can_write(path: &Path) -> Result<()> {
    let target = target_of(path);
    match fs::metadata(&target).map(|m| m.file_type()) {
        // Opening a pipe would block until it has a reader, and closing it would end the reader's input.
        Ok(kind) if kind.is_fifo() => return Ok(()),
        Ok(kind) if !kind.is_file() => {
            return File::options().write(true).open(&target).map(drop).map_err(|e| write_error(path, &e));
        }
        _ => {}
    }
    let part = temporary_path(&target);
    let _cleanup = CleanupPath::new(&part);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(&[0; 1 << 12])?;
        file.sync_all()
    });
    let _ = fs::remove_file(&part);
    written.map_err(|e| write_error(path, &e))
}

/// Returns the file that `path` refers to, with links followed.
fn target_of(path: &Path) -> PathBuf {
    let path = stdout::named(path);
    fs::canonicalize(&path).unwrap_or(path)
}

fn temporary_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// Passes a buffered writer for `file` to `write`, and flushes the buffer. Returns the file.
fn write_all(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    write(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

fn write_error(path: &Path, error: &io::Error) -> Error {
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
    Error::new(format!("'{}' could not be written.", path.display()), format!("{reason}."), hint)
}

/// Writes a PNG of `width`×`height` pixels: RGBA8, not premultiplied, without padding, top row first.
///
/// # Errors
/// Returns an error if writing fails. An existing file at `path` then stays.
pub fn png(path: &Path, width: u32, height: u32, rgba: &[u8]) -> Result<()> {
    atomically(path, |file| {
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(cause)?;
        writer.write_image_data(rgba).map_err(cause)?;
        writer.finish().map_err(cause)
    })
}

/// Returns the error of the file system behind an error of a PNG, whose kind would be lost in a plain conversion.
fn cause(error: png::EncodingError) -> io::Error {
    match error {
        png::EncodingError::IoError(error) => error,
        other => other.into(),
    }
}
