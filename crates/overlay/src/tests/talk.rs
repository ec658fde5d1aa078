//! Tests of the talk (the presentation view): the texts about the selected variant, the bars, the keys, and the places of all
//! parts.

use super::places::{faults, windows};
use super::*;
use base::device::DeviceKind;
use box_filter::named;
use opencl::sources::Sources;
use stats::VariantStatus;

/// Returns an overlay with the talk, in which `naive` took 845 ms and `flat`, the selected variant, takes 8.45 ms.
pub(super) fn talk<'a>(size: Vec2) -> Fixture<'a> {
    let mut fixture = Fixture::new(size);
    begin(&mut fixture);
    fixture
}

/// Begins the talk, with `flat` as the selected variant.
pub(super) fn begin(fixture: &mut Fixture) {
    fixture.variants.iter_mut().for_each(|row| row.idea = row.id.idea);
    fixture.overlay.toggle_talk();
    fixture.choose_variant(named("flat"));
}

impl Fixture<'_> {
    /// Selects a variant, and sets the heart (the most important lines) of its built-in kernels.
    fn choose_variant(&mut self, id: VariantId) {
        self.chosen = id;
        let file = id.files(DeviceKind::Cpu).and_then(|files| files.first().copied());
        self.heart = file.map(|file| heart(&Sources::default().text(file).unwrap_or_default()));
        self.pass(vec![]);
    }

    /// Returns how many bars have this colour.
    fn bars(&self, color: Color32) -> usize {
        self.rects.iter().filter(|(rect, fill)| *fill == color && rect.height() < 30.0).count()
    }
}

#[test]
fn the_talk_says_what_the_selected_variant_does_and_takes_itself() {
    let mut fixture = talk(SIZES[0]);
    fixture.assert_shows(&[
        "r = 7 \u{b7} 1280 \u{d7} 720 \u{b7} no OpenCL device",
        "Flat",
        "100\u{d7} as fast as naive",
        "The same two passes on plain buffers, without the sampler.",
        "naive",
        "845 ms",
        "running-sum",
    ]);
    assert_eq!(fixture.count("8.45 ms"), 2, "in its row and in large type: {:?}", fixture.texts);
    fixture.assert_contains(&["sum += convert_ushort4(line[clamp(x + i, 0, width - 1)]);"]);
    assert!(fixture.find("Panels").is_none() && fixture.find("filter alone").is_none());
    // A bar for each variant that was shown, and the troughs of the ladder's six variants.
    assert_eq!([theme::FILTER, theme::FILTER_DIM, theme::TROUGH].map(|color| fixture.bars(color)), [1, 1, 6]);
    fixture.choose_variant(named("naive"));
    fixture.assert_shows(&["Naive", "the baseline"]);
    fixture.set(|f| f.overlay.toggle_talk());
    assert!(fixture.find("Panels").is_some() && fixture.find("the baseline").is_none());

    let mut fixture = talk(SIZES[0]);
    // The picture on the screen is still that of `flat`.
    fixture.choose_variant(named("fused"));
    assert_eq!(fixture.count("8.45 ms"), 1, "{:?}", fixture.texts);
    assert_eq!(fixture.count(theme::UNKNOWN), 5, "time and four rows: {:?}", fixture.texts);
    assert_eq!(fixture.bars(theme::FILTER), 0);
    fixture.set(|f| f.busy = Some(busy(named("fused"), 7, 1.3, Some(12.0))));
    fixture.assert_shows(&["1.3 of about 12 s"]);
    let progress = |fixture: &Fixture| {
        let bars = fixture.rects.iter().filter(|(at, fill)| *fill == theme::FILTER_DIM && at.height() < 10.0);
        bars.map(|(at, _)| at.width() / (fixture.cover("talk-variant").rect.width() - 32.0))
            .collect::<Vec<_>>()
    };
    assert!(matches!(progress(&fixture)[..], [part] if (part - 0.34).abs() < 0.01), "{:?}", fixture.rects);
    // Later frames of a slow filter have a progress, too, those of a fast one have none.
    let shown = (named("flat"), Some(2.5), 1);
    for (variant, predicted_s, count) in [shown, (named("flat"), Some(0.3), 0)] {
        fixture.set(|f| f.busy = Some(busy(variant, 7, 0.2, predicted_s)));
        assert_eq!(progress(&fixture).len(), count, "{:?}", fixture.rects);
    }
    fixture.busy = None;
    fixture.present(named("fused"), 7, 0.37, 20);
    fixture.assert_shows(&["2,300\u{d7} as fast as naive"]);
    // At another radius nothing was measured.
    fixture.set(|f| f.settings = 8.into());
    assert!(fixture.shows("r = 8") && !fixture.shows(" ms"), "{:?}", fixture.texts);
    assert_eq!(fixture.count(theme::UNKNOWN), 7, "{:?}", fixture.texts);
    assert_eq!(fixture.bars(theme::FILTER) + fixture.bars(theme::FILTER_DIM), 0);
}

