// The viewer: views side by side, linked by the rows of their tables.

import { alongOf, realLayers } from "./along.js";
import { activeQuantity, colourTable, coordinateQuantities, markTable, quantityOfDistances } from "./colouring.js";
import { texturesOf } from "./colours.js";
import { MISSING, positionOf, shown } from "./data.js";
import { PINS, pin, showPath } from "./geodesics.js";
import { listen, listenToKeys } from "./interact.js";
import { replacePositions, rgbOf } from "./layers.js";
import { drawLegends } from "./legend.js";
import { Panel } from "./panel.js";
import { offer, screenshotOf } from "./screenshot.js";
import { buildSidebar } from "./sidebar.js";
import { State, h } from "./state.js";
import { pictureOf, rowNumber, showTooltip } from "./tooltip.js";
import { skeleton } from "./skeleton.js";

const HOVER = "#e69f00";
const WALK = "#009e73";
const SPREAD = "distance along the shape";
// Rows up to which distances follow the mouse; a longer search would lag behind it.
const MOST_FOLLOWED = 70000;

export class App {
  /** `ask` sends a request to Python and promises the answer; null in a stand-alone file. */
  constructor(root, data, THREE, ask) {
    Object.assign(this, { root, data, THREE, ask });
    this.state = new State();
    this.parts = skeleton(root, this);
    this.textures = texturesOf(THREE, data.maps);
    this.panels = data.panels.map(
      (record) => new Panel(THREE, record, data.layers.filter((layer) => layer.panel === record.key), data.tables, this.parts.views),
    );
    for (const [key, table] of Object.entries(data.tables)) {
      this.state.colour[key] = { name: table.default ?? null, map: data.maps[table.map] ? table.map : "viridis", whole: false };
    }
    for (const { panel, layer } of realLayers(data)) coordinateQuantities(data.tables[layer.table], layer, panel.axes);
    this.along = alongOf(data);
    this.spreading = data.spreading && this.canSpread;
    buildSidebar(this, this.parts.sidebar);
    this._connect();
    this.setTheme(this.theme());
    for (const layer of data.layers) if (layer.kind === "points") this.setSize([layer], layer.size);
    this.reset();
    this.recolour();
    // One frame now, so that "ready" means drawn; the others are drawn when something changes.
    for (const panel of this.panels) panel.draw();
    this.ready = true;
  }

  get canSpread() {
    return Object.values(this.along).some((along) => (along.table.graph ? along.table.graph.starts.length : along.count) <= MOST_FOLLOWED);
  }

  _connect() {
    for (const panel of this.panels) listen(panel, this);
    listenToKeys(this.root, this);
    this.state.on("hover", () => this.drawRings());
    this.state.on("pins", () => this.drawRings());
    this.state.on("geodesic", (geodesic) => this.parts.showGeodesic(geodesic));
  }

  // ---- what is under the mouse -------------------------------------------------------------------------------------

  hoverAt(found, x, y) {
    this.state.set("hover", found);
    this.parts.tip.hidden = true;
    if (found) {
      const table = this.data.tables[found.table];
      const along = this.along[found.table];
      if (this.spreading && along) {
        this.spread = { key: found.table, quantity: quantityOfDistances(SPREAD, along.from(found.index)) };
        this.recolour(found.table);
      }
      showTooltip(this.parts.tip, table, found.index, this.quantityOf(found.table), x, y);
    } else if (this.spread) {
      const { key } = this.spread;
      this.spread = null;
      this.recolour(key);
    }
  }

  /** Layers of a table in a panel, first visible first. */
  layersOf(panel, table) {
    return [...panel.things.values()].filter((things) => things.layer.table === table && things.pick);
  }

  placeOf(panel, { table, index }) {
    const things = this.layersOf(panel, table).find(({ object }) => object.visible);
    return things && positionOf(things.layer, index);
  }

  drawRings() {
    const { hover, pins } = this.state;
    for (const panel of this.panels) {
      const rings = [
        ...pins.map((pin, i) => ({ pin, colour: PINS[i], width: 15 })),
        ...(hover ? [{ pin: hover, colour: HOVER, width: 15 }] : []),
      ].map(({ pin, ...ring }) => ({ ...ring, at: this.placeOf(panel, pin) }));
      if (this.walked?.[panel.record.key]) rings.push({ at: this.walked[panel.record.key], colour: WALK, width: 18 });
      panel.setRings(rings.filter((ring) => ring.at));
    }
  }

  // ---- two clicks: a geodesic --------------------------------------------------------------------------------------

  clickAt(found) {
    if (found) pin(this, found);
  }

  clear() {
    this.turn = (this.turn ?? 0) + 1;
    this.state.set("pins", []);
    this.state.set("geodesic", null);
    showPath(this, null);
    this.select(null);
  }

  // ---- brush -------------------------------------------------------------------------------------------------------

  select(found) {
    this.state.set("selection", found ?? {});
    for (const key of Object.keys(this.data.tables)) markTable(this.panels, key, found?.[key] ?? null, rgbOf(this.faded));
    const counts = Object.entries(this.state.selection).map(([key, marks]) => [key, marks.reduce((sum, mark) => sum + mark, 0)]);
    this.parts.showSelection(found ? counts : null);
  }

  /** Row numbers of what is selected in a table, as a file. */
  saveSelection(key) {
    const table = this.data.tables[key];
    const rows = [];
    this.state.selection[key].forEach((mark, i) => mark && rows.push(rowNumber(table, i)));
    offer(`data:text/csv,row%0A${rows.join("%0A")}`, "selected-rows.csv");
  }

  // ---- colours -----------------------------------------------------------------------------------------------------

