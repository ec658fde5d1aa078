//! A PulseAudio server for tests, with a sink that has no audio device, and recordings of what the sink plays.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::programs::wait_until;

/// Samples per second of the sink and of recordings.
pub const RATE: u32 = 48_000;

/// A separate PulseAudio server, which ends when this value is dropped.
pub struct AudioServer {
    server: Child,
    folder: PathBuf,
    /// The value for the environment variable `PULSE_SERVER`.
    pub name: String,
}

impl AudioServer {
    /// Starts a server that keeps its files in `folder`, with a sink named `null`.
    ///
    /// # Panics
    /// Panics if PulseAudio is not installed or does not start.
    pub fn start(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let socket = folder.join("native");
        let name = format!("unix:{}", socket.display());
        let protocol = format!("module-native-protocol-unix socket={} auth-anonymous=1", socket.display());
        let server = Command::new("pulseaudio")
            .args(["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "-L", &protocol])
            .args(["-L", "module-rescue-streams", "-L", "module-null-sink sink_name=null rate=48000"])
            .env("PULSE_RUNTIME_PATH", folder)
            .env("PULSE_STATE_PATH", folder)
            .env("HOME", folder)
            .env_remove("DISPLAY")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("PulseAudio must be installed: ./dev test does that");
        let server = Self { server, folder: folder.to_owned(), name };
        wait_until("PulseAudio did not start", || server.pactl(&["info"]).contains("Default Sink: null"));
        server
    }

    /// Runs `pactl` and returns its output.
    ///
    /// # Panics
    /// Panics if `pactl` is not installed.
    pub fn pactl(&self, args: &[&str]) -> String {
        let mut command = self.command("pactl");
        let output = command.args(args).output().expect("pactl must be installed: ./dev test does that");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts to record what the sink with this name plays, in one channel.
    ///
    /// # Panics
    /// Panics if `parec` is not installed.
    pub fn record(&self, sink: &str) -> Recording {
        let mut command = self.command("parec");
        command.args(["--format=s16le", "--channels=1", "--latency-msec=10", &format!("--rate={RATE}")]);
        command.arg(format!("--device={sink}.monitor")).stdout(Stdio::piped());
        let mut recorder = command.spawn().expect("parec must be installed: ./dev test does that");
        let mut output = recorder.stdout.take().unwrap();
        let samples = Arc::new(Mutex::new(Vec::new()));
        let recorded = samples.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 960];
            while output.read_exact(&mut bytes).is_ok() {
                let pairs = bytes.as_chunks::<2>().0.iter();
                recorded.lock().unwrap().extend(pairs.map(|pair| i16::from_le_bytes(*pair)));
            }
        });
        Recording { recorder, samples }
    }

    /// Ends the server.
    pub fn stop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Returns a command for a program that connects to this server.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PULSE_SERVER", &self.name).env("HOME", &self.folder).stderr(Stdio::null());
        command
    }
}

impl Drop for AudioServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A recording of the samples that a sink plays.
pub struct Recording {
    recorder: Child,
    samples: Arc<Mutex<Vec<i16>>>,
}

impl Recording {
    /// Returns the samples so far.
    pub fn samples(&self) -> Vec<i16> {
        self.samples.lock().unwrap().clone()
    }

    /// Returns the largest amplitude, from 0 to 1, of the samples that are recorded in `time` from now on.
    pub fn loudness(&self, time: Duration) -> f64 {
        let from = self.samples.lock().unwrap().len();
        std::thread::sleep(time);
        let samples = self.samples.lock().unwrap();
        let largest = samples[from..].iter().map(|sample| sample.unsigned_abs()).max();
        f64::from(largest.unwrap_or(0)) / f64::from(i16::MAX)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
    }
}
