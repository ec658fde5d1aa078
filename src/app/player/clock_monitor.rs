//! The speed of the device's clock for the table of stages, read once a second on a thread while the table is open.

use std::time::Duration;

use base::jobs::{Job, JobMessage, Waker};
use opencl::cl::Device;
use opencl::clock_speed::{ClockReader, ClockSnapshot};

/// The time between two readings.
const INTERVAL: Duration = Duration::from_secs(1);

/// The last reading of a device's clock, or the reason why it cannot be read, as a sentence.
type ClockReading = Result<ClockSnapshot, String>;

/// Reads the clock of the device in use.
#[derive(Default)]
pub(super) struct ClockMonitor {
    /// The thread that reads the clock; `None` while nobody needs it.
    job: Option<Job<(), ClockReading>>,
    /// The name and driver of the device that the job reads, to detect another one.
    device: Option<String>,
    reading: Option<ClockReading>,
}

impl ClockMonitor {
    /// Returns the last reading for `device`; `None` before the first one. Starts the thread if `is_visible` is true, and ends it
    /// otherwise or if the device has changed. Without a device the clocks of the processors are read.
    pub(super) fn sample(
        &mut self,
        device: Option<&Device>,
        is_visible: bool,
        waker: &Waker,
    ) -> Option<&ClockReading> {
        let key = device.map(|device| format!("{}/{:?}", device.info.name, device.info.pci_address));
        if !is_visible || key != self.device {
            self.job = None;
            self.reading = None;
            self.device = key;
        }
        if is_visible && self.job.is_none() && self.reading.is_none() {
            let device = device.cloned();
            let job =
                Job::spawn("clock", "The clock of the device cannot be read.", waker, move |reporter| {
                    let reader = match ClockReader::new(device.as_ref()) {
                        Ok(reader) => reader,
                        Err(why) => {
                            reporter.report(Err(why));
                            return Ok(());
                        }
                    };
                    while !reporter.is_cancelled() && reporter.report(Ok(reader.snapshot())) {
                        std::thread::sleep(INTERVAL);
                    }
                    Ok(())
                });
            match job {
                Ok(job) => self.job = Some(job),
                Err(error) => self.reading = Some(Err(error.to_string())),
            }
        }
        while let Some(message) = self.job.as_ref().and_then(Job::poll) {
            match message {
                JobMessage::Progress(reading) => self.reading = Some(reading),
                JobMessage::Done(Err(error)) => self.reading = Some(Err(error.to_string())),
                JobMessage::Done(Ok(())) => {}
            }
        }
        self.reading.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn reads_only_while_visible() {
        let waker: Waker = Arc::new(|| ());
        let mut monitor = ClockMonitor::default();
        assert_eq!(monitor.sample(None, false, &waker), None);
        let began = Instant::now();
        while monitor.sample(None, true, &waker).is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "no reading and no reason");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(monitor.sample(None, false, &waker), None, "an old reading is not shown");
        assert!(monitor.job.is_none());
    }
}
