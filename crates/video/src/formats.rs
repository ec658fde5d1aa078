//! The container formats that are opened: all that FFmpeg offers, except those that refer to other files, run programs or
//! render text.

use std::path::Path;
use std::sync::OnceLock;

use ffmpeg_next::ffi;

use super::errors::{not_a_movie, not_playable};
use super::libav;
use base::error::{Error, Result};

/// The only format among those that are opened whose demuxer opens its files itself; it does so by
/// [`access::open`](super::access::open).
const OPENS_FILES: &str = "image2";

/// Returns the value of FFmpeg's option `format_whitelist`: the names of the formats that are opened, separated by commas. The
/// list is made from the library in use, so that it includes the formats of newer versions. Any other demuxer that opens further
/// files fails at [`access`](super::access).
pub(super) fn whitelist() -> &'static str {
    static NAMES: OnceLock<String> = OnceLock::new();
    NAMES.get_or_init(|| {
        let opens_files = |names: &str, flags| flags & ffi::AVFMT_NOFILE != 0 && names != OPENS_FILES;
        let is_opened =
            |(names, flags): &(String, i32)| !opens_files(names, *flags) && !names.split(',').any(is_refused);
        let opened: Vec<_> = demuxers().filter(is_opened).map(|(names, _)| names).collect();
        opened.join(",")
    })
}

/// Returns the names, separated by commas, and the flags of each of FFmpeg's demuxers.
fn demuxers() -> impl Iterator<Item = (String, i32)> {
    let mut state = std::ptr::null_mut();
    std::iter::from_fn(move || {
        // SAFETY: the iterator's state begins as null; formats are static.
        let format = unsafe { ffi::av_demuxer_iterate(&mut state).as_ref() }?;
        // SAFETY: every format has a name.
        Some((unsafe { libav::string(format.name) }, format.flags))
    })
}

/// Returns true if `name` is in one of the lists of refused formats.
fn is_refused(name: &str) -> bool {
    PLAYLISTS.iter().any(|(playlist, _)| *playlist == name)
        || TEXT_FORMATS.contains(&name)
        || INTERPRETED.contains(&name)
}

/// Formats whose files are programs, or are drawn or played by an interpreter that opens files itself.
const INTERPRETED: &[&str] = &["avisynth", "vapoursynth", "libgme", "libmodplug", "libopenmpt", "svg_pipe"];

/// Formats that refer to other files, each with its description.
const PLAYLISTS: &[(&str, &str)] = &[
    ("hls", "an HLS playlist"),
    ("dash", "a DASH manifest"),
    ("webm_dash_manifest", "a DASH manifest"),
    ("concat", "an ffconcat list"),
    ("imf", "an IMF playlist"),
    ("sdp", "a description of a stream in a network (SDP)"),
    ("rtsp", "an address of a stream in a network"),
    ("rtp", "a stream in a network"),
    ("sap", "an announcement of a stream in a network"),
    ("vobsub", "an index of subtitles in another file"),
];

/// Formats that FFmpeg renders from text.
const TEXT_FORMATS: &[&str] = &["tty", "bin", "xbin", "adf", "idf"];

/// Returns an error unless the format is one of those that are opened. `names` are FFmpeg's short names of the format,
/// separated by commas, `title` is its long name.
///
/// # Errors
/// The format is not among those that are opened.
pub(super) fn check(path: &Path, names: &str, title: &str) -> Result<()> {
    let is_one_of = |list: &[&str]| names.split(',').any(|name| list.contains(&name));
    if whitelist().split(',').any(|name| is_one_of(&[name])) {
        return Ok(());
    }
    if is_one_of(TEXT_FORMATS) {
        return Err(not_a_movie(path, "It is a text."));
    }
    if let Some((_, list)) = PLAYLISTS.iter().find(|(name, _)| is_one_of(&[name])) {
        return Err(refers_to_others(path, &format!("It is {list}.")));
    }
    Err(not_playable(
        path,
        format!("FFmpeg takes it for '{title}', which is none of the formats that clreel opens."),
        "Convert it to .mp4 or .mkv; --allow-references opens every format that FFmpeg knows.",
    ))
}

/// Returns the error for a file that refers to other files, which are not opened; `what_it_is` is a sentence about the file.
pub(super) fn refers_to_others(path: &Path, what_it_is: &str) -> Error {
    not_playable(
        path,
        format!("{what_it_is} It names other files, and clreel opens only the one that it is given."),
        "Name the movie itself; --allow-references lets a file that you trust have others opened.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn playlists_texts_and_unknown_formats_are_refused() {
        let check = |names| check(Path::new("x.mp4"), names, "Title");
        check("mov,mp4,m4a,3gp,3g2,mj2").unwrap();
        check("matroska,webm").unwrap();
        for (names, why) in [
            ("hls", "HLS"),
            ("hls,applehttp", "HLS"),
            ("concat", "ffconcat"),
            ("tty", "text"),
            ("libgme", "'Title'"),
            ("lavfi", "'Title'"),
        ] {
            assert!(check(names).unwrap_err().why.contains(why), "{names}");
        }
    }

    /// Checks that every format of the library is opened unless a list of refused formats names it.
    #[test]
    fn the_formats_are_those_of_the_library() {
        let list = whitelist();
        for (names, flags) in demuxers() {
            let opens_no_files = flags & ffi::AVFMT_NOFILE == 0 && !names.split(',').any(is_refused);
            let is_opened = opens_no_files || names == OPENS_FILES;
            assert_eq!(check(Path::new("x"), &names, "").is_ok(), is_opened, "{names}");
            assert_eq!(names.split(',').all(|name| list.split(',').any(|one| one == name)), is_opened);
        }
        for usual in
            ["mov", "matroska", "mpegts", "avi", "flv", "ogg", "gif", "png_pipe", "webp_pipe", "mp3", "dcstr"]
        {
            check(Path::new("x"), usual, "").unwrap();
        }
        // Formats that refer to others are known to the library.
        for name in ["hls", "concat", "tty", "vobsub", "sdp"] {
            assert!(demuxers().any(|(names, _)| names.split(',').any(|one| one == name)), "{name}");
            assert!(!whitelist().split(',').any(|one| one == name), "{name}");
        }
        // Of the demuxers that open files themselves, most of which FFmpeg marks by a flag, only `image2` is allowed.
        let of_files = demuxers().filter(|(_, flags)| flags & ffi::AVFMT_NOFILE != 0).map(|(names, _)| names);
        let allowed: Vec<_> = of_files.filter(|names| check(Path::new("x"), names, "").is_ok()).collect();
        assert_eq!(allowed, [OPENS_FILES]);
    }
}