#[test]
fn the_talk_leaves_out_what_is_unavailable() {
    let mut fixture = talk(SIZES[0]);
    fixture.variants[1].status = unavailable();
    fixture.push(named("separable"), 7, 84.5, 20);
    fixture.push(named("flat"), 7, 8.45, 20);
    fixture.time += 1.0;
    fixture.choose_variant(named("flat"));
    fixture.assert_shows(&["not available", "10\u{d7} as fast as separable"]);
    fixture.push(named("fused"), 7, 0.5, 1);
    fixture.choose_variant(named("fused"));
    fixture.assert_shows(&["fused: 1 of 2 frames"]);
    // GLSL's time is measured by another clock.
    fixture.push(named("glsl"), 7, 3.0, 20);
    fixture.choose_variant(named("glsl"));
    fixture.assert_shows(&["GLSL", "3.00 ms", theme::UNKNOWN]);
    assert!(!fixture.shows("as fast as") && !fixture.shows("// heart"), "{:?}", fixture.texts);
    fixture.choose_variant(named("flat"));
    fixture.set(|f| f.heart = Some(String::new()));
    fixture.assert_shows(&["No line of this kernel is marked: end its important lines with // heart."]);

    let mut rows: Vec<(VariantId, VariantStatus)> =
        VariantId::all().map(|id| (id, VariantStatus::Ready)).collect();
    let [auto, flat, fused, naive, off, running_sum, separable] =
        ["auto", "flat", "fused", "naive", "off", "running-sum", "separable"].map(named);
    for (chosen, steps, next) in [
        (naive, 1, Some(separable)),
        (running_sum, 1, Some(fused)),
        (fused, 1, None),
        (fused, -1, Some(running_sum)),
        (naive, -1, None),
        (flat, isize::MIN, Some(naive)),
        (flat, isize::MAX, Some(fused)),
        (off, 1, Some(naive)),
        (auto, -1, Some(fused)),
    ] {
        assert_eq!(variant_after(&rows, chosen, steps), next, "{chosen} {steps}");
    }
    rows[2].1 = unavailable();
    assert_eq!(variant_after(&rows, naive, 1), Some(flat));
    assert_eq!(variant_after(&[], naive, 1), None);
}

#[test]
fn the_mouse_ends_the_talk_and_it_begins_while_the_overlay_is_hidden() {
    let mut fixture = talk(SIZES[0]);
    assert_eq!(fixture.click("fused"), [Action::SetVariant(named("fused"))]);
    assert_eq!(fixture.click("End the talk"), [Action::ToggleTalk]);
    fixture.set(|f| f.overlay.toggle_talk());
    assert_eq!(fixture.press("Picture"), []);
    fixture.assert_shows(&["F6"]);
    assert_eq!(fixture.click("Talk"), [Action::ToggleTalk]);

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.toggle_visible();
    fixture.overlay.toggle_talk();
    assert!(fixture.overlay.is_talk_visible());
    // The key that hides the overlay hides the talk, too.
    fixture.set(|f| f.overlay.toggle_visible());
    assert!(fixture.find("845 ms").is_none() && !fixture.overlay.is_talk_visible());
    fixture.set(|f| f.overlay.toggle_visible());
    fixture.assert_shows(&["845 ms"]);
}

#[test]
fn no_text_of_the_talk_is_cut_or_lies_over_another_and_the_picture_stays_visible() {
    let mut found = Vec::new();
    for (size, scale) in windows() {
        let mut fixture = talk(size);
        fixture.scale = scale;
        let own = VariantRow { id: VariantId::own(), ..fixture.variants[0].clone() };
        fixture.variants.push(own);
        let times = [14_896.0, 2_345.0, 1.04, 0.5, 2.0, 0.001];
        let ladder = ["naive", "separable", "flat", "vectorized", "running-sum", "fused"].map(named);
        ladder.into_iter().zip(times).for_each(|(id, ms)| fixture.push(id, 7, ms, 4));
        fixture.settle();
        for id in VariantId::with_own() {
            fixture.choose_variant(id);
            found.extend(faults(&fixture, false).into_iter().map(|fault| format!("{id} at {size}: {fault}")));
            let right = pos2(size.x * 0.75, size.y * 0.25);
            let covers = |name| fixture.cover(name).rect.contains(right);
            assert!(!["talk", "talk-variant"].into_iter().any(covers), "the picture at {size}");
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_talk_says_that_a_kernel_is_edited() {
    let mut fixture = talk(SIZES[0]);
    assert!(!fixture.shows("dited: version"), "{:?}", fixture.texts);
    fixture.set(|f| f.kernels.edited = vec![(named("flat"), 3)]);
    fixture
        .assert_shows(&["edited: version 3", "Edited: version 3. The idea is that of the built-in kernel."]);
    fixture.choose_variant(named("naive"));
    fixture.choose_variant(named("flat"));
    fixture.assert_shows(&["100\u{d7} as fast as naive"]);
    fixture.set(|f| f.kernels.edited = vec![(named("naive"), 2)]);
    fixture.assert_shows(&["100\u{d7} as fast as naive, version 2"]);
}
