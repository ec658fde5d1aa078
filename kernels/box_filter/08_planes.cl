// Box filter on planes, before they become RGBA: for CPUs.
//
// The fused algorithm of 06_fused.cl on one component at a time, each at its own size. A work-item walks down a strip
// of rows of every component. `running` has the plain sums of the window's columns: from one row to the next the row
// of rows of every component. `running` has the plain sums of the window's columns: from one row to the next the row
// that enters is added and the one that leaves is subtracted. `columns` has their weighted values in the present row,
//
//     sum(x) = sum(x-16) + e(x) + e(x-1) + ... + e(x-15)      e(x) = columns(x+reach) - columns(x-reach-1)
//
// where each of the four steps adds what two, four, eight and sixteen of these differences make. A window along an
// axis on which the component has half the resolution counts 2*reach + 1 samples `full` times, and one more on
// either side `end` times; elsewhere `full` is 1 and `end` is 0.
//
// samples    the picture's block; offset, stride and step count samples, and are for Y, U, V or R, G, B, A
// filtered   the output of the same components, one sample after the other; rows are padded to whole vectors
// width, height  of each component; 0 for a missing one
// subsampled bit 0: across, to half the resolution; bit 1: down
// bits       shift and mask of a sample
// window     radius; then reach, full and end for subsampled axes
// scale      the factor of a component's sums; half_scale is that of the second and the third one
// row0, rows the band of rows to compute, in rows of the picture
// line       numbers in a line of scratch
// scratch    two lines for each work-item
#include "../common/vectors.clh"

// The product is rounded before 2^23 is added to it.
#pragma OPENCL FP_CONTRACT OFF

#ifndef SAMPLE_BYTES
#define SAMPLE_BYTES 1
#endif

#if SAMPLE_BYTES == 2
typedef ushort sample_t;
typedef ushort16_at2 samples_t;
typedef uint running_t;
typedef uint16_at4 runnings_t;
#define AS_RUNNING convert_uint16
#else
typedef uchar sample_t;
typedef uchar16_at1 samples_t;
typedef ushort running_t;
typedef ushort16_at2 runnings_t;
#define AS_RUNNING convert_ushort16
#endif

// The largest radius in pixels.
#define MAX_RADIUS 128
// The padding on the left of a line: the edge for the largest window, in whole cache lines.
#define MARGIN (MAX_RADIUS + 32)

#define COLUMNS16(x) (*(__global const uint16_at4 *)(columns + (x)))

running_t sample(__global const sample_t *line, int x, int step, int2 bits)
{
    return (line[x * step] >> bits.s0) & bits.s1;
}

// Sixteen adjacent samples. With a step of 2, one more behind them is read.
runnings_t samples16(__global const sample_t *line, int x, int step, int2 bits)
{
    runnings_t v;
    if (step == 1) {
        v = AS_RUNNING(*(__global const samples_t *)(line + x));
    } else if (step == 2) {
        const samples_t low = *(__global const samples_t *)(line + 2 * x);
        const samples_t high = *(__global const samples_t *)(line + 2 * x + 16);
        v = AS_RUNNING((samples_t)(low.even, high.even));
    } else {
        sample_t one[16];
        for (int i = 0; i < 16; i++)
            one[i] = line[(x + i) * step];
        v = AS_RUNNING(vload16(0, one));
    }
#if SAMPLE_BYTES == 2
    return (v >> (uint)bits.s0) & (uint)bits.s1;
#else
    return v;
#endif
}

// The running sums from the row above to this one, and their weighted sums. `next` is the row below the window.
__attribute__((always_inline))
void move_down(__global running_t *running, __global uint *columns, __global const sample_t *enters,
               __global const sample_t *leaves, __global const sample_t *next, int width, int step, int2 bits,
               uint full, uint end)
{
    int x = 0;
    for (; x + 16 < width; x += 16) {
        const runnings_t left = samples16(leaves, x, step, bits);
        runnings_t sum = *(__global runnings_t *)(running + x);
        sum += samples16(enters, x, step, bits) - left;
        *(__global runnings_t *)(running + x) = sum;
        uint16 column = convert_uint16(sum);
        if (end)
            column = full * column + end * convert_uint16(left + samples16(next, x, step, bits));
        *(__global uint16_at4 *)(columns + x) = column;
    }
    for (; x < width; x++) {
        const running_t left = sample(leaves, x, step, bits);
        const running_t sum = running[x] + sample(enters, x, step, bits) - left;
        running[x] = sum;
        columns[x] = end ? full * sum + end * (left + sample(next, x, step, bits)) : sum;
    }
}

// v, shifted by n places; the places before it come from `before`.
#define SHIFT1(before, v) ((int16)((before).sf, (v).s0123, (v).s456789ab, (v).scde))
#define SHIFT2(before, v) ((int16)((before).sef, (v).s01234567, (v).s89ab, (v).scd))
#define SHIFT4(before, v) ((int16)((before).scdef, (v).s01234567, (v).s89ab))
#define SHIFT8(before, v) ((int16)((before).s89abcdef, (v).s01234567))

