//! What the command line says of cases, by the names of its options. In: their values. Out: the same for the ladder whose
//! option it is: that alone knows what they mean.

/// Values of options, each of one number or of several that belong together.
#[derive(Debug, Clone, Default)]
pub struct Sizes(Vec<(&'static str, Vec<Vec<u64>>)>);

impl Sizes {
    /// The same with the values of an option; none are as if it was not given.
    #[must_use]
    pub fn with<T: Into<u64>, const N: usize>(
        mut self,
        option: &'static str,
        values: impl IntoIterator<Item = [T; N]>,
    ) -> Self {
        let numbers = |value: [T; N]| value.into_iter().map(Into::into).collect();
        self.0.push((option, values.into_iter().map(numbers).collect()));
        self
    }

    /// The values of an option, of `N` numbers each; `usual` where it was not given.
    ///
    /// # Errors
    /// A sentence on a value that has not so many numbers, or one that is too large.
    pub fn of<T: TryFrom<u64> + Clone, const N: usize>(
        &self,
        option: &str,
        usual: &[[T; N]],
    ) -> Result<Vec<[T; N]>, String> {
        let given = self.0.iter().find(|(name, values)| *name == option && !values.is_empty());
        let Some((_, values)) = given else { return Ok(usual.to_vec()) };
        let taken = values.iter().map(|value| {
            let numbers: Option<Vec<T>> = value.iter().map(|number| T::try_from(*number).ok()).collect();
            let said = || value.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let numbers = numbers.and_then(|numbers| <[T; N]>::try_from(numbers).ok());
            numbers.ok_or_else(|| format!("{} is no --{option}: it takes {N} smaller numbers", said()))
        });
        taken.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_its_own_values_or_the_usual_ones() {
        let sizes = Sizes::default().with("one", [[7_u64], [1 << 40]]).with("two", [[3_u32, 4]]);
        let sizes = sizes.with("none", [[0_u32; 0]; 0]);
        assert_eq!(sizes.of("one", &[[1_u64]]), Ok(vec![[7], [1 << 40]]));
        assert_eq!(sizes.of("two", &[[1_u32, 1]]), Ok(vec![[3, 4]]));
        assert_eq!(sizes.of("none", &[[5_u32]]), Ok(vec![[5]]));
        assert_eq!(sizes.of("three", &[[5_u32]]), Ok(vec![[5]]));
        assert!(sizes.of("one", &[[1_u32]]).unwrap_err().contains("1099511627776 is no --one"));
        assert!(sizes.of("two", &[[1_u32]]).unwrap_err().contains("3,4 is no --two"));
    }
}
