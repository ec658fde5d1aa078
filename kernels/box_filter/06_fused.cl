// Box filter, beyond the ladder: fused, for CPUs.
//
// Rows and columns in one kernel. A work-item walks down a strip of whole rows and keeps the sums of all its
// columns: from one row to the next it adds the row that enters the window and subtracts the one that leaves
// it. Along each row it sums these sums the same way. A pixel is read when it enters and when it leaves, and
// the sums of a row stay in the nearest cache.
//
// Along a row four pixels, sixteen channels, are computed at once from the four before them:
//
//     sum(x) = sum(x-4) + e(x) + e(x-1) + e(x-2) + e(x-3)      e(x) = columns(x+radius) - columns(x-radius-1)
//
// Only that one addition waits for the four pixels before; everything else runs ahead of it.
//
// src, dst   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
// scratch    LINE column sums for each work-item
#include "../common/mean.clh"
#include "../common/vectors.clh"

// A row of column sums with its edges repeated on both sides, for the largest radius and four pixels more.
#define LINE ((width + 2 * 128 + 64 + 31) / 32 * 32)
// The place of the first column's sum in it: room for the left edge, whole cache lines.
#define MARGIN 144

// e(x) to e(x+3). Unless the radius is 64 or more, 16 bits hold the difference with its sign.
int16 differences(__global const ushort4 *columns, int x, int radius, bool wide)
{
    const ushort16 enters = LOAD_USHORT16(columns + x + radius);
    const ushort16 leaves = LOAD_USHORT16(columns + x - radius - 1);
    if (wide)
        return convert_int16(enters) - convert_int16(leaves);
    return convert_int16(as_short16((ushort16)(enters - leaves)));
}

// The four pixels that follow those that `before` ends with.
int16 shift1(int16 before, int16 v)
{
    return (int16)(before.scdef, v.s0123, v.s4567, v.s89ab);
}

int16 shift2(int16 before, int16 v)
{
    return (int16)(before.s89ab, before.scdef, v.s0123, v.s4567);
}

// One row of the output from the column sums with their edges repeated.
void sum_row(__global const ushort4 *columns, __global uchar4 *out, int width, int radius, float scale,
             bool wide)
{
    // The window of pixel 0: its left half is the edge, radius times.
    const int n = (2 * radius + 1) * (2 * radius + 1);
    int4 s0 = convert_int4(columns[0]) * (radius + 1) - 128 * n;
    int16 part = 0;
    int i = 1;
    for (; i + 3 <= radius; i += 4)
        part += convert_int16(LOAD_USHORT16(columns + i));
    for (; i <= radius; i++)
        s0 += convert_int4(columns[i]);
    s0 += part.s0123 + part.s4567 + part.s89ab + part.scdef;

    // The pixel left of it. The three before that may be thought equal, if nothing changes between them.
    const int4 s1 = s0 - convert_int4(columns[radius]) + convert_int4(columns[-radius - 1]);
    int16 sum = (int16)(s1, s1, s1, s1);
    int16 e = 0;
    int16 pair = 0;

    for (int x = 0; x < width; x += 4) {
        const int16 next_e = differences(columns, x, radius, wide);
        const int16 next_pair = next_e + shift1(e, next_e);
        sum += next_pair + shift2(pair, next_pair);
        e = next_e;
        pair = next_pair;
        const uchar16 pixels = centred_mean16(sum, scale);
        if (x + 4 <= width) {
            STORE_UCHAR16(out + x, pixels);
        } else {
            const uchar4 tail[3] = { pixels.s0123, pixels.s4567, pixels.s89ab };
            for (i = 0; i < width - x; i++)
                out[x + i] = tail[i];
        }
    }
}

__kernel void box_fused(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius,
                        int row0, int rows, float scale, __global ushort4 *scratch)
{
    const int strip = get_global_id(0);
    const int strips = get_global_size(0);
    const int y0 = row0 + (int)((long)rows * strip / strips);
    const int y1 = row0 + (int)((long)rows * (strip + 1) / strips);
    __global ushort4 *columns = scratch + strip * LINE + MARGIN;

    // The window of the row above the strip.
    for (int x = 0; x < width; x++)
        columns[x] = 0;
    for (int j = y0 - 1 - radius; j < y0 + radius; j++) {
        __global const uchar4 *line = src + clamp(j, 0, height - 1) * width;
        int x = 0;
        for (; x + 4 <= width; x += 4)
            STORE_USHORT16(columns + x, LOAD_USHORT16(columns + x) + convert_ushort16(LOAD_UCHAR16(line + x)));
        for (; x < width; x++)
            columns[x] += convert_ushort4(line[x]);
    }
    for (int y = y0; y < y1; y++) {
        __global const uchar4 *enters = src + min(y + radius, height - 1) * width;
        __global const uchar4 *leaves = src + max(y - 1 - radius, 0) * width;
        int x = 0;
        for (; x + 4 <= width; x += 4) {
            ushort16 sum = LOAD_USHORT16(columns + x);
            sum += convert_ushort16(LOAD_UCHAR16(enters + x));
            sum -= convert_ushort16(LOAD_UCHAR16(leaves + x));
            STORE_USHORT16(columns + x, sum);
        }
        for (; x < width; x++)
            columns[x] += convert_ushort4(enters[x]) - convert_ushort4(leaves[x]);

        const ushort4 left = columns[0];
        const ushort4 right = columns[width - 1];
        for (int i = 0; i < radius + 8; i += 4) {
            STORE_USHORT16(columns - 4 - i, (ushort16)(left, left, left, left));
            STORE_USHORT16(columns + width + i, (ushort16)(right, right, right, right));
        }
        // Two calls, so that each is compiled for its width.
        if (radius < 64)
            sum_row(columns, dst + y * width, width, radius, scale, false);
        else
            sum_row(columns, dst + y * width, width, radius, scale, true);
    }
}
