//! Compares every text that the overlay shows, without its numbers, with the files in `tests/goldens/overlay`, so that an
//! unintended change fails here.

use super::conversions::checked;
use super::machine::{device_info, device_list, measured, searched};
use super::*;
use box_filter::named;
use ladder::tune::Status;
use stats::{Difference, Measurements, Request};
use testkit::golden::{assert_all_compared, check, distinct_lines};
use video::color::Correction;

/// Compares the texts of the fixture with the golden file of this name after two passes: the second pass uses the heights that
/// the first one has found.
fn holds_texts(name: &str, fixture: &mut Fixture) {
    fixture.settle();
    check(
        &format!("overlay/{name}.txt"),
        &distinct_lines(fixture.texts.iter().map(|(text, _)| text.as_str())),
    );
}

/// Opens a panel by `open`, and compares those texts that a window without open panels does not have with the golden file of this
/// name.
fn panel(name: &str, open: impl FnOnce(&mut Fixture)) {
    let mut fixture = Fixture::new(vec2(1600.0, 1000.0));
    open(&mut fixture);
    let mut plain = Fixture::new(fixture.size);
    plain.pass(vec![]);
    fixture.settle();
    let known = |text: &str| plain.texts.iter().any(|(other, _)| other == text);
    let texts = fixture.texts.iter().map(|(text, _)| text.as_str()).filter(|text| !known(text));
    check(&format!("overlay/{name}.txt"), &distinct_lines(texts));
}

#[test]
fn texts_of_all_states() {
    texts_of_the_window();
    texts_of_the_panels();
    texts_of_messages();
    assert_all_compared("overlay", "txt");
}

fn texts_of_the_window() {
    holds_texts("window", &mut Fixture::new(SIZES[0]));
    holds_texts("small", &mut Fixture::new(SIZES[1]));
    let mut hidden = Fixture::new(SIZES[0]);
    hidden.change(|s| s.visible = false);
    hidden.paused = true;
    hidden.pass(vec![]);
    check("overlay/hidden.txt", &distinct_lines(hidden.texts.iter().map(|(text, _)| text.as_str())));
}

fn texts_of_the_panels() {
    fn scopes(f: &mut Fixture) {
        f.open(Panel::Scopes);
        f.readings = Some(stats::Readings::reference((2, 1), &[10, 10, 10, 0, 200, 200, 200, 0]));
    }
    panel("keys", |f| f.overlay.switches.keys ^= true);
    panel("correction", |f| f.correction = Some(Correction::NEUTRAL));
    panel("scopes", |f| {
        f.overlay.switches.levels ^= true;
        scopes(f);
    });
    panel("wipe", |f| {
        let measurements = Measurements { levels: true, ..Measurements::default() };
        let first = Request { measurements, ..Request::new(named("flat"), 7) };
        let sides = [first, Request::new(VariantId::OFF, 7)];
        f.wipe = Some(Wipe { sides, by_wall: [false; 2], difference: None });
        scopes(f);
    });
    panel("difference", |f| {
        let sides = [named("flat"), named("fused")].map(|id| Request::new(id, 7));
        let difference = Difference { pixels: 4, differing: 1, largest: Some((1, (1, 0))) };
        f.wipe = Some(Wipe { sides, by_wall: [false; 2], difference: Some(difference) });
        scopes(f);
    });
    for (name, of) in [
        ("scopes-awaited", Panel::Scopes),
        ("stages", Panel::Stages),
        ("timeline", Panel::Timeline),
        ("lab-idle", Panel::Lab),
        ("conversions-idle", Panel::Conversions),
        ("kernels-none", Panel::Kernels),
        ("tuning-idle", Panel::Tuning),
    ] {
        panel(name, |f| f.open(of));
    }
    panel("path", |f| f.overlay.path_prompt.open(PathPurpose::Movie));
    panel("hint", |f| f.change(|s| s.hint_seen = false));
    panel("tuning", |f| {
        f.open(Panel::Tuning);
        f.tuning = searched(Status::Failed("no".into()));
    });
    panel("lab", |f| {
        f.open_matmul();
        f.lab = measured(JobState::Waiting(Wait::Plays));
    });
    for name in ["conversions", "conversions-done"] {
        panel(name, |f| {
            f.open(Panel::Conversions);
            f.conversions = checked();
            if name == "conversions-done" {
                f.conversions.state = JobState::Done;
            }
        });
    }
    panel("kernels", |f| {
        f.open(Panel::Kernels);
        f.kernels = super::kernels::edited();
    });
    panel("tuning-done", |f| {
        f.open(Panel::Tuning);
        f.tuning = searched(Status::Abandoned(9.0));
        f.tuning.state = JobState::Done;
    });
    panel("devices", |f| {
        f.overlay.panels.toggle(Panel::Devices);
        (f.devices, f.device) = (device_list(false), Some(device_info(0, "First")));
    });
}

fn texts_of_messages() {
    panel("paused", |f| f.paused = true);
    panel("part", |f| f.part = (Some(1.0), Some(2.0)));
    panel("notices", |f| f.notices = vec![notice("A trifle.", false), notice("A calamity.", true)]);
    panel("awaited", |f| {
        f.chosen = named("running-sum");
        f.busy = Some(busy(named("running-sum"), 31, 3.0, Some(12.2)));
    });
    panel("slow", |f| f.busy = Some(busy(named("flat"), 7, 0.84, Some(12.0))));
    panel("scoreboard", |f| {
        f.settings = 3.into();
        f.variants[1].status = unavailable();
        f.variants[2].status = VariantStatus::Building;
    });
}
