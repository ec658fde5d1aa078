//! Cases in which a changed kernel can show itself. In: the code that a kernel file is part of. Out: pictures, sizes,
//! radii, bands, layouts and targets, the plain ones first.

use std::fmt;

use box_filter::{MAX_RADIUS, VariantId};
use opencl::cl::DeviceKind;

/// What runs a kernel file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A variant with the defaults for a kind of device.
    Variant(VariantId, DeviceKind),
    /// The same with one parameter changed, as only tuning does.
    Tuned(VariantId, DeviceKind, &'static str, u32),
    /// A variant that writes an image.
    IntoImage(VariantId, DeviceKind),
    /// The filter on planes for a kind of device.
    Planar(DeviceKind),
    /// Planes to RGBA, into a buffer or an image.
    Planes {
        /// Into an image.
        image: bool,
    },
    /// Filtered planes to RGBA by whole rows.
    Rows,
    /// RGBA corrected, from and into images or buffers.
    Correct {
        /// From an image.
        from: bool,
        /// Into an image.
        to: bool,
    },
    /// A rung of vector addition.
    Added(&'static str),
    /// A rung of matrix multiplication.
    Multiplied(&'static str),
    /// A rung of transposition.
    Transposed(&'static str),
    /// A rung of the reduction.
    Reduced(&'static str),
    /// A rung of the histogram.
    Counted(&'static str),
    /// A rung of the cloth.
    Simulated(&'static str),
}

impl Subject {
    /// Whether it is a conversion, which has no radius.
    pub fn converts(self) -> bool {
        matches!(self, Self::Planes { .. } | Self::Rows | Self::Correct { .. })
    }

    /// Whether it runs on a device that is no CPU, or claims not to be one.
    pub fn needs_gpu(self) -> bool {
        match self {
            Self::Variant(_, kind)
            | Self::Tuned(_, kind, ..)
            | Self::IntoImage(_, kind)
            | Self::Planar(kind) => kind != DeviceKind::Cpu,
            Self::Planes { .. } => true,
            Self::Rows | Self::Correct { .. } | Self::Added(_) | Self::Reduced(_) | Self::Counted(_) => false,
            Self::Multiplied(_) | Self::Transposed(_) | Self::Simulated(_) => false,
        }
    }
}

impl fmt::Display for Subject {
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
            Self::Added(id) | Self::Reduced(id) | Self::Counted(id) => write!(f, "{id}"),
            Self::Multiplied(id) | Self::Transposed(id) | Self::Simulated(id) => write!(f, "{id}"),
        }
    }
}

/// What is in the picture, or in every component of its planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Any bytes.
    Noise,
    /// All 255.
    White,
    /// All 0.
    Black,
    /// Black and white, as high as the window: from row to row the mean changes by as much as it can.
    Stripes,
    /// The left half black, the right half white: the two ends of a window differ by as much as they can.
    Halves,
    /// Black but for one pixel in the middle.
    OnePixel,
}

/// A case. Two of them with the same text are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// What runs.
    pub subject: Subject,
    /// Width and height in pixels; of arrays the length, and 1; of an army the characters, and 1; of a product its columns and rows.
    pub size: (u32, u32),
    /// The radius; 0 for conversions; of a reduction the edge of the blocks; of a product how many numbers are added.
    pub radius: u32,
    /// What is in the picture.
    pub content: Content,
    /// Rows of each launch; 0: all at once.
    pub band: u32,
    /// FFmpeg's name of the layout, where planes are read.
    pub format: &'static str,
    /// Where the first chroma sample lies.
    pub siting: (u32, u32),
    /// Whether rows of chroma belong to two fields.
    pub interlaced: bool,
    /// Whether the planes are in YCgCo.
    pub ycgco: bool,
    /// Whether colours are corrected.
    pub corrected: bool,
    /// Whether pixels that are corrected are all opaque, and said to be.
    pub opaque: bool,
}

impl Case {
    /// What bench is asked for in this case; all else is the verifier's own.
    pub fn asked(&self) -> String {
        let (width, height) = self.size;
        match self.subject {
            Subject::Added(_) => format!("{}, {width} floats", self.subject),
            Subject::Multiplied(_) => format!("{}, {height}×{width} by {}", self.subject, self.radius),
            Subject::Transposed(_) => format!("{}, {height}×{width}", self.subject),
            Subject::Reduced(_) => format!("{}, {width}×{height}, blocks of {}", self.subject, self.radius),
            Subject::Counted(_) => format!("{}, {width}×{height}", self.subject),
            Subject::Simulated(_) => format!("{}, army of {width}", self.subject),
            _ if self.subject.converts() => format!("{}, {width}×{height}", self.subject),
            _ => format!("{}, {width}×{height}, r={}", self.subject, self.radius),
        }
    }

    /// Whether bench is asked for the same in another case.
    pub fn asks_as(&self, other: &Self) -> bool {
        (self.subject, self.size, self.radius) == (other.subject, other.size, other.radius)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.asked())?;
        // Every input of the ladder is computed with in each case.
        if let Subject::Added(_)
        | Subject::Reduced(_)
        | Subject::Counted(_)
        | Subject::Multiplied(_)
        | Subject::Transposed(_)
        | Subject::Simulated(_) = self.subject
        {
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
        if !self.format.is_empty() && self.subject.converts() {
            write!(f, ", siting {}/{}", self.siting.0, self.siting.1)?;
            f.write_str(if self.interlaced { ", interlaced" } else { "" })?;
            f.write_str(if self.ycgco { ", YCgCo" } else { "" })?;
        }
        if self.corrected && !matches!(self.subject, Subject::Correct { .. }) {
            write!(f, ", corrected")?;
        }
        if self.opaque {
            write!(f, ", opaque")?;
        }
        Ok(())
    }
}

/// Layouts that a device reads, the common ones first.
const FORMATS: [&str; 16] = [
    "yuv420p",
    "nv12",
    "p010le",
    "yuv420p10le",
    "yuv422p",
    "yuv444p",
    "yuv440p",
    "nv16",
    "yuyv422",
    "uyvy422",
    "gray",
    "bgra",
    "rgb24",
    "gbrap",
    "yuv444p12le",
    "gray12le",
];

/// The cases of a subject, the plain ones first.
pub fn cases(subject: Subject) -> Vec<Case> {
    match subject {
        Subject::Planar(_) => planar(subject),
        Subject::Added(_) => {
            let sizes = [1000, 1, 3, 8, 17, 64, 4099, 20_000];
            sizes.map(|count| Case { size: (count, 1), radius: 0, ..plain(subject) }).to_vec()
        }
        Subject::Multiplied(_) => {
            let sizes = [
                (64, 64, 64),
                (130, 65, 37),
                (1, 1, 1),
                (5, 3, 0),
                (17, 33, 300),
                (300, 5, 6),
                (20, 259, 12),
            ];
            let larger = [(200, 300, 40), (256, 128, 16), (131, 130, 67), (129, 257, 129)];
            let case = |(n, m, k)| Case { size: (n, m), radius: k, ..plain(subject) };
            sizes.into_iter().chain(larger).map(case).collect()
        }
        Subject::Transposed(_) => {
            let sizes = [(64, 32), (1, 1), (3, 2), (65, 33), (300, 1), (1, 300), (1023, 7), (100, 300)];
            sizes.map(|size| Case { size, radius: 0, ..plain(subject) }).to_vec()
        }
        Subject::Reduced(_) => {
            let sizes = [
                (67, 33, 16),
                (132, 129, 64),
                (100, 70, 32),
                (1, 1, 64),
                (15, 17, 16),
                (1284, 131, 32),
                (2069, 35, 16),
                (640, 360, 16),
                (641, 361, 64),
            ];
            let case = |(w, h, block)| Case { size: (w, h), radius: block, ..plain(subject) };
            sizes.map(case).to_vec()
        }
        Subject::Counted(_) => {
            let sizes = [(67, 33), (1, 1), (64, 64), (640, 360), (641, 361)];
            sizes.map(|size| Case { size, radius: 64, ..plain(subject) }).to_vec()
        }
        // Of small armies, which bench checks at any size, one is smaller than a vector has lanes; the last one fills one.
        Subject::Simulated(_) => {
            [1, 8].map(|army| Case { size: (army, 1), radius: 0, ..plain(subject) }).to_vec()
        }
        _ if subject.converts() => conversions(subject),
        _ => filters(subject),
    }
}

fn plain(subject: Subject) -> Case {
    let (format, siting) = ("", (0, 1));
    Case {
        subject,
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

fn filters(subject: Subject) -> Vec<Case> {
    let plain = plain(subject);
    let naive = matches!(subject, Subject::Variant(VariantId::Naive, _));
    let mut cases = vec![plain];
    let at = |size, radius, content, band| Case { size, radius, content, band, ..plain };
    let noise = |size, radius| at(size, radius, Content::Noise, 0);
    cases.extend([5, 1, 8].map(|band| at((67, 33), 3, Content::Noise, band)));
    cases.extend([0, 1, 7, 8, 9, 20].map(|radius| noise((67, 33), radius)));
    cases.extend([
        noise((5, 3), 7),
        noise((1, 1), 2),
        noise((37, 1), 3),
        noise((1, 41), 3),
        noise((66, 33), 3),
    ]);
    cases.extend([noise((64, 32), 3), noise((65, 34), 2), noise((23, 19), 31), noise((23, 19), 42)]);
    cases.extend([43, 63, 64, 65, MAX_RADIUS - 1, MAX_RADIUS].map(|radius| noise((23, 19), radius)));
    let extremes = [Content::White, Content::Black, Content::OnePixel];
    for radius in [3, 7, 8, 31, 64, MAX_RADIUS - 1, MAX_RADIUS] {
        cases.extend(extremes.map(|content| at((40, 9), radius, content, 0)));
    }
    if naive {
        cases.extend([noise((640, 360), 3), noise((1280, 720), 7)]);
        return cases;
    }
    cases.extend(
        [7, 8, 9, 31, 42, 43, 63, 64, MAX_RADIUS].map(|r| at((23, 8 * (2 * r + 1)), r, Content::Stripes, 0)),
    );
    cases.extend([9, 31, 42].map(|r| at((300, 24), r, Content::Halves, 0)));
    cases.extend([63, 64, MAX_RADIUS].map(|radius| at((600, 9), radius, Content::Halves, 0)));
    cases.extend([
        noise((131, 67), 20),
        at((131, 67), 20, Content::Noise, 13),
        at((131, 67), 31, Content::Noise, 7),
    ]);
    cases.extend([noise((1203, 37), 31), noise((1204, 37), 3), noise((9001, 5), 3), noise((21, 2600), 3)]);
    cases.extend([noise((1280, 720), 7), noise((1280, 720), 20), noise((2048, 1600), 3)]);
    cases
}

fn planar(subject: Subject) -> Vec<Case> {
    let plain = Case { format: FORMATS[0], ..plain(subject) };
    let at = |size, radius, content, band| Case { size, radius, content, band, ..plain };
    let noise = |size, radius| at(size, radius, Content::Noise, 0);
    let mut cases = vec![plain];
    cases.extend([5, 2].map(|band| at((67, 33), 3, Content::Noise, band)));
    cases.extend([0, 1, 2, 4, 7, 8, 20].map(|radius| noise((67, 33), radius)));
    cases.extend([
        noise((5, 3), 7),
        noise((1, 1), 2),
        noise((37, 1), 3),
        noise((1, 41), 3),
        noise((64, 32), 3),
    ]);
    cases.extend([
        noise((66, 34), 2),
        noise((259, 11), 31),
        noise((139, 61), 64),
        noise((139, 61), MAX_RADIUS),
    ]);
    for radius in [3, 4, 40, MAX_RADIUS] {
        cases.extend([Content::White, Content::Black].map(|content| at((40, 9), radius, content, 0)));
    }
    let of = |format, case: Case| Case { format, ..case };
    let others = FORMATS.iter().skip(1);
    cases.extend(others.clone().map(|format| of(*format, plain)));
    cases.extend(others.map(|format| of(*format, noise((131, 35), 4))));
    cases.extend([noise((1203, 37), 31), noise((2051, 203), 7), at((720, 301), 20, Content::Noise, 97)]);
    cases.extend(
        ["yuv444p12le", "p010le", "gbrap"].map(|f| of(f, at((139, 61), MAX_RADIUS, Content::White, 0))),
    );
    cases.extend([noise((1280, 720), 7), at((1280, 720), 20, Content::Noise, 64)]);
    cases
}

fn conversions(subject: Subject) -> Vec<Case> {
    let plain = Case { radius: 0, ..plain(subject) };
    if let Subject::Correct { .. } = subject {
        let plain = Case { corrected: true, ..plain };
        let sizes = [(67, 33), (5, 3), (1, 1), (64, 32), (640, 360)];
        let contents = [Content::Noise, Content::White, Content::Black];
        let of = |content| sizes.map(|size| Case { size, content, ..plain });
        let with_alpha = contents.into_iter().flat_map(of);
        return with_alpha.chain(sizes.map(|size| Case { size, opaque: true, ..plain })).collect();
    }
    // Rows converts what the filter left of YCbCr.
    let formats: Vec<_> = match subject {
        Subject::Rows => ["yuv420p", "yuv422p", "yuv444p", "yuv440p", "p010le"].to_vec(),
        _ => FORMATS.to_vec(),
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
    cases.extend(
        [(64, 32), (66, 34), (31, 5), (5, 3), (3, 1), (1, 1), (640, 360)].map(|size| Case { size, ..first }),
    );
    cases.push(Case { ycgco: true, ..first });
    let gbrap = Case { format: "bgra", ..plain };
    for content in [Content::White, Content::Black, Content::Halves] {
        cases.push(Case { content, ..first });
        if subject != Subject::Rows {
            cases.push(Case { content, ..gbrap });
        }
    }
    cases
}
