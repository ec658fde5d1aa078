// The box filter, beside a kernel that writes an image in a function, called in a loop. That kernel is never launched: compiling it
// crashes the compiler of rusticl 25.0 to 26.2.
#include "../common/mean.clh"

void store(__write_only image2d_t dst, int x, int y, uchar4 pixel)
{
    write_imagef(dst, (int2)(x, y), convert_float4(pixel) / 255.0f);
}

__kernel void write_row(__global const uchar4 *src, __write_only image2d_t dst, int width)
{
    const int y = get_global_id(0);
    for (int x = 0; x < width; x++)
        store(dst, x, y, src[y * width + x]);
}

__kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1))) void
own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius, int row0, int rows, float scale)
{
    const int x = get_global_id(0), y = row0 + (int)get_global_id(1);
    if (x >= width || y >= row0 + rows)
        return;
    int4 sum = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++)
            sum += convert_int4(src[clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1)]);
    const int side = 2 * radius + 1;
    dst[y * width + x] = convert_uchar4(mean4(sum, side * side, scale));
}
