// Reduction, step 11: few work-items, each of which adds up many pixels in a row before the tree.
//
// There are as many groups as keep the device busy, whatever the picture's size, and each takes one block after the other.
// Only the block's sum needs a tree for each block. Minimum, maximum and product stay with the work-items until the end,
// and are combined by a tree for the whole group.
//
// src     width*height pixels, RGBA, 8 bits a channel, no gap between rows
// parts   one for each group: see frames.clh
// out     see parts.clh
// block   edge of a block: 16, 32 or 64
// -D GROUP  work-items of a group, a power of two
#include "frames.clh"

#ifndef GROUP
#define GROUP 256
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduction_two_stage(__global const uint *src, __global uint4 *parts, __global uint *out, int width, int height,
                    int block)
{
    __local uint sums[GROUP];
    __local uint4 tree[GROUP];
    const uint item = get_local_id(0);
    const int across = (width + block - 1) / block;
    const int blocks = across * ((height + block - 1) / block);

    uint4 own = NO_PART;
    ulong total = 0;
    for (int b = get_group_id(0); b < blocks; b += get_num_groups(0)) {
        const int left = b % across * block;
        const int top = b / across * block;
        const int columns = min(block, width - left);
        const int rows = min(block, height - top);
        uint sum = 0;
        for (int at = item; at < block * block; at += GROUP) {
            const int x = at & (block - 1);
            const int y = at >> log_of(block);
            if (x < columns && y < rows) {
                const uint4 part = part_of(luminance(src[(top + y) * width + left + x]));
                own = joined(own, part);
                sum += part.s0;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] = sum;
        for (uint stride = GROUP / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < stride)
                sums[item] += sums[item + stride];
        }
        if (item == 0) {
            out[MEANS + b] = mean_of(sums[0], columns * rows);
            total += sums[0];
        }
    }

    tree[item] = own;
    for (uint stride = GROUP / 2; stride > 0; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < stride)
            tree[item] = joined(tree[item], tree[item + stride]);
    }
    if (item == 0)
        parts[get_group_id(0)] = (uint4)((uint)total, (uint)(total >> 32), tree[0].s23);
}
