// Box filter, for GPUs: one pass that marches down the picture.
//
// A work-group owns a strip: some columns wide, some rows high. Each work-item keeps the sums of COLUMNS
// neighbouring columns over the window's 2*radius + 1 rows in registers. From one row to the next it adds the
// pixel that enters and subtracts the one that leaves, so that each pixel is read from memory about once: its
// second reading, as the one that leaves, finds it in a cache. The column sums go to local memory, the group
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
// -D GROUP    work-items of a group, at least 2*ceil(128 / COLUMNS) + 1
// -D COLUMNS  columns of a work-item: 4, 8 or 16
// -D ROWS     rows between two barriers. Local memory: 16*GROUP*ROWS*(COLUMNS + 2) bytes
// -D AHEAD    1: read the next rows before the present ones are finished
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
#ifndef AHEAD
#define AHEAD 1
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

column_t column_of(uint pixel)
{
    return (column_t)(pixel & 0x00ff00ff, (pixel >> 8) & 0x00ff00ff);
}

uint4 channels(column_t c)
{
    return (uint4)(c.s0 & 0xffff, c.s1 & 0xffff, c.s0 >> 16, c.s1 >> 16);
}

// Each channel plus 2^23.
float4 lifted(column_t c)
{
    return as_float4(channels(c) | 0x4b000000);
}

// COLUMNS pixels of a line from x on; beyond the border the edge repeats.
void read_pixels(uint *pixels, __global const uint *line, int x, int last, int inside)
{
    if (inside) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i += 4) {
            const uint4 four = *(__global const uint4 *)(line + x + i);
            pixels[i] = four.s0;
            pixels[i + 1] = four.s1;
            pixels[i + 2] = four.s2;
            pixels[i + 3] = four.s3;
        }
    } else {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            pixels[i] = line[clamp(x + i, 0, last)];
    }
}

// Four window sums, less 128*n each, to a pixel.
uint mean_pixel(float4 sum, float scale)
{
    const uint4 m = as_uint4(sum * scale + (12582912.0f + 128.0f));
    return (m.s0 & 0xff) | (m.s1 & 0xff) << 8 | (m.s2 & 0xff) << 16 | m.s3 << 24;
}

void write_pixels(DST dst, const uint *pixels, int x, int y, int width, int whole)
{
#if TO_IMAGE
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        if (x + i < width)
            write_imagef(dst, (int2)(x + i, y), convert_float4(as_uchar4(pixels[i])) * (1.0f / 255.0f));
#else
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
#endif
}

// One row's column sums of the whole group. A work-item's columns lie GROUP apart, so that neighbouring
// work-items touch neighbouring addresses.
typedef __local column_t (*row_t)[GROUP];

column_t column_at(row_t row, int offset, int item)
{
    return row[offset & (COLUMNS - 1)][item + (offset >> (COLUMNS == 4 ? 2 : COLUMNS == 8 ? 3 : 4))];
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

    const int right = width - 1;
    const int bottom = height - 1;
    const int reads = item < share + 2 * halo;
    const int writes = item >= halo && item < halo + share && x < width;
    const int whole = x + COLUMNS <= width && width % 4 == 0;
    const int inside = x >= 0 && whole;
    __global const uint *in = (__global const uint *)src;

    const int left_blocks = radius / COLUMNS;
    const int left_part = radius % COLUMNS;
    const int right_blocks = (radius + 1) / COLUMNS;
    const int right_part = (radius + 1) % COLUMNS;
    const int offset = 128 * (2 * radius + 1) * (2 * radius + 1);

    // The window of the row above the first one.
    column_t sum[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        sum[i] = 0;
    if (reads) {
#pragma unroll 4
        for (int y = y0 - radius - 1; y < y0 + radius; y++) {
            uint pixels[COLUMNS];
            read_pixels(pixels, in + clamp(y, 0, bottom) * width, x, right, inside);
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                sum[i] += column_of(pixels[i]);
        }
    }

    uint enters[ROWS][COLUMNS], leaves[ROWS][COLUMNS];
#define READ_ROWS(first)                                                                                      \
    if (reads) {                                                                                              \
        _Pragma("unroll") for (int i = 0; i < ROWS; i++)                                                      \
        {                                                                                                     \
            read_pixels(enters[i], in + min((first) + i + radius, bottom) * width, x, right, inside);         \
            read_pixels(leaves[i], in + clamp((first) + i - radius - 1, 0, bottom) * width, x, right, inside); \
        }                                                                                                     \
    }
#if AHEAD
    READ_ROWS(y0)
#endif

    int turn = 0;
    for (int y = y0; y < y1; y += ROWS) {
#if !AHEAD
        READ_ROWS(y)
#endif
        if (reads) {
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                uint4 total = 0;
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    sum[c] += column_of(enters[i][c]) - column_of(leaves[i][c]);
                    columns[turn][i][c][item] = sum[c];
                    total += channels(sum[c]);
                }
                totals[turn][i][item] = total;
            }
        }
#if AHEAD
        if (y + ROWS < y1)
            READ_ROWS(y + ROWS)
#endif
        // One barrier is enough: the next turn writes the other half of the local memory, and this half is
        // written again only after the next barrier, which nobody passes before all have read it.
        barrier(CLK_LOCAL_MEM_FENCE);
        if (writes) {
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                if (i > 0 && y + i >= y1)
                    break;
                row_t row = columns[turn][i];
                uint4 first = 0;
                for (int b = item - left_blocks; b < item + right_blocks; b++)
                    first += totals[turn][i][b];
                for (int c = COLUMNS - left_part; c < COLUMNS; c++)
                    first += channels(row[c][item - left_blocks - 1]);
                for (int c = 0; c < right_part; c++)
                    first += channels(row[c][item + right_blocks]);

                float4 window = convert_float4(as_int4(first) - offset);
                uint pixels[COLUMNS];
                pixels[0] = mean_pixel(window, scale);
#pragma unroll
                for (int c = 1; c < COLUMNS; c++) {
                    window += lifted(column_at(row, c + radius, item)) - lifted(column_at(row, c - radius - 1, item));
                    pixels[c] = mean_pixel(window, scale);
                }
                write_pixels(dst, pixels, x, y + i, width, whole);
            }
        }
        turn ^= 1;
    }
}
