// Matrix multiplication, step 6: b is transposed first, so that a work-item walks along a row of both.
//
// That is good on CPUs, where the successive accesses of a work-item share a cache line, and bad on most GPUs, where those
// of neighbours in the group should.
//
// a, b, c     m×k, k×n and m×n floats, row by row without gaps
// transposed  n×k floats: b with rows and columns exchanged
// GROUP       work-items of a group, along a row
#ifndef GROUP
#define GROUP 64
#endif

__kernel void matmul_transpose(__global const float *b, __global float *transposed, uint m, uint n, uint k)
{
    const uint column = get_global_id(0), i = get_global_id(1);
    if (i < k && column < n)
        transposed[column * k + i] = b[i * n + column];
}

__kernel void matmul_transposed(__global const float *a, __global const float *transposed, __global float *c, uint m,
                                uint n, uint k)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    if (row < m && column < n) {
        float sum = 0.0f;
        for (uint i = 0; i < k; i++)
            sum += a[row * k + i] * transposed[column * k + i];
        c[row * n + column] = sum;
    }
}
