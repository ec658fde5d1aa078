// Box filter, step 3: flat.
//
// The two passes of step 2 on plain buffers. No sampler and no conversion from normalised numbers: a
// pixel is four bytes at an address, and clamping to the edge is done by hand.
//
// src, dst   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// sums       width*height row sums, 16 bits a channel
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
#include "../common/mean.clh"

__kernel void box_flat_rows(__global const uchar4 *src, __global ushort4 *sums, int width, int height,
                            int radius, int row0, int rows)
{
    const int x = get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    __global const uchar4 *line = src + y * width;
    ushort4 sum = 0;
    for (int i = -radius; i <= radius; i++) // heart
        sum += convert_ushort4(line[clamp(x + i, 0, width - 1)]);
    sums[y * width + x] = sum;
}

__kernel void box_flat_columns(__global const ushort4 *sums, __global uchar4 *dst, int width, int height,
                               int radius, int row0, int rows, float scale)
{
    const int x = get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    int4 sum = 0;
    for (int j = -radius; j <= radius; j++) // heart
        sum += convert_int4(sums[clamp(y + j, 0, height - 1) * width + x]);

    const int side = 2 * radius + 1;
    dst[y * width + x] = convert_uchar4(mean4(sum, side * side, scale));
}
