// A turned cube, seen from the front.
in vec3 position;
in vec3 normal;
in vec2 texel;
out vec2 uv;
out float light;
uniform mat3 turn;
// The picture's width and height at distance 1, and the distance of the eye.
uniform vec3 view;

void main() {
    vec3 at = turn * position;
    float away = view.z - at.z;
    uv = texel;
    light = 0.55 + 0.45 * max((turn * normal).z, 0.0);
    // From 1 to 20 away is what can be seen.
    gl_Position = vec4(at.xy * view.xy, (21.0 * away - 40.0) / 19.0, away);
}
