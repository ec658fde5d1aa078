// Transposition, step 4: a group takes a square tile of the matrix, and its work-items the numbers of the tile in turn. What
// they read and what they write lies in a few rows, of which whole cache lines are used.
//
// a           m×n floats, row by row
// transposed  n×m floats
// TILE        numbers along a side of the tile; a group has TILE×TILE work-items
#ifndef TILE
#define TILE 16
#endif

__attribute__((reqd_work_group_size(TILE * TILE, 1, 1)))
__kernel void transpose_group_linear(__global const float *a, __global float *transposed, uint m, uint n)
{
    const uint tiles = (n + TILE - 1) / TILE, id = get_local_id(0);
    const uint row = get_group_id(0) / tiles * TILE + id / TILE, column = get_group_id(0) % tiles * TILE + id % TILE;
    if (row < m && column < n)
        transposed[column * m + row] = a[row * n + column];
}
