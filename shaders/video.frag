// The movie's picture, as it is: RGBA8 in, RGBA8 out.
in vec2 uv;
out vec4 color;
uniform sampler2D picture;

void main() {
    color = vec4(texture(picture, uv).rgb, 1.0);
}
