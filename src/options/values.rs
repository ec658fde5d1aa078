//! Parsers for option values. An error is the end of clap's sentence "invalid value '…' for '…': …".

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser};

use box_filter::{MAX_RADIUS, VariantId};
use video::Language;
use video::address::path_of;

/// Parses an integer from `min` to `max`.
fn integer(s: &str, min: u64, max: u64) -> Result<u64, String> {
    let number = s.trim().parse().ok().filter(|n| (min..=max).contains(n));
    number.ok_or_else(|| match max {
        u64::MAX => format!("expected an integer of at least {min}"),
        max => format!("expected an integer from {min} to {max}"),
    })
}

/// Parses a radius in pixels, 0 to [`MAX_RADIUS`].
pub(crate) fn radius(s: &str) -> Result<u32, String> {
    Ok(integer(s, 0, MAX_RADIUS.into())? as u32)
}

/// Parses a radius for an option that accepts only one; the error for a list names the commands that accept lists.
pub(super) fn one_radius(s: &str) -> Result<u32, String> {
    radius(s).map_err(|why| match s.contains(',') {
        true => format!("{why}; only `clreel bench` and `clreel tune` accept several"),
        false => why,
    })
}

/// One side of a wipe: the variant, and its radius if it differs from `--radius`.
pub(crate) type WipeSide = (VariantId, Option<u32>);

/// Parses the two sides of a wipe, as in `flat:7,native:15`.
pub(crate) fn wipe(s: &str) -> Result<[WipeSide; 2], String> {
    let side = |s: &str| -> Result<WipeSide, String> {
        match s.trim().split_once(':') {
            Some((id, n)) => {
                let id = id.parse()?;
                let radius = radius(n).map_err(|why| format!("invalid radius in '{}': {why}", s.trim()))?;
                Ok((id, Some(radius)))
            }
            None => Ok((s.trim().parse()?, None)),
        }
    };
    match s.split_once(',') {
        Some((a, b)) if !b.contains(',') => Ok([side(a)?, side(b)?]),
        _ => Err("expected two filters with their radii, such as flat:7,native:15".to_owned()),
    }
}

/// Parses a count of at least 1.
pub(crate) fn count(s: &str) -> Result<u32, String> {
    Ok(integer(s, 1, u32::MAX.into())? as u32)
}

/// Parses `COUNT` (2 or 3) integers separated by commas.
pub(super) fn sizes<const COUNT: usize>(s: &str) -> Result<[u32; COUNT], String> {
    let sizes: Option<Vec<u32>> = s.split(',').map(|size| size.trim().parse().ok()).collect();
    let sizes = sizes.and_then(|sizes| <[u32; COUNT]>::try_from(sizes).ok());
    sizes.ok_or_else(|| {
        let (count, such) = if COUNT == 2 { ("two", "2048,1024") } else { ("three", "2048,2048,2048") };
        format!("expected {count} integers such as {such}")
    })
}

/// Parses a count of at least 1 that may exceed 32 bits.
pub(super) fn large_count(s: &str) -> Result<u64, String> {
    integer(s, 1, u64::MAX)
}

/// Parses the code of a language, such as `en`, `eng` or `pt-BR`.
pub(super) fn language(s: &str) -> Result<Language, String> {
    Language::from_code(s).ok_or_else(|| "expected a code of a language such as en, eng or pt-BR".to_owned())
}

/// Parses a time in a movie, as seconds, `M:S` or `H:M:S`. Returns seconds.
pub(crate) fn time(s: &str) -> Result<f64, String> {
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mut parts: Vec<&str> = s.trim().split(':').collect();
    let seconds = parts.pop().and_then(|last| last.parse::<f64>().ok());
    let number = |part: &&str| part.parse::<u32>().ok().filter(|_| plain(part));
    let larger: Option<Vec<u32>> = parts.iter().map(number).collect();
    let time = seconds.zip(larger).and_then(|(seconds, larger)| {
        // All parts but the first are below 60.
        let fits = larger.iter().skip(1).all(|n| *n < 60) && (larger.is_empty() || seconds < 60.0);
        let whole = larger.iter().fold(0.0, |sum, n| sum * 60.0 + f64::from(*n));
        let time = whole * 60.0 + seconds;
        (fits && larger.len() < 3 && time.is_finite() && seconds.is_sign_positive()).then_some(time)
    });
    time.ok_or_else(|| "expected a time such as 12.5 (seconds), 1:30 or 1:02:03.5".to_owned())
}

