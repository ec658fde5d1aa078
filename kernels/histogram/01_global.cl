// Histogram, step 3: one pixel a work-item, counted in the device's memory.
//
// Atomic additions to the same number wait for each other, and a picture has few different luminances.
//
// src   width*height pixels, RGBA, 8 bits a channel, no gap between rows
// out   see histogram.clh
// -D GROUP  work-items of a group
#include "histogram.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
histogram_global(__global const uint *src, volatile __global uint *out, int width, int height)
{
    const int at = get_group_id(0) * GROUP + get_local_id(0);
    if (at < width * height)
        atomic_inc(&out[luminance(src[at])]);
}
