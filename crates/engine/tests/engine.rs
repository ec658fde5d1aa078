//! The engine as its clients use it, without a window: one frame asked for in several ways and for several places at
//! once, slots that are used again, what is refused, held and cancelled. Every picture is compared with the reference.

use std::path::Path;
use std::sync::Arc;

use crate::context;
use box_filter::color_kernels::Converter;
use box_filter::pictures::noise;
use box_filter::planar::{PlanarFilter, planar_reference};
use box_filter::reference::reference;
use box_filter::{BuiltVariant, MAX_RADIUS, VariantId};
use engine::sharing::Sharing;
use engine::{Engine, Finished, Outcome, Pipeline, Readings, Refusal, Request, Scopes, Slot, stretch};
use opencl::memory::Storage;
use opengl::headless::Headless;
use opengl::read_texture::read_texture;
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};
use video::color::planes::pack;
use video::color::{RgbaConverter, convert_reference};
use video::{Frame, References, read_frame_at};

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

fn submit(engine: &mut Engine, frame: &Frame, request: Request, slot: Slot) -> engine::Ticket {
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

/// Pictures of the frames in turns by two filters: each frame asked for twice at once, or once after the other.
fn pictures(
    engine: &mut Engine,
    frames: &[Frame; 2],
    sides: [Request; 2],
    at_once: bool,
    texture: Option<&Headless>,
) -> Vec<Vec<u8>> {
    let slot = || match texture {
        Some(headless) => Slot::new(&headless.gl, SIZE.0, SIZE.1).unwrap(),
        None => Slot::in_memory(SIZE.0, SIZE.1),
    };
    // Each is used again: what it has of the frame before must not be shown.
    let mut slots = [slot(), slot()];
    let mut pictures = Vec::new();
    for frame in frames.iter().chain(frames) {
        let [a, b] = slots;
        let mut done = if at_once {
            let first = engine.submit_first(frame, sides[0], a).map_err(|(_, e)| e.into_error()).unwrap();
            let other = engine.submit_beside(first, frame, sides[1], b).map_err(|(_, e)| e.into_error());
            let done = [wait(engine), wait(engine)];
            assert!(done[0].ticket == first && done[1].ticket == other.unwrap(), "in their order");
            done
        } else {
            [(sides[0], a), (sides[1], b)].map(|(side, slot)| {
                submit(engine, frame, side, slot);
                wait(engine)
            })
        };
        for finished in &mut done {
            assert!(matches!(finished.outcome, Outcome::Done), "{sides:?}");
            let slot = finished.slot.as_mut().unwrap();
            slot.show();
            pictures.push(match (texture, slot.texture()) {
                (Some(headless), Some(texture)) => read_texture(&headless.gl, texture, SIZE).unwrap(),
                _ => slot.pixels().unwrap().to_vec(),
            });
        }
        slots = done.map(|finished| finished.slot.unwrap());
    }
    pictures
}

/// Where the layer notes calls, in the process that this file's test starts with it.
const CALLS: &str = "CLREEL_LAYER_CALLS";

#[test]
fn both_pictures_of_a_frame_that_is_asked_for_twice_are_right() {
    use VariantId::{Fused, Glsl, Naive, Native, Off, Planar, Separable};
    let folder = Folder::new("engine-beside");
    let movie = movie(&folder);
    let frames = [frame(&movie, 0.1), frame(&movie, 0.5)];
    let headless = std::env::var_os(CALLS).is_none().then(|| Headless::new().unwrap());
    let mut engine = match &headless {
        Some(headless) => Engine::with_opengl(headless.gl.clone(), Arc::new(|| {})),
        None => Engine::new(Arc::new(|| {})),
    };
    let calls = || std::env::var_os(CALLS).map(|log| std::fs::read_to_string(log).unwrap());
    let count = |text: &str, function: &str| text.lines().filter(|l| l.starts_with(function)).count();
    // RGBA pictures from the host, and planes where the device converts these.
    for converts in [false, true] {
        add_device(&mut engine, &[Fused, Naive, Separable]);
        let pipeline = engine.pipeline_mut().unwrap();
        let cl = pipeline.cl().clone();
        if converts {
            let layout = Converter::supports(&frames[0].picture).unwrap();
            pipeline.build_conversion(&layout, Storage::Buffer).unwrap();
            pipeline.build_conversion(&layout.filtered(), Storage::Buffer).unwrap();
            pipeline.add_planar(PlanarFilter::build(&cl, VariantId::Planar).unwrap());
            pipeline.set_scopes(Scopes::build(&cl, SIZE));
        }
        // Commands of four frames: uploads, kernels with the conversion, copies into images for those that read such.
        let mut pairs = vec![
            ([(Fused, 3), (Separable, 5)], [4, 12 + 4 * usize::from(converts), 4]),
            ([(Fused, 3), (Fused, 4)], [4, 8 + 4 * usize::from(converts), 0]),
            ([(Naive, 2), (Fused, 4)], [4, 8 + 4 * usize::from(converts), 4]),
            ([(Fused, 4), (Naive, 2)], [4, 8 + 4 * usize::from(converts), 4]),
            ([(Off, 0), (Fused, 3)], [4, 4 + 4 * usize::from(converts), 0]),
            ([(Fused, 3), (Off, 0)], [4, 4 + 4 * usize::from(converts), 0]),
            ([(Native, 3), (Fused, 5)], [4, 4 + 4 * usize::from(converts), 0]),
            ([(Fused, 5), (Native, 3)], [4, 4 + 4 * usize::from(converts), 0]),
            ([(Off, 0), (Native, 3)], [4 * usize::from(converts), 4 * usize::from(converts), 0]),
        ];
        if converts {
            // What filters planes has an upload and a conversion of its own.
            pairs.extend([([(Planar, 3), (Fused, 5)], [8, 16, 0]), ([(Fused, 5), (Planar, 3)], [8, 16, 0])]);
        }
        let mut sides: Vec<_> = pairs
            .iter()
            .map(|(pair, count)| (pair.map(|(id, radius)| request(id, radius)), Some(*count)))
            .collect();
        if headless.is_some() {
            sides.extend(
                [(Glsl, Native), (Native, Glsl), (Glsl, Fused), (Fused, Glsl)]
                    .map(|(a, b)| ([request(a, 2), request(b, 3)], None)),
            );
        }
        if converts {
            // Measuring stretches the first picture, and must leave the other's as it is.
            let levels =
                |variant, radius| Request { levels: true, readings: true, ..request(variant, radius) };
            sides.push(([levels(Off, 0), levels(Fused, 3)], None));
            sides.push(([levels(Fused, 3), levels(Off, 0)], None));
        }
        for (sides, counted) in sides {
            let of_glsl = sides.iter().any(|side| side.variant == Glsl);
            for texture in [None, headless.as_ref()] {
                if texture.is_none() && of_glsl {
                    continue;
                }
                let alone = pictures(&mut engine, &frames, sides, false, texture);
                let before = calls().unwrap_or_default().len();
                let beside = pictures(&mut engine, &frames, sides, true, texture);
                let case = format!("{sides:?}, converts {converts}, textures {}", texture.is_some());
                assert!(alone[0] != alone[2] && alone[0] == alone[4], "{case}: two frames");
                for (at, (alone, beside)) in alone.iter().zip(&beside).enumerate() {
                    assert!(alone == beside, "{case}: picture {at}");
                }
                if let (Some(calls), Some(counted)) = (calls(), counted) {
                    let functions =
                        ["clEnqueueWriteBuffer", "clEnqueueNDRangeKernel", "clEnqueueCopyBufferToImage"];
                    assert_eq!(
                        functions.map(|function| count(&calls[before..], function)),
                        counted,
                        "{case}"
                    );
                }
            }
        }
    }
}

/// On a device with memory of its own, too: there each frame is uploaded once, and converted once.
#[test]
fn a_frame_that_is_asked_for_twice_is_uploaded_and_converted_once() {
    let folder = Folder::new("engine-beside-calls");
    let log = folder.file("calls");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let options = [("FAKE_GPU", "1"), ("CALLS", log.to_str().unwrap())];
    command.envs(layer::environment(&options)).arg("--exact");
    let output =
        command.arg("engine::both_pictures_of_a_frame_that_is_asked_for_twice_are_right").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(std::fs::read_to_string(log).unwrap().contains("clEnqueueWriteBuffer"));
}

#[test]
fn two_pictures_of_a_frame_are_compared_where_they_are() {
    let folder = Folder::new("engine-compare");
    let frame = frame(&movie(&folder), 0.2);
    let headless = Headless::new().expect("these tests need OpenGL through EGL");
    let mut engine = Engine::with_opengl(headless.gl.clone(), Arc::new(|| {}));
    let made = |engine: &mut Engine, request| {
        submit(engine, &frame, request, Slot::new(&headless.gl, SIZE.0, SIZE.1).unwrap());
        let mut slot = wait(engine).slot.unwrap();
        slot.be_readable(&headless.gl).unwrap();
        slot
    };
    let (none, again) = (request(VariantId::Off, 0), request(VariantId::Native, 2));
    let sides = [made(&mut engine, none), made(&mut engine, again)];
    let mut map = Slot::new(&headless.gl, SIZE.0, SIZE.1).unwrap();
    let error = engine.compare(&sides[0], &sides[1], &mut map).unwrap_err();
    assert!(error.why.contains("there is none"), "without a device: {error}");
    add_device(&mut engine, &[VariantId::Fused, VariantId::Separable]);
    use VariantId::{Fused, Glsl, Native, Off, Separable};
    // Buffers and images of the device, the host's memory, a filter's own, a texture that is not shared.
    for [a, b] in [
        [(Fused, 3), (Separable, 3)],
        [(Native, 5), (Glsl, 5)],
        [(Off, 0), (Fused, 3)],
        [(Glsl, 5), (Separable, 3)],
        [(Separable, 3), (Native, 5)],
        [(Off, 0), (Off, 0)],
    ] {
        let requests = [a, b].map(|(variant, radius)| request(variant, radius));
        let slots = requests.map(|request| made(&mut engine, request));
        let (difference, ms) = engine.compare(&slots[0], &slots[1], &mut map).unwrap();
        map.show();
        let heat = read_texture(&headless.gl, map.texture().unwrap(), SIZE).unwrap();
        let [a, b] = requests.map(|request| expected(&frame, &request));
        let levels = |(a, b): (&[u8], &[u8])| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        let levels: Vec<u8> = a.chunks_exact(4).zip(b.chunks_exact(4)).map(levels).collect();
        let differing = levels.iter().filter(|levels| **levels > 0).count() as u64;
        let most = levels.iter().copied().max().unwrap();
        let at = levels.iter().position(|levels| *levels == most).unwrap() as u32;
        let largest = (most > 0).then_some((most, (at % SIZE.0, at / SIZE.0)));
        assert_eq!(
            (difference.pixels, difference.differing, difference.largest),
            (levels.len() as u64, differing, largest),
            "{requests:?}"
        );
        assert!(ms > 0.0, "it has a time of its own");
        let marked = heat.chunks_exact(4).map(|pixel| pixel[..3] != [0; 3]);
        assert!(marked.eq(levels.iter().map(|levels| *levels > 0)), "{requests:?}: the map");
        // The pictures are as they were.
        for (mut slot, right) in slots.into_iter().zip([a, b]) {
            slot.show();
            let shown = read_texture(&headless.gl, slot.texture().unwrap(), SIZE).unwrap();
            assert!(shown == right, "{requests:?}");
        }
    }
}

#[test]
fn what_is_measured_and_levelled_is_the_filtered_picture_of_that_very_frame() {
    let folder = Folder::new("engine-scopes");
    let movie = movie(&folder);
    let frames = [frame(&movie, 0.1), frame(&movie, 0.5)];
    let headless = Headless::new().expect("these tests need OpenGL through EGL");
    let gl = &headless.gl;
    let mut engine = Engine::with_opengl(gl.clone(), Arc::new(|| {}));
    assert!(
        engine.can_measure(VariantId::Off),
        "without a device the processor measures what nothing filters"
    );
    // Buffers and images.
    add_device(&mut engine, &[VariantId::Fused, VariantId::Naive]);
    assert!(!engine.can_measure(VariantId::Fused), "nothing is built for it");
    assert!(!engine.can_measure(VariantId::Off), "the device has it");
    let on_processor = [VariantId::Native, VariantId::Glsl];
    assert!(on_processor.into_iter().all(|id| engine.can_measure(id)), "the processor measures these");
    let cl = engine.pipeline().unwrap().cl().clone();
    engine.pipeline_mut().unwrap().set_scopes(Scopes::build(&cl, SIZE));
    assert!(engine.can_measure(VariantId::Fused) && engine.can_measure(VariantId::Off));
    let mut without_device = Engine::new(Arc::new(|| {}));
    let ways = [(true, false), (true, true), (false, true), (false, false)];
    use VariantId::{Fused, Glsl, Naive, Native, Off};
    // The second is without a device.
    let cases = [(Off, 0), (Off, 0), (Fused, 3), (Naive, 2), (Native, 1), (Glsl, 1)];
    let mut measuring = Vec::new();
    for (case, (variant, radius)) in cases.into_iter().enumerate() {
        let engine = if case == 1 { &mut without_device } else { &mut engine };
        for (readings, levels) in ways {
            // Two on their way at once: neither has the other's.
            for frame in &frames {
                let request = Request { readings, levels, ..request(variant, radius) };
                let slot = match variant {
                    Glsl => Slot::new(gl, SIZE.0, SIZE.1).unwrap(),
                    _ => Slot::in_memory(SIZE.0, SIZE.1),
                };
                submit(engine, frame, request, slot);
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
                    let shows = variant == VariantId::Off || ends.0 > 0 && ends.1 < 255;
                    assert!(shows, "{variant}: {ends:?} would change nothing");
                    stretch(&mut right, ends);
                }
                if case != 0 && (readings || levels) {
                    let spans = format!("{:?}", finished.stages.spans);
                    assert_eq!(spans.contains("stage: Levels"), levels, "{variant}: {spans}");
                    assert!(spans.contains("stage: Reduce"), "{variant}: {spans}");
                }
                let slot = finished.slot.unwrap();
                let got = match slot.texture() {
                    Some(texture) => read_texture(gl, texture, SIZE).unwrap(),
                    None => slot.pixels().unwrap().to_vec(),
                };
                assert!(got == right, "{variant} {readings} {levels}");
            }
        }
    }
    assert_eq!(measuring, [measuring[0]; 4], "the copy of what nothing filters is no measuring");
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
    let long = submit(&mut engine, &frame, request(VariantId::Naive, MAX_RADIUS), slots());
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
    let held = submit(&mut engine, &frame, request(VariantId::Naive, MAX_RADIUS), first_slot);
    engine.cancel(held);
    assert!(!engine.is_holding() && !engine.is_queue_busy(), "what is cancelled is not waited for");
    let cancelled = wait(&mut engine);
    assert!(cancelled.ticket == held && matches!(cancelled.outcome, Outcome::Cancelled));
    // In the middle of its bands.
    let long = submit(&mut engine, &frame, request(VariantId::Naive, MAX_RADIUS), cancelled.slot.unwrap());
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
    pipeline.add_planar(PlanarFilter::build(&cl, VariantId::Planar).unwrap());
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
