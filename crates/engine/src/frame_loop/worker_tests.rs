use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::Outcome;
use crate::frame_loop::flights::Origin;
use box_filter::pictures::noise;
use box_filter::reference::reference;
use box_filter::{VariantId, named};
use video::Canvas;
use video::color::RgbaConverter;

/// Starts a worker without a device. Returns it, with a counter of its calls that wake the loop.
fn start(on_thread: bool) -> (Box<dyn Worker>, Arc<AtomicUsize>) {
    let woken = Arc::new(AtomicUsize::new(0));
    let counted = woken.clone();
    let wake: Waker = Arc::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let worker: Box<dyn Worker> = match on_thread {
        true => {
            let thread = DeviceThread::start("a test's").unwrap();
            Box::new(ThreadWorker::start(thread, "a test's".to_owned(), Engine::new, wake))
        }
        false => Box::new(WindowWorker::new(Engine::new(wake), None)),
    };
    (worker, woken)
}

/// Runs a test twice: with a worker on a thread of its own, and with one on the calling thread.
fn with_both_hosts(test: impl Fn(Box<dyn Worker>)) {
    [true, false].into_iter().for_each(|on_thread| test(start(on_thread).0));
}

/// Waits for events of the worker until `wanted` returns a value for one of them, and returns that value.
fn expect<T>(worker: &mut Box<dyn Worker>, mut wanted: impl FnMut(Event) -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = worker.receive().and_then(&mut wanted) {
            return value;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "there is no such event");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn finished(event: Event) -> Option<Finished> {
    if let Event::Finished(finished) = event { Some(finished) } else { None }
}

fn frame() -> Arc<Frame> {
    let mut canvas = Canvas::new(33, 9);
    canvas.planes[0] = noise(33 * 9);
    Arc::new(canvas.to_frame().unwrap())
}

fn submit(worker: &mut Box<dyn Worker>, ticket: u64, variant: VariantId, radius: u32) {
    let (request, slot) = (Request::new(variant, radius), Slot::in_memory(33, 9));
    let submission = Submission { ticket: Ticket(ticket), frame: frame(), request, slot, waits_for: None };
    worker.send("", Box::new(|core| core.submit(submission)));
}

#[test]
fn frames_are_finished_in_their_order() {
    let mut unfiltered = vec![0; 33 * 9 * 4];
    RgbaConverter::new().convert(&frame().picture, &mut unfiltered).unwrap();
    with_both_hosts(|mut worker| {
        for (ticket, variant) in [(7, named("native")), (8, VariantId::OFF), (9, named("native"))] {
            submit(&mut worker, ticket, variant, 2);
        }
        for ticket in 7..10 {
            let finished = expect(&mut worker, finished);
            assert!(finished.ticket == Ticket(ticket) && matches!(finished.outcome, Outcome::Done));
            let pixels = finished.slot.pixels().unwrap().to_vec();
            let radius = if ticket == 8 { 0 } else { 2 };
            assert!(pixels == reference(&unfiltered, 33, 9, radius), "{ticket}");
        }
        assert!(worker.receive().is_none() && worker.silent_for() == Duration::ZERO);
    });
}

#[test]
fn unfinished_frames_are_reported_until_they_are_finished() {
    with_both_hosts(|mut worker| {
        // Several frames at once, so that they are not all finished before the first report.
        (1..11).for_each(|ticket| submit(&mut worker, ticket, named("native"), 128));
        let (mut reported, mut left) = (0, 10);
        while left > 0 {
            left -= expect(&mut worker, |event| {
                if let Event::Progress(report) = &event {
                    assert!(report.jobs.iter().all(|(_, progress)| progress.is_enqueued));
                    reported += report.jobs.len();
                }
                finished(event).map(|_| 1)
            });
        }
        assert!(reported > 0, "no report of an unfinished frame");
    });
}

#[test]
fn a_cancelled_frame_comes_back_and_one_that_is_nearly_done_goes_on() {
    with_both_hosts(|mut worker| {
        submit(&mut worker, 1, named("native"), 1);
        worker.send("", Box::new(|core| core.cancel(Ticket(1), f64::INFINITY)));
        assert!(matches!(expect(&mut worker, finished).outcome, Outcome::Done));
        // All frames may be finished before the worker's thread sees the first cancel, so there are several attempts.
        let is_cancelled = (0..20).any(|attempt: u64| {
            // A worker with a thread begins when all have been sent; the window's waits here.
            let (sent, all_sent) = std::sync::mpsc::channel();
            let hold = move |_: &mut _| _ = all_sent.recv_timeout(Duration::from_secs(1));
            worker.send("", Box::new(|core| core.install(hold)));
            let first = 2 + 10 * attempt;
            let tickets = first..first + 10;
            tickets.clone().for_each(|ticket| submit(&mut worker, ticket, named("native"), 128));
            for ticket in tickets.clone().map(Ticket) {
                worker.send("", Box::new(move |core| core.cancel(ticket, f64::NEG_INFINITY)));
            }
            let _ = sent.send(());
            let all: Vec<Finished> = tickets.map(|_| expect(&mut worker, finished)).collect();
            assert!(all.iter().all(|one| !matches!(one.outcome, Outcome::Failed(_))));
            all.iter().any(|one| matches!(one.outcome, Outcome::Cancelled))
        });
        assert!(is_cancelled, "none was cancelled");
    });
}

#[test]
fn what_needs_a_device_is_refused_and_what_is_installed_is_reported() {
    with_both_hosts(|mut worker| {
        submit(&mut worker, 3, named("flat"), 1);
        let (ticket, refusal) = expect(&mut worker, |event| match event {
            Event::Refused(ticket, _, refusal) => Some((ticket, refusal)),
            _ => None,
        });
        assert!(ticket == Ticket(3) && matches!(refusal, Refusal::Unsupported(_)));
        let origin = Origin {
            frame: frame(),
            dropped_before: 0,
            generation: 0,
            device: 0,
            replaces_shown: false,
            is_outdated: false,
        };
        let picture = || Picture {
            request: Request::new(VariantId::OFF, 0),
            version: 1,
            stages: Stages::default(),
            slot: Slot::in_memory(33, 9),
            readings: None,
        };
        let pair = Box::new(Pair { origin, sides: [picture(), picture()] });
        worker.send("", Box::new(|core| core.compare(pair, Slot::in_memory(33, 9))));
        let is_error = expect(&mut worker, |event| match event {
            Event::Compared(.., compared) => Some(compared.is_err()),
            _ => None,
        });
        assert!(is_error);
    });
    with_both_hosts(|mut worker| {
        for count in 1..3 {
            worker.send("", Box::new(|core| core.install(|_| ())));
            let installed = expect(&mut worker, |event| match event {
                Event::Progress(report) => Some(report.installed),
                _ => None,
            });
            assert_eq!(installed, count);
        }
    });
    // A thread wakes the loop with its events, and ends with its worker.
    let (mut worker, woken) = start(true);
    submit(&mut worker, 1, VariantId::OFF, 0);
    expect(&mut worker, finished);
    assert!(woken.load(Ordering::SeqCst) > 0);
    // There is no device to release, so nothing is reported, and the sender is dropped.
    assert!(worker.leave(Vec::new()).recv().is_err());
}
