//! Who is called when something of the engine's is over. In: calls by drivers, on their threads, and a window that wants the
//! engine. Out: the device's thread goes on while it has the engine, else the window's loop is woken.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::jobs::Waker;

/// What the device's thread has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// The window wants the engine.
    Wanted,
    /// Something is over.
    Rung,
    /// Nothing, for as long as it has waited.
    Nothing,
}

#[derive(Debug, Default)]
struct State {
    rung: bool,
    lent: bool,
    wanted: bool,
}

/// Each engine has its own.
pub(super) struct Bell {
    state: Mutex<State>,
    heard: Condvar,
    window: Waker,
}

impl Bell {
    /// `window` wakes the window's loop.
    pub(super) fn new(window: &Waker) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), heard: Condvar::new(), window: window.clone() })
    }

    /// What the engine is to call.
    pub(super) fn waker(bell: &Arc<Self>) -> Waker {
        let bell = bell.clone();
        Arc::new(move || bell.ring())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        let mut state = self.state();
        state.rung = true;
        let lent = state.lent;
        drop(state);
        if lent {
            self.heard.notify_all();
        } else {
            (self.window)();
        }
    }

    /// The device's thread gets the engine.
    pub(super) fn lend(&self) {
        *self.state() = State { lent: true, ..State::default() };
    }

    /// The window wants it back.
    pub(super) fn want(&self) {
        self.state().wanted = true;
        self.heard.notify_all();
    }

    /// The window gets it back. What rings from here on wakes the loop; what has rung since the last [`Bell::wait`] is found by
    /// [`Bell::has_rung`].
    pub(super) fn give_back(&self) {
        self.state().lent = false;
    }

    /// Waits until something is heard, so long at most.
    pub(super) fn wait(&self, most: Duration) -> Heard {
        let silent = |state: &mut State| !state.rung && !state.wanted;
        let waited = self.heard.wait_timeout_while(self.state(), most, silent);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (state.wanted, std::mem::take(&mut state.rung)) {
            (true, _) => Heard::Wanted,
            (_, true) => Heard::Rung,
            _ => Heard::Nothing,
        }
    }

    /// Whether it has rung since this was asked, or since the device's thread has looked.
    pub(super) fn has_rung(&self) -> bool {
        std::mem::take(&mut self.state().rung)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn whoever_has_the_engine_hears_the_bell() {
        let woken = Arc::new(AtomicUsize::new(0));
        let counted = woken.clone();
        let window: Waker = Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let bell = Bell::new(&window);
        let ring = Bell::waker(&bell);
        ring();
        assert!(woken.load(Ordering::SeqCst) == 1 && bell.has_rung() && !bell.has_rung());
        bell.lend();
        ring();
        assert_eq!(woken.load(Ordering::SeqCst), 1, "the device's thread has it");
        assert_eq!(bell.wait(Duration::from_secs(1000)), Heard::Rung);
        assert_eq!(bell.wait(Duration::ZERO), Heard::Nothing);
        bell.want();
        ring();
        assert_eq!(bell.wait(Duration::from_secs(1000)), Heard::Wanted);
        // What comes after the last look is not lost.
        ring();
        bell.give_back();
        assert!(bell.has_rung());
        ring();
        assert_eq!(woken.load(Ordering::SeqCst), 2);
        // Who is waiting is woken.
        bell.lend();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| bell.wait(Duration::from_secs(1000)));
            ring();
            assert_eq!(waits.join().unwrap(), Heard::Rung);
        });
    }
}
