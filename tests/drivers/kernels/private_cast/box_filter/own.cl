// The box filter, whose sixteen copies of a pixel are read through a pointer of another type. The compiler of rusticl 25.0 to 26.2
// crashes.
#include "../common/mean.clh"

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
    const uint16 copies[1] = { as_uint(convert_uchar4(mean4(sum, side * side, scale))) };
    const uchar4 *pixels = (const uchar4 *)copies;
    for (int i = x % 16; i < 16; i += 16)
        dst[y * width + x] = pixels[i];
}
