//! Changed kernels are tried before this process runs them. In: what is to be run: a variant with its parameters, planes or
//! a conversion, at the very size and radius. Out: leave to do so, and what came of the trial, or a sentence why not.
//!
//! Kernels as they are built in need no trial, and cost nothing here. Others, from the folder that `CLREEL_KERNELS` names,
//! run in a child process ([`opencl::trial`]), on the picture that is given, and are compared with the reference.

mod child;

use std::borrow::Cow;
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Code, Config};
use crate::VariantId;
use base::error::{Error, Result};
use base::memory::zeroed;
use base::verify::MismatchReport;
use ladder::trial::{Child, Given};
use opencl::cl::ClContext;
use opencl::identity::{Identity, identity_of};
use opencl::program::{any_changed, is_changed};
use opencl::sources::{self, Sources};
use video::color::Layout;

pub use child::answer;

/// The name under which the child answers.
pub const NAME: &str = "box_filter";

/// What is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Work {
    /// A variant of the ladder on an RGBA picture.
    Variant {
        id: String,
        /// Its parameters; `None` for those by default, or what tuning has found.
        params: Option<Vec<(String, u32)>>,
        /// Its output is an image where its code can write one.
        to_image: bool,
    },
    /// A variant on a packed block of planes, and the conversion of what comes out.
    Planar { id: String, layout: Layout, to_image: bool },
    /// The conversion of a packed block of planes.
    Convert { layout: Layout, to_image: bool },
    /// The correction of an RGBA picture.
    Correct,
    /// Nothing: the device is made ready.
    Nothing,
}

impl Work {
    /// What it is, for people.
    fn name(&self) -> String {
        match self {
            Work::Variant { id, .. } | Work::Planar { id, .. } => format!("'{id}'"),
            Work::Convert { .. } => "the conversion".to_owned(),
            Work::Correct => "the correction".to_owned(),
            Work::Nothing => "no variant".to_owned(),
        }
    }

    /// Whether a kernel file of planes or of colours is changed.
    fn has_changed_files(&self) -> bool {
        let planes = if let Work::Planar { id, .. } = self { id.parse().ok() } else { None };
        let planes = planes.and_then(VariantId::planes);
        any_changed("convert/")
            || planes.is_some_and(|code| code.files().iter().any(|file| any_changed(file)))
    }
}

/// How a variant is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Launch {
    /// Over all rows at once.
    Whole,
    /// In bands, as in the window. All rows at once are tried too where that takes little time.
    Bands,
    /// As the checks of `bench` and `tune` do it: also at their small sizes, and at their radii.
    Checks,
    /// As in the window, and before that pictures of all kinds at a small size.
    Extremes,
}

/// What the child is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Request {
    device: Identity,
    /// What is built; `None`: the files of the folder that the environment names.
    kernels: Option<Sources>,
    work: Work,
    size: (u32, u32),
    radius: u32,
    launch: Launch,
    /// Leave it out when a run is predicted to take longer, in milliseconds.
    longest_ms: Option<f64>,
    /// Bytes of the picture or block in the shared memory.
    bytes: usize,
    /// Put the result there.
    wants_picture: bool,
}

/// What the child answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    Ran(Tried),
    Failed(Error),
}

/// What came of a trial that ended well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The time that a run took, or is predicted to take, in milliseconds.
    pub ms: f64,
    /// It was only timed on a few rows: a run would take longer than was allowed.
    pub left_out: bool,
    /// How the result differs from the reference; `None` where it does not.
    pub report: Option<MismatchReport>,
    /// The result, where it was asked for: RGBA.
    #[serde(skip)]
    pub picture: Option<Vec<u8>>,
}

impl Tried {
    /// Whether it wrote where nothing is to be written.
    pub(crate) fn overran(&self) -> bool {
        self.report.as_ref().is_some_and(MismatchReport::wrote_elsewhere)
    }
}

/// Tries kernels for one thread: the child ends with the thread that asked first.
#[derive(Debug)]
pub struct Trials {
    child: Child,
    /// What was asked before, and what came of it.
    known: Vec<(Request, Result<Tried>)>,
}

impl Default for Trials {
    fn default() -> Self {
        Self::new(None)
    }
}

/// What a variant is tried on.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The picture: width·height RGBA pixels.
    pub src: &'a [u8],
    /// Its width and height in pixels.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
    /// How it is launched.
    pub launch: Launch,
    /// Leave it out when a run is predicted to take longer, in milliseconds.
    pub longest_ms: Option<f64>,
    /// Whether the result is wanted.
    pub wants_picture: bool,
}

/// Bytes of a picture, and what makes it.
type Made<'a> = (usize, Given<'a>);

