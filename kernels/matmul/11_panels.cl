// Matrix multiplication, step 14: for processors. a is packed into panels of ROWS rows and b into panels of VECTORS×WIDTH
// columns first, each in the order in which it is read. One work-item is a whole group. It computes the product of DOWN×ACROSS
// panels, DEPTH products of each result at a time, which the caches of a core hold, and keeps ROWS×VECTORS vectors of
// sums in registers (after K. Goto, R. A. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
//
// a, b, c  m×k, k×n and m×n floats, row by row without gaps
// of_a     ⌈m/ROWS⌉ panels of k×ROWS floats, zeros where a has no more rows
// of_b     ⌈n/(VECTORS·WIDTH)⌉ panels of k×VECTORS·WIDTH floats, zeros where b has no more columns
// ROWS     rows of a work-item's results
// VECTORS  vectors of each row of them
// WIDTH    floats of a vector
// DOWN     panels of a for a work-item
// ACROSS   panels of b for a work-item
// DEPTH    products that are added before the next panel is used
// CHUNK    products for which a work-item packs the numbers
#include "../common/vectors.clh"

#ifndef ROWS
#define ROWS 6
#endif
#ifndef VECTORS
#define VECTORS 2
#endif
#ifndef WIDTH
#define WIDTH 8
#endif
#ifndef DOWN
#define DOWN 8
#endif
#ifndef ACROSS
#define ACROSS 8
#endif
#ifndef DEPTH
#define DEPTH 256
#endif
#ifndef CHUNK
#define CHUNK 64
#endif
#define COLUMNS (VECTORS * WIDTH)
#define VECTOR VECTOR_OF(float, WIDTH)
// In c a vector may begin at any number.
typedef VECTOR VECTOR_AT4 __attribute__((aligned(4)));

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void matmul_pack_a(__global const float *a, __global float *of_a, uint m, uint n, uint k)
{
    const uint panels = (m + ROWS - 1) / ROWS;
    const uint panel = get_global_id(0) % panels, first = get_global_id(0) / panels * CHUNK;
    const uint last = min(first + CHUNK, k);
    __global float *to = of_a + (size_t)panel * k * ROWS;
    for (uint r = 0; r < ROWS; r++) {
        const uint row = panel * ROWS + r;
        if (row < m) {
            __global const float *from = a + row * k;
            for (uint i = first; i < last; i++)
                to[i * ROWS + r] = from[i];
        } else {
            for (uint i = first; i < last; i++)
                to[i * ROWS + r] = 0.0f;
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void matmul_pack_b(__global const float *b, __global float *of_b, uint m, uint n, uint k)
{
    const uint panels = (n + COLUMNS - 1) / COLUMNS;
    const uint panel = get_global_id(0) % panels, first = get_global_id(0) / panels * CHUNK;
    const uint last = min(first + CHUNK, k), left = panel * COLUMNS;
    __global float *to = of_b + (size_t)panel * k * COLUMNS;
    if (left + COLUMNS <= n) {
        for (uint i = first; i < last; i++) {
            __global const VECTOR_AT4 *from = (__global const VECTOR_AT4 *)(b + i * n + left);
#pragma unroll
            for (uint v = 0; v < VECTORS; v++)
                ((__global VECTOR *)(to + i * COLUMNS))[v] = from[v];
        }
    } else {
        for (uint i = first; i < last; i++) {
            for (uint s = 0; s < COLUMNS; s++)
                to[i * COLUMNS + s] = left + s < n ? b[i * n + left + s] : 0.0f;
        }
    }
}

// Adds `count` products to each result of a tile, or to 0 the first time.
void add_tile(__global const float *from_a, __global const VECTOR *from_b, uint count, __global float *c, uint top,
              uint left, uint m, uint n, bool is_first)
{
    const bool whole = left + COLUMNS <= n;
    VECTOR sums[ROWS][VECTORS];
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
#pragma unroll
        for (uint v = 0; v < VECTORS; v++)
            sums[r][v] = (VECTOR)(0.0f);
    }
    for (uint i = 0; i < count; i++) {
        VECTOR row_b[VECTORS];
#pragma unroll
        for (uint v = 0; v < VECTORS; v++)
            row_b[v] = from_b[v];
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
#pragma unroll
            for (uint v = 0; v < VECTORS; v++)
                sums[r][v] += from_a[r] * row_b[v];
        }
        from_a += ROWS;
        from_b += VECTORS;
    }
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        const uint row = top + r;
        if (row < m) {
#pragma unroll
            for (uint v = 0; v < VECTORS; v++) {
                __global float *to = c + row * n + left + v * WIDTH;
                if (whole) {
                    *(__global VECTOR_AT4 *)to = is_first ? sums[r][v] : *(__global VECTOR_AT4 *)to + sums[r][v];
                } else {
                    float numbers[WIDTH];
                    *(VECTOR_AT4 *)numbers = sums[r][v];
                    for (uint s = 0; s < WIDTH && left + v * WIDTH + s < n; s++)
                        to[s] = is_first ? numbers[s] : to[s] + numbers[s];
                }
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void matmul_panels(__global const float *of_a, __global const float *of_b, __global float *c, uint m, uint n,
                            uint k)
{
    const uint panels_m = (m + ROWS - 1) / ROWS, panels_n = (n + COLUMNS - 1) / COLUMNS;
    const uint blocks_m = (panels_m + DOWN - 1) / DOWN;
    const uint first_m = get_global_id(0) % blocks_m * DOWN, last_m = min(first_m + DOWN, panels_m);
    const uint first_n = get_global_id(0) / blocks_m * ACROSS, last_n = min(first_n + ACROSS, panels_n);
    uint first = 0;
    // Runs once even if k is 0.
    do {
        const uint count = min((uint)DEPTH, k - first);
        for (uint p = first_n; p < last_n; p++) {
            __global const float *from_b = of_b + (size_t)p * k * COLUMNS + first * COLUMNS;
            for (uint q = first_m; q < last_m; q++) {
                __global const float *from_a = of_a + (size_t)q * k * ROWS + first * ROWS;
                add_tile(from_a, (__global const VECTOR *)from_b, count, c, q * ROWS, p * COLUMNS, m, n, first == 0);
            }
        }
        first += DEPTH;
    } while (first < k);
}
