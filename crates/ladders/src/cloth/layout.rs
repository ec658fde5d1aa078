//! Layouts of arrays in device memory. On the host an array of a crowd is stored one character after the other, item by item.
//! On the device it is stored as structures, or as planes with several characters side by side.

/// A layout in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// Structures: all items of a character come before those of the next character. Numbers that form points or vectors are
    /// padded from three to four.
    Structs,
    /// Planes: the crowd is divided into blocks of this many characters. A block has a plane for each number of an item, in
    /// which the numbers of its characters lie side by side.
    Planes(usize),
}

/// The shape of an array: the number of items for each character, and the number of values in each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub items: usize,
    pub numbers: usize,
}

impl Shape {
    pub(super) fn numbers_per_character(self) -> usize {
        self.items * self.numbers
    }
}

impl Layout {
    /// Returns the number of characters whose numbers lie side by side.
    pub(super) fn lanes(self) -> usize {
        match self {
            Layout::Structs => 1,
            Layout::Planes(lanes) => lanes,
        }
    }

    /// Returns the number of blocks into which a crowd is divided. A block consists of the characters whose numbers lie side by
    /// side.
    pub(super) fn blocks(self, army: usize) -> usize {
        army.div_ceil(self.lanes())
    }

    /// Returns the number of floats that an item takes, including padding.
    fn stride(self, shape: Shape) -> usize {
        match self {
            Layout::Structs if shape.numbers.is_multiple_of(3) => shape.numbers / 3 * 4,
            _ => shape.numbers,
        }
    }

    /// Returns the number of floats in a whole array, including padding.
    pub(super) fn len(self, shape: Shape, army: usize) -> usize {
        self.blocks(army) * self.lanes() * shape.items * self.stride(shape)
    }

    /// Returns the index in the array of one of the numbers of a character's item.
    fn index(self, shape: Shape, [character, item, number]: [usize; 3]) -> usize {
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

    /// Converts a crowd's array from the host's layout to this one. The unused places in the last block get copies of the last
    /// character.
    pub(super) fn pack(self, shape: Shape, army: usize, numbers: &[f32]) -> Vec<f32> {
        let mut packed = vec![0.0; self.len(shape, army)];
        for character in 0..self.blocks(army) * self.lanes() {
            let from = &numbers[character.min(army - 1) * shape.numbers_per_character()..]
                [..shape.numbers_per_character()];
            for (item, from) in from.chunks_exact(shape.numbers).enumerate() {
                for (number, x) in from.iter().enumerate() {
                    packed[self.index(shape, [character, item, number])] = *x;
                }
            }
        }
        packed
    }

    /// Converts a crowd's array from this layout to the host's.
    pub(super) fn unpack(self, shape: Shape, army: usize, packed: &[f32]) -> Vec<f32> {
        let mut numbers = Vec::with_capacity(army * shape.numbers_per_character());
        for (character, item) in (0..army).flat_map(|c| (0..shape.items).map(move |item| (c, item))) {
            numbers.extend(
                (0..shape.numbers).map(|number| packed[self.index(shape, [character, item, number])]),
            );
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_reversible() {
        for layout in [Layout::Structs, Layout::Planes(1), Layout::Planes(4), Layout::Planes(8)] {
            for (items, numbers, army) in [(7, 3, 5), (4, 6, 9), (12, 1, 8), (1, 6, 1)] {
                let shape = Shape { items, numbers };
                let all: Vec<f32> = (1..=army * shape.numbers_per_character()).map(|x| x as f32).collect();
                let packed = layout.pack(shape, army, &all);
                assert_eq!(packed.len(), layout.len(shape, army));
                assert_eq!(layout.unpack(shape, army, &packed), all, "{layout:?} {shape:?}");
            }
        }
        let planes =
            Layout::Planes(2).pack(Shape { items: 2, numbers: 3 }, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(planes, [1.0, 1.0, 4.0, 4.0, 2.0, 2.0, 5.0, 5.0, 3.0, 3.0, 6.0, 6.0]);
        let structs =
            Layout::Structs.pack(Shape { items: 2, numbers: 3 }, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(structs, [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0]);
    }
}
