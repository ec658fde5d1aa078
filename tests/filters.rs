//! Filters of folders on the command line: the example of docs/filters.md is right, and faults in descriptions and kernels are
//! sentences.

use std::process::Command;

use testkit::programs;

use crate::common::*;

/// Returns the code blocks of docs/filters.md that describe the example: `filter.toml` and `sobel.cl`.
fn example() -> [String; 2] {
    let docs = include_str!("../docs/filters.md");
    [("```toml\n", "toml"), ("```c\n", "c")].map(|(begin, _)| {
        let (_, rest) = docs.split_once(begin).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    })
}

/// Writes the example into the folder `sobel`, with replacements in its two files, and returns the path.
pub(crate) fn sobel(folder: &Folder, name: &str, edits: &[(&str, &str)]) -> std::path::PathBuf {
    let [mut description, mut kernel] = example();
    for (from, to) in edits {
        let is_in = [&mut description, &mut kernel].into_iter().find(|text| text.contains(from));
        let text = is_in.unwrap_or_else(|| panic!("neither file has {from:?}"));
        *text = text.replacen(from, to, 1);
    }
    folder.with(&format!("{name}/sobel.cl"), kernel);
    folder.with(&format!("{name}/filter.toml"), description).parent().unwrap().to_owned()
}

/// A second variant, which reads an image.
pub(crate) const SAMPLER: (&str, &str) = (
    "[[variants]]",
    r#"[[variants]]
id = "sampler"
[[variants.passes]]
file = "sampler.cl"
kernel = "sobel"
arguments = { src = { input = "image" }, dst = { output = "image" }, gain = "gain" }
global = ["width", "height"]
local = [16, 8]

[[variants]]"#,
);

pub(crate) const SAMPLER_KERNEL: &str = r"
__constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void sobel(__write_only image2d_t dst, __read_only image2d_t src, float gain)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= get_image_width(dst) || y >= get_image_height(dst))
        return;
    float3 p[3][3];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            p[j][i] = rint(255 * read_imagef(src, edge, (int2)(x + i - 1, y + j - 1)).xyz);
    const float3 gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
    const float3 gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
    const float3 v = convert_float3(convert_uchar3_sat_rte(gain * sqrt(gx * gx + gy * gy)));
    write_imagef(dst, (int2)(x, y), (float4)(v / 255, 1));
}
";

/// Returns the command with its arguments up to the filter.
pub(crate) fn command(subcommand: &str, filter: &std::path::Path, args: &[&str]) -> Command {
    let mut command = clreel(None);
    command.arg(subcommand).arg("--filter").arg(filter).args(args);
    command
}

/// Returns the picture of a movie's first frame without a filter, and with the folder's.
fn pictures(folder: &Folder, filter: &std::path::Path, args: &[&str]) -> [Picture; 2] {
    let movie = odd_movie(folder);
    [vec!["--variant", "off"], args.to_vec()].map(|args| {
        let out = folder.file("picture.png");
        let mut command = command("snapshot", filter, &args);
        succeed(command.arg(&movie).arg("--out").arg(&out));
        png(&out)
    })
}

/// Returns the gradient of each channel of a picture, times `gain`, as docs/filters.md describes it.
fn gradient((width, height, rgba): &Picture, gain: f32) -> Vec<u8> {
    let (w, h) = (*width as i64, *height as i64);
    let at = |x: i64, y: i64, c: usize| {
        f32::from(rgba[((y.clamp(0, h - 1) * w + x.clamp(0, w - 1)) * 4) as usize + c])
    };
    let mut out = Vec::new();
    for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
        for c in 0..3 {
            let row = |y: i64| at(x - 1, y, c) + 2.0 * at(x, y, c) + at(x + 1, y, c);
            let column = |x: i64| at(x, y - 1, c) + 2.0 * at(x, y, c) + at(x, y + 1, c);
            let (gx, gy) = (column(x + 1) - column(x - 1), row(y + 1) - row(y - 1));
            out.push((gain * (gx * gx + gy * gy).sqrt()).round_ties_even().min(255.0) as u8);
        }
        out.push(255);
    }
    out
}

