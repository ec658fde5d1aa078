// A vertex of a figure or its shirt as the light sees it.
in vec3 position;
uniform mat4 light;

void main() {
    gl_Position = light * vec4(position, 1.0);
}
