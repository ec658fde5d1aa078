//! Detects Dolby Vision without a compatible base layer. Its pictures are in the colour space IPT-PQ-C2, which can be converted
//! only with the metadata of Dolby Vision.

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::frame::Video;

use crate::libav;

/// The profile whose base layer is never compatible. A stream without a configuration record is assumed to have this profile if
/// its base layer is incompatible, unless it is AV1.
const INCOMPATIBLE_PROFILE: u8 = 5;
/// The Dolby Vision profile of AV1 streams.
const AV1_PROFILE: u8 = 10;
/// The profiles in whose configuration records 0 states an incompatible base layer. In records of older profiles 0 has other
/// meanings.
const PROFILES_WITH_COMPATIBILITY: [u8; 3] = [8, AV1_PROFILE, 20];

/// Returns a remark, worded as a clause, if the stream or the picture is Dolby Vision without a compatible base layer;
/// otherwise `None`.
///
/// The stream's configuration record decides. Without a record, as in a raw stream, the picture's own metadata decide.
pub(super) fn remark(stream: Option<&ffmpeg::Stream>, picture: &Video) -> Option<String> {
    let profile = match stream.and_then(record) {
        Some((profile, compatibility)) => {
            let is_incompatible = profile == INCOMPATIBLE_PROFILE
                || (compatibility == 0 && PROFILES_WITH_COMPATIBILITY.contains(&profile));
            is_incompatible.then_some(profile)?
        }
        None => {
            let kind = ffmpeg::frame::side_data::Type::DOVI_METADATA;
            let data = picture.side_data(kind)?;
            let is_av1 = stream.is_some_and(|stream| stream.parameters().id() == Id::AV1);
            let profile = if is_av1 { AV1_PROFILE } else { INCOMPATIBLE_PROFILE };
            is_incompatible(data.data())?.then_some(profile)?
        }
    };
    Some(format!("Dolby Vision profile {profile}, shown without its conversion: colours are wrong"))
}

/// Returns the profile of the Dolby Vision configuration record in the side data of a stream, and the number of the standard with
/// which the base layer is compatible, 0 if it is compatible with none; `None` if there is no record.
fn record(stream: &ffmpeg::Stream) -> Option<(u8, u8)> {
    let data = libav::stream_side_data(stream, c"DOVI configuration record")?;
    // FFmpeg's AVDOVIDecoderConfigurationRecord: a byte for each of major and minor version, profile, level, three flags, and
    // the base layer's compatibility.
    match *data.data() {
        [_, _, profile, _, _, _, _, compatibility, ..] => Some((profile, compatibility)),
        _ => None,
    }
}

/// Returns true if the metadata of a picture are those of profile 5; `None` if they are too short.
///
/// FFmpeg's own rule: the profile of the metadata is 0, and the base layer has full range. AVDOVIMetadata begins with the
/// offset of an AVDOVIRpuDataHeader, in which these are the bytes 4 and 10.
fn is_incompatible(metadata: &[u8]) -> Option<bool> {
    let header = usize::from_ne_bytes(*metadata.first_chunk()?);
    let byte = |at: usize| metadata.get(header.checked_add(at)?);
    Some((*byte(4)?, *byte(10)?) == (0, 1))
}

#[cfg(test)]
mod tests {
    use ffmpeg_next::ffi;
    use ffmpeg_next::format::Pixel;

    use super::*;

    fn with_metadata(profile: u8, full_range: u8) -> Video {
        let mut picture = Video::new(Pixel::YUV420P10LE, 16, 16);
        let mut metadata = 40_usize.to_ne_bytes().to_vec();
        metadata.resize(40 + 11, 0xff);
        (metadata[40 + 4], metadata[40 + 10]) = (profile, full_range);
        // SAFETY: the frame is valid and owned, and the side data have this length.
        unsafe {
            let kind = ffi::AVFrameSideDataType::AV_FRAME_DATA_DOVI_METADATA;
            let made = ffi::av_frame_new_side_data(picture.as_mut_ptr(), kind, metadata.len() as _);
            (*made).data.copy_from_nonoverlapping(metadata.as_ptr(), metadata.len());
        }
        picture
    }

    #[test]
    fn metadata_of_profile_5_are_named() {
        let named = remark(None, &with_metadata(0, 1)).unwrap();
        assert!(named.starts_with("Dolby Vision profile 5,"), "{named}");
        for compatible in [(1, 0), (1, 1), (0, 0)] {
            assert_eq!(remark(None, &with_metadata(compatible.0, compatible.1)), None);
        }
        assert_eq!(remark(None, &Video::new(Pixel::YUV420P, 16, 16)), None);
        assert_eq!(is_incompatible(&[0; 5]), None);
        assert_eq!(is_incompatible(&usize::MAX.to_ne_bytes()), None);
    }
}
