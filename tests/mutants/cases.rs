//! The cases in which a mutated kernel may differ from the original: pictures, sizes, radii, bands, layouts and targets,
//! ordered from simple to special.

use std::fmt;

use base::device::DeviceKind;
use box_filter::MAX_RADIUS;

/// The code that runs a kernel file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// A variant with the default configuration for a kind of device.
    Variant(&'static str, DeviceKind),
    /// A variant with one parameter changed, as tuning does.
    Tuned(&'static str, DeviceKind, &'static str, u32),
    /// A variant that writes an image.
    IntoImage(&'static str, DeviceKind),
    /// The filter on planes for a kind of device.
    Planar(DeviceKind),
    /// YUV to RGBA, into a buffer or an image.
    Planes {
        /// Writes an image.
        image: bool,
    },
    /// YUV to RGBA of filtered planes, by whole rows.
    Rows,
    /// Colour correction of RGBA, between images or buffers.
    Correct {
        /// Reads an image.
        from: bool,
        /// Writes an image.
        to: bool,
    },
    /// A variant of another ladder: the ladder's name and the variant's id.
    Ladder(&'static str, &'static str),
    /// A variant of the cloth with the default configuration for GPUs.
    ClothOnGpu(&'static str),
}

impl Runner {
    /// Returns true if this is a conversion, which has no radius.
    pub fn converts(self) -> bool {
        matches!(self, Self::Planes { .. } | Self::Rows | Self::Correct { .. })
    }

    /// Returns true if this runs only on devices other than CPUs, or on a CPU that claims to be one.
    pub fn needs_gpu(self) -> bool {
        match self {
            Self::Variant(_, kind)
            | Self::Tuned(_, kind, ..)
            | Self::IntoImage(_, kind)
            | Self::Planar(kind) => kind != DeviceKind::Cpu,
            Self::Planes { .. } | Self::ClothOnGpu(_) => true,
            Self::Rows | Self::Correct { .. } | Self::Ladder(..) => false,
        }
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let storage = |image: bool| if image { "image" } else { "buffer" };
        match self {
            Self::Variant(id, kind) => write!(f, "{id} ({})", kind.name()),
            Self::Tuned(id, kind, name, value) => write!(f, "{id} ({}) {name}={value}", kind.name()),
            Self::IntoImage(id, kind) => write!(f, "{id} ({}) into an image", kind.name()),
            Self::Planar(kind) => write!(f, "planar ({})", kind.name()),
            Self::Planes { image } => write!(f, "planes into a {}", storage(*image)),
            Self::Rows => write!(f, "rows"),
            Self::Correct { from, to } => write!(f, "correction, {} to {}", storage(*from), storage(*to)),
            Self::Ladder(_, id) => write!(f, "{id}"),
            Self::ClothOnGpu(id) => write!(f, "{id} (gpu)"),
        }
    }
}

/// The content of the picture, or of every component of its planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Pseudo-random bytes.
    Noise,
    /// All bytes 255.
    White,
    /// All bytes 0.
    Black,
    /// Black and white rows as high as the window: the mean changes as much as possible from row to row.
    Stripes,
    /// The left half black, the right half white: the two ends of a window differ as much as possible.
    Halves,
    /// Black with one white pixel in the middle.
    OnePixel,
}

/// A case. Two cases are equal if their texts are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// The code that runs.
    pub runner: Runner,
    /// Width and height in pixels. For arrays the length and 1, for armies the figures and 1, for products columns and rows.
    pub size: (u32, u32),
    /// The radius; 0 for conversions, the edge of a block for reductions, the count of summands for products.
    pub radius: u32,
    /// The content of the picture.
    pub content: Content,
    /// The rows of each launch; 0 for one launch.
    pub band: u32,
    /// FFmpeg's name of the pixel format of planes.
    pub format: &'static str,
    /// The position of the first chroma sample.
    pub siting: (u32, u32),
    /// True if rows of chroma alternate between two fields.
    pub interlaced: bool,
    /// True if the planes are in YCgCo.
    pub ycgco: bool,
    /// True if colours are corrected.
    pub corrected: bool,
    /// True if all pixels to be corrected are opaque, and the kernel gets the flag for that.
    pub opaque: bool,
}

