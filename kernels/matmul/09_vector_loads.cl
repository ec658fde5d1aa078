// Matrix multiplication, step 12: as register-tiles, with four numbers at a time between memory, local memory and
// registers. The tile of a lies transposed, so that a work-item's rows are side by side there.
//
// a, b, c         m×k, k×n and m×n floats, row by row without gaps
// TILE_M, TILE_N  rows and columns of a group's results
// TILE_K          products of each that are added between two barriers
// ROWS, COLUMNS   rows and columns of a work-item's results, multiples of 4
#include "quads.clh"
#include "tiles.clh"

// Four numbers more in each row keep the four stores of a quad in different banks.
#define STRIDE_A (TILE_M + 4)

__attribute__((reqd_work_group_size(ACROSS * DOWN, 1, 1)))
__kernel void matmul_vector_loads(__global const float *a, __global const float *b, __global float *c, uint m, uint n,
                                  uint k)
{
    __local float tile_a[TILE_K * STRIDE_A] __attribute__((aligned(16)));
    __local float4 tile_b[TILE_K * TILE_N / 4];
    const uint2 corner = corner_of_tile(n);
    const uint left = corner.x, top = corner.y;
    const uint id = get_local_id(0), x = id % ACROSS, y = id / ACROSS;
    const bool whole_a = k % 4 == 0, whole_b = n % 4 == 0;
    float4 sums[ROWS][COLUMNS / 4];
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
#pragma unroll
        for (uint s = 0; s < COLUMNS / 4; s++)
            sums[r][s] = (float4)(0.0f);
    }
    for (uint first = 0; first < k; first += TILE_K) {
#pragma unroll
        for (uint at = id; at < TILE_M * TILE_K / 4; at += ACROSS * DOWN) {
            const uint row = at / (TILE_K / 4), i = at % (TILE_K / 4) * 4;
            const float4 quad = load_quad(a, top + row, first + i, m, k, whole_a);
            tile_a[(i + 0) * STRIDE_A + row] = quad.x;
            tile_a[(i + 1) * STRIDE_A + row] = quad.y;
            tile_a[(i + 2) * STRIDE_A + row] = quad.z;
            tile_a[(i + 3) * STRIDE_A + row] = quad.w;
        }
#pragma unroll
        for (uint at = id; at < TILE_K * TILE_N / 4; at += ACROSS * DOWN)
            tile_b[at] = load_quad(b, first + at / (TILE_N / 4), left + at % (TILE_N / 4) * 4, k, n, whole_b);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint i = 0; i < TILE_K; i++) {
            float4 of_a[ROWS / 4], of_b[COLUMNS / 4];
#pragma unroll
            for (uint r = 0; r < ROWS / 4; r++)
                of_a[r] = *(__local const float4 *)(tile_a + i * STRIDE_A + (r * DOWN + y) * 4);
#pragma unroll
            for (uint s = 0; s < COLUMNS / 4; s++)
                of_b[s] = tile_b[i * (TILE_N / 4) + s * ACROSS + x];
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
