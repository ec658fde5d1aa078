//! The size that a container states for its file, to find files that are cut off, and the duration in an MP4's movie header.
//!
//! A file is cut off if bytes are missing. Pictures that end before the stated duration do not show it: sound may continue
//! without pictures, and the last picture may last long. Containers state their size in bytes: Matroska (RFC 8794) and the ISO
//! base media format (ISO/IEC 14496-12) by the sizes of their elements, AVI by those of its chunks, and ASF and FLV in their
//! headers. MPEG transport streams (ISO/IEC 13818-1) have packets of 188 bytes.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// The greatest number of elements, chunks or boxes of a container that are read; enough for the fragments of a day.
const MAX_ELEMENTS: usize = 100_000;
/// The number of bytes at the beginning of a file that are searched for headers.
const HEADER_BYTES: usize = 4096;
/// The length in bytes of a packet of an MPEG transport stream.
const TS_PACKET_BYTES: u64 = 188;
/// The byte with which each packet of an MPEG transport stream begins.
const TS_SYNC: u8 = 0x47;

/// The id of the EBML header, the first element of a Matroska file.
const EBML_ID: u32 = 0x1a45_dfa3;
/// The id of a segment, the element of a Matroska file that contains the streams.
const SEGMENT_ID: u32 = 0x1853_8067;
/// The types of the top-level boxes of an ISO media file.
const TOP_LEVEL_BOXES: [&[u8; 4]; 14] = [
    b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"mfra", b"sidx", b"free", b"skip", b"wide", b"uuid",
    b"meta", b"emsg", b"prft",
];
/// The GUID of the ASF header, with which an ASF file begins.
const ASF_GUID: [u8; 16] =
    [0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11, 0xa6, 0xd9, 0, 0xaa, 0, 0x62, 0xce, 0x6c];
/// The GUID of the object in the ASF header that states the file's size.
const ASF_PROPERTIES_GUID: [u8; 16] =
    [0xa1, 0xdc, 0xab, 0x8c, 0x47, 0xa9, 0xcf, 0x11, 0x8e, 0xe4, 0, 0xc0, 0x0c, 0x20, 0x53, 0x65];

/// Returns the smallest size in bytes that `file` can have if it is complete, according to its container; `None` if the
/// container does not tell.
pub fn declared_bytes(file: &File) -> Option<u64> {
    let start = FileBytes::read_at(file, 0, HEADER_BYTES)?;
    if start.big_endian(0, 4)? == u64::from(EBML_ID) {
        matroska_end(file)
    } else if start.matches_at(0, &ASF_GUID) {
        asf_size(&start)
    } else if start.matches_at(0, b"RIFF") && start.matches_at(8, b"AVI ") {
        riff_end(file)
    } else if start.matches_at(0, b"FLV") {
        flv_size(&start)
    } else if TOP_LEVEL_BOXES.iter().any(|name| start.matches_at(4, *name)) {
        iso_media_end(file)
    } else if (0..3).all(|n| start.matches_at(n * TS_PACKET_BYTES as usize, &[TS_SYNC])) {
        file.metadata().ok().map(|meta| meta.len().next_multiple_of(TS_PACKET_BYTES))
    } else {
        None
    }
}

/// Some consecutive bytes that were read from a file.
struct FileBytes(Vec<u8>);

impl FileBytes {
    /// Reads up to `max` bytes from the offset `at` on; `None` at the end of the file or after an error.
    fn read_at(file: &File, at: u64, max: usize) -> Option<Self> {
        let mut bytes = vec![0; max];
        let mut count = 0;
        while count < max {
            match file.read_at(&mut bytes[count..], at + count as u64) {
                Ok(0) | Err(_) => break,
                Ok(more) => count += more,
            }
        }
        bytes.truncate(count);
        (count > 0).then_some(Self(bytes))
    }

    /// Returns true if the bytes from offset `at` on, within these bytes, equal `what`.
    fn matches_at(&self, at: usize, what: &[u8]) -> bool {
        self.0.get(at..).is_some_and(|rest| rest.starts_with(what))
    }

