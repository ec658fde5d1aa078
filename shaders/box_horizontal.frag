// The row pass: the sum of 2·radius+1 pixels of a row, the edge repeated. Each channel of a sum is at most
// 255·257 = 65,535, so that it fits the 16 bits of the texture that it goes to.
uniform sampler2D source;
uniform int radius;
out uvec4 sums;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    int last = textureSize(source, 0).x - 1;
    uvec4 sum = uvec4(0u);
    for (int x = at.x - radius; x <= at.x + radius; x++) {
        // The texture gives k/255; back to the whole number k.
        vec4 pixel = texelFetch(source, ivec2(clamp(x, 0, last), at.y), 0);
        sum += uvec4(pixel * 255.0 + 0.5);
    }
    sums = sum;
}
