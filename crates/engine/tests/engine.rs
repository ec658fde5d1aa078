//! Tests of the engine without a window: several requests for one frame, slots that are used again, and requests that are
//! refused, held or cancelled. Every picture is compared with the reference.

use std::path::Path;
use std::sync::Arc;

use crate::context;
use box_filter::color_kernels::{Conversion, Converter};
use box_filter::pictures::noise;
use box_filter::planar::planar_reference;
use box_filter::reference::reference;
use box_filter::{BuiltVariant, MAX_RADIUS, VariantId, named};
use engine::{Engine, Finished, Outcome, Pipeline, Refusal, Scopes, Slot};
use opencl::memory::Storage;
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use stats::{Measurements, Readings, Request, Sharing, stretch};
use testkit::movie::{Folder, Movie, steady};
use video::color::planes::pack;
use video::color::{RgbaConverter, convert_reference};
use video::{Frame, References, read_frame_at};

/// The width and height of the movie in pixels.
const SIZE: (u32, u32) = (175, 99);

/// Returns a frame whose samples are noise, so that every filter and every radius gives a different picture.
fn frame(movie: &Path, at_s: f64) -> Frame {
    let (mut frame, _) = read_frame_at(movie, at_s, 0, References::Refused).unwrap();
    for plane in 0..frame.picture.planes() {
        let samples = frame.picture.data_mut(plane);
        let noise = noise(samples.len() + 4 * (100.0 * at_s) as usize);
        samples.copy_from_slice(&noise[noise.len() - samples.len()..]);
    }
    frame
}

/// Returns two frames of a movie, at 0.1 and 0.5 s.
fn frames() -> [Frame; 2] {
    let folder = Folder::new("engine");
    let movie = Movie { size: SIZE, stamps_ms: steady(20), ..Movie::default() };
    let movie = folder.movie("odd.mkv", &movie);
    [0.1, 0.5].map(|at_s| frame(&movie, at_s))
}

/// Returns OpenGL without a window, and an engine that uses it.
fn with_opengl() -> (Headless, Engine) {
    let headless = Headless::new().expect("these tests need OpenGL through EGL");
    let engine = Engine::with_opengl(headless.gl.clone(), Arc::new(|| {}));
    (headless, engine)
}

/// Returns an empty slot in memory, or with a texture.
fn slot(texture: Option<&Headless>) -> Slot {
    match texture {
        Some(headless) => Slot::new(&headless.gl, SIZE.0, SIZE.1).unwrap(),
        None => Slot::in_memory(SIZE.0, SIZE.1),
    }
}

/// Returns the picture in a slot.
fn picture(slot: &mut Slot, texture: Option<&Headless>) -> Vec<u8> {
    slot.show();
    match (texture, slot.texture()) {
        (Some(headless), Some(texture)) => read_texture(&headless.gl, texture, SIZE).unwrap(),
        _ => slot.pixels().unwrap().to_vec(),
    }
}

/// Returns the picture of the frame as the reference computes it.
pub(super) fn expected(frame: &Frame, request: &Request) -> Vec<u8> {
    let mut rgba = vec![0; (frame.width() * frame.height() * 4) as usize];
    RgbaConverter::new().convert(&frame.picture, &mut rgba).unwrap();
    let radius = if request.variant == VariantId::OFF { 0 } else { request.settings.first() };
    reference(&rgba, frame.width() as usize, frame.height() as usize, radius as usize)
}

fn request(variant: VariantId, radius: u32) -> Request {
    Request::new(variant, radius)
}

/// Adds a device with these variants to the engine.
fn add_device(engine: &mut Engine, variants: &[VariantId]) {
    let cl = context();
    let sharing = Sharing::Copy { reason: "there is no window".to_owned() };
    let mut pipeline = Pipeline::new(cl.clone(), &sharing);
    variants.iter().for_each(|id| pipeline.variants.add(BuiltVariant::build(&cl, *id).unwrap()));
    engine.set_device(pipeline);
}

fn wait(engine: &mut Engine) -> Finished {
    engine.wait_with_progress(|_| ()).unwrap().expect("a frame is on its way")
}

fn submit(engine: &mut Engine, frame: &Frame, request: Request, slot: Slot) -> engine::Ticket {
    let refused = |(_, refusal): (Slot, Refusal)| panic!("{request:?}: {}", refusal.into_error());
    engine.submit(frame, request, slot).unwrap_or_else(refused)
}

