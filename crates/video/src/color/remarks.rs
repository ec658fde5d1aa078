//! Reports the colour tags of a picture that are not supported, as clauses such as "HDR (PQ), shown without tone mapping".
//! The numbers are those of ITU-T H.273.

use ffmpeg_next as ffmpeg;

use super::matrix;

/// Returns a clause for each colour tag of `picture` that is not supported.
pub(crate) fn of_picture(picture: &ffmpeg::frame::Video) -> Vec<String> {
    // SAFETY: the frame is valid. The field is a 32-bit enumeration that comes from the file, so it is read as the
    // integer that it is in C.
    let transfer = unsafe { (&raw const (*picture.as_ptr()).color_trc).cast::<u32>().read() };
    matrix::unsupported_matrix_remark(picture).into_iter().chain(transfer_remark(transfer)).collect()
}

/// Returns a clause about transfer characteristics whose pictures look pale or dark without a conversion; `None` for all
/// others.
fn transfer_remark(transfer: u32) -> Option<String> {
    let name = match transfer {
        8 => "linear light, shown as if it were coded for a display",
        9 | 10 => "logarithmic light, shown as if it were coded for a display",
        16 => "HDR (PQ), shown without tone mapping",
        18 => "HDR (HLG), shown without tone mapping",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use ffmpeg_next::ffi::{AVColorSpace as Space, AVColorTransferCharacteristic as Transfer};
    use ffmpeg_next::format::Pixel;

    use super::*;

    fn of(format: Pixel, space: Space, transfer: Transfer) -> Vec<String> {
        let mut picture = ffmpeg::frame::Video::new(format, 64, 48);
        // SAFETY: the frame is valid and owned; both are plain fields.
        unsafe {
            (*picture.as_mut_ptr()).colorspace = space;
            (*picture.as_mut_ptr()).color_trc = transfer;
        }
        of_picture(&picture)
    }

    #[test]
    fn hdr_is_reported() {
        let of = |transfer| of(Pixel::YUV420P10LE, Space::AVCOL_SPC_BT2020_NCL, transfer).join("; ");
        assert_eq!(of(Transfer::AVCOL_TRC_SMPTE2084), "HDR (PQ), shown without tone mapping");
        assert_eq!(of(Transfer::AVCOL_TRC_ARIB_STD_B67), "HDR (HLG), shown without tone mapping");
        assert!(of(Transfer::AVCOL_TRC_LINEAR).contains("linear"));
        for usual in [
            Transfer::AVCOL_TRC_UNSPECIFIED,
            Transfer::AVCOL_TRC_BT709,
            Transfer::AVCOL_TRC_SMPTE170M,
            Transfer::AVCOL_TRC_IEC61966_2_1,
            Transfer::AVCOL_TRC_BT2020_10,
            Transfer::AVCOL_TRC_BT2020_12,
        ] {
            assert_eq!(of(usual), "");
        }
    }

    #[test]
    fn unsupported_matrices_are_reported() {
        let of = |format, space| of(format, space, Transfer::AVCOL_TRC_BT709).join("; ");
        let is_like = " is not supported: colours are shown as ";
        for (space, name, instead) in [
            (Space::AVCOL_SPC_BT2020_CL, "BT.2020 constant luminance", "BT.2020 NCL"),
            (Space::AVCOL_SPC_ICTCP, "ICtCp", "BT.2020 NCL"),
            (Space::AVCOL_SPC_SMPTE2085, "SMPTE 2085", "BT.2020 NCL"),
            (Space::AVCOL_SPC_CHROMA_DERIVED_NCL, "the matrix that follows from the primaries", "BT.601"),
            (Space::AVCOL_SPC_CHROMA_DERIVED_CL, "constant luminance by the primaries", "BT.601"),
        ] {
            let told = of(Pixel::YUV420P, space);
            assert_eq!(told, format!("{name}{is_like}{instead}"));
            assert_eq!(of(Pixel::GBRP, space), "", "RGB has no matrix");
            assert_eq!(of(Pixel::GRAY8, space), "", "nor has grey");
        }
        for space in [
            Space::AVCOL_SPC_UNSPECIFIED,
            Space::AVCOL_SPC_BT709,
            Space::AVCOL_SPC_BT470BG,
            Space::AVCOL_SPC_SMPTE170M,
            Space::AVCOL_SPC_SMPTE240M,
            Space::AVCOL_SPC_FCC,
            Space::AVCOL_SPC_BT2020_NCL,
            Space::AVCOL_SPC_YCGCO,
        ] {
            assert_eq!(of(Pixel::YUV420P, space), "");
        }
        assert_eq!(of(Pixel::GBRP, Space::AVCOL_SPC_RGB), "");
    }
}
