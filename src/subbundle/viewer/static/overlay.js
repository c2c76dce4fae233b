// What is drawn over a view: axes with numbers, and the rectangle of a brush.

import { ends, shown } from "./data.js";

/** Round numbers that divide low..high into about `count` pieces. */
export function ticksOf(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [];
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-9 * step; t += step) ticks.push(Math.abs(t) < 1e-9 * step ? 0 : t);
  return ticks;
}

/** Axes and brush of a panel. */
export function drawOverlay(panel) {
  const context = panel.over.getContext("2d");
  context.setTransform(panel.ratio, 0, 0, panel.ratio, 0, 0);
  context.clearRect(0, 0, panel.over.width, panel.over.height);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = context.strokeStyle = panel.ink || "#555";
  context.lineWidth = 1;
  if (panel.axesShown) (panel.flat ? drawFlatAxes : drawBox)(panel, context);
  if (panel.brush) {
    const { x, y, width, height } = panel.brush;
    context.fillStyle = "rgba(0,114,178,0.12)";
    context.strokeStyle = "#0072b2";
    context.fillRect(x, y, width, height);
    context.strokeRect(x, y, width, height);
  }
}

/** Value along axis k of a panel for display coordinate t: other units where other features were chosen. */
function labelled(panel, k, t) {
  const limits = panel.record.limits?.[k];
  return limits ? limits[0] + t * (limits[1] - limits[0]) : t;
}

/** Ticks along the left and lower edge. */
function drawFlatAxes(panel, context) {
  const { camera, element } = panel;
  const [width, height] = [element.clientWidth, element.clientHeight];
  const spans = [
    [camera.left, camera.right, camera.position.x],
    [camera.bottom, camera.top, camera.position.y],
  ].map(([a, b, at]) => [at + a / camera.zoom, at + b / camera.zoom]);
  context.globalAlpha = 0.9;
  spans.forEach(([low, high], k) => {
    const [first, last] = [labelled(panel, k, low), labelled(panel, k, high)];
    for (const tick of ticksOf(first, last, (k ? height : width) / 90)) {
      const place = (tick - first) / (last - first);
      if (k === 0) {
        const x = place * width;
        if (x < 30) continue; // the corner belongs to the other axis
        context.beginPath();
        context.moveTo(x, height);
        context.lineTo(x, height - 5);
        context.textAlign = "center";
        context.fillText(shown(tick), x, height - 9);
      } else {
        const y = (1 - place) * height;
        if (y < 54) continue; // title and name of the axis
        context.beginPath();
        context.moveTo(0, y);
        context.lineTo(5, y);
        context.textAlign = "left";
        context.fillText(shown(tick), 8, y + 4);
      }
      context.stroke();
    }
  });
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText(panel.record.axes[0] || "", width - 8, height - 24);
  context.textAlign = "left";
  context.fillText(panel.record.axes[1] || "", 8, 44);
}

/** The far edges of the box around everything, with the name and the limits of each axis. */
function drawBox(panel, context) {
  const { low, high } = panel.bounds();
  const { THREE, camera, element } = panel;
  const at = (bits) => new THREE.Vector3(...bits.map((bit, k) => (bit ? high[k] : low[k])));
  const onScreen = (vector) => {
    const p = vector.clone().project(camera);
    return [((p.x + 1) / 2) * element.clientWidth, ((1 - p.y) / 2) * element.clientHeight];
  };
  // The corner nearest to the eye has no edges of its own: they would run in front of the data.
  const bits = [0, 1, 2].map((k) => (camera.position.getComponent(k) > (low[k] + high[k]) / 2 ? 1 : 0));
  context.globalAlpha = 0.35;
  for (let k = 0; k < 3; k++) {
    for (const [a, b] of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
      const start = [0, 0, 0];
      start[(k + 1) % 3] = a;
      start[(k + 2) % 3] = b;
      if (start[(k + 1) % 3] === bits[(k + 1) % 3] && start[(k + 2) % 3] === bits[(k + 2) % 3]) continue;
      const end = start.slice();
      end[k] = 1;
      const [from, to] = [onScreen(at(start)), onScreen(at(end))];
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
    }
  }
  context.globalAlpha = 0.95;
  context.textAlign = "center";
  labelEdges(panel, context, bits, at, onScreen, low, high);
}

/** Names and limits along three edges of the silhouette, just outside the box. */
function labelEdges(panel, context, bits, at, onScreen, low, high) {
  const centre = onScreen(at([0, 0, 0]).add(at([1, 1, 1])).multiplyScalar(0.5));
  for (let k = 0; k < 3; k++) {
    const start = bits.slice();
    // x and y along the bottom of the box, nearest edge; z along the edge that is furthest to the side.
    if (k < 2) start[2] = 0;
    else start[0] = 1 - bits[0];
    start[k] = 0;
    const end = start.slice();
    end[k] = 1;
    const [from, to] = [onScreen(at(start)), onScreen(at(end))];
    const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    const away = [middle[0] - centre[0], middle[1] - centre[1]];
    const size = Math.hypot(...away) || 1;
    const push = ([x, y], by) => [x + (away[0] / size) * by, y + (away[1] / size) * by + 4];
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(panel.record.axes[k] || "", ...push(middle, 16));
    context.font = "11px system-ui, sans-serif";
    const near = (a, b, t) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
    const [first, last] = ends(labelled(panel, k, low[k]), labelled(panel, k, high[k]));
    // Long numbers keep away from the corner, where those of the other axis stand.
    const inset = (text) => Math.max(0.06, 0.02 * text.length - 0.05);
    context.fillText(first, ...push(near(from, to, inset(first)), 14));
    context.fillText(last, ...push(near(from, to, 1 - inset(last)), 14));
  }
}
