// Matrix multiplication, step 4: OpenCL, one result a work-item, which adds each product to the result in memory.
//
// c = a b. Work-items side by side compute results side by side.
//
// a, b, c  m×k, k×n and m×n floats, row by row without gaps
// GROUP    work-items of a group, along a row
#ifndef GROUP
#define GROUP 64
#endif

__kernel void matmul_naive(__global const float *a, __global const float *b, __global float *c, uint m, uint n, uint k)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    if (row < m && column < n) {
        c[row * n + column] = 0.0f;
        for (uint i = 0; i < k; i++)
            c[row * n + column] += a[row * k + i] * b[i * n + column];
    }
}
