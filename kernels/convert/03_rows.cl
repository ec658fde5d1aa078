// 01_planes.cl for CPUs: whole rows, sixteen pixels at a time. For adjacent samples of two bytes
// in rows that are padded to whole vectors, as the filter on planes writes them.
//
// A work-item converts a strip of rows. It first interpolates a row of chroma from the two rows around it, with the
// edges repeated, and then across.
//
// samples    the picture's block; offset and stride count samples, and are for Y, U, V
// line       numbers in a line of scratch
// scratch    two lines for each work-item
//
// The other arguments are those of 01_planes.cl.
#include "../common/convert.clh"
#include "../common/vectors.clh"

#ifndef HALF_X
#define HALF_X 1 // 1: chroma has half the resolution across
#endif
#ifndef HALF_Y
#define HALF_Y 1 // 1: ... and down
#endif

#ifndef YCGCO
#define YCGCO 0 // 1: red and blue have parts of both chroma components
#endif

#define LOAD16(p) (*(__global const ushort16_at2 *)(p))
#define LOAD8(p) (*(__global const ushort8_at2 *)(p))

// A row of chroma in 1/4 of a level, with its edges repeated: row y of the picture, between two rows of the plane.
void chroma_row(__global ushort *out, __global const ushort *plane, int stride, int y, int width, int height,
                int4 siting)
{
#if HALF_Y
    // The rows of a field are counted separately; v and fy are in eighths of the distance between two of them.
    const int interlaced = siting.s2;
    const int field = y & interlaced;
    const int last_row = ((height + 1) / 2 - 1 - field) >> interlaced;
    const int v = (2 * y - 4 * field - siting.s1) * (2 - interlaced);
    __global const ushort *above = plane + (field + (clamp(v >> 3, 0, last_row) << interlaced)) * stride;
    __global const ushort *below = plane + (field + (clamp((v >> 3) + 1, 0, last_row) << interlaced)) * stride;
    const ushort fy = v & 7;
#else
    __global const ushort *above = plane + y * stride;
    __global const ushort *below = above;
    const ushort fy = 0;
#endif
    const int count = HALF_X ? (width + 1) / 2 : width;
    for (int x = 0; x < count; x += 16)
        *(__global ushort16_at2 *)(out + x) =
            ((ushort16)(8 - fy) * LOAD16(above + x) + (ushort16)fy * LOAD16(below + x) + (ushort16)1) >> (ushort16)1;
    out[-1] = out[0];
    *(__global ushort16_at2 *)(out + count) = out[count - 1];
}

// Chroma at the pixels x to x+15 in 1/16 of a level.
int16 chroma(__global const ushort *row, int x, int siting)
{
#if HALF_X
    const ushort8 left = LOAD8(row + x / 2 - 1);
    const ushort8 middle = LOAD8(row + x / 2);
    const ushort8 right = LOAD8(row + x / 2 + 1);
    ushort16 both;
    both.even = (ushort8)siting * left + (ushort8)(4 - siting) * middle;
    both.odd = (ushort8)(2 + siting) * middle + (ushort8)(2 - siting) * right;
    return convert_int16(both);
#else
    return convert_int16(LOAD16(row + x)) * 4;
#endif
}

int16 level16(int16 sum)
{
    return clamp((sum + (1 << 20)) >> 21, 0, 255);
}

__kernel void convert_rows(__global const ushort *samples, __global uchar4 *dst, int width, int height, int4 offset,
                           int4 stride, int4 siting, int8 matrix, int corrected, __global const uchar *curve, int4 luma,
                           int line, __global ushort *scratch)
{
    const int strip = get_global_id(0);
    const int strips = get_global_size(0);
    __global ushort *u_row = scratch + 2 * strip * line + 32;
    __global ushort *v_row = u_row + line;

    for (int y = (int)((long)height * strip / strips); y < (int)((long)height * (strip + 1) / strips); y++) {
        chroma_row(u_row, samples + offset.s1, stride.s1, y, width, height, siting);
        chroma_row(v_row, samples + offset.s2, stride.s2, y, width, height, siting);
        __global const ushort *luma_row = samples + offset.s0 + y * stride.s0;
        __global uchar4 *out = dst + y * width;
        for (int x = 0; x < width; x += 16) {
            const int16 base = matrix.s0 * (16 * convert_int16(LOAD16(luma_row + x)) - matrix.s1);
            const int16 u = chroma(u_row, x, siting.s0) - matrix.s2;
            const int16 v = chroma(v_row, x, siting.s0) - matrix.s2;
#if YCGCO
            const int16 r = level16(base + matrix.s3 * v + matrix.s6 * u);
            const int16 b = level16(base + matrix.s6 * u - matrix.s3 * v);
#else
            const int16 r = level16(base + matrix.s3 * v);
            const int16 b = level16(base + matrix.s6 * u);
#endif
            const int16 g = level16(base + matrix.s4 * u + matrix.s5 * v);
            const uint16 pixels = as_uint16(r | g << 8 | b << 16) | 0xff000000;
            if (!corrected && x + 16 <= width) {
                *(__global uint16_at4 *)(out + x) = pixels;
                continue;
            }
            uint some[16];
            vstore16(pixels, 0, some);
            const int count = min(16, width - x);
            for (int i = 0; i < count; i++) {
                const uchar4 pixel = as_uchar4(some[i]);
                out[x + i] = corrected ? correct(pixel, curve, luma) : pixel;
            }
        }
    }
}
