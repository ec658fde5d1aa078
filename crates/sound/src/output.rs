//! The audio device: PulseAudio (or PipeWire through it) where it runs, otherwise ALSA.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::{Duration, Instant};

use cpal::traits::{DeviceTrait as _, HostTrait as _, StreamTrait as _};
use cpal::{BufferSize, Device, ErrorKind, HostId, OutputCallbackInfo, Stream, StreamConfig};

use super::mixer::Mixer;
use super::ring::{Stereo, Writer, ring};
use super::transport::Shared;
use base::error::{Error, Result};

/// Seconds of samples in each of the device's two buffers; long enough that the sound has no gaps while all CPU cores are busy.
const BUFFER_S: f64 = 0.05;
/// Seconds of samples that fit in the ring buffer between the decoder and the device.
const RING_S: f64 = 1.0;

/// An opened stream of an audio device. Dropping it closes the stream, and waits for the server.
pub(crate) struct Output {
    stream: Stream,
    /// The writing end of the ring buffer whose samples the stream plays.
    pub(crate) writer: Writer,
    /// Samples per second of each channel.
    pub(crate) rate: u32,
    pub(crate) name: String,
    pub(crate) is_playing: bool,
    shared: Arc<Shared>,
}

impl Output {
    /// Opens the default audio device with two channels, and does not start it yet. Returns `None` if there is no device. The
    /// stream unparks `thread`, which decodes, when the ring buffer is half empty and when the device fails.
    ///
    /// # Errors
    /// Returns an error if there is a device, but it cannot be opened.
    pub(crate) fn open(shared: &Arc<Shared>, thread: &Thread) -> Result<Option<Self>> {
        let Some(device) = default_device() else { return Ok(None) };
        let name = device.to_string();
        let failed = |error: cpal::Error| {
            Error::new(
                format!("The audio device '{name}' cannot be opened."),
                format!("{error}."),
                "Close other programs that use it, or choose another device in the desktop's settings.",
            )
        };
        let rate = device.default_output_config().map_err(failed)?.sample_rate().clamp(8_000, 384_000);
        let buffer = (f64::from(rate) * BUFFER_S) as u32;
        let config = StreamConfig { channels: 2, sample_rate: rate, buffer_size: BufferSize::Fixed(buffer) };
        let (writer, reader) = ring((f64::from(rate) * RING_S) as usize);
        let mut mixer = Mixer::new(shared.clone(), reader, rate);
        let (state, waker) = (shared.clone(), thread.clone());
        let low = (f64::from(rate) * RING_S / 2.0) as usize;
        let fill = move |samples: &mut [f32], info: &OutputCallbackInfo| {
            let timestamp = info.timestamp();
            let latency = timestamp.playback.duration_since(timestamp.callback);
            state.buffers.fetch_add(1, Ordering::Relaxed);
            let (out, rest): (&mut [Stereo], _) = samples.as_chunks_mut();
            mixer.mix(out, Instant::now() + latency);
            rest.fill(0.0);
            if mixer.reader.waiting() < low || state.has_begun.load(Ordering::Relaxed) {
                waker.unpark();
            }
        };
        let (state, waker) = (shared.clone(), thread.clone());
        let fail = move |error: cpal::Error| {
            // The stream continues after these errors.
            if !matches!(error.kind(), ErrorKind::DeviceChanged | ErrorKind::RealtimeDenied | ErrorKind::Xrun)
            {
                state.has_failed.store(true, Ordering::Release);
                waker.unpark();
            }
        };
        shared.has_failed.store(false, Ordering::Release);
        shared.played_from.store(u64::MAX, Ordering::Release);
        // The maximum time for opening a stream; opening fails if it takes longer.
        let stream =
            device.build_output_stream(config, fill, fail, Some(Duration::from_secs(3))).map_err(failed)?;
        Ok(Some(Self { stream, writer, rate, name, is_playing: false, shared: shared.clone() }))
    }

    /// Starts or pauses the device. A paused device needs no CPU time.
    ///
    /// # Errors
    /// Returns an error if the device has disappeared.
    pub(crate) fn set_playing(&mut self, is_playing: bool) -> Result<(), cpal::Error> {
        if is_playing != self.is_playing {
            let played_from = if is_playing {
                self.stream.play()?;
                self.shared.buffers.load(Ordering::Relaxed)
            } else {
                self.stream.pause()?;
                u64::MAX
            };
            self.shared.played_from.store(played_from, Ordering::Release);
            self.is_playing = is_playing;
        }
        Ok(())
    }

    /// Closes the stream on another thread, without waiting for it: an audio server that has stopped may not answer.
    pub(crate) fn close(self) {
        // Without another thread the stream is closed here.
        let _ = std::thread::Builder::new().name("close sound".into()).spawn(move || drop(self));
    }
}

/// Creates the cookie file by which PulseAudio recognizes its clients, as its own library does, if a server runs and the file
/// does not exist. Ignores errors: there is then no sound, since a server refuses clients that send no cookie, even where it
/// needs none.
fn create_cookie() {
    if pulseaudio::socket_path_from_env().is_none() || pulseaudio::cookie_path_from_env().is_some() {
        return;
    }
    let home = base::environment::get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let Some(folder) = home.map(|home| home.join(".config/pulse")) else { return };
    let mut cookie = [0; 256];
    let is_random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut cookie)).is_ok();
    let is_there = DirBuilder::new().recursive(true).mode(0o700).create(&folder).is_ok();
    if is_random && is_there {
        let path = folder.join("cookie");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        // On a full disk a part of a cookie would be refused for good.
        if file.is_ok_and(|mut file| file.write_all(&cookie).is_err()) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns the default device of PulseAudio, or of ALSA if PulseAudio has none; `None` if neither has a device.
fn default_device() -> Option<Device> {
    create_cookie();
    let device = |id| cpal::host_from_id(id).ok()?.default_output_device();
    // Under PipeWire and PulseAudio the sound cards themselves are busy.
    device(HostId::PulseAudio).or_else(|| {
        // Without a card libasound prints errors on stderr.
        // The file in which ALSA lists its sound cards.
        let cards = std::fs::read_to_string("/proc/asound/cards").unwrap_or_default();
        let has_card = cards.trim_start().starts_with(|first: char| first.is_ascii_digit());
        has_card.then(|| device(HostId::Alsa)).flatten()
    })
}
