// Reduction, steps 12 and 13: four pixels a load, sub-groups instead of a tree in local memory, and one launch.
//
// A work-group has a tile of 64x64 pixels: one block, or 4 or 16 of them. Each work-item reads 16 pixels, four at a time, and
// reduces them in registers. On NVIDIA's devices 32 work-items then exchange registers; with OpenCL's sub-groups, of whatever
// size, those have minima, maxima and running sums; elsewhere a tree in local memory does it.
//
// src      width*height pixels, RGBA, 8 bits a channel, no gap between rows; or an image
// parts    one for each group: see frames.clh
// out      see parts.clh
// counter  0 before and after
// block    edge of a block: 16, 32 or 64
// -D GROUP     work-items of a group: 64, 128, 256 or 512
// -D ONE_PASS  1: the last group finishes the frame; 0: another launch does
// -D IMAGE     see pixels.clh; it is then read a pixel at a time
// -D NVIDIA, SUB_GROUPS  see parts.clh
#include "../scopes/pixels.clh"
#include "frames.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef ONE_PASS
#define ONE_PASS 1
#endif

#define TILE 64
#define QUADS (TILE * TILE / 4 / GROUP)

typedef struct {
    uint sum, least, most, product;
} sums_t;

#define NO_SUMS {0, 255, 0, 1}

#if NVIDIA
// luminance() by one instruction: two products of 16 by 8 bits and their sum.
uint quick_luminance(uint pixel)
{
    uint sum;
    asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(13926u | 46885u << 16), "r"(pixel), "r"(32768u));
    asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(4725u), "r"(pixel), "r"(sum));
    return sum >> 16;
}
#else
#define quick_luminance luminance
#endif

void add_pixel(sums_t *s, uint pixel)
{
    const uint y = quick_luminance(pixel);
    s->sum += y;
    s->least = min(s->least, y);
    s->most = max(s->most, y);
    s->product *= 2 * y + 1;
}

sums_t both(sums_t a, sums_t b)
{
    a.sum += b.sum;
    a.least = min(a.least, b.least);
    a.most = max(a.most, b.most);
    a.product *= b.product;
    return a;
}

