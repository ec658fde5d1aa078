// Cloth, step 7: a work-item a character, whose constraints are solved in a vector, eight at a time: those of a colour share no
// particle. The rest of a colour is solved one after the other. Arguments as in planes.clh.
#undef LANES
#define LANES 1
#include "planes.clh"
#include "distance.clh"

#define GATHER(from, at) \
    (float8)(from[at.s0], from[at.s1], from[at.s2], from[at.s3], from[at.s4], from[at.s5], from[at.s6], from[at.s7])
#define SCATTER(to, at, of)                                                                          \
    do {                                                                                             \
        const float8 moved_to = (of);                                                                \
        to[at.s0] = moved_to.s0;                                                                     \
        to[at.s1] = moved_to.s1;                                                                     \
        to[at.s2] = moved_to.s2;                                                                     \
        to[at.s3] = moved_to.s3;                                                                     \
        to[at.s4] = moved_to.s4;                                                                     \
        to[at.s5] = moved_to.s5;                                                                     \
        to[at.s6] = moved_to.s6;                                                                     \
        to[at.s7] = moved_to.s7;                                                                     \
    } while (0)

inline void eight(__global float *x, __global float *y, __global float *z, __global const uint *pairs, __global const float *lengths)
{
    const uint16 both = vload16(0, pairs);
    const uint8 a = both.even, b = both.odd;
    const float16 four = vload16(0, lengths), more = vload16(1, lengths);
    const float8 rest = (float8)(four.s048c, more.s048c);
    const float8 ax = GATHER(x, a), ay = GATHER(y, a), az = GATHER(z, a);
    const float8 bx = GATHER(x, b), by = GATHER(y, b), bz = GATHER(z, b);
    const float8 dx = bx - ax, dy = by - ay, dz = bz - az;
    const float8 error = 1.0f - rest / sqrt(fmax(dx * dx + dy * dy + dz * dz, (float8)(1e-12f)));
    const float8 to_a = error * (float8)(four.s159d, more.s159d), to_b = error * (float8)(four.s26ae, more.s26ae);
    SCATTER(x, a, ax + dx * to_a);
    SCATTER(y, a, ay + dy * to_a);
    SCATTER(z, a, az + dz * to_a);
    SCATTER(x, b, bx - dx * to_b);
    SCATTER(y, b, by - dy * to_b);
    SCATTER(z, b, bz - dz * to_b);
}

__kernel void distances(__global const float *positions, __global float *moved, __global const uint2 *pairs,
                        __global const float4 *lengths, __global const uint *ends, uint colours, uint end, uint first, uint army)
{
    const uint character = first + get_global_id(0);
    if (character >= army)
        return;
    __global float *x = moved + character * (3 * PARTICLES), *y = x + PARTICLES, *z = y + PARTICLES;
    if (positions != moved)
        for (uint i = 0; i < 3 * PARTICLES; i++)
            x[i] = positions[character * (3 * PARTICLES) + i];
    for (uint iteration = 0; iteration < ITERATIONS; iteration++)
        for (uint colour = 0, c = 0; colour < colours; colour++) {
            for (; c + 8 <= ends[colour]; c += 8)
                eight(x, y, z, (__global const uint *)(pairs + c), (__global const float *)(lengths + c));
            for (; c < ends[colour]; c++)
                DISTANCE_ONE(x, y, z, pairs[c], lengths[c]);
        }
}
