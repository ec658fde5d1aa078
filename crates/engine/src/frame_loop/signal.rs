//! The signal that a command of the engine has completed. Drivers set it on their threads. It wakes the device's thread if that has the
//! engine, else the window's loop.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::jobs::Waker;

/// The reason why a wait of the device's thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// The window's thread reclaims the engine.
    Reclaimed,
    /// A command has completed.
    Completed,
    /// Neither happened within the timeout.
    TimedOut,
}

/// The state that the window's thread, the device's thread and the driver's callbacks share.
#[derive(Debug, Default)]
struct State {
    is_completed: bool,
    /// The engine is on the device's thread.
    is_handed_off: bool,
    is_reclaimed: bool,
}

/// The signal by which completed commands of one engine wake the thread that has the engine.
pub(super) struct CompletionSignal {
    state: Mutex<State>,
    changed: Condvar,
    wake_window: Waker,
}

impl CompletionSignal {
    /// Creates the signal; `wake_window` wakes the window's loop.
    pub(super) fn new(wake_window: &Waker) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), wake_window: wake_window.clone() })
    }

    /// Returns a function that sets the signal, to be called by the engine when a command completes.
    pub(super) fn waker(signal: &Arc<Self>) -> Waker {
        let signal = signal.clone();
        Arc::new(move || signal.complete())
    }

    /// Locks the state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a command has completed, and wakes the thread that has the engine.
    fn complete(&self) {
        let mut state = self.state();
        state.is_completed = true;
        let is_handed_off = state.is_handed_off;
        drop(state);
        if is_handed_off {
            self.changed.notify_all();
        } else {
            (self.wake_window)();
        }
    }

    /// Resets the signal before the engine goes to the device's thread.
    pub(super) fn begin_handoff(&self) {
        *self.state() = State { is_handed_off: true, ..State::default() };
    }

    /// Requests that the device's thread return the engine.
    pub(super) fn reclaim(&self) {
        self.state().is_reclaimed = true;
        self.changed.notify_all();
    }

    /// Notes that the engine returns to the window's thread. A later completion wakes the window's loop; an earlier one that the device's
    /// thread did not wait for is returned by [`CompletionSignal::take_completed`].
    pub(super) fn end_handoff(&self) {
        self.state().is_handed_off = false;
    }

    /// Waits until a command completes, the window's thread reclaims the engine, or the timeout is over.
    pub(super) fn wait(&self, timeout: Duration) -> WakeReason {
        let is_silent = |state: &mut State| !state.is_completed && !state.is_reclaimed;
        let waited = self.changed.wait_timeout_while(self.state(), timeout, is_silent);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (state.is_reclaimed, std::mem::take(&mut state.is_completed)) {
            (true, _) => WakeReason::Reclaimed,
            (_, true) => WakeReason::Completed,
            _ => WakeReason::TimedOut,
        }
    }

    /// Returns true if there was a completion since the last call, or since the device's thread last waited.
    pub(super) fn take_completed(&self) -> bool {
        std::mem::take(&mut self.state().is_completed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_completion_wakes_the_thread_that_has_the_engine() {
        let woken = Arc::new(AtomicUsize::new(0));
        let counted = woken.clone();
        let window: Waker = Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let signal = CompletionSignal::new(&window);
        let complete = CompletionSignal::waker(&signal);
        complete();
        assert!(woken.load(Ordering::SeqCst) == 1 && signal.take_completed() && !signal.take_completed());
        signal.begin_handoff();
        complete();
        assert_eq!(woken.load(Ordering::SeqCst), 1, "the device's thread has it");
        assert_eq!(signal.wait(Duration::from_secs(1000)), WakeReason::Completed);
        assert_eq!(signal.wait(Duration::ZERO), WakeReason::TimedOut);
        signal.reclaim();
        complete();
        assert_eq!(signal.wait(Duration::from_secs(1000)), WakeReason::Reclaimed);
        // A completion after the last wait is not lost.
        complete();
        signal.end_handoff();
        assert!(signal.take_completed());
        complete();
        assert_eq!(woken.load(Ordering::SeqCst), 2);
        // A waiting thread is woken.
        signal.begin_handoff();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| signal.wait(Duration::from_secs(1000)));
            complete();
            assert_eq!(waits.join().unwrap(), WakeReason::Completed);
        });
    }
}
