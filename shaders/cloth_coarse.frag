// Floor, bodies and shirts as in cloth.frag, with less to do for each pixel. Before it stand KIND, what is drawn: 0 the floor, 1 a
// body, 2 a sleeve, 3 a shirt; and TAPS, how often a pixel looks into the shadow: 0 or 1.
in vec3 place;
out vec4 color;
uniform sampler2DShadow shadow;
#if KIND == 0
in vec2 tile;
flat in vec3 above;
flat in vec3 dark;
flat in vec3 bright;
uniform float far;
uniform vec3 ground;
#else
in vec2 uv;
in vec2 facing;
#endif
#if KIND == 1
flat in vec4 own;
#elif KIND >= 2
uniform sampler2D picture;
uniform mat2 orientation;
#endif

void main() {
#if KIND == 0
    vec2 wide = fwidth(tile);
    vec2 wave = abs(fract(tile * 0.5) - 0.5) * 2.0 - 0.5;
    vec2 side = clamp(wave / max(wide, 0.001), -0.5, 0.5);
    // Where tiles are smaller than pixels they are grey.
    float sharp = clamp(1.0 - max(wide.x, wide.y), 0.0, 1.0);
    float shade = sqrt(1.0 + 2.0 * side.x * side.y * sharp);
#if TAPS == 0
    vec3 seen = bright * shade;
#else
    // Nothing throws shadows at the edges of the light's picture, which go on for ever, nor behind it.
    vec3 seen = mix(dark, bright, texture(shadow, vec3(place.xy, min(place.z, 0.999)))) * shade;
#endif
    vec2 off = tile - above.xy;
    float away = sqrt(dot(off, off) + above.z * above.z) * 0.65;
    color = vec4(mix(seen, ground, smoothstep(0.35 * far, far, away)), 1.0);
#else
    vec2 faces = facing;
#if KIND == 1
    // Hair above the forehead, down to the ears, and to the neck at the back.
    vec3 material = fract(uv.y) < own.a * (0.60 - 0.32 * smoothstep(0.4, 0.85, uv.x)) ? vec3(0.187, 0.141, 0.110) : own.rgb;
#elif KIND == 2
    // A sleeve goes on with the picture of its side.
    vec3 material = texture(picture, orientation * (vec2(uv.x, fract(uv.y)) - 0.5) + 0.5).rgb;
#else
    vec3 material = texture(picture, uv).rgb;
    if (!gl_FrontFacing) {
        faces = -faces;
        material *= 0.592;
    }
#endif
    float sun = max(faces.x, 0.0) * texture(shadow, place);
    vec3 room = mix(vec3(0.03, 0.03, 0.035), vec3(0.36, 0.40, 0.46), faces.y * 0.5 + 0.5);
    color = vec4(material * sqrt(room + vec3(1.25, 1.17, 1.07) * sun), 1.0);
#endif
}
