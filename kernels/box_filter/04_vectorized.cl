// Box filter, step 4: vectorized.
//
// The two passes of step 3, four pixels a work-item: sixteen channels are added by one instruction on
// a CPU, and one load brings sixteen bytes.
//
// src, dst   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// sums       width*height row sums, 16 bits a channel
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
#include "../common/mean.clh"
#include "../common/vectors.clh"

// Four pixels of one row from x on, some of which lie beyond the border.
uchar16 four_clamped(__global const uchar4 *line, int x, int width)
{
    const int last = width - 1;
    return (uchar16)(line[clamp(x, 0, last)], line[clamp(x + 1, 0, last)], line[clamp(x + 2, 0, last)],
                     line[clamp(x + 3, 0, last)]);
}

__kernel void box_vectorized_rows(__global const uchar4 *src, __global ushort4 *sums, int width, int height,
                                  int radius, int row0, int rows)
{
    const int x = 4 * get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    // The window slides over begin to end; from left to right - 1 all four pixels are inside the picture.
    __global const uchar4 *line = src + y * width;
    const int begin = x - radius;
    const int end = x + radius + 1;
    const int left = clamp(0, begin, end);
    const int right = clamp(width - 3, left, end);
    ushort16 sum = 0;
    for (int i = begin; i < left; i++)
        sum += convert_ushort16(four_clamped(line, i, width));
    for (int i = left; i < right; i++) // heart
        sum += convert_ushort16(LOAD_UCHAR16(line + i));
    for (int i = right; i < end; i++)
        sum += convert_ushort16(four_clamped(line, i, width));

    __global ushort4 *out = sums + y * width + x;
    if (x + 4 <= width) {
        STORE_USHORT16(out, sum);
    } else {
        const ushort4 tail[3] = { sum.s0123, sum.s4567, sum.s89ab };
        for (int i = 0; i < width - x; i++)
            out[i] = tail[i];
    }
}

__kernel void box_vectorized_columns(__global const ushort4 *sums, __global uchar4 *dst, int width,
                                     int height, int radius, int row0, int rows, float scale)
{
    const int x = 4 * get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    const int n = (2 * radius + 1) * (2 * radius + 1);
    if (x + 4 <= width) {
        int16 sum = 0;
        for (int j = -radius; j <= radius; j++) // heart
            sum += convert_int16(LOAD_USHORT16(sums + clamp(y + j, 0, height - 1) * width + x));
        STORE_UCHAR16(dst + y * width + x, convert_uchar16(mean16(sum, n, scale)));
        return;
    }
    // One to three pixels are left at the end of the row.
    for (int i = x; i < width; i++) {
        int4 sum = 0;
        for (int j = -radius; j <= radius; j++)
            sum += convert_int4(sums[clamp(y + j, 0, height - 1) * width + i]);
        dst[y * width + i] = convert_uchar4(mean4(sum, n, scale));
    }
}
