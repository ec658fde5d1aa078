//! Movies that are made for the test, and what the decoder makes of them.

mod colors;
mod media;
mod seek;
