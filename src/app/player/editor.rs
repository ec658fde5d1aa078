//! Opening a kernel file in the user's editor: `$VISUAL`, in a terminal if the editor needs one, or else the desktop's program for
//! the file by `xdg-open`. The editor runs on when the window is closed.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use base::environment::get;
use base::jobs::Job;

/// Editors that need a terminal.
const TERMINAL_EDITORS: [&str; 13] =
    ["ed", "helix", "hx", "joe", "kak", "mcedit", "micro", "nano", "ne", "nvim", "pico", "vi", "vim"];
/// Programs that open a terminal, in order of preference, with the option before the program that runs in it.
const TERMINALS: [(&str, &str); 8] = [
    ("x-terminal-emulator", "-e"),
    ("gnome-terminal", "--"),
    ("konsole", "-e"),
    ("xfce4-terminal", "-x"),
    ("alacritty", "-e"),
    ("foot", "-e"),
    ("kitty", "-e"),
    ("xterm", "-e"),
];

impl Player<'_> {
    /// Starts the user's editor with the kernel file of the chosen variant; for `auto`, of the variant that it uses.
    pub(super) fn open_in_editor(&mut self) {
        let (chosen, radius) = (self.cx.chosen(), self.cx.frames.choice.box_radius());
        let size = self.cx.frames.presenter.screen.size().filter(|_| chosen.is_auto());
        let auto = size.and_then(|size| self.cx.frames.filters.workers.auto(size, radius));
        let variant = auto.map_or(chosen, |auto| auto.variant);
        let file = self.kernels.file_to_edit(variant, self.devices.running.kind());
        if let Some(file) = self.cx.or_tell(file) {
            self.cx.overlay.show_message(format!("Opening {} in your editor", base::text::name(&file)));
            let failed = "The editor could not be started.";
            self.editor = Some(Job::spawn("editor", failed, &self.cx.waker, move |_| edit(&file)));
        }
    }

    /// Shows the error of an editor that could not be started, or that has failed.
    pub(super) fn poll_editor(&mut self) {
        if let Some(ended) = Job::take_result(&mut self.editor, Duration::ZERO) {
            self.cx.or_tell(ended);
        }
    }
}

/// Runs the user's editor with a file until it ends.
fn edit(file: &Path) -> Result<()> {
    let failed = |why: String| {
        let what = format!("'{}' could not be opened in an editor.", file.display());
        let hint = "Open this file in any editor: what is saved is built and shown at once, without a restart. For the key E set \
                    VISUAL to your editor before clreel starts.";
        Error::new(what, why, hint)
    };
    if !file.is_file() {
        return Err(failed("The folder has no such file, so the built-in one is used.".to_owned()));
    }
    let words = command(file, get, is_program).map_err(failed)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl+C in clreel's terminal must not end the editor.
    let status = command.process_group(0).status();
    let name = base::text::name(&words[0]);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("'{name}' failed: {status}."))),
        Err(e) => {
            let reason = e.to_string();
            let reason = reason.split(" (os error").next().unwrap_or(&reason);
            Err(failed(format!("'{name}' cannot be started: {reason}.")))
        }
    }
}

/// Returns the program that edits a file, and its arguments. `get` returns the values of environment variables; `has` returns true
/// for programs that can be started.
///
/// # Errors
/// The reason if there is no editor, or no terminal for it.
fn command(
    file: &Path,
    get: impl Fn(&str) -> Option<OsString>,
    has: impl Fn(&OsStr) -> bool,
) -> Result<Vec<OsString>, String> {
    let visual = get("VISUAL").and_then(|visual| visual.into_string().ok()).unwrap_or_default();
    let mut words: Vec<OsString> = visual.split_whitespace().map(OsString::from).collect();
    let Some(editor) = words.first().map(PathBuf::from) else {
        return match has(OsStr::new("xdg-open")) {
            true => Ok(vec!["xdg-open".into(), file.into()]),
            false => Err("VISUAL is not set, and xdg-open is not installed.".to_owned()),
        };
    };
    let name = editor.file_name().and_then(OsStr::to_str).unwrap_or_default();
    words.push(file.into());
    // Emacs has both.
    if TERMINAL_EDITORS.contains(&name) || words.iter().any(|word| word == "-nw") {
        let terminal = TERMINALS.iter().find(|(program, _)| has(OsStr::new(program)));
        let (program, option) = terminal.ok_or(format!("There is no terminal for '{name}' of VISUAL."))?;
        words.splice(0..0, [OsString::from(program), OsString::from(option)]);
    }
    Ok(words)
}

/// Returns true if a folder of `PATH` has this program.
fn is_program(name: &OsStr) -> bool {
    std::env::split_paths(&get("PATH").unwrap_or_default()).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_editor_is_that_of_the_user_in_a_terminal_if_it_needs_one() {
        let of = |visual: &str, installed: &[&str]| {
            let get = |name: &str| (name == "VISUAL" && !visual.is_empty()).then(|| visual.into());
            let has = |name: &OsStr| installed.iter().any(|program| name == *program);
            let words = command(Path::new("/k/a b.cl"), get, has)?;
            Ok(words.iter().map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>().join("|"))
        };
        let all = ["xdg-open", "xterm", "konsole"];
        let ok = |text: &str| Ok::<_, String>(text.to_owned());
        assert_eq!(of("", &all), ok("xdg-open|/k/a b.cl"));
        assert_eq!(of("code -n", &all), ok("code|-n|/k/a b.cl"));
        assert_eq!(of("/usr/bin/vim", &all), ok("konsole|-e|/usr/bin/vim|/k/a b.cl"));
        assert_eq!(of("emacs -nw", &["xterm"]), ok("xterm|-e|emacs|-nw|/k/a b.cl"));
        assert!(of("", &["xterm"]).unwrap_err().contains("xdg-open is not installed"));
        assert!(of("nano", &["xdg-open"]).unwrap_err().contains("no terminal for 'nano'"));
    }

    #[test]
    fn an_editor_that_fails_says_so() {
        let gone = edit(Path::new("/nowhere/a.cl")).unwrap_err();
        assert!(gone.why.contains("no such file"), "{gone}");
    }
}
