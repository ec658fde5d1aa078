// A vertex of a figure, of its shirt or of the floor, as it is seen.
in vec3 position;
in vec3 normal;
in vec2 texel;
out vec3 at;
out vec3 facing;
out vec2 uv;
// What a body is made of there: its v counts on from one material to the next.
flat out int material;
uniform mat4 view;

void main() {
    at = position;
    facing = normal;
    uv = texel;
    material = int(floor(texel.y));
    gl_Position = view * vec4(position, 1.0);
}
