//! Finds where a movie's sound begins, from the packets of its track that are read before the first picture.

use ffmpeg_next as ffmpeg;

use super::container::Container;

/// Finds the time stamp of the first sample of the sound that plays with the pictures.
pub(super) struct SoundStart {
    /// The decoder of the sound; `None` once the first sample was found, or without sound.
    decoder: Option<ffmpeg::decoder::Audio>,
    /// The first sample's time stamp in nanoseconds.
    first_ns: Option<i64>,
}

impl SoundStart {
    /// Starts the search for the first sample of the container's sound.
    pub(super) fn new(container: &Container) -> Self {
        let decoder = container.sound.and_then(|stream| container.open_sound_decoder(stream).ok());
        Self { decoder, first_ns: None }
    }

    /// Decodes a packet of the sound, unless the first sample is known already; ignores packets of other streams. The decoder
    /// drops priming samples, and packets that it cannot decode without those before.
    pub(super) fn add(&mut self, packet: &ffmpeg::Packet, container: &Container) {
        let Some(decoder) = self.decoder.as_mut().filter(|_| Some(packet.stream()) == container.sound) else {
            return;
        };
        // A packet that cannot be decoded has no sample.
        let _ = decoder.send_packet(packet);
        let mut frame = ffmpeg::frame::Audio::empty();
        // SAFETY: the pointer is only compared; an allocation that failed must not reach FFmpeg.
        while unsafe { !frame.as_ptr().is_null() } && decoder.receive_frame(&mut frame).is_ok() {
            let stamp = frame.timestamp().filter(|_| frame.samples() > 0);
            self.first_ns = stamp.and_then(|stamp| container.nanoseconds_of(packet.stream(), stamp));
            if self.first_ns.is_some() {
                self.decoder = None;
                return;
            }
        }
    }

    /// Stops the search, and returns the time stamp in nanoseconds of the first decoded sample, or else the one that the file
    /// states. `None` without sound.
    pub(super) fn finish(&mut self, container: &Container) -> Option<i64> {
        self.decoder = None;
        self.first_ns.or_else(|| container.stated_sound_start_ns())
    }
}
