//! The option `--count`, for ladders whose only size is a count of numbers.

use ladder::sizes::Sizes;

/// Returns the numbers of elements that the user selected with the option `--count` for the ladder `name`, without duplicates;
/// 2^24 if the option was not given.
///
/// # Errors
/// Returns a sentence for the user if a count is 0 or more than `max`.
pub(super) fn requested_counts<N>(sizes: &Sizes, name: &str, max: N) -> Result<Vec<N>, String>
where
    N: TryFrom<u64> + Into<u64> + PartialEq,
{
    let max = max.into();
    sizes.cases("count", [1_u64 << 24], |[count]| {
        let count_in_range = N::try_from(count).ok().filter(|_| (1..=max).contains(&count));
        count_in_range.ok_or_else(|| format!("{count} is no --count of {name}: choose 1 to {max}"))
    })
}
