//! The engine as its clients use it, without a window: one frame asked for in several ways and for several places at
//! once, slots that are used again, what is refused, held and cancelled. Every picture is compared with the reference.

#[path = "common/device.rs"]
mod device;
#[path = "common/movie.rs"]
mod movie;

use std::path::Path;
use std::sync::Arc;

use clreel::color::kernels::Converter;
use clreel::color::planes::pack;
use clreel::color::{RgbaConverter, convert_reference};
use clreel::engine::{
    Engine, Finished, Outcome, Pipeline, Readings, Refusal, Request, Scopes, Slot, stretch,
};
use clreel::gpu::headless::Headless;
use clreel::gpu::memory::Storage;
use clreel::gpu::read_texture::read_texture;
use clreel::gpu::sharing::Sharing;
use clreel::ladders::box_filter::pictures::noise;
use clreel::ladders::box_filter::planar::{PlanarFilter, planar_reference};
use clreel::ladders::box_filter::reference::reference;
use clreel::ladders::box_filter::{BuiltVariant, VariantId};
use clreel::media::{Frame, References, read_frame_at};
use device::context;
use movie::{Folder, Movie, steady};

/// Width and height of the movie.
const SIZE: (u32, u32) = (175, 99);

/// A frame whose samples are noise, so that every filter and every radius makes another picture of it.
fn frame(movie: &Path, at_s: f64) -> Frame {
    let (mut frame, _) = read_frame_at(movie, at_s, References::Refused).unwrap();
    for plane in 0..frame.picture.planes() {
        let samples = frame.picture.data_mut(plane);
        let noise = noise(samples.len() + 4 * (100.0 * at_s) as usize);
        samples.copy_from_slice(&noise[noise.len() - samples.len()..]);
    }
    frame
}

fn movie(folder: &Folder) -> std::path::PathBuf {
    folder.movie("odd.mkv", &Movie { size: SIZE, stamps_ms: steady(20), ..Movie::default() })
}

/// The frame as it is to be.
fn expected(frame: &Frame, request: &Request) -> Vec<u8> {
    let mut rgba = vec![0; (frame.width() * frame.height() * 4) as usize];
    RgbaConverter::new().convert(&frame.picture, &mut rgba).unwrap();
    let radius = if request.variant == VariantId::Off { 0 } else { request.radius };
    reference(&rgba, frame.width() as usize, frame.height() as usize, radius as usize)
}

fn request(variant: VariantId, radius: u32) -> Request {
    Request::new(variant, radius)
}

/// Gives the engine a device with these variants.
fn add_device(engine: &mut Engine, variants: &[VariantId]) {
    let cl = context();
    let sharing = Sharing::Copy { reason: "there is no window".to_owned() };
    let mut pipeline = Pipeline::new(cl.clone(), &sharing);
    variants.iter().for_each(|id| pipeline.add(BuiltVariant::build(&cl, *id).unwrap()));
    engine.set_device(pipeline);
}

fn wait(engine: &mut Engine) -> Finished {
    engine.wait().unwrap().expect("a frame is on its way")
}

fn submit(engine: &mut Engine, frame: &Frame, request: Request, slot: Slot) -> clreel::engine::Ticket {
    let refused = |(_, refusal): (Slot, Refusal)| panic!("{request:?}: {}", refusal.into_error());
    engine.submit(frame, request, slot).unwrap_or_else(refused)
}

#[test]
fn one_frame_is_asked_for_in_several_ways_and_for_several_places_at_once() {
    let folder = Folder::new("engine-twice");
    let frame = frame(&movie(&folder), 0.2);
    let headless = Headless::new().expect("these tests need OpenGL through EGL");
    let mut engine = Engine::with_opengl(headless.gl.clone(), Arc::new(|| {}));
    add_device(&mut engine, &[VariantId::Fused, VariantId::Separable]);
    let asked = [
        (VariantId::Fused, 3, false),
        (VariantId::Fused, 9, true),
        (VariantId::Separable, 3, false),
        (VariantId::Native, 5, true),
        (VariantId::Glsl, 5, true),
        (VariantId::Native, 31, false),
        (VariantId::Off, 0, false),
        (VariantId::Off, 0, true),
    ];
    let mut tickets = Vec::new();
    for (variant, radius, to_texture) in asked {
        let slot = match to_texture {
            true => Slot::new(&headless.gl, SIZE.0, SIZE.1).unwrap(),
            false => Slot::in_memory(SIZE.0, SIZE.1),
        };
        let ticket = submit(&mut engine, &frame, request(variant, radius), slot);
        assert!(!tickets.contains(&ticket));
        tickets.push(ticket);
    }
    for ((variant, radius, to_texture), ticket) in asked.into_iter().zip(tickets) {
        let Finished { ticket: of, outcome, slot, stages, .. } = wait(&mut engine);
        assert!(of == ticket && matches!(outcome, Outcome::Done), "{variant}: in their order");
        let mut slot = slot.unwrap();
        let got = if to_texture {
            slot.show();
            read_texture(&headless.gl, slot.texture().unwrap(), SIZE).unwrap()
        } else {
            assert!(slot.texture().is_none());
            slot.pixels().unwrap().to_vec()
        };
        assert!(got == expected(&frame, &request(variant, radius)), "{variant} r={radius} {to_texture}");
        assert_eq!(stages.filter_ms() > 0.0, variant != VariantId::Off, "{variant}: {stages:?}");
    }
    assert!(engine.wait().unwrap().is_none(), "nothing else is on its way");
}

