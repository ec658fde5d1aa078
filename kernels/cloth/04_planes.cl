// Cloth, step 4: structures of arrays, with select and minimum instead of branches, and a vector of LANES characters a
// work-item. The constraints of a character are solved one after the other, beside those of its neighbours in the vector, even
// if few constraints could run concurrently. Arguments as in planes.clh.
#include "planes.clh"
#include "distance.clh"

__kernel void distances(__global const float *positions, __global float *moved, __global const uint2 *pairs,
                        __global const float4 *lengths, __global const uint *ends, uint begin, uint end, uint first, uint army)
{
    const uint block = first + get_global_id(0);
    if (block * LANES >= army)
        return;
    __global real *x = (__global real *)moved + block * (3 * PARTICLES), *y = x + PARTICLES, *z = y + PARTICLES;
    if (positions != moved) {
        __global const real *from = (__global const real *)positions + block * (3 * PARTICLES);
        for (uint i = 0; i < 3 * PARTICLES; i++)
            x[i] = from[i];
    }
    for (uint iteration = 0; iteration < ITERATIONS; iteration++)
        for (uint c = begin; c < end; c++)
            DISTANCE_ONE(x, y, z, pairs[c], lengths[c]);
}
