// The peak of vector addition: a copy in three streams. Two are read and one is written, word by word, and only the
// exclusive or is computed, which makes both reads necessary. An addition can hardly move its bytes faster.
//
// a, b, out  count words of 32 bits, aligned to a vector
#include "../common/vectors.clh"

#ifndef GROUP
#define GROUP 64
#endif
#ifndef WIDTH
#define WIDTH 4
#endif

#define VECTOR VECTOR_OF(uint, WIDTH)

__kernel void three_streams(__global const uint *a, __global const uint *b, __global uint *out, uint count)
{
    const uint v = get_global_id(0);
    const uint whole = count / WIDTH;
    if (v < whole) {
        ((__global VECTOR *)out)[v] = ((__global const VECTOR *)a)[v] ^ ((__global const VECTOR *)b)[v];
    } else if (v == whole) {
        for (uint i = whole * WIDTH; i < count; i++)
            out[i] = a[i] ^ b[i];
    }
}
