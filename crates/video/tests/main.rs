//! Decoding of movies that are encoded by the tests.

mod colors;
mod media;
mod seek;
mod sound;
