// Reduction, for CPUs: one work-item a strip, vectors of 16 pixels, and one launch.
//
// A strip is as high as a block and SPAN vectors wide. It is read row by row, which is what a processor's caches like; the
// sums of its columns wait in memory that stays in the first of them. Only at the end does a block add up its columns.
//
// src      width*height pixels, RGBA, 8 bits a channel, no gap between rows
// parts    one for each group: see frames.clh
// out      see parts.clh
// counter  0 before and after
// block    edge of a block: 16, 32 or 64
// -D SPAN  vectors of 16 pixels: a multiple of 4, so that there are whole blocks
#include "../common/vectors.clh"
#include "ticket.clh"

#ifndef SPAN
#define SPAN 16
#endif

// As luminance() of each: what green lacks to 65536 is taken off, and added as a whole, so that all factors fit 16 bits.
int16 luminance16(uint16 pixels)
{
    const int16 red = as_int16(pixels & 255);
    const int16 green = as_int16(pixels >> 8 & 255);
    const int16 blue = as_int16(pixels >> 16 & 255);
    return green + ((13926 * red - 18651 * green + 4725 * blue + 32768) >> 16);
}

uint sum_of(uint16 v)
{
    const uint8 eight = v.lo + v.hi;
    const uint4 four = eight.lo + eight.hi;
    return four.s0 + four.s1 + four.s2 + four.s3;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduction_strips(__global const uint *src, __global uint4 *parts, __global uint *out, int width, int height, int block,
                 __global uint *counter)
{
    const int left = get_group_id(0) * (SPAN * 16);
    const int top = get_group_id(1) * block;
    const int columns = min(SPAN * 16, width - left);
    const int rows = min(block, height - top);
    const int whole = columns / 16;

    uint16 sums[SPAN];
    for (int v = 0; v < SPAN; v++)
        sums[v] = 0;
    int16 least = 255, most = 0;
    uint16 product = 1;
    uint4 rest = NO_PART;
    for (int y = 0; y < rows; y++) {
        __global const uint *line = src + (top + y) * width + left;
        for (int v = 0; v < whole; v++) {
            const int16 l = luminance16(*(__global const uint16_at4 *)(line + 16 * v));
            sums[v] += as_uint16(l);
            least = min(least, l);
            most = max(most, l);
            product *= as_uint16(2 * l + 1);
        }
        for (int x = 16 * whole; x < columns; x++)
            rest = joined(rest, part_of(luminance(line[x])));
    }

    const int each = block / 16;
    const int across = (width + block - 1) / block;
    uint total = 0;
    for (int b = 0; b * block < columns; b++) {
        uint sum = 0;
        for (int v = b * each; v < min((b + 1) * each, whole); v++)
            sum += sum_of(sums[v]);
        // What no vector has is in the last block.
        if ((b + 1) * block >= columns)
            sum += rest.s0;
        total += sum;
        out[MEANS + get_group_id(1) * across + left / block + b]
            = mean_of(sum, min(block, columns - b * block) * rows);
    }

    int extremes[2][16];
    uint factors[16];
    vstore16(least, 0, extremes[0]);
    vstore16(most, 0, extremes[1]);
    vstore16(product, 0, factors);
    for (int i = 0; i < 16; i++)
        rest = joined(rest, (uint4)(0, 0, (uint)extremes[0][i] | (uint)extremes[1][i] << 8, factors[i]));

    if (is_last(parts, (uint4)(total, 0, rest.s23), counter)) {
        const int count = get_num_groups(0) * get_num_groups(1);
        frame_t frame = NO_FRAME;
        for (int i = 0; i < count; i++)
            add_part(&frame, ((volatile __global uint4 *)parts)[i]);
        write_frame(out, frame, (ulong)width * height);
    }
}
