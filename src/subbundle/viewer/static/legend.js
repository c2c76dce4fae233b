// The legend: what the colours mean, with a histogram over the scale.

import { categoryColour, gradientOf, histogramOf, limitsOf } from "./colours.js";
import { decoded, shown } from "./data.js";
import { h } from "./state.js";

const BINS = 48;
const MOST_CATEGORIES = 14;

/** Fill `element` with one legend per entry {title, quantity, choice}. */
export function drawLegends(element, entries, maps) {
  element.replaceChildren(...entries.filter((entry) => entry.quantity && entry.quantity.kind !== "rgb").map((entry) => legendOf(entry, maps)));
}

function legendOf({ title, quantity, choice }, maps) {
  const heading = h("div", { class: "sb-legend-name", textContent: quantity.name, title: `${quantity.name} of ${title}` });
  if (quantity.kind === "category") {
    const rows = quantity.labels.slice(0, MOST_CATEGORIES).map((label, i) => {
      const swatch = h("span", { class: "sb-swatch" });
      swatch.style.background = categoryColour(maps.categories, i);
      return h("div", { class: "sb-category" }, swatch, label);
    });
    const more = quantity.labels.length - MOST_CATEGORIES;
    if (more > 0) rows.push(h("div", { class: "sb-quiet", textContent: `and ${more} more` }));
    return h("div", { class: "sb-legend" }, heading, ...rows);
  }
  const limits = limitsOf(quantity, choice.whole);
  const [low, high] = limits.map((place) => decoded(quantity, place * 65534));
  const counts = histogramOf(quantity.codes, limits, BINS);
  const most = Math.max(...counts, 1);
  const bars = h("div", { class: "sb-bars" });
  for (const count of counts) {
    const bar = h("span");
    bar.style.height = `${Math.round((100 * count) / most)}%`;
    bars.append(bar);
  }
  const scale = h("div", { class: "sb-scale" });
  scale.style.background = gradientOf(maps[choice.map]);
  const cut = [limits[0] > 0 ? "≤ " : "", limits[1] < 1 ? "≥ " : ""];
  const numbers = h(
    "div",
    { class: "sb-numbers" },
    h("span", { textContent: cut[0] + shown(low, 3) }),
    h("span", { textContent: shown((low + high) / 2, 3) }),
    h("span", { textContent: cut[1] + shown(high, 3) }),
  );
  return h("div", { class: "sb-legend" }, heading, bars, scale, numbers);
}
