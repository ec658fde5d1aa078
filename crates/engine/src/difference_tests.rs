//! Tests of the comparison of two pictures on the device: its results are compared with those of the host, for pictures with
//! planted differences and for kernels with planted faults. They need an OpenCL device.

use super::*;
use box_filter::pictures::noise;
use opencl::cl::{list_devices, select_device};

fn context() -> ClContext {
    let devices = list_devices();
    let device = select_device(&devices, Some("cpu")).or_else(|_| select_device(&devices, None));
    ClContext::new(&device.expect("these tests need an OpenCL device"), Sources::default()).unwrap()
}

/// Differences of a pixel in levels, each with the RGBA colour that the map of the differences is expected to show for it.
const COLOURS: [(u8, [u8; 4]); 12] = [
    (0, [0, 0, 0, 255]),
    (1, [96, 0, 160, 255]),
    (2, [160, 0, 96, 255]),
    (3, [192, 0, 64, 255]),
    (6, [255, 0, 0, 255]),
    (7, [255, 12, 0, 255]),
    (8, [255, 24, 0, 255]),
    (15, [255, 66, 0, 255]),
    (64, [255, 168, 0, 255]),
    (100, [255, 195, 72, 255]),
    (128, [255, 216, 128, 255]),
    (255, [255, 255, 255, 255]),
];

struct Case {
    size: (u32, u32),
    a: Vec<u8>,
    b: Vec<u8>,
}

/// Returns a noise picture, and a copy of it in which each byte at an index in `at` differs by the given number of levels.
fn planted(size: (u32, u32), at: &[(usize, u8)]) -> Case {
    let a = noise((size.0 * size.1 * 4) as usize);
    let mut b = a.clone();
    for (place, levels) in at {
        b[*place] = if a[*place] >= *levels { a[*place] - levels } else { a[*place] + levels };
    }
    Case { size, a, b }
}

fn cases() -> Vec<Case> {
    let all = |size: (u32, u32)| (size.0 * size.1 * 4) as usize;
    let (small, large) = ((175, 99), (700, 400));
    // The largest difference occurs in several groups, and in several places of one group: the first place counts.
    let mut several =
        [4 * 7000 + 1, 4 * 6000 + 2, 4 * 6030, 4 * 6064, 4 * 6099 + 3].map(|at| (at, 9)).to_vec();
    several.push((4 * 300, 8));
    let mut cases = vec![
        planted((1, 1), &[]),
        planted((1, 1), &[(2, 1)]),
        planted(small, &[]),
        planted(large, &[]),
        planted(large, &[(all(large) - 1, 1)]),
        planted(small, &[(0, 1)]),
        planted(small, &several),
        planted(large, &[(4 * 250_000, 127), (4 * 320 + 1, 127), (4 * 319 + 2, 126), (4 * 321, 127)]),
    ];
    let a = noise(all(small));
    cases.push(Case { size: small, b: a.iter().rev().copied().collect(), a });
    let known = COLOURS.iter().map(|(levels, _)| *levels);
    let b: Vec<u8> = known.flat_map(|levels| [0, 0, levels, 0]).collect();
    cases.push(Case { size: (COLOURS.len() as u32, 1), a: vec![0; b.len()], b });
    cases
}

/// Returns the expected result: the differences of the two pictures, and for each pixel the largest difference of its channels, in levels.
fn expected(case: &Case) -> (Difference, Vec<u8>) {
    let levels = |i: usize| (0..4).map(|c| case.a[4 * i + c].abs_diff(case.b[4 * i + c])).max().unwrap();
    let levels: Vec<u8> = (0..case.a.len() / 4).map(levels).collect();
    let most = *levels.iter().max().unwrap();
    let first = levels.iter().position(|levels| *levels == most).unwrap() as u32;
    let difference = Difference {
        pixels: levels.len() as u64,
        differing: levels.iter().filter(|levels| **levels > 0).count() as u64,
        largest: (most > 0).then_some((most, (first % case.size.0, first / case.size.0))),
    };
    (difference, levels)
}

/// Returns true if the map `heat` agrees with the pixels' differences `levels`: exactly the pixels without a difference are
/// black, and each difference listed in [`COLOURS`] has its colour.
fn is_map(heat: &[u8], levels: &[u8]) -> bool {
    let pixels = heat.as_chunks::<4>().0;
    pixels.len() == levels.len()
        && pixels.iter().zip(levels).all(|(pixel, levels)| {
            let known = COLOURS.iter().find(|(known, _)| known == levels).map(|(_, colour)| colour);
            (*pixel == [0, 0, 0, 255]) == (*levels == 0) && known.is_none_or(|colour| colour == pixel)
        })
}

fn is_right(comparer: &mut Comparer, case: &Case) -> bool {
    let compared =
        comparer.compare([&case.a, &case.b].map(|side| PictureSource::OnHost(side)), case.size).unwrap();
    let (difference, levels) = expected(case);
    compared.difference == difference && is_map(&compared.heat, &levels)
}

