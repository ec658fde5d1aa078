//! Tests of right files, and of damaged ones.

use std::path::{Path, PathBuf};

use base::random::Xorshift;

use crate::*;

fn box_filter() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/box_filter")
}

#[test]
fn the_box_filter_is_described() {
    let text = std::fs::read_to_string(box_filter().join(folder::FILE)).unwrap();
    let filter = Description::parse(&text, folder::FILE).unwrap_or_else(|mistakes| panic!("{}", mistakes[0]));
    let text_of = |file: &str| std::fs::read_to_string(box_filter().join(file)).map_err(|e| e.to_string());
    assert_eq!(folder::check_kernels(&filter, text_of), Ok(()));
    assert_eq!((filter.name.as_str(), filter.frames), ("Box filter", 1));
    assert_eq!(filter.reference, Some(Reference::BuiltIn("box".into())));
    assert_eq!(filter.accuracy, Accuracy::Exact);
    let ids: Vec<_> = filter.variants.iter().map(|variant| (variant.id.as_str(), variant.key)).collect();
    let want = ["naive", "separable", "flat", "vectorized", "running-sum", "fused"]
        .into_iter()
        .zip([1, 2, 3, 4, 5, 8]);
    assert_eq!(ids, want.map(|(id, key)| (id, Some(key))).collect::<Vec<_>>());
    assert_eq!([filter.initial, filter.auto].map(|at| ids[at].0), ["running-sum", "fused"]);
    let radius = &filter.parameters[0];
    assert_eq!(
        (radius.name.as_str(), radius.is_whole, radius.range, radius.step),
        ("radius", true, [0.0, 128.0], 1.0)
    );

    let [cpu, other] = &filter.variants[5].codes;
    assert_eq!([cpu, other].map(|code| code.passes[0].kernel.as_str()), ["box_fused", "box_march"]);
    let columns = &other.tuning[0];
    assert_eq!(
        [(true, true), (false, false), (false, true)].map(|(cpu, large)| columns.value(cpu, large)),
        [8, 4, 8]
    );
}

/// A filter with every kind of argument that the box filter lacks.
const OTHERS: &str = r#"
format = 1
name = 'N'
sentence = "S."
input = "planes"
output = "rgba8"
parameters.gain = { type = "float", range = [0, 1], default = 0.5 }
parameters.many = { type = "int", range = [-4, 4], default = -1, step = 2 }

[[variants]]
id = "a"
scratch.half = { image = "rgba32f", size = ["ceil_div(width, 2)", 7] }
[[variants.passes]]
file = "sub/k.cl"
kernel = "k"
global = ["max(1, plane1_width)", 3, 1]
local = [32, 2, 1]
[variants.passes.arguments]
dst = { output = "image" }
y = { input = "buffer", plane = 0 }
half = { scratch = "half" }
gain = "gain"
uint = { value = "planes*bits*sample_bytes", type = "uint" }
long = { value = 5000000000, type = "long" }
ulong = { value = """
width""", type = "ulong" }
float = { value = "many", type = "float" }
ratio = { quotient = ["many", 3] }
"#;

#[test]
fn every_kind_of_argument_is_read_and_computed() {
    let filter = Description::parse(OTHERS, "f").unwrap_or_else(|mistakes| panic!("{}", mistakes[0]));
    assert_eq!((filter.input, filter.output, filter.reference), (Format::Planes, Format::Rgba8, None));
    assert_eq!(filter.parameters.iter().map(|p| p.step).collect::<Vec<_>>(), [0.01, 2.0]);
    let (code, names) =
        (&filter.variants[0].codes[1], [("width", 101), ("planes", 3), ("bits", 10), ("many", -2)]);
    let lookup = |name: &str| match name {
        "sample_bytes" => Some(2),
        "plane1_width" => Some(51),
        _ => names.iter().find(|known| known.0 == name).map(|known| known.1),
    };
    let (values, pass) = (Values::new(code, &lookup).unwrap(), &code.passes[0]);
    assert_eq!(values.launch(pass), Ok(Launch { global: vec![64, 4, 1], local: vec![32, 2, 1] }));
    assert_eq!(values.scratch(&code.scratch[0]), Ok(vec![51, 7]));
    let passed: Vec<_> =
        pass.arguments.iter().map(|a| (a.name.as_str(), values.number(a).unwrap())).collect();
    let numbers = [
        ("dst", None),
        ("y", None),
        ("half", None),
        ("gain", None),
        ("uint", Some(Number::Uint(60))),
        ("long", Some(Number::Long(5_000_000_000))),
        ("ulong", Some(Number::Ulong(101))),
        ("float", Some(Number::Float(-2.0))),
        ("ratio", Some(Number::Float(-2.0 / 3.0))),
    ];
    assert_eq!(passed, numbers);
    assert_eq!(pass.arguments[3].value, Passed::Float("gain".into()));
    let y = Passed::Picture { is_output: false, memory: Memory::Buffer, plane: Some(0), frames_back: 0 };
    assert_eq!(pass.arguments[1].value, y);
}

