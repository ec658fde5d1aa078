//! Wrong files: each has one mistake, whose message has its line, its column, and the remedy.

use crate::{Description, folder};

/// A right file, from which the wrong ones are made.
const RIGHT: &str = r#"format = 1
name = "Sharpen"
sentence = "Sharpens."
frames = 2
accuracy = { largest_difference = 1, reason = "Floats." }

[parameters.radius]
type = "int"
range = [0, 8]
default = 2

[parameters.gain]
type = "float"
range = [0.0, 2.0]
default = 1.0

[[variants]]
id = "plain"
key = 1
sizes = { side = "2*radius + 1", area = "side*side" }
scratch.sums = { bytes = "8*width*height" }
requires = ["16*TILE*TILE <= local_memory"]
defines.SIDE = "TILE"

[variants.tuning]
TILE = { default = 16, values = [8, 16] }

[[variants.passes]]
file = "a.cl"
kernel = "first"
global = ["width", "rows"]
local = ["TILE", 1]
rows = { above = "radius", below = "radius" }

[variants.passes.arguments]
src = { input = "buffer" }
before = { input = "buffer", frames_back = 1 }
sums = { scratch = "sums" }
tile = { local_bytes = "4*area" }
radius = "radius"

[[variants.passes]]
file = "a.cl"
kernel = "second"
global = ["ceil_div(width, 4)", "height"]
local = [64, 1]

[variants.passes.arguments]
sums = { scratch = "sums" }
dst = { output = "buffer" }
gain = "gain"
scale = { quotient = [1, "area"] }

[[variants]]
id = "other-one"
key = 2

[[variants.passes]]
file = "b.cl"
kernel = "third"
global = ["width", "height"]
local = [16, 8]
arguments = { src = { input = "image" }, dst = { output = "image" }, gain = { value = "gain" } }
"#;

