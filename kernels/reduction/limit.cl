// The peak of kernels that read a picture once: a plain read. Each word is read, and only used in the exclusive or
// that makes all reads necessary.
//
// src     count words of 32 bits, aligned to a vector
// parts   written only if the exclusive or has an unlikely value
// -D WIDTH  words of a vector
// -D GROUP  work-items of a group
// -D EACH   vectors of a work-item
#include "../common/vectors.clh"

#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef EACH
#define EACH 4
#endif

#define VECTOR VECTOR_OF(uint, WIDTH)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
read_once(__global const uint *src, __global uint4 *parts, int width, int height)
{
    __global const VECTOR *vectors = (__global const VECTOR *)src;
    const uint whole = (uint)width * height / WIDTH;
    const uint first = get_group_id(0) * (GROUP * EACH) + get_local_id(0);
    VECTOR all = 0;
    if (first - get_local_id(0) + GROUP * EACH <= whole) {
#pragma unroll 8
        for (uint n = 0; n < EACH; n++)
            all ^= vectors[first + n * GROUP];
    } else {
        for (uint v = first; v < whole; v += GROUP)
            all ^= vectors[v];
    }
    uint word = 0;
    uint words[WIDTH];
    *(VECTOR *)words = all;
    for (int i = 0; i < WIDTH; i++)
        word ^= words[i];
    if (word == 0x9e3779b9)
        parts[0].s0 = word;
}
