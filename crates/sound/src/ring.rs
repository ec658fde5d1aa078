//! A lock-free ring buffer of samples between the decoding thread and the audio device's callback. Samples have positions on
//! the play timeline, counted in samples at the device's rate.
//!
//! The writer appends samples, and a [`Mark`] wherever positions are not consecutive. The reader asks for samples by position:
//! it drops samples that come too late, and returns silence at positions without samples.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

/// One sample of both channels: left and right.
pub(crate) type Stereo = [f32; 2];

/// A place in the ring buffer at which the positions of samples are not consecutive.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The number of samples that were written before the mark.
    index: u64,
    /// The position of the first sample after the mark.
    position: i64,
    /// True if a segment (a part of the play timeline without a seek or loop) begins at the mark, of which no sample may be
    /// lost.
    begins: bool,
}

/// The writing end of a ring buffer, for the decoding thread.
pub(crate) struct Writer {
    samples: Producer<Stereo>,
    marks: Producer<Mark>,
    written: u64,
    marked: u64,
    discarded: Arc<Discarded>,
}

/// Counters that tell the reader which samples and marks to drop: all that were written before the last [`Writer::discard`].
#[derive(Default)]
struct Discarded {
    /// The number of calls of [`Writer::discard`].
    count: AtomicU64,
    /// The number of samples that were written before the last call; `marks` is the number of marks.
    samples: AtomicU64,
    marks: AtomicU64,
}

/// The reading end of a ring buffer, for the device's callback.
pub(crate) struct Reader {
    samples: Consumer<Stereo>,
    marks: Consumer<Mark>,
    /// The number of samples taken from the ring.
    taken: u64,
    /// The number of marks taken from the ring.
    taken_marks: u64,
    /// The position of the next sample in the ring buffer; meaningless before the first mark.
    next: i64,
    /// Samples that were taken from the ring buffer and may be read again; the last one precedes `next`, unless a mark lies
    /// between.
    window: VecDeque<Stereo>,
    /// Position of the first sample in `window`.
    start: i64,
    discarded: Arc<Discarded>,
    /// The number of calls of [`Writer::discard`] whose samples the reader has dropped.
    obeyed: u64,
    /// True at the start, and after samples were discarded, until [`Reader::resume`]. The samples that follow in the ring
    /// buffer belong to another position, and stay there meanwhile.
    is_held: bool,
    /// The largest number of samples by which the reader may be past the beginning of a segment and still go back to it.
    max_delay: i64,
}

/// Creates a ring buffer for `capacity` samples.
pub(crate) fn ring(capacity: usize) -> (Writer, Reader) {
    let (samples, taken) = RingBuffer::new(capacity);
    // The number of marks that fit in a ring buffer.
    let (marks, taken_marks) = RingBuffer::new(64);
    let discarded = Arc::<Discarded>::default();
    let writer = Writer { samples, marks, written: 0, marked: 0, discarded: discarded.clone() };
    let reader = Reader {
        samples: taken,
        marks: taken_marks,
        taken: 0,
        taken_marks: 0,
        next: 0,
        window: VecDeque::with_capacity(capacity),
        start: 0,
        discarded,
        obeyed: 0,
        is_held: true,
        max_delay: capacity as i64 / 2,
    };
    (writer, reader)
}

impl Writer {
    /// Returns the number of samples that can be written at present.
    pub(crate) fn space(&self) -> usize {
        self.samples.slots()
    }

    /// Sets the position of the sample that is written next. `begins` is true if a segment begins there. Returns false if the
    /// ring buffer already has the maximum number of marks.
    pub(crate) fn mark(&mut self, position: i64, begins: bool) -> bool {
        let is_marked = self.marks.push(Mark { index: self.written, position, begins }).is_ok();
        self.marked += u64::from(is_marked);
        is_marked
    }

    /// Appends as many samples as fit; returns their number.
    pub(crate) fn write(&mut self, samples: &[Stereo]) -> usize {
        let count = samples.len().min(self.space());
        if let Ok(chunk) = self.samples.write_chunk_uninit(count) {
            self.written += chunk.fill_from_iter(samples.iter().copied()) as u64;
        }
        count
    }

    /// Makes the reader drop all samples and marks that were written so far. Those that are written later stay in the ring
    /// buffer until [`Reader::resume`].
    pub(crate) fn discard(&self) {
        self.discarded.samples.store(self.written, Ordering::Relaxed);
        self.discarded.marks.store(self.marked, Ordering::Relaxed);
        self.discarded.count.fetch_add(1, Ordering::Release);
    }
}

impl Reader {
    /// Returns the number of samples in the ring buffer.
    pub(crate) fn waiting(&self) -> usize {
        self.samples.slots()
    }

    /// Lets the reader take samples that were written after the last [`Writer::discard`].
    pub(crate) fn resume(&mut self) {
        self.drop_discarded();
        if std::mem::replace(&mut self.is_held, false) {
            self.window.clear();
        }
    }

    /// Returns true if samples were discarded since the last [`Reader::resume`], or `resume` was never called.
    pub(crate) fn is_held(&mut self) -> bool {
        self.drop_discarded();
        self.is_held
    }

