// The note beside the mouse: which row, its values, its image.

import { decoded, shown } from "./data.js";
import { h } from "./state.js";

const MOST_VALUES = 7;

/** The number of a row in the user's own data. */
export function rowNumber(table, index) {
  return table.rows ? table.rows[index] : index;
}

/** Value of a quantity at a row, for people. */
function valueOf(quantity, index) {
  if (quantity.kind === "category") return quantity.labels[quantity.codes[index]] ?? "–";
  return shown(decoded(quantity, quantity.codes[index]));
}

/** A canvas with the image of a row; null when rows have none. */
export function pictureOf(images, index, size = 112) {
  if (!images) return null;
  const { width, height, pixels } = images;
  const canvas = h("canvas", { class: "sb-picture", width, height });
  const data = new ImageData(width, height);
  const start = index * width * height;
  for (let i = 0; i < width * height; i++) data.data.set([pixels[start + i], pixels[start + i], pixels[start + i], 255], 4 * i);
  canvas.getContext("2d").putImageData(data, 0, 0);
  canvas.style.width = `${size}px`;
  canvas.style.height = `${Math.round((size * height) / width)}px`;
  return canvas;
}

/** Show what row `index` of `table` is, near [x, y] of the page; the active quantity comes first. */
export function showTooltip(element, table, index, active, x, y) {
  const listed = table.quantities.filter((quantity) => quantity.kind !== "rgb");
  const first = active && active.kind !== "rgb" ? [active] : [];
  const rest = listed.filter((quantity) => quantity.name !== active?.name);
  const rows = [...first, ...rest].slice(0, MOST_VALUES).map((quantity) =>
    h("tr", {}, h("th", { textContent: quantity.name }), h("td", { textContent: valueOf(quantity, index) })),
  );
  const picture = pictureOf(table.images, index);
  element.replaceChildren(
    h("div", { class: "sb-tip-title", textContent: `${table.title} · row ${rowNumber(table, index).toLocaleString("en")}` }),
    ...(picture ? [picture] : []),
    h("table", {}, ...rows),
  );
  element.hidden = false;
  const box = element.getBoundingClientRect();
  const parent = element.offsetParent.getBoundingClientRect();
  const left = x + 18 + box.width > parent.right ? x - 18 - box.width : x + 18;
  const top = Math.min(y + 14, parent.bottom - box.height - 8);
  element.style.left = `${left - parent.left}px`;
  element.style.top = `${Math.max(8, top - parent.top)}px`;
}
