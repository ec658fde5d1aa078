// Reduction, step 5: a tree in local memory, without strides.
//
// The first half combines with the second half, then the first quarter with the second: neighbours access neighbours, which
// lie in different banks of local memory.
//
// src     width*height pixels, RGBA, 8 bits a channel, no gap between rows
// parts   one for each cell, in rows
// block   edge of a block: 16, 32 or 64
// -D TILE, GROUP  see tiles.clh
#include "tiles.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduction_sequential(__global const uint *src, __global uint4 *parts, int width, int height, int block)
{
    __local uint4 tree[GROUP];
    const uint item = get_local_id(0);
    const place_t p = place_of(item, width, height, block);
    tree[item] = own_part(src, p, width, height);
    for (uint stride = GROUP / 2; stride > 0; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < stride)
            tree[item] = joined(tree[item], tree[item + stride]);
    }
    if (item == 0)
        parts[p.number] = tree[0];
}
