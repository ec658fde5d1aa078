//! Compares the scene's picture with stored ones, with a tolerance, since CPUs, compilers and OpenGL drivers give slightly
//! different results.
//!
//! `UPDATE_GOLDENS=1 ./dev test -p clreel cloth::picture` rewrites the stored pictures; look at them before you commit.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use super::*;
use crate::scene::mesh::VERTEX_FLOATS;
use ladders::cloth::model::{Figure, SHIRT_VERTICES};
use opengl::headless::Headless;

/// The width and height in pixels of the blocks whose mean colours are stored.
const BLOCK: usize = 8;
const COLUMNS: usize = SIZE.0 as usize / BLOCK;
const ROWS: usize = SIZE.1 as usize / BLOCK;
/// The difference of a colour channel, in levels, above which two blocks count as different.
const LEVELS: u8 = 12;
/// The number of blocks, of the picture's 14,400, that may differ from the stored picture: blocks along some edges.
const MAX_DIFFERENT: usize = 60;
/// The number of blocks that may differ between the coarse and the fine level of detail. It is larger than [`MAX_DIFFERENT`],
/// because blocks along the edges of shadows may differ, too.
const MAX_DIFFERENT_COARSE: usize = 288;

/// The size of the picture on the shirts. No part of the picture is symmetric, so that a wrong orientation is detected.
const WORN: (u32, u32) = (96, 54);

fn worn() -> Vec<u8> {
    let pixel = |at: u32| {
        let (x, y) = (at % WORN.0, at / WORN.0);
        let stripe = if (x / 8 + y / 9).is_multiple_of(2) { 255 } else { 120 };
        [(x * 255 / WORN.0) as u8, (y * 255 / WORN.1) as u8, stripe, 255]
    };
    (0..WORN.0 * WORN.1).flat_map(pixel).collect()
}

/// Returns the mean colours of all blocks: red, green, blue.
fn means(rgba: &[u8]) -> Vec<u8> {
    let mut means = Vec::with_capacity(COLUMNS * ROWS * 3);
    for (block, channel) in (0..COLUMNS * ROWS).flat_map(|block| (0..3).map(move |channel| (block, channel)))
    {
        let (x, y) = (block % COLUMNS * BLOCK, block / COLUMNS * BLOCK);
        let pixels = (0..BLOCK * BLOCK).map(|n| (y + n / BLOCK) * SIZE.0 as usize + x + n % BLOCK);
        let sum: usize = pixels.map(|pixel| usize::from(rgba[pixel * 4 + channel])).sum();
        means.push((sum / (BLOCK * BLOCK)) as u8);
    }
    means
}

fn path(army: usize) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/goldens/cloth/army-of-{army}.png"))
}

fn stored(army: usize) -> Vec<u8> {
    let file = File::open(path(army)).unwrap_or_else(|e| panic!("{}: {e}", path(army).display()));
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
    let mut means = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut means).unwrap();
    let size = (info.width as usize, info.height as usize);
    assert_eq!((size, info.color_type), ((COLUMNS, ROWS), png::ColorType::Rgb));
    means
}

fn store(army: usize, means: &[u8]) {
    std::fs::create_dir_all(path(army).parent().unwrap()).unwrap();
    let mut encoder = png::Encoder::new(File::create(path(army)).unwrap(), COLUMNS as u32, ROWS as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().unwrap().write_image_data(means).unwrap();
}

/// Returns the number of blocks that differ by more than [`LEVELS`].
fn count_different(means: &[u8], stored: &[u8]) -> usize {
    let differs = |(a, b): &(&[u8], &[u8])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > LEVELS);
    means.chunks_exact(3).zip(stored.chunks_exact(3)).filter(differs).count()
}

/// Draws the figures after their walk, and returns the mean colours of all blocks. `change` can modify the vertices before they
/// are drawn.
fn draw_means(
    gl: &Arc<glow::Context>,
    world: &mut World,
    chain: &mut Chain,
    change: impl Fn(&mut [f32]),
) -> Vec<u8> {
    let bytes = simulate(chain).unwrap();
    let mut numbers: Vec<f32> =
        bytes.chunks_exact(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap())).collect();
    change(&mut numbers);
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let worn = picture_texture(gl, WORN, &worn()).unwrap();
    world.set(chain.army(), &bytes).unwrap();
    means(&draw_figures(gl, world, chain, worn).unwrap())
}

