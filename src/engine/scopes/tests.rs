//! Faults planted in the kernels of the scopes, which the comparison before their first use is to catch. Needs an OpenCL device.

use super::*;
use crate::gpu::cl::{list_devices, select_device};

const COUNTING: [(&str, &str); 7] = [
    ("x >= columns", "x > columns"),
    ("y < height ? luminance", "y + 1 < height ? luminance"),
    ("(strip + 1) * width / STRIPS - left", "(strip + 1) * width / STRIPS - left + 1"),
    ("bins[copy * BINS + 2 * level + 1]", "bins[copy * BINS + 2 * level]"),
    ("copy < COPIES", "copy < COPIES - 1"),
    ("bins[bin] = 0", "bins[bin] = bin == 0"),
    ("n < AHEAD; n++)\n                if", "n < AHEAD - 1; n++)\n                if"),
];

const STRETCHING: [(&str, &str); 10] = [
    ("pixels / 1000", "pixels / 500"),
    ("sums[item] += before", "sums[item] = before"),
    ("brighter = pixels - sums[item]", "brighter = pixels - sums[item] + own"),
    ("255 : ends[1] - ends[0]", "255 : ends[1] - ends[0] + 1"),
    ("range / 2) << 8", "range) << 8"),
    ("stretched(p >> 8, low", "stretched(p >> 16, low"),
    ("(p & 0xff000000)", "0xff000000"),
    ("at < count; at++", "at + 1 < count; at++"),
    ("(uint4)low) - low", "(uint4)0) - low"),
    ("(uint4)range)", "(uint4)255)"),
];

fn changed(text: &str, (find, with): (&str, &str)) -> String {
    assert_eq!(text.matches(find).count(), 1, "{find}");
    text.replace(find, with)
}

#[test]
fn faults_in_the_kernels_are_caught() {
    let devices = list_devices();
    let device = select_device(&devices, Some("cpu")).or_else(|_| select_device(&devices, None));
    let cl = ClContext::new(&device.expect("this test needs an OpenCL device")).unwrap();
    let reduce = reduction::chosen(&cl.device.info, &case((333, 41)));
    let [count, level] = [COUNT.file, LEVEL.file].map(|file| program::built_in(file).unwrap());
    let is_caught = |count: &str, level: &str| {
        Scopes::of_sources(&cl, &reduce, count, level).unwrap().check(&cl).is_err()
    };
    assert!(!is_caught(&count, &level), "without a fault");
    for fault in COUNTING {
        assert!(is_caught(&changed(&count, fault), &level), "{fault:?}");
    }
    for fault in STRETCHING {
        assert!(is_caught(&count, &changed(&level, fault)), "{fault:?}");
    }
}
