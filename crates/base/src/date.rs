//! Dates of saved files and results.

use std::time::SystemTime;

/// Formats a time in UTC as in RFC 3339: "2026-11-27T10:28:09Z".
pub fn utc(time: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = parts(time, libc::gmtime_r).unwrap_or_default();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns a time as year, month, day, hour, minute and second in the machine's time zone.
///
/// # Errors
/// Returns the seconds since 1970 if the system cannot convert them to local time.
pub fn local(time: SystemTime) -> Result<[i64; 6], u64> {
    parts(time, libc::localtime_r)
}

/// A function of the C library that converts a time to its parts.
type Convert = unsafe extern "C" fn(*const libc::time_t, *mut libc::tm) -> *mut libc::tm;

fn parts(time: SystemTime, convert: Convert) -> Result<[i64; 6], u64> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let since = libc::time_t::try_from(seconds).map_err(|_| seconds)?;
    // SAFETY: `parts` is a plain struct of numbers (and a pointer that is not used), which the call fills; it reads the
    // environment, which this program changes at its start alone, before there are other threads.
    let parts = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        (!convert(&since, &mut parts).is_null()).then_some(parts)
    };
    let p = parts.ok_or(seconds)?;
    let (year, month) = (i64::from(p.tm_year) + 1900, i64::from(p.tm_mon) + 1);
    Ok([year, month, p.tm_mday.into(), p.tm_hour.into(), p.tm_min.into(), p.tm_sec.into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // The expected dates are from `date -u -d @N`.
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (1_795_775_289, "2026-11-27T10:28:09Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), date);
        }
    }
}
