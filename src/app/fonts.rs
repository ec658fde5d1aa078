//! Glyphs that the built-in fonts lack, for names in any script. In: characters that egui has no glyph for. Out: fonts of
//! the system that have them, as fontconfig's `fc-match` names them; nothing where it is not installed.
//!
//! A thread asks and reads: until then a box stands for the character.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use egui::FontData;
use egui::epaint::text::{FallbackRequest, FontInsert, FontProvider};

use base::jobs::{Job, Waker};
use base::load;

/// The longest font file that is read, in bytes: those for Chinese, Japanese and Korean have some 20 MB.
const LONGEST: u64 = 64 << 20;
/// So much memory fonts may take together, in bytes.
const MOST: usize = 128 << 20;

/// What is known of characters: the font that has one; `None` where none has, or that is still being asked.
type Known = HashMap<char, Option<FontInsert>>;

/// What the window's thread and the one that asks share.
struct Shared {
    known: Mutex<Known>,
    /// A font was found since the last look.
    news: AtomicBool,
}

/// egui's way to the fonts.
struct Provider {
    shared: Arc<Shared>,
    wanted: Sender<char>,
}

impl FontProvider for Provider {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        let wanted = request.cluster.chars().next()?;
        let mut known = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(font) = known.get(&wanted) {
            return font.clone();
        }
        known.insert(wanted, None);
        // Without the thread a box stands for it.
        let _ = self.wanted.send(wanted);
        None
    }
}

/// The system's fonts for an egui context.
pub(crate) struct SystemFonts {
    shared: Arc<Shared>,
    provider: Arc<Provider>,
    /// It ends when nobody can ask any more.
    _job: Option<Job<()>>,
}

impl SystemFonts {
    /// Begins to provide `ctx` with them. `waker` is called when one is found.
    pub(crate) fn provide(ctx: &egui::Context, waker: Waker) -> Self {
        Self::named_by(fontconfig, ctx, waker)
    }

    /// The same with the fonts that `names` has for a pattern.
    fn named_by(names: impl Names, ctx: &egui::Context, waker: Waker) -> Self {
        let shared = Arc::new(Shared { known: Mutex::default(), news: AtomicBool::new(false) });
        let (wanted, asked) = channel();
        let found = shared.clone();
        let theirs = waker.clone();
        let find = move |_: &_| {
            answer(&asked, &found, &theirs, &names);
            Ok(())
        };
        // Without the thread nothing is found.
        let job = Job::spawn("fonts", "No fonts of the system can be used.", &waker, find).ok();
        let provider = Arc::new(Provider { shared: shared.clone(), wanted });
        ctx.add_font_provider(provider.clone());
        Self { shared, provider, _job: job }
    }

    /// Lets `ctx` use what has been found since the last look; whether there was something.
    pub(crate) fn look(&self, ctx: &egui::Context) -> bool {
        let news = self.shared.news.swap(false, Ordering::Relaxed);
        if news {
            // egui remembers for good what was not there.
            ctx.set_font_providers(vec![self.provider.clone()]);
        }
        news
    }
}

/// The thread: finds fonts for what is asked, until nobody can ask any more.
fn answer(asked: &Receiver<char>, shared: &Shared, waker: &Waker, names: &impl Names) {
    let mut fonts: Vec<(Match, FontInsert)> = Vec::new();
    let mut left = MOST;
    while let Ok(first) = asked.recv() {
        let mut wanted: BTreeSet<char> = [first].into_iter().chain(asked.try_iter()).collect();
        while !wanted.is_empty() {
            let before = wanted.len();
            for (found, font) in &fonts {
                let has: Vec<char> = wanted.iter().copied().filter(|c| found.has(*c)).collect();
                let mut known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
                for c in has {
                    wanted.remove(&c);
                    known.insert(c, Some(font.clone()));
                }
            }
            if wanted.len() < before {
                shared.news.store(true, Ordering::Relaxed);
                waker();
            }
            let next = (left > 0 && !wanted.is_empty()).then(|| best(&wanted, names)).flatten();
            // One that has none of them is only the nearest.
            let Some(next) = next.filter(|next| wanted.iter().any(|c| next.has(*c))) else { break };
            let Some((font, bytes)) = next.read(left) else {
                // What only it has stays without a glyph; the others may be had elsewhere.
                wanted.retain(|c| !next.has(*c));
                continue;
            };
            left -= bytes;
            fonts.push((next, font));
        }
    }
}

