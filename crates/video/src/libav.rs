//! FFmpeg, made ready.

use std::sync::Once;

/// Prepares FFmpeg once: its own messages are kept off stderr, because what matters in them reaches the user as
/// an [`Error`](base::error::Error).
pub(crate) fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // It can only fail where it has nothing to do: registering is automatic since FFmpeg 4.
        let _ = ffmpeg_next::init();
        ffmpeg_next::log::set_level(ffmpeg_next::log::Level::Quiet);
    });
}
