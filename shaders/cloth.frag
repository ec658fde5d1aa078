// Floor, bodies and shirts in the light of one lamp and of the room. Before it stand KIND, what is drawn: 0 the floor, 1 a body,
// 2 a sleeve, 3 a shirt; and TAPS, how often a pixel looks into the shadow: 0, 1 or 4. A processor that draws goes through both
// sides of each branch that is left to it.
in vec3 at;
in vec3 facing;
in vec2 uv;
flat in int material;
out vec4 color;
uniform sampler2D picture;
uniform sampler2DShadow shadow;
// What brings points to the light's picture, from -1 to 1, and where the light comes from.
uniform mat4 light;
uniform vec3 lamp;
uniform vec3 eye;
// How far the army has walked, in metres, and how far the floor is seen.
uniform float walked;
uniform float far;
// The background; and how the picture is turned.
uniform vec3 ground;
uniform mat2 orientation;
const int kind = KIND;
// The room's light comes from a side where the lamp's does not, so that folds are seen there, too.
const vec3 room_from = vec3(0.62, 0.60, -0.50);

vec3 floor_color() {
    vec2 tile = vec2(at.x, at.z + walked) / 0.65;
    vec2 wide = fwidth(tile);
    vec2 wave = abs(fract(tile * 0.5) - 0.5) * 2.0 - 0.5;
    vec2 side = clamp(wave / max(wide, 0.001), -0.5, 0.5);
    // Where tiles are smaller than pixels they are grey.
    float sharp = clamp(1.0 - max(wide.x, wide.y), 0.0, 1.0);
    return vec3(0.08, 0.085, 0.095) * (1.0 + 0.5 * 4.0 * side.x * side.y * sharp);
}

vec3 body_color() {
    if (material == 0) return vec3(0.045, 0.065, 0.13);
    // Hair above the forehead, down to the ears, and to the neck at the back.
    if (material == 2 && fract(uv.y) < 0.60 - 0.32 * smoothstep(0.4, 0.85, uv.x)) return vec3(0.035, 0.02, 0.012);
    if (material == 3) return vec3(0.02, 0.02, 0.022);
    return vec3(0.50, 0.27, 0.17);
}

float lit(vec3 normal) {
    // A little off the surface, so that it does not shade itself.
    vec3 place = (light * vec4(at + normal * 0.014, 1.0)).xyz * 0.5 + 0.5;
    if (any(lessThan(place.xy, vec2(0.002))) || any(greaterThan(place.xy, vec2(0.998)))) return 1.0;
    // The floor goes on behind all that throws shadows.
    place.z = min(place.z, 0.999);
#if TAPS == 0
    return 1.0;
#elif TAPS == 1
    return texture(shadow, place);
#else
    float off = 0.8 / float(textureSize(shadow, 0).x);
    float sum = texture(shadow, place + vec3(off, off, 0.0)) + texture(shadow, place + vec3(-off, off, 0.0));
    sum += texture(shadow, place + vec3(off, -off, 0.0)) + texture(shadow, place - vec3(off, off, 0.0));
    return sum * 0.25;
#endif
}

void main() {
    vec3 normal = kind == 0 ? vec3(0.0, 1.0, 0.0) : normalize(facing);
    vec3 own;
    if (kind == 0) {
        own = floor_color();
    } else if (kind >= 2) {
        // A sleeve goes on with the picture of its side.
        vec2 place = kind == 2 ? vec2(uv.x, fract(uv.y)) : uv;
        own = texture(picture, orientation * (place - 0.5) + 0.5).rgb;
        own *= own;
        if (kind == 3 && !gl_FrontFacing) {
            normal = -normal;
            own *= 0.35;
        }
    } else {
        own = body_color();
    }
    float sun = max(dot(normal, lamp), 0.0);
    if (sun > 0.0) sun *= lit(normal);
    vec3 room = mix(vec3(0.03, 0.03, 0.035), vec3(0.36, 0.40, 0.46), dot(normal, room_from) * 0.5 + 0.5);
    vec3 seen = own * (room + vec3(1.25, 1.17, 1.07) * sun);
    seen = sqrt(clamp(seen, 0.0, 1.0));
    if (kind == 0) {
        seen = mix(seen, ground, smoothstep(0.35 * far, far, distance(at, eye)));
    }
    color = vec4(seen, 1.0);
}