/// A font as `fc-match` names it.
#[derive(Debug, Clone, PartialEq)]
struct Match {
    file: Vec<u8>,
    index: u32,
    /// The first and the last of each row of characters that it has.
    rows: Vec<(u32, u32)>,
}

impl Match {
    /// From a line of `FORMAT`; `None` where it is no font with outlines.
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

    /// The font and its length, unless that is more than `most` bytes.
    fn read(&self, most: usize) -> Option<(FontInsert, usize)> {
        let path = Path::new(OsStr::from_bytes(&self.file));
        let bytes = load::bytes(path, LONGEST.min(most as u64)).ok()?;
        let length = bytes.len();
        let data = FontData { index: self.index, ..FontData::from_owned(bytes) };
        let name = format!("{}#{}", path.display(), self.index);
        Some((FontInsert::new(&name, data, Vec::new()), length))
    }
}

/// Says which font fits a pattern of fontconfig's, in a line of [`FORMAT`].
trait Names: Fn(&str) -> Option<Vec<u8>> + Send + 'static {}

impl<F: Fn(&str) -> Option<Vec<u8>> + Send + 'static> Names for F {}

/// What [`Match::parse`] reads.
const FORMAT: &str = "%{file}\t%{index}\t%{outline}\t%{charset}\n";

/// The font of the system.
fn fontconfig(pattern: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("fc-match");
    command.args(["-f", FORMAT, pattern]).stdin(Stdio::null()).stderr(Stdio::null());
    Some(command.output().ok()?.stdout)
}

