//! How arrays lie in a device's memory. In: numbers of an army, character after character, item after item. Out: the same
//! as structures, or as planes with several characters side by side; and back.

/// A layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// Three numbers in four, the last one 0; character after character.
    Structs,
    /// So many characters side by side in each number of a plane.
    Planes(usize),
}

/// What an array has for each character: so many items of so many numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub items: usize,
    pub numbers: usize,
}

impl Shape {
    /// Numbers of a character.
    pub(super) fn each(self) -> usize {
        self.items * self.numbers
    }
}

impl Layout {
    /// Characters that lie side by side.
    pub(super) fn lanes(self) -> usize {
        match self {
            Layout::Structs => 1,
            Layout::Planes(lanes) => lanes,
        }
    }

    /// Blocks of characters.
    pub(super) fn blocks(self, army: usize) -> usize {
        army.div_ceil(self.lanes())
    }

    /// Numbers of an item with what is between them.
    fn stride(self, shape: Shape) -> usize {
        match self {
            Layout::Structs if shape.numbers.is_multiple_of(3) => shape.numbers / 3 * 4,
            _ => shape.numbers,
        }
    }

    /// How many numbers the whole array has there.
    pub(super) fn len(self, shape: Shape, army: usize) -> usize {
        self.blocks(army) * self.lanes() * shape.items * self.stride(shape)
    }

    /// Where a number lies.
    fn at(self, shape: Shape, character: usize, item: usize, number: usize) -> usize {
        match self {
            Layout::Structs if shape.numbers.is_multiple_of(3) => {
                (character * shape.items + item) * self.stride(shape) + number / 3 * 4 + number % 3
            }
            Layout::Structs => (character * shape.items + item) * shape.numbers + number,
            Layout::Planes(lanes) => {
                let (block, lane) = (character / lanes, character % lanes);
                ((block * shape.numbers + number) * shape.items + item) * lanes + lane
            }
        }
    }

    /// Puts an army's numbers there. Where a block has more lanes than there are characters, the last one stands there again.
    pub(super) fn lay(self, shape: Shape, army: usize, numbers: &[f32]) -> Vec<f32> {
        let mut laid = vec![0.0; self.len(shape, army)];
        for character in 0..self.blocks(army) * self.lanes() {
            let from = &numbers[character.min(army - 1) * shape.each()..][..shape.each()];
            for (item, from) in from.chunks_exact(shape.numbers).enumerate() {
                for (number, x) in from.iter().enumerate() {
                    laid[self.at(shape, character, item, number)] = *x;
                }
            }
        }
        laid
    }

    /// Takes an army's numbers from there.
    pub(super) fn take(self, shape: Shape, army: usize, laid: &[f32]) -> Vec<f32> {
        let mut numbers = Vec::with_capacity(army * shape.each());
        for (character, item) in (0..army).flat_map(|c| (0..shape.items).map(move |item| (c, item))) {
            numbers.extend((0..shape.numbers).map(|number| laid[self.at(shape, character, item, number)]));
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_comes_back_and_each_number_has_a_place_of_its_own() {
        for layout in [Layout::Structs, Layout::Planes(1), Layout::Planes(4), Layout::Planes(8)] {
            for (items, numbers, army) in [(7, 3, 5), (4, 6, 9), (12, 1, 8), (1, 6, 1)] {
                let shape = Shape { items, numbers };
                let all: Vec<f32> = (1..=army * shape.each()).map(|x| x as f32).collect();
                let laid = layout.lay(shape, army, &all);
                assert_eq!(laid.len(), layout.len(shape, army));
                assert_eq!(layout.take(shape, army, &laid), all, "{layout:?} {shape:?}");
            }
        }
        let planes =
            Layout::Planes(2).lay(Shape { items: 2, numbers: 3 }, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(planes, [1.0, 1.0, 4.0, 4.0, 2.0, 2.0, 5.0, 5.0, 3.0, 3.0, 6.0, 6.0]);
        let structs = Layout::Structs.lay(Shape { items: 2, numbers: 3 }, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(structs, [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0]);
    }
}