#[test]
fn requests_for_one_frame_finish_in_order_with_the_right_pictures() {
    let [frame, _] = frames();
    let (headless, mut engine) = with_opengl();
    add_device(&mut engine, &[named("fused"), named("separable")]);
    let asked = [
        (named("fused"), 3, false),
        (named("fused"), 9, true),
        (named("separable"), 3, false),
        (named("native"), 5, true),
        (named("glsl"), 5, true),
        (named("native"), 31, false),
        (VariantId::OFF, 0, false),
        (VariantId::OFF, 0, true),
    ];
    let mut tickets = Vec::new();
    for (variant, radius, to_texture) in asked {
        let slot = slot(to_texture.then_some(&headless));
        let ticket = submit(&mut engine, &frame, request(variant, radius), slot);
        assert!(!tickets.contains(&ticket));
        tickets.push(ticket);
    }
    for ((variant, radius, to_texture), ticket) in asked.into_iter().zip(tickets) {
        let Finished { ticket: of, outcome, mut slot, stages, .. } = wait(&mut engine);
        assert!(of == ticket && matches!(outcome, Outcome::Done), "{variant}: in their order");
        assert_eq!(slot.texture().is_some(), to_texture);
        let got = picture(&mut slot, to_texture.then_some(&headless));
        assert!(got == expected(&frame, &request(variant, radius)), "{variant} r={radius} {to_texture}");
        assert_eq!(stages.filter_ms() > 0.0, variant != VariantId::OFF, "{variant}: {stages:?}");
    }
    assert!(engine.wait_with_progress(|_| ()).unwrap().is_none(), "nothing else is on its way");
}

/// Returns the pictures of two frames, alternating, each by two filters that are requested at once or one after the other.
fn pictures(
    engine: &mut Engine,
    frames: &[Frame; 2],
    sides: [Request; 2],
    at_once: bool,
    texture: Option<&Headless>,
) -> Vec<Vec<u8>> {
    // Each slot is used again: it must not show anything of the previous frame.
    let mut slots = [slot(texture), slot(texture)];
    let mut pictures = Vec::new();
    for frame in frames.iter().chain(frames) {
        let [a, b] = slots;
        let mut done = if at_once {
            let tickets =
                [(sides[0], a), (sides[1], b)].map(|(side, slot)| submit(engine, frame, side, slot));
            let done = [wait(engine), wait(engine)];
            assert!(done[0].ticket == tickets[0] && done[1].ticket == tickets[1], "in their order");
            done
        } else {
            [(sides[0], a), (sides[1], b)].map(|(side, slot)| {
                submit(engine, frame, side, slot);
                wait(engine)
            })
        };
        for finished in &mut done {
            assert!(matches!(finished.outcome, Outcome::Done), "{sides:?}");
            pictures.push(picture(&mut finished.slot, texture));
        }
        slots = done.map(|finished| finished.slot);
    }
    pictures
}

#[test]
fn two_filters_of_one_frame_give_both_right_pictures() {
    let [fused, glsl, naive, native, off, planar, separable] =
        ["fused", "glsl", "naive", "native", "off", "planar", "separable"].map(named);
    let frames = frames();
    let (headless, mut engine) = with_opengl();
    // RGBA pictures from the host, and planes if the device converts them.
    for converts in [false, true] {
        add_device(&mut engine, &[fused, naive, separable]);
        let pipeline = engine.pipeline_mut().unwrap();
        let cl = pipeline.cl.clone();
        if converts {
            let layout = Converter::supports(&frames[0].picture).unwrap();
            for layout in [layout, layout.filtered()] {
                pipeline.conversions.build(Conversion { layout, storage: Storage::Buffer }).unwrap();
            }
            pipeline.variants.add(BuiltVariant::build(&cl, named("planar")).unwrap());
            pipeline.meters.scopes = Some(Scopes::build(&cl, SIZE));
        }
        let mut pairs = vec![
            [(fused, 3), (separable, 5)],
            [(naive, 2), (fused, 4)],
            [(fused, 4), (naive, 2)],
            [(off, 0), (fused, 3)],
            [(fused, 3), (off, 0)],
            [(native, 3), (fused, 5)],
            [(off, 0), (native, 3)],
            [(glsl, 2), (native, 3)],
            [(fused, 2), (glsl, 3)],
        ];
        if converts {
            pairs.extend([[(planar, 3), (fused, 5)], [(fused, 5), (planar, 3)]]);
        }
        let mut sides: Vec<_> =
            pairs.iter().map(|pair| pair.map(|(id, radius)| request(id, radius))).collect();
        if converts {
            // Measurements stretches the first picture, and must not change the second.
            let measurements = Measurements { levels: true, readings: true };
            let levels = |variant, radius| Request { measurements, ..request(variant, radius) };
            sides.push([levels(off, 0), levels(fused, 3)]);
            sides.push([levels(fused, 3), levels(off, 0)]);
        }
        for sides in sides {
            let of_glsl = sides.iter().any(|side| side.variant == glsl);
            for texture in [None, Some(&headless)] {
                if texture.is_none() && of_glsl {
                    continue;
                }
                let alone = pictures(&mut engine, &frames, sides, false, texture);
                let beside = pictures(&mut engine, &frames, sides, true, texture);
                let case = format!("{sides:?}, converts {converts}, textures {}", texture.is_some());
                assert!(alone[0] != alone[2] && alone[0] == alone[4], "{case}: two frames");
                for (at, (alone, beside)) in alone.iter().zip(&beside).enumerate() {
                    assert!(alone == beside, "{case}: picture {at}");
                }
            }
        }
    }
}

