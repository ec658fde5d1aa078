//! Finds the clip that is installed with clreel.

use std::path::{Path, PathBuf};

use base::error::{Error, Result};
use base::text;

/// Environment variable with the path of the bundled clip.
pub(crate) const CLIP_VARIABLE: &str = "CLREEL_CLIP";

/// Returns the path of the clip that plays when no file is named.
///
/// `CLREEL_CLIP` has priority. Otherwise it is the first existing file of: `assets/clip.mp4` beside the executable,
/// `../share/clreel/clip.mp4` relative to the executable's folder, `assets/clip.mp4` in the current directory, and in the
/// source tree.
///
/// # Errors
/// There is no file at any of these paths.
pub fn bundled_clip() -> Result<PathBuf> {
    if let Some(path) = base::environment::get(CLIP_VARIABLE).map(PathBuf::from) {
        if path.is_file() {
            return Ok(path);
        }
        return Err(Error::new(
            "The bundled clip cannot be opened.",
            format!("{CLIP_VARIABLE} names '{}', which is not a file.", text::name(&path)),
            format!("Correct {CLIP_VARIABLE} or unset it, or name a movie: clreel FILE."),
        ));
    }
    let executable = std::env::current_exe().ok();
    first_file(executable.as_deref().and_then(Path::parent)).ok_or_else(|| {
        Error::new(
            "The bundled clip was not found.",
            "There is no assets/clip.mp4 beside the program, in the current directory or in the source tree.",
            format!("Name a movie: clreel FILE. Or let {CLIP_VARIABLE} name the clip."),
        )
    })
}

/// Returns the first path, of those where the clip may be, at which there is a file. `executable_dir` is the folder of the
/// running executable.
fn first_file(executable_dir: Option<&Path>) -> Option<PathBuf> {
    let installed = executable_dir
        .map(|dir| [dir.join("assets/clip.mp4"), dir.join("../share/clreel/clip.mp4")])
        .into_iter()
        .flatten();
    let others = [
        PathBuf::from("assets/clip.mp4"),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/clip.mp4"),
    ];
    installed.chain(others).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clip_beside_the_executable_comes_first() {
        let dir = std::env::temp_dir().join(format!("clreel-clip-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("bin/assets")).unwrap();
        std::fs::create_dir_all(dir.join("share/clreel")).unwrap();
        std::fs::write(dir.join("share/clreel/clip.mp4"), b"x").unwrap();
        let bin = dir.join("bin");
        assert_eq!(first_file(Some(&bin)), Some(bin.join("../share/clreel/clip.mp4")));
        std::fs::write(bin.join("assets/clip.mp4"), b"x").unwrap();
        assert_eq!(first_file(Some(&bin)), Some(bin.join("assets/clip.mp4")));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
