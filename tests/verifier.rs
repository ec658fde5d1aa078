//! The verifier itself: each way in which a kernel can be wrong is caught, and what is right passes.

use clreel::error::Error;
use clreel::ladder::verify::{check, guard};

const WIDTH: usize = 5;
/// Canary bytes on each side of [`want`].
const GUARD: usize = 4096;

/// 5 by 4 pixels in which every byte value of interest occurs.
fn want() -> Vec<u8> {
    (0..WIDTH * 4 * 4).map(|i| (i * 37) as u8).collect()
}

/// A run that writes the right picture and nothing else.
fn right(before: &[u8]) -> Vec<u8> {
    let mut after = before.to_vec();
    after[GUARD..GUARD + want().len()].copy_from_slice(&want());
    after
}

#[test]
fn the_right_output_passes() {
    assert_eq!(check(&want(), WIDTH, |before| Ok(right(before))).unwrap(), None);
}

#[test]
fn one_wrong_byte_is_caught_wherever_it_is() {
    for at in 0..want().len() {
        let run = |before: &[u8]| {
            let mut after = right(before);
            after[GUARD + at] = after[GUARD + at].wrapping_add(1);
            Ok(after)
        };
        let report = check(&want(), WIDTH, run).unwrap().expect("a wrong byte must be caught");
        let first = report.first.unwrap();
        assert_eq!((report.count, report.overrun), (1, 0));
        assert_eq!((first.x, first.y, first.channel), (at / 4 % WIDTH, at / 4 / WIDTH, at % 4));
        assert_eq!((first.got, first.want), (want()[at].wrapping_add(1), want()[at]));
    }
}

#[test]
fn an_untouched_output_is_caught_byte_by_byte() {
    let report = check(&want(), WIDTH, |before| Ok(before.to_vec())).unwrap().expect("nothing was written");
    assert_eq!((report.count, report.untouched), (want().len(), want().len()));
    // A single pixel left out, too.
    let run = |before: &[u8]| {
        let mut after = right(before);
        after[GUARD + 12..GUARD + 16].copy_from_slice(&before[GUARD + 12..GUARD + 16]);
        Ok(after)
    };
    let report = check(&want(), WIDTH, run).unwrap().expect("a pixel was left out");
    assert_eq!((report.count, report.untouched), (4, 4));
    assert!(report.to_string().contains("4 bytes were never written"), "{report}");
}

#[test]
fn an_overrun_is_caught_on_both_sides() {
    let end = GUARD + want().len();
    for at in [0, GUARD - 1, end, end + GUARD - 1] {
        // Whatever is written there, even zero or white.
        for value in [0u8, 255, 128] {
            let run = |before: &[u8]| {
                let mut after = right(before);
                after[at] = if after[at] == value { !value } else { value };
                Ok(after)
            };
            let report = check(&want(), WIDTH, run).unwrap().expect("an overrun must be caught");
            assert_eq!((report.count, report.overrun, report.first), (0, 1, None));
            assert!(report.to_string().contains("outside the picture"), "{report}");
        }
    }
}

#[test]
fn the_largest_difference_is_reported() {
    let run = |before: &[u8]| {
        let mut after = right(before);
        after[GUARD] = want()[0].wrapping_add(3);
        after[GUARD + 1] = want()[1].wrapping_add(90);
        Ok(after)
    };
    let report = check(&want(), WIDTH, run).unwrap().unwrap();
    assert_eq!((report.count, report.max_abs_diff), (2, 90));
}

#[test]
fn a_failing_or_short_run_is_an_error() {
    assert!(check(&want(), WIDTH, |_| Err(Error::new("no", "", ""))).is_err());
    assert!(check(&want(), WIDTH, |before| Ok(before[1..].to_vec())).is_err());
}