#[test]
fn differences_are_exact_wherever_the_pictures_are_and_have_colours_of_their_own() {
    let cl = context();
    let mut comparer = Comparer::new(&cl).unwrap();
    for (number, case) in cases().iter().enumerate() {
        let picture = |storage, pixels: &[u8]| {
            let picture = Picture::alloc(&cl, storage, case.size.0, case.size.1).unwrap();
            picture.write(&cl.queue, pixels).unwrap();
            picture
        };
        let [a, b] = [&case.a, &case.b]
            .map(|pixels| [Storage::Buffer, Storage::Image].map(|storage| picture(storage, pixels)));
        let (difference, levels) = expected(case);
        let places = [(None, None), (Some(0), Some(1)), (Some(1), None), (Some(1), Some(1))];
        for (of_a, of_b) in places {
            fn side<'a>(place: Option<usize>, pixels: &'a [u8], kept: &'a [Picture; 2]) -> PictureSource<'a> {
                place.map_or(PictureSource::OnHost(pixels), |place| PictureSource::OnDevice(&kept[place]))
            }
            let (side_a, side_b) = (side(of_a, &case.a, &a), side(of_b, &case.b, &b));
            let compared = comparer.compare([side_a, side_b], case.size).unwrap();
            assert_eq!(compared.difference, difference, "case {number}, {of_a:?} and {of_b:?}");
            assert!(is_map(&compared.heat, &levels), "case {number}, {of_a:?} and {of_b:?}");
            assert!(compared.ms > 0.0, "its time is the device's");
        }
    }
    let short = comparer.compare([PictureSource::OnHost(&[0; 16]), PictureSource::OnHost(&[0; 12])], (2, 2));
    assert!(short.unwrap_err().to_string().contains("not 2×2 pixels"));
    let a = vec![0; 4 * 256];
    let b: Vec<u8> = (0..=255).flat_map(|levels| [levels, 0, 0, 0]).collect();
    let heat =
        comparer.compare([PictureSource::OnHost(&a), PictureSource::OnHost(&b)], (256, 1)).unwrap().heat;
    let colours = &heat.as_chunks::<4>().0[1..];
    for (level, pair) in (1..).zip(colours.windows(2)) {
        let [before, now] = [pair[0], pair[1]];
        assert_ne!(before, now, "{level}");
        assert!(now[0] >= before[0] && now[1] >= before[1], "{level}: {before:?}, {now:?}");
        assert!(now[2] <= before[2] || before[0] == 255, "{level}: {before:?}, {now:?}");
    }
}

#[test]
fn faults_in_the_kernels_are_caught() {
    let cl = context();
    let right = Sources::default().text(KERNEL_FILE).unwrap();
    let cases = cases();
    let faults = [
        ("abs_diff(A_AT(i), B_AT(i))", "abs_diff(A_AT(i), A_AT(i))"),
        ("abs_diff(A_AT(i), B_AT(i))", "(A_AT(i) - B_AT(i))"),
        ("max(max(d.x, d.y), max(d.z, d.w))", "max(max(d.x, d.y), d.z)"),
        ("most > found.y", "most >= found.y"),
        ("most > found.y", "most > found.y + 1"),
        ("most > 0", "most > 1"),
        ("min(first + run, pixels)", "min(first + run - 1, pixels)"),
        ("b.z < a.z", "b.z > a.z"),
        ("a.x + b.x", "max(a.x, b.x)"),
        ("i < count; i += GROUP", "i < count - 1; i += GROUP"),
        ("if (difference == 0)", "if (difference <= 1)"),
        ("<< 7) >> octave", "<< 6) >> octave"),
        ("3 * (t - 320)", "3 * (t - 512)"),
    ];
    for (find, with) in faults {
        assert_eq!(right.matches(find).count(), 1, "{find}");
        let mut comparer = Comparer::with_source(&cl, right.replace(find, with)).unwrap();
        assert!(!cases.iter().all(|case| is_right(&mut comparer, case)), "{find} became {with}");
    }
    let mut comparer = Comparer::with_source(&cl, right).unwrap();
    assert!(cases.iter().all(|case| is_right(&mut comparer, case)));
}

#[test]
fn a_difference_is_said_in_words() {
    let says = |pixels, differing, largest, said: &str| {
        assert_eq!(Difference { pixels, differing, largest }.to_string(), said);
    };
    let at = |levels, x, y| Some((levels, (x, y)));
    says(921_600, 0, None, "identical: 921,600 pixels compared");
    says(1, 0, None, "identical: 1 pixel compared");
    says(1, 1, at(3, 0, 0), "1 of 1 pixel differs, by at most 3 levels, first so at (0, 0)");
    says(921_600, 1, at(1, 3, 4), "1 of 921,600 pixels differs, by at most 1 level, first so at (3, 4)");
    let many = "20 of 921,600 pixels differ, by at most 17 levels, first so at (3, 4)";
    says(921_600, 20, at(17, 3, 4), many);
}
