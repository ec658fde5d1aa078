//! How many bytes a file says it has. In: a file of which one reads here and there. Out: the least number of bytes that it has
//! while nothing of it is missing.
//!
//! A movie that ends early is nothing unusual: sound may go on without pictures, and the last picture may last. That bytes
//! are missing is, and containers that are written to a disk say how many there are: Matroska (RFC 8794) and the ISO base
//! media format (ISO/IEC 14496-12) by the sizes of their elements, AVI by those of its chunks, ASF and FLV in their headers,
//! and MPEG transport streams (ISO/IEC 13818-1) have packets of 188 bytes.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Elements, chunks and boxes that are followed at most: fragments of a day.
const MOST: usize = 100_000;
/// Bytes in which headers are looked for.
const HEADER: usize = 4096;
/// Bytes of a transport stream's packet, and what each begins with.
const PACKET: u64 = 188;
const SYNC: u8 = 0x47;

const EBML: u32 = 0x1a45_dfa3;
const SEGMENT: u32 = 0x1853_8067;
/// What the boxes of the outermost level are called.
const BOXES: [&[u8; 4]; 14] = [
    b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"mfra", b"sidx", b"free", b"skip", b"wide", b"uuid",
    b"meta", b"emsg", b"prft",
];
/// The header of ASF, and the object in it that says how long the file is.
const ASF: [u8; 16] =
    [0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11, 0xa6, 0xd9, 0, 0xaa, 0, 0x62, 0xce, 0x6c];
const ASF_PROPERTIES: [u8; 16] =
    [0xa1, 0xdc, 0xab, 0x8c, 0x47, 0xa9, 0xcf, 0x11, 0x8e, 0xe4, 0, 0xc0, 0x0c, 0x20, 0x53, 0x65];

/// Returns how many bytes `file` has at least if it is whole; `None` where it does not say.
pub(super) fn announced_bytes(file: &File) -> Option<u64> {
    let start = Bytes::at(file, 0, HEADER)?;
    if start.number(0, 4)? == u64::from(EBML) {
        matroska(file)
    } else if start.has(0, &ASF) {
        asf(&start)
    } else if start.has(0, b"RIFF") && start.has(8, b"AVI ") {
        riff(file)
    } else if start.has(0, b"FLV") {
        flv(&start)
    } else if BOXES.iter().any(|name| start.has(4, *name)) {
        boxes(file)
    } else if (0..3).all(|n| start.has(n * PACKET as usize, &[SYNC])) {
        file.metadata().ok().map(|meta| meta.len().next_multiple_of(PACKET))
    } else {
        None
    }
}

/// Returns the first bytes of `file`: so many, or all that it has.
pub(super) fn start(file: &File, count: usize) -> Vec<u8> {
    Bytes::at(file, 0, count).map_or_else(Vec::new, |bytes| bytes.0)
}

/// Bytes of a file from some place on.
struct Bytes(Vec<u8>);

impl Bytes {
    /// At most so many bytes; `None` where there are none.
    fn at(file: &File, at: u64, most: usize) -> Option<Self> {
        let mut bytes = vec![0; most];
        let mut count = 0;
        while count < most {
            match file.read_at(&mut bytes[count..], at + count as u64) {
                Ok(0) | Err(_) => break,
                Ok(more) => count += more,
            }
        }
        bytes.truncate(count);
        (count > 0).then_some(Self(bytes))
    }

    fn has(&self, at: usize, what: &[u8]) -> bool {
        self.0.get(at..).is_some_and(|rest| rest.starts_with(what))
    }

