// Scopes: how many pixels have each luminance, in the whole frame (the histogram) and in each of STRIPS upright strips of it
// (the waveform).
//
// A work-group has a strip, and counts it in local memory as the histogram's step `copies` does. One pass over the frame
// serves both: the counts of the strips are added up to the histogram.
//
// src   width*height pixels, RGBA, 8 bits a channel, no gap between rows; or an image
// out   the histogram, see histogram.clh; then for each strip, from the left, LEVELS numbers: how many of its pixels have
//       a luminance of 2k or 2k+1
// -D GROUP   work-items of a group; 1 on CPUs, where no other work-item counts in its local memory
// -D COPIES  histograms of a group: neighbours count in different ones. Local memory: 1024 bytes each
// -D IMAGE   see pixels.clh
#include "pixels.clh"
#include "../histogram/histogram.clh"

#ifndef COPIES
#define COPIES 8
#endif

#define STRIPS 256
#define LEVELS 128
// Pixels that are read before the first is counted.
#define AHEAD 8

#if GROUP == 1
#define COUNT(bin) (*(bin))++
#else
#define COUNT(bin) atomic_inc(bin)
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scopes_waveform(PICTURE src, volatile __global uint *out, int width, int height)
{
    __local uint bins[COPIES * BINS];
    const int item = get_local_id(0);
    for (int bin = item; bin < COPIES * BINS; bin += GROUP)
        bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    // Empty if the frame has fewer columns than there are strips.
    const int strip = get_group_id(0);
    const int left = strip * width / STRIPS;
    const int columns = (strip + 1) * width / STRIPS - left;
    if (columns > 0) {
        // Adjacent work-items take adjacent pixels of a row; there is no division after this.
        const int step_x = GROUP % columns;
        const int step_y = GROUP / columns;
        int x = item % columns;
        int y = item / columns;
        while (y < height) {
            uint found[AHEAD];
#pragma unroll
            for (int n = 0; n < AHEAD; n++) {
                found[n] = y < height ? luminance(pixel_at(src, left + x, y, width)) : BINS;
                x += step_x;
                y += step_y;
                if (x >= columns) {
                    x -= columns;
                    y++;
                }
            }
#pragma unroll
            for (int n = 0; n < AHEAD; n++)
                if (found[n] < BINS)
                    COUNT(&bins[(item + n) % COPIES * BINS + found[n]]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    merge(out, bins, COPIES);
    for (int level = item; level < LEVELS; level += GROUP) {
        uint sum = 0;
        for (int copy = 0; copy < COPIES; copy++)
            sum += bins[copy * BINS + 2 * level] + bins[copy * BINS + 2 * level + 1];
        out[BINS + strip * LEVELS + level] = sum;
    }
}
