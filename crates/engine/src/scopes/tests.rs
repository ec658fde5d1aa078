//! Tests that the verification of the scopes' kernels before their first use detects planted faults. They need an OpenCL
//! device.

use super::kernels::{COUNT, ENDS, LEVEL, LEVEL_OF_IMAGE};
use super::*;
use compute::reduction;
use compute::reduction::kernels::Config;
use opencl::cl::{list_devices, select_device};
use opencl::sources::Sources;

const COUNTING: [(&str, &str); 7] = [
    ("x >= columns", "x > columns"),
    ("y < height ? luminance", "y + 1 < height ? luminance"),
    ("(strip + 1) * width / STRIPS - left", "(strip + 1) * width / STRIPS - left + 1"),
    ("bins[copy * BINS + 2 * level + 1]", "bins[copy * BINS + 2 * level]"),
    ("copy < COPIES", "copy < COPIES - 1"),
    ("bins[bin] = 0", "bins[bin] = bin == 0"),
    ("n < AHEAD; n++)\n                if", "n < AHEAD - 1; n++)\n                if"),
];

const FINDING: [(&str, &str); 4] = [
    ("pixels / 1000", "pixels / 500"),
    ("sums[item] += before", "sums[item] = before"),
    ("brighter = pixels - sums[item]", "brighter = pixels - sums[item] + own"),
    ("255 : ends[1] - ends[0]", "255 : ends[1] - ends[0] + 1"),
];

const STRETCHING: [(&str, &str); 6] = [
    ("range / 2) << 8", "range) << 8"),
    ("stretched(p >> 8, low", "stretched(p >> 16, low"),
    ("(p & 0xff000000)", "0xff000000"),
    ("at < count; at++", "at + 1 < count; at++"),
    ("(uint4)low) - low", "(uint4)0) - low"),
    ("(uint4)range)", "(uint4)255)"),
];

/// Faults planted in the scopes' kernels that change the result if the measured or the stretched picture is an image: the kernel's original
/// text and its replacement.
const IMAGES: [(&str, &str); 7] = [
    ("at / 32 % 4 * 8", "at / 32 % 4 * 4"),
    ("at / 128 * 4", "at / 128 * 2"),
    ("get_group_id(1) * TILE", "get_group_id(0) * TILE"),
    ("if (x[n] < width && y[n] < height)", "if (x[n] < width && y[n] + 1 < height)"),
    ("(p, p >> 8, p >> 16, 0)", "(p, p >> 16, p >> 8, 0)"),
    ("(uint4)(c.s012, p >> 24)", "(uint4)(c.s012, 255)"),
    ("TILE * TILE / GROUP", "TILE * TILE / GROUP - 1"),
];

/// Faults planted in the kernel of the reduction that change the result if it reads an image: the kernel's original text and its
/// replacement.
const REDUCING: [(&str, &str); 3] = [
    ("pixel_at(src, x, y, width)", "pixel_at(src, x + 1, y, width)"),
    ("n < 4 * QUADS", "n < 4 * QUADS - 1"),
    ("x < width && y < height)\n", "x < width - 1 && y < height)\n"),
];

#[test]
fn faults_in_the_kernels_are_caught() {
    let devices = list_devices();
    let device = select_device(&devices, Some("cpu")).or_else(|_| select_device(&devices, None));
    let cl = ClContext::new(&device.expect("this test needs an OpenCL device"), Sources::default()).unwrap();
    let mut scopes = Scopes::compile(&cl, &case((333, 41)), true).unwrap();
    scopes.check(&cl).unwrap();
    // Only the faulty program is built again.
    let mut catch =
        |config: Config, faults: &[(&str, &str)], program: fn(&mut Scopes) -> Option<&mut Program>| {
            let text = cl.sources().text(config.code().file).unwrap();
            for (find, with) in faults.iter().copied() {
                assert_eq!(text.matches(find).count(), 1, "{find}");
                let faulty = Program::compile_with(&cl, &config, &text.replace(find, with), "").unwrap();
                let right = std::mem::replace(program(&mut scopes).unwrap(), faulty);
                assert!(scopes.check(&cl).is_err(), "{find} became {with}");
                *program(&mut scopes).unwrap() = right;
            }
        };
    let device = &cl.device.info;
    let of = |code| Config::for_device(code, device);
    catch(of(&COUNT), &COUNTING, |scopes| Some(&mut scopes.buffers.count));
    catch(of(&ENDS), &FINDING, |scopes| Some(&mut scopes.buffers.ends));
    catch(of(&LEVEL), &STRETCHING, |scopes| scopes.buffers.level.as_mut());
    catch(of(&LEVEL_OF_IMAGE), &IMAGES, |scopes| scopes.images.as_mut()?.level_into.as_mut());
    catch(reduction::image_config(device), &REDUCING, |scopes| Some(&mut scopes.images.as_mut()?.reduce));
    scopes.check(&cl).unwrap();
}