#[test]
fn the_filter_of_the_docs_shows_edges() {
    let folder = Folder::new("filters-docs");
    let filter = sobel(&folder, "sobel", &[SAMPLER]);
    folder.with("sobel/sampler.cl", SAMPLER_KERNEL);
    for (args, gain) in [
        (&["--variant", "plain"][..], 1.0),
        (&["--variant", "sampler", "--set", "gain=2.5"], 2.5),
        (&["--set", "gain=0.5", "--variant", "sobel/plain"], 0.5),
    ] {
        let [source, filtered] = pictures(&folder, &filter, args);
        let differs =
            gradient(&source, gain).iter().zip(&filtered.2).filter(|(a, b)| a.abs_diff(**b) > 1).count();
        assert_eq!((differs, filtered.2.len()), (0, source.2.len()), "{args:?}");
    }
    if programs::has(&["oclgrind"]) {
        let printed = succeed(command("check-kernels", &filter, &[]));
        assert_eq!(printed, "");
    }
}

#[test]
fn bench_times_right_variants_and_names_wrong_ones() {
    let folder = Folder::new("filters-bench");
    let filter = sobel(&folder, "sobel", &[SAMPLER]);
    // From an image into a buffer.
    let mixed = SAMPLER.1.trim_end_matches("[[variants]]").replace("sampler", "mixed");
    let mixed = mixed.replace("{ output = \"image\" }", "{ output = \"buffer\" }");
    let description = std::fs::read_to_string(filter.join("filter.toml")).unwrap();
    folder.with("sobel/filter.toml", format!("{description}\n{mixed}"));
    let kernel = SAMPLER_KERNEL.replace("__write_only image2d_t dst", "__global uchar4 *dst");
    let kernel = kernel.replace(
        "get_image_width(dst) || y >= get_image_height(dst)",
        "get_image_width(src) || y >= get_image_height(src)",
    );
    let (head, _) = kernel.split_once("    const float3 v =").unwrap();
    let last = "    dst[y * get_image_width(src) + x] = (uchar4)(convert_uchar3_sat_rte(gain * sqrt(gx * gx + gy * gy)), 255);\n}\n";
    folder.with("sobel/mixed.cl", format!("{head}{last}"));
    let wrong = SAMPLER_KERNEL.replace("x + i - 1", "x + i");
    for (kernel, outcome) in [(SAMPLER_KERNEL, "ok"), (wrong.as_str(), "mismatch")] {
        folder.with("sobel/sampler.cl", kernel);
        let args = ["--frames", "2", "--json", "--size", "96x64", "--set", "gain=0.5", "--variant"];
        let code = if outcome == "ok" { 0 } else { 3 };
        let mut command = command("bench", &filter, &args);
        let report = finish_json(command.arg("plain,sobel/sampler,mixed"), code);
        let run = &report["devices"][0]["runs"][0];
        assert_eq!(run["case"]["settings"]["gain"], 0.5, "{run}");
        let row = |id: &str| reports::rows(&report).into_iter().find(|row| row["id"] == id).unwrap();
        // The first variant of the file is the reference.
        assert_eq!(row("sobel/sampler")["outcome"], "ok", "{report}");
        assert_eq!(row("sobel/plain")["outcome"], outcome, "{report}");
        assert_eq!(row("sobel/mixed")["outcome"], outcome, "{report}");
    }
}

