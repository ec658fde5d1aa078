//! Reproducible pseudo-random numbers.

/// The xorshift generator (G. Marsaglia, "Xorshift RNGs", 2003).
#[derive(Debug, Clone)]
pub struct Xorshift(u32);

impl Xorshift {
    /// Creates a generator; `seed` must not be 0, which would yield only zeros.
    pub fn new(seed: u32) -> Self {
        Self(seed)
    }

    /// Returns the next 32 bits.
    pub fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

#[cfg(test)]
impl Xorshift {
    /// Returns a number from 0 to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        f64::from(self.draw()) / f64::from(u32::MAX)
    }

    /// Returns a number from a distribution like the standard normal one: a sum of twelve uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Returns the bits of `number` mixed, so that similar numbers give unrelated results (Murmur3's finalizer: A. Appleby, 2011).
pub fn mix(number: u32) -> u32 {
    let mut bits = number.wrapping_add(1);
    for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)] {
        bits = (bits ^ bits >> shift).wrapping_mul(factor);
    }
    bits ^ bits >> 16
}
