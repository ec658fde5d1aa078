//! Devices that fail during a frame or when a variant is tried on them: they are started again, then used without
//! sharing, then replaced by another device; at last the movie continues unfiltered. One banner reports that, and is
//! true. The tests' layer makes the calls fail (`tests/gl_sharing`).

use std::path::Path;

use crate::common::*;

/// Plays a movie filtered by the running sum; returns its statistics and stderr.
fn play_filtered(options: &[(&str, &str)], variables: &[(&str, &str)], more: &[&str]) -> (Value, String) {
    let (display, folder) = (Display::start(&[]), Folder::new("recovery"));
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(options)).envs(variables.iter().copied());
    play(command.arg(odd_movie(&folder)).args(["--variant", "running-sum"]).args(more))
}

fn last_variant(stats: &Value) -> &str {
    presented_frames(stats).last().unwrap()["variant"].as_str().unwrap()
}

/// Counts the errors on stderr.
fn error_count(stderr: &str) -> usize {
    stderr.lines().filter(|line| line.starts_with("clreel: ")).count()
}

#[test]
fn without_event_times_the_stages_are_unknown() {
    // Every query of event times fails with CL_PROFILING_INFO_NOT_AVAILABLE.
    let options = [("FAKE_GPU", "1"), ("FAIL", "clGetEventProfilingInfo:1+:-7")];
    let (stats, stderr) = play_filtered(&options, &[], &["--frames", "12"]);
    assert_eq!((error_count(&stderr), last_variant(&stats)), (0, "running-sum"), "{stderr}");
    let of_filter = |f: &&Value| f["variant"] == "running-sum";
    let frames: Vec<&Value> = presented_frames(&stats).iter().filter(of_filter).collect();
    for frame in &frames {
        for stage in ["upload", "acquire", "convert", "filter", "release"] {
            assert!(frame[stage].is_null(), "{stage}: {frame}");
        }
        // A stage that does not run takes zero time; stages of the window's thread have their own timer.
        assert!(frame["correct"] == 0.0 && frame["present"].as_f64() > Some(0.0), "{frame}");
        assert!(frame["filter_wall"].as_f64() > Some(0.0), "{frame}");
    }
    let setting = stats["settings"].as_array().unwrap().iter().find(of_filter).unwrap();
    assert!(setting["stages"]["filter"].is_null(), "{setting}");
}

#[test]
fn a_device_that_fails_once_in_the_trial_of_a_variant_is_restarted() {
    let failing = ["clCreateBuffer:1:-4", "clCreateKernel:1:-6", "clEnqueueWriteBuffer:1:-36"];
    for plan in failing.into_iter().chain(["clEnqueueNDRangeKernel:1:-5"]) {
        let options = [("FAKE_GPU", "1"), ("POISON", "1"), ("FAIL", plan)];
        let (stats, stderr) = play_filtered(&options, &[], &["--frames", "20"]);
        assert!(stderr.contains("failed when 'running-sum' was tried on it"), "{plan}: {stderr}");
        assert!(stderr.contains("started it anew") && error_count(&stderr) == 1, "{plan}: {stderr}");
        assert_eq!(stats["sharing"], "zero-copy", "{plan}: {stderr}");
        assert_eq!(last_variant(&stats), "running-sum", "{plan}: {stderr}");
    }
}

