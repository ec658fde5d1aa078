//! Where the bundled clip lies. In: the program's path. Out: a path.

use std::path::{Path, PathBuf};

use base::error::{Error, Result};
use base::text;

/// Overrides where the bundled clip is looked for.
pub(crate) const CLIP_VARIABLE: &str = "CLREEL_CLIP";

/// The clip that plays when no file is named.
///
/// `CLREEL_CLIP` wins. Otherwise `assets/clip.mp4` beside the executable, `share/clreel/clip.mp4` of the
/// installation that the executable is in, `assets/clip.mp4` of the current directory, then of the source tree.
///
/// # Errors
/// None of these is a file.
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
