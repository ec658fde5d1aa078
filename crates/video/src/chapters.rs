//! The chapters of a movie. In: an opened [`Source`]. Out: where each begins, and its title.

use std::ffi::CStr;

use ffmpeg_next::ffi;

use super::SECOND_NS;
use super::frame::seconds;
use super::source::Source;
use base::text::escaped;

/// More of them than this are no help to anybody.
const MOST: usize = 1000;
/// Letters of a title that are kept.
const LONGEST: usize = 80;

/// A chapter.
#[derive(Debug, Clone, PartialEq)]
pub struct Chapter {
    /// Where it begins, in seconds from the movie's first frame.
    pub start_s: f64,
    /// Its title; may be empty.
    pub title: String,
}

impl Source {
    /// The chapters in their order that begin before the end, those that begin at the same time once. `origin_ns` is the first frame's stamp.
    pub(super) fn chapters(&self, origin_ns: i64) -> Vec<Chapter> {
        let mut chapters = Vec::new();
        // SAFETY: the context is valid and has so many chapters; each is valid or null, and so is its title, which ends with
        // a zero byte.
        unsafe {
            let context = self.file.input.as_ptr();
            for index in 0..((*context).nb_chapters as usize).min(MOST) {
                let chapter = *(*context).chapters.add(index);
                if chapter.is_null() {
                    continue;
                }
                let base = (*chapter).time_base;
                if base.num <= 0 || base.den <= 0 {
                    continue;
                }
                let stamp = i128::from((*chapter).start) * i128::from(base.num) * i128::from(SECOND_NS);
                let Ok(stamp_ns) = i64::try_from(stamp / i128::from(base.den)) else { continue };
                let entry = ffi::av_dict_get((*chapter).metadata, c"title".as_ptr(), std::ptr::null(), 0);
                let title = match entry.is_null() || (*entry).value.is_null() {
                    true => String::new(),
                    false => CStr::from_ptr((*entry).value).to_string_lossy().into_owned(),
                };
                let title = escaped(&title).chars().take(LONGEST).collect();
                let start_s = seconds(stamp_ns.saturating_sub(origin_ns).max(0));
                chapters.push(Chapter { start_s, title });
            }
        }
        // A movie that was cut keeps the chapters of what is gone; nobody could get there.
        chapters.retain(|c| self.duration_s().is_none_or(|end| c.start_s < end));
        chapters.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        chapters.dedup_by(|later, first| later.start_s == first.start_s);
        chapters
    }
}
