//! Numbers that look random. In: a seed. Out: numbers, the same in each run.

/// The xorshift generator (G. Marsaglia, "Xorshift RNGs", 2003).
#[derive(Debug, Clone)]
pub struct Xorshift(u32);

impl Xorshift {
    /// `seed` is any number but 0, which would give only zeros.
    pub fn new(seed: u32) -> Self {
        Self(seed)
    }

    /// The next 32 bits.
    pub fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}
