// Colours of a table's rows in every view: a quantity through a colour map, categories, the scan's own, or one colour.

import { limitsOf } from "./colours.js";
import { MISSING } from "./data.js";

/** Coordinates of the rows of a table are quantities too; they are read off the codes of the layer's positions. */
export function coordinateQuantities(table, layer, axes) {
  const { low, step, most, codes } = layer.positions;
  const taken = new Set(table.quantities.map((quantity) => quantity.name));
  axes.forEach((name, k) => {
    if (taken.has(name)) return;
    const column = new Uint16Array(codes.length / 3);
    for (let i = 0; i < column.length; i++) column[i] = codes[3 * i + k];
    table.quantities.push({ name, kind: "number", low: low[k], high: low[k] + most * step[k], inner: [0, 1], codes: column });
  });
}

/** Codes and limits by which a table is coloured now, or null for one plain colour. */
export function activeQuantity(table, choice) {
  return table.quantities.find((quantity) => quantity.name === choice?.name) ?? null;
}

/** Distances as a quantity, so that they are coloured and explained like any other. */
export function quantityOfDistances(name, values) {
  let most = 0;
  for (const value of values) if (Number.isFinite(value) && value > most) most = value;
  const codes = Uint16Array.from(values, (value) => (Number.isFinite(value) ? Math.round((value / (most || 1)) * 65534) : MISSING));
  return { name, kind: "number", low: 0, high: most, inner: [0, 1], codes };
}

/** Colour all layers of `table` in `panels` by `quantity` (or plainly, by null). */
export function colourTable(panels, key, quantity, choice, textures) {
  for (const panel of panels) {
    for (const { layer, object, material } of panel.things.values()) {
      if (layer.table !== key || !material) continue;
      const { uniforms } = material;
      uniforms.mode.value = quantity ? { number: 1, category: 2, rgb: 3 }[quantity.kind] : 0;
      if (quantity && quantity.kind !== "rgb") {
        const values = object.geometry.attributes.value;
        values.array.set(quantity.codes);
        values.needsUpdate = true;
        [uniforms.low.value, uniforms.high.value] = limitsOf(quantity, choice.whole);
        uniforms.map.value = textures[quantity.kind === "category" ? "categories" : choice.map];
        uniforms.entries.value = uniforms.map.value.image.width;
      }
    }
    panel.redraw();
  }
}

/** Fade what is not selected; `marks` null for no selection. */
export function markTable(panels, key, marks, faded) {
  for (const panel of panels) {
    for (const { layer, object, material } of panel.things.values()) {
      if (layer.table !== key || !material) continue;
      const values = object.geometry.attributes.mark;
      if (marks) values.array.set(marks);
      else values.array.fill(0);
      values.needsUpdate = true;
      material.uniforms.dimmed.value = marks ? 0.82 : 0;
      material.uniforms.faded.value.set(...faded);
    }
    panel.redraw();
  }
}
