// Matrix multiplication, step 13: vector-loads with two of each tile. While a group computes with one, the loads of the
// other are already in flight, and one barrier a tile is enough.
//
// Work-items of a group come in bundles of 32, which graphics cards run together: 8 of them lie along a row and 4 along a
// column where the tile is wide enough, so that they read few different numbers of local memory at once. Groups take the
// results in bands of BAND tiles, so that those which run at the same time share more of a and b in the caches.
//
// a, b, c         m×k, k×n and m×n floats, row by row without gaps
// TILE_M, TILE_N  rows and columns of a group's results
// TILE_K          products of each that are added between two barriers
// ROWS, COLUMNS   rows and columns of a work-item's results, multiples of 4
// BAND            tiles from top to bottom of a band
#include "quads.clh"

#ifndef TILE_K
#define TILE_K 8
#endif
#ifndef COLUMNS
#define COLUMNS 8
#endif
#include "tiles.clh"
#ifndef BAND
#define BAND 8
#endif
#define ITEMS (ACROSS * DOWN)
// The index of a number of a. Four numbers more in a row, and eight more for eight rows, keep concurrent stores in
// different banks.
#define STRIDE_A (TILE_M + 4)
#define AT_A(i, row) ((i) * STRIDE_A + (i) / 8 * 8 + (row))
#define SIZE_A AT_A(TILE_K, 0)
#define QUADS_A (TILE_M * TILE_K / 4)
#define QUADS_B (TILE_K * TILE_N / 4)
// Quads that a work-item loads.
#define EACH_A ((QUADS_A + ITEMS - 1) / ITEMS)
#define EACH_B ((QUADS_B + ITEMS - 1) / ITEMS)

__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
__kernel void matmul_double_buffered(__global const float *a, __global const float *b, __global float *c, uint m, uint n,
                                     uint k)
{
    __local float tile_a[2][SIZE_A] __attribute__((aligned(16)));
    __local float4 tile_b[2][QUADS_B];
    const uint tiles_m = (m + TILE_M - 1) / TILE_M, tiles_n = (n + TILE_N - 1) / TILE_N;
    const uint band = get_group_id(0) / (BAND * tiles_n), in_band = get_group_id(0) % (BAND * tiles_n);
    const uint height = min((uint)BAND, tiles_m - band * BAND);
    const uint top = (band * BAND + in_band % height) * TILE_M, left = in_band / height * TILE_N;
    const uint id = get_local_id(0);
#if ACROSS % 8 == 0 && DOWN % 4 == 0
    const uint bundle = id / 32, lane = id % 32;
    const uint x = bundle % (ACROSS / 8) * 8 + lane % 8, y = bundle / (ACROSS / 8) * 4 + lane / 8;
#else
    const uint x = id % ACROSS, y = id / ACROSS;
#endif
    const bool whole_a = k % 4 == 0, whole_b = n % 4 == 0;
    float4 sums[ROWS][COLUMNS / 4];
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
#pragma unroll
        for (uint s = 0; s < COLUMNS / 4; s++)
            sums[r][s] = (float4)(0.0f);
    }
    float4 next_a[EACH_A], next_b[EACH_B];
    const uint tiles = (k + TILE_K - 1) / TILE_K;
    // Before tile 0 nothing is computed, and after the last one nothing is loaded.
    for (uint tile = 0; tile <= tiles; tile++) {
        if (tile < tiles) {
#pragma unroll
            for (uint e = 0; e < EACH_A; e++) {
                const uint at = id + e * ITEMS;
                if (QUADS_A % ITEMS == 0 || at < QUADS_A)
                    next_a[e] = load_quad(a, top + at / (TILE_K / 4), tile * TILE_K + at % (TILE_K / 4) * 4, m, k, whole_a);
            }
#pragma unroll
            for (uint e = 0; e < EACH_B; e++) {
                const uint at = id + e * ITEMS;
                if (QUADS_B % ITEMS == 0 || at < QUADS_B)
                    next_b[e] = load_quad(b, tile * TILE_K + at / (TILE_N / 4), left + at % (TILE_N / 4) * 4, k, n, whole_b);
            }
        }
        if (tile > 0) {
            __local const float *from_a = tile_a[(tile + 1) % 2];
            __local const float4 *from_b = tile_b[(tile + 1) % 2];
#pragma unroll
            for (uint i = 0; i < TILE_K; i++) {
                float4 of_a[ROWS / 4], of_b[COLUMNS / 4];
#pragma unroll
                for (uint r = 0; r < ROWS / 4; r++)
                    of_a[r] = *(__local const float4 *)(from_a + AT_A(i, (r * DOWN + y) * 4));
#pragma unroll
                for (uint s = 0; s < COLUMNS / 4; s++)
                    of_b[s] = from_b[i * (TILE_N / 4) + s * ACROSS + x];
#pragma unroll
                for (uint r = 0; r < ROWS / 4; r++) {
#pragma unroll
                    for (uint s = 0; s < COLUMNS / 4; s++) {
                        sums[4 * r + 0][s] += of_a[r].x * of_b[s];
                        sums[4 * r + 1][s] += of_a[r].y * of_b[s];
                        sums[4 * r + 2][s] += of_a[r].z * of_b[s];
                        sums[4 * r + 3][s] += of_a[r].w * of_b[s];
                    }
                }
            }
        }
        if (tile < tiles) {
            __local float *to_a = tile_a[tile % 2];
#pragma unroll
            for (uint e = 0; e < EACH_A; e++) {
                const uint at = id + e * ITEMS, row = at / (TILE_K / 4), i = at % (TILE_K / 4) * 4;
                if (QUADS_A % ITEMS == 0 || at < QUADS_A) {
                    to_a[AT_A(i + 0, row)] = next_a[e].x;
                    to_a[AT_A(i + 1, row)] = next_a[e].y;
                    to_a[AT_A(i + 2, row)] = next_a[e].z;
                    to_a[AT_A(i + 3, row)] = next_a[e].w;
                }
            }
#pragma unroll
            for (uint e = 0; e < EACH_B; e++) {
                const uint at = id + e * ITEMS;
                if (QUADS_B % ITEMS == 0 || at < QUADS_B)
                    tile_b[tile % 2][at] = next_b[e];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        const uint row = top + (r / 4 * DOWN + y) * 4 + r % 4;
#pragma unroll
        for (uint s = 0; s < COLUMNS / 4; s++)
            store_quad(c, row, left + (s * ACROSS + x) * 4, m, n, whole_b, sums[r][s]);
    }
}
