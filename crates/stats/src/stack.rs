//! Stacks of filters: each filters the picture of the one below.

use box_filter::{Settings, VariantId};

/// The maximum number of filters in a stack besides the chosen one.
pub const MAX_OTHERS: usize = 3;

/// A filter of a stack besides the chosen one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// The variant that runs, with the version of its kernels in use.
    pub variant: VariantId,
    /// The values of the filter's parameters.
    pub settings: Settings,
}

/// The other filters of a stack, in the order in which they run: those below the chosen filter, and those above. Empty if the
/// chosen one is the only one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stack {
    layers: [Option<Layer>; MAX_OTHERS],
    /// The number of layers below the chosen filter.
    below: usize,
}

impl Stack {
    /// Creates a stack with these filters below and above the chosen one. Those beyond [`MAX_OTHERS`] are left out.
    pub fn new(below: impl IntoIterator<Item = Layer>, above: impl IntoIterator<Item = Layer>) -> Self {
        let mut stack = Self::default();
        let below: Vec<Layer> = below.into_iter().take(MAX_OTHERS).collect();
        stack.below = below.len();
        let all = below.into_iter().chain(above);
        stack.layers.iter_mut().zip(all).for_each(|(place, layer)| *place = Some(layer));
        stack
    }

    /// Returns true if the chosen filter is the only one.
    pub fn is_empty(&self) -> bool {
        self.layers[0].is_none()
    }

    /// Returns the filters below the chosen one.
    pub fn below(&self) -> impl Iterator<Item = Layer> + '_ {
        self.layers.iter().flatten().copied().take(self.below)
    }

    /// Returns the filters above the chosen one.
    pub fn above(&self) -> impl Iterator<Item = Layer> + '_ {
        self.layers.iter().flatten().copied().skip(self.below)
    }

    /// Returns the stack without the filters for which `keeps` returns false.
    pub fn filtered(&self, keeps: impl Fn(Layer) -> bool) -> Self {
        Self::new(self.below().filter(|layer| keeps(*layer)), self.above().filter(|layer| keeps(*layer)))
    }
}
