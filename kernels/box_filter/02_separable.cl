// Box filter, step 2: separable.
//
// A box is a row times a column: sum each row first, then sum those sums down each column. That is
// 2*(2*radius + 1) reads a pixel instead of (2*radius + 1)^2. The row sums are kept whole, 16 bits a channel:
// 255 * 257 still fits, so nothing is rounded before the end.
//
// src, dst   RGBA, 8 bits a channel, normalised
// sums       RGBA, 16 bits a channel, unsigned integers
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
#include "../common/mean.clh"

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void box_separable_rows(__read_only image2d_t src, __write_only image2d_t sums, int width,
                                 int height, int radius, int row0, int rows)
{
    const int x = get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    uint4 sum = 0;
    for (int i = -radius; i <= radius; i++) // heart
        sum += convert_uint4_rte(read_imagef(src, nearest, (int2)(x + i, y)) * 255.0f);
    write_imageui(sums, (int2)(x, y), sum);
}

__kernel void box_separable_columns(__read_only image2d_t sums, __write_only image2d_t dst, int width,
                                    int height, int radius, int row0, int rows, float scale)
{
    const int x = get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    int4 sum = 0;
    for (int j = -radius; j <= radius; j++) // heart
        sum += convert_int4(read_imageui(sums, nearest, (int2)(x, y + j)));

    const int side = 2 * radius + 1;
    write_imagef(dst, (int2)(x, y), convert_float4(mean4(sum, side * side, scale)) / 255.0f);
}
