//! The picture on the screen.

use std::sync::Arc;

use super::choice::Filter;
use super::flights::ReadyFrame;
use super::wipe::ShownWipe;
use stats::{Readings, Request};
use video::{Frame, Orientation};

/// The frame on the screen. Before the first picture, its methods return `None` or a default value.
#[derive(Default)]
pub struct Screen {
    pub(super) shown: Option<ReadyFrame>,
    /// True if another movie frame, or the former one filtered again, is shown since the window's buffers were last swapped.
    pub(super) is_changed: bool,
}

impl Screen {
    pub(super) fn shown(&self) -> Option<&ReadyFrame> {
        self.shown.as_ref()
    }

    /// Returns true if the frame on the screen is a new movie frame and the window's buffers have not been swapped since the
    /// frame was put there.
    pub fn is_new(&self) -> bool {
        self.is_changed && self.shown().is_some_and(|f| !f.origin.replaces_shown)
    }

    /// Uploads the picture into its texture if it is not there. Returns the texture and its size in pixels.
    pub fn filled_texture(&mut self) -> Option<(glow::Texture, (u32, u32))> {
        let slot = &mut self.shown.as_mut()?.picture.slot;
        slot.show();
        Some((slot.texture()?, slot.size))
    }

    /// Returns the position of the picture in the movie, in seconds.
    pub fn position_s(&self) -> f64 {
        self.shown().map_or(0.0, |f| f.origin.frame.movie_s)
    }

    /// Returns the variant and the settings of the picture's filter.
    pub fn filter(&self) -> Option<Filter> {
        self.shown().map(|f| (f.picture.request.variant, f.picture.request.settings))
    }

    /// Returns the request that made the picture.
    pub fn request(&self) -> Option<&Request> {
        self.shown().map(|f| &f.picture.request)
    }

    /// Returns the luminance of the picture, measured for the scopes; `None` if that was not requested.
    pub fn readings(&self) -> Option<Arc<Readings>> {
        self.shown().and_then(|f| f.picture.readings.clone())
    }

    /// Returns the movie's frame, as it was decoded.
    pub fn frame(&self) -> Option<Arc<Frame>> {
        self.shown().map(|f| f.origin.frame.clone())
    }

    /// Returns the size of the picture in pixels.
    pub fn size(&self) -> Option<(u32, u32)> {
        self.shown().map(|f| f.picture.slot.size)
    }

    /// Returns the rotation and mirroring with which the picture is shown upright.
    pub fn orientation(&self) -> Orientation {
        self.shown().map_or_else(Orientation::default, |f| f.origin.frame.orientation())
    }

    /// Returns true if the picture may have pixels that are not opaque.
    pub fn has_alpha(&self) -> bool {
        self.shown().is_some_and(|f| f.origin.frame.has_alpha())
    }

    /// Returns true if programs that filtered or converted the picture have been replaced since it was made.
    pub fn is_outdated(&self) -> bool {
        self.shown().is_some_and(|f| f.origin.is_outdated)
    }

    /// Returns the wipe on the screen; `None` if the picture has one side only.
    pub fn wipe(&self) -> Option<ShownWipe> {
        let shown = self.shown()?;
        let second = shown.second.as_ref()?;
        Some(ShownWipe {
            sides: [shown.picture.request, second.picture.request],
            by_wall: [shown.picture.stages.filter_by_wall, second.picture.stages.filter_by_wall],
            texture: second.texture()?,
            difference: second.difference(),
        })
    }

    /// Returns the duration of the frame in nanoseconds, which is the interval between the movie's frames; `None` if it is unknown.
    pub fn frame_interval_ns(&self) -> Option<i64> {
        self.shown().map(|f| f.origin.frame.duration_ns).filter(|ns| *ns > 0)
    }
}
