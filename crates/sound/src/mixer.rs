//! Fills the audio device's buffers: takes samples at the position of the movie's clock, changes their tempo, and applies the
//! volume.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::ring::{Reader, Stereo};
use super::stretch::Stretch;
use super::transport::{Anchor, Shared, Transport};

/// Computes the samples that the audio device plays; runs in the device's callback.
///
/// After a start, a seek or a pause, the clock waits for the sound: the sound begins with its first sample, and the mixer
/// reports the time at which that sample is heard. After a change of the tempo, the mixer takes its position from the clock.
/// From then on, positions follow from the samples that the device consumes, and the window adjusts its clock to them; the
/// sound is never adjusted.
pub(crate) struct Mixer {
    shared: Arc<Shared>,
    pub(crate) reader: Reader,
    stretch: Stretch,
    rate: f64,
    /// The [`Transport::revision`] (it changes when the clock jumps, stops or continues) of the clock from which the current
    /// position was taken; `None` if the mixer must take the position from the clock again.
    revision: Option<u64>,
    /// The number of silent samples to play until the clock starts.
    delay: usize,
    /// The number of times that the mixer went back to the beginning of a segment (a part of the play timeline without a seek
    /// or loop) because the segment's samples were decoded too late.
    delays: u32,
    /// The factor by which the present sample is multiplied; it approaches the factor for the volume that the user has set, or
    /// 0 while the clock is stopped.
    gain: f32,
    /// The largest change of `gain` from one sample to the next.
    gain_step: f32,
}

impl Mixer {
    pub(crate) fn new(shared: Arc<Shared>, reader: Reader, rate: u32) -> Self {
        Self {
            shared,
            reader,
            stretch: Stretch::new(rate),
            rate: rate.into(),
            revision: None,
            delay: 0,
            delays: 0,
            gain: 0.0,
            // Seconds in which the volume rises from silence to its maximum or falls from there, so that a start or stop makes no click.
            gain_step: 1.0 / (0.005 * rate as f32),
        }
    }

    /// Fills `out`, a buffer of the audio device, whose first sample is heard at `heard_at`.
    pub(crate) fn mix(&mut self, out: &mut [Stereo], heard_at: Instant) {
        let transport = *self.shared.transport.lock();
        let is_new = self.revision != Some(transport.revision);
        if !transport.is_running || !is_new || !transport.waits_for_sound {
            return self.mix_part(out, &transport, heard_at);
        }
        let stopped = Transport { is_running: false, ..transport };
        // The sound can begin once its samples are in the ring buffer and the device consumes samples. The first buffer after the
        // stream was opened or paused does not count: the device asks for it at once, but may wake up and play it only after more
        // than a second.
        let buffers = self.shared.buffers.load(Ordering::Relaxed);
        let plays = buffers > self.shared.played_from.load(Ordering::Acquire).saturating_add(1);
        if !plays || self.shared.ready.load(Ordering::Acquire) != transport.revision {
            return self.mix_part(out, &stopped, heard_at);
        }
        // Sound from the position before fades out first.
        let fade = if self.gain > 0.0 { (1.0 / self.gain_step) as usize + 1 } else { 0 };
        let (before, out) = out.split_at_mut(fade.min(out.len()));
        if !before.is_empty() {
            self.mix_part(before, &stopped, heard_at);
        }
        let heard_at = heard_at + Duration::from_secs_f64(before.len() as f64 / self.rate);
        self.stretch.reset();
        self.reader.resume();
        self.stretch.jump(transport.position_ns as f64 * self.rate / 1e9);
        (self.revision, self.delay) = (Some(transport.revision), 0);
        self.mix_part(out, &transport, heard_at);
        self.shared.has_begun.store(true, Ordering::Release);
    }

