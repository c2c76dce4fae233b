// The controls beside the views.

import { h } from "./state.js";
import { shown } from "./data.js";

/** A labelled control. */
function row(label, control) {
  return h("label", { class: "sb-row" }, h("span", { textContent: label }), control);
}

function slider(low, high, step, value, oninput) {
  return h("input", { type: "range", min: low, max: high, step, value, oninput: (event) => oninput(Number(event.target.value)) });
}

function select(options, value, onchange) {
  const element = h("select", { onchange: (event) => onchange(event.target.value) });
  for (const [key, text] of options) element.append(h("option", { value: key, textContent: text, selected: key === value }));
  return element;
}

function check(checked, onchange) {
  return h("input", { type: "checkbox", checked, onchange: (event) => onchange(event.target.checked) });
}

function section(title, ...children) {
  return h("details", { class: "sb-section", open: true }, h("summary", { textContent: title }), ...children);
}

const count = (n) => n.toLocaleString("en");

/** What a layer is, in few words. */
function described(layer) {
  if (layer.kind === "mesh") return `${count(layer.positions.codes.length / 3)} vertices, ${count(layer.faces.length / 3)} faces`;
  if (layer.kind === "lines") return `${count(layer.offsets.length - 1)} curve${layer.offsets.length === 2 ? "" : "s"}`;
  return `${count(layer.positions.codes.length / 3)} points`;
}

/** One card for every table (layers of one table share their colours), with its layers inside. */
function tableCard(app, key, layers) {
  const table = app.data.tables[key];
  const card = h("div", { class: "sb-card" });
  const several = table && layers.length > 1;
  if (several) card.append(h("div", { class: "sb-card-name", textContent: table.title }));
  for (const layer of layers) {
    const panel = app.data.panels.find((candidate) => candidate.key === layer.panel);
    const name = h("span", { class: "sb-layer-name", textContent: several ? panel.title : layer.name });
    const box = check(layer.visible, (shown) => app.showLayer(layer, shown));
    box.dataset.layer = layer.key;
    card.append(h("label", { class: "sb-layer" }, box, name, h("span", { class: "sb-quiet", textContent: described(layer) })));
  }
  if (table && table.quantities.length) {
    const choice = app.state.colour[key];
    const options = [["", "one colour"], ...table.quantities.map((quantity) => [quantity.name, quantity.name])];
    const by = select(options, choice.name ?? "", (name) => app.colourBy(key, { name: name || null }));
    by.dataset.colour = key;
    card.append(row("Colour by", by));
  }
  const points = layers.filter((layer) => layer.kind === "points");
  if (points.length) card.append(row("Point size", slider(1, 14, 0.5, points[0].size, (size) => app.setSize(points, size))));
  const meshes = layers.filter((layer) => layer.kind === "mesh");
  if (meshes.length) card.append(row("Flat facets", check(false, (flat) => app.setFlat(meshes, flat))));
  return card;
}

function colourSection(app) {
  const choices = Object.entries(app.state.colour);
  if (!choices.length) return [];
  const maps = Object.keys(app.data.maps).filter((name) => name !== "categories").map((name) => [name, name]);
  const each = (change) => choices.forEach(([key]) => app.colourBy(key, change));
  const children = [
    row("Colour map", select(maps, choices[0][1].map, (map) => each({ map }))),
    row("Full range", check(false, (whole) => each({ whole }))),
  ];
  if (app.canSpread) {
    const box = check(app.spreading, (on) => app.setSpreading(on));
    box.dataset.action = "spread";
    children.push(row("Hover: distance along the shape", box));
  }
  return [section("Colours", ...children)];
}

function clipSection(app) {
  const panel = app.panels.find((candidate) => !candidate.flat);
  if (!panel) return [];
  const choice = { axis: -1, place: 1, side: 1 };
  const update = () => app.setClip(panel, choice);
  const axes = panel.record.axes.map((name, k) => [String(k), name]);
  const place = slider(0, 1, 0.002, 1, (value) => ((choice.place = value), update()));
  place.dataset.action = "clip";
  return [
    section(
      "Clip",
      row("Along", select([["-1", "nothing"], ...axes], "-1", (axis) => ((choice.axis = Number(axis)), update()))),
      row("Up to", place),
      row("Other side", check(false, (other) => ((choice.side = other ? -1 : 1), update()))),
    ),
  ];
}

function axesSection(app) {
  const panel = app.panels.find((candidate) => candidate.record.choices);
  if (!panel) return [];
  const options = panel.record.choices.map((name) => [name, name]);
  const chosen = panel.record.axes.slice();
  const rows = ["Across", "Up", "Depth"].slice(0, panel.record.dim).map((label, k) =>
    row(label, select(options, chosen[k], (name) => ((chosen[k] = name), app.setAxes(panel, chosen)))),
  );
  return [section(`Axes of “${panel.record.title}”`, ...rows)];
}

function walkSection(app) {
  const { walks } = app.data;
  if (!walks.length) return [];
  const value = h("output", { class: "sb-quiet" });
  const picture = h("div");
  const control = slider(0, walks[0].values.length - 1, 1, Math.floor(walks[0].values.length / 2), (step) => move(step));
  control.dataset.action = "walk";
  let walk = 0;
  const move = (step) => {
    value.textContent = shown(walks[walk].values[step]);
    app.walkTo(walk, step, picture);
  };
  const names = walks.map((entry, i) => [String(i), entry.name]);
  const choose = select(names, "0", (i) => ((walk = Number(i)), move(Number(control.value))));
  return [
    section(
      "Path along a coordinate",
      row("Coordinate", choose),
      h("div", { class: "sb-row" }, control, value),
      picture,
      h("div", { class: "sb-quiet", textContent: "inverse_transform, the other coordinates at their medians" }),
    ),
  ];
}

/** Build the whole sidebar. */
export function buildSidebar(app, element) {
  const groups = new Map();
  for (const layer of app.data.layers) {
    const key = layer.table ?? `alone ${layer.key}`;
    groups.set(key, [...(groups.get(key) ?? []), layer]);
  }
  const cards = [...groups].map(([key, layers]) => tableCard(app, key, layers));
  const borders = app.data.layers.some((layer) => layer.border?.length);
  const display = [
    row("Axes", check(true, (shown) => app.showAxes(shown))),
    ...(borders ? [row("Open borders", check(true, (shown) => app.showBorders(shown)))] : []),
    ...(app.panels.some((panel) => !panel.flat) ? [row("Depth shading", check(true, (on) => app.setShading(on)))] : []),
  ];
  element.replaceChildren(
    section("Layers", ...cards),
    ...colourSection(app),
    ...walkSection(app),
    ...axesSection(app),
    ...clipSection(app),
    section("Display", ...display),
  );
}
