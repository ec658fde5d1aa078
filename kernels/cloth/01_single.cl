// Cloth, step 1: a single work-item computes everything, one character after the other.
//
// vertices   SKINNED structures of 80 bytes: the body, then a driver for each particle
// pose       BONES matrices of 3 rows and 4 columns a character
// skinned    position and normal, a float4 each, of SKINNED vertices a character
// positions, previous, moved   a float4 for each of PARTICLES particles a character
// pairs, lengths   particles of a constraint; its length, and the parts of the error that move each particle
// ends       where the constraints of each colour end
// first, army   the first character, and how many there are
#include "structs.clh"

__kernel void skin(__global const vertex *vertices, __global const float *pose, __global float4 *skinned, uint first, uint army)
{
    for (uint character = first; character < army; character++)
        for (uint v = 0; v < SKINNED; v++)
            skin_one(vertices[v], pose + character * (BONES * 12), skinned + 2 * (character * SKINNED + v));
}

__kernel void integrate(__global const float4 *positions, __global const float4 *previous, __global float4 *moved, float4 at,
                        float4 pull, float carry, float fall, uint first, uint army)
{
    for (uint i = first * PARTICLES; i < army * PARTICLES; i++)
        moved[i] = integrate_one(positions[i], previous[i], at, pull, carry, fall);
}

__kernel void distances(__global const float4 *positions, __global float4 *moved, __global const uint2 *pairs,
                        __global const float4 *lengths, __global const uint *ends, uint begin, uint end, uint first, uint army)
{
    for (uint character = first; character < army; character++) {
        __global float4 *points = moved + character * PARTICLES;
        if (positions != moved)
            for (uint i = 0; i < PARTICLES; i++)
                points[i] = positions[character * PARTICLES + i];
        for (uint iteration = 0; iteration < ITERATIONS; iteration++)
            for (uint c = begin; c < end; c++)
                distance_one(points, pairs[c], lengths[c]);
    }
}

__kernel void drive(__global const float4 *positions, __global const float4 *skinned, __global const float *reach,
                    __global float4 *moved, uint first, uint army)
{
    for (uint character = first; character < army; character++)
        for (uint p = 0; p < PARTICLES; p++) {
            __global const float4 *driver = skinned + 2 * (character * SKINNED + BODY + p);
            const uint i = character * PARTICLES + p;
            moved[i] = drive_one(positions[i], driver[0], driver[1], reach[p]);
        }
}

__kernel void write_shirt(__global const float4 *positions, __global float *vertices, uint first, uint army)
{
    for (uint character = first; character < army; character++)
        for (uint v = 0; v < SHIRT; v++)
            shirt_one(positions + character * PARTICLES, v, vertices + 8 * (character * SHIRT + v));
}

__kernel void write_body(__global const float4 *skinned, __global const float2 *uv, __global float *vertices, uint first,
                         uint army)
{
    for (uint character = first; character < army; character++)
        for (uint v = 0; v < BODY; v++) {
            __global const float4 *from = skinned + 2 * (character * SKINNED + v);
            const float8 to = (float8)(from[0].xyz, from[1].xyz, uv[v]);
            vstore8(to, army * SHIRT + character * BODY + v, vertices);
        }
}
