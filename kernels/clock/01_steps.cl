// Computes a chain of dependent steps of a linear congruential generator (Numerical Recipes: x = 1664525 x + 1013904223 mod 2^32).
// The host knows the last number, so that a launch that did not run is noticed. One work-item.
//
// out      one number: the generator's state after outer * inner steps from 1
__kernel void steps(uint outer, uint inner, __global uint *out)
{
    uint x = 1;
    // Two loops, since rusticl 22.3 ends a loop after 65,535 rounds.
    for (uint i = 0; i < outer; i++)
        for (uint j = 0; j < inner; j++)
            x = x * 1664525u + 1013904223u;
    out[0] = x;
}
