//! The clock frequency of the device for the table of stages, read once a second on a thread while the table is open.

use std::time::Duration;

use crate::app::lane::{Lane, Slot, Task, Worker};
use base::device::ClockSnapshot;
use opencl::cl::Device;
use opencl::clock_speed::ClockReader;

/// The time between two readings of the clock.
const INTERVAL: Duration = Duration::from_secs(1);

/// The last reading of a device's clock, or the reason (a sentence) why the clock cannot be read.
type ClockReading = Result<ClockSnapshot, String>;

/// The task that reads the clock of the device in use, and the last reading.
#[derive(Default)]
pub(super) struct ClockMonitor {
    /// The task that reads the clock while the table of stages is open.
    task: Slot<(), ClockReading>,
    /// The name and driver of the device that the task reads; compared in order to notice a change of the device.
    device: Option<String>,
    reading: Option<ClockReading>,
}

impl ClockMonitor {
    /// Returns the last reading of the clock of `device`; `None` before the first reading. Starts the task if `is_visible` is
    /// true, and ends it otherwise or if the device has changed. Without a device, reads the clocks of the CPUs.
    pub(super) fn sample(
        &mut self,
        device: Option<&Device>,
        is_visible: bool,
        lane: &mut Lane,
    ) -> Option<&ClockReading> {
        let key = device.map(|device| format!("{}/{:?}", device.info.name, device.info.pci_address));
        if !is_visible || key != self.device {
            self.task.stop();
            self.reading = None;
            self.device = key;
        }
        if is_visible && !self.task.is_under_way() && self.reading.is_none() {
            let device = device.cloned();
            let read = move |worker: &Worker<'_, (), ClockReading>| {
                match ClockReader::new(device.as_ref()) {
                    Ok(reader) => {
                        while worker.reporter.report(Ok(reader.snapshot())) && !worker.reporter.is_cancelled()
                        {
                            worker.pause(INTERVAL);
                        }
                    }
                    Err(why) => _ = worker.reporter.report(Err(why)),
                }
                Ok(Some(()))
            };
            if let Err(error) = self.task.start((lane, Task::Clock), "", read) {
                self.reading = Some(Err(error.to_string()));
            }
        }
        let news = self.task.poll();
        let failed = news.result.and_then(Result::err).map(|error| Err(error.to_string()));
        self.reading = news.progress.into_iter().chain(failed).next_back().or_else(|| self.reading.take());
        self.reading.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::jobs::Waker;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn reads_only_while_visible() {
        let mut lane = Lane::new(&(Arc::new(|| ()) as Waker));
        let mut monitor = ClockMonitor::default();
        assert_eq!(monitor.sample(None, false, &mut lane), None);
        let began = Instant::now();
        while monitor.sample(None, true, &mut lane).is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "no reading and no reason");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(monitor.sample(None, false, &mut lane), None, "an old reading is not shown");
        assert!(!monitor.task.is_under_way());
    }
}
