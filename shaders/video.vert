// A rectangle that covers the viewport, made from the vertex number alone.
// Row 0 of the texture is the top row of the picture.
out vec2 uv;
uniform mat2 orientation;

void main() {
    vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
    uv = orientation * (vec2(corner.x, 1.0 - corner.y) - 0.5) + 0.5;
    gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
}
