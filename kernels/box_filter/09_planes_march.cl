// Box filter on planes, before they become RGBA: for GPUs.
//
// The march of 07_march.cl on one component at a time, each at its own size. A work-group owns a strip of one
// component: some columns wide, some rows high. Each work-item keeps the sums of COLUMNS neighbouring columns in
// registers, adds the row that enters the window and subtracts the one that leaves. Their weighted values in the
// present row (see 08_planes.cl) go to local memory; the group meets at a
// barrier, and each work-item slides along its own columns. Its first window is made of whole blocks of columns and
// of two parts of blocks.
//
// The groups of all components come from one launch: `groups` across and `strips` down for each, one component after
// the other. Across, the groups share a component's blocks of COLUMNS columns evenly.
//
// -D GROUP    work-items of a group, at least 2*ceil(r / COLUMNS) + 1 for the largest radius r
// -D SAMPLE_BYTES  bytes of a sample, 1 or 2
//
// The other arguments are those of 08_planes.cl.
#ifndef GROUP
#define GROUP 128
#endif
#ifndef SAMPLE_BYTES
#define SAMPLE_BYTES 1
#endif
#define COLUMNS 8

#if SAMPLE_BYTES == 2
typedef ushort sample_t;
typedef ushort2 samples_t;
#define TOGETHER 2
#else
typedef uchar sample_t;
typedef uchar4 samples_t;
#define TOGETHER 4
#endif

// COLUMNS samples of a line from x on. `inside`: one follows the other, and none lies beyond the border, where the
// edge repeats.
void read_samples(uint *v, __global const sample_t *line, int x, int last, int step, int2 bits, bool inside)
{
    if (inside) {
        // Rows start at multiples of four bytes.
        __global const samples_t *some = (__global const samples_t *)(line + x);
#pragma unroll
        for (int i = 0; i < COLUMNS / TOGETHER; i++) {
            const samples_t s = some[i];
            v[TOGETHER * i] = s.s0;
            v[TOGETHER * i + 1] = s.s1;
#if SAMPLE_BYTES == 1
            v[TOGETHER * i + 2] = s.s2;
            v[TOGETHER * i + 3] = s.s3;
#endif
        }
    } else {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            v[i] = line[clamp(x + i, 0, last) * step];
    }
#if SAMPLE_BYTES == 2
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        v[i] = (v[i] >> bits.s0) & bits.s1;
#endif
}

// A row's column sums of the whole group. A work-item's columns lie GROUP apart, so that neighbouring work-items touch
// neighbouring addresses.
typedef __local uint (*row_t)[GROUP];

