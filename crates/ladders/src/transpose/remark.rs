//! The remark on the times of transposition. It says which order of work-items is the fastest and by how much, and names a
//! probable cause, which is known for devices of this kind and not measured here.

use super::{COLUMN_LINEAR, GROUP_LINEAR, ROW_LINEAR};
use base::device::DeviceKind;
use base::timing::believed;
use ladder::measure::Measurement;
use ladder::rows::CaseRun;

/// The ratio of two times below which they are reported as equal.
const SAME_SPEED: f64 = 1.1;

/// Returns the remark on the times of a run on a device of this kind; `None` unless all three orders of work-items were timed.
pub(super) fn remark(kind: Option<DeviceKind>, run: &CaseRun) -> Option<String> {
    let time = |id: &str| run.timed().find(|(row, _)| row.entry.id == id).map(|(_, measured)| measured);
    let three = [
        (ROW_LINEAR, time(ROW_LINEAR)?),
        (COLUMN_LINEAR, time(COLUMN_LINEAR)?),
        (GROUP_LINEAR, time(GROUP_LINEAR)?),
    ];
    let ms = |measured: &Measurement| measured.time.p50;
    let times = |a: &Measurement, b: &Measurement| believed(ms(a) / ms(b), &[a.precision(), b.precision()]);
    let [(_, row), (_, column), _] = three;
    let (best, fastest) = three.into_iter().min_by(|a, b| f64::total_cmp(&ms(a.1), &ms(b.1)))?;
    let (_, slowest) = three.into_iter().max_by(|a, b| f64::total_cmp(&ms(a.1), &ms(b.1)))?;
    if ms(slowest) < SAME_SPEED * ms(fastest) {
        return Some(format!(
            "Which mapping: it does not matter here; the slowest takes {} times as long as the fastest. Probable \
             cause: the caches hold what lies far apart until all of it is used.",
            times(slowest, fastest)
        ));
    }
    let others: Vec<String> = three
        .iter()
        .filter(|(id, _)| *id != best)
        .map(|(id, measured)| match ms(measured) < SAME_SPEED * ms(fastest) {
            true => format!("{id} is as fast within a tenth"),
            false => format!("{id} takes {} times as long", times(measured, fastest)),
        })
        .collect();
    let sides = if ms(row) > SAME_SPEED * ms(column) {
        format!("writing far apart takes {} times as long as reading far apart", times(row, column))
    } else if ms(column) > SAME_SPEED * ms(row) {
        format!("reading far apart takes {} times as long as writing far apart", times(column, row))
    } else {
        "reading far apart and writing far apart take as long".to_owned()
    };
    let measured = format!("Which mapping: {best}; {}. Here {sides}.", others.join(", "));
    let known = match kind {
        Some(DeviceKind::Cpu) => {
            "on processors work-items side by side run one after the other on a core, and a cache line is \
             worth its way only if it is still there for its next number"
        }
        Some(DeviceKind::Gpu) => {
            "on graphics cards work-items side by side run together, and their numbers come and go as whole \
             cache lines only where these lie side by side (coalescing)"
        }
        _ => return Some(measured),
    };
    let end = match best {
        GROUP_LINEAR => "a square tile uses whole lines on both sides",
        COLUMN_LINEAR => "this one writes side by side",
        _ => "this one reads side by side",
    };
    Some(format!("{measured} Probable cause: {known}; {end}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transpose::{Size, TRANSPOSE};
    use compute::sample::Sample;
    use ladder::Outcome;
    use ladder::rows::{Entry, Row};
    use ladder::runner::{Ladder as _, describe_case};

    fn answer(kind: DeviceKind, times: &[(&str, f64)]) -> Option<String> {
        let rows = times.iter().map(|(id, ms)| {
            let variant = TRANSPOSE.variants().iter().find(|variant| variant.id == *id).unwrap();
            let sample = Sample { device_ms: Some(*ms), dispatch_ms: None, wall_ms: *ms };
            Row::new(Entry::new(variant, None), Outcome::Ok(Measurement::from_samples(&[sample; 9]).unwrap()))
        });
        let case = describe_case(&TRANSPOSE, &Size { m: 8, n: 8 });
        remark(Some(kind), &CaseRun { rows: rows.collect(), ..CaseRun::new(case) })
    }

    #[test]
    fn the_remark_follows_the_times() {
        let gpu = [("row-linear", 4.0), ("column-linear", 2.0), ("group-linear", 1.0)];
        let said = answer(DeviceKind::Gpu, &gpu).unwrap();
        for part in [
            "Which mapping: group-linear; row-linear takes 4.00 times",
            "column-linear takes 2.00 times as long. Here writing far apart takes 2.00 times as long as reading \
             far apart. Probable cause: on graphics cards",
            "(coalescing); a square tile",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let cpu = [("row-linear", 1.0), ("column-linear", 3.0), ("group-linear", 2.0)];
        let said = answer(DeviceKind::Cpu, &cpu).unwrap();
        for part in [
            "Which mapping: row-linear; column-linear takes 3.00 times as long, group-linear takes 2.00 times \
             as long. Here reading far apart takes 3.00 times as long as writing far apart. Probable cause: on \
             processors",
            "one after the other on a core",
            "reads side by side",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let two = [("row-linear", 2.1), ("column-linear", 1.02), ("group-linear", 1.0)];
        let said = answer(DeviceKind::Gpu, &two).unwrap();
        assert!(
            said.contains("row-linear takes 2.10 times as long, column-linear is as fast within a tenth.")
        );
        let alike = [("row-linear", 1.0), ("column-linear", 1.05), ("group-linear", 1.02)];
        let said = answer(DeviceKind::Cpu, &alike).unwrap();
        assert!(said.contains("not matter here; the slowest takes 1.05 times as long as the fastest."));
        // No cause is known for other kinds of devices.
        let said = answer(DeviceKind::Accelerator, &cpu).unwrap();
        assert!(said.ends_with("takes 3.00 times as long as writing far apart."), "{said}");
        assert_eq!(answer(DeviceKind::Cpu, &gpu[..2]), None, "one of them has no time");
    }
}
