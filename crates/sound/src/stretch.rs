//! Changes the tempo of sound and keeps its pitch.
//!
//! The method is WSOLA (waveform-similarity overlap-add; Verhelst and Roelands, ICASSP 1993), with splices only where they are
//! needed: the output copies the input, sample for sample, until it is more than [`TOLERANCE_S`] away from the position that
//! the tempo requires. Then it cross-fades to the place near that position where the input is most similar to the natural
//! continuation of the output. At a tempo of 1 there are no splices, and the output equals the input.

use super::ring::{Reader, Stereo};

/// Seconds of output in a step. Each step either continues the output where the previous step ended, or cross-fades to another
/// place.
const STEP_S: f64 = 0.02;
/// Seconds of a cross-fade to another place in the input.
const FADE_S: f64 = 0.01;
/// The maximum distance in seconds of the output, as it is heard, from the position that the tempo requires. It is also the
/// distance from that position within which the input is searched for a similar place: more than half a period of a low voice.
const TOLERANCE_S: f64 = 0.006;
/// Seconds of samples before the current position that can still be read, since the position jumps back when the tempo falls.
const HISTORY_S: f64 = 0.4;
/// The step in samples of the coarse search, both between the places that it compares and between the samples that it compares
/// at a place.
const COARSE: usize = 4;

/// Reads samples from the ring buffer at any tempo, with their original pitch.
#[derive(Default)]
pub(crate) struct Stretch {
    rate: f64,
    /// The position that the tempo requires at the next step.
    target: f64,
    /// The position of the sample that directly follows the output in the input; `None` if the output was silent.
    natural: Option<i64>,
    /// The output of the last step.
    ready: Vec<Stereo>,
    /// The number of samples in `ready` that were already returned.
    returned: usize,
    /// The natural continuation of the output. The search looks for a similar place in `around`, the input around the required
    /// position.
    tail: Vec<Stereo>,
    around: Vec<Stereo>,
}

impl Stretch {
    /// Creates a reader at position 0 for samples at this rate.
    pub(crate) fn new(rate: u32) -> Self {
        Self { rate: rate.into(), ..Self::default() }
    }

    /// Returns the number of samples in `seconds`, at least 1.
    fn samples(&self, seconds: f64) -> usize {
        ((self.rate * seconds) as usize).max(1)
    }

    /// Continues at `position`: the output cross-fades to the input there.
    pub(crate) fn jump(&mut self, position: f64) {
        self.target = position;
        self.ready.clear();
        self.returned = 0;
    }

    /// Discards the computed output. The next output begins as if after silence, without a cross-fade.
    pub(crate) fn reset(&mut self) {
        self.natural = None;
        self.ready.clear();
        self.returned = 0;
    }

    /// Returns the position in the input that the next sample of the output has at this tempo.
    pub(crate) fn position(&self, tempo: f64) -> f64 {
        self.target - (self.ready.len() - self.returned) as f64 * tempo
    }

    /// Fills `out` with the next samples of the output at this tempo.
    pub(crate) fn fill(&mut self, reader: &mut Reader, tempo: f64, out: &mut [Stereo]) {
        let mut filled = 0;
        while filled < out.len() {
            if self.returned == self.ready.len() {
                self.step(reader, tempo);
            }
            let count = (self.ready.len() - self.returned).min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&self.ready[self.returned..self.returned + count]);
            filled += count;
            self.returned += count;
        }
    }

    /// Computes the output of one step.
    fn step(&mut self, reader: &mut Reader, tempo: f64) {
        let (step, fade) = (self.samples(STEP_S), self.samples(FADE_S));
        // In the middle of the step the output should have the position of the middle.
        let target = (self.target + step as f64 * (tempo - 1.0) / 2.0).round() as i64;
        let tolerance = self.samples(TOLERANCE_S) as i64;
        // At half the tempo a distance in the input is heard twice as long.
        let kept = (tolerance as f64 * tempo.min(1.0)) as i64;
        let place = match self.natural {
            Some(natural) if (natural - target).abs() <= kept => natural,
            natural => {
                self.tail.resize(fade, [0.0; 2]);
                match natural {
                    Some(natural) => reader.read(natural, &mut self.tail),
                    None => self.tail.fill([0.0; 2]),
                }
                self.most_similar(reader, target, tolerance)
            }
        };
        self.ready.resize(step, [0.0; 2]);
        self.returned = 0;
        reader.read(place, &mut self.ready);
        // A beginning after silence is not faded in: its first samples would be lost.
        if self.natural != Some(place) && self.tail.iter().any(|sample| *sample != [0.0; 2]) {
            for (index, (to, from)) in self.ready.iter_mut().zip(&self.tail).enumerate() {
                let weight = (index as f32 + 0.5) / fade as f32;
                *to = [0, 1].map(|channel| from[channel] + weight * (to[channel] - from[channel]));
            }
        }
        self.natural = Some(place + step as i64);
        self.target += step as f64 * tempo;
        reader.release(place.min(self.target as i64) - self.samples(HISTORY_S) as i64);
    }

    /// Returns the position within `tolerance` of `target` at which the input is most similar to `tail`, the continuation of
    /// the output.
    fn most_similar(&mut self, reader: &mut Reader, target: i64, tolerance: i64) -> i64 {
        let first = target - tolerance;
        self.around.resize(2 * tolerance as usize + self.tail.len(), [0.0; 2]);
        reader.read(first, &mut self.around);
        let last = 2 * tolerance as usize;
        let best_of = |candidates: &mut dyn Iterator<Item = usize>, stride: usize| {
            let likeness = |at: usize| (similarity(&self.tail, &self.around[at..], stride), at);
            candidates.map(likeness).max_by(|a, b| a.0.total_cmp(&b.0)).map_or((0.0, last / 2), |best| best)
        };
        let (likeness, coarse) = best_of(&mut (0..=last).step_by(COARSE), COARSE);
        if likeness <= 0.0 {
            // Silence resembles nothing.
            return target;
        }
        let nearby = coarse.saturating_sub(COARSE)..=(coarse + COARSE).min(last);
        first + best_of(&mut nearby.into_iter(), 1).1 as i64
    }
}

