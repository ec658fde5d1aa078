// A conversion one width at a time, and the comparison of its results.
//
// in:    count numbers; a multiple of 48, which all widths divide
// out:   count results
// right: the number of results that are right; added to right[at]

#ifndef FROM
#define FROM float
#endif
#ifndef TO
#define TO int
#endif
#ifndef MODE
#define MODE _sat_rte
#endif
#ifndef RUNS
#define RUNS 1
#endif
#include "shares.clh"

#define PASTED(a, b, c, d) a##b##c##d
#define CONVERT(to, width, mode) PASTED(convert_, to, width, mode)

#define KERNEL(width)                                                                 \
    __kernel void convert##width(__global const FROM *in, __global TO *out, uint count) \
    {                                                                                 \
        EACH(i, count / width)                                                        \
            vstore##width(CONVERT(TO, width, MODE)(vload##width(i, in)), i, out);     \
    }

__kernel void convert1(__global const FROM *in, __global TO *out, uint count)
{
    EACH(i, count)
        out[i] = CONVERT(TO, , MODE)(in[i]);
}
KERNEL(2)
KERNEL(3)
KERNEL(4)
KERNEL(8)
KERNEL(16)

__kernel void compare(__global const TO *out, __global const TO *wanted, __global uint *right, uint count, uint at)
{
    uint found = 0;
    EACH(i, count)
        found += out[i] == wanted[i];
    atomic_add(right + at, found);
}
