//! Tests of the frame loop without a window: the effects of changes of its parts on the picture on the screen and on frames in
//! flight.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::context;
use crate::engine::expected;
use box_filter::pictures::noise;
use box_filter::{BuiltVariant, VariantId, named};
use engine::frame_loop::{DrawTimes, FrameLoop};
use engine::{Comparer, Pipeline};
use opencl::device_thread::DeviceThread;
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use stats::{Request, Sharing};
use testkit::movie::{Folder, Movie, steady};
use video::{Decoder, OpenOptions, Seek};

/// The width and height of the movie in pixels.
const SIZE: (u32, u32) = (176, 98);
/// The number of the movie's frames.
const FRAMES: usize = 20;

/// A frame loop that plays a movie of noise as fast as possible.
struct Player {
    frames: FrameLoop,
    headless: Headless,
    _folder: Folder,
}

impl Player {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let movie = Movie {
            size: SIZE,
            stamps_ms: steady(FRAMES),
            paint: |index, frame| {
                for plane in 0..frame.planes() {
                    let samples = frame.data_mut(plane);
                    let noise = noise(samples.len() + 100 * index);
                    samples.copy_from_slice(&noise[noise.len() - samples.len()..]);
                }
            },
            ..Movie::default()
        };
        let options = OpenOptions { looping: false, ..OpenOptions::default() };
        let decoder = Decoder::open(&folder.movie("noise.mkv", &movie), options, Box::new(|| ())).unwrap();
        let headless = Headless::new().expect("these tests need OpenGL through EGL");
        let frames = FrameLoop::new(headless.gl.clone(), decoder, true, Arc::new(|| ()));
        Self { frames, headless, _folder: folder }
    }

    /// Runs turns of the loop, each with a drawing, until the condition is met.
    fn until(&mut self, what: &str, condition: impl Fn(&FrameLoop) -> bool) {
        let began = Instant::now();
        while !condition(&self.frames) {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            self.frames.tick();
            self.frames.picture();
            self.frames.swapped(DrawTimes::default());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Runs turns until the third frame, and pauses.
    fn pause_at_third_frame(&mut self) {
        self.until("the third frame", |frames| frames.recorder.presented >= 3);
        self.frames.schedule.toggle_pause();
    }

    /// Runs turns until the picture on the screen has this filter, and compares it with the reference.
    fn expect(&mut self, (variant, radius): (VariantId, u32)) {
        let filter = (variant, radius.into());
        self.until(&format!("{filter:?}"), |frames| frames.presenter.screen.filter() == Some(filter));
        let frame = self.frames.presenter.screen.frame().unwrap();
        let (texture, size) = self.frames.presenter.screen.filled_texture().unwrap();
        let shown = read_texture(&self.headless.gl, texture, size).unwrap();
        assert!(shown == expected(&frame, &Request::new(variant, radius)), "{filter:?}");
    }

    /// Returns the number of the frame on the screen.
    fn number(&self) -> Option<u64> {
        self.frames.presenter.screen.frame().map(|frame| frame.number)
    }
}

#[test]
fn the_picture_of_a_pause_follows_the_choice() {
    let mut player = Player::new("loop-pause");
    player.frames.choice.choose(named("native"), 2);
    player.pause_at_third_frame();
    player.expect((named("native"), 2));
    let number = player.number();
    for filter in [(named("native"), 7), (named("glsl"), 7)] {
        player.frames.choice.choose(filter.0, filter.1);
        player.expect(filter);
    }
    player.frames.wipe.set_second(Some((named("native"), 3).into()));
    player.until("a wipe", |frames| frames.presenter.screen.wipe().is_some());
    player.frames.wipe.set_second(None);
    player.until("the end of the wipe", |frames| frames.presenter.screen.wipe().is_none());
    player.expect((named("glsl"), 7));
    assert_eq!(player.number(), number, "the movie is paused");
    let presented = player.frames.recorder.presented;
    player.frames.schedule.step();
    player.until("a step", |frames| frames.recorder.presented > presented);
    assert_eq!(player.number(), number.map(|number| number + 1));
    player.expect((named("glsl"), 7));
    assert!(player.frames.shut_down());
}

#[test]
fn a_movie_plays_to_its_end_from_where_it_was_parked() {
    let mut player = Player::new("loop-park");
    player.pause_at_third_frame();
    player.until("the frame of the pause", |frames| !frames.presenter.screen.is_new());
    let (number, presented) = (player.number(), player.frames.recorder.presented);
    let parked = player.frames.park();
    player.frames.play(parked);
    player.until("the parked movie", |frames| frames.recorder.presented > presented);
    assert_eq!(player.number(), number, "the frame on the screen comes first");
    player.frames.schedule.toggle_pause();
    player.until("the end", |frames| frames.playing().ended);
    assert_eq!(player.number(), Some(FRAMES as u64 - 1));
    assert!(player.frames.is_finished() && !player.frames.playing().stopped);
    let intervals = |player: &Player| player.frames.recorder.history().back().unwrap().interval_ms;
    assert!(intervals(&player).is_some(), "the last frame followed another one");
    let presented = player.frames.recorder.presented;
    assert!(player.frames.seek(Seek::Exact(0.0)));
    player.until("the first frame", |frames| frames.recorder.presented > presented);
    assert!(player.frames.presenter.screen.position_s() == 0.0);
    assert_eq!(intervals(&player), None, "the seek's time is no interval");
    assert!(player.frames.shut_down());
}

/// Returns a device with the variant `flat` and the comparer, and its thread.
fn device() -> (Pipeline, DeviceThread) {
    let cl = context();
    let sharing = Sharing::Copy { reason: "there is no window".to_owned() };
    let mut pipeline = Pipeline::new(cl.clone(), &sharing);
    pipeline.variants.add(BuiltVariant::build(&cl, named("flat")).unwrap());
    pipeline.meters.comparer = Some(Comparer::new_compiled(&cl, false));
    (pipeline, DeviceThread::start(&cl.device.info.name).unwrap())
}

/// Plays with a device whose calls are made on a thread of its own, or on this one.
#[test]
fn a_device_filters_compares_and_goes() {
    for calls_here in [false, true] {
        let mut player = Player::new("loop-device");
        let (pipeline, thread) = device();
        player.frames.set_device(Some((pipeline, thread, calls_here)));
        player.frames.choice.choose(named("flat"), 4);
        player.pause_at_third_frame();
        player.expect((named("flat"), 4));
        player.frames.wipe.set_second(Some((named("native"), 4).into()));
        player.frames.wipe.set_comparing(true);
        let difference = |frames: &FrameLoop| frames.presenter.screen.wipe().and_then(|wipe| wipe.difference);
        player.until("a comparison", |frames| difference(frames).is_some());
        assert_eq!(difference(&player.frames).map(|difference| difference.differing), Some(0));
        player.frames.wipe.set_second(Some((named("native"), 5).into()));
        player.until("the next one", |frames| difference(frames).is_some_and(|d| d.differing > 0));
        player.frames.wipe.set_second(None);
        player.frames.set_device(None);
        player.expect((VariantId::OFF, 4));
        assert_eq!(player.frames.choice.filter(), (named("flat"), 4.into()), "for the next device");
        assert!(player.frames.shut_down() && player.frames.errors.is_empty());
    }
}

#[test]
fn a_driver_that_stalls_stops_nothing_else() {
    let mut player = Player::new("loop-stall");
    let (pipeline, thread) = device();
    player.frames.set_device(Some((pipeline, thread, false)));
    player.frames.choice.choose(named("flat"), 4);
    player.until("the third frame", |frames| frames.recorder.presented >= 3);
    let (sender, stalled) = channel::<()>();
    player.frames.filters.workers.with_pipeline(move |_| {
        let _ = stalled.recv();
    });
    player.until("the call", |frames| frames.filters.workers.silent_for() > Duration::ZERO);
    assert!(player.frames.filters.workers.is_installing(), "no frame is taken before that");
    let presented = player.frames.recorder.presented;
    player.frames.set_device(None);
    player.until("other frames", |frames| frames.recorder.presented >= presented + 3);
    assert!(player.frames.filters.workers.silent_for().is_zero());
    drop(sender);
    assert!(player.frames.shut_down(), "the device was released after that");
}
