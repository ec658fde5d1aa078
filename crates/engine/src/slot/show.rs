//! A slot's picture on its way into its texture, all of it or what is seen. In: a slot whose picture is in the host's memory. Out:
//! the texture to draw.

use super::{Output, ResultIn, Slot};
use opengl::texture::Part;

impl Slot {
    /// Fills the texture with the picture, from where that is. Does nothing while the device has it, or where there is no
    /// texture.
    pub fn show(&mut self) {
        if self.fill_texture(&Part::whole(self.size)) {
            self.result_is_in(ResultIn::Texture);
        }
    }

    /// The same, of which only a part is seen: the rest of the texture may hold anything, until it is asked for.
    pub(crate) fn show_part(&mut self, part: &Part) {
        let has = |of: &Part| of.has(part);
        if self.in_texture.as_ref().is_some_and(has) || part.is_empty() {
            return;
        }
        // At once, lest a line that is dragged fetches it bit by bit.
        if self.in_texture.is_some() || part.has(&Part::whole(self.size)) {
            self.show();
        } else if self.fill_texture(part) {
            self.in_texture = Some(part.clone());
        }
    }

    /// Fills a part of the texture, where it has not all of the picture; whether it did.
    fn fill_texture(&mut self, part: &Part) -> bool {
        let Some(mut surface) = self.surface.take_if(|_| !self.device.handed_over) else { return false };
        let filled = match (self.result, &self.output) {
            (ResultIn::Texture, _) => false,
            (ResultIn::Output, Some(Output::Pixels(pixels))) => {
                surface.fill_from(part, pixels);
                true
            }
            _ => self.pixels().map(|pixels| surface.fill(part, pixels)).is_some(),
        };
        self.surface = Some(surface);
        filled
    }

    /// Fills the texture, if there is one, with a picture of this size, tightly packed RGBA8.
    pub fn show_pixels(&mut self, rgba: &[u8]) {
        if let Some(surface) = &mut self.surface {
            surface.fill(&Part::whole(self.size), rgba);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opengl::headless::Headless;
    use opengl::read_texture::read_texture;

    /// What of the texture is this picture's: the first and the last pixel of each row, and the one in column 3.
    fn seen(slot: &Slot, gl: &glow::Context, picture: &[u8]) -> [bool; 3] {
        let rgba = read_texture(gl, slot.texture().unwrap(), slot.size).unwrap();
        let row = 4 * slot.size.0 as usize;
        [0, row - 4, 12].map(|at| {
            let mut rows = rgba.chunks_exact(row).zip(picture.chunks_exact(row));
            rows.all(|(is, of)| is[at..at + 4] == of[at..at + 4])
        })
    }

    #[test]
    fn a_texture_gets_what_is_seen_and_the_rest_when_it_is_asked_for() {
        let headless = Headless::new().unwrap();
        let gl = &headless.gl;
        let (width, height) = (7, 3);
        let mut slot = Slot::new(gl, width, height).unwrap();
        let part = |x: std::ops::Range<u32>| Part { x, y: 0..height };
        let pictures = [10, 100].map(|first| (first..first + 84).collect::<Vec<u8>>());
        for picture in &pictures {
            slot.input().unwrap().copy_from_slice(picture);
            slot.show_part(&part(0..0));
            assert_eq!(seen(&slot, gl, picture), [false; 3]);
            slot.show_part(&part(0..4));
            assert_eq!(seen(&slot, gl, picture), [true, false, true]);
            slot.show_part(&part(1..3));
            assert_eq!(seen(&slot, gl, picture), [true, false, true], "it is there");
            slot.show_part(&part(3..5));
            assert_eq!(seen(&slot, gl, picture), [true; 3]);
        }
        slot.input().unwrap().copy_from_slice(&pictures[0]);
        slot.show_part(&part(5..70));
        assert_eq!(seen(&slot, gl, &pictures[0]), [false, true, false], "no more than there is");
        slot.show();
        assert_eq!(seen(&slot, gl, &pictures[0]), [true; 3]);
    }
}
