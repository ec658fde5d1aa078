// A picture with alpha, its colours multiplied by it, over a chequerboard of the window's own pixels.
in vec2 uv;
out vec4 color;
uniform sampler2D picture;

void main() {
    vec4 pixel = texture(picture, uv);
    ivec2 square = ivec2(gl_FragCoord.xy) / 8;
    float grey = (square.x + square.y) % 2 == 0 ? 0.4 : 0.6;
    color = vec4(pixel.rgb + (1.0 - pixel.a) * grey, 1.0);
}
