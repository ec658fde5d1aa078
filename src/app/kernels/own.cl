// A kernel of your own: the variant `own` of the box filter, with a button and the key u. Each save is validated.
//
//   __kernel void own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius,
//                     int row0, int rows, float scale)
//
// - `src` and `dst` have width * height RGBA pixels, 8 bits a channel, without padding.
// - Work-item (x, y) computes the pixel in column x and row row0 + y. Launches are rounded up to whole work-groups of
//   GROUP_X by GROUP_Y work-items (defined by -D): return beyond width or rows, and write nothing outside these rows.
// - Each channel is the mean of the (2 * radius + 1)^2 pixels around the pixel, rounded to the nearest number. Beyond the
//   border the nearest pixel of the border counts. `scale` is 1 / (2 * radius + 1)^2.
// - All of `src` may be read. Includes are relative to this file.

#include "../common/mean.clh"

__kernel void own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius,
                  int row0, int rows, float scale)
{
    const int x = get_global_id(0);
    const int row = get_global_id(1);
    if (x >= width || row >= rows)
        return;
    const int y = row0 + row;

    int4 sum = 0;
    for (int j = -radius; j <= radius; j++)
        for (int i = -radius; i <= radius; i++)
            sum += convert_int4(src[clamp(y + j, 0, height - 1) * width + clamp(x + i, 0, width - 1)]);

    const int side = 2 * radius + 1;
    dst[y * width + x] = convert_uchar4(mean4(sum, side * side, scale));
}
