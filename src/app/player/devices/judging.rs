//! Variants whose changed kernels are being judged. In: what is judged, what comes of it. Out: rows that refuse
//! nobody for a reason which may soon be over: a variant that could not be had, and of which other texts are
//! judged, is being built.

use base::error::Error;
use box_filter::VariantId;
use engine::frame_loop::VariantStatus;

type Row = (VariantId, VariantStatus);

/// What is judged of the newest version.
#[derive(Default)]
pub(super) struct Judging {
    version: u64,
    /// Each of its variants that was not told yet, and why it could not be had before, where that is so.
    left: Vec<(VariantId, Option<Error>)>,
}

impl Judging {
    /// These variants of a version are judged from here on, and nothing of the one before any more.
    pub(super) fn begin(&mut self, rows: &mut [Row], version: u64, variants: &[VariantId]) {
        for (id, before) in self.left.drain(..) {
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
            self.left.push((*id, before));
        }
    }

    /// A variant could not be built from what was there before: whether it is being judged, so that this decides
    /// nothing.
    pub(super) fn goes_on(&mut self, id: VariantId, error: &Error) -> bool {
        let left = self.left.iter_mut().find(|(of, _)| *of == id);
        left.map(|(_, before)| *before = Some(error.clone())).is_some()
    }

    /// Takes what came of a version's kernels of a variant; whether it cannot be had: they were refused, none from
    /// before runs, and no newer ones are being judged.
    pub(super) fn came(&mut self, version: u64, id: VariantId, refused: Option<&Error>) -> bool {
        let Some((_, before)) = self.left.iter_mut().find(|(of, _)| *of == id) else { return false };
        if before.is_some() {
            *before = refused.cloned();
        }
        let cannot = before.is_some();
        if version != self.version {
            return false;
        }
        self.left.retain(|(of, _)| *of != id);
        cannot
    }

    /// The rows are told by others from here on.
    pub(super) fn forget(&mut self) {
        self.left.clear();
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

    /// Two variants that could not be built, and the first version since that may mend them.
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
        assert!(!judging.came(1, FLAT, None), "it runs");
        assert!(judging.came(1, FUSED, Some(&error("syntax"))), "nothing of it runs");
        assert!(!judging.came(1, FUSED, Some(&error("syntax"))), "it is told once");
    }

    #[test]
    fn what_ran_before_goes_on() {
        let mut rows = vec![(FLAT, VariantStatus::Ready), (FUSED, VariantStatus::Building)];
        let before = rows.clone();
        let mut judging = Judging::default();
        judging.begin(&mut rows, 2, &[FLAT, FUSED]);
        assert!(rows == before && !judging.came(2, FLAT, Some(&error("syntax"))));
        // The builder was at the texts from before just now.
        assert!(judging.goes_on(FUSED, &error("no folder")) && !judging.goes_on(FLAT, &error("no folder")));
        assert!(judging.came(2, FUSED, Some(&error("syntax"))));
    }

    #[test]
    fn a_newer_version_takes_the_place_of_the_one_before() {
        let (mut judging, mut rows) = begun();
        judging.begin(&mut rows, 2, &[FLAT]);
        assert_eq!(status(&rows), [&VariantStatus::Building, &cannot("no folder")]);
        // What comes of the older one comes late.
        assert!(!judging.came(1, FLAT, Some(&error("syntax"))));
        assert_eq!(rows[0].1, VariantStatus::Building);
        judging.begin(&mut rows, 3, &[]);
        assert_eq!(rows[0].1, cannot("syntax"));
        // Or it runs.
        let (mut judging, mut rows) = begun();
        judging.begin(&mut rows, 2, &[FLAT]);
        assert!(!judging.came(1, FLAT, None) && !judging.came(2, FLAT, Some(&error("syntax"))));
        judging.begin(&mut rows, 3, &[FUSED]);
        judging.forget();
        assert!(!judging.came(3, FUSED, Some(&error("syntax"))) && !judging.goes_on(FUSED, &error("")));
    }
}
