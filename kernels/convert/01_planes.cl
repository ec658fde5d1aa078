// A decoded picture's planes to RGBA, and its colours corrected on the way.
//
// One work-item computes four pixels of a row. Every component has its first sample, the distance between rows and
// the distance between samples of a row, so that planes, interleaved chroma and packed pixels are all the same.
//
// samples    the picture's block; offset, stride and step count samples, and are for Y, U, V or R, G, B, A
// dst        width*height pixels, RGBA, 8 bits a channel
// siting     the position of the first chroma sample, in quarters of the distance between two of them: across, down; and 1 if
//            the rows of chroma belong to the two fields of an interlaced picture in turns
// bits       shift and mask of a sample
// matrix     luma, black, middle, rv, gu, gv, bu, and 1 if there is alpha
// corrected  0: leave the colours as they are
// curve, luma  the correction (common/convert.clh)
#include "../common/convert.clh"

#ifndef WIDE
#define WIDE 0 // 1: samples of two bytes
#endif
#ifndef FAMILY
#define FAMILY 0 // 0: YCbCr, 1: grey, 2: RGB
#endif
#ifndef HALF_X
#define HALF_X 1 // 1: chroma has half the resolution across
#endif
#ifndef HALF_Y
#define HALF_Y 1 // 1: ... and down
#endif

#ifndef YCGCO
#define YCGCO 0 // 1: red and blue have parts of both chroma components
#endif

#if WIDE
typedef ushort sample_t;
#else
typedef uchar sample_t;
#endif

// The samples in four columns of a row.
int4 four(__global const sample_t *line, int4 x, int step, int2 bits)
{
    const int4 at = x * step;
    const int4 stored = (int4)(line[at.s0], line[at.s1], line[at.s2], line[at.s3]);
    return (stored >> bits.s0) & bits.s1;
}

#if FAMILY == 0
// Chroma at the pixels x to x+3 of row y, interpolated, in 1/16 of a level. x is a multiple of four.
int4 chroma(__global const sample_t *plane, int stride, int step, int x, int y, int width, int height, int4 siting,
            int2 bits)
{
#if HALF_Y
    // The rows of a field are counted separately; v and fy are in eighths of the distance between two of them.
    const int interlaced = siting.s2;
    const int field = y & interlaced;
    const int last_row = ((height + 1) / 2 - 1 - field) >> interlaced;
    const int v = (2 * y - 4 * field - siting.s1) * (2 - interlaced);
    const int row0 = field + (clamp(v >> 3, 0, last_row) << interlaced);
    const int row1 = field + (clamp((v >> 3) + 1, 0, last_row) << interlaced);
    const int fy = v & 7;
#else
    const int row0 = y, row1 = y, fy = 0;
#endif
#if HALF_X
    // The four pixels lie between the chroma samples left of the first one and right of the last one.
    const int4 columns = clamp(x / 2 + (int4)(-1, 0, 1, 2), 0, (width + 1) / 2 - 1);
#else
    const int4 columns = min(x + (int4)(0, 1, 2, 3), width - 1);
#endif
    const int4 c = ((8 - fy) * four(plane + row0 * stride, columns, step, bits) +
                    fy * four(plane + row1 * stride, columns, step, bits) + 1) >> 1;
#if HALF_X
    const int4 left = siting.s0 == 0 ? c.s1122 : c.s0112;
    const int4 right = siting.s0 == 0 ? c.s2233 : c.s1223;
    const int4 fx = ((int4)(0, 2, 4, 6) - siting.s0) & 3;
    return (4 - fx) * left + fx * right;
#else
    return 4 * c;
#endif
}
#endif

__kernel void convert_planes(__global const sample_t *samples, DST dst, int width, int height, int4 offset,
                             int4 stride, int4 step, int4 siting, int2 bits, int8 matrix, int corrected,
                             __global const uchar *curve, int4 luma)
{
    const int x = 4 * get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    const int4 columns = min(x + (int4)(0, 1, 2, 3), width - 1);
    const int4 first = 16 * four(samples + offset.s0 + y * stride.s0, columns, step.s0, bits);
    const int4 base = matrix.s0 * (first - matrix.s1);
    int4 r = base, g = base, b = base, a = 255;
#if FAMILY == 0
    const int4 u = chroma(samples + offset.s1, stride.s1, step.s1, x, y, width, height, siting, bits) - matrix.s2;
    const int4 v = chroma(samples + offset.s2, stride.s2, step.s2, x, y, width, height, siting, bits) - matrix.s2;
    r += matrix.s3 * v;
    g += matrix.s4 * u + matrix.s5 * v;
    b += matrix.s6 * u;
#if YCGCO
    r += matrix.s6 * u;
    b -= matrix.s3 * v;
#endif
#elif FAMILY == 2
    g = matrix.s0 * (16 * four(samples + offset.s1 + y * stride.s1, columns, step.s1, bits));
    b = matrix.s0 * (16 * four(samples + offset.s2 + y * stride.s2, columns, step.s2, bits));
    if (matrix.s7)
        a = level4(matrix.s0 * (16 * four(samples + offset.s3 + y * stride.s3, columns, step.s3, bits)));
#endif
    r = level4(r);
    g = level4(g);
    b = level4(b);

    uchar4 pixels[4] = {
        convert_uchar4((int4)(r.s0, g.s0, b.s0, a.s0)), convert_uchar4((int4)(r.s1, g.s1, b.s1, a.s1)),
        convert_uchar4((int4)(r.s2, g.s2, b.s2, a.s2)), convert_uchar4((int4)(r.s3, g.s3, b.s3, a.s3))
    };
    const int count = min(4, width - x);
    for (int i = 0; i < count; i++) {
        uchar4 pixel = pixels[i];
        if (corrected)
            pixel = matrix.s7 ? correct_alpha(pixel, curve, luma) : correct(pixel, curve, luma);
        STORE(dst, width, x + i, y, pixel);
    }
}