#[test]
fn faults_of_filters_are_sentences() {
    let folder = Folder::new("filters-faults");
    let endless = ("    float3 p[3][3];", "    for (volatile int i = 0; i < 1;) {}\n    float3 p[3][3];");
    let mut wrong = String::new();
    let large =
        ("[[variants.passes]]", "scratch.large = { bytes = \"1000000*1000000\" }\n[[variants.passes]]");
    for (name, edits, args, wanted) in [
        (
            "misspelt",
            &[("sentence", "sentense")][..],
            &[][..],
            "misspelt/filter.toml:3:1: |sentense|Write 'sentence'.",
        ),
        (
            "zero",
            &[("\"height\"]\nlocal", "\"height/(width - width)\"]\nlocal")],
            &[],
            "zero/filter.toml:|divide",
        ),
        ("newer", &[("format = 1", "format = 9")], &[], "newer/filter.toml:1:10|9"),
        ("missing", &[("\"sobel.cl\"", "\"sobol.cl\"")], &[], "missing/filter.toml:|'sobol.cl'|no such file"),
        ("kernel", &[("void sobel(", "void edges(")], &[], "has no kernel 'sobel'|edges"),
        (
            "argument",
            &[("float gain)", "float gains)"), ("(gain * ", "(gains * ")],
            &[],
            "'gains'|gets no value|Write 'gains' in place of 'gain'",
        ),
        (
            "types",
            &[("float gain)", "int gain)")],
            &[],
            "types/filter.toml:11:|'gain' has another type|int, not float",
        ),
        (
            "picture",
            &[("width = \"width\"", "width = { input = \"buffer\" }")],
            &[],
            "picture/filter.toml:11:|'width' has another type|int, not a pointer: a picture in a buffer is passed",
        ),
        (
            "number",
            &[("src = { input = \"buffer\" }", "src = \"width\"")],
            &[],
            "number/filter.toml:11:|'src' has another type|not int: a number is passed",
        ),
        (
            "image",
            &[("{ input = \"buffer\" }", "{ input = \"image\" }")],
            &[],
            "image/filter.toml:11:|'src' has another type|not image2d_t: a picture in an image is passed",
        ),
        ("unclosed", &[("format = 1", "format = [1,")], &[], "unclosed/filter.toml:|Also: | more mistakes."),
        ("planes", &[("\"Sobel\"", "\"Sobel\"\ninput = \"planes\"")], &[], "planes/filter.toml:"),
        ("set", &[], &["--set", "gian=2"], "no parameter is called 'gian'; did you mean 'gain'?"),
        ("range", &[], &["--set", "gain=100"], "'gain' is from 0.25 to 8"),
        ("variant", &[], &["--variant", "plan"], "no variant is called 'plan'"),
        ("endless", &[endless], &["--kernel-timeout", "2"], "timed out|'sobel' in endless/sobel.cl"),
        (
            "large",
            &[
                large,
                ("gain = \"gain\" }", "gain = \"gain\", large = { scratch = \"large\" } }"),
                ("float gain)", "float gain, __global int *large)"),
            ],
            &[],
            "1,000,000,000,000 bytes|description",
        ),
        (
            "local",
            &[
                ("gain = \"gain\" }", "gain = \"gain\", large = { local_bytes = \"1000000000\" } }"),
                ("float gain)", "float gain, __local int *large)"),
            ],
            &[],
            "more local memory|local_bytes",
        ),
    ] {
        let filter = sobel(&folder, name, edits);
        let mut command = command("snapshot", &filter, args);
        let output = command.arg("--out").arg(folder.file("none.png")).output().unwrap();
        let stderr = text(&output.stderr);
        let is_told = wanted.split('|').all(|part| stderr.contains(part));
        if output.status.success() || !is_told || stderr.contains("panicked") {
            wrong += &format!("{name}: {stderr}\n");
        }
    }
    assert_eq!(wrong, "");
    let mut command = command("snapshot", &folder.folder("empty"), &["--out", "none.png"]);
    assert!(text(&command.output().unwrap().stderr).contains("There is no filter in "));
}

