// Pixels are RGBA bytes in packed rows: pixel (x, y) is at y * width + x.
__kernel void filter(__global const uchar4 *src, __global uchar4 *dst, int width, int first_row, int rows, int levels)
{
    const int x = get_global_id(0), row = get_global_id(1);
    // There may be more work-items than pixels.
    if (x >= width || row >= rows) {
        return;
    }
    const int at = (first_row + row) * width + x;
    const uchar4 pixel = src[at];
    // Rounds each colour to one of the levels from 0 to 255. The alpha stays.
    const int3 steps = (convert_int3(pixel.xyz) * (levels - 1) + 127) / 255;
    dst[at] = (uchar4)(convert_uchar3(steps * 255 / (levels - 1)), pixel.w);
}