    /// Fills a part of the device's buffer in which the state of the clock does not change.
    fn mix_part(&mut self, out: &mut [Stereo], transport: &Transport, heard_at: Instant) {
        out.fill([0.0; 2]);
        if !transport.is_running && self.gain == 0.0 {
            self.revision = None;
            self.stretch.reset();
            // Drops samples that the decoder has discarded, so that samples of a new position find space.
            self.reader.read(i64::MIN, &mut []);
            return;
        }
        let is_new = self.revision != Some(transport.revision);
        if transport.is_running && (is_new || self.reader.is_held()) {
            self.revision = Some(transport.revision);
            let position_ns = transport.position_ns_at(heard_at);
            self.reader.resume();
            self.stretch.jump(position_ns as f64 * self.rate / 1e9);
            let wait_s = transport.at.saturating_duration_since(heard_at).as_secs_f64();
            self.delay = (wait_s * self.rate) as usize;
        }
        let silent = self.delay.min(out.len());
        self.delay -= silent;
        let mut position = self.stretch.position(transport.tempo);
        if let Some(begin) = self.reader.missed_beginning(position as i64) {
            self.stretch.reset();
            self.stretch.jump(begin as f64);
            position = begin as f64;
            self.delays = self.delays.wrapping_add(1);
        }
        self.stretch.fill(&mut self.reader, transport.tempo, &mut out[silent..]);
        if transport.is_running && silent == 0 {
            let position_ns = (position / self.rate * 1e9) as i64;
            let (revision, delays) = (transport.revision, self.delays);
            *self.shared.anchor.lock() = Some(Anchor { revision, position_ns, heard_at, delays });
        }
        let wanted = if transport.is_running { self.shared.gain() } else { 0.0 };
        for sample in out {
            self.gain += (wanted - self.gain).clamp(-self.gain_step, self.gain_step);
            *sample = sample.map(|channel| (channel * self.gain).clamp(-1.0, 1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::ring::{Writer, ring};
    use super::super::transport::Transport;
    use super::*;

    const RATE: u32 = 48_000;

    struct Bench {
        shared: Arc<Shared>,
        writer: Writer,
        mixer: Mixer,
        start: Instant,
    }

    /// Returns a mixer with two seconds of samples, each of which is its position in the ring divided by 100,000.
    fn bench() -> Bench {
        let shared = Arc::new(Shared::new());
        let (mut writer, reader) = ring(2 * RATE as usize);
        writer.mark(0, false);
        writer.write(&(0..2 * RATE).map(|i| [i as f32 / 1e5; 2]).collect::<Vec<_>>());
        let mixer = Mixer::new(shared.clone(), reader, RATE);
        Bench { shared, writer, mixer, start: Instant::now() }
    }

    impl Bench {
        fn set(&self, transport: Transport) {
            self.shared.set_transport(transport, &std::thread::current());
        }

        fn run(&self, revision: u64, is_running: bool, position_ms: i64, at_ms: u64) {
            let at = self.start + Duration::from_millis(at_ms);
            let position_ns = position_ms * 1_000_000;
            let placed = Transport { is_placed: true, is_running, ..Transport::stopped() };
            self.set(Transport { revision, position_ns, at, ..placed });
        }

        /// Returns the positions of the samples in a buffer of 20 ms that is heard at `at_ms`.
        fn mix(&mut self, at_ms: u64) -> Vec<i64> {
            let mut out = vec![[0.0; 2]; 960];
            self.mixer.mix(&mut out, self.start + Duration::from_millis(at_ms));
            out.iter().map(|sample| (f64::from(sample[0]) * 1e5).round() as i64).collect()
        }
    }

    #[test]
    fn the_position_comes_from_the_clock_or_from_the_first_sample() {
        let mut bench = bench();
        assert!(bench.mix(0).iter().all(|sample| *sample == 0), "nothing runs");
        bench.run(1, true, 500, 100);
        let out = bench.mix(150);
        assert_eq!(out[900], (24_000 + 2_400 + 900), "50 ms after the start");
        let anchor = bench.shared.anchor.lock().take().unwrap();
        assert_eq!((anchor.revision, anchor.position_ns), (1, 550_000_000));
        // The device's clock goes its own way.
        assert_eq!(bench.mix(171)[10], 24_000 + 2_400 + 960 + 10);
        let anchor = bench.shared.anchor.lock().take().unwrap();
        assert_eq!(anchor.position_ns, 570_000_000);
        assert_eq!(anchor.heard_at, bench.start + Duration::from_millis(171));

        let mut bench = self::bench();
        bench.run(1, true, 500, 110);
        let out = bench.mix(100);
        assert!(out[..480].iter().all(|sample| *sample == 0));
        assert!(bench.shared.anchor.lock().take().is_none(), "nothing is heard at the buffer's beginning");
        assert!(out[480] > 0 && out[959] > 24_000, "it fades in");
        assert_eq!(bench.mix(120)[0], 24_000 + 480);

        let mut bench = self::bench();
        let at = bench.start + Duration::from_secs(2);
        let placed = Transport { is_placed: true, is_running: true, ..Transport::stopped() };
        let waiting = Transport { waits_for_sound: true, at, ..placed };
        bench.set(Transport { revision: 1, position_ns: 500_000_000, ..waiting });
        assert!(bench.mix(100).iter().all(|sample| *sample == 0), "its samples are not in the ring");
        bench.shared.ready.store(1, Ordering::Relaxed);
        bench.shared.buffers.store(8, Ordering::Relaxed);
        assert!(bench.mix(120).iter().all(|sample| *sample == 0), "the device does not play");
        bench.shared.played_from.store(7, Ordering::Relaxed);
        assert!(bench.mix(140).iter().all(|sample| *sample == 0), "the first buffer may wait for the device");
        assert!(bench.shared.anchor.lock().take().is_none());
        bench.shared.buffers.store(9, Ordering::Relaxed);
        let out = bench.mix(160);
        assert_eq!((out[240], out[959]), (24_240, 24_959));
        let anchor = bench.shared.anchor.lock().take().unwrap();
        let heard_at = bench.start + Duration::from_millis(160);
        assert_eq!((anchor.position_ns, anchor.heard_at), (500_000_000, heard_at));
        // A pause that waits again, before the sound is silent: it fades out first.
        bench.set(Transport { revision: 2, position_ns: 510_000_000, ..waiting });
        bench.shared.ready.store(2, Ordering::Relaxed);
        let out = bench.mix(180);
        assert_eq!(out[959], 24_480 + 959 - 240);
        assert_eq!(bench.shared.anchor.lock().take().unwrap().position_ns, 510_000_000);
    }

    #[test]
    fn discarded_samples_are_followed_by_others_and_late_ones_are_heard() {
        let mut bench = bench();
        bench.run(1, true, 0, 0);
        let _ = bench.mix(0);
        // The track was opened again, at the clock's position.
        bench.writer.discard();
        let _ = bench.mix(20);
        bench.writer.mark(1920, false);
        bench.writer.write(&(1920..8000).map(|i| [i as f32 / 1e5; 2]).collect::<Vec<_>>());
        assert_eq!(bench.mix(40)[900], 2820);

        let mut bench = self::bench();
        bench.writer.discard();
        for (revision, position_ms) in [(1, i64::MAX / 1_000_000), (2, i64::MIN / 1_000_000), (3, 0)] {
            bench.run(revision, true, position_ms, 0);
            assert!(bench.mix(20).iter().all(|sample| *sample == 0));
        }

        let mut bench = self::bench();
        bench.run(1, true, 1900, 0);
        let _ = bench.mix(0);
        let _ = bench.shared.anchor.lock().take();
        for turn in 1..6 {
            let _ = bench.mix(20 * turn);
        }
        assert_eq!(bench.shared.anchor.lock().take().unwrap().delays, 0);
        // The movie was repeated at 2 s; the sound is 20 ms beyond that.
        bench.writer.mark(2 * i64::from(RATE), true);
        bench.writer.write(&vec![[0.5; 2]; 4800]);
        let out = bench.mix(120);
        assert_eq!(out[0], 50_000);
        let anchor = bench.shared.anchor.lock().take().unwrap();
        assert_eq!((anchor.position_ns, anchor.delays), (2_000_000_000, 1));
    }

    #[test]
    fn a_pause_and_a_change_of_volume_are_gradual() {
        let mut bench = bench();
        bench.run(1, true, 0, 0);
        let _ = bench.mix(0);
        bench.run(2, false, 5, 5);
        let out = bench.mix(20);
        assert!(out[100] > 0 && out[300..].iter().all(|sample| *sample == 0));
        assert!(bench.mix(40).iter().all(|sample| *sample == 0));
        bench.run(3, true, 5, 1000);
        let out = bench.mix(1015);
        assert_eq!(out[959], 960 + 959, "15 ms after the start at 5 ms");

        let mut bench = self::bench();
        bench.run(1, true, 1000, 0);
        let _ = bench.mix(0);
        bench.shared.set_gain(0.5);
        let out = bench.mix(20);
        let steepest = out.windows(2).map(|w| (w[1] - w[0]).abs()).max().unwrap();
        assert!(steepest < 500, "{steepest}");
        assert!((out[959] - (48_000 + 960 + 959) / 2).abs() <= 1, "{}", out[959]);
    }
}
