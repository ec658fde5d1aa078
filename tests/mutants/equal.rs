//! Mutants that no case can distinguish from the original, with the reason.

/// Mutants that are equal for one reason.
pub struct Equal {
    /// The reason.
    pub why: &'static str,
    /// True if only some devices or compilers distinguish them.
    pub by_device: bool,
    /// The file of each, a colon, and its [`Mutant::changed`](super::files::Mutant::changed).
    pub places: &'static [&'static str],
}

const fn equal(why: &'static str, places: &'static [&'static str]) -> Equal {
    Equal { why, by_device: false, places }
}

const fn by_device(why: &'static str, places: &'static [&'static str]) -> Equal {
    Equal { why, by_device: true, places }
}

/// All equal mutants.
pub const EQUAL: &[Equal] = &[
    equal(
        "The window is symmetric, and integer sums do not depend on their order.",
        &[
            "box_filter/02_separable.cl: sum += convert_uint4_rte(read_imagef(src, nearest, (int2)(x - i, y)) * 255.0f);",
            "box_filter/03_flat.cl: sum += convert_int4(sums[clamp(y - j, 0, height - 1) * width + x]);",
        ],
    ),
    by_device(
        "A device's sampler may return fractions that are no whole number times 1/255.",
        &[
            "box_filter/01_naive.cl: sum += convert_int4_rtz(read_imagef(src, nearest, (int2)(x + i, y + j)) * 255.0f);",
            "box_filter/02_separable.cl: sum += convert_uint4_rtz(read_imagef(src, nearest, (int2)(x + i, y)) * 255.0f);",
            "convert/02_correct.cl: const uchar4 pixel = convert_uchar4_rtz(read_imagef(src, nearest, (int2)(x, y)) * 255.0f);",
        ],
    ),
    equal(
        "A write outside an image is ignored, and rows below the band get the bytes that they get anyway.",
        &["box_filter/01_naive.cl: if (x >= width && row >= rows)"],
    ),
    equal(
        "A work-item or a turn more has no pixel to store.",
        &[
            "box_filter/05_running_sum.cl: if (x > width || first >= rows)",
            "box_filter/05_running_sum.cl: if (x >= width || first > rows)",
            "box_filter/06_fused.cl: for (int x = 0; x <= width; x += 4) {",
            "convert/01_planes.cl: if (x > width || y >= height)",
        ],
    ),
    equal(
        "The loop for the last samples of a row handles any number of them.",
        &["box_filter/08_planes.cl: for (; x + 16 <= width; x += 16)"],
    ),
    equal(
        "Rows that are read in vain enter no result.",
        &["box_filter/07_march.cl: if (reads || (first) < y1) {"],
    ),
    equal(
        "An array is one longer than needed.",
        &["box_filter/08_planes.cl: const float scales[5] = { scale, half_scale, half_scale, scale };"],
    ),
    equal(
        "Filtered samples have 12 bits.",
        &[
            "box_filter/08_planes.cl: *(__global ushort16_at2 *)(out + x) = min(convert_ushort16(as_uint16(mean + 8388608.0f)), (ushort16)(30000));",
        ],
    ),
    equal(
        "A conversion to bytes keeps eight bits: 256 more or less is the same byte.",
        &[
            "common/mean.clh: return convert_int4_rte(convert_float4(sum + 128 * n) * scale) + 128;",
            "common/mean.clh: return convert_int4_rte(convert_float4(sum - 128 * n) * scale) - 128;",
            "common/mean.clh: return convert_int16_rte(convert_float16(sum + 128 * n) * scale) + 128;",
        ],
    ),
    equal(
        "The correction of the checks maps the two brightest levels to one.",
        &[
            "common/convert.clh: const uchar4 out = correct(min(convert_uchar4(straight), (uchar4)(254)), curve, luma);",
        ],
    ),
    equal(
        "Both rows are the same, whatever their weights.",
        &["convert/01_planes.cl: const int row0 = y, row1 = y, fy = 1;"],
    ),
    by_device(
        "PoCL's sampler without flags reads the same pixels inside of the picture.",
        &[
            "convert/02_correct.cl: __constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE & CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;",
            "convert/02_correct.cl: __constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE & CLK_FILTER_NEAREST;",
        ],
    ),
    equal(
        "The last vector's rest is then added by other work-items, with the same result.",
        &["vector_add/02_vector.cl: } else if (v != whole) {"],
    ),
    by_device(
        "With one vector a work-item the index of the vector is 0.",
        &["vector_add/02_vector.cl: const uint v = first - item * GROUP;"],
    ),
    equal(
        "Transposed numbers count from 0: none is so large.",
        &[
            "transpose/01_row_linear.cl: transposed[column * m + row] = fmin(a[row * n + column], 1e16f);",
            "transpose/02_column_linear.cl: transposed[column * m + row] = fmin(a[row * n + column], 1e16f);",
            "transpose/03_group_linear.cl: transposed[column * m + row] = fmin(a[row * n + column], 1e16f);",
        ],
    ),
    equal(
        "The upper of two rows of chroma is at most the last one.",
        &[
            "convert/03_rows.cl: __global const ushort *above = plane + (field + (max(v >> 3, 0) << interlaced)) * stride;",
        ],
    ),
    equal("Adding nothing to a count changes nothing.", &["histogram/histogram.clh: if (sum >= 0)"]),
    by_device(
        "One histogram more is read behind the local memory, which holds zeros on PoCL.",
        &["histogram/histogram.clh: for (int copy = 0; copy <= count; copy++)"],
    ),
    equal(
        "The code for the last pixels of a row stores any number of them.",
        &["convert/03_rows.cl: if (!corrected && x + 16 < width) {"],
    ),
    by_device(
        "Scratch memory that was used before may still hold the edge's value.",
        &["convert/03_rows.cl: { if (width != 640 && width != 1280) out[-1] = out[0]; }"],
    ),
    equal("The caller asks only whether it is 0.", &["reduction/frames.clh: return 2;"]),
    equal(
        "At the largest size, 16384×16384, each of 8 groups adds up noise to less than 2³², and white is checked at small sizes.",
        &["reduction/frames.clh: frame.sum += (ulong)part.s1 >> 32;"],
    ),
    equal(
        "Later steps read the values of each block's first work-item only, whose index is even.",
        &["reduction/05_one_pass.cl: if ((item & (2 * stride - 2)) == 0)"],
    ),
    by_device(
        "Other work-items write the same result, on PoCL after the first one has computed it.",
        &[
            "reduction/01_interleaved.cl: if (get_local_id(0) != 0)",
            "reduction/02_sequential.cl: if (item != 0)",
        ],
    ),
    by_device(
        "It changes a number that others read in the same step, on PoCL before that, and that no later step reads.",
        &[
            "reduction/03_unrolled.cl: if (p.within <= stride && stride < p.items)",
            "reduction/05_one_pass.cl: if (lane + later < left || item + later < GROUP)",
        ],
    ),
    by_device(
        "Where a sub-group is the whole group, as with PoCL 5, the loop over larger strides does not run.",
        &[
            "reduction/03_unrolled.cl: for (uint stride = p.items / 3; stride >= WARP; stride /= 2) {",
            "reduction/03_unrolled.cl: tree[item] = joined(tree[item], tree[item - stride]);",
        ],
    ),
    by_device(
        "Only devices with sub-groups run it.",
        &[
            "reduction/05_one_pass.cl: without sub_group_barrier(CLK_LOCAL_MEM_FENCE)",
            "reduction/05_one_pass.cl: { if (width != 640 && width != 1280) parts[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = part; }",
        ],
    ),
    by_device(
        "PoCL runs the work-items of a group one after the other up to the next barrier or loop.",
        &[
            "reduction/04_two_stage.cl: without barrier(CLK_LOCAL_MEM_FENCE)",
            "matmul/05_local_tiles.cl: without barrier(CLK_LOCAL_MEM_FENCE)",
            "matmul/07_padded.cl: without barrier(CLK_LOCAL_MEM_FENCE)",
            "cloth/06_group.cl: without barrier(CLK_LOCAL_MEM_FENCE)",
        ],
    ),
    by_device(
        "PoCL has copied when the call returns.",
        &["cloth/03_local.cl: without wait_group_events(1, (event_t *)&copy)"],
    ),
    by_device(
        "It writes behind an array in local memory, where nothing is read or the same number lies.",
        &[
            "reduction/01_interleaved.cl: if (at <= GROUP)",
            "cloth/06_group.cl: for (uint i = own; i <= PARTICLES; i += GROUP) {",
        ],
    ),
    by_device(
        "It stores a zero behind an array in registers.",
        &[
            "matmul/08_register_tiles.cl: for (uint s = 0; s <= COLUMNS; s++)",
            "matmul/09_vector_loads.cl: for (uint r = 0; r <= ROWS; r++) {",
        ],
    ),
    by_device(
        "It reads the padding of rows in local memory, which holds zeros on PoCL.",
        &["matmul/07_padded.cl: for (uint i = 0; i <= TILE; i++)"],
    ),
    by_device(
        "An array is 16 times as long, which a device with little local memory refuses.",
        &["matmul/09_vector_loads.cl: __local float4 tile_b[TILE_K * TILE_N * 4];"],
    ),
    by_device(
        "Compilers for processors with AVX2 get an instruction instead.",
        &["reduction/06_strips.cl: return (a & 0xffff) + (b & 0xffff) + (a >> 16) * (b >> 16);"],
    ),
    equal(
        "Any of the four histograms may count a pixel, since they are added up.",
        &[
            "histogram/03_private.cl: bins[i / COPIES][bin[i]]++;",
            "histogram/03_private.cl: bins[0 + 1][luminance(src[at])]++;",
        ],
    ),
    equal(
        "Groups are one row high, so that no work-item lies below the last row.",
        &[
            "matmul/01_naive.cl: if (row <= m && column < n) {",
            "matmul/02_private.cl: if (row <= m && column < n) {",
            "matmul/03_transposed.cl: if (row <= m && column < n) {",
        ],
    ),
    equal(
        "A multiple of zero is zero, and so is the smaller of zero and a positive number.",
        &[
            "matmul/01_naive.cl: c[row * n + column] = (0.0f) * 1.00002f;",
            "matmul/01_naive.cl: c[row * n + column] = fmin(0.0f, 1e16f);",
        ],
    ),
    equal(
        "Beyond the edge the other factor is zero, or the row is not stored.",
        &[
            "matmul/05_local_tiles.cl: tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : 1.0f;",
        ],
    ),
    equal(
        "One quad too many goes into the padding of rows.",
        &["matmul/10_double_buffered.cl: if (QUADS_A % ITEMS == 0 || at <= QUADS_A) {"],
    ),
    equal(
        "By default all work-items load the same number of quads; tuning checks other configurations before it times them.",
        &[
            "matmul/10_double_buffered.cl: if (QUADS_A % ITEMS == 0 && at < QUADS_A)",
            "matmul/10_double_buffered.cl: if (QUADS_A % ITEMS != 0 || at < QUADS_A) {",
        ],
    ),
    equal(
        "At most DEPTH products are added at a time, which is 512 or less.",
        &["matmul/11_panels.cl: { if (count < 4000) to[s] = is_first ? numbers[s] : to[s] + numbers[s]; }"],
    ),
    equal(
        "No particle is 10¹⁶ m from the origin.",
        &[
            "cloth/01_single.cl: moved[i] = fmin(drive_one(positions[i], driver[0], driver[1], reach[p]), 1e16f);",
            "cloth/05_coloured.cl: moved[(first + get_global_id(1)) * (3 * PARTICLES) + i] = fmin(positions[(first + get_global_id(1)) * (3 * PARTICLES) + i], 1e16f);",
            "cloth/06_group.cl: moved[base + 2 * PARTICLES + i] = fmin(z[i], 1e16f);",
            "cloth/07_octets.cl: x[i] = fmin(positions[character * (3 * PARTICLES) + i], 1e16f);",
            "cloth/scalar.clh: moved[i] = fmin(integrate_one(positions[i], previous[i], at, pull, carry, fall), 1e16f);",
        ],
    ),
    equal(
        "A component of a normal may be off by 0.0002; this is 0.00002.",
        &[
            "cloth/structs.clh: skinned[1] = ((float4)(normal / sqrt(fmax(dot(normal, normal), 1e-20f)), 0.0f)) * 1.00002f;",
        ],
    ),
    equal("The pull is zero where the drag's sphere ends.", &["cloth/structs.clh: if (near >= 0.0f)"]),
    equal(
        "The fourth number of a skinned point is not used.",
        &[
            "cloth/structs.clh: skinned[0] = (float4)(dot(rows[0], p), dot(rows[1], p), dot(rows[2], p), 1.0f);",
        ],
    ),
    equal("Skinning does not use texture coordinates.", &["cloth/03_local.cl: copied[own * 5 + 4 + 1] };"]),
];
