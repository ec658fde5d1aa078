//! A device that was given up. In: what it has, and an engine that may never come back. Out: everything let go on its thread, which
//! may take long, and whether it was idle in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use super::lent::{Away, Done};
use super::submit::Came;
use crate::{Parting, Rest, Side, Slot};
use opencl::device_thread::DeviceThread;
use opencl::watch;
use video::color::Staging;

const IDLE: u8 = 1;
const LOST: u8 = 2;

/// A device that was given up.
pub(super) struct Left {
    thread: DeviceThread,
    /// The engine, where it has not come back.
    away: Option<Away>,
    /// What the device had of slots.
    rests: Vec<Rest>,
    ended: Arc<AtomicU8>,
}

impl Left {
    /// One whose engine has parted with it.
    pub(super) fn parted(thread: DeviceThread, parting: Parting) -> Self {
        let left = Self { thread, away: None, rests: Vec::new(), ended: Arc::default() };
        left.end(parting);
        left
    }

    /// One that still has the engine.
    pub(super) fn with_engine(thread: DeviceThread, away: Option<Away>, rests: Vec<Rest>) -> Self {
        Self { thread, away, rests, ended: Arc::default() }
    }

    /// Has the thread let everything go, and then wait for the planes that others still have.
    fn end(&self, parting: Parting) {
        let ended = self.ended.clone();
        self.thread.run("it is left", move || {
            let staging = parting.staging().cloned();
            let idle = parting.end();
            if let Some(staging) = staging {
                give_back(staging, idle);
            }
            ended.store(if idle { IDLE } else { LOST }, Ordering::SeqCst);
        });
    }

    fn look(&mut self) {
        let Some((mut engine, done, finished)) = self.away.as_ref().and_then(Away::came) else { return };
        self.away = None;
        engine.be_on(Side::Both);
        let Some(mut parting) = engine.part_with_device() else { return };
        let others: Vec<Slot> = match done {
            Done::Asked(asked, along) => {
                let refused = |came: Came| came.err().map(|(slot, _)| slot);
                let along = along.and_then(|along| along.1.map_or_else(Some, refused));
                refused(asked.1).into_iter().chain(along).collect()
            }
            Done::Compared(pictures, _) => {
                let (pair, map) = *pictures;
                pair.into_slots().into_iter().chain([map]).collect()
            }
            Done::Nothing => Vec::new(),
        };
        let slots = finished.into_iter().filter_map(|finished| finished.slot).chain(others);
        self.rests.extend(slots.map(|mut slot| slot.take_rest()));
        self.rests.drain(..).for_each(|rest| parting.add(rest));
        self.end(parting);
    }

    /// Whether it was idle in the end, once that is known.
    fn ended(&self) -> Option<bool> {
        match self.ended.load(Ordering::SeqCst) {
            IDLE => Some(true),
            LOST => Some(false),
            _ => None,
        }
    }
}

/// All devices that were given up, until they are idle.
#[derive(Default)]
pub(super) struct AllLeft {
    left: Vec<Left>,
    /// One could not even finish: memory was left to it, OpenGL's among it, for as long as the process lives.
    lost: bool,
}

impl AllLeft {
    pub(super) fn push(&mut self, left: Left) {
        self.left.push(left);
    }

    /// Looks after them: their calls may stall, too.
    pub(super) fn look(&mut self) {
        self.left.iter_mut().for_each(Left::look);
        self.lost |= self.left.iter().any(|left| left.ended() == Some(false));
        self.left.retain(|left| left.ended().is_none());
    }

    /// Whether none is awaited any more.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Whether all of them ended idle.
    pub(super) fn ended_idle(&self) -> bool {
        self.left.is_empty() && !self.lost
    }
}

/// Packs nothing more there, and lets the memory go when nobody has any of it.
fn give_back(staging: Staging, idle: bool) {
    if !idle {
        std::mem::forget(staging);
        return;
    }
    staging.close();
    let _host = watch::on_host();
    while !staging.is_unused() {
        std::thread::sleep(Duration::from_millis(5));
    }
}