impl Case {
    /// Returns the part of the case that `bench` gets as arguments; everything else is chosen by the verifier.
    pub fn bench_arguments(&self) -> String {
        let (width, height) = self.size;
        match self.runner {
            Runner::Ladder("vector-add", id) => format!("{id}, {width} floats"),
            Runner::Ladder("matmul", id) => format!("{id}, {height}×{width} by {}", self.radius),
            Runner::Ladder("transpose", id) => format!("{id}, {height}×{width}"),
            Runner::Ladder("reduction", id) => format!("{id}, {width}×{height}, blocks of {}", self.radius),
            Runner::Ladder("histogram", id) => format!("{id}, {width}×{height}"),
            Runner::Ladder(..) | Runner::ClothOnGpu(_) => format!("{}, army of {width}", self.runner),
            _ if self.runner.converts() => format!("{}, {width}×{height}", self.runner),
            _ => format!("{}, {width}×{height}, r={}", self.runner, self.radius),
        }
    }

    /// Returns true if both cases give `bench` the same arguments.
    pub fn has_same_bench_arguments(&self, other: &Self) -> bool {
        (self.runner, self.size, self.radius) == (other.runner, other.size, other.radius)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bench_arguments())?;
        // Each case runs every input of the ladder.
        if let Runner::Ladder(..) | Runner::ClothOnGpu(_) = self.runner {
            return Ok(());
        }
        let content = match self.content {
            Content::Noise => "noise",
            Content::White => "white",
            Content::Black => "black",
            Content::Stripes => "stripes",
            Content::Halves => "halves",
            Content::OnePixel => "one pixel",
        };
        write!(f, ", {content}")?;
        if self.band > 0 {
            write!(f, ", bands of {}", self.band)?;
        }
        if !self.format.is_empty() {
            write!(f, ", {}", self.format)?;
        }
        if !self.format.is_empty() && self.runner.converts() {
            write!(f, ", siting {}/{}", self.siting.0, self.siting.1)?;
            f.write_str(if self.interlaced { ", interlaced" } else { "" })?;
            f.write_str(if self.ycgco { ", YCgCo" } else { "" })?;
        }
        if self.corrected && !matches!(self.runner, Runner::Correct { .. }) {
            write!(f, ", corrected")?;
        }
        if self.opaque {
            write!(f, ", opaque")?;
        }
        Ok(())
    }
}

/// The layouts that a device reads, common ones first.
const FORMATS: &str = "yuv420p nv12 p010le yuv420p10le yuv422p yuv444p yuv440p nv16 yuyv422 uyvy422 gray bgra \
    rgb24 gbrap yuv444p12le gray12le";

