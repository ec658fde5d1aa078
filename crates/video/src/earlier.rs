//! The pictures of the frames that precede a frame in the movie, for filters that read several frames.

use std::collections::VecDeque;
use std::sync::Arc;

use ffmpeg_next::frame::Video;

use super::frame::share_picture;

/// The pictures of the frames that precede a frame in the movie, shown or not.
#[derive(Clone, Default)]
pub struct Earlier {
    /// The pictures, the nearest one first, all of the frame's own size. There are fewer than the decoder was asked for after the
    /// movie's beginning, and after a change of the pictures' size.
    pub pictures: Vec<Arc<Video>>,
    /// The number of earlier frames that were decoded; `usize::MAX` if the movie has no others.
    decoded: usize,
}

impl Earlier {
    /// Returns true if the pictures of `count` earlier frames are here, or all that the movie has.
    pub fn reaches(&self, count: usize) -> bool {
        self.decoded >= count
    }

    /// Returns those of `pictures`, the nearest one first, that have the size of `picture`. The movie has no others.
    pub(super) fn all<'a>(picture: &Video, pictures: impl Iterator<Item = &'a Video>) -> Self {
        let size = |of: &Video| (of.width(), of.height());
        // Kernels read all pictures with one width and height.
        let fitting = pictures.take_while(|earlier| size(earlier) == size(picture));
        let shared = fitting.map_while(share_picture);
        Self { pictures: shared.map(Arc::new).collect(), decoded: usize::MAX }
    }
}

/// The last decoded pictures in the order of display, for the frames after them.
pub(super) struct History {
    /// The pictures, the last one first.
    pictures: VecDeque<Video>,
    /// True if no picture of the movie precedes these.
    is_whole: bool,
}

impl History {
    /// Returns the history before a picture that follows no other one: the movie's first one if `is_first`, or the first one
    /// after a gap.
    pub(super) fn new(is_first: bool) -> Self {
        Self { pictures: VecDeque::new(), is_whole: is_first }
    }

    /// Returns true if the pictures of `count` earlier frames are here, or all that the movie has.
    pub(super) fn reaches(&self, count: usize) -> bool {
        self.is_whole || self.pictures.len() >= count
    }

    /// Returns the pictures before `picture`, the next one, and adds it. Keeps `count` pictures.
    pub(super) fn advance(&mut self, picture: &Video, count: usize) -> Earlier {
        let decoded = if self.is_whole { usize::MAX } else { self.pictures.len() };
        let earlier = Earlier { decoded, ..Earlier::all(picture, self.pictures.iter().take(count)) };
        match share_picture(picture).filter(|_| count > 0) {
            Some(shared) => self.pictures.push_front(shared),
            // The pictures must be consecutive.
            None => *self = Self::new(false),
        }
        self.is_whole &= self.pictures.len() <= count;
        self.pictures.truncate(count);
        earlier
    }
}
