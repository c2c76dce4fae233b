// From the description of a layer to things that three.js draws.

import { pointsMaterial, meshMaterial, linesMaterial, pickMaterial } from "./materials.js";
import { positionOf } from "./data.js";

/** "#3b6fb6" as three numbers in 0..1. */
export function rgbOf(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
}

/** The model matrix that turns 16-bit codes into the units of the data. */
function decodingMatrix(THREE, { low, step }) {
  const matrix = new THREE.Matrix4().makeScale(...step.map((s) => s || 1e-30));
  return matrix.setPosition(...low);
}

/** Geometry with positions, one value, one mark and (if the table has some) one colour per vertex. */
function geometryOf(THREE, layer, table) {
  const geometry = new THREE.BufferGeometry();
  const n = layer.positions.codes.length / 3;
  geometry.setAttribute("position", new THREE.BufferAttribute(layer.positions.codes, 3));
  geometry.setAttribute("value", new THREE.BufferAttribute(new Uint16Array(n), 1, true));
  geometry.setAttribute("mark", new THREE.BufferAttribute(new Uint8Array(n), 1));
  const colours = table.quantities.find((quantity) => quantity.kind === "rgb");
  const bytes = colours ? colours.codes : new Uint8Array(3);
  if (colours) geometry.setAttribute("rgb", new THREE.BufferAttribute(bytes, 3, true));
  return geometry;
}

/** Unit normals at the vertices of a mesh: the mean of the faces around them, by area. */
export function normalsOf(layer) {
  const { codes, step } = layer.positions;
  const { faces } = layer;
  const [sx, sy, sz] = step;
  const normals = new Float32Array(codes.length);
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
    const ux = sx * (codes[b] - codes[a]);
    const uy = sy * (codes[b + 1] - codes[a + 1]);
    const uz = sz * (codes[b + 2] - codes[a + 2]);
    const vx = sx * (codes[c] - codes[a]);
    const vy = sy * (codes[c + 1] - codes[a + 1]);
    const vz = sz * (codes[c + 2] - codes[a + 2]);
    for (const corner of [a, b, c]) {
      normals[corner] += uy * vz - uz * vy;
      normals[corner + 1] += uz * vx - ux * vz;
      normals[corner + 2] += ux * vy - uy * vx;
    }
  }
  for (let i = 0; i < normals.length; i += 3) {
    const size = Math.hypot(normals[i], normals[i + 1], normals[i + 2]) || 1;
    for (let k = 0; k < 3; k++) normals[i + k] /= size;
  }
  return normals;
}

/** A geometry of thick segments from `ends`, [from, to] positions one after the other. */
export function segmentsGeometry(THREE, ends) {
  const geometry = new THREE.InstancedBufferGeometry();
  const corners = new Float32Array([0, -0.5, 0, 1, -0.5, 0, 1, 0.5, 0, 0, 0.5, 0]);
  geometry.setAttribute("position", new THREE.BufferAttribute(corners, 3));
  geometry.setIndex([0, 1, 2, 0, 2, 3]);
  const data = new THREE.InstancedInterleavedBuffer(ends, 6, 1);
  geometry.setAttribute("from", new THREE.InterleavedBufferAttribute(data, 3, 0));
  geometry.setAttribute("to", new THREE.InterleavedBufferAttribute(data, 3, 3));
  geometry.instanceCount = ends.length / 6;
  return geometry;
}

/** Thick lines along `ends`; with `xray` also, faintly, where something stands before them. */
export function linesObject(THREE, ends, colour, width, clip, xray) {
  const group = new THREE.Group();
  const geometry = segmentsGeometry(THREE, ends);
  for (const behind of xray ? [true, false] : [false]) {
    const material = linesMaterial(THREE, clip, behind);
    material.uniforms.plain.value.set(...rgbOf(colour));
    material.uniforms.width.value = width;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    mesh.renderOrder = behind ? 2 : 1;
    group.add(mesh);
  }
  return group;
}

/** Consecutive positions of each curve of a lines layer, as segments. */
export function endsOfCurves(layer) {
  const ends = [];
  const { offsets } = layer;
  for (let c = 0; c + 1 < offsets.length; c++) {
    for (let i = offsets[c]; i + 1 < offsets[c + 1]; i++) ends.push(...positionOf(layer, i), ...positionOf(layer, i + 1));
  }
  return new Float32Array(ends);
}

/** What is drawn for a layer: {object, pick, border, material}; `pick` and `border` may be missing. */
export function buildLayer(THREE, layer, table, clip) {
  if (layer.kind === "lines") {
    return { object: linesObject(THREE, endsOfCurves(layer), layer.colour, layer.size, clip, false) };
  }
  const geometry = geometryOf(THREE, layer, table);
  const mesh = layer.kind === "mesh";
  if (mesh) {
    geometry.setIndex(new THREE.BufferAttribute(layer.faces, 1));
    geometry.setAttribute("normal", new THREE.BufferAttribute(normalsOf(layer), 3));
  }
  const material = (mesh ? meshMaterial : pointsMaterial)(THREE, clip);
  material.uniforms.plain.value.set(...rgbOf(layer.colour));
  const object = new (mesh ? THREE.Mesh : THREE.Points)(geometry, material);
  const pick = pickMaterial(THREE, clip, mesh ? { value: 1 } : material.uniforms.size);
  const things = { object, pick, material };
  object.matrixAutoUpdate = false;
  object.frustumCulled = false;
  object.matrix.copy(decodingMatrix(THREE, layer.positions));
  if (mesh && layer.border.length) {
    const ends = new Float32Array([...layer.border].flatMap((v) => positionOf(layer, v)));
    things.border = linesObject(THREE, ends, "#d55e00", 2.5, clip, false);
  }
  return things;
}

/** Give a layer other positions (other axes were chosen). */
export function replacePositions(THREE, layer, object, positions) {
  layer.positions = positions;
  object.geometry.setAttribute("position", new THREE.BufferAttribute(positions.codes, 3));
  object.matrix.copy(decodingMatrix(THREE, positions));
}
