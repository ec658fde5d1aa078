//! Values of the command line options that choose a ladder's cases.

/// Values of the command line options that choose cases, such as `--size` or `--count`, by the names of the options. Each value
/// is one number, or several numbers that belong together.
#[derive(Debug, Clone, Default)]
pub struct Sizes(Vec<(&'static str, Vec<Vec<u64>>)>);

impl Sizes {
    /// Adds the values of an option. An option without values counts as not given.
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

    /// Returns the values of an option, each of `N` numbers; returns `usual` if the option was not given.
    ///
    /// # Errors
    /// Returns a sentence for the user if a value does not have `N` numbers, or one is too large for `T`.
    pub fn get<T: TryFrom<u64> + Clone, const N: usize>(
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

    /// Returns the cases that `make` creates from the values of an option, without duplicates. If the option was not given,
    /// returns the case that `make` creates from `usual`.
    ///
    /// # Errors
    /// Returns the error of `make`, or that of [`Sizes::get`].
    pub fn cases<T: TryFrom<u64> + Clone, const N: usize, C: PartialEq>(
        &self,
        option: &str,
        usual: [T; N],
        make: impl Fn([T; N]) -> Result<C, String>,
    ) -> Result<Vec<C>, String> {
        let mut cases = Vec::new();
        for value in self.get(option, &[usual])? {
            let case = make(value)?;
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        Ok(cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_its_own_values_or_the_usual_ones() {
        let sizes = Sizes::default().with("one", [[7_u64], [1 << 40]]).with("two", [[3_u32, 4]]);
        let sizes = sizes.with("none", [[0_u32; 0]; 0]);
        assert_eq!(sizes.get("one", &[[1_u64]]), Ok(vec![[7], [1 << 40]]));
        assert_eq!(sizes.get("two", &[[1_u32, 1]]), Ok(vec![[3, 4]]));
        assert_eq!(sizes.get("none", &[[5_u32]]), Ok(vec![[5]]));
        assert_eq!(sizes.get("three", &[[5_u32]]), Ok(vec![[5]]));
        assert!(sizes.get("one", &[[1_u32]]).unwrap_err().contains("1099511627776 is no --one"));
        assert!(sizes.get("two", &[[1_u32]]).unwrap_err().contains("3,4 is no --two"));
    }
}
