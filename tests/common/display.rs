//! A virtual display for tests that need X11.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A virtual display of 1280×720 pixels, taken down when dropped.
pub struct Display {
    /// The server, for tests that stop it.
    pub server: Child,
    /// What `DISPLAY` must be set to.
    pub name: String,
}

impl Display {
    pub fn start(extra: &[&str]) -> Self {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1280x720x24", "-nolisten", "tcp"])
            // Otherwise it begins anew when its last client leaves, and turns away who comes meanwhile.
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
            // Asked, not killed: it then takes its lock and its socket along, and leaves the number to others.
            // SAFETY: the server was not waited for yet, so the number is still its own.
            unsafe { libc::kill(self.server.id() as libc::pid_t, libc::SIGTERM) };
        }
        let _ = self.server.wait();
    }
}
