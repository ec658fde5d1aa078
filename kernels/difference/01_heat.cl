// Compares two pictures pixel by pixel: a map of their differences, how many pixels differ, and where they differ most.
//
// Two launches: in difference_parts each group reduces a run of pixels and writes a part; difference_whole, one
// group, combines the parts. A pixel's difference is the largest of its four channels'.
//
// a, b    width*height pixels, RGBA, 8 bits a channel: a buffer without gaps between rows, or an image
// heat    the map, a buffer: black where nothing differs, then violet, red, orange, white; one level is violet already
// parts   one for each group: pixels that differ, the largest difference, and the first pixel that has it
// out     the combination of all parts
// -D GROUP    work-items of a group: a power of two
// -D A_IMAGE, B_IMAGE  1: that picture is an image
#ifndef GROUP
#define GROUP 64
#endif
#ifndef A_IMAGE
#define A_IMAGE 0
#endif
#ifndef B_IMAGE
#define B_IMAGE 0
#endif

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

#define FROM_IMAGE(image, i) \
    convert_uchar4_rte(read_imagef(image, nearest, (int2)((i) % width, (i) / width)) * 255.0f)
#if A_IMAGE
#define A __read_only image2d_t
#define A_AT(i) FROM_IMAGE(a, i)
#else
#define A __global const uchar4 *
#define A_AT(i) a[i]
#endif
#if B_IMAGE
#define B __read_only image2d_t
#define B_AT(i) FROM_IMAGE(b, i)
#else
#define B __global const uchar4 *
#define B_AT(i) b[i]
#endif

// The colour of a difference: each doubling is an equal distance on the way from violet to white. No two differences
// have the same colour: the steps of the last doubling are the smallest, and at each of them some channel changes.
uchar4 colour(int difference)
{
    if (difference == 0)
        return (uchar4)(0, 0, 0, 255);
    const int octave = 31 - clz(difference);
    const int t = 128 * octave + ((difference << 7) >> octave) - 128;
    const int4 c = (int4)(96 + t / 2, 3 * (t - 320) / 8, max(160 - t / 2, t - 768), 255);
    return convert_uchar4(clamp(c, 0, 255));
}

// x: pixels that differ, y: the largest difference, z: the first pixel that has it
uint4 both(uint4 a, uint4 b)
{
    const bool is_b = b.y > a.y || (b.y == a.y && b.z < a.z);
    return (uint4)(a.x + b.x, is_b ? b.y : a.y, is_b ? b.z : a.z, 0);
}

#define NOTHING (uint4)(0, 0, UINT_MAX, 0)

// Combines the results of a group's work-items by a tree.
uint4 of_group(__local uint4 *tree, uint4 own)
{
    const int me = get_local_id(0);
    tree[me] = own;
    for (int reach = GROUP / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < reach)
            tree[me] = both(tree[me], tree[me + reach]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return tree[0];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
difference_parts(A a, B b, __global uchar4 *heat, __global uint4 *parts, int width, int pixels, int run)
{
    __local uint4 tree[GROUP];
    const int first = get_group_id(0) * run;
    const int end = min(first + run, pixels);
    uint4 found = NOTHING;
    for (int i = first + (int)get_local_id(0); i < end; i += GROUP) {
        const uchar4 d = abs_diff(A_AT(i), B_AT(i));
        const uint most = max(max(d.x, d.y), max(d.z, d.w));
        heat[i] = colour(most);
        // Pixels are visited in order: a later one with the same difference is not the first.
        if (most > found.y) {
            found.y = most;
            found.z = i;
        }
        found.x += most > 0;
    }
    const uint4 all = of_group(tree, found);
    if (get_local_id(0) == 0)
        parts[get_group_id(0)] = all;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
difference_whole(__global const uint4 *parts, __global uint4 *out, int count)
{
    __local uint4 tree[GROUP];
    uint4 found = NOTHING;
    for (int i = get_local_id(0); i < count; i += GROUP)
        found = both(found, parts[i]);
    const uint4 all = of_group(tree, found);
    if (get_local_id(0) == 0)
        out[0] = all;
}