    /// Returns the big-endian integer in the `count` bytes at `at`; `None` if they are not all there.
    fn big_endian(&self, at: usize, count: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Returns the little-endian integer in the `count` bytes at `at`; `None` if they are not all there.
    fn little_endian(&self, at: usize, count: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Returns the byte offset at which the first segment of a Matroska file ends; nothing after it is played.
fn matroska_end(file: &File) -> Option<u64> {
    let mut at = 0;
    for _ in 0..MAX_ELEMENTS {
        let head = FileBytes::read_at(file, at, 12)?;
        // Identifiers of this level have four bytes. Sizes have one byte more than leading zeros; all ones mean that the
        // size is not known.
        let id = head.big_endian(0, 4)? as u32;
        let count = head.big_endian(4, 1)?.leading_zeros() as usize - 56 + 1;
        if count > 8 {
            return None;
        }
        let unknown = (1u64 << (7 * count)) - 1;
        let size = head.big_endian(4, count)? & unknown;
        if size == unknown {
            return None;
        }
        let end = at.checked_add(4 + count as u64)?.checked_add(size)?;
        if id == SEGMENT_ID {
            return Some(end);
        }
        at = end;
    }
    None
}

/// Returns the size in bytes that the ASF header states; `None` if it states none, or the file is a broadcast.
fn asf_size(start: &FileBytes) -> Option<u64> {
    let at = start.0.windows(16).position(|bytes| bytes == ASF_PROPERTIES_GUID)?;
    // The lowest flag marks a broadcast, whose length was not known.
    let is_broadcast = start.little_endian(at + 88, 4)? & 1 == 1;
    start.little_endian(at + 40, 8).filter(|bytes| !is_broadcast && *bytes > 0)
}

/// Returns the byte offset at which the last `RIFF` chunk of an AVI file ends; long movies have several. Returns `None` if
/// the recording was not finished.
fn riff_end(file: &File) -> Option<u64> {
    let mut at = 0;
    for _ in 0..MAX_ELEMENTS {
        let Some(head) = FileBytes::read_at(file, at, 8).filter(|head| head.matches_at(0, b"RIFF")) else {
            break;
        };
        let size = head.little_endian(4, 4)?;
        // The recording was not finished.
        if size == 0 || size == u64::from(u32::MAX) {
            return None;
        }
        at = at.checked_add(8 + size.next_multiple_of(2))?;
    }
    // The last chunk's padding byte may be missing.
    at.checked_sub(1)
}

/// Returns the file size in bytes that the metadata of an FLV file states. The entry `filesize` consists of the length of its
/// name, the name, a type byte and a big-endian double.
fn flv_size(start: &FileBytes) -> Option<u64> {
    let name = b"\0\x08filesize\0";
    let at = start.0.windows(name.len()).position(|bytes| bytes == name)? + name.len();
    let size = f64::from_bits(start.big_endian(at, 8)?);
    (1.0..1e15).contains(&size).then_some(size as u64)
}

/// Returns the byte offset at which the last top-level box of an ISO media file ends. A box that extends to the end of the file
/// does not count.
fn iso_media_end(file: &File) -> Option<u64> {
    let mut at = 0;
    for _ in 0..MAX_ELEMENTS {
        let head = FileBytes::read_at(file, at, 16);
        let Some(head) = head.filter(|head| TOP_LEVEL_BOXES.iter().any(|name| head.matches_at(4, *name)))
        else {
            break;
        };
        match iso_box_size(&head)? {
            0 => break,
            size => at = at.checked_add(size)?,
        }
    }
    Some(at)
}

/// Returns the size in bytes of the box that begins with `head`; 0 if it extends to the end of the file, `None` if the size is
/// impossible.
fn iso_box_size(head: &FileBytes) -> Option<u64> {
    let size = match head.big_endian(0, 4)? {
        0 => return Some(0),
        1 => head.big_endian(8, 8)?,
        size => size,
    };
    (size >= 8).then_some(size)
}

/// Returns the duration in nanoseconds that the movie header of an ISO media file states; `None` if it states none.
pub(super) fn movie_header_ns(file: &File) -> Option<i64> {
    let mut at = 0;
    for _ in 0..MAX_ELEMENTS {
        let head = FileBytes::read_at(file, at, 48)?;
        if head.matches_at(4, b"moov") {
            // The movie header is the first box of the movie; in version 1 its times have eight bytes.
            let (scale_at, bytes) = if *head.0.get(16)? == 1 { (36, 8) } else { (28, 4) };
            let scale =
                head.big_endian(scale_at, 4).filter(|scale| *scale > 0 && head.matches_at(12, b"mvhd"))?;
            let units = head.big_endian(scale_at + 4, bytes)?;
            let unknown = u64::MAX >> (64 - 8 * bytes);
            return (units != unknown).then(|| (units as f64 / scale as f64 * 1e9) as i64);
        }
        at = at.checked_add(iso_box_size(&head).filter(|size| *size > 0)?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size and the duration that a file with these bytes states.
    fn stated(bytes: &[u8]) -> (Option<u64>, Option<i64>) {
        let thread = std::thread::current().id();
        let path = std::env::temp_dir().join(format!("clreel-extent-{}-{thread:?}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        let stated = (declared_bytes(&file), movie_header_ns(&file));
        std::fs::remove_file(&path).unwrap();
        stated
    }

    fn of(bytes: &[u8]) -> Option<u64> {
        stated(bytes).0
    }

    #[test]
    fn a_movie_header_states_the_duration() {
        let movie = |version: u8, times: &[&[u8]]| {
            let header =
                [b"\0\0\0\x6cmvhd".as_slice(), &[version, 0, 0, 0], &times.concat(), &[0; 80]].concat();
            stated(&[b"\0\0\0\x08free\0\0\0\x80moov".as_slice(), &header].concat()).1
        };
        let (units, scale) = (2900u32.to_be_bytes(), 1000u32.to_be_bytes());
        assert_eq!(movie(0, &[&[9; 8], &scale, &units]), Some(2_900_000_000));
        assert_eq!(movie(1, &[&[9; 16], &scale, &[0; 4], &units]), Some(2_900_000_000));
        assert_eq!(movie(0, &[&[9; 8], &scale, &[0xff; 4]]), None, "not known");
        assert_eq!(movie(0, &[&[9; 8], &[0; 4], &units]), None, "a scale of zero");
        assert_eq!(stated(b"\0\0\0\x08free").1, None);
    }

    #[test]
    fn containers_state_their_size() {
        // An EBML header of three bytes and a segment of 1000, its size in two bytes and in eight.
        let ebml = b"\x1a\x45\xdf\xa3\x83abc".to_vec();
        let segment = |size: &[u8]| of(&[&ebml[..], b"\x18\x53\x80\x67", size].concat());
        assert_eq!(segment(&[0x43, 0xe8]), Some(8 + 6 + 1000));
        assert_eq!(segment(&[1, 0, 0, 0, 0, 0, 3, 0xe8]), Some(8 + 12 + 1000));
        assert_eq!(segment(&[0xff]), None, "not known");
        assert_eq!(segment(&[1, 255, 255, 255, 255, 255, 255, 255]), None, "not known");
        assert_eq!((segment(&[0]), segment(&[]), of(&ebml)), (None, None, None));

        let avi = |size: u32| [&b"RIFF"[..], &size.to_le_bytes(), b"AVI LIST"].concat();
        assert_eq!(of(&avi(5000)), Some(5007));
        assert_eq!((of(&avi(0)), of(&avi(u32::MAX))), (None, None), "not finished");
        assert_eq!(of(&[avi(8), avi(500)].concat()), Some(16 + 507), "two chunks");

        let mut asf =
            [&ASF_GUID[..], &[0; 14], &ASF_PROPERTIES_GUID, &[0; 24], &7777u64.to_le_bytes(), &[0; 60]]
                .concat();
        assert_eq!(of(&asf), Some(7777));
        asf[30 + 88] = 1;
        assert_eq!(of(&asf), None, "a broadcast");

        let flv_size =
            |size: f64| of(&[&b"FLV\x01 onMetaData"[..], b"\0\x08filesize\0", &size.to_be_bytes()].concat());
        assert_eq!(flv_size(123_456.0), Some(123_456));
        assert_eq!(
            (flv_size(f64::NAN), flv_size(-1.0), flv_size(0.0), of(b"FLV\x01\x05")),
            (None, None, None, None)
        );

        let mp4 = |size: u32| {
            [&16u32.to_be_bytes()[..], b"ftypisom\0\0\0\0", &size.to_be_bytes(), b"mdat"].concat()
        };
        assert_eq!(of(&mp4(9000)), Some(16 + 9000));
        assert_eq!(of(&mp4(0)), Some(16), "to the end");
        assert_eq!(of(&[mp4(1), 90_000u64.to_be_bytes().to_vec()].concat()), Some(16 + 90_000));
        assert_eq!(of(&[mp4(8), b"\0\xff\xff\xffjunk".to_vec()].concat()), Some(24), "only what is a box");

        let mut packets = vec![0; 4 * TS_PACKET_BYTES as usize];
        packets.iter_mut().step_by(TS_PACKET_BYTES as usize).for_each(|byte| *byte = TS_SYNC);
        assert_eq!(of(&packets), Some(4 * TS_PACKET_BYTES));
        assert_eq!(of(&packets[..3 * TS_PACKET_BYTES as usize + 1]), Some(4 * TS_PACKET_BYTES));
        assert_eq!((of(b""), of(b"x"), of(&[0; 5000]), of(&[0xff; 5000])), (None, None, None, None));
    }
}