/// The font that has most of these characters.
fn best(wanted: &BTreeSet<char>, names: &impl Names) -> Option<Match> {
    let charset: Vec<String> = wanted.iter().take(100).map(|c| format!("{:x}", u32::from(*c))).collect();
    let pattern = format!(":charset={}:outline=true:color=false", charset.join(" "));
    Match::parse(names(&pattern)?.split(|byte| *byte == b'\n').next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_fontconfig_is_a_font() {
        let font = Match::parse(b"/f/a b.ttc\t65538\tTrue\t20-7e a0 1f600-1f64f").unwrap();
        assert_eq!((font.file.as_slice(), font.index), (&b"/f/a b.ttc"[..], 2));
        assert!([' ', '~', '\u{a0}', '\u{1f600}'].iter().all(|c| font.has(*c)));
        assert!(!font.has('\u{7f}') && !font.has('\u{a1}') && !font.has('\u{65e5}'));
        for line in [&b""[..], b"/f/a.ttf\tx\tTrue\t20", b"/f/a.pcf\t0\tFalse\t20", b"/f/a.ttf\t0\tTrue"] {
            assert_eq!(Match::parse(line), None);
        }
    }

    /// A window whose own fonts have neither arrows nor Greek, and what it is told.
    struct Shown {
        ctx: egui::Context,
        fonts: SystemFonts,
        wakes: Receiver<()>,
    }

    impl Shown {
        fn new(names: impl Names) -> Self {
            let ctx = egui::Context::default();
            let mut own = egui::FontDefinitions::default();
            own.font_data.retain(|name, _| name == "Ubuntu-Light");
            own.families.values_mut().for_each(|family| *family = vec!["Ubuntu-Light".to_owned()]);
            ctx.set_fonts(own);
            Self::of(ctx, names)
        }

        fn of(ctx: egui::Context, names: impl Names) -> Self {
            let (woken, wakes) = channel();
            let woken = Mutex::new(woken);
            let waker: Waker = Arc::new(move || drop(woken.lock().map(|w| w.send(()))));
            let fonts = SystemFonts::named_by(names, &ctx, waker);
            Self { ctx, fonts, wakes }
        }

        /// Shows a text; which of its characters have a glyph.
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

    /// A folder with egui's font that has arrows.
    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("clreel-fonts-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let all = egui::FontDefinitions::default().font_data;
        std::fs::write(folder.join("arrows.ttf"), (*all["Hack"].font).as_ref()).unwrap();
        folder
    }

    #[test]
    fn what_the_own_fonts_lack_comes_from_the_font_that_is_named() {
        let folder = folder("named");
        let line = format!("{}\t0\tTrue\t20-7e 2190-21ff\n", folder.join("arrows.ttf").display());
        let (asks, asked) = channel();
        let shown = Shown::new(move |pattern: &str| {
            asks.send(pattern.to_owned()).unwrap();
            Some(line.clone().into_bytes())
        });
        assert_eq!(shown.pass("a\u{2192}"), [true, false], "its own fonts have no arrow");
        shown.wait();
        assert!(shown.fonts.look(&shown.ctx) && !shown.fonts.look(&shown.ctx), "it is told once");
        shown.pass("a\u{2192}");
        assert_eq!(shown.pass("a\u{2192}"), [true, true]);
        assert_eq!(asked.try_iter().collect::<Vec<_>>(), [":charset=2192:outline=true:color=false"]);
        // What else that font has needs no asking.
        assert_eq!((shown.pass("\u{2190}"), asked.try_recv().ok()), (vec![true], None));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// What comes of these characters by these fonts; how often they were asked for.
    fn answered(
        wanted: &str,
        names: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static,
    ) -> (Vec<bool>, usize) {
        let shared = Shared { known: Mutex::default(), news: AtomicBool::new(false) };
        let (ask, asked) = channel();
        wanted.chars().for_each(|c| ask.send(c).unwrap());
        drop(ask);
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = count.clone();
        let waker: Waker = Arc::new(|| ());
        answer(&asked, &shared, &waker, &move |pattern: &str| {
            counted.fetch_add(1, Ordering::Relaxed);
            names(pattern)
        });
        let known = shared.known.lock().unwrap();
        let has = |c| known.get(&c).is_some_and(Option::is_some);
        (wanted.chars().map(has).collect(), count.load(Ordering::Relaxed))
    }

    #[test]
    fn a_font_that_cannot_be_used_keeps_no_other_away() {
        let folder = folder("used");
        let there = folder.join("arrows.ttf").display().to_string();
        let line = move |file: &str, rows: &str| Some(format!("{file}\t0\tTrue\t{rows}\n").into_bytes());
        let real = there.clone();
        let both = move |pattern: &str| match pattern.contains("3b1") {
            true => line("/nowhere/greek.ttf", "3b1"),
            false => line(&real, "2192"),
        };
        assert_eq!(answered("\u{3b1}\u{2192}", both), (vec![false, true], 2));
        // The nearest one, where none has it; no answer; one that is no font with outlines.
        let near = move |_: &str| line(&there, "2192");
        assert_eq!(answered("\u{3b1}", near), (vec![false], 1));
        assert_eq!(answered("\u{3b1}", |_: &str| None), (vec![false], 1));
        assert_eq!(answered("\u{3b1}", |_: &str| Some(b"/f.pcf\t0\tFalse\t3b1".to_vec())), (vec![false], 1));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn fontconfig_names_a_font_of_the_system() {
        let ctx = egui::Context::default();
        overlay::Overlay::style(&ctx);
        let shown = Shown::of(ctx, fontconfig);
        // Arabic: DejaVu has it, which ./dev test installs with fontconfig.
        let letter = "\u{641}";
        assert_eq!(shown.pass(letter), [false], "the built-in fonts have it");
        shown.wait();
        assert!(shown.fonts.look(&shown.ctx));
        shown.pass(letter);
        assert_eq!(shown.pass(letter), [true]);
    }
}
