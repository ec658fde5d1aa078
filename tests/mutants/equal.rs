//! Mutants that no case can distinguish from the original, with the reason.

/// Mutants that are equal for one reason.
pub struct Equal {
    /// The reason.
    pub why: &'static str,
    /// True if only some devices or compilers distinguish them.
    pub by_device: bool,
    /// The file and the changed line of each.
    pub places: &'static [(&'static str, &'static str)],
}

const fn equal(why: &'static str, places: &'static [(&'static str, &'static str)]) -> Equal {
    Equal { why, by_device: false, places }
}

const fn by_device(why: &'static str, places: &'static [(&'static str, &'static str)]) -> Equal {
    Equal { why, by_device: true, places }
}

/// All equal mutants.
pub const EQUAL: &[Equal] = &[
    equal(
        "The window is symmetric, and integer sums do not depend on their order.",
        &[
            (
                "box_filter/02_separable.cl",
                "sum += convert_uint4_rte(read_imagef(src, nearest, (int2)(x - i, y)) * 255.0f);",
            ),
            ("box_filter/03_flat.cl", "sum += convert_int4(sums[clamp(y - j, 0, height - 1) * width + x]);"),
        ],
    ),
    by_device(
        "A device's sampler may return fractions that are no whole number times 1/255.",
        &[
            (
                "box_filter/01_naive.cl",
                "sum += convert_int4_rtz(read_imagef(src, nearest, (int2)(x + i, y + j)) * 255.0f);",
            ),
            (
                "box_filter/02_separable.cl",
                "sum += convert_uint4_rtz(read_imagef(src, nearest, (int2)(x + i, y)) * 255.0f);",
            ),
            (
                "convert/02_correct.cl",
                "const uchar4 pixel = convert_uchar4_rtz(read_imagef(src, nearest, (int2)(x, y)) * 255.0f);",
            ),
        ],
    ),
    equal(
        "A write outside an image is ignored, and rows below the band get the bytes that they get anyway.",
        &[("box_filter/01_naive.cl", "if (x >= width && row >= rows)")],
    ),
    equal(
        "A work-item or a turn more has no pixel to store.",
        &[
            ("box_filter/05_running_sum.cl", "if (x > width || first >= rows)"),
            ("box_filter/05_running_sum.cl", "if (x >= width || first > rows)"),
            ("box_filter/06_fused.cl", "for (int x = 0; x <= width; x += 4) {"),
            ("convert/01_planes.cl", "if (x > width || y >= height)"),
        ],
    ),
    equal(
        "The loop for the last samples of a row handles any number of them.",
        &[("box_filter/08_planes.cl", "for (; x + 16 <= width; x += 16)")],
    ),
    equal(
        "Rows that are read in vain enter no result.",
        &[("box_filter/07_march.cl", "if (reads || (first) < y1) {")],
    ),
    equal(
        "An array is one longer than needed.",
        &[("box_filter/08_planes.cl", "const float scales[5] = { scale.s0, scale.s1, scale.s2, scale.s3 };")],
    ),
    equal(
        "Filtered samples have 12 bits.",
        &[(
            "box_filter/08_planes.cl",
            "*(__global ushort16_at2 *)(out + x) = min(convert_ushort16(as_uint16(mean + 8388608.0f)), (ushort16)(30000));",
        )],
    ),
    equal(
        "A conversion to bytes keeps eight bits: 256 more or less is the same byte.",
        &[
            ("common/mean.clh", "return convert_int4_rte(convert_float4(sum + 128 * n) * scale) + 128;"),
            ("common/mean.clh", "return convert_int4_rte(convert_float4(sum - 128 * n) * scale) - 128;"),
            ("common/mean.clh", "return convert_int16_rte(convert_float16(sum + 128 * n) * scale) + 128;"),
        ],
    ),
    equal(
        "The correction of the checks maps the two brightest levels to one.",
        &[(
            "common/convert.clh",
            "const uchar4 out = correct(min(convert_uchar4(straight), (uchar4)(254)), curve, luma);",
        )],
    ),
    equal(
        "Both rows are the same, whatever their weights.",
        &[("convert/01_planes.cl", "const int row0 = y, row1 = y, fy = 1;")],
    ),
    by_device(
        "PoCL's sampler without flags reads the same pixels inside of the picture.",
        &[
            (
                "convert/02_correct.cl",
                "__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE & CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;",
            ),
            (
                "convert/02_correct.cl",
                "__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE & CLK_FILTER_NEAREST;",
            ),
        ],
    ),
    equal(
        "The last vector's rest is then added by other work-items, with the same result.",
        &[("vector_add/02_vector.cl", "} else if (v != whole) {")],
    ),
    by_device(
        "With one vector a work-item the index of the vector is 0.",
        &[("vector_add/02_vector.cl", "const uint v = first - item * GROUP;")],
    ),
    equal(
        "Transposed numbers count from 0: none is so large.",
        &[
            (
                "transpose/01_row_linear.cl",
                "transposed[column * m + row] = fmin(a[row * n + column], 1e16f);",
            ),
            (
                "transpose/02_column_linear.cl",
                "transposed[column * m + row] = fmin(a[row * n + column], 1e16f);",
            ),
            (
                "transpose/03_group_linear.cl",
                "transposed[column * m + row] = fmin(a[row * n + column], 1e16f);",
            ),
        ],
    ),
    equal(
        "The upper of two rows of chroma is at most the last one.",
        &[(
            "convert/03_rows.cl",
            "__global const ushort *above = plane + (field + (max(v >> 3, 0) << interlaced)) * stride;",
        )],
    ),
    equal("Adding nothing to a count changes nothing.", &[("histogram/histogram.clh", "if (sum >= 0)")]),
    by_device(
        "One histogram more is read behind the local memory, which holds zeros on PoCL.",
        &[("histogram/histogram.clh", "for (int copy = 0; copy <= count; copy++)")],
    ),
    equal(
        "The code for the last pixels of a row stores any number of them.",
        &[("convert/03_rows.cl", "if (!corrected && x + 16 < width) {")],
    ),
    by_device(
        "Scratch memory that was used before may still hold the edge's value.",
        &[("convert/03_rows.cl", "{ if (width != 640 && width != 1280) out[-1] = out[0]; }")],
    ),
];
