//! Decoding of movies that are encoded by the tests.

mod colors;
mod durations;
mod media;
mod properties;
mod seek;
mod sound;
mod tracks;
