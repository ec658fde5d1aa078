//! Filters of planes, on the command line and in the window.

use std::path::PathBuf;

use crate::common::*;
use crate::filters::{command, filtered_at, movie_of_frames, sobel, text_of};

/// Copies the planes of the frame before. `copy` and `rows` keep the format; an argument has the name of a function, which PoCL renames.
const COPY: &str = r#"
format = 1
name = "Before"
sentence = "The frame before."
input = "planes"
output = "planes"
frames = 2

[[variants]]
id = "copy"
[[variants.passes]]
file = "planes.cl"
kernel = "copy"
global = ["width", "height", "planes"]
local = [8, 8, 1]
arguments = { ARGUMENTS }

[[variants]]
id = "rows"
tuning.GROUP = { default = 4, values = [1, 8] }
[[variants.passes]]
file = "planes.cl"
kernel = "rows"
global = ["rows"]
local = ["GROUP"]
rows = { above = 0, below = 0 }
arguments = { first = "first_row", rows = "rows", half_rows = "half_rows", planes = "planes", ARGUMENTS }
"#;

/// The arguments of the kernels, for `COPY`.
const ARGUMENTS: &str = r#"src = { input = "buffer", plane = 0, frames_back = 1 }, dst = { output = "buffer", plane = 0 }, level = "output_level", shift = "shift",
    width = { values = ["plane0_width", "plane1_width", "plane2_width", "plane3_width"] },
    height = { values = ["plane0_height", "plane1_height", "plane2_height", "plane3_height"] },
    offset = { values = ["plane0_offset", "plane1_offset", "plane2_offset", "plane3_offset"] },
    stride = { values = ["plane0_stride", "plane1_stride", "plane2_stride", "plane3_stride"] },
    step = { values = ["plane0_step", "plane1_step", "plane2_step", "plane3_step"] },
    to_offset = { values = ["output0_offset", "output1_offset", "output2_offset", "output3_offset"] },
    to_stride = { values = ["output0_stride", "output1_stride", "output2_stride", "output3_stride"] },
    to_step = { values = ["output0_step", "output1_step", "output2_step", "output3_step"] }"#;

const KERNELS: &str = r#"
#if SAMPLE_BYTES == 2
typedef ushort sample;
#else
typedef uchar sample;
#endif
#ifndef OUTPUT
#define OUTPUT sample
#endif

#define NUMBERS int level, int shift, int4 width, int4 height, int4 offset, int4 stride, int4 step, int4 to_offset, \
    int4 to_stride, int4 to_step

void one(__global const sample *src, __global OUTPUT *dst, int x, int y, int plane, NUMBERS)
{
    const int w[4] = { width.s0, width.s1, width.s2, width.s3 }, h[4] = { height.s0, height.s1, height.s2, height.s3 };
    const int o[4] = { offset.s0, offset.s1, offset.s2, offset.s3 }, s[4] = { stride.s0, stride.s1, stride.s2, stride.s3 };
    const int p[4] = { step.s0, step.s1, step.s2, step.s3 };
    const int O[4] = { to_offset.s0, to_offset.s1, to_offset.s2, to_offset.s3 };
    const int S[4] = { to_stride.s0, to_stride.s1, to_stride.s2, to_stride.s3 };
    const int P[4] = { to_step.s0, to_step.s1, to_step.s2, to_step.s3 };
    if (x < w[plane] && y < h[plane]) {
        const sample v = src[o[plane] + y * s[plane] + x * p[plane]];
        // Samples of 12 bits have no unused ones below.
        dst[O[plane] + y * S[plane] + x * P[plane]] = level > 1 ? (v >> shift) * level : v;
    }
}

__kernel void copy(__global const sample *src, __global OUTPUT *dst, NUMBERS)
{
    one(src, dst, get_global_id(0), get_global_id(1), get_global_id(2), level, shift, width, height, offset, stride,
        step, to_offset, to_stride, to_step);
}

__kernel void rows(__global const sample *src, __global OUTPUT *dst, int first, int rows, int half_rows, int planes, NUMBERS)
{
    const int y = first + get_global_id(0);
    for (int plane = 0; y < first + rows && plane < planes; plane++) {
        const int down = plane == 1 || plane == 2 ? half_rows : 0;
        for (int x = 0; (y >> down) << down == y && x < width.s0; x++)
            one(src, dst, x, y >> down, plane, level, shift, width, height, offset, stride, step, to_offset, to_stride, to_step);
    }
}
"#;