#if NVIDIA
sums_t exchanged(sums_t s, uint mask)
{
    const sums_t other = {across(s.sum, mask), across(s.least, mask), across(s.most, mask), across(s.product, mask)};
    return both(s, other);
}
#elif SUB_GROUPS
// Combines the values of each sub-group of `size` work-items, whose work-items are in `tree`: all get minimum and maximum, the
// first one the product. Sums are prefix sums, of a work-item and those before it: a block may be a part of a sub-group,
// or contain several. Every work-item of the group must call it.
void join_sub_groups(__local sums_t *tree, sums_t own, uint item, uint size)
{
    // Without it PoCL 6 sums before all work-items have left the branch that computes `own`.
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum = sub_group_scan_inclusive_add(own.sum);
    const uint least = sub_group_reduce_min(own.least);
    const uint most = sub_group_reduce_max(own.most);
    const sums_t with_others = {sum, least, most, own.product};
    tree[item] = with_others;
    // OpenCL has no product of a sub-group. The size may be odd, and the last sub-group smaller.
    const uint lane = get_sub_group_local_id();
    for (uint left = size, later; left > 1; left = later) {
        later = (left + 1) / 2;
        sub_group_barrier(CLK_LOCAL_MEM_FENCE);
        if (lane + later < left && item + later < GROUP)
            tree[item].product *= tree[item + later].product;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// The sum of `count` work-items from `first` on, from prefix sums.
uint sum_of(__local const sums_t *tree, uint first, uint count, uint size)
{
    const uint last = first + count - 1;
    const uint before = first % size;
    uint sum = tree[last].sum - (before ? tree[first - 1].sum : 0);
    // Of the sub-groups that end before that.
    for (uint end = first - before + size - 1; end < last; end += size)
        sum += tree[end].sum;
    return sum;
}
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduction_one_pass(PICTURE src, __global uint4 *parts, __global uint *out, int width, int height, int block
#if ONE_PASS
                   , __global uint *counter
#endif
)
{
#if NVIDIA
    // The values of a warp, or of the part of one that has a block: at most 32 of them, which the first warp combines.
    __local sums_t warps[32];
#else
    __local sums_t tree[GROUP];
#endif
#if ONE_PASS
    __local int last;
#if NVIDIA
    __local uint highs[32];
#else
    __local frame_t frames[GROUP];
#endif
#endif
    const uint item = item_of_group();
    // Exponents of two: of a block's edge, of blocks across a tile, and of the work-items that share a block.
    const uint shift = log_of(block);
    const uint across_tile = log_of(TILE) - shift;
    const uint share = log_of(GROUP) - 2 * across_tile;
    const uint items = 1 << share;
    const uint within = item & (items - 1);
    const int blocks_across = (width + block - 1) >> shift;
    const int column = (get_group_id(0) << across_tile) + ((item >> share) & ((1 << across_tile) - 1));
    const int row = (get_group_id(1) << across_tile) + (item >> share >> across_tile);
    const int left = column << shift;
    const int top = row << shift;

    sums_t own = NO_SUMS;
#if !IMAGE
    if (width % 4 == 0) {
        uint4 quads[QUADS];
        int inside[QUADS];
        const uint in_row = shift - 2;
#pragma unroll
        for (int n = 0; n < QUADS; n++) {
            const uint at = within + n * items;
            const int x = left + 4 * (at & ((1 << in_row) - 1));
            const int y = top + (at >> in_row);
            inside[n] = x < width && y < height;
            quads[n] = inside[n] ? *(__global const uint4 *)(src + y * width + x) : (uint4)0;
        }
#pragma unroll
        for (int n = 0; n < QUADS; n++) {
            if (inside[n]) {
                add_pixel(&own, quads[n].s0);
                add_pixel(&own, quads[n].s1);
                add_pixel(&own, quads[n].s2);
                add_pixel(&own, quads[n].s3);
            }
        }
    } else
#endif
    {
#if IMAGE
#pragma unroll
#else
        // Rare, and not unrolled: the other path is enough work for the compiler.
#pragma unroll 1
#endif
        for (int n = 0; n < 4 * QUADS; n++) {
            const uint at = within + n * items;
            const int x = left + (at & (block - 1));
            const int y = top + (at >> shift);
            if (x < width && y < height)
                add_pixel(&own, pixel_at(src, x, y, width));
        }
    }

    // Combined by block, and the blocks of a tile.
#if NVIDIA
    const uint run = min(items, 32u);
    const uint runs = GROUP >> log_of(run);
    for (uint mask = 1; mask < run; mask *= 2)
        own = exchanged(own, mask);
    if ((item & (run - 1)) == 0)
        warps[item >> log_of(run)] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int joins = item < 32;
    const uint each = items >> log_of(run);
    const uint chosen = item >> log_of(each);
    const sums_t none = NO_SUMS;
    if (joins) {
        own = item < runs ? warps[item] : none;
        for (uint mask = 1; mask < each; mask *= 2)
            own = exchanged(own, mask);
    }
    const int writes = joins && item < runs && (item & (each - 1)) == 0;
    const uint sum = own.sum;
    if (joins) {
        for (uint mask = each; mask < 32; mask *= 2)
            own = exchanged(own, mask);
    }
#elif SUB_GROUPS
    const uint size = get_max_sub_group_size();
    join_sub_groups(tree, own, item, size);
    const uint chosen = item >> share;
    const int writes = within == 0;
    const uint sum = writes ? sum_of(tree, item, items, size) : 0;
    // Few sub-groups, as a rule: one work-item combines them.
    if (item == 0) {
        own = tree[0];
        for (uint first = size; first < GROUP; first += size)
            own = both(own, tree[first]);
        own.sum = sum_of(tree, 0, GROUP, size);
    }
#else
    tree[item] = own;
    for (uint stride = items / 2; stride > 0; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (within < stride)
            tree[item] = both(tree[item], tree[item + stride]);
    }
    const uint chosen = item >> share;
    const int writes = within == 0;
    const uint sum = tree[item].sum;
    for (uint stride = items; stride < GROUP; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((item & (2 * stride - 1)) == 0)
            tree[item] = both(tree[item], tree[item + stride]);
    }
    own = tree[0];
#endif

    const uint4 part = (uint4)(own.sum, 0, own.least | own.most << 8, own.product);
#if ONE_PASS
    if (item == 0)
        last = is_last(parts, part, counter);
#endif
    // Not before the part: a work-item that leaves waits for its own stores.
    if (writes) {
        const int c = (get_group_id(0) << across_tile) + (chosen & ((1 << across_tile) - 1));
        const int r = (get_group_id(1) << across_tile) + (chosen >> across_tile);
        if (c * block < width && r * block < height)
            out[MEANS + r * blocks_across + c]
                = mean_of(sum, min(block, width - c * block) * min(block, height - r * block));
    }
#if ONE_PASS
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last) {
        const int count = get_num_groups(0) * get_num_groups(1);
        const uint4 nothing = NO_PART;
        frame_t frame = NO_FRAME;
        for (int first = item; first < count; first += PARTS_AHEAD * GROUP) {
            uint4 ahead[PARTS_AHEAD];
#pragma unroll
            for (int n = 0; n < PARTS_AHEAD; n++)
                ahead[n] = first + n * GROUP < count ? part_at(parts, first + n * GROUP) : nothing;
#pragma unroll
            for (int n = 0; n < PARTS_AHEAD; n++)
                add_part(&frame, ahead[n]);
        }
#if NVIDIA
        // Sums in two halves, so that no exchange carries.
        uint high = frame.sum >> 16;
        sums_t low = {frame.sum & 0xffff, frame.extremes & 255, frame.extremes >> 8, frame.product};
        for (uint mask = 1; mask < 32; mask *= 2) {
            low = exchanged(low, mask);
            high += across(high, mask);
        }
        if (item % 32 == 0) {
            warps[item / 32] = low;
            highs[item / 32] = high;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < 32) {
            low = item < GROUP / 32 ? warps[item] : none;
            high = item < GROUP / 32 ? highs[item] : 0;
            for (uint mask = 1; mask < GROUP / 32; mask *= 2) {
                low = exchanged(low, mask);
                high += across(high, mask);
            }
            const frame_t all = {low.sum + ((ulong)high << 16), low.least | low.most << 8, low.product};
            if (item == 0)
                write_frame(out, all, (ulong)width * height);
        }
#else
        join_frames(frames, frame, GROUP, out, (ulong)width * height);
#endif
    }
#else
    if (item == 0)
        parts[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = part;
#endif
}
