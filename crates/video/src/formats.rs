//! The container formats that are opened: those whose files contain everything that they show.

use std::path::Path;

use super::errors::{not_a_movie, not_playable};
use base::error::{Error, Result};

/// FFmpeg's names of the self-contained formats, separated by spaces. Add one only if its demuxer opens no other file.
const SELF_CONTAINED: &[&str] = &[
    // Containers of movies.
    "mov matroska avi mpegts mpeg asf asf_o flv kux ogg nut mxf gxf wtv rm ivr ivf nuv nsv dv lxf ty dhav pva \
     vivo smjpeg mxg ifv lvf luodat mlv cine ser swf yuv4mpegpipe rawvideo bitpacked v210 v210x filmstrip r3d \
     fits",
    // Streams without a container.
    "h261 h263 h264 hevc vvc evc m4v mpegvideo mjpeg mjpeg_2000 ingenient cavsvideo avs2 avs3 av1 obu vc1 vc1test \
     dirac dnxhd ipu apv",
    // Animations and games.
    "gif apng flic anm cdxl cdg 4xm avs bethsoftvid bfi bink bmv c93 dfa dsicin dxa ea ea_cdata film_cpk gdv hnm \
     idcin iff ipmovie iss iv8 jv lmlm4 mm mods moflex mtv mv mvi nc pmp psxstr paf rl2 roq rpl sga siff \
     simbiosis_imx smk smush svs thp 3dostr tiertexseq tmv txd vividas vmd wc3movie wsvqa xmv yop argo_brp",
    // Pictures, each in a file of its own.
    "image2 ico msp alias_pix brender_pix bmp_pipe cri_pipe dds_pipe dpx_pipe exr_pipe gem_pipe gif_pipe hdr_pipe \
     j2k_pipe jpeg_pipe jpegls_pipe jpegxl_pipe jpegxl_anim pam_pipe pbm_pipe pcx_pipe pfm_pipe pgmyuv_pipe \
     pgm_pipe pgx_pipe phm_pipe photocd_pipe pictor_pipe png_pipe ppm_pipe psd_pipe qdraw_pipe qoi_pipe sgi_pipe \
     sunrast_pipe tiff_pipe vbn_pipe webp_pipe xbm_pipe xpm_pipe xwd_pipe",
    // Sound, so that the error can state that there are no pictures. Some of these may have a cover.
    "aac ac3 eac3 aiff amr ape au caf dts dtshd flac loas mp3 mpc mpc8 tak truehd tta w64 wav wv",
];

/// Returns each name of [`SELF_CONTAINED`].
fn self_contained() -> impl Iterator<Item = &'static str> {
    SELF_CONTAINED.iter().flat_map(|names| names.split_whitespace())
}

/// Formats that refer to other files, each with its description.
const PLAYLISTS: &[(&str, &str)] = &[
    ("hls", "an HLS playlist"),
    ("dash", "a DASH manifest"),
    ("webm_dash_manifest", "a DASH manifest"),
    ("concat", "an ffconcat list"),
    ("imf", "an IMF playlist"),
    ("sdp", "a description of a stream in a network (SDP)"),
    ("vobsub", "an index of subtitles in another file"),
];

/// Formats that FFmpeg renders from text.
const TEXT_FORMATS: &[&str] = &["tty", "bin", "xbin", "adf", "idf"];

/// Returns the value of FFmpeg's option `format_whitelist`: the names of the self-contained formats, separated by commas.
pub(super) fn whitelist() -> String {
    self_contained().collect::<Vec<_>>().join(",")
}

/// Refuses formats that are not self-contained. `names` are FFmpeg's short names of the format, separated by commas,
/// `title` is its long name.
///
/// # Errors
/// The format is not on the list of self-contained formats.
pub(super) fn check(path: &Path, names: &str, title: &str) -> Result<()> {
    let is_one_of = |list: &[&str]| names.split(',').any(|name| list.contains(&name));
    if self_contained().any(|name| is_one_of(&[name])) {
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

/// Returns the error for a file that refers to others; `what_it_is` is a sentence about it.
pub(super) fn refers_to_others(path: &Path, what_it_is: &str) -> Error {
    not_playable(
        path,
        format!("{what_it_is} It names other files, and clreel opens only the one that it is given."),
        "Name the movie itself; --allow-references lets a file that you trust have others opened.",
    )
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use ffmpeg_next::ffi;

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

    #[test]
    fn format_lists_do_not_overlap() {
        assert!(PLAYLISTS.iter().all(|(name, _)| self_contained().all(|one| one != *name)));
        assert!(TEXT_FORMATS.iter().all(|name| self_contained().all(|one| one != *name)));
        let mut sorted: Vec<_> = self_contained().collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), self_contained().count(), "each stands there once");
    }

    /// FFmpeg marks most demuxers that open files themselves by a flag.
    #[test]
    fn image2_is_the_only_allowed_format_that_opens_files_itself() {
        let mut state = std::ptr::null_mut();
        let mut seen = 0;
        // SAFETY: the iterator's state starts as null; formats are static.
        while let Some(format) = unsafe { ffi::av_demuxer_iterate(&mut state).as_ref() } {
            // SAFETY: every format has a name.
            let names = unsafe { CStr::from_ptr(format.name) }.to_str().unwrap();
            if format.flags & ffi::AVFMT_NOFILE != 0 && check(Path::new("x"), names, "").is_ok() {
                assert_eq!(names, "image2");
                seen += 1;
            }
        }
        assert_eq!(seen, 1);
    }
}
