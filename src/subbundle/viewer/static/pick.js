// Which row is under the mouse, and which lie inside a rectangle.

import { positionOf } from "./data.js";

// Pixels around the mouse in which a point is picked.
const REACH = 9;

/** {key, table, index} of the vertex drawn nearest to pixel [x, y] of a panel, or null. What is hidden is not found. */
export function pickAt(panel, x, y) {
  const { THREE, renderer, scene, camera } = panel;
  const side = 2 * REACH + 1;
  panel.pickTarget ??= new THREE.WebGLRenderTarget(side, side, { type: THREE.UnsignedByteType, format: THREE.RGBAFormat });
  const saved = [];
  for (const thing of scene.children) saved.push([thing, thing.visible]);
  const swapped = [];
  for (const things of panel.things.values()) {
    if (!things.pick || !things.object.visible) continue;
    swapped.push([things.object, things.object.material]);
    things.object.material = things.pick;
  }
  for (const [thing] of saved) thing.visible = swapped.some(([object]) => object === thing);
  const { clientWidth: width, clientHeight: height } = panel.element;
  camera.setViewOffset(width, height, x - REACH - 0.5, y - REACH - 0.5, side, side);
  renderer.setRenderTarget(panel.pickTarget);
  renderer.setClearColor(0, 0);
  renderer.clear();
  renderer.render(scene, camera);
  camera.clearViewOffset();
  for (const [object, material] of swapped) object.material = material;
  for (const [thing, visible] of saved) thing.visible = visible;
  const pixels = new Uint8Array(4 * side * side);
  renderer.readRenderTargetPixels(panel.pickTarget, 0, 0, side, side, pixels);
  renderer.setRenderTarget(null);
  return vertexOf(panel, nearestId(pixels, side));
}

/** The id nearest to the middle of a square of pixels; 0 for none. */
export function nearestId(pixels, side) {
  let best = Infinity;
  let id = 0;
  for (let p = 0; p < side * side; p++) {
    const found = (pixels[4 * p] | (pixels[4 * p + 1] << 8) | (pixels[4 * p + 2] << 16) | (pixels[4 * p + 3] << 24)) >>> 0;
    if (found === 0) continue;
    const far = ((p % side) - (side - 1) / 2) ** 2 + (Math.floor(p / side) - (side - 1) / 2) ** 2;
    if (far < best) [best, id] = [far, found];
  }
  return id;
}

function vertexOf(panel, id) {
  if (!id) return null;
  for (const things of panel.things.values()) {
    const count = things.layer.positions.codes.length / 3;
    if (things.pick && id >= things.first && id < things.first + count) {
      return { key: things.layer.key, table: things.layer.table, index: id - things.first };
    }
  }
  return null;
}

/** {table: Uint8Array of marks} for the points of visible point layers inside a rectangle of the panel. */
export function pickInside(panel, { x, y, width, height }) {
  const found = {};
  const point = new panel.THREE.Vector3();
  const { clientWidth, clientHeight } = panel.element;
  for (const { layer, object, pick } of panel.things.values()) {
    if (!pick || !object.visible) continue;
    const count = layer.positions.codes.length / 3;
    const marks = (found[layer.table] ??= new Uint8Array(count));
    for (let i = 0; i < count; i++) {
      point.set(...positionOf(layer, i)).project(panel.camera);
      const px = ((point.x + 1) / 2) * clientWidth;
      const py = ((1 - point.y) / 2) * clientHeight;
      if (px >= x && px <= x + width && py >= y && py <= y + height) marks[i] = 1;
    }
  }
  return found;
}