#[test]
fn a_folders_filter_runs_live_in_the_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-window"));
    // The filter cannot run with the values 0 and 1.
    let range = ("range = [0.25, 8.0], default = 1.0", "range = [1.5, 8.0], default = 3.0");
    let filter = sobel(&folder, "sobel", &[range]);
    let [description, kernel] = example();
    let description = description.replace(range.0, range.1);
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = window_of(&display, &folder, &movie);
    let mut session =
        Session::with_stats(&display, command.arg("--filter").arg(&filter).args(["--set", "gain=2"]));
    session.wait_for_title("sobel/plain, gain = 2 ");
    session.wait_for_frames();
    session.wait_for_end_of("compiling");
    session.display.key("equal");
    session.wait_for_title("sobel/plain, gain = 2.065");

    // A wrong description has an error, and the filter before goes on.
    folder.with("sobel/filter.toml", description.replace("sentence", "sentense"));
    session.wait_for_text("sobel/filter.toml:3:1: 'sentense' is no key");
    session.wait_for_frames();
    session.wait_for_title("sobel/plain, gain = 2.065");

    // Another variant is added, with a key of its own.
    folder.with("sobel/sampler.cl", SAMPLER_KERNEL);
    let second = SAMPLER.1.trim_end_matches("[[variants]]");
    folder.with("sobel/filter.toml", format!("{description}\n{second}"));
    session.wait_for_end_of("'sentense'");
    session.wait("the other variant", |s| s.texts().iter().any(|t| t.text == "sampler"));
    session.wait_for_title("sobel/plain, gain = 2.065");
    session.display.key("2");
    session.wait_for_title("sobel/sampler, gain = 2.065");
    session.wait_for_frames();

    // The other variants are compared again with a reference that has been edited.
    folder.with("sobel/sobel.cl", kernel.replace("x + i - 1", "x + i"));
    session.wait_for_text("output differs");
    folder.with("sobel/sobel.cl", kernel.replace("const float3 gx", "const flaot3 gx"));
    session.wait_for_text("does not build");
    session.wait_for_frames();
    folder.with("sobel/sobel.cl", &kernel);
    session.wait_for_end_of("output differs");

    // A folder that disappears changes nothing that runs.
    std::fs::rename(&filter, folder.file("elsewhere")).unwrap();
    session.display.key("e");
    session.wait_for_text("cannot be read");
    session.display.key("e");
    session.wait_for_frames();
    session.wait_for_title("sobel/sampler, gain = 2.065");
    let (stats, stderr) = session.stats_and_stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
    let frames = stats["frames"].as_array().unwrap();
    let of = |id: &str| frames.iter().filter(|frame| frame["variant"] == id).count();
    assert!(of("sobel/plain") > 0 && of("sobel/sampler") > 0, "{stats}");
}

#[test]
fn filters_are_written_chosen_and_shown_beside_each_other_in_the_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-list"));
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = window_of(&display, &folder, &movie);
    let here = folder.folder("here");
    // New filters and frames are saved to the working directory.
    command.current_dir(&here).env("HOME", &here).env_remove("XDG_CONFIG_HOME").args(["--variant", "flat"]);
    let mut session = Session::start(&display, &mut command);
    session.resize(1280, 720);
    session.wait_for_title("flat, r=7");
    session.wait_for_frames();
    session.wait_for_end_of("compiling");
    session.display.key("F");
    session.wait_for_text("New filter\u{2026}");
    session.click("New filter\u{2026}");
    session.wait_for_title("my-filter/plain, levels = 4 ");
    session.wait_for_frames();
    let own = here.join("clreel-filters/my-filter");
    let kernel = std::fs::read_to_string(own.join("filter.cl")).unwrap();

    // Macros of the description are compiled with the text that was saved last.
    let description = std::fs::read_to_string(own.join("filter.toml")).unwrap();
    let macros = description.replace("title =", "defines = { NONE = \"0*width\" }\ntitle =");
    std::fs::write(own.join("filter.toml"), macros).unwrap();
    session.wait_for_text("my-filter/plain levels = 4, version");
    std::fs::write(own.join("filter.cl"), kernel.replace("(levels - 1), pixel.w", "1000 * NONE, 255"))
        .unwrap();
    session.wait("a black picture", |session| {
        session.display.key("s");
        let frames = saved_files(&here, "clreel-frame-", ".png");
        frames.iter().any(|frame| png(frame).2.chunks_exact(4).all(|pixel| pixel == [0, 0, 0, 255]))
    });

    // The other filter stays at the right while the box filter comes back at the left.
    session.click("Beside the present one");
    session.wait_for_title("running-sum, r=7");
    session.wait_for_text("running-sum r=7");
    wait_for_side(&mut session, "my-filter/plain levels = 4");
    session.display.key("w");

    // A folder is opened by its path.
    let filter = sobel(&folder, "sobel", &[]);
    session.click("Open\u{2026}");
    session.wait_for_text("Open a filter");
    assert!(session.display.xdotool(&["type", "--delay", "5", filter.to_str().unwrap()]).status.success());
    session.display.key("Return");
    session.wait_for_title("sobel/plain, gain = 1 ");
    session.wait_for_text("Shows edges: the gradient of each channel.");
    // The last row is that of the first filter. Each side has the settings of its own filter.
    let texts = session.texts();
    let beside = texts.iter().rev().find(|t| t.text == "Beside the present one").unwrap();
    session.click_at(beside.center());
    session.wait_for_title("my-filter/plain, levels = 4 ");
    // The folder as it was opened is no edit.
    wait_for_side(&mut session, "sobel/plain gain = 1\n");
    session.display.key("w");
    session.click("Box filter");
    session.wait_for_title("running-sum, r=7");
    session.wait_for_frames();

    // A kernel of the user's own that is no box filter becomes a filter.
    session.display.key("e");
    session.wait_for_text("Make an editable copy");
    session.click("Make an editable copy");
    session.wait_for_text("Edit the files in");
    session.click("Make own.cl");
    session.wait_for_title("own, r=");
    let own = here.join("clreel-kernels/box_filter/own.cl");
    let text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(&own, text.replace("dst[y * width + x] = ", "dst[y * width + x] = (uchar)255 - "))
        .unwrap();
    session.wait_for_text("own output differs");
    session.click("Make a filter of it");
    session.wait_for_title("my-filter-2/own, radius = 7 ");
    session.wait_for_frames();
    let stderr = session.quit();
    let is_expected =
        |line: &str| line.starts_with("clreel: Saved ") && line.contains("-my-filter-plain-levels-4");
    assert!(stderr.lines().all(is_expected), "{stderr}");
}

