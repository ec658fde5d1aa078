// Cloth, step 5: the constraints of a colour share no particle, so each has a work-item of its own; a launch for each colour.
// Arguments as in planes.clh; begin and end are those of the colour.
#undef LANES
#define LANES 1
#include "planes.clh"
#include "distance.clh"

__kernel void copy(__global const float *positions, __global float *moved, uint first)
{
    const uint i = get_global_id(0);
    if (i < 3 * PARTICLES)
        moved[(first + get_global_id(1)) * (3 * PARTICLES) + i] = positions[(first + get_global_id(1)) * (3 * PARTICLES) + i];
}

__kernel void distances(__global const float *positions, __global float *moved, __global const uint2 *pairs,
                        __global const float4 *lengths, __global const uint *ends, uint begin, uint end, uint first, uint army)
{
    const uint c = begin + get_global_id(0);
    if (c >= end)
        return;
    __global float *x = moved + (first + get_global_id(1)) * (3 * PARTICLES), *y = x + PARTICLES, *z = y + PARTICLES;
    DISTANCE_ONE(x, y, z, pairs[c], lengths[c]);
}
