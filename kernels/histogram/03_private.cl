// Histogram, for CPUs: one work-item a group, with histograms of its own.
//
// No other work-item counts there, so nothing is atomic until the end. There are four: pixels of the same luminance often follow
// each other, and each would have to wait for the count of the one before.
//
// src   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// out   see histogram.clh
// -D EACH  pixels of a work-item: a multiple of 16
#include "../common/vectors.clh"
#include "histogram.clh"

#ifndef EACH
#define EACH 65536
#endif

#define COPIES 4

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
histogram_private(__global const uint *src, volatile __global uint *out, int width, int height)
{
    uint bins[COPIES][BINS];
    for (int copy = 0; copy < COPIES; copy++)
        for (int bin = 0; bin < BINS; bin++)
            bins[copy][bin] = 0;

    const int first = get_group_id(0) * EACH;
    const int end = min(first + EACH, width * height);
    int at = first;
    for (; at + 16 <= end; at += 16) {
        const uint16 p = *(__global const uint16_at4 *)(src + at);
        const uint16 y = (13926 * (p & 255) + 46885 * (p >> 8 & 255) + 4725 * (p >> 16 & 255) + 32768) >> 16;
        uint bin[16];
        vstore16(y, 0, bin);
#pragma unroll
        for (int i = 0; i < 16; i++)
            bins[i % COPIES][bin[i]]++;
    }
    for (; at < end; at++)
        bins[0][luminance(src[at])]++;

    for (int bin = 0; bin < BINS; bin++) {
        uint sum = 0;
        for (int copy = 0; copy < COPIES; copy++)
            sum += bins[copy][bin];
        atomic_add(&out[bin], sum);
    }
}
