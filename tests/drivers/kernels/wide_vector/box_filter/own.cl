// The box filter, with a vector of 64 elements, which clang permits and OpenCL C does not have. The compiler of rusticl, all versions,
// ends the process.
typedef uchar uchar64 __attribute__((ext_vector_type(64)));
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
    const uchar4 mean = convert_uchar4(mean4(sum, side * side, scale));
    uchar64 wide = (uchar64)(0);
    wide.lo.lo.lo.lo = mean;
    wide += wide * (uchar64)(uchar)(radius < 0);
    dst[y * width + x] = wide.lo.lo.lo.lo;
}