/// Returns the normalised correlation of `a` with the beginning of `b`, of every `stride`-th sample; 0 for silence.
fn similarity(a: &[Stereo], b: &[Stereo], stride: usize) -> f32 {
    let mono = |sample: &Stereo| sample[0] + sample[1];
    let (mut product, mut energy) = (0.0, 0.0);
    for (a, b) in a.iter().zip(b).step_by(stride) {
        product += mono(a) * mono(b);
        energy += mono(b) * mono(b);
    }
    if energy > 1e-9 { product / energy.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::ring::{Writer, ring};
    use super::*;

    const RATE: u32 = 48_000;

    /// Returns a sample of a tone of 440 Hz.
    fn tone(index: i64) -> f32 {
        (index as f64 * 440.0 / f64::from(RATE) * std::f64::consts::TAU).sin() as f32
    }

    /// Returns a ring with this number of samples of the tone, whose reader takes samples.
    fn toned(count: i64) -> (Writer, Reader) {
        let (mut writer, mut reader) = ring(count as usize);
        reader.resume();
        reader.resume();
        writer.mark(0, false);
        writer.write(&(0..count).map(|index| [tone(index); 2]).collect::<Vec<_>>());
        (writer, reader)
    }

    /// Returns `seconds` of output at this tempo, from the tone.
    fn stretched(tempo: f64, seconds: f64) -> Vec<f32> {
        let (_writer, mut reader) = toned(8 * i64::from(RATE));
        let mut stretch = Stretch::new(RATE);
        let mut out = vec![[0.0; 2]; (f64::from(RATE) * seconds) as usize];
        for part in out.chunks_mut(777) {
            stretch.fill(&mut reader, tempo, part);
        }
        out.iter().map(|sample| sample[0]).collect()
    }

    /// Returns the frequency by the rising zero crossings.
    fn frequency(samples: &[f32]) -> f64 {
        let crossings = samples.windows(2).filter(|w| w[0] < 0.0 && w[1] >= 0.0).count();
        crossings as f64 * f64::from(RATE) / samples.len() as f64
    }

    #[test]
    fn output_equals_input_at_the_usual_tempo_and_the_position_follows_the_tempo() {
        let out = stretched(1.0, 2.0);
        assert!(out.iter().enumerate().skip(480).all(|(index, sample)| *sample == tone(index as i64)));

        let (_writer, mut reader) = ring(16);
        reader.resume();
        reader.resume();
        let mut stretch = Stretch::new(RATE);
        stretch.jump(1000.0);
        let mut out = vec![[0.0; 2]; 1234];
        assert_eq!(stretch.position(2.0), 1000.0);
        stretch.fill(&mut reader, 2.0, &mut out);
        assert_eq!(stretch.position(2.0), 1000.0 + 2.0 * 1234.0);
    }

    #[test]
    fn the_pitch_stays_at_every_tempo_and_a_jump_has_no_click() {
        for tempo in [0.25, 0.5, 0.9, 1.1, 1.5, 2.0, 3.0, 4.0] {
            let out = stretched(tempo, 1.5);
            assert!((frequency(&out[4800..]) - 440.0).abs() < 8.0, "{tempo}: {}", frequency(&out[4800..]));
            let loudest =
                out[4800..].chunks(480).map(|part| part.iter().fold(0.0, |m: f32, s| m.max(s.abs())));
            assert!(loudest.fold(1.0, f32::min) > 0.8, "{tempo}: no splice cancels the tone");
            let steepest = out[4800..].windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
            assert!(steepest < 0.12, "{tempo}: a click of {steepest}");
        }

        let (_writer, mut reader) = toned(40_000);
        let mut stretch = Stretch::new(RATE);
        let mut out = vec![[0.0; 2]; 9_600];
        let (before, after) = out.split_at_mut(4_800);
        stretch.fill(&mut reader, 1.0, before);
        stretch.jump(20_033.0);
        stretch.fill(&mut reader, 1.0, after);
        let steepest = out[1000..].windows(2).map(|w| (w[1][0] - w[0][0]).abs()).fold(0.0, f32::max);
        assert!(steepest < 0.12, "{steepest}");
    }
}
