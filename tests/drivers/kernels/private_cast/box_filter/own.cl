// The box filter, sixteen pixels a work-item, which are read through a pointer of another type. The compiler of rusticl 25.0 to 26.2
// crashes.
#include "../common/mean.clh"

__kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1))) void
own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius, int row0, int rows, float scale)
{
    const int x0 = get_global_id(0), y = row0 + (int)get_global_id(1);
    if (x0 % 16 != 0 || x0 >= width || y >= row0 + rows)
        return;
    const int side = 2 * radius + 1;
    uint means[16];
    for (int i = 0; i < 16; i++) {
        int4 sum = 0;
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                sum += convert_int4(src[clamp(y + dy, 0, height - 1) * width + clamp(x0 + i + dx, 0, width - 1)]);
        means[i] = as_uint(convert_uchar4(mean4(sum, side * side, scale)));
    }
    const uint16 kept[1] = { vload16(0, means) };
    const uchar4 *pixels = (const uchar4 *)kept;
    const int count = min(16, width - x0);
    for (int i = 0; i < count; i++)
        dst[y * width + x0 + i] = pixels[i];
}