    /// A number of `count` bytes, the highest first.
    fn number(&self, at: usize, count: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The same, the lowest first.
    fn little(&self, at: usize, count: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// The end of the first segment: behind it there is nothing that is played.
fn matroska(file: &File) -> Option<u64> {
    let mut at = 0;
    for _ in 0..MOST {
        let head = Bytes::at(file, at, 12)?;
        // Identifiers of this level have four bytes. Sizes have as many as the zeros before their first bit say, and
        // one more; all ones: it is not known.
        let id = head.number(0, 4)? as u32;
        let count = head.number(4, 1)?.leading_zeros() as usize - 56 + 1;
        if count > 8 {
            return None;
        }
        let unknown = (1u64 << (7 * count)) - 1;
        let size = head.number(4, count)? & unknown;
        if size == unknown {
            return None;
        }
        let end = at.checked_add(4 + count as u64)?.checked_add(size)?;
        if id == SEGMENT {
            return Some(end);
        }
        at = end;
    }
    None
}

fn asf(start: &Bytes) -> Option<u64> {
    let at = start.0.windows(16).position(|bytes| bytes == ASF_PROPERTIES)?;
    // The lowest flag: it was sent while it was made, and nobody knew how long it would be.
    let is_broadcast = start.little(at + 88, 4)? & 1 == 1;
    start.little(at + 40, 8).filter(|bytes| !is_broadcast && *bytes > 0)
}

/// The end of the last of the chunks that long movies have several of.
fn riff(file: &File) -> Option<u64> {
    let mut at = 0;
    for _ in 0..MOST {
        let Some(head) = Bytes::at(file, at, 8).filter(|head| head.has(0, b"RIFF")) else { break };
        let size = head.little(4, 4)?;
        // A recording that was not finished.
        if size == 0 || size == u64::from(u32::MAX) {
            return None;
        }
        at = at.checked_add(8 + size.next_multiple_of(2))?;
    }
    // What pads the last chunk may be left out.
    at.checked_sub(1)
}

/// The size that the metadata say, as a name with its length before it and a number of eight bytes behind it.
fn flv(start: &Bytes) -> Option<u64> {
    let name = b"\0\x08filesize\0";
    let at = start.0.windows(name.len()).position(|bytes| bytes == name)? + name.len();
    let size = f64::from_bits(start.number(at, 8)?);
    (1.0..1e15).contains(&size).then_some(size as u64)
}

fn boxes(file: &File) -> Option<u64> {
    let mut at = 0;
    for _ in 0..MOST {
        let head = Bytes::at(file, at, 16);
        let Some(head) = head.filter(|head| BOXES.iter().any(|name| head.has(4, *name))) else { break };
        let size = match head.number(0, 4)? {
            // To the end of the file.
            0 => break,
            1 => head.number(8, 8)?,
            size => size,
        };
        if size < 8 {
            return None;
        }
        at = at.checked_add(size)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file of these bytes says of its length.
    fn of(bytes: &[u8]) -> Option<u64> {
        let path = std::env::temp_dir().join(format!("clreel-extent-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let announced = announced_bytes(&File::open(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        announced
    }

    #[test]
    fn containers_say_how_long_they_are() {
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
            [&ASF[..], &[0; 14], &ASF_PROPERTIES, &[0; 24], &7777u64.to_le_bytes(), &[0; 60]].concat();
        assert_eq!(of(&asf), Some(7777));
        asf[30 + 88] = 1;
        assert_eq!(of(&asf), None, "a broadcast");

        let flv =
            |size: f64| of(&[&b"FLV\x01 onMetaData"[..], b"\0\x08filesize\0", &size.to_be_bytes()].concat());
        assert_eq!(flv(123_456.0), Some(123_456));
        assert_eq!((flv(f64::NAN), flv(-1.0), flv(0.0), of(b"FLV\x01\x05")), (None, None, None, None));

        let mp4 = |size: u32| {
            [&16u32.to_be_bytes()[..], b"ftypisom\0\0\0\0", &size.to_be_bytes(), b"mdat"].concat()
        };
        assert_eq!(of(&mp4(9000)), Some(16 + 9000));
        assert_eq!(of(&mp4(0)), Some(16), "to the end");
        assert_eq!(of(&[mp4(1), 90_000u64.to_be_bytes().to_vec()].concat()), Some(16 + 90_000));
        assert_eq!(of(&[mp4(8), b"\0\xff\xff\xffjunk".to_vec()].concat()), Some(24), "only what is a box");

        let mut packets = vec![0; 4 * PACKET as usize];
        packets.iter_mut().step_by(PACKET as usize).for_each(|byte| *byte = SYNC);
        assert_eq!(of(&packets), Some(4 * PACKET));
        assert_eq!(of(&packets[..3 * PACKET as usize + 1]), Some(4 * PACKET));
        assert_eq!((of(b""), of(b"x"), of(&[0; 5000]), of(&[0xff; 5000])), (None, None, None, None));
    }
}
