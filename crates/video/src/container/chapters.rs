//! The chapters that a movie file states.

use ffmpeg_next::ffi;

use super::{Container, to_nanoseconds};
use crate::frame::seconds;
use crate::libav;
use base::text::escaped;

/// The largest number of chapters that are read from a file; further ones are ignored.
const MAX_CHAPTERS: usize = 1000;
/// The maximum length of a chapter's title, in characters; the rest of a longer title is cut off.
const MAX_TITLE: usize = 80;

/// A chapter of a movie.
#[derive(Debug, Clone, PartialEq)]
pub struct Chapter {
    /// The chapter's start, in seconds from the movie's beginning.
    pub start_s: f64,
    /// The chapter's title; may be empty.
    pub title: String,
}

impl Container {
    /// Returns the chapters that begin before the end of the movie, sorted by their start. Of several chapters with the
    /// same start, only the first one is returned. `origin_ns` is the time stamp of the movie's beginning.
    pub(crate) fn chapters(&self, origin_ns: i64) -> Vec<Chapter> {
        let mut chapters = Vec::new();
        // SAFETY: the context is valid and has so many chapters; each is valid or null, and so is its title, which ends with
        // a zero byte.
        unsafe {
            let context = self.input.as_ptr();
            for index in 0..((*context).nb_chapters as usize).min(MAX_CHAPTERS) {
                let chapter = *(*context).chapters.add(index);
                if chapter.is_null() {
                    continue;
                }
                let base = (*chapter).time_base;
                if base.num <= 0 || base.den <= 0 {
                    continue;
                }
                let entry = ffi::av_dict_get((*chapter).metadata, c"title".as_ptr(), std::ptr::null(), 0);
                let title = entry.as_ref().map_or_else(String::new, |entry| libav::string(entry.value));
                let title = escaped(&title).chars().take(MAX_TITLE).collect();
                let start_ns = to_nanoseconds((*chapter).start, base);
                let start_s = seconds(start_ns.saturating_sub(origin_ns).max(0));
                chapters.push(Chapter { start_s, title });
            }
        }
        // A shortened movie may keep the chapters of its removed end.
        let end_s = self.stated_duration_ns(origin_ns).map(seconds);
        chapters.retain(|c| end_s.is_none_or(|end| c.start_s < end));
        chapters.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        chapters.dedup_by(|later, first| later.start_s == first.start_s);
        chapters
    }
}
