//! A virtual X11 display (Xvfb) for tests.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// A virtual display of 1280×720 pixels, whose server ends when this value is dropped.
pub struct Display {
    /// The X server's process, for tests that stop it.
    pub server: Child,
    /// The value for the environment variable `DISPLAY`.
    pub name: String,
}

impl Display {
    /// Starts an X server with these additional arguments.
    ///
    /// # Panics
    /// Panics if Xvfb is not installed or does not start.
    pub fn start(extra: &[&str]) -> Self {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1280x720x24", "-nolisten", "tcp"])
            // Otherwise the server resets when its last client disconnects, and refuses connections meanwhile.
            .arg("-noreset")
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb must be installed: ./dev test does that");
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let number = line.trim();
        assert!(!number.is_empty(), "Xvfb did not start");
        Self { server, name: format!(":{number}") }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Ok(None) = self.server.try_wait() {
            // SIGTERM instead of SIGKILL: the server then removes its lock file and its socket, so that the number is free.
            // SAFETY: the server has not been waited for yet, so its process id is still its own.
            unsafe { libc::kill(self.server.id() as libc::pid_t, libc::SIGTERM) };
        }
        let _ = self.server.wait();
    }
}

impl Display {
    /// Runs `xdotool` on this display.
    ///
    /// # Panics
    /// Panics if `xdotool` is not installed.
    pub fn xdotool(&self, args: &[&str]) -> Output {
        let mut command = Command::new("xdotool");
        command.args(args).env("DISPLAY", &self.name);
        command.output().expect("xdotool must be installed: ./dev test does that")
    }

    /// Presses a key, given by its X keysym name.
    ///
    /// # Panics
    /// Panics if `xdotool` fails.
    pub fn key(&self, key: &str) {
        assert!(self.xdotool(&["key", key]).status.success());
    }

    /// Returns the width of the screen, and the red, green and blue of all its pixels as the X server has them.
    pub fn pixels(&self) -> (usize, Vec<[u8; 3]>) {
        use x11rb::connection::Connection as _;
        use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};

        let (conn, screen) = x11rb::connect(Some(&self.name)).unwrap();
        let screen = &conn.setup().roots[screen];
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        let image = conn.get_image(ImageFormat::Z_PIXMAP, screen.root, 0, 0, width, height, !0).unwrap();
        let image = image.reply().unwrap();
        assert_eq!(image.data.len(), 4 * usize::from(width) * usize::from(height), "four bytes a pixel");
        let rgb = |pixel: &[u8; 4]| {
            let [_, red, green, blue] = u32::from_ne_bytes(*pixel).to_be_bytes();
            [red, green, blue]
        };
        (usize::from(width), image.data.as_chunks::<4>().0.iter().map(rgb).collect())
    }

    /// Sets the keyboard layout: names of the layout and of its variant, separated by a space.
    pub fn keyboard(&self, layout: &str) {
        let mut command = Command::new("setxkbmap");
        command.args(["-display", &self.name]).args(layout.split(' '));
        assert!(command.status().expect("setxkbmap comes with Xvfb").success(), "{layout}");
    }
}
