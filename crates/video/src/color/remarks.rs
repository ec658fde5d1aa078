//! Reports the colour tags of a picture that are not supported, as clauses such as "HDR (PQ), shown without tone mapping".
//! The numbers are those of ITU-T H.273.

use ffmpeg_next::frame::Video;

use super::matrix;

/// The names of primaries that differ visibly from those of BT.709.
const WIDE_GAMUTS: [(u32, &str); 6] =
    [(4, "BT.470 M"), (8, "film"), (9, "BT.2020"), (10, "XYZ"), (11, "DCI-P3"), (12, "Display P3")];

/// Returns a remark, worded as a clause, for each colour tag of `picture` that is not supported; empty if all are supported.
pub(crate) fn of_picture(picture: &Video) -> Vec<String> {
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
    if matches!(primaries, 0..=3 | 5..=7 | 22) {
        return None;
    }
    Some(match WIDE_GAMUTS.iter().find(|(number, _)| *number == primaries) {
        Some((_, name)) => format!("wide gamut ({name}), shown as if it were BT.709: colours look pale"),
        None => format!("the primaries of number {primaries} are not known: colours are shown as BT.709"),
    })
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
    use ffmpeg_next::format::Pixel;

    use super::*;

    /// The tags of pictures in BT.709, and those that state nothing.
    const BT709: u32 = 1;
    const UNSPECIFIED: u32 = 2;

    /// Returns the remarks about a picture with these tags, as numbers of ITU-T H.273.
    fn of(format: Pixel, [space, transfer, primaries]: [u32; 3]) -> String {
        let mut picture = Video::new(format, 64, 48);
        // SAFETY: the frame is valid and owned. The tags are written as the integers that they are in C.
        unsafe {
            let frame = picture.as_mut_ptr();
            (&raw mut (*frame).colorspace).cast::<u32>().write(space);
            (&raw mut (*frame).color_trc).cast::<u32>().write(transfer);
            (&raw mut (*frame).color_primaries).cast::<u32>().write(primaries);
        }
        of_picture(&picture).join("; ")
    }

    #[test]
    fn wide_gamut_is_reported() {
        let of = |format, transfer, primaries| of(format, [UNSPECIFIED, transfer, primaries]);
        let all =
            [(4, "BT.470 M"), (8, "film"), (9, "BT.2020"), (10, "XYZ"), (11, "DCI-P3"), (12, "Display P3")];
        for (primaries, name) in all {
            let told = format!("wide gamut ({name}), shown as if it were BT.709: colours look pale");
            for format in [Pixel::YUV420P, Pixel::YUV420P10LE, Pixel::GBRP, Pixel::RGB48BE, Pixel::PAL8] {
                for transfer in [UNSPECIFIED, BT709, 13, 14] {
                    assert_eq!(of(format, transfer, primaries), told, "{format:?}");
                }
            }
            assert_eq!(of(Pixel::YUV420P10LE, 16, primaries), "HDR (PQ), shown without tone mapping");
            for colourless in [Pixel::GRAY8, Pixel::GRAY16LE, Pixel::YA8, Pixel::XYZ12LE] {
                assert_eq!(of(colourless, BT709, primaries), "", "{colourless:?}");
            }
        }
        for usual in [0, 1, 2, 3, 5, 6, 7, 22] {
            assert_eq!(of(Pixel::YUV420P, BT709, usual), "");
        }
        assert!(of(Pixel::YUV420P, BT709, 77).contains("number 77"));
    }

    #[test]
    fn hdr_is_reported() {
        let of = |transfer| of(Pixel::YUV420P10LE, [9, transfer, UNSPECIFIED]);
        assert_eq!(of(16), "HDR (PQ), shown without tone mapping");
        assert_eq!(of(18), "HDR (HLG), shown without tone mapping");
        assert!(of(8).contains("linear"));
        for usual in [UNSPECIFIED, BT709, 6, 13, 14, 15] {
            assert_eq!(of(usual), "");
        }
    }

    #[test]
    fn unsupported_matrices_are_reported() {
        let of = |format, space| of(format, [space, BT709, UNSPECIFIED]);
        for (space, name, instead) in [
            (10, "BT.2020 constant luminance", "BT.2020 NCL"),
            (14, "ICtCp", "BT.2020 NCL"),
            (11, "SMPTE 2085", "BT.2020 NCL"),
            (12, "the matrix that follows from the primaries", "BT.601"),
            (13, "constant luminance by the primaries", "BT.601"),
        ] {
            let told = format!("{name} is not supported: colours are shown as {instead}");
            assert_eq!(of(Pixel::YUV420P, space), told);
            assert_eq!(of(Pixel::GBRP, space), "", "RGB has no matrix");
            assert_eq!(of(Pixel::GRAY8, space), "", "nor has grey");
        }
        for space in [UNSPECIFIED, 1, 4, 5, 6, 7, 8, 9] {
            assert_eq!(of(Pixel::YUV420P, space), "");
        }
        assert_eq!(of(Pixel::GBRP, 0), "");
    }
}
