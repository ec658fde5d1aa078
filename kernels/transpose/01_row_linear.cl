// Transposition, step 2: work-items side by side take numbers side by side in a row of the matrix. They read what lies side
// by side, and write what lies a row of the result apart.
//
// a           m×n floats, row by row
// transposed  n×m floats
// GROUP       work-items of a group: it changes only the launch
__kernel void transpose_row_linear(__global const float *a, __global float *transposed, uint m, uint n)
{
    const uint at = get_global_id(0), row = at / n, column = at % n;
    if (row < m)
        transposed[column * m + row] = a[row * n + column];
}
