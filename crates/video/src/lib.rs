//! Movies: decoding a file to [`Frame`]s in a bounded [`FrameQueue`], and the rules by which they become RGBA ([`color`]).
//!
//! A file's way: `open` finds its pictures, in a format of the list of `formats` and through `access`, which lets FFmpeg
//! open nothing else, within the time of `reading` and the memory of `room`; `source` reads packets and decodes them, `pass` gives the pictures
//! their place in the movie (`timeline`, and `jumps` where stamps do) and keeps some for steps back (`kept`), [`decoder`] repeats passes on a thread of its own
//! (`worker`) and fills [`queue`]; `control` tells it where to go on. Where a device converts the frames, that thread packs
//! their planes into the device's [`Staging`](crate::color::Staging) memory. [`clock`] says which frame is due. Where there is no file, `painted` makes the pictures.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod access;
pub mod address;
mod alpha;
mod chapters;
mod clip;
mod clock;
pub mod color;
mod control;
mod decoder;
mod extent;
mod facts;
mod failures;
mod formats;
mod frame;
mod jumps;
mod kept;
mod libav;
mod open;
mod orientation;
mod painted;
mod pass;
mod queue;
mod reading;
mod room;
mod source;
mod still;
mod timeline;
mod worker;

pub use chapters::Chapter;
pub use clip::bundled_clip;
pub use clock::Clock;
pub use control::Seek;
pub use decoder::{Decoder, MovieInfo, OpenOptions};
pub use frame::{Fields, Frame};
pub use orientation::Orientation;
pub use painted::Canvas;
pub use queue::FrameQueue;
pub use reading::{Cancel, References};
pub use still::{read_frame_at, read_frames_rgba};

/// Nanoseconds in a second: every time in this module is a whole number of nanoseconds.
pub(crate) const SECOND_NS: i64 = 1_000_000_000;
