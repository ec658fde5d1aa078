// Cloth, step 3: a group copies its vertices of 80 bytes into local memory together, and reads them there. Arguments as in
// 01_single.cl.
#include "scalar.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void skin(__global const vertex *vertices, __global const float *pose, __global float4 *skinned, uint first, uint army)
{
    __local float4 copied[GROUP * 5];
    const uint begin = get_group_id(0) * GROUP, count = min((uint)GROUP, SKINNED - begin);
    const event_t copy = async_work_group_copy(copied, (__global const float4 *)(vertices + begin), count * 5, 0);
    wait_group_events(1, (event_t *)&copy);
    const uint own = get_local_id(0), v = begin + own, character = first + get_global_id(1);
    if (own >= count)
        return;
    const vertex read = { copied[own * 5], copied[own * 5 + 1], copied[own * 5 + 2], as_uint4(copied[own * 5 + 3]),
                          copied[own * 5 + 4] };
    skin_one(read, pose + character * (BONES * 12), skinned + 2 * (character * SKINNED + v));
}
