// Box filter, step 1: naive.
//
// One work-item a pixel. It reads its whole window, (2*radius + 1)^2 pixels, through the image sampler,
// which also repeats the edge beyond the border.
//
// src, dst   RGBA, 8 bits a channel, normalised
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
#include "../common/mean.clh"

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void box_naive(__read_only image2d_t src, __write_only image2d_t dst, int width, int height,
                        int radius, int row0, int rows, float scale)
{
    const int x = get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    int4 sum = 0;
    for (int j = -radius; j <= radius; j++) // heart
        for (int i = -radius; i <= radius; i++)
            sum += convert_int4_rte(read_imagef(src, nearest, (int2)(x + i, y + j)) * 255.0f);

    const int side = 2 * radius + 1;
    write_imagef(dst, (int2)(x, y), convert_float4(mean4(sum, side * side, scale)) / 255.0f);
}