/// Writes the filter `before` with edits of its description and its kernels.
fn before(folder: &Folder, edits: &[(&str, &str)], kernel_edits: &[(&str, &str)]) -> PathBuf {
    let edit = |text: &str, edits: &[(&str, &str)]| {
        edits.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
    };
    let arguments = ARGUMENTS.replace('\n', " ");
    folder.with("before/planes.cl", edit(KERNELS, kernel_edits));
    let toml = edit(&COPY.replace("ARGUMENTS", &arguments), edits);
    folder.with("before/filter.toml", toml).parent().unwrap().to_owned()
}

/// Edits that make planes of 12 bits.
const BITS_12: (&str, &str) = ("output = \"planes\"", "output = \"planes12\"");

#[test]
fn planes_of_the_frame_before_become_its_picture_whatever_the_output() {
    let folder = Folder::new("planes-snapshot");
    let movie = movie_of_frames(&folder, 40);
    let at = |index: i32| f64::from(index.max(0)) * 0.04 + 0.001;
    let options = |filter: &std::path::Path, variant: &'static str| {
        [
            "--filter".to_owned(),
            filter.to_str().unwrap().to_owned(),
            "--variant".to_owned(),
            variant.to_owned(),
        ]
    };
    let filtered = |filter: &std::path::Path, variant, index| {
        let options = options(filter, variant);
        filtered_at(&folder, &movie, &options.each_ref().map(String::as_str), at(index))
    };
    for kernel_edit in [&[][..], &[("#define OUTPUT sample", "#define OUTPUT ushort")]] {
        let edits = if kernel_edit.is_empty() { &[][..] } else { &[BITS_12] };
        let filter = before(&folder, edits, kernel_edit);
        for index in [0, 20] {
            let want = filtered(&filter, "off", index - 1);
            assert!(index == 0 || want != filtered(&filter, "off", index), "frames differ");
            for variant in ["copy", "rows"] {
                assert!(filtered(&filter, variant, index) == want, "{variant}, frame {index}, {edits:?}");
            }
        }
        let report = finish_json(command("bench", &filter, &["--frames", "2", "--json"]).arg(&movie), 0);
        let rows = reports::rows(&report);
        assert!(rows.len() == 3 && rows.iter().all(|row| row["outcome"] == "ok"), "{report}");
    }
    let mut check = command("check-kernels", &folder.file("before"), &[]);
    let told = text(&check.output().unwrap().stdout);
    assert!(told.contains("before/rows: no data races, no out-of-bounds accesses"), "{told}");
}

#[test]
fn a_kernel_that_takes_samples_for_adjacent_ones_is_wrong_on_packed_planes() {
    let folder = Folder::new("planes-wrong");
    let filter = before(&folder, &[], &[]);
    let kernels = std::fs::read_to_string(filter.join("planes.cl")).unwrap();
    let rows = kernels.replace("__kernel void rows", "#define one wrong\n__kernel void rows");
    let wrong = KERNELS[KERNELS.find("void one").unwrap()..KERNELS.find("__kernel void copy").unwrap()]
        .replace("void one", "void wrong")
        .replace("x * p[plane]", "x");
    let at = rows.find("#define one wrong").unwrap();
    std::fs::write(filter.join("planes.cl"), [&rows[..at], &wrong, &rows[at..]].concat()).unwrap();
    let report =
        finish_json(&mut command("bench", &filter, &["--frames", "2", "--size", "96x64", "--json"]), 3);
    let row = &reports::rows(&report)[1];
    assert!(row["outcome"] == "mismatch" && row.to_string().contains("nv12"), "{row}");
}

#[test]
fn the_window_filters_planes_as_snapshots_do_and_names_them_in_no_stack() {
    let (display, folder) = (Display::start(&[]), Folder::new("planes-window"));
    let movie = movie_of_frames(&folder, 40);
    let saved = folder.file("saved.png");
    let filter = before(&folder, &[], &[]);
    let options = |variant| ["--filter", filter.to_str().unwrap(), "--variant", variant];
    for (variant, start) in [
        ("copy", &["--frames", "1"][..]),
        ("rows", &["--start", "0.9", "--frames", "3"]),
        ("rows", &["--preload", "9", "--frames", "16", "--unpaced"]),
    ] {
        let mut window = clreel(Some(&display));
        window.arg(&movie).args(options(variant)).args(start).arg("--save-frame").arg(&saved);
        let (stats, stderr) = play(window);
        let last = presented_frames(&stats).last().unwrap().clone();
        let want = filtered_at(&folder, &movie, &options(variant), last["pts_s"].as_f64().unwrap());
        assert!(png(&saved) == want, "{variant} {start:?} {last} {stderr}");
    }
    let edges = sobel(&folder, "sobel", &[]);
    let mut stacked = command("snapshot", &edges, &options("copy"));
    let told = text_of(stacked.arg(&movie).arg("--out").arg(&saved));
    assert!(told.contains("'before/copy' cannot be in a stack of filters."), "{told}");
}