#[test]
fn compare_finds_all_differences_wherever_the_pictures_are_stored() {
    let [frame, _] = frames();
    let (headless, mut engine) = with_opengl();
    let made = |engine: &mut Engine, request| {
        submit(engine, &frame, request, slot(Some(&headless)));
        let mut slot = wait(engine).slot;
        slot.prepare_for_reading(&headless.gl).unwrap();
        slot
    };
    let (none, again) = (request(VariantId::OFF, 0), request(named("native"), 2));
    let sides = [made(&mut engine, none), made(&mut engine, again)];
    let mut map = slot(Some(&headless));
    let error = engine.compare(&sides[0], &sides[1], &mut map).unwrap_err();
    assert!(error.why.contains("there is none"), "without a device: {error}");
    add_device(&mut engine, &[named("fused"), named("separable")]);
    let [fused, glsl, native, off, separable] = ["fused", "glsl", "native", "off", "separable"].map(named);
    // Buffers and images of the device, the host's memory, the slot of native and glsl, a texture that is not shared.
    for [a, b] in [
        [(fused, 3), (separable, 3)],
        [(native, 5), (glsl, 5)],
        [(off, 0), (fused, 3)],
        [(glsl, 5), (separable, 3)],
        [(separable, 3), (native, 5)],
        [(off, 0), (off, 0)],
    ] {
        let requests = [a, b].map(|(variant, radius)| request(variant, radius));
        let slots = requests.map(|request| made(&mut engine, request));
        let (difference, ms) = engine.compare(&slots[0], &slots[1], &mut map).unwrap();
        let heat = picture(&mut map, Some(&headless));
        let [a, b] = requests.map(|request| expected(&frame, &request));
        let levels = |(a, b): (&[u8], &[u8])| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        let levels: Vec<u8> = a.chunks_exact(4).zip(b.chunks_exact(4)).map(levels).collect();
        let differing = levels.iter().filter(|levels| **levels > 0).count() as u64;
        assert_eq!(difference.pixels, levels.len() as u64, "{requests:?}");
        let most = levels.iter().copied().max().unwrap();
        let at = levels.iter().position(|levels| *levels == most).unwrap() as u32;
        let largest = (most > 0).then_some((most, (at % SIZE.0, at / SIZE.0)));
        assert_eq!((difference.differing, difference.largest), (differing, largest), "{requests:?}");
        assert!(ms > 0.0, "it has a time of its own");
        let marked = heat.chunks_exact(4).map(|pixel| pixel[..3] != [0; 3]);
        assert!(marked.eq(levels.iter().map(|levels| *levels > 0)), "{requests:?}: the map");
        // The pictures have not changed.
        for (mut slot, right) in slots.into_iter().zip([a, b]) {
            assert!(picture(&mut slot, Some(&headless)) == right, "{requests:?}");
        }
    }
}