/// Returns the cases for a runner, simple ones first.
pub fn cases(runner: Runner) -> Vec<Case> {
    match runner {
        Runner::Planar(_) => planar(runner),
        Runner::Ladder("vector-add", _) => {
            let sizes = [1000, 1, 3, 8, 17, 64, 4099, 20_000];
            sizes.map(|count| Case { size: (count, 1), radius: 0, ..plain_case(runner) }).to_vec()
        }
        Runner::Ladder("matmul", _) => {
            let small = [(64, 64, 64), (130, 65, 37), (1, 1, 1), (5, 3, 0), (17, 33, 300), (300, 5, 6)];
            let larger = [(20, 259, 12), (200, 300, 40), (256, 128, 16), (131, 130, 67), (129, 257, 129)];
            // A column more than 9 panels, which are more than one work-item multiplies.
            let panels = (433, 3, 5);
            let case = |(n, m, k)| Case { size: (n, m), radius: k, ..plain_case(runner) };
            small.into_iter().chain(larger).chain([panels]).map(case).collect()
        }
        Runner::Ladder("transpose", _) => {
            let sizes = [(64, 32), (1, 1), (3, 2), (65, 33), (300, 1), (1, 300), (1023, 7), (100, 300)];
            sizes.map(|size| Case { size, radius: 0, ..plain_case(runner) }).to_vec()
        }
        Runner::Ladder("reduction", id) => {
            let small = [(67, 33, 16), (132, 129, 64), (100, 70, 32), (1, 1, 64), (15, 17, 16)];
            let larger = [(1284, 131, 32), (2069, 35, 16), (640, 360, 16), (641, 361, 64)];
            // The sum of noise exceeds 32 bits. Only the fastest variant, as the picture is large.
            let large = (id == "strips").then_some((8300, 4200, 64));
            let case = |(w, h, block)| Case { size: (w, h), radius: block, ..plain_case(runner) };
            small.into_iter().chain(larger).chain(large).map(case).collect()
        }
        Runner::Ladder("histogram", _) => {
            let sizes = [(67, 33), (1, 1), (64, 64), (640, 360), (641, 361)];
            sizes.map(|size| Case { size, radius: 64, ..plain_case(runner) }).to_vec()
        }
        // Of the small armies, which bench checks at any size, one has fewer figures than a vector has lanes; one
        // fills a vector. In the largest, figures stand so far from the middle that 0.002 % is more than the bound.
        Runner::Ladder(..) | Runner::ClothOnGpu(_) => {
            [1, 8, 25].map(|army| Case { size: (army, 1), radius: 0, ..plain_case(runner) }).to_vec()
        }
        _ if runner.converts() => conversions(runner),
        _ => filters(runner),
    }
}

fn plain_case(runner: Runner) -> Case {
    let (format, siting) = ("", (0, 1));
    Case {
        runner,
        size: (67, 33),
        radius: 3,
        content: Content::Noise,
        band: 0,
        format,
        siting,
        interlaced: false,
        ycgco: false,
        corrected: false,
        opaque: false,
    }
}

fn filters(runner: Runner) -> Vec<Case> {
    let plain = plain_case(runner);
    let naive = matches!(runner, Runner::Variant("naive", _));
    let mut cases = vec![plain];
    let at = |size, radius, content, band| Case { size, radius, content, band, ..plain };
    let noise = |size, radius| at(size, radius, Content::Noise, 0);
    cases.extend([5, 1, 8].map(|band| at((67, 33), 3, Content::Noise, band)));
    cases.extend([0, 1, 7, 8, 9, 20].map(|radius| noise((67, 33), radius)));
    let narrow = [((5, 3), 7), ((1, 1), 2), ((37, 1), 3), ((1, 41), 3), ((66, 33), 3)];
    let wider = [((64, 32), 3), ((65, 34), 2), ((23, 19), 31), ((23, 19), 42)];
    cases.extend(narrow.into_iter().chain(wider).map(|(size, radius)| noise(size, radius)));
    cases.extend([43, 63, 64, 65, MAX_RADIUS - 1, MAX_RADIUS].map(|radius| noise((23, 19), radius)));
    let extremes = [Content::White, Content::Black, Content::OnePixel];
    for radius in [3, 7, 8, 31, 64, MAX_RADIUS - 1, MAX_RADIUS] {
        cases.extend(extremes.map(|content| at((40, 9), radius, content, 0)));
    }
    if naive {
        cases.extend([noise((640, 360), 3), noise((1280, 720), 7)]);
        return cases;
    }
    let stripes = |r| at((23, 8 * (2 * r + 1)), r, Content::Stripes, 0);
    cases.extend([7, 8, 9, 31, 42, 43, 63, 64, MAX_RADIUS].map(stripes));
    cases.extend([9, 31, 42].map(|r| at((300, 24), r, Content::Halves, 0)));
    cases.extend([63, 64, MAX_RADIUS].map(|radius| at((600, 9), radius, Content::Halves, 0)));
    cases.extend([(20, 0), (20, 13), (31, 7)].map(|(r, band)| at((131, 67), r, Content::Noise, band)));
    cases.extend([noise((1203, 37), 31), noise((1204, 37), 3), noise((9001, 5), 3), noise((21, 2600), 3)]);
    cases.extend([noise((1280, 720), 7), noise((1280, 720), 20), noise((2048, 1600), 3)]);
    cases
}

