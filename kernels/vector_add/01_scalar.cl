// Vector addition, step 4: OpenCL, one number a work-item.
//
// sum[i] = a[i] + b[i], which OpenCL rounds as IEEE 754 does: to the nearest, ties to even.
//
// a, b, sum  count floats
// GROUP      work-items of a group: it changes only the launch
__kernel void vector_add_scalar(__global const float *a, __global const float *b, __global float *sum, uint count)
{
    const uint i = get_global_id(0);
    if (i < count)
        sum[i] = a[i] + b[i];
}
