//! The track of sound that plays unless the user selects another one.

use std::path::Path;

use ffmpeg_next::codec::Id;
use ffmpeg_next::format::stream::Disposition;
use testkit::movie::{Folder, Movie};
use testkit::track::Track;
use video::{Language, Languages, OpenOptions, OpenPolicy};

use crate::{looping, open};

/// Returns the number of tracks and the index of the one that plays, for a user who wants the first languages on a system with
/// the second one.
fn tracks(path: &Path, wanted: &[&str], system: &str) -> (usize, usize) {
    let wanted = wanted.iter().map(|code| Language::from_code(code).unwrap()).collect();
    let languages = Languages { wanted, system: Language::from_code(system) };
    let policy = OpenPolicy { languages, ..OpenPolicy::default() };
    let decoder = open(path, OpenOptions { policy, ..looping() });
    let feed = decoder.sound();
    (feed.tracks().len(), feed.preferred_track())
}

/// Returns tracks in these languages with these flags; each has a higher bit rate than the one before.
fn in_languages(languages: &[(&'static str, Disposition)]) -> Movie {
    let rates = [64_000, 128_000, 192_000, 320_000];
    let tracks = languages.iter().zip(rates).map(|(&(language, flags), bit_rate)| Track {
        language,
        flags,
        bit_rate,
        ..Track::default()
    });
    Movie { tracks: tracks.collect(), ..Movie::default() }
}

const NONE: Disposition = Disposition::empty();
const DEFAULT: Disposition = Disposition::DEFAULT;

#[test]
fn languages_select_among_equal_tracks() {
    let folder = Folder::new("languages");
    for name in ["a.mkv", "a.ts", "a.mp4"] {
        let movie = in_languages(&[("eng", NONE), ("deu", NONE), ("fra", NONE)]);
        let path = folder.movie(name, &movie);
        for (wanted, system, index) in [
            (&[][..], "", 0),
            (&[], "de_DE.UTF-8", 1),
            (&[], "it_IT.UTF-8", 0),
            (&["fr"], "de_DE.UTF-8", 2),
            (&["ita", "fre", "ger"], "", 2),
            (&["ja"], "de", 1),
            (&["en-GB"], "de", 0),
        ] {
            // FFmpeg flags the first track of an MP4 as the default.
            let index = if name == "a.mp4" && wanted.is_empty() { 0 } else { index };
            if name == "a.mp4" && wanted == ["ja"] {
                continue;
            }
            assert_eq!(tracks(&path, wanted, system), (3, index), "{name}: {wanted:?}, {system}");
        }
    }
}

#[test]
fn the_default_flag_comes_before_the_systems_language() {
    let folder = Folder::new("default-track");
    let path = folder.movie("a.mkv", &in_languages(&[("eng", NONE), ("deu", DEFAULT), ("fra", NONE)]));
    assert_eq!(tracks(&path, &[], ""), (3, 1));
    assert_eq!(tracks(&path, &[], "en_GB.UTF-8"), (3, 1));
    assert_eq!(tracks(&path, &["fr"], "en_GB.UTF-8"), (3, 2));
    // Of two tracks in the wanted language the default one plays.
    let path = folder.movie("b.mkv", &in_languages(&[("eng", NONE), ("deu", NONE), ("eng", DEFAULT)]));
    assert_eq!(tracks(&path, &["eng"], ""), (3, 2));
}

#[test]
fn additions_play_only_where_there_is_nothing_else() {
    let folder = Folder::new("commentary");
    for flag in [
        Disposition::COMMENT,
        Disposition::VISUAL_IMPAIRED,
        Disposition::HEARING_IMPAIRED,
        Disposition::COMMENT | DEFAULT,
    ] {
        let path = folder.movie("a.mkv", &in_languages(&[("eng", flag), ("deu", NONE), ("eng", flag)]));
        for wanted in [&[][..], &["eng"]] {
            assert_eq!(tracks(&path, wanted, "en"), (3, 1), "{flag:?}, {wanted:?}");
        }
        let path = folder.movie("b.mkv", &in_languages(&[("eng", flag), ("deu", flag)]));
        assert_eq!(tracks(&path, &[], ""), (2, 0), "{flag:?}");
    }
}

#[test]
fn tracks_without_a_decoder_do_not_play() {
    let folder = Folder::new("no-decoder");
    let track = |language| Track { codec: Id::PCM_S16LE, language, ..Track::default() };
    let movie = Movie { tracks: vec![track("eng"), track("deu")], ..Movie::default() };
    let mut bytes = std::fs::read(folder.movie("a.mov", &movie)).unwrap();
    // The first track becomes MPEG-H, which FFmpeg names and does not decode.
    let at = bytes.windows(4).position(|four| four == b"sowt").unwrap();
    bytes[at..at + 4].copy_from_slice(b"mhm1");
    let path = folder.with("b.mov", &bytes);
    assert_eq!(tracks(&path, &["eng"], "en"), (2, 1));
}

#[test]
fn sound_of_another_programme_does_not_play() {
    let folder = Folder::new("programmes");
    let track = |programme, bit_rate| Track { programme, bit_rate, ..Track::default() };
    let both = vec![track(2, 320_000), track(1, 64_000), track(2, 320_000), track(1, 128_000)];
    let path = folder.movie("a.ts", &Movie { tracks: both, ..Movie::default() });
    assert_eq!(tracks(&path, &[], ""), (2, 0));
    let path = folder
        .movie("b.ts", &Movie { tracks: vec![track(2, 320_000), track(1, 64_000)], ..Movie::default() });
    assert_eq!(tracks(&path, &[], ""), (1, 0));
}
