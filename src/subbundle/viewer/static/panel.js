// One view: a canvas with camera and controls, drawn only when something changed.

import { Controls } from "./controls.js";
import { buildLayer, linesObject, rgbOf } from "./layers.js";
import { edgeShade, ringMaterial } from "./materials.js";
import { positionOf } from "./data.js";
import { drawOverlay } from "./overlay.js";

const FOV = 35;
// Where the camera stands first: around the vertical axis and above the ground, in radians; and room left for labels.
const [TURN, TILT, ROOM] = [-1.05, 0.4, 1.16];
const MOST_RINGS = 8;

export class Panel {
  constructor(THREE, record, layers, tables, root) {
    this.THREE = THREE;
    this.record = record;
    this.flat = record.dim === 2;
    this.clip = { value: new THREE.Vector4(0, 0, 0, 1) };
    this.shading = !this.flat;
    this.axesShown = true;
    this.frames = 0;
    this._makeElements(root);
    this._makeScene(layers, tables);
    this._makeCamera();
    this._target = new THREE.WebGLRenderTarget(1, 1);
    new ResizeObserver(() => this.fits || this.resize()).observe(this.element);
    this.resize();
  }

  _makeElements(root) {
    this.element = document.createElement("div");
    this.element.className = "sb-panel";
    this.element.dataset.panel = this.record.key;
    this.element.innerHTML = `<canvas class="sb-gl"></canvas><canvas class="sb-over"></canvas><div class="sb-panel-title"></div>`;
    this.element.querySelector(".sb-panel-title").textContent = this.record.title;
    root.append(this.element);
    [this.canvas, this.over] = this.element.querySelectorAll("canvas");
  }

