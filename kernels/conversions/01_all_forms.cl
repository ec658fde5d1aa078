// Conversions of one source and destination type, in every form: scalar, in vectors of 2, 3, 4, 8 and 16, and by
// assignment. One kernel for each rounding, with and without saturation.
//
// in:  count numbers; a multiple of 48, which all widths divide
// out: the results of one form after the other, so many numbers apart: 1, 2, 3, 4, 8, 16 wide, by assignment; those of WIDTHS

#ifndef FROM
#define FROM float
#endif
#ifndef TO
#define TO uchar
#endif
// 1 if TO is an integer type: then there is saturation.
#ifndef WHOLE
#define WHOLE 1
#endif
// 1 if a work-item takes adjacent numbers, as CPUs prefer; 0 if neighbouring work-items take adjacent numbers.
#ifndef RUNS
#define RUNS 1
#endif
// A bit for each width from 1 to 16: the forms to compile. Assignments are scalars.
#ifndef WIDTHS
#define WIDTHS 63
#endif
#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

#include "shares.clh"

#define PASTED(a, b, c, d) a##b##c##d
#define CONVERT(to, width, mode) PASTED(convert_, to, width, mode)

#define VECTORS(mode, width)                                                          \
    EACH(i, count / width)                                                            \
        vstore##width(CONVERT(TO, width, mode)(vload##width(i, in)), i, out);         \
    out += apart;

#define SCALARS(mode)                                                                 \
    EACH(i, count)                                                                    \
        out[i] = CONVERT(TO, , mode)(in[i]);                                          \
    out += apart;

#define ASSIGNED                                                                      \
    EACH(i, count)                                                                    \
        out[i] = in[i];

#define KERNEL(mode, more)                                                            \
    __kernel void run##mode(__global const FROM *in, __global TO *out, uint count, uint apart) \
    {                                                                                 \
        if (WIDTHS & 1) { SCALARS(mode) }                                             \
        if (WIDTHS & 2) { VECTORS(mode, 2) }                                          \
        if (WIDTHS & 4) { VECTORS(mode, 3) }                                          \
        if (WIDTHS & 8) { VECTORS(mode, 4) }                                          \
        if (WIDTHS & 16) { VECTORS(mode, 8) }                                         \
        if (WIDTHS & 32) { VECTORS(mode, 16) }                                        \
        if (WIDTHS & 1) { more }                                                      \
    }

#define NAMED(mode, more) KERNEL(mode, more)

#ifdef ONLY
// One kernel only, if the others were not requested or one of them does not build.
#ifdef IMPLICIT
NAMED(ONLY, ASSIGNED)
#else
NAMED(ONLY, )
#endif
#else
KERNEL(, ASSIGNED)
KERNEL(_rte, )
KERNEL(_rtz, )
KERNEL(_rtp, )
KERNEL(_rtn, )
#if WHOLE
KERNEL(_sat, )
KERNEL(_sat_rte, )
KERNEL(_sat_rtz, )
KERNEL(_sat_rtp, )
KERNEL(_sat_rtn, )
#endif
#endif