uint column_at(row_t row, int offset, int item)
{
    return row[offset & (COLUMNS - 1)][item + (offset >> 3)];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
box_planes(__global const sample_t *restrict samples, __global ushort *restrict filtered, int4 width, int4 height,
           int4 offset, int4 stride, int4 step, int4 to_offset, int4 to_stride, int4 subsampled, int2 bits, int4 window,
           float scale, float half_scale, int row0, int rows, int4 groups, int4 strips)
{
    __local uint columns[2][COLUMNS][GROUP];
    __local uint totals[2][GROUP];

    // The component of this group, and its place in it.
    int group = get_group_id(0);
    int w = width.s0, h = height.s0, from = offset.s0, pitch = stride.s0, apart = step.s0, to = to_offset.s0;
    int to_pitch = to_stride.s0, half_of = subsampled.s0, across = groups.s0, down = strips.s0;
    float factor = scale;
    if (group >= across * down && width.s1 > 0) {
        group -= across * down;
        w = width.s1, h = height.s1, from = offset.s1, pitch = stride.s1, apart = step.s1, to = to_offset.s1;
        to_pitch = to_stride.s1, half_of = subsampled.s1, across = groups.s1, down = strips.s1, factor = half_scale;
    }
    if (group >= across * down && width.s2 > 0) {
        group -= across * down;
        w = width.s2, h = height.s2, from = offset.s2, pitch = stride.s2, apart = step.s2, to = to_offset.s2;
        to_pitch = to_stride.s2, half_of = subsampled.s2, across = groups.s2, down = strips.s2, factor = half_scale;
    }
    if (group >= across * down && width.s3 > 0) {
        group -= across * down;
        w = width.s3, h = height.s3, from = offset.s3, pitch = stride.s3, apart = step.s3, to = to_offset.s3;
        to_pitch = to_stride.s3, half_of = subsampled.s3, across = groups.s3, down = strips.s3, factor = scale;
    }
    const int half_down = half_of >> 1;
    const bool half_across = half_of & 1;
    const int reach_x = half_across ? window.s1 : window.s0;
    const int full_x = half_across ? window.s2 : 1, end_x = half_across ? window.s3 : 0;
    const int reach_y = half_down ? window.s1 : window.s0;
    const uint full_y = half_down ? window.s2 : 1, end_y = half_down ? window.s3 : 0;

    const int item = get_local_id(0);
    const int blocks = (w + COLUMNS - 1) / COLUMNS;
    const int share = (blocks + across - 1) / across;
    // One more column on each side than the sums reach: the weighted ends.
    const int halo = (reach_x + 1 + COLUMNS - 1) / COLUMNS;
    const int x = (group % across * share - halo + item) * COLUMNS;
    const int first = (row0 + half_down) >> half_down;
    const int count = ((row0 + rows + half_down) >> half_down) - first;
    const int y0 = first + (int)((long)count * (group / across) / down);
    const int y1 = first + (int)((long)count * (group / across + 1) / down);

    const int last = w - 1;
    const int bottom = h - 1;
    const bool reads = item < share + 2 * halo;
    const bool writes = item >= halo && item < halo + share && x < w;
    const bool inside = apart == 1 && x >= 0 && x + COLUMNS <= w;
    __global const sample_t *plane = samples + from;

    // The window of the row above the strip, and the row that enters it next.
    uint sum[COLUMNS], enters[COLUMNS], leaves[COLUMNS], v[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        sum[c] = 0, enters[c] = 0, leaves[c] = 0, v[c] = 0;
    if (reads) {
        for (int j = y0 - 1 - reach_y; j < y0 + reach_y; j++) {
            read_samples(v, plane + clamp(j, 0, bottom) * pitch, x, last, apart, bits, inside);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
                sum[c] += v[c];
        }
        read_samples(enters, plane + min(y0 + reach_y, bottom) * pitch, x, last, apart, bits, inside);
        read_samples(leaves, plane + max(y0 - reach_y - 1, 0) * pitch, x, last, apart, bits, inside);
        read_samples(v, plane + min(y0 + reach_y + 1, bottom) * pitch, x, last, apart, bits, inside);
    }
    // All of a group have the same rows, so all meet at each barrier.
    for (int y = y0; y < y1; y++) {
        row_t row = columns[y & 1];
        __local uint *total = totals[y & 1];
        uint all = 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            sum[c] += enters[c] - leaves[c];
            const uint column = full_y * sum[c] + end_y * (leaves[c] + v[c]);
            row[c][item] = column;
            all += column;
            enters[c] = v[c];
        }
        total[item] = all;
        // Load for the next row before this one is finished.
        if (reads && y + 1 < y1) {
            read_samples(leaves, plane + max(y - reach_y, 0) * pitch, x, last, apart, bits, inside);
            read_samples(v, plane + min(y + reach_y + 2, bottom) * pitch, x, last, apart, bits, inside);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!writes)
            continue;

        const int left = item - reach_x / COLUMNS;
        const int right = item + (reach_x + 1) / COLUMNS;
        int sums = 0;
        for (int b = left; b < right; b++)
            sums += total[b];
        for (int c = 0; c < reach_x % COLUMNS; c++)
            sums += row[COLUMNS - 1 - c][left - 1];
        for (int c = 0; c < (reach_x + 1) % COLUMNS; c++)
            sums += row[c][right];

        ushort out[COLUMNS];
        int before = column_at(row, -reach_x - 1, item);
        int after = column_at(row, reach_x + 1, item);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            out[c] = convert_int_rte(convert_float(full_x * sums + end_x * (before + after)) * factor);
            if (c + 1 < COLUMNS) {
                before = column_at(row, c - reach_x, item);
                sums += after - before;
                after = column_at(row, c + reach_x + 2, item);
            }
        }
        // Rows are padded to whole blocks.
        *(__global ushort8 *)(filtered + to + y * to_pitch + x) =
            (ushort8)(out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7]);
    }
}
