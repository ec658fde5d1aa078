// Box filter, for GPUs: one pass that marches down the picture.
//
// A work-group owns a strip: some columns wide, some rows high. Each work-item keeps the sums of COLUMNS
// neighbouring columns over the window's 2*radius + 1 rows in registers. From one row to the next it adds the
// pixel that enters and subtracts the one that leaves, so that each pixel is read from memory about once: its
// second read, as the one that leaves, hits a cache. The column sums go to local memory, the group
// meets at a barrier, and each work-item then slides along its own COLUMNS pixels: a window's sum from its
// neighbour's, by one column sum that enters and one that leaves.
//
// The first window of a work-item would cost 2*radius + 1 column sums; so each work-item also leaves the total
// of its columns, and the first window is made of whole blocks of columns and of two parts of blocks.
//
// Two channels share 32 bits while columns are summed, because 255*257 fits 16 bits: (red, blue) and (green,
// alpha). Then they are floats that hold whole numbers: a window's sum less 128*n stays below 2^24, where
// floats are exact. See common/mean.clh for the division. Here it ends with the addition of 1.5*2^23, which
// rounds to a whole number and leaves it in the lowest bits. The program's tests try every sum.
//
// A column sum becomes a float without a conversion: under the exponent of 2^23 the lowest bits are the
// number, so that the difference of two of these is the difference of the sums.
//
// The launch decides the strips. The groups in dimension 0 share the picture's blocks of COLUMNS columns
// evenly: at most GROUP - 2*ceil(radius / COLUMNS) blocks for each, because the neighbours' columns are summed
// too. The groups in dimension 1 share the rows evenly. More of them give a GPU more work-items; each of them
// costs 2*radius + 1 rows to start with.
//
// -D GROUP    work-items of a group, at least 2*ceil(r / COLUMNS) + 1 for the largest radius r
// -D COLUMNS  columns of a work-item: 4, 8 or 16
// -D ROWS     rows between two barriers. Local memory: 16*GROUP*ROWS*(COLUMNS + 2) bytes
// -D START    rows that are read at once while a strip starts
// -D AHEAD    1: read the next rows before the present ones are finished
// -D NVIDIA   1: use an instruction of NVIDIA's that its compiler does not select; set automatically there
// -D TO_IMAGE 1: write an image, not a buffer
//
// src, dst    width*height pixels, RGBA, 8 bits a channel, no gap between rows
// scale       1 / (2*radius + 1)^2
// row0, rows  the band of rows to compute
#ifndef GROUP
#define GROUP 128
#endif
#ifndef COLUMNS
#define COLUMNS 8
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef START
#define START 4
#endif
#ifndef AHEAD
#define AHEAD 1
#endif
#ifndef NVIDIA
#ifdef __NV_CL_C_VERSION
#define NVIDIA 1
#else
#define NVIDIA 0
#endif
#endif
#ifndef TO_IMAGE
#define TO_IMAGE 0
#endif

#if TO_IMAGE
#define DST __write_only image2d_t
#else
#define DST __global uchar4 *restrict
#endif

// The sums of one column: red and blue in s0, green and alpha in s1.
typedef uint2 column_t;

#if NVIDIA
// The bytes of a (0 to 3) and b (4 to 7) selected by the digits of `digits`, the highest first. One instruction, which
// the compiler does not select by itself.
#define BYTES(result, a, b, digits) asm("prmt.b32 %0, %1, %2, " digits ";" : "=r"(result) : "r"(a), "r"(b))
#endif

column_t column_of(uint pixel)
{
#if NVIDIA
    uint odd;
    BYTES(odd, pixel, 0, "0x4341");
    return (column_t)(pixel & 0x00ff00ff, odd);
#else
    return (column_t)(pixel & 0x00ff00ff, (pixel >> 8) & 0x00ff00ff);
#endif
}

// Each channel plus 2^23.
float4 lifted(column_t c)
{
#if NVIDIA
    uint4 f;
    BYTES(f.s0, c.s0, 0x4b000000, "0x7410");
    BYTES(f.s1, c.s1, 0x4b000000, "0x7410");
    BYTES(f.s2, c.s0, 0x4b000000, "0x7432");
    BYTES(f.s3, c.s1, 0x4b000000, "0x7432");
    return as_float4(f);
#else
    return as_float4((uint4)((c & 0xffff) | 0x4b000000, (c >> 16) + 0x4b000000));
#endif
}

// Adds a column to a sum of columns: in s01 the pairs, modulo 2^32, in s23 their upper channels.
uint4 add_column(uint4 total, column_t c)
{
    return total + (uint4)(c, c >> 16);
}