#[test]
fn the_picture_is_the_stored_one_and_faults_are_seen() {
    let headless = Headless::new().unwrap();
    let gl = &headless.gl;
    let mut world = World::new(gl, Detail::Fine).unwrap();
    let as_it_is = |_: &mut [f32]| {};
    for army in [1, 4] {
        let now = draw_means(gl, &mut world, &mut Chain::new(army, None).unwrap(), as_it_is);
        if testkit::golden::is_update() {
            store(army, &now);
        }
        let others = count_different(&now, &stored(army));
        println!("an army of {army}: {others} blocks are others");
        assert!(others <= MAX_DIFFERENT, "an army of {army}: {others} blocks are others");
    }
    // Each fault changes more than the tolerance permits.
    let caught = |what: &str, army: usize, now: &[u8]| {
        let others = count_different(now, &stored(army));
        println!("{what}: {others} blocks are others");
        assert!(others > 2 * MAX_DIFFERENT, "{what} is not seen: {others} blocks are others");
    };
    let shirt = SHIRT_VERTICES * VERTEX_FLOATS;
    let flip = |numbers: &mut [f32]| {
        numbers.chunks_exact_mut(VERTEX_FLOATS).for_each(|v| v[3..6].iter_mut().for_each(|x| *x = -*x));
    };
    let turn = |numbers: &mut [f32]| {
        numbers[..shirt].chunks_exact_mut(VERTEX_FLOATS).for_each(|v| v[7] = 1.0 - v[7]);
    };
    // The second character's shirt is drawn at the place of the first character's.
    let shift = |numbers: &mut [f32]| numbers.copy_within(..shirt, shirt);
    type Change<'a> = &'a dyn Fn(&mut [f32]);
    let faults: [(&str, usize, Change); 3] = [
        ("normals that are flipped", 1, &flip),
        ("a picture that is upside down", 1, &turn),
        ("a character at another one's place", 4, &shift),
    ];
    for (what, army, change) in faults {
        let mut chain = Chain::new(army, None).unwrap();
        caught(what, army, &draw_means(gl, &mut world, &mut chain, change));
    }
    world.without_shadows = true;
    let bright = draw_means(gl, &mut world, &mut Chain::new(1, None).unwrap(), as_it_is);
    caught("no shadow", 1, &bright);
    world.without_shadows = false;
    let mut figure = Figure::new();
    figure.shirt.drivers.iter_mut().for_each(|driver| driver.weights[0] *= 0.9);
    let mut chain = Chain::with_figure(Arc::new(figure), 1, None).unwrap();
    caught("drivers whose weights are off", 1, &draw_means(gl, &mut world, &mut chain, as_it_is));
}

#[test]
fn what_is_drawn_coarsely_is_nearly_the_same_picture() {
    let headless = Headless::new().unwrap();
    let gl = &headless.gl;
    let mut worlds = [Detail::Fine, Detail::Coarse].map(|detail| World::new(gl, detail).unwrap());
    for army in [1, 4, 25] {
        let mut chain = Chain::new(army, None).unwrap();
        let vertices = simulate(&mut chain).unwrap();
        let mut picture = |world: &mut World| {
            let worn = picture_texture(gl, WORN, &worn()).unwrap();
            world.set(chain.army(), &vertices).unwrap();
            means(&draw_figures(gl, world, &chain, worn).unwrap())
        };
        let [fine, coarse] = worlds.each_mut().map(&mut picture);
        worlds[1].without_shadows = true;
        let bright = picture(&mut worlds[1]);
        worlds[1].without_shadows = false;
        let [off, faulty] = [coarse, bright].map(|seen| count_different(&seen, &fine));
        println!("an army of {army}: {off} blocks are others, {faulty} without a shadow");
        assert!(off <= MAX_DIFFERENT_COARSE, "an army of {army}: {off} blocks are others");
        assert!(faulty > off + MAX_DIFFERENT, "an army of {army}: no shadow is not seen: {faulty} blocks");
    }
}