#[test]
fn a_build_failure_does_not_restart_the_device() {
    let folder = Folder::new("recovery-compile");
    folder.with("box_filter/05_running_sum.cl", "this is no kernel\n");
    let kernels = folder.file("");
    let environment = [("CLREEL_KERNELS", kernels.to_str().unwrap())];
    let (stats, stderr) = play_filtered(&[("FAKE_GPU", "1")], &environment, &["--frames", "20"]);
    for part in ["05_running_sum.cl", "does not build", "The compiler says"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(stderr.contains("shown unfiltered") && !stderr.contains("anew"), "{stderr}");
    assert_eq!((last_variant(&stats), &stats["sharing"]), ("off", &"zero-copy".into()), "{stderr}");
}

#[test]
fn a_device_that_fails_for_good_is_replaced_by_another() {
    let names = pair::names(clreel(None));
    // The first context works; the next ones, with and without sharing and on both threads, cannot be created.
    let contexts = [2, 3, 4, 5].map(|n| format!("clCreateContext:{n}:-6")).join(",");
    let restarts = &*format!("clEnqueueNDRangeKernel:900:-5,{contexts}");
    let [only_first, only_second] = [0, 1].map(|at| Some(("FAIL_DEVICE", names[at].as_str())));
    let (memory, paced) = ("clCreateBuffer:1+:-4", &["--frames", "30"][..]);
    let no_memory = "MEM_OBJECT_ALLOCATION_FAILURE";
    for (failing, plan, only, more, said) in [
        (0, memory, only_first, paced, no_memory),
        (1, memory, only_second, paced, no_memory),
        (1, restarts, None, &["--unpaced", "--frames", "450"], "failed in the middle of a frame"),
    ] {
        let options = [("FAKE_GPU", "1"), ("POISON", "1"), ("FAIL", plan)].into_iter().chain(only);
        let arguments = [&["--device", names[failing].as_str()][..], more].concat();
        let (stats, stderr) = play_filtered(&options.collect::<Vec<_>>(), &pair::environment(), &arguments);
        let good = 1 - failing;
        assert_eq!(stats["device"]["index"], good, "{stderr}");
        assert!(last_variant(&stats) == "running-sum" && stats["sharing"] == "zero-copy", "{stderr}");
        // Without memory there is one banner: the failure, and the device that takes over.
        assert!(stderr.contains(said) && (said != no_memory || error_count(&stderr) == 1), "{stderr}");
        assert!(stderr.contains(&format!("clreel goes on with '{}", names[good])), "{stderr}");
    }
}

/// Starts a window on the bundled clip; the planned calls fail while the file exists.
fn start<'a>(display: &'a Display, plan: &str, failing: &Path, more: &[&str]) -> Session<'a> {
    let fails = [("POISON", "1"), ("FAIL", plan), ("FAIL_WHILE", failing.to_str().unwrap())];
    Session::start(display, clreel(Some(display)).envs(layer::environment(&fails)).arg(clip()).args(more))
}

#[test]
fn without_a_working_device_one_banner_reports_unfiltered_playback() {
    let (display, folder) = (Display::start(&[]), Folder::new("recovery-lost"));
    let failing = folder.file("failing");
    // A kernel argument that cannot be set is a device failure, too; a frame with the same radius sets none.
    for (plan, key) in
        [("clEnqueueNDRangeKernel:1+:-5,clFinish:1+:-36", None), ("clSetKernelArg:1+:-5", Some("equal"))]
    {
        let mut session = start(&display, plan, &failing, &["--variant", "flat", "--radius", "3"]);
        session.wait_for_title("flat");
        std::fs::write(&failing, "").unwrap();
        key.into_iter().for_each(|key| display.key(key));
        session.wait_for_text("The movie goes on unfiltered");
        session.wait_for_title("off");
        let banners = |s: &Session, part: &str| s.texts().iter().filter(|t| t.text.contains(part)).count();
        assert_eq!(banners(&session, "The OpenCL device '"), 1, "{:?}", session.texts());
        for untrue in ["goes on with", "anew", "could not be tried"] {
            assert_eq!(banners(&session, untrue), 0, "{untrue}: {:?}", session.texts());
        }
        // The device works again: the banner disappears, and the chosen variant runs again.
        std::fs::remove_file(&failing).unwrap();
        session.display.key("ctrl+d");
        session.wait_for_end_of("The movie goes on unfiltered");
        session.wait_for_title("flat");
        session.press_until_title("4", "vectorized");
        session.quit();
    }
}

#[test]
fn failing_trials_of_other_variants_share_one_banner_and_can_be_repeated() {
    let (display, folder) = (Display::start(&[]), Folder::new("recovery-others"));
    let failing = folder.with("failing", "");
    // A device that uses host memory: unfiltered frames are not sent to it.
    let mut session = start(&display, "clCreateBuffer:1+:-4", &failing, &["--variant", "off"]);
    session.wait_for_text("could not be tried on");
    let banners: Vec<_> =
        session.texts().into_iter().filter(|t| t.text.contains("could not be tried")).collect();
    assert_eq!(banners.len(), 1, "{banners:?}");
    for variant in ["'flat'", "'running-sum'", "'planar'"] {
        assert!(banners[0].text.contains(variant), "{banners:?}");
    }
    std::fs::remove_file(&failing).unwrap();
    session.press_until_title("5", "running-sum");
    let stderr = session.quit();
    assert_eq!(error_count(&stderr), 1, "{stderr}");
}
