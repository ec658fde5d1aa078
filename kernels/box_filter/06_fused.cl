// Box filter, beyond the ladder: fused, for CPUs.
//
// Rows and columns in one kernel. A work-item walks down a strip of whole rows and keeps the sums of all its
// columns: from one row to the next it adds the row that enters the window and subtracts the one that leaves
// it. Along each row it sums the sums the same way. A pixel is read when it enters and when it leaves, and
// the sums of a row stay in the nearest cache.
//
// src, dst   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// scale      1 / (2*radius + 1)^2
// row0, rows the band of rows to compute
// scratch    LINE column sums for each work-item
#include "../common/mean.clh"

// The row with its edges repeated for the largest radius, and some room for vectors over both ends.
#define LINE (((width + 2 * 128 + 64) + 31) / 32 * 32)

__kernel void box_fused(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius,
                        int row0, int rows, float scale, __global ushort4 *scratch)
{
    const int strip = get_global_id(0);
    const int strips = get_global_size(0);
    const int y0 = row0 + (int)((long)rows * strip / strips);
    const int y1 = row0 + (int)((long)rows * (strip + 1) / strips);
    const int n = (2 * radius + 1) * (2 * radius + 1);
    __global ushort4 *columns = scratch + strip * LINE + radius + 1;

    for (int x = 0; x < width; x++)
        columns[x] = 0;
    for (int j = y0 - radius; j <= y0 + radius; j++)
        for (int x = 0; x < width; x++)
            columns[x] += convert_ushort4(src[clamp(j, 0, height - 1) * width + x]);
    for (int y = y0; y < y1; y++) {
        for (int i = 1; i <= radius + 1; i++) {
            columns[-i] = columns[0];
            columns[width - 1 + i] = columns[width - 1];
        }
        int4 sum = 0;
        for (int i = -radius - 1; i < radius; i++)
            sum += convert_int4(columns[i]);
        for (int x = 0; x < width; x++) {
            sum += convert_int4(columns[x + radius]);
            sum -= convert_int4(columns[x - radius - 1]);
            dst[y * width + x] = convert_uchar4(mean4(sum, n, scale));
        }
        for (int x = 0; x < width; x++) {
            columns[x] += convert_ushort4(src[min(y + radius + 1, height - 1) * width + x]);
            columns[x] -= convert_ushort4(src[max(y - radius, 0) * width + x]);
        }
    }
}