/// Changes of the right file, a line each: what is replaced, and by what; the line and column of the mistake; and parts of its
/// three sentences.
const WRONG: &str = r#"
# TOML itself, and the format.
name = "Sharpen" | name = "Sharpen | 2:16 | no TOML | basic string | in quotes
frames = 2 | name = "Again" | 4:1 | no TOML | duplicate key | keys stand once
format = 1\n |  | 1:1 | `filter.toml` has no 'format' | version | Add `format = 1`.
format = 1 | format = 2 | 1:10 | has format 2 | reads format 1 | newer clreel
format = 1 | format = 0 | 1:10 | 'format' is 0 | `1` | `format = 1`
# Misspelt keys, and keys in other tables.
sentence = | sentense = | 3:1 | 'sentense' is no key | name, sentence | Write 'sentence'.
default = 2 | defualt = 2 | 10:1 | 'defualt' is no key of `[parameters.NAME]` | range | Write 'default'.
kernel = "first" | kernal = "first" | 30:1 | 'kernal' is no key | file, kernel | Write 'kernel'.
frames_back = 1 | frames_bak = 1 | 37:30 | 'frames_bak' is no key | plane | Write 'frames_back'.
key = 1 | unit = "px" | 19:1 | 'unit' is no key of `[[variants]]` | title | key of `[parameters.NAME]`
bytes = "8 | xyzzy = 1, bytes = "8 | 21:18 | 'xyzzy' is no key | bytes, image, size | one of these
# Missing keys.
id = "plain"\n |  | 17:1 | `[[variants]]` has no 'id' | command line | Add `id = "plain"`.
local = [64, 1]\n |  | 42:1 | has no 'local' | work-group | Add `local = [
default = 16,  |  | 26:1 | 'TILE' has no value | `cpu` and `other` | default = 16
# Wrong kinds of values.
name = "Sharpen" | name = 5 | 2:8 | 'name' is 5 | a text | `name = "A text"`
name = "Sharpen" | name = "" | 2:8 | an empty text | a text | `name = "A text"`
frames = 2 | frames = 0 | 4:10 | 'frames' is 0 | from 1 to 16 | `frames = 1`
key = 1 | key = 9 | 19:7 | 'key' is 9 | from 1 to 8 | `key = 1`
id = "plain" | id = "Plain One" | 18:6 | Plain One | small letters | `id = "plain"`
type = "int" | type = "itn" | 8:8 | "itn" | `"int"` or `"float"` | Write 'int'.
range = [0, 8] | range = [0] | 9:9 | an array of 1 | of 2 values | `range = [0, 10]`
[64, 1] | 64 | 46:9 | 'local' is 64 | 1 to 3 values | `local = [
[[variants]]\nid = "other-one" | [[variants.more]]\nid = "x" | 54:12 | 'more' | passes | one of these
dst = { output = "buffer" }\ng | dst = { output = "bufer" }\ng | 50:18 | bufer | image | Write 'buffer'.
defines.SIDE | defines."SI DE" | 23:9 | 'SI DE' is no name | letters | radius_2
# Parameters.
range = [0, 8] | range = [8, -8] | 9:9 | range of 'radius' is empty | 8 and ends at -8 | [-8, 8]
range = [0, 8] | range = [5, 5] | 9:9 | range of 'radius' is empty | 5 and ends at 5 | [0, 5]
range = [0, 8] | range = [0, 0] | 9:9 | is empty | 0 and ends at 0 | [0, 10]
range = [0, 8] | range = [0.5, 8] | 9:10 | no whole number | 32 bits | float
default = 2 | default = 9 | 10:11 | outside of its range | 0 to 8 | default
default = 1.0 | default = 1.0\nstep = -1 | 16:8 | step of 'gain' | above 0 | Change the step.
[parameters.gain] | [parameters.rows]\ntype = "float"\nrange = [0, 1]\ndefault = 0\n[parameters.gain] | 12:13 | 'rows' cannot be | already | rows_2
TILE = { d | radius = { default = 1 }\nTILE = { d | 26:1 | 'radius' has another meaning | share | another name
# Variants, and references.
id = "other-one" | id = "plain" | 55:6 | Two variants have the id plain | one variant | Change one id
key = 2 | key = 1 | 56:7 | Two variants have the key 1 | one variant | Change one key
id = "plain" | id = "auto" | 18:6 | the id 'auto' | already | my-auto
frames = 2 | reference = "plian"\nframes = 2 | 4:13 | the id 'plian' | plain, other-one, box | Write 'plain'.
frames = 2 | reference = "box"\nframes = 2 | 4:13 | does not suit | one RGBA picture | choose a variant
key = 2 | cpu = { passes = [] } | 56:18 | 'passes' is an array of 0 | up to 16 | file =
key = 2 | cpu.defines.A = 1 | 56:1 | One of `cpu` and `other` | for all devices | other one
# Files, pictures and arguments.
file = "b.cl" | file = "../b.cl" | 59:8 | '../b.cl' is no file | '..' | into the folder
file = "b.cl" | file = "/etc/b.cl" | 59:8 | no file of this folder | absolute | into the folder
file = "b.cl" | file = "b.sh" | 59:8 | no file of this folder | '.cl' | into the folder
sums = { scratch = "sums" }\nt | sums = { scratch = "sum" }\nt | 38:20 | name 'sum' | sums | Write 'sums'.
output = "buffer" | input = "buffer" | 17:1 | No pass writes the output | argument | dst =
{ input = "image" } | { input = "image", output = "image" } | 63:21 | is not clear | here are 2 | src =
{ value = "gain" } | { plane = 0 } | 63:77 | 'gain' is not clear | here are 0 | src =
{ value = "gain" } | { value = "gain", type = "int" } | 63:102 | type does not suit | float parameter | float
scratch = "sums" }\nt | scratch = "sums", type = "int" }\nt | 38:35 | 'type' has no meaning | has scratch | Remove it.
{ input = "image" } | { input = "image", plane = 0 } | 63:48 | no planes | RGBA | input = "planes"
frames = 2 | input = "planes"\nframes = 2 | 37:17 | Which plane? | one of them | plane = 0
frames = 2 | output = "planes"\nframes = 2 | 4:10 | the input has none | sizes | input = "planes"
frames_back = 1 | frames_back = 2 | 37:44 | no frame 2 frames before | `frames` is 2 | frames = 3
frames_back = 1 } | frames_back = 3 }\nolder = { input = "buffer", frames_back = 5 } | 37:44 | no frame 3 frames before | `frames` is 2 | frames = 6
gain = "gain" | gain = "gian" | 51:9 | 'gian' is no name here | side, area, gain. | Write 'gain'.
gain = "gain" | gain = "2*gian" | 51:11 | 'gian' is no name here | side, area. | one of these
before = { input = "buffer" | before = { input = "image" | 37:1 | input is an image here and a buffer at f:36:1 | one kind | in all passes
{ bytes = "8*width*height" } | { size = [1, 1] } | 21:9 | kind of 'sums' | `image` | bytes =
# Expressions.
2*radius + 1 | 2*raduis + 1 | 20:21 | 'raduis' is no name here | width, height | Write 'radius'.
2*radius + 1 | 2*gain + 1 | 20:21 | 'gain' is a float parameter | reach kernels only | type = "int"
2*radius + 1 | 2*area + 1 | 20:19 | 'side' is computed from itself | side uses area uses side | without the others
2*radius + 1 | 2*(radius + 1 | 20:32 | ends here | ')' | parentheses
2*radius + 1 | 2**radius | 20:21 | '*' is not expected | a number, a name | ceil_div
2*radius + 1 | plane0_width | 20:19 | 'plane0_width' | filters of planes | input = "planes"
2*radius + 1 | output1_step | 20:19 | 'output1_step' | filters of planes | input = "planes"
{ quotient = [1, "area"] } | { values = [1, "area", 2] } | 52:20 | Three numbers | two or four | fourth
2*radius + 1 | 16 / radius | 20:22 | divides by zero | radius = 0, TILE = 16 | max(1, …)
2*radius + 1 | 9223372036854775807 + radius | 20:39 | does not fit in 64 bits | are 9223372036854775807 and | smaller
"8*width*height" | 0 | 21:26 | scratch memory is 0 | at least 1 | max(1, …)
["width", "rows"] | [0, "rows"] | 31:11 | number of work-items is 0 | at least 1 | max(1, …)
"ceil_div(width, 4)" | "width / 4" | 45:12 | work-items is 0 | width = 1, height = 1 | ceil_div(a, b)
["width", "rows"] | ["width*10000000", "rows"] | 31:12 | is 19200000000 | 4294967295 | work-item
["TILE", 1] | ["TILE", 0] | 32:18 | work-group's size is 0 | at least 1 | max(1, …)
["TILE", 1] | ["width", 1] | 32:11 | 'width' is no part | tuning parameters and whole numbers only | tuning.GROUP
["TILE", 1] | ["TILE"] | 32:9 | dimensions differ | 2 numbers, `local` has 1 | each dimension
above = "radius" | above = "0 - radius" | 33:19 | number of rows is -2 | at least 0 | max(0, …)
<= local_memory |  | 22:13 | no comparison | `<=` | b is "b < a"
<= local_memory | <= width | 22:30 | 'width' is nothing | units, local_memory | one of these
radius = "radius"\n\n | radius = "radius*9999999999"\n\n | 40:11 | 'radius' does not fit | 19999999998 | `type`
"#;

#[test]
fn each_mistake_has_its_place_and_a_remedy() {
    Description::parse(RIGHT, "f").unwrap();
    let lines = WRONG.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut bad, mut count) = (String::new(), 0);
    for line in lines {
        let parts: Vec<String> = line.split(" | ").map(|part| part.replace("\\n", "\n")).collect();
        let [from, to, place, what, why, hint] = parts.as_slice() else { panic!("{line}") };
        assert!(RIGHT.contains(from), "{from}");
        let mistakes = Description::parse(&RIGHT.replacen(from, to, 1), "f").expect_err(line);
        count += 1;
        let error = &mistakes[0].error;
        let is_sentence = |text: &str| text.ends_with(['.', '?', '!']);
        let parts = [(&error.what, what), (&error.why, why), (&error.hint, hint)];
        if mistakes.len() > 3
            || !error.what.starts_with(&format!("f:{place}: "))
            || parts
                .iter()
                .any(|(sentence, part)| !sentence.contains(part.as_str()) || !is_sentence(sentence))
        {
            let found: String = mistakes.iter().map(|mistake| format!("{mistake}\n")).collect();
            bad += &format!("{line}\n{found}\n");
        }
    }
    assert!(bad.is_empty() && count >= 40, "{bad}");
}

#[test]
fn all_mistakes_of_a_file_are_reported() {
    let text = RIGHT
        .replace("sentence", "sentense")
        .replace("frames = 2", "frames = 99")
        .replace("kernel", "kernal");
    let places: Vec<usize> =
        Description::parse(&text, "f").unwrap_err().iter().map(|mistake| mistake.place.line).collect();
    assert_eq!(places, [3, 4, 30, 44, 60]);
}

#[test]
fn missing_files_and_kernels_are_named() {
    let description = Description::parse(RIGHT, "own/filter.toml").unwrap();
    let mistakes = |a: &str, b: Result<&str, &str>| {
        let text_of = |file: &str| {
            if file == "a.cl" { Ok(a.to_owned()) } else { b.map(str::to_owned).map_err(str::to_owned) }
        };
        let found = folder::check_kernels(&description, text_of).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = mistakes(
        "__kernel void first() {}\n__kernel void secnod() {}",
        Err("It is a link that leads out of the folder."),
    );
    assert_eq!(found.len(), 2, "{found:#?}");
    for (found, parts) in found.iter().zip([
        ["own/filter.toml:44:10: a.cl has no kernel 'second'.", "first, secnod", "Write 'secnod'."],
        ["own/filter.toml:59:8: 'b.cl' cannot be read.", "link that leads out", "Put b.cl into the folder."],
    ]) {
        assert!(parts.iter().all(|part| found.contains(part)), "{found}");
    }
    assert_eq!(mistakes("#include \"all.cl\"", Ok("kernel void third() {}")), [""; 0]);
}
