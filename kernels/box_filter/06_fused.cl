// Box filter, beyond the ladder: fused, for CPUs.
//
// Rows and columns in one kernel. A work-item walks down a strip of whole rows and keeps the sums of all its
// columns: from one row to the next it adds the row that enters the window and subtracts the one that leaves
// it. Along each row it sums these sums the same way. A pixel is read when it enters and when it leaves, and
// the sums of a row stay in the nearest cache.
//
// Along a row four pixels, sixteen channels, are computed at once from the four before them:
//
//     sum(x) = sum(x-4) + pair(x) + pair(x-2)
//     pair(x) = columns(x+radius) + columns(x+radius-1) - columns(x-radius-1) - columns(x-radius-2)
//
// Only that one addition waits for the four pixels before; everything else runs ahead of it.
//
// 16 bits hold a sum up to radius 7. Beyond that its lowest 16 bits are enough, because the mean changes little
// from one row to the next: the difference from the mean of the pixel above fits in 16 bits, up to radius 42. Half
// the bits are twice the speed. The first row of a strip, and larger radii, are summed in 32 bits.
//
// src, dst   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
// scratch    LINE column sums for each work-item
#include "../common/mean.clh"
#include "../common/vectors.clh"

// The largest radius in pixels.
#define MAX_RADIUS 128
// A row of column sums with its edges repeated on both sides, for the largest radius and four pixels more.
#define LINE ((width + 2 * MAX_RADIUS + 64 + 31) / 32 * 32)
// The index of the first column's sum in it: the left edge lies before it, in whole cache lines.
#define MARGIN (MAX_RADIUS + 16)

// The index of the factor by which sum_row16 divides, outside the left edge.
#define FACTOR (columns - MARGIN)

// The sums of the four pixels left of the row.
int16 sums_before(__global const ushort4 *columns, int radius)
{
    int4 s = convert_int4(columns[-1]);
    for (int i = 1; i <= radius; i++)
        s += convert_int4(columns[-1 - i]) + convert_int4(columns[-1 + i]);
    const int4 s2 = s - convert_int4(columns[radius - 1]) + convert_int4(columns[-radius - 2]);
    const int4 s3 = s2 - convert_int4(columns[radius - 2]) + convert_int4(columns[-radius - 3]);
    const int4 s4 = s3 - convert_int4(columns[radius - 3]) + convert_int4(columns[-radius - 4]);
    return (int16)(s4, s3, s2, s);
}

// Four pixels, of which only `count` belong to the row.
void store_tail(__global uchar4 *out, uchar16 pixels, int count)
{
    const uchar4 tail[3] = { pixels.s0123, pixels.s4567, pixels.s89ab };
    for (int i = 0; i < count; i++)
        out[i] = tail[i];
}

// pair(x) to pair(x+3). Unless the radius is 64 or more, 16 bits hold two column sums.
int16 pair32(__global const ushort4 *columns, int x, int radius, bool wide)
{
    __global const ushort4 *right = columns + x + radius;
    __global const ushort4 *left = columns + x - radius;
    const ushort16 enters[2] = { LOAD_USHORT16(right), LOAD_USHORT16(right - 1) };
    const ushort16 leaves[2] = { LOAD_USHORT16(left - 1), LOAD_USHORT16(left - 2) };
    if (wide)
        return convert_int16(enters[0]) + convert_int16(enters[1])
            - convert_int16(leaves[0]) - convert_int16(leaves[1]);
    return convert_int16(enters[0] + enters[1]) - convert_int16(leaves[0] + leaves[1]);
}

// One row of the output from the column sums with their edges repeated, for any radius.
void sum_row32(__global const ushort4 *columns, __global uchar4 *out, int width, int radius, float scale,
               bool wide)
{
    int16 sum = sums_before(columns, radius) - 128 * (2 * radius + 1) * (2 * radius + 1);
    int16 before = pair32(columns, -4, radius, wide);
    for (int x = 0; x < width; x += 4) {
        const int16 pair = pair32(columns, x, radius, wide);
        sum += pair + (int16)(before.s89abcdef, pair.s01234567);
        before = pair;
        const uchar16 pixels = centred_mean16(sum, scale);
        if (x + 4 <= width)
            STORE_UCHAR16(out + x, pixels);
        else
            store_tail(out + x, pixels, width - x);
    }
}

// v / n for the 16-bit numbers that occur: the highest 16 bits of a product. The factor is loaded each time: the
// compiler chooses the instruction for this only if it knows that the factor has 16 bits.
ushort16 divided(ushort16 v, __global const ushort4 *factor, int shift)
{
    return convert_ushort16((convert_uint16(v) * convert_uint16(LOAD_USHORT16(factor))) >> 16) >> (ushort)shift;
}

// pair32 in 16 bits; the bits that are lost do not affect the sum's own 16.
ushort16 pair16(__global const ushort4 *columns, int x, int radius)
{
    return LOAD_USHORT16(columns + x + radius) + LOAD_USHORT16(columns + x + radius - 1)
        - LOAD_USHORT16(columns + x - radius - 1) - LOAD_USHORT16(columns + x - radius - 2);
}

// sum_row32 in 16 bits, for radius 1 to 42. `above` is the row of the output above this one, or
// null if 16 bits hold a sum.
void sum_row16(__global ushort4 *columns, __global const uchar4 *above, __global uchar4 *out, int width,
               int radius)
{
    const uint n = (2 * radius + 1) * (2 * radius + 1);
    // v / n is (v * factor) >> (16 + shift); the program's tests prove it for each v that occurs.
    const int shift = 31 - clz(n);
    STORE_USHORT16(FACTOR, (ushort16)(((1u << (16 + shift)) + n - 1) / n));
    // The mean changes by at most this much from row to row.
    const ushort most = above ? (255 + 2 * radius) / (2 * radius + 1) : 0;

    ushort16 sum = convert_ushort16(sums_before(columns, radius)) + (ushort)(n / 2);
    ushort16 before = pair16(columns, -4, radius);
    for (int x = 0; x < width; x += 4) {
        const ushort16 pair = pair16(columns, x, radius);
        sum += pair + (ushort16)(before.s89abcdef, pair.s01234567);
        before = pair;
        if (x + 4 <= width) {
            ushort16 mean;
            if (above) {
                const ushort16 least = convert_ushort16(LOAD_UCHAR16(above + x)) - most;
                mean = least + divided(sum - least * (ushort)n, FACTOR, shift);
            } else {
                mean = divided(sum, FACTOR, shift);
            }
            STORE_UCHAR16(out + x, convert_uchar16(mean));
        } else {
            ushort4 least[4] = { 0, 0, 0, 0 };
            if (above)
                for (int i = 0; i < width - x; i++)
                    least[i] = convert_ushort4(above[x + i]) - most;
            const ushort16 base = (ushort16)(least[0], least[1], least[2], least[3]);
            const ushort16 mean = base + divided(sum - base * (ushort)n, FACTOR, shift);
            store_tail(out + x, convert_uchar16(mean), width - x);
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
        for (; x + 4 <= width; x += 4) { // heart
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
        __global uchar4 *out = dst + y * width;
        // Several calls with constants, so that each is compiled for its case.
        if (radius >= 1 && radius <= 7)
            sum_row16(columns, 0, out, width, radius);
        else if (radius >= 8 && radius <= 42 && y > y0)
            sum_row16(columns, out - width, out, width, radius);
        else if (radius < 64)
            sum_row32(columns, out, width, radius, scale, false);
        else
            sum_row32(columns, out, width, radius, scale, true);
    }
}
