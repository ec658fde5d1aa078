// Matrix multiplication, step 8: a group copies a square tile of a and one of b into local memory, and all its work-items
// use them from there.
//
// The tile of b lies transposed, so that a work-item walks along a row of both. Work-items side by side then read numbers
// that are TILE apart, which lie in the same bank of local memory: it serves them one after the other.
//
// a, b, c  m×k, k×n and m×n floats, row by row without gaps
// TILE     numbers along a side of a tile; a group has TILE×TILE work-items
#ifndef TILE
#define TILE 16
#endif

__attribute__((reqd_work_group_size(TILE, TILE, 1)))
__kernel void matmul_local_tiles(__global const float *a, __global const float *b, __global float *c, uint m, uint n,
                                 uint k)
{
    __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const uint x = get_local_id(0), y = get_local_id(1);
    const uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (uint first = 0; first < k; first += TILE) {
        // Beyond the edges are zeros, which add nothing.
        tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
        tile_b[x][y] = column < n && first + y < k ? b[(first + y) * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[x][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
