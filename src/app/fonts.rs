//! Fonts of the system for characters that the built-in fonts lack, such as names in any script, found by fontconfig's
//! `fc-match`. Without `fc-match` no fonts are added.
//!
//! A job finds and reads the fonts; until then a box is drawn for such a character.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use egui::FontData;
use egui::epaint::text::{FallbackRequest, FontInsert, FontProvider};
use parking_lot::Mutex;

use base::jobs::{Job, JobMessage, Reporter, Waker};
use base::load;

/// The maximum length of a font file in bytes. Fonts for Chinese, Japanese and Korean have some 20 MB.
const MAX_FONT_BYTES: u64 = 64 << 20;
/// The maximum memory of all added fonts together, in bytes.
const MAX_MEMORY: usize = 128 << 20;

/// The characters that have a font, and that font.
type FoundFont = (Vec<char>, FontInsert);

/// The interface through which egui requests a font for a character that its own fonts lack.
struct Provider {
    /// The font that was found for each requested character; `None` if no font has the character, or the search is running.
    known: Mutex<HashMap<char, Option<FontInsert>>>,
    wanted: Sender<char>,
}

impl FontProvider for Provider {
    /// Returns the font that was found for the first character of the request. If the character is requested for the first
    /// time, asks the job to find a font, and returns `None`.
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        let wanted = request.cluster.chars().next()?;
        let mut known = self.known.lock();
        if let Some(font) = known.get(&wanted) {
            return font.clone();
        }
        known.insert(wanted, None);
        // If the thread has ended, a box is drawn in place of the character.
        let _ = self.wanted.send(wanted);
        None
    }
}

/// The system's fonts, which egui uses for characters that its own fonts lack.
pub(crate) struct SystemFonts {
    provider: Arc<Provider>,
    /// The job that finds fonts; ends when the provider's channel is closed.
    job: Job<(), FoundFont>,
}

impl SystemFonts {
    /// Starts to provide the egui context `ctx` with fonts; `waker` is called whenever a font was found. `names` returns the font
    /// for a fontconfig pattern, as [`fontconfig`] does.
    pub(crate) fn provide(names: impl FontQuery, ctx: &egui::Context, waker: &Waker) -> Self {
        let (wanted, requests) = channel();
        let find = move |reporter: &Reporter<(), FoundFont>| {
            serve_requests(&requests, |found| _ = reporter.report(found), names);
            Ok(())
        };
        let job = Job::spawn("fonts", "No fonts of the system can be used.", waker, find);
        let provider = Arc::new(Provider { known: Mutex::default(), wanted });
        ctx.add_font_provider(provider.clone());
        Self { provider, job }
    }

    /// Makes the egui context `ctx` use the fonts that were found since the last call; returns true if any were found.
    pub(crate) fn poll(&self, ctx: &egui::Context) -> bool {
        let mut is_new = false;
        while let Some(JobMessage::Progress((chars, font))) = self.job.poll() {
            self.provider.known.lock().extend(chars.into_iter().map(|c| (c, Some(font.clone()))));
            is_new = true;
        }
        if is_new {
            // egui caches missing glyphs, and drops that cache when the providers are set.
            ctx.set_font_providers(vec![self.provider.clone()]);
        }
        is_new
    }
}

/// Finds fonts for the characters received from `requests`, and passes them to `found`, until that channel is closed.
fn serve_requests(requests: &Receiver<char>, mut found: impl FnMut(FoundFont), names: impl FontQuery) {
    let mut fonts: Vec<(FontMatch, FontInsert)> = Vec::new();
    let mut left = MAX_MEMORY;
    while let Ok(first) = requests.recv() {
        let mut wanted: BTreeSet<char> = [first].into_iter().chain(requests.try_iter()).collect();
        while !wanted.is_empty() {
            for (of, font) in &fonts {
                let has: Vec<char> = wanted.extract_if(.., |c| of.has(*c)).collect();
                if !has.is_empty() {
                    found((has, font.clone()));
                }
            }
            // The font that fontconfig proposes, if that has outlines.
            let charset = wanted.iter().take(100).map(|c| format!("{:x}", u32::from(*c)));
            let charset = charset.collect::<Vec<_>>().join(" ");
            let pattern = format!(":charset={charset}:outline=true:color=false");
            let named = (left > 0 && !wanted.is_empty()).then(|| names(&pattern)).flatten();
            let next = named.and_then(|named| FontMatch::parse(named.split(|byte| *byte == b'\n').next()?));
            // A font with none of the characters is only the nearest match.
            let Some(next) = next.filter(|next| wanted.iter().any(|c| next.has(*c))) else { break };
            let Some((font, bytes)) = next.read(left) else {
                // Characters that only this font has stay without a glyph; others may have the rest.
                wanted.retain(|c| !next.has(*c));
                continue;
            };
            left -= bytes;
            fonts.push((next, font));
        }
    }
}

