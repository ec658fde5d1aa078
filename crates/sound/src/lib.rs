//! The movie's sound: decoded samples ([`video::SoundReader`]) on their way to the audio device, in step with the play timeline.
//!
//! ```text
//! thread "sound": SoundReader ─▶ ring ─▶ device's callback: Mixer (Stretch, volume) ─▶ device
//! window:         Transport ───────────────▲         └─▶ Anchor ─▶ the window's clock
//! ```
//!
//! The window's clock says where the sound begins after a start, a seek, a pause or a change of the tempo. While it plays, the
//! device's clock is the master: the callback reports which position is heard when ([`Anchor`]), and the window adjusts its clock
//! to that. Without a device, or without sound in the movie, the clock runs alone.

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

mod mixer;
mod output;
mod player;
mod ring;
mod stretch;
mod transport;

pub use player::{Sound, SoundStatus};
pub use transport::{Anchor, Transport};
