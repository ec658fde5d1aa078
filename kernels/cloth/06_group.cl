// Cloth, step 6: a group has a character's particles in local memory, and runs all colours and iterations there.
// Arguments as in planes.clh.
#undef LANES
#define LANES 1
#include "planes.clh"
#include "distance.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void distances(__global const float *positions, __global float *moved, __global const uint2 *pairs,
               __global const float4 *lengths, __global const uint *ends, uint colours, uint end, uint first, uint army)
{
    __local float x[PARTICLES], y[PARTICLES], z[PARTICLES];
    const uint own = get_local_id(0), base = (first + get_global_id(1)) * (3 * PARTICLES);
    for (uint i = own; i < PARTICLES; i += GROUP) {
        x[i] = positions[base + i];
        y[i] = positions[base + PARTICLES + i];
        z[i] = positions[base + 2 * PARTICLES + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint iteration = 0; iteration < ITERATIONS; iteration++)
        for (uint colour = 0; colour < colours; colour++) {
            const uint until = ends[colour];
            for (uint c = (colour > 0 ? ends[colour - 1] : 0) + own; c < until; c += GROUP)
                DISTANCE_ONE(x, y, z, pairs[c], lengths[c]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    for (uint i = own; i < PARTICLES; i += GROUP) {
        moved[base + i] = x[i];
        moved[base + PARTICLES + i] = y[i];
        moved[base + 2 * PARTICLES + i] = z[i];
    }
}
