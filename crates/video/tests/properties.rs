//! Properties that files state about their pictures and packets: primaries, Dolby Vision, cropping, and flags of damage.

use std::path::Path;

use base::error::Error;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie::{Folder, Movie, steady};
use video::{Decoder, References, read_frame_at, read_frames_rgba};

use crate::{once, open, take};

/// Returns the remarks about a movie, and checks that they are a warning without a window.
fn remarks(path: &Path) -> String {
    let remarks = open(path, once()).info().remarks.clone();
    let (_, warning) = read_frame_at(path, 0.0, 0, References::Refused).expect("a frame");
    let frames = read_frames_rgba(path, 2, None, References::Refused).expect("frames");
    assert_eq!((warning.is_some(), &frames.warning), (!remarks.is_empty(), &warning), "{}", path.display());
    // A sentence begins with a capital letter.
    let is_told = |warning: &Error| remarks.iter().all(|remark| warning.why.contains(&remark[1..]));
    assert!(warning.as_ref().is_none_or(is_told), "{warning:?}");
    remarks.join("; ")
}

#[test]
fn unsupported_tags_are_reported() {
    let folder = Folder::new("tags");
    let ictcp =
        "ICtCp is not supported: colours are shown as BT.2020 NCL; HDR (PQ), shown without tone mapping";
    let constant = "BT.2020 constant luminance is not supported: colours are shown as BT.2020 NCL";
    for (name, [matrix, transfer, primaries], told) in [
        ("bt2020.mkv", [9, 1, 9], "wide gamut (BT.2020), shown as if it were BT.709: colours look pale"),
        ("bt2020.mp4", [9, 14, 9], "wide gamut (BT.2020), shown as if it were BT.709: colours look pale"),
        ("p3.mkv", [9, 13, 12], "wide gamut (Display P3), shown as if it were BT.709: colours look pale"),
        ("p3.mov", [9, 1, 11], "wide gamut (DCI-P3), shown as if it were BT.709: colours look pale"),
        ("hdr.mkv", [9, 16, 9], "HDR (PQ), shown without tone mapping"),
        ("pq.mkv", [9, 16, 2], "HDR (PQ), shown without tone mapping"),
        ("hlg.mkv", [9, 18, 2], "HDR (HLG), shown without tone mapping"),
        ("cl.mkv", [10, 1, 2], constant),
        ("ictcp.mkv", [14, 16, 2], ictcp),
        ("bt709.mkv", [9, 1, 1], ""),
        ("bt601.mkv", [9, 6, 6], ""),
        ("sdr.mkv", [1, 1, 2], ""),
        ("matrix.mkv", [9, 2, 2], ""),
        ("untagged.mkv", [2, 2, 2], ""),
    ] {
        let codec = if name.ends_with("mkv") { Id::FFV1 } else { Id::MPEG4 };
        let (tags, primaries) = (Some((matrix, transfer)), Some(primaries));
        let movie = Movie { codec, tags, primaries, ..Movie::default() };
        assert_eq!(remarks(&folder.movie(name, &movie)), told, "{name}");
    }
}

#[test]
fn dolby_vision_without_a_compatible_base_layer_is_named() {
    let folder = Folder::new("dolby-vision");
    for container in ["mp4", "mkv"] {
        for (profile, compatibility, is_named) in [
            (5, 0, true),
            (10, 0, true),
            (8, 1, false),
            (8, 4, false),
            (10, 1, false),
            (7, 6, false),
            (4, 2, false),
            (9, 2, false),
        ] {
            let movie = Movie { dolby_vision: Some((profile, compatibility)), ..Movie::default() };
            let name = format!("{profile}.{compatibility}.{container}");
            let told = remarks(&folder.movie(&name, &movie));
            let named =
                format!("Dolby Vision profile {profile}, shown without its conversion: colours are wrong");
            assert_eq!(told, if is_named { named } else { String::new() }, "{name}");
        }
    }
}

/// Size of the packets of a transport stream.
const TS_PACKET: usize = 188;

/// Returns true for a packet of the transport stream's video.
fn is_video(packet: &[u8]) -> bool {
    u16::from_be_bytes([packet[1] & 0x1f, packet[2]]) == 256
}

/// Plays a movie to its end. Returns the number of its pictures.
fn play(path: &Path) -> (usize, Decoder) {
    let decoder = open(path, once());
    let count = take(&decoder, 1000).len();
    (count, decoder)
}

/// At the seam of joined streams the counter of packets jumps, and FFmpeg flags what stands before it.
#[test]
fn packets_that_are_flagged_but_decoded_are_no_damage() {
    let folder = Folder::new("flagged");
    for b_frames in [0, 2] {
        let movie = Movie { b_frames, stamps_ms: steady(50), ..Movie::default() };
        let first = std::fs::read(folder.movie("a.ts", &movie)).expect("read");
        let mut second = first.clone();
        for packet in second.chunks_exact_mut(TS_PACKET).filter(|packet| is_video(packet)) {
            packet[3] = packet[3] & 0xf0 | (packet[3] + 5) & 0x0f;
        }
        let joined = folder.with("joined.ts", [first, second].concat());
        let (count, decoder) = play(&joined);
        assert_eq!((count, decoder.warning()), (100, None), "{b_frames}");
        let note = decoder.note();
        assert!(note.as_ref().is_some_and(|note| note.contains("marked as damaged")), "{b_frames}: {note:?}");
        assert!(decoder.info().remarks.is_empty(), "{b_frames}");
        // Nor is it a warning without a window.
        let (_, warning) = read_frame_at(&joined, 3.0, 0, References::Refused).expect("a frame");
        assert_eq!(warning, None, "{b_frames}");
        let (_, decoder) = play(&folder.movie("whole.ts", &movie));
        assert_eq!((decoder.warning(), decoder.note()), (None, None), "{b_frames}");
    }
}

