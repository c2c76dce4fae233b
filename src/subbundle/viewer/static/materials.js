// Shaders. Every vertex carries a 16-bit value that a colour map turns into a colour, so recolouring sends two bytes
// per point; positions are 16-bit codes that the model matrix turns into the units of the data.

const COLOUR = /* glsl */ `
in float value;
in vec3 rgb;
in float mark;
uniform int mode;
uniform float low, high, entries, dimmed;
uniform vec3 plain, missing, faded;
uniform sampler2D map;
vec3 colourOf() {
  vec3 colour = plain;
  if (mode == 1) {
    float code = floor(value * 65535.0 + 0.5);
    float place = clamp((code / 65534.0 - low) / max(high - low, 1e-9), 0.0, 1.0);
    colour = code > 65534.5 ? missing : texture(map, vec2((place * 255.0 + 0.5) / 256.0, 0.5)).rgb;
  } else if (mode == 2) {
    float code = floor(value * 65535.0 + 0.5);
    colour = code > 65534.5 ? missing : texture(map, vec2((mod(code, entries) + 0.5) / entries, 0.5)).rgb;
  } else if (mode == 3) {
    colour = rgb;
  }
  return mark < 0.5 ? mix(colour, faded, dimmed) : colour;
}`;

const CLIP_VERTEX = /* glsl */ `
out vec3 world;
void keepWorld() { world = (modelMatrix * vec4(position, 1.0)).xyz; }`;

const CLIP_FRAGMENT = /* glsl */ `
in vec3 world;
uniform vec4 clip;
void cut() { if (dot(clip.xyz, world) > clip.w) discard; }`;

/** Uniforms of everything that is coloured by value. */
function colourUniforms(THREE) {
  return {
    mode: { value: 0 },
    low: { value: 0 },
    high: { value: 1 },
    entries: { value: 256 },
    dimmed: { value: 0 },
    plain: { value: new THREE.Vector3(0.5, 0.5, 0.5) },
    missing: { value: new THREE.Vector3(0.6, 0.6, 0.6) },
    faded: { value: new THREE.Vector3(0.8, 0.8, 0.8) },
    map: { value: null },
  };
}

/** Discs of a fixed number of pixels. */
export function pointsMaterial(THREE, clip) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    uniforms: { ...colourUniforms(THREE), clip, size: { value: 3 } },
    vertexShader: `${COLOUR}${CLIP_VERTEX}
uniform float size;
out vec3 colour;
void main() {
  keepWorld();
  colour = colourOf();
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  gl_PointSize = size * (mark > 0.5 && dimmed > 0.0 ? 1.3 : 1.0);
}`,
    fragmentShader: `${CLIP_FRAGMENT}
in vec3 colour;
uniform float size;
out vec4 pixel;
void main() {
  cut();
  vec2 place = 2.0 * gl_PointCoord - 1.0;
  if (size > 2.5 && dot(place, place) > 1.0) discard;
  pixel = vec4(colour, 1.0);
}`,
  });
}

/** A surface lit from the eye, both sides alike: the orientation of a learned surface is arbitrary. */
export function meshMaterial(THREE, clip) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    side: THREE.DoubleSide,
    uniforms: { ...colourUniforms(THREE), clip, flatly: { value: 0 }, wire: { value: 0 }, opacity: { value: 1 } },
    vertexShader: `${COLOUR}${CLIP_VERTEX}
out vec3 colour, seen, turned;
void main() {
  keepWorld();
  colour = colourOf();
  vec4 eye = modelViewMatrix * vec4(position, 1.0);
  seen = eye.xyz;
  turned = mat3(viewMatrix) * normal;
  gl_Position = projectionMatrix * eye;
}`,
    fragmentShader: `${CLIP_FRAGMENT}
in vec3 colour, seen, turned;
uniform float flatly, opacity;
out vec4 pixel;
void main() {
  cut();
  vec3 facet = normalize(cross(dFdx(seen), dFdy(seen)));
  vec3 n = flatly > 0.5 || dot(turned, turned) < 1e-6 ? facet : normalize(turned);
  if (dot(n, -seen) < 0.0) n = -n;
  vec3 lamp = normalize(vec3(-0.35, 0.55, 0.75));
  float shade = 0.46 + 0.46 * max(dot(n, lamp), 0.0) + 0.12 * max(dot(n, vec3(0.0, 0.0, 1.0)), 0.0);
  float shine = 0.12 * pow(max(dot(n, normalize(lamp + normalize(-seen))), 0.0), 40.0);
  pixel = vec4(min(colour * shade + shine, 1.0), opacity);
}`,
  });
}

