//! What fills the window. In: decoded frames, what the user chose. Out: the picture to draw, and what it took
//! ([`frame_loop`], a frame's way).

pub(crate) mod frame_loop;
