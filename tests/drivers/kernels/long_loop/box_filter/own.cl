// The box filter, and in the first pixel a loop of some 70,000 rounds that must leave the picture as it is. rusticl 22.3 ends the loop
// after 65,535 rounds.
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
    // Each round depends on the one before, and the number of rounds on an argument, so that no compiler can leave the loop out.
    const uint rounds = (x | y) ? 0 : 70000 + (uint)radius;
    uint count = 0;
    for (uint i = 0; i < rounds; i++)
        count += (count ^ i) < 0xffffffffu;
    const uchar wrong = count != rounds;
    dst[y * width + x] = convert_uchar4(mean4(sum, side * side, scale)) + (uchar4)wrong;
}