#[test]
fn two_folders_of_one_name_keep_their_settings() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-namesakes"));
    let first = sobel(&folder, "a/sobel", &[("\"Sobel\"", "\"First\"")]);
    let here = folder.folder("here");
    sobel(&folder, "here/clreel-filters/sobel", &[("\"Sobel\"", "\"Second\"")]);
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = window_of(&display, &folder, &movie);
    command.current_dir(&here).env("HOME", &here).arg("--filter").arg(&first).args(["--set", "gain=2"]);
    let mut session = Session::start(&display, &mut command);
    session.resize(1280, 720);
    session.wait_for_title("sobel/plain, gain = 2 ");
    session.wait_for_frames();
    session.display.key("F");
    session.wait_for_text("Second");
    for (name, gain) in [("Second", "1"), ("First", "2"), ("Box filter", ""), ("Second", "1"), ("First", "2")]
    {
        session.click(name);
        let title = if gain.is_empty() { "r=7".to_owned() } else { format!("sobel/plain, gain = {gain} ") };
        session.wait_for_title(&title);
        session.wait_for_end_of("Opening the folder");
    }
    session.quit();
}

/// Waits until a side of a wipe has this filter. The graph also names filters, with their times.
fn wait_for_side(session: &mut Session, filter: &str) {
    let is_side = |text: &str| text.starts_with(filter) && text.contains("\np50");
    session.wait(filter, |s| s.texts().iter().any(|t| is_side(&t.text)));
}

/// Returns the command of a window with a small movie.
pub(crate) fn window_of(display: &Display, folder: &Folder, movie: &Movie) -> Command {
    let mut command = without_desktop(display);
    command.env("CLREEL_SETTINGS", "").arg(folder.movie("small.mkv", movie)).args(["--device", "0"]);
    command
}

/// A folder from elsewhere reads no file outside of it.
#[test]
fn links_out_of_a_filters_folder_are_not_followed() {
    let folder = Folder::new("filters-links");
    let outside = folder.with("outside.cl", example()[1].as_str());
    for (name, text) in [("sobel.cl", ""), ("common.clh", "#include \"common.clh\"\n")] {
        let filter = sobel(&folder, name, &[("__kernel", &format!("{text}__kernel"))]);
        let link = filter.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&outside, link).unwrap();
        let mut command = command("snapshot", &filter, &["--out", "none.png"]);
        let stderr = text_of(&mut command);
        assert!(stderr.contains("It is a link that leaves the folder."), "{name}: {stderr}");
    }
}

pub(crate) fn text_of(command: &mut Command) -> String {
    text(&command.output().unwrap().stderr)
}

