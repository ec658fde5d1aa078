// Matrix multiplication, step 11: tiles on two levels. A group computes a tile of TILE_M×TILE_N results with tiles of a and
// b in local memory, and a work-item ROWS×COLUMNS of them in registers: each number that it reads is used several times.
//
// a, b, c         m×k, k×n and m×n floats, row by row without gaps
// TILE_M, TILE_N  rows and columns of a group's results
// TILE_K          products of each that are added between two barriers
// ROWS, COLUMNS   rows and columns of a work-item's results
#ifndef ROWS
#define ROWS 4
#endif
#include "tiles.clh"

__attribute__((reqd_work_group_size(ACROSS * DOWN, 1, 1)))
__kernel void matmul_register_tiles(__global const float *a, __global const float *b, __global float *c, uint m, uint n,
                                    uint k)
{
    // One number more in each row of tile_a: it is written down the columns.
    __local float tile_a[TILE_K][TILE_M + 1], tile_b[TILE_K][TILE_N];
    const uint2 corner = corner_of_tile(n);
    const uint left = corner.x, top = corner.y;
    const uint id = get_local_id(0), x = id % ACROSS, y = id / ACROSS;
    float sums[ROWS][COLUMNS];
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
#pragma unroll
        for (uint s = 0; s < COLUMNS; s++)
            sums[r][s] = 0.0f;
    }
    for (uint first = 0; first < k; first += TILE_K) {
        // Beyond the edges are zeros, which add nothing.
        for (uint at = id; at < TILE_M * TILE_K; at += ACROSS * DOWN) {
            const uint row = top + at / TILE_K, i = first + at % TILE_K;
            tile_a[at % TILE_K][at / TILE_K] = row < m && i < k ? a[row * k + i] : 0.0f;
        }
        for (uint at = id; at < TILE_K * TILE_N; at += ACROSS * DOWN) {
            const uint i = first + at / TILE_N, column = left + at % TILE_N;
            tile_b[at / TILE_N][at % TILE_N] = i < k && column < n ? b[i * n + column] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint i = 0; i < TILE_K; i++) {
            float of_a[ROWS], of_b[COLUMNS];
#pragma unroll
            for (uint r = 0; r < ROWS; r++)
                of_a[r] = tile_a[i][y + r * DOWN];
#pragma unroll
            for (uint s = 0; s < COLUMNS; s++)
                of_b[s] = tile_b[i][x + s * ACROSS];
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
#pragma unroll
                for (uint s = 0; s < COLUMNS; s++)
                    sums[r][s] += of_a[r] * of_b[s];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint r = 0; r < ROWS; r++) {
        const uint row = top + y + r * DOWN;
        for (uint s = 0; s < COLUMNS; s++) {
            const uint column = left + x + s * ACROSS;
            if (row < m && column < n)
                c[row * n + column] = sums[r][s];
        }
    }
}