#[test]
fn what_is_measured_and_levelled_is_the_filtered_picture_of_that_very_frame() {
    let folder = Folder::new("engine-scopes");
    let movie = movie(&folder);
    let frames = [frame(&movie, 0.1), frame(&movie, 0.5)];
    let mut engine = Engine::new(Arc::new(|| {}));
    // Buffers and images.
    add_device(&mut engine, &[VariantId::Fused, VariantId::Naive]);
    assert!(!engine.can_measure(VariantId::Fused), "nothing is built for it");
    let cl = engine.pipeline().unwrap().cl().clone();
    engine.pipeline_mut().unwrap().set_scopes(Scopes::build(&cl, SIZE));
    assert!(engine.can_measure(VariantId::Fused) && !engine.can_measure(VariantId::Native));
    let ways = [(true, false), (true, true), (false, true), (false, false)];
    let cases = [(VariantId::Off, 0), (VariantId::Fused, 3), (VariantId::Naive, 2), (VariantId::Native, 1)];
    for (variant, radius) in cases {
        for (readings, levels) in ways {
            // Two on their way at once: neither has the other's.
            for frame in &frames {
                let request = Request { readings, levels, ..request(variant, radius) };
                submit(&mut engine, frame, request, Slot::in_memory(SIZE.0, SIZE.1));
            }
            for frame in &frames {
                let finished = wait(&mut engine);
                let mut right = expected(frame, &request(variant, radius));
                let measured = Readings::reference(SIZE, &right);
                let is_measured = variant != VariantId::Native;
                let told = finished.readings.as_deref();
                let wanted = Some(&measured).filter(|_| readings && is_measured);
                assert!(told == wanted, "{variant} {readings} {levels}: {:?}", told.map(|told| told.mean));
                if levels && is_measured {
                    let ends = measured.ends();
                    let shows = variant == VariantId::Off || ends.0 > 0 && ends.1 < 255;
                    assert!(shows, "{variant}: {ends:?} would change nothing");
                    stretch(&mut right, ends);
                }
                let slot = finished.slot.unwrap();
                assert!(slot.pixels().unwrap() == right, "{variant} {readings} {levels}");
            }
        }
    }
}

#[test]
fn a_slot_that_is_used_again_has_the_next_picture_whatever_the_one_before_was() {
    let folder = Folder::new("engine-again");
    let movie = movie(&folder);
    let frames = [frame(&movie, 0.1), frame(&movie, 0.5)];
    let mut engine = Engine::new(Arc::new(|| {}));
    let variants = [VariantId::Fused, VariantId::Naive, VariantId::RunningSum];
    add_device(&mut engine, &variants);
    let mut slots = vec![Slot::in_memory(SIZE.0, SIZE.1), Slot::in_memory(SIZE.0, SIZE.1)];
    for turn in 0..24 {
        // Each radius comes back, more of them than are kept, and every third time the variant changes.
        let (variant, radius) = (variants[turn / 3 % 3], [2, 7, 2, 0, 31, 1, 4][turn % 7]);
        let variant = if turn == 11 { VariantId::Native } else { variant };
        if turn == 17 {
            // Built anew: what was kept of the old ones is not used.
            let cl = engine.pipeline().unwrap().cl().clone();
            let built = BuiltVariant::build(&cl, variant).unwrap();
            engine.pipeline_mut().unwrap().add(built);
        }
        let request = request(variant, radius);
        for frame in &frames {
            submit(&mut engine, frame, request, slots.remove(0));
        }
        for frame in &frames {
            let slot = wait(&mut engine).slot.unwrap();
            assert!(slot.pixels().unwrap() == expected(frame, &request), "{turn}: {request:?}");
            slots.push(slot);
        }
    }
}

#[test]
fn what_cannot_be_had_is_refused_with_a_sentence_and_the_slot_comes_back() {
    let folder = Folder::new("engine-refused");
    let frame = frame(&movie(&folder), 0.2);
    let mut engine = Engine::new(Arc::new(|| {}));
    let mut slot = Slot::in_memory(SIZE.0, SIZE.1);
    for variant in [VariantId::Glsl, VariantId::Fused, VariantId::Planar] {
        let (back, refusal) = engine.submit(&frame, request(variant, 3), slot).expect_err("is refused");
        assert!(matches!(refusal, Refusal::Unsupported(_)), "{variant}: {refusal:?}");
        let error = refusal.into_error();
        assert!(error.what.contains(variant.as_str()) && !error.hint.is_empty(), "{error:?}");
        slot = back;
    }
    add_device(&mut engine, &[]);
    assert!(!engine.can_filter(VariantId::Fused, 3));
    let (slot, _) = engine.submit(&frame, request(VariantId::Fused, 3), slot).expect_err("is refused");
    let native = request(VariantId::Native, 3);
    submit(&mut engine, &frame, native, slot);
    assert!(wait(&mut engine).slot.unwrap().pixels().unwrap() == expected(&frame, &native));
}

