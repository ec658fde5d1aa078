// Reduction, for CPUs: one work-item a strip, vectors of 16 pixels, and one launch.
//
// A strip is as high as a block and SPAN vectors wide. It is read by pairs of rows, which is what a processor's caches like;
// the sums of its columns stay in the first-level cache. Only at the end does a block add up its columns.
// From the luminance on the two rows of a pair share a vector, each with half of each lane. No vector is longer than OpenCL C
// has them, 16 elements.
//
// src      width*height pixels, RGBA, 8 bits a channel, no gap between rows
// parts    one for each group: see frames.clh
// out      see parts.clh
// counter  0 before and after
// block    edge of a block: 16, 32 or 64
// -D SPAN  vectors of 16 pixels: a multiple of 4, so that there are whole blocks
#include "../common/vectors.clh"
#include "frames.clh"

#ifndef SPAN
#define SPAN 128
#endif
// Results of neighbours are kept apart: no addition waits for the one before.
#define CHAINS 4

// In each lane the lower halves of both multiplied, plus the upper ones; all are below 2^15. CPUs have an instruction for
// that, which compilers do not select by themselves.
#if defined(__AVX512BW__)
typedef short __attribute__((vector_size(64))) madd_t;
uint16 pairs(uint16 a, uint16 b)
{
    return __builtin_astype(
        __builtin_ia32_pmaddwd512(__builtin_astype(a, madd_t), __builtin_astype(b, madd_t)), uint16);
}
#elif defined(__AVX2__)
typedef short __attribute__((vector_size(32))) madd_t;
uint8 pairs8(uint8 a, uint8 b)
{
    return __builtin_astype(
        __builtin_ia32_pmaddwd256(__builtin_astype(a, madd_t), __builtin_astype(b, madd_t)), uint8);
}
uint16 pairs(uint16 a, uint16 b)
{
    return (uint16)(pairs8(a.lo, b.lo), pairs8(a.hi, b.hi));
}
#else
uint16 pairs(uint16 a, uint16 b)
{
    return (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16);
}
#endif

// 65536 times luminance() of each, and more below. Red and blue are a pair; green is one with itself, because its weight takes
// 16 bits.
uint16 luminances(__global const uint *pixels)
{
    const uint16 p = *(__global const uint16_at4 *)pixels;
    const uint16 green = (p >> 8 & 0x000000ff) | (p << 8 & 0x00ff0000);
    return pairs(p & 0x00ff00ff, 13926 | 4725 << 16) + pairs(green, 23442 | 23443 << 16) + 32768;
}

uint sum_of(uint16 v)
{
    const uint16 lanes = (v & 0xffff) + (v >> 16);
    const uint8 eight = lanes.lo + lanes.hi;
    const uint4 four = eight.lo + eight.hi;
    return four.s0 + four.s1 + four.s2 + four.s3;
}

// The results of a vector of one row, or of two.
#define ADD(v, c, l)                                                                                          \
    {                                                                                                         \
        sums[v] += l;                                                                                         \
        const uint16 factors = (l + l) | 0x00010001;                                                          \
        product[c] *= pairs(factors, factors >> 16);                                                          \
    }
#define ADD_TWO(v, c)                                                                                         \
    {                                                                                                         \
        const uint16 upper = luminances(line + 16 * (v)), lower = luminances(line + width + 16 * (v));        \
        least = min(least, min(upper, lower));                                                                \
        most = max(most, max(upper, lower));                                                                  \
        const uint16 both = upper >> 16 | (lower & 0xffff0000);                                               \
        ADD(v, c, both)                                                                                       \
    }
#define ADD_ONE(v, c)                                                                                         \
    {                                                                                                         \
        const uint16 one = luminances(line + 16 * (v));                                                       \
        least = min(least, one);                                                                              \
        most = max(most, one);                                                                                \
        ADD(v, c, (one >> 16))                                                                                \
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
    for (int v = 0; v < whole; v++)
        sums[v] = 0;
    uint16 least = UINT_MAX, most = 0;
    uint16 product[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        product[c] = 1;
    uint4 rest = NO_PART;
    for (int y = 0; y < rows; y += 2) {
        __global const uint *line = src + (top + y) * width + left;
        const int two = y + 1 < rows;
        int v = 0;
        for (; two && v + CHAINS <= whole; v += CHAINS) {
#pragma unroll
            for (int c = 0; c < CHAINS; c++)
                ADD_TWO(v + c, c)
        }
        for (; two && v < whole; v++)
            ADD_TWO(v, 0)
        for (; v < whole; v++)
            ADD_ONE(v, 0)
        for (int x = 16 * whole; x < columns; x++) {
            rest = joined(rest, part_of(luminance(line[x])));
            if (two)
                rest = joined(rest, part_of(luminance(line[width + x])));
        }
    }

    const int each = block / 16;
    const int across = (width + block - 1) / block;
    uint total = 0;
    for (int b = 0; b * block < columns; b++) {
        uint sum = 0;
        for (int v = b * each; v < min((b + 1) * each, whole); v++)
            sum += sum_of(sums[v]);
        // Columns beyond the last whole vector belong to the last block.
        if ((b + 1) * block >= columns)
            sum += rest.s0;
        total += sum;
        out[MEANS + get_group_id(1) * across + left / block + b]
            = mean_of(sum, min(block, columns - b * block) * rows);
    }

    const uint16 all = product[0] * product[1] * (product[2] * product[3]);
    uint extremes[16], factors[16];
    vstore16((least >> 16 & 255) | most >> 16 << 8, 0, extremes);
    vstore16(all, 0, factors);
    for (int i = 0; i < 16; i++)
        rest = joined(rest, (uint4)(0, 0, extremes[i], factors[i]));

    if (is_last(parts, (uint4)(total, 0, rest.s23), counter)) {
        const int count = get_num_groups(0) * get_num_groups(1);
        frame_t frame = NO_FRAME;
        for (int i = 0; i < count; i++)
            add_part(&frame, part_at(parts, i));
        write_frame(out, frame, (ulong)width * height);
    }
}