/** Lines of a fixed number of pixels: one instance of a quad for every segment. `behind` shows what is hidden, faintly. */
export function linesMaterial(THREE, clip, behind) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    transparent: behind,
    depthTest: !behind,
    depthWrite: !behind,
    uniforms: {
      clip,
      plain: { value: new THREE.Vector3(0.2, 0.2, 0.2) },
      width: { value: 2 },
      pixels: { value: new THREE.Vector2(1, 1) },
      alpha: { value: behind ? 0.28 : 1 },
    },
    vertexShader: `
in vec3 from, to;
uniform float width;
uniform vec2 pixels;
out vec3 world;
void main() {
  world = mix(from, to, position.x);
  vec4 a = projectionMatrix * viewMatrix * vec4(from, 1.0);
  vec4 b = projectionMatrix * viewMatrix * vec4(to, 1.0);
  vec2 along = (b.xy / b.w - a.xy / a.w) * pixels;
  along = length(along) > 1e-9 ? normalize(along) : vec2(1.0, 0.0);
  vec2 across = vec2(-along.y, along.x);
  vec4 end = mix(a, b, position.x);
  vec2 offset = width * (position.y * across + 0.5 * (2.0 * position.x - 1.0) * along);
  end.xy += offset / pixels * end.w;
  end.z -= 0.0008 * end.w;
  gl_Position = end;
}`,
    fragmentShader: `${CLIP_FRAGMENT}
uniform vec3 plain;
uniform float alpha;
out vec4 pixel;
void main() { cut(); pixel = vec4(plain, alpha); }`,
  });
}

/** Writes which vertex is seen: layer offset plus vertex number, in the four bytes of a pixel. */
export function pickMaterial(THREE, clip, size) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    side: THREE.DoubleSide,
    blending: THREE.NoBlending,
    uniforms: { clip, size, first: { value: 0 } },
    vertexShader: `${CLIP_VERTEX}
uniform float size;
uniform uint first;
flat out uint id;
void main() {
  keepWorld();
  id = first + uint(gl_VertexID);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  gl_PointSize = max(size, 2.0);
}`,
    fragmentShader: `${CLIP_FRAGMENT}
flat in uint id;
out vec4 pixel;
void main() {
  cut();
  pixel = vec4(float(id & 255u), float((id >> 8) & 255u), float((id >> 16) & 255u), float(id >> 24)) / 255.0;
}`,
  });
}

/** A few rings on top of everything: what is under the mouse, what was clicked. */
export function ringMaterial(THREE) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    depthTest: false,
    transparent: true,
    uniforms: { ratio: { value: 1 } },
    vertexShader: `
in vec3 tint;
in float wide;
uniform float ratio;
out vec3 colour;
void main() {
  colour = tint;
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  gl_PointSize = wide * ratio;
}`,
    fragmentShader: `
in vec3 colour;
out vec4 pixel;
void main() {
  float r = length(2.0 * gl_PointCoord - 1.0);
  if (r > 1.0) discard;
  float outer = smoothstep(1.0, 0.9, r);
  pixel = r > 0.72 ? vec4(1.0, 1.0, 1.0, 0.9 * outer) : vec4(colour, 1.0);
}`,
  });
}

/** Eye-dome lighting: a pixel darkens by how much nearer its neighbours are, which shows the shape of bare points. */
export function edgeShade(THREE) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    depthTest: false,
    depthWrite: false,
    uniforms: {
      image: { value: null },
      depth: { value: null },
      texel: { value: new THREE.Vector2(1, 1) },
      range: { value: new THREE.Vector2(0.1, 100) },
      strength: { value: 1 },
    },
    vertexShader: `out vec2 at; void main() { at = 0.5 * position.xy + 0.5; gl_Position = vec4(position.xy, 0.0, 1.0); }`,
    fragmentShader: `
in vec2 at;
uniform sampler2D image, depth;
uniform vec2 texel, range;
uniform float strength;
out vec4 pixel;
float far(vec2 place) {
  float z = 2.0 * texture(depth, place).r - 1.0;
  return log2(2.0 * range.x * range.y / (range.y + range.x - z * (range.y - range.x)));
}
void main() {
  vec4 colour = texture(image, at);
  float own = far(at);
  float sum = 0.0;
  for (int i = 0; i < 8; i++) {
    float angle = 0.7853981634 * float(i);
    sum += max(0.0, own - far(at + texel * vec2(cos(angle), sin(angle))));
  }
  float shade = texture(depth, at).r < 1.0 ? exp(-strength * sum / 8.0) : 1.0;
  pixel = vec4(colour.rgb * max(shade, 0.25), 1.0);
}`,
  });
}