// The four channels of such a sum. The upper channels' part of the pairs is known, so it can be subtracted.
float4 channels(uint4 total, int less)
{
    const uint2 lower = total.s01 - (total.s23 << 16);
    return convert_float4(as_int4((uint4)(lower, total.s23)) - less);
}

// Four neighbouring pixels of a line from x on, which is a multiple of four.
uint4 four_pixels(__global const uint *line, int x)
{
    return *(__global const uint4 *)(line + x);
}

// Four pixels at the picture's border, where the edge repeats, and for rows that are not aligned to 16 bytes.
uint4 four_clamped(__global const uint *line, int x, int last)
{
    return (uint4)(line[clamp(x, 0, last)], line[clamp(x + 1, 0, last)], line[clamp(x + 2, 0, last)],
                   line[clamp(x + 3, 0, last)]);
}

uint one_of(uint4 four, int i)
{
    return i == 0 ? four.s0 : i == 1 ? four.s1 : i == 2 ? four.s2 : four.s3;
}

// Four window sums, less 128*n each, to a pixel. Added up, the exponents would leave 0x8b400000 in the pixel; the
// third channel takes them back, in 1/2^16.
uint mean_pixel(float4 sum, float scale)
{
    const uint4 m = as_uint4(sum * scale + (float4)(12583040.0f, 12583040.0f, 12583040.0f - 0x8b40, 12583040.0f));
    return m.s0 + (m.s1 << 8) + (m.s2 << 16) + (m.s3 << 24);
}

#if !TO_IMAGE
void write_pixels(DST dst, const uint *pixels, int x, int y, int width, int whole)
{
    __global uint *out = (__global uint *)dst + y * width + x;
    if (whole) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i += 4)
            *(__global uint4 *)(out + i) = (uint4)(pixels[i], pixels[i + 1], pixels[i + 2], pixels[i + 3]);
    } else {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            if (x + i < width)
                out[i] = pixels[i];
    }
}
#endif

// One row's column sums of the whole group. The columns of a work-item lie GROUP apart, so that neighbouring
// work-items touch neighbouring addresses.
typedef __local column_t (*row_t)[GROUP];

column_t column_at(row_t row, int offset, int item)
{
    return row[offset & (COLUMNS - 1)][item + (offset >> (COLUMNS == 4 ? 2 : COLUMNS == 8 ? 3 : 4))];
}

// The first window's sum of a work-item: whole blocks of columns and two parts. Four at a time, so that their
// loads overlap.
__attribute__((always_inline))
float4 first_window(row_t row, const __local uint4 *totals, int item, int radius)
{
    const int left = item - radius / COLUMNS;
    const int right = item + (radius + 1) / COLUMNS;
    const int left_part = radius % COLUMNS;
    const int right_part = (radius + 1) % COLUMNS;
    uint4 sum = 0;
    for (int b = left; b < right; b += 4) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum += b + i < right ? totals[b + i] : (uint4)0;
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c += 4) {
        if (c < left_part) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum = add_column(sum, c + i < left_part ? row[COLUMNS - 1 - c - i][left - 1] : (column_t)0);
        }
        if (c < right_part) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum = add_column(sum, c + i < right_part ? row[c + i][right] : (column_t)0);
        }
    }
    return channels(sum, 128 * (2 * radius + 1) * (2 * radius + 1));
}

