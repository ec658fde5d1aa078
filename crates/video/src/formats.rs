//! Which containers are opened. In: FFmpeg's name of a format. Out: whether a file of it holds all that it shows, and a
//! sentence where it is refused.

use std::path::Path;

use base::error::{Error, Result};
use base::text;

/// What FFmpeg calls the containers, streams and pictures that hold all that they show, separated by spaces. A new one
/// belongs here only if its reader opens no other file.
const WHOLE: &[&str] = &[
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
    // Sound, so that it can be said that there are no pictures. Some of these may have a cover.
    "aac ac3 eac3 aiff amr ape au caf dts dtshd flac loas mp3 mpc mpc8 tak truehd tta w64 wav wv",
];

/// Each of them.
fn whole() -> impl Iterator<Item = &'static str> {
    WHOLE.iter().flat_map(|names| names.split_whitespace())
}

/// Formats that FFmpeg reads as lists of other files, in words.
const LISTS: &[(&str, &str)] = &[
    ("hls", "an HLS playlist"),
    ("dash", "a DASH manifest"),
    ("webm_dash_manifest", "a DASH manifest"),
    ("concat", "an ffconcat list"),
    ("imf", "an IMF playlist"),
    ("sdp", "a description of a stream in a network (SDP)"),
    ("vobsub", "an index of subtitles in another file"),
];

/// Formats that FFmpeg draws from text.
const TEXTS: &[&str] = &["tty", "bin", "xbin", "adf", "idf"];

/// FFmpeg's option for the formats that it may take a file for.
pub(super) fn whitelist() -> String {
    whole().collect::<Vec<_>>().join(",")
}

/// Refuses formats that are not on the list. `names` are those that FFmpeg has for the format, separated by commas,
/// `title` is its long one.
///
/// # Errors
/// It is not on the list.
pub(super) fn check(path: &Path, names: &str, title: &str) -> Result<()> {
    let is_one_of = |list: &[&str]| names.split(',').any(|name| list.contains(&name));
    if names.split(',').any(|name| whole().any(|one| one == name)) {
        return Ok(());
    }
    let what = format!("'{}' is not a movie that can be played.", text::name(path));
    if is_one_of(TEXTS) {
        let hint = "Try another file, such as an .mp4, .mkv, .webm or .avi.";
        return Err(Error::new(what, "It is a text.", hint));
    }
    if let Some((_, list)) = LISTS.iter().find(|(name, _)| names.split(',').any(|n| n == *name)) {
        return Err(names_others(path, &format!("It is {list}.")));
    }
    Err(Error::new(
        what,
        format!("FFmpeg takes it for '{title}', which is none of the formats that clreel opens."),
        "Convert it to .mp4 or .mkv; --allow-references opens every format that FFmpeg knows.",
    ))
}

/// The error for a file that wants others opened; `what_it_is` is a sentence.
pub(super) fn names_others(path: &Path, what_it_is: &str) -> Error {
    Error::new(
        format!("'{}' is not a movie that can be played.", text::name(path)),
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
    fn lists_and_texts_and_the_unknown_are_refused() {
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
    fn no_format_is_both_whole_and_a_list() {
        assert!(LISTS.iter().all(|(name, _)| whole().all(|one| one != *name)));
        assert!(TEXTS.iter().all(|name| whole().all(|one| one != *name)));
        let mut sorted: Vec<_> = whole().collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), whole().count(), "each stands there once");
    }

    /// Formats whose readers open files of their own are told by a flag, except for a few.
    #[test]
    fn of_ffmpegs_formats_without_a_file_of_their_own_only_pictures_are_opened() {
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
