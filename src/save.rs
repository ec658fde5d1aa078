//! Writing files so that a full disk or a crash never leaves half of one under its name.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file by way of a temporary one beside it, which takes its name only when it is whole.
///
/// # Errors
/// With the system's reason; the temporary file is removed, and a file that was there before stays.
pub fn atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let result = File::create(&temporary).and_then(|file| {
        let mut writer = BufWriter::new(file);
        write(&mut writer)?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        fs::rename(&temporary, path)
    });
    result.map_err(|e| {
        let _ = fs::remove_file(&temporary);
        Error::new(
            format!("'{}' could not be written.", path.display()),
            format!("The system says: {e}."),
            "Check that the folder exists, that you may write there, and that the disk is not full.",
        )
    })
}

/// Writes a picture as a PNG: `width`·`height` pixels, RGBA8, tightly packed, top row first.
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
