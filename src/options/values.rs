//! Values of options. In: what was typed. Out: the value, or what would be one, for the end of clap's sentence.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};

use box_filter::{MAX_RADIUS, VariantId};
use video::address::path_of;

/// A whole number from `least` to `most`.
fn whole(s: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = s.trim().parse().ok().filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| match most {
        u64::MAX => format!("it takes a whole number from {least} on"),
        most => format!("it takes a whole number from {least} to {most}"),
    })
}

/// A radius in pixels.
pub(crate) fn radius(s: &str) -> Result<u32, String> {
    Ok(whole(s, 0, MAX_RADIUS.into())? as u32)
}

/// The only radius; several are for other commands.
pub(super) fn one_radius(s: &str) -> Result<u32, String> {
    radius(s).map_err(|why| match s.contains(',') {
        true => format!("{why}; several are for `clreel bench` and `clreel tune`"),
        false => why,
    })
}

/// A side of a wipe: a filter, and its radius where that is another than the one for both.
pub(crate) type WipeSide = (VariantId, Option<u32>);

/// Two filters side by side.
pub(crate) fn wipe(s: &str) -> Result<[WipeSide; 2], String> {
    let side = |s: &str| -> Result<WipeSide, String> {
        match s.trim().split_once(':') {
            Some((id, n)) => {
                let id = id.parse()?;
                let radius =
                    radius(n).map_err(|why| format!("the radius in '{}' is not one: {why}", s.trim()));
                Ok((id, Some(radius?)))
            }
            None => Ok((s.trim().parse()?, None)),
        }
    };
    match s.split_once(',') {
        Some((a, b)) if !b.contains(',') => Ok([side(a)?, side(b)?]),
        _ => Err("it takes two filters with their radii, such as flat:7,native:15".to_owned()),
    }
}

/// How many; at least one.
pub(crate) fn count(s: &str) -> Result<u32, String> {
    Ok(whole(s, 1, u32::MAX.into())? as u32)
}

/// So many sizes: two or three.
pub(super) fn sizes<const COUNT: usize>(s: &str) -> Result<[u32; COUNT], String> {
    let sizes: Option<Vec<u32>> = s.split(',').map(|size| size.trim().parse().ok()).collect();
    let sizes = sizes.and_then(|sizes| <[u32; COUNT]>::try_from(sizes).ok());
    sizes.ok_or_else(|| {
        let (count, such) = if COUNT == 2 { ("two", "2048,1024") } else { ("three", "2048,2048,2048") };
        format!("it takes {count} whole numbers such as {such}")
    })
}

/// How many, where 32 bits may not hold it.
pub(super) fn large_count(s: &str) -> Result<u64, String> {
    whole(s, 1, u64::MAX)
}

/// A time of a movie in seconds: as seconds, minutes and seconds, or hours, minutes and seconds.
pub(crate) fn time(s: &str) -> Result<f64, String> {
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mut parts: Vec<&str> = s.trim().split(':').collect();
    let seconds = parts.pop().and_then(|last| last.parse::<f64>().ok());
    let number = |part: &&str| part.parse::<u32>().ok().filter(|_| plain(part));
    let larger: Option<Vec<u32>> = parts.iter().map(number).collect();
    let time = seconds.zip(larger).and_then(|(seconds, larger)| {
        // Below the first part they run to 59.
        let fits = larger.iter().skip(1).all(|n| *n < 60) && (larger.is_empty() || seconds < 60.0);
        let whole = larger.iter().fold(0.0, |sum, n| sum * 60.0 + f64::from(*n));
        let time = whole * 60.0 + seconds;
        (fits && larger.len() < 3 && time.is_finite() && seconds.is_sign_positive()).then_some(time)
    });
    time.ok_or_else(|| "it takes a time such as 12.5 (seconds), 1:30 or 1:02:03.5".to_owned())
}

/// A span of time in seconds.
pub(crate) fn timeout(s: &str) -> Result<f64, String> {
    let seconds = s.parse::<f64>().ok().filter(|v| (0.1..=86_400.0).contains(v));
    seconds.ok_or_else(|| "it takes seconds from 0.1 to 86400".to_owned())
}

