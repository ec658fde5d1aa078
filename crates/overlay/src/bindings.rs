//! The table of keys: what each key does, and how it is listed. Input, the table that `?` opens, menus and docs/keys.md follow it.

use std::sync::LazyLock;

use super::Action;
use super::panel_list::COLUMN_PANELS;
use super::panels::Panel;
use box_filter::{Filter, Group, VariantId};

/// The factor by which `]` multiplies the speed and `[` divides it, as in mpv.
const SPEED_STEP: f64 = 1.1;
/// The step of the keys for the volume, in percent.
const VOLUME_STEP: i32 = 5;
/// The factor by which Ctrl with plus and minus changes the overlay's size.
const ZOOM_STEP: f32 = 1.1;

/// A group of rows in the table of keys, whose title is its name. The table lists the groups in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The twelve most useful rows of the table.
    Everyday,
    /// Seeking, speed and loops.
    Playing,
    /// Variants, settings, colour correction and wipe.
    Filter,
    /// Panels, scenes, sizes and fullscreen.
    View,
    /// Keys of panels with measurements.
    Measure,
    /// Opening and saving of files.
    Files,
}

impl Topic {
    /// All groups, in the order of the table.
    pub(crate) const ALL: [Self; 6] =
        [Self::Everyday, Self::Playing, Self::Filter, Self::View, Self::Measure, Self::Files];
}

/// Keys with related actions: a row of the table of keys.
#[derive(Debug)]
pub struct Binding {
    /// The group in which the table of keys lists the row.
    pub topic: Topic,
    /// The keys, as the table shows them.
    pub keys: String,
    /// The effect of the keys in a few words, as the table shows it.
    pub effect: String,
    /// Each key, such as `Ctrl+e`, `q` or `Space`, with its action; empty for a row about the mouse. Characters are those of a
    /// US keyboard.
    pub presses: Vec<(String, Action)>,
    /// True if the keys have these actions only during the talk (the presentation view).
    pub talk: bool,
}

/// Creates a row of the table of keys.
fn keys(topic: Topic, keys: &str, effect: &str, presses: &[(&str, Action)]) -> Binding {
    let presses = presses.iter().map(|(press, action)| ((*press).to_owned(), action.clone())).collect();
    Binding { topic, keys: keys.to_owned(), effect: effect.to_owned(), presses, talk: false }
}

/// Creates a row whose only key has this action.
fn key(topic: Topic, press: &str, effect: &str, action: Action) -> Binding {
    keys(topic, &shown(press), effect, &[(press, action)])
}

/// Returns the rows that select variants; consecutive keys share a row, as in "1 to 5".
fn variant_keys() -> Vec<Binding> {
    let row = |ids: &[VariantId], effect: &str| {
        // Digits are everyday keys, letters are not.
        let topic = if ids[0].key.is_ascii_digit() { Topic::Everyday } else { Topic::Filter };
        let shown = match ids {
            [first, .., last] => format!("{} to {}", first.key, last.key),
            _ => ids.iter().map(|id| id.key).collect(),
        };
        let presses = ids.iter().map(|&id| (id.key.to_string(), Action::SetVariant(id))).collect();
        Binding { presses, ..keys(topic, &shown, effect, &[]) }
    };
    let of = |group| VariantId::built_in().filter(move |id| id.group == group);
    let steps: Vec<VariantId> = of(Group::Steps).collect();
    let mut rows = vec![row(&[VariantId::OFF], "filter off"), row(&steps, "the steps of the ladder")];
    let mut others: Vec<VariantId> = of(Group::Beyond).chain(of(Group::Others)).collect();
    others.sort_by_key(|id| id.key);
    for ids in others.chunk_by(|a, b| a.key as u32 + 1 == b.key as u32) {
        let names: Vec<&str> = ids.iter().map(|id| id.name).collect();
        rows.push(row(ids, &names.join(", ")));
    }
    rows.push(row(&[VariantId::own()], "your own kernel"));
    rows
}