/// Writes the filter of docs/filters.md that reads three frames, with a second variant that reads images, and a filter that shows the
/// frame two frames back. Returns their folders.
pub(crate) fn filters_of_frames(folder: &Folder) -> [std::path::PathBuf; 2] {
    let docs = include_str!("../docs/filters.md");
    let (_, rest) = docs.split_once("## Frames over time").unwrap().1.split_once("```toml\n").unwrap();
    let description = rest.split_once("```").unwrap().0;
    let (head, variant) = description.split_once("[[variants]]").unwrap();
    let sampler = variant.replace("plain", "sampler").replace("mean.cl", "sampler.cl");
    let sampler = sampler.replace("\"buffer\"", "\"image\"").replace("width = \"width\"\n", "");
    let sampler = sampler.replace("height = \"height\"\n", "");
    let mean = format!("{description}\n[[variants]]{sampler}");
    let back = variant.replace("now = { input = \"buffer\" }\n", "");
    let back = back.replace("before = { input = \"buffer\", frames_back = 1 }\n", "");
    let back = format!("{head}[[variants]]{}", back.replace("mean.cl", "back.cl"));
    folder.with("mean/mean.cl", MEAN_KERNEL);
    folder.with("mean/sampler.cl", MEAN_SAMPLER);
    folder.with("back/back.cl", BACK_KERNEL);
    [("mean", mean), ("back", back)]
        .map(|(name, text)| folder.with(&format!("{name}/filter.toml"), text).parent().unwrap().to_owned())
}

const MEAN_KERNEL: &str = r"
__kernel void mean(__global const uchar4 *now, __global const uchar4 *before, __global const uchar4 *earlier,
                   __global uchar4 *dst, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1), at = y * width + x;
    if (x < width && y < height)
        dst[at] = convert_uchar4((convert_int4(now[at]) + convert_int4(before[at]) + convert_int4(earlier[at]) + 1) / 3);
}
";

const MEAN_SAMPLER: &str = r"
__constant sampler_t at_texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void mean(__read_only image2d_t now, __read_only image2d_t before, __read_only image2d_t earlier,
                   __write_only image2d_t dst)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x >= get_image_width(dst) || at.y >= get_image_height(dst))
        return;
    const int4 sum = convert_int4_rte(255 * read_imagef(now, at_texel, at))
        + convert_int4_rte(255 * read_imagef(before, at_texel, at)) + convert_int4_rte(255 * read_imagef(earlier, at_texel, at));
    write_imagef(dst, at, convert_float4((sum + 1) / 3) / 255);
}
";

const BACK_KERNEL: &str = r"
__kernel void mean(__global const uchar4 *earlier, __global uchar4 *dst, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        dst[y * width + x] = earlier[y * width + x];
}
";

/// Returns the movie's frame that is shown at `at`, in seconds, with the filter in this folder.
pub(crate) fn filtered_at(folder: &Folder, movie: &std::path::Path, filter: &[&str], at: f64) -> Picture {
    let out = folder.file("at.png");
    let mut command = clreel(None);
    command.arg("snapshot").arg(movie).args(filter).args(["--at", &at.to_string(), "--out"]).arg(&out);
    succeed(command);
    png(&out)
}

/// Writes a movie whose frames differ, with B-frames, and an odd number of frames for each key frame.
pub(crate) fn movie_of_frames(folder: &Folder, frame_ms: i64) -> std::path::PathBuf {
    let stamps_ms = (0..40).map(|index| index * frame_ms).collect();
    let movie = Movie { size: (175, 99), gop: 7, b_frames: 2, stamps_ms, ..Movie::default() };
    folder.movie("frames.mkv", &movie)
}

