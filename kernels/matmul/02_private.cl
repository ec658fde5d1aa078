// Matrix multiplication, step 5: as naive, but the sum stays in a register until it is whole.
//
// a, b, c  m×k, k×n and m×n floats, row by row without gaps
// GROUP    work-items of a group, along a row
#ifndef GROUP
#define GROUP 64
#endif

__kernel void matmul_private(__global const float *a, __global const float *b, __global float *c, uint m, uint n, uint k)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    if (row < m && column < n) {
        float sum = 0.0f;
        for (uint i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
}
