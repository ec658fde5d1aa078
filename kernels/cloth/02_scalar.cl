// Cloth, step 2: a work-item a particle or vertex, which reads its 80 bytes directly. Arguments as in 01_single.cl.
#include "scalar.clh"

__kernel void skin(__global const vertex *vertices, __global const float *pose, __global float4 *skinned, uint first, uint army)
{
    const uint v = get_global_id(0), character = first + get_global_id(1);
    if (v < SKINNED)
        skin_one(vertices[v], pose + character * (BONES * 12), skinned + 2 * (character * SKINNED + v));
}