/// Checks that lost packets of the stream, which leave errors in pictures, are reported as damage.
#[test]
fn flagged_packets_with_errors_are_damage() {
    let folder = Folder::new("lost");
    for b_frames in [0, 2] {
        let movie = Movie {
            b_frames,
            size: (320, 240),
            stamps_ms: steady(50),
            paint: |index, frame| {
                for (at, sample) in frame.data_mut(0).iter_mut().enumerate() {
                    *sample = ((at * 31 + index * 17) % 211) as u8;
                }
            },
            ..Movie::default()
        };
        let whole = std::fs::read(folder.movie("whole.ts", &movie)).expect("read");
        let packets: Vec<_> = whole.chunks_exact(TS_PACKET).collect();
        let kept = packets.iter().enumerate().filter(|(at, packet)| !is_video(packet) || at % 40 != 20);
        let lost: Vec<u8> = kept.flat_map(|(_, packet)| packet.iter().copied()).collect();
        let (_, decoder) = play(&folder.with("lost.ts", &lost));
        let warning = decoder.warning().unwrap_or_else(|| panic!("{b_frames}: no warning"));
        assert!(warning.what.contains("damaged"), "{warning}");
        assert_eq!(decoder.note(), None);
    }
}

/// The duration of a file with one picture is that of its sound, and FFmpeg takes it for the stream's where it does not know
/// better.
#[test]
fn one_picture_and_a_song_lack_nothing() {
    let folder = Folder::new("song");
    for (name, codec, format, b_frames) in [
        ("song.mkv", Id::MPEG4, Pixel::YUV420P, 2),
        ("png.mkv", Id::PNG, Pixel::RGB24, 0),
        ("song.avi", Id::MJPEG, Pixel::YUVJ420P, 0),
        ("song.mov", Id::MPEG4, Pixel::YUV420P, 2),
        ("song.nut", Id::MPEG4, Pixel::YUV420P, 2),
        ("song.flv", Id::FLV1, Pixel::YUV420P, 0),
        ("plain.mkv", Id::MPEG4, Pixel::YUV420P, 0),
        ("plain.mov", Id::MPEG4, Pixel::YUV420P, 0),
        ("plain.nut", Id::MPEG4, Pixel::YUV420P, 0),
    ] {
        let (stamps_ms, sound_ms) = (vec![0], Some(6000));
        let movie = Movie { codec, format, b_frames, stamps_ms, sound_ms, ..Movie::default() };
        let (count, decoder) = play(&folder.movie(name, &movie));
        assert_eq!((count, decoder.warning()), (1, None), "{name}");
    }
}

/// A clean aperture of 40×30 in pictures of 64×48, 4 columns to the right and 2 rows down from the centre (ISO/IEC 14496-12).
#[test]
fn cropping_of_the_container_is_applied_where_ffmpeg_reports_it() {
    let folder = Folder::new("clap");
    let movie = Movie {
        tags: Some((1, 1)),
        pixel_aspect: (1, 1),
        paint: |_, frame| {
            let stride = frame.stride(0);
            for (y, row) in frame.data_mut(0).chunks_mut(stride).enumerate() {
                row.iter_mut().enumerate().for_each(|(x, sample)| *sample = (20 + 2 * x + y) as u8);
            }
            (1..3).for_each(|plane| frame.data_mut(plane).fill(128));
        },
        ..Movie::default()
    };
    let mut bytes = std::fs::read(folder.movie("whole.mp4", &movie)).expect("read");
    let at = |name: &[u8]| bytes.windows(4).position(|window| window == name).map(|at| at - 4);
    let size_at = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("a size")) as usize;
    // The boxes of colour, pixels and bit rate stand in a row, and have the length of a clean aperture and more.
    let boxes: Vec<usize> = [b"colr", b"pasp", b"btrt"].into_iter().filter_map(|name| at(name)).collect();
    let (start, end) = (boxes[0], boxes.last().map(|last| last + size_at(*last)).expect("boxes"));
    assert_eq!(boxes.windows(2).filter(|pair| pair[0] + size_at(pair[0]) != pair[1]).count(), 0, "{boxes:?}");
    let mut clap = [&40_u32.to_be_bytes()[..], b"clap"].concat();
    for number in [40, 1, 30, 1, 4, 1, 2, 1_u32] {
        clap.extend(number.to_be_bytes());
    }
    let free = end - start - clap.len();
    clap.extend((free as u32).to_be_bytes());
    clap.extend(b"free");
    clap.resize(end - start, 0);
    bytes[start..end].copy_from_slice(&clap);
    let path = folder.with("clap.mp4", &bytes);
    let decoder = open(&path, once());
    // SAFETY: the function only returns a number.
    let reports = unsafe { ffmpeg_next::ffi::avcodec_version() } >= 61 << 16 | 19 << 8;
    let expected = if reports { ((40, 30), (16, 11)) } else { ((64, 48), (0, 0)) };
    let info = decoder.info();
    assert_eq!((info.width, info.height), expected.0);
    let frame = &take(&decoder, 1)[0];
    assert_eq!((frame.width(), frame.height()), expected.0);
    let first = frame.picture.data(0)[0];
    let (x, y) = expected.1;
    let original = (20 + 2 * x + y) as u8;
    assert!(first.abs_diff(original) <= 4, "{first}, expected {original}");
}