#[test]
fn readings_and_levels_are_those_of_the_filtered_frame() {
    let frames = frames();
    let (headless, mut engine) = with_opengl();
    // Without a device the processor measures what nothing filters.
    assert!(engine.status().can_measure(VariantId::OFF));
    // Variants on buffers and on images.
    add_device(&mut engine, &[named("fused"), named("naive")]);
    assert!(!engine.status().can_measure(named("fused")), "nothing is built for it");
    assert!(!engine.status().can_measure(VariantId::OFF), "the device has it");
    let on_processor = [named("native"), named("glsl")];
    assert!(on_processor.into_iter().all(|id| engine.status().can_measure(id)), "by the processor");
    let cl = engine.pipeline().unwrap().cl.clone();
    engine.pipeline_mut().unwrap().meters.scopes = Some(Scopes::build(&cl, SIZE));
    assert!(engine.status().can_measure(named("fused")) && engine.status().can_measure(VariantId::OFF));
    let mut without_device = Engine::new(Arc::new(|| {}));
    let ways = [(true, false), (true, true), (false, true), (false, false)];
    let [fused, glsl, naive, native, off] = ["fused", "glsl", "naive", "native", "off"].map(named);
    // The second case has no device.
    let cases = [(off, 0), (off, 0), (fused, 3), (naive, 2), (native, 1), (glsl, 1)];
    let mut measuring = Vec::new();
    for (case, (variant, radius)) in cases.into_iter().enumerate() {
        let engine = if case == 1 { &mut without_device } else { &mut engine };
        for (readings, levels) in ways {
            // Two frames in flight: neither gets the results of the other.
            for frame in &frames {
                let measurements = Measurements { readings, levels };
                let request = Request { measurements, ..request(variant, radius) };
                submit(engine, frame, request, slot((variant == glsl).then_some(&headless)));
            }
            for frame in &frames {
                let finished = wait(engine);
                let mut right = expected(frame, &request(variant, radius));
                let measured = Readings::reference(SIZE, &right);
                let told = finished.readings.as_deref();
                let wanted = Some(&measured).filter(|_| readings);
                assert!(told == wanted, "{variant} {readings} {levels}: {:?}", told.map(|told| told.mean));
                if (readings, levels) == (true, false) && [0, 2].contains(&case) {
                    let spans = format!("{:?}", finished.stages.spans);
                    measuring.push(spans.matches("stage: Reduce").count());
                }
                if levels {
                    let ends = measured.ends();
                    let shows = variant == VariantId::OFF || ends.0 > 0 && ends.1 < 255;
                    assert!(shows, "{variant}: {ends:?} would change nothing");
                    stretch(&mut right, ends);
                }
                if case != 0 && (readings || levels) {
                    let spans = format!("{:?}", finished.stages.spans);
                    assert_eq!(spans.contains("stage: Levels"), levels, "{variant}: {spans}");
                    assert!(spans.contains("stage: Reduce"), "{variant}: {spans}");
                }
                let mut slot = finished.slot;
                let got = match slot.texture() {
                    Some(_) => picture(&mut slot, Some(&headless)),
                    None => slot.pixels().unwrap().to_vec(),
                };
                assert!(got == right, "{variant} {readings} {levels}");
            }
        }
    }
    assert_eq!(measuring, [measuring[0]; 4], "the copy of what nothing filters is no measuring");
}

#[test]
fn a_reused_slot_shows_nothing_of_its_previous_frame() {
    let frames = frames();
    let mut engine = Engine::new(Arc::new(|| {}));
    let variants = [named("fused"), named("naive"), named("running-sum")];
    add_device(&mut engine, &variants);
    let mut slots = vec![slot(None), slot(None)];
    for turn in 0..24 {
        // Each radius returns, there are more radii than cached plans, and the variant changes every third time.
        let (variant, radius) = (variants[turn / 3 % 3], [2, 7, 2, 0, 31, 1, 4][turn % 7]);
        let variant = if turn == 11 { named("native") } else { variant };
        if turn == 17 {
            // Rebuilt variants: cached plans of the old ones must not be used.
            let cl = engine.pipeline().unwrap().cl.clone();
            let built = BuiltVariant::build(&cl, variant).unwrap();
            engine.pipeline_mut().unwrap().variants.add(built);
        }
        let request = request(variant, radius);
        for frame in &frames {
            submit(&mut engine, frame, request, slots.remove(0));
        }
        for frame in &frames {
            let slot = wait(&mut engine).slot;
            assert!(slot.pixels().unwrap() == expected(frame, &request), "{turn}: {request:?}");
            slots.push(slot);
        }
    }
}

