// The colours of an RGBA picture corrected, one work-item a pixel. Source and destination may be the same buffer.
//
// src, dst   width*height pixels, RGBA, 8 bits a channel
// alpha      0: all pixels are opaque
// curve, luma  the correction (common/convert.clh)
#include "../common/convert.clh"

#ifndef FROM_IMAGE
#define FROM_IMAGE 0 // 1: read an image, not a buffer
#endif

#if FROM_IMAGE
#define SRC __read_only image2d_t
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
#else
#define SRC __global const uchar4 *
#endif

__kernel void correct_pixels(SRC src, DST dst, int width, int height, int alpha, __global const uchar *curve,
                             int4 luma)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
#if FROM_IMAGE
    const uchar4 pixel = convert_uchar4_sat_rte(read_imagef(src, nearest, (int2)(x, y)) * 255.0f);
#else
    const uchar4 pixel = src[y * width + x];
#endif
    // Uniform for all pixels, so that compilers can vectorise the opaque case.
    STORE(dst, width, x, y, alpha ? correct_alpha(pixel, curve, luma) : correct(pixel, curve, luma));
}