impl Trials {
    /// `limit` is how long each step of a trial may take; without it 10 s, or ten times as long as was predicted.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { child: Child::new(NAME, limit), known: Vec::new() }
    }

    /// Tries everything anew that is asked from here on: kernels, or what tuning has found, may be others now.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Has a child ready, so that the next trial begins at once.
    pub fn make_ready(&mut self, cl: &ClContext) {
        self.child.make_ready::<_, Answer>(&Request {
            device: identity_of(&cl.device),
            kernels: None,
            work: Work::Nothing,
            size: (1, 1),
            radius: 0,
            launch: Launch::Whole,
            longest_ms: None,
            bytes: 0,
            wants_picture: false,
        });
    }

    /// From here on `compiled` is told when the compiler has come through the kernels there.
    pub fn tell_when_compiled(&mut self, compiled: Option<Sender<()>>) {
        self.child.tell_when_compiled(compiled);
    }

    /// Whether the last error was that kernels ended the process that ran them, or did not end. Others would meet here, too,
    /// what the error says, and do no harm.
    pub(crate) fn is_fault(&self) -> bool {
        self.child.is_fault()
    }

    /// Tries a variant with these parameters, without any with those by default. `to_image`: with an image for output where
    /// its code can write one. `None` where its kernels are those that are built in.
    ///
    /// # Errors
    /// When it must not be run here: it does not build, fails, ends the process, or does not end.
    pub fn variant(
        &mut self,
        cl: &ClContext,
        id: VariantId,
        config: Option<&Config>,
        to_image: bool,
        case: &Case,
    ) -> Result<Option<Tried>> {
        let picture = || Ok(Cow::Borrowed(case.src));
        self.variant_on(cl, (id, config), to_image, case, (case.src.len(), &picture))
    }

    /// The same on a picture of so many bytes that is made while the compiler works, in place of the case's own.
    ///
    /// # Errors
    /// As [`Trials::variant`]; `picture`'s.
    pub fn variant_on(
        &mut self,
        cl: &ClContext,
        (id, config): (VariantId, Option<&Config>),
        to_image: bool,
        case: &Case,
        picture: Made<'_>,
    ) -> Result<Option<Tried>> {
        let file = |code: &Code| is_changed(code.file);
        let kind = cl.device.info.kind;
        let changed = match (config, id) {
            (Some(config), _) => file(config.code()),
            // It is whatever tuning has found.
            (None, VariantId::Auto) => VariantId::ALL
                .into_iter()
                .filter_map(VariantId::kernels)
                .any(|kernels| file(kernels.code(kind))),
            (None, id) => id.kernels().is_some_and(|info| file(info.code(kind))),
        };
        let params = config.map(|config| {
            config.code().params.iter().map(|p| (p.name.to_owned(), config.get(p.name))).collect()
        });
        let work = Work::Variant { id: id.as_str().to_owned(), params, to_image };
        self.case(cl, changed, work, case, picture)
    }

    /// Tries a variant on planes, which are `case`'s picture as `layout` describes it, and the conversion of what comes
    /// out into an image or a buffer. There is a report only of the filter.
    ///
    /// # Errors
    /// As [`Trials::variant`].
    pub fn planar(
        &mut self,
        cl: &ClContext,
        id: VariantId,
        layout: &Layout,
        to_image: bool,
        case: &Case,
    ) -> Result<Option<Tried>> {
        self.colors(cl, Work::Planar { id: id.as_str().to_owned(), layout: *layout, to_image }, case)
    }

    /// Tries the conversion of planes, which are `case`'s picture as `layout` describes it, into an image or a buffer. With
    /// [`Launch::Extremes`] it is compared with what is right, also of pictures of all kinds; else only the picture counts.
    ///
    /// # Errors
    /// As [`Trials::variant`].
    pub fn convert(
        &mut self,
        cl: &ClContext,
        layout: &Layout,
        to_image: bool,
        case: &Case,
    ) -> Result<Option<Tried>> {
        self.colors(cl, Work::Convert { layout: *layout, to_image }, case)
    }

    /// Tries the correction of colours on `case`'s picture.
    ///
    /// # Errors
    /// As [`Trials::variant`].
    pub fn correct(&mut self, cl: &ClContext, case: &Case) -> Result<Option<Tried>> {
        self.colors(cl, Work::Correct, case)
    }

    fn colors(&mut self, cl: &ClContext, work: Work, case: &Case) -> Result<Option<Tried>> {
        let picture = || Ok(Cow::Borrowed(case.src));
        self.case(cl, work.has_changed_files(), work, case, (case.src.len(), &picture))
    }

    /// Asks the child, or remembers what it said; `None` where the kernels are not changed.
    fn case(
        &mut self,
        cl: &ClContext,
        changed: bool,
        work: Work,
        case: &Case,
        (bytes, picture): Made<'_>,
    ) -> Result<Option<Tried>> {
        if !changed {
            return Ok(None);
        }
        let request = Request {
            device: identity_of(&cl.device),
            kernels: sources::current(),
            work,
            size: case.size,
            radius: case.radius,
            launch: case.launch,
            longest_ms: case.longest_ms,
            bytes,
            wants_picture: case.wants_picture,
        };
        // Another picture may end otherwise, but not where only the result counts.
        let known = self.known.iter().find(|(known, _)| !case.wants_picture && *known == request);
        if let Some((_, tried)) = known {
            return tried.clone().map(Some);
        }
        let tried = self.ask(&request, picture);
        if !case.wants_picture {
            self.known.push((request, tried.clone()));
        }
        tried.map(Some)
    }

    fn ask(&mut self, request: &Request, picture: Given<'_>) -> Result<Tried> {
        let name = request.work.name();
        match self.child.ask(&name, request, picture)? {
            Answer::Ran(mut tried) => {
                if request.wants_picture && !tried.left_out {
                    let (width, height) = request.size;
                    let mut picture = zeroed(width as usize * height as usize * 4)?;
                    self.child.read_frame(&name, &mut picture)?;
                    tried.picture = Some(picture);
                }
                if tried.report.is_some() {
                    // It may have written into what the next one needs.
                    self.child.end();
                }
                Ok(tried)
            }
            Answer::Failed(error) => {
                self.child.end_after(&error);
                Err(error)
            }
        }
    }
}