/// Parses a timeout in seconds, 0.1 to 86,400.
pub(crate) fn timeout(s: &str) -> Result<Duration, String> {
    let seconds = s.parse::<f64>().ok().filter(|v| (0.1..=86_400.0).contains(v));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds from 0.1 to 86400".to_owned())
}

/// Parses width and height in pixels, as in `1920x1080`.
pub(crate) fn size(s: &str) -> Result<(u32, u32), String> {
    let side = |s: &str| s.parse().ok().filter(|v| (1..=16384).contains(v));
    let parsed = s.split_once(['x', 'X']).and_then(|(w, h)| Some((side(w)?, side(h)?)));
    parsed.ok_or_else(|| "expected a size such as 1920x1080, each side from 1 to 16384".to_owned())
}

/// Parses the path of a movie, which may be a `file:` URL as file managers pass it.
pub(crate) fn movie() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|name| path_of(&name))
}

/// Parses the name of a PNG file to write. Names without an extension are accepted, such as those of pipes.
pub(crate) fn png_file(s: &str) -> Result<PathBuf, String> {
    file(s, &[Some("png"), None], "pictures are written as PNG: the name must end in .png")
}

/// Parses the name of an SVG file to write. Names without an extension are accepted, such as those of pipes.
pub(crate) fn svg_file(s: &str) -> Result<PathBuf, String> {
    file(s, &[Some("svg"), None], "charts are written as SVG: the name must end in .svg")
}

/// Parses a percentage from 0 to 1,000,000.
pub(crate) fn percent(s: &str) -> Result<f64, String> {
    let value = s.parse().ok().filter(|value| (0.0..=1e6).contains(value));
    value.ok_or_else(|| "expected a percentage such as 5 or 2.5".to_owned())
}

/// Parses the name of a file for statistics, which must end in `.csv` or `.json`.
pub(super) fn stats_file(s: &str) -> Result<PathBuf, String> {
    file(s, &[Some("csv"), Some("json")], "the name must end in .csv or .json")
}

/// Parses the name of a JSON file to write, such as a trace; the name must end in `.json`.
pub(crate) fn json_file(s: &str) -> Result<PathBuf, String> {
    file(s, &[Some("json")], "the name must end in .json")
}

/// Returns the value that the environment variable contains, as a user of the command line writes it; `None` if it is not set
/// or invalid.
pub(crate) fn from_environment<T: ValueEnum>(variable: &str) -> Option<T> {
    T::from_str(&base::environment::text(variable)?, true).ok()
}

/// Returns a value as a user of the command line writes it.
pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Parses a file name with one of these extensions, in lower or upper case; `None` stands for no extension. `why` is the error
/// message for all other names.
fn file(s: &str, extensions: &[Option<&str>], why: &str) -> Result<PathBuf, String> {
    let extension =
        Path::new(s).extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let is_valid = !s.is_empty() && extensions.contains(&extension.as_deref());
    if is_valid { Ok(s.into()) } else { Err(why.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn times_are_seconds_or_have_colons() {
        let good = [("12.5", 12.5), ("0", 0.0), ("90", 90.0), ("1:30", 90.0), ("0:01.25", 1.25)];
        for (text, seconds) in good.into_iter().chain([("61:05", 3665.0), ("1:02:03.5", 3723.5)]) {
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
        let [flat, native, off] = ["flat", "native", "off"].map(named);
        assert_eq!(wipe("flat:7,native:15"), Ok([(flat, Some(7)), (native, Some(15))]));
        assert_eq!(wipe("off, flat:0"), Ok([(off, None), (flat, Some(0))]));
        let why = "invalid radius in 'flat:129': expected an integer from 0 to 128";
        assert_eq!(wipe("off, flat:129"), Err(why.to_owned()));
        let bad = ["", "flat", "flat:7", "flat:7,", "flat:7,native:-1", "flat,x", "flat,flat,flat"];
        for text in bad {
            assert!(wipe(text).is_err(), "{text}");
        }
    }

    #[test]
    fn charts_are_svg_and_pictures_are_png() {
        for name in ["a.svg", "a.SVG", "/dev/stdout"] {
            assert_eq!(svg_file(name), Ok(name.into()));
        }
        for name in ["a.png", "a.PNG", "/dev/stdout", "a.b/c"] {
            assert_eq!(png_file(name), Ok(name.into()));
        }
        for name in ["", "movie.mp4", "a.jpg", "a.png.bmp", "a."] {
            assert!(svg_file(name).is_err() && png_file(name).is_err(), "{name}");
        }
        assert!(svg_file("a.png").is_err());
    }
}