  _makeScene(layers, tables) {
    const { THREE } = this;
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: this.flat, preserveDrawingBuffer: true });
    this.renderer.autoClear = false;
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    this.scene = new THREE.Scene();
    this.extras = new THREE.Group();
    this.scene.add(this.extras);
    this.things = new Map();
    let first = 1;
    for (const layer of layers) {
      const things = buildLayer(THREE, layer, tables[layer.table], this.clip);
      things.layer = layer;
      if (things.pick) {
        things.first = first;
        things.pick.uniforms.first.value = first;
        first += layer.positions.codes.length / 3;
      }
      this.scene.add(things.object);
      if (things.border) this.scene.add(things.border);
      this.things.set(layer.key, things);
      this.setVisible(layer.key, layer.visible);
    }
    const rings = new THREE.BufferGeometry();
    rings.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * MOST_RINGS), 3));
    rings.setAttribute("tint", new THREE.BufferAttribute(new Float32Array(3 * MOST_RINGS), 3));
    rings.setAttribute("wide", new THREE.BufferAttribute(new Float32Array(MOST_RINGS), 1));
    rings.setDrawRange(0, 0);
    this.rings = new THREE.Points(rings, ringMaterial(THREE));
    this.rings.frustumCulled = false;
    this.rings.renderOrder = 5;
    this.scene.add(this.rings);
    this.post = new THREE.Scene();
    this.shade = edgeShade(THREE);
    const triangle = new THREE.BufferGeometry();
    const corners = new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]);
    triangle.setAttribute("position", new THREE.BufferAttribute(corners, 3));
    const sheet = new THREE.Mesh(triangle, this.shade);
    sheet.frustumCulled = false;
    this.post.add(sheet);
  }

  _makeCamera() {
    const { THREE } = this;
    this.camera = this.flat ? new THREE.OrthographicCamera() : new THREE.PerspectiveCamera(FOV);
    this.camera.up.set(...(this.flat ? [0, 1, 0] : [0, 0, 1]));
    this.controls = new Controls(THREE, this.camera, this.over, this.flat, () => this.redraw());
  }

  /** Corners of the box around everything visible. */
  bounds() {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (const { layer, object } of this.things.values()) {
      if (!object.visible) continue;
      const { low: start, step, most } = layer.positions;
      for (let k = 0; k < 3; k++) {
        low[k] = Math.min(low[k], start[k]);
        high[k] = Math.max(high[k], start[k] + step[k] * most);
      }
    }
    return low[0] <= high[0] ? { low, high } : { low: [0, 0, 0], high: [1, 1, 1] };
  }

  /** Fit everything into the view. */
  reset() {
    const { low, high } = this.bounds();
    const middle = low.map((l, k) => (l + high[k]) / 2);
    const size = Math.hypot(...low.map((l, k) => high[k] - l)) || 1;
    this.size = size;
    this.controls.target.set(...middle);
    if (this.flat) {
      this.half = 0.56 * Math.max(high[1] - low[1], (high[0] - low[0]) / this.aspect, 1e-9 * size);
      this.camera.zoom = 1;
      this.camera.position.set(middle[0], middle[1], middle[2] + size);
      this.camera.near = 0.01 * size;
      this.camera.far = 2 * size;
    } else {
      const toward = new this.THREE.Vector3(Math.cos(TILT) * Math.cos(TURN), Math.cos(TILT) * Math.sin(TURN), Math.sin(TILT));
      const away = this._distanceFor(low, high, toward);
      this.camera.position.set(...middle).addScaledVector(toward, away);
      this.camera.near = 0.002 * size;
      this.camera.far = 20 * size;
    }
    this.resize();
    this.controls.update();
  }

  /** How far along `toward` the camera stands so that the box fits into the view, with room for the axes. */
  _distanceFor(low, high, toward) {
    const right = new this.THREE.Vector3(-toward.y, toward.x, 0).normalize();
    const up = toward.clone().cross(right);
    const tangent = Math.tan((FOV * Math.PI) / 360);
    let away = 1e-9 * this.size;
    for (let corner = 0; corner < 8; corner++) {
      const half = new this.THREE.Vector3(...low.map((l, k) => ((corner >> k) & 1 ? 1 : -1) * 0.5 * (high[k] - l)));
      const across = Math.max(Math.abs(half.dot(right)) / this.aspect, Math.abs(half.dot(up)));
      away = Math.max(away, (ROOM * across) / tangent + half.dot(toward));
    }
    return away;
  }

  get aspect() {
    return Math.max(this.element.clientWidth, 1) / Math.max(this.element.clientHeight, 1);
  }

  /** Whether the canvas has the size of its place. */
  get fits() {
    const { clientWidth: width, clientHeight: height } = this.element;
    return this.over.width === Math.floor(width * this.ratio) && this.over.height === Math.floor(height * this.ratio);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(this.ratio);
    this.renderer.setSize(width, height, false);
    this.over.width = width * this.ratio;
    this.over.height = height * this.ratio;
    if (this.flat) {
      const half = this.half || 1;
      Object.assign(this.camera, { left: -half * this.aspect, right: half * this.aspect, top: half, bottom: -half });
    } else this.camera.aspect = this.aspect;
    this.camera.updateProjectionMatrix();
    const pixels = [width * this.ratio, height * this.ratio];
    this._target.depthTexture?.dispose();
    this._target.dispose();
    this._target = new this.THREE.WebGLRenderTarget(...pixels, {
      depthTexture: new this.THREE.DepthTexture(...pixels, this.THREE.FloatType),
    });
    this.redraw();
  }

  /** Draw at the next frame. */
  redraw() {
    if (this._waiting) return;
    this._waiting = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this._waiting);
    this._waiting = 0;
    const { renderer, shade } = this;
    const [width, height] = [this.over.width, this.over.height];
    renderer.setClearColor(this.background || "#ffffff", 1);
    this.scene.traverse((thing) => {
      const uniforms = thing.material?.uniforms;
      if (uniforms?.pixels) uniforms.pixels.value.set(width / 2, height / 2);
      if (uniforms?.ratio) uniforms.ratio.value = this.ratio;
    });
    renderer.setRenderTarget(this.shading ? this._target : null);
    renderer.clear();
    renderer.render(this.scene, this.camera);
    if (this.shading) {
      shade.uniforms.image.value = this._target.texture;
      shade.uniforms.depth.value = this._target.depthTexture;
      shade.uniforms.texel.value.set(1.4 / width, 1.4 / height);
      shade.uniforms.range.value.set(this.camera.near, this.camera.far);
      shade.uniforms.strength.value = 25;
      renderer.setRenderTarget(null);
      renderer.clear();
      renderer.render(this.post, this.camera);
    }
    drawOverlay(this);
    this.frames += 1;
  }

  setVisible(key, visible) {
    const things = this.things.get(key);
    things.object.visible = visible;
    if (things.border) things.border.visible = visible && this.bordersShown !== false;
    this.redraw();
  }

  showBorders(shown) {
    this.bordersShown = shown;
    for (const things of this.things.values()) if (things.border) things.border.visible = shown && things.object.visible;
    this.redraw();
  }

  /** Rings [{at, colour, width}] on top of everything. */
  setRings(rings) {
    const { position, tint, wide } = this.rings.geometry.attributes;
    const shown = rings.slice(0, MOST_RINGS);
    shown.forEach((ring, i) => {
      position.setXYZ(i, ...ring.at);
      tint.setXYZ(i, ...rgbOf(ring.colour));
      wide.setX(i, ring.width);
    });
    for (const attribute of [position, tint, wide]) attribute.needsUpdate = true;
    this.rings.geometry.setDrawRange(0, shown.length);
    this.redraw();
  }

  /** Replace the curve called `name` by one through `points`; nothing for none. */
  setCurve(name, points, colour, width) {
    const old = this.extras.getObjectByName(name);
    if (old) {
      this.extras.remove(old);
      old.children[0].geometry.dispose();
    }
    if (points && points.length > 1) {
      const ends = new Float32Array(points.slice(1).flatMap((point, i) => [...points[i], ...point]));
      const curve = linesObject(this.THREE, ends, colour, width * this.ratio, this.clip, true);
      curve.name = name;
      this.extras.add(curve);
    }
    this.redraw();
  }

  /** Pixel [x, y] of the panel at which row `i` of a layer is drawn. */
  project(key, i) {
    const point = new this.THREE.Vector3(...positionOf(this.things.get(key).layer, i)).project(this.camera);
    const { clientWidth: width, clientHeight: height } = this.element;
    return [((point.x + 1) / 2) * width, ((1 - point.y) / 2) * height, point.z];
  }

  dispose() {
    cancelAnimationFrame(this._waiting);
    this.controls.dispose();
    this.renderer.dispose();
    this.element.remove();
  }
}
