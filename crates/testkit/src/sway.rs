//! A headless Wayland compositor (sway) for tests, to which wtype sends keys.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::movie::Folder;
use crate::programs::{self, wait_until};

/// The user and the group that run sway if root runs the tests: sway refuses to run as root.
const NOBODY: u32 = 65534;
/// The compositor's configuration: its output has 1280×720 pixels, and windows keep the size that the program gives them.
const CONFIG: &str = "output HEADLESS-1 resolution 1280x720
xwayland disable
for_window [app_id=\"clreel\"] floating enable
";

/// A compositor with an output of 1280×720 pixels and a keyboard, which ends when this value is dropped.
pub struct Sway {
    /// The compositor's process, for tests that stop it.
    pub server: Child,
    /// A process whose only purpose is its virtual keyboard. Without a keyboard, windows lose the focus.
    keyboard: Option<Child>,
    folder: Folder,
}

impl Sway {
    /// Starts a compositor. Returns `None` if the calling test is to be skipped, since sway or wtype is not installed.
    ///
    /// # Panics
    /// Panics if sway does not start, and as [`programs::has`] does.
    #[track_caller]
    pub fn start() -> Option<Self> {
        if !programs::has(&["sway", "swaymsg", "wtype"]) {
            return None;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = Folder::new("sway");
        let config = folder.with("config", CONFIG);
        let mut command = Command::new("sway");
        // SAFETY: the call has no preconditions.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(folder.file(""), Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        let server = command
            .arg("--config")
            .arg(&config)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", &folder)
            .env("XDG_RUNTIME_DIR", &folder)
            .envs([
                ("WLR_BACKENDS", "headless"),
                ("WLR_LIBINPUT_NO_DEVICES", "1"),
                ("WLR_RENDERER", "pixman"),
            ])
            .env("SWAYSOCK", folder.file("commands"))
            .current_dir(folder.file(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sway runs");
        let mut sway = Self { server, keyboard: None, folder };
        wait_until("sway did not start", || {
            assert!(sway.server.try_wait().unwrap().is_none(), "sway ended");
            sway.query("get_version").is_some() && sway.display().exists()
        });
        sway.keyboard = Some(sway.wtype(&["-s", "2000000000"]).spawn().expect("wtype runs"));
        wait_until("sway has no keyboard", || {
            sway.query("get_inputs").is_some_and(|inputs| inputs[0]["type"] == "keyboard")
        });
        Some(sway)
    }

    /// Returns the path of the compositor's socket, for the environment variable `WAYLAND_DISPLAY`.
    pub fn display(&self) -> PathBuf {
        self.folder.file("wayland-1")
    }

    /// Returns the answer to a query of swaymsg, such as `get_tree`; `None` if there is none.
    fn query(&self, query: &str) -> Option<Value> {
        let socket = self.folder.file("commands");
        let output = Command::new("swaymsg").arg("-s").arg(socket).args(["-r", "-t", query]).output().ok()?;
        output.status.success().then(|| serde_json::from_slice(&output.stdout).ok())?
    }

    /// Executes a command of sway, such as `workspace 2`, which must have the same effect if it is executed twice: swaymsg waits
    /// for 3 s only, and then it is repeated.
    ///
    /// # Panics
    /// Panics if it fails again and again.
    pub fn command(&self, command: &str) {
        let mut swaymsg = Command::new("swaymsg");
        swaymsg.arg("-s").arg(self.folder.file("commands")).args(["-q", "--", command]);
        wait_until(command, || swaymsg.status().unwrap().success());
    }

    /// Returns sway's description of clreel's window, once there is one.
    pub fn window(&self) -> Option<Value> {
        find(&self.query("get_tree")?)
    }

    /// Presses a key, given by its X keysym name, together with these modifiers of wtype, such as `ctrl`.
    ///
    /// # Panics
    /// Panics if wtype fails.
    pub fn key(&self, modifiers: &[&str], key: &str) {
        let held: Vec<&str> = modifiers.iter().flat_map(|modifier| ["-M", modifier]).collect();
        assert!(self.wtype(&held).args(["-k", key]).status().unwrap().success(), "{key}");
    }

    /// Types a text.
    ///
    /// # Panics
    /// Panics if wtype fails.
    pub fn type_text(&self, text: &str) {
        assert!(self.wtype(&["-d", "5", text]).status().unwrap().success(), "{text}");
    }

    fn wtype(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("wtype");
        command.args(arguments).env("WAYLAND_DISPLAY", self.display()).env("XDG_RUNTIME_DIR", &self.folder);
        command
    }
}

impl Drop for Sway {
    fn drop(&mut self) {
        for process in [self.keyboard.as_mut(), Some(&mut self.server)].into_iter().flatten() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Returns the description of clreel's window in this part of sway's tree.
fn find(node: &Value) -> Option<Value> {
    if node["app_id"] == "clreel" {
        return Some(node.clone());
    }
    let children = ["nodes", "floating_nodes"].into_iter().flat_map(|list| node[list].as_array());
    children.flatten().find_map(find)
}
