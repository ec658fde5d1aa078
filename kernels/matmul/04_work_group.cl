// Matrix multiplication, step 7: as private, in groups that are as high as they are wide, so that the work-items of a
// group share rows of a and columns of b in the caches.
//
// a, b, c           m×k, k×n and m×n floats, row by row without gaps
// GROUP_X, GROUP_Y  work-items of a group along a row and along a column
#ifndef GROUP_X
#define GROUP_X 8
#endif
#ifndef GROUP_Y
#define GROUP_Y 8
#endif

__attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
__kernel void matmul_work_group(__global const float *a, __global const float *b, __global float *c, uint m, uint n,
                                uint k)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    if (row < m && column < n) {
        float sum = 0.0f;
        for (uint i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
}