/// A font file, as described by `fc-match`.
#[derive(Debug, Clone, PartialEq)]
struct FontMatch {
    file: Vec<u8>,
    index: u32,
    /// The first and the last character of each range of characters that the font has.
    rows: Vec<(u32, u32)>,
}

impl FontMatch {
    /// Parses a line in [`FORMAT`]; `None` if the line is invalid or the font has no outlines.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut parts = line.split(|byte| *byte == b'\t');
        let (file, index, outline) = (parts.next()?, parts.next()?, parts.next()?);
        let number = |text: &str| u32::from_str_radix(text, 16).ok();
        let rows = std::str::from_utf8(parts.next()?).ok()?.split_ascii_whitespace().filter_map(|row| {
            let (first, last) = row.split_once('-').unwrap_or((row, row));
            Some((number(first)?, number(last)?))
        });
        // The upper half of the index names an instance of a variable font.
        let index = std::str::from_utf8(index).ok()?.parse::<u32>().ok()? & 0xffff;
        (outline == b"True" && !file.is_empty()).then(|| Self {
            file: file.to_owned(),
            index,
            rows: rows.collect(),
        })
    }

    fn has(&self, c: char) -> bool {
        self.rows.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)))
    }

    /// Reads the font file. Returns the font and its length in bytes; `None` if the file is longer than `most` bytes or cannot
    /// be read.
    fn read(&self, most: usize) -> Option<(FontInsert, usize)> {
        let path = Path::new(OsStr::from_bytes(&self.file));
        let bytes = load::bytes(path, MAX_FONT_BYTES.min(most as u64)).ok()?;
        let length = bytes.len();
        let data = FontData { index: self.index, ..FontData::from_owned(bytes) };
        let name = format!("{}#{}", path.display(), self.index);
        Some((FontInsert::new(&name, data, Vec::new()), length))
    }
}

/// A function that returns a line in [`FORMAT`] that describes the font for a fontconfig pattern.
pub(crate) trait FontQuery: Fn(&str) -> Option<Vec<u8>> + Send + 'static {}

impl<F: Fn(&str) -> Option<Vec<u8>> + Send + 'static> FontQuery for F {}

/// The output format of `fc-match`, which [`FontMatch::parse`] reads.
const FORMAT: &str = "%{file}\t%{index}\t%{outline}\t%{charset}\n";

