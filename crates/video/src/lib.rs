//! Decodes movies to [`Frame`]s in a bounded [`FrameQueue`], and defines how frames are converted to RGBA ([`color`]).
//!
//! From file to frame:
//!
//! - `container` opens a file, if `formats` lists its format. FFmpeg opens files through `access` only, within the timeouts
//!   of `read_control` and the limits of `memory_budget`.
//! - `demuxer` reads packets, and `source` decodes them.
//! - `pass` computes the position of each picture in the movie (`timeline`), seeks (with `key_frames` where time stamps
//!   jump), caches pictures for steps back (`picture_cache`), and keeps the last ones for filters of several frames (`earlier`).
//! - `worker` plays passes into [`queue`] on the decoder's thread and follows the requests in `control`. It packs the planes
//!   into a device's [`Staging`](crate::color::Staging) memory if a device converts them.
//! - `sound` reads the sound on a thread of its own.
//! - [`decoder`] starts and controls the decoder's thread, and [`clock`] determines which frame is due.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod access;
pub mod address;
mod alpha;
mod canvas;
mod clip;
mod clock;
pub mod color;
mod container;
mod control;
mod cropping;
#[doc(hidden)] // For the fuzz targets.
pub mod declared_size;
mod decoder;
mod demuxer;
mod dolby_vision;
mod earlier;
mod errors;
mod formats;
mod frame;
mod key_frames;
mod languages;
mod libav;
mod memory_budget;
mod orientation;
mod pass;
mod picture_cache;
mod queue;
mod read_control;
mod sound;
mod source;
mod still;
mod timeline;
mod worker;

pub use canvas::Canvas;
pub use clip::bundled_clip;
pub use clock::Clock;
pub use container::Chapter;
pub use control::Seek;
pub use decoder::{Decoder, MovieInfo, OpenOptions};
pub use earlier::Earlier;
pub use frame::{FieldOrder, Frame};
pub use languages::{Language, Languages};
pub use orientation::Orientation;
pub use queue::FrameQueue;
pub use read_control::{Cancel, OpenPolicy, References};
pub use sound::{Samples, SoundFeed, SoundReader, SoundSegment, SoundTrack, TICK_INTERVAL_S, TICK_S};
pub use still::{read_frame_at, read_frame_rgba_at, read_frames_rgba};

pub(crate) const SECOND_NS: i64 = 1_000_000_000;