// A work-item's pixels of one row.
__attribute__((always_inline))
void filter_row(uint *pixels, row_t row, const __local uint4 *totals, int item, int radius, float scale)
{
    float4 window = first_window(row, totals, item, radius);
    pixels[0] = mean_pixel(window, scale);
#pragma unroll
    for (int c = 1; c < COLUMNS; c++) {
        window += lifted(column_at(row, c + radius, item)) - lifted(column_at(row, c - radius - 1, item));
        pixels[c] = mean_pixel(window, scale);
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
box_march(__global const uchar4 *restrict src, DST dst, int width, int height, int radius, int row0, int rows,
          float scale)
{
    __local column_t columns[2][ROWS][COLUMNS][GROUP];
    __local uint4 totals[2][ROWS][GROUP];

    const int item = get_local_id(0);
    const int blocks = (width + COLUMNS - 1) / COLUMNS;
    const int share = (blocks + (int)get_num_groups(0) - 1) / (int)get_num_groups(0);
    const int halo = (radius + COLUMNS - 1) / COLUMNS;
    const int x = ((int)get_group_id(0) * share - halo + item) * COLUMNS;
    const int y0 = row0 + (int)((long)rows * (long)get_group_id(1) / (long)get_num_groups(1));
    const int y1 = row0 + (int)((long)rows * (long)(get_group_id(1) + 1) / (long)get_num_groups(1));

    const int last = width - 1;
    const int bottom = height - 1;
    const int reads = item < share + 2 * halo;
    const int writes = item >= halo && item < halo + share && x < width;
    const int whole = x + COLUMNS <= width && width % 4 == 0;
    const int inside = x >= 0 && whole;
    __global const uint *in = (__global const uint *)src;

    // The window of the row above the first one. Several rows at a time, so that their loads overlap.
    column_t sum[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        sum[i] = 0;
#define ADD_ROWS(four)                                                                                        \
    for (int y = y0 - radius - 1; y < y0 + radius; y += START) {                                              \
        uint4 pixels[START][COLUMNS / 4];                                                                     \
        _Pragma("unroll") for (int i = 0; i < START; i++)                                                     \
            _Pragma("unroll") for (int c = 0; c < COLUMNS / 4; c++)                                           \
        {                                                                                                     \
            __global const uint *line = in + clamp(y + i, 0, bottom) * width;                                 \
            pixels[i][c] = y + i < y0 + radius ? four : (uint4)0;                                             \
        }                                                                                                     \
        _Pragma("unroll") for (int i = 0; i < START; i++)                                                     \
            _Pragma("unroll") for (int c = 0; c < COLUMNS / 4; c++)                                           \
        {                                                                                                     \
            sum[4 * c] += column_of(pixels[i][c].s0);                                                         \
            sum[4 * c + 1] += column_of(pixels[i][c].s1);                                                     \
            sum[4 * c + 2] += column_of(pixels[i][c].s2);                                                     \
            sum[4 * c + 3] += column_of(pixels[i][c].s3);                                                     \
        }                                                                                                     \
    }
    if (reads) {
        if (inside) {
            ADD_ROWS(four_pixels(line, x + 4 * c))
        } else {
            ADD_ROWS(four_clamped(line, x + 4 * c, last))
        }
    }

    uint4 enters[ROWS][COLUMNS / 4], leaves[ROWS][COLUMNS / 4];
#define READ_EACH(first, four)                                                                                \
    _Pragma("unroll") for (int i = 0; i < ROWS; i++)                                                          \
        _Pragma("unroll") for (int c = 0; c < COLUMNS / 4; c++)                                               \
    {                                                                                                         \
        __global const uint *line = in + min((first) + i + radius, bottom) * width;                           \
        enters[i][c] = four;                                                                                  \
        line = in + clamp((first) + i - radius - 1, 0, bottom) * width;                                       \
        leaves[i][c] = four;                                                                                  \
    }
#define READ_ROWS(first)                                                                                      \
    if (reads && (first) < y1) {                                                                              \
        if (inside) {                                                                                         \
            READ_EACH(first, four_pixels(line, x + 4 * c))                                                    \
        } else {                                                                                              \
            READ_EACH(first, four_clamped(line, x + 4 * c, last))                                             \
        }                                                                                                     \
    }
#if AHEAD
    READ_ROWS(y0)
#endif

    for (int y = y0; y < y1;) {
        // One barrier per iteration is enough: the next iteration writes the other half of the local memory, and this half is
        // written again only after the next barrier, which no work-item passes before all have read it.
#pragma unroll
        for (int turn = 0; turn < 2; turn++) {
#if !AHEAD
            READ_ROWS(y)
#endif
            if (reads && y < y1) {
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    uint4 total = 0;
#pragma unroll
                    for (int c = 0; c < COLUMNS; c++) { // heart
                        sum[c] += column_of(one_of(enters[i][c / 4], c % 4));
                        sum[c] -= column_of(one_of(leaves[i][c / 4], c % 4));
                        columns[turn][i][c][item] = sum[c];
                        total = add_column(total, sum[c]);
                    }
                    totals[turn][i][item] = total;
                }
            }
#if AHEAD
            READ_ROWS(y + ROWS)
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
            if (writes) {
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    if (y + i >= y1)
                        continue;
                    uint pixels[COLUMNS];
                    filter_row(pixels, columns[turn][i], totals[turn][i], item, radius, scale);
#if TO_IMAGE
                    // Here and not in a function: see STORE in common/convert.clh.
#pragma unroll
                    for (int c = 0; c < COLUMNS; c++)
                        if (x + c < width)
                            write_imagef(dst, (int2)(x + c, y + i),
                                         convert_float4(as_uchar4(pixels[c])) * (1.0f / 255.0f));
#else
                    write_pixels(dst, pixels, x, y + i, width, whole);
#endif
                }
            }
            y += ROWS;
        }
    }
}