#[test]
fn what_takes_long_is_held_and_can_be_cancelled_before_and_in_the_middle() {
    let folder = Folder::new("engine-held");
    let frame = frame(&movie(&folder), 0.2);
    let mut engine = Engine::new(Arc::new(|| {}));
    add_device(&mut engine, &[VariantId::Naive]);
    let slots = || Slot::in_memory(SIZE.0, SIZE.1);
    let long = submit(&mut engine, &frame, request(VariantId::Naive, 128), slots());
    let next = submit(&mut engine, &frame, request(VariantId::Naive, 2), slots());
    assert!(engine.is_holding() && engine.progress(long).predicted_ms > 3000.0);
    assert!(engine.poll().is_none() && engine.progress(long).elapsed_s == 0.0, "it is not started");
    assert!(engine.is_queue_busy() && engine.progress(next).elapsed_s == 0.0, "nor what comes after it");
    engine.cancel(long);
    let first = engine.poll().expect("it is over at once");
    assert!(first.ticket == long && matches!(first.outcome, Outcome::Cancelled));
    let done = wait(&mut engine);
    assert!(done.ticket == next && matches!(done.outcome, Outcome::Done));
    assert!(done.slot.unwrap().pixels().unwrap() == expected(&frame, &request(VariantId::Naive, 2)));
    // Behind another one, too: it keeps nobody waiting.
    let first_slot = first.slot.unwrap();
    let held = submit(&mut engine, &frame, request(VariantId::Naive, 128), first_slot);
    engine.cancel(held);
    assert!(!engine.is_holding() && !engine.is_queue_busy(), "what is cancelled is not waited for");
    let cancelled = wait(&mut engine);
    assert!(cancelled.ticket == held && matches!(cancelled.outcome, Outcome::Cancelled));
    // In the middle of its bands.
    let long = submit(&mut engine, &frame, request(VariantId::Naive, 128), cancelled.slot.unwrap());
    engine.let_go();
    while engine.progress(long).fraction == 0.0 {
        assert!(engine.poll().is_none(), "it has many bands");
    }
    let progress = engine.progress(long);
    assert!(
        progress.fraction < 1.0 && progress.remaining_ms > 0.0 && progress.elapsed_s > 0.0,
        "{progress:?}"
    );
    engine.cancel(long);
    let cancelled = wait(&mut engine);
    assert!(matches!(cancelled.outcome, Outcome::Cancelled), "{:?}", cancelled.outcome);
    let again = request(VariantId::Naive, 1);
    submit(&mut engine, &frame, again, cancelled.slot.unwrap());
    assert!(wait(&mut engine).slot.unwrap().pixels().unwrap() == expected(&frame, &again));
}

#[test]
fn planes_are_filtered_into_the_hosts_memory_too() {
    let folder = Folder::new("engine-planar");
    let frame = frame(&movie(&folder), 0.2);
    let mut engine = Engine::new(Arc::new(|| {}));
    add_device(&mut engine, &[VariantId::Flat]);
    let cl = engine.pipeline().unwrap().cl().clone();
    let layout = Converter::supports(&frame.picture).unwrap();
    let filtered = layout.filtered();
    let pipeline = engine.pipeline_mut().unwrap();
    pipeline.add_planar(PlanarFilter::build(&cl).unwrap());
    pipeline.build_conversion(&filtered, Storage::Buffer).unwrap();
    let (mut slot, mut seen) = (Slot::in_memory(SIZE.0, SIZE.1), Vec::new());
    for radius in [0, 7, 30, 7] {
        // The one before it filters pixels, in the same slot.
        for variant in [VariantId::Flat, VariantId::Planar] {
            let request = request(variant, radius);
            submit(&mut engine, &frame, request, slot);
            let finished = wait(&mut engine);
            slot = finished.slot.unwrap();
            let mut want = expected(&frame, &request);
            if variant == VariantId::Planar {
                let mut block = vec![0; layout.bytes()];
                pack(&frame.picture, &layout, &mut block).unwrap();
                let planes = planar_reference(&layout, &block, radius).unwrap();
                convert_reference(&layout.filtered(), &planes, &mut want).unwrap();
            }
            assert!(slot.pixels().unwrap() == want, "{variant} r={radius}");
            assert_ne!(seen, want, "{variant} r={radius}: another picture than the one before");
            seen = want;
        }
    }
}