    /// Returns the position at which the next segment begins if it lies before `position`, because the segment's samples were
    /// written too late. Returns `None` if it does not, or lies before `position` by more than half of the ring buffer's
    /// capacity.
    pub(crate) fn missed_beginning(&mut self, position: i64) -> Option<i64> {
        self.drop_discarded();
        let mark = self.marks.peek().ok().filter(|mark| mark.begins && !self.is_held)?;
        let missed = position.saturating_sub(mark.position);
        (0 < missed && missed <= self.max_delay).then_some(mark.position)
    }

    /// Drops the samples before `position` from the window; they cannot be read again.
    pub(crate) fn release(&mut self, position: i64) {
        let old = usize::try_from(position.saturating_sub(self.start)).unwrap_or(0).min(self.window.len());
        self.window.drain(..old);
        self.start = self.start.saturating_add(old as i64);
    }

    /// Fills `out` with the samples from `position` on, and with silence where there are none, such as before the position of
    /// the last [`Reader::release`].
    pub(crate) fn read(&mut self, position: i64, out: &mut [Stereo]) {
        self.take_until(position, position.saturating_add(out.len() as i64));
        out.fill([0.0; 2]);
        let offset = position.saturating_sub(self.start);
        let skipped = usize::try_from(offset.saturating_neg()).unwrap_or(0).min(out.len());
        let from = usize::try_from(offset).unwrap_or(0);
        let samples = self.window.iter().skip(from);
        out[skipped..].iter_mut().zip(samples).for_each(|(to, sample)| *to = *sample);
    }

