// The peak of the cloth: writes the bytes that a step has to write, reads as many, and computes nothing.
#ifndef GROUP
#define GROUP 64
#endif

__kernel void stream(__global const float4 *from, __global float4 *to, uint count, uint have)
{
    for (uint i = get_global_id(0); i < count; i += get_global_size(0))
        to[i] = from[i % have];
}
