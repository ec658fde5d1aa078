// The column pass: the sum of 2·radius+1 row sums, and the mean in whole numbers. The largest sum is
// 255·257² = 16,842,495, more than a float holds exactly; a mean is at most 255.
uniform usampler2D source;
uniform int radius;
out vec4 mean;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    int last = textureSize(source, 0).y - 1;
    uvec4 sum = uvec4(0u);
    for (int y = at.y - radius; y <= at.y + radius; y++) {
        sum += texelFetch(source, ivec2(at.x, clamp(y, 0, last)), 0);
    }
    uint side = uint(2 * radius + 1);
    uint window = side * side;
    mean = vec4((sum + window / 2u) / window) / 255.0;
}