// One row of the output from weighted column sums with their edges repeated.
__attribute__((always_inline))
void sum_row(__global const uint *columns, __global ushort *out, int width, int reach, int full, int end, float scale)
{
    // The window left of the first one: reach + 1 times the edge, and the samples after it.
    int first = (int)columns[0] * (reach + 1);
    for (int i = 0; i < reach; i++)
        first += columns[i];
    int16 sum = first;
    int16 one = 0, two = 0, four = 0, eight = 0;
    for (int x = 0; x < width; x += 16) {
        const int16 leaves = as_int16(COLUMNS16(x - reach - 1));
        const int16 one_on = as_int16(COLUMNS16(x + reach)) - leaves;
        const int16 two_on = one_on + SHIFT1(one, one_on);
        const int16 four_on = two_on + SHIFT2(two, two_on);
        const int16 eight_on = four_on + SHIFT4(four, four_on);
        sum += eight_on + SHIFT8(eight, eight_on);
        one = one_on;
        two = two_on;
        four = four_on;
        eight = eight_on;
        int16 weighted = sum;
        if (end)
            weighted = full * sum + end * (leaves + as_int16(COLUMNS16(x + reach + 1)));
        // 2^23 has no room for a fraction: adding it rounds to a whole number and leaves that in the lowest bits.
        const float16 mean = convert_float16(weighted) * scale;
        *(__global ushort16_at2 *)(out + x) = convert_ushort16(as_uint16(mean + 8388608.0f));
    }
}

void filter(__global const sample_t *from, __global ushort *to, int width, int height, int stride, int to_stride,
            int step, int2 bits, int4 across, int4 down, float scale, int y0, int y1, __global uint *scratch, int line)
{
    __global uint *columns = scratch + MARGIN;
    __global running_t *running = (__global running_t *)(scratch + line);
    const int last = height - 1;
    const int reach = down.s0;

    // The window of the row above the strip.
    for (int x = 0; x < width; x++)
        running[x] = 0;
    for (int j = y0 - 1 - reach; j < y0 + reach; j++) {
        __global const sample_t *row = from + clamp(j, 0, last) * stride;
        int x = 0;
        for (; x + 16 < width; x += 16)
            *(__global runnings_t *)(running + x) += samples16(row, x, step, bits);
        for (; x < width; x++)
            running[x] += sample(row, x, step, bits);
    }
    for (int y = y0; y < y1; y++) {
        __global const sample_t *enters = from + min(y + reach, last) * stride;
        __global const sample_t *leaves = from + max(y - reach - 1, 0) * stride;
        __global const sample_t *next = from + min(y + reach + 1, last) * stride;
        // Calls with constants, so that each is compiled for its case.
        if (step == 1 && down.s2 == 0)
            move_down(running, columns, enters, leaves, next, width, 1, bits, 1, 0);
        else if (step == 1)
            move_down(running, columns, enters, leaves, next, width, 1, bits, down.s1, down.s2);
        else if (step == 2)
            move_down(running, columns, enters, leaves, next, width, 2, bits, down.s1, down.s2);
        else
            move_down(running, columns, enters, leaves, next, width, step, bits, down.s1, down.s2);

        const uint16 left = columns[0];
        const uint16 right = columns[width - 1];
        for (int i = 0; i < across.s0 + 1; i += 16)
            *(__global uint16_at4 *)(columns - 16 - i) = left;
        for (int i = 0; i < across.s0 + 17; i += 16)
            *(__global uint16_at4 *)(columns + width + i) = right;
        if (across.s2 == 0)
            sum_row(columns, to + y * to_stride, width, across.s0, 1, 0, scale);
        else
            sum_row(columns, to + y * to_stride, width, across.s0, across.s1, across.s2, scale);
    }
}

__kernel void box_planes(__global const sample_t *samples, __global ushort *filtered, int4 width, int4 height,
                         int4 offset, int4 stride, int4 step, int4 to_offset, int4 to_stride, int4 subsampled,
                         int2 bits, int4 window, float scale, float half_scale, int row0, int rows, int line,
                         __global uint *scratch)
{
    const int strip = get_global_id(0);
    const int strips = get_global_size(0);
    const int widths[4] = { width.s0, width.s1, width.s2, width.s3 };
    const int heights[4] = { height.s0, height.s1, height.s2, height.s3 };
    const int offsets[4] = { offset.s0, offset.s1, offset.s2, offset.s3 };
    const int strides[4] = { stride.s0, stride.s1, stride.s2, stride.s3 };
    const int steps[4] = { step.s0, step.s1, step.s2, step.s3 };
    const int to_offsets[4] = { to_offset.s0, to_offset.s1, to_offset.s2, to_offset.s3 };
    const int to_strides[4] = { to_stride.s0, to_stride.s1, to_stride.s2, to_stride.s3 };
    const int is_subsampled[4] = { subsampled.s0, subsampled.s1, subsampled.s2, subsampled.s3 };
    const float scales[4] = { scale, half_scale, half_scale, scale };
    const int4 whole = (int4)(window.s0, 1, 0, 0);
    const int4 half_window = (int4)(window.s123, 0);

    for (int c = 0; c < 4 && widths[c] > 0; c++) {
        const int down = is_subsampled[c] >> 1;
        // Bands of the picture's rows that follow each other give bands of these rows that do.
        const int first = (row0 + down) >> down;
        const int count = ((row0 + rows + down) >> down) - first;
        const int y0 = first + (int)((long)count * strip / strips);
        const int y1 = first + (int)((long)count * (strip + 1) / strips);
        if (y0 < y1)
            filter(samples + offsets[c], filtered + to_offsets[c], widths[c], heights[c], strides[c], to_strides[c],
                   steps[c], bits, is_subsampled[c] & 1 ? half_window : whole, down ? half_window : whole, scales[c], y0,
                   y1, scratch + 2 * line * strip, line);
    }
}