  quantityOf(key) {
    if (this.spread?.key === key) return this.spread.quantity;
    return activeQuantity(this.data.tables[key], this.state.colour[key]);
  }

  colourBy(key, change) {
    Object.assign(this.state.colour[key], change);
    this.recolour(key);
  }

  recolour(only) {
    for (const key of Object.keys(this.data.tables)) {
      if (!only || only === key) colourTable(this.panels, key, this.quantityOf(key), this.state.colour[key], this.textures);
    }
    const seen = (key) => this.panels.some((panel) => this.layersOf(panel, key).some(({ object }) => object.visible));
    const entries = Object.entries(this.data.tables).filter(([key]) => seen(key));
    drawLegends(this.parts.legends, entries.map(([key, table]) => ({ title: table.title, quantity: this.quantityOf(key), choice: this.state.colour[key] })), this.data.maps);
  }

  setSpreading(on) {
    this.spreading = on;
    if (!on) this.hoverAt(null);
  }

  toggleSpreading() {
    const box = this.parts.sidebar.querySelector("[data-action=spread]");
    if (box) box.click();
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  _panelOf(layer) {
    return this.panels.find((panel) => panel.record.key === layer.panel);
  }

  showLayer(layer, visible) {
    this._panelOf(layer).setVisible(layer.key, visible);
    this.recolour();
    this.drawRings();
  }

  setSize(layers, size) {
    for (const layer of layers) {
      const panel = this._panelOf(layer);
      panel.things.get(layer.key).material.uniforms.size.value = size * panel.ratio;
      panel.redraw();
    }
  }

  setFlat(layers, flat) {
    for (const layer of layers) {
      this._panelOf(layer).things.get(layer.key).material.uniforms.flatly.value = flat ? 1 : 0;
      this._panelOf(layer).redraw();
    }
  }

  setShading(on) {
    for (const panel of this.panels) if (!panel.flat) panel.shading = on;
    this.panels.forEach((panel) => panel.redraw());
  }

  showAxes(shown) {
    this.panels.forEach((panel) => ((panel.axesShown = shown), panel.redraw()));
  }

  showBorders(shown) {
    this.panels.forEach((panel) => panel.showBorders(shown));
  }

  setClip(panel, { axis, place, side }) {
    const { low, high } = panel.bounds();
    const normal = [0, 0, 0];
    if (axis >= 0) normal[axis] = side;
    const at = axis >= 0 ? side * (low[axis] + (side > 0 ? place : 1 - place) * (high[axis] - low[axis])) : 1;
    panel.clip.value.set(...normal, at + 1e-9 * (panel.size || 1));
    panel.redraw();
  }

  /** Show a table's rows along other quantities, each axis stretched to the same length. */
  setAxes(panel, names) {
    for (const { layer, object, pick } of panel.things.values()) {
      const columns = pick && names.map((name) => this.data.tables[layer.table].quantities.find((quantity) => quantity.name === name));
      if (!columns || columns.some((column) => !column)) {
        object.visible = false;
        continue;
      }
      const codes = new Uint16Array(layer.positions.codes.length);
      columns.forEach((column, k) => {
        for (let i = 0; i < column.codes.length; i++) codes[3 * i + k] = column.codes[i] === MISSING ? 0 : column.codes[i];
      });
      replacePositions(this.THREE, layer, object, { low: [0, 0, 0], step: [0, 1, 2].map((k) => (columns[k] ? 1 / 65534 : 0)), most: 65534, codes });
      panel.record.limits = columns.map((column) => [column.low, column.high]);
    }
    Object.assign(panel.record, { axes: names.slice() });
    showPath(this, this.path);
    panel.reset();
    this.drawRings();
  }

  /** Step `step` along path `number`: inverse_transform along one coordinate, the others fixed. */
  walkTo(number, step, picture) {
    const walk = this.data.walks[number];
    this.walked = {};
    for (const panel of this.panels) {
      const path = walk.paths[panel.record.key];
      if (!path || panel.record.limits) continue;
      const points = walk.values.map((_, i) => [path[3 * i], path[3 * i + 1], path[3 * i + 2]]);
      this.walked[panel.record.key] = points[step].every(Number.isFinite) ? points[step] : null;
      panel.setCurve("walk", points.filter((point) => point.every(Number.isFinite)), WALK, 3);
    }
    if (picture && walk.images) picture.replaceChildren(pictureOf(walk.images, step, 150));
    this.drawRings();
  }

  reset() {
    this.panels.forEach((panel) => panel.reset());
  }

  // ---- page --------------------------------------------------------------------------------------------------------

  theme() {
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  setTheme(theme) {
    this.root.dataset.theme = theme;
    const style = getComputedStyle(this.root);
    this.faded = style.getPropertyValue("--sb-faded").trim();
    for (const panel of this.panels) {
      panel.background = style.getPropertyValue("--sb-canvas").trim();
      panel.ink = style.getPropertyValue("--sb-ink").trim();
      panel.redraw();
    }
  }

  screenshot() {
    const legends = Object.keys(this.data.tables).map((key) => this.quantityOf(key)).filter((quantity) => quantity?.kind === "number");
    const words = legends.map((quantity) => `colour: ${quantity.name}, ${shown(quantity.low)} to ${shown(quantity.high)}`);
    const panel = this.panels[0];
    const url = screenshotOf(this.panels, panel.background, panel.ink, [this.data.title, ...words].join("  ·  "));
    offer(url, "subbundle.png");
    return url;
  }

  dispose() {
    this.panels.forEach((panel) => panel.dispose());
    this.root.replaceChildren();
  }
}