fn planar(runner: Runner) -> Vec<Case> {
    let plain = Case { format: "yuv420p", ..plain_case(runner) };
    let at = |size, radius, content, band| Case { size, radius, content, band, ..plain };
    let noise = |size, radius| at(size, radius, Content::Noise, 0);
    let mut cases = vec![plain];
    cases.extend([5, 2].map(|band| at((67, 33), 3, Content::Noise, band)));
    cases.extend([0, 1, 2, 4, 7, 8, 20].map(|radius| noise((67, 33), radius)));
    let narrow = [((5, 3), 7), ((1, 1), 2), ((37, 1), 3), ((1, 41), 3), ((64, 32), 3)];
    let wider = [((66, 34), 2), ((259, 11), 31), ((139, 61), 64), ((139, 61), MAX_RADIUS)];
    cases.extend(narrow.into_iter().chain(wider).map(|(size, radius)| noise(size, radius)));
    for radius in [3, 4, 40, MAX_RADIUS] {
        cases.extend([Content::White, Content::Black].map(|content| at((40, 9), radius, content, 0)));
    }
    let of = |format, case: Case| Case { format, ..case };
    let others = FORMATS.split(' ').skip(1);
    cases.extend(others.clone().map(|format| of(format, plain)));
    cases.extend(others.map(|format| of(format, noise((131, 35), 4))));
    cases.extend([noise((1203, 37), 31), noise((2051, 203), 7), at((720, 301), 20, Content::Noise, 97)]);
    let white = at((139, 61), MAX_RADIUS, Content::White, 0);
    cases.extend(["yuv444p12le", "p010le", "gbrap"].map(|format| of(format, white)));
    cases.extend([noise((1280, 720), 7), at((1280, 720), 20, Content::Noise, 64)]);
    cases
}

fn conversions(runner: Runner) -> Vec<Case> {
    let plain = Case { radius: 0, ..plain_case(runner) };
    if let Runner::Correct { .. } = runner {
        let plain = Case { corrected: true, ..plain };
        let sizes = [(67, 33), (5, 3), (1, 1), (64, 32), (640, 360)];
        let contents = [Content::Noise, Content::White, Content::Black];
        let of = |content| sizes.map(|size| Case { size, content, ..plain });
        let with_alpha = contents.into_iter().flat_map(of);
        return with_alpha.chain(sizes.map(|size| Case { size, opaque: true, ..plain })).collect();
    }
    // `Rows` converts the planes that the filter wrote.
    let formats: Vec<_> = match runner {
        Runner::Rows => ["yuv420p", "yuv422p", "yuv444p", "yuv440p", "p010le"].to_vec(),
        _ => FORMATS.split(' ').collect(),
    };
    let mut cases = Vec::new();
    for corrected in [false, true] {
        for &format in &formats {
            let subsampled = format.starts_with("yuv42") || matches!(format, "nv12" | "p010le" | "yuv440p");
            let sitings: &[_] = if subsampled { &[(0, 1), (1, 1), (0, 0), (0, 2)] } else { &[(0, 1)] };
            for &siting in sitings {
                cases.push(Case { format, siting, corrected, ..plain });
            }
            if matches!(format, "yuv420p" | "yuv440p" | "p010le") {
                let fields = Case { format, corrected, interlaced: true, ..plain };
                cases.extend(sitings.iter().map(|&siting| Case { siting, ..fields }));
                cases.extend([4, 5, 6, 34].map(|height| Case { size: (19, height), ..fields }));
            }
        }
    }
    let first = Case { format: "yuv420p", ..plain };
    let sizes = [(64, 32), (66, 34), (31, 5), (5, 3), (3, 1), (1, 1), (640, 360)];
    cases.extend(sizes.map(|size| Case { size, ..first }));
    cases.push(Case { ycgco: true, ..first });
    let gbrap = Case { format: "bgra", ..plain };
    for content in [Content::White, Content::Black, Content::Halves] {
        cases.push(Case { content, ..first });
        if runner != Runner::Rows {
            cases.push(Case { content, ..gbrap });
        }
    }
    cases
}
