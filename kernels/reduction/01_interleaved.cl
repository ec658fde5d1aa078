// Reduction, step 4: a tree in local memory, with strided indices.
//
// Each work-item has one pixel of a tile. Neighbours combine in pairs, then pairs of pairs, so that the work-items that are
// still active are close to each other, but their data lies 2, 4, 8... apart: on a GPU in the same banks
// of local memory, whose accesses are serialised.
//
// src     width*height pixels, RGBA, 8 bits a channel, no gap between rows
// parts   one for each cell, in rows
// block   edge of a block: 16, 32 or 64
// -D TILE, GROUP  see tiles.clh
#include "tiles.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduction_interleaved(__global const uint *src, __global uint4 *parts, int width, int height, int block)
{
    __local uint4 tree[GROUP];
    const place_t p = place_of(get_local_id(0), width, height, block);
    tree[get_local_id(0)] = own_part(src, p, width, height);
    for (uint stride = 1; stride < GROUP; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint at = 2 * stride * get_local_id(0);
        if (at < GROUP)
            tree[at] = joined(tree[at], tree[at + stride]);
    }
    if (get_local_id(0) == 0)
        parts[p.number] = tree[0];
}
