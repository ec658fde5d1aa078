//! Stacks of filters for the commands that need no window: a picture is filtered by one after the other.

use std::path::PathBuf;

use crate::cli::filter_of;
use base::error::Result;
use base::memory::rgba_bytes;
use box_filter::trial::{Case, LaunchMode, Source, Target, Trials};
use box_filter::{BuiltVariant, VariantId, filter_once};
use compute::BackEnd;
use opencl::cl::ClContext;
use opencl::sources::Sources;
use stats::{Layer, Request, Stack};

/// The filters below the last one of a stack, in the order in which they run, each with the sources of its kernels.
#[derive(Default)]
pub(crate) struct Below(Vec<(Layer, Sources)>);

impl Below {
    /// Reads the filters of these folders. They run with the variants and the values that their descriptions begin with.
    ///
    /// # Errors
    /// If a folder cannot be read, or its description is wrong.
    pub(crate) fn read(folders: Vec<PathBuf>) -> Result<Self> {
        let read = |folder: PathBuf| {
            let filter = filter_of(&folder)?;
            let layer = Layer { variant: filter.initial(), settings: filter.defaults() };
            Ok((layer, Sources::read(&folder)?))
        };
        folders.into_iter().map(read).collect::<Result<_>>().map(Self)
    }

    /// Returns true if the last filter is the only one.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds these filters to a request for the last one.
    pub(crate) fn add_to(&self, request: Request) -> Request {
        Request { stack: Stack::new(self.0.iter().map(|(layer, _)| *layer), []), ..request }
    }

    /// Filters pictures of this size, that of a frame and those of the frames before it, by all filters of the stack for each of
    /// `requests`. Kernels of folders run in the sandbox.
    ///
    /// # Errors
    /// If a filter cannot run on the device.
    pub(crate) fn render(
        &self,
        cl: &ClContext,
        requests: &[Request],
        (mut pictures, size): (Vec<u8>, (u32, u32)),
        trials: &mut Trials,
    ) -> Result<Vec<Vec<u8>>> {
        let bytes = rgba_bytes(size);
        for (layer, sources) in &self.0 {
            let cl = cl.with_sources(sources.clone());
            let request = Request::new(layer.variant, layer.settings);
            let frames = request.frames();
            let mut filtered = Vec::with_capacity(pictures.len());
            for back in 0..=(pictures.len() / bytes).saturating_sub(frames) {
                let src = &pictures[back * bytes..(back + frames) * bytes];
                filtered.extend(filter(&cl, &request, (src, size), trials)?);
            }
            pictures = filtered;
        }
        let last = |request: &Request| {
            let frames = Request::new(request.variant, request.settings).frames();
            filter(cl, request, (&pictures[..frames * bytes], size), trials)
        };
        requests.iter().map(last).collect()
    }
}

impl Below {
    /// Filters the frames of a movie, of this size, by these filters alone, as the last filter of the stack gets them.
    ///
    /// # Errors
    /// If a filter cannot run on the device.
    pub(crate) fn filter_frames(
        &self,
        cl: &ClContext,
        frames: &[Vec<u8>],
        size: (u32, u32),
        trials: &mut Trials,
    ) -> Result<Vec<Vec<u8>>> {
        let request = self.add_to(Request::new(VariantId::OFF, 0));
        let filtered = |at: usize| {
            let with_earlier = (0..request.frames()).flat_map(|back| &frames[at.saturating_sub(back)]);
            let pictures = with_earlier.copied().collect();
            self.render(cl, &[request], (pictures, size), trials).map(|mut filtered| filtered.remove(0))
        };
        (0..frames.len()).map(filtered).collect()
    }
}

/// Filters pictures by one filter: in the sandbox if its kernels are not built in.
fn filter(
    cl: &ClContext,
    request: &Request,
    (src, size): (&[u8], (u32, u32)),
    trials: &mut Trials,
) -> Result<Vec<u8>> {
    let Request { variant: id, settings, .. } = *request;
    match id.back_end() {
        BackEnd::Nothing => return Ok(src[..rgba_bytes(size)].to_vec()),
        BackEnd::OpenCl if !id.reads_planes() => {}
        _ => return Err(engine::not_in_a_stack(id)),
    }
    let case = Case { src: Source::Bytes(src), size, settings, launch: LaunchMode::Whole };
    let target = Target::Variant { id, layout: None, to_image: false, has_defaults: false };
    match trials.run(cl, target, &case)?.and_then(|trial| trial.picture) {
        Some(picture) => Ok(picture),
        None => filter_once(cl, &BuiltVariant::build(cl, id)?, src, id.extent(size, settings)),
    }
}