#[test]
fn a_filter_of_three_frames_reads_those_before() {
    let folder = Folder::new("filters-frames");
    let filters = filters_of_frames(&folder);
    let [mean, back] = filters.each_ref().map(|path| path.to_str().unwrap());
    let movie = movie_of_frames(&folder, 40);
    for index in [0, 1, 2, 7, 8, 20, 39] {
        let at = |index: i64| f64::from(index.max(0) as i32) * 0.04 + 0.001;
        let [now, before, earlier] =
            [0, 1, 2].map(|back| filtered_at(&folder, &movie, &["--variant", "off"], at(index - back)));
        assert!(index == 0 || now != before, "frames differ");
        assert!(filtered_at(&folder, &movie, &["--filter", back], at(index)) == earlier, "frame {index}");
        let sums = now.2.iter().zip(&before.2).zip(&earlier.2);
        let wanted: Vec<u8> =
            sums.map(|((a, b), c)| ((u32::from(*a) + u32::from(*b) + u32::from(*c) + 1) / 3) as u8).collect();
        for variant in ["plain", "sampler"] {
            let filter = ["--filter", mean, "--variant", variant];
            assert!(filtered_at(&folder, &movie, &filter, at(index)).2 == wanted, "{variant}, frame {index}");
        }
    }
    let args = ["--frames", "3", "--size", "96x64", "--json", "--variant", "plain,sampler"];
    let report = finish_json(command("bench", &filters[0], &args), 0);
    let rows = reports::rows(&report);
    assert!(rows.len() >= 2 && rows.iter().all(|row| row["outcome"] == "ok"), "{report}");
    // Another order of the frames is found.
    folder.with("mean/sampler.cl", MEAN_SAMPLER.replace("read_imagef(earlier", "read_imagef(before"));
    finish(command("bench", &filters[0], &args), 3);
    if programs::has(&["oclgrind"]) {
        assert_eq!(succeed(command("check-kernels", &filters[1], &[])), "");
    }
}

#[test]
fn the_window_shows_the_frames_before_as_snapshots_do() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-frames-window"));
    let filters = filters_of_frames(&folder);
    let movie = movie_of_frames(&folder, 40);
    let saved = folder.file("saved.png");
    for (filter, args) in filters.iter().zip([["--variant", "sampler"], ["--variant", "plain"]]) {
        let filter = ["--filter", filter.to_str().unwrap(), args[0], args[1]];
        // From the beginning, from a start in the middle, at the first frame, and after a loop.
        for start in [
            &["--frames", "12"][..],
            &["--start", "0.9", "--frames", "3"],
            &["--frames", "1"],
            &["--start", "1.4", "--frames", "12", "--unpaced"],
            // The planes of each picture are converted on the device.
            &["--start", "0.5", "--frames", "3", "--device", "gpu"],
            &["--preload", "9", "--frames", "16", "--unpaced"],
        ] {
            let args = [&filter[..], start].concat();
            let mut command = clreel(Some(&display));
            command.envs(start.contains(&"gpu").then(changed_conversions::as_gpu).into_iter().flatten());
            command.arg(&movie).args(args).arg("--save-frame").arg(&saved);
            let (stats, stderr) = play(command);
            let last = presented_frames(&stats).last().unwrap().clone();
            assert_ne!(last["variant"], "off", "{last} {stderr}");
            let at = last["pts_s"].as_f64().unwrap();
            assert!(png(&saved) == filtered_at(&folder, &movie, &filter, at), "{filter:?} {start:?} {last}");
        }
    }
}

#[test]
fn a_filter_of_several_frames_that_is_chosen_in_a_pause_gets_them() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-frames-pause"));
    let [_, back] = filters_of_frames(&folder);
    let filter = ["--filter", back.to_str().unwrap(), "--variant", "plain"];
    let (movie, here) = (movie_of_frames(&folder, 120), folder.folder("here"));
    for keys in [&["1"][..], &["1", "comma", "comma"], &["1", "period"], &["1", "Home"]] {
        let saved = folder.file("saved.png");
        let mut command = clreel(Some(&display));
        command
            .current_dir(&here)
            .arg(&movie)
            .args(&filter[..2])
            .args(["--variant", "off", "--save-frame"])
            .arg(&saved);
        let mut session = Session::with_stats(&display, command);
        session.wait_for_frames();
        session.wait_for_frames();
        session.press_until_title("space", "paused");
        // A key of the first frame would change nothing.
        session.wait("a frame in the middle", |s| {
            let is_later = s.position().is_some_and(|position| *position > *"0:00.5");
            if !is_later {
                s.display.key("period");
            }
            is_later
        });
        for key in keys {
            let before = session.position();
            session.display.key(key);
            match *key {
                "1" => {
                    session.wait_for_title("back/plain");
                    session.wait_for_end_of("not measured");
                }
                _ => session.wait("another frame", |s| s.position() != before),
            }
        }
        let stats = session.stats();
        let last = presented_frames(&stats).last().unwrap().clone();
        let at = last["pts_s"].as_f64().unwrap();
        assert!(png(&saved) == filtered_at(&folder, &movie, &filter, at), "{keys:?} {last}");
    }
}
