// A vertex for who draws on a processor (Mesa's llvmpipe): what needs not be exact in each pixel is computed here. Before it stands
// KIND, what is drawn: 0 the floor, 1 a body, 2 a sleeve, 3 a shirt.
in vec3 position;
in vec3 normal;
in vec2 texel;
// Where it lies in the light's picture, from 0 to 1.
out vec3 place;
uniform mat4 view;
uniform mat4 light;
uniform vec3 lamp;
// The room's light comes from a side where the lamp's does not, so that folds are seen there, too.
const vec3 room_from = vec3(0.62, 0.60, -0.50);
#if KIND == 0
// In tiles; where the eye is in them, with its height; and the colours without and with the lamp's light.
out vec2 tile;
flat out vec3 above;
flat out vec3 dark;
flat out vec3 bright;
uniform vec3 eye;
uniform float walked;
#else
out vec2 uv;
// How far it looks to the lamp, and to the room's light.
out vec2 facing;
#endif
#if KIND == 1
// Its colour, and whether it may have hair.
flat out vec4 own;
#elif KIND == 3
uniform mat2 orientation;
#endif

void main() {
    // A little off the surface, so that it does not shade itself.
    place = (light * vec4(position + normal * 0.014, 1.0)).xyz * 0.5 + 0.5;
#if KIND == 0
    tile = vec2(position.x, position.z + walked) / 0.65;
    above = vec3(eye.x, eye.z + walked, eye.y) / 0.65;
    vec3 stone = vec3(0.08, 0.085, 0.095);
    vec3 room = mix(vec3(0.03, 0.03, 0.035), vec3(0.36, 0.40, 0.46), room_from.y * 0.5 + 0.5);
    dark = sqrt(stone * room);
    bright = sqrt(stone * (room + vec3(1.25, 1.17, 1.07) * max(lamp.y, 0.0)));
#else
    uv = texel;
    facing = vec2(dot(normal, lamp), dot(normal, room_from));
#endif
#if KIND == 1
    int material = int(floor(texel.y));
    vec3 color = vec3(0.50, 0.27, 0.17);
    if (material == 0) color = vec3(0.045, 0.065, 0.13);
    if (material == 3) color = vec3(0.02, 0.02, 0.022);
    own = vec4(sqrt(color), material == 2 ? 1.0 : 0.0);
#elif KIND == 3
    uv = orientation * (texel - 0.5) + 0.5;
#endif
    gl_Position = view * vec4(position, 1.0);
}
