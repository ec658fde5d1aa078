// Histogram, steps 4 to 6: each group counts in local memory, and adds what it has to the output at its end.
//
// The more pixels a work-item has, the fewer groups have to add 256 numbers to those of all. COPIES histograms in a group
// keep neighbours apart: work-items next to each other count in different ones, and seldom wait for each other.
//
//   local    one pixel a work-item
//   several  EACH pixels a work-item
//   copies   the same, with COPIES histograms a group
//
// src   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// out   see histogram.clh
// -D GROUP   work-items of a group
// -D EACH    pixels of a work-item
// -D COPIES  histograms of a group. Local memory: 1024 bytes each
#include "histogram.clh"

#ifndef EACH
#define EACH 1
#endif
#ifndef COPIES
#define COPIES 1
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
histogram_local(__global const uint *src, volatile __global uint *out, int width, int height)
{
    __local uint bins[COPIES * BINS];
    const int item = get_local_id(0);
    for (int bin = item; bin < COPIES * BINS; bin += GROUP)
        bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    volatile __local uint *own = bins + item % COPIES * BINS;
    const int first = get_group_id(0) * (GROUP * EACH) + item;
#pragma unroll 8
    for (int n = 0; n < EACH; n++) {
        const int at = first + n * GROUP;
        if (at < width * height)
            atomic_inc(&own[luminance(src[at])]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    merge(out, bins, COPIES);
}
