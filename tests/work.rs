//! The formulas of reads and writes ([`Ladder::work`]) against Oclgrind's count of the same launches. Without Oclgrind the
//! tests are skipped.

use crate::common::*;
use serde_json::json;

use crate::check_kernels::has_oclgrind;
use crate::common::reports::clreel;
use base::device::DeviceKind;
use box_filter::VariantId;
use compute::variant::Variant;
use ladder::runner::Ladder;
use ladders::box_filter::BoxFilter;
use ladders::matmul::MATMUL;
use ladders::reduction::REDUCTION;
use testkit::programs;

/// The launches with which Oclgrind 21.10 itself crashes now and then: ladder, variant, and true for the code for CPUs.
const CRASHES: &[(&str, &str, bool)] = &[("box_filter", "running-sum", true)];

/// Counts a variant's kernels in each of `cases`, with the code for CPUs or for graphics cards; returns a list of formulas and counts.
/// Returns `None` if Oclgrind itself crashes each time, and [`CRASHES`] has the launch: then the test is counted as skipped.
fn count(ladder: &str, id: &str, cpu: bool, cases: &[String]) -> Option<Vec<Value>> {
    for _ in 0..6 {
        let mut command = clreel(&["count-kernels", ladder, id]);
        command.args(cases).args(cpu.then_some("--cpu")).env_remove("CLREEL_KERNELS");
        let output = command.output().unwrap();
        if output.status.success() {
            return Some(serde_json::from_slice(&output.stdout).unwrap());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("Oclgrind crashed in the sandbox"), "{ladder} {id}, cpu {cpu}: {errors}");
    }
    leave_out(ladder, id, cpu);
    None
}

/// Counts a launch with which Oclgrind crashes as skipped.
///
/// # Panics
/// Panics if [`CRASHES`] does not have it.
fn leave_out(ladder: &str, id: &str, cpu: bool) {
    let what = format!("Oclgrind crashes with {ladder} {id}, cpu {cpu}");
    assert!(CRASHES.contains(&(ladder, id, cpu)), "{what}");
    programs::skip(&what);
}

#[test]
#[should_panic(expected = "Oclgrind crashes with box_filter flat, cpu true")]
fn a_launch_that_crashes_oclgrind_is_a_failure() {
    leave_out("box_filter", "flat", true);
}

/// Compares the formula of a launch with its count, to the element in images and to the byte in buffers.
fn compare(what: &str, formula: &Value, counted: &Value) {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{what}: {formula} {counted}"));
    assert_eq!(formula["kernel"], counted["kernel"], "{what}");
    for (moved, memory, image) in [("reads", "loads", "image_reads"), ("writes", "stores", "image_writes")] {
        let (in_images, moved) = (number(&counted[image]), &formula[moved]);
        let (want, got) = match in_images {
            0 => (number(&moved["bytes"]), number(&counted[memory]["bytes"])),
            _ => (number(&moved["elements"]), in_images),
        };
        assert_eq!(want, got, "{what}, {memory} of {}: formula and count", formula["kernel"]);
    }
    if let Some(barriers) = formula["barriers"].as_u64() {
        let passed = number(&counted["barriers"]);
        assert!(passed <= barriers * number(&formula["work_items"]), "{what}: {barriers} barriers, {passed}");
        assert_eq!(passed > 0, barriers > 0, "{what}: barriers");
    }
}

/// Compares formulas with counts for all variants of a ladder with kernels, on both kinds of devices if their code differs.
fn compare_all<L: Ladder>(ladder: &L, skipped: &[&str], cases: &[L::Case]) {
    let name = ladder.info().name;
    let cases: Vec<String> = cases.iter().map(|case| serde_json::to_string(case).unwrap()).collect();
    let has_code = |variant: &&Variant<L::Code, L::Host>| variant.code(DeviceKind::Cpu).is_some();
    let (mut compared, mut expected) = (0, 0);
    for variant in ladder.variants().iter().filter(has_code).filter(|variant| !skipped.contains(&variant.id))
    {
        for cpu in [true, false] {
            let Some(counted) = count(name, variant.id, cpu, &cases) else { continue };
            expected += cases.len();
            assert_eq!(counted.len(), cases.len(), "{}", variant.id);
            for (case, entry) in cases.iter().zip(&counted) {
                let what = format!("{name} {}, cpu {cpu}, {case}", variant.id);
                let launches =
                    |list: &Value| list.as_array().unwrap_or_else(|| panic!("{what}: {entry}")).clone();
                let (formulas, counts) = (launches(&entry["work"]["launches"]), launches(&entry["launches"]));
                assert!(!formulas.is_empty() && formulas.len() == counts.len(), "{what}: {entry}");
                formulas.iter().zip(&counts).for_each(|(formula, count)| compare(&what, formula, count));
                compared += 1;
            }
        }
    }
    assert!(compared == expected && compared >= 2 * 6 * cases.len(), "{compared} of {expected}");
}

#[test]
fn formulas_of_the_box_filter_are_oclgrinds_count() {
    if !has_oclgrind() {
        return;
    }
    let cases: Vec<_> = [(37, 11), (21, 13)]
        .into_iter()
        .flat_map(|size| [1, 7, 31].map(|radius| BoxFilter::on_noise(size).case(radius)))
        .collect();
    compare_all(&BoxFilter::on_noise((1, 1)), &[VariantId::own().name], &cases);
}

#[test]
fn formulas_of_matmul_are_oclgrinds_count() {
    if !has_oclgrind() {
        return;
    }
    let shapes = [json!({ "m": 37, "n": 21, "k": 19 }), json!({ "m": 5, "n": 61, "k": 260 })];
    compare_all(&MATMUL, &[], &shapes.map(|shape| serde_json::from_value(shape).unwrap()));
}

#[test]
fn formulas_of_the_reduction_are_oclgrinds_count() {
    if !has_oclgrind() {
        return;
    }
    let pictures = [(67, 33, 16), (132, 129, 64), (131, 65, 32)];
    let case = |(width, height, block): (u32, u32, u32)| {
        serde_json::from_value(json!({ "width": width, "height": height, "block": block })).unwrap()
    };
    compare_all(&REDUCTION, &[], &pictures.map(case));
}
