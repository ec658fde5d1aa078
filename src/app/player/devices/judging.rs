//! Variants whose edited kernels are being validated. If such a variant was unavailable, its status is "being built" meanwhile,
//! since the newer kernels may be accepted.

use super::statuses::Row;
use base::error::Error;
use box_filter::VariantId;
use engine::frame_loop::VariantStatus;

/// The variants of the newest version of the edited kernels that are being validated.
#[derive(Default)]
pub(super) struct Judging {
    version: u64,
    /// The variants without a verdict yet; each with the error for which it was unavailable before, if it was.
    pending: Vec<(VariantId, Option<Error>)>,
}

impl Judging {
    /// Begins the validation of `variants` in a version of the edited kernels, and sets those that are unavailable to "being
    /// built" in `rows`. Ends the validation of the previous version: variants that were unavailable before and have no verdict
    /// yet become unavailable again.
    pub(super) fn begin(&mut self, rows: &mut [Row], version: u64, variants: &[VariantId]) {
        for (id, before) in self.pending.drain(..) {
            let row = rows.iter_mut().find(|(of, status)| *of == id && *status == VariantStatus::Building);
            if let (Some((_, status)), Some(error)) = (row, before) {
                *status = VariantStatus::Unavailable(error);
            }
        }
        self.version = version;
        for (id, status) in rows.iter_mut().filter(|(id, _)| variants.contains(id)) {
            let before = match status {
                VariantStatus::Unavailable(error) => Some(error.clone()),
                VariantStatus::Ready | VariantStatus::Building => None,
            };
            if before.is_some() {
                *status = VariantStatus::Building;
            }
            self.pending.push((*id, before));
        }
    }

    /// Returns true if the variant is being validated in a newer version of its kernels, whose verdict decides its status. Then
    /// stores `error`, the error with which an earlier version could not be built.
    pub(super) fn is_pending(&mut self, id: VariantId, error: &Error) -> bool {
        let pending = self.pending.iter_mut().find(|(of, _)| *of == id);
        pending.map(|(_, before)| *before = Some(error.clone())).is_some()
    }

    /// Processes a verdict on the kernels of variant `id` in this version; `refused` is the error if they were refused. Returns
    /// true if the variant is unavailable now: its kernels were refused, it has no earlier kernels that run, and no newer
    /// version is being validated.
    pub(super) fn take(&mut self, version: u64, id: VariantId, refused: Option<&Error>) -> bool {
        let Some((_, before)) = self.pending.iter_mut().find(|(of, _)| *of == id) else { return false };
        if before.is_some() {
            *before = refused.cloned();
        }
        let cannot = before.is_some();
        if version != self.version {
            return false;
        }
        self.pending.retain(|(of, _)| *of != id);
        cannot
    }

    /// Forgets all variants that are being validated. For callers that set the variants' statuses themselves from now on.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: VariantId = VariantId::Flat;
    const FUSED: VariantId = VariantId::Fused;

    fn error(what: &str) -> Error {
        Error::new(what, "", "")
    }

    fn cannot(what: &str) -> VariantStatus {
        VariantStatus::Unavailable(error(what))
    }

    /// Returns two variants that could not be built from earlier kernels, while the first version of the edited kernels is being
    /// validated.
    fn begun() -> (Judging, Vec<Row>) {
        let (mut judging, mut rows) =
            (Judging::default(), vec![(FLAT, cannot("no folder")), (FUSED, cannot("no folder"))]);
        judging.begin(&mut rows, 1, &[FLAT, FUSED]);
        (judging, rows)
    }

    fn status(rows: &[Row]) -> [&VariantStatus; 2] {
        [&rows[0].1, &rows[1].1]
    }

    #[test]
    fn what_is_judged_can_be_chosen_until_it_is_refused() {
        let (mut judging, rows) = begun();
        assert_eq!(status(&rows), [&VariantStatus::Building; 2]);
        assert!(!judging.take(1, FLAT, None), "it runs");
        assert!(judging.take(1, FUSED, Some(&error("syntax"))), "nothing of it runs");
        assert!(!judging.take(1, FUSED, Some(&error("syntax"))), "it is told once");
    }

    #[test]
    fn what_ran_before_goes_on() {
        let mut rows = vec![(FLAT, VariantStatus::Ready), (FUSED, VariantStatus::Building)];
        let before = rows.clone();
        let mut judging = Judging::default();
        judging.begin(&mut rows, 2, &[FLAT, FUSED]);
        assert!(rows == before && !judging.take(2, FLAT, Some(&error("syntax"))));
        // The builder was at the texts from before just now.
        assert!(
            judging.is_pending(FUSED, &error("no folder")) && !judging.is_pending(FLAT, &error("no folder"))
        );
        assert!(judging.take(2, FUSED, Some(&error("syntax"))));
    }

    #[test]
    fn a_newer_version_takes_the_place_of_the_one_before() {
        let (mut judging, mut rows) = begun();
        judging.begin(&mut rows, 2, &[FLAT]);
        assert_eq!(status(&rows), [&VariantStatus::Building, &cannot("no folder")]);
        // What comes of the older one comes late.
        assert!(!judging.take(1, FLAT, Some(&error("syntax"))));
        assert_eq!(rows[0].1, VariantStatus::Building);
        judging.begin(&mut rows, 3, &[]);
        assert_eq!(rows[0].1, cannot("syntax"));
        // Or it runs.
        let (mut judging, mut rows) = begun();
        judging.begin(&mut rows, 2, &[FLAT]);
        assert!(!judging.take(1, FLAT, None) && !judging.take(2, FLAT, Some(&error("syntax"))));
        judging.begin(&mut rows, 3, &[FUSED]);
        judging.forget();
        assert!(!judging.take(3, FUSED, Some(&error("syntax"))) && !judging.is_pending(FUSED, &error("")));
    }
}
