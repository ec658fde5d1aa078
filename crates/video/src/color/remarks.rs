//! Reports the colour tags of a picture that are not supported, as clauses such as "HDR (PQ), shown without tone mapping".
//! The numbers are those of ITU-T H.273.

use ffmpeg_next as ffmpeg;

use super::matrix;

/// Returns a remark, worded as a clause, for each colour tag of `picture` that is not supported; empty if all are supported.
pub(crate) fn of_picture(picture: &ffmpeg::frame::Video) -> Vec<String> {
    // SAFETY: the frame is valid. The field is a 32-bit enumeration that comes from the file, so it is read as the
    // integer that it is in C.
    let [transfer, primaries] = unsafe {
        let frame = picture.as_ptr();
        [
            (&raw const (*frame).color_trc).cast::<u32>().read(),
            (&raw const (*frame).color_primaries).cast::<u32>().read(),
        ]
    };
    let of_matrix = matrix::unsupported_matrix_remark(picture).into_iter();
    // Without tone mapping HDR has no right colours anyway.
    let is_hdr = matches!(transfer, 16 | 18);
    let of_primaries = primaries_remark(primaries).filter(|_| !is_hdr && matrix::has_primaries(picture));
    of_matrix.chain(transfer_remark(transfer)).chain(of_primaries).collect()
}

/// Returns a remark, worded as a clause, if these primaries differ visibly from those of BT.709; otherwise `None`. The
/// primaries of BT.601 and similar ones differ little.
fn primaries_remark(primaries: u32) -> Option<String> {
    let name = match primaries {
        0..=3 | 5..=7 | 22 => return None,
        4 => "BT.470 M",
        8 => "film",
        9 => "BT.2020",
        10 => "XYZ",
        11 => "DCI-P3",
        12 => "Display P3",
        number => {
            return Some(format!(
                "the primaries of number {number} are not known: colours are shown as BT.709"
            ));
        }
    };
    Some(format!("wide gamut ({name}), shown as if it were BT.709: colours look pale"))
}

/// Returns a remark, worded as a clause, if pictures with these transfer characteristics look pale or dark without a
/// conversion; otherwise `None`.
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
    use ffmpeg_next::ffi::{
        AVColorPrimaries as Primaries, AVColorSpace as Space, AVColorTransferCharacteristic as Transfer,
    };
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
    fn wide_gamut_is_reported() {
        let of = |format, primaries: u32, transfer| {
            let mut picture = ffmpeg::frame::Video::new(format, 64, 48);
            // SAFETY: the frame is valid and owned. The primaries are written as the integer that they are in C.
            unsafe {
                let frame = picture.as_mut_ptr();
                (&raw mut (*frame).color_primaries).cast::<u32>().write(primaries);
                (*frame).color_trc = transfer;
            }
            of_picture(&picture).join("; ")
        };
        for (primaries, name) in [
            (Primaries::AVCOL_PRI_BT470M, "BT.470 M"),
            (Primaries::AVCOL_PRI_FILM, "film"),
            (Primaries::AVCOL_PRI_BT2020, "BT.2020"),
            (Primaries::AVCOL_PRI_SMPTE428, "XYZ"),
            (Primaries::AVCOL_PRI_SMPTE431, "DCI-P3"),
            (Primaries::AVCOL_PRI_SMPTE432, "Display P3"),
        ] {
            let told = format!("wide gamut ({name}), shown as if it were BT.709: colours look pale");
            for format in [Pixel::YUV420P, Pixel::YUV420P10LE, Pixel::GBRP, Pixel::RGB48BE, Pixel::PAL8] {
                for transfer in [
                    Transfer::AVCOL_TRC_UNSPECIFIED,
                    Transfer::AVCOL_TRC_BT709,
                    Transfer::AVCOL_TRC_BT2020_10,
                    Transfer::AVCOL_TRC_IEC61966_2_1,
                ] {
                    assert_eq!(of(format, primaries as u32, transfer), told, "{format:?}");
                }
            }
            let pq = of(Pixel::YUV420P10LE, primaries as u32, Transfer::AVCOL_TRC_SMPTE2084);
            assert_eq!(pq, "HDR (PQ), shown without tone mapping");
            for colourless in [Pixel::GRAY8, Pixel::GRAY16LE, Pixel::YA8, Pixel::XYZ12LE] {
                assert_eq!(of(colourless, primaries as u32, Transfer::AVCOL_TRC_BT709), "", "{colourless:?}");
            }
        }
        for usual in [
            Primaries::AVCOL_PRI_RESERVED0,
            Primaries::AVCOL_PRI_BT709,
            Primaries::AVCOL_PRI_UNSPECIFIED,
            Primaries::AVCOL_PRI_RESERVED,
            Primaries::AVCOL_PRI_BT470BG,
            Primaries::AVCOL_PRI_SMPTE170M,
            Primaries::AVCOL_PRI_SMPTE240M,
            Primaries::AVCOL_PRI_EBU3213,
        ] {
            assert_eq!(of(Pixel::YUV420P, usual as u32, Transfer::AVCOL_TRC_BT709), "");
        }
        assert!(of(Pixel::YUV420P, 77, Transfer::AVCOL_TRC_BT709).contains("number 77"));
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