    /// Drops the next `count` samples in the ring buffer.
    fn skip(&mut self, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.samples.slots());
        if let Ok(chunk) = self.samples.read_chunk(count) {
            chunk.commit_all();
            self.taken += count as u64;
            self.next = self.next.saturating_add(count as i64);
        }
    }

    /// Drops the samples and marks that the writer has discarded. The window stays until [`Reader::resume`], so that its sound
    /// can fade out.
    fn drop_discarded(&mut self) {
        let count = self.discarded.count.load(Ordering::Acquire);
        if self.obeyed == count {
            return;
        }
        (self.obeyed, self.is_held) = (count, true);
        self.skip(self.discarded.samples.load(Ordering::Relaxed).saturating_sub(self.taken));
        while self.taken_marks < self.discarded.marks.load(Ordering::Relaxed) && self.take_mark() {}
    }

    /// Removes the next mark from the ring buffer; returns false if there is none.
    fn take_mark(&mut self) -> bool {
        let is_taken = self.marks.pop().is_ok();
        self.taken_marks += u64::from(is_taken);
        is_taken
    }

    /// Moves samples from the ring buffer to the window until the window reaches the position `end`, or the ring buffer is
    /// empty. Drops samples before `begin`.
    fn take_until(&mut self, begin: i64, end: i64) {
        self.drop_discarded();
        if self.is_held {
            return;
        }
        loop {
            let mark = self.marks.peek().ok().copied();
            // A mark ahead whose position has come replaces the samples before it.
            if let Some(mark) = mark
                && (mark.index <= self.taken || mark.position <= self.next)
            {
                if mark.position >= end && mark.index <= self.taken {
                    return;
                }
                self.skip(mark.index.saturating_sub(self.taken));
                if self.taken < mark.index {
                    return;
                }
                self.take_mark();
                self.next = mark.position;
                continue;
            }
            if self.next >= end {
                return;
            }
            let before_mark = mark.map_or(u64::MAX, |mark| mark.index - self.taken);
            let available = (self.samples.slots() as u64).min(before_mark);
            if available == 0 {
                return;
            }
            let late = u64::try_from(begin.saturating_sub(self.next)).unwrap_or(0).min(available);
            if late > 0 {
                self.skip(late);
                continue;
            }
            // A mark before it cuts the window; one after it leaves silence.
            let until_mark = mark.map_or(i64::MAX, |mark| mark.position.saturating_sub(self.next));
            let wanted = end.saturating_sub(self.next).min(until_mark).max(1);
            let count = available.min(wanted as u64) as usize;
            self.align_window();
            let Ok(chunk) = self.samples.read_chunk(count) else { return };
            self.window.extend(chunk);
            self.taken += count as u64;
            self.next = self.next.saturating_add(count as i64);
        }
    }

    /// Makes the window end at the position `next`: cuts the window, extends it with silence, or empties it and begins it
    /// there.
    fn align_window(&mut self) {
        let gap = self.next.saturating_sub(self.start.saturating_add(self.window.len() as i64));
        if self.window.is_empty() || self.next < self.start || gap > self.window.capacity() as i64 {
            self.window.clear();
            self.start = self.next;
        } else if gap < 0 {
            self.window.truncate((self.next - self.start) as usize);
        } else {
            self.window.extend(std::iter::repeat_n([0.0; 2], gap as usize));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns samples whose left channel counts from `first`.
    fn ramp(first: i64, count: i64) -> Vec<Stereo> {
        (first..first + count).map(|value| [value as f32, -1.0]).collect()
    }

    /// Returns a ring whose reader takes samples.
    fn started(capacity: usize) -> (Writer, Reader) {
        let (writer, mut reader) = ring(capacity);
        reader.resume();
        (writer, reader)
    }

    fn read(reader: &mut Reader, position: i64, count: usize) -> Vec<i64> {
        let mut out = vec![[9.0; 2]; count];
        reader.read(position, &mut out);
        out.iter().map(|sample| sample[0] as i64).collect()
    }

    #[test]
    fn samples_have_their_positions_however_far_apart() {
        let (mut writer, mut reader) = started(100);
        assert_eq!(read(&mut reader, 0, 3), [0, 0, 0], "silence at first");
        assert!(writer.mark(10, false));
        assert_eq!(writer.write(&ramp(10, 20)), 20);
        assert_eq!(read(&mut reader, 8, 4), [0, 0, 10, 11]);
        assert_eq!(read(&mut reader, 8, 4), [0, 0, 10, 11], "once more");
        reader.release(11);
        assert_eq!(read(&mut reader, 10, 4), [0, 11, 12, 13]);
        assert_eq!(read(&mut reader, 25, 8), [25, 26, 27, 28, 29, 0, 0, 0]);

        let (mut writer, mut reader) = started(100);
        writer.mark(0, false);
        writer.write(&ramp(1, 10));
        writer.mark(15, false);
        writer.write(&ramp(100, 10));
        assert_eq!(read(&mut reader, 8, 12), [9, 10, 0, 0, 0, 0, 0, 100, 101, 102, 103, 104]);
        assert_eq!(read(&mut reader, 50, 2), [0, 0]);
        assert_eq!(writer.space(), 100, "everything was taken");

        let (mut writer, mut reader) = started(16);
        writer.mark(i64::MAX - 4, false);
        writer.write(&ramp(1, 16));
        assert_eq!(read(&mut reader, 0, 2), [0, 0]);
        assert_eq!(read(&mut reader, i64::MAX - 8, 6), [0, 0, 0, 0, 1, 2]);
        writer.mark(i64::MIN, false);
        assert_eq!(read(&mut reader, i64::MIN, 2), [0, 0]);
    }

    #[test]
    fn marks_replace_samples_and_a_late_beginning_is_made_up_for() {
        let (mut writer, mut reader) = started(100);
        writer.mark(0, false);
        writer.write(&ramp(1, 20));
        // The movie begins again after eight frames.
        writer.mark(8, false);
        writer.write(&ramp(1000, 5));
        assert_eq!(read(&mut reader, 0, 12), [1, 2, 3, 4, 5, 6, 7, 8, 1000, 1001, 1002, 1003]);
        let (mut writer, mut reader) = started(100);
        writer.mark(0, false);
        writer.write(&ramp(1, 20));
        assert_eq!(read(&mut reader, 0, 12).last(), Some(&12), "taken before the mark came");
        writer.mark(8, false);
        writer.write(&ramp(1000, 9));
        assert_eq!(read(&mut reader, 6, 6), [7, 8, 1000, 1001, 1002, 1003]);

        let (mut writer, mut reader) = started(100);
        writer.mark(0, true);
        writer.write(&ramp(1, 20));
        assert_eq!(reader.missed_beginning(0), None);
        assert_eq!(read(&mut reader, 0, 30).last(), Some(&0));
        writer.mark(25, true);
        writer.write(&ramp(1, 20));
        assert_eq!(reader.missed_beginning(25), None, "in time");
        assert_eq!(reader.missed_beginning(80), None, "too late");
        assert_eq!(reader.missed_beginning(30), Some(25));
        assert_eq!(read(&mut reader, 25, 3), [1, 2, 3]);
        assert_eq!(reader.missed_beginning(28), None);
        // A gap in the sound is no beginning.
        writer.mark(50, false);
        writer.write(&ramp(1, 4));
        assert_eq!(read(&mut reader, 45, 1), [0]);
        assert_eq!(reader.missed_beginning(60), None);
    }

    #[test]
    fn discarding_makes_space_and_takes_marks_without_samples() {
        let (mut writer, mut reader) = started(16);
        writer.mark(0, false);
        assert_eq!(writer.write(&ramp(1, 20)), 16);
        assert_eq!(read(&mut reader, 0, 2), [1, 2]);
        writer.discard();
        assert!(writer.mark(100, false));
        assert_eq!(writer.space(), 2);
        assert_eq!(read(&mut reader, 0, 2), [1, 2], "until it resumes, the former samples can fade out");
        assert_eq!(writer.space(), 16);
        writer.write(&ramp(7, 4));
        assert_eq!(read(&mut reader, 200, 2), [0, 0], "nothing is taken");
        reader.resume();
        assert_eq!(read(&mut reader, 100, 5), [7, 8, 9, 10, 0]);

        let (mut writer, mut reader) = started(16);
        writer.mark(90, true);
        writer.discard();
        writer.mark(10, true);
        writer.write(&ramp(1, 4));
        reader.resume();
        assert_eq!(read(&mut reader, 10, 4), [1, 2, 3, 4]);
    }
}
