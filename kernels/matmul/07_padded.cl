// Matrix multiplication, step 10: local-tiles with one number more in each row of a tile, which is not used.
//
// Numbers one below the other then lie in different banks of local memory, and work-items side by side are served at once.
//
// a, b, c  m×k, k×n and m×n floats, row by row without gaps
// TILE     numbers along a side of a tile; a group has TILE×TILE work-items
#ifndef TILE
#define TILE 16
#endif

__attribute__((reqd_work_group_size(TILE, TILE, 1)))
__kernel void matmul_padded(__global const float *a, __global const float *b, __global float *c, uint m, uint n,
                                 uint k)
{
    __local float tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
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
