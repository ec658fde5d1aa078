// Box filter, step 5: running sum.
//
// From one pixel to the next the window loses one pixel and gains one. Keep the sum, add the one that
// enters, subtract the one that leaves: the work no longer depends on the radius. The price is order: a
// work-item walks along a strip of pixels, and starts it by summing one whole window. Long strips waste less
// on that start, short strips give a GPU more work-items.
//
// -D STRIP_X  length of a strip along a row, in pixels
// -D STRIP_Y  length of a strip down a column, in rows
// -D QUADS    width of a column, in groups of four pixels
//
// src, dst   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// sums       width*height row sums, 16 bits a channel
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
#include "../common/mean.clh"
#include "../common/vectors.clh"

#ifndef STRIP_X
#define STRIP_X 64
#endif
#ifndef STRIP_Y
#define STRIP_Y 64
#endif
#ifndef QUADS
#define QUADS 1
#endif

__kernel void box_running_sum_rows(__global const uchar4 *src, __global ushort4 *sums, int width, int height,
                                   int radius, int row0, int rows)
{
    const int row = get_global_id(0);
    const int begin = get_global_id(1) * STRIP_X;
    if (begin >= width || row >= rows)
        return;
    const int y = row0 + row;
    const int end = min(begin + STRIP_X, width);
    const int last = width - 1;

    __global const uchar4 *line = src + y * width;
    __global ushort4 *out = sums + y * width;
    ushort4 sum = 0;
    for (int i = begin - radius; i <= begin + radius; i++)
        sum += convert_ushort4(line[clamp(i, 0, last)]);
    out[begin] = sum;
    for (int x = begin + 1; x < end; x++) { // heart
        sum += convert_ushort4(line[min(x + radius, last)]);
        sum -= convert_ushort4(line[max(x - radius - 1, 0)]);
        out[x] = sum;
    }
}

// The columns at the right border that are no group of four, one pixel wide.
void thin_column(__global const ushort4 *sums, __global uchar4 *dst, int width, int height, int radius, int y0,
                 int y1, int n, float scale)
{
    int4 sum = 0;
    for (int j = y0 - radius; j <= y0 + radius; j++)
        sum += convert_int4(sums[clamp(j, 0, height - 1) * width]);
    for (int y = y0; y < y1; y++) {
        dst[y * width] = convert_uchar4(mean4(sum, n, scale));
        sum += convert_int4(sums[min(y + radius + 1, height - 1) * width]);
        sum -= convert_int4(sums[max(y - radius, 0) * width]);
    }
}

__kernel void box_running_sum_columns(__global const ushort4 *sums, __global uchar4 *dst, int width,
                                      int height, int radius, int row0, int rows, float scale)
{
    const int x = get_global_id(0) * 4 * QUADS;
    const int first = get_global_id(1) * STRIP_Y;
    if (x >= width || first >= rows)
        return;
    const int y0 = row0 + first;
    const int y1 = row0 + min(first + STRIP_Y, rows);
    const int bottom = height - 1;
    const int n = (2 * radius + 1) * (2 * radius + 1);

    sums += x;
    dst += x;
    if (x + 4 * QUADS > width) {
        for (int i = 0; i < width - x; i++)
            thin_column(sums + i, dst + i, width, height, radius, y0, y1, n, scale);
        return;
    }

    int16 sum[QUADS];
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        sum[q] = 0;
    for (int j = y0 - radius; j <= y0 + radius; j++) {
        __global const ushort4 *line = sums + clamp(j, 0, bottom) * width;
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            sum[q] += convert_int16(LOAD_USHORT16(line + 4 * q));
    }
    for (int y = y0; y < y1; y++) {
        __global uchar4 *out = dst + y * width;
        __global const ushort4 *enters = sums + min(y + radius + 1, bottom) * width;
        __global const ushort4 *leaves = sums + max(y - radius, 0) * width;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            STORE_UCHAR16(out + 4 * q, convert_uchar16(mean16(sum[q], n, scale)));
            sum[q] += convert_int16(LOAD_USHORT16(enters + 4 * q)) - convert_int16(LOAD_USHORT16(leaves + 4 * q));
        }
    }
}