/// All keys with their actions, sorted by group.
pub static BINDINGS: LazyLock<Vec<Binding>> = LazyLock::new(|| {
    use Action::{
        AskForMovie, ChangeMovie, ChangeSettings, ChangeSpeed, ChangeVariant, ChangeVolume, SeekChapter,
        Step, ToggleKeys, TogglePause, Zoom,
    };
    use Topic::{Everyday, Files, Filter, Measure, Playing, View};
    let seek = |seconds| Action::SeekBy { seconds, exact: true };
    let mut rows = variant_keys();
    rows.extend(COLUMN_PANELS.iter().filter_map(|panel| {
        let is_of_filter = matches!(panel.panel, Panel::Filters | Panel::Kernels | Panel::Correction);
        let (press, effect) = panel.key?;
        Some(key(if is_of_filter { Filter } else { Measure }, press, effect, panel.action()))
    }));
    let next = ["Right", "Down", "PageDown"].map(|press| (press, ChangeVariant(1)));
    let previous = ["Left", "Up", "PageUp"].map(|press| (press, ChangeVariant(-1)));
    let ends = [("Home", ChangeVariant(isize::MIN)), ("End", ChangeVariant(isize::MAX))];
    let talk = [&next[..], &previous, &ends].concat();
    let arrows = [("Left", seek(-5.0)), ("Right", seek(5.0))];
    let chapters = [("PageUp", SeekChapter(1)), ("PageDown", SeekChapter(-1))];
    let shift = [
        ("Shift+Left", seek(-1.0)),
        ("Shift+Right", seek(1.0)),
        ("Shift+Down", seek(-5.0)),
        ("Shift+Up", seek(5.0)),
    ];
    let first_parameter = [("-", ChangeSettings(-1)), ("=", ChangeSettings(1)), ("+", ChangeSettings(1))];
    let wipe = [("w", Action::ToggleWipe), ("x", Action::SwapSides), ("D", Action::ToggleDifference)];
    let step = [(".", Step { back: false }), (",", Step { back: true })];
    let speed = [("[", ChangeSpeed(Some(1.0 / SPEED_STEP))), ("]", ChangeSpeed(Some(SPEED_STEP)))];
    let volume = [("/", ChangeVolume(-VOLUME_STEP)), ("*", ChangeVolume(VOLUME_STEP))];
    let zoom = [
        ("Ctrl++", Zoom(Some(ZOOM_STEP))),
        ("Ctrl+=", Zoom(Some(ZOOM_STEP))),
        ("Ctrl+-", Zoom(Some(1.0 / ZOOM_STEP))),
        ("Ctrl+0", Zoom(None)),
    ];
    rows.extend([
        keys(Everyday, "- =", "radius or first slider: less, more", &first_parameter),
        keys(Everyday, "Space p", "pause, resume", &[("Space", TogglePause), ("p", TogglePause)]),
        keys(Everyday, "Left Right", "5 seconds back, forward", &arrows),
        keys(Everyday, "w x D", "wipe, swap sides, difference", &wipe),
        keys(Everyday, "o Ctrl O", "open a movie", &[("o", AskForMovie), ("Ctrl+o", AskForMovie)]),
        key(Everyday, "f", "fullscreen", Action::ToggleFullscreen),
        key(Everyday, "i", "the picture alone, or with the overlay", Action::ToggleOverlay),
        keys(Everyday, "? F1", "this table", &[("?", ToggleKeys), ("F1", ToggleKeys)]),
        key(Everyday, "q", "quit", Action::Quit),
        keys(Playing, ". ,", "next frame, previous frame", &step),
        keys(Playing, "Down Up", "1 minute back, forward", &[("Down", seek(-60.0)), ("Up", seek(60.0))]),
        keys(Playing, "Shift arrows", "left, right: 1 second; down, up: 5", &shift),
        key(Playing, "Home", "start of the movie", Action::SeekStart),
        keys(Playing, "PgUp PgDn", "next, previous chapter (size in a scene)", &chapters),
        keys(Playing, "[ ]", "slower, faster", &speed),
        key(Playing, "Backspace", "normal speed", ChangeSpeed(None)),
        key(Playing, "m", "sound: off, on", Action::ToggleMute),
        keys(Playing, "/ *", "volume: lower, higher", &volume),
        key(Playing, "#", "next track of sound", Action::NextTrack),
        key(Playing, "l", "A-B loop: start, end, off", Action::MarkPart),
        key(Playing, "L", "loop the movie: on, off", Action::ToggleLoop),
        keys(Playing, "< >", "previous movie, next movie", &[("<", ChangeMovie(-1)), (">", ChangeMovie(1))]),
        keys(Playing, "Right click", "pause, resume", &[]),
        keys(Filter, "Ctrl F", "find in the source of a kernel", &[]),
        key(Filter, "F5", "rebuild edited kernels", Action::RebuildKernels),
        key(Filter, "E", "edit the kernel in your editor", Action::OpenInEditor),
        key(Filter, "Ctrl+d", "next OpenCL device", Action::NextDevice),
        keys(Filter, "Wheel", "slider or time under the pointer", &[]),
        key(View, "v", "next scene: test card, cloth", Action::NextScene),
        key(View, "F6", "talk: the ladder in large type", Action::ToggleTalk),
        Binding { talk: true, ..keys(View, "Arrows", "in the talk: next, previous variant", &talk) },
        keys(View, "Esc", "leave the table, the talk, fullscreen", &[("Escape", Action::Leave)]),
        keys(View, "Double click", "fullscreen", &[]),
        keys(View, "Ctrl + - 0", "size of the overlay", &zoom),
        key(Files, "O", "list of files, recent ones first", Action::ShowFiles),
        key(Files, "C", "compare with a saved run", Action::CompareWith),
        key(Files, "Ctrl+l", "save the ladder: CSV, SVG, PNG", Action::ExportLadder),
        key(Files, "s", "save the frame as PNG", Action::SaveFrame),
        key(Files, "S", "save the window as PNG", Action::SaveWindow),
        key(Files, "Ctrl+e", "save statistics and a trace", Action::ExportStats),
        key(Files, "Ctrl+r", "save the run for clreel compare", Action::SaveRun),
        key(View, "H", "heat map of the luminance", Action::ToggleHeat),
        key(View, "a", "auto-levels", Action::ToggleLevels),
    ]);
    rows.sort_by_key(|row| row.topic as u8);
    rows
});

