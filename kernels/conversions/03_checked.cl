// A conversion and its check in one kernel: no result goes to memory.
//
// in, wanted: count numbers and their results; count is a multiple of 48, which all widths divide
// right:      the number of right results for each width (1, 2, 3, 4, 8, 16); they are added

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
#define VECTOR(of, width) PASTED(of, width, , )

// Elements of a comparison are -1 where both are equal.
#define ADDED2(v) ((v).s0 + (v).s1)
#define ADDED3(v) ((v).s0 + (v).s1 + (v).s2)
#define ADDED4(v) (ADDED2((v).lo) + ADDED2((v).hi))
#define ADDED8(v) (ADDED4((v).lo) + ADDED4((v).hi))
#define ADDED16(v) (ADDED8((v).lo) + ADDED8((v).hi))
#define EQUAL(width, from, wanted) (uint)(-ADDED##width(CONVERT(TO, width, MODE)(from) == (wanted)))

#define KERNEL(width, at)                                                             \
    __kernel void check##width(__global const FROM *in, __global const TO *wanted,    \
                               __global uint *right, uint count)                      \
    {                                                                                 \
        uint found = 0;                                                               \
        EACH(i, count / width)                                                        \
            found += EQUAL(width, vload##width(i, in), vload##width(i, wanted));      \
        atomic_add(right + at, found);                                                \
    }

__kernel void check1(__global const FROM *in, __global const TO *wanted, __global uint *right, uint count)
{
    uint found = 0;
    EACH(i, count)
        found += CONVERT(TO, , MODE)(in[i]) == wanted[i];
    atomic_add(right, found);
}
KERNEL(2, 1)
KERNEL(3, 2)
KERNEL(4, 3)
KERNEL(8, 4)
KERNEL(16, 5)

#define HALVES(width, from, want)                                                     \
    (EQUAL(width, (from).lo, (want).lo) + EQUAL(width, (from).hi, (want).hi))

// Numbers are read once: 16 wide, and halved down to scalars; and once more three wide.
__kernel void check_all(__global const FROM *in, __global const TO *wanted, __global uint *right, uint count)
{
    uint one = 0, two = 0, three = 0, four = 0, eight = 0, sixteen = 0;
    EACH(i, count / 16) {
        VECTOR(FROM, 16) x = vload16(i, in);
        VECTOR(TO, 16) w = vload16(i, wanted);
        sixteen += EQUAL(16, x, w);
        eight += HALVES(8, x, w);
        four += HALVES(4, x.lo, w.lo) + HALVES(4, x.hi, w.hi);
        two += HALVES(2, x.lo.lo, w.lo.lo) + HALVES(2, x.lo.hi, w.lo.hi) + HALVES(2, x.hi.lo, w.hi.lo)
             + HALVES(2, x.hi.hi, w.hi.hi);
#define SCALAR(n) one += CONVERT(TO, , MODE)(x.s##n) == w.s##n;
        SCALAR(0) SCALAR(1) SCALAR(2) SCALAR(3) SCALAR(4) SCALAR(5) SCALAR(6) SCALAR(7)
        SCALAR(8) SCALAR(9) SCALAR(a) SCALAR(b) SCALAR(c) SCALAR(d) SCALAR(e) SCALAR(f)
    }
    EACH(i, count / 3)
        three += EQUAL(3, vload3(i, in), vload3(i, wanted));
    atomic_add(right, one);
    atomic_add(right + 1, two);
    atomic_add(right + 2, three);
    atomic_add(right + 3, four);
    atomic_add(right + 4, eight);
    atomic_add(right + 5, sixteen);
}