#[test]
fn damaged_files_never_panic() {
    let text = std::fs::read_to_string(box_filter().join(folder::FILE)).unwrap();
    let mut random = Xorshift::new(7);
    let (mut right, mut wrong) = (0, 0);
    for text in [text.as_str(), OTHERS] {
        for round in 0..400 {
            let mut bytes = text.as_bytes().to_vec();
            if round % 4 == 0 {
                bytes.truncate(random.draw() as usize % bytes.len());
            }
            for _ in 0..round % 3 {
                let at = random.draw() as usize % bytes.len().max(1);
                let new = b"\0\"'[]{}=.,#\n -+*/%(0919azAZ_\xc3\xff"[random.draw() as usize % 30];
                bytes.splice(at.min(bytes.len())..(at + 1).min(bytes.len()), [new]);
            }
            match Description::parse(&String::from_utf8_lossy(&bytes), "f") {
                Ok(_) => right += 1,
                Err(mistakes) => {
                    wrong += 1;
                    assert!(!mistakes.is_empty() && mistakes.iter().all(|mistake| mistake.place.line > 0));
                }
            }
        }
    }
    assert!(right > 50 && wrong > 300, "{right} right, {wrong} wrong");
}

#[test]
fn hostile_files_take_little_time_and_memory() {
    let head = "format = 1\nname = \"N\"\nsentence = \"S\"\n[[variants]]\nid = \"a\"\n";
    let chain = |n: usize| (0..n).map(|i| format!("s{i} = \"s{}*s{0}\"\n", i + 1)).collect::<String>();
    let pass = "[[variants.passes]]\nfile = \"k.cl\"\nkernel = \"k\"\nglobal = [\"s0\"]\nlocal = [1]\narguments = { dst = { output = \"buffer\" } }\n";
    for (text, want) in [
        // Each size is twice as long as the next one, if it is written out.
        (format!("{head}[variants.sizes]\n{}s60 = 1\n{pass}", chain(60)), ""),
        (format!("{head}[variants.sizes]\n{}s9 = 2\n{pass}", chain(9)), "does not fit in 64 bits"),
        (format!("{head}[variants.sizes]\n{}s40 = \"s0\"\n{pass}", chain(40)), "computed from itself"),
        (format!("{head}sizes = {{ s = [{}] }}", "[".repeat(30_000)), "no TOML"),
        (format!("{head}sizes = {{ {} }}", "b = \"x+y+z\", ".repeat(4_000)), "no TOML"),
        ("x = 1\n".repeat(10_000), "no TOML"),
        ((0..8_000).map(|i| format!("x{i}=1\n")).collect(), "no key"),
        (" ".repeat(70_000), "too long"),
    ] {
        let mistakes = Description::parse(&text, "f").err().unwrap_or_default();
        let first = mistakes.iter().map(ToString::to_string).next().unwrap_or_default();
        assert!(
            first.contains(want) && want.is_empty() == mistakes.is_empty() && mistakes.len() <= 100,
            "{first}"
        );
    }
}

#[test]
fn settings_change_in_steps_within_the_range() {
    let parameter = |is_whole, range, step, unit: &str| Parameter {
        name: "p".into(),
        is_whole,
        range,
        step,
        default: range[0],
        unit: unit.into(),
    };
    let parameters = [parameter(true, [0.0, 128.0], 1.0, "px"), parameter(false, [0.25, 8.0], 0.1, "")];
    let defaults = Settings::defaults(&parameters);
    let radius = |steps| Settings::from(7).stepped(&parameters, 0, steps).first();
    assert_eq!([-20, -1, 0, 1, 1000].map(radius), [0, 6, 7, 8, 128]);
    let mut settings = defaults;
    (0..3).for_each(|_| settings = settings.stepped(&parameters, 1, 1));
    assert_eq!(settings.get(1), 0.55, "without the error of the sum");
    assert_eq!(settings.stepped(&parameters, 1, -3), defaults);
    assert_eq!(settings.with(&parameters, 1, 1.0 / 3.0).get(1), 0.333);
    assert_eq!(settings.with(&parameters, 1, 9.0).get(1), 8.0);
    let signed = [parameter(false, [-1.0, 1.0], 0.1, "")];
    assert_eq!(settings.with(&signed, 0, -0.0001), settings.with(&signed, 0, 0.0));
    assert_eq!(settings.with(&parameters, 2, 9.0), settings, "there is no third parameter");
    assert_eq!([parameters[0].value_text(7.0), parameters[1].value_text(0.333)], ["7 px", "0.33"]);
    let fine = parameter(false, [0.0, 1e-7], 1e-9, "m");
    assert_eq!((fine.value_text(3e-9), fine.decimals()), ("0.000000003 m".into(), 10));
}

#[test]
fn names_of_arguments_are_read_from_a_text_or_not_at_all() {
    let names = |text: &str| crate::folder::argument_names(text, "blur").map(|names| names.join(" "));
    let text = "// __kernel void blur(int wrong)\nvoid blur_row(int a) {}\n\
        __kernel __attribute__((reqd_work_group_size(8, 1, 1))) void blur(__global const uchar4 *restrict src, /* one, */\n\
        __local float2* tile, const float weights[4], read_only image2d_t edge)\n{ blur_row(1); }";
    assert_eq!(names(text).as_deref(), Some("src tile weights edge"));
    assert_eq!(names("kernel void blur(global int*a,int b){}").as_deref(), Some("a b"));
    for unclear in [
        "void blur(int a) {}",
        "__kernel void blur(\n#ifdef A\nint a\n#endif\n) {}",
        "__kernel void blur(ARGUMENTS) {}",
        "__kernel void blur(int) {} __kernel void blur(int a) {}",
        "K void blur(int a) {}",
    ] {
        assert_eq!(names(unclear), None, "{unclear}");
    }
}
