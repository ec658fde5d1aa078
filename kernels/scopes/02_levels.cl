// Auto-levels: what is nearly the darkest of a frame becomes black, what is nearly the brightest white, by the frame's own
// histogram.
//
// A thousandth of the pixels may be darker than the lower end, and as many brighter than the upper one: a few pixels do not
// decide for a frame. Between the ends each channel is stretched, c -> ((c - low) * 255 + range/2) / range, and what is outside
// is cut off. A frame of one luminance stays as it is.
//
// Dividing is slow: factor is 2^24 / range, rounded up, and (n * factor) >> 24 is n / range for every n below
// 2^24 / range, which 255*255 + 127 is for every range up to 255. The program's tests try them all.
//
// counts   pixels of each luminance: 256 numbers
// levels   low, range, factor
// picture  width*height pixels, RGBA, 8 bits a channel, no gap between rows; or an image. Alpha stays
// to       the image for the stretched picture; without it the picture is overwritten
// -D GROUP     work-items of a group of the second launch
// -D TO_IMAGE  1: with `to`
// -D IMAGE     see pixels.clh; only with `to`, because a kernel does not write into an image that it reads
#include "pixels.clh"

#ifndef GROUP
#define GROUP 256
#endif

#ifndef TO_IMAGE
#define TO_IMAGE 0
#endif

#define BINS 256

// The ends, by one group.
__kernel __attribute__((reqd_work_group_size(BINS, 1, 1))) void
scopes_ends(__global const uint *counts, __global uint *levels, int width, int height)
{
    __local uint sums[BINS];
    __local uint ends[2];
    const uint item = get_local_id(0);
    const uint own = counts[item];
    const uint pixels = (uint)width * height;
    const uint spare = pixels / 1000;

    // The number of pixels that are as dark as this or darker.
    sums[item] = own;
    for (uint stride = 1; stride < BINS; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint before = item >= stride ? sums[item - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] += before;
    }
    const uint darker = sums[item] - own;
    const uint brighter = pixels - sums[item];
    // Each is true for one work-item alone.
    if (darker <= spare && darker + own > spare)
        ends[0] = item;
    if (brighter <= spare && brighter + own > spare)
        ends[1] = item;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        const int is_flat = ends[1] <= ends[0];
        const uint range = is_flat ? 255 : ends[1] - ends[0];
        levels[0] = is_flat ? 0 : ends[0];
        levels[1] = range;
        levels[2] = ((1 << 24) + range - 1) / range;
    }
}

// Four channels, each the lowest byte of its number.
uint4 stretched(uint4 channel, uint low, uint range, uint factor)
{
    const uint4 c = min(max(channel & 255, (uint4)low) - low, (uint4)range);
    return mul_hi((c * 255 + range / 2) << 8, (uint4)factor);
}

uint4 pixels_of(uint4 p, uint low, uint range, uint factor)
{
    return stretched(p, low, range, factor) | stretched(p >> 8, low, range, factor) << 8
        | stretched(p >> 16, low, range, factor) << 16 | (p & 0xff000000);
}

#if TO_IMAGE
#define TILE 32
#define EACH (TILE * TILE / GROUP)

// A group has a tile of 32x32 pixels, and 32 neighbours 8x4 of them at a time: images lie in memory in small tiles, not in rows.
// All are read before the first is written.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scopes_levels(PICTURE picture, __write_only image2d_t to, __global const uint *levels, int width, int height)
{
    const uint low = levels[0], range = levels[1], factor = levels[2];
    uint pixels[EACH];
    int x[EACH], y[EACH];
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        const int at = n * GROUP + get_local_id(0);
        x[n] = get_group_id(0) * TILE + at / 32 % 4 * 8 + at % 8;
        y[n] = get_group_id(1) * TILE + at / 128 * 4 + at / 8 % 4;
        pixels[n] = x[n] < width && y[n] < height ? pixel_at(picture, x[n], y[n], width) : 0;
    }
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        const uint p = pixels[n];
        const uint4 c = stretched((uint4)(p, p >> 8, p >> 16, 0), low, range, factor);
        if (x[n] < width && y[n] < height)
            write_imagef(to, (int2)(x[n], y[n]), convert_float4((uint4)(c.s012, p >> 24)) * (1.0f / 255.0f));
    }
}
#else
// Four pixels a work-item.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scopes_levels(__global uint *picture, __global const uint *levels, int width, int height)
{
    const uint low = levels[0], range = levels[1], factor = levels[2];
    const int count = width * height;
    const int first = 4 * (get_group_id(0) * GROUP + get_local_id(0));
    if (first + 4 <= count) {
        __global uint4 *quad = (__global uint4 *)(picture + first);
        *quad = pixels_of(*quad, low, range, factor);
    } else {
        for (int at = first; at < count; at++)
            picture[at] = pixels_of((uint4)picture[at], low, range, factor).s0;
    }
}
#endif