/// Returns the output of `fc-match` for a fontconfig pattern; `None` if it cannot be run.
pub(crate) fn fontconfig(pattern: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("fc-match");
    command.args(["-f", FORMAT, pattern]).stdin(Stdio::null()).stderr(Stdio::null());
    Some(command.output().ok()?.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;
    use opencl::folders::Folder;

    #[test]
    fn a_line_of_fontconfig_is_a_font() {
        let font = FontMatch::parse(b"/f/a b.ttc\t65538\tTrue\t20-7e a0 1f600-1f64f").unwrap();
        assert_eq!((font.file.as_slice(), font.index), (&b"/f/a b.ttc"[..], 2));
        assert!([' ', '~', '\u{a0}', '\u{1f600}'].iter().all(|c| font.has(*c)));
        assert!(!font.has('\u{7f}') && !font.has('\u{a1}') && !font.has('\u{65e5}'));
        for line in [&b""[..], b"/f/a.ttf\tx\tTrue\t20", b"/f/a.pcf\t0\tFalse\t20", b"/f/a.ttf\t0\tTrue"] {
            assert_eq!(FontMatch::parse(line), None);
        }
    }

    /// An egui context whose built-in fonts have neither arrows nor Greek letters, and the number of calls of its waker.
    struct Shown {
        ctx: egui::Context,
        fonts: SystemFonts,
        wakes: Receiver<()>,
    }

    impl Shown {
        fn new(names: impl FontQuery) -> Self {
            let ctx = egui::Context::default();
            let mut own = egui::FontDefinitions::default();
            own.font_data.retain(|name, _| name == "Ubuntu-Light");
            own.families.values_mut().for_each(|family| *family = vec!["Ubuntu-Light".to_owned()]);
            ctx.set_fonts(own);
            Self::of(ctx, names)
        }

        fn of(ctx: egui::Context, names: impl FontQuery) -> Self {
            let (woken, wakes) = channel();
            let woken = Mutex::new(woken);
            let waker: Waker = Arc::new(move || _ = woken.lock().send(()));
            let fonts = SystemFonts::provide(names, &ctx, &waker);
            Self { ctx, fonts, wakes }
        }

        /// Lays out a text. Returns one value for each character: true if the character has a glyph.
        fn pass(&self, text: &str) -> Vec<bool> {
            let shown = self.ctx.run_ui(egui::RawInput::default(), |ui| drop(ui.label(text)));
            shown.drop_without_applying_deltas();
            let font = egui::FontId::new(12.0, egui::FontFamily::Proportional);
            self.ctx.fonts_mut(|fonts| text.chars().map(|c| fonts.has_glyph(&font, c)).collect())
        }

        fn wait(&self) {
            self.wakes.recv_timeout(std::time::Duration::from_secs(60)).expect("a font is found");
        }
    }

    /// Creates a folder with a copy of egui's font that has arrows; returns its path.
    fn folder(name: &str) -> Folder {
        let folder = test_folder(name);
        let all = egui::FontDefinitions::default().font_data;
        std::fs::write(folder.0.join("arrows.ttf"), (*all["Hack"].font).as_ref()).unwrap();
        folder
    }

    #[test]
    fn what_the_own_fonts_lack_comes_from_the_font_that_is_named() {
        let folder = folder("fonts-named");
        let line = format!("{}\t0\tTrue\t20-7e 2190-21ff\n", folder.0.join("arrows.ttf").display());
        let (asks, requests) = channel();
        let shown = Shown::new(move |pattern: &str| {
            asks.send(pattern.to_owned()).unwrap();
            Some(line.clone().into_bytes())
        });
        assert_eq!(shown.pass("a\u{2192}"), [true, false], "its own fonts have no arrow");
        shown.wait();
        assert!(shown.fonts.poll(&shown.ctx) && !shown.fonts.poll(&shown.ctx), "it is told once");
        shown.pass("a\u{2192}");
        assert_eq!(shown.pass("a\u{2192}"), [true, true]);
        assert_eq!(requests.try_iter().collect::<Vec<_>>(), [":charset=2192:outline=true:color=false"]);
        // Characters that this font also has need no query.
        assert_eq!((shown.pass("\u{2190}"), requests.try_recv().ok()), (vec![true], None));
    }

    /// Returns, for each character of `wanted`, true if it gets a font; and the number of calls of `names`.
    fn answered(
        wanted: &str,
        names: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static,
    ) -> (Vec<bool>, usize) {
        let mut known = BTreeSet::new();
        let (ask, requests) = channel();
        wanted.chars().for_each(|c| ask.send(c).unwrap());
        drop(ask);
        let (ask_font, asked) = channel();
        let named = move |pattern: &str| {
            ask_font.send(()).unwrap();
            names(pattern)
        };
        serve_requests(&requests, |(chars, _)| known.extend(chars), named);
        (wanted.chars().map(|c| known.contains(&c)).collect(), asked.iter().count())
    }

    #[test]
    fn a_font_that_cannot_be_used_keeps_no_other_away() {
        let folder = folder("fonts-used");
        let there = folder.0.join("arrows.ttf").display().to_string();
        let line = move |file: &str, rows: &str| Some(format!("{file}\t0\tTrue\t{rows}\n").into_bytes());
        let real = there.clone();
        let both = move |pattern: &str| match pattern.contains("3b1") {
            true => line("/nowhere/greek.ttf", "3b1"),
            false => line(&real, "2192"),
        };
        assert_eq!(answered("\u{3b1}\u{2192}", both), (vec![false, true], 2));
        // If no font has the character, fontconfig may name a similar font, give no answer, or name a font without outlines.
        let near = move |_: &str| line(&there, "2192");
        assert_eq!(answered("\u{3b1}", near), (vec![false], 1));
        assert_eq!(answered("\u{3b1}", |_: &str| None), (vec![false], 1));
        assert_eq!(answered("\u{3b1}", |_: &str| Some(b"/f.pcf\t0\tFalse\t3b1".to_vec())), (vec![false], 1));
    }

    #[test]
    fn fontconfig_names_a_font_of_the_system() {
        let ctx = egui::Context::default();
        overlay::theme::apply(&ctx);
        let shown = Shown::of(ctx, fontconfig);
        // Arabic: DejaVu has it, which ./dev test installs with fontconfig.
        let letter = "\u{641}";
        assert_eq!(shown.pass(letter), [false], "the built-in fonts have it");
        shown.wait();
        assert!(shown.fonts.poll(&shown.ctx));
        shown.pass(letter);
        assert_eq!(shown.pass(letter), [true]);
    }
}