/// Returns the action of a key such as `Ctrl+e`, `q` or `Space`; `None` if it has none. `talks` is true during the talk (the
/// presentation view), in which some keys have other actions.
pub fn action_of(press: &str, talks: bool) -> Option<Action> {
    let find = |talk: bool| {
        let mut presses = BINDINGS.iter().filter(|row| row.talk == talk).flat_map(|row| &row.presses);
        presses.find(|(own, _)| own == press).map(|(_, action)| action.clone())
    };
    let action = talks.then(|| find(true)).flatten().or_else(|| find(false));
    match action {
        // The keys of variants are those of the selected filter.
        Some(Action::SetVariant(id)) if id != VariantId::OFF && Filter::selected().is_some() => {
            VariantId::all().find(|id| press.chars().eq([id.key])).map(Action::SetVariant)
        }
        action => action,
    }
}

/// Returns the first key of an action as menus show it, such as `Ctrl E`; empty if the action has no key.
pub(crate) fn key_of(action: &Action) -> String {
    let mut presses = BINDINGS.iter().flat_map(|row| &row.presses);
    presses.find(|(_, own)| own == action).map(|(press, _)| shown(press)).unwrap_or_default()
}

/// Returns the text that menus and the table show for a key, such as `Ctrl E` for `Ctrl+e`.
fn shown(press: &str) -> String {
    press.strip_prefix("Ctrl+").map_or_else(|| press.to_owned(), |key| format!("Ctrl {}", key.to_uppercase()))
}