/// Width and height in pixels.
pub(crate) fn size(s: &str) -> Result<(u32, u32), String> {
    let side = |s: &str| s.parse().ok().filter(|v| (1..=16384).contains(v));
    let parsed = s.split_once(['x', 'X']).and_then(|(w, h)| Some((side(w)?, side(h)?)));
    parsed.ok_or_else(|| "it takes a size such as 1920x1080, from 1 to 16384 each".to_owned())
}

/// A movie: its path, or the address of its file as file managers hand it over.
pub(crate) fn movie() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|name| path_of(&name))
}

/// A file that a PNG is written to. What has no ending, such as a pipe, may be one.
pub(crate) fn png_file(s: &str) -> Result<PathBuf, String> {
    match ending(s).as_deref() {
        Some("png") | None if !s.is_empty() => Ok(s.into()),
        _ => Err("pictures are written as PNG, so its name must end in .png".to_owned()),
    }
}

/// A file that a chart is written to. What has no ending, such as a pipe, may be one.
pub(crate) fn svg_file(s: &str) -> Result<PathBuf, String> {
    match ending(s).as_deref() {
        Some("svg") | None if !s.is_empty() => Ok(s.into()),
        _ => Err("charts are written as SVG, so its name must end in .svg".to_owned()),
    }
}

/// A file that statistics are written to.
pub(super) fn stats_file(s: &str) -> Result<PathBuf, String> {
    match ending(s).as_deref() {
        Some("csv" | "json") => Ok(s.into()),
        _ => Err("its name must end in .csv or .json".to_owned()),
    }
}

/// A file that a trace is written to.
pub(super) fn trace_file(s: &str) -> Result<PathBuf, String> {
    match ending(s).as_deref() {
        Some("json") => Ok(s.into()),
        _ => Err("its name must end in .json".to_owned()),
    }
}

fn ending(s: &str) -> Option<String> {
    Path::new(s).extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_colons() {
        let good = [
            ("12.5", 12.5),
            ("0", 0.0),
            ("90", 90.0),
            ("1:30", 90.0),
            ("0:01.25", 1.25),
            ("61:05", 3665.0),
            ("1:02:03.5", 3723.5),
        ];
        for (text, seconds) in good {
            assert_eq!(time(text), Ok(seconds), "{text}");
        }
        let bad = [
            "", ":", "1:", ":30", "1:60", "1:60:00", "1:2:3:4", "-3", "-0:10", "1:-3", "+1:30", "nan", "inf",
            "1:nan", "1.5:30", "half",
        ];
        for text in bad {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wipe_has_two_filters() {
        use VariantId::{Flat, Native, Off};
        assert_eq!(wipe("flat:7,native:15"), Ok([(Flat, Some(7)), (Native, Some(15))]));
        assert_eq!(wipe("off, flat:0"), Ok([(Off, None), (Flat, Some(0))]));
        let why = "the radius in 'flat:129' is not one: it takes a whole number from 0 to 128";
        assert_eq!(wipe("off, flat:129"), Err(why.to_owned()));
        for text in [
            "",
            "flat",
            "flat:7",
            "flat:7,",
            "flat:7,native:129",
            "flat:7,native:-1",
            "flat,x",
            "flat,flat,flat",
        ] {
            assert!(wipe(text).is_err(), "{text}");
        }
    }

    #[test]
    fn charts_are_svg() {
        for name in ["a.svg", "a.SVG", "/dev/stdout"] {
            assert_eq!(svg_file(name), Ok(name.into()));
        }
        for name in ["", "movie.mp4", "a.png", "a."] {
            assert!(svg_file(name).is_err(), "{name}");
        }
    }

    #[test]
    fn pictures_are_png() {
        for name in ["a.png", "a.PNG", "/dev/stdout", "a.b/c"] {
            assert_eq!(png_file(name), Ok(name.into()));
        }
        for name in ["", "a.jpg", "a.png.bmp", "a."] {
            assert!(png_file(name).is_err(), "{name}");
        }
    }
}