#[test]
fn an_unsupported_request_is_refused_and_returns_its_slot() {
    let [frame, _] = frames();
    let mut engine = Engine::new(Arc::new(|| {}));
    let mut slot = slot(None);
    for variant in [named("glsl"), named("fused"), named("planar")] {
        let (back, refusal) = engine.submit(&frame, request(variant, 3), slot).expect_err("is refused");
        assert!(matches!(refusal, Refusal::Unsupported(_)), "{variant}: {refusal:?}");
        let error = refusal.into_error();
        assert!(error.what.contains(variant.name) && !error.hint.is_empty(), "{error:?}");
        slot = back;
    }
    add_device(&mut engine, &[]);
    assert!(!engine.status().can_filter((named("fused"), None), 3));
    let (slot, _) = engine.submit(&frame, request(named("fused"), 3), slot).expect_err("is refused");
    let native = request(named("native"), 3);
    submit(&mut engine, &frame, native, slot);
    assert!(wait(&mut engine).slot.pixels().unwrap() == expected(&frame, &native));
}

#[test]
fn a_slow_request_is_held_and_can_be_cancelled() {
    let [frame, _] = frames();
    let mut engine = Engine::new(Arc::new(|| {}));
    add_device(&mut engine, &[named("naive")]);
    let long = submit(&mut engine, &frame, request(named("naive"), MAX_RADIUS), slot(None));
    let next = submit(&mut engine, &frame, request(named("naive"), 2), slot(None));
    assert!(engine.jobs.is_holding() && engine.jobs.progress(long).predicted_ms > 3000.0);
    assert!(engine.poll().is_none() && engine.jobs.progress(long).elapsed_s() == 0.0, "it is not started");
    let progress = engine.jobs.progress(next);
    assert!(!progress.is_enqueued && progress.elapsed_s() == 0.0, "nor what comes after it");
    engine.jobs.cancel(long);
    let first = engine.poll().expect("it is over at once");
    assert!(first.ticket == long && matches!(first.outcome, Outcome::Cancelled));
    let done = wait(&mut engine);
    assert!(done.ticket == next && matches!(done.outcome, Outcome::Done));
    assert!(done.slot.pixels().unwrap() == expected(&frame, &request(named("naive"), 2)));
    // A request queued behind another can be cancelled too, and delays nothing.
    let first_slot = first.slot;
    let held = submit(&mut engine, &frame, request(named("naive"), MAX_RADIUS), first_slot);
    engine.jobs.cancel(held);
    // What is cancelled is not waited for.
    assert!(!engine.jobs.is_holding() && engine.jobs.progress(held).is_enqueued);
    let cancelled = wait(&mut engine);
    assert!(cancelled.ticket == held && matches!(cancelled.outcome, Outcome::Cancelled));
    // The frame is cancelled between bands.
    let long = submit(&mut engine, &frame, request(named("naive"), MAX_RADIUS), cancelled.slot);
    engine.start_held();
    while engine.jobs.progress(long).fraction == 0.0 {
        assert!(engine.poll().is_none(), "it has many bands");
    }
    let progress = engine.jobs.progress(long);
    assert!(progress.fraction < 1.0 && progress.remaining_ms() > 0.0, "{progress:?}");
    assert!(progress.elapsed_s() > 0.0, "{progress:?}");
    engine.jobs.cancel(long);
    let cancelled = wait(&mut engine);
    assert!(matches!(cancelled.outcome, Outcome::Cancelled), "{:?}", cancelled.outcome);
    let again = request(named("naive"), 1);
    submit(&mut engine, &frame, again, cancelled.slot);
    assert!(wait(&mut engine).slot.pixels().unwrap() == expected(&frame, &again));
}

#[test]
fn filtered_planes_are_written_to_host_memory() {
    let [frame, _] = frames();
    let mut engine = Engine::new(Arc::new(|| {}));
    add_device(&mut engine, &[named("flat")]);
    let cl = engine.pipeline().unwrap().cl.clone();
    let layout = Converter::supports(&frame.picture).unwrap();
    let filtered = layout.filtered();
    let pipeline = engine.pipeline_mut().unwrap();
    pipeline.variants.add(BuiltVariant::build(&cl, named("planar")).unwrap());
    let conversion = Conversion { layout: filtered, storage: Storage::Buffer };
    pipeline.conversions.build(conversion).unwrap();
    let (mut slot, mut seen) = (slot(None), Vec::new());
    for radius in [0, 7, 30, 7] {
        // The previous request filtered RGBA in the same slot.
        for variant in [named("flat"), named("planar")] {
            let request = request(variant, radius);
            submit(&mut engine, &frame, request, slot);
            let finished = wait(&mut engine);
            slot = finished.slot;
            let mut want = expected(&frame, &request);
            if variant == named("planar") {
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
