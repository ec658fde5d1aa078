// The peak of transposition: a copy, which reads and writes as many numbers and keeps their order.
//
// a     m×n floats
// copy  as many
// GROUP work-items of a group: it changes only the launch
__kernel void transpose_copy(__global const float *a, __global float *copy, uint m, uint n)
{
    const uint at = get_global_id(0);
    if (at < m * n)
        copy[at] = a[at];
}
