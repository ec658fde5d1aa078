// Vector addition, step 5: OpenCL, several vectors a work-item.
//
// Each work-item adds ITEMS vectors of WIDTH floats. Those of a group lie side by side for each of the ITEMS, so that
// what the group reads at once is one stretch of memory. The last vector of all may be cut short: it is added number by
// number.
//
// a, b, sum  count floats, aligned to a vector
#include "../common/vectors.clh"

#ifndef GROUP
#define GROUP 64
#endif
#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef ITEMS
#define ITEMS 1
#endif

#define VECTOR VECTOR_OF(float, WIDTH)

__kernel void vector_add_vector(__global const float *a, __global const float *b, __global float *sum, uint count)
{
    __global const VECTOR *as = (__global const VECTOR *)a;
    __global const VECTOR *bs = (__global const VECTOR *)b;
    __global VECTOR *sums = (__global VECTOR *)sum;
    const uint whole = count / WIDTH;
    const uint first = get_group_id(0) * (GROUP * ITEMS) + get_local_id(0);

#pragma unroll
    for (uint item = 0; item < ITEMS; item++) {
        const uint v = first + item * GROUP;
        if (v < whole) {
            sums[v] = as[v] + bs[v];
        } else if (v == whole) {
            for (uint i = whole * WIDTH; i < count; i++)
                sum[i] = a[i] + b[i];
        }
    }
}
