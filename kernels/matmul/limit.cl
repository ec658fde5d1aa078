// The peak of matrix multiplication: as many multiply-adds as it needs, in registers only. Each work-item has CHAINS
// independent vectors: more than the latency of a multiply-add in steps, fewer than there are registers. No kernel that
// multiplies and adds can be faster.
//
// a, b, c  m×k, k×n and m×n floats, of which only the first is used: the output is not used
// GROUP    work-items of a group
// WIDTH    floats of a vector
// CHAINS   vectors of a work-item
#include "../common/vectors.clh"

#ifndef GROUP
#define GROUP 64
#endif
#ifndef WIDTH
#define WIDTH 1
#endif
#ifndef CHAINS
#define CHAINS 16
#endif
#if WIDTH == 1
#define VECTOR float
#else
#define VECTOR VECTOR_OF(float, WIDTH)
#endif

__kernel void multiply_adds(__global const float *a, __global const float *b, __global float *c, uint m, uint n, uint k)
{
    const ulong products = (ulong)m * n * k;
    const ulong a_turn = (ulong)get_global_size(0) * CHAINS * WIDTH;
    const uint turns = (uint)((products + a_turn - 1) / a_turn);
    // Both between 0 and 1, which the compiler cannot know: the sums stay finite.
    const VECTOR factor = (VECTOR)(1.0f / (float)(m + 2)), more = (VECTOR)(1.0f / (float)(n + get_global_id(0)));
    VECTOR sums[CHAINS];
#pragma unroll
    for (uint chain = 0; chain < CHAINS; chain++)
        sums[chain] = (VECTOR)((float)chain);
    for (uint turn = 0; turn < turns; turn++) {
#pragma unroll
        for (uint chain = 0; chain < CHAINS; chain++)
            sums[chain] = sums[chain] * factor + more;
    }
    VECTOR sum = (VECTOR)(0.0f);
#pragma unroll
    for (uint chain = 0; chain < CHAINS; chain++)
        sum += sums[chain];
    float numbers[WIDTH];
    *(VECTOR *)numbers = sum;
    // Never true, which the compiler cannot know either.
    if (numbers[0] < 0.0f)
        c[0] = numbers[WIDTH - 1];
}
