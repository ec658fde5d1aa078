// Transposition, step 3: work-items side by side take numbers one below the other in a column of the matrix. They read what
// lies a row apart, and write what lies side by side.
//
// a           m×n floats, row by row
// transposed  n×m floats
// GROUP       work-items of a group: it changes only the launch
__kernel void transpose_column_linear(__global const float *a, __global float *transposed, uint m, uint n)
{
    const uint at = get_global_id(0), row = at % m, column = at / m;
    if (column < n)
        transposed[column * m + row] = a[row * n + column];
}
