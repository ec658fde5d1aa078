// Reduction, steps 6 to 10: the last steps of the tree are unrolled and, where work-items run as one (32 of NVIDIA's, or a
// sub-group), without the group's barrier.
//
// TILE and GROUP distinguish the steps: with fewer work-items than pixels each loads several before it needs the first
// (prefetching), and larger tiles leave less for the second launch.
//
//   unrolled    16x16 pixels, 256 work-items
//   prefetch-2  16x16 pixels, 128 work-items with 2 each
//   prefetch-4  16x16 pixels, 64 work-items with 4 each
//   wide-32     32x32 pixels, 256 work-items with 4 each, or 64 with 16
//   wide-64     64x64 pixels, 256 work-items with 16 each
//
// src     width*height pixels, RGBA, 8 bits a channel, no gap between rows
// parts   one for each cell, in rows
// block   edge of a block: 16, 32 or 64
// -D TILE, GROUP  see tiles.clh
// -D SUB_GROUPS   see parts.clh
#include "tiles.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduction_unrolled(__global const uint *src, __global uint4 *parts, int width, int height, int block)
{
    __local uint4 tree[GROUP];
    const uint item = item_of_group();
    const place_t p = place_of(item, width, height, block);
    tree[item] = own_part(src, p, width, height);
    for (uint stride = p.items / 2; stride >= WARP; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (p.within < stride)
            tree[item] = joined(tree[item], tree[item + stride]);
    }
#if NVIDIA || !SUB_GROUPS
    // Elsewhere a compiler may not know the number of steps.
#pragma unroll
#endif
    for (uint stride = WARP / 2; stride > 0; stride /= 2) {
        WARP_BARRIER();
        if (p.within < stride && stride < p.items)
            tree[item] = joined(tree[item], tree[item + stride]);
    }
    if (p.within == 0 && p.number >= 0)
        parts[p.number] = tree[item];
}
