// The picture on a face, darker where that looks away.
in vec2 uv;
in float light;
out vec4 color;
uniform sampler2D picture;

void main() {
    color = vec4(texture(picture, uv).rgb * light, 1.0);
}
