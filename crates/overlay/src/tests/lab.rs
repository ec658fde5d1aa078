//! Tests of the variant that is selected in the Lab, and of the Lab's button that pauses the movie.

use super::machine::measured;
use super::*;
use box_filter::named;
use compute::KernelFile;
use ladder::results::{DeviceReport, RunReport};

/// Returns an overlay with the panel of the Lab in this state, which shows results of matrix multiplication.
pub(super) fn lab(state: JobState) -> Fixture<'static> {
    let mut fixture = Fixture::new(vec2(1600.0, 1000.0));
    fixture.open_matmul();
    fixture.lab = measured(state);
    fixture.set(|f| f.paused = true);
    fixture
}

impl Fixture<'_> {
    /// Opens the Lab at matrix multiplication of the size of [`measured`].
    pub(super) fn open_matmul(&mut self) {
        (self.overlay.selection.ladder, self.overlay.selection.size) = (Some(0), 1);
        self.open(Panel::Lab);
    }
}

#[test]
fn the_lab_opens_at_the_ladder_that_plays() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.open(Panel::Lab);
    fixture.settle();
    let want = Action::Benchmark(vec![fixture.settings.first()]);
    assert_eq!(fixture.click("Pause and measure"), [want, Action::TogglePause]);
}

/// Returns the key of the kernels in this file with these parameters.
fn kernel(file: &str, parameters: &str) -> LabKernel {
    LabKernel { file: file.to_owned(), parameters: parameters.to_owned() }
}

#[test]
fn idea_parameters_source_and_machine_code_are_those_of_the_selected_variant() {
    let mut fixture = lab(JobState::Done);
    let variants = (ladders::all()[0].variants)();
    let of = |id: &str| variants.iter().find(|variant| variant.id == id).unwrap();
    let first = of("serial");
    fixture.assert_shows(&[&format!("{}: {}", first.title, first.idea)]);
    // Threads have no kernel.
    assert!(!fixture.shows("arameters: ") && fixture.overlay.lab_kernel().is_none());

    fixture.press("naive");
    let naive = of("naive");
    let (file, parameters) = naive.kernels[0].clone().unwrap();
    let idea = format!("{}: {}", naive.title, naive.idea);
    fixture.assert_shows(&[&idea, &format!("Default parameters: {parameters}")]);
    assert_eq!(fixture.overlay.lab_kernel(), Some(&kernel(file, &parameters)));
    // The measured parameters, as soon as they are known.
    let measured = &mut fixture.lab.run.variants[1];
    measured.kernel = Some(KernelFile { file: file.to_owned(), hash: String::new(), filter: None });
    measured.parameters = Some("GROUP=32".to_owned());
    fixture.pass(vec![]);
    fixture.assert_shows(&["Parameters: GROUP=32"]);
    assert_eq!(fixture.overlay.lab_kernel(), Some(&kernel(file, "GROUP=32")));

    let source = || Some(Source::new("a.cl".to_owned(), "__kernel void measured() {}", None));
    let code = |parameters| LabCode {
        kernel: Some(kernel(file, parameters)),
        source: source(),
        machine_code: Some(Err(Error::new("No disassembler.", "Nothing is installed.", ""))),
    };
    // The code of other parameters is not shown.
    fixture.set(|f| f.lab.code = code("GROUP=64"));
    assert!(!fixture.shows("measured()"), "{:?}", fixture.texts);
    fixture.set(|f| f.lab.code = code("GROUP=32"));
    assert!(fixture.shows("measured()") && !fixture.shows("No disassembler."), "{:?}", fixture.texts);
    fixture.press("Machine code");
    fixture.assert_contains(&["No disassembler. Nothing is installed."]);

    // Another ladder begins with its first variant, and the box filter has its own.
    fixture.press("vector add");
    assert!(fixture.shows("Serial: One thread") && fixture.overlay.lab_kernel().is_none());
    fixture.press("box filter");
    let file = fixture.overlay.lab_kernel().map(|kernel| kernel.file.as_str());
    assert_eq!(file, Some("box_filter/01_naive.cl"));
    fixture.press("vectorized");
    let idea = named("vectorized").idea;
    assert!(fixture.shows(idea) && fixture.overlay.lab_kernel().is_some(), "{:?}", fixture.texts);
    fixture.set(|f| f.overlay.panels.toggle(Panel::Lab));
    assert_eq!(fixture.overlay.lab_kernel(), None, "nobody sees it");
}

#[test]
fn the_lab_pauses_the_movie_when_asked_and_cuts_no_name() {
    let mut fixture = lab(JobState::Done);
    fixture.set(|f| f.paused = false);
    for (state, pauses) in [
        (JobState::Waiting(Wait::Plays), true),
        (JobState::Ending(Wait::Plays), true),
        (JobState::Waiting(Wait::Filter), false),
        (JobState::Running("timing".to_owned()), false),
    ] {
        fixture.set(|f| f.lab.state = state);
        assert_eq!(fixture.find("Pause").is_some(), pauses, "{:?}", fixture.lab.state);
        if pauses {
            assert_eq!(fixture.click("Pause"), [Action::TogglePause]);
        }
        assert_eq!(fixture.click("Stop"), [Action::StopMeasuring]);
    }

    let long = "a-variant-with-a-name-longer-than-others";
    let mut fixture = lab(JobState::Done);
    fixture.set(|f| f.lab.run.variants[1].id = long.to_owned());
    assert!(fixture.find(long).is_some() && fixture.cut.is_empty(), "{:?}", fixture.cut);
    let run = |radius| RunReport {
        case: serde_json::json!({ "radius": radius }),
        variants: fixture.lab.run.variants.clone(),
        ..RunReport::default()
    };
    let device = |name: &str| {
        let name = format!("{name} of a platform with a name that is longer than a column of the table");
        let properties = [("name".to_owned(), name.into())].into_iter().collect();
        DeviceReport { properties, runs: [3, 7].map(run).to_vec(), ..DeviceReport::default() }
    };
    let devices = ["First", "Second", "Third"].map(device).to_vec();
    fixture.click("box filter");
    for radii in [vec![3], vec![3, 7]] {
        fixture.lab.benchmark = Benchmark { devices: devices.clone(), radii, ..Benchmark::default() };
        fixture.settle();
        assert!(fixture.shows("Third of a platform") && fixture.shows(long), "{:?}", fixture.texts);
        assert!(fixture.cut.is_empty(), "{:?}", fixture.cut);
    }
}
