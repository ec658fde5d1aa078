//! A random walk over the real window: keys, mouse, drops, sizes, devices, saved kernels. After each action the window must
//! answer and draw. After each round it is brought to a state of rest, in which the program must have no more OpenCL and
//! OpenGL objects, threads, handles and memory than at the first rest.
//!
//! `./dev soak` sets the length and the seed; without it, the walk is short. Needs PoCL, Xvfb and xdotool.

mod counts;
mod pings;
mod rest;
mod walk;

use std::time::{Duration, Instant};

use crate::common::*;
use counts::{Counts, Memory};
use testkit::audio::AudioServer;
use walk::Walk;

/// The length of a walk.
struct Plan {
    seed: u32,
    actions: usize,
    /// The number of actions from one rest to the next.
    round: usize,
    /// The time for which the movie plays without input, in all rests together.
    playing: Duration,
    /// How long the window may take to answer and to draw.
    patience: Duration,
    /// How long jobs may take to end at a rest. Those of low priority starve while other programs use the processor.
    settling: Duration,
}

impl Plan {
    /// Returns the number of actions from one rest to the next: at most half of the walk, since the memory of a later round is compared
    /// with that of an earlier one.
    fn round(actions: usize) -> usize {
        actions.div_ceil(20).max(250).min(actions.div_ceil(2))
    }

    /// Reads the plan of `./dev soak` from the environment; without it, returns that of the tests.
    fn from_environment() -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(text.parse::<u32>().unwrap_or_else(|_| panic!("{name}='{text}' is not a whole number")))
        };
        let seed = number("CLREEL_SOAK_SEED").unwrap_or(1).max(1);
        let (actions, playing, patience, settling) = match number("CLREEL_SOAK_ACTIONS") {
            Some(actions) => {
                let playing = Duration::from_secs(60) * number("CLREEL_SOAK_MINUTES").unwrap_or(0);
                (actions as usize, playing, Duration::from_secs(30), Duration::from_secs(20 * 60))
            }
            // About two minutes on an idle machine.
            None => (160, Duration::from_secs(4), PATIENCE, PATIENCE),
        };
        Self { seed, actions, round: Self::round(actions), playing, patience, settling }
    }
}

#[test]
fn a_walk_has_at_least_two_rounds() {
    for actions in [2_usize, 3, 160, 249, 250, 251, 499, 500, 5000, 20_000] {
        let rounds = actions.div_ceil(Plan::round(actions));
        assert!((2..=20).contains(&rounds), "{actions} actions in {rounds} rounds");
    }
}

/// How often the program may come to rest again if its memory is too large.
const RESTS: usize = 2;

#[test]
fn random_input_leaves_no_object_thread_handle_or_memory_behind() {
    let plan = Plan::from_environment();
    let rounds = plan.actions.div_ceil(plan.round);
    println!("soak: seed {}, {} actions, {:?} of playing", plan.seed, plan.actions, plan.playing);
    let (display, folder) = (Display::start(&[]), Folder::new("soak"));
    let server = AudioServer::start(&folder.file("pulse"));
    let mut walk = Walk::start(&display, &server, folder, plan.seed, plan.patience);
    walk.visit_everything();
    walk.rest(Duration::ZERO);
    let first = walk.settled_counts(plan.settling);
    first.assert_counted();
    let began = Instant::now();
    let print = |counts: &Counts, actions| {
        println!("{:>5.1}  {}", began.elapsed().as_secs_f64() / 60.0, counts.row(actions));
    };
    println!("  min  {}", Counts::header());
    print(&first, 0);
    let mut memory = Memory::default();
    for _ in 0..rounds {
        for _ in 0..plan.round.min(plan.actions - walk.done) {
            walk.act();
        }
        walk.rest(plan.playing / rounds as u32);
        let mut counts = walk.counts_like(&first, plan.settling);
        print(&counts, walk.done);
        // A context of PoCL that has compiled a program keeps some 110 MiB until it is released; a rest begins with new contexts.
        for _ in 0..RESTS {
            if memory.allows(&counts) {
                break;
            }
            walk.rest(Duration::ZERO);
            counts = walk.counts_like(&first, plan.settling);
            print(&counts, walk.done);
        }
        memory.check(&counts, walk.done * 10 >= plan.actions);
    }
    assert!(memory.comparisons > 0, "the memory of {} actions was compared with nothing", walk.done);
    println!("longest answer: {:.1} s", walk.longest_answer.as_secs_f64());
    walk.quit();
}
