//! Cases that are a count of numbers. In: what the command line says, or JSON. Out: counts that the ladder takes.

use serde_json::Value;

use ladder::sizes::Sizes;

/// How many numbers, each count once, of a ladder that is called so and takes so many at most; 2^24 where none is said.
///
/// # Errors
/// A sentence on a count that it does not take.
pub(super) fn asked<N>(sizes: &Sizes, name: &str, most: N) -> Result<Vec<N>, String>
where
    N: TryFrom<u64> + Into<u64> + PartialEq,
{
    let (mut counts, most) = (Vec::new(), most.into());
    for [count] in sizes.of("count", &[[1_u64 << 24]])? {
        let Some(count) = within(count, most) else {
            return Err(format!("{count} is no --count of {name}: choose 1 to {most}"));
        };
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    Ok(counts)
}

/// The count of numbers in a case's JSON, where it is one from 1 to `most`.
pub(super) fn from_json<N: TryFrom<u64> + Into<u64>>(json: &Value, most: N) -> Option<N> {
    within(json["count"].as_u64()?, most.into())
}

/// A count, where it is one from 1 to `most`.
fn within<N: TryFrom<u64>>(count: u64, most: u64) -> Option<N> {
    N::try_from(count).ok().filter(|_| (1..=most).contains(&count))
}
