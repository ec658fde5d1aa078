//! The panel of kernels that are edited.

use super::*;
use crate::verify::{Difference, MismatchReport};

fn version(number: u64, file: &str, verdict: Verdict) -> Version {
    let (ms, before_ms) = (Some(8.0), Some(8.42));
    let judged = Judged { variant: VariantId::Flat, verdict, ms, before_ms };
    Version { number, files: vec![file.to_owned()], judged: vec![judged], missing: 0 }
}

/// A folder with three versions, of which the second runs.
fn edited() -> Kernels {
    let report = MismatchReport {
        count: 12345,
        total: 3_686_400,
        max_abs_diff: 1.0,
        first: Some(Difference { position: "red at (3, 4)".to_owned(), got: 7.0, want: 8.0 }),
        ..MismatchReport::default()
    };
    let why = "The compiler says:\nbox_filter/03_flat.cl:4:5: error: unknown type name 'imt'\n  4 | imt x;";
    let error =
        Error::new("The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.", why, "Correct it.");
    let refused = version(4, "box_filter/03_flat.cl", Verdict::Refused(error));
    let first = Version { number: 1, files: Vec::new(), judged: Vec::new(), missing: 0 };
    Kernels {
        folder: Some("/home/user/kernels".to_owned()),
        versions: vec![
            refused,
            version(3, "box_filter/03_flat.cl", Verdict::Differs(report)),
            version(2, "common/mean.clh", Verdict::Exact),
            first,
        ],
        current: 4,
        running: Some(3),
        source: Some(Source::new(
            "box_filter/03_flat.cl".to_owned(),
            "int y;\nimt x;\n",
            Some("int y;\nint x;\n"),
        )),
        ..Kernels::default()
    }
}

#[test]
fn versions_say_what_came_of_them_and_a_click_goes_back() {
    let mut fixture = Fixture::new(vec2(1280.0, 800.0));
    fixture.kernels = edited();
    fixture.overlay.open[Panel::Kernels as usize] = true;
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    for text in [
        "Edit the files in /home/user/kernels",
        "common/mean.clh: flat exact, 8.00 ms, \u{2212}0.42 ms",
        "box_filter/03_flat.cl: flat differs in 12,345 bytes, first red at (3, 4)",
        "'flat' goes on with version 3.",
        "as it began",
        "box_filter/03_flat.cl, 1 line changed",
    ] {
        let all = || fixture.texts.iter().map(|(text, _)| text).collect::<Vec<_>>();
        assert!(fixture.find(text).is_some(), "{text}: {:?}", all());
    }
    assert!(fixture.texts.iter().any(|(text, _)| text.contains("unknown type name 'imt'")), "the log");
    assert_eq!(fixture.click("Rebuild"), [Action::RebuildKernels]);
    assert_eq!(fixture.click("3"), [Action::UseKernels(3)]);
    // What differs has no time in the table; what runs is what counts, not what was refused after it.
    assert!(fixture.kernels.differs(VariantId::Flat) && !fixture.kernels.differs(VariantId::Naive));
    fixture.kernels = Kernels::default();
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    assert_eq!(fixture.click("Make an editable copy"), [Action::CopyKernels]);
}
